//! Durable rows of facilitated payments. They contain the facilitator of each payment, written before it receives the
//! payment. They also contain the owners of fee payers on Solana, so that payments that name one are recognised after a
//! restart.

use purser_actors::id::Network;
use purser_actors::kernel::table;
use purser_actors::port::{Authorization, Timestamp};
use purser_chains::solana::Pubkey;
use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, CommitError, Condition, RowKey, Store, Write};
use tokio::sync::oneshot;

/// Payments by mark, in the port's table.
const ASSIGNMENT: u8 = b'h';
/// Fee payers by address.
const FEE_PAYER: u8 = b'q';

/// A payment that a facilitator may have.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Assignment {
    /// Name of the facilitator: [`super::settings::FacilitatorSettings::name`].
    pub(super) facilitator: String,
    /// When the facilitator was chosen.
    pub(super) at: Timestamp,
    /// Time after which the payment can no longer settle, from the payment's own fields.
    pub(super) expires_at: Timestamp,
    /// The transaction named by the facilitator, if it belongs to this payment.
    pub(super) transaction: Option<String>,
}

impl Stored for Assignment {
    const SCHEMA: u16 = 540;
}

/// A fee payer that a facilitator has offered.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct OfferedFeePayer {
    pub(super) facilitator: String,
    /// When it was last offered.
    pub(super) at: Timestamp,
}

impl Stored for OfferedFeePayer {
    const SCHEMA: u16 = 541;
}

/// Identity of a payment on its chain: payer and nonce on Base; hash of the message plus zeros on Solana.
pub(super) type Mark = [u8; 52];

/// The identity of a payment.
pub(super) fn mark(authorization: &Authorization) -> Mark {
    let mut mark = [0; 52];
    match authorization {
        Authorization::Evm(signed) => {
            mark[..20].copy_from_slice(&signed.from);
            mark[20..].copy_from_slice(&signed.nonce);
        }
        Authorization::Solana(transfer) => mark[..32].copy_from_slice(&transfer.message_hash),
    }
    mark
}

/// Why rows could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct RowError(String);

fn failed(error: impl std::fmt::Display) -> RowError {
    RowError(error.to_string())
}

/// The rows of one network.
pub(super) struct Rows {
    store: std::sync::Arc<dyn Store>,
    table: u8,
}

impl Rows {
    pub(super) const fn new(store: std::sync::Arc<dyn Store>, network: Network) -> Self {
        let table = match network {
            Network::Base => table::BASE,
            Network::Solana => table::SOLANA,
        };
        Self { store, table }
    }

    fn key(&self, kind: u8, of: &[u8]) -> RowKey {
        [&[self.table, kind], of].concat().into_boxed_slice()
    }

    async fn read<T: Stored>(&self, key: &RowKey) -> Result<Option<T>, RowError> {
        let row = self.store.read(key).await.map_err(failed)?;
        row.map(|row| codec::decode(&row.value)).transpose().map_err(failed)
    }

    /// Durable when it returns. False if a condition does not hold.
    async fn commit(&self, conditions: Vec<Condition>, write: Write) -> Result<bool, RowError> {
        let batch = Batch {
            conditions,
            writes: vec![write],
            ..Batch::default()
        };
        let (done, committed) = oneshot::channel();
        self.store
            .commit(batch, Box::new(move |result| drop(done.send(result))));
        match committed.await.unwrap_or(Err(CommitError::Stopped)) {
            Ok(_) => Ok(true),
            Err(CommitError::Condition(_)) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    fn put<T: Stored>(key: RowKey, value: &T) -> Write {
        Write::Put {
            key,
            revision: 0,
            value: codec::encode(value),
        }
    }

    pub(super) async fn assignment(&self, mark: &Mark) -> Result<Option<Assignment>, RowError> {
        self.read(&self.key(ASSIGNMENT, mark)).await
    }

    /// Assigns a payment to a facilitator. False if another call has assigned it in the meantime.
    pub(super) async fn assign(&self, mark: &Mark, handed: &Assignment) -> Result<bool, RowError> {
        let key = self.key(ASSIGNMENT, mark);
        let write = Self::put(key.clone(), handed);
        self.commit(vec![Condition::Absent(key)], write).await
    }

    /// Replaces the stored assignment.
    pub(super) async fn update(&self, mark: &Mark, handed: &Assignment) -> Result<(), RowError> {
        let key = self.key(ASSIGNMENT, mark);
        self.commit(Vec::new(), Self::put(key, handed)).await.map(drop)
    }

    /// Deletes the assignment: the payment has ended, or no facilitator has received any of it.
    pub(super) async fn forget(&self, mark: &Mark) -> Result<(), RowError> {
        let key = self.key(ASSIGNMENT, mark);
        self.commit(Vec::new(), Write::Delete { key }).await.map(drop)
    }

    /// Deletes payments that could settle until this time at the latest. At most a thousand per call.
    pub(super) async fn sweep(&self, before: Timestamp) -> Result<(), RowError> {
        const MOST: usize = 1_000;
        let prefix = self.key(ASSIGNMENT, &[]);
        let mut after = None::<RowKey>;
        loop {
            let page = self.store.scan(&prefix, after.as_deref(), MOST).await.map_err(failed)?;
            for (key, row) in &page {
                let handed: Assignment = codec::decode(&row.value).map_err(failed)?;
                if handed.expires_at < before {
                    self.commit(Vec::new(), Write::Delete { key: key.clone() }).await?;
                }
            }
            match page.into_iter().next_back() {
                Some((last, _)) => after = Some(last),
                None => return Ok(()),
            }
        }
    }

    pub(super) async fn offer(&self, fee_payer: &Pubkey, offered: &OfferedFeePayer) -> Result<(), RowError> {
        let key = self.key(FEE_PAYER, fee_payer);
        self.commit(Vec::new(), Self::put(key, offered)).await.map(drop)
    }

    /// Fee payers offered since this time; older ones are deleted.
    pub(super) async fn offered(&self, since: Timestamp) -> Result<Vec<(Pubkey, OfferedFeePayer)>, RowError> {
        const MOST: usize = 10_000;
        let prefix = self.key(FEE_PAYER, &[]);
        let mut found = Vec::new();
        for (key, row) in self.store.scan(&prefix, None, MOST).await.map_err(failed)? {
            let offered: OfferedFeePayer = codec::decode(&row.value).map_err(failed)?;
            let address = key.last_chunk().copied().filter(|_| key.len() == prefix.len() + 32);
            let address = address.ok_or_else(|| RowError("the key of a fee payer".to_owned()))?;
            match offered.at < since {
                true => drop(self.commit(Vec::new(), Write::Delete { key }).await?),
                false => found.push((address, offered)),
            }
        }
        Ok(found)
    }
}
