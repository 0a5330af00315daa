//! The follower: reads the transactions of the treasury's token account into durable rows.
//!
//! A transaction listed by one endpoint counts as seen. It has its own row, which a fork can remove. It gets a number,
//! and its transfers get positions, once it is final: lists only ever grow. With several endpoints, a second one is
//! scanned too. A transaction is final if both list it with the same transfers and no earlier transaction is listed by
//! only one of them.

mod persisting;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;

use futures_util::StreamExt as _;
use futures_util::stream;
use purser_actors::port::{PortError, Timestamp};
use purser_chains::solana::Signature;
use purser_chains::solana::cross_check::Agreement;
use purser_chains::solana::follow::{Change, Follower, Listing, Reading};
use purser_chains::solana::node::NodeError;

use super::SolanaSettlement;
use super::rows::{CursorRow, MovementRow};
use crate::errors::temporary;

/// Maximum number of changes in one write.
const CHUNK: usize = 50;
/// Maximum number of transactions read concurrently.
const CONCURRENT_READS: usize = 8;
/// Longest time for which a failing endpoint is not scanned, in milliseconds.
const MAX_BACKOFF_MS: u64 = 5_000;
/// A read covers the present if the final slot has advanced within this time, in milliseconds.
const FRESH_MS: u64 = 10_000;

/// The follower's state. It is read from the rows again after a failed write.
#[derive(Debug, Default)]
pub(super) struct FollowerState {
    position: Option<FollowPosition>,
    /// Endpoints in the order in which they are scanned.
    order: Vec<usize>,
    /// For each failing endpoint: until when it is not scanned, and its number of failures.
    backoffs: HashMap<usize, (u64, u32)>,
}

impl FollowerState {
    /// The endpoint that is currently read first.
    pub(super) fn endpoint(&self) -> usize {
        self.order.first().copied().unwrap_or(0)
    }

    /// Endpoints to scan now, in this order; never empty.
    fn candidates(&mut self, endpoints: usize, now_ms: u64) -> Vec<usize> {
        if self.order.is_empty() {
            self.order = (0..endpoints).collect();
        }
        let rests = |endpoint: &usize| self.backoffs.get(endpoint).is_some_and(|(until, _)| now_ms < *until);
        let awake: Vec<usize> = self.order.iter().copied().filter(|endpoint| !rests(endpoint)).collect();
        match awake.is_empty() {
            true => self.order.clone(),
            false => awake,
        }
    }

    fn prefer(&mut self, endpoints: &[usize]) {
        let (mut first, rest): (Vec<usize>, Vec<usize>) = self
            .order
            .iter()
            .copied()
            .partition(|endpoint| endpoints.contains(endpoint));
        first.extend(rest);
        self.order = first;
    }

    fn record_failure(&mut self, endpoint: usize, pace_ms: u64, now_ms: u64) {
        let (until, times) = self.backoffs.entry(endpoint).or_default();
        let rest_ms = pace_ms
            .checked_shl(*times)
            .unwrap_or(MAX_BACKOFF_MS)
            .min(MAX_BACKOFF_MS);
        (*until, *times) = (now_ms.saturating_add(rest_ms), times.saturating_add(1).min(16));
        let others: Vec<usize> = self.order.iter().copied().filter(|other| *other != endpoint).collect();
        self.prefer(&others);
    }
}

#[derive(Debug)]
struct FollowPosition {
    follower: Follower,
    cursor: CursorRow,
    revision: u64,
    /// Numbers of the final transactions with which the next read is compared.
    numbers: HashMap<Signature, u64>,
}

/// Listings, and the endpoint of each.
#[derive(Default)]
struct Listings {
    endpoints: Vec<usize>,
    listings: Vec<Listing>,
}

impl Listings {
    /// Endpoints whose listings agree.
    fn agreeing_endpoints(&self, agreement: &Agreement) -> Vec<usize> {
        let endpoints = agreement.by.iter().filter_map(|position| self.endpoints.get(*position));
        endpoints.copied().collect()
    }

    /// The first endpoint that lists each new transaction.
    fn listers(&self, changes: &[Change]) -> HashMap<Signature, Lister> {
        let new: HashSet<Signature> = changes
            .iter()
            .filter_map(|change| match change {
                Change::New(row) | Change::Updated { to: row, .. } => Some(row.id),
                Change::Final(_) | Change::Reorged(_) => None,
            })
            .collect();
        let mut listers = HashMap::new();
        if new.is_empty() {
            return listers;
        }
        for (endpoint, listing) in self.endpoints.iter().zip(&self.listings) {
            let context_slot = listing.history.finalized_slot;
            let lister = Lister {
                endpoint: *endpoint,
                context_slot,
            };
            for entry in listing.entries.iter().filter(|entry| new.contains(&entry.id)) {
                listers.entry(entry.id).or_insert(lister);
            }
        }
        listers
    }
}

/// An endpoint that lists a transaction.
#[derive(Clone, Copy)]
struct Lister {
    endpoint: usize,
    context_slot: u64,
}

/// Written with the last changes of a part.
#[derive(Clone, Copy)]
enum Coverage {
    /// More of the part follows.
    Partial,
    /// The final slot has advanced.
    Slot,
    /// Everything that the chain had at this time was read.
    Present(Timestamp),
}

impl SolanaSettlement {
    /// Reads up to the present, for a list that must contain all final transactions.
    ///
    /// # Errors
    /// `Temporary` when the endpoints fail or disagree.
    pub async fn catch_up(&self) -> Result<(), PortError> {
        self.follow().await.map_err(|error| temporary("catch up", error))
    }

    /// Reads new transactions. An endpoint that fails or contradicts known rows is not scanned for a while.
    pub(super) async fn follow(&self) -> Result<(), String> {
        let mut following = self.follower.lock().await;
        let followed = self.follow_from(&mut following).await;
        self.watch_progress(followed.as_ref().err().map(String::as_str));
        followed
    }

    async fn follow_from(&self, following: &mut FollowerState) -> Result<(), String> {
        let (began, now_ms) = (self.clock.now(), self.timer.now_ms());
        let candidates = following.candidates(self.node.endpoints(), now_ms);
        let mut at = match following.position.take() {
            Some(at) => at,
            None => self.resume().await?,
        };
        let (mut listed, mut agreement, mut failure) = (Listings::default(), Agreement::default(), None);
        for endpoint in candidates {
            let listing = match self.list(&at.follower, endpoint).await {
                Ok(listing) => listing,
                Err(error) => {
                    following.record_failure(endpoint, self.pace.follow_ms, self.timer.now_ms());
                    self.alarms.follower_failures.fetch_add(1, Ordering::Relaxed);
                    failure = Some(error);
                    continue;
                }
            };
            following.backoffs.remove(&endpoint);
            listed.endpoints.push(endpoint);
            listed.listings.push(listing);
            if !self.is_cross_checking() {
                agreement = Agreement::alone(&listed.listings[0]);
                break;
            }
            agreement = Agreement::from_listings(&at.follower, &listed.listings);
            if listed.listings.len() == 1 {
                // Seen by one endpoint: this does not wait for the second one.
                let nothing = (&agreement, &HashMap::new());
                self.take(&mut at, &listed, nothing, Coverage::Partial).await?;
            } else if agreement.is_enough(&at.follower, &listed.listings) {
                break;
            }
        }
        self.compared(&agreement, &listed.endpoints);
        let advanced = match agreement.by.is_empty() {
            true => Err(failure.unwrap_or_else(|| "one endpoint alone can be read: nothing becomes final".to_owned())),
            false => {
                following.prefer(&listed.agreeing_endpoints(&agreement));
                self.advance(&mut at, &listed, &agreement, began).await?
            }
        };
        following.position = Some(at);
        advanced
    }

    /// Scans one endpoint.
    async fn list(&self, follower: &Follower, endpoint: usize) -> Result<Listing, String> {
        let to_text = |error: NodeError| error.to_string();
        let mut follower = follower.clone();
        let history = self.history_of(endpoint).await?;
        self.record_claim(endpoint, history.finalized_slot, Some(history.finalized_slot));
        let mut request = follower.start(history).map_err(|e| e.to_string())?;
        loop {
            let page = self.node.signatures_on(endpoint, &self.treasury_account, request).await;
            match follower.read(&page.map_err(to_text)?).map_err(|e| e.to_string())? {
                Reading::More(next) => request = next,
                Reading::Done(listing) => return Ok(listing),
            }
        }
    }

    /// Finalizes the transactions on which endpoints agree, oldest first, as far as they show the same transfers. The
    /// inner error is the reason for stopping; the outer error means that rows could not be written.
    async fn advance(
        &self,
        at: &mut FollowPosition,
        listed: &Listings,
        agreement: &Agreement,
        began: Timestamp,
    ) -> Result<Result<(), String>, String> {
        let mut endpoints = listed.agreeing_endpoints(agreement);
        let agreeing: HashSet<usize> = endpoints.iter().copied().collect();
        endpoints.extend((0..self.node.endpoints()).filter(|endpoint| !agreeing.contains(endpoint)));
        let is_fresh = !self.is_cross_checking() || self.has_advanced_since(agreement.slot, FRESH_MS);
        loop {
            let mut part = agreement.first(&at.follower, CHUNK);
            let whole = part.slot == agreement.slot;
            let (rows, asked) = (stream::iter(part.finals.clone()), &endpoints);
            let read = rows.map(|row| async move { (row, self.read_final(row, asked).await) });
            let read: Vec<_> = read.buffered(CONCURRENT_READS).collect().await;
            let (mut moved, mut stopped) = (HashMap::new(), None);
            for (row, shown) in read {
                match shown {
                    Ok(shown) => drop(moved.insert(row.id, shown)),
                    Err(error) => {
                        part.end_before(row.slot);
                        stopped = Some(error);
                        break;
                    }
                }
            }
            let present = stopped.is_none() && whole && agreement.is_whole() && is_fresh;
            let covers = if present {
                Coverage::Present(began)
            } else {
                Coverage::Slot
            };
            self.take(at, listed, (&part, &moved), covers).await?;
            self.reached(at.cursor.covered_slot);
            match stopped {
                Some(error) => return Ok(Err(error)),
                None if whole => return Ok(Ok(())),
                None => {}
            }
        }
    }

    /// Writes the changes of the listings, with the transfers of final transactions.
    async fn take(
        &self,
        at: &mut FollowPosition,
        listed: &Listings,
        (agreement, moved): (&Agreement, &HashMap<Signature, Vec<MovementRow>>),
        covers: Coverage,
    ) -> Result<(), String> {
        let changes = at.follower.take(&listed.listings, agreement);
        let listers = listed.listers(&changes);
        let by = listed.agreeing_endpoints(agreement);
        let mut rest: VecDeque<Change> = changes.into();
        loop {
            let chunk: Vec<Change> = rest.drain(..rest.len().min(CHUNK)).collect();
            let covers = if rest.is_empty() { covers } else { Coverage::Partial };
            if !chunk.is_empty() || !matches!(covers, Coverage::Partial) {
                self.persist(at, &chunk, (&listers, moved), covers).await?;
            }
            self.notify_in_flight(&chunk, (&listers, &by));
            if rest.is_empty() {
                break;
            }
        }
        let mut followed = self.treasury_history.lock();
        for (endpoint, listing) in listed.endpoints.iter().zip(&listed.listings) {
            followed.record_listing(*endpoint, &listing.entries);
        }
        Ok(())
    }
}
