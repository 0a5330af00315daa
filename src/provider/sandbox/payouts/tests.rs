#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::currency::Currency;
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;
use purser_actors::port::payouts::PayoutRailStatus;
use tempfile::TempDir;

use super::*;
use crate::payouts::{Payee, PayoutRail};
use purser_sandbox::faults::Fault;
use purser_sandbox::test_store::{store_in, stored_text};

struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

struct Harness {
    dir: TempDir,
    clock: Arc<TestClock>,
    payouts: SandboxPayouts,
}

fn open(dir: &TempDir, clock: &Arc<TestClock>) -> SandboxPayouts {
    let settings = SandboxPayoutSettings {
        timeout_after_ms: 1,
        ..SandboxPayoutSettings::default()
    };
    SandboxPayouts::open(&store_in(dir.path()), settings, clock.clone()).unwrap()
}

fn harness() -> Harness {
    let (dir, clock) = (
        tempfile::tempdir().unwrap(),
        Arc::new(TestClock(AtomicU64::new(1_768_473_000_000))),
    );
    let rails = open(&dir, &clock);
    Harness {
        dir,
        clock,
        payouts: rails,
    }
}

fn name(state: &PayoutRailStatus) -> &'static str {
    match state {
        PayoutRailStatus::InProcess { .. } => "in-process",
        PayoutRailStatus::Complete { .. } => "complete",
        PayoutRailStatus::Failed { .. } => "failed",
        PayoutRailStatus::Cancelled { .. } => "cancelled",
        PayoutRailStatus::Returned { .. } => "returned",
    }
}

impl Harness {
    fn wait(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    fn restarted(self) -> Self {
        let Self {
            dir,
            clock,
            payouts: rails,
        } = self;
        drop(rails);
        let rails = open(&dir, &clock);
        Self {
            dir,
            clock,
            payouts: rails,
        }
    }

    /// Name of an order's status, or the kind of its error.
    async fn send_result(&self, order: &PayoutOrder) -> String {
        match self.payouts.send(order.clone()).await {
            Ok(report) => format!("{} {}", report.sequence, name(&report.status)),
            Err(error) => format!("{:?}", error.kind),
        }
    }

    /// All events of a payout, in the order of their reports.
    async fn events_of(&self, payout: PayoutId) -> Vec<String> {
        let events = self.payouts.events_after(0, 1_000).await.unwrap();
        let of_it = events.iter().filter(|word| word.payout == payout);
        of_it
            .map(|word| format!("{} {}", word.update.sequence, name(&word.update.status)))
            .collect()
    }
}

fn order(key: u128, cents: u64) -> PayoutOrder {
    PayoutOrder {
        key: JobId(key),
        payout_id: PayoutId(key + 1_000),
        rail: PayoutRail::BankPayment,
        amount: Cents::new(cents),
        currency: Currency::USD,
        payee: Payee::Bank {
            routing_number: "021000021".into(),
            account_number: Secret::new("000123456789".into()),
            account_holder_name: "Ada Lovelace".into(),
        },
    }
}

// Checks: a key pays once, over repetitions and restarts; the same key with different content is rejected.
#[tokio::test]
async fn a_key_pays_once() {
    let world = harness();
    let one = order(1, 5_000);
    for _ in 0..3 {
        assert_eq!(world.send_result(&one).await, "1 in-process");
    }
    world.wait(1_500);
    let world = world.restarted();
    assert_eq!(world.send_result(&one).await, "2 complete");
    assert_eq!(world.send_result(&order(1, 5_001)).await, "Permanent");
    let app = PayoutOrder {
        rail: PayoutRail::AppPayment,
        payee: Payee::App {
            platform: "venmo".into(),
            recipient: "@ada".into(),
            first_name: "Ada".into(),
            last_name: "Lovelace".into(),
            email: "ada@example.com".into(),
        },
        ..one.clone()
    };
    assert_eq!(world.send_result(&app).await, "Permanent");
    assert_eq!(world.payouts.state().await.unwrap().orders, 1);
    assert_eq!(world.events_of(one.payout_id).await, ["1 in-process", "2 complete"]);
}

// Checks: each magic amount has the documented outcome, also after a restart.
#[tokio::test]
async fn magic_amounts_have_their_documented_outcome() {
    for (cents, first, words) in [
        (1666, "1 failed", "1 failed"),
        (1888, "Unknown", "1 in-process, 2 complete"),
        (2111, "1 in-process", "1 in-process, 2 complete, 3 returned"),
        (
            2222,
            "1 in-process",
            "1 in-process, 3 complete, 2 in-process, 3 complete, 2 in-process",
        ),
        (2333, "1 in-process", "1 in-process, 2 complete, 3 failed"),
        (2444, "1 in-process", "1 in-process, 2 failed, 3 complete"),
        (2555, "1 in-process", "1 in-process, 2 failed, 3 complete"),
        (2666, "1 in-process", "1 in-process, 2 cancelled"),
        (2777, "1 in-process", "1 in-process"),
    ] {
        let world = harness();
        let order = order(u128::from(cents), cents);
        assert_eq!(world.send_result(&order).await, first, "{cents}");
        world.wait(1_500);
        world.payouts.state().await.unwrap();
        let world = world.restarted();
        world.wait(60_000);
        assert_eq!(world.events_of(order.payout_id).await.join(", "), words, "{cents}");
        let world = world.restarted();
        assert_eq!(
            world.events_of(order.payout_id).await.join(", "),
            words,
            "{cents} again"
        );
    }
    let world = harness();
    let busy = order(1999, 1999);
    assert_eq!(
        [
            world.send_result(&busy).await,
            world.send_result(&busy).await,
            world.send_result(&busy).await
        ],
        ["Temporary", "Temporary", "1 in-process"]
    );
    let slow = order(1777, 1777);
    world.send_result(&slow).await;
    world.wait(9_999);
    assert_eq!(world.events_of(slow.payout_id).await, ["1 in-process"]);
    world.wait(1);
    assert_eq!(world.events_of(slow.payout_id).await, ["1 in-process", "2 complete"]);
}

// Checks: an unclaimed payout, or one that was paid after a decline, is recalled once; a paid or lost payout is not.
#[tokio::test]
async fn payout_is_recalled_once_and_only_while_possible() {
    for (cents, waited, recall, last) in [
        (2777, 0, RecallResult::Recalled, "2 returned"),
        (5000, 0, RecallResult::Recalled, "2 returned"),
        (5000, 1_500, RecallResult::TooLate, "2 complete"),
        (2444, 9_000, RecallResult::Recalled, "4 returned"),
        (2555, 9_000, RecallResult::TooLate, "3 complete"),
    ] {
        let world = harness();
        let order = order(7, cents);
        world.send_result(&order).await;
        world.wait(waited);
        let ask = async |world: &Harness| world.payouts.recall(order.key, order.payout_id).await.unwrap();
        assert_eq!(ask(&world).await, recall, "{cents} after {waited}");
        let world = world.restarted();
        assert_eq!(ask(&world).await, recall, "{cents} after {waited}, asked again");
        world.wait(60_000);
        assert_eq!(world.events_of(order.payout_id).await.last().unwrap(), last, "{cents}");
        let recalled = usize::from(recall == RecallResult::Recalled);
        assert_eq!(world.payouts.state().await.unwrap().recalled, recalled);
    }
}

// Checks: every fault meets one call and has the documented outcome.
#[tokio::test]
async fn faults_have_their_documented_outcome() {
    let world = harness();
    let said = async |fault, key| {
        world.payouts.faults.add(fault, Some(1));
        let order = order(key, 5_000);
        let met = world.send_result(&order).await;
        (met, world.send_result(&order).await)
    };
    let pair = |met: &str, then: &str| (met.to_owned(), then.to_owned());
    assert_eq!(said(Fault::Unreachable, 1).await, pair("Temporary", "1 in-process"));
    assert_eq!(said(Fault::MalformedResponse, 2).await, pair("Unknown", "1 in-process"));
    assert_eq!(said(Fault::Timeout, 3).await, pair("Unknown", "1 in-process"));
    assert_eq!(said(Fault::Decline, 4).await, pair("1 failed", "1 failed"));
    assert_eq!(
        said(Fault::Slow { ms: 1 }, 5).await,
        pair("1 in-process", "1 in-process")
    );
    assert_eq!(said(Fault::Duplicate, 6).await, pair("1 in-process", "1 in-process"));
    assert_eq!(world.events_of(PayoutId(1_006)).await, ["1 in-process", "1 in-process"]);
    let state = world.payouts.state().await.unwrap();
    assert_eq!(
        (
            state.orders,
            world.payouts.faults.injected(),
            world.payouts.faults.waiting().len()
        ),
        (6, 6, 0)
    );
    world.payouts.faults.add(Fault::Unreachable, None);
    assert!(world.payouts.events_after(0, 10).await.is_err());
    world.payouts.faults.clear();
    assert!(world.payouts.events_after(0, 10).await.is_ok());
}

// Checks: events can be read from any number, each once and in order, including events of the sandbox controls.
#[tokio::test]
async fn payout_events_resume_from_any_position() {
    let world = harness();
    for key in 1..=5 {
        world.send_result(&order(key, 5_000)).await;
    }
    world.wait(1_500);
    assert!(
        world
            .payouts
            .emit_event(PayoutId(1_002), PayoutEventKind::Returned, None)
            .await
            .unwrap()
    );
    assert!(
        world
            .payouts
            .emit_event(PayoutId(1_003), PayoutEventKind::Failed, Some(1))
            .await
            .unwrap()
    );
    assert!(
        !world
            .payouts
            .emit_event(PayoutId(9), PayoutEventKind::Failed, None)
            .await
            .unwrap()
    );
    let all = world.payouts.events_after(0, 1_000).await.unwrap();
    assert_eq!(all.len(), 12);
    let mut read = Vec::new();
    while let Some(next) = world
        .payouts
        .events_after(read.last().map_or(0, |w: &PayoutEvent| w.position), 5)
        .await
        .unwrap()
        .first()
        .cloned()
    {
        read.push(next);
    }
    assert_eq!(read, all);
    assert_eq!(
        world.events_of(PayoutId(1_002)).await,
        ["1 in-process", "2 complete", "3 returned"]
    );
    assert_eq!(world.events_of(PayoutId(1_003)).await.last().unwrap(), "1 failed");
}

// Checks: the rails' file contains no card or account number.
#[tokio::test]
async fn file_contains_no_card_or_account_number() {
    let world = harness();
    let number = Secret::new("4000008400001234".to_owned());
    let country = world.payouts.card_country(&number).await.unwrap();
    assert_eq!(country.unwrap().as_str(), "US");
    let card = PayoutOrder {
        rail: PayoutRail::PushToCard,
        payee: Payee::Card {
            number,
            exp_month: 12,
            exp_year: 2031,
        },
        ..order(2, 5_000)
    };
    world.send_result(&order(1, 5_000)).await;
    world.send_result(&card).await;
    for secret in ["4000008400001234", "000123456789"] {
        assert!(!stored_text(world.dir.path(), secret));
    }
    assert!(stored_text(world.dir.path(), "version"), "the journal was searched");
}
