//! Reconciliation: our books and everybody else's lists, walked through side by side. Whoever lists something that we do not
//! have is found by its list, whoever lacks what we have by our books; each is one look-up on the other side, so that
//! nothing is remembered of a walk but its place.

mod books;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use purser_storage::codec::{self, Stored};
use purser_storage::{Store, StoreError};

use self::books::{Ours, TABLES};
use super::departures::known::Known;
use super::operating::damaged;
use crate::difference::Found;
use crate::id::{EffectId, Network};
use crate::kernel::table;
use crate::port::{BoxFuture, Clock, Cursor, Entry, Lists, Movement, PortError, Timestamp};
use crate::reconcile::{Flow, Listed, Moment, Money, Source, Standing, compare};

pub use self::watch::{Open, Reconciliation};
pub(super) use self::watch::{Watching, watch};

/// Where a walk's place is written down.
const ROW: &str = "reconciliation";

/// Whose lists there are, and how they are walked through.
#[derive(Clone)]
pub struct Reconciling {
    /// Everybody's.
    pub lists: Lists,
    /// How fast.
    pub pace: Pace,
}

/// How fast lists are walked through.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two steps of a walk, in milliseconds.
    pub pause_ms: u64,
    /// Between two walks, in milliseconds.
    pub rest_ms: u64,
    /// Things that one step compares, about.
    pub page: usize,
    /// See [`Moment::grace_ms`].
    pub grace_ms: u64,
    /// After which a list that does not answer is left out of a walk, in milliseconds.
    pub timeout_ms: u64,
}

/// How far a walk has come. A walk goes through everybody's list and then through our books.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Walk {
    /// Which list or table.
    stage: u8,
    /// How far in it: a list's cursor, or a row's key.
    place: Option<Vec<u8>>,
    /// Compared so far.
    pub compared: u64,
    /// Whether a list could not be read to its end.
    pub skipped: bool,
    /// When the last one ended that read every list to its end.
    pub completed_at: Option<Timestamp>,
}

impl Stored for Walk {
    const SCHEMA: u16 = 262;
}

enum Stage {
    Outside(Source),
    Books(&'static [u8]),
    Over,
}

impl Walk {
    /// As it was left, or a first one.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let row = store.read(&table::meta(ROW)).await?;
        row.map_or_else(|| Ok(Self::default()), |row| codec::decode(&row.value).map_err(damaged))
    }

    /// From the first list on.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            completed_at: self.completed_at,
            ..Self::default()
        }
    }

    /// Whether there is nothing more to read.
    pub fn is_over(&self) -> bool {
        matches!(self.stage(), Stage::Over)
    }

    fn stage(&self) -> Stage {
        let stage = usize::from(self.stage);
        let outside = Source::ALL.get(stage).map(|source| Stage::Outside(*source));
        let table = || TABLES.get(stage.saturating_sub(Source::ALL.len()));
        outside
            .or_else(|| table().map(|table| Stage::Books(table)))
            .unwrap_or(Stage::Over)
    }

    fn goes_on(&mut self, place: Option<Vec<u8>>) {
        if place.is_none() {
            self.stage = self.stage.saturating_add(1);
        }
        self.place = place;
    }

    fn cursor(&self) -> Option<Cursor> {
        let place = self.place.clone()?;
        String::from_utf8(place).ok().and_then(Cursor::new)
    }
}

/// Reads both sides and says where they differ. It changes nothing.
pub struct Reconciler {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    reconciling: Reconciling,
    secret: [u8; 32],
    /// What left the treasury by our books, as last read.
    known: Option<Known>,
}

type Reading<T> = Result<T, String>;

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Reconciler {
    /// Over a store and the lists.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        reconciling: Reconciling,
    ) -> Result<Self, super::StartError> {
        Ok(Self {
            secret: super::stored_secret(&*store).await?.unwrap_or_default(),
            store,
            clock,
            reconciling,
            known: None,
        })
    }

    /// Goes on with a walk for about a page, and returns what differs. A list that cannot be read is left out, which
    /// the walk knows.
    pub async fn step(&mut self, walk: &mut Walk) -> Vec<Found> {
        let mut found = Vec::new();
        let mut looked = 0;
        while looked < self.reconciling.pace.page {
            let read = match walk.stage() {
                Stage::Outside(source) => self.outside(source, walk, &mut found).await,
                Stage::Books(table) => self.books(table, walk, &mut found).await,
                Stage::Over => break,
            };
            looked += read.unwrap_or_else(|error| {
                tracing::warn!(error, "a list could not be read and is left out of this walk");
                walk.skipped = true;
                walk.goes_on(None);
                1
            });
        }
        if walk.is_over() && !walk.skipped {
            walk.completed_at = Some(self.clock.now());
        }
        found
    }

    /// A page of somebody's list, each held against our books; how many there were.
    async fn outside(&mut self, source: Source, walk: &mut Walk, found: &mut Vec<Found>) -> Reading<usize> {
        let (limit, cursor) = (self.reconciling.pace.page, walk.cursor());
        let lists = self.reconciling.lists.clone();
        let (looked, next) = match (source.network(), &lists.treasury, lists.providers.get(&source)) {
            (Some(network), Some(treasury), _) => {
                let page = self.within(treasury.movements(network, cursor.as_ref(), limit)).await?;
                for moved in &page.items {
                    walk.compared += 1;
                    let ours = self.ours_of(network, moved).await?;
                    let flow = flow_of(moved);
                    let seen = listed_movement(moved);
                    found.extend(self.judge((source, flow, &moved.transaction), ours.as_ref(), Some(&seen)));
                }
                (page.items.len(), page.next)
            }
            (None, _, Some(list)) => {
                let page = self.within(list.entries(cursor.as_ref(), limit)).await?;
                for entry in &page.items {
                    walk.compared += 1;
                    let ours = books::ordered(&*self.store, source, entry.key).await.map_err(told)?;
                    let (key, seen) = (entry.key.to_string(), listed_entry(entry));
                    found.extend(self.judge((source, Flow::Order, &key), ours.as_ref(), Some(&seen)));
                }
                (page.items.len(), page.next)
            }
            _ => (0, None),
        };
        walk.goes_on(next.map(|cursor| cursor.to_string().into_bytes()));
        Ok(looked)
    }

    /// A page of our books, each held against the list that should have it; how many rows there were.
    async fn books(&self, table: &[u8], walk: &mut Walk, found: &mut Vec<Found>) -> Reading<usize> {
        let after = walk.place.clone();
        let rows = self.store.scan(table, after.as_deref(), self.reconciling.pace.page);
        let rows = rows.await.map_err(told)?;
        for (key, row) in &rows {
            let ours = books::of_row(key, &row.value).map_err(told)?;
            let Some(ours) = ours.filter(|ours| self.has_list(ours.source)) else {
                continue;
            };
            walk.compared += 1;
            let theirs = self.theirs(ours.source, &ours.key).await?.map(|(listed, _)| listed);
            let named = (ours.source, ours.flow, ours.key.as_str());
            found.extend(self.judge(named, Some(&ours), theirs.as_ref()));
        }
        walk.goes_on(rows.last().map(|(key, _)| key.to_vec()));
        Ok(rows.len())
    }

    /// Holds what once differed against both sides again; `None` when it does not any more.
    ///
    /// # Errors
    /// When a side could not be read: then nothing is known.
    pub async fn look_again(&mut self, open: &Found) -> Reading<Option<Found>> {
        if !self.has_list(open.source) {
            return Err("there is no such list any more".into());
        }
        let store = self.store.clone();
        let row = books::behind(&*store, open).await.map_err(told)?;
        let (theirs, ours) = match (self.theirs(open.source, &open.key).await?, open.source.network()) {
            (Some((listed, Some(moved))), Some(network)) => (Some(listed), self.ours_of(network, &moved).await?),
            (theirs, _) => (theirs.map(|(listed, _)| listed), row),
        };
        let named = (open.source, open.flow, open.key.as_str());
        Ok(self.judge(named, ours.as_ref(), theirs.as_ref()))
    }

    fn has_list(&self, source: Source) -> bool {
        let lists = &self.reconciling.lists;
        match source.network() {
            Some(_) => lists.treasury.is_some(),
            None => lists.providers.contains_key(&source),
        }
    }

    /// What our books say of a transfer.
    async fn ours_of(&mut self, network: Network, moved: &Movement) -> Reading<Option<Ours>> {
        if moved.incoming {
            let paid = books::deposited(&*self.store, network, moved, &self.secret);
            return paid.await.map_err(told);
        }
        // Read anew only for what is not in it: it is a look at every withdrawal.
        if let Some(known) = &self.known
            && let Some(ours) = books::departed(network, moved, known)
            && ours.listed.standing == Standing::Done
        {
            return Ok(Some(ours));
        }
        let known = Known::read(&*self.store).await.map_err(told)?;
        let ours = books::departed(network, moved, &known);
        self.known = Some(known);
        Ok(ours)
    }

    /// What the other side says of something by its name there; of a transfer with all that the chain shows of it.
    async fn theirs(&self, source: Source, key: &str) -> Reading<Option<(Listed, Option<Movement>)>> {
        let lists = &self.reconciling.lists;
        match (source.network(), &lists.treasury, lists.providers.get(&source)) {
            (Some(network), Some(treasury), _) => {
                let moved = self.within(treasury.movement(network, key)).await?;
                Ok(moved.map(|moved| (listed_movement(&moved), Some(moved))))
            }
            (None, _, Some(list)) => {
                let key: EffectId = key.parse().map_err(told)?;
                let entry = self.within(list.entry(key)).await?;
                Ok(entry.map(|entry| (listed_entry(&entry), None)))
            }
            _ => Ok(None),
        }
    }

    fn judge(
        &self,
        (source, flow, key): (Source, Flow, &str),
        ours: Option<&Ours>,
        theirs: Option<&Listed>,
    ) -> Option<Found> {
        let moment = Moment {
            now: self.clock.now(),
            grace_ms: self.reconciling.pace.grace_ms,
        };
        let kind = compare(flow, ours.map(|ours| &ours.listed), theirs, moment)?;
        Some(Found {
            source,
            flow,
            key: key.to_owned(),
            subject: ours.map(|ours| ours.subject.clone()),
            kind,
            ours: ours.map(|ours| ours.listed.to_string()),
            theirs: theirs.map(Listed::to_string),
        })
    }

    async fn within<T>(&self, answer: BoxFuture<'_, Result<T, PortError>>) -> Reading<T> {
        let patience = Duration::from_millis(self.reconciling.pace.timeout_ms);
        let answered = tokio::time::timeout(patience, answer).await;
        answered.map_err(|_| "no answer in time".to_owned())?.map_err(told)
    }
}

const fn flow_of(moved: &Movement) -> Flow {
    if moved.incoming { Flow::Deposit } else { Flow::Departure }
}

const fn listed_movement(moved: &Movement) -> Listed {
    Listed {
        standing: Standing::Done,
        money: Money::Usdc(moved.amount),
        at: moved.at,
    }
}

const fn listed_entry(entry: &Entry) -> Listed {
    Listed {
        standing: entry.standing,
        money: Money::Cents(entry.amount, entry.currency),
        at: entry.at,
    }
}
