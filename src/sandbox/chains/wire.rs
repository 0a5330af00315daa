//! The wire format of Solana transactions, legacy and v0, limited to what a payment needs.

/// Maximum size of a transaction on the wire, in bytes.
pub(crate) const MAX_WIRE: usize = 1232;

/// Why bytes are not a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a Solana transaction: {0}")]
pub(crate) struct WireError(&'static str);

/// A parsed transaction. Every index in it is in range.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    /// One signature per required signer, in account-key order; zeroed where missing.
    pub(crate) signatures: Vec<[u8; 64]>,
    pub(crate) message: Vec<u8>,
    pub(crate) keys: Vec<[u8; 32]>,
    pub(crate) blockhash: [u8; 32],
    pub(crate) instructions: Vec<Instruction>,
}

#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) program: [u8; 32],
    pub(crate) accounts: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

impl Transaction {
    /// Parses a whole transaction; rejects trailing bytes and lookup tables.
    pub(crate) fn parse(wire: &[u8]) -> Result<Self, WireError> {
        if wire.len() > MAX_WIRE {
            return Err(WireError("too large"));
        }
        let mut reader = Reader(wire);
        let count = reader.length()?;
        let mut signatures = Vec::new();
        for _ in 0..count {
            signatures.push(*reader.array::<64>()?);
        }
        let message = reader.0.to_vec();
        let mut required = reader.byte()?;
        let versioned = required & 0x80 != 0;
        if versioned {
            if required != 0x80 {
                return Err(WireError("unknown version"));
            }
            required = reader.byte()?;
        }
        let [readonly_signed, readonly_unsigned] = *reader.array::<2>()?;
        let count = reader.length()?;
        let mut keys = Vec::new();
        for _ in 0..count {
            keys.push(*reader.array::<32>()?);
        }
        let required = usize::from(required);
        if required != signatures.len() || required == 0 || required > keys.len() {
            return Err(WireError("signature count"));
        }
        if usize::from(readonly_signed) >= required || required + usize::from(readonly_unsigned) > keys.len() {
            return Err(WireError("header"));
        }
        let blockhash = *reader.array::<32>()?;
        let instructions = reader.instructions(&keys)?;
        if versioned && reader.length()? != 0 {
            return Err(WireError("address lookup tables are not supported"));
        }
        if !reader.0.is_empty() {
            return Err(WireError("trailing bytes"));
        }
        Ok(Self {
            signatures,
            message,
            keys,
            blockhash,
            instructions,
        })
    }

    /// Whether the account at this index must sign.
    pub(crate) fn is_signer(&self, index: u8) -> bool {
        usize::from(index) < self.signatures.len()
    }

    /// The wire form of the transaction.
    pub(crate) fn wire(&self) -> Vec<u8> {
        let mut wire = Vec::with_capacity(MAX_WIRE);
        // At most 19 signatures fit into a transaction, so the count is one byte.
        wire.push(u8::try_from(self.signatures.len()).unwrap_or(u8::MAX));
        for signature in &self.signatures {
            wire.extend_from_slice(signature);
        }
        wire.extend_from_slice(&self.message);
        wire
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(WireError("truncated"))?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], WireError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(WireError("truncated"))?;
        self.0 = rest;
        Ok(head)
    }

    fn byte(&mut self) -> Result<u8, WireError> {
        Ok(self.array::<1>()?[0])
    }

    /// A compact-u16. A wire of 1,232 bytes needs at most two of its bytes, and each value has one encoding.
    fn length(&mut self) -> Result<usize, WireError> {
        let first = usize::from(self.byte()?);
        if first < 0x80 {
            return Ok(first);
        }
        let second = usize::from(self.byte()?);
        if second == 0 || second >= 0x80 {
            return Err(WireError("length"));
        }
        Ok((first & 0x7f) | (second << 7))
    }

    fn instructions(&mut self, keys: &[[u8; 32]]) -> Result<Vec<Instruction>, WireError> {
        let count = self.length()?;
        let mut instructions = Vec::new();
        for _ in 0..count {
            let program = *keys.get(usize::from(self.byte()?)).ok_or(WireError("account index"))?;
            let length = self.length()?;
            let accounts = self.bytes(length)?.to_vec();
            if accounts.iter().any(|i| usize::from(*i) >= keys.len()) {
                return Err(WireError("account index"));
            }
            let length = self.length()?;
            let data = self.bytes(length)?.to_vec();
            instructions.push(Instruction {
                program,
                accounts,
                data,
            });
        }
        Ok(instructions)
    }
}
