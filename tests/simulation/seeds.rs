//! Seed after seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::environment::ORDERED_PANIC;
use crate::minimize::shrink;
use crate::plan::Plan;
use crate::results;
use crate::run::{Outcome, run};

/// Number of seeds that always run, before fresh ones.
const FIXED: u64 = 50;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Keeps ordered panics out of the output; every other panic prints as always.
pub(crate) fn quiet_ordered_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.payload().downcast_ref::<String>();
            if text.is_none_or(|text| text != ORDERED_PANIC) {
                print(info);
            }
        }));
    });
}

/// The seed's whole story, as short as it gets.
fn describe_failure(seed: u64, outcome: &Outcome) -> String {
    let objection = outcome.violation.clone().unwrap();
    let story = shrink(&Plan::from_seed(seed), objection.rule);
    let short = run(&story, true);
    let trace = short
        .trace
        .iter()
        .rev()
        .take(60)
        .rev()
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    let detail = short.violation.map(|o| o.detail).unwrap_or_default();
    format!(
        "seed {seed} violates {}: {detail}\n(replay it with PURSER_SIM_SEED={seed})\n{story}\n{trace}",
        objection.rule
    )
}

/// Does something with each item on all processors, and keeps the order.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return done };
            done.push((place, act(item)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs seeds on all processors and reports the first failure.
fn run_all(seeds: &[u64]) {
    quiet_ordered_panics();
    let begun = Instant::now();
    let stop = AtomicBool::new(false);
    let ran = in_parallel(seeds, |seed| {
        if stop.load(Ordering::Relaxed) {
            return (*seed, None);
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&Plan::from_seed(*seed), false)));
        let good = outcome.as_ref().is_ok_and(|o| o.violation.is_none());
        stop.fetch_or(!good, Ordering::Relaxed);
        (*seed, Some(outcome))
    });
    let sum = |count: fn(&Outcome) -> u64| -> u64 { ran.iter().flat_map(|(_, r)| r).flatten().map(count).sum() };
    let text = format!(
        "{} seeds, {} process starts, {} points at which the process could die, {} s\n",
        seeds.len(),
        sum(|o| o.runs),
        sum(|o| o.crash_points),
        begun.elapsed().as_secs()
    );
    println!("{text}");
    for (seed, outcome) in &ran {
        match outcome {
            Some(Ok(outcome)) if outcome.violation.is_some() => panic!("{}", describe_failure(*seed, outcome)),
            Some(Err(_)) => panic!("seed {seed} panicked"),
            _ => {}
        }
    }
    results::write("seeds", &text);
}

// Checks: no combination of faults violates an invariant.
#[test]
fn simulation_holds_all_invariants() {
    if let Some(seed) = number("PURSER_SIM_SEED") {
        quiet_ordered_panics();
        let outcome = run(&Plan::from_seed(seed), true);
        println!("{}\n{}", Plan::from_seed(seed), outcome.trace.join("\n"));
        if outcome.violation.is_some() {
            panic!("{}", describe_failure(seed, &outcome));
        }
        return;
    }
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let fresh = number("PURSER_SIM_SEEDS").unwrap_or(if ci { 450 } else { 50 });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    let first = number("PURSER_SIM_FIRST").unwrap_or(now);
    let seeds: Vec<u64> = (0..FIXED).chain((0..fresh).map(|n| first.wrapping_add(n))).collect();
    run_all(&seeds);
}

// Checks: two runs of a seed have the same trace.
#[test]
fn a_seed_replays_exactly() {
    quiet_ordered_panics();
    for seed in 0..20 {
        let (one, other) = (run(&Plan::from_seed(seed), true), run(&Plan::from_seed(seed), true));
        assert!(one.trace.len() > 20, "seed {seed} tells nothing");
        let differs = one.trace.iter().zip(&other.trace).position(|(a, b)| a != b);
        if let Some(at) = differs {
            panic!("seed {seed}, line {at}:\n{}\n{}", one.trace[at], other.trace[at]);
        }
        assert_eq!(one.trace.len(), other.trace.len(), "seed {seed}");
    }
}

// Checks: the runs meet every fault and answer. A simulator that no longer injects a fault would always pass.
#[test]
fn seeds_meet_every_fault_and_every_answer() {
    quiet_ordered_panics();
    let seeds: Vec<u64> = (0..400).collect();
    let traces = in_parallel(&seeds, |seed| run(&Plan::from_seed(*seed), true).trace);
    let met = |what: &str| {
        traces
            .iter()
            .filter(|t| t.iter().any(|line| line.contains(what)))
            .count()
    };
    let table: Vec<(&str, usize)> = REQUIRED_TRACE.iter().map(|what| (*what, met(what))).collect();
    println!("{table:?}");
    let never: Vec<_> = table.iter().filter(|(_, seeds)| *seeds == 0).collect();
    assert!(never.is_empty(), "never met: {never:?}");
}

/// Words of a trace that some seed must come to.
const REQUIRED_TRACE: &[&str] = &[
    "the identity ended as verified",
    "the identity ended as rejected",
    "the link ended as linked",
    "the link ended as unlinked",
    "callback: Ok(())",
    "callback: Err(Rejected(DifferentCheck))",
    "people meet Lost",
    "people meet Hangs",
    "people meet No",
    "Err(Condition(",
    "Err(SessionFailed)",
    "Err(TooLarge(",
    "outcome: Fulfilled",
    "outcome: Credited",
    "outcome: Declined",
    "outcome: Pending",
    "outcome: Unavailable",
    "withdrawal ended as complete",
    "withdrawal ended as failed",
    "a bank transfer Incoming is complete",
    "a bank transfer ToAccount is complete",
    "a bank transfer ToAccount is failed",
    "a bank transfer ToBalance is complete",
    "a bank transfer ToBalance is failed",
    "meets weather 3",
    "meets weather 4",
    "meets weather 5",
    "is notified of withdrawal 2: (202",
    "is notified of withdrawal 4: (409",
    "won: false",
    "Err(Frozen",
    "Err(DailyCountCap",
    "Err(DailyAmountCap",
    "Err(AlreadyUsed",
    "Err(Overloaded",
    "Err(Unavailable",
    "Err(OutcomeUnknown(",
    "goes away",
    "meets LandsAnswerLost",
    "meets LandsAndHangs",
    "meets NothingAnswerLost",
    "meets NothingAndHangs",
    "meets AnswerLostLandsLater",
    "meets Declines",
    "meets DeclinesLandsLater",
    "meets Temporary",
    "meets Permanent",
    "meets PanicsBefore",
    "meets PanicsAfter",
    "meets ObservedSettled",
    "meets ObservedLost",
    "meets MadeAnswerLost",
    "meets MadeAndHangs",
    "meets MadeSaysPending",
    "dies at a point",
    "dies the journal failed",
    "dies the snapshots failed",
    "a life that ends as it begins",
    "a reloadable card ended as open",
    "a reloadable card ended as paused",
    "a reloadable card ended as closed",
    "a reloadable card ended as failed",
    "a card withdrawal ended as queued",
    "a card withdrawal ended as claimed",
    "a card withdrawal ended as complete",
    "a card withdrawal ended as rejected",
    "a card withdrawal ended as failed",
    "is carried out late",
    "owner is notified of card 0: Some(\"open\")",
    "owner is notified of card 3: Some(\"failed\")",
    "owner: pause of",
    "owner: resume of",
    "Err(Rejected(ActionInProgress(",
    "PayWithAnothers of",
    "Finish of",
    "an application ended as approved",
    "an application ended as rejected",
    "an application ended as incomplete",
    "Submits at the bank: Ok(())",
    "Submits at the bank: Err(Rejected(Incomplete",
    "at the bank: Err(Rejected(Insufficient",
    "of a balance's payout: complete",
    "a wallet payment ended as settled",
    "a wallet payment ended as unsettled",
    "a wallet payment ended as failed",
    "is answered and not taken",
    "the pins allow nothing: Amount",
    "Err(Rejected(PerCall",
    "Err(Rejected(DailyCap",
    "Err(Rejected(Insufficient { available",
    "agent is notified of wallet payment 0: Some(\"settled\")",
    "buried after Kill",
    "buried after PowerCut",
    "buried after SnapshotsLost",
    "no storage space",
    "sync error",
    "ended as released",
    "ended as refused",
    "ended as credited",
    "ended as failed",
    "ended as closed",
    "ended as queued",
    "ended as claimed",
    "ended as cancelled",
    "ended as rejected",
    "ended as expired",
    "is destroyed",
    "lease 2",
    "Fulfil of",
    "Make of",
    "is not claimed: Rejected(Lease(HeldByOther",
    "FulfilOld of",
    "Rejected(Lease(Stale",
    "is dead-lettered",
    "ended as awaiting-details",
    "ended as complete",
    "ended as returned",
    "form of",
    "is asked back in weather 9: Recalled",
    "is asked back in weather 9: TooLate",
    "meets TakenAndHangs",
    "meets TakenAndPanics",
    "meets Stale",
    "PaysThenFails",
    "FailsThenPays { is_lost: true }",
    "its course Unclaimed",
    "Err(PreconditionFailed(OwnsDestination",
    "Delete of rcp_",
    "events are forgotten",
    "wrong (Ok(())): None",
    "wrong (Ok(())): Some(",
    "a top-up ended: solana Credited",
    "a top-up ended: base Credited",
    "issuer_not_linked",
    "delivery_unavailable",
    "delivery_declined",
    "mint_impossible",
    "Err(PreconditionFailed(IssuerLinked",
    "operator: await_issuer_credit",
    "attesters say Ok(Expired",
    "message_expired",
    "is answered Ok(NonceUsed",
    "meets Some(Wrong)",
    "meets Some(CompletedButDeclined)",
    "meets Some(DoneHangs)",
    "meets Some(DonePanics)",
    "backed up to",
    "restored: RestoreMark",
    "ended as Credited(",
    "ended as Adopted(",
    "is presented again and its transfer was credited",
    "meets an outage",
    "key 0 is revoked: Ok",
    "Err(Rejected(Revoked))",
];
