//! Messages: what a transaction's signers sign. Parsed without copying; built from a [`super::draft::Draft`].
//!
//! Parsing rejects what validators reject: non-canonical lengths, indexes out of range, inconsistent headers and
//! trailing bytes. No payment is then claimed for a transaction that can never execute.

use super::address::{Pubkey, SYSTEM};
use super::transaction::WireError;
use super::wire::{Reader, push_bytes, push_length};

/// Maximum number of accounts of a message, looked-up ones included: an account index is one byte.
pub const MAX_ACCOUNTS: usize = 256;

/// Instruction data of `AdvanceNonceAccount` in the System program.
const ADVANCE_NONCE: [u8; 4] = [4, 0, 0, 0];

/// Version of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Without a version byte.
    Legacy,
    /// Version 0, which adds address lookup tables.
    V0,
}

/// Division of the account keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of signers; they come first.
    pub required_signatures: u8,
    /// Number of read-only accounts among the signers; they are the last signers.
    pub readonly_signed: u8,
    /// Number of read-only accounts among the rest; they are the last accounts.
    pub readonly_unsigned: u8,
}

/// A message, borrowed from its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Version of the message.
    pub version: Version,
    /// Division of the keys.
    pub header: Header,
    /// The accounts listed in the message: fee payer first, signers before the rest, writable before read-only.
    pub keys: &'a [Pubkey],
    /// Limits the time in which the transaction can execute.
    pub blockhash: &'a [u8; 32],
    /// Instructions in order of execution.
    pub instructions: Vec<CompiledInstruction<'a>>,
    /// Lookup tables in use; empty for a legacy message.
    pub lookups: Vec<TableLookup<'a>>,
}

/// One call of a program. Account indexes count the keys first, then the looked-up accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompiledInstruction<'a> {
    /// Index of the program's key; never 0 and never looked up.
    pub program: u8,
    /// Indexes of the accounts.
    pub accounts: &'a [u8],
    /// Arguments for the program.
    pub data: &'a [u8],
}

/// Accounts taken from an address lookup table on chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLookup<'a> {
    /// Address of the table.
    pub table: &'a Pubkey,
    /// Indexes within the table of writable accounts.
    pub writable: &'a [u8],
    /// Indexes within the table of read-only accounts.
    pub readonly: &'a [u8],
}

impl<'a> Message<'a> {
    /// Parses a whole message.
    ///
    /// # Errors
    /// [`WireError::Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader(bytes);
        let version = match reader.peek()? {
            0x80 => {
                reader.byte()?;
                Version::V0
            }
            first if first < 0x80 => Version::Legacy,
            _ => return Err(WireError::Malformed("an unknown message version")),
        };
        let header = Header {
            required_signatures: reader.byte()?,
            readonly_signed: reader.byte()?,
            readonly_unsigned: reader.byte()?,
        };
        let count = reader.length()?;
        let keys = reader.arrays::<32>(count)?;
        let blockhash = reader.array::<32>()?;
        let count = reader.length()?;
        // An instruction takes at least three bytes, so the capacity is bounded by the input.
        let mut instructions = Vec::with_capacity(count.min(reader.0.len() / 3));
        for _ in 0..count {
            instructions.push(CompiledInstruction {
                program: reader.byte()?,
                accounts: reader.bytes()?,
                data: reader.bytes()?,
            });
        }
        let mut lookups = Vec::new();
        if version == Version::V0 {
            for _ in 0..reader.length()? {
                lookups.push(TableLookup {
                    table: reader.array::<32>()?,
                    writable: reader.bytes()?,
                    readonly: reader.bytes()?,
                });
            }
        }
        if !reader.0.is_empty() {
            return Err(WireError::Malformed("bytes after the end of the transaction"));
        }
        let message = Self {
            version,
            header,
            keys,
            blockhash,
            instructions,
            lookups,
        };
        message.check()?;
        Ok(message)
    }

    /// The checks of the validators' `sanitize`.
    pub(super) fn check(&self) -> Result<(), WireError> {
        let required = usize::from(self.header.required_signatures);
        let listed = self.keys.len();
        if usize::from(self.header.readonly_signed) >= required
            || required + usize::from(self.header.readonly_unsigned) > listed
        {
            return Err(WireError::Malformed("the message header does not fit its accounts"));
        }
        let looked_up = |lookup: &TableLookup<'_>| lookup.writable.len() + lookup.readonly.len();
        if self.lookups.iter().any(|lookup| looked_up(lookup) == 0) {
            return Err(WireError::Malformed("a lookup table without accounts"));
        }
        let all = listed + self.lookups.iter().map(looked_up).sum::<usize>();
        if all > MAX_ACCOUNTS {
            return Err(WireError::Malformed("more than 256 accounts"));
        }
        for instruction in &self.instructions {
            if instruction.program == 0 || usize::from(instruction.program) >= listed {
                return Err(WireError::Malformed(
                    "an instruction calls a program that cannot be called",
                ));
            }
            if instruction.accounts.iter().any(|index| usize::from(*index) >= all) {
                return Err(WireError::Malformed(
                    "an instruction names an account that is not listed",
                ));
            }
        }
        Ok(())
    }

    /// Encodes the message. The result equals the bytes that were parsed.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(super::transaction::MAX_TRANSACTION_BYTES);
        if self.version == Version::V0 {
            bytes.push(0x80);
        }
        bytes.extend([
            self.header.required_signatures,
            self.header.readonly_signed,
            self.header.readonly_unsigned,
        ]);
        push_length(&mut bytes, self.keys.len());
        bytes.extend(self.keys.as_flattened());
        bytes.extend(self.blockhash);
        push_length(&mut bytes, self.instructions.len());
        for instruction in &self.instructions {
            bytes.push(instruction.program);
            push_bytes(&mut bytes, instruction.accounts);
            push_bytes(&mut bytes, instruction.data);
        }
        if self.version == Version::V0 {
            push_length(&mut bytes, self.lookups.len());
            for lookup in &self.lookups {
                bytes.extend(lookup.table);
                push_bytes(&mut bytes, lookup.writable);
                push_bytes(&mut bytes, lookup.readonly);
            }
        }
        bytes
    }

    /// The key of an account index. `None` for an account that is looked up in a table.
    pub fn key(&self, index: u8) -> Option<&'a Pubkey> {
        self.keys.get(usize::from(index))
    }

    /// The program that an instruction calls. `None` only for an instruction of another message.
    pub fn program(&self, instruction: &CompiledInstruction<'_>) -> Option<&'a Pubkey> {
        self.key(instruction.program)
    }

    /// The keys of an instruction's accounts. `None` if one of them is looked up in a table.
    pub fn accounts(&self, instruction: &CompiledInstruction<'_>) -> Option<Vec<&'a Pubkey>> {
        instruction.accounts.iter().map(|index| self.key(*index)).collect()
    }

    /// The keys that must sign, fee payer first.
    pub fn signers(&self) -> &'a [Pubkey] {
        &self.keys[..usize::from(self.header.required_signatures)]
    }

    /// Whether an account of the list must sign.
    pub fn is_signer(&self, index: u8) -> bool {
        index < self.header.required_signatures
    }

    /// Whether the message requests write access to an account of the list. `false` for looked-up accounts.
    pub fn is_writable(&self, index: u8) -> bool {
        let index = usize::from(index);
        let signers = usize::from(self.header.required_signatures);
        if index < signers {
            index < signers - usize::from(self.header.readonly_signed)
        } else {
            index < self.keys.len() - usize::from(self.header.readonly_unsigned)
        }
    }

    /// A key that is listed twice. Validators reject such a transaction (`AccountLoadedTwice`).
    pub fn duplicate_key(&self) -> Option<&'a Pubkey> {
        let mut keys = self.keys.iter().enumerate();
        keys.find(|(index, key)| self.keys[..*index].contains(key))
            .map(|(_, key)| key)
    }

    /// Whether an instruction names account 0. A fee payer that co-signs a client's message must not be named: it would
    /// authorise what the instruction does.
    pub fn names_fee_payer(&self) -> bool {
        self.instructions
            .iter()
            .any(|instruction| instruction.accounts.contains(&0))
    }

    /// Whether the first instruction advances a durable nonce: the blockhash is then a stored nonce and never expires.
    pub fn has_durable_nonce(&self) -> bool {
        self.instructions
            .first()
            .is_some_and(|first| self.program(first) == Some(&SYSTEM) && first.data.get(..4) == Some(&ADVANCE_NONCE))
    }
}
