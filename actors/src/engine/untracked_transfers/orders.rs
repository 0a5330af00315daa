//! After a restore: what balances had ordered of the payout rails and of the bank in the history that was lost. No chain shows it,
//! so that their lists are held against the rows; until each such order is explained nothing new leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parking_lot::Mutex;
use purser_storage::{Store, StoreError, codec};

use super::each;
use crate::engine::Engine;
use crate::engine::operators::corrupt;
use crate::engine::reconciler::internal_entries;
use crate::id::{BankTransferId, JobId};
use crate::incoming::Incoming;
use crate::kernel::{EntityKind, table};
use crate::lost_order::{BookedOrder, LostOrder};
use crate::port::{EntryKey, ListCursor, ProviderEntry, ProviderList, ReconciliationLists, Timestamp};
use crate::reconciliation::ReconciliationSource;

/// Of whom balances order. Everything else is bought by payments, and known by them.
const SOURCES: [ReconciliationSource; 2] = [ReconciliationSource::Payouts, ReconciliationSource::BankTransfers];
/// Entries of a list at once.
const PAGE: usize = 500;
/// By how much a provider's clock may be behind ours, in milliseconds.
const BEHIND_MS: u64 = 3_600_000;

/// What the lists show that no row of ours knows.
pub(in crate::engine) struct LostOrders {
    lists: ReconciliationLists,
    seen: Mutex<Seen>,
}

#[derive(Clone, Default)]
struct Seen {
    /// Up to where each list was read.
    places: BTreeMap<ReconciliationSource, ListCursor>,
    open: BTreeMap<(ReconciliationSource, JobId), LostOrder>,
    /// When all of them were last read to their ends.
    read_at: Option<Timestamp>,
}

impl LostOrders {
    pub(super) fn new(lists: ReconciliationLists) -> Self {
        Self {
            lists,
            seen: Mutex::default(),
        }
    }

    /// As last read, the oldest first.
    pub(super) fn open(&self) -> Vec<LostOrder> {
        let mut open: Vec<LostOrder> = self.seen.lock().open.values().cloned().collect();
        open.sort_by_key(|order| (order.at, order.key));
        open
    }

    /// Reads on in each list, and asks again after what was unknown. A list that does not answer keeps no other from being read.
    pub(super) async fn read(&self, since: Timestamp, now: Timestamp, patience: Duration) -> Result<(), String> {
        let from = Timestamp(since.0.saturating_sub(BEHIND_MS));
        let mut seen = self.seen.lock().clone();
        let mut silent = Vec::new();
        for source in SOURCES {
            if let Some(list) = self.lists.providers.get(&source)
                && let Err(error) = read_on(&mut seen, (source, &**list), from, patience).await
            {
                silent.push(format!("{}: {error}", source.name()));
                continue;
            }
            let own = seen.open.iter_mut().filter(|((of, _), _)| *of == source);
            for ((_, key), order) in own {
                match self.asked(source, *key, patience).await {
                    // What was listed once is not gone because it is not found now.
                    Ok(now) => *order = now.unwrap_or_else(|| order.clone()),
                    Err(error) => {
                        silent.push(format!("{}: {error}", source.name()));
                        break;
                    }
                }
            }
        }
        if silent.is_empty() {
            seen.read_at = Some(now);
        }
        *self.seen.lock() = seen;
        match silent.is_empty() {
            true => Ok(()),
            false => Err(silent.join("; ")),
        }
    }

    /// Holds what the lists showed against the rows. Returns whether all is explained that they had when all of them were last read,
    /// after this time.
    pub(super) async fn compare(&self, store: &dyn Store, until: Timestamp) -> Result<bool, StoreError> {
        let open: Vec<(ReconciliationSource, JobId)> = self.seen.lock().open.keys().copied().collect();
        let paid_for = if open.is_empty() {
            BTreeSet::new()
        } else {
            products(store).await?
        };
        let mut known = Vec::new();
        for (source, key) in open {
            let is_paid = source == ReconciliationSource::Payouts && paid_for.contains(&key);
            if is_paid || internal_entries::ordered(store, source, key.0).await?.is_some() {
                known.push((source, key));
            }
        }
        let mut seen = self.seen.lock();
        seen.open.retain(|name, order| order.moves() && !known.contains(name));
        Ok(seen.open.is_empty() && seen.read_at.is_some_and(|at| at > until))
    }

    /// What the bank gave back of a transfer of this key.
    pub(super) async fn given_back(&self, key: JobId, patience: Duration) -> Result<Option<ProviderEntry>, String> {
        let Some(list) = self.lists.providers.get(&ReconciliationSource::BankDeposits) else {
            return Ok(None);
        };
        let mut after = None;
        loop {
            let page = tokio::time::timeout(patience, list.entries(after.as_ref(), PAGE)).await;
            let page = page.map_err(|_| LATE)?.map_err(|e| e.to_string())?;
            let own = |entry: &ProviderEntry| entry.returns == Some(BankTransferId(key.0));
            if let Some(entry) = page.items.into_iter().find(own) {
                return Ok(Some(entry));
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(None),
            }
        }
    }

    /// The order of this key, as its list has it now.
    async fn asked(
        &self,
        source: ReconciliationSource,
        key: JobId,
        patience: Duration,
    ) -> Result<Option<LostOrder>, String> {
        let Some(list) = self.lists.providers.get(&source) else {
            return Ok(None);
        };
        let name = EntryKey::of(key);
        let entry = tokio::time::timeout(patience, list.entry(&name)).await;
        let entry = entry.map_err(|_| LATE)?.map_err(|e| e.to_string())?;
        Ok(entry.and_then(|entry| LostOrder::listed(source, entry)))
    }

    /// The same, whoever's list has it.
    pub(in crate::engine) async fn find(&self, key: JobId, patience: Duration) -> Result<Option<LostOrder>, String> {
        for source in SOURCES {
            let found = self.asked(source, key, patience).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

const LATE: &str = "no answer in time";

/// Adds what changed since the place up to which it was read.
async fn read_on(
    seen: &mut Seen,
    (source, list): (ReconciliationSource, &dyn ProviderList),
    from: Timestamp,
    patience: Duration,
) -> Result<(), String> {
    loop {
        let page = tokio::time::timeout(patience, list.entries(seen.places.get(&source), PAGE)).await;
        let page = page.map_err(|_| LATE)?.map_err(|e| e.to_string())?;
        let changed = page.items.into_iter().filter(|entry| entry.at >= from);
        let orders = changed.filter_map(|entry| LostOrder::listed(source, entry));
        seen.open.extend(orders.map(|order| ((source, order.key), order)));
        match page.next {
            Some(next) => seen.places.insert(source, next),
            None => return Ok(()),
        };
    }
}

/// The names of what incoming transfers have bought, if they bought anything: those are an operator's to decide about.
async fn products(store: &dyn Store) -> Result<BTreeSet<JobId>, StoreError> {
    let mut names = BTreeSet::new();
    each(
        store,
        &[table::ENTITY, EntityKind::Incoming as u8],
        |_, incoming: Incoming| {
            names.insert(JobId(incoming.transfer.payment.product()));
        },
    )
    .await?;
    Ok(names)
}

impl Engine {
    /// Orders of the lost history that balances may have paid for and no book knows, the oldest first.
    pub fn unexplained_orders(&self) -> Vec<LostOrder> {
        self.0.departures.orders.open()
    }

    /// An order that an operator has booked.
    pub(in crate::engine) async fn booked_order(&self, key: JobId) -> Result<Option<BookedOrder>, StoreError> {
        let row = self.0.store.read(&table::lost_order(key)).await?;
        row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()
    }
}
