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

use crate::cross_check::{HOSTS, short_standstill};
use crate::harness::{Harness, until};

const THIRD: &str = "third.test";

fn three(settings: &mut SolanaSettings) {
    let mut third = settings.endpoints[0].clone();
    third.url = EndpointUrl::parse("http://third.test:1").unwrap();
    settings.endpoints.push(third);
    for endpoint in &mut settings.endpoints {
        endpoint.timeout = Duration::from_millis(500);
    }
}

// Checks: one of three endpoints, whichever, hangs, has everything late, or answers every other time with nonsense: payments settle and
// become final by the two others, nothing stands still, and none of it counts as a difference. With one taken out of the settings the
// others go on from the same rows, and one alone does too.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_endpoints_holds_nobody_up() {
    let Some(mut house) = Harness::open_with(104, three).await else {
        return;
    };
    let all = [HOSTS[0], HOSTS[1], THIRD];
    let modes: [fn(&Harness, &'static str); 3] = [
        |house, host| house.faults.hang(host),
        |house, host| house.faults.falsify(host, late),
        |house, host| {
            let asked = AtomicU64::new(0);
            house.faults.falsify(host, move |_, result| {
                if asked.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
                    *result = json!("nonsense");
                }
            });
        },
    ];
    let mut paid = 0;
    for (number, mode) in modes.into_iter().enumerate() {
        mode(&house, all[number]);
        house.pay_and_wait_final(5, &format!("mode {number}")).await;
        paid += 5;
        assert!(house.port.is_up_to_date(), "{number}");
        house.faults.revive();
        house.faults.clear_false_responses();
    }
    assert_eq!(house.port.mismatches(), 0);
    let covered = house.port.status().covered_slot;
    house.kill_for(|_| {}).await;
    house.pay_and_wait_final(5, "by two").await;
    house.kill_for(|settings| settings.endpoints.truncate(1)).await;
    house.pay_and_wait_final(5, "by one").await;
    assert!(house.port.status().covered_slot > covered);
    house.kill_for(three).await;
    house.pay_and_wait_final(5, "by three").await;
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(paid + 15));
    let movements = house.movements(6).await;
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

// Checks: an endpoint, in whatever place, says that blockhashes end sooner than they do, from the start on: a payment that is not on the
// chain is not impossible while it can land, though both endpoints are past what that one says; it lands.
#[tokio::test(flavor = "multi_thread")]
async fn case_86_no_endpoint_makes_a_payment_impossible_that_can_land() {
    for (place, host) in HOSTS.into_iter().enumerate() {
        let Some(mut house) = Harness::open(105 + place as u8).await else {
            return;
        };
        house.faults.falsify(host, ending_sooner(140));
        house.kill().await;
        house.faults.drop_transactions(true);
        let payment = house.payment(7, "can land").await;
        let prepared = house.ready(&payment).await;
        let (port, copy, bytes) = (Arc::clone(&house.port), payment.clone(), prepared.clone());
        let submitted = tokio::spawn(async move { port.submit(&copy, &bytes).await });
        // Beyond the end that it names at `finalized`, and before the true one.
        house.wait_slots(60).await;
        assert_eq!(
            house.port.lookup(&payment, Some(&prepared)).await.unwrap(),
            ChainStatus::Pending,
            "{host}"
        );
        assert!(!submitted.is_finished(), "{host}");
        house.faults.drop_transactions(false);
        let settled = submitted.await.unwrap().unwrap();
        assert!(matches!(settled, SubmitResult::Settled { .. }), "{settled:?}");
        house.until_final(&payment, &prepared.transaction).await;
    }
}

// Checks: where one endpoint of two, in whatever place, says that the chain is far higher, no payment is prepared: nobody knows how long
// it could land. With both honest it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn endpoints_that_disagree_on_the_height_take_no_payment() {
    for (place, host) in HOSTS.into_iter().enumerate() {
        let Some(house) = Harness::open_with(107 + place as u8, short_standstill).await else {
            return;
        };
        house.faults.falsify(host, |request, result| {
            if request["method"] == "getLatestBlockhash" {
                let ends = &mut result["value"]["lastValidBlockHeight"];
                *ends = json!(ends.as_u64().unwrap() + 1_000_000);
            }
        });
        house.wait_until_stalled().await;
        house.faults.clear_false_responses();
        house.wait_until_resumed().await;
    }
}

// Checks: what the treasury holds is what two endpoints show at least, in whatever place the one is that shows more.
#[tokio::test(flavor = "multi_thread")]
async fn one_endpoint_gives_the_treasury_no_money() {
    let Some(house) = Harness::open(109).await else { return };
    house.chain.set_usdc(&house.treasury().address(), 500, false).await;
    for host in HOSTS {
        house.faults.falsify(host, |request, result| {
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
            let holds = house.port.final_treasury_balance(Network::Solana).await.unwrap();
            (holds != Usdc::ZERO).then_some(holds)
        })
        .await;
        assert_eq!(holds, Usdc::from_atomic(500), "{host}");
        house.faults.clear_false_responses();
    }
}
