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
use super::follower::{FollowerActor, Message, Reading};
use super::rows::{self, BlockRow, MovementRow, RowError};

/// Blocks that are asked for in one round.
const ROUND: u64 = 32;
/// Without progress for so long, while there are blocks to check, payments do not become final.
const STALLED_MS: u64 = 60_000;

/// Blocks that are read ahead of the cross-check: few enough that all of them can be replaced if they are of another chain.
pub(super) const LEAD: u64 = 48;

/// Endpoints that a cross-check needs.
pub(super) const NEEDED: usize = 2;

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
pub(super) struct Questions {
    /// Heights and hashes of blocks that are stored, the lowest first.
    pub(super) blocks: Vec<(u64, B256)>,
    pub(super) filter: LogFilter,
}

/// What two endpoints have answered alike.
pub(super) struct Shown {
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

impl Questions {
    /// The stored blocks above this height.
    pub(super) async fn above(
        store: &dyn Store,
        (checked, tip): (u64, u64),
        filter: LogFilter,
    ) -> Result<Self, RowError> {
        let mut blocks = Vec::new();
        for number in checked + 1..=tip.min(checked + ROUND) {
            let row: Option<BlockRow> = rows::read(store, &rows::block(number)).await?;
            let row = row.ok_or_else(|| RowError(format!("the row of block {number} is not there")))?;
            blocks.push((number, row.header().hash));
        }
        Ok(Self { blocks, filter })
    }

    /// Waits for endpoints that do not answer no longer than their own time limits.
    pub(super) async fn ask(self, node: &Node) -> Shown {
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
        Shown {
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
    safe: Apart,
    finalized: Apart,
}

/// One endpoint alone has reached a level of the chain, and no other one has.
#[derive(Default)]
struct Apart {
    /// What two have reached, and since when they have reached no more.
    stands: Option<(u64, u64)>,
    is_told: bool,
}

impl Apart {
    /// What an operator is told once: the others have stood still for a minute, so that what the first has reached is not final.
    fn compare(&mut self, level: &str, claims: &[(String, Header)], now_ms: u64) -> Option<String> {
        let [(_, highest), (_, second), ..] = claims else {
            return None;
        };
        if highest.number == second.number {
            *self = Self::default();
            return None;
        }
        let since_ms = match self.stands {
            Some((number, since_ms)) if number == second.number => since_ms,
            _ => now_ms,
        };
        self.stands = Some((second.number, since_ms));
        if self.is_told || now_ms <= since_ms.saturating_add(STALLED_MS) {
            return None;
        }
        self.is_told = true;
        let claims = claims.iter().map(|(host, header)| format!("{host}: {}", header.number));
        let claims: Vec<String> = claims.collect();
        Some(format!(
            "one endpoint alone says that newer blocks are {level}: {}",
            claims.join("; ")
        ))
    }
}

impl Progress {
    pub(super) fn begin(clock: Arc<dyn Clock>) -> Self {
        Self {
            since_ms: clock.now_ms(),
            clock,
            has_levels: true,
            safe: Apart::default(),
            finalized: Apart::default(),
        }
    }

    /// A block was checked, or there is none to check.
    pub(super) fn made(&mut self) {
        if self.has_levels {
            self.since_ms = self.clock.now_ms();
        }
    }

    /// What an operator is to be told of the levels that the endpoints name.
    fn apart(&mut self, shown: &Shown) -> [Option<String>; 2] {
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
    pub(super) async fn ask_for_more(&self, myself: &ActorRef<Message>, reading: &mut Reading) -> Result<(), RowError> {
        let (Some(checked), Some(tip)) = (reading.view.cross_checked(), reading.view.tip().copied()) else {
            return Ok(());
        };
        if checked >= tip.number {
            reading.progress.made();
        }
        self.0
            .is_stalled
            .store(reading.progress.is_stalled(), Ordering::Release);
        if reading.is_asking || (checked >= tip.number && reading.leveled == Some(tip.hash)) {
            return Ok(());
        }
        let questions = Questions::above(&*self.0.store, (checked, tip.number), self.filter()).await?;
        let (core, follower) = (self.0.clone(), myself.clone());
        reading.is_asking = true;
        reading.leveled = Some(tip.hash);
        tokio::spawn(async move {
            let shown = questions.ask(&core.node).await;
            drop(follower.cast(Message::Shown(Box::new(shown))));
        });
        Ok(())
    }

    /// Holds what two endpoints show against the rows.
    pub(super) async fn take_shown(&self, reading: &mut Reading, shown: Shown) -> Result<(), RowError> {
        reading.is_asking = false;
        for endpoint in &shown.outvoted {
            self.0.node.pool().outvote(*endpoint);
        }
        for block in &shown.blocks {
            if !self.cross_check(reading, block).await? {
                break;
            }
            reading.progress.made();
        }
        for apart in reading.progress.apart(&shown).into_iter().flatten() {
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
    async fn cross_check(&self, reading: &mut Reading, found: &BlockLogs) -> Result<bool, RowError> {
        let number = found.header.number;
        let row: Option<BlockRow> = rows::read(&*self.0.store, &rows::block(number)).await?;
        let next = reading.view.cross_checked().and_then(|checked| checked.checked_add(1));
        let Some(row) = row.filter(|row| row.header() == found.header && next == Some(number)) else {
            return Ok(false);
        };
        let Ok(block) = self.of_ours(found) else {
            return Ok(false);
        };
        let mut stored = Vec::new();
        for place in row.first..row.end {
            stored.extend(rows::read::<MovementRow>(&*self.0.store, &rows::movement(place)).await?);
        }
        reading.view.cross_check(number);
        if stored != block.rows {
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
