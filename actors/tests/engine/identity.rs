//! Sign-in: look-alike wallets, used nonces, one-time links and frozen accounts.

use purser_actors::engine::{ClaimError, OperationError, UserIdCollision};
use purser_actors::entity::account::LoginCode;
use purser_actors::entity::session::AuthMethod;
use purser_actors::entity::session::Command;
use purser_actors::id::{PaymentId, Wallet};

use crate::support::harness::{Harness, bought_card, card_for, evm, session};
use crate::support::{NOON_MS, eventually, in_time};

const LATER_S: u64 = NOON_MS / 1_000 + 900;

/// Two Solana addresses that differ only in the case of one letter.
fn case_variant_wallets() -> (Wallet, Wallet) {
    for seed in 0..=u8::MAX {
        let wallet = Wallet::Solana([seed; 32]);
        let address = wallet.address();
        for (at, c) in address.char_indices() {
            let flipped = if c.is_ascii_lowercase() {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            };
            let mut other = address.clone();
            other.replace_range(at..=at, &flipped.to_string());
            match other.parse::<Wallet>() {
                Ok(other) if other != wallet => return (wallet, other),
                _ => {}
            }
        }
    }
    panic!("there is no such pair");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_46_look_alike_address_is_rejected_before_settlement() {
    // Checks: of two addresses that are equal in lower case the first gets the user id; the other can neither buy nor
    // sign in.
    let world = Harness::new().await;
    let (first, second) = case_variant_wallets();
    assert_eq!(first.user_id(), second.user_id());
    bought_card(&world.pay(&card_for(first, 1)).await.unwrap());
    assert_eq!(
        world.pay(&card_for(second, 2)).await.unwrap_err(),
        ClaimError::UserIdCollision
    );
    let denied = world.engine.sign_in(second, ([1; 16], LATER_S), session()).await;
    assert!(
        matches!(denied, Err(OperationError::Specific(UserIdCollision))),
        "{denied:?}"
    );
    assert_eq!(world.chain.transfers(), 1);
    assert!(world.engine.account(&second).await.unwrap().is_none());
    assert!(world.engine.cards_of(&second, None, 10).await.unwrap().0.is_empty());
    bought_card(&world.pay(&card_for(first, 3)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_46_concurrent_look_alike_addresses_have_one_winner() {
    // Checks: check and write are one step; the loser of the race gets the collision error, not the used-nonce error.
    let world = Harness::new().await;
    let (first, second) = case_variant_wallets();
    world.store.hold();
    let calls: Vec<_> = [(first, 1), (second, 2)]
        .into_iter()
        .map(|(wallet, nonce)| {
            let engine = world.engine.clone();
            tokio::spawn(async move { engine.sign_in(wallet, ([nonce; 16], LATER_S), session()).await })
        })
        .collect();
    eventually("both are on their way", async || world.store.queued() == 2).await;
    world.store.release();
    let mut refused = 0;
    for call in calls {
        match in_time("a sign-in", call).await.unwrap() {
            Ok(()) => {}
            Err(OperationError::Specific(UserIdCollision)) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(refused, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_42_nonce_signs_in_once() {
    // Checks: the second use of a nonce is rejected, at once and after a restart, for this wallet and for any other.
    let world = Harness::new().await;
    let (nonce, one) = (([1; 16], LATER_S), session());
    world.engine.sign_in(evm(1), nonce, one).await.unwrap();
    assert!(world.engine.session(&one.id).await.unwrap().unwrap().is_active());
    let world = world.crash().await;
    for wallet in [evm(1), evm(2)] {
        let two = session();
        let denied = world.engine.sign_in(wallet, nonce, two).await;
        assert!(matches!(denied, Err(OperationError::AlreadyUsed)), "{denied:?}");
        assert!(world.engine.session(&two.id).await.unwrap().is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sign_in_succeeds_after_a_rejected_batch_of_its_account() {
    // Checks: a conflict is retried; only a nonce that was really used is reported as used.
    let world = Harness::new().await;
    world
        .engine
        .sign_in(evm(1), ([1; 16], LATER_S), session())
        .await
        .unwrap();
    world.store.hold();
    world.store.reject_nth(1);
    let freeze = tokio::spawn({
        let engine = world.engine.clone();
        async move { engine.set_frozen(evm(1), Some("why".into()), None).await }
    });
    eventually("the first batch waits", async || world.store.queued() == 1).await;
    let sign_in = tokio::spawn({
        let engine = world.engine.clone();
        async move { engine.sign_in(evm(1), ([2; 16], LATER_S), session()).await }
    });
    eventually("the second batch waits", async || world.store.queued() == 2).await;
    world.store.release();
    in_time("the sign-in", sign_in).await.unwrap().unwrap();
    in_time("the freezing", freeze).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_47_login_link_opens_once_before_it_expires() {
    // Checks: the code signs in once, with no more rights than its session had, and not after it has expired.
    let world = Harness::new().await;
    let created_by = session();
    world
        .engine
        .sign_in(evm(1), ([1; 16], LATER_S), created_by)
        .await
        .unwrap();
    let code = |hash| LoginCode {
        hash: [hash; 32],
        expires_s: LATER_S,
    };
    for (hash, amr) in [
        (1, AuthMethod::Payment(PaymentId(7))),
        (2, AuthMethod::Wallet),
        (4, AuthMethod::Wallet),
    ] {
        world
            .engine
            .create_login_code(evm(1), code(hash), amr, created_by.id)
            .await
            .unwrap();
    }
    let one = session();
    let (grant, _) = world.engine.redeem_login_code([1; 32], |_| one).await.unwrap();
    assert_eq!((grant.wallet, grant.amr), (evm(1), AuthMethod::Payment(PaymentId(7))));
    let kept = world.engine.session(&one.id).await.unwrap().unwrap().amr;
    assert_eq!(kept, AuthMethod::Payment(PaymentId(7)));
    for used_or_unknown in [[1; 32], [3; 32]] {
        let denied = world.engine.redeem_login_code(used_or_unknown, |_| session()).await;
        assert!(matches!(denied, Err(OperationError::AlreadyUsed)), "{denied:?}");
    }
    // A link ends with the session that created it.
    world.engine.refresh(created_by.id, Command::Revoke).await.unwrap();
    let denied = world.engine.redeem_login_code([4; 32], |_| session()).await;
    assert!(matches!(denied, Err(OperationError::AlreadyUsed)), "{denied:?}");
    world.clock.advance(900_000);
    let denied = world.engine.redeem_login_code([2; 32], |_| session()).await;
    assert!(matches!(denied, Err(OperationError::AlreadyUsed)), "{denied:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_49_frozen_account_can_sign_in_but_not_buy() {
    // Checks: no purchase or settlement, but sign-in works; after the unfreeze everything is as before.
    let world = Harness::new().await;
    bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    world
        .engine
        .set_frozen(evm(1), Some("call us".into()), None)
        .await
        .unwrap();
    let request = card_for(evm(1), 2);
    let frozen = ClaimError::Frozen {
        message: "call us".into(),
    };
    assert_eq!(world.pay(&request).await.unwrap_err(), frozen);
    assert_eq!(world.chain.submissions(), 1);
    world
        .engine
        .sign_in(evm(1), ([1; 16], LATER_S), session())
        .await
        .unwrap();
    let code = LoginCode {
        hash: [1; 32],
        expires_s: LATER_S,
    };
    // The account owner can read the reason.
    let created_by = session();
    world
        .engine
        .sign_in(evm(1), ([2; 16], LATER_S), created_by)
        .await
        .unwrap();
    let offered = world
        .engine
        .create_login_code(evm(1), code, AuthMethod::Wallet, created_by.id);
    offered.await.unwrap();
    world.engine.redeem_login_code([1; 32], |_| session()).await.unwrap();
    // An unknown wallet can be frozen in advance.
    world
        .engine
        .set_frozen(evm(2), Some("call us".into()), None)
        .await
        .unwrap();
    assert_eq!(world.pay(&card_for(evm(2), 1)).await.unwrap_err(), frozen);
    world.engine.set_frozen(evm(1), None, None).await.unwrap();
    bought_card(&world.pay(&request).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_49_freeze_after_the_claim_does_not_stop_the_payment() {
    // Checks: a payment that passed the check is not rejected after settlement.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, crate::support::ports::PaymentBehavior::Waits);
    let call = tokio::spawn({
        let (engine, request) = (world.engine.clone(), request.clone());
        async move { engine.pay(request).await }
    });
    eventually("it is on its way", async || world.chain.at_gate() == 1).await;
    world
        .engine
        .set_frozen(evm(1), Some("too late".into()), None)
        .await
        .unwrap();
    world.chain.open_gate();
    bought_card(&in_time("the call", call).await.unwrap().unwrap());
    world.wait_until_idle().await;
    world.assert_one_card(&request);
}
