//! Cases of what the service must survive, on Solana's own port.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use purser::settlement::solana::SolanaSettings;
use purser_actors::port::{
    ChainStatus, ChainTransactionStatus, Decline, ErrorKind, Finality, Settlement as _, SubmitResult,
};
use serde_json::{Value, json};

use crate::cross_check::{HOSTS, listed_too};
use crate::harness::{Harness, until};

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

// Checks: a payment whose blockhash the chain does not know yet, one that is dead within seconds, and one that is dead are declined
// before the claim; nothing is signed, sent or kept for them.
#[tokio::test(flavor = "multi_thread")]
async fn case_06_what_is_not_valid_yet_or_not_for_long_is_declined() {
    let Some(house) = Harness::open(100).await else { return };
    let fee = house.fee_payer().address();
    let client = house.client();
    let at = |blockhash| {
        let transfers = vec![house.transfer(&client, 5)];
        house.signed_at(
            blockhash,
            &client,
            &fee,
            (5, 50_000),
            transfers,
            "too early or too late",
        )
    };
    let unknown = at([9; 32]);
    assert_eq!(reason(house.port.precheck(&unknown).await).as_deref(), Some(FAILED));
    let (blockhash, _) = house.port.recent_blockhash().unwrap();
    let payment = at(blockhash.hash);
    assert_eq!(house.port.precheck(&payment).await, None);
    let declined = until("it ends soon", || async { house.port.precheck(&payment).await }).await;
    assert_eq!(&*declined.reason, FAILED);
    assert!(declined.message.contains("expires within seconds"), "{declined:?}");
    until("it is dead", || async {
        let declined = house.port.precheck(&payment).await?;
        declined.message.contains("BlockhashNotFound").then_some(())
    })
    .await;
    assert_eq!(house.port.status().in_flight, 0);
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(0));
}

// Checks: a payment that both endpoints have shown leaves the chain before it is final: it is gone, is sent again as long as it can
// land, and lands once.
#[tokio::test(flavor = "multi_thread")]
async fn case_08_what_leaves_the_chain_before_it_is_final_lands_once() {
    let Some(house) = Harness::open(101).await else { return };
    house.faults.drop_transactions(true);
    let payment = house.payment(7, "on a fork").await;
    let prepared = house.ready(&payment).await;
    let (slot, listed) = (house.port.status().slot, Arc::new(AtomicU64::new(0)));
    for host in HOSTS {
        let (name, listed) = (prepared.transaction.clone(), Arc::clone(&listed));
        house
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
    let submitted = house.port.submit(&payment, &prepared).await.unwrap();
    let SubmitResult::Settled { transaction, finality } = submitted else {
        panic!("{submitted:?}")
    };
    assert_eq!(finality, Finality::Confirmed);
    until("the list was read with it", || async {
        (listed.load(Ordering::SeqCst) >= 4).then_some(())
    })
    .await;
    house.faults.clear_false_responses();
    until("it is gone", || async {
        let standing = house.port.transaction_status(&payment, None, &transaction).await;
        assert_ne!(standing, Ok(ChainTransactionStatus::Final));
        (standing == Ok(ChainTransactionStatus::NotFound)).then_some(())
    })
    .await;
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(0));
    assert_eq!(
        house.port.lookup(&payment, Some(&prepared)).await.unwrap(),
        ChainStatus::Pending
    );
    house.faults.drop_transactions(false);
    until("it is there again", || async {
        let found = house.port.lookup(&payment, Some(&prepared)).await.unwrap();
        matches!(found, ChainStatus::Confirmed { .. }).then_some(())
    })
    .await;
    house.until_final(&payment, &transaction).await;
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(7));
    assert_eq!(house.movements(1).await.len(), 1);
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

// Checks: a payment that the chain has executed and one endpoint of two, whichever, calls failed, before the other shows it: it is not
// declined, and settles by the other's word.
#[tokio::test(flavor = "multi_thread")]
async fn case_09_what_one_endpoint_alone_calls_failed_is_settled() {
    for (place, liar) in HOSTS.into_iter().enumerate() {
        let Some(house) = Harness::open(138 + place as u8).await else {
            return;
        };
        let payment = house.payment(8, "called failed by one").await;
        let prepared = house.ready(&payment).await;
        house.faults.falsify(liar, calls_failed(&prepared.transaction));
        let (name, asked) = (prepared.transaction.clone(), Arc::new(AtomicU64::new(0)));
        let honest = Arc::clone(&asked);
        house.faults.falsify(HOSTS[1 - place], move |request, result| {
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
        let submitted = house.port.submit(&payment, &prepared).await.unwrap();
        assert!(asked.load(Ordering::SeqCst) >= 4, "{place}: the liar was heard first");
        let SubmitResult::Settled { transaction, .. } = submitted else {
            panic!("{place}: {submitted:?}")
        };
        assert_eq!(transaction, prepared.transaction, "{place}");
        house.faults.clear_false_responses();
        house.until_final(&payment, &prepared.transaction).await;
        assert_eq!(house.usdc(&house.treasury().address()).await, Some(8), "{place}");
        assert_eq!(house.movements(1).await.len(), 1, "{place}");
    }
}

// Checks: a payment that both endpoints call failed, so that it was declined, and that the chain shows: it is found, by one transfer, and
// neither a loss nor proven impossible.
#[tokio::test(flavor = "multi_thread")]
async fn case_09_what_was_called_failed_and_is_on_the_chain_counts_once() {
    let Some(house) = Harness::open(102).await else { return };
    let payment = house.payment(8, "called failed").await;
    let prepared = house.ready(&payment).await;
    for host in HOSTS {
        house.faults.falsify(host, calls_failed(&prepared.transaction));
    }
    let submitted = house.port.submit(&payment, &prepared).await.unwrap();
    house.faults.clear_false_responses();
    let SubmitResult::Declined(decline) = submitted else {
        panic!("{submitted:?}")
    };
    assert_eq!(&*decline.reason, "insufficient_funds");
    house.until_final(&payment, &prepared.transaction).await;
    let again = house.port.submit(&payment, &prepared).await.unwrap();
    assert!(matches!(again, SubmitResult::Settled { .. }), "{again:?}");
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(8));
    assert_eq!(house.movements(1).await.len(), 1);
    assert_eq!(house.port.status().fee_payers[0].lost, 0);
}

// Checks: while no endpoint answers, answers nonsense, or takes requests and says nothing, a payment is neither declined nor prepared:
// the caller hears in a bounded time that it is to come again, and nothing is kept. Afterwards payments settle.
#[tokio::test(flavor = "multi_thread")]
async fn case_11_while_no_endpoint_answers_nothing_is_prepared() {
    let quick = |settings: &mut SolanaSettings| {
        for endpoint in &mut settings.endpoints {
            endpoint.timeout = Duration::from_millis(500);
        }
    };
    let Some(house) = Harness::open_with(103, quick).await else {
        return;
    };
    let modes: [fn(&Harness, &'static str); 3] = [
        |house, host| house.faults.kill(host),
        |house, host| house.faults.falsify(host, |_, result| *result = json!("nonsense")),
        |house, host| house.faults.hang(host),
    ];
    for (number, mode) in modes.into_iter().enumerate() {
        let payment = house.payment(3, &format!("mode {number}")).await;
        HOSTS.into_iter().for_each(|host| mode(&house, host));
        let asked = async {
            assert_eq!(house.port.precheck(&payment).await, None, "{number}: not its fault");
            let refused = house.port.prepare(&payment).await.unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Temporary, "{number}: {refused:?}");
        };
        let bounded = tokio::time::timeout(Duration::from_secs(30), asked).await;
        assert!(bounded.is_ok(), "{number}: within a bounded time");
        assert_eq!(house.port.status().in_flight, 0, "{number}");
        house.faults.revive();
        house.faults.clear_false_responses();
        house.pay_and_wait_final(3, &format!("after mode {number}")).await;
        until("nothing is in flight", || async {
            (house.port.status().in_flight == 0).then_some(())
        })
        .await;
    }
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(9));
}
