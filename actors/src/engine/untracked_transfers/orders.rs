//! After a restore: orders that balances placed with the payout rails and the bank in the lost history. No chain shows
//! them, so the providers' lists are compared with the rows. Nothing new leaves until each such order is explained.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parking_lot::Mutex;
use purser_storage::{Store, StoreError, codec};

use super::for_each;
use crate::engine::Engine;
use crate::engine::operators::corrupt;
use crate::engine::reconciler::internal_entries;
use crate::entity::incoming::Incoming;
use crate::id::{BankTransferId, JobId};
use crate::kernel::{EntityKind, table};
use crate::lost_order::{AttributedOrder, LostOrder};
use crate::port::{EntryKey, ListCursor, ProviderEntry, ProviderList, ReconciliationLists, Timestamp};
use crate::reconciliation::ReconciliationSource;

/// Providers that balances order from. Everything else is bought by payments, which identify it.
const SOURCES: [ReconciliationSource; 2] = [ReconciliationSource::Payouts, ReconciliationSource::BankTransfers];
/// Entries of a list per page.
const PAGE: usize = 500;
/// A provider's clock may be behind ours by this much, in milliseconds.
const MAX_CLOCK_LAG_MS: u64 = 3_600_000;

/// Listed orders that have no row.
pub(in crate::engine) struct LostOrders {
    lists: ReconciliationLists,
    state: Mutex<LostOrderState>,
}

#[derive(Clone, Default)]
struct LostOrderState {
    /// Position up to which each list was read.
    cursors: BTreeMap<ReconciliationSource, ListCursor>,
    open: BTreeMap<(ReconciliationSource, JobId), LostOrder>,
    /// When all lists were last read to their ends.
    read_at: Option<Timestamp>,
}

impl LostOrders {
    pub(super) fn new(lists: ReconciliationLists) -> Self {
        Self {
            lists,
            state: Mutex::default(),
        }
    }

    /// As last read, oldest first.
    pub(super) fn open(&self) -> Vec<LostOrder> {
        let mut open: Vec<LostOrder> = self.state.lock().open.values().cloned().collect();
        open.sort_by_key(|order| (order.at, order.key));
        open
    }

    /// Continues each list, and checks unknown orders again. A list that does not answer delays no other.
    pub(super) async fn read(&self, since: Timestamp, now: Timestamp, patience: Duration) -> Result<(), String> {
        let from = Timestamp(since.0.saturating_sub(MAX_CLOCK_LAG_MS));
        let mut seen = self.state.lock().clone();
        let mut silent = Vec::new();
        for source in SOURCES {
            if let Some(list) = self.lists.providers.get(&source)
                && let Err(error) = read_list(&mut seen, (source, &**list), from, patience).await
            {
                silent.push(format!("{}: {error}", source.name()));
                continue;
            }
            let own = seen.open.iter_mut().filter(|((of, _), _)| *of == source);
            for ((_, key), order) in own {
                match self.find_in(source, *key, patience).await {
                    // An order that was listed before still counts if it is not found now.
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
        *self.state.lock() = seen;
        match silent.is_empty() {
            true => Ok(()),
            false => Err(silent.join("; ")),
        }
    }

    /// Compares the listed orders with the rows. Returns whether everything is explained that the lists had when all
    /// were last read after this time.
    pub(super) async fn compare(&self, store: &dyn Store, until: Timestamp) -> Result<bool, StoreError> {
        let open: Vec<(ReconciliationSource, JobId)> = self.state.lock().open.keys().copied().collect();
        let paid_for = if open.is_empty() {
            BTreeSet::new()
        } else {
            incoming_products(store).await?
        };
        let mut known = Vec::new();
        for (source, key) in open {
            let is_paid = source == ReconciliationSource::Payouts && paid_for.contains(&key);
            if is_paid || internal_entries::from_order(store, source, key.0).await?.is_some() {
                known.push((source, key));
            }
        }
        let mut seen = self.state.lock();
        seen.open
            .retain(|name, order| order.moves_money() && !known.contains(name));
        Ok(seen.open.is_empty() && seen.read_at.is_some_and(|at| at > until))
    }

    /// The bank's return of the transfer with this key.
    pub(super) async fn bank_return(&self, key: JobId, patience: Duration) -> Result<Option<ProviderEntry>, String> {
        let Some(list) = self.lists.providers.get(&ReconciliationSource::BankDeposits) else {
            return Ok(None);
        };
        let mut after = None;
        loop {
            let page = tokio::time::timeout(patience, list.entries(after.as_ref(), PAGE)).await;
            let page = page.map_err(|_| NO_RESPONSE)?.map_err(|e| e.to_string())?;
            let own = |entry: &ProviderEntry| entry.returned_transfer == Some(BankTransferId(key.0));
            if let Some(entry) = page.items.into_iter().find(own) {
                return Ok(Some(entry));
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(None),
            }
        }
    }

    /// The current entry of the order with this key on its list.
    async fn find_in(
        &self,
        source: ReconciliationSource,
        key: JobId,
        patience: Duration,
    ) -> Result<Option<LostOrder>, String> {
        let Some(list) = self.lists.providers.get(&source) else {
            return Ok(None);
        };
        let name = EntryKey::for_order(key);
        let entry = tokio::time::timeout(patience, list.entry(&name)).await;
        let entry = entry.map_err(|_| NO_RESPONSE)?.map_err(|e| e.to_string())?;
        Ok(entry.and_then(|entry| LostOrder::from_entry(source, entry)))
    }

    /// The same, on any list.
    pub(in crate::engine) async fn find(&self, key: JobId, patience: Duration) -> Result<Option<LostOrder>, String> {
        for source in SOURCES {
            let found = self.find_in(source, key, patience).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

const NO_RESPONSE: &str = "no answer in time";

/// Adds the changes after the position up to which the list was read.
async fn read_list(
    seen: &mut LostOrderState,
    (source, list): (ReconciliationSource, &dyn ProviderList),
    from: Timestamp,
    patience: Duration,
) -> Result<(), String> {
    loop {
        let page = tokio::time::timeout(patience, list.entries(seen.cursors.get(&source), PAGE)).await;
        let page = page.map_err(|_| NO_RESPONSE)?.map_err(|e| e.to_string())?;
        let changed = page.items.into_iter().filter(|entry| entry.at >= from);
        let orders = changed.filter_map(|entry| LostOrder::from_entry(source, entry));
        seen.open.extend(orders.map(|order| ((source, order.key), order)));
        match page.next {
            Some(next) => seen.cursors.insert(source, next),
            None => return Ok(()),
        };
    }
}

/// Keys of what incoming transfers have bought, if anything. Operators decide about those.
async fn incoming_products(store: &dyn Store) -> Result<BTreeSet<JobId>, StoreError> {
    let mut names = BTreeSet::new();
    for_each(
        store,
        &[table::ENTITY, EntityKind::Incoming as u8],
        |_, incoming: Incoming| {
            names.insert(JobId(incoming.transfer.payment.product_id()));
        },
    )
    .await?;
    Ok(names)
}

impl Engine {
    /// Orders of the lost history that balances may have paid for and that are missing from the ledger, oldest first.
    pub fn lost_orders(&self) -> Vec<LostOrder> {
        self.0.outgoing_guard.lost_orders.open()
    }

    /// An order that an operator has attributed.
    pub(in crate::engine) async fn attributed_order(&self, key: JobId) -> Result<Option<AttributedOrder>, StoreError> {
        let row = self.0.store.read(&table::lost_order(key)).await?;
        row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()
    }
}
