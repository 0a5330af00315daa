//! Reads each block once, into rows: one batch a change of the chain, so that a stop in between loses nothing.

use std::sync::Arc;
use std::time::Duration;

use purser_chains::evm::B256;
use purser_chains::evm::blocks::{Block, Change, Header, MAX_REORG};
use purser_chains::evm::node::{BlockTag, Disagreement, LogFilter, NodeError};
use purser_chains::evm::usdc::{self, TOPICS};
use purser_chains::rpc::Clock;
use purser_storage::{Write, codec};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::core::{Core, Counters, Outcome, View};
use super::cross_check::{self, CrossCheckedRow, Progress, Shown};
use super::gas_key;
use super::rows::{self, BlockRow, Key, LevelsRow, MovementRow, RowError};

/// The actor.
pub(super) struct FollowerActor(pub(super) Arc<Core>);

pub(super) enum Message {
    /// Look for a new block.
    Poll,
    /// What two endpoints show of the blocks that are stored.
    Shown(Box<Shown>),
}

/// What is durable, and the chain as it follows from it.
pub(super) struct Reading {
    pub(super) view: View,
    /// Of the next movement.
    place: u64,
    /// Height of the lowest block row.
    oldest: u64,
    /// First block that was ever read.
    start: u64,
    /// The newest block when `safe` and `finalized` were last asked for.
    pub(super) leveled: Option<B256>,
    /// What kind of error an operator was told last.
    alarmed: Option<std::mem::Discriminant<FollowError>>,
    pub(super) progress: Progress,
    /// The endpoints are being asked for a cross-check.
    pub(super) is_asking: bool,
    /// What an operator was told last about cross-checks that make no progress.
    pub(super) disagreement: Option<String>,
}

/// Why the chain was not read further; it is tried again.
#[derive(Debug, thiserror::Error)]
enum FollowError {
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
    Below { head: u64, tip: u64 },
}

impl Reading {
    /// From the rows. `start`: where reading begins if nothing was read yet. `endpoints`: how many there are.
    pub(super) async fn load(
        store: &dyn purser_storage::Store,
        clock: Arc<dyn Clock>,
        (start, endpoints): (u64, usize),
    ) -> Result<Self, RowError> {
        let levels: Option<LevelsRow> = rows::read(store, &rows::levels()).await?;
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
        if endpoints >= cross_check::NEEDED {
            // A data directory of before has no row: what is still stored is checked, what is older was final long ago.
            let checked = CrossCheckedRow::read(store).await?;
            let lowest = oldest.saturating_sub(1);
            view.require_cross_check(checked.unwrap_or(lowest).max(lowest));
        }
        Ok(Self {
            // A block that was read again has later places than those above it.
            place: blocks.iter().map(|block| block.end).max().unwrap_or(0),
            oldest,
            view,
            start,
            leveled: None,
            alarmed: None,
            progress: Progress::begin(clock),
            is_asking: false,
            disagreement: None,
        })
    }

    pub(super) fn view(&self) -> View {
        self.view.clone()
    }

    /// How far reading and its checks have come.
    fn cursor(&self) -> Vec<Write> {
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
    pub(super) fn observe(&mut self, shown: &Shown) -> bool {
        let ours = |view: &View, levels: &[Header]| {
            let mut of_ours = levels.iter().filter(|level| view.is_of_ours(level));
            of_ours.next().copied()
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
        checked.is_some_and(|checked| tip >= checked.saturating_add(cross_check::LEAD))
    }

    /// The lowest block whose row is still needed.
    fn oldest_needed(&self) -> u64 {
        let checked = self
            .view
            .cross_checked()
            .map_or(u64::MAX, |checked| checked.saturating_add(1));
        self.view.oldest_needed().min(checked)
    }
}

impl Actor for FollowerActor {
    type Msg = Message;
    type State = Reading;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Message>, (): ()) -> Result<Reading, ActorProcessingErr> {
        let tip = self.0.view().tip().map(|tip| tip.number);
        let start = tip.unwrap_or_else(|| self.0.view().oldest_needed());
        let endpoints = self.0.node.pool().len();
        let reading = Reading::load(&*self.0.store, self.0.clock.clone(), (start, endpoints)).await?;
        drop(myself.cast(Message::Poll));
        Ok(reading)
    }

    async fn handle(
        &self,
        myself: ActorRef<Message>,
        message: Message,
        reading: &mut Reading,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Poll => self.poll(&myself, reading).await?,
            Message::Shown(shown) => self.take_shown(reading, *shown).await?,
        }
        Ok(())
    }
}

impl FollowerActor {
    async fn poll(&self, myself: &ActorRef<Message>, reading: &mut Reading) -> Result<(), RowError> {
        match self.read_on(reading).await? {
            Ok(()) => reading.alarmed = None,
            // The endpoints' failures are logged by the pool.
            Err(error @ FollowError::Node(NodeError::Rpc(_))) => {
                tracing::debug!(%error, "the blocks of Base could not be read");
            }
            Err(error) => {
                let kind = std::mem::discriminant(&error);
                if reading.alarmed != Some(kind) {
                    self.0.alarm(&error.to_string());
                    reading.alarmed = Some(kind);
                }
            }
        }
        self.ask_for_more(myself, reading).await?;
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
    async fn read_on(&self, reading: &mut Reading) -> Result<Result<(), FollowError>, RowError> {
        let node = &self.0.node;
        let head = match node.header(BlockTag::Latest).await {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error.into())),
        };
        let is_leveled = reading.view.cross_checked().is_some() || reading.leveled == Some(head.hash);
        let tip = reading.view.tip().map_or(0, |tip| tip.number);
        if tip > head.number.saturating_add(MAX_REORG as u64) {
            return Ok(Err(FollowError::Below { head: head.number, tip }));
        }
        if reading.view.next(&head).is_none() && is_leveled {
            // An endpoint that is behind does not show what the chain has.
            if head.number >= tip {
                self.0.is_read();
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
            let block = match self.of_ours(&found) {
                Ok(block) => block,
                Err(error) => match node.block_by_two(found.header.hash, &[self.filter()]).await {
                    Ok(found) => match self.of_ours(&found) {
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
        self.0.is_read();
        Ok(Ok(()))
    }

    async fn apply(&self, reading: &mut Reading, change: Change<MovementRow>) -> Result<(), RowError> {
        match change {
            Change::Extended(block) => self.replace(reading, Vec::new(), vec![block]).await,
            Change::Reorganized { removed, added } => {
                let depth = removed.len();
                let lowest = removed.last().map(|header| header.number);
                self.replace(reading, removed, added).await?;
                tracing::warn!(from = lowest, depth, "blocks of Base were replaced");
                Counters::add(&self.0.counters.reorganizations, 1);
                Ok(())
            }
        }
    }

    /// Makes a change durable, then tells whoever waits for it. `removed`: newest first; `added`: oldest first.
    pub(super) async fn replace(
        &self,
        reading: &mut Reading,
        removed: Vec<Header>,
        added: Vec<Block<MovementRow>>,
    ) -> Result<(), RowError> {
        let mut writes = Vec::new();
        for header in &removed {
            self.remove(header, &mut writes).await?;
        }
        let mut keys = Vec::new();
        for block in &added {
            let first = reading.place;
            for row in &block.rows {
                let place = reading.place.to_be_bytes().to_vec();
                writes.push(rows::put(rows::movement(reading.place), codec::encode(row)));
                writes.push(rows::put(rows::named(&row.reference()), place.clone()));
                if let Some(nonce) = row.nonce {
                    let key = Key {
                        from: row.from.into(),
                        nonce: nonce.into(),
                    };
                    writes.push(rows::put(rows::used(&key), place));
                    keys.push(key);
                }
                reading.place += 1;
            }
            let row = BlockRow::new(&block.header, first, reading.place);
            writes.push(rows::put(rows::block(block.header.number), codec::encode(&row)));
        }
        let needed = reading.oldest_needed();
        let old = reading.oldest..needed;
        writes.extend(old.map(|number| Write::Delete {
            key: rows::block(number),
        }));
        writes.extend(reading.cursor());
        rows::commit(&*self.0.store, writes).await?;
        reading.oldest = reading.oldest.max(needed);
        self.0.publish(reading.view.clone());
        if let Some(lowest) = removed.last() {
            for actor in self.0.actors.iter() {
                drop(actor.cast(gas_key::Message::Reorganized(lowest.number)));
            }
        }
        if let Some(tip) = reading.view.tip().filter(|tip| tip.number % 100 == 0) {
            self.0.forget_old(tip.timestamp);
        }
        for key in keys {
            self.0.tell(&key, &Outcome::Moved);
        }
        Ok(())
    }

    /// Marks what stood in a block as removed. Its place is not used again, so that a reader of the list misses nothing.
    async fn remove(&self, header: &Header, writes: &mut Vec<Write>) -> Result<(), RowError> {
        let store = &*self.0.store;
        let block: Option<BlockRow> = rows::read(store, &rows::block(header.number)).await?;
        let Some(block) = block.filter(|block| block.header().hash == header.hash) else {
            return Err(RowError(format!("the row of block {} is not there", header.number)));
        };
        for place in block.first..block.end {
            let key = rows::movement(place);
            let row: Option<MovementRow> = rows::read(store, &key).await?;
            let row = row.ok_or_else(|| RowError(format!("movement {place} is not there")))?;
            writes.push(Write::Delete {
                key: rows::named(&row.reference()),
            });
            if let Some(nonce) = row.nonce {
                let used = Key {
                    from: row.from.into(),
                    nonce: nonce.into(),
                };
                writes.push(Write::Delete { key: rows::used(&used) });
            }
            let row = MovementRow { dropped: true, ..row };
            writes.push(rows::put(key, codec::encode(&row)));
        }
        writes.push(Write::Delete {
            key: rows::block(header.number),
        });
        Ok(())
    }
}
