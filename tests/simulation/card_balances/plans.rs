//! When something is done with a balance at the card issuer.

use purser_actors::port::CardAction;
use purser_storage::sim_disk::SeededRng;

use super::{CardBalanceStep, OWNERS};
use crate::plan::{Plan, Step, pick};
use crate::withdrawal_operators::OperatorStep;

/// Adds what is done with balances to a plan by chance of its own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x6c6f_6164);
    if chance.one_in(3) {
        return;
    }
    let mut steps = Vec::new();
    for nth in 0..1 + chance.next_below(OWNERS.into()) as u32 {
        let wallet = nth as u8;
        steps.push(Step::Issuer { wallet, linked: true });
        let cents = pick(&mut chance, &[900, 2_500, 10_000]);
        steps.push(load(CardBalanceStep::Deposits(nth, cents)));
    }
    let mut at = chance.next_below(plan.steps.len() as u64 / 2 + 1) as usize;
    for _ in 0..5 + chance.next_below(18) {
        steps.extend(random_steps(&mut chance).into_iter().map(load));
    }
    for step in steps {
        plan.steps.insert(at, step);
        at += 1;
        // Some of it at once, some between whatever else happens.
        if chance.one_in(2) {
            at = (at + chance.next_below(4) as usize).min(plan.steps.len());
        }
        if chance.one_in(4) {
            let ms = pick(&mut chance, &[5, 100, 700, 3_000]);
            plan.steps.insert(at, Step::Wait { ms });
            at += 1;
        }
    }
}

const fn load(does: CardBalanceStep) -> Step {
    match does {
        CardBalanceStep::Waits(ms) => Step::Wait { ms },
        does => Step::CardBalance(does),
    }
}

/// What happens next: some things take several steps.
fn random_steps(chance: &mut SeededRng) -> Vec<CardBalanceStep> {
    let (nth, known) = (chance.next_below(6) as u32, chance.next_below(3) as u32);
    let cents = pick(chance, &[1, 90, 250, 400]);
    match chance.next_below(24) {
        // Now and then an impatient holder.
        0..5 if chance.one_in(4) => vec![CardBalanceStep::Orders(nth); 2],
        0..5 => vec![CardBalanceStep::Orders(nth)],
        5 | 6 => vec![CardBalanceStep::ChangesCardState(known, CardAction::Pause)],
        7 | 8 => vec![CardBalanceStep::ChangesCardState(known, CardAction::Resume)],
        9 => vec![
            CardBalanceStep::ChangesCardState(known, CardAction::Pause),
            CardBalanceStep::ChangesCardState(known, CardAction::Close),
        ],
        10 => vec![CardBalanceStep::ChangesCardState(nth, CardAction::Close)],
        11..14 => vec![CardBalanceStep::IsCharged(known, cents)],
        14 => vec![CardBalanceStep::Closes(nth)],
        15 => vec![CardBalanceStep::Reveals(known)],
        16 => vec![CardBalanceStep::Deposits(nth, 700)],
        17 => vec![CardBalanceStep::Withdraws(known); 2],
        18 => vec![CardBalanceStep::Withdraws(known)],
        _ => operators(chance, known),
    }
}

/// What operators do with a withdrawal that was asked for.
fn operators(chance: &mut SeededRng, nth: u32) -> Vec<CardBalanceStep> {
    let who = chance.next_below(3) as u8;
    let by = |who: u8, hand| CardBalanceStep::Operates(nth, who % 3, hand);
    let asked = vec![CardBalanceStep::Withdraws(nth), CardBalanceStep::Waits(700)];
    let does = match chance.next_below(9) {
        0 | 1 => vec![by(who, OperatorStep::Pay)],
        2 => vec![
            by(who, OperatorStep::Claim),
            CardBalanceStep::Waits(100),
            by(who, OperatorStep::Finish),
        ],
        3 => vec![
            by(who, OperatorStep::Claim),
            CardBalanceStep::Waits(300),
            by(who, OperatorStep::Release),
        ],
        4 => vec![
            by(who, OperatorStep::Claim),
            CardBalanceStep::Waits(100),
            by(who, OperatorStep::Reject),
        ],
        5 => vec![by(who, OperatorStep::RejectUnclaimed)],
        // A lease that ends, and is followed by another's.
        6 => vec![
            by(who, OperatorStep::Claim),
            CardBalanceStep::Waits(3_000),
            by(who + 1, OperatorStep::Claim),
            CardBalanceStep::Waits(100),
            by(who, OperatorStep::Reject),
            by(who + 1, OperatorStep::Finish),
        ],
        7 => vec![
            by(who, OperatorStep::Claim),
            CardBalanceStep::Waits(3_000),
            by(who + 1, OperatorStep::Pay),
            by(who, OperatorStep::Finish),
        ],
        _ => vec![
            CardBalanceStep::Withdraws(nth + 3),
            CardBalanceStep::Waits(700),
            CardBalanceStep::Operates(nth + 3, who, OperatorStep::Pay),
            CardBalanceStep::Waits(1_500),
            by(who, OperatorStep::Claim),
            CardBalanceStep::Waits(100),
            by(who, OperatorStep::PayWithAnothers),
        ],
    };
    asked.into_iter().chain(does).collect()
}
