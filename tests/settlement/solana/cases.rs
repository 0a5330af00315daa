//! Cases of what the service must survive, on Solana's own port.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use purser::settlement::solana::SolanaSettings;
use purser_actors::port::{
    ChainStatus, ChainTransactionStatus, Decline, ErrorKind, Finality, Settlement as _, SubmitResult,
};
use serde_json::{Value, json};

use crate::solana::cross_check::{HOSTS, listed_too};
use crate::solana::harness::{Harness, until};

const FAILED: &str = "invalid_exact_svm_transaction_simulation_failed";

fn reason(decline: Option<Decline>) -> Option<String> {
    decline.map(|decline| decline.reason.to_string())
}

/// What an endpoint says of a transaction that it is asked after.
fn status_of(name: &str, request: &Value, result: &mut Value, status: &Value) {
    let asked = request["params"][0].as_array().unwrap();
    for (asked, found) in asked.iter().zip(result["value"].as_array_mut().unwrap()) {
        if asked == name {
            *found = status.clone();
        }
    }
}

// Checks: payments with an unknown, an expired or a soon expiring blockhash are declined before the claim. Nothing is
// signed, sent or stored for them.
#[tokio::test(flavor = "multi_thread")]
async fn case_06_payment_not_yet_valid_or_about_to_expire_is_declined() {
    let Some(harness) = Harness::open(100).await else {
        return;
    };
    let fee = harness.fee_payer().address();
    let client = harness.client();
    let at = |blockhash| {
        let transfers = vec![harness.transfer(&client, 5)];
        harness.signed_at(
            blockhash,
            &client,
            &fee,
            (5, 50_000),
            transfers,
            "too early or too late",
        )
    };
    let unknown = at([9; 32]);
    assert_eq!(reason(harness.port.precheck(&unknown).await).as_deref(), Some(FAILED));
    let (blockhash, _) = harness.port.recent_blockhash().unwrap();
    let payment = at(blockhash.hash);
    assert_eq!(harness.port.precheck(&payment).await, None);
    let declined = until("it ends soon", || async { harness.port.precheck(&payment).await }).await;
    assert_eq!(&*declined.reason, FAILED);
    assert!(declined.message.contains("expires within seconds"), "{declined:?}");
    until("it is dead", || async {
        let declined = harness.port.precheck(&payment).await?;
        declined.message.contains("BlockhashNotFound").then_some(())
    })
    .await;
    assert_eq!(harness.port.status().in_flight, 0);
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(0));
}

// Checks: a payment that both endpoints confirmed is dropped before it is final. It is sent again while it is valid,
// and settles once.
#[tokio::test(flavor = "multi_thread")]
async fn case_08_payment_dropped_by_a_reorg_settles_once() {
    let Some(harness) = Harness::open(101).await else {
        return;
    };
    harness.faults.drop_transactions(true);
    let payment = harness.payment(7, "on a fork").await;
    let prepared = harness.ready(&payment).await;
    let (slot, listed) = (harness.port.status().slot, Arc::new(AtomicU64::new(0)));
    for host in HOSTS {
        let (name, listed) = (prepared.transaction.clone(), Arc::clone(&listed));
        harness
            .faults
            .falsify(host, move |request, result| match request["method"].as_str().unwrap() {
                "getSignatureStatuses" => {
                    let seen = json!({"slot": slot, "confirmations": 1, "err": null, "status": {"Ok": null},
                        "confirmationStatus": "confirmed"});
                    status_of(&name, request, result, &seen);
                }
                "getSignaturesForAddress" if request["params"][1].get("before").is_none() => {
                    listed_too(result, &name, slot, "confirmed");
                    listed.fetch_add(1, Ordering::SeqCst);
                }
                _ => {}
            });
    }
    let submitted = harness.port.submit(&payment, &prepared).await.unwrap();
    let SubmitResult::Settled { transaction, finality } = submitted else {
        panic!("{submitted:?}")
    };
    assert_eq!(finality, Finality::Confirmed);
    until("the list was read with it", || async {
        (listed.load(Ordering::SeqCst) >= 4).then_some(())
    })
    .await;
    harness.faults.clear_false_responses();
    until("it is gone", || async {
        let status = harness.port.transaction_status(&payment, None, &transaction).await;
        assert_ne!(status, Ok(ChainTransactionStatus::Final));
        (status == Ok(ChainTransactionStatus::NotFound)).then_some(())
    })
    .await;
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(0));
    assert_eq!(
        harness.port.lookup(&payment, Some(&prepared)).await.unwrap(),
        ChainStatus::Pending
    );
    harness.faults.drop_transactions(false);
    until("it is there again", || async {
        let found = harness.port.lookup(&payment, Some(&prepared)).await.unwrap();
        matches!(found, ChainStatus::Confirmed { .. }).then_some(())
    })
    .await;
    harness.until_final(&payment, &transaction).await;
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(7));
    assert_eq!(harness.movements(1).await.len(), 1);
}

/// An endpoint that calls this transaction failed, and does not list it.
fn calls_failed(name: &str) -> impl Fn(&Value, &mut Value) + Send + Sync + 'static {
    let name = name.to_owned();
    move |request, result| match request["method"].as_str().unwrap() {
        "getSignatureStatuses" => {
            let error = json!({"InstructionError": [2, {"Custom": 1}]});
            let slot = result["context"]["slot"].clone();
            let failed = json!({"slot": slot, "confirmations": 1, "err": error,
                "status": {"Err": error}, "confirmationStatus": "confirmed"});
            status_of(&name, request, result, &failed);
        }
        "getSignaturesForAddress" => {
            let entries = result.as_array_mut().unwrap();
            entries.retain(|entry| entry["signature"] != name);
        }
        _ => {}
    }
}

// Checks: one endpoint, first or second, reports an executed payment as failed before the other confirms it. It is not
// declined and settles through the other endpoint.
#[tokio::test(flavor = "multi_thread")]
async fn case_09_payment_failed_at_one_endpoint_only_is_settled() {
    for (place, liar) in HOSTS.into_iter().enumerate() {
        let Some(harness) = Harness::open(138 + place as u8).await else {
            return;
        };
        let payment = harness.payment(8, "called failed by one").await;
        let prepared = harness.ready(&payment).await;
        harness.faults.falsify(liar, calls_failed(&prepared.transaction));
        let (name, asked) = (prepared.transaction.clone(), Arc::new(AtomicU64::new(0)));
        let honest = Arc::clone(&asked);
        harness.faults.falsify(HOSTS[1 - place], move |request, result| {
            let is_status = request["method"] == "getSignatureStatuses";
            if honest.fetch_add(u64::from(is_status), Ordering::SeqCst) >= 4 {
                return;
            }
            match request["method"].as_str().unwrap() {
                "getSignatureStatuses" => status_of(&name, request, result, &Value::Null),
                "getSignaturesForAddress" => {
                    let entries = result.as_array_mut().unwrap();
                    entries.retain(|entry| entry["signature"] != name);
                }
                _ => {}
            }
        });
        let submitted = harness.port.submit(&payment, &prepared).await.unwrap();
        assert!(asked.load(Ordering::SeqCst) >= 4, "{place}: the liar was heard first");
        let SubmitResult::Settled { transaction, .. } = submitted else {
            panic!("{place}: {submitted:?}")
        };
        assert_eq!(transaction, prepared.transaction, "{place}");
        harness.faults.clear_false_responses();
        harness.until_final(&payment, &prepared.transaction).await;
        assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(8), "{place}");
        assert_eq!(harness.movements(1).await.len(), 1, "{place}");
    }
}

// Checks: a payment is declined because both endpoints report it as failed, but it is on chain. It is found as one
// transfer, and is neither a loss nor impossible.
#[tokio::test(flavor = "multi_thread")]
async fn case_09_payment_reported_failed_but_on_chain_counts_once() {
    let Some(harness) = Harness::open(102).await else {
        return;
    };
    let payment = harness.payment(8, "called failed").await;
    let prepared = harness.ready(&payment).await;
    for host in HOSTS {
        harness.faults.falsify(host, calls_failed(&prepared.transaction));
    }
    let submitted = harness.port.submit(&payment, &prepared).await.unwrap();
    harness.faults.clear_false_responses();
    let SubmitResult::Declined(decline) = submitted else {
        panic!("{submitted:?}")
    };
    assert_eq!(&*decline.reason, "insufficient_funds");
    harness.until_final(&payment, &prepared.transaction).await;
    let again = harness.port.submit(&payment, &prepared).await.unwrap();
    assert!(matches!(again, SubmitResult::Settled { .. }), "{again:?}");
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(8));
    assert_eq!(harness.movements(1).await.len(), 1);
    assert_eq!(harness.port.status().fee_payers[0].lost, 0);
}

// Checks: while no endpoint responds, or all return garbage or hang, a payment is neither declined nor prepared. The
// caller gets a temporary error in bounded time, and nothing is stored. Afterwards payments settle.
#[tokio::test(flavor = "multi_thread")]
async fn case_11_no_payment_is_prepared_without_endpoints() {
    let quick = |settings: &mut SolanaSettings| {
        for endpoint in &mut settings.endpoints {
            endpoint.timeout = Duration::from_millis(500);
        }
    };
    let Some(harness) = Harness::open_with(103, quick).await else {
        return;
    };
    let modes: [fn(&Harness, &'static str); 3] = [
        |harness, host| harness.faults.kill(host),
        |harness, host| harness.faults.falsify(host, |_, result| *result = json!("nonsense")),
        |harness, host| harness.faults.hang(host),
    ];
    for (number, mode) in modes.into_iter().enumerate() {
        let payment = harness.payment(3, &format!("mode {number}")).await;
        HOSTS.into_iter().for_each(|host| mode(&harness, host));
        let asked = async {
            assert_eq!(harness.port.precheck(&payment).await, None, "{number}: not its fault");
            let refused = harness.port.prepare(&payment).await.unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Temporary, "{number}: {refused:?}");
        };
        let bounded = tokio::time::timeout(Duration::from_secs(30), asked).await;
        assert!(bounded.is_ok(), "{number}: within a bounded time");
        assert_eq!(harness.port.status().in_flight, 0, "{number}");
        harness.faults.revive();
        harness.faults.clear_false_responses();
        harness.pay_and_wait_final(3, &format!("after mode {number}")).await;
        until("nothing is in flight", || async {
            (harness.port.status().in_flight == 0).then_some(())
        })
        .await;
    }
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(9));
}
