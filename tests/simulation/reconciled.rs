//! Once everything is at rest, the books are held against the chains' and the makers' own lists: no difference is left but
//! what waits for a person by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purser::verify::ChainTransfer;
use purser_actors::banking::transfer::BankTransfer;
use purser_actors::difference::Found;
use purser_actors::engine::{Pace, Reconciler, Reconciling, Walk};
use purser_actors::id::{EffectId, Network};
use purser_actors::kernel::{Kind, table};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::banking::Incoming;
use purser_actors::port::{
    BoxFuture, Cursor, Entry, EntryName, Finality, Lists, Movement, Page, PortError, ProviderList, Timestamp,
    TreasuryList,
};
use purser_actors::product::Currency;
use purser_actors::reconcile::{Money, Source, Standing};
use purser_storage::Store;
use purser_storage::codec;

use crate::makers::{Order, Thing};
use crate::own;
use crate::owners::durable;
use crate::seller::SPEND;
use crate::withdrawals::OUT;
use crate::world::World;

struct OnChain(Arc<World>);

fn moved(transfer: &ChainTransfer, incoming: bool, mark: [u8; 32]) -> Movement {
    Movement {
        transaction: transfer.transaction.clone(),
        index: transfer.index,
        incoming,
        other: if incoming { transfer.from } else { transfer.to },
        amount: Usdc::from_atomic(transfer.atomic),
        at: World::stamp(transfer.at_ms),
        mark,
    }
}

impl OnChain {
    fn all(&self, network: Network) -> Vec<Movement> {
        let now = self.0.true_ms();
        let mut all = Vec::new();
        {
            let mut ledger = self.0.chain.lock();
            ledger.settle(now);
            // What leaves managed wallets is not the treasury's.
            let treasury = ledger.in_order().filter(|(n, _)| *n < SPEND || own::is_own(*n));
            for (n, transfer) in treasury.filter(|(_, t)| t.from.network() == network) {
                let mark = ledger.mark(n);
                all.push(moved(transfer, n < OUT || own::is_own(n), mark));
            }
        }
        let bridge = self.0.bridge.lock();
        let burned = bridge.left(now).filter(|burn| burn.from.network() == network);
        all.extend(burned.map(|burn| moved(&burn, false, [0; 32])));
        all
    }
}

fn page<T: Clone>(all: &[T], after: Option<&Cursor>, limit: usize) -> Page<T> {
    let from = after.map_or(0, |cursor| cursor.number().unwrap());
    let items: Vec<T> = all.iter().skip(from as usize).take(limit).cloned().collect();
    let next = (!items.is_empty()).then(|| Cursor::of_number(from + items.len() as u64));
    Page { items, next }
}

impl TreasuryList for OnChain {
    fn movements<'a>(
        &'a self,
        network: Network,
        after: Option<&'a Cursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Page<Movement>, PortError>> {
        let page = page(&self.all(network), after, limit);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn in_transaction<'a>(
        &'a self,
        network: Network,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Movement>, PortError>> {
        let mut all = self.all(network);
        all.retain(|moved| moved.transaction == transaction);
        Box::pin(std::future::ready(Ok(all)))
    }

    /// No reorganisation is simulated.
    fn movement_finality<'a>(&'a self, _: Network, _: &'a Movement) -> BoxFuture<'a, Result<Finality, PortError>> {
        Box::pin(std::future::ready(Ok(Finality::Final)))
    }
}

/// The orders of one kind, as their maker knows them.
struct AtTheMaker(Arc<World>, Kind);

impl AtTheMaker {
    fn entry(&self, key: EffectId, (kind, _): Thing, order: Order) -> Option<Entry> {
        if kind != self.1 as u8 {
            return None;
        }
        let placed = self.0.press.lock().asked.get(&key).cloned()?;
        Some(Entry {
            name: EntryName::of(key),
            product: placed.product.as_str().into(),
            money: Money::Cents(placed.amount, placed.currency),
            returns: None,
            terms: placed.terms,
            standing: match order {
                Order::Open => Standing::UnderWay,
                Order::Made => Standing::Done,
                Order::Declined => Standing::Refused,
            },
            at: Timestamp(0),
        })
    }

    fn all(&self) -> Vec<Entry> {
        let orders = self.0.press.lock().orders.clone();
        let listed = orders.into_iter();
        listed
            .filter_map(|(key, (thing, order))| self.entry(key, thing, order))
            .collect()
    }
}

impl ProviderList for AtTheMaker {
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>> {
        let page = page(&self.all(), after, limit);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Entry>, PortError>> {
        let found = self.all().into_iter().find(|entry| entry.name == *name);
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// A list of holders' money, as its keeper knows it.
struct AtTheKeeper(Arc<World>, Source);

fn listed(name: impl ToString, (standing, money): (Standing, Money)) -> Entry {
    Entry {
        name: EntryName::new(name.to_string()).unwrap(),
        product: "kept".into(),
        money,
        returns: None,
        terms: None,
        standing,
        at: Timestamp(0),
    }
}

const fn dollars(amount: Cents) -> Money {
    Money::Cents(amount, Currency::USD)
}

impl AtTheKeeper {
    fn all(&self) -> Vec<Entry> {
        let (world, now) = (&self.0, self.0.true_ms());
        match self.1 {
            Source::Bank => {
                let moves = world.vaults.lock().moves.clone();
                let listed = moves.into_iter().filter_map(|(id, done)| {
                    // As with makers: that the amount is the ordered one is judged there.
                    let row: BankTransfer = durable(world, Kind::BankTransfer, &id.0.to_be_bytes())?;
                    let standing = if done { Standing::Done } else { Standing::Refused };
                    Some(listed(EffectId(id.0), (standing, dollars(row.cents))))
                });
                listed.collect()
            }
            Source::BankDeposits => {
                let deposits = world.vaults.lock().deposits.clone().into_iter();
                let paid_in = |one: Incoming| listed(one.reference, (Standing::Done, dollars(one.amount)));
                deposits.map(paid_in).collect()
            }
            Source::CardProgram => {
                let issuer = world.issuer.lock();
                let cards = issuer.cards.values().map(|card| &card.order);
                let cards = cards.map(|order| listed(order.key, (Standing::Done, dollars(order.amount))));
                let aside = issuer.aside.iter().map(|(key, (order, ended))| {
                    let standing = match ended {
                        None => Standing::Held,
                        Some(true) => Standing::Done,
                        Some(false) => Standing::Returned,
                    };
                    listed(key, (standing, dollars(order.amount)))
                });
                cards.chain(aside).collect()
            }
            Source::CardBalances => {
                let issuer = world.issuer.lock();
                let left = issuer.cards.values().map(|card| {
                    let available = card.stands().activity.available;
                    listed(card.order.key, (Standing::Done, dollars(available)))
                });
                left.collect()
            }
            _ => {
                let bridge = world.bridge.lock();
                // The strangers' burns are not ours.
                let burns = bridge.burns.iter();
                let burns = burns.filter(|(_, burn)| burn.has_landed(now) && burn.top_up.0 != 0);
                let crossing = burns.map(|(name, burn)| {
                    let standing = match burn.is_minted(now) {
                        true => Standing::Done,
                        false if burn.blocked => Standing::Refused,
                        false => Standing::Held,
                    };
                    listed(name, (standing, Money::Usdc(Usdc::from_atomic(burn.arrives))))
                });
                crossing.collect()
            }
        }
    }
}

impl ProviderList for AtTheKeeper {
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>> {
        let page = page(&self.all(), after, limit);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Entry>, PortError>> {
        let found = self.all().into_iter().find(|entry| entry.name == *name);
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// What a process that goes on from a backup is given to hold its books against: what it does not know came from others.
pub(crate) fn watched(world: &Arc<World>) -> Option<Reconciling> {
    world.archive.lock().mark()?;
    let list = |kind| -> Arc<dyn ProviderList> { Arc::new(AtTheMaker(world.clone(), kind)) };
    Some(Reconciling {
        lists: Lists {
            treasury: Some(Arc::new(OnChain(world.clone()))),
            providers: BTreeMap::from([
                (Source::Cards, list(Kind::Card)),
                (Source::GiftCards, list(Kind::GiftCard)),
            ]),
        },
        pace: Pace {
            pause_ms: 700,
            rest_ms: 30_000,
            page: 5,
            grace_ms: 20_000,
            timeout_ms: 2_000,
        },
    })
}

/// Everything that differs now, without any time of grace.
async fn differences(world: &Arc<World>, store: Arc<dyn Store>) -> Vec<Found> {
    let list = |kind| -> Arc<dyn ProviderList> { Arc::new(AtTheMaker(world.clone(), kind)) };
    let kept = |source| -> (Source, Arc<dyn ProviderList>) { (source, Arc::new(AtTheKeeper(world.clone(), source))) };
    let reconciling = Reconciling {
        lists: Lists {
            treasury: Some(Arc::new(OnChain(world.clone()))),
            providers: BTreeMap::from([
                (Source::Cards, list(Kind::Card)),
                (Source::GiftCards, list(Kind::GiftCard)),
                kept(Source::Bank),
                kept(Source::BankDeposits),
                kept(Source::CardProgram),
                kept(Source::CardBalances),
                kept(Source::Bridge),
            ]),
        },
        pace: Pace {
            pause_ms: 1,
            rest_ms: 1,
            page: 100,
            grace_ms: 0,
            timeout_ms: 60_000,
        },
    };
    let mut reconciler = Reconciler::new(store, world.clone(), reconciling).await.unwrap();
    let (mut walk, mut found) = (Walk::default(), Vec::new());
    while !walk.is_over() {
        found.extend(reconciler.step(&mut walk).await);
    }
    assert!(!walk.skipped, "every list can be read");
    found
}

/// Whether an operator sees to it that what a provider has made reaches its buyer.
fn is_by_hand(world: &World, found: &Found) -> bool {
    let press = world.press.lock();
    let order = press
        .asked
        .iter()
        .find(|(key, _)| EntryName::of(**key).to_string() == found.key);
    order.is_some_and(|(_, order)| world.archive.lock().by_hand.contains(&order.payment))
}

/// Nothing differs but what is stuck with its name, or is seen to by hand.
pub(crate) async fn judge(world: &Arc<World>, store: Arc<dyn Store>) {
    let stuck: BTreeSet<String> = {
        let shadow = world.shadow.lock();
        let effects = shadow
            .rows
            .iter()
            .filter(|(key, _)| key.first() == Some(&table::EFFECT));
        let effects = effects.map(|(_, row)| codec::decode::<purser_actors::kernel::Effect>(&row.value).unwrap());
        effects.map(|effect| effect.work.subject()).collect()
    };
    let mut found = differences(world, store).await.into_iter();
    let is_stuck = |found: &Found| found.subject.as_ref().is_some_and(|subject| stuck.contains(subject));
    let unexpected = found.find(|found| !is_stuck(found) && !is_by_hand(world, found));
    if let Some(found) = unexpected {
        world.object("reconciled", format!("{}: {found:?}", found.kind.name()));
    }
}

// Aim: it objects to books that lose a deposit: a declined payment that lands after all, and that nobody credits.
#[cfg(debug_assertions)]
#[test]
fn a_lost_deposit_is_a_difference() {
    use crate::life;
    use crate::plan::{Plan, Step};
    use purser_storage::planted::{Bug, plant};
    crate::seeds::quiet_ordered_panics();
    plant(Some(Bug::LateLandingIgnored));
    let runs = (0..100).map(|seed| {
        let mut plan = Plan::of(seed);
        // Nobody else looks at the books before the end.
        let looks = |step: &Step| matches!(step, Step::Inspect | Step::Die { .. } | Step::Relapse(_));
        plan.steps.retain(|step| !looks(step));
        life::run(&plan, false).objection
    });
    let found = runs.flatten().find(|objection| objection.rule == "reconciled");
    plant(None);
    let found = found.expect("no run with a late landing got as far as the end").detail;
    assert!(found.starts_with("chain_deposit_without_credit"), "{found}");
}
