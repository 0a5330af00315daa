#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::id::{CardId, JobId};
use purser_actors::port::{CardIssuer as _, Entropy, IssueResult};
use tempfile::TempDir;

use super::*;
use crate::SealingIssuer;
use purser_sandbox::test_store::{copy_after_kill, store_in, stored_text};
use purser_vault::Vault;

struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

impl Entropy for TestClock {
    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

struct Harness {
    dir: TempDir,
    clock: Arc<TestClock>,
    issuer: Arc<SandboxIssuer>,
}

impl Harness {
    fn new() -> Self {
        let clock = Arc::new(TestClock(AtomicU64::new(1_768_473_000_000)));
        let dir = tempfile::tempdir().unwrap();
        let issuer = open(dir.path(), &clock);
        Self { dir, clock, issuer }
    }

    /// The state after `kill -9`: a copy of what is on disk now.
    fn killed(&self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy_after_kill(self.dir.path(), dir.path());
        let issuer = open(dir.path(), &self.clock);
        Self {
            dir,
            clock: Arc::clone(&self.clock),
            issuer,
        }
    }

    fn pass(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    async fn ready(&self, order: &IssueCardRequest) -> PlainCard {
        match self.issuer.issue(order).await.unwrap() {
            PlainIssueResult::Ready { card } => card,
            other => panic!("not ready: {other:?}"),
        }
    }

    async fn cards(&self) -> usize {
        self.issuer.state().await.unwrap().cards
    }
}

fn open(dir: &Path, clock: &Arc<TestClock>) -> Arc<SandboxIssuer> {
    let settings = IssuerSettings {
        timeout_after_ms: 0,
        ..IssuerSettings::default()
    };
    let clock: Arc<dyn Clock> = Arc::<TestClock>::clone(clock);
    Arc::new(SandboxIssuer::open(&store_in(dir), settings, clock).unwrap())
}

fn order(key: u128, cents: u64) -> IssueCardRequest {
    IssueCardRequest {
        key: JobId(key),
        card: CardId(key + 100),
        amount: Cents::new(cents),
    }
}

// Checks: the same key is the same card, concurrently, later and after a kill; another order under the key is rejected.
#[tokio::test]
async fn a_key_makes_one_card() {
    let harness = Harness::new();
    let order_one = order(1, 500);
    let first = harness.issuer.issue(&order_one).await.unwrap();
    assert!(
        matches!(first, PlainIssueResult::Pending { retry_after_ms: 2_000 }),
        "{first:?}"
    );
    let after = harness.killed();
    harness.pass(2_000);
    let card = harness.ready(&order_one).await;
    for harness in [&harness, &after] {
        let again = harness.ready(&order_one).await;
        assert_eq!(again.number.expose_secret(), card.number.expose_secret());
        assert_eq!(
            (again.issuer_ref, again.exp_month, again.exp_year),
            (card.issuer_ref.clone(), 7, 2026)
        );
        assert_eq!(harness.cards().await, 1);
    }
    let other = IssueCardRequest {
        amount: Cents::new(501),
        ..order_one
    };
    assert_eq!(
        harness.issuer.issue(&other).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    assert_eq!(harness.cards().await, 1);
}

// Checks: one hundred concurrent calls with one key create one card.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_calls_make_one_card() {
    let harness = Harness::new();
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let issuer = Arc::clone(&harness.issuer);
            tokio::spawn(async move { issuer.issue(&order(1, 500)).await.unwrap() })
        })
        .collect();
    for task in tasks {
        assert!(matches!(task.await.unwrap(), PlainIssueResult::Pending { .. }));
    }
    assert_eq!(harness.cards().await, 1);
    assert_eq!(harness.issuer.state().await.unwrap().loaded, Cents::new(500));
}

// Checks: only ready cards of this issuer have CVV and balance; the file contains neither number nor CVV.
#[tokio::test]
async fn card_details_are_fetched_through() {
    let harness = Harness::new();
    harness.issuer.issue(&order(1, 500)).await.unwrap();
    let early = card_numbers::issuer_ref(JobId(1));
    assert_eq!(
        harness.issuer.cvv(&early).await.unwrap_err().kind,
        ErrorKind::Permanent,
        "not ready"
    );
    harness.pass(2_000);
    let card = harness.ready(&order(1, 500)).await;
    let cvv = harness.issuer.cvv(&card.issuer_ref).await.unwrap();
    assert!(cvv.expose_secret().len() == 3 && cvv.expose_secret().bytes().all(|b| b.is_ascii_digit()));
    assert_eq!(
        harness.issuer.available_balance(&card.issuer_ref).await.unwrap(),
        Cents::new(500)
    );
    assert_eq!(
        harness.issuer.cvv("sbx_card_other").await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    assert!(!stored_text(harness.dir.path(), card.number.expose_secret()));
}

// Checks: every magic amount has the outcome of its table (case_38), and never creates two cards.
#[tokio::test]
async fn magic_amounts_do_what_the_table_says() {
    for (amount, magic, _) in issuer_faults::magic_amounts() {
        let harness = Harness::new();
        let order = order(1, amount.get());
        let first = harness.issuer.issue(&order).await;
        match magic {
            MagicOutcome::Declined => {
                assert!(matches!(first, Ok(PlainIssueResult::Declined { .. })));
                let after = harness.killed();
                assert!(
                    matches!(after.issuer.issue(&order).await, Ok(PlainIssueResult::Declined { .. })),
                    "permanent"
                );
                assert_eq!(after.cards().await, 0);
                continue;
            }
            MagicOutcome::Slow => {
                harness.pass(9_999);
                let waiting = harness.issuer.issue(&order).await;
                assert!(
                    matches!(waiting, Ok(PlainIssueResult::Pending { retry_after_ms: 1 })),
                    "{waiting:?}"
                );
                harness.pass(1);
            }
            MagicOutcome::TimeoutAfterSuccess => {
                assert_eq!(first.unwrap_err().kind, ErrorKind::Unknown);
                assert_eq!(harness.killed().cards().await, 1, "the card was made");
                harness.pass(2_000);
            }
            MagicOutcome::TwoTemporaryErrors => {
                assert_eq!(first.unwrap_err().kind, ErrorKind::Temporary);
                assert_eq!(
                    harness.issuer.issue(&order).await.unwrap_err().kind,
                    ErrorKind::Temporary
                );
                assert!(harness.issuer.issue(&order).await.is_ok());
                harness.pass(2_000);
            }
        }
        harness.ready(&order).await;
        assert_eq!(harness.cards().await, 1);
    }
}

// Checks: each fault has its kind of error, and one card exists afterwards (case_11 for the issuer).
#[tokio::test]
async fn faults_have_their_kind() {
    let harness = Harness::new();
    let table = [
        (Fault::Unreachable, ErrorKind::Temporary, 0),
        (Fault::MalformedResponse, ErrorKind::Unknown, 0),
        (Fault::Timeout, ErrorKind::Unknown, 1),
    ];
    for (fault, kind, cards) in table {
        harness.issuer.faults.add(fault, Some(1));
        assert_eq!(
            harness.issuer.issue(&order(1, 500)).await.unwrap_err().kind,
            kind,
            "{fault:?}"
        );
        assert_eq!(harness.cards().await, cards, "{fault:?}");
    }
    assert!(harness.issuer.issue(&order(1, 500)).await.is_ok());
    assert_eq!(harness.cards().await, 1);
}

// Checks: data for the engine is sealed for its card and shows no number (case_70).
#[tokio::test]
async fn case_70_the_engine_sees_a_sealed_number() {
    let harness = Harness::new();
    let entropy: Arc<dyn Entropy> = Arc::new(TestClock(AtomicU64::new(1)));
    let vault = Arc::new(Vault::from_file(&harness.dir.path().join("keys"), true, entropy).unwrap());
    let vaulted = SealingIssuer::new(Arc::clone(&harness.issuer), Arc::clone(&vault));
    let order = order(1, 500);
    assert!(matches!(
        vaulted.issue(&order).await.unwrap(),
        IssueResult::Pending { .. }
    ));
    harness.pass(2_000);
    let IssueResult::Ready(issued) = vaulted.issue(&order).await.unwrap() else {
        panic!("not ready")
    };
    let plain = harness.ready(&order).await;
    let pan = plain.number.expose_secret();
    assert!(!format!("{issued:?} {plain:?}").contains(pan));
    assert_eq!(issued.last4, pan[12..]);
    assert_eq!(
        vault.open(order.card, &issued.sealed).unwrap().number().expose_secret(),
        pan
    );
    assert!(vault.open(CardId(1), &issued.sealed).is_err());
}

// Checks: a card that moved from memory to the index long ago is found by key and reference, and its number stays
// taken.
#[tokio::test]
async fn old_card_is_still_found_by_its_key() {
    let mut harness = Harness::new();
    harness.issuer.issue(&order(1, 500)).await.unwrap();
    for key in 2..60 {
        harness.issuer.issue(&order(key, 600)).await.unwrap();
    }
    harness.pass(2_000);
    let first = harness.ready(&order(1, 500)).await;
    for _ in 0..2 {
        let again = harness.ready(&order(1, 500)).await;
        assert_eq!(again.number.expose_secret(), first.number.expose_secret());
        let balance = harness.issuer.available_balance(&first.issuer_ref).await.unwrap();
        assert_eq!(balance, Cents::new(500));
        let other = harness.issuer.issue(&order(1, 700)).await;
        assert_eq!(other.unwrap_err().kind, ErrorKind::Permanent);
        let taken = harness
            .issuer
            .records
            .lock()
            .is_number_used(card_numbers::account_part(JobId(1), 0));
        assert!(taken);
        let state = harness.issuer.state().await.unwrap();
        assert_eq!((state.cards, state.loaded), (59, Cents::new(500 + 58 * 600)));
        let Harness { dir, clock, issuer } = harness;
        drop(issuer);
        let issuer = open(dir.path(), &clock);
        harness = Harness { dir, clock, issuer };
    }
}
