//! Durable rows of the Solana port. They are in the engine's store, so that one backup contains both.

mod cross_checked;
mod events;
mod fee_payers;
mod losses;
mod wallets;
mod writes;

use std::sync::Arc;

use purser_actors::kernel::table;
use purser_actors::port::Timestamp;
use purser_chains::solana::fees::Fees;
use purser_chains::solana::follow::Row as ChainRow;
use purser_chains::solana::lifecycle::Prepared;
use purser_chains::solana::{Pubkey, Signature};
use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, CommitError, Condition, RowKey, Store, StoreError, Write};
use tokio::sync::oneshot;

pub(super) use self::cross_checked::cross_checked;
pub(super) use self::events::{EventRow, event};
pub(super) use self::losses::LostFee;
pub(super) use self::wallets::WalletTransfer;
pub(super) use self::writes::{delete_pending, put_final, put_movement, put_pending};

/// Transactions that were prepared and have no outcome yet, by signature.
const OPEN: u8 = b'x';
/// Outcomes of prepared transactions, by signature.
const CLOSED: u8 = b'y';
/// Read position in the treasury's transactions.
const CURSOR: u8 = b'c';
/// Transactions of the treasury that are not final, by signature.
const PENDING: u8 = b'p';
/// Transactions of the treasury that are final, by number.
const FINAL: u8 = b'f';
/// The number of a final transaction, by signature.
const NUMBER: u8 = b'i';
/// Transfers of the treasury, by position from 1.
const MOVEMENT: u8 = b'm';
/// Position of a transfer, by signature and index.
const POSITION: u8 = b'k';
/// Outgoing transfers of the treasury, by time and position.
const OUTGOING: u8 = b'o';

/// Maximum number of rows per read.
const PAGE: usize = 1_000;

/// A transaction that was co-signed and may be sent.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Open {
    /// The wire transaction.
    pub(super) bytes: Vec<u8>,
    /// The wallet whose funds move.
    pub(super) payer: Pubkey,
    /// The key that pays the fee.
    pub(super) fee_payer: Pubkey,
    /// Last block height at which it can execute.
    pub(super) last_valid_block_height: u64,
    /// The transaction cannot have executed before this slot.
    pub(super) not_before_slot: u64,
    /// Base fee, priority fee and rent, in lamports.
    pub(super) fees: [u64; 3],
    /// When the transaction was prepared.
    pub(super) at: Timestamp,
}

impl Stored for Open {
    const SCHEMA: u16 = 520;
}

impl Open {
    pub(super) const fn prepared(&self, id: Signature) -> Prepared {
        Prepared {
            id,
            last_valid_block_height: self.last_valid_block_height,
            not_before_slot: self.not_before_slot,
        }
    }

    pub(super) const fn fees(&self) -> Fees {
        let [base, priority, rent] = self.fees;
        Fees { base, priority, rent }
    }
}

/// The outcome of a prepared transaction.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum End {
    /// It was executed with its effects and is final.
    Confirmed,
    /// Two endpoints show it as final and without effects. The text is the chain's error.
    Failed(String),
    /// Two endpoints that are past its last block height do not know it.
    Expired,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Closed {
    pub(super) end: End,
    pub(super) at: Timestamp,
}

impl Stored for Closed {
    const SCHEMA: u16 = 521;
}

/// Read position in the treasury's transactions.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct CursorRow {
    /// Transactions in earlier slots are not listed.
    pub(super) from_slot: u64,
    /// Everything up to this final slot is listed.
    pub(super) covered_slot: u64,
    /// Number of the first final transaction with which the next read is compared.
    pub(super) overlap_from: u64,
    /// Number of the next final transaction.
    pub(super) next_number: u64,
    /// Position of the next transfer.
    pub(super) next_position: u64,
    /// When the last complete read began.
    pub(super) covered_at: Timestamp,
}

impl Stored for CursorRow {
    const SCHEMA: u16 = 522;
}

/// A transaction that names the treasury's token account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct TransactionRow {
    pub(super) id: Signature,
    pub(super) slot: u64,
    pub(super) failed: bool,
}

impl Stored for TransactionRow {
    const SCHEMA: u16 = 523;
}

impl From<ChainRow> for TransactionRow {
    fn from(row: ChainRow) -> Self {
        Self {
            id: row.id,
            slot: row.slot,
            failed: row.failed,
        }
    }
}

impl From<TransactionRow> for ChainRow {
    fn from(seen: TransactionRow) -> Self {
        Self {
            id: seen.id,
            slot: seen.slot,
            failed: seen.failed,
        }
    }
}

/// One final transfer of the treasury's token account.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct MovementRow {
    pub(super) transaction: Signature,
    /// Index of the transfer in its transaction, from 0.
    pub(super) index: u32,
    /// Path of the instruction in the notation of `purser_chains`: `2`, `2.0`, `2+1`.
    pub(super) instruction: String,
    pub(super) incoming: bool,
    /// Owner of the other token account; the mint if tokens were minted or burned.
    pub(super) other: Pubkey,
    pub(super) atomic: u64,
    pub(super) at: Timestamp,
    /// SHA-256 of the message. Incoming transfers without a known fee payer have `ChainMovement::plain_fingerprint`.
    pub(super) mark: [u8; 32],
}

impl Stored for MovementRow {
    const SCHEMA: u16 = 524;
}

/// A failed read or write of the rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The store could not be read.
    #[error("the store could not be read: {0}")]
    Store(String),
    /// A row is corrupt.
    #[error("a row of the Solana port is damaged: {0}")]
    Damaged(#[from] codec::DecodeError),
    /// The store rejected a batch.
    #[error("the rows of the Solana port could not be written: {0}")]
    Commit(#[from] CommitError),
}

impl From<StoreError> for RowError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.to_string())
    }
}

fn key(kind: u8, parts: &[&[u8]]) -> RowKey {
    [&[&[table::SOLANA, kind][..]][..], parts].concat().concat().into()
}

fn put<T: Stored>(key: RowKey, value: &T) -> Write {
    let (revision, value) = (0, codec::encode(value));
    Write::Put { key, revision, value }
}

const fn put_bytes(key: RowKey, value: Vec<u8>) -> Write {
    Write::Put {
        key,
        revision: 0,
        value,
    }
}

/// Access to the port's rows.
#[derive(Clone)]
pub(super) struct Rows(pub(super) Arc<dyn Store>);

impl Rows {
    /// Writes a batch; it is durable when this returns.
    pub(super) async fn commit(&self, conditions: Vec<Condition>, writes: Vec<Write>) -> Result<(), RowError> {
        let (done, committed) = oneshot::channel();
        let batch = Batch {
            conditions,
            writes,
            ..Batch::default()
        };
        self.0.commit(batch, Box::new(move |result| drop(done.send(result))));
        let result = committed.await.unwrap_or(Err(CommitError::Stopped));
        Ok(result.map(drop)?)
    }

    async fn one<T: Stored>(&self, key: &[u8]) -> Result<Option<T>, RowError> {
        let row = self.0.read(key).await?;
        Ok(row.map(|row| codec::decode(&row.value)).transpose()?)
    }

    /// All rows of a kind, with the key's bytes after the kind.
    async fn all<T: Stored>(&self, kind: u8, after: Option<RowKey>) -> Result<Vec<(RowKey, T)>, RowError> {
        let (prefix, mut after, mut all) = (key(kind, &[]), after, Vec::new());
        loop {
            let page = self.0.scan(&prefix, after.as_deref(), PAGE).await?;
            for (key, row) in &page {
                all.push((key[prefix.len()..].into(), codec::decode(&row.value)?));
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => return Ok(all),
            }
        }
    }

    /// Prepared transactions without an outcome.
    pub(super) async fn open(&self) -> Result<Vec<(Signature, Open)>, RowError> {
        let all = self.all(OPEN, None).await?;
        let of = |(key, open): (RowKey, Open)| Some((Signature::try_from(&*key).ok()?, open));
        Ok(all.into_iter().filter_map(of).collect())
    }

    /// Persists a prepared transaction, and `with` in the same batch.
    pub(super) async fn prepare(&self, id: &Signature, open: &Open, with: Option<Write>) -> Result<(), RowError> {
        let writes = std::iter::once(put(key(OPEN, &[id]), open)).chain(with);
        self.commit(Vec::new(), writes.collect()).await
    }

    pub(super) async fn closed(&self, id: &Signature) -> Result<Option<Closed>, RowError> {
        self.one(&key(CLOSED, &[id])).await
    }

    /// Records the outcome of a prepared transaction.
    pub(super) async fn close(&self, id: &Signature, closed: &Closed) -> Result<(), RowError> {
        let open = key(OPEN, &[id]);
        self.commit(
            Vec::new(),
            vec![Write::Delete { key: open }, put(key(CLOSED, &[id]), closed)],
        )
        .await
    }

    /// The read position, with the revision of its row.
    pub(super) async fn cursor(&self) -> Result<Option<(CursorRow, u64)>, RowError> {
        let Some(row) = self.0.read(&key(CURSOR, &[])).await? else {
            return Ok(None);
        };
        Ok(Some((codec::decode(&row.value)?, row.revision)))
    }

    /// Writes rows of the follower together with its read position, unless the position has changed since `revision`.
    pub(super) async fn advance(
        &self,
        place: &CursorRow,
        revision: u64,
        mut writes: Vec<Write>,
    ) -> Result<(), RowError> {
        let at = key(CURSOR, &[]);
        let condition = Condition::Revision(at.clone(), revision);
        writes.push(Write::Put {
            key: at,
            revision: revision + 1,
            value: codec::encode(place),
        });
        self.commit(vec![condition], writes).await
    }

    /// Transactions that were seen and are not final, oldest first.
    pub(super) async fn pending(&self) -> Result<Vec<TransactionRow>, RowError> {
        let mut all: Vec<TransactionRow> = self
            .all(PENDING, None)
            .await?
            .into_iter()
            .map(|(_, seen)| seen)
            .collect();
        all.sort_by_key(|seen| seen.slot);
        Ok(all)
    }

    /// Final transactions from a number on, with their numbers.
    pub(super) async fn finals(&self, from: u64) -> Result<Vec<(u64, TransactionRow)>, RowError> {
        let after = from.checked_sub(1).map(|number| key(FINAL, &[&number.to_be_bytes()]));
        let all = self.all(FINAL, after).await?;
        let of = |(key, seen): (RowKey, TransactionRow)| Some((u64::from_be_bytes((*key).try_into().ok()?), seen));
        Ok(all.into_iter().filter_map(of).collect())
    }

    /// A final transaction of the treasury.
    pub(super) async fn final_one(&self, id: &Signature) -> Result<Option<TransactionRow>, RowError> {
        match self.0.read(&key(NUMBER, &[id])).await? {
            Some(row) => self.one(&key(FINAL, &[&row.value])).await,
            None => Ok(None),
        }
    }

    /// Transfers after a position, at most `limit`, with their positions.
    pub(super) async fn movements(&self, after: u64, limit: usize) -> Result<Vec<(u64, MovementRow)>, RowError> {
        let (prefix, after) = (key(MOVEMENT, &[]), key(MOVEMENT, &[&after.to_be_bytes()]));
        let page = self.0.scan(&prefix, Some(&after), limit).await?;
        let mut movements = Vec::with_capacity(page.len());
        for (key, row) in page {
            let Ok(position) = key[prefix.len()..].try_into() else {
                continue;
            };
            movements.push((u64::from_be_bytes(position), codec::decode(&row.value)?));
        }
        Ok(movements)
    }

    /// The transfers of a transaction, by index.
    pub(super) async fn in_transaction(&self, transaction: &Signature) -> Result<Vec<MovementRow>, RowError> {
        let prefix = key(POSITION, &[transaction]);
        // A transaction of 1,232 bytes cannot contain as many instructions.
        let positions = self.0.scan(&prefix, None, PAGE).await?;
        let mut found = Vec::with_capacity(positions.len());
        for (_, position) in positions {
            found.extend(self.one::<MovementRow>(&key(MOVEMENT, &[&position.value])).await?);
        }
        Ok(found)
    }

    /// Outgoing transfers of the treasury in a span of chain time (both ends inclusive), oldest first.
    pub(super) async fn outgoing_movements(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<MovementRow>, RowError> {
        let prefix = key(OUTGOING, &[]);
        let mut after = since
            .0
            .checked_sub(1)
            .map(|ms| key(OUTGOING, &[&ms.to_be_bytes(), &[u8::MAX; 8]]));
        let mut left = Vec::new();
        loop {
            let page = self.0.scan(&prefix, after.as_deref(), PAGE).await?;
            for (key, _) in &page {
                let rest = &key[prefix.len()..];
                let (Some(at), Some(position)) = (rest.first_chunk::<8>(), rest.last_chunk::<8>()) else {
                    continue;
                };
                if u64::from_be_bytes(*at) > until.0 {
                    return Ok(left);
                }
                left.extend(self.one::<MovementRow>(&self::key(MOVEMENT, &[position])).await?);
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => return Ok(left),
            }
        }
    }
}
