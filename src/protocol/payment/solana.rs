//! `exact` on Solana: a partially signed transaction with one USDC `TransferChecked`, whose fee we pay.
//!
//! Our fee payer signs what the client built, so anything that could cost it more than a small fee is rejected. It may
//! appear in no instruction, only known programs may run, and unit limit, unit price and the number of signatures are
//! capped. At the caps below a payment costs at most 10,000 lamports for two signatures and [`MAX_UNITS`] ×
//! [`MAX_MICRO_LAMPORTS_PER_UNIT`] = 1,000,000 lamports of priority fee.

pub mod address;
pub mod wire;

use ed25519_dalek::{Signature, VerifyingKey};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, SolanaTransfer};
use sha2::{Digest, Sha256};

use self::address::{COMPUTE_BUDGET, LIGHTHOUSE, MEMO, Pubkey, TOKEN, associated_token_account};
use self::wire::{Instruction, Transaction, WireError};
use super::error::{InvalidReason, VerificationError};
use super::terms::SolanaPayee;

/// Cap of the unit price, in millionths of a lamport (5 lamports per unit, as in the x402 reference).
pub const MAX_MICRO_LAMPORTS_PER_UNIT: u64 = 5_000_000;

/// Cap of the unit limit. The stock client requests 20,000; wallets that add assertions request several times that.
pub const MAX_UNITS: u32 = 200_000;

/// USDC's decimals, which `TransferChecked` repeats.
pub const USDC_DECIMALS: u8 = 6;

const SET_UNIT_LIMIT: u8 = 2;
const SET_UNIT_PRICE: u8 = 3;
const TRANSFER_CHECKED: u8 = 12;

/// Requirements of our terms on a Solana payment.
#[derive(Clone, Copy, Debug)]
pub struct SolanaRequirements<'a> {
    pub payee: &'a SolanaPayee,
    /// The exact amount.
    pub amount: Usdc,
}

/// Verifies a Solana payment, the signature last.
///
/// # Errors
/// The `Svm…` reasons.
pub fn verify(wire: &[u8], demand: &SolanaRequirements<'_>) -> Result<Authorization, VerificationError> {
    let transaction = Transaction::parse(wire).map_err(|error| match error {
        WireError::LookupTables => {
            verification_error(InvalidReason::SvmLookupTables, "address lookup tables are not taken")
        }
        WireError::Malformed(what) => verification_error(InvalidReason::SvmUndecodable, what),
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
        not_before_slot: 0,
    }))
}

/// The amount in the transaction itself. `None` when it does not have the form of a payment.
pub fn signed_amount(wire: &[u8]) -> Option<Usdc> {
    let transaction = Transaction::parse(wire).ok()?;
    match transaction.instructions.get(2)?.data {
        [TRANSFER_CHECKED, amount @ .., _] => Some(Usdc::from_atomic(u64::from_le_bytes(amount.try_into().ok()?))),
        _ => None,
    }
}

/// Parses a payment that one of our wallets signed as the stock client does: unit limit, unit price, transfer.
/// `None` for anything else. Nothing is verified.
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
        not_before_slot: 0,
    })
}

/// Two distinct signers, the first one of our fee payers, which appears in no instruction.
fn check_accounts(transaction: &Transaction<'_>, fee_payers: &[Pubkey]) -> Result<(), VerificationError> {
    if !transaction.keys.first().is_some_and(|key| fee_payers.contains(key)) {
        return Err(verification_error(
            InvalidReason::SvmFeePayer,
            "account key 0 is not the fee payer of the challenge",
        ));
    }
    if transaction.signatures.len() > 2 {
        return Err(verification_error(
            InvalidReason::SvmSigners,
            "only the fee payer and the payer may sign",
        ));
    }
    for (index, key) in transaction.keys.iter().enumerate() {
        if transaction.keys[..index].contains(key) {
            return Err(verification_error(
                InvalidReason::SvmTransaction,
                "an account key is listed twice",
            ));
        }
    }
    for instruction in &transaction.instructions {
        if instruction.program == 0 || instruction.accounts.contains(&0) {
            return Err(verification_error(
                InvalidReason::SvmFeePayerUsed,
                "the fee payer may not appear in an instruction",
            ));
        }
    }
    Ok(())
}

/// Unit limit, unit price, transfer, then only memos and assertions. Returns the third instruction.
fn check_instructions<'t, 'a>(transaction: &'t Transaction<'a>) -> Result<&'t Instruction<'a>, VerificationError> {
    let ([limit, price, transfer, rest @ ..], 3..=7) =
        (transaction.instructions.as_slice(), transaction.instructions.len())
    else {
        return Err(verification_error(
            InvalidReason::SvmInstructionCount,
            "a payment has 3 to 7 instructions",
        ));
    };
    match unit_limit(transaction, limit) {
        None => {
            return Err(verification_error(
                InvalidReason::SvmUnitLimit,
                "the first instruction must be SetComputeUnitLimit",
            ));
        }
        Some(units) if units > MAX_UNITS => {
            return Err(verification_error(
                InvalidReason::SvmUnitLimitTooHigh,
                "the compute unit limit is above 200000",
            ));
        }
        Some(_) => {}
    }
    match unit_price(transaction, price) {
        None => {
            return Err(verification_error(
                InvalidReason::SvmUnitPrice,
                "the second instruction must be SetComputeUnitPrice",
            ));
        }
        Some(price) if price > MAX_MICRO_LAMPORTS_PER_UNIT => {
            return Err(verification_error(
                InvalidReason::SvmUnitPriceTooHigh,
                "the compute unit price is above 5000000",
            ));
        }
        Some(_) => {}
    }
    for (index, instruction) in rest.iter().enumerate() {
        let program = transaction.program(instruction);
        if *program != MEMO && *program != LIGHTHOUSE {
            let reason = match index {
                0 => InvalidReason::SvmFourthInstruction,
                1 => InvalidReason::SvmFifthInstruction,
                2 => InvalidReason::SvmSixthInstruction,
                _ => InvalidReason::SvmSeventhInstruction,
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

/// From the payer's own token account to ours, exactly the price. Returns the payer, which is the transfer's authority.
fn check_transfer(
    transaction: &Transaction<'_>,
    transfer: &Instruction<'_>,
    demand: &SolanaRequirements<'_>,
) -> Result<Pubkey, VerificationError> {
    let no_transfer = || {
        verification_error(
            InvalidReason::SvmNoTransfer,
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
            InvalidReason::SvmMint,
            "the token is not the one in the challenge",
        ));
    }
    if *transaction.key(destination) != demand.payee.destination {
        return Err(verification_error(
            InvalidReason::SvmRecipient,
            "the destination is not the recipient's token account",
        ));
    }
    if amount != demand.amount.atomic() {
        return Err(verification_error(
            InvalidReason::SvmAmount,
            "the transfer is not exactly the amount in the challenge",
        ));
    }
    // Index 0 was rejected before, and there are at most two signers.
    if usize::from(authority) >= transaction.signatures.len() {
        return Err(verification_error(
            InvalidReason::SvmTransaction,
            "the transfer's authority must sign",
        ));
    }
    let payer = *transaction.key(authority);
    if associated_token_account(&payer, &demand.payee.mint).as_ref() != Some(transaction.key(source)) {
        return Err(verification_error(
            InvalidReason::SvmTransaction,
            "the source must be the payer's own token account",
        ));
    }
    if !transaction.is_writable(source) || !transaction.is_writable(destination) {
        return Err(verification_error(
            InvalidReason::SvmTransaction,
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
            InvalidReason::SvmMemo,
            "the memo is not the one in the challenge",
        )),
        _ => Err(verification_error(
            InvalidReason::SvmMemoCount,
            "exactly one memo is wanted",
        )),
    }
}

fn check_signature(transaction: &Transaction<'_>, payer: &Pubkey) -> Result<(), VerificationError> {
    let invalid = || verification_error(InvalidReason::SvmSignature, "the payer's signature does not verify");
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

fn verification_error(reason: InvalidReason, message: &'static str) -> VerificationError {
    VerificationError::new(reason, message)
}
