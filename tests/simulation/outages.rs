//! Providers that are down for a while: whoever asks them then hears that they are, or nothing at all. And whoever goes on buying
//! from us meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::engine::Engine;
use purser_actors::id::EffectId;
use purser_actors::kernel::Effect;
use purser_actors::kernel::effect::Work;
use purser_actors::money::Cents;
use purser_actors::product::{Cap, Caps, Line};
use purser_storage::fault::Seeded;

use crate::desk::act;
use crate::fate::Fate;
use crate::plan::{Plan, Step, pick};
use crate::world::World;

/// Payments with these numbers are made during outages: the first of each line that there is.
const CARDS: u32 = 288;
const GIFTS: u32 = 290;
/// So many of each, six numbers apart.
const MOST: u64 = 14;

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
    /// What an operator has had tried again.
    retried: BTreeSet<EffectId>,
}

impl Provider {
    pub(crate) const fn line(self) -> Line {
        match self {
            Self::Cards => Line::UsaCard,
            Self::GiftCards => Line::GiftCard,
        }
    }
}

/// A provider goes down.
pub(crate) fn begin(world: &World, provider: Provider, ms: u64, silent: bool) {
    let until = world.true_ms() + ms;
    world.outages.lock().down.insert(provider, (until, silent));
}

/// Whether a provider is down, and then whether it is silent.
pub(crate) fn is_down(world: &World, provider: Provider) -> Option<bool> {
    let (until, silent) = *world.outages.lock().down.get(&provider)?;
    (!world.is_calm() && world.true_ms() < until).then_some(silent)
}

/// Adds an outage, and who buys during it, to a plan by chance of their own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = Seeded::new(plan.seed ^ 0x6f75_7461_6765);
    if !chance.one_in(5) {
        return;
    }
    let (provider, first) = pick(
        &mut chance,
        &[(Provider::Cards, CARDS), (Provider::Cards, CARDS), (Provider::GiftCards, GIFTS)],
    );
    let ms = pick(&mut chance, &[4_000, 12_000, 25_000]);
    let silent = chance.one_in(4);
    // Nothing else is to keep anybody from buying.
    let cap = Cap {
        count: 100,
        sum: Cents::new(1_000_000),
    };
    plan.settings.caps = Caps::NONE.with(Line::UsaCard, cap);
    let mut steps = vec![Step::Outage { provider, ms, silent }];
    for nth in 0..4 + chance.below(MOST - 4) as u32 {
        let payment = first + 6 * nth;
        steps.push(Step::Pay {
            payment,
            request: 0,
            patience_ms: chance.one_in(5).then_some(500),
        });
        let ms = pick(&mut chance, &[20, 300, 1_000, 3_000]);
        steps.push(Step::Wait { ms });
        if chance.one_in(4) {
            let issue = Vec::new();
            let fate = Fate::of(&mut chance);
            plan.fates.entry(payment).or_insert(Fate { issue, ..fate });
        }
    }
    let at = chance.below(plan.steps.len() as u64 + 1) as usize;
    plan.steps.splice(at..at, steps);
}

/// An operator has what got stuck while a provider was down tried again, once. Whether there was anything.
pub(crate) async fn operate(world: &World, engine: &Engine, effects: &[Effect]) -> bool {
    let mut any = false;
    let made = |work: &Work| matches!(work, Work::IssueCard(_) | Work::OrderGiftCard(_));
    let were_down = !world.outages.lock().down.is_empty();
    for effect in effects.iter().filter(|e| e.stuck && were_down && made(&e.work)) {
        if !world.outages.lock().retried.insert(effect.id) {
            continue;
        }
        let told = engine.retry(effect.id, &act(0)).await;
        world.trace(|| format!("operator: {} is tried again after an outage: {told:?}", effect.work.name()));
        any = true;
    }
    any
}
