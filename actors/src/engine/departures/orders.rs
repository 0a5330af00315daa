//! After a restore: what balances had ordered of the payout rails and of the bank in the history that was lost. No chain shows it,
//! so that their lists are held against the rows; until each such order is explained nothing new leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parking_lot::Mutex;
use purser_storage::{Store, StoreError, codec};

use super::each;
use crate::engine::Engine;
use crate::engine::operating::damaged;
use crate::engine::reconciling::books;
use crate::id::EffectId;
use crate::incoming::Incoming;
use crate::kernel::{Kind, table};
use crate::lost_order::{BookedOrder, LostOrder};
use crate::port::{Cursor, EntryName, Lists, ProviderList, Timestamp};
use crate::reconcile::Source;

/// Of whom balances order. Everything else is bought by payments, and known by them.
const SOURCES: [Source; 2] = [Source::Payouts, Source::Bank];
/// Entries of a list at once.
const PAGE: usize = 500;
/// By how much a provider's clock may be behind ours, in milliseconds.
const BEHIND_MS: u64 = 3_600_000;

/// What the lists show that no row of ours knows.
pub(in crate::engine) struct LostOrders {
    lists: Lists,
    seen: Mutex<Seen>,
}

#[derive(Clone, Default)]
struct Seen {
    /// Up to where each list was read.
    places: BTreeMap<Source, Cursor>,
    open: BTreeMap<(Source, EffectId), LostOrder>,
}

impl LostOrders {
    pub(super) fn new(lists: Lists) -> Self {
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

    /// Reads on in each list, and holds what was unknown against the rows and its list again. Returns whether all is explained.
    pub(super) async fn compare(
        &self,
        store: &dyn Store,
        since: Timestamp,
        patience: Duration,
    ) -> Result<bool, String> {
        let from = Timestamp(since.0.saturating_sub(BEHIND_MS));
        let mut seen = self.seen.lock().clone();
        for source in SOURCES {
            if let Some(list) = self.lists.providers.get(&source) {
                read_on(&mut seen, (source, &**list), from, patience).await?;
            }
        }
        let mut open = BTreeMap::new();
        let paid_for = products(store).await.map_err(|e| e.to_string())?;
        for (source, key) in std::mem::take(&mut seen.open).into_keys() {
            let known = books::ordered(store, source, key.0).await.map_err(|e| e.to_string())?;
            if known.is_some() || source == Source::Payouts && paid_for.contains(&key) {
                continue;
            }
            let now = self.asked(source, key, patience).await?;
            open.extend(now.filter(LostOrder::moves).map(|now| ((source, key), now)));
        }
        seen.open = open;
        let all = seen.open.is_empty();
        *self.seen.lock() = seen;
        Ok(all)
    }

    /// The order of this key, as its list has it now.
    async fn asked(&self, source: Source, key: EffectId, patience: Duration) -> Result<Option<LostOrder>, String> {
        let Some(list) = self.lists.providers.get(&source) else {
            return Ok(None);
        };
        let name = EntryName::of(key);
        let entry = tokio::time::timeout(patience, list.entry(&name)).await;
        let entry = entry.map_err(|_| late(source))?.map_err(|e| e.to_string())?;
        Ok(entry.and_then(|entry| LostOrder::listed(source, entry)))
    }

    /// The same, whoever's list has it.
    pub(in crate::engine) async fn find(&self, key: EffectId, patience: Duration) -> Result<Option<LostOrder>, String> {
        for source in SOURCES {
            let found = self.asked(source, key, patience).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

fn late(source: Source) -> String {
    format!("{}: no answer in time", source.name())
}

/// Adds what changed since the place up to which it was read.
async fn read_on(
    seen: &mut Seen,
    (source, list): (Source, &dyn ProviderList),
    from: Timestamp,
    patience: Duration,
) -> Result<(), String> {
    loop {
        let page = tokio::time::timeout(patience, list.entries(seen.places.get(&source), PAGE)).await;
        let page = page.map_err(|_| late(source))?.map_err(|e| e.to_string())?;
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
async fn products(store: &dyn Store) -> Result<BTreeSet<EffectId>, StoreError> {
    let mut names = BTreeSet::new();
    each(
        store,
        &[table::ENTITY, Kind::Incoming as u8],
        |_, incoming: Incoming| {
            names.insert(EffectId(incoming.transfer.payment.product()));
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
    pub(in crate::engine) async fn booked_order(&self, key: EffectId) -> Result<Option<BookedOrder>, StoreError> {
        let row = self.0.store.read(&table::lost_order(key)).await?;
        row.map(|row| codec::decode(&row.value).map_err(damaged)).transpose()
    }
}
