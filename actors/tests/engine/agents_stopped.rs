//! Stop of all agents by the account owner: what is refused from that moment, what ends, and what goes on.

use purser_actors::engine::{ClaimError, OperationError};
use purser_actors::entity::account::LoginCode;
use purser_actors::entity::agent_wallet::Rejection as WalletRejection;
use purser_actors::entity::api_key::Rejection as KeyRejection;
use purser_actors::entity::payment::Outcome;
use purser_actors::entity::session::AuthMethod;
use purser_actors::entity::wallet_payment::PaymentMethod;
use purser_actors::id::{ApiKeyId, RequestId, SessionId, Wallet};
use purser_actors::kernel::{Entity, request_context};
use purser_actors::port::Clock as _;

use crate::gate::set_frozen;
use crate::support::harness::{Harness, card_for, evm, session};
use crate::support::ports::PaymentBehavior;
use crate::support::{eventually, in_time};
use crate::wallet_payments::{ID, opened, read, start_payment};

const OWNER: Wallet = evm(1);
/// The owner's agent wallet on Base, as `wallet_payments::opened` makes it.
const MANAGED: Wallet = Wallet::Evm([8; 20]);
const LATER_S: u64 = 9_000_000_000;

async fn set_stopped(world: &Harness, stopped: bool) {
    let set = world.engine.set_agents_stopped(OWNER, stopped);
    in_time("an answer", set).await.expect("it is set");
}

async fn has_ended(world: &Harness, id: SessionId) -> bool {
    let session = world.engine.session(&id).await.unwrap().expect("it was opened");
    world.engine.has_session_ended(&id, &session).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stopped_agents_are_refused_before_anything_is_charged() {
    // Checks: the owner's wallet and the agent wallet buy nothing, over a crash too, and a declined payment is not sent
    // again. Nothing reaches the chain. What was bought before continues. Resumed, the same payments are taken.
    let world = opened(50, None).await;
    let bought = world.pay(&card_for(OWNER, 1)).await.unwrap();
    assert!(matches!(bought.outcome, Outcome::Fulfilled { .. }), "{bought:?}");
    let declined = card_for(OWNER, 2);
    world
        .chain
        .set_behavior(&declined.authorization, PaymentBehavior::Declined);
    let first = world.pay(&declined).await.unwrap();
    assert!(matches!(first.outcome, Outcome::Declined(_)), "{first:?}");
    set_stopped(&world, true).await;
    set_stopped(&world, true).await;
    // The declined payment is looked up until it can no longer settle.
    eventually("what was paid is delivered", async || {
        world.cards().iter().any(|(_, card)| card.status() == "ready")
    })
    .await;
    let world = world.crash().await;
    let before = world.chain.submissions();
    for request in [&card_for(OWNER, 3), &card_for(MANAGED, 4), &declined] {
        let refused = world.pay(request).await.unwrap_err();
        assert_eq!(refused, ClaimError::AgentsStopped);
    }
    assert_eq!(world.chain.submissions(), before);
    assert!(
        world.pay(&card_for(evm(2), 1)).await.is_ok(),
        "another account is not affected"
    );
    set_stopped(&world, false).await;
    for request in [&card_for(OWNER, 3), &card_for(MANAGED, 4)] {
        let paid = world.pay_until_known(request).await;
        assert!(matches!(paid.outcome, Outcome::Fulfilled { .. }), "{paid:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn purchase_and_stop_at_the_same_time_have_an_order() {
    // Checks: a purchase that was claimed before the stop is paid and delivered, although the stop comes before its
    // reply. One that comes while the stop is being written is refused, and nothing is sent for it.
    let world = opened(50, None).await;
    assert!(world.pay(&card_for(OWNER, 1)).await.is_ok());
    world.wait_until_idle().await;
    let before = world.chain.submissions();
    world.store.hold();
    let pay = |nonce: u8| {
        let engine = world.engine.clone();
        tokio::spawn(async move { engine.pay(card_for(OWNER, nonce)).await })
    };
    let early = pay(2);
    eventually("the claim waits for the disk", async || world.store.queued() >= 1).await;
    let engine = world.engine.clone();
    let stopping = tokio::spawn(async move { engine.set_agents_stopped(OWNER, true).await });
    eventually("the stop waits behind it", async || world.store.queued() >= 2).await;
    let late = pay(3);
    tokio::task::yield_now().await;
    world.store.release();
    in_time("the stop", stopping).await.unwrap().expect("it is stopped");
    let paid = in_time("the early purchase", early).await.unwrap().unwrap();
    assert!(matches!(paid.outcome, Outcome::Fulfilled { .. }), "{paid:?}");
    let refused = in_time("the late purchase", late).await.unwrap().unwrap_err();
    assert_eq!(refused, ClaimError::AgentsStopped);
    world.wait_until_idle().await;
    assert_eq!(world.chain.submissions(), before + 1);
    assert_eq!(world.cards().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn command_of_an_agent_does_not_commit_after_the_stop() {
    // Checks: a request that was admitted before the stop, and whose batch comes after it, changes nothing. The owner's
    // request, that of another account's agent and a job do.
    let world = opened(50, None).await;
    assert!(world.pay(&card_for(OWNER, 1)).await.is_ok());
    let link = async |agent_of: Option<Wallet>, owner: Wallet| {
        let engine = &world.engine;
        let request = async {
            if let Some(account) = agent_of {
                request_context::act_as_agent_of(account);
            }
            engine.request_issuer_link(owner, true).await
        };
        in_time("an answer", request_context::in_request(RequestId(7), request)).await
    };
    set_stopped(&world, true).await;
    let refused = link(Some(OWNER), OWNER).await;
    assert!(matches!(refused, Err(OperationError::Unavailable)), "{refused:?}");
    assert!(world.engine.issuer_link(&OWNER).await.unwrap().is_none());
    link(Some(evm(2)), evm(2)).await.expect("another account");
    link(None, OWNER).await.expect("the owner");
    world.wait_until_idle().await;
    assert!(world.engine.issuer_link(&OWNER).await.unwrap().is_some());
    set_stopped(&world, false).await;
    link(Some(OWNER), OWNER).await.expect("agents may act");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stop_ends_the_access_of_agents_and_not_the_owners() {
    // Checks: sessions of programs, API keys with their sessions, and login links of either end with the stop and stay
    // ended. The owner's browser goes on. New sign-ins and keys are valid once agents may act again.
    let world = Harness::new().await;
    let sign_in = async |nonce: u8| {
        let seed = session();
        let signed_in = world.engine.sign_in(OWNER, ([nonce; 16], LATER_S), seed).await;
        signed_in.expect("it signs in");
        seed.id
    };
    let issue = async |id: u128| {
        let made = world.engine.issue_api_key(ApiKeyId(id), OWNER, "Ada", 8).await;
        made.expect("it is made");
        ApiKeyId(id)
    };
    let program = sign_in(1).await;
    let code = |hash| LoginCode {
        hash: [hash; 32],
        expires_s: LATER_S,
    };
    for hash in [1, 2] {
        let made = world
            .engine
            .create_login_code(OWNER, code(hash), AuthMethod::Wallet, program);
        made.await.expect("it is made");
    }
    let (_, browser) = world.engine.redeem_login_code([1; 32], |_| session()).await.unwrap();
    let (key, of_key) = (issue(71).await, session());
    world
        .engine
        .exchange_api_key(key, of_key)
        .await
        .expect("it is exchanged");
    let listed = world.engine.sessions_of(&OWNER, 10).await.unwrap();
    let listed: Vec<SessionId> = listed.into_iter().map(|(id, _)| id).collect();
    for id in [program, browser, of_key.id] {
        assert!(!has_ended(&world, id).await && listed.contains(&id), "{id}");
    }
    set_stopped(&world, true).await;
    world.wait_until_idle().await;
    let world = world.crash().await;
    for (id, ends) in [(program, true), (browser, false), (of_key.id, true)] {
        assert_eq!(has_ended(&world, id).await, ends, "{id}");
    }
    assert!(world.engine.api_keys_of(&OWNER).await.unwrap().is_empty());
    assert!(
        !world
            .engine
            .api_key(&key)
            .await
            .unwrap()
            .expect("it is there")
            .is_active()
    );
    let used = world.engine.exchange_api_key(key, session()).await;
    assert!(
        matches!(used, Err(OperationError::Rejected(KeyRejection::Revoked))),
        "{used:?}"
    );
    let linked = world.engine.redeem_login_code([2; 32], |_| session()).await;
    assert!(matches!(linked, Err(OperationError::AlreadyUsed)), "{linked:?}");

    world.clock.advance(1_000);
    let made = world.engine.issue_api_key(ApiKeyId(72), OWNER, "Ben", 8).await;
    made.expect("it is made");
    let waits = world.engine.exchange_api_key(ApiKeyId(72), session()).await;
    let stopped = Err(OperationError::Rejected(KeyRejection::AgentsStopped));
    assert_eq!(
        format!("{waits:?}"),
        format!("{:?}", stopped as Result<(), OperationError<KeyRejection>>)
    );
    set_stopped(&world, false).await;
    let entered = session();
    world
        .engine
        .exchange_api_key(ApiKeyId(72), entered)
        .await
        .expect("it is exchanged");
    let seed = session();
    world
        .engine
        .sign_in(OWNER, ([2; 16], LATER_S), seed)
        .await
        .expect("it signs in");
    for (id, ends) in [
        (program, true),
        (browser, false),
        (of_key.id, true),
        (entered.id, false),
        (seed.id, false),
    ] {
        assert_eq!(has_ended(&world, id).await, ends, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn agent_wallet_spends_nothing_while_agents_are_stopped() {
    // Checks: a new wallet payment is rejected. One that waited unsigned when the agents were stopped fails, its hold ends
    // and nothing is sent, also once agents may act again.
    let world = opened(50, None).await;
    assert!(world.pay(&card_for(OWNER, 1)).await.is_ok());
    world.wait_until_idle().await;
    let sent = world.chain.submissions();
    set_frozen(&world, OWNER, true).await;
    start_payment(&world, ID, PaymentMethod::Transfer)
        .await
        .expect("it waits at the gate");
    set_stopped(&world, true).await;
    set_frozen(&world, OWNER, false).await;
    eventually("it has failed", async || read(&world).await.status() == "failed").await;
    world.wait_until_idle().await;
    let refused = start_payment(&world, purser_actors::id::WalletPaymentId(78), PaymentMethod::Transfer).await;
    let stopped = matches!(refused, Err(OperationError::Rejected(WalletRejection::AgentsStopped)));
    assert!(stopped, "{refused:?}");
    set_stopped(&world, false).await;
    world.wait_until_idle().await;
    let wallet = world.engine.agent_wallet(&OWNER).await.unwrap().expect("it exists");
    let held = wallet.used_on(world.clock.now());
    assert_eq!((held.atomic(), world.chain.submissions()), (0, sent));
}
