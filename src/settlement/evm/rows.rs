//! Rows of the port in the engine's store, so that one backup contains all of them.

use std::sync::Arc;

use purser_actors::id::Wallet;
use purser_actors::kernel::table;
use purser_actors::money::Usdc;
use purser_actors::port::{ChainMovement, OutgoingTransfer, Timestamp};
use purser_chains::evm::blocks::Header;
use purser_chains::evm::contract_wallet::is_wrapped;
use purser_chains::evm::usdc::{Authorization, TransferRef};
use purser_chains::evm::{Address, B256, U256};
use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, CommitError, RowKey, Store, StoreError, Write};

/// Identifies a payment on the chain: the token accepts each nonce of a payer once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) from: Address,
    pub(super) nonce: B256,
}

/// A payment, ready to send.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Payment {
    pub(super) from: [u8; 20],
    pub(super) to: [u8; 20],
    pub(super) value: Usdc,
    pub(super) valid_after: u64,
    pub(super) valid_before: u64,
    pub(super) nonce: [u8; 32],
    pub(super) signature: Vec<u8>,
}

impl Payment {
    pub(super) fn key(&self) -> Key {
        Key {
            from: self.from.into(),
            nonce: self.nonce.into(),
        }
    }

    /// Whether its transaction may have to deploy the wallet (ERC-6492).
    pub(super) fn deploys(&self) -> bool {
        is_wrapped(&self.signature)
    }

    pub(super) fn authorization(&self) -> Authorization {
        Authorization {
            from: self.from.into(),
            to: self.to.into(),
            value: U256::from(self.value.atomic()),
            valid_after: U256::from(self.valid_after),
            valid_before: U256::from(self.valid_before),
            nonce: self.nonce.into(),
        }
    }
}

/// A payment that was removed from a transaction and waits for another one.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct WaitingPayment(pub(super) Payment);

impl Stored for WaitingPayment {
    const SCHEMA: u16 = 500;
}

/// The original payments of a gas key's transaction: written once, in pieces.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct TransactionPayments(pub(super) Vec<Payment>);

impl Stored for TransactionPayments {
    const SCHEMA: u16 = 501;
}

/// A nonce of a gas key. The bytes of the attempts and the payments are in other rows.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct NonceRow {
    /// Indexes in [`TransactionPayments`] of the payments that the row still has.
    pub(super) payments: Vec<u16>,
    /// Size of the encoded [`TransactionPayments`] in bytes.
    pub(super) content_bytes: u32,
    pub(super) attempts: Vec<AttemptRow>,
    pub(super) released: bool,
    pub(super) canceled: bool,
}

impl Stored for NonceRow {
    const SCHEMA: u16 = 502;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct AttemptRow {
    pub(super) hash: [u8; 32],
    pub(super) max_fee: u128,
    pub(super) max_priority_fee: u128,
    pub(super) filler: bool,
    /// Size of the transaction in bytes.
    pub(super) length: u32,
}

/// A block that was read, and the half-open range of positions of its transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct BlockRow {
    number: u64,
    hash: [u8; 32],
    parent: [u8; 32],
    timestamp: u64,
    pub(super) first: u64,
    pub(super) end: u64,
}

impl Stored for BlockRow {
    const SCHEMA: u16 = 503;
}

impl BlockRow {
    pub(super) fn new(header: &Header, first: u64, end: u64) -> Self {
        Self {
            number: header.number,
            hash: header.hash.0,
            parent: header.parent.0,
            timestamp: header.timestamp,
            first,
            end,
        }
    }

    pub(super) fn header(&self) -> Header {
        Header {
            number: self.number,
            hash: self.hash.into(),
            parent: self.parent.into(),
            timestamp: self.timestamp,
        }
    }
}

/// The chain's own levels as last seen, and the first block that was ever read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct LevelsRow {
    pub(super) start: u64,
    pub(super) safe: Option<BlockRow>,
    pub(super) finalized: Option<BlockRow>,
}

impl Stored for LevelsRow {
    const SCHEMA: u16 = 504;
}

/// A transfer of USDC that involves us, or an authorization that was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct MovementRow {
    pub(super) transaction: [u8; 32],
    pub(super) log_index: u64,
    /// Index of its log after the token's first log in the transaction: the index in the block changes with a reorg.
    pub(super) index: u32,
    pub(super) block: u64,
    pub(super) block_hash: [u8; 32],
    pub(super) from: [u8; 20],
    pub(super) to: [u8; 20],
    pub(super) value: Usdc,
    /// Nonce of the authorization that was used.
    pub(super) nonce: Option<[u8; 32]>,
    /// The payer has cancelled the authorization: nothing moved.
    pub(super) canceled: bool,
    pub(super) at: Timestamp,
    /// Whether a reorg removed it.
    pub(super) reorged: bool,
}

impl Stored for MovementRow {
    const SCHEMA: u16 = 505;
}

impl MovementRow {
    pub(super) fn transaction(&self) -> String {
        format!("0x{}", hex::encode(self.transaction))
    }

    /// The mark that identifies its authorization. A transfer without one has a mark that no authorization has.
    pub(super) fn mark(&self) -> [u8; 32] {
        let plain = || ChainMovement::plain_fingerprint(&self.transaction(), self.index);
        self.nonce.unwrap_or_else(plain)
    }

    /// Whether funds moved and no reorg removed the transfer.
    pub(super) const fn is_effective(&self) -> bool {
        !self.reorged && !self.canceled
    }

    pub(super) fn reference(&self) -> TransferRef {
        TransferRef {
            transaction: self.transaction.into(),
            log_index: self.log_index,
        }
    }

    pub(super) fn outgoing_transfer(&self) -> OutgoingTransfer {
        OutgoingTransfer {
            transaction: self.transaction(),
            to: Wallet::Evm(self.to),
            amount: self.value,
            at: self.at,
            fingerprint: self.mark(),
            index: self.index,
        }
    }

    /// The transfer from the treasury's view; `None` if the treasury is on neither side, or on both.
    pub(super) fn movement(&self, treasury: [u8; 20]) -> Option<ChainMovement> {
        let incoming = match (self.from == treasury, self.to == treasury) {
            (true, false) => false,
            (false, true) => true,
            _ => return None,
        };
        self.is_effective().then(|| ChainMovement {
            transaction: self.transaction(),
            index: self.index,
            incoming,
            counterparty: Wallet::Evm(if incoming { self.from } else { self.to }),
            amount: self.value,
            at: self.at,
            fingerprint: self.mark(),
        })
    }
}

/// Size of one piece of a value that is larger than a row, in bytes.
const PIECE: usize = 12_000;

pub(super) fn key(parts: &[&[u8]]) -> RowKey {
    [&[&[table::BASE] as &[u8]], parts].concat().concat().into_boxed_slice()
}

pub(super) fn block(number: u64) -> RowKey {
    key(&[b"b", &number.to_be_bytes()])
}

pub(super) fn blocks() -> RowKey {
    key(&[b"b"])
}

pub(super) fn levels() -> RowKey {
    key(&[b"l"])
}

/// Transfers by position, in the order of reading: a transfer read again after a reorg has a new one.
pub(super) fn movement(place: u64) -> RowKey {
    key(&[b"m", &place.to_be_bytes()])
}

pub(super) fn movements() -> RowKey {
    key(&[b"m"])
}

/// Position of the transfer that used an authorization.
pub(super) fn used(of: &Key) -> RowKey {
    key(&[b"a", of.from.as_slice(), of.nonce.as_slice()])
}

/// Prefix of the positions of a transaction's transfers.
pub(super) fn of_transaction(transaction: &[u8; 32]) -> RowKey {
    key(&[b"t", transaction])
}

/// Position of one transfer of a transaction.
pub(super) fn named(reference: &TransferRef) -> RowKey {
    key(&[
        &of_transaction(&reference.transaction.0)[1..],
        &reference.log_index.to_be_bytes(),
    ])
}

pub(super) fn all_waiting() -> RowKey {
    key(&[b"w"])
}

pub(super) fn waiting_of(gas_key: &Address) -> RowKey {
    key(&[b"w", gas_key.as_slice()])
}

pub(super) fn waiting(gas_key: &Address, of: &Key) -> RowKey {
    key(&[b"w", gas_key.as_slice(), of.from.as_slice(), of.nonce.as_slice()])
}

pub(super) fn nonces() -> RowKey {
    key(&[b"n"])
}

pub(super) fn nonces_of(gas_key: &Address) -> RowKey {
    key(&[b"n", gas_key.as_slice()])
}

pub(super) fn nonce(gas_key: &Address, nonce: u64) -> RowKey {
    key(&[b"n", gas_key.as_slice(), &nonce.to_be_bytes()])
}

/// Prefix of the payments of a transaction.
pub(super) fn transaction_payments(gas_key: &Address, nonce: u64) -> RowKey {
    key(&[b"c", gas_key.as_slice(), &nonce.to_be_bytes()])
}

/// Prefix of the bytes of an attempt.
pub(super) fn attempt(gas_key: &Address, nonce: u64, attempt: u16) -> RowKey {
    key(&[b"x", gas_key.as_slice(), &nonce.to_be_bytes(), &attempt.to_be_bytes()])
}

pub(super) fn put(key: RowKey, value: Vec<u8>) -> Write {
    Write::Put {
        key,
        revision: 0,
        value,
    }
}

/// Writes for a value that may be larger than a row.
pub(super) fn put_pieces(prefix: &RowKey, value: &[u8]) -> Vec<Write> {
    let pieces = value.chunks(PIECE).zip(0_u16..);
    let piece = |(bytes, n): (&[u8], u16)| put([prefix, &n.to_be_bytes()[..]].concat().into(), bytes.to_vec());
    pieces.map(piece).collect()
}

/// Deletes the pieces of such a value.
pub(super) fn delete_pieces(prefix: &RowKey, length: u32) -> Vec<Write> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let count = u16::try_from(length.div_ceil(PIECE)).unwrap_or(u16::MAX);
    let piece = |n: u16| Write::Delete {
        key: [prefix, &n.to_be_bytes()[..]].concat().into(),
    };
    (0..count).map(piece).collect()
}

/// Why rows could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct RowError(pub(super) String);

impl From<StoreError> for RowError {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

impl From<codec::DecodeError> for RowError {
    fn from(error: codec::DecodeError) -> Self {
        Self(error.to_string())
    }
}

impl From<CommitError> for RowError {
    fn from(error: CommitError) -> Self {
        Self(error.to_string())
    }
}

/// The bytes that [`put_pieces`] wrote; empty if there are none.
pub(super) async fn read_pieces(store: &dyn Store, prefix: &RowKey) -> Result<Vec<u8>, RowError> {
    // A batch of 200 payments takes about ten pieces.
    const MOST: usize = 1_000;
    let rows = store.scan(prefix, None, MOST).await?;
    Ok(rows.iter().flat_map(|(_, row)| row.value.iter().copied()).collect())
}

pub(super) async fn read<T: Stored>(store: &dyn Store, key: &RowKey) -> Result<Option<T>, RowError> {
    let row = store.read(key).await?;
    Ok(row.map(|row| codec::decode(&row.value)).transpose()?)
}

/// All rows under a prefix.
pub(super) async fn scan_all(store: &dyn Store, prefix: &RowKey) -> Result<Vec<(RowKey, Arc<[u8]>)>, RowError> {
    const PAGE: usize = 1_000;
    let mut found: Vec<(RowKey, Arc<[u8]>)> = Vec::new();
    loop {
        let after = found.last().map(|(key, _)| key.clone());
        let page = store.scan(prefix, after.as_deref(), PAGE).await?;
        let last = page.len() < PAGE;
        found.extend(page.into_iter().map(|(key, row)| (key, row.value)));
        if last {
            return Ok(found);
        }
    }
}

/// Writes all of these or none; durable when this returns.
pub(super) async fn commit(store: &dyn Store, writes: Vec<Write>) -> Result<(), RowError> {
    let batch = Batch {
        writes,
        ..Batch::default()
    };
    let (done, committed) = tokio::sync::oneshot::channel();
    store.commit(batch, Box::new(move |result| drop(done.send(result))));
    committed.await.unwrap_or(Err(CommitError::Stopped))?;
    Ok(())
}

/// The number at the end of a key.
pub(super) fn last_number(key: &[u8]) -> Option<u64> {
    key.last_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes))
}
