//! Cross-check between endpoints. The follower reads each block from one endpoint. A block counts as final once two
//! endpoints have shown the same header and the same logs. No single endpoint can then invent a transfer or omit one.

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

/// Maximum number of blocks requested in one round.
const BLOCKS_PER_ROUND: u64 = 32;
/// Without progress for this time while there are blocks to check, payments do not become final. In milliseconds.
const STALLED_MS: u64 = 60_000;

/// Maximum number of blocks read ahead of the cross-check. All of them can be replaced if they belong to another chain.
pub(super) const MAX_LEAD_BLOCKS: u64 = 48;

/// Number of endpoints that a cross-check needs.
pub(super) const MIN_ENDPOINTS: usize = 2;

/// The height up to which two endpoints agree.
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

/// The request for a cross-check.
pub(super) struct CrossCheckRequest {
    /// Heights and hashes of stored blocks, lowest first.
    pub(super) blocks: Vec<(u64, B256)>,
    pub(super) filter: LogFilter,
}

/// What two endpoints agree on.
pub(super) struct CrossCheckResult {
    /// The header that each endpoint reports, highest first: all but the first have been reached by two.
    pub(super) safe: Vec<(String, Header)>,
    pub(super) finalized: Vec<(String, Header)>,
    /// Blocks without a gap from the first requested one.
    pub(super) blocks: Vec<BlockLogs>,
    /// The first block for which no two endpoints agree, and what each reported.
    pub(super) disagreement: Option<String>,
    /// Endpoints on a different chain than two others.
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

    /// Sends the requests. Waits for endpoints that do not respond no longer than their own timeouts.
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
    /// Whether two endpoints have recently reported the safe and finalized levels.
    pub(super) has_levels: bool,
    safe: LevelGap,
    finalized: LevelGap,
}

/// One endpoint alone has reached a level of the chain.
#[derive(Default)]
struct LevelGap {
    /// The level that two have reached, and since when it has not advanced.
    shared: Option<(u64, u64)>,
    is_reported: bool,
}

impl LevelGap {
    /// The alarm for an operator, returned once: the other endpoints have not advanced for a minute, so the first one's
    /// level is not final.
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

    /// Records that a block was checked, or that there is none to check.
    pub(super) fn record(&mut self) {
        if self.has_levels {
            self.since_ms = self.clock.now_ms();
        }
    }

    /// The alarms for an operator about the reported levels.
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
    /// Requests the cross-check of unchecked blocks in parallel with reading: an endpoint that hangs does not delay
    /// reading.
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

    /// Compares what two endpoints show with the rows.
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

    /// If the block is the next one and still stored, it is checked. If its rows differ, it is replaced by what two
    /// endpoints show. Returns whether it was the next one.
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
        // One endpoint may show a different time with the same hash.
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
