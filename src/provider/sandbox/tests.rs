#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::id::{CardId, JobId};
use purser_actors::port::{CardIssuer as _, Entropy, IssueResult};
use tempfile::TempDir;

use super::*;
use crate::provider::SealingIssuer;
use crate::vault::Vault;

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

    /// As after `kill -9`: on a copy of whatever is on disk now.
    fn killed(&self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(self.dir.path().join("issuer.cards"), dir.path().join("issuer.cards")).unwrap();
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
            PlainIssueResult::Ready(card) => card,
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
    Arc::new(SandboxIssuer::open(dir, settings, clock).unwrap())
}

fn order(key: u128, cents: u64) -> IssueCardRequest {
    IssueCardRequest {
        key: JobId(key),
        card: CardId(key + 100),
        amount: Cents::new(cents),
    }
}

// The same key is the same card, at once, later and after a kill; another order under it is refused.
#[tokio::test]
async fn a_key_makes_one_card() {
    let house = Harness::new();
    let order_one = order(1, 500);
    let first = house.issuer.issue(&order_one).await.unwrap();
    assert!(
        matches!(first, PlainIssueResult::Pending { retry_after_ms: 2_000 }),
        "{first:?}"
    );
    let after = house.killed();
    house.pass(2_000);
    let card = house.ready(&order_one).await;
    for house in [&house, &after] {
        let again = house.ready(&order_one).await;
        assert_eq!(again.number.expose_secret(), card.number.expose_secret());
        assert_eq!(
            (again.issuer_ref, again.exp_month, again.exp_year),
            (card.issuer_ref.clone(), 7, 2026)
        );
        assert_eq!(house.cards().await, 1);
    }
    let other = IssueCardRequest {
        amount: Cents::new(501),
        ..order_one
    };
    assert_eq!(house.issuer.issue(&other).await.unwrap_err().kind, ErrorKind::Permanent);
    assert_eq!(house.cards().await, 1);
}

// One hundred calls with one key at once make one card.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_calls_make_one_card() {
    let house = Harness::new();
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let issuer = Arc::clone(&house.issuer);
            tokio::spawn(async move { issuer.issue(&order(1, 500)).await.unwrap() })
        })
        .collect();
    for task in tasks {
        assert!(matches!(task.await.unwrap(), PlainIssueResult::Pending { .. }));
    }
    assert_eq!(house.cards().await, 1);
    assert_eq!(house.issuer.state().await.unwrap().loaded, Cents::new(500));
}

// CVV and balance belong to ready cards of this issuer; the file holds neither number nor CVV.
#[tokio::test]
async fn card_details_are_fetched_through() {
    let house = Harness::new();
    house.issuer.issue(&order(1, 500)).await.unwrap();
    let early = card_numbers::issuer_ref(JobId(1));
    assert_eq!(
        house.issuer.cvv(&early).await.unwrap_err().kind,
        ErrorKind::Permanent,
        "not ready"
    );
    house.pass(2_000);
    let card = house.ready(&order(1, 500)).await;
    let cvv = house.issuer.cvv(&card.issuer_ref).await.unwrap();
    assert!(cvv.expose_secret().len() == 3 && cvv.expose_secret().bytes().all(|b| b.is_ascii_digit()));
    assert_eq!(
        house.issuer.available_balance(&card.issuer_ref).await.unwrap(),
        Cents::new(500)
    );
    assert_eq!(
        house.issuer.cvv("sbx_card_other").await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    let file = std::fs::read(house.dir.path().join("issuer.cards")).unwrap();
    let pan = card.number.expose_secret().as_bytes();
    assert!(!file.windows(pan.len()).any(|w| w == pan));
}

// case_38's rule for cards: every magic amount ends as its table says, and never as two cards.
#[tokio::test]
async fn magic_amounts_do_what_the_table_says() {
    for (amount, magic, _) in issuer_faults::magic_amounts() {
        let house = Harness::new();
        let order = order(1, amount.get());
        let first = house.issuer.issue(&order).await;
        match magic {
            MagicOutcome::Declined => {
                assert!(matches!(first, Ok(PlainIssueResult::Declined { .. })));
                let after = house.killed();
                assert!(
                    matches!(after.issuer.issue(&order).await, Ok(PlainIssueResult::Declined { .. })),
                    "for good"
                );
                assert_eq!(after.cards().await, 0);
                continue;
            }
            MagicOutcome::Slow => {
                house.pass(9_999);
                let waiting = house.issuer.issue(&order).await;
                assert!(
                    matches!(waiting, Ok(PlainIssueResult::Pending { retry_after_ms: 1 })),
                    "{waiting:?}"
                );
                house.pass(1);
            }
            MagicOutcome::TimeoutAfterSuccess => {
                assert_eq!(first.unwrap_err().kind, ErrorKind::Unknown);
                assert_eq!(house.killed().cards().await, 1, "the card was made");
                house.pass(2_000);
            }
            MagicOutcome::TwoTemporaryErrors => {
                assert_eq!(first.unwrap_err().kind, ErrorKind::Temporary);
                assert_eq!(house.issuer.issue(&order).await.unwrap_err().kind, ErrorKind::Temporary);
                assert!(house.issuer.issue(&order).await.is_ok());
                house.pass(2_000);
            }
        }
        house.ready(&order).await;
        assert_eq!(house.cards().await, 1);
    }
}

// case_11 for the issuer: each fault has its kind of error, and afterwards one card exists.
#[tokio::test]
async fn faults_have_their_kind() {
    let house = Harness::new();
    let table = [
        (IssuerFault::Unreachable, ErrorKind::Temporary, 0),
        (IssuerFault::MalformedResponse, ErrorKind::Unknown, 0),
        (IssuerFault::Timeout, ErrorKind::Unknown, 1),
    ];
    for (fault, kind, cards) in table {
        house.issuer.add_fault(IssuerFaultRule {
            fault,
            remaining: Some(1),
        });
        assert_eq!(
            house.issuer.issue(&order(1, 500)).await.unwrap_err().kind,
            kind,
            "{fault:?}"
        );
        assert_eq!(house.cards().await, cards, "{fault:?}");
    }
    assert!(house.issuer.issue(&order(1, 500)).await.is_ok());
    assert_eq!(house.cards().await, 1);
}

// case_70: what reaches the engine is sealed for its card and shows no number.
#[tokio::test]
async fn case_70_the_engine_sees_a_sealed_number() {
    let house = Harness::new();
    let entropy: Arc<dyn Entropy> = Arc::new(TestClock(AtomicU64::new(1)));
    let vault = Arc::new(Vault::from_file(&house.dir.path().join("keys"), true, entropy).unwrap());
    let vaulted = SealingIssuer::new(Arc::clone(&house.issuer), Arc::clone(&vault));
    let order = order(1, 500);
    assert!(matches!(
        vaulted.issue(&order).await.unwrap(),
        IssueResult::Pending { .. }
    ));
    house.pass(2_000);
    let IssueResult::Ready(issued) = vaulted.issue(&order).await.unwrap() else {
        panic!("not ready")
    };
    let plain = house.ready(&order).await;
    let pan = plain.number.expose_secret();
    assert!(!format!("{issued:?} {plain:?}").contains(pan));
    assert_eq!(issued.last4, pan[12..]);
    assert_eq!(
        vault.open(order.card, &issued.sealed).unwrap().number().expose_secret(),
        pan
    );
    assert!(vault.open(CardId(1), &issued.sealed).is_err());
}

// Aim: a card that went from memory to the index long ago is found by key and name, and its number stays given out.
#[tokio::test]
async fn an_old_card_is_still_the_keys_card() {
    let mut house = Harness::new();
    house.issuer.issue(&order(1, 500)).await.unwrap();
    for key in 2..60 {
        house.issuer.issue(&order(key, 600)).await.unwrap();
    }
    house.pass(2_000);
    let first = house.ready(&order(1, 500)).await;
    for _ in 0..2 {
        let again = house.ready(&order(1, 500)).await;
        assert_eq!(again.number.expose_secret(), first.number.expose_secret());
        let balance = house.issuer.available_balance(&first.issuer_ref).await.unwrap();
        assert_eq!(balance, Cents::new(500));
        let other = house.issuer.issue(&order(1, 700)).await;
        assert_eq!(other.unwrap_err().kind, ErrorKind::Permanent);
        let taken = house
            .issuer
            .records
            .lock()
            .is_number_used(card_numbers::account_part(JobId(1), 0));
        assert!(taken);
        let state = house.issuer.state().await.unwrap();
        assert_eq!((state.cards, state.loaded), (59, Cents::new(500 + 58 * 600)));
        let Harness { dir, clock, issuer } = house;
        drop(issuer);
        let issuer = open(dir.path(), &clock);
        house = Harness { dir, clock, issuer };
    }
}
