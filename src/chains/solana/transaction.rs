//! Transactions: signatures in front of a message.

use ed25519_dalek::VerifyingKey;

use super::address::Pubkey;
use super::draft::Draft;
use super::keypair::Keypair;
use super::message::Message;
use super::wire::{Reader, push_length};

/// Maximum size of a transaction on the wire: an IPv6 packet of 1,280 bytes minus its headers (Solana's
/// `PACKET_DATA_SIZE`).
pub const MAX_TRANSACTION_BYTES: usize = 1232;

/// An ed25519 signature. The fee payer's, in slot 0, is the transaction's id.
pub type Signature = [u8; 64];

/// The content of a signature slot that is not signed yet.
pub const UNSIGNED: Signature = [0; 64];

/// Why bytes are not a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Not the wire format, or rejected by every validator.
    #[error("{0}")]
    Malformed(&'static str),
    /// Larger than [`MAX_TRANSACTION_BYTES`].
    #[error("the transaction is longer than 1232 bytes")]
    TooLong,
    /// Well-formed, but some accounts are only listed on chain.
    #[error("the transaction uses address lookup tables")]
    LookupTables,
}

/// A transaction, borrowed from its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction<'a> {
    /// One signature per required signer, in account-key order; [`UNSIGNED`] where missing.
    pub signatures: &'a [Signature],
    /// The bytes that are signed.
    pub message_bytes: &'a [u8],
    /// The message bytes, parsed.
    pub message: Message<'a>,
}

impl<'a> Transaction<'a> {
    /// Reads a whole transaction.
    ///
    /// # Errors
    /// [`WireError::TooLong`] and [`WireError::Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        if bytes.len() > MAX_TRANSACTION_BYTES {
            return Err(WireError::TooLong);
        }
        let mut reader = Reader(bytes);
        let count = reader.length()?;
        let signatures = reader.arrays::<64>(count)?;
        let message_bytes = reader.0;
        let message = Message::parse(message_bytes)?;
        if signatures.len() != usize::from(message.header.required_signatures) {
            return Err(WireError::Malformed(
                "the number of signatures is not what the message requires",
            ));
        }
        Ok(Self {
            signatures,
            message_bytes,
            message,
        })
    }

    /// Like [`Self::parse`], for a transaction whose accounts are all listed in it.
    ///
    /// # Errors
    /// Also [`WireError::LookupTables`].
    pub fn parse_without_tables(bytes: &'a [u8]) -> Result<Self, WireError> {
        let transaction = Self::parse(bytes)?;
        if transaction.message.lookups.is_empty() {
            Ok(transaction)
        } else {
            Err(WireError::LookupTables)
        }
    }

    /// The transaction's id: the fee payer's signature. `None` until the fee payer has signed.
    pub fn id(&self) -> Option<&'a Signature> {
        self.signatures.first().filter(|signature| **signature != UNSIGNED)
    }

    /// The signature slot of a signer.
    pub fn slot_of(&self, signer: &Pubkey) -> Option<usize> {
        self.message.signers().iter().position(|key| key == signer)
    }

    /// Whether the signature in a slot verifies strictly, as validators verify it: canonical, and no weak key.
    pub fn verifies(&self, slot: usize) -> bool {
        match (self.message.signers().get(slot), self.signatures.get(slot)) {
            (Some(signer), Some(signature)) => verify(signer, self.message_bytes, signature),
            _ => false,
        }
    }

    /// Whether every slot except `except` verifies strictly.
    pub fn verifies_except(&self, except: Option<usize>) -> bool {
        (0..self.signatures.len()).all(|slot| Some(slot) == except || self.verifies(slot))
    }
}

/// Whether `signature` is a signature of `message` by `signer`, under the strict rules of validators.
pub fn verify(signer: &Pubkey, message: &[u8], signature: &Signature) -> bool {
    VerifyingKey::from_bytes(signer).is_ok_and(|key| {
        key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature))
            .is_ok()
    })
}

/// A transaction that every signer has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The wire transaction, at most [`MAX_TRANSACTION_BYTES`].
    pub bytes: Vec<u8>,
    /// Transaction id, known before it is sent.
    pub id: Signature,
}

/// Why a transaction was not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The bytes are not a transaction, or it would be too long.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The key is not among the signers.
    #[error("the key does not sign this transaction")]
    NotASigner,
    /// Another slot is empty or its signature does not verify.
    #[error("another signature is missing or does not verify")]
    OtherSignature,
    /// The transaction uses a durable nonce, so it would never expire.
    #[error("the transaction uses a durable nonce")]
    DurableNonce,
}

/// Adds one signature to a transaction whose other signatures are all present, such as the fee payer's to a client's
/// payment. All other slots are first verified strictly. The caller must check what the transaction does.
///
/// # Errors
/// See [`SignError`]. Nothing is signed then.
pub fn co_sign(bytes: &[u8], key: &Keypair) -> Result<Signed, SignError> {
    let transaction = Transaction::parse_without_tables(bytes)?;
    if transaction.message.has_durable_nonce() {
        return Err(SignError::DurableNonce);
    }
    let slot = transaction.slot_of(&key.address()).ok_or(SignError::NotASigner)?;
    if !transaction.verifies_except(Some(slot)) {
        return Err(SignError::OtherSignature);
    }
    let mut signatures = transaction.signatures.to_vec();
    signatures[slot] = key.sign(transaction.message_bytes);
    Ok(Signed {
        id: signatures[0],
        bytes: assemble(&signatures, transaction.message_bytes)?,
    })
}

/// The transaction without any signature, for simulations: a node that receives it can't send it.
///
/// # Errors
/// [`WireError`] if the bytes are not a transaction.
pub fn without_signatures(bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    let transaction = Transaction::parse(bytes)?;
    let unsigned = vec![UNSIGNED; transaction.signatures.len()];
    assemble(&unsigned, transaction.message_bytes)
}

/// Compiles a draft and signs it with all its signers.
///
/// # Errors
/// [`SignError::Wire`], [`SignError::NotASigner`] for a key without a slot, [`SignError::OtherSignature`] for a slot
/// without a key.
pub fn sign(draft: &Draft, keys: &[&Keypair]) -> Result<Signed, SignError> {
    let (bytes, signatures) = sign_slots(draft, keys)?;
    if signatures.contains(&UNSIGNED) {
        return Err(SignError::OtherSignature);
    }
    Ok(Signed {
        bytes,
        id: signatures[0],
    })
}

/// Compiles a draft and signs the slots of `keys`; the other slots stay [`UNSIGNED`] for their signers. A payer uses
/// this to leave slot 0 to the seller's fee payer. Returns the wire transaction.
///
/// # Errors
/// [`SignError::Wire`] and [`SignError::NotASigner`].
pub fn sign_partially(draft: &Draft, keys: &[&Keypair]) -> Result<Vec<u8>, SignError> {
    sign_slots(draft, keys).map(|(bytes, _)| bytes)
}

fn sign_slots(draft: &Draft, keys: &[&Keypair]) -> Result<(Vec<u8>, Vec<Signature>), SignError> {
    let compiled = draft.compile()?;
    let mut signatures = vec![UNSIGNED; compiled.signers.len()];
    for key in keys {
        let address = key.address();
        let slot = compiled.signers.iter().position(|signer| *signer == address);
        signatures[slot.ok_or(SignError::NotASigner)?] = key.sign(&compiled.message);
    }
    Ok((assemble(&signatures, &compiled.message)?, signatures))
}

/// The wire form of signatures and a message.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn assemble(signatures: &[Signature], message: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut bytes = Vec::with_capacity(MAX_TRANSACTION_BYTES);
    push_length(&mut bytes, signatures.len());
    bytes.extend(signatures.as_flattened());
    bytes.extend(message);
    if bytes.len() > MAX_TRANSACTION_BYTES {
        return Err(WireError::TooLong);
    }
    Ok(bytes)
}
