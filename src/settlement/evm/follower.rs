//! Reads each block once, into rows: one batch a change of the chain, so that a stop in between loses nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use purser_actors::money::Usdc;
use purser_actors::port::Timestamp;
use purser_chains::evm::blocks::{Block, Change, Header};
use purser_chains::evm::node::{BlockLogs, BlockTag, LogFilter};
use purser_chains::evm::usdc::{self, Movement, MovementKind, TOPICS};
use purser_chains::evm::{Address, B256};
use purser_storage::{Write, codec};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::core::{Core, Counters, Outcome, View};
use super::gas_key;
use super::rows::{self, BlockRow, Key, LevelsRow, MovementRow, RowError};

/// The actor.
pub(super) struct FollowerActor(pub(super) Arc<Core>);

/// Look for a new block.
pub(super) struct Poll;

/// What is durable, and the chain as it follows from it.
pub(super) struct Reading {
    view: View,
    /// Of the next movement.
    place: u64,
    /// Height of the lowest block row.
    oldest: u64,
    /// First block that was ever read.
    start: u64,
    /// The newest block when `safe` and `finalized` were last asked for.
    leveled: Option<B256>,
    /// What an operator was told last.
    alarmed: Option<String>,
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
}

impl Reading {
    /// From the rows. `head`: the newest block of the chain, where reading begins if nothing was read yet.
    pub(super) async fn load(store: &dyn purser_storage::Store, start: u64) -> Result<Self, RowError> {
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
        Ok(Self {
            place: blocks.last().map_or(0, |block| block.end),
            oldest: blocks.first().map_or(start, |block| block.header().number),
            view,
            start,
            leveled: None,
            alarmed: None,
        })
    }

    pub(super) fn view(&self) -> View {
        self.view.clone()
    }

    fn levels(&self) -> Write {
        use purser_chains::evm::blocks::Finality;
        let row = |finality| {
            let header: Option<Header> = self.view.final_header(finality);
            header.map(|header| BlockRow::new(&header, 0, 0))
        };
        let levels = LevelsRow {
            start: self.start,
            safe: row(Finality::Safe),
            finalized: row(Finality::Finalized),
        };
        rows::put(rows::levels(), codec::encode(&levels))
    }
}

impl Actor for FollowerActor {
    type Msg = Poll;
    type State = Reading;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Poll>, (): ()) -> Result<Reading, ActorProcessingErr> {
        let tip = self.0.view().tip().map(|tip| tip.number);
        let start = tip.unwrap_or_else(|| self.0.view().oldest_needed());
        let reading = Reading::load(&*self.0.store, start).await?;
        drop(myself.cast(Poll));
        Ok(reading)
    }

    async fn handle(&self, myself: ActorRef<Poll>, _: Poll, reading: &mut Reading) -> Result<(), ActorProcessingErr> {
        match self.read_on(reading).await? {
            Ok(()) => reading.alarmed = None,
            // The endpoints' failures are logged by the pool.
            Err(error @ FollowError::Node(_)) => tracing::debug!(%error, "the blocks of Base could not be read"),
            Err(error) => {
                let error = error.to_string();
                if reading.alarmed.as_ref() != Some(&error) {
                    self.0.alarm(&error);
                    reading.alarmed = Some(error);
                }
            }
        }
        let pause = Duration::from_millis(self.0.settings.poll_ms.max(1));
        drop(myself.send_after(pause, || Poll));
        Ok(())
    }
}

impl FollowerActor {
    /// Up to the newest block. Rows that cannot be written end the actor: it begins again from what is durable.
    async fn read_on(&self, reading: &mut Reading) -> Result<Result<(), FollowError>, RowError> {
        let node = &self.0.node;
        let head = match node.header(BlockTag::Latest).await {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error.into())),
        };
        if reading.view.next(&head).is_none() && reading.leveled == Some(head.hash) {
            self.0.is_read();
            return Ok(Ok(()));
        }
        let (safe, finalized) = match tokio::join!(node.header(BlockTag::Safe), node.header(BlockTag::Finalized)) {
            (Ok(safe), Ok(finalized)) => (safe, finalized),
            (Err(error), _) | (_, Err(error)) => return Ok(Err(error.into())),
        };
        while let Some(next) = reading.view.next(&head) {
            let filter = LogFilter {
                address: self.0.token.address(),
                topics: vec![TOPICS.to_vec()],
            };
            let found = match node.block(next, &[filter]).await {
                Ok(Some(found)) => found,
                // No endpoint knows it any more.
                Ok(None) => {
                    reading.view.abandon_branch();
                    return Ok(Ok(()));
                }
                Err(error) => return Ok(Err(error.into())),
            };
            let block = match self.of_ours(&found) {
                Ok(block) => block,
                Err(error) => return Ok(Err(error.into())),
            };
            match reading.view.offer(block) {
                Ok(Some(change)) => self.apply(reading, change).await?,
                Ok(None) => {}
                Err(error) => return Ok(Err(error.into())),
            }
        }
        reading.view.observe(safe, finalized);
        reading.leveled = Some(head.hash);
        self.0.publish(reading.view.clone());
        self.0.is_read();
        Ok(Ok(()))
    }

    /// The movements that are kept: of the treasury, of our wallets, of payments that are ours to follow, and what payers
    /// have cancelled.
    fn of_ours(&self, found: &BlockLogs) -> Result<Block<MovementRow>, usdc::UnpairedAuthorization> {
        let movements = usdc::movements(self.0.token.address(), &found.logs)?;
        let mut firsts: HashMap<B256, u64> = HashMap::new();
        for log in &found.logs {
            let first = firsts.entry(log.transaction).or_insert(log.log_index);
            *first = log.log_index.min(*first);
        }
        let mut kept = Vec::new();
        for movement in &movements {
            let Some(mut row) = self.row(&found.header, movement) else {
                continue;
            };
            let first = firsts.get(&movement.reference.transaction).copied();
            let index = row.log_index.saturating_sub(first.unwrap_or_default());
            row.index = u32::try_from(index).unwrap_or(u32::MAX);
            kept.push(row);
        }
        Ok(Block {
            header: found.header,
            rows: kept,
        })
    }

    fn row(&self, header: &Header, movement: &Movement) -> Option<MovementRow> {
        let ours =
            |address: &Address| *address == self.0.settings.treasury.address() || self.0.wallets.contains(address);
        let watched = |from: Address, nonce: B256| {
            let key = Key { from, nonce };
            self.0.owners.contains_key(&key) || self.0.watched.contains_key(&key)
        };
        let row = MovementRow {
            transaction: movement.reference.transaction.0,
            log_index: movement.reference.log_index,
            index: 0,
            block: header.number,
            block_hash: header.hash.0,
            from: [0; 20],
            to: [0; 20],
            value: Usdc::from_atomic(0),
            nonce: None,
            canceled: false,
            at: Timestamp(header.timestamp.saturating_mul(1_000)),
            dropped: false,
        };
        match movement.kind {
            MovementKind::Transfer {
                from,
                to,
                value,
                authorization,
            } => {
                let kept = ours(&from) || ours(&to) || authorization.is_some_and(|nonce| watched(from, nonce));
                // USDC's supply is far below 2^64.
                let value = Usdc::from_atomic(value.try_into().unwrap_or(u64::MAX));
                kept.then_some(MovementRow {
                    from: from.into_array(),
                    to: to.into_array(),
                    value,
                    nonce: authorization.map(|nonce| nonce.0),
                    ..row
                })
            }
            MovementKind::Canceled { authorizer, nonce } => Some(MovementRow {
                from: authorizer.into_array(),
                to: [0; 20],
                nonce: Some(nonce.0),
                canceled: true,
                ..row
            }),
        }
    }

    /// Makes a change durable, then tells whoever waits for it.
    async fn apply(&self, reading: &mut Reading, change: Change<MovementRow>) -> Result<(), RowError> {
        let mut writes = Vec::new();
        let (removed, added) = match change {
            Change::Extended(block) => (Vec::new(), vec![block]),
            Change::Reorganized { removed, added } => (removed, added),
        };
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
        let needed = reading.view.oldest_needed();
        let old = reading.oldest..needed;
        writes.extend(old.map(|number| Write::Delete {
            key: rows::block(number),
        }));
        writes.push(reading.levels());
        rows::commit(&*self.0.store, writes).await?;
        reading.oldest = reading.oldest.max(needed);
        self.0.publish(reading.view.clone());
        if let Some(lowest) = removed.last() {
            let depth = removed.len();
            tracing::warn!(from = lowest.number, depth, "blocks of Base were replaced");
            Counters::add(&self.0.counters.reorganizations, 1);
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
