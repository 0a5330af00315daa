//! Providers that are down for a while and return an error or no response, and the clients that buy meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::breaker::BreakerSettings;
use purser_actors::engine::Engine;
use purser_actors::entity::card;
use purser_actors::entity::gift_card;
use purser_actors::id::JobId;
use purser_actors::kernel::OutboxJob;
use purser_actors::kernel::job::AnyJob;
use purser_actors::money::Cents;
use purser_actors::product::{DailyCap, DailyCaps, ProductLine};
use purser_storage::sim_disk::SeededRng;

use crate::environment::Environment;
use crate::fault_plan::FaultPlan;
use crate::order_operators::act;
use crate::plan::{Plan, Step, pick};

/// Payments with these numbers are made during outages: the first of each line that there is.
const CARDS: u32 = 288;
const GIFTS: u32 = 290;
/// The maximum of each kind, six numbers apart.
const MAX_PAYMENTS: u64 = 14;

/// Who is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Provider {
    Cards,
    GiftCards,
}

/// Outages, as the outside knows them.
#[derive(Default)]
pub(crate) struct Outages {
    /// Until when, and whether it is silent rather than says so.
    down: BTreeMap<Provider, (u64, bool)>,
    /// Orders first requested during this outage and process: each of their failures counts.
    first_requests: BTreeSet<JobId>,
    /// When each of a provider's failures in a row was known, in milliseconds of the run.
    failures: BTreeMap<Provider, Vec<u64>>,
    /// What was sold since the line had to be closed.
    sold: BTreeMap<Provider, u32>,
    /// What an operator has had tried again.
    retried: BTreeSet<JobId>,
}

/// Time in which what was on its way when a line was closed is claimed, in milliseconds.
const IN_FLIGHT_MS: u64 = 1_000;
/// Orders that a closed line may sell to probe its provider, at growing intervals, within any outage of these runs.
const MAX_PROBE_ORDERS: u32 = 3;

impl Outages {
    /// A process counts anew.
    pub(crate) fn clear_counts(&mut self) {
        self.first_requests.clear();
        self.failures.clear();
        self.sold.clear();
    }
}

impl Provider {
    const fn for_line(line: ProductLine) -> Option<Self> {
        match line {
            ProductLine::UsaCard => Some(Self::Cards),
            ProductLine::GiftCard => Some(Self::GiftCards),
            _ => None,
        }
    }
}

/// A provider goes down.
pub(crate) fn start(world: &Environment, provider: Provider, ms: u64, silent: bool) {
    let until = world.true_ms() + ms;
    let mut outages = world.outages.lock();
    outages.clear_counts();
    outages.down.insert(provider, (until, silent));
}

/// An order met the outage. Without a response it counts once the timeout is over.
pub(crate) fn fails(world: &Environment, provider: Provider, key: JobId, is_first: bool, silent: bool) {
    let known = world.true_ms()
        + if silent {
            world.plan.settings.issuer_timeout_ms
        } else {
            0
        };
    let mut outages = world.outages.lock();
    if is_first {
        outages.first_requests.insert(key);
    }
    if outages.first_requests.contains(&key) {
        outages.failures.entry(provider).or_default().push(known);
    }
}

/// A provider with that many failures in a row has its line closed: only probe orders are sold.
pub(crate) fn check_claim(world: &Environment, line: ProductLine) {
    let rules = world.plan.settings.breaker;
    let Some(provider) = Provider::for_line(line).filter(|provider| is_down(world, *provider).is_some()) else {
        return;
    };
    let mut outages = world.outages.lock();
    let last = (rules.max_failures as usize).checked_sub(1);
    let closed = last.and_then(|last| outages.failures.get(&provider)?.get(last).copied());
    if closed.is_none_or(|closed| world.true_ms() < closed + IN_FLIGHT_MS) {
        return;
    }
    let sold = outages.sold.entry(provider).or_default();
    *sold += 1;
    let sold = *sold;
    drop(outages);
    if sold > MAX_PROBE_ORDERS {
        world.report_violation(
            "line.sells",
            format!("{sold} of {} were sold while its provider is down", line.name()),
        );
    }
}

/// Whether a provider is down, and then whether it is silent.
pub(crate) fn is_down(world: &Environment, provider: Provider) -> Option<bool> {
    let (until, silent) = *world.outages.lock().down.get(&provider)?;
    (!world.are_faults_over() && world.true_ms() < until).then_some(silent)
}

/// Adds an outage, and who buys during it, to a plan by chance of their own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x6f75_7461_6765);
    if !chance.one_in(5) {
        return;
    }
    let (provider, first) = pick(
        &mut chance,
        &[
            (Provider::Cards, CARDS),
            (Provider::Cards, CARDS),
            (Provider::GiftCards, GIFTS),
        ],
    );
    let ms = pick(&mut chance, &[4_000, 12_000, 25_000]);
    let silent = chance.one_in(4);
    // Nothing else is to keep anybody from buying.
    let cap = DailyCap {
        count: 100,
        sum: Cents::new(1_000_000),
    };
    plan.settings.caps = DailyCaps::NONE.with(ProductLine::UsaCard, cap);
    plan.settings.breaker = BreakerSettings {
        max_failures: pick(&mut chance, &[2, 3]),
        probe_interval_ms: 1_000,
        stale_after_ms: 10_000,
    };
    let mut steps = vec![Step::Outage { provider, ms, silent }];
    for nth in 0..4 + chance.next_below(MAX_PAYMENTS - 4) as u32 {
        let payment = first + 6 * nth;
        steps.push(Step::Pay {
            payment,
            request: 0,
            client_timeout_ms: chance.one_in(5).then_some(500),
        });
        let ms = pick(&mut chance, &[20, 300, 1_000, 3_000]);
        steps.push(Step::Wait { ms });
        if chance.one_in(4) {
            let issue = Vec::new();
            let fault_plan = FaultPlan::random(&mut chance);
            plan.fault_plans
                .entry(payment)
                .or_insert(FaultPlan { issue, ..fault_plan });
        }
    }
    let at = chance.next_below(plan.steps.len() as u64 + 1) as usize;
    plan.steps.splice(at..at, steps);
}

/// An operator retries each job that was dead-lettered during an outage, once. Returns whether there was one.
pub(crate) async fn operate(world: &Environment, engine: &Engine, effects: &[OutboxJob]) -> bool {
    let mut any = false;
    let made = |work: &AnyJob| {
        matches!(work.typed(), Some(card::Job::IssueCard(_))) || work.typed::<gift_card::Job>().is_some()
    };
    let were_down = !world.outages.lock().down.is_empty();
    for effect in effects.iter().filter(|e| e.dead_lettered && were_down && made(&e.job)) {
        if !world.outages.lock().retried.insert(effect.id) {
            continue;
        }
        let result = engine.retry_job(effect.id, &act(0)).await;
        world.trace(|| {
            format!(
                "operator: {} is tried again after an outage: {result:?}",
                effect.job.name()
            )
        });
        any = true;
    }
    any
}
