//! The completion of a recovery, beside requests that were admitted before it.

use std::future::Future;

use purser_actors::credential::{AnsweredChallenge, Credential};
use purser_actors::engine::{NewPasskey, OperationError, PasskeyUse};
use purser_actors::entity::account::{LoginCode, OwnerCap, OwnerCaps};
use purser_actors::entity::passkey::Rejection;
use purser_actors::entity::recovery::WAIT_MS;
use purser_actors::entity::session::AuthMethod;
use purser_actors::id::{PasskeyId, RequestId, SessionId, Wallet};
use purser_actors::kernel::request_context;
use purser_actors::port::{Clock as _, Timestamp};
use purser_actors::product::ProductLine;
use tokio::sync::oneshot;

use crate::support::harness::{Harness, evm, session};
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);
const LOST: PasskeyId = PasskeyId(5);
const LATER_S: u64 = 9_000_000_000;

const fn challenge(n: u8) -> AnsweredChallenge {
    AnsweredChallenge {
        nonce: [n; 16],
        expires_s: LATER_S,
    }
}

fn new_passkey(id: PasskeyId, n: u8) -> NewPasskey {
    NewPasskey {
        id,
        owner: OWNER,
        name: "Phone".to_owned(),
        credential: Credential {
            id: vec![n; 16],
            public_key: vec![9; 77],
            counter: 0,
            backup_eligible: false,
        },
        challenge: challenge(n),
    }
}

const fn used(n: u8) -> PasskeyUse {
    PasskeyUse {
        id: LOST,
        counter: 0,
        challenge: challenge(n),
    }
}

/// Runs work as one request, which is admitted with a session of the account and goes on at a signal.
fn admitted<T: Send + 'static>(
    world: &Harness,
    session: SessionId,
    goes_on: oneshot::Receiver<()>,
    work: impl Future<Output = T> + Send + 'static,
) -> (oneshot::Receiver<bool>, tokio::task::JoinHandle<T>) {
    let (engine, (admits, admission)) = (world.engine.clone(), oneshot::channel());
    let request = async move {
        let has_ended = engine.has_recovery_ended(&OWNER, &session).await.unwrap();
        admits.send(!has_ended).unwrap();
        goes_on.await.unwrap();
        work.await
    };
    (
        admission,
        tokio::spawn(request_context::in_request(RequestId(7), request)),
    )
}

/// An account with a session of the wallet's link, a passkey, and a recovery that the wallet can complete.
async fn ready_to_complete() -> (Harness, SessionId) {
    let world = Harness::new().await;
    let program = session();
    let signed_in = world.engine.sign_in(OWNER, ([1; 16], LATER_S), program).await;
    signed_in.expect("it signs in");
    let page = linked(&world, program.id, 1).await.expect("the link opens a page");
    world
        .engine
        .add_passkey(new_passkey(LOST, 2))
        .await
        .expect("it is added");
    let requested = world.engine.request_recovery(OWNER, ([3; 16], LATER_S)).await;
    requested.expect("it begins");
    world.clock.advance(WAIT_MS);
    eventually("the wait is over", async || {
        let recovery = world.engine.recovery(&OWNER).await.unwrap().expect("it began");
        recovery.is_ready(world.clock.now())
    })
    .await;
    world.wait_until_idle().await;
    (world, page)
}

async fn linked(world: &Harness, creator: SessionId, hash: u8) -> Option<SessionId> {
    let code = LoginCode {
        hash: [hash; 32],
        expires_s: LATER_S,
    };
    let made = world.engine.create_login_code(OWNER, code, AuthMethod::Wallet, creator);
    made.await.expect("it is made");
    let opened = world.engine.redeem_login_code([hash; 32], |_| session()).await;
    opened.ok().map(|(_, id)| id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_admitted_before_a_completed_recovery_takes_effect_after_it() {
    // Checks: requests that were admitted with a page from before the completion, and go on after it, add no passkey, confirm
    // nothing, make no link and change no limit. The recovery's own link opens a page, which adds a passkey.
    let (world, page) = ready_to_complete().await;
    let (engine, fourth) = (&world.engine, new_passkey(PasskeyId(6), 4));
    let (mut signals, mut requests) = (Vec::new(), Vec::new());
    let mut admit = |work: std::pin::Pin<Box<dyn Future<Output = bool> + Send>>| {
        let (tell, goes_on) = oneshot::channel();
        signals.push(tell);
        requests.push(admitted(&world, page, goes_on, work));
    };
    let adds = engine.clone();
    admit(Box::pin(async move { adds.add_passkey(fourth).await.is_ok() }));
    let confirms = engine.clone();
    admit(Box::pin(async move {
        let until = Timestamp(u64::MAX);
        confirms.confirm_session(used(5), page, until).await.is_ok()
    }));
    let links = engine.clone();
    admit(Box::pin(async move {
        let code = LoginCode {
            hash: [6; 32],
            expires_s: LATER_S,
        };
        let made = links.create_login_code(OWNER, code, AuthMethod::Wallet, page).await;
        made.is_ok()
    }));
    let caps = engine.clone();
    admit(Box::pin(async move {
        let cap = OwnerCap {
            count: Some(1),
            sum: None,
        };
        let tightened = OwnerCaps::default().with(ProductLine::UsaCard, cap);
        caps.set_owner_caps(OWNER, tightened).await.is_ok()
    }));
    let mut running = Vec::new();
    for (admission, request) in requests {
        assert!(in_time("its admission", admission).await.unwrap());
        running.push(request);
    }
    let own = session();
    let completed = engine.complete_recovery(OWNER, ([7; 16], LATER_S), own).await;
    completed.expect("it is completed");
    for (tell, request) in signals.into_iter().zip(running) {
        tell.send(()).unwrap();
        let took_effect = in_time("its end", request).await.unwrap();
        assert!(!took_effect, "it was admitted before the completion");
    }
    assert!(engine.passkeys_of(&OWNER).await.unwrap().is_empty());
    let confirmed = engine.session(&page).await.unwrap().expect("it was opened");
    assert_eq!(confirmed.confirmation, None);
    // What is opened in the millisecond of the completion has ended too.
    world.clock.advance(1);

    let back = linked(&world, own.id, 8)
        .await
        .expect("the recovery's link opens a page");
    let (tell, goes_on) = oneshot::channel();
    let (adds, fresh) = (engine.clone(), new_passkey(PasskeyId(7), 9));
    let work = async move { adds.add_passkey(fresh).await.is_ok() };
    let (admission, request) = admitted(&world, back, goes_on, work);
    assert!(in_time("its admission", admission).await.unwrap());
    tell.send(()).unwrap();
    assert!(in_time("its end", request).await.unwrap(), "a page of the recovery");
    assert!(engine.has_passkeys(&OWNER).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lost_passkey_serves_nothing_once_the_recovery_is_completed() {
    // Checks: the completion is durable and the removal of the lost passkey is not. It signs in nowhere, is not listed, and
    // does not count as a passkey of the account. It is removed in the end.
    let (world, _) = ready_to_complete().await;
    world.store.hold_after(1, true);
    let engine = world.engine.clone();
    let completing = tokio::spawn(async move { engine.complete_recovery(OWNER, ([4; 16], LATER_S), session()).await });
    eventually("only the completion is durable", async || world.store.is_starving()).await;
    let engine = world.engine.clone();
    let signs_in = async move { engine.sign_in_with_passkey(used(5), session()).await };
    let refused = in_time("an answer", request_context::in_request(RequestId(8), signs_in)).await;
    let is_removed = matches!(refused, Err(OperationError::Rejected(Rejection::Removed)));
    assert!(is_removed, "{refused:?}");
    assert!(world.engine.passkeys_of(&OWNER).await.unwrap().is_empty());
    assert!(!world.engine.has_passkeys(&OWNER).await.unwrap());
    world.store.release();
    let completed = in_time("its end", completing).await.unwrap();
    completed.expect("it is completed");
    let lost = world.engine.passkey(&LOST).await.unwrap().expect("it was added");
    assert!(!lost.is_active());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sign_in_with_a_lost_passkey_and_the_completion_have_an_order() {
    // Checks: the sign-in comes while the completion is being written. It opens no session.
    let (world, _) = ready_to_complete().await;
    world.store.hold();
    let (engine, own) = (world.engine.clone(), session());
    let completing = tokio::spawn(async move { engine.complete_recovery(OWNER, ([4; 16], LATER_S), own).await });
    eventually("the completion waits for the disk", async || world.store.queued() >= 1).await;
    let (engine, late) = (world.engine.clone(), session());
    let signs_in = async move { engine.sign_in_with_passkey(used(5), late).await };
    let signing_in = tokio::spawn(request_context::in_request(RequestId(8), signs_in));
    eventually("the sign-in waits behind it", async || world.store.queued() >= 2).await;
    world.store.release();
    let completed = in_time("its end", completing).await.unwrap();
    completed.expect("it is completed");
    let refused = in_time("an answer", signing_in).await.unwrap();
    assert!(refused.is_err(), "{refused:?}");
    assert!(world.engine.session(&late.id).await.unwrap().is_none());
    assert!(world.engine.session(&own.id).await.unwrap().is_some());
}
