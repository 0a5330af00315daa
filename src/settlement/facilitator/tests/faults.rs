//! One payment makes one transfer through one facilitator, whatever that facilitator responds.

use purser_actors::port::{ChainStatus, Decline, ErrorKind, Finality, PortError};
use tokio::task::JoinHandle;

use super::*;
use crate::facilitator::rows::mark;

/// A submission in its own task, as the engine awaits it.
fn submitting(
    port: &Port,
    payment: &Authorization,
    prepared: &PreparedTransaction,
) -> JoinHandle<Result<SubmitResult, PortError>> {
    let (port, payment, prepared) = (port.clone(), payment.clone(), prepared.clone());
    tokio::spawn(async move { port.submit(&payment, &prepared).await })
}

fn settled_unconfirmed(transaction: &str) -> SubmitResult {
    SubmitResult::Settled {
        transaction: transaction.to_owned(),
        finality: Finality::Confirmed,
    }
}

fn first_transaction() -> SubmitResult {
    settled_unconfirmed(&format!("0x{:064x}", 1))
}

fn reason(submitted: SubmitResult) -> String {
    match submitted {
        SubmitResult::Declined(decline) => decline.reason.to_string(),
        settled @ SubmitResult::Settled { .. } => panic!("{settled:?}"),
    }
}

// case_87: a facilitator that executes and then fails, hangs, declines or answers nonsense may be queried again. It is
// never replaced by the second one. The chain decides, and it shows one transfer.
#[tokio::test]
async fn case_87_a_payment_that_was_executed_is_settled_whatever_is_answered() {
    let modes = [
        Mode::Succeeds,
        Mode::NoHash,
        Mode::WrongFormat,
        Mode::OtherNetwork,
        Mode::Pending,
        Mode::FailsAfter(500),
        Mode::FailsAfter(502),
        Mode::FailsAfter(402),
        Mode::FailsAfter(200),
        Mode::DeclinesAfter(500, "insufficient_funds"),
        Mode::DeclinesAfter(200, "insufficient_funds"),
        Mode::DeclinesAfter(200, "unexpected_settle_error"),
        Mode::HangsAfter,
        Mode::EndlessAfter,
        Mode::CutAfter,
    ];
    for mode in modes {
        let world = Harness::start(&[mode, Mode::Succeeds]).await;
        let port = world.open(&[0, 1]).await;
        let settled = submit(&port, &payment(1)).await;
        assert_eq!(settled, first_transaction(), "{mode:?}");
        assert_eq!((world.chain.transfers(), world.settles()[1]), (1, 0), "{mode:?}");
        // Submitted once more, as after a restart: nothing is sent.
        let asked = world.settles();
        assert_eq!(submit(&port, &payment(1)).await, first_transaction(), "{mode:?}");
        assert_eq!(world.settles(), asked, "{mode:?}");
    }
}

// case_87: a payment that was not executed and not definitely declined stays unknown. Only the same facilitator is
// queried again. Once it has recovered, the payment settles once.
#[tokio::test]
async fn case_87_what_is_unknown_goes_to_the_same_facilitator_again() {
    let modes = [
        Mode::FalseReport,
        Mode::Fails(500),
        Mode::Fails(503),
        Mode::Fails(429),
        Mode::Fails(401),
        Mode::Declines("settlement_pending"),
        Mode::Declines("invalid_exact_evm_nonce_already_used"),
        Mode::Declines("unsupported_scheme"),
        Mode::Declines(""),
        Mode::Redirects,
    ];
    for mode in modes {
        let world = Harness::start(&[mode, Mode::Succeeds]).await;
        let port = world.open(&[0, 1]).await;
        let prepared = ready(&port, &payment(1)).await;
        let submitted = submitting(&port, &payment(1), &prepared);
        until("it is asked again", || world.servers[0].settles() >= 3).await;
        assert!(!submitted.is_finished(), "{mode:?}");
        assert_eq!(
            port.lookup(&payment(1), Some(&prepared)).await,
            Ok(ChainStatus::Pending),
            "{mode:?}"
        );
        assert_eq!((world.chain.transfers(), world.settles()[1]), (0, 0), "{mode:?}");
        world.servers[0].set(Mode::Succeeds);
        assert_eq!(submitted.await.unwrap(), Ok(first_transaction()), "{mode:?}");
        assert_eq!((world.chain.transfers(), world.settles()[1]), (1, 0), "{mode:?}");
    }
}

// Checks: a definite decline of the first settlement is returned with the code that clients branch on. The payment may
// be submitted again, through the same facilitator.
#[tokio::test]
async fn a_definite_decline_is_the_answer_and_the_payment_may_come_again() {
    let world = Harness::start(&[Mode::Declines("invalid_exact_evm_insufficient_balance"), Mode::Succeeds]).await;
    let port = world.open(&[0, 1]).await;
    for _ in 0..2 {
        assert_eq!(reason(submit(&port, &payment(1)).await), "insufficient_funds");
    }
    assert_eq!(world.settles(), [2, 0]);
    world.servers[0].set(Mode::Succeeds);
    assert_eq!(submit(&port, &payment(1)).await, first_transaction());
    assert_eq!(world.settles(), [3, 0]);
}

// Checks: after an unknown outcome a decline proves nothing, because the payment may be about to settle. Only the chain
// ends it.
#[tokio::test]
async fn decline_after_an_unknown_outcome_is_not_definite() {
    let world = Harness::start(&[Mode::Fails(500)]).await;
    let port = world.open(&[0]).await;
    let prepared = ready(&port, &payment(1)).await;
    let submitted = submitting(&port, &payment(1), &prepared);
    until("it has failed", || world.servers[0].settles() >= 1).await;
    world.servers[0].set(Mode::Declines("insufficient_funds"));
    let failed = world.servers[0].settles();
    until("it has declined", || world.servers[0].settles() >= failed + 2).await;
    assert!(!submitted.is_finished());
    world.chain.make_impossible(&payment(1));
    assert_eq!(submitted.await.unwrap().unwrap_err().kind, ErrorKind::Permanent);
    assert_eq!(port.lookup(&payment(1), None).await, Ok(ChainStatus::Impossible));
    // The same in a process that does not know what an earlier one has sent.
    let world = Harness::start(&[Mode::Fails(500)]).await;
    let port = world.open(&[0]).await;
    let prepared = ready(&port, &payment(1)).await;
    let submitted = submitting(&port, &payment(1), &prepared);
    until("it has failed", || world.servers[0].settles() >= 1).await;
    submitted.abort();
    world.servers[0].set(Mode::Declines("insufficient_funds"));
    let port = world.open(&[0]).await;
    let failed = world.servers[0].settles();
    let submitted = submitting(&port, &payment(1), &prepared);
    until("it has declined", || world.servers[0].settles() >= failed + 2).await;
    assert!(!submitted.is_finished());
    assert!(world.chain.execute(mark(&payment(1))).is_some());
    assert_eq!(submitted.await.unwrap(), Ok(first_transaction()));
}

// case_87: the facilitator of a payment is durable before the payment is sent to it. Another process with another order
// in its settings continues with the same one. Without that facilitator the payment is not sent.
#[tokio::test]
async fn case_87_a_restart_does_not_change_the_facilitator() {
    let world = Harness::start(&[Mode::Fails(500), Mode::Succeeds]).await;
    let port = world.open(&[0, 1]).await;
    let prepared = ready(&port, &payment(1)).await;
    let submitted = submitting(&port, &payment(1), &prepared);
    until("it was sent", || world.servers[0].settles() >= 1).await;
    submitted.abort();
    let _ = submitted.await;
    let without = world.open(&[1]).await;
    for refused in [
        without.submit(&payment(1), &prepared).await.unwrap_err(),
        without.prepare(&payment(1)).await.unwrap_err(),
    ] {
        assert_eq!(refused.kind, ErrorKind::Temporary);
    }
    world.servers[0].set(Mode::Succeeds);
    let port = world.open(&[1, 0]).await;
    // Prepared again, as after a crash between the two steps.
    assert_eq!(submit(&port, &payment(1)).await, first_transaction());
    assert_eq!((world.chain.transfers(), world.settles()[1]), (1, 0));
    // Another payment follows the new order.
    assert_eq!(
        submit(&port, &payment(2)).await,
        settled_unconfirmed(&format!("0x{:064x}", 2))
    );
    assert_eq!(world.settles()[1], 1);
}

// Checks: a restore can lose the row but not the prepared payment, which names the same facilitator.
#[tokio::test]
async fn what_was_prepared_names_its_facilitator_too() {
    let world = Harness::start(&[Mode::Succeeds, Mode::Succeeds]).await;
    let port = world.open(&[0, 1]).await;
    let prepared = ready(&port, &payment(1)).await;
    port.list.rows.forget(&mark(&payment(1))).await.unwrap();
    let port = world.open(&[1, 0]).await;
    assert_eq!(port.submit(&payment(1), &prepared).await, Ok(first_transaction()));
    assert_eq!(world.settles(), [1, 0]);
}

// Checks: `/verify` declines without a settlement. An unclear response is an unknown outcome, because the facilitator
// has the signature. The payment goes to no other facilitator.
#[tokio::test]
async fn a_payment_is_verified_before_it_is_settled() {
    let world = Harness::start(&[Mode::Invalid("invalid_exact_evm_signature"), Mode::Succeeds]).await;
    let port = world.open(&[0, 1]).await;
    assert_eq!(reason(submit(&port, &payment(1)).await), "invalid_exact_evm_signature");
    assert_eq!(world.settles(), [0, 0]);
    world.servers[0].set(Mode::NoVerify);
    let prepared = ready(&port, &payment(2)).await;
    let submitted = submitting(&port, &payment(2), &prepared);
    until("it is settled all the same", || submitted.is_finished()).await;
    assert_eq!(submitted.await.unwrap(), Ok(first_transaction()));
    assert_eq!(world.settles(), [1, 0]);
    // A payment that is on the chain is never declined.
    world.servers[0].set(Mode::Invalid("insufficient_funds"));
    ready(&port, &payment(4)).await;
    assert!(world.chain.execute(mark(&payment(4))).is_some());
    assert_eq!(
        submit(&port, &payment(4)).await,
        settled_unconfirmed(&format!("0x{:064x}", 2))
    );
}

// Checks: a facilitator executes a payment that it got by `/verify`, although it declines there or does not respond.
// The payment settles by one transfer and goes to no other facilitator. Preparation sends it nothing.
#[tokio::test]
async fn what_is_executed_at_verify_settles_once() {
    for mode in [Mode::ExecutesInvalid("insufficient_funds"), Mode::HangsInVerify] {
        let world = Harness::start(&[mode, Mode::Succeeds]).await;
        let within = |n: usize| FacilitatorSettings {
            timeout: Duration::from_secs(1),
            ..settings(&world.servers[n])
        };
        let port = world.open_with(vec![within(0), within(1)]).await;
        let prepared = ready(&port, &payment(1)).await;
        ready(&port, &payment(1)).await;
        assert_eq!(
            (world.servers[0].verifies(), world.chain.transfers()),
            (0, 0),
            "{mode:?}"
        );
        let first = port.submit(&payment(1), &prepared).await.unwrap();
        assert_eq!(world.servers[0].verifies(), 1, "{mode:?}");
        match mode {
            Mode::HangsInVerify => assert_eq!(first, first_transaction()),
            _ => assert_eq!(reason(first), "insufficient_funds"),
        }
        until("it is executed", || world.chain.transfers() == 1).await;
        let again = port.submit(&payment(1), &prepared).await;
        assert_eq!(again, Ok(first_transaction()), "{mode:?}");
        let other = &world.servers[1];
        assert_eq!((other.verifies(), other.settles(), world.chain.transfers()), (0, 0, 1));
    }
}

// Checks: preparation sends nothing to a facilitator. Our own signed transfers, such as withdrawals, are not durable
// before preparation. A facilitator's response could then cause a second signature, or an abandoned transfer, and so a
// double settlement.
#[tokio::test]
async fn preparing_shows_a_facilitator_nothing() {
    let world = Harness::start(&[Mode::Invalid("insufficient_funds")]).await;
    let port = world.open(&[0]).await;
    for _ in 0..2 {
        ready(&port, &payment(1)).await;
    }
    assert_eq!((world.servers[0].verifies(), world.settles()), (0, vec![0]));
    assert_eq!(reason(submit(&port, &payment(1)).await), "insufficient_funds");
    assert_eq!((world.servers[0].verifies(), world.settles()), (1, vec![0]));
}

// Checks: a payment that the chain would decline now costs no call to a facilitator.
#[tokio::test]
async fn the_chains_own_decline_comes_first() {
    let world = Harness::start(&[Mode::Succeeds]).await;
    let port = world.open(&[0]).await;
    let decline = Decline {
        reason: "insufficient_funds".into(),
        message: "the wallet is empty".into(),
    };
    world.chain.set_decline(Some(decline.clone()));
    assert_eq!(port.prepare(&payment(1)).await, Ok(Preparation::Declined(decline)));
    assert_eq!((world.servers[0].verifies(), world.servers[0].settles()), (0, 0));
}

// Checks: a facilitator that was never reached has received nothing, so another one gets the payment. If none is
// reached, it is not sent.
#[tokio::test]
async fn an_unreachable_facilitator_is_passed_over() {
    let mut world = Harness::start(&[Mode::Succeeds, Mode::Succeeds]).await;
    let settings = [0, 1].map(|n| settings(&world.servers[n])).to_vec();
    let port = world.open(&[0, 1]).await;
    world.servers[0].stop().await;
    assert_eq!(submit(&port, &payment(1)).await, first_transaction());
    assert_eq!(world.settles(), [0, 1]);
    world.servers[1].stop().await;
    // No facilitator has it, and it is not left open. While all are known to be down, nothing is prepared for them.
    assert_eq!(reason(submit(&port, &payment(2)).await), "unexpected_settle_error");
    let error = port.prepare(&payment(3)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Temporary);
    let port = world.open_with(settings).await;
    assert_eq!(port.list.rows.assignment(&mark(&payment(2))).await, Ok(None));
}

// Checks: our own keys come first; a payment that a facilitator has stays with it.
#[tokio::test]
async fn own_keys_come_first_and_take_nothing_from_a_facilitator() {
    let world = Harness::start(&[Mode::Fails(500)]).await;
    let port = world.open(&[0]).await;
    let prepared = ready(&port, &payment(1)).await;
    let submitted = submitting(&port, &payment(1), &prepared);
    until("it was sent", || world.servers[0].settles() >= 1).await;
    submitted.abort();
    let _ = submitted.await;
    world.chain.set_own_keys(true);
    let asked = world.settles()[0];
    assert_eq!(submit(&port, &payment(2)).await, first_transaction());
    assert_eq!(world.settles()[0], asked);
    world.servers[0].set(Mode::Succeeds);
    assert_eq!(
        submit(&port, &payment(1)).await,
        settled_unconfirmed(&format!("0x{:064x}", 2))
    );
    assert!(world.settles()[0] > asked);
}

// Checks: the row of a payment that is final or can never settle is deleted.
#[tokio::test]
async fn a_payment_that_has_ended_leaves_no_row() {
    let world = Harness::start(&[Mode::Succeeds]).await;
    let port = world.open(&[0]).await;
    for n in [1, 2] {
        ready(&port, &payment(n)).await;
        assert!(port.list.rows.assignment(&mark(&payment(n))).await.unwrap().is_some());
    }
    let SubmitResult::Settled { transaction, .. } = submit(&port, &payment(1)).await else {
        panic!()
    };
    port.transaction_status(&payment(1), None, &transaction).await.unwrap();
    world.chain.make_impossible(&payment(2));
    assert_eq!(port.lookup(&payment(2), None).await, Ok(ChainStatus::Impossible));
    for n in [1, 2] {
        assert_eq!(port.list.rows.assignment(&mark(&payment(n))).await, Ok(None));
    }
}
