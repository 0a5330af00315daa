//! `exact` on Solana: a partially signed transaction with one USDC `TransferChecked`, whose fee we pay.
//!
//! Because our fee payer signs what the client built, everything that could cost it more than a small fee is refused:
//! it may appear in no instruction, only the known programs may run, and unit limit, unit price and the number of
//! signatures are capped. At the caps below a payment costs at most 10,000 lamports for two signatures and
//! [`MAX_UNITS`] × [`MAX_MICRO_LAMPORTS_PER_UNIT`] = 1,000,000 lamports of priority fee.

pub mod address;
pub mod wire;

use ed25519_dalek::{Signature, VerifyingKey};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, SolanaTransfer};
use sha2::{Digest, Sha256};

use self::address::{COMPUTE_BUDGET, LIGHTHOUSE, MEMO, Pubkey, TOKEN, associated_token_account};
use self::wire::{Instruction, Transaction, WireError};
use super::error::{Reason, VerificationError};
use super::terms::SolanaPayee;

/// Cap of the unit price, in millionths of a lamport (5 lamports a unit, as in the x402 reference).
pub const MAX_MICRO_LAMPORTS_PER_UNIT: u64 = 5_000_000;

/// Cap of the unit limit. The stock client asks for 20,000; wallets that add assertions ask for several times that.
pub const MAX_UNITS: u32 = 200_000;

/// USDC's decimals, which `TransferChecked` repeats.
pub const USDC_DECIMALS: u8 = 6;

const SET_UNIT_LIMIT: u8 = 2;
const SET_UNIT_PRICE: u8 = 3;
const TRANSFER_CHECKED: u8 = 12;

/// What our own terms demand of a Solana payment.
#[derive(Clone, Copy, Debug)]
pub struct SolanaRequirements<'a> {
    /// Who is paid.
    pub payee: &'a SolanaPayee,
    /// Exactly how much.
    pub amount: Usdc,
}

/// Judges a Solana payment, the signature last.
///
/// # Errors
/// The `Svm…` reasons.
pub fn verify(wire: &[u8], demand: &SolanaRequirements<'_>) -> Result<Authorization, VerificationError> {
    let transaction = Transaction::parse(wire).map_err(|error| match error {
        WireError::LookupTables => verification_error(Reason::SvmLookupTables, "address lookup tables are not taken"),
        WireError::Malformed(what) => verification_error(Reason::SvmUndecodable, what),
    })?;
    check_accounts(&transaction, &demand.payee.fee_payers)?;
    let transfer = check_instructions(&transaction)?;
    let payer = check_transfer(&transaction, transfer, demand)?;
    check_memo(&transaction, demand.payee.memo.as_deref())?;
    check_signature(&transaction, &payer)?;
    Ok(Authorization::Solana(SolanaTransfer {
        transaction: wire.to_vec(),
        message_hash: Sha256::digest(transaction.message).into(),
        payer,
        value: demand.amount,
        blockhash: *transaction.blockhash,
    }))
}

/// What the transaction itself moves. `None` when it is not shaped like a payment.
pub fn signed_amount(wire: &[u8]) -> Option<Usdc> {
    let transaction = Transaction::parse(wire).ok()?;
    match transaction.instructions.get(2)?.data {
        [TRANSFER_CHECKED, amount @ .., _] => Some(Usdc::from_atomic(u64::from_le_bytes(amount.try_into().ok()?))),
        _ => None,
    }
}

/// The payment of a transaction that a wallet of ours has signed as the stock client does, read back from its bytes: unit limit,
/// unit price, transfer. `None` for anything else; nothing of it is judged.
pub fn parse_own_transfer(wire: &[u8]) -> Option<SolanaTransfer> {
    let transaction = Transaction::parse(wire).ok()?;
    let transfer = transaction.instructions.get(2)?;
    let &[_, _, _, authority] = transfer.accounts else {
        return None;
    };
    (*transaction.program(transfer) == TOKEN).then_some(())?;
    Some(SolanaTransfer {
        transaction: wire.to_vec(),
        message_hash: Sha256::digest(transaction.message).into(),
        payer: *transaction.key(authority),
        value: signed_amount(wire)?,
        blockhash: *transaction.blockhash,
    })
}

/// Two signers, one of our fee payers first; nobody twice; and that fee payer in no instruction.
fn check_accounts(transaction: &Transaction<'_>, fee_payers: &[Pubkey]) -> Result<(), VerificationError> {
    if !transaction.keys.first().is_some_and(|key| fee_payers.contains(key)) {
        return Err(verification_error(
            Reason::SvmFeePayer,
            "account key 0 is not the fee payer of the challenge",
        ));
    }
    if transaction.signatures.len() > 2 {
        return Err(verification_error(
            Reason::SvmSigners,
            "only the fee payer and the payer may sign",
        ));
    }
    for (index, key) in transaction.keys.iter().enumerate() {
        if transaction.keys[..index].contains(key) {
            return Err(verification_error(
                Reason::SvmTransaction,
                "an account key is listed twice",
            ));
        }
    }
    for instruction in &transaction.instructions {
        if instruction.program == 0 || instruction.accounts.contains(&0) {
            return Err(verification_error(
                Reason::SvmFeePayerUsed,
                "the fee payer may not appear in an instruction",
            ));
        }
    }
    Ok(())
}

/// Unit limit, unit price, transfer, then nothing but memos and assertions. Gives the third instruction.
fn check_instructions<'t, 'a>(transaction: &'t Transaction<'a>) -> Result<&'t Instruction<'a>, VerificationError> {
    let ([limit, price, transfer, rest @ ..], 3..=7) =
        (transaction.instructions.as_slice(), transaction.instructions.len())
    else {
        return Err(verification_error(
            Reason::SvmInstructionCount,
            "a payment has 3 to 7 instructions",
        ));
    };
    match unit_limit(transaction, limit) {
        None => {
            return Err(verification_error(
                Reason::SvmUnitLimit,
                "the first instruction must be SetComputeUnitLimit",
            ));
        }
        Some(units) if units > MAX_UNITS => {
            return Err(verification_error(
                Reason::SvmUnitLimitTooHigh,
                "the compute unit limit is above 200000",
            ));
        }
        Some(_) => {}
    }
    match unit_price(transaction, price) {
        None => {
            return Err(verification_error(
                Reason::SvmUnitPrice,
                "the second instruction must be SetComputeUnitPrice",
            ));
        }
        Some(price) if price > MAX_MICRO_LAMPORTS_PER_UNIT => {
            return Err(verification_error(
                Reason::SvmUnitPriceTooHigh,
                "the compute unit price is above 5000000",
            ));
        }
        Some(_) => {}
    }
    for (index, instruction) in rest.iter().enumerate() {
        let program = transaction.program(instruction);
        if *program != MEMO && *program != LIGHTHOUSE {
            let reason = match index {
                0 => Reason::SvmFourthInstruction,
                1 => Reason::SvmFifthInstruction,
                2 => Reason::SvmSixthInstruction,
                _ => Reason::SvmSeventhInstruction,
            };
            return Err(verification_error(
                reason,
                "only Memo and Lighthouse may follow the transfer",
            ));
        }
    }
    Ok(transfer)
}

fn unit_limit(transaction: &Transaction<'_>, instruction: &Instruction<'_>) -> Option<u32> {
    if *transaction.program(instruction) != COMPUTE_BUDGET {
        return None;
    }
    match instruction.data {
        [SET_UNIT_LIMIT, units @ ..] => Some(u32::from_le_bytes(units.try_into().ok()?)),
        _ => None,
    }
}

fn unit_price(transaction: &Transaction<'_>, instruction: &Instruction<'_>) -> Option<u64> {
    if *transaction.program(instruction) != COMPUTE_BUDGET {
        return None;
    }
    match instruction.data {
        [SET_UNIT_PRICE, price @ ..] => Some(u64::from_le_bytes(price.try_into().ok()?)),
        _ => None,
    }
}

/// From the payer's own token account to ours, exactly the price. Gives the payer: the transfer's authority.
fn check_transfer(
    transaction: &Transaction<'_>,
    transfer: &Instruction<'_>,
    demand: &SolanaRequirements<'_>,
) -> Result<Pubkey, VerificationError> {
    let no_transfer = || {
        verification_error(
            Reason::SvmNoTransfer,
            "the third instruction must be the token's TransferChecked",
        )
    };
    if *transaction.program(transfer) != TOKEN {
        return Err(no_transfer());
    }
    let &[source, mint, destination, authority] = transfer.accounts else {
        return Err(no_transfer());
    };
    let [TRANSFER_CHECKED, amount @ .., decimals] = transfer.data else {
        return Err(no_transfer());
    };
    let amount = u64::from_le_bytes(amount.try_into().map_err(|_| no_transfer())?);

    if *transaction.key(mint) != demand.payee.mint || *decimals != USDC_DECIMALS {
        return Err(verification_error(
            Reason::SvmMint,
            "the token is not the one in the challenge",
        ));
    }
    if *transaction.key(destination) != demand.payee.destination {
        return Err(verification_error(
            Reason::SvmRecipient,
            "the destination is not the recipient's token account",
        ));
    }
    if amount != demand.amount.atomic() {
        return Err(verification_error(
            Reason::SvmAmount,
            "the transfer is not exactly the amount in the challenge",
        ));
    }
    // Index 0 was refused before, and there are at most two signers.
    if usize::from(authority) >= transaction.signatures.len() {
        return Err(verification_error(
            Reason::SvmTransaction,
            "the transfer's authority must sign",
        ));
    }
    let payer = *transaction.key(authority);
    if associated_token_account(&payer, &demand.payee.mint).as_ref() != Some(transaction.key(source)) {
        return Err(verification_error(
            Reason::SvmTransaction,
            "the source must be the payer's own token account",
        ));
    }
    if !transaction.is_writable(source) || !transaction.is_writable(destination) {
        return Err(verification_error(
            Reason::SvmTransaction,
            "source and destination must be writable",
        ));
    }
    Ok(payer)
}

fn check_memo(transaction: &Transaction<'_>, wanted: Option<&str>) -> Result<(), VerificationError> {
    let Some(wanted) = wanted else { return Ok(()) };
    let mut memos = transaction
        .instructions
        .iter()
        .filter(|instruction| *transaction.program(instruction) == MEMO);
    match (memos.next(), memos.next()) {
        (Some(memo), None) if memo.data == wanted.as_bytes() => Ok(()),
        (Some(_), None) => Err(verification_error(
            Reason::SvmMemo,
            "the memo is not the one in the challenge",
        )),
        _ => Err(verification_error(Reason::SvmMemoCount, "exactly one memo is wanted")),
    }
}

fn check_signature(transaction: &Transaction<'_>, payer: &Pubkey) -> Result<(), VerificationError> {
    let invalid = || verification_error(Reason::SvmSignature, "the payer's signature does not verify");
    let slot = transaction
        .keys
        .iter()
        .position(|key| key == payer)
        .ok_or_else(invalid)?;
    let signature = transaction.signatures.get(slot).ok_or_else(invalid)?;
    let key = VerifyingKey::from_bytes(payer).map_err(|_| invalid())?;
    key.verify_strict(transaction.message, &Signature::from_bytes(signature))
        .map_err(|_| invalid())
}

fn verification_error(reason: Reason, message: &'static str) -> VerificationError {
    VerificationError::new(reason, message)
}
