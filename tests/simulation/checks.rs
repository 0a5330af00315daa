//! What must be true: of the store at any moment, of everything once it is at rest. The rules are written from the
//! promises, not from the engine.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;
use purser::verify::{ChainTransfer, verify};
use purser_actors::engine::Engine;
use purser_actors::entity::account;
use purser_actors::entity::card::Card;
use purser_actors::entity::late_return::LateReturn;
use purser_actors::entity::payment::{Payment, Status};
use purser_actors::entity::session::Session;
use purser_actors::id::{CardId, LateReturnId, PaymentId, SessionId};
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::kernel::{EntityKind, OutboxJob, table};
use purser_actors::ledger::{LedgerAccount, LedgerTransaction};
use purser_actors::product::ProductLine;
use purser_storage::codec::{self, Stored};
use purser_storage::{JournalStore, Row, RowKey, Store};

use crate::chain::transfers;
use crate::environment::Environment;
use crate::products::{SoldProduct, sold_products};
use crate::providers::{Order, ProductKey};
use crate::store::SimStore;

mod banking;
mod card_balances;
mod idle;
mod intl_orders;
mod payouts;
mod responses;
pub(crate) mod restored;
mod top_ups;
mod wallet_payments;

pub(crate) use idle::max_idle_tasks;

pub(super) type Violation = (&'static str, String);

/// Everything stored, as it is now: the books by `purser verify`, rows and events by what was acknowledged.
pub(crate) fn inspect(world: &Environment, journal: &JournalStore) {
    let compared = world.reference.lock().compare(journal);
    if let Err((rule, detail)) = compared {
        return world.report_violation(rule, detail);
    }
    let first_retained = world.archive.lock().mark().map_or(0, |mark| mark.first_seq);
    if world.reference.lock().oldest > first_retained && !world.plan.may_lose_events() {
        return world.report_violation("events.expired", "events were dropped that had to be kept");
    }
    let chain = transfers(world);
    let report = verify(journal, Some(&chain)).now_or_never().and_then(Result::ok);
    match report {
        None => world.report_violation("verify.unreadable", "the store could not be read"),
        Some(report) => {
            let wrong = report.problems.iter().find(|found| !restored::is_known(world, found));
            if let Some(wrong) = wrong {
                world.report_violation("verify", wrong.to_string());
            }
        }
    }
}

/// Everything that is stored, read without the engine.
struct StoreContents {
    payments: BTreeMap<PaymentId, Payment>,
    cards: BTreeMap<CardId, Card>,
    /// Everything that was sold, cards included.
    products: BTreeMap<ProductKey, SoldProduct>,
    accounts: BTreeMap<Vec<u8>, account::Account>,
    sessions: BTreeMap<SessionId, Session>,
    jobs: Vec<OutboxJob>,
    /// What came back too late.
    late_returns: BTreeMap<LateReturnId, LateReturn>,
    /// Credited to holders, by cause, and received by the treasuries in all.
    credits: BTreeMap<String, i128>,
    treasury: i128,
    records: Vec<EventRecord>,
}

fn rows<'a>(world: &'a BTreeMap<RowKey, Row>, prefix: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a Row)> {
    let from = world.range::<[u8], _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
    from.take_while(move |(key, _)| key.starts_with(prefix))
        .map(move |(key, row)| (&key[prefix.len()..], row))
}

fn decode<T: Stored>(row: &Row) -> T {
    codec::decode(&row.value).unwrap()
}

fn number(key: &[u8]) -> u128 {
    u128::from_be_bytes(key.try_into().unwrap())
}

impl StoreContents {
    fn of(world: &Environment) -> Self {
        let shadow = world.reference.lock();
        let all = &shadow.rows;
        let mut stock = Self {
            payments: rows(all, &[table::ENTITY, EntityKind::Payment as u8])
                .map(|(k, r)| (PaymentId(number(k)), decode(r)))
                .collect(),
            cards: rows(all, &[table::ENTITY, EntityKind::Card as u8])
                .map(|(k, r)| (CardId(number(k)), decode(r)))
                .collect(),
            products: sold_products(all),
            accounts: rows(all, &[table::ENTITY, EntityKind::Account as u8])
                .map(|(k, r)| (k.to_vec(), decode(r)))
                .collect(),
            sessions: rows(all, &[table::ENTITY, EntityKind::Session as u8])
                .map(|(k, r)| (SessionId(number(k)), decode(r)))
                .collect(),
            jobs: rows(all, &[table::OUTBOX]).map(|(_, r)| decode(r)).collect(),
            late_returns: rows(all, &[table::ENTITY, EntityKind::LateReturn as u8])
                .map(|(k, r)| (LateReturnId(number(k)), decode(r)))
                .collect(),
            credits: BTreeMap::new(),
            treasury: 0,
            records: shadow
                .events
                .iter()
                .map(|e| EventRecord::read(&e.subject, &e.payload).unwrap())
                .collect(),
        };
        for (_, row) in rows(all, &[table::LEDGER]) {
            let transaction: LedgerTransaction = decode(row);
            for posting in transaction.postings {
                match posting.account {
                    LedgerAccount::Customer(_) => {
                        *stock.credits.entry(transaction.cause.clone()).or_default() -= posting.atomic
                    }
                    LedgerAccount::Treasury(_) => stock.treasury += posting.atomic,
                    _ => {}
                }
            }
        }
        stock
    }
}

impl StoreContents {
    /// Whether the order of a product is dead-lettered.
    fn is_dead_lettered(&self, good: &SoldProduct) -> bool {
        self.jobs.iter().any(|e| e.job == good.job)
    }

    /// Into the trace: what everything has come to.
    fn trace(&self, world: &Environment) {
        use purser_actors::kernel::Entity;
        for (id, payment) in &self.payments {
            world.trace(|| format!("{id} ended as {}", payment.status()));
        }
        for product in self.products.values() {
            world.trace(|| format!("{} ended as {}", product.name, product.status));
        }
        for outbox_job in &self.jobs {
            world.trace(|| format!("{} is dead-lettered: {:?}", outbox_job.id, outbox_job.last_error));
        }
        let oldest = world.reference.lock().oldest;
        if oldest > 0 {
            world.trace(|| format!("events are forgotten up to {oldest}"));
        }
    }
}

/// All checks at the end of a run: no fault remains, and nothing is pending.
pub(crate) async fn at_rest(world: &Environment, engine: &Engine, store: &SimStore, tasks: usize) {
    inspect(world, &store.journal);
    let stock = StoreContents::of(world);
    stock.trace(world);
    let judged = drained(world, &stock, store)
        .and_then(|()| outcomes(world, &stock))
        .and_then(|()| restored::check(world, &stock))
        .and_then(|()| responses::answers(world, &stock))
        .and_then(|()| responses::check_owners(world, &stock))
        .and_then(|()| intl_orders::orders(world, &stock))
        .and_then(|()| payouts::check(world, &stock))
        .and_then(|()| top_ups::check(world, &stock))
        .and_then(|()| card_balances::check(world, &stock))
        .and_then(|()| wallet_payments::check(world, &stock))
        .and_then(|()| banking::check(world, &stock))
        .and_then(|()| shares(world, &stock))
        .and_then(|()| crate::identity::check_at_rest(world))
        .and_then(|()| crate::keys::check(world, engine))
        .and_then(|()| idle::check(world, engine, tasks));
    if let Err((rule, detail)) = judged {
        world.report_violation(rule, detail);
    }
}

/// Compares settlements in progress with their limits. A payment keeps its permit while a client waits for it. That
/// holds in the first process: later ones resume payments without a waiting client.
pub(crate) fn check_in_flight(world: &Environment) {
    let shadow = world.reference.lock();
    let all = rows(&shadow.rows, &[table::ENTITY, EntityKind::Payment as u8]).map(|(_, row)| decode::<Payment>(row));
    let mut payers: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for payment in all.filter(|p| matches!(p.status, Status::Claimed | Status::Settling(_))) {
        *payers.entry(payment.account().key()).or_default() += 1;
    }
    drop(shadow);
    let (sum, most) = (
        payers.values().sum::<usize>(),
        payers.values().max().copied().unwrap_or(0),
    );
    let settings = world.plan.settings;
    if world.runs() == 1 && (sum > settings.max_in_flight || most > settings.max_in_flight_per_payer) {
        world.report_violation("limit.in_flight", format!("{sum} settlements, {most} of one payer"));
    }
}

fn violation(rule: &'static str, detail: impl Into<String>) -> Result<(), Violation> {
    Err((rule, detail.into()))
}

/// Every job has ended except dead letters that the plan predicts. Every pending payment has such a job.
fn drained(world: &Environment, stock: &StoreContents, store: &SimStore) -> Result<(), Violation> {
    let unanswered = world.reference.lock().unanswered();
    if unanswered != 0 || store.headroom().queued != 0 {
        return violation("rest.queue", format!("{unanswered} batches were never answered"));
    }
    let doomed = world
        .plan
        .fault_plans
        .values()
        .any(crate::fault_plan::FaultPlan::needs_operator);
    for outbox_job in &stock.jobs {
        if !outbox_job.dead_lettered || outbox_job.last_error.is_none() || !doomed {
            return violation("rest.effect", format!("{outbox_job:?}"));
        }
    }
    for (number, id) in &world.client_log.lock().ids {
        let unsent = stock.payments.get(id).is_some_and(|p| p.is_released());
        if unsent && world.chain.lock().was_sent(*number) {
            return violation("sent.released", format!("{id} was sent and is released as unsent"));
        }
    }
    let open = stock.payments.iter().find(|(_, p)| !p.is_final() && !p.is_released());
    if let Some((id, payment)) = open {
        return violation("rest.payment", format!("{id} is {:?}", payment.status));
    }
    Ok(())
}

/// Every transfer on the chain has one product or one credit, and nothing else has either.
fn outcomes(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let chain = transfers(world);
    crate::withdrawals::at_rest(world, &crate::chain::withdrawn(world))?;
    crate::bank::at_rest(world)?;
    let sum = |transfers: &[ChainTransfer]| transfers.iter().map(|t| i128::from(t.atomic)).sum::<i128>();
    let (landed, sum) = (&chain.received, sum(&chain.received) - sum(&chain.sent));
    if sum != stock.treasury {
        return violation(
            "money.received",
            format!("{sum} on the chain, {} booked", stock.treasury),
        );
    }
    let press = world.card_numbers.lock();
    let mut made: BTreeSet<ProductKey> = press
        .orders
        .values()
        .filter(|(_, order)| *order == Order::Made)
        .map(|(thing, _)| *thing)
        .collect();
    drop(press);
    // Operators make these by hand, or have still to: either way the money is theirs, unless it went back.
    let by_hand = stock
        .products
        .iter()
        .filter(|(thing, _)| thing.0 == EntityKind::IntlOrder as u8);
    made.extend(by_hand.filter(|(_, good)| good.is_made).map(|(thing, _)| *thing));
    let taken = restored::credited_deposits(world);
    let mut claims: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, payment) in &stock.payments {
        // Reconciliation compares incoming transfers without a payment.
        let taken = payment.transaction().and_then(|transaction| taken.get(transaction));
        outcome(stock, (&made, taken.map(|(name, _)| name)), id, payment)?;
        *claims.entry(payment.transaction().unwrap_or_default()).or_default() += 1;
    }
    for transfer in landed {
        let claims = claims.get(transfer.transaction.as_str()).copied().unwrap_or(0);
        if claims != 1 && !(claims == 0 && taken.contains_key(&transfer.transaction)) {
            let detail = format!("{} settled {claims} payments", transfer.transaction);
            return violation("money.claims", detail);
        }
    }
    let unreal = stock.payments.values().filter_map(Payment::transaction);
    if let Some(unreal) = unreal.clone().find(|t| !landed.iter().any(|l| l.transaction == *t)) {
        return violation("money.unreal", format!("{unreal} is not on the chain"));
    }
    for (thing, good) in &stock.products {
        let is_made = made.contains(thing);
        // What a person must look at may have gone either way.
        if is_made != good.is_made && !stock.is_dead_lettered(good) {
            let detail = format!("{} is {}, and made by the provider: {is_made}", good.name, good.status);
            return violation("product.provider", detail);
        }
    }
    Ok(())
}

/// A payment that settled has one product or one credit, one that did not has neither.
fn outcome(
    stock: &StoreContents,
    (made, taken): (&BTreeSet<ProductKey>, Option<&String>),
    id: &PaymentId,
    payment: &Payment,
) -> Result<(), Violation> {
    let goods: Vec<_> = stock.products.iter().filter(|(_, good)| good.payment == *id).collect();
    if let [((kind, _), _)] = goods[..]
        && [EntityKind::Payout as u8, EntityKind::TopUp as u8].contains(kind)
        && payment.transaction().is_some()
        && !stock.credits.contains_key(&id.to_string())
    {
        return Ok(());
    }
    let causes = goods.iter().map(|(_, good)| good.name.clone()).chain([id.to_string()]);
    let causes = causes.chain(taken.cloned());
    let credited: i128 = causes.filter_map(|cause| stock.credits.get(&cause)).sum();
    let ready = goods.iter().filter(|(thing, _)| made.contains(thing)).count();
    let paid = i128::from(payment.price().atomic());
    let good = match (payment.transaction().is_some(), ready, credited) {
        (true, 1, 0) | (false, 0, 0) => true,
        (true, 0, credited) if credited == paid => true,
        (true, 0, 0) => goods.iter().any(|(_, good)| stock.is_dead_lettered(good)),
        _ => false,
    };
    if good {
        return Ok(());
    }
    let detail = format!(
        "{id} is {:?}: {ready} products, {credited} of {paid} credited",
        payment.status
    );
    violation("money.outcome", detail)
}

/// No cap is ever passed, and every reserved share ends with what it was reserved for.
fn shares(world: &Environment, stock: &StoreContents) -> Result<(), Violation> {
    let cap = world.plan.cap();
    for (key, account) in &stock.accounts {
        let mut days: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
        // Of budgets without a cap.
        let mut others = 0;
        // What was taken over counts, whatever the cap, unless its day was over by then.
        let own = stock.payments.iter().filter(|(_, p)| p.account() == account.wallet);
        let adopted = own.filter(|(_, p)| p.claim.is_adopted());
        let (more, more_cents) = adopted.fold((0, 0), |(count, sum), (_, p)| {
            (count + 1, sum + p.claim.worth.get() as i64)
        });
        let of_it = stock
            .records
            .iter()
            .filter(|r| r.kind == EntityKind::Account as u8 && r.id == *key);
        for record in of_it {
            let (share, sign) = match codec::decode(&record.event).unwrap() {
                account::Event::CapReserved(share) => (share, 1),
                account::Event::CapReleased(share) => (share, -1),
                _ => continue,
            };
            if share.cap_group != ProductLine::UsaCard {
                others += sign;
                continue;
            }
            let day = days.entry(share.day).or_default();
            day.0 += sign;
            day.1 += sign * share.cents.get() as i64;
            let (cards, cents) = *day;
            let (most, most_cents) = (i64::from(cap.count) + more, cap.sum.get() as i64 + more_cents);
            if cards < 0 || cents < 0 || cards > most || cents > most_cents {
                return violation("caps", format!("{:?}: {cards} cards and {cents} cents", account.wallet));
            }
        }
        let held: i64 = days.values().map(|(cards, _)| cards).sum::<i64>() + others;
        // The share of one whose transfer was taken in without it has gone back.
        let taken = |id: &PaymentId| world.reference.lock().rows.contains_key(&table::taken_in_payment(*id));
        let own = stock.payments.iter().filter(|(_, p)| p.account() == account.wallet);
        let of_it = own.filter(|(id, _)| !taken(id)).map(|(_, p)| p);
        let due = of_it
            // These are counted by themselves.
            .filter(|p| !p.claim.is_adopted())
            .filter(|p| !p.is_released() && !matches!(p.status, Status::Refused(_)))
            .count();
        // What a balance paid for was no payment.
        let paid_out = |good: &&SoldProduct| good.payment == PaymentId::NONE && good.owner == account.wallet;
        let due = due + stock.products.values().filter(paid_out).count();
        let due = due + world.reference.lock().unclaimed(&account.wallet);
        let before = stock.payments.values();
        let before = before.filter(|p| p.account() == account.wallet && p.claim.cap_reservation.is_for_unclaimed());
        let least = due as i64 - before.count() as i64;
        if !(least..=due as i64 + more).contains(&held) {
            return violation(
                "shares",
                format!(
                    "{:?}: {held} reserved for {due} payments and {more} that were taken over",
                    account.wallet
                ),
            );
        }
    }
    Ok(())
}
