//! Recovery from a reorg deeper than the final blocks. The follower does not do this automatically: an operator must
//! accept the endpoints' chain.

use std::collections::BTreeMap;

use purser_chains::evm::B256;
use purser_chains::evm::blocks::{Finality, Header};
use purser_storage::codec::{self, Stored};
use purser_storage::{RowKey, Store, Write};
use tokio::sync::oneshot;

use super::core::{Core, Counters, View};
use super::cross_check::Progress;
use super::follower::{FollowerActor, FollowerState, Message};
use super::replacing::mark_reorged;
use super::rows::{self, BlockRow, MovementRow, RowError};

/// Maximum number of past blocks to examine. Among blocks older than those followed, only blocks with transfers count.
const CANDIDATES: usize = 50_000;
/// Maximum number of transfers read and dropped by one batch.
const PAGE: usize = 500;

/// The result of a rollback or of its preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RollBackResult {
    /// Lowest block that is read again.
    pub from: u64,
    /// Newest block that had been read.
    pub to: u64,
    /// Transfers and cancelled authorizations that are dropped until they are read again.
    pub movements: u64,
}

/// Why there was no rollback.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RollBackError {
    /// The blocks that were read match the endpoints, or are followed without a rollback.
    #[error("the endpoints show no other chain than the one that was read")]
    NotNeeded,
    /// No two endpoints agree on a block.
    #[error("no two endpoints show the same block {number}: {answers}")]
    Disagreement {
        /// Height of that block.
        number: u64,
        /// The responses of the endpoints.
        answers: String,
    },
    /// The store failed, or the port is stopping.
    #[error("it could not be done now: {0}")]
    Failed(String),
}

impl From<RowError> for RollBackError {
    fn from(error: RowError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Position of the next transfer. Positions of dropped transfers are not used again, although no block row contains
/// them any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct NextMovementRow(u64);

impl Stored for NextMovementRow {
    const SCHEMA: u16 = 511;
}

impl NextMovementRow {
    fn key() -> RowKey {
        rows::key(&[b"p"])
    }

    /// 0 if there was never a rollback.
    pub(super) async fn read(store: &dyn Store) -> Result<u64, RowError> {
        let row: Option<Self> = rows::read(store, &Self::key()).await?;
        Ok(row.map_or(0, |row| row.0))
    }
}

/// The fork between the endpoints' chain and ours.
struct Fork {
    /// The highest block that both have; `None` if they share no known block.
    shared: Option<Header>,
    /// The lowest known block that is missing in the endpoints' chain.
    lowest: u64,
}

impl Core {
    pub(super) async fn roll_back(&self, is_wanted: bool) -> Result<RollBackResult, RollBackError> {
        let stopping = || RollBackError::Failed("the port is stopping".to_owned());
        let follower = self.follower.lock().clone().ok_or_else(stopping)?;
        let (sender, done) = oneshot::channel();
        follower
            .cast(Message::RollBack {
                apply: is_wanted,
                reply: sender,
            })
            .map_err(|_| stopping())?;
        done.await.map_err(|_| stopping())?
    }
}

impl FollowerActor {
    /// Whether two endpoints show that the chain has replaced the newest block that was read. An endpoint that differs
    /// from two others is used last.
    pub(super) async fn is_replaced(&self, reading: &FollowerState) -> bool {
        let (node, tip) = (&self.0.node, reading.view.tip());
        let Some(tip) = tip else { return false };
        for endpoint in node.diverging_endpoints(tip.number, tip.hash).await {
            node.pool().outvote(endpoint);
        }
        let shown = node.header_by_two(tip.number).await;
        matches!(shown, Ok(Some(shown)) if shown.hash != tip.hash)
    }

    pub(super) async fn roll_back(
        &self,
        reading: &mut FollowerState,
        is_wanted: bool,
    ) -> Result<RollBackResult, RollBackError> {
        // A reorg that the follower handles is left to it.
        let tip = reading.view.tip().filter(|_| reading.has_final_reorg);
        let tip = tip.copied().ok_or(RollBackError::NotNeeded)?;
        let fork = self.fork().await?;
        let (view, kept) = self.view_of(reading, &fork).await?;
        let above = kept.last().map_or(view.oldest_needed(), |newest| newest.number + 1);
        let movements = self.reorg_above(above, is_wanted).await?;
        let done = RollBackResult {
            from: above,
            to: tip.number,
            movements,
        };
        if !is_wanted {
            return Ok(done);
        }
        reading.start = match kept.is_empty() {
            true => above,
            false => reading.start,
        };
        reading.oldest = kept.first().map_or(above, |oldest| oldest.number);
        reading.view = view;
        let mut writes = Vec::new();
        for (_, value) in rows::scan_all(&*self.0.store, &rows::blocks()).await? {
            let row: BlockRow = codec::decode(&value).map_err(RowError::from)?;
            let number = row.header().number;
            if number >= above || number < reading.oldest {
                writes.push(Write::Delete {
                    key: rows::block(number),
                });
            }
        }
        writes.push(rows::put(
            NextMovementRow::key(),
            codec::encode(&NextMovementRow(reading.next_movement)),
        ));
        writes.extend(reading.cursor());
        rows::commit(&*self.0.store, writes).await?;
        reading.leveled = None;
        reading.alarmed = None;
        reading.has_final_reorg = false;
        reading.progress = Progress::start(self.0.clock.clone());
        self.0.publish(reading.view.clone());
        self.0
            .has_final_reorg
            .store(false, std::sync::atomic::Ordering::Release);
        // The final transaction count of a gas key may be lower now: each restarts from its rows and the chain's count.
        for actor in self.0.actors.iter() {
            actor.stop(Some("blocks that were final are read again".to_owned()));
        }
        Counters::add(&self.0.counters.reorganizations, 1);
        let (from, to) = (done.from, done.to);
        tracing::warn!(
            from,
            to,
            movements,
            "blocks of Base that were final are read again, by an operator's word"
        );
        Ok(done)
    }

    /// Finds the highest known block that two endpoints have. Above it their chain differs.
    async fn fork(&self) -> Result<Fork, RollBackError> {
        let known: Vec<(u64, B256)> = self.known_blocks().await?.into_iter().collect();
        let (mut low, mut high) = (0, known.len());
        let (mut shared, mut first_other) = (None, None);
        while low < high {
            let middle = low + (high - low) / 2;
            let (number, hash) = known[middle];
            let shown = self.0.node.header_by_two(number).await;
            let shown = shown.map_err(|answers| RollBackError::Disagreement {
                number,
                answers: answers.to_string(),
            })?;
            match shown {
                Some(header) if header.hash == hash => {
                    shared = Some(header);
                    low = middle + 1;
                }
                other => {
                    first_other = Some((number, other.is_some()));
                    high = middle;
                }
            }
        }
        match first_other {
            Some((lowest, true)) => Ok(Fork { shared, lowest }),
            // Lagging endpoints do not show a different chain.
            Some((_, false)) | None => Err(RollBackError::NotNeeded),
        }
    }

    /// Heights and hashes of the stored blocks, and of earlier blocks with transfers.
    async fn known_blocks(&self) -> Result<BTreeMap<u64, B256>, RowError> {
        let mut known = BTreeMap::new();
        let mut after = None;
        loop {
            let page = self.movements_after(after).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            for (_, row) in page.iter().filter(|(_, row)| !row.reorged) {
                known.insert(row.block, row.block_hash.into());
            }
            while known.len() > CANDIDATES {
                known.pop_first();
            }
        }
        for (_, value) in rows::scan_all(&*self.0.store, &rows::blocks()).await? {
            let header = codec::decode::<BlockRow>(&value)?.header();
            known.insert(header.number, header.hash);
        }
        Ok(known)
    }

    /// Drops all transfers in blocks from this one on, or only counts them.
    async fn reorg_above(&self, lowest: u64, is_wanted: bool) -> Result<u64, RowError> {
        let (mut after, mut count) = (None, 0);
        loop {
            let page = self.movements_after(after).await?;
            let Some((last, _)) = page.last() else { return Ok(count) };
            after = Some(*last);
            let above: Vec<_> = page
                .into_iter()
                .filter(|(_, row)| !row.reorged && row.block >= lowest)
                .collect();
            count += above.len() as u64;
            if is_wanted && !above.is_empty() {
                let writes = above.into_iter().flat_map(|(place, row)| mark_reorged(place, row));
                rows::commit(&*self.0.store, writes.collect()).await?;
            }
        }
    }

    async fn movements_after(&self, place: Option<u64>) -> Result<Vec<(u64, MovementRow)>, RowError> {
        let after = place.map(rows::movement);
        let prefix = rows::movements();
        let found = self.0.store.scan(&prefix, after.as_deref(), PAGE).await?;
        let mut read = Vec::new();
        for (key, row) in found {
            let place = rows::last_number(&key).ok_or_else(|| RowError("the key of a movement".into()))?;
            read.push((place, codec::decode(&row.value)?));
        }
        Ok(read)
    }

    /// The view of the chain after the rollback, and the remaining headers.
    async fn view_of(&self, reading: &FollowerState, fork: &Fork) -> Result<(View, Vec<Header>), RowError> {
        let mut kept = Vec::new();
        for (_, value) in rows::scan_all(&*self.0.store, &rows::blocks()).await? {
            let header = codec::decode::<BlockRow>(&value)?.header();
            let is_shared = fork.shared.is_some_and(|shared| header.number <= shared.number);
            kept.extend(is_shared.then_some(header));
        }
        let first = match fork.shared {
            Some(shared) => shared.number.saturating_add(1),
            None => reading.start.min(fork.lowest),
        };
        let malformed = |error: purser_chains::evm::blocks::FollowError| RowError(error.to_string());
        let mut view = View::new(first, kept.clone()).map_err(malformed)?;
        let level = |finality| {
            let header: Option<Header> = reading.view.level(finality);
            header.filter(|header| header.number < first)
        };
        view.observe(level(Finality::Safe), level(Finality::Finalized));
        if let Some(checked) = reading.view.cross_checked() {
            let below = first.saturating_sub(1);
            view.require_cross_check(if kept.is_empty() { below } else { checked.min(below) });
        }
        Ok((view, kept))
    }
}
