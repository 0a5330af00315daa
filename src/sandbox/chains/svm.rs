//! Rules and execution of a USDC payment on the sandbox's Solana, from the transaction's own bytes.
//!
//! The sandbox runs the programs that stock clients use in a payment: compute budget, Token, Memo and Lighthouse. It
//! executes exactly one `TransferChecked` of USDC per transaction and charges no fees.

use ed25519_dalek::{Signature, VerifyingKey};
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use sha2::{Digest as _, Sha256, Sha512};

use super::wire::Transaction;

pub(crate) const USDC_MINT: &str = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
pub(crate) const TOKEN_PROGRAM: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
pub(crate) const SYSTEM_PROGRAM: &str = "11111111111111111111111111111111";
const ASSOCIATED_TOKEN_PROGRAM: &str = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
const COMPUTE_BUDGET: &str = "ComputeBudget111111111111111111111111111111";
const MEMO: [&str; 2] = [
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
];
const LIGHTHOUSE: &str = "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95";
pub(crate) const USDC_DECIMALS: u8 = 6;
const TRANSFER_CHECKED: u8 = 12;

/// Slots are 400 ms of the clock.
pub(crate) const SLOT_MS: u64 = 400;
/// A transaction may execute while its block hash is at most this number of slots old.
pub(crate) const BLOCKHASH_VALIDITY_SLOTS: u64 = 150;
/// Slots until a block is final: an older transaction cannot be restored by a fork.
pub(crate) const FINALIZED: u64 = 32;

/// A transaction's error, with Solana's own name and a text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TransactionError {
    SignatureFailure,
    BlockhashNotFound,
    AlreadyProcessed,
    /// The instruction's index and its error.
    Instruction(usize, InstructionError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstructionError {
    UnsupportedProgram,
    InvalidInstruction,
    MissingSignature,
    InvalidAccount,
    /// The Token program's error number; 1 is insufficient funds.
    Custom(u32),
}

/// The one transfer of a transaction, between two token accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenTransfer {
    /// Index of the instruction.
    pub(crate) index: usize,
    pub(crate) source: [u8; 32],
    pub(crate) destination: [u8; 32],
    pub(crate) authority: [u8; 32],
    pub(crate) amount: Usdc,
}

/// Verifies every required signature strictly.
pub(crate) fn check_signatures(transaction: &Transaction) -> Result<(), TransactionError> {
    let good = transaction
        .signatures
        .iter()
        .zip(&transaction.keys)
        .all(|(signature, key)| {
            VerifyingKey::from_bytes(key).is_ok_and(|key| {
                key.verify_strict(&transaction.message, &Signature::from_bytes(signature))
                    .is_ok()
            })
        });
    if good {
        Ok(())
    } else {
        Err(TransactionError::SignatureFailure)
    }
}

/// Executes every instruction that the sandbox knows and finds the one transfer.
pub(crate) fn read_transfer(transaction: &Transaction) -> Result<TokenTransfer, TransactionError> {
    let mut found = None;
    for (index, instruction) in transaction.instructions.iter().enumerate() {
        let refuse = |error| Err(TransactionError::Instruction(index, error));
        let program = bs58::encode(instruction.program).into_string();
        match program.as_str() {
            COMPUTE_BUDGET | LIGHTHOUSE => {}
            memo if MEMO.contains(&memo) => {
                if std::str::from_utf8(&instruction.data).is_err() {
                    return refuse(InstructionError::InvalidInstruction);
                }
            }
            TOKEN_PROGRAM if found.is_none() => {
                let ([TRANSFER_CHECKED, amount @ .., decimals], [source, mint, destination, authority, ..]) =
                    (instruction.data.as_slice(), instruction.accounts.as_slice())
                else {
                    return refuse(InstructionError::InvalidInstruction);
                };
                let Ok(amount) = <[u8; 8]>::try_from(amount) else {
                    return refuse(InstructionError::InvalidInstruction);
                };
                let key = |index: &u8| transaction.keys[usize::from(*index)];
                // 3 and 18 are the Token program's MintMismatch and MintDecimalsMismatch.
                if key(mint) != pubkey(USDC_MINT) {
                    return refuse(InstructionError::Custom(3));
                }
                if *decimals != USDC_DECIMALS {
                    return refuse(InstructionError::Custom(18));
                }
                if !transaction.is_signer(*authority) {
                    return refuse(InstructionError::MissingSignature);
                }
                let amount = Usdc::from_atomic(u64::from_le_bytes(amount));
                let (source, destination, authority) = (key(source), key(destination), key(authority));
                found = Some(TokenTransfer {
                    index,
                    source,
                    destination,
                    authority,
                    amount,
                });
            }
            TOKEN_PROGRAM => return refuse(InstructionError::InvalidInstruction),
            _ => return refuse(InstructionError::UnsupportedProgram),
        }
    }
    found.ok_or(TransactionError::Instruction(0, InstructionError::InvalidInstruction))
}

/// SHA-256 of the message, which identifies a payment.
pub(crate) fn message_hash(transaction: &Transaction) -> [u8; 32] {
    Sha256::digest(&transaction.message).into()
}

/// The id of a transaction that this chain creates without a signature.
pub(crate) fn plain_id(from: &Wallet, ordinal: u64) -> String {
    let mut hash = Sha512::new();
    hash.update(b"sandbox transfer");
    hash.update(from.key());
    hash.update(ordinal.to_be_bytes());
    bs58::encode(hash.finalize()).into_string()
}

/// The transaction's id: the fee payer's signature.
pub(crate) fn transaction_id(transaction: &Transaction) -> String {
    transaction
        .signatures
        .first()
        .map(|s| bs58::encode(s).into_string())
        .unwrap_or_default()
}

/// The owner's USDC account: the first program-derived address of (owner, Token program, mint) that is off the curve.
pub(crate) fn token_account(owner: &[u8; 32]) -> [u8; 32] {
    let (program, token, mint) = (
        pubkey(ASSOCIATED_TOKEN_PROGRAM),
        pubkey(TOKEN_PROGRAM),
        pubkey(USDC_MINT),
    );
    for bump in (0..=u8::MAX).rev() {
        let mut hash = Sha256::new();
        for part in [
            owner.as_slice(),
            &token,
            &mint,
            &[bump],
            &program,
            b"ProgramDerivedAddress",
        ] {
            hash.update(part);
        }
        let address: [u8; 32] = hash.finalize().into();
        if VerifyingKey::from_bytes(&address).is_err() {
            return address;
        }
    }
    // All 256 on the curve: one case in 2^256.
    [0; 32]
}

/// Parses a known address.
pub(crate) fn pubkey(text: &str) -> [u8; 32] {
    let mut key = [0; 32];
    // The callers pass the constants of this file; a test reads each of them.
    let read = bs58::decode(text).onto(&mut key);
    debug_assert_eq!(read, Ok(32));
    key
}

/// The chain's block hashes. They are derived from its secret, so they are unpredictable.
#[derive(Debug, Default)]
pub(crate) struct Blockhashes {
    /// Recent blockhashes, newest last.
    recent: std::collections::VecDeque<(u64, [u8; 32])>,
}

impl Blockhashes {
    /// Creates the hashes up to this slot and drops those that can never become valid again.
    pub(crate) fn advance(&mut self, secret: &[u8; 32], slot: u64) {
        let oldest = slot.saturating_sub(BLOCKHASH_VALIDITY_SLOTS + FINALIZED);
        let next = self.recent.back().map_or(oldest, |(last, _)| (last + 1).max(oldest));
        for slot in next..=slot {
            self.recent.push_back((slot, block_hash(secret, slot)));
        }
        while self.recent.front().is_some_and(|(slot, _)| *slot < oldest) {
            self.recent.pop_front();
        }
    }

    /// The newest hash, with the last block height at which a transaction that names it may execute.
    pub(crate) fn latest(&self) -> ([u8; 32], u64) {
        self.recent
            .back()
            .map_or(([0; 32], 0), |(slot, hash)| (*hash, slot + BLOCKHASH_VALIDITY_SLOTS))
    }

    /// The slot of a hash that is still stored.
    pub(crate) fn slot_of(&self, hash: &[u8; 32]) -> Option<u64> {
        self.recent.iter().rev().find(|(_, h)| h == hash).map(|(slot, _)| *slot)
    }

    /// Whether a transaction with this hash may execute now.
    pub(crate) fn is_recent(&self, hash: &[u8; 32]) -> bool {
        let now = self.recent.back().map_or(0, |(slot, _)| *slot);
        self.slot_of(hash)
            .is_some_and(|slot| slot + BLOCKHASH_VALIDITY_SLOTS >= now)
    }
}

fn block_hash(secret: &[u8; 32], slot: u64) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"sandbox block");
    hash.update(secret);
    hash.update(slot.to_le_bytes());
    hash.finalize().into()
}
