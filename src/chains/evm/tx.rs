//! EIP-1559 transactions: RLP, signature, hash.

#[cfg(test)]
mod tests;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::{Decodable as _, Encodable as _, Header};

use super::key::{EvmKey, KeyError, Signature};

const TYPE: u8 = 2;

/// EIP-1559 fees, in wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fee {
    /// Maximum price, base fee included.
    pub max_fee: u128,
    /// Maximum part of it that goes to the block's producer.
    pub max_priority_fee: u128,
}

/// A contract call or a transfer; contract creation is not supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// Nonce of the sender, from 0 without gaps.
    pub nonce: u64,
    /// Fees per gas.
    pub fee: Fee,
    /// Maximum gas that may be used.
    pub gas_limit: u64,
    /// Address of the callee.
    pub to: Address,
    /// Value in wei.
    pub value: U256,
    pub data: Bytes,
}

/// A signed transaction, ready to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTransaction {
    /// The signed fields.
    pub transaction: Transaction,
    /// Signature of the sender.
    pub signature: Signature,
    /// EIP-2718 envelope: the type's byte and an RLP list.
    pub bytes: Vec<u8>,
    /// Keccak-256 of `bytes`, which identifies the transaction.
    pub hash: B256,
}

/// The bytes are not a transaction of this form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Another EIP-2718 type.
    #[error("not an EIP-1559 transaction")]
    Type,
    /// Not canonical RLP of the twelve fields.
    #[error("malformed transaction: {0}")]
    Rlp(alloy_rlp::Error),
    /// Access lists and contract creation are not supported.
    #[error("the transaction has an access list or no recipient")]
    Unsupported,
    /// High s (EIP-2), or not a point of the curve.
    #[error("invalid signature")]
    Signature,
}

impl From<alloy_rlp::Error> for ParseError {
    fn from(error: alloy_rlp::Error) -> Self {
        Self::Rlp(error)
    }
}

impl Transaction {
    /// The digest to sign.
    pub fn digest(&self) -> B256 {
        let mut fields = Vec::with_capacity(self.data.len() + 128);
        self.encode_fields(&mut fields);
        keccak256(envelope(&fields))
    }

    /// Signs and encodes the transaction.
    ///
    /// # Errors
    /// Same as [`EvmKey::sign`].
    pub fn sign(self, key: &EvmKey) -> Result<SignedTransaction, KeyError> {
        let signature = key.sign(self.digest())?;
        let mut fields = Vec::with_capacity(self.data.len() + 192);
        self.encode_fields(&mut fields);
        signature.y_parity.encode(&mut fields);
        encode_integer(signature.r.as_slice(), &mut fields);
        encode_integer(signature.s.as_slice(), &mut fields);
        let bytes = envelope(&fields);
        Ok(SignedTransaction {
            transaction: self,
            signature,
            hash: keccak256(&bytes),
            bytes,
        })
    }

    /// Maximum cost on the chain itself, in wei: gas and value, without Base's L1 fee. `None` above 2^256.
    pub fn max_cost(&self) -> Option<U256> {
        U256::from(self.gas_limit)
            .checked_mul(U256::from(self.fee.max_fee))?
            .checked_add(self.value)
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        self.chain_id.encode(out);
        self.nonce.encode(out);
        self.fee.max_priority_fee.encode(out);
        self.fee.max_fee.encode(out);
        self.gas_limit.encode(out);
        self.to.as_slice().encode(out);
        encode_integer(&self.value.to_be_bytes::<32>(), out);
        self.data.as_ref().encode(out);
        out.push(alloy_rlp::EMPTY_LIST_CODE);
    }
}

impl SignedTransaction {
    /// Parses the encoding made by [`Transaction::sign`].
    ///
    /// # Errors
    /// See [`ParseError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let Some((&TYPE, mut list)) = bytes.split_first() else {
            return Err(ParseError::Type);
        };
        let mut fields = Header::decode_bytes(&mut list, true)?;
        if !list.is_empty() {
            return Err(alloy_rlp::Error::UnexpectedLength.into());
        }
        let fields = &mut fields;
        let chain_id = u64::decode(fields)?;
        let nonce = u64::decode(fields)?;
        let max_priority_fee = u128::decode(fields)?;
        let max_fee = u128::decode(fields)?;
        let gas_limit = u64::decode(fields)?;
        let to = Header::decode_bytes(fields, false)?;
        let value = decode_integer(fields)?;
        let data = Bytes::copy_from_slice(Header::decode_bytes(fields, false)?);
        let access_list = Header::decode_bytes(fields, true)?;
        let y_parity = bool::decode(fields)?;
        let signature = Signature {
            r: decode_integer(fields)?.into(),
            s: decode_integer(fields)?.into(),
            y_parity,
        };
        if !fields.is_empty() {
            return Err(alloy_rlp::Error::UnexpectedLength.into());
        }
        if to.len() != 20 || !access_list.is_empty() {
            return Err(ParseError::Unsupported);
        }
        let parsed = Self {
            transaction: Transaction {
                chain_id,
                nonce,
                fee: Fee {
                    max_fee,
                    max_priority_fee,
                },
                gas_limit,
                to: Address::from_slice(to),
                value,
                data,
            },
            signature,
            bytes: bytes.to_vec(),
            hash: keccak256(bytes),
        };
        parsed.sender().map(|_| parsed)
    }

    /// Recovers the sender.
    ///
    /// # Errors
    /// [`ParseError::Signature`]; none for a transaction that [`SignedTransaction::parse`] has accepted.
    pub fn sender(&self) -> Result<Address, ParseError> {
        if U256::from_be_bytes(self.signature.s.0) > HALF_ORDER {
            return Err(ParseError::Signature);
        }
        let digest = self.transaction.digest();
        self.signature.recover(digest).ok_or(ParseError::Signature)
    }
}

/// Half of the group order of secp256k1 (EIP-2).
const HALF_ORDER: U256 = U256::from_limbs([
    0xdfe9_2f46_681b_20a0,
    0x5d57_6e73_57a4_501d,
    0xffff_ffff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
]);

fn envelope(fields: &[u8]) -> Vec<u8> {
    let header = Header {
        list: true,
        payload_length: fields.len(),
    };
    let mut bytes = Vec::with_capacity(fields.len() + 10);
    bytes.push(TYPE);
    header.encode(&mut bytes);
    bytes.extend_from_slice(fields);
    bytes
}

// RLP integers have no leading zero bytes.
fn encode_integer(big_endian: &[u8], out: &mut Vec<u8>) {
    let zeros = big_endian.iter().take_while(|byte| **byte == 0).count();
    big_endian[zeros..].encode(out);
}

fn decode_integer(from: &mut &[u8]) -> Result<U256, alloy_rlp::Error> {
    let bytes = Header::decode_bytes(from, false)?;
    if bytes.first() == Some(&0) {
        return Err(alloy_rlp::Error::LeadingZero);
    }
    if bytes.len() > 32 {
        return Err(alloy_rlp::Error::Overflow);
    }
    Ok(U256::from_be_slice(bytes))
}
