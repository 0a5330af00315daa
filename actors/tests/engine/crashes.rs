//! A power cut at any moment leaves one product, and a caller who goes away changes nothing.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::PaymentBehavior;

/// Cuts the power after each batch that a paid call writes, starts anew, and lets the client ask again.
async fn assert_one_product_after_crash(fate: PaymentBehavior, last_is_answered: bool) {
    let mut cuts = 0;
    for after in 0.. {
        assert!(after < 50, "the call never gets through");
        let world = Harness::new().await;
        let request = card_for(evm(1), 1);
        world.chain.set_behavior(&request.authorization, fate);
        world.store.hold_after(after, last_is_answered);
        let call = tokio::spawn({
            let (engine, request) = (world.engine.clone(), request.clone());
            async move { engine.pay(request).await }
        });
        let mut through = false;
        eventually("the cut or the end", async || {
            through = call.is_finished() && world.issuer.cards() == 1 && world.cards()[0].1.details().is_some();
            // Without the last answer nobody may be there to write more.
            through
                || world.store.is_starving()
                || (!last_is_answered && world.store.committed() >= after + INITIAL_BATCHES)
        })
        .await;
        let world = world.crash().await;
        call.abort();
        let paid = world.pay_until_known(&request).await;
        world.wait_until_idle().await;
        world.assert_one_card(&request);
        let told = world.pay(&request).await.unwrap();
        assert_eq!(bought_card(&told), world.cards()[0].0, "{:?}", paid.outcome);
        if through {
            break;
        }
        cuts += 1;
    }
    assert!(
        cuts >= 4,
        "claim, settling, fulfilled and issued are batches of their own: {cuts}"
    );
}

/// Batches of an engine's first start: its secret.
const INITIAL_BATCHES: u64 = 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_a_cut_before_any_batch_of_a_paid_call_leaves_one_product() {
    // Aim: between claim and settle, settle and books, books and product, product and answer.
    assert_one_product_after_crash(PaymentBehavior::Settles, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_a_cut_after_a_batch_and_before_its_answer_leaves_one_product() {
    // Aim: the same when the batch is durable and nobody has heard of it.
    assert_one_product_after_crash(PaymentBehavior::Settles, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_a_cut_on_the_way_of_an_unknown_payment_leaves_one_product() {
    // Aim: the same when the chain's answer was lost and a watch finds the transfer.
    assert_one_product_after_crash(PaymentBehavior::ResponseLost, true).await;
    assert_one_product_after_crash(PaymentBehavior::ResponseLost, false).await;
}

/// Polls a future so many times and drops it; `false` if it ended before.
async fn poll_and_drop<F: Future>(future: F, times: usize) -> bool {
    let mut future = pin!(future);
    for _ in 0..times {
        let ready = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await;
        if ready {
            return false;
        }
        // The engine goes on while the caller hesitates.
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_a_caller_who_goes_away_at_any_step_changes_nothing() {
    // Aim: from the claim on nobody needs the caller. Before the first poll nothing is claimed; after it, all goes on.
    let world = Harness::new().await;
    let untouched = card_for(evm(2), 1);
    drop(world.engine.pay(untouched.clone()));
    for (nonce, times) in (1..=12).enumerate() {
        let request = card_for(evm(1), nonce as u8);
        poll_and_drop(world.engine.pay(request.clone()), times).await;
        eventually("the card is made", async || world.issuer.cards() > nonce).await;
    }
    world.wait_until_idle().await;
    assert_eq!(world.cards().len(), 12);
    assert_eq!(world.chain.transfers(), 12);
    let id = world.engine.payment_id(&untouched.authorization);
    assert!(world.engine.payment(&id).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_a_caller_who_goes_away_while_the_chain_thinks_can_come_back() {
    // Aim: the room stays taken while the settlement is in flight (case 20), the payment goes on, and the same payment
    // joins it without room of its own.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
    let free = world.engine.current_load().permits_free;
    let call = tokio::spawn({
        let (engine, request) = (world.engine.clone(), request.clone());
        async move { engine.pay(request).await }
    });
    eventually("it is on its way", async || world.chain.at_gate() == 1).await;
    assert_eq!(world.engine.current_load().permits_free, free - 1);
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(world.engine.current_load().permits_free, free - 1);
    world.chain.open_gate();
    bought_card(&world.pay(&request).await.unwrap());
    world.wait_until_idle().await;
    eventually("the room is free", async || {
        world.engine.current_load().permits_free == free
    })
    .await;
    world.assert_one_card(&request);
}
