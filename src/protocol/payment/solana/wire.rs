//! Solana's wire format, parsed strictly and without copying: legacy and version 0 messages.
//!
//! Everything that validators would reject is rejected here too, so that no payment is claimed that can never settle:
//! non-canonical lengths, indexes out of range, inconsistent headers, bytes after the end.

use super::address::Pubkey;

/// Largest transaction on the wire: an IPv6 packet of 1,280 bytes less its headers.
pub const MAX_TRANSACTION_BYTES: usize = 1232;

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
            return Err(WireError::Malformed("the transaction is longer than 1232 bytes"));
        }
        let mut reader = Reader(bytes);
        let count = reader.length()?;
        let signatures = reader.array_of::<64>(count)?;
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
        let keys = reader.array_of::<32>(count)?;
        let adds_up = required == signatures.len()
            && readonly_signed < required
            && required + readonly_unsigned <= keys.len()
            && keys.len() <= 256;
        if !adds_up {
            return Err(WireError::Malformed(
                "the message header does not fit its signatures and accounts",
            ));
        }
        let [blockhash] = reader.array_of::<32>(1)? else {
            return Err(ENDS_EARLY);
        };
        let count = reader.length()?;
        // Bounded by the input: an instruction takes at least three bytes.
        let mut instructions = Vec::with_capacity(count.min(reader.0.len() / 3));
        for _ in 0..count {
            instructions.push(reader.instruction(keys.len())?);
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

const ENDS_EARLY: WireError = WireError::Malformed("the transaction ends early");

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn peek(&self) -> Result<u8, WireError> {
        self.0.first().copied().ok_or(ENDS_EARLY)
    }

    fn byte(&mut self) -> Result<u8, WireError> {
        let (first, rest) = self.0.split_first().ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(*first)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array_of<const N: usize>(&mut self, count: usize) -> Result<&'a [[u8; N]], WireError> {
        // `count` is at most 65,535, so the product fits.
        Ok(self.take(count * N)?.as_chunks::<N>().0)
    }

    /// Solana's compact-u16: seven bits per byte, least significant first, in its shortest form only.
    fn length(&mut self) -> Result<usize, WireError> {
        let mut value = 0usize;
        for position in 0..3 {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f) << (7 * position);
            if byte & 0x80 == 0 {
                let shortest = position == 0 || byte != 0;
                let fits = value <= usize::from(u16::MAX);
                return if shortest && fits { Ok(value) } else { Err(BAD_LENGTH) };
            }
        }
        Err(BAD_LENGTH)
    }

    fn instruction(&mut self, keys: usize) -> Result<Instruction<'a>, WireError> {
        let program = self.byte()?;
        let count = self.length()?;
        let accounts = self.take(count)?;
        let count = self.length()?;
        let data = self.take(count)?;
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
}

const BAD_LENGTH: WireError = WireError::Malformed("a length is not in its shortest form");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_one_spelling() {
        // Checks: compact-u16 is parsed as validators do; every other encoding of a number is rejected.
        let cases: [(&[u8], Option<usize>); 11] = [
            (&[0x00], Some(0)),
            (&[0x7f], Some(127)),
            (&[0x80, 0x01], Some(128)),
            (&[0xff, 0x7f], Some(16383)),
            (&[0x80, 0x80, 0x01], Some(16384)),
            (&[0xff, 0xff, 0x03], Some(65535)),
            (&[0x80, 0x00], None),
            (&[0x81, 0x80, 0x00], None),
            (&[0x80, 0x80, 0x04], None),
            (&[0xff, 0xff, 0xff], None),
            (&[0x80], None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Reader(bytes).length().ok(), expected, "{bytes:02x?}");
        }
    }
}
