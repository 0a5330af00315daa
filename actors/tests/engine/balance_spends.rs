//! What agents take out of the balances of an account: limits, approvals, races and crashes. One mechanism for all of it.

use purser_actors::engine::{AgentSpend, OperationError, SpendDenied, SpendNotApproved};
use purser_actors::entity::account::{BalanceLimits, Rejection};
use purser_actors::entity::api_key::KeyLimits;
use purser_actors::entity::spend_approval::{
    SpendAct, SpendAgent, SpendApproval, SpendLimit, SpendPayee, SpendTerms, SpendUse, Status,
};
use purser_actors::id::{ApiKeyId, SpendApprovalId, Wallet, WithdrawalId};
use purser_actors::money::{Cents, Usdc};

use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::IssuerBehavior;
use crate::support::{eventually, in_time, together};

const OWNER: Wallet = evm(1);
const TO: Wallet = evm(7);

type Taken = Result<(), OperationError<Rejection, SpendDenied>>;

/// An account with a balance of some dollars, from purchases that failed.
async fn funded() -> Harness {
    let world = Harness::new().await;
    for nth in 1..=4 {
        world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
        world
            .pay(&card_for(OWNER, nth))
            .await
            .expect("it is paid, and credited");
    }
    world.wait_until_idle().await;
    world
}

async fn limit(world: &Harness, per_call: Option<u64>, per_day: Option<u64>, approvals: bool) {
    let limits = BalanceLimits {
        per_call: per_call.map(Cents::new),
        per_day: per_day.map(Cents::new),
        approvals,
    };
    world
        .engine
        .set_balance_limits(OWNER, limits)
        .await
        .expect("they are set");
}

fn asked(cents: u64, approval: Option<SpendApprovalId>) -> AgentSpend {
    AgentSpend {
        terms: SpendTerms {
            payee: SpendPayee::Wallet(TO),
            amount: Usdc::from_atomic(cents * 10_000),
            act: SpendAct::Withdrawal,
            call: [0; 32],
            key: None,
        },
        note: None,
        purchase: None,
        agent: SpendAgent::default(),
        approval,
    }
}

async fn withdraw(world: &Harness, id: u128, spend: Option<&AgentSpend>, cents: u64) -> Taken {
    let what = (WithdrawalId(id), TO, Usdc::from_atomic(cents * 10_000));
    in_time("an answer", world.engine.withdraw_for(spend, OWNER, what, None)).await
}

async fn take(world: &Harness, id: u128, cents: u64) -> Taken {
    withdraw(world, id, Some(&asked(cents, None)), cents).await
}

fn waits(answer: Taken) -> SpendApprovalId {
    match answer {
        Err(OperationError::Specific(SpendDenied::NotApproved(SpendNotApproved::Pending(id)))) => id,
        other => panic!("{other:?}"),
    }
}

fn refused_by(answer: Taken) -> SpendLimit {
    match answer {
        Err(OperationError::Specific(SpendDenied::OverLimit(over))) => over.limit,
        other => panic!("{other:?}"),
    }
}

fn not_approved(answer: Taken) -> SpendNotApproved {
    match answer {
        Err(OperationError::Specific(SpendDenied::NotApproved(why))) => why,
        other => panic!("{other:?}"),
    }
}

async fn read(world: &Harness, id: SpendApprovalId) -> SpendApproval {
    let read = world.engine.spend_approval(&id).await.expect("readable");
    read.expect("it exists")
}

async fn taken(world: &Harness) -> u64 {
    let taken = world.engine.taken_by_agents_today(&OWNER).await.expect("readable");
    taken.atomic() / 10_000
}

async fn held(world: &Harness) -> u64 {
    let account = world.engine.account(&OWNER).await.expect("readable");
    account.expect("it exists").held.atomic() / 10_000
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn agents_take_within_the_limits_of_the_owner() {
    // Checks: without limits anything; then the limit per call, the limit of the day over all acts, and the limits of a
    // key. The owner at the page is not limited and not counted. Nothing is held for what is refused.
    let world = funded().await;
    take(&world, 1, 10).await.expect("nothing is set");
    assert_eq!(taken(&world).await, 10);
    limit(&world, Some(30), Some(50), false).await;
    assert_eq!(refused_by(take(&world, 2, 31).await), SpendLimit::BalancePerCall);
    take(&world, 2, 30).await.expect("it is within");
    assert_eq!(refused_by(take(&world, 3, 11).await), SpendLimit::BalancePerDay);
    withdraw(&world, 4, None, 60).await.expect("the owner does it");
    take(&world, 5, 10).await.expect("it is within");
    assert_eq!(taken(&world).await, 50);
    let key = ApiKeyId(19);
    world
        .engine
        .issue_api_key(key, OWNER, "Ada's agent", 5)
        .await
        .expect("it is issued");
    let limits = KeyLimits {
        per_call: Some(Cents::new(5)),
        per_day: None,
    };
    world
        .engine
        .set_api_key_limits(key, limits)
        .await
        .expect("they are set");
    limit(&world, None, None, false).await;
    let mut by_key = asked(6, None);
    by_key.terms.key = Some(key);
    by_key.agent.key = Some(key);
    let refused = withdraw(&world, 6, Some(&by_key), 6).await;
    assert_eq!(refused_by(refused), SpendLimit::KeyPerCall);
    assert!(
        world
            .engine
            .withdrawal(&WithdrawalId(6))
            .await
            .expect("readable")
            .is_none()
    );
    assert_eq!(world.event_count("approval.requested"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn withdrawal_over_a_limit_waits_for_the_owner_and_passes_once() {
    // Checks: nothing is held while it waits; ten equal calls ask once; after the consent one of ten passes, counts, and
    // uses the approval up; a named approval is for its own withdrawal, and is refused by name after its use.
    let world = funded().await;
    limit(&world, Some(20), None, true).await;
    let call = |from: u128| {
        let engine = world.engine.clone();
        move |nth: u8| {
            let (engine, id) = (engine.clone(), WithdrawalId(from + u128::from(nth)));
            async move {
                let what = (id, TO, Usdc::from_atomic(300_000));
                engine.withdraw_for(Some(&asked(30, None)), OWNER, what, None).await
            }
        }
    };
    let answers = together(10, call(100)).await;
    let id = waits(take(&world, 200, 30).await);
    answers.into_iter().for_each(|answer| assert_eq!(waits(answer), id));
    assert_eq!((held(&world).await, taken(&world).await), (0, 0));
    assert_eq!(world.event_count("approval.requested"), 1);
    let named = |cents| asked(cents, Some(id));
    let pending = withdraw(&world, 201, Some(&named(30)), 30).await;
    assert_eq!(not_approved(pending), SpendNotApproved::Pending(id));
    let other = withdraw(&world, 201, Some(&named(31)), 31).await;
    assert_eq!(not_approved(other), SpendNotApproved::Mismatch(id));
    world.engine.approve_spend(id).await.expect("it is approved");
    let answers = together(10, call(300)).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    world.wait_until_idle().await;
    let used = read(&world, id).await;
    assert!(matches!(used.status, Status::Used(SpendUse::Withdrawal(_))), "{used:?}");
    assert_eq!((taken(&world).await, world.event_count("approval.used")), (30, 1));
    let again = withdraw(&world, 400, Some(&named(30)), 30).await;
    assert_eq!(not_approved(again), SpendNotApproved::Used(id));
    assert_ne!(
        waits(take(&world, 401, 30).await),
        id,
        "another withdrawal is another question"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn owner_is_not_asked_about_what_cannot_be_taken() {
    // Checks: more than the balance is refused without a question. A consent that cannot be used because the money is
    // gone stays. Declined stays declined.
    let world = funded().await;
    limit(&world, Some(1), None, true).await;
    let account = world
        .engine
        .account(&OWNER)
        .await
        .expect("readable")
        .expect("it exists");
    let all = account.available().atomic() / 10_000;
    let much = take(&world, 1, all + 1).await;
    assert!(
        matches!(much, Err(OperationError::Rejected(Rejection::Insufficient { .. }))),
        "{much:?}"
    );
    assert_eq!(world.event_count("approval.requested"), 0);
    let id = waits(take(&world, 2, all).await);
    world.engine.approve_spend(id).await.expect("it is approved");
    withdraw(&world, 3, None, 1).await.expect("the owner does it");
    let short = take(&world, 4, all).await;
    assert!(
        matches!(short, Err(OperationError::Rejected(Rejection::Insufficient { .. }))),
        "{short:?}"
    );
    assert_eq!(read(&world, id).await.status, Status::Approved);
    let two = waits(take(&world, 5, 2).await);
    world.engine.decline_spend(two).await.expect("it is declined");
    assert_eq!(not_approved(take(&world, 6, 2).await), SpendNotApproved::Declined(two));
    assert_eq!(taken(&world).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn crash_at_any_batch_uses_the_approval_of_a_withdrawal_once() {
    // Checks: the power is cut after each batch of the withdrawal. Whatever was durable, the repeated call leads to one
    // withdrawal, counted once, and one used approval.
    let mut cuts = 0;
    for after in 0.. {
        assert!(after < 40, "it never gets through");
        let world = funded().await;
        limit(&world, Some(20), None, true).await;
        let id = waits(take(&world, 1, 30).await);
        world.engine.approve_spend(id).await.expect("it is approved");
        world.store.hold_after(after, true);
        let running = tokio::spawn({
            let engine = world.engine.clone();
            async move {
                let what = (WithdrawalId(1), TO, Usdc::from_atomic(300_000));
                drop(engine.withdraw_for(Some(&asked(30, None)), OWNER, what, None).await);
            }
        });
        let mut through = false;
        eventually("the cut or the end", async || {
            let done = running.is_finished() && world.event_count("approval.used") == 1;
            through = done && world.engine.open_jobs(1).await.is_ok_and(|open| open.is_empty());
            through || world.store.is_starving()
        })
        .await;
        let world = world.crash().await;
        running.abort();
        let made = world.engine.withdrawal(&WithdrawalId(1)).await.expect("readable");
        if made.is_none() {
            take(&world, 1, 30).await.expect("it passes");
        }
        world.wait_until_idle().await;
        assert_eq!((taken(&world).await, world.event_count("approval.used")), (30, 1));
        assert_eq!(world.event_count("withdrawal.pending"), 1);
        if through {
            break;
        }
        cuts += 1;
    }
    assert!(cuts >= 2, "the withdrawal and the use are batches of their own: {cuts}");
}
