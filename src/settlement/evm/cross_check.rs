//! What two endpoints show alike. The follower reads each block from one endpoint; a block counts as final once two have given
//! the same header and the same logs of it, so that no endpoint alone can invent a transfer or leave one out.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use purser_chains::evm::B256;
use purser_chains::evm::blocks::Header;
use purser_chains::evm::node::{BlockLogs, BlockTag, LogFilter, Node};
use purser_chains::rpc::Clock;
use purser_storage::codec::{self, Stored};
use purser_storage::{RowKey, Store, Write};
use ractor::ActorRef;

use super::core::Counters;
use super::follower::{FollowerActor, FollowerState, Message};
use super::rows::{self, BlockRow, MovementRow, RowError};

/// Blocks that are asked for in one round.
const BLOCKS_PER_ROUND: u64 = 32;
/// Without progress for so long, while there are blocks to check, payments do not become final.
const STALLED_MS: u64 = 60_000;

/// Blocks that are read ahead of the cross-check: few enough that all of them can be replaced if they are of another chain.
pub(super) const MAX_LEAD_BLOCKS: u64 = 48;

/// Endpoints that a cross-check needs.
pub(super) const MIN_ENDPOINTS: usize = 2;

/// The height up to which two endpoints have shown the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct CrossCheckedRow(u64);

impl Stored for CrossCheckedRow {
    const SCHEMA: u16 = 508;
}

fn key() -> RowKey {
    rows::key(&[b"k"])
}

impl CrossCheckedRow {
    pub(super) async fn read(store: &dyn Store) -> Result<Option<u64>, RowError> {
        let row: Option<Self> = rows::read(store, &key()).await?;
        Ok(row.map(|row| row.0))
    }

    pub(super) fn write(height: u64) -> Write {
        rows::put(key(), codec::encode(&Self(height)))
    }
}

/// What to ask the endpoints for.
pub(super) struct CrossCheckRequest {
    /// Heights and hashes of blocks that are stored, the lowest first.
    pub(super) blocks: Vec<(u64, B256)>,
    pub(super) filter: LogFilter,
}

/// What two endpoints have answered alike.
pub(super) struct CrossCheckResult {
    /// What each endpoint names, the highest first: all but the first are what two have reached.
    pub(super) safe: Vec<(String, Header)>,
    pub(super) finalized: Vec<(String, Header)>,
    /// Without a gap from the first that was asked for.
    pub(super) blocks: Vec<BlockLogs>,
    /// The first block that no two gave alike, and what each endpoint said.
    pub(super) disagreement: Option<String>,
    /// Endpoints that have another chain than two others.
    pub(super) outvoted: Vec<usize>,
}

impl CrossCheckRequest {
    /// The stored blocks above this height.
    pub(super) async fn above(
        store: &dyn Store,
        (checked, tip): (u64, u64),
        filter: LogFilter,
    ) -> Result<Self, RowError> {
        let mut blocks = Vec::new();
        for number in checked + 1..=tip.min(checked + BLOCKS_PER_ROUND) {
            let row: Option<BlockRow> = rows::read(store, &rows::block(number)).await?;
            let row = row.ok_or_else(|| RowError(format!("the row of block {number} is not there")))?;
            blocks.push((number, row.header().hash));
        }
        Ok(Self { blocks, filter })
    }

    /// Waits for endpoints that do not answer no longer than their own time limits.
    pub(super) async fn send(self, node: &Node) -> CrossCheckResult {
        let levels = async {
            tokio::join!(
                node.levels_of_each(BlockTag::Safe),
                node.levels_of_each(BlockTag::Finalized)
            )
        };
        let blocks = async {
            let (mut blocks, filters) = (Vec::new(), [self.filter]);
            for (number, hash) in self.blocks {
                match node.block_by_two(hash, &filters).await {
                    Ok(block) => blocks.push(block),
                    Err(disagreement) => {
                        let outvoted = node.outvoted(number, hash).await;
                        return (blocks, Some(format!("block {number}: {disagreement}")), outvoted);
                    }
                }
            }
            (blocks, None, Vec::new())
        };
        let ((safe, finalized), (blocks, disagreement, outvoted)) = tokio::join!(levels, blocks);
        CrossCheckResult {
            safe,
            finalized,
            blocks,
            disagreement,
            outvoted,
        }
    }
}

/// Whether cross-checks make progress.
pub(super) struct Progress {
    clock: Arc<dyn Clock>,
    since_ms: u64,
    /// Whether two endpoints have said lately what is safe and what is finalized.
    pub(super) has_levels: bool,
    safe: LevelGap,
    finalized: LevelGap,
}

/// One endpoint alone has reached a level of the chain, and no other one has.
#[derive(Default)]
struct LevelGap {
    /// What two have reached, and since when they have reached no more.
    shared: Option<(u64, u64)>,
    is_reported: bool,
}

impl LevelGap {
    /// What an operator is told once: the others have stood still for a minute, so that what the first has reached is not final.
    fn compare(&mut self, level: &str, claims: &[(String, Header)], now_ms: u64) -> Option<String> {
        let [(_, highest), (_, second), ..] = claims else {
            return None;
        };
        if highest.number == second.number {
            *self = Self::default();
            return None;
        }
        let since_ms = match self.shared {
            Some((number, since_ms)) if number == second.number => since_ms,
            _ => now_ms,
        };
        self.shared = Some((second.number, since_ms));
        if self.is_reported || now_ms <= since_ms.saturating_add(STALLED_MS) {
            return None;
        }
        self.is_reported = true;
        let claims = claims.iter().map(|(host, header)| format!("{host}: {}", header.number));
        let claims: Vec<String> = claims.collect();
        Some(format!(
            "one endpoint alone says that newer blocks are {level}: {}",
            claims.join("; ")
        ))
    }
}

impl Progress {
    pub(super) fn start(clock: Arc<dyn Clock>) -> Self {
        Self {
            since_ms: clock.now_ms(),
            clock,
            has_levels: true,
            safe: LevelGap::default(),
            finalized: LevelGap::default(),
        }
    }

    /// A block was checked, or there is none to check.
    pub(super) fn record(&mut self) {
        if self.has_levels {
            self.since_ms = self.clock.now_ms();
        }
    }

    /// What an operator is to be told of the levels that the endpoints name.
    fn level_gaps(&mut self, shown: &CrossCheckResult) -> [Option<String>; 2] {
        let now_ms = self.clock.now_ms();
        [
            self.safe.compare("safe", &shown.safe, now_ms),
            self.finalized.compare("finalized", &shown.finalized, now_ms),
        ]
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.clock.now_ms() > self.since_ms.saturating_add(STALLED_MS)
    }
}

impl FollowerActor {
    /// Has the endpoints asked for what was not cross-checked yet, beside the reading: one that hangs does not hold it up.
    pub(super) async fn request_cross_check(
        &self,
        myself: &ActorRef<Message>,
        reading: &mut FollowerState,
    ) -> Result<(), RowError> {
        let (Some(checked), Some(tip)) = (reading.view.cross_checked(), reading.view.tip().copied()) else {
            return Ok(());
        };
        if checked >= tip.number {
            reading.progress.record();
        }
        self.0
            .is_stalled
            .store(reading.progress.is_stalled(), Ordering::Release);
        if reading.is_cross_checking || (checked >= tip.number && reading.leveled == Some(tip.hash)) {
            return Ok(());
        }
        let questions = CrossCheckRequest::above(&*self.0.store, (checked, tip.number), self.filter()).await?;
        let (core, follower) = (self.0.clone(), myself.clone());
        reading.is_cross_checking = true;
        reading.leveled = Some(tip.hash);
        tokio::spawn(async move {
            let shown = questions.send(&core.node).await;
            drop(follower.cast(Message::CrossChecked(Box::new(shown))));
        });
        Ok(())
    }

    /// Holds what two endpoints show against the rows.
    pub(super) async fn apply_cross_check(
        &self,
        reading: &mut FollowerState,
        shown: CrossCheckResult,
    ) -> Result<(), RowError> {
        reading.is_cross_checking = false;
        for endpoint in &shown.outvoted {
            self.0.node.pool().outvote(*endpoint);
        }
        for block in &shown.blocks {
            if !self.cross_check(reading, block).await? {
                break;
            }
            reading.progress.record();
        }
        for apart in reading.progress.level_gaps(&shown).into_iter().flatten() {
            self.0.alarm(&format!(
                "payments that wait for this level do not become final: {apart}"
            ));
        }
        reading.progress.has_levels = reading.observe(&shown);
        self.0.publish(reading.view.clone());
        if reading.progress.is_stalled() {
            let why = match shown.disagreement {
                Some(disagreement) => format!("no two endpoints show the same of {disagreement}"),
                None => "fewer than two endpoints say which blocks are safe and finalized".to_owned(),
            };
            if reading.disagreement.is_none() {
                self.0.alarm(&format!("payments do not become final: {why}"));
            }
            reading.disagreement = Some(why);
        } else {
            reading.disagreement = None;
        }
        Ok(())
    }

    /// Whether the block is the next one and still stored; then it is checked, and read again from what two endpoints show if its
    /// rows were others.
    async fn cross_check(&self, reading: &mut FollowerState, found: &BlockLogs) -> Result<bool, RowError> {
        let number = found.header.number;
        let row: Option<BlockRow> = rows::read(&*self.0.store, &rows::block(number)).await?;
        let next = reading.view.cross_checked().and_then(|checked| checked.checked_add(1));
        let is_next = |row: &BlockRow| {
            let header = row.header();
            next == Some(number) && (header.hash, header.parent) == (found.header.hash, found.header.parent)
        };
        let Some(row) = row.filter(is_next) else {
            return Ok(false);
        };
        let Ok(block) = self.relevant_movements(found) else {
            return Ok(false);
        };
        let mut stored = Vec::new();
        for place in row.first..row.end {
            stored.extend(rows::read::<MovementRow>(&*self.0.store, &rows::movement(place)).await?);
        }
        // One endpoint may show another time beside the same hash.
        reading.view.correct(found.header);
        reading.view.cross_check(number);
        if stored != block.rows || row.header() != found.header {
            Counters::add(&self.0.counters.mismatches, 1);
            let (was, is) = (stored.len(), block.rows.len());
            tracing::warn!(
                number,
                was,
                is,
                "a block of Base is read again: two endpoints show other movements"
            );
            self.replace(reading, vec![found.header], vec![block]).await?;
        }
        Ok(true)
    }
}
