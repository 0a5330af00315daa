//! Reads each block once, into rows: one batch a change of the chain, so that a stop in between loses nothing.

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

/// The actor.
pub(super) struct FollowerActor(pub(super) Arc<Core>);

pub(super) enum Message {
    /// Look for a new block.
    Poll,
    /// What two endpoints show of the blocks that are stored.
    CrossChecked(Box<CrossCheckResult>),
    /// Take the chain that the endpoints show beyond what was final; or say what that would do.
    RollBack {
        apply: bool,
        reply: oneshot::Sender<Result<RollBackResult, RollBackError>>,
    },
}

/// What is durable, and the chain as it follows from it.
pub(super) struct FollowerState {
    pub(super) view: View,
    /// Of the next movement.
    pub(super) next_movement: u64,
    /// Height of the lowest block row.
    pub(super) oldest: u64,
    /// First block that was ever read.
    pub(super) start: u64,
    /// The newest block when `safe` and `finalized` were last asked for.
    pub(super) leveled: Option<B256>,
    /// What kind of error an operator was told last.
    pub(super) alarmed: Option<std::mem::Discriminant<FollowError>>,
    /// The chain has replaced what was final, or more than is followed, by what one endpoint showed last.
    pub(super) has_final_reorg: bool,
    pub(super) progress: Progress,
    /// The endpoints are being asked for a cross-check.
    pub(super) is_cross_checking: bool,
    /// What an operator was told last about cross-checks that make no progress.
    pub(super) disagreement: Option<String>,
}

/// Why the chain was not read further; it is tried again.
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
    /// Whether the chain has replaced what was final, or more than is followed.
    const fn is_final_reorg(&self) -> bool {
        use purser_chains::evm::blocks::FollowError;
        matches!(
            self,
            Self::FarBehind { .. } | Self::Blocks(FollowError::TooDeep { .. } | FollowError::Finalized { .. })
        )
    }
}

impl FollowerState {
    /// From the rows. `start`: where reading begins if nothing was read yet. `endpoints`: how many there are.
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
            // A data directory of before has no row: what is still stored is checked, what is older was final long ago.
            let checked = CrossCheckedRow::read(store).await?;
            let lowest = oldest.saturating_sub(1);
            view.require_cross_check(checked.unwrap_or(lowest).max(lowest));
        }
        Ok(Self {
            // A block that was read again has later places than those above it.
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

    /// How far reading and its checks have come.
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

    /// Takes the levels that two endpoints show, as far as they are of this chain. Whether there is one of each.
    pub(super) fn observe(&mut self, shown: &CrossCheckResult) -> bool {
        let ours = |view: &View, levels: &[(String, Header)]| {
            let by_two = levels.iter().skip(1).map(|(_, level)| *level);
            by_two.into_iter().find(|level| view.is_consistent(level))
        };
        let (safe, finalized) = (ours(&self.view, &shown.safe), ours(&self.view, &shown.finalized));
        self.view.observe(safe, finalized);
        safe.is_some() && finalized.is_some()
    }

    /// Whether reading waits for the cross-check: an endpoint alone must not lead so far along a chain of its own that there is no way
    /// back.
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
            // Nobody waits any more for what is not told.
            Message::RollBack {
                apply: is_wanted,
                reply: told,
            } => drop(told.send(self.roll_back(reading, is_wanted).await)),
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
            // The endpoints' failures are logged by the pool.
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

    /// Up to the newest block. Rows that cannot be written end the actor: it begins again from what is durable.
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
            // An endpoint that is behind does not show what the chain has.
            if head.number >= tip {
                self.0.mark_read();
            }
            return Ok(Ok(()));
        }
        let levels = match reading.view.cross_checked() {
            // Two endpoints are asked for the levels, in the cross-check.
            Some(_) => None,
            None => match tokio::join!(node.header(BlockTag::Safe), node.header(BlockTag::Finalized)) {
                (Ok(safe), Ok(finalized)) => Some((safe, finalized)),
                (Err(error), _) | (_, Err(error)) => return Ok(Err(error.into())),
            },
        };
        while let Some(next) = reading.view.next(&head) {
            let found = match node.block(next, &[self.filter()]).await {
                Ok(Some(found)) => found,
                // No endpoint knows it any more.
                Ok(None) => {
                    reading.view.abandon_branch();
                    return Ok(Ok(()));
                }
                Err(error) => return Ok(Err(error.into())),
            };
            // A block of another branch than ours is taken: it leads back.
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
