//! Three endpoints, of which one fails; and what one endpoint says of how long a payment can land.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::settlement::solana::SolanaSettings;
use purser_actors::id::Network;
use purser_actors::money::Usdc;
use purser_actors::port::{ChainStatus, Preparation, Settlement as _, SubmitResult};
use purser_chains::rpc::EndpointUrl;
use serde_json::{Value, json};

use crate::solana::cross_check::{HOSTS, short_standstill};
use crate::solana::harness::{Harness, until};

const THIRD: &str = "third.test";

fn three(settings: &mut SolanaSettings) {
    let mut third = settings.endpoints[0].clone();
    third.url = EndpointUrl::parse("http://third.test:1").unwrap();
    settings.endpoints.push(third);
    for endpoint in &mut settings.endpoints {
        endpoint.timeout = Duration::from_millis(500);
    }
}

// Checks: any one of three endpoints hangs, lags, or returns garbage every other time. Payments settle and become final
// through the other two, nothing stalls, and no mismatch is counted. Two endpoints, and then one, continue from the
// same rows.
#[tokio::test(flavor = "multi_thread")]
async fn one_faulty_endpoint_of_three_delays_nothing() {
    let Some(mut harness) = Harness::open_with(104, three).await else {
        return;
    };
    let all = [HOSTS[0], HOSTS[1], THIRD];
    let modes: [fn(&Harness, &'static str); 3] = [
        |harness, host| harness.faults.hang(host),
        |harness, host| harness.faults.falsify(host, late),
        |harness, host| {
            let asked = AtomicU64::new(0);
            harness.faults.falsify(host, move |_, result| {
                if asked.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
                    *result = json!("nonsense");
                }
            });
        },
    ];
    let mut paid = 0;
    for (number, mode) in modes.into_iter().enumerate() {
        mode(&harness, all[number]);
        harness.pay_and_wait_final(5, &format!("mode {number}")).await;
        paid += 5;
        assert!(harness.port.is_up_to_date(), "{number}");
        harness.faults.revive();
        harness.faults.clear_false_responses();
    }
    assert_eq!(harness.port.mismatches(), 0);
    let covered = harness.port.status().covered_slot;
    harness.kill_for(|_| {}).await;
    harness.pay_and_wait_final(5, "by two").await;
    harness.kill_for(|settings| settings.endpoints.truncate(1)).await;
    harness.pay_and_wait_final(5, "by one").await;
    assert!(harness.port.status().covered_slot > covered);
    harness.kill_for(three).await;
    harness.pay_and_wait_final(5, "by three").await;
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(paid + 15));
    let movements = harness.movements(6).await;
    assert_eq!(movements.len(), 6, "{movements:?}");
}

/// An endpoint that knows nothing of what is new: no status, and no transaction of the last slots.
fn late(request: &Value, result: &mut Value) {
    match request["method"].as_str().unwrap() {
        "getSignatureStatuses" => {
            for found in result["value"].as_array_mut().unwrap() {
                *found = Value::Null;
            }
        }
        "getSignaturesForAddress" => {
            let entries = result.as_array_mut().unwrap();
            entries.retain(|entry| entry["confirmationStatus"] == "finalized");
        }
        _ => {}
    }
}

impl Harness {
    pub async fn pay_and_wait_final(&self, amount: u64, text: &str) {
        let payment = until("it can be prepared", || async {
            let payment = self.payment(amount, text).await;
            let prepared = self.port.prepare(&payment).await.ok()?;
            matches!(prepared, Preparation::Ready(_)).then_some(payment)
        })
        .await;
        let transaction = self.pay(&payment).await;
        self.until_final(&payment, &transaction).await;
    }
}

fn ending_sooner(blocks: u64) -> impl Fn(&Value, &mut Value) + Send + Sync + 'static {
    move |request, result| {
        if request["method"] == "getLatestBlockhash" {
            let ends = &mut result["value"]["lastValidBlockHeight"];
            *ends = json!(ends.as_u64().unwrap() - blocks);
        }
    }
}

// Checks: from the start one endpoint, first or second, reports too early block-height limits. A payment is not
// impossible while it is valid, although both endpoints are past that limit. It settles.
#[tokio::test(flavor = "multi_thread")]
async fn case_86_one_endpoint_cannot_make_a_payment_impossible() {
    for (place, host) in HOSTS.into_iter().enumerate() {
        let Some(mut harness) = Harness::open(105 + place as u8).await else {
            return;
        };
        harness.faults.falsify(host, ending_sooner(140));
        harness.kill().await;
        harness.faults.drop_transactions(true);
        let payment = harness.payment(7, "can land").await;
        let prepared = harness.ready(&payment).await;
        let (port, copy, bytes) = (Arc::clone(&harness.port), payment.clone(), prepared.clone());
        let submitted = tokio::spawn(async move { port.submit(&copy, &bytes).await });
        // Beyond the end that it names at `finalized`, and before the true one.
        harness.wait_slots(60).await;
        assert_eq!(
            harness.port.lookup(&payment, Some(&prepared)).await.unwrap(),
            ChainStatus::Pending,
            "{host}"
        );
        assert!(!submitted.is_finished(), "{host}");
        harness.faults.drop_transactions(false);
        let settled = submitted.await.unwrap().unwrap();
        assert!(matches!(settled, SubmitResult::Settled { .. }), "{settled:?}");
        harness.until_final(&payment, &prepared.transaction).await;
    }
}

// Checks: one endpoint of two reports a far greater block height. No payment is prepared, because its expiry is
// unknown. Payments continue once both report the true height.
#[tokio::test(flavor = "multi_thread")]
async fn endpoints_that_disagree_on_height_block_payments() {
    for (place, host) in HOSTS.into_iter().enumerate() {
        let Some(harness) = Harness::open_with(107 + place as u8, short_standstill).await else {
            return;
        };
        harness.faults.falsify(host, |request, result| {
            if request["method"] == "getLatestBlockhash" {
                let ends = &mut result["value"]["lastValidBlockHeight"];
                *ends = json!(ends.as_u64().unwrap() + 1_000_000);
            }
        });
        harness.wait_until_stalled().await;
        harness.faults.clear_false_responses();
        harness.wait_until_resumed().await;
    }
}

// Checks: the treasury balance is the lower of two endpoints' values, whichever of them reports more.
#[tokio::test(flavor = "multi_thread")]
async fn one_endpoint_cannot_raise_the_treasury_balance() {
    let Some(harness) = Harness::open(109).await else {
        return;
    };
    harness.chain.set_usdc(&harness.treasury().address(), 500, false).await;
    for host in HOSTS {
        harness.faults.falsify(host, |request, result| {
            if request["method"] != "getMultipleAccounts" {
                return;
            }
            for account in result["value"].as_array_mut().unwrap() {
                let data = account["data"][0].as_str().and_then(|text| STANDARD.decode(text).ok());
                if let Some(mut data) = data.filter(|data| data.len() == 165) {
                    data[64..72].copy_from_slice(&9_000_u64.to_le_bytes());
                    account["data"][0] = json!(STANDARD.encode(data));
                }
            }
        });
        let holds = until("it is final", || async {
            let holds = harness.port.final_treasury_balance(Network::Solana).await.unwrap();
            (holds != Usdc::ZERO).then_some(holds)
        })
        .await;
        assert_eq!(holds, Usdc::from_atomic(500), "{host}");
        harness.faults.clear_false_responses();
    }
}
