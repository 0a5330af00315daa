//! `kill -9` in a loop. See `main.rs` for how to run it longer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::agent::Agent;
use super::crash_checks::{Subscriber, Totals, settle_accounts};
use super::crash_traffic::{AgentPool, Dice};
use super::host::{Host, TIMEOUT};
use super::http::ServiceClient;

/// Minimum number of calls in flight at each kill.
const IN_FLIGHT: usize = 64;
/// Kills of one data directory before its accounts are settled and a new one starts. This bounds the reads of a start.
const KILLS_A_DIRECTORY: usize = 20;
/// How often each open state must occur in a run of 60 kills or more.
const MIN_MEETINGS: u64 = 10;
/// Every state in which a payment can be killed.
const OPEN_STATES: [&str; 6] = ["claimed", "settling", "unknown", "declined", "released", "settled"];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn kills() -> usize {
    let chosen = number("PURSER_KILLS").and_then(|n| usize::try_from(n).ok());
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    chosen.unwrap_or(if in_ci { 60 } else { 6 })
}

/// Number of payments found in each state right after a kill.
#[derive(Default)]
struct Tally(BTreeMap<String, u64>);

impl Tally {
    /// Reads the store after a kill. The ledger must balance in the state the kill left.
    fn count(&mut self, host: &Host) {
        let report = host.assert_verified();
        for (state, n) in report["payments"].as_object().unwrap() {
            *self.0.entry(state.clone()).or_default() += n.as_u64().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_loop() {
    // Checks: The service is killed repeatedly with at least 64 paid calls in flight. Every settled payment has exactly
    // one card or one credit, and no response contradicts an earlier one. The stream resumes without a gap or a
    // duplicate, and the ledger balances after every kill.
    let started = Instant::now();
    let seed = number("PURSER_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let kills = kills();
    eprintln!("kill loop: {kills} kills, PURSER_SEED={seed}");
    let mut tally = Tally::default();
    let mut done = 0;
    let mut all = Totals::default();
    let thin = |tally: &Tally| {
        OPEN_STATES
            .iter()
            .any(|state| tally.0.get(*state).copied().unwrap_or(0) < MIN_MEETINGS)
    };
    // A state that lasts for two commits doesn't occur at every kill. A run that must cover them all continues until it
    // has.
    while done < kills || (kills >= 60 && done < 3 * kills && thin(&tally)) {
        let now = if done < kills {
            KILLS_A_DIRECTORY.min(kills - done)
        } else {
            KILLS_A_DIRECTORY
        };
        let totals = directory(seed.wrapping_add(done as u64), now, &mut tally).await;
        all.transfers += totals.transfers;
        all.cards += totals.cards;
        all.credits += totals.credits;
        done += now;
    }
    eprintln!(
        "kill loop: {all:?} in {:?}; states when killed: {:?}",
        started.elapsed(),
        tally.0
    );
    assert!(all.cards > 0 && all.transfers == all.cards + all.credits);
    if kills >= 60 {
        for state in OPEN_STATES {
            let hit = tally.0.get(state).copied().unwrap_or(0);
            assert!(hit >= MIN_MEETINGS, "`{state}` was hit {hit} times");
        }
        assert!(all.credits > 0, "no late transfer was credited");
    }
}

/// Runs one data directory through this many kills and checks the result.
async fn directory(seed: u64, kills: usize, tally: &mut Tally) -> Totals {
    let host = Host::new()
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "40")
        .with("PURSER_ENGINE__MAX_BACKOFF_MS", "500")
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "2000")
        // A quarter of the agents' cards fail at first. After a kill, five of them can fail in a row, which closes the
        // line. A closed line delivers one order every ten seconds, longer than this test waits. `outages.rs` tests
        // that rule.
        .with("PURSER_ENGINE__LINE_FAILURES", "0")
        .with("RUST_LOG", "error");
    let crowd = AgentPool::new(seed);
    let mut dice = Dice::new(seed, u64::MAX);
    let mut subscribers: Vec<Subscriber> = Vec::new();
    for life in 0..kills {
        let start = Instant::now();
        let service = host.start();
        let start = start.elapsed();
        if subscribers.is_empty() {
            let site = ServiceClient::of(&service);
            for agent in &crowd.agents[..2] {
                subscribers.push(Subscriber::new(Agent::token(agent, &site).await));
            }
        }
        let mut tasks = crowd.run(&service, life as u64).await;
        for subscriber in &subscribers {
            tasks.push(tokio::spawn(subscriber.clone().listen(service.url.clone())));
        }
        let longest = if dice.below(3) == 0 { 20 } else { 350 };
        busy(&crowd).await;
        tokio::time::sleep(Duration::from_millis(dice.below(longest) as u64)).await;
        busy(&crowd).await;
        crowd.expect_kill();
        let in_flight = crowd.in_flight();
        service.kill();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(in_flight >= IN_FLIGHT);
        assert_eq!(crowd.log.lock().unwrap().problems, Vec::<String>::new());
        tally.count(&host);
        if dice.below(2) == 0 {
            // A kill during recovery: jobs are in progress and the service is not listening yet.
            let percent = 40 + u32::try_from(dice.below(100)).unwrap();
            host.start_and_kill(start * percent / 100);
            tally.count(&host);
        }
    }
    let service = host.start();
    let totals = settle_accounts(&crowd, &service, &subscribers).await;
    service.stop();
    host.assert_verified();
    totals
}

async fn busy(crowd: &AgentPool) {
    let started = Instant::now();
    while crowd.in_flight() < IN_FLIGHT {
        assert!(
            started.elapsed() < TIMEOUT,
            "only {} calls in flight",
            crowd.in_flight()
        );
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
