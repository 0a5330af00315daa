//! At rest, reconciliation compares the ledger with the lists of chains and providers. The only discrepancies left are
//! dead letters that an operator must decide.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purser::verify::ChainTransfer;
use purser_actors::currency::Currency;
use purser_actors::engine::{Reconciler, ReconcilerDeps, ReconcilerSettings, ReconciliationCursor};
use purser_actors::entity::banking::transfer::BankTransfer;
use purser_actors::entity::discrepancy::DiscrepancyDetails;
use purser_actors::id::{JobId, Network};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::banking::IncomingTransfer;
use purser_actors::port::{
    BoxFuture, ChainMovement, EntryKey, Finality, ListCursor, ListPage, PortError, ProviderEntry, ProviderList,
    ReconciliationLists, Timestamp, TreasuryList,
};
use purser_actors::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};
use purser_storage::Store;
use purser_storage::codec;

use crate::account_steps::durable;
use crate::environment::Environment;
use crate::own_purchases;
use crate::providers::{Order, ProductKey};
use crate::seller::WALLET_PAYMENT;
use crate::withdrawals::FIRST_OUTGOING;

struct ChainTransfers(Arc<Environment>);

fn chain_movement(transfer: &ChainTransfer, incoming: bool, fingerprint: [u8; 32]) -> ChainMovement {
    ChainMovement {
        transaction: transfer.transaction.clone(),
        index: transfer.index,
        incoming,
        counterparty: if incoming { transfer.from } else { transfer.to },
        amount: Usdc::from_atomic(transfer.atomic),
        at: Environment::stamp(transfer.at_ms),
        fingerprint,
    }
}

impl ChainTransfers {
    fn all(&self, network: Network) -> Vec<ChainMovement> {
        let now = self.0.true_ms();
        let mut all = Vec::new();
        {
            let mut ledger = self.0.chain.lock();
            ledger.settle(now);
            // What leaves managed wallets is not the treasury's.
            let treasury = ledger
                .in_order()
                .filter(|(n, _)| *n < WALLET_PAYMENT || own_purchases::is_own(*n));
            for (n, transfer) in treasury.filter(|(_, t)| t.from.network() == network) {
                let mark = ledger.mark(n);
                all.push(chain_movement(
                    transfer,
                    n < FIRST_OUTGOING || own_purchases::is_own(n),
                    mark,
                ));
            }
        }
        let bridge = self.0.bridge.lock();
        let burned = bridge
            .outgoing_transfers(now)
            .filter(|burn| burn.from.network() == network);
        all.extend(burned.map(|burn| chain_movement(&burn, false, [0; 32])));
        all
    }
}

fn page<T: Clone>(all: &[T], after: Option<&ListCursor>, limit: usize) -> ListPage<T> {
    let from = after.map_or(0, |cursor| cursor.number().unwrap());
    let items: Vec<T> = all.iter().skip(from as usize).take(limit).cloned().collect();
    let next = (!items.is_empty()).then(|| ListCursor::from_number(from + items.len() as u64));
    ListPage { items, next }
}

impl TreasuryList for ChainTransfers {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ChainMovement>, PortError>> {
        let page = page(&self.all(network), after, limit);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn in_transaction<'a>(
        &'a self,
        network: Network,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ChainMovement>, PortError>> {
        let mut all = self.all(network);
        all.retain(|moved| moved.transaction == transaction);
        Box::pin(std::future::ready(Ok(all)))
    }

    /// No reorganisation is simulated.
    fn movement_finality<'a>(&'a self, _: Network, _: &'a ChainMovement) -> BoxFuture<'a, Result<Finality, PortError>> {
        Box::pin(std::future::ready(Ok(Finality::Final)))
    }
}

/// The orders of one kind, as their provider knows them.
struct ProviderOrders(Arc<Environment>, EntityKind);

impl ProviderOrders {
    fn entry(&self, key: JobId, (kind, _): ProductKey, order: Order) -> Option<ProviderEntry> {
        if kind != self.1 as u8 {
            return None;
        }
        let placed = self.0.card_numbers.lock().requests.get(&key).cloned()?;
        Some(ProviderEntry {
            name: EntryKey::for_order(key),
            product: placed.product.as_str().into(),
            amount: EntryAmount::Cents(placed.amount, placed.currency),
            returned_transfer: None,
            terms: placed.terms,
            status: match order {
                Order::Open => EntryStatus::Pending,
                Order::Made => EntryStatus::Completed,
                Order::Declined => EntryStatus::Declined,
            },
            at: Timestamp(0),
        })
    }

    fn all(&self) -> Vec<ProviderEntry> {
        let orders = self.0.card_numbers.lock().orders.clone();
        let listed = orders.into_iter();
        listed
            .filter_map(|(key, (thing, order))| self.entry(key, thing, order))
            .collect()
    }
}

impl ProviderList for ProviderOrders {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ProviderEntry>, PortError>> {
        let page = page(&self.all(), after, limit);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>> {
        let found = self.all().into_iter().find(|entry| entry.name == *name);
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// A list of holders' money, as its keeper knows it.
struct BalanceList(Arc<Environment>, ReconciliationSource);

fn listed(name: impl ToString, (status, money): (EntryStatus, EntryAmount)) -> ProviderEntry {
    ProviderEntry {
        name: EntryKey::new(name.to_string()).unwrap(),
        product: "kept".into(),
        amount: money,
        returned_transfer: None,
        terms: None,
        status,
        at: Timestamp(0),
    }
}

const fn dollars(amount: Cents) -> EntryAmount {
    EntryAmount::Cents(amount, Currency::USD)
}

impl BalanceList {
    fn all(&self) -> Vec<ProviderEntry> {
        let (world, now) = (&self.0, self.0.true_ms());
        match self.1 {
            ReconciliationSource::BankTransfers => {
                let moves = world.bank.lock().transfers.clone();
                let listed = moves.into_iter().filter_map(|(id, done)| {
                    // As with other providers: the amount was checked when it was ordered.
                    let row: BankTransfer = durable(world, EntityKind::BankTransfer, &id.0.to_be_bytes())?;
                    let status = if done {
                        EntryStatus::Completed
                    } else {
                        EntryStatus::Declined
                    };
                    Some(listed(JobId(id.0), (status, dollars(row.cents))))
                });
                listed.collect()
            }
            ReconciliationSource::BankDeposits => {
                let deposits = world.bank.lock().deposits.clone().into_iter();
                let paid_in =
                    |one: IncomingTransfer| listed(one.reference, (EntryStatus::Completed, dollars(one.amount)));
                deposits.map(paid_in).collect()
            }
            ReconciliationSource::ReloadableCards => {
                let issuer = world.issuer.lock();
                let cards = issuer.cards.values().map(|card| &card.order);
                let cards = cards.map(|order| listed(order.key, (EntryStatus::Completed, dollars(order.amount))));
                let aside = issuer.holds.iter().map(|(key, (order, ended))| {
                    let status = match ended {
                        None => EntryStatus::Held,
                        Some(true) => EntryStatus::Completed,
                        Some(false) => EntryStatus::Returned,
                    };
                    listed(key, (status, dollars(order.amount)))
                });
                cards.chain(aside).collect()
            }
            ReconciliationSource::CardBalances => {
                let issuer = world.issuer.lock();
                let left = issuer.cards.values().map(|card| {
                    let available = card.snapshot().activity.available;
                    listed(card.order.key, (EntryStatus::Completed, dollars(available)))
                });
                left.collect()
            }
            _ => {
                let bridge = world.bridge.lock();
                // Strangers' burns are excluded.
                let burns = bridge.burns.iter();
                let burns = burns.filter(|(_, burn)| burn.has_executed(now) && burn.top_up.0 != 0);
                let bridge_transfers = burns.map(|(name, burn)| {
                    let status = match burn.is_minted(now) {
                        true => EntryStatus::Completed,
                        false if burn.blocked => EntryStatus::Declined,
                        false => EntryStatus::Held,
                    };
                    listed(name, (status, EntryAmount::Usdc(Usdc::from_atomic(burn.arrives))))
                });
                bridge_transfers.collect()
            }
        }
    }
}

impl ProviderList for BalanceList {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ProviderEntry>, PortError>> {
        let page = page(&self.all(), after, limit);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>> {
        let found = self.all().into_iter().find(|entry| entry.name == *name);
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// Reconciliation's ports in a process that continues from a backup, where unknown transfers came from other parties.
pub(crate) fn watched(world: &Arc<Environment>) -> Option<ReconcilerDeps> {
    world.archive.lock().mark()?;
    let list = |kind| -> Arc<dyn ProviderList> { Arc::new(ProviderOrders(world.clone(), kind)) };
    Some(ReconcilerDeps {
        lists: ReconciliationLists {
            treasury: Some(Arc::new(ChainTransfers(world.clone()))),
            providers: BTreeMap::from([
                (ReconciliationSource::Cards, list(EntityKind::Card)),
                (ReconciliationSource::GiftCards, list(EntityKind::GiftCard)),
            ]),
        },
        settings: ReconcilerSettings {
            pause_ms: 700,
            rest_ms: 30_000,
            page: 5,
            grace_ms: 20_000,
            timeout_ms: 2_000,
        },
    })
}

/// Everything that differs now, without any time of grace.
async fn discrepancies(world: &Arc<Environment>, store: Arc<dyn Store>) -> Vec<DiscrepancyDetails> {
    let list = |kind| -> Arc<dyn ProviderList> { Arc::new(ProviderOrders(world.clone(), kind)) };
    let stored = |source| -> (ReconciliationSource, Arc<dyn ProviderList>) {
        (source, Arc::new(BalanceList(world.clone(), source)))
    };
    let reconciling = ReconcilerDeps {
        lists: ReconciliationLists {
            treasury: Some(Arc::new(ChainTransfers(world.clone()))),
            providers: BTreeMap::from([
                (ReconciliationSource::Cards, list(EntityKind::Card)),
                (ReconciliationSource::GiftCards, list(EntityKind::GiftCard)),
                stored(ReconciliationSource::BankTransfers),
                stored(ReconciliationSource::BankDeposits),
                stored(ReconciliationSource::ReloadableCards),
                stored(ReconciliationSource::CardBalances),
                stored(ReconciliationSource::Bridge),
            ]),
        },
        settings: ReconcilerSettings {
            pause_ms: 1,
            rest_ms: 1,
            page: 100,
            grace_ms: 0,
            timeout_ms: 60_000,
        },
    };
    let mut reconciler = Reconciler::new(store, world.clone(), reconciling).await.unwrap();
    let (mut walk, mut found) = (ReconciliationCursor::default(), Vec::new());
    while !walk.is_complete() {
        found.extend(reconciler.step(&mut walk).await);
    }
    assert!(!walk.skipped, "every list can be read");
    found
}

/// Whether an operator sees to it that what a provider has made reaches its buyer.
fn is_manual(world: &Environment, found: &DiscrepancyDetails) -> bool {
    let press = world.card_numbers.lock();
    let order = press
        .requests
        .iter()
        .find(|(key, _)| EntryKey::for_order(**key).to_string() == found.key);
    order.is_some_and(|(_, order)| world.archive.lock().manual_payments.contains(&order.payment))
}

/// Allows no discrepancies except dead-lettered jobs and orders that operators fulfil by hand.
pub(crate) async fn check(world: &Arc<Environment>, store: Arc<dyn Store>) {
    let dead_letters: BTreeSet<String> = {
        let shadow = world.reference.lock();
        let jobs = shadow
            .rows
            .iter()
            .filter(|(key, _)| key.first() == Some(&table::OUTBOX));
        let jobs = jobs.map(|(_, row)| codec::decode::<purser_actors::kernel::OutboxJob>(&row.value).unwrap());
        jobs.map(|outbox_job| outbox_job.job.subject()).collect()
    };
    let mut found = discrepancies(world, store).await.into_iter();
    let is_dead_lettered = |found: &DiscrepancyDetails| {
        found
            .subject
            .as_ref()
            .is_some_and(|subject| dead_letters.contains(subject))
    };
    let unexpected = found.find(|found| !is_dead_lettered(found) && !is_manual(world, found));
    if let Some(found) = unexpected {
        world.report_violation("reconciled", format!("{}: {found:?}", found.kind.name()));
    }
}

// Checks: a lost deposit is a violation: a declined payment that settles after all and is never credited.
#[cfg(debug_assertions)]
#[test]
fn lost_deposit_is_a_discrepancy() {
    use crate::plan::{Plan, Step};
    use crate::run;
    use purser_storage::mutants::{Mutant, enable};
    crate::seeds::quiet_ordered_panics();
    enable(Some(Mutant::LateSettlementIgnored));
    let runs = (0..100).map(|seed| {
        let mut plan = Plan::from_seed(seed);
        // No other check reads the ledger before the end.
        let looks = |step: &Step| matches!(step, Step::Inspect | Step::Crash { .. } | Step::CrashOnRestart(_));
        plan.steps.retain(|step| !looks(step));
        run::run(&plan, false).violation
    });
    let found = runs.flatten().find(|objection| objection.rule == "reconciled");
    enable(None);
    let found = found.expect("no run with a late landing got as far as the end").detail;
    assert!(found.starts_with("unmatched_deposit"), "{found}");
}
