//! Fake reconciliation lists of providers and chains.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use purser_actors::currency::Currency;
use purser_actors::engine::{ReconcilerDeps, ReconcilerSettings};
use purser_actors::id::{BankTransferId, JobId, Network};
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, ChainMovement, EntryKey, ErrorKind, Finality, ListCursor, ListPage, PortError, ProviderEntry,
    ProviderList, ReconciliationLists, Timestamp, TreasuryList,
};
use purser_actors::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

use super::EXPECTED_PANIC;

/// Fault of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFault {
    /// Does not answer.
    NoResponse,
    /// The reader panics.
    Panic,
}

#[derive(Default)]
struct ListedItem {
    entries: BTreeMap<(ReconciliationSource, EntryKey), ProviderEntry>,
    movements: BTreeMap<String, ChainMovement>,
    fault: Option<ReadFault>,
    /// Whether listed chain transfers are not final.
    unconfirmed: bool,
    /// Number of finality queries.
    finality_calls: u64,
    /// Source whose list accepts queries and never answers.
    hanging: Option<ReconciliationSource>,
    /// Number of queries that were never answered.
    unanswered: u64,
}

/// A provider's list entry.
pub(crate) fn entry(name: impl ToString, status: EntryStatus, money: EntryAmount) -> ProviderEntry {
    ProviderEntry {
        name: EntryKey::new(name.to_string()).unwrap(),
        product: "card".into(),
        amount: money,
        returned_transfer: None,
        terms: None,
        status,
        at: Timestamp(0),
    }
}

/// An amount in whole US dollars.
pub(crate) fn dollars(cents: u64) -> EntryAmount {
    EntryAmount::Cents(Cents::new(cents), Currency::USD)
}

/// One of the lists.
struct FakeList(Arc<FakeLists>, ReconciliationSource);

/// The list of every provider, and one of both chains.
#[derive(Default)]
pub(crate) struct FakeLists(Mutex<ListedItem>);

impl FakeLists {
    /// Short reconciliation intervals without a grace period.
    pub(crate) fn reconciling(self: &Arc<Self>) -> ReconcilerDeps {
        let list = |source| -> Arc<dyn ProviderList> { Arc::new(FakeList(self.clone(), source)) };
        let providers = ReconciliationSource::ALL
            .into_iter()
            .filter(|source| source.network().is_none());
        ReconcilerDeps {
            lists: ReconciliationLists {
                treasury: Some(self.clone()),
                providers: providers.map(|source| (source, list(source))).collect(),
            },
            settings: ReconcilerSettings {
                pause_ms: 1,
                rest_ms: 1,
                page: 2,
                grace_ms: 0,
                timeout_ms: 60_000,
            },
        }
    }

    /// Adds a card order.
    pub(crate) fn add_order(&self, key: u128, status: EntryStatus, cents: u64) {
        self.put(ReconciliationSource::Cards, entry(JobId(key), status, dollars(cents)));
    }

    pub(crate) fn remove_order(&self, key: u128) {
        self.take(ReconciliationSource::Cards, JobId(key));
    }

    /// Adds an entry to any list.
    pub(crate) fn put(&self, source: ReconciliationSource, entry: ProviderEntry) {
        let named = (source, entry.name.clone());
        self.0.lock().unwrap().entries.insert(named, entry);
    }

    /// Adds a return by the bank.
    pub(crate) fn put_returned(&self, of: BankTransferId, entry: ProviderEntry) {
        let returns = Some(of);
        self.put(
            ReconciliationSource::BankDeposits,
            ProviderEntry {
                returned_transfer: returns,
                ..entry
            },
        );
    }

    pub(crate) fn take(&self, source: ReconciliationSource, name: impl ToString) {
        let named = (source, EntryKey::new(name.to_string()).unwrap());
        self.0.lock().unwrap().entries.remove(&named);
    }

    pub(crate) fn show(&self, moved: ChainMovement) {
        self.0.lock().unwrap().movements.insert(moved.key(), moved);
    }

    pub(crate) fn hide(&self, transaction: &str) {
        self.0.lock().unwrap().movements.remove(transaction);
    }

    /// Sets whether listed chain transfers are final.
    pub(crate) fn set_unconfirmed(&self, seen: bool) {
        self.0.lock().unwrap().unconfirmed = seen;
    }

    /// Number of finality queries.
    pub(crate) fn finality_calls(&self) -> u64 {
        self.0.lock().unwrap().finality_calls
    }

    pub(crate) fn set_fault(&self, trouble: Option<ReadFault>) {
        self.0.lock().unwrap().fault = trouble;
    }

    /// Sets the list that accepts queries and never answers; `None` makes all answer.
    pub(crate) fn set_hanging(&self, source: Option<ReconciliationSource>) {
        self.0.lock().unwrap().hanging = source;
    }

    /// Number of queries that were never answered.
    pub(crate) fn unanswered(&self) -> u64 {
        self.0.lock().unwrap().unanswered
    }

    /// Waits forever if this list hangs.
    async fn wait_if_hanging(&self, source: ReconciliationSource) {
        let hangs = {
            let mut written = self.0.lock().unwrap();
            let hangs = written.hanging == Some(source);
            written.unanswered += u64::from(hangs);
            hangs
        };
        if hangs {
            std::future::pending::<()>().await;
        }
    }

    fn read<T>(&self, look: impl FnOnce(&ListedItem) -> T) -> Result<T, PortError> {
        let trouble = self.0.lock().unwrap().fault;
        match trouble {
            Some(ReadFault::Panic) => std::panic::panic_any(EXPECTED_PANIC.to_owned()),
            Some(ReadFault::NoResponse) => Err(PortError {
                kind: ErrorKind::Temporary,
                operation: "list",
                message: "no answer".into(),
            }),
            None => Ok(look(&self.0.lock().unwrap())),
        }
    }
}

fn page<T: Clone>(all: &[T], after: Option<&ListCursor>, limit: usize) -> ListPage<T> {
    let from = after.map_or(0, |cursor| cursor.number().unwrap());
    let items: Vec<T> = all.iter().skip(from as usize).take(limit).cloned().collect();
    let next = (!items.is_empty()).then(|| ListCursor::from_number(from + items.len() as u64));
    ListPage { items, next }
}

impl ProviderList for FakeList {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ProviderEntry>, PortError>> {
        let all = self.0.read(|written| {
            let own = written.entries.iter().filter(|((source, _), _)| *source == self.1);
            own.map(|(_, entry)| entry.clone()).collect::<Vec<_>>()
        });
        Box::pin(async move {
            self.0.wait_if_hanging(self.1).await;
            Ok(page(&all?, after, limit))
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>> {
        let one = self
            .0
            .read(|written| written.entries.get(&(self.1, name.clone())).cloned());
        Box::pin(async move {
            self.0.wait_if_hanging(self.1).await;
            one
        })
    }
}

impl TreasuryList for FakeLists {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ChainMovement>, PortError>> {
        let all = self.read(|written| {
            let there = written
                .movements
                .values()
                .filter(|moved| moved.counterparty.network() == network);
            there.cloned().collect::<Vec<_>>()
        });
        Box::pin(std::future::ready(all.map(|all| page(&all, after, limit))))
    }

    fn in_transaction<'a>(
        &'a self,
        network: Network,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ChainMovement>, PortError>> {
        let all = self.read(|written| {
            let there = written
                .movements
                .values()
                .filter(|moved| moved.counterparty.network() == network);
            let in_it = there.filter(|moved| moved.transaction == transaction);
            in_it.cloned().collect::<Vec<_>>()
        });
        Box::pin(std::future::ready(all))
    }

    fn movement_finality<'a>(
        &'a self,
        _: Network,
        moved: &'a ChainMovement,
    ) -> BoxFuture<'a, Result<Finality, PortError>> {
        self.0.lock().unwrap().finality_calls += 1;
        let finality = self.read(|written| {
            let there = written.movements.values().any(|one| one == moved);
            match there && !written.unconfirmed {
                true => Finality::Final,
                false => Finality::Confirmed,
            }
        });
        Box::pin(std::future::ready(finality))
    }
}
