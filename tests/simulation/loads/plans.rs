//! When something is done with a balance at the card issuer.

use purser_actors::port::Wish;
use purser_storage::fault::Seeded;

use super::{HOLDERS, Loads};
use crate::counter::Hand;
use crate::plan::{Plan, Step, pick};

/// Adds what is done with balances to a plan by chance of its own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = Seeded::new(plan.seed ^ 0x6c6f_6164);
    if chance.one_in(3) {
        return;
    }
    let mut steps = Vec::new();
    for nth in 0..1 + chance.below(HOLDERS.into()) as u32 {
        let wallet = nth as u8;
        steps.push(Step::Issuer { wallet, linked: true });
        let cents = pick(&mut chance, &[900, 2_500, 10_000]);
        steps.push(load(Loads::Comes(nth, cents)));
    }
    let mut at = chance.below(plan.steps.len() as u64 / 2 + 1) as usize;
    for _ in 0..5 + chance.below(18) {
        steps.extend(does(&mut chance).into_iter().map(load));
    }
    for step in steps {
        plan.steps.insert(at, step);
        at += 1;
        // Some of it at once, some between whatever else happens.
        if chance.one_in(2) {
            at = (at + chance.below(4) as usize).min(plan.steps.len());
        }
        if chance.one_in(4) {
            let ms = pick(&mut chance, &[5, 100, 700, 3_000]);
            plan.steps.insert(at, Step::Wait { ms });
            at += 1;
        }
    }
}

const fn load(does: Loads) -> Step {
    match does {
        Loads::Passes(ms) => Step::Wait { ms },
        does => Step::Load(does),
    }
}

/// What happens next: some things take several steps.
fn does(chance: &mut Seeded) -> Vec<Loads> {
    let (nth, known) = (chance.below(6) as u32, chance.below(3) as u32);
    let cents = pick(chance, &[1, 90, 250, 400]);
    match chance.below(24) {
        // Now and then an impatient holder.
        0..5 if chance.one_in(4) => vec![Loads::Orders(nth); 2],
        0..5 => vec![Loads::Orders(nth)],
        5 | 6 => vec![Loads::Steers(known, Wish::Pause)],
        7 | 8 => vec![Loads::Steers(known, Wish::Resume)],
        9 => vec![Loads::Steers(known, Wish::Pause), Loads::Steers(known, Wish::Close)],
        10 => vec![Loads::Steers(nth, Wish::Close)],
        11..14 => vec![Loads::IsCharged(known, cents)],
        14 => vec![Loads::Ends(nth)],
        15 => vec![Loads::Reveals(known)],
        16 => vec![Loads::Comes(nth, 700)],
        17 => vec![Loads::TakesBack(known); 2],
        18 => vec![Loads::TakesBack(known)],
        _ => operators(chance, known),
    }
}

/// What operators do with a withdrawal that was asked for.
fn operators(chance: &mut Seeded, nth: u32) -> Vec<Loads> {
    let who = chance.below(3) as u8;
    let by = |who: u8, hand| Loads::Operates(nth, who % 3, hand);
    let asked = vec![Loads::TakesBack(nth), Loads::Passes(700)];
    let does = match chance.below(9) {
        0 | 1 => vec![by(who, Hand::Pay)],
        2 => vec![by(who, Hand::Claim), Loads::Passes(100), by(who, Hand::Finish)],
        3 => vec![by(who, Hand::Claim), Loads::Passes(300), by(who, Hand::Release)],
        4 => vec![by(who, Hand::Claim), Loads::Passes(100), by(who, Hand::Reject)],
        5 => vec![by(who, Hand::RejectUnclaimed)],
        // A lease that ends, and is followed by another's.
        6 => vec![
            by(who, Hand::Claim),
            Loads::Passes(3_000),
            by(who + 1, Hand::Claim),
            Loads::Passes(100),
            by(who, Hand::Reject),
            by(who + 1, Hand::Finish),
        ],
        7 => vec![
            by(who, Hand::Claim),
            Loads::Passes(3_000),
            by(who + 1, Hand::Pay),
            by(who, Hand::Finish),
        ],
        _ => vec![
            Loads::TakesBack(nth + 3),
            Loads::Passes(700),
            Loads::Operates(nth + 3, who, Hand::Pay),
            Loads::Passes(1_500),
            by(who, Hand::Claim),
            Loads::Passes(100),
            by(who, Hand::PayWithAnothers),
        ],
    };
    asked.into_iter().chain(does).collect()
}
