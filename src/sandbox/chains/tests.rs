#![allow(clippy::unwrap_used, clippy::expect_used)]

mod empty;
mod finality;
mod old;
pub(super) mod solana;
mod unreachable;

use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use purser_actors::id::Wallet;
use purser_actors::port::Finality;
use tempfile::TempDir;

use super::faults::{ChainFault, FaultRule};
use super::*;
use crate::sandbox::keys::treasury;
use crate::sandbox::store::DIRECTORY;
use crate::sandbox::store::tests::{copy_after_kill, segments, store_in};

const START: u64 = 1_768_473_000_000;
const PAYER: [u8; 32] = [5; 32];

pub(super) struct TestClock(AtomicU64);

impl TestClock {
    pub(super) fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub(super) struct Counter(AtomicU8);

impl Entropy for Counter {
    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::SeqCst)) * 7919
    }
}

/// Bytes before the first batch of a segment.
const SEGMENT_HEADER: usize = 72;

pub(super) struct Harness {
    pub(super) dir: TempDir,
    pub(super) clock: Arc<TestClock>,
    pub(super) chains: Arc<SandboxSettlement>,
}

impl Harness {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock(AtomicU64::new(START)));
        let chains = open(dir.path(), &clock);
        Self { dir, clock, chains }
    }

    /// As after `kill -9`: a second instance on a copy of the current files.
    fn restart_after_kill(&self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy_after_kill(self.dir.path(), dir.path());
        let chains = open(dir.path(), &self.clock);
        Self {
            dir,
            clock: Arc::clone(&self.clock),
            chains,
        }
    }

    fn fault(&self, fault: ChainFault) {
        for network in Network::ALL {
            self.chains.add_fault(
                network,
                FaultRule {
                    scope: None,
                    fault: fault.clone(),
                    remaining: Some(1),
                },
            );
        }
    }

    pub(super) async fn pay(&self, authorization: &Authorization) -> Result<SubmitResult, PortError> {
        match self.chains.prepare(authorization).await? {
            Preparation::Ready(prepared) => self.chains.submit(authorization, &prepared).await,
            Preparation::Declined(decline) => Ok(SubmitResult::Declined(decline)),
        }
    }

    async fn received(&self) -> u64 {
        self.chains.balance(&treasury(Network::Base)).await.unwrap().atomic()
    }
}

fn open(dir: &Path, clock: &Arc<TestClock>) -> Arc<SandboxSettlement> {
    let entropy = Counter(AtomicU8::new(1));
    let clock: Arc<dyn Clock> = Arc::<TestClock>::clone(clock);
    Arc::new(SandboxSettlement::open(&store_in(dir), DEFAULT_GRANT, clock, &entropy).unwrap())
}

/// A payment of this many atomic USDC to the treasury, valid for 300 seconds.
fn payment(amount: u64, nonce: u8) -> Authorization {
    let Wallet::Evm(to) = treasury(Network::Base) else {
        panic!("not an EVM treasury")
    };
    let window = (START / 1000 - 600, START / 1000 + 300);
    Authorization::Evm(evm::tests::signed(PAYER, to, Usdc::from_atomic(amount), window, nonce))
}

pub(super) fn settled(outcome: Result<SubmitResult, PortError>) -> String {
    match outcome {
        Ok(SubmitResult::Settled { transaction, .. }) => transaction,
        other => panic!("not settled: {other:?}"),
    }
}

pub(super) fn ready(outcome: Result<Preparation, PortError>) -> PreparedTransaction {
    match outcome {
        Ok(Preparation::Ready(prepared)) => prepared,
        other => panic!("not ready: {other:?}"),
    }
}

pub(super) fn declined(outcome: Result<SubmitResult, PortError>) -> String {
    match outcome {
        Ok(SubmitResult::Declined(decline)) => decline.reason.to_string(),
        other => panic!("not declined: {other:?}"),
    }
}

// case_1: one hundred concurrent submissions of one authorization move the money once, and all get the same response.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_01_a_hundred_submissions_move_the_money_once() {
    let harness = Harness::new();
    let authorization = payment(5_000_000, 1);
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let (chains, authorization) = (Arc::clone(&harness.chains), authorization.clone());
            tokio::spawn(async move {
                let prepared = ready(chains.prepare(&authorization).await);
                settled(chains.submit(&authorization, &prepared).await)
            })
        })
        .collect();
    let mut ids = Vec::new();
    for task in tasks {
        ids.push(task.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(harness.received().await, 5_000_000);
    assert_eq!(harness.chains.transfers(Network::Base, 0, 10).await.unwrap().len(), 1);
    let left = harness.chains.balance(&authorization.payer()).await.unwrap();
    assert_eq!(left, DEFAULT_GRANT.checked_sub(Usdc::from_atomic(5_000_000)).unwrap());
}

// case_12, case_65: a response is only sent once its records are on disk, so a kill right after it loses nothing.
#[tokio::test]
async fn case_12_an_answer_survives_a_kill() {
    let harness = Harness::new();
    for nonce in 0..5 {
        let authorization = payment(1_000_000, nonce);
        let id = settled(harness.pay(&authorization).await);
        let after = harness.restart_after_kill();
        assert_eq!(after.received().await, 1_000_000 * (u64::from(nonce) + 1));
        let seen = after.chains.lookup(&authorization, None).await.unwrap();
        assert_eq!(
            seen,
            ChainStatus::Confirmed {
                transaction: id.clone(),
                finality: Finality::Final
            }
        );
        assert_eq!(
            settled(after.pay(&authorization).await),
            id,
            "sent again it moves nothing"
        );
    }
}

// case_66: wherever the journal ends, it reads as a prefix of its payments, with matching balances. A disk writes sectors
// whole, so that a power cut leaves the journal's end at one of their boundaries.
#[tokio::test]
async fn case_66_every_torn_tail_adds_up() {
    let harness = Harness::new();
    for nonce in 0..8 {
        settled(harness.pay(&payment(1_000_000, nonce)).await);
    }
    let [segment, ..] = &segments(harness.dir.path())[..] else {
        panic!("no segment")
    };
    let whole = std::fs::read(segment).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
    let cuts: Vec<usize> = (SEGMENT_HEADER..used).filter(|cut| cut.is_multiple_of(512)).collect();
    assert!(cuts.len() >= 8, "{used}");
    for cut in cuts {
        let dir = tempfile::tempdir().unwrap();
        let mut torn = whole[..cut].to_vec();
        torn.resize(whole.len(), 0);
        let store = dir.path().join(DIRECTORY);
        std::fs::create_dir(&store).unwrap();
        std::fs::write(store.join(segment.file_name().unwrap()), torn).unwrap();
        let chains = open(dir.path(), &harness.clock);
        let state = chains.state(Network::Base).await.unwrap();
        let landed = state.transfers as u64;
        assert!(landed < 8, "cut at {cut}");
        assert_eq!(state.treasury_balance.atomic(), landed * 1_000_000);
        let payer = chains.balance(&payment(1, 0).payer()).await.unwrap();
        assert_eq!(payer.atomic(), DEFAULT_GRANT.atomic() - landed * 1_000_000);
    }
}

// case_7: the response is lost after the transfer settled. The chain shows the transfer, and sending it again returns
// settled.
#[tokio::test]
async fn case_07_a_lost_answer_is_unknown_and_then_found() {
    let harness = Harness::new();
    harness.fault(ChainFault::LoseResponse);
    let authorization = payment(5_000_000, 1);
    assert_eq!(harness.pay(&authorization).await.unwrap_err().kind, ErrorKind::Unknown);
    let ChainStatus::Confirmed { transaction, .. } = harness.chains.lookup(&authorization, None).await.unwrap() else {
        panic!("not landed");
    };
    assert_eq!(settled(harness.pay(&authorization).await), transaction);
    assert_eq!(harness.received().await, 5_000_000);
}

// case_7: a caller that stops waiting does not cancel the transfer.
#[tokio::test]
async fn case_07_a_submission_outlives_its_caller() {
    let harness = Harness::new();
    harness.chains.hold(Network::Base, true);
    let authorization = payment(5_000_000, 1);
    let prepared = ready(harness.chains.prepare(&authorization).await);
    let waited = tokio::time::timeout(
        std::time::Duration::from_millis(20),
        harness.chains.submit(&authorization, &prepared),
    );
    assert!(waited.await.is_err(), "held back");
    assert_eq!(
        harness.chains.lookup(&authorization, None).await.unwrap(),
        ChainStatus::Pending
    );
    harness.chains.hold(Network::Base, false);
    // The chain's own task needs turns of this thread, not time.
    for _ in 0..10_000 {
        if harness.received().await == 5_000_000 {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the held transfer never landed");
}

// case_8: settled, then dropped by a reorg: the payer is credited, and the payment may settle once more.
#[tokio::test]
async fn case_08_dropped_transfer_returns_the_money() {
    let harness = Harness::new();
    harness.fault(ChainFault::Reorg { after_ms: 1_000 });
    let authorization = payment(5_000_000, 1);
    let first = settled(harness.pay(&authorization).await);
    harness.clock.advance(999);
    assert_eq!(harness.received().await, 5_000_000);
    harness.clock.advance(1);
    assert_eq!(
        harness
            .restart_after_kill()
            .chains
            .lookup(&authorization, None)
            .await
            .unwrap(),
        ChainStatus::Pending,
        "the plan is durable"
    );
    assert_eq!(
        harness.chains.lookup(&authorization, None).await.unwrap(),
        ChainStatus::Pending
    );
    assert_eq!(harness.received().await, 0);
    assert!(harness.chains.transfers(Network::Base, 0, 10).await.unwrap()[0].reorged);
    assert_ne!(settled(harness.pay(&authorization).await), first);
    assert_eq!(harness.received().await, 5_000_000);
}

// case_9: declined, but the transfer settles once all the same, also across a kill and whether or not it is sent again.
#[tokio::test]
async fn case_09_declined_payment_may_settle_later_once() {
    let harness = Harness::new();
    harness.fault(ChainFault::FailThenLand { after_ms: 1_000 });
    let authorization = payment(5_000_000, 1);
    assert_eq!(declined(harness.pay(&authorization).await), "invalid_transaction_state");
    assert_eq!(
        harness.chains.lookup(&authorization, None).await.unwrap(),
        ChainStatus::Pending
    );
    let after = harness.restart_after_kill();
    harness.clock.advance(1_000);
    for harness in [&harness, &after] {
        let found = harness.chains.lookup(&authorization, None).await.unwrap();
        assert!(matches!(found, ChainStatus::Confirmed { .. }), "{found:?}");
        settled(harness.pay(&authorization).await);
        assert_eq!(harness.received().await, 5_000_000);
    }
}

// case_9: a transfer due after its validity never settles, and the chain reports that.
#[tokio::test]
async fn case_09_nothing_settles_after_its_validity() {
    let harness = Harness::new();
    harness.fault(ChainFault::FailThenLand { after_ms: 300_000 });
    let authorization = payment(5_000_000, 1);
    declined(harness.pay(&authorization).await);
    harness.clock.advance(300_000);
    assert_eq!(
        harness.chains.lookup(&authorization, None).await.unwrap(),
        ChainStatus::Impossible
    );
    assert_eq!(
        declined(harness.pay(&authorization).await),
        "invalid_exact_evm_payload_authorization_valid_before"
    );
    assert_eq!(harness.received().await, 0);
}

// case_10: a payment submitted by an observer is recognised as ours by payer, nonce, recipient and amount.
#[tokio::test]
async fn case_10_front_run_payment_counts_as_our_payment() {
    let harness = Harness::new();
    harness.fault(ChainFault::FrontRun);
    let authorization = payment(5_000_000, 1);
    let observed = settled(harness.pay(&authorization).await);
    let again = settled(harness.pay(&authorization).await);
    assert_eq!(observed, again, "the observer's transaction, not one of the service");
    assert_eq!(harness.received().await, 5_000_000);
}

// case_10: the same nonce with another amount is not this payment, even with a valid signature.
#[tokio::test]
async fn case_10_a_used_nonce_is_not_another_payment() {
    let harness = Harness::new();
    settled(harness.pay(&payment(5_000_000, 1)).await);
    let other = payment(6_000_000, 1);
    assert_eq!(
        declined(harness.pay(&other).await),
        "invalid_exact_evm_nonce_already_used"
    );
    assert_eq!(
        harness.chains.lookup(&other, None).await.unwrap(),
        ChainStatus::Impossible
    );
    assert_eq!(harness.received().await, 5_000_000);
}

// case_6: the chain's own clock decides. A payment that is too early, too late or forged is declined.
#[tokio::test]
async fn case_06_the_chain_checks_again() {
    let harness = Harness::new();
    let Authorization::Evm(good) = payment(5_000_000, 1) else {
        panic!("not EVM")
    };
    let (seconds, value) = (START / 1000, Usdc::from_atomic(5_000_000));
    let early = evm::tests::signed(PAYER, good.to, value, (seconds, seconds + 300), 2);
    let late = evm::tests::signed(PAYER, good.to, value, (0, seconds), 3);
    let mut forged = good.clone();
    forged.value = Usdc::from_atomic(1);
    for (authorization, reason) in [
        (early, "invalid_exact_evm_payload_authorization_valid_after"),
        (late, "invalid_exact_evm_payload_authorization_valid_before"),
        (forged, "invalid_exact_evm_signature"),
    ] {
        assert_eq!(declined(harness.pay(&Authorization::Evm(authorization)).await), reason);
    }
    let rich = payment(DEFAULT_GRANT.atomic() + 1, 4);
    assert_eq!(declined(harness.pay(&rich).await), "insufficient_funds");
    assert_eq!(harness.received().await, 0);
}

// Every magic amount of a payment ends as its table specifies, and none is a magic amount of the issuer.
#[tokio::test]
async fn magic_amounts_do_what_the_table_says() {
    for (place, (amount, fault, _)) in faults::magic_amounts().into_iter().enumerate() {
        if matches!(fault, ChainFault::Slow { .. }) {
            continue;
        }
        for (cents, _, _) in crate::provider::sandbox::issuer_faults::magic_amounts() {
            assert_ne!(Usdc::from_cents(cents).unwrap(), amount);
        }
        let harness = Harness::new();
        let authorization = payment(amount.atomic(), u8::try_from(place).unwrap());
        let outcome = harness.pay(&authorization).await;
        harness.clock.advance(3_000);
        let found = harness.chains.lookup(&authorization, None).await.unwrap();
        let landed = matches!(found, ChainStatus::Confirmed { .. });
        match fault {
            ChainFault::Insufficient => assert_eq!((declined(outcome).as_str(), landed), ("insufficient_funds", false)),
            ChainFault::Decline { reason } => assert_eq!((declined(outcome), landed), (reason, false)),
            ChainFault::LoseResponse => assert!(outcome.is_err() && landed),
            ChainFault::FailThenLand { .. } => assert!(matches!(outcome, Ok(SubmitResult::Declined(_))) && landed),
            ChainFault::Reorg { .. } => assert!(matches!(outcome, Ok(SubmitResult::Settled { .. })) && !landed),
            ChainFault::FrontRun => assert!(matches!(outcome, Ok(SubmitResult::Settled { .. })) && landed),
            ChainFault::Slow { .. } | ChainFault::Unreachable | ChainFault::DropFinal { .. } => {
                panic!("not in the table")
            }
        }
    }
}
