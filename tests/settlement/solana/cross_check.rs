//! One endpoint of two is dishonest, late or down: nothing is final by the other's word alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser::settlement::solana::SolanaSettings;

use purser_actors::port::{
    ChainMovement, ChainStatus, ChainTransactionStatus, ErrorKind, Finality, Preparation, Settlement as _, SubmitResult,
};
use purser_chains::solana::Signature;
use purser_chains::solana::address::{base58, parse_base58};
use purser_chains::solana::draft::Draft;
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::message::Version;
use purser_chains::solana::status::Commitment;
use purser_chains::solana::token::memo;
use purser_chains::solana::transaction::sign;
use serde_json::{Value, json};

use crate::solana::harness::{Harness, until};

/// Hosts of the two endpoints, in the order of the settings.
pub const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

pub fn short_standstill(settings: &mut SolanaSettings) {
    settings.pace.standstill_ms = 5_000;
}

impl Harness {
    /// A transfer of a stranger, signed and not sent.
    pub async fn plain(&self, stranger: &Keypair, amount: u64, text: &str) -> (Signature, Vec<u8>) {
        self.chain.set_lamports(&stranger.address(), 1_000_000_000).await;
        self.chain.set_usdc(&stranger.address(), amount, false).await;
        let draft = Draft {
            fee_payer: stranger.address(),
            blockhash: self.blockhash().await.hash,
            instructions: vec![self.transfer(stranger, amount), memo(text)],
            version: Version::V0,
        };
        let signed = sign(&draft, &[stranger]).unwrap();
        (signed.id, signed.bytes)
    }

    pub async fn final_slot(&self) -> u64 {
        let position = self.node().position(Commitment::Finalized).await.unwrap();
        position.slot
    }

    /// Until the chain has this transaction as final. Gives its slot.
    pub async fn is_on_the_chain(&self, id: &Signature) -> u64 {
        until("the chain has it as final", || async {
            let (_, found) = self.node().statuses_on(0, &[*id], true).await.unwrap();
            let found = found[0].as_ref()?;
            (found.level == Commitment::Finalized).then_some(found.slot)
        })
        .await
    }

    /// Waits until this number of further slots is final on the chain.
    pub async fn wait_slots(&self, slots: u64) {
        let slot = self.final_slot().await;
        until("slots pass", || async {
            (self.final_slot().await > slot + slots).then_some(())
        })
        .await;
    }

    pub async fn listed(&self) -> Vec<ChainMovement> {
        let page = self.port.movements_after(0, 100).await.unwrap();
        page.into_iter().map(|(_, moved)| moved).collect()
    }

    pub async fn wait_until_stalled(&self) {
        until("it stalls", || async { (!self.port.is_up_to_date()).then_some(()) }).await;
        let payment = self.payment(1, "while it is stalled").await;
        let refused = self.port.prepare(&payment).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Temporary, "{refused:?}");
    }

    pub async fn wait_until_resumed(&self) {
        until("it goes on", || async { self.port.is_up_to_date().then_some(()) }).await;
        let payment = self.payment(1, "afterwards").await;
        let prepared = until("it is prepared", || async {
            match self.port.prepare(&payment).await.ok()? {
                Preparation::Ready(prepared) => Some(prepared),
                Preparation::Declined(decline) => panic!("{decline:?}"),
            }
        })
        .await;
        self.port.submit(&payment, &prepared).await.unwrap();
        let transaction = prepared.transaction;
        self.until_final(&payment, &transaction).await;
    }
}

/// Adds a transaction to a list of signatures, at its slot.
pub fn listed_too(result: &mut Value, signature: &str, slot: u64, level: &str) {
    let entries = result.as_array_mut().unwrap();
    let place = entries.iter().position(|entry| entry["slot"].as_u64().unwrap() <= slot);
    let entry = json!({"signature": signature, "slot": slot, "err": null, "memo": null, "blockTime": null,
        "confirmationStatus": level});
    entries.insert(place.unwrap_or(entries.len()), entry);
}

// Checks: no payment is accepted before the follower's first read is durable. It starts at the finalized slot, so a
// payment settled before it would never be listed.
#[tokio::test(flavor = "multi_thread")]
async fn no_payment_is_accepted_before_the_follower_has_caught_up() {
    let Some(mut harness) = Harness::closed(111, |_| {}).await else {
        return;
    };
    harness.faults.falsify(HOSTS[1], |request, result| {
        if request["method"] == "getEpochInfo" {
            *result = json!("nonsense");
        }
    });
    harness.work().await;
    until("a blockhash is read", || async {
        (harness.port.status().slot > 0).then_some(())
    })
    .await;
    let payment = harness.payment(7, "too early").await;
    let refused = harness.port.prepare(&payment).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Temporary, "{refused:?}");
    assert!(!harness.port.is_up_to_date());
    harness.faults.clear_false_responses();
    harness.wait_until_resumed().await;
    assert_eq!(harness.movements(1).await.len(), 1);
}

// Checks: a transfer invented by one endpoint, first or second, in the list and by id, is never final or listed. Until
// it is gone, true transfers are not final either, new payments are rejected, and a mismatch is counted.
#[tokio::test(flavor = "multi_thread")]
async fn transfer_invented_by_one_endpoint_is_never_final() {
    for (place, host) in HOSTS.into_iter().enumerate() {
        let test = 70 + place as u8;
        let Some(harness) = Harness::open_with(test, short_standstill).await else {
            return;
        };
        let stranger = harness.another(40);
        let (real, bytes) = harness.plain(&stranger, 3, "real").await;
        let (invented, model) = (base58(&[place as u8 + 1; 64]), base58(&real));
        // The transaction itself is shown too, from some slot on: the real one under another name.
        let (shown, from): (Mutex<Option<Value>>, Arc<AtomicU64>) = (Mutex::default(), Arc::default());
        let (lie, begins) = (invented.clone(), Arc::clone(&from));
        harness.faults.falsify(host, move |request, result| {
            let slot = begins.load(Ordering::SeqCst);
            match request["method"].as_str().unwrap() {
                "getSignaturesForAddress" if slot > 0 && request["params"][1].get("before").is_none() => {
                    listed_too(result, &lie, slot, "finalized");
                }
                "getTransaction" if request["params"][0] == model.as_str() => *shown.lock() = Some(result.clone()),
                "getTransaction" if request["params"][0] == lie.as_str() => {
                    let mut copy = shown.lock().clone().unwrap();
                    copy["slot"] = json!(slot);
                    copy["transaction"]["signatures"][0] = json!(lie);
                    *result = copy;
                }
                _ => {}
            };
        });
        harness.node().send_each(&bytes).await;
        harness.movements(1).await;
        let slot = harness.final_slot().await + 20;
        from.store(slot, Ordering::SeqCst);
        harness.wait_slots(25).await;
        let (second, bytes) = harness.plain(&harness.another(41), 4, "behind it").await;
        harness.node().send_each(&bytes).await;
        harness.is_on_the_chain(&second).await;
        harness.wait_until_stalled().await;
        let listed = harness.listed().await;
        assert_eq!(
            listed.len(),
            1,
            "neither the invented one nor the one behind it: {listed:?}, {slot}"
        );
        assert!(harness.port.status().covered_slot < slot + 10);
        until("it is counted", || async {
            (harness.port.mismatches() >= 1).then_some(())
        })
        .await;
        harness.faults.clear_false_responses();
        harness.wait_until_resumed().await;
        let names: Vec<String> = harness
            .listed()
            .await
            .into_iter()
            .map(|moved| moved.transaction)
            .collect();
        assert_eq!(names[..2], [base58(&real), base58(&second)]);
        assert!(!names.contains(&invented));
        assert!(harness.port.mismatches() >= 1);
    }
}

// Checks: a transfer omitted by one endpoint, first or second, is not skipped. Until both report it, later transfers
// are not final and lists are not complete, after a restart too.
#[tokio::test(flavor = "multi_thread")]
async fn transfer_omitted_by_one_endpoint_is_not_skipped() {
    for (place, host) in HOSTS.into_iter().enumerate() {
        let test = 72 + place as u8;
        let Some(mut harness) = Harness::open_with(test, short_standstill).await else {
            return;
        };
        let (hidden, bytes) = harness.plain(&harness.another(40), 3, "hidden").await;
        let name = base58(&hidden);
        harness.faults.falsify(host, move |request, result| {
            match request["method"].as_str().unwrap() {
                "getSignaturesForAddress" => result
                    .as_array_mut()
                    .unwrap()
                    .retain(|entry| entry["signature"] != name),
                "getTransaction" if request["params"][0] == name.as_str() => *result = Value::Null,
                _ => {}
            };
        });
        harness.node().send_each(&bytes).await;
        let slot = harness.is_on_the_chain(&hidden).await;
        harness.wait_until_stalled().await;
        assert!(
            harness.port.status().covered_slot < slot + 10,
            "no second endpoint confirms these slots"
        );
        assert_eq!(harness.port.cross_checked(), Some(harness.port.status().covered_slot));
        assert_eq!(harness.listed().await, []);
        harness.kill().await;
        harness.wait_until_stalled().await;
        assert!(harness.port.status().covered_slot < slot + 10);
        harness.faults.clear_false_responses();
        let moved = harness.movements(1).await;
        assert_eq!(moved[0].transaction, base58(&hidden));
        harness.wait_until_resumed().await;
    }
}

// Checks: two endpoints that list the same transaction with different transfers make nothing final.
#[tokio::test(flavor = "multi_thread")]
async fn amount_changed_by_one_endpoint_is_never_final() {
    let Some(harness) = Harness::open_with(74, short_standstill).await else {
        return;
    };
    let (sent, bytes) = harness.plain(&harness.another(40), 3, "three").await;
    harness.faults.falsify(HOSTS[0], |request, result| {
        if request["method"] == "getTransaction" && result.is_object() {
            // Transfers of more, and balances that agree with it.
            for call in result["transaction"]["message"]["instructions"].as_array_mut().unwrap() {
                let data = call["data"]
                    .as_str()
                    .and_then(|data| bs58::decode(data).into_vec().ok());
                if let Some(mut data) = data.filter(|data| data.len() == 10 && data[0] == 12) {
                    data[1] = 200;
                    call["data"] = json!(bs58::encode(data).into_string());
                }
            }
        }
    });
    harness.node().send_each(&bytes).await;
    let slot = harness.is_on_the_chain(&sent).await;
    harness.wait_until_stalled().await;
    assert_eq!(harness.listed().await, []);
    assert!(harness.port.status().covered_slot < slot + 10 && harness.port.mismatches() >= 1);
    harness.faults.clear_false_responses();
    let moved = harness.movements(1).await;
    assert_eq!(moved[0].amount.atomic(), 3);
    harness.wait_until_resumed().await;
}

// Checks: with one endpoint down a payment settles and stays confirmed. It is final once both respond.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_final_while_one_endpoint_is_down() {
    for (place, host) in HOSTS.into_iter().enumerate() {
        let Some(harness) = Harness::open(75 + place as u8).await else {
            return;
        };
        harness.faults.kill(host);
        let payment = harness.payment(7, "one endpoint").await;
        let transaction = harness.pay(&payment).await;
        let id: Signature = parse_base58(&transaction).unwrap();
        harness.is_on_the_chain(&id).await;
        harness.wait_slots(20).await;
        let status = harness
            .port
            .transaction_status(&payment, None, &transaction)
            .await
            .unwrap();
        assert_eq!(status, ChainTransactionStatus::Confirmed);
        assert_eq!(harness.listed().await, []);
        harness.faults.revive();
        harness.until_final(&payment, &transaction).await;
        assert_eq!(harness.movements(1).await.len(), 1);
    }
}

// Checks: one endpoint reports a finalized slot far ahead of the chain. Nothing becomes final early and nothing waits,
// because the second highest finalized slot counts. A cursor that this endpoint moved while it was alone is moved back.
#[tokio::test(flavor = "multi_thread")]
async fn endpoint_far_ahead_does_not_move_the_cursor() {
    const AHEAD: u64 = 1_000_000;
    let alone = |settings: &mut SolanaSettings| settings.endpoints.truncate(1);
    let Some(mut harness) = Harness::open_with(77, alone).await else {
        return;
    };
    let ahead = |request: &Value, result: &mut Value| match request["method"].as_str().unwrap() {
        "getEpochInfo" => {
            for name in ["absoluteSlot", "blockHeight"] {
                result[name] = json!(result[name].as_u64().unwrap() + AHEAD);
            }
        }
        "getSignaturesForAddress" => {
            for entry in result.as_array_mut().unwrap() {
                entry["confirmationStatus"] = json!("finalized");
            }
        }
        _ => {}
    };
    harness.faults.falsify(HOSTS[0], ahead);
    until("a single endpoint decides alone", || async {
        (harness.port.status().covered_slot > AHEAD).then_some(())
    })
    .await;
    assert_eq!(harness.port.cross_checked(), None);
    harness.kill_for(|_| {}).await;
    let payment = harness.payment(5, "beside it").await;
    let transaction = harness.pay(&payment).await;
    harness.until_final(&payment, &transaction).await;
    harness.movements(1).await;
    let covered = harness.port.status().covered_slot;
    assert!(covered < AHEAD && covered <= harness.final_slot().await, "{covered}");
    let cross_checked = harness.port.cross_checked();
    assert!(
        cross_checked.is_some_and(|slot| (covered..AHEAD).contains(&slot)),
        "{cross_checked:?}"
    );
    assert!(harness.port.is_up_to_date() && harness.port.mismatches() == 0);
}

// Checks: one endpoint, first or second, reports an unsent payment as final. The payment is neither final nor
// impossible while the endpoint does so.
#[tokio::test(flavor = "multi_thread")]
async fn payment_final_at_one_endpoint_is_only_confirmed() {
    for (place, host) in HOSTS.into_iter().enumerate() {
        let Some(harness) = Harness::open(78 + place as u8).await else {
            return;
        };
        harness.faults.drop_transactions(true);
        let payment = harness.payment(7, "never there").await;
        let prepared = harness.ready(&payment).await;
        let (name, at) = (prepared.transaction.clone(), AtomicU64::new(0));
        harness.faults.falsify(host, move |request, result| {
            if request["method"] != "getSignatureStatuses" {
                return;
            }
            let context = result["context"]["slot"].as_u64().unwrap();
            let _ = at.compare_exchange(0, context, Ordering::SeqCst, Ordering::SeqCst);
            let asked = request["params"][0].as_array().unwrap();
            for (asked, found) in asked.iter().zip(result["value"].as_array_mut().unwrap()) {
                if *asked == name.as_str() {
                    *found = json!({"slot": at.load(Ordering::SeqCst), "confirmations": null, "err": null,
                        "status": {"Ok": null}, "confirmationStatus": "finalized"});
                }
            }
        });
        let submitted = harness.port.submit(&payment, &prepared).await.unwrap();
        let SubmitResult::Settled { transaction, finality } = submitted else {
            panic!("{submitted:?}")
        };
        assert_eq!(finality, Finality::Confirmed);
        harness.wait_slots(200).await;
        let status = harness.port.lookup(&payment, None).await.unwrap();
        let finality = Finality::Confirmed;
        assert_eq!(status, ChainStatus::Confirmed { transaction, finality });
        assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(0));
        assert_eq!(harness.listed().await, []);
    }
}
