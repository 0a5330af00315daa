//! Reads each block once, into rows. Each change of the chain is one batch, so that a stop in between loses nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use purser_chains::evm::B256;
use purser_chains::evm::blocks::{Header, MAX_REORG};
use purser_chains::evm::node::{BlockTag, Disagreement, LogFilter, NodeError};
use purser_chains::evm::usdc::{self, TOPICS};
use purser_chains::rpc::Clock;
use purser_storage::{Write, codec};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

use super::core::{Core, View};
use super::cross_check::{self, CrossCheckResult, CrossCheckedRow, Progress};
use super::rollback::{NextMovementRow, RollBackError, RollBackResult};
use super::rows::{self, BlockRow, LevelsRow, RowError};

/// Actor that follows the blocks.
pub(super) struct FollowerActor(pub(super) Arc<Core>);

pub(super) enum Message {
    /// Check for a new block.
    Poll,
    /// The result of a cross-check of stored blocks.
    CrossChecked(Box<CrossCheckResult>),
    /// Accept the chain that the endpoints show beyond the final blocks, or preview that.
    RollBack {
        apply: bool,
        reply: oneshot::Sender<Result<RollBackResult, RollBackError>>,
    },
}

/// The durable state, and the view of the chain derived from it.
pub(super) struct FollowerState {
    pub(super) view: View,
    /// Position of the next transfer.
    pub(super) next_movement: u64,
    /// Height of the lowest block row.
    pub(super) oldest: u64,
    /// First block that was ever read.
    pub(super) start: u64,
    /// The newest block when `safe` and `finalized` were last asked for.
    pub(super) leveled: Option<B256>,
    /// Kind of the last error reported to an operator.
    pub(super) alarmed: Option<std::mem::Discriminant<FollowError>>,
    /// The chain has replaced final blocks, or more than are followed, according to the last endpoint read.
    pub(super) has_final_reorg: bool,
    pub(super) progress: Progress,
    /// A cross-check is in progress.
    pub(super) is_cross_checking: bool,
    /// The last disagreement reported to an operator when cross-checks made no progress.
    pub(super) disagreement: Option<String>,
}

/// Why reading stopped; it is attempted again.
#[derive(Debug, thiserror::Error)]
pub(super) enum FollowError {
    #[error(transparent)]
    Node(#[from] purser_chains::evm::node::NodeError),
    #[error(transparent)]
    Blocks(#[from] purser_chains::evm::blocks::FollowError),
    #[error(transparent)]
    Logs(#[from] usdc::UnpairedAuthorization),
    #[error("{error}: {endpoints}")]
    Incomplete {
        error: usdc::UnpairedAuthorization,
        endpoints: Disagreement,
    },
    #[error("the newest block is {head}, far below block {tip} that was read: is it the same chain?")]
    FarBehind { head: u64, tip: u64 },
}

impl FollowError {
    /// Whether the chain has replaced final blocks, or more than are followed.
    const fn is_final_reorg(&self) -> bool {
        use purser_chains::evm::blocks::FollowError;
        matches!(
            self,
            Self::FarBehind { .. } | Self::Blocks(FollowError::TooDeep { .. } | FollowError::Finalized { .. })
        )
    }
}

impl FollowerState {
    /// Loads the state from the rows. `start` is the first block to read on an empty store; `endpoints` is their
    /// number.
    pub(super) async fn load(
        store: &dyn purser_storage::Store,
        clock: Arc<dyn Clock>,
        (start, endpoints): (u64, usize),
    ) -> Result<Self, RowError> {
        let levels: Option<LevelsRow> = rows::read(store, &rows::levels()).await?;
        let places = NextMovementRow::read(store).await?;
        let mut blocks = Vec::new();
        for (_, value) in rows::scan_all(store, &rows::blocks()).await? {
            blocks.push(codec::decode::<BlockRow>(&value)?);
        }
        let headers: Vec<Header> = blocks.iter().map(BlockRow::header).collect();
        let start = levels.map_or(start, |levels| levels.start);
        let malformed = |error: purser_chains::evm::blocks::FollowError| RowError(error.to_string());
        let mut view = View::new(start, headers).map_err(malformed)?;
        if let Some(levels) = levels {
            let header = |row: Option<BlockRow>| row.map(|row| row.header());
            view.observe(header(levels.safe), header(levels.finalized));
        }
        let oldest = blocks.first().map_or(start, |block| block.header().number);
        if endpoints >= cross_check::MIN_ENDPOINTS {
            // Data directories of earlier versions have no row. Blocks still stored are checked; older ones were final
            // long ago.
            let checked = CrossCheckedRow::read(store).await?;
            let lowest = oldest.saturating_sub(1);
            view.require_cross_check(checked.unwrap_or(lowest).max(lowest));
        }
        Ok(Self {
            // A block that was read again has higher positions than the blocks above it.
            next_movement: blocks.iter().map(|block| block.end).max().unwrap_or(0).max(places),
            oldest,
            view,
            start,
            leveled: None,
            alarmed: None,
            has_final_reorg: false,
            progress: Progress::start(clock),
            is_cross_checking: false,
            disagreement: None,
        })
    }

    pub(super) fn view(&self) -> View {
        self.view.clone()
    }

    /// The positions of reading and of the cross-check.
    pub(super) fn cursor(&self) -> Vec<Write> {
        use purser_chains::evm::blocks::Finality;
        let row = |finality| {
            let header: Option<Header> = self.view.level(finality);
            header.map(|header| BlockRow::new(&header, 0, 0))
        };
        let levels = LevelsRow {
            start: self.start,
            safe: row(Finality::Safe),
            finalized: row(Finality::Finalized),
        };
        let checked = self.view.cross_checked().map(CrossCheckedRow::write);
        let levels = rows::put(rows::levels(), codec::encode(&levels));
        checked.into_iter().chain([levels]).collect()
    }

    /// Applies the levels that two endpoints show, if they belong to this chain. Returns whether both levels are known.
    pub(super) fn observe(&mut self, shown: &CrossCheckResult) -> bool {
        let ours = |view: &View, levels: &[(String, Header)]| {
            let by_two = levels.iter().skip(1).map(|(_, level)| *level);
            by_two.into_iter().find(|level| view.is_consistent(level))
        };
        let (safe, finalized) = (ours(&self.view, &shown.safe), ours(&self.view, &shown.finalized));
        self.view.observe(safe, finalized);
        safe.is_some() && finalized.is_some()
    }

    /// Whether reading waits for the cross-check: a single endpoint must not lead so far along a wrong chain that it
    /// cannot be undone.
    fn is_far_ahead(&self) -> bool {
        let tip = self.view.tip().map_or(0, |tip| tip.number);
        let checked = self.view.cross_checked();
        checked.is_some_and(|checked| tip >= checked.saturating_add(cross_check::MAX_LEAD_BLOCKS))
    }

    /// The lowest block whose row is still needed.
    pub(super) fn oldest_needed(&self) -> u64 {
        let checked = self
            .view
            .cross_checked()
            .map_or(u64::MAX, |checked| checked.saturating_add(1));
        self.view.oldest_needed().min(checked)
    }
}

impl Actor for FollowerActor {
    type Msg = Message;
    type State = FollowerState;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Message>, (): ()) -> Result<FollowerState, ActorProcessingErr> {
        let tip = self.0.view().tip().map(|tip| tip.number);
        let start = tip.unwrap_or_else(|| self.0.view().oldest_needed());
        let endpoints = self.0.node.pool().len();
        let reading = FollowerState::load(&*self.0.store, self.0.clock.clone(), (start, endpoints)).await?;
        drop(myself.cast(Message::Poll));
        Ok(reading)
    }

    async fn handle(
        &self,
        myself: ActorRef<Message>,
        message: Message,
        reading: &mut FollowerState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Poll => self.poll(&myself, reading).await?,
            Message::CrossChecked(shown) => self.apply_cross_check(reading, *shown).await?,
            // A dropped receiver is ignored.
            Message::RollBack {
                apply: is_wanted,
                reply: sender,
            } => drop(sender.send(self.roll_back(reading, is_wanted).await)),
        }
        Ok(())
    }
}

impl FollowerActor {
    async fn poll(&self, myself: &ActorRef<Message>, reading: &mut FollowerState) -> Result<(), RowError> {
        match self.read_to_tip(reading).await? {
            Ok(()) => {
                reading.alarmed = None;
                reading.has_final_reorg = false;
                self.0.has_final_reorg.store(false, Ordering::Release);
            }
            // The pool logs the endpoints' failures.
            Err(error @ FollowError::Node(NodeError::Rpc(_))) => {
                tracing::debug!(%error, "the blocks of Base could not be read");
            }
            Err(error) => {
                let kind = std::mem::discriminant(&error);
                reading.has_final_reorg = error.is_final_reorg();
                let is_beyond = reading.has_final_reorg && self.is_replaced(reading).await;
                self.0.has_final_reorg.store(is_beyond, Ordering::Release);
                if reading.alarmed != Some(kind) {
                    let way = match error.is_final_reorg() {
                        true => {
                            ": once two endpoints show the new chain, `purser admin chains accept base` has it read"
                        }
                        false => "",
                    };
                    self.0.alarm(&format!("{error}{way}"));
                    reading.alarmed = Some(kind);
                }
            }
        }
        self.request_cross_check(myself, reading).await?;
        let pause = Duration::from_millis(self.0.settings.poll_ms.max(1));
        drop(myself.send_after(pause, || Message::Poll));
        Ok(())
    }

    pub(super) fn filter(&self) -> LogFilter {
        LogFilter {
            address: self.0.token.address(),
            topics: vec![TOPICS.to_vec()],
        }
    }

    /// Reads up to the newest block. If rows cannot be written, the actor ends and restarts from its durable state.
    async fn read_to_tip(&self, reading: &mut FollowerState) -> Result<Result<(), FollowError>, RowError> {
        let node = &self.0.node;
        let head = match node.header(BlockTag::Latest).await {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error.into())),
        };
        let is_leveled = reading.view.cross_checked().is_some() || reading.leveled == Some(head.hash);
        let tip = reading.view.tip().map_or(0, |tip| tip.number);
        if tip > head.number.saturating_add(MAX_REORG as u64) {
            return Ok(Err(FollowError::FarBehind { head: head.number, tip }));
        }
        if reading.view.next(&head).is_none() && is_leveled {
            // A lagging endpoint does not show the whole chain.
            if head.number >= tip {
                self.0.mark_read();
            }
            return Ok(Ok(()));
        }
        let levels = match reading.view.cross_checked() {
            // The levels are read from two endpoints, in the cross-check.
            Some(_) => None,
            None => match tokio::join!(node.header(BlockTag::Safe), node.header(BlockTag::Finalized)) {
                (Ok(safe), Ok(finalized)) => Some((safe, finalized)),
                (Err(error), _) | (_, Err(error)) => return Ok(Err(error.into())),
            },
        };
        while let Some(next) = reading.view.next(&head) {
            let found = match node.block(next, &[self.filter()]).await {
                Ok(Some(found)) => found,
                // No endpoint has this block any more.
                Ok(None) => {
                    reading.view.abandon_branch();
                    return Ok(Ok(()));
                }
                Err(error) => return Ok(Err(error.into())),
            };
            // A block of another branch is accepted: it leads back to the fork.
            if reading.is_far_ahead() && reading.view.tip().is_some_and(|tip| tip.hash == found.header.parent) {
                return Ok(Ok(()));
            }
            let block = match self.relevant_movements(&found) {
                Ok(block) => block,
                Err(error) => match node.block_by_two(found.header.hash, &[self.filter()]).await {
                    Ok(found) => match self.relevant_movements(&found) {
                        Ok(block) => block,
                        Err(error) => return Ok(Err(error.into())),
                    },
                    Err(endpoints) => return Ok(Err(FollowError::Incomplete { error, endpoints })),
                },
            };
            match reading.view.offer(block) {
                Ok(Some(change)) => self.apply(reading, change).await?,
                Ok(None) => {}
                Err(error) => return Ok(Err(error.into())),
            }
        }
        if let Some((safe, finalized)) = levels {
            reading.view.observe(safe, finalized);
            reading.leveled = Some(head.hash);
            self.0.publish(reading.view.clone());
        }
        self.0.mark_read();
        Ok(Ok(()))
    }
}
