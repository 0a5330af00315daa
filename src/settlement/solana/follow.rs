//! The follower: reads the transactions of the treasury's token account once, into durable rows.
//!
//! A transaction gets a number, and its movements get positions, when it is final: lists only ever grow. What is seen and not
//! final yet has a row of its own, which a fork can take away.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;

use futures_util::StreamExt as _;
use futures_util::stream;
use purser_actors::port::{Movement, Timestamp};
use purser_chains::solana::address::base58;
use purser_chains::solana::follow::{Change, Cursor, Follower, Row, Step};
use purser_chains::solana::life::Evidence;
use purser_chains::solana::node::NodeError;
use purser_chains::solana::node::movements::{ChainTransaction, Direction};
use purser_chains::solana::status::{Commitment, SignatureStatus, TransactionError};
use purser_chains::solana::{Pubkey, Signature};
use purser_storage::Write;
use sha2::{Digest as _, Sha256};

use super::SolanaSettlement;
use super::rows::{self, End, Moved, Place, RowError, Rows, Seen};

/// Changes that are written at once.
const CHUNK: usize = 50;
/// Transactions that are read at the same time.
const READS: usize = 8;
/// Solana began in March 2020: an earlier time of a block is none.
const FIRST_BLOCK_S: i64 = 1_577_836_800;

/// What the follower knows, for everybody else.
#[derive(Debug, Default)]
pub(super) struct Followed {
    place: Option<Place>,
    pending: HashMap<Signature, Waiting>,
}

/// A transaction that is not final.
#[derive(Clone, Debug)]
struct Waiting {
    seen: Seen,
    /// What it moves, once that was read.
    moved: Option<Vec<Moved>>,
}

impl Followed {
    pub(super) async fn read(rows: &Rows) -> Result<Self, RowError> {
        let pending = rows.pending().await?;
        Ok(Self {
            place: rows.place().await?.map(|(place, _)| place),
            pending: pending
                .into_iter()
                .map(|seen| (seen.id, Waiting { seen, moved: None }))
                .collect(),
        })
    }

    /// Everything up to this final slot is listed; 0 before the first reading.
    pub(super) fn covered_slot(&self) -> u64 {
        self.place.as_ref().map_or(0, |place| place.covered_slot)
    }

    /// When the last complete reading began.
    pub(super) fn covered_at(&self) -> Option<Timestamp> {
        self.place.as_ref().map(|place| place.covered_at)
    }

    /// A transaction that is seen and not final.
    pub(super) fn pending(&self, id: &Signature) -> Option<Seen> {
        self.pending.get(id).map(|waiting| waiting.seen)
    }

    /// What this transaction moved as it was seen in this slot, if that was read.
    fn moved(&self, row: &Row) -> Option<Vec<Moved>> {
        let waiting = self.pending.get(&row.id)?;
        let moved = waiting.moved.clone();
        moved.filter(|_| (waiting.seen.slot, waiting.seen.failed) == (row.slot, row.failed))
    }

    /// Transactions that are not final and take effect, with what they move if that was read.
    fn waiting(&self) -> Vec<(Row, Option<Vec<Moved>>)> {
        let good = self.pending.values().filter(|waiting| !waiting.seen.failed);
        good.map(|waiting| (waiting.seen.into(), waiting.moved.clone()))
            .collect()
    }
}

/// The follower's own state. It is read from the rows again after anything failed.
#[derive(Debug, Default)]
pub(super) struct Following {
    at: Option<At>,
    endpoint: usize,
}

impl Following {
    /// The endpoint that is read at present.
    pub(super) const fn endpoint(&self) -> usize {
        self.endpoint
    }
}

#[derive(Debug)]
struct At {
    follower: Follower,
    place: Place,
    revision: u64,
    /// Of the final transactions that the next reading is compared with.
    numbers: HashMap<Signature, u64>,
}

impl SolanaSettlement {
    /// Reads what is new. An endpoint that fails or contradicts what is known is not asked next time.
    pub(super) async fn follow(&self) -> Result<(), String> {
        let mut following = self.following.lock().await;
        let endpoint = following.endpoint;
        let mut at = match following.at.take() {
            Some(at) => at,
            None => self.resume(endpoint).await?,
        };
        match self.walk(&mut at, endpoint).await {
            Ok(()) => {
                following.at = Some(at);
                Ok(())
            }
            Err(error) => {
                following.endpoint = (endpoint + 1) % self.node.endpoints();
                self.alarms.follower_failures.fetch_add(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Continues from the rows, or begins.
    async fn resume(&self, endpoint: usize) -> Result<At, String> {
        let told = |error: RowError| error.to_string();
        let (place, revision) = match self.rows.place().await.map_err(told)? {
            Some(known) => known,
            None => {
                let from_slot = match self.from_slot {
                    Some(slot) => slot,
                    None => {
                        self.node
                            .history_on(endpoint)
                            .await
                            .map_err(|e| e.to_string())?
                            .finalized_slot
                    }
                };
                let place = Place {
                    from_slot,
                    covered_slot: 0,
                    overlap_from: 1,
                    next_number: 1,
                    next_position: 1,
                    covered_at: Timestamp(0),
                };
                (place, 0)
            }
        };
        let mut finals = self.rows.finals(place.overlap_from).await.map_err(told)?;
        finals.sort_by_key(|(number, seen)| (seen.slot, *number));
        let cursor = Cursor {
            covered_slot: place.covered_slot,
            finalized: finals.iter().map(|(_, seen)| (*seen).into()).collect(),
            pending: self
                .rows
                .pending()
                .await
                .map_err(told)?
                .into_iter()
                .map(Row::from)
                .collect(),
        };
        Ok(At {
            follower: Follower::resume(place.from_slot, cursor),
            numbers: finals.iter().map(|(number, seen)| (seen.id, *number)).collect(),
            place,
            revision,
        })
    }

    async fn walk(&self, at: &mut At, endpoint: usize) -> Result<(), String> {
        let began = self.clock.now();
        let history = self.node.history_on(endpoint).await.map_err(|e| e.to_string())?;
        let mut request = at.follower.begin(history).map_err(|e| e.to_string())?;
        let changes = loop {
            let page = self.node.signatures_on(endpoint, &self.treasury_account, request).await;
            match at
                .follower
                .page(&page.map_err(|e| e.to_string())?)
                .map_err(|e| e.to_string())?
            {
                Step::More(next) => request = next,
                Step::Done(changes) => break changes,
            }
        };
        let mut rest: VecDeque<Change> = changes.into();
        loop {
            let chunk: Vec<Change> = rest.drain(..rest.len().min(CHUNK)).collect();
            let last = rest.is_empty();
            self.keep(at, &chunk, last.then_some(began)).await?;
            self.tell(&chunk, endpoint, history.finalized_slot);
            if last {
                return Ok(());
            }
        }
    }

    /// Writes changes. With the last of a walk, also how far the chain is covered now.
    async fn keep(&self, at: &mut At, chunk: &[Change], covered: Option<Timestamp>) -> Result<(), String> {
        let finals = chunk.iter().filter_map(|change| match change {
            Change::Final(row) => Some(row.id),
            _ => None,
        });
        let finals: HashSet<Signature> = finals.collect();
        let read = stream::iter(chunk.to_vec()).map(|change| self.read(change, &finals));
        let read: Vec<_> = read.buffered(READS).collect().await;
        let read: Vec<Option<Vec<Moved>>> = read.into_iter().collect::<Result<_, String>>()?;
        let mut place = at.place.clone();
        let mut writes: Vec<Write> = Vec::new();
        for (change, moved) in chunk.iter().zip(&read) {
            match change {
                Change::Reorged(row) => writes.push(rows::gone(&row.id)),
                Change::Seen(row) | Change::Moved { to: row, .. } => writes.push(rows::seen(*row)),
                Change::Final(row) => {
                    writes.extend(rows::finalized(*row, place.next_number));
                    at.numbers.insert(row.id, place.next_number);
                    place.next_number += 1;
                    for moved in moved.iter().flatten() {
                        writes.extend(rows::moved(moved, place.next_position));
                        place.next_position += 1;
                    }
                }
            }
        }
        if let Some(began) = covered {
            let cursor = at.follower.cursor();
            let compared: HashSet<Signature> = cursor.finalized.iter().map(|row| row.id).collect();
            at.numbers.retain(|id, _| compared.contains(id));
            place.overlap_from = at.numbers.values().copied().min().unwrap_or(place.next_number);
            place.covered_slot = cursor.covered_slot;
            place.covered_at = began;
        }
        self.rows
            .advance(&place, at.revision, writes)
            .await
            .map_err(|error| error.to_string())?;
        at.revision += 1;
        at.place = place.clone();
        let mut followed = self.followed.lock();
        followed.place = Some(place);
        for (change, moved) in chunk.iter().zip(read) {
            match change {
                Change::Seen(row) | Change::Moved { to: row, .. } => {
                    let seen = (*row).into();
                    drop(followed.pending.insert(row.id, Waiting { seen, moved }));
                }
                Change::Reorged(row) | Change::Final(row) => drop(followed.pending.remove(&row.id)),
            }
        }
        Ok(())
    }

    /// What the changes mean for transactions that we sent.
    fn tell(&self, chunk: &[Change], endpoint: usize, context_slot: u64) {
        for change in chunk {
            let (row, level) = match change {
                Change::Reorged(row) => {
                    self.flights.lock().doubt(&row.id);
                    continue;
                }
                // A failure is read with its reason by the status query.
                Change::Seen(row) | Change::Moved { to: row, .. } if !row.failed => (row, Commitment::Confirmed),
                Change::Final(row) if !row.failed => (row, Commitment::Finalized),
                _ => continue,
            };
            let status = SignatureStatus {
                slot: row.slot,
                level,
                error: None::<TransactionError>,
            };
            let context_slot = context_slot.max(row.slot);
            self.listed(&row.id, endpoint, Evidence::Found { context_slot, status });
        }
    }

    /// What a change moves. `None` for what is not read now: it is read when it is final.
    async fn read(&self, change: Change, finals: &HashSet<Signature>) -> Result<Option<Vec<Moved>>, String> {
        let (row, commitment) = match change {
            Change::Reorged(_) => return Ok(None),
            Change::Seen(row) | Change::Moved { to: row, .. } if finals.contains(&row.id) || row.failed => {
                return Ok(None);
            }
            Change::Seen(row) | Change::Moved { to: row, .. } => (row, Commitment::Confirmed),
            Change::Final(row) => (row, Commitment::Finalized),
        };
        if row.failed {
            return Ok(Some(Vec::new()));
        }
        let known = self.followed.lock().moved(&row);
        if known.is_some() {
            return Ok(known);
        }
        match (self.movements(row, commitment).await, commitment) {
            (Err(_), Commitment::Confirmed) => Ok(None),
            (read, _) => read.map(Some),
        }
    }

    /// The movements of a transaction that took effect.
    async fn movements(&self, row: Row, commitment: Commitment) -> Result<Vec<Moved>, String> {
        let closed = self.rows.closed(&row.id).await.map_err(|error| error.to_string())?;
        // Also by a fee payer that is not in the settings any more.
        let prepared = closed.is_some() || self.flights.lock().stage(&row.id).is_some();
        if closed.is_some_and(|closed| closed.end != End::Landed) {
            self.contradicted(&row.id, "it was proven impossible");
        }
        let read = self
            .node
            .transaction(&row.id, &self.treasury_account, &self.mint, commitment);
        match read.await {
            Ok(Some(found)) => Ok(self.moved(&found, prepared)),
            Ok(None) => Err(format!("no endpoint has the transaction {}", base58(&row.id))),
            // Whoever sends what is not understood here must not stop the list for everybody.
            Err(NodeError::Malformed { what, .. }) => {
                self.alarms.unread.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    transaction = base58(&row.id),
                    what,
                    "a transaction of the treasury could not be read"
                );
                Ok(Vec::new())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// What transactions move that are seen and not final.
    pub(super) async fn not_final(&self) -> Result<Vec<Moved>, String> {
        let waiting = self.followed.lock().waiting();
        let mut all = Vec::new();
        for (row, moved) in waiting {
            all.extend(match moved {
                Some(moved) => moved,
                // Seen by an earlier run of the service.
                None => self.movements(row, Commitment::Confirmed).await?,
            });
        }
        Ok(all)
    }

    /// `prepared`: we have co-signed it.
    fn moved(&self, found: &ChainTransaction, prepared: bool) -> Vec<Moved> {
        if found.unexplained != 0 {
            self.alarms.unread.fetch_add(1, Ordering::Relaxed);
            let (transaction, atomic) = (base58(&found.id), found.unexplained);
            tracing::error!(
                transaction,
                atomic,
                "a transaction moved treasury money in a way that is not known here"
            );
        }
        let mut moved = movements_of(found, self.clock.now(), &self.mint);
        // Without a fee payer of ours nothing that came in can be a payment to us.
        if !prepared && !self.fee_payer_addresses.contains(&found.fee_payer) {
            for plain in moved.iter_mut().filter(|moved| moved.incoming) {
                plain.mark = Movement::plain_mark(&base58(&plain.transaction), plain.index);
            }
        }
        moved
    }
}

/// The movements as rows; `now` stands in for a block time that is missing or none.
pub(super) fn movements_of(found: &ChainTransaction, now: Timestamp, mint: &Pubkey) -> Vec<Moved> {
    let at = found.block_time.filter(|seconds| *seconds >= FIRST_BLOCK_S);
    let at = at.and_then(|seconds| u64::try_from(seconds).ok());
    let at = at.map_or(now, |seconds| Timestamp(seconds.saturating_mul(1_000)));
    // Unique all the same, so that nothing is confused with it.
    let mark = found.message_hash.unwrap_or_else(|| Sha256::digest(found.id).into());
    let shown = found
        .movements
        .iter()
        .filter(|movement| movement.direction != Direction::Own);
    let moved = shown.zip(0u32..).map(|(movement, index)| Moved {
        transaction: found.id,
        index,
        instruction: movement.reference.instruction.to_string(),
        incoming: movement.direction == Direction::In,
        other: movement.other_owner.or(movement.other_account).unwrap_or(*mint),
        atomic: movement.amount,
        at,
        mark,
    });
    moved.collect()
}
