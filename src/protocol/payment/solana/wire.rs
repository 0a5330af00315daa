//! Solana's wire format, parsed strictly and without copying: legacy and version 0 messages.
//!
//! Everything that validators would reject is rejected here too, so that no payment is claimed that can never settle:
//! non-canonical lengths, indexes out of range, inconsistent headers, bytes after the end.

use purser_chains::solana::transaction;
use purser_chains::solana::wire::Reader;

use super::address::Pubkey;

pub use purser_chains::solana::transaction::MAX_TRANSACTION_BYTES;

const TOO_LONG: &str = "the transaction is longer than 1232 bytes";

/// Why bytes are not a supported transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Not the wire format.
    #[error("{0}")]
    Malformed(&'static str),
    /// Well-formed, but some accounts are only in on-chain lookup tables.
    #[error("address lookup tables")]
    LookupTables,
}

impl From<transaction::WireError> for WireError {
    fn from(error: transaction::WireError) -> Self {
        match error {
            transaction::WireError::Malformed(what) => Self::Malformed(what),
            transaction::WireError::TooLong => Self::Malformed(TOO_LONG),
            transaction::WireError::LookupTables => Self::LookupTables,
        }
    }
}

/// A transaction, borrowed from its bytes.
#[derive(Clone, Debug)]
pub struct Transaction<'a> {
    /// One signature per required signer, in account-key order.
    pub signatures: &'a [[u8; 64]],
    /// The signed bytes.
    pub message: &'a [u8],
    /// The accounts; signers first, writable before read-only in both halves.
    pub keys: &'a [Pubkey],
    /// Limits how long the transaction can be executed.
    pub blockhash: &'a [u8; 32],
    /// In order of execution.
    pub instructions: Vec<Instruction<'a>>,
    readonly_signed: usize,
    readonly_unsigned: usize,
}

/// One call of a program. The indexes refer to `keys`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// Index of the program's key.
    pub program: u8,
    /// Indexes of the accounts.
    pub accounts: &'a [u8],
    pub data: &'a [u8],
}

impl<'a> Transaction<'a> {
    /// Parses a whole transaction.
    ///
    /// # Errors
    /// See [`WireError`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        if bytes.len() > MAX_TRANSACTION_BYTES {
            return Err(WireError::Malformed(TOO_LONG));
        }
        let mut reader = Reader(bytes);
        let count = reader.length()?;
        let signatures = reader.arrays::<64>(count)?;
        let message = reader.0;
        let versioned = match reader.peek()? {
            0x80 => {
                reader.byte()?;
                true
            }
            first if first < 0x80 => false,
            _ => return Err(WireError::Malformed("an unknown message version")),
        };
        let required = usize::from(reader.byte()?);
        let readonly_signed = usize::from(reader.byte()?);
        let readonly_unsigned = usize::from(reader.byte()?);
        let count = reader.length()?;
        let keys = reader.arrays::<32>(count)?;
        let adds_up = required == signatures.len()
            && readonly_signed < required
            && required + readonly_unsigned <= keys.len()
            && keys.len() <= 256;
        if !adds_up {
            return Err(WireError::Malformed(
                "the message header does not fit its signatures and accounts",
            ));
        }
        let blockhash = reader.array::<32>()?;
        let count = reader.length()?;
        // Bounded by the input: an instruction takes at least three bytes.
        let mut instructions = Vec::with_capacity(count.min(reader.0.len() / 3));
        for _ in 0..count {
            instructions.push(instruction(&mut reader, keys.len())?);
        }
        if versioned && reader.length()? != 0 {
            return Err(WireError::LookupTables);
        }
        if !reader.0.is_empty() {
            return Err(WireError::Malformed("bytes after the end of the transaction"));
        }
        Ok(Self {
            signatures,
            message,
            keys,
            blockhash,
            instructions,
            readonly_signed,
            readonly_unsigned,
        })
    }

    /// The account at an index of an instruction.
    pub fn key(&self, index: u8) -> &'a Pubkey {
        // `parse` has checked every index of every instruction.
        &self.keys[usize::from(index)]
    }

    pub fn program(&self, instruction: &Instruction<'_>) -> &'a Pubkey {
        self.key(instruction.program)
    }

    /// Whether the message lets instructions write to this account.
    pub fn is_writable(&self, index: u8) -> bool {
        let index = usize::from(index);
        let signers = self.signatures.len();
        if index < signers {
            index < signers - self.readonly_signed
        } else {
            index < self.keys.len() - self.readonly_unsigned
        }
    }
}

fn instruction<'a>(reader: &mut Reader<'a>, keys: usize) -> Result<Instruction<'a>, WireError> {
    let program = reader.byte()?;
    let accounts = reader.bytes()?;
    let data = reader.bytes()?;
    let known = |index: &u8| usize::from(*index) < keys;
    if !known(&program) || !accounts.iter().all(known) {
        return Err(WireError::Malformed(
            "an instruction names an account that is not listed",
        ));
    }
    Ok(Instruction {
        program,
        accounts,
        data,
    })
}
