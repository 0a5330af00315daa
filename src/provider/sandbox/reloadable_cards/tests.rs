//! The provider checks a balance once for each key, even under concurrency, and keeps the decision after a restart.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use purser_actors::id::WithdrawalId;
use purser_actors::port::HoldResult;

use super::*;
use purser_host::system::SystemClock;
use purser_sandbox::test_store::store_in;

const ACCOUNT: [u8; 20] = [7; 20];

/// A balance that never changes.
struct Deposited(u64);

impl CardBalanceReader for Deposited {
    fn balance<'a>(&'a self, account: &'a [u8; 20]) -> PortFuture<'a, Usdc> {
        let cents = if *account == ACCOUNT { self.0 } else { 0 };
        Box::pin(std::future::ready(Ok(Usdc::from_cents(Cents::new(cents)).unwrap())))
    }
}

fn open(dir: &Path, cents: u64) -> SandboxReloadableCards<Deposited> {
    SandboxReloadableCards::open_in(&store_in(dir), Arc::new(Deposited(cents)), Arc::new(SystemClock)).unwrap()
}

fn order(n: u128, cents: u64, reusable: bool) -> OpenCardRequest {
    OpenCardRequest {
        key: JobId(n),
        card: CardId(n),
        account: ACCOUNT,
        amount: Cents::new(cents),
        reusable,
    }
}

fn reserve(n: u128, cents: u64) -> HoldRequest {
    HoldRequest {
        key: JobId(n),
        withdrawal: WithdrawalId(n),
        account: ACCOUNT,
        amount: Cents::new(cents),
    }
}

async fn apply_action(
    program: &SandboxReloadableCards<Deposited>,
    n: u128,
    key: u128,
    card_action: CardAction,
) -> CardSnapshot {
    let order = CardActionRequest {
        key: JobId(key),
        card: CardId(n),
        issuer_ref: card_numbers::issuer_ref(JobId(n)),
        action: card_action,
    };
    program.apply_action(&order).await.unwrap()
}

async fn available(program: &SandboxReloadableCards<Deposited>) -> u64 {
    program.balance(&ACCOUNT).await.unwrap().atomic() / ATOMIC_PER_CENT
}

// Checks: concurrent orders never take more than the balance. A key takes once and has the same answer after a restart,
// even if the balance would allow another one by then.
#[tokio::test(flavor = "multi_thread")]
async fn orders_at_once_never_overdraw_and_a_key_takes_once() {
    let dir = tempfile::tempdir().unwrap();
    let program = Arc::new(open(dir.path(), 1_000));
    let orders = (1..=20).map(|n| {
        let program = program.clone();
        tokio::spawn(async move {
            if n % 2 == 0 {
                matches!(
                    program.open(&order(n, 300, true)).await.unwrap(),
                    PlainOpenResult::Open { .. }
                )
            } else {
                program.hold(&reserve(n, 300)).await.unwrap() == HoldResult::Held
            }
        })
    });
    let mut taken = Vec::new();
    for order in orders.collect::<Vec<_>>() {
        taken.push(order.await.unwrap());
    }
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 3);
    assert_eq!(available(&program).await, 100);
    drop(program);
    // The balance has grown since; a declined order stays declined.
    let program = open(dir.path(), 9_000);
    for (n, taken) in (1..=20).zip(taken) {
        let again = if n % 2 == 0 {
            matches!(
                program.open(&order(n, 300, true)).await.unwrap(),
                PlainOpenResult::Open { .. }
            )
        } else {
            program.hold(&reserve(n, 300)).await.unwrap() == HoldResult::Held
        };
        assert_eq!(again, taken, "order {n}");
    }
    assert_eq!(available(&program).await, 8_100);
    program.open(&order(22, 300, true)).await.unwrap();
    let other = program.open(&order(22, 301, true)).await.unwrap_err();
    assert_eq!(other.kind, ErrorKind::Permanent, "a key is for one order");
}

// Checks: a card is charged while it is open and within its balance; closing returns the rest; a single-use card closes
// with its charge; events are in order.
#[tokio::test]
async fn card_is_charged_while_open_and_returns_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let program = open(dir.path(), 1_000);
    program.open(&order(1, 500, true)).await.unwrap();
    program.open(&order(2, 400, false)).await.unwrap();
    let charge = async |n, cents| {
        let sale = CardCharge {
            merchant: "Books",
            amount: Cents::new(cents),
            settles: true,
        };
        let charged = program.charge(CardId(n), sale).await.unwrap();
        charged.reason.unwrap_or_else(|| charged.status.name().to_owned())
    };
    assert_eq!(charge(1, 100).await, "settled");
    assert_eq!(
        apply_action(&program, 1, 11, CardAction::Pause).await.state,
        CardState::Paused
    );
    assert_eq!(charge(1, 100).await, "card_paused");
    assert_eq!(
        apply_action(&program, 1, 12, CardAction::Resume).await.state,
        CardState::Open
    );
    assert_eq!(
        apply_action(&program, 1, 11, CardAction::Pause).await.state,
        CardState::Open,
        "an old order is not new"
    );
    assert_eq!(charge(1, 401).await, "insufficient_funds");
    assert_eq!(charge(2, 150).await, "settled");
    assert_eq!(charge(2, 1).await, "card_closed");
    assert_eq!(available(&program).await, 350);
    let closed = apply_action(&program, 1, 13, CardAction::Close).await;
    assert_eq!(
        (closed.state, closed.activity.available),
        (CardState::Closed, Cents::ZERO)
    );
    assert_eq!(available(&program).await, 750);
    let events = program.events_after(0, 100).await.unwrap();
    let cards: Vec<_> = events.iter().map(|word| (word.position, word.card.0)).collect();
    // Openings have the first two positions: they are on the list, but are no events.
    let expected = [(3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 2), (9, 2), (10, 2), (11, 1)];
    assert_eq!(cards, expected, "declined charges are events too");
    assert_eq!(program.events_after(4, 1).await.unwrap()[0].position, 5);
    drop(program);
    assert_eq!(available(&open(dir.path(), 1_000)).await, 750);
}

// Checks: a hold is released or captured once; the opposite settlement is rejected afterwards.
#[tokio::test]
async fn hold_is_either_captured_or_released() {
    let dir = tempfile::tempdir().unwrap();
    let program = open(dir.path(), 1_000);
    for n in [1, 2] {
        assert_eq!(program.hold(&reserve(n, 400)).await.unwrap(), HoldResult::Held);
    }
    assert_eq!(
        program.hold(&reserve(3, 201)).await.unwrap(),
        HoldResult::InsufficientBalance
    );
    for _ in 0..2 {
        program.settle_hold(JobId(1), true).await.unwrap();
        program.settle_hold(JobId(2), false).await.unwrap();
    }
    assert_eq!(available(&program).await, 600);
    // A restored store that repeats the request does not get the status `held`.
    for (n, paid) in [(1, true), (2, false)] {
        assert_eq!(
            program.hold(&reserve(n, 400)).await.unwrap(),
            HoldResult::AlreadySettled { paid }
        );
        assert_eq!(
            program.hold_status(JobId(n)).await.unwrap(),
            HoldStatus::Settled { paid }
        );
    }
    assert_eq!(program.hold(&reserve(4, 100)).await.unwrap(), HoldResult::Held);
    for (n, expected_status) in [
        (4, HoldStatus::Held),
        (3, HoldStatus::NotFound),
        (9, HoldStatus::NotFound),
    ] {
        assert_eq!(program.hold_status(JobId(n)).await.unwrap(), expected_status, "{n}");
    }
    assert_eq!(available(&program).await, 500);
    assert_eq!(
        program.settle_hold(JobId(1), false).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    assert_eq!(
        program.settle_hold(JobId(3), false).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
}

// Checks: whatever happens to a response, the order is executed at most once, and an error reveals whether it may have
// been.
#[tokio::test]
async fn faults_take_at_most_once() {
    let dir = tempfile::tempdir().unwrap();
    let program = open(dir.path(), 1_000);
    for (fault, kind) in [
        (Fault::Unreachable, ErrorKind::Temporary),
        (Fault::MalformedResponse, ErrorKind::Unknown),
        (Fault::Timeout, ErrorKind::Unknown),
    ] {
        let remaining = Some(1);
        program.faults.add(fault, remaining);
        assert_eq!(program.open(&order(1, 600, true)).await.unwrap_err().kind, kind);
    }
    assert!(matches!(
        program.open(&order(1, 600, true)).await.unwrap(),
        PlainOpenResult::Open { .. }
    ));
    let (fault, remaining) = (Fault::Decline, Some(1));
    program.faults.add(fault, remaining);
    for _ in 0..2 {
        let declined = program.open(&order(2, 100, true)).await.unwrap();
        assert!(
            matches!(declined, PlainOpenResult::Declined { .. }),
            "an answer never changes"
        );
    }
    assert_eq!(available(&program).await, 400);
}
