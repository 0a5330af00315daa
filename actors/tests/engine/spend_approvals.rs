//! Approvals of spends over the owner's limits through the engine: one use, races, time, and crashes.

use purser_actors::engine::{AgentSpend, OperationError, SpendDenied, SpendNotApproved};
use purser_actors::entity::agent_wallet::{Rejection, WalletCaps, WalletSpend};
use purser_actors::entity::api_key::KeyLimits;
use purser_actors::entity::session::AuthMethod;
use purser_actors::entity::spend_approval::{
    self, APPROVED_MS, MAX_OPEN, MAX_OPEN_OF_ONE, PENDING_MS, SpendAct, SpendAgent, SpendApproval, SpendLimit,
    SpendPayee, SpendTerms, Status,
};
use purser_actors::entity::wallet_payment::{PaymentMethod, WalletPaymentOrder};
use purser_actors::id::{ApiKeyId, PaymentId, SessionId, SpendApprovalId, Wallet, WalletPaymentId, WithdrawalId};
use purser_actors::kernel::table;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Clock as _;

use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::IssuerBehavior;
use crate::support::sellers::SellerBehavior;
use crate::support::{eventually, in_time, together};
use crate::wallet_payments::{opened, spend};

const OWNER: Wallet = evm(1);
const PLENTY: Usdc = Usdc::from_atomic(1_000_000_000);

type Spent = Result<(), OperationError<Rejection, SpendNotApproved>>;

/// A harness whose owner is asked about spends over these limits, in whole dollars.
async fn asking(per_call: u64, per_day: Option<u64>) -> Harness {
    let world = opened(per_call, per_day).await;
    let limits = WalletCaps {
        per_call: Cents::new(per_call * 100),
        per_day: per_day.map(|cap| Cents::new(cap * 100)),
        approvals: true,
    };
    world.engine.set_wallet_caps(OWNER, limits).await.expect("they are set");
    world
}

/// A transfer of this amount, in whole dollars.
fn transfer(id: u128, dollars: u64) -> WalletSpend {
    let order = WalletPaymentOrder {
        to: evm(5),
        amount: Usdc::from_atomic(dollars * 1_000_000),
        note: Some("lunch".into()),
        method: PaymentMethod::Transfer,
    };
    spend(WalletPaymentId(id), PLENTY, order)
}

async fn ask(world: &Harness, spend: WalletSpend, named: Option<SpendApprovalId>) -> Spent {
    let asked = world.engine.start_wallet_payment(OWNER, spend, named, None);
    in_time("an answer", asked).await
}

/// The id of the approval that a spend over a limit waits for.
async fn pending(world: &Harness, spend: WalletSpend) -> SpendApprovalId {
    match ask(world, spend, None).await {
        Err(OperationError::Specific(SpendNotApproved::Pending(id))) => id,
        other => panic!("{other:?}"),
    }
}

async fn read(world: &Harness, id: SpendApprovalId) -> SpendApproval {
    let read = world.engine.spend_approval(&id).await.expect("readable");
    read.expect("it exists")
}

async fn until(world: &Harness, id: SpendApprovalId, status: Status) {
    eventually("the approval changes", async || read(world, id).await.status == status).await;
}

fn payments(world: &Harness) -> usize {
    world.event_count("wallet_payment.pending")
}

/// The rows that open approvals have: slots, spends, and those that can be used.
fn rows(world: &Harness) -> [usize; 3] {
    [
        table::SPEND_APPROVAL_SLOT,
        table::REQUESTED_SPEND,
        table::APPROVED_SPEND,
    ]
    .map(|of| world.store.rows(&[of]).len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn spend_over_a_limit_waits_for_the_owner_and_passes_once() {
    // Checks: nothing is reserved before the consent; ten equal calls at once ask the owner once. After it one of ten
    // calls at once passes. The next one asks again, and the limit is as before.
    let world = asking(10, None).await;
    let call = |from: u128| {
        let engine = world.engine.clone();
        move |n: u8| {
            let (engine, one) = (engine.clone(), transfer(from + u128::from(n), 12));
            async move { engine.start_wallet_payment(OWNER, one, None, None).await }
        }
    };
    let asked = together(10, call(100)).await;
    let id = pending(&world, transfer(200, 12)).await;
    for answer in asked {
        let Err(OperationError::Specific(SpendNotApproved::Pending(same))) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(same, id);
    }
    assert_eq!((payments(&world), rows(&world)), (0, [1, 1, 0]));
    assert_eq!(world.event_count("approval.requested"), 1);
    world.engine.approve_spend(id).await.expect("it is approved");
    world
        .engine
        .approve_spend(id)
        .await
        .expect("a repetition changes nothing");
    assert_eq!(rows(&world), [1, 1, 1]);
    let answers = together(10, call(300)).await;
    let passed = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!((passed, payments(&world)), (1, 1), "{answers:?}");
    world.wait_until_idle().await;
    let used = read(&world, id).await;
    assert!(matches!(used.status, Status::Used(_)), "{used:?}");
    assert_eq!(world.event_count("approval.used"), 1);
    for answer in answers.into_iter().filter(Result::is_err) {
        let why = match answer {
            Err(OperationError::Specific(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(
            matches!(why, SpendNotApproved::Used(same) if same == id) || matches!(why, SpendNotApproved::Pending(_)),
            "{why:?}"
        );
    }
    let next = pending(&world, transfer(400, 12)).await;
    assert_ne!(next, id);
    assert_eq!(world.chain.transfers(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_spend_is_not_asked_for_again_that_day() {
    // Checks: a refusal before and after the consent; the same spend is refused by name until 24 hours after it was
    // asked for, another one is not.
    let world = asking(10, None).await;
    let one = pending(&world, transfer(1, 12)).await;
    let two = pending(&world, transfer(2, 13)).await;
    world.engine.decline_spend(one).await.expect("it is declined");
    world.engine.approve_spend(two).await.expect("it is approved");
    world.engine.decline_spend(two).await.expect("it is revoked");
    assert_eq!(rows(&world), [0, 2, 0]);
    for (id, dollars) in [(one, 12), (two, 13)] {
        for named in [None, Some(id)] {
            let refused = ask(&world, transfer(9, dollars), named).await;
            let Err(OperationError::Specific(SpendNotApproved::Declined(same))) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!(same, id);
        }
        let approved = world.engine.approve_spend(id).await;
        let Err(OperationError::Rejected(spend_approval::Rejection::Declined)) = approved else {
            panic!("{approved:?}")
        };
    }
    pending(&world, transfer(3, 14)).await;
    world.clock.advance(PENDING_MS);
    eventually("the refusals end", async || rows(&world) == [0, 0, 0]).await;
    let again = pending(&world, transfer(4, 12)).await;
    assert_ne!(again, one);
    assert_eq!(payments(&world), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn request_and_approval_end_with_their_time() {
    // Checks: 24 hours without an answer, and 15 minutes without a use. Then the id is refused by name, the call
    // without it asks again, and the owner can no longer say yes.
    let world = asking(10, None).await;
    let unanswered = pending(&world, transfer(1, 12)).await;
    world.clock.advance(PENDING_MS - 60_000);
    let unused = pending(&world, transfer(2, 13)).await;
    world.engine.approve_spend(unused).await.expect("it is approved");
    world.clock.advance(60_000);
    until(&world, unanswered, Status::Expired).await;
    world.clock.advance(APPROVED_MS);
    until(&world, unused, Status::Expired).await;
    assert_eq!(world.event_count("approval.expired"), 2);
    for (id, dollars) in [(unanswered, 12), (unused, 13)] {
        let refused = ask(&world, transfer(9, dollars), Some(id)).await;
        assert!(
            matches!(refused, Err(OperationError::Specific(SpendNotApproved::Expired(same))) if same == id),
            "{refused:?}"
        );
        let approved = world.engine.approve_spend(id).await;
        assert!(
            matches!(
                approved,
                Err(OperationError::Rejected(spend_approval::Rejection::Expired))
            ),
            "{approved:?}"
        );
        assert_ne!(pending(&world, transfer(10, dollars)).await, id);
    }
    assert_eq!(payments(&world), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn named_approval_is_for_its_spend_only() {
    // Checks: an unknown id, another spend's, and one that was used; the named one passes.
    let world = asking(10, None).await;
    let id = pending(&world, transfer(1, 12)).await;
    let no = async |spend, named| match ask(&world, spend, Some(named)).await {
        Err(OperationError::Specific(why)) => why,
        other => panic!("{other:?}"),
    };
    let unknown = SpendApprovalId(7);
    assert_eq!(no(transfer(2, 12), unknown).await, SpendNotApproved::NotFound);
    assert_eq!(no(transfer(2, 13), id).await, SpendNotApproved::Mismatch(id));
    assert_eq!(no(transfer(2, 12), id).await, SpendNotApproved::Pending(id));
    world.engine.approve_spend(id).await.expect("it is approved");
    ask(&world, transfer(3, 12), Some(id)).await.expect("it passes");
    assert_eq!(no(transfer(4, 12), id).await, SpendNotApproved::Used(id));
    world.wait_until_idle().await;
    assert_eq!(no(transfer(4, 12), id).await, SpendNotApproved::Used(id));
    let declined = world.engine.decline_spend(id).await;
    assert!(
        matches!(declined, Err(OperationError::Rejected(spend_approval::Rejection::Used))),
        "{declined:?}"
    );
    assert_eq!(payments(&world), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn call_that_names_an_approval_asks_for_no_other_one() {
    // Checks: whatever became of the approval that a call names, the answer says so, nothing is spent, and the owner is not
    // asked again.
    type Course = fn(&SpendNotApproved) -> bool;
    let courses: [(&str, Course); 7] = [
        ("pending", |why| matches!(why, SpendNotApproved::Pending(_))),
        ("declined", |why| matches!(why, SpendNotApproved::Declined(_))),
        ("withdrawn", |why| matches!(why, SpendNotApproved::Declined(_))),
        ("not decided", |why| matches!(why, SpendNotApproved::Expired(_))),
        ("not used", |why| matches!(why, SpendNotApproved::Expired(_))),
        ("used", |why| matches!(why, SpendNotApproved::Used(_))),
        ("another's", |why| matches!(why, SpendNotApproved::Mismatch(_))),
    ];
    for (course, fits) in courses {
        let world = asking(10, Some(15)).await;
        let mut id = pending(&world, transfer(1, 12)).await;
        let engine = &world.engine;
        match course {
            "declined" => engine.decline_spend(id).await.expect("it is declined"),
            "withdrawn" => {
                engine.approve_spend(id).await.expect("it is approved");
                engine.decline_spend(id).await.expect("it is withdrawn");
            }
            "not decided" => world.clock.advance(PENDING_MS),
            "not used" => {
                engine.approve_spend(id).await.expect("it is approved");
                world.clock.advance(APPROVED_MS);
            }
            "used" => {
                engine.approve_spend(id).await.expect("it is approved");
                ask(&world, transfer(2, 12), Some(id)).await.expect("it passes");
                world.wait_until_idle().await;
            }
            "another's" => id = pending(&world, transfer(3, 13)).await,
            _ => {}
        }
        let before = (payments(&world), world.event_count("approval.requested"));
        for n in 10..13 {
            let answer = ask(&world, transfer(n, 12), Some(id)).await;
            let Err(OperationError::Specific(why)) = answer else {
                panic!("{course}: {answer:?}")
            };
            assert!(fits(&why), "{course}: {why:?}");
        }
        let after = (payments(&world), world.event_count("approval.requested"));
        assert_eq!(after, before, "{course}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_calls_that_name_one_approval_use_it_once() {
    // Checks: of ten calls at once one passes and the others learn that it was used, also if the limit of the day, which
    // the consent does not cover, is exceeded since. The owner is asked once.
    for round in 0..5 {
        let world = asking(10, Some(15)).await;
        let id = pending(&world, transfer(1, 12)).await;
        world.engine.approve_spend(id).await.expect("it is approved");
        let engine = world.engine.clone();
        let answers = together(10, move |n| {
            let (engine, one) = (engine.clone(), transfer(100 + u128::from(n), 12));
            async move { engine.start_wallet_payment(OWNER, one, Some(id), None).await }
        })
        .await;
        world.wait_until_idle().await;
        let passed = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!((passed, payments(&world)), (1, 1), "{round}: {answers:?}");
        for answer in answers.into_iter().filter(Result::is_err) {
            assert!(
                matches!(&answer, Err(OperationError::Specific(SpendNotApproved::Used(used))) if *used == id),
                "{round}: {answer:?}"
            );
        }
        assert_eq!(world.event_count("approval.requested"), 1, "{round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refusal_by_a_limit_is_announced() {
    // Checks: without approvals the contract's refusal, with an event; with twenty open ones the same; within the
    // limits neither.
    let world = opened(10, None).await;
    let cap = Cents::new(1_000);
    let refused = |answer: Spent| match answer {
        Err(OperationError::Rejected(why)) => assert_eq!(why, Rejection::PerCallCap { cap }),
        other => panic!("{other:?}"),
    };
    refused(ask(&world, transfer(1, 12), None).await);
    refused(ask(&world, transfer(1, 12), None).await);
    assert_eq!(world.event_count("agent_wallet.spend_refused"), 1, "once a minute");
    ask(&world, transfer(2, 9), None).await.expect("it is within");
    let limits = WalletCaps {
        per_call: cap,
        per_day: None,
        approvals: true,
    };
    world.engine.set_wallet_caps(OWNER, limits).await.expect("they are set");
    // Each session has a share of the places, so that no agent takes every one.
    let by_session = |n: u64, dollars: u64| {
        let mut spend = transfer(10, dollars);
        spend.agent.session = Some(SessionId(u128::from(n)));
        spend
    };
    let share = MAX_OPEN_OF_ONE as u64;
    for n in 0..u64::from(MAX_OPEN) {
        if n == share {
            refused(ask(&world, by_session(0, 50), None).await);
        }
        pending(&world, by_session(n / share, 20 + n)).await;
        world.clock.advance(1);
    }
    world.clock.advance(60_000);
    refused(ask(&world, transfer(10, 50), None).await);
    assert_eq!(world.event_count("agent_wallet.spend_refused"), 3);
    assert_eq!(world.event_count("approval.requested"), usize::from(MAX_OPEN));
    let (page, more) = world
        .engine
        .spend_approvals_of(&OWNER, AuthMethod::Wallet, None, 3)
        .await
        .expect("readable");
    let amounts: Vec<u64> = page
        .iter()
        .map(|(_, approval)| approval.terms.amount.atomic() / 1_000_000)
        .collect();
    assert_eq!((amounts, more), (vec![39, 38, 37], true), "newest first");
    // An agent sees what it asked for itself, on as many pages.
    let (own, other) = (key(&world, Some(1), None).await, ApiKeyId(20));
    let limits = WalletCaps {
        per_call: Cents::new(100_000),
        per_day: None,
        approvals: true,
    };
    world.engine.set_wallet_caps(OWNER, limits).await.expect("they are set");
    for (id, _) in &world
        .engine
        .spend_approvals_of(&OWNER, AuthMethod::Wallet, None, 4)
        .await
        .expect("readable")
        .0
    {
        world.engine.decline_spend(*id).await.expect("it is declined");
    }
    for n in 0..4 {
        pending(&world, by(own, transfer(200, 30 + n))).await;
        world.clock.advance(1);
    }
    for (reader, expected) in [
        (AuthMethod::Key(own), vec![33, 32, 31, 30]),
        (AuthMethod::Key(other), Vec::new()),
        (AuthMethod::Payment(PaymentId(1)), Vec::new()),
    ] {
        let (mut seen, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = world.engine.spend_approvals_of(&OWNER, reader, after, 3).await;
            let (page, more) = page.expect("readable");
            after = page.last().map(|(id, _)| *id);
            seen.extend(page.iter().map(|(_, one)| one.terms.amount.atomic() / 1_000_000));
            pages += 1;
            if !more {
                break;
            }
        }
        assert_eq!(
            (&seen, pages),
            (&expected, expected.len().div_ceil(3).max(1)),
            "{reader:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn consent_does_not_pass_a_limit_that_the_owner_did_not_see() {
    // Checks: the day's limit is used up between consent and use: the spend is refused and the consent stays.
    let world = asking(10, Some(20)).await;
    let id = pending(&world, transfer(1, 12)).await;
    world.engine.approve_spend(id).await.expect("it is approved");
    ask(&world, transfer(2, 9), None).await.expect("it is within");
    let refused = ask(&world, transfer(3, 12), None).await;
    assert!(
        matches!(refused, Err(OperationError::Rejected(Rejection::PerCallCap { .. }))),
        "{refused:?}"
    );
    assert_eq!(
        (read(&world, id).await.status, rows(&world)),
        (Status::Approved, [1, 1, 1])
    );
    assert_eq!(payments(&world), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn crash_at_any_batch_uses_an_approval_once() {
    // Checks: the power is cut after each batch of request, consent and spend. Whatever was durable, the repeated calls
    // lead to one spend and one used approval.
    let mut cuts = 0;
    for after in 0.. {
        assert!(after < 40, "it never gets through");
        let world = asking(10, None).await;
        world.store.hold_after(after, true);
        let asked = tokio::spawn({
            let engine = world.engine.clone();
            async move {
                let spend = || transfer(1, 12);
                let asked = engine.start_wallet_payment(OWNER, spend(), None, None).await;
                let Err(OperationError::Specific(SpendNotApproved::Pending(id))) = asked else {
                    return;
                };
                if engine.approve_spend(id).await.is_ok() {
                    drop(engine.start_wallet_payment(OWNER, spend(), None, None).await);
                }
            }
        });
        let mut through = false;
        eventually("the cut or the end", async || {
            let done = asked.is_finished() && world.event_count("approval.used") == 1;
            through = done && world.engine.open_jobs(1).await.is_ok_and(|open| open.is_empty());
            through || world.store.is_starving()
        })
        .await;
        let world = world.crash().await;
        asked.abort();
        if world
            .engine
            .wallet_payment(&WalletPaymentId(1))
            .await
            .expect("readable")
            .is_none()
        {
            match ask(&world, transfer(1, 12), None).await {
                Ok(()) => {}
                Err(OperationError::Specific(SpendNotApproved::Pending(id))) => {
                    world.engine.approve_spend(id).await.expect("it is approved");
                    ask(&world, transfer(1, 12), None).await.expect("it passes");
                }
                other => panic!("{other:?}"),
            }
        }
        world.wait_until_idle().await;
        assert_eq!((payments(&world), world.chain.transfers()), (1, 1));
        assert_eq!(world.event_count("approval.used"), 1);
        assert_eq!((world.event_count("approval.requested"), rows(&world)), (1, [0, 0, 0]));
        if through {
            break;
        }
        cuts += 1;
    }
    assert!(
        cuts >= 4,
        "request, consent, spend and use are batches of their own: {cuts}"
    );
}

/// An API key of the owner with these limits, in whole dollars.
async fn key(world: &Harness, per_call: Option<u64>, per_day: Option<u64>) -> ApiKeyId {
    let id = ApiKeyId(19);
    world
        .engine
        .issue_api_key(id, OWNER, "Ada's agent", 5)
        .await
        .expect("it is issued");
    let limits = KeyLimits {
        per_call: per_call.map(|cap| Cents::new(cap * 100)),
        per_day: per_day.map(|cap| Cents::new(cap * 100)),
    };
    world.engine.set_api_key_limits(id, limits).await.expect("they are set");
    id
}

/// A withdrawal of the smallest amount to the owner's wallet, by a session of the key.
fn withdrawal_by(key: ApiKeyId) -> AgentSpend {
    AgentSpend {
        terms: SpendTerms {
            payee: SpendPayee::Wallet(OWNER),
            amount: Usdc::from_atomic(1),
            act: SpendAct::Withdrawal,
            call: [0; 32],
            key: Some(key),
        },
        note: None,
        purchase: None,
        agent: SpendAgent {
            session: None,
            key: Some(key),
        },
        approval: None,
    }
}

fn by(key: ApiKeyId, spend: WalletSpend) -> WalletSpend {
    let agent = SpendAgent {
        session: None,
        key: Some(key),
    };
    WalletSpend { agent, ..spend }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn limits_of_a_key_hold_under_concurrent_spends() {
    // Checks: of fifty spends at once from the wallet and the balance exactly as many pass as the key's day permits,
    // also over a crash. What can never settle is released once. Other spends of the wallet are not counted.
    let world = opened(10, None).await;
    world.issuer.set_behaviors(&[IssuerBehavior::Declines]);
    world.pay(&card_for(OWNER, 1)).await.expect("it is paid, and credited");
    world.wait_until_idle().await;
    let key = key(&world, Some(3), Some(20)).await;
    let large = ask(&world, by(key, transfer(1, 4)), None).await;
    assert!(
        matches!(large, Err(OperationError::Rejected(Rejection::KeyPerCallCap { .. }))),
        "{large:?}"
    );
    world.sellers.set_behaviors(&[SellerBehavior::Declined]);
    let engine = world.engine.clone();
    let answers = together(50, move |n| {
        let (engine, id) = (engine.clone(), 100 + u128::from(n));
        let order = WalletPaymentOrder {
            to: evm(5),
            amount: Usdc::from_atomic(1_000_000),
            note: None,
            method: PaymentMethod::PaidCall {
                host: "shop.example.com:443".into(),
            },
        };
        let one = by(key, spend(WalletPaymentId(id), PLENTY, order));
        async move { engine.start_wallet_payment(OWNER, one, None, None).await }
    })
    .await;
    let passed = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(passed, 20, "{answers:?}");
    for answer in answers.into_iter().filter(Result::is_err) {
        assert!(
            matches!(answer, Err(OperationError::Rejected(Rejection::KeyDailyCap { .. }))),
            "{answer:?}"
        );
    }
    let spent = async |world: &Harness| world.engine.api_key_spent_today(key).await.expect("readable").atomic();
    assert_eq!(spent(&world).await, 20_000_000);
    let withdrawal = WithdrawalId(9);
    let withdrawn = world
        .engine
        .withdraw_for(
            Some(&withdrawal_by(key)),
            OWNER,
            (withdrawal, OWNER, Usdc::from_atomic(1)),
            None,
        )
        .await;
    assert!(
        matches!(withdrawn, Err(OperationError::Specific(SpendDenied::OverLimit(_)))),
        "{withdrawn:?}"
    );
    eventually("every payment is signed", async || world.sellers.signed().len() == 20).await;
    let signed = world.sellers.signed();
    signed[..5].iter().for_each(|one| world.chain.expire(one));
    signed[5..].iter().for_each(|one| drop(world.chain.settle(one)));
    world.wait_until_idle().await;
    assert_eq!(spent(&world).await, 15_000_000, "five were released");
    let world = world.crash().await;
    for n in 0..6 {
        let result = ask(&world, by(key, transfer(1_000 + n, 1)), None).await;
        assert_eq!(result.is_ok(), n < 5, "{result:?}");
    }
    ask(&world, transfer(2_000, 9), None)
        .await
        .expect("the wallet's own session has no key");
    assert_eq!(spent(&world).await, 20_000_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn owner_may_let_a_spend_pass_the_limits_of_its_key() {
    // Checks: the limits of the key are in the request and pass once; the spend counts toward the key's day.
    let world = asking(100, None).await;
    let key = key(&world, Some(3), Some(5)).await;
    let id = pending(&world, by(key, transfer(1, 12))).await;
    let limits: Vec<_> = read(&world, id).await.exceeded.iter().map(|over| over.limit).collect();
    assert_eq!(limits, [SpendLimit::KeyPerCall, SpendLimit::KeyPerDay]);
    world.engine.approve_spend(id).await.expect("it is approved");
    assert_ne!(
        pending(&world, transfer(2, 102)).await,
        id,
        "another agent has no part in it"
    );
    ask(&world, by(key, transfer(3, 12)), None).await.expect("it passes");
    world.wait_until_idle().await;
    let spent = world.engine.api_key_spent_today(key).await.expect("readable");
    assert_eq!(spent.atomic(), 12_000_000);
    assert_ne!(pending(&world, by(key, transfer(4, 12))).await, id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn approval_from_before_a_restore_passes_nothing() {
    // Checks: a consent that the backup has as unused, and that the lost history has used. It passes no spend after the
    // restore, neither by its name nor by its terms: the owner is asked anew, and that consent passes one.
    let world = asking(10, None).await;
    let id = pending(&world, transfer(1, 12)).await;
    world.engine.approve_spend(id).await.expect("it is approved");
    world.wait_until_idle().await;
    let backup = world.store.backup();
    ask(&world, transfer(2, 12), None).await.expect("it is used");
    world.wait_until_idle().await;
    let world = world.back_to(backup).await;
    let restored = world.clock.now();
    world.engine.start_restored(restored, true).await.unwrap();
    until(&world, id, Status::Expired).await;
    let named = ask(&world, transfer(3, 12), Some(id)).await;
    let is_over = matches!(
        named,
        Err(OperationError::Specific(SpendNotApproved::Expired(same))) if same == id
    );
    assert!(is_over, "{named:?}");
    let anew = pending(&world, transfer(4, 12)).await;
    assert_ne!(anew, id);
    world.engine.approve_spend(anew).await.expect("it is approved");
    ask(&world, transfer(5, 12), None)
        .await
        .expect("the new consent passes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn approvals_end_with_the_access_of_their_agent() {
    // Checks: what waits, and an approval that was given and not used, end with their API key, over a crash too, with an
    // event. Those of other agents stay, until all agents are stopped. No place stays taken, and once agents may act again
    // the same spend is asked for anew.
    let world = asking(10, None).await;
    let key = key(&world, None, None).await;
    let (waits, given) = (
        pending(&world, by(key, transfer(1, 12))).await,
        pending(&world, by(key, transfer(2, 13))).await,
    );
    let wallets = pending(&world, transfer(3, 12)).await;
    world.engine.approve_spend(given).await.expect("it is approved");
    world.wait_until_idle().await;
    world.engine.revoke_api_key(key).await.expect("it is revoked");
    let world = world.crash().await;
    for id in [waits, given] {
        until(&world, id, Status::AgentEnded).await;
    }
    world.wait_until_idle().await;
    assert_eq!(read(&world, wallets).await.status, Status::Pending);
    assert_eq!(world.event_count("approval.declined"), 2);
    assert_eq!(rows(&world), [1, 1, 0]);
    let late = world.engine.approve_spend(waits).await;
    let has_ended = matches!(
        late,
        Err(OperationError::Rejected(spend_approval::Rejection::AgentEnded))
    );
    assert!(has_ended, "{late:?}");

    let stopped = world.engine.set_agents_stopped(OWNER, true).await;
    stopped.expect("the agents are stopped");
    until(&world, wallets, Status::AgentEnded).await;
    world.wait_until_idle().await;
    assert_eq!((world.event_count("approval.declined"), rows(&world)), (3, [0; 3]));
    let resumed = world.engine.set_agents_stopped(OWNER, false).await;
    resumed.expect("agents may act");
    assert_ne!(pending(&world, transfer(4, 12)).await, wallets);
}
