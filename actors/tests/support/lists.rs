//! Others' lists, in the test's hands.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use purser_actors::engine::{Pace, Reconciling};
use purser_actors::id::{EffectId, Network};
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, Cursor, Entry, ErrorKind, Lists, Movement, Page, PortError, ProviderList, Timestamp, TreasuryList,
};
use purser_actors::product::Currency;
use purser_actors::reconcile::{Source, Standing};

use super::EXPECTED_PANIC;

/// What goes wrong with a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nobody answers.
    Silent,
    /// The reader dies.
    Deadly,
}

#[derive(Default)]
struct Written {
    entries: BTreeMap<u128, Entry>,
    moved: BTreeMap<String, Movement>,
    trouble: Option<Trouble>,
}

/// One list of cards and one of both chains.
#[derive(Default)]
pub(crate) struct TestLists(Mutex<Written>);

impl TestLists {
    /// Walked through quickly, without any time of grace.
    pub(crate) fn reconciling(self: &Arc<Self>) -> Reconciling {
        let list: Arc<dyn ProviderList> = self.clone();
        Reconciling {
            lists: Lists {
                treasury: Some(self.clone()),
                providers: BTreeMap::from([(Source::Cards, list)]),
            },
            pace: Pace {
                pause_ms: 1,
                rest_ms: 1,
                page: 2,
                grace_ms: 0,
                timeout_ms: 60_000,
            },
        }
    }

    pub(crate) fn enter(&self, key: u128, standing: Standing, cents: u64) {
        let entry = Entry {
            key: EffectId(key),
            product: "card".into(),
            amount: Cents::new(cents),
            currency: Currency::USD,
            standing,
            at: Timestamp(0),
        };
        self.0.lock().unwrap().entries.insert(key, entry);
    }

    pub(crate) fn strike(&self, key: u128) {
        self.0.lock().unwrap().entries.remove(&key);
    }

    pub(crate) fn show(&self, moved: Movement) {
        self.0.lock().unwrap().moved.insert(moved.transaction.clone(), moved);
    }

    pub(crate) fn hide(&self, transaction: &str) {
        self.0.lock().unwrap().moved.remove(transaction);
    }

    pub(crate) fn trouble(&self, trouble: Option<Trouble>) {
        self.0.lock().unwrap().trouble = trouble;
    }

    fn read<T>(&self, look: impl FnOnce(&Written) -> T) -> Result<T, PortError> {
        let trouble = self.0.lock().unwrap().trouble;
        match trouble {
            Some(Trouble::Deadly) => std::panic::panic_any(EXPECTED_PANIC.to_owned()),
            Some(Trouble::Silent) => Err(PortError {
                kind: ErrorKind::Temporary,
                operation: "list",
                message: "nobody answers".into(),
            }),
            None => Ok(look(&self.0.lock().unwrap())),
        }
    }
}

fn page<T: Clone>(all: &[T], after: Option<&Cursor>, limit: usize) -> Page<T> {
    let from = after.map_or(0, |cursor| cursor.number().unwrap());
    let items: Vec<T> = all.iter().skip(from as usize).take(limit).cloned().collect();
    let next = (!items.is_empty()).then(|| Cursor::of_number(from + items.len() as u64));
    Page { items, next }
}

impl ProviderList for TestLists {
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>> {
        let all = self.read(|written| written.entries.values().cloned().collect::<Vec<_>>());
        Box::pin(std::future::ready(all.map(|all| page(&all, after, limit))))
    }

    fn entry(&self, key: EffectId) -> BoxFuture<'_, Result<Option<Entry>, PortError>> {
        let one = self.read(|written| written.entries.get(&key.0).cloned());
        Box::pin(std::future::ready(one))
    }
}

impl TreasuryList for TestLists {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a Cursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Page<Movement>, PortError>> {
        let all = self.read(|written| {
            let there = written.moved.values().filter(|moved| moved.other.network() == network);
            there.cloned().collect::<Vec<_>>()
        });
        Box::pin(std::future::ready(all.map(|all| page(&all, after, limit))))
    }

    fn movement<'a>(&'a self, _: Network, transaction: &'a str) -> BoxFuture<'a, Result<Option<Movement>, PortError>> {
        let one = self.read(|written| written.moved.get(transaction).cloned());
        Box::pin(std::future::ready(one))
    }
}
