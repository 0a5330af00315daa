//! A power cut at any time leaves one product, and a cancelled caller changes nothing.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::PaymentBehavior;

/// Cuts the power after each batch of a paid call, restarts, and sends the request again. Of a payment that is prepared
/// with its claim, and of one that is prepared later.
async fn assert_one_product_after_crash(behavior: PaymentBehavior, last_is_answered: bool) {
    for (locally, batches) in [(true, 3), (false, 4)] {
        let cuts = crash_after_each_batch(behavior, last_is_answered, locally).await;
        assert!(
            cuts >= batches,
            "claim, settling, fulfilled and issued are batches of their own, unless the claim is prepared: {cuts}"
        );
    }
}

/// Number of batches after which the power was cut.
async fn crash_after_each_batch(behavior: PaymentBehavior, last_is_answered: bool, locally: bool) -> usize {
    let mut cuts = 0;
    for after in 0.. {
        assert!(after < 50, "the call never gets through");
        let world = Harness::new().await;
        let request = card_for(evm(1), 1);
        world.chain.set_prepares_locally(locally);
        world.chain.set_behavior(&request.authorization, behavior);
        world.store.hold_after(after, last_is_answered);
        let call = tokio::spawn({
            let (engine, request) = (world.engine.clone(), request.clone());
            async move { engine.pay(request).await }
        });
        let mut through = false;
        eventually("the cut or the end", async || {
            through = call.is_finished() && world.issuer.cards() == 1 && world.cards()[0].1.details().is_some();
            // Without the last response, no task may be left that could write more.
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
        let again = world.pay(&request).await.unwrap();
        assert_eq!(bought_card(&again), world.cards()[0].0, "{:?}", paid.outcome);
        if through {
            break;
        }
        cuts += 1;
    }
    cuts
}

/// Batches of an engine's first start, which stores its secret.
const INITIAL_BATCHES: u64 = 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_crash_before_any_batch_leaves_one_product() {
    // Checks: cuts between claim and settlement, settlement and posting, posting and product, product and response.
    assert_one_product_after_crash(PaymentBehavior::Settles, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_crash_between_batch_and_response_leaves_one_product() {
    // Checks: the same when the batch is durable and no caller has its response.
    assert_one_product_after_crash(PaymentBehavior::Settles, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_crash_during_an_unknown_payment_leaves_one_product() {
    // Checks: the same when the chain's response was lost and a watch finds the transfer.
    assert_one_product_after_crash(PaymentBehavior::ResponseLost, true).await;
    assert_one_product_after_crash(PaymentBehavior::ResponseLost, false).await;
}

/// Polls a future up to `n` times and drops it; `false` if it ended before.
async fn poll_and_drop<F: Future>(future: F, times: usize) -> bool {
    let mut future = pin!(future);
    for _ in 0..times {
        let ready = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await;
        if ready {
            return false;
        }
        // The engine continues while the caller waits.
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_12_cancelled_caller_changes_nothing() {
    // Checks: nothing depends on the caller once the payment is claimed. Before the first poll nothing is claimed.
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
async fn case_12_cancelled_caller_can_join_its_settlement_again() {
    // Checks: the permit stays taken while the settlement is in flight (case 20). The payment continues, and the same
    // payment joins it without a permit of its own.
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
    eventually("the permit is free", async || {
        world.engine.current_load().permits_free == free
    })
    .await;
    world.assert_one_card(&request);
}
