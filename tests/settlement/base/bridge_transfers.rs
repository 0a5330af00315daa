//! The bridge from end to end: burns on a scripted Solana, Iris over HTTP, mints on anvil.

use std::time::Duration;

use purser::settlement::cctp::CctpSettings;
use purser_actors::port::{
    AttestationStatus, Bridge as _, ChainStatus, ErrorKind, Finality, MintResult, Settlement as _, SignedBurn,
    SubmitResult, Timestamp,
};
use purser_chains::cctp::THRESHOLD_STANDARD;
use purser_chains::cctp::message::BurnMessage;
use purser_chains::solana::keypair::Keypair;
use serde_json::{Value, json};

use crate::base::bridge_harness::{ARRIVES, BridgeHarness, sent};
use crate::base::harness::{key, until};

/// The burn is among what left the treasury, and the account of its message is known with its rent.
async fn burn_is_listed(way: &BridgeHarness, burn: &SignedBurn) {
    let left = until("the burn is listed", async || {
        let all = (Timestamp(0), Timestamp(u64::MAX));
        let left = way.solana.outgoing_transfers(all.0, all.1).await.unwrap_or_default();
        (!left.is_empty()).then_some(left)
    })
    .await;
    assert_eq!(
        (left.len(), left[0].amount, &left[0].transaction),
        (1, burn.burned, &burn.transaction)
    );
    let events = until("the account of the burn is known", async || {
        let events = way.solana.event_accounts().await.unwrap();
        (!events.is_empty()).then_some(events)
    })
    .await;
    assert_eq!(
        (events[0].account, events[0].lamports),
        (burn.event_key, (128 + 428) * 6_960)
    );
    assert_eq!(events[0].rent_payer, Keypair::from_seed(&[1; 32]).address());
}

// Checks: cases 35 to 37 and 40. One burn is listed as outgoing and goes through not found, pending, expired,
// reattested and complete. One mint brings everything except the fee, which is more than was ordered.
#[tokio::test(flavor = "multi_thread")]
async fn case_40_burn_is_minted_once_less_the_fee() {
    let Some(way) = BridgeHarness::open(2, |_| {}).await else {
        return;
    };
    let burn = way.signed().await;
    // 1 basis point and a fifth of it in reserve.
    assert_eq!(burn.burned.atomic(), 5_000_601);
    let order = sent(&burn).order;
    assert_eq!((order.amount, order.max_fee), (5_000_601, 601));
    assert_eq!(sent(&burn).event_account, burn.event_key);
    assert_eq!(way.bridge.find_burn(&burn).await.unwrap(), ChainStatus::Pending);
    assert_eq!(way.chain.counts(), (0, 0), "signed and not sent");
    assert_eq!(way.solana.event_accounts().await.unwrap(), []);
    assert_eq!(way.burned(&burn).await, burn.transaction);
    assert_eq!(way.burned(&burn).await, burn.transaction);
    assert_eq!(way.chain.counts().1, 1);
    let landed = ChainStatus::Confirmed {
        transaction: burn.transaction.clone(),
        finality: Finality::Final,
    };
    assert_eq!(way.bridge.find_burn(&burn).await.unwrap(), landed);
    burn_is_listed(&way, &burn).await;

    let message = way.message(&burn, 100);
    let pending = AttestationStatus::Pending { retry_after_ms: 2_000 };
    assert_eq!(way.bridge.attestation(&burn).await.unwrap(), pending);
    way.iris.lists("pending_confirmations", &message);
    assert_eq!(way.bridge.attestation(&burn).await.unwrap(), pending);
    way.iris.lists("expired", &message);
    let expired = AttestationStatus::Expired { nonce: message.nonce };
    assert_eq!(way.bridge.attestation(&burn).await.unwrap(), expired);
    way.iris.respond("200 OK", "", "{}");
    way.bridge.reattest(&message.nonce).await.unwrap();
    let reattest = format!("POST /v2/reattest/0x{} HTTP/1.1", "5a".repeat(32));
    assert_eq!(way.iris.requests.lock().last(), Some(&reattest));
    way.iris.lists("complete", &message);
    let AttestationStatus::Complete(attested) = way.bridge.attestation(&burn).await.unwrap() else {
        panic!("complete")
    };
    assert_eq!(attested.delivered_amount.atomic(), 5_000_501);
    assert_eq!(attested.check_matches(&way.bridge_transfer(), burn.burned), Ok(()));

    assert_eq!(way.bridge.find_mint(&attested).await.unwrap(), ChainStatus::Pending);
    let MintResult::Minted { transaction } = way.minted(&attested).await else {
        panic!("minted")
    };
    assert_eq!(way.base.balance(key("recipient").address()).await, 5_000_501);
    assert_eq!(way.minted(&attested).await, MintResult::NonceUsed);
    let finality = Finality::Final;
    assert_eq!(
        way.bridge.find_mint(&attested).await.unwrap(),
        ChainStatus::Confirmed { transaction, finality }
    );
    assert_eq!(way.base.balance(key("recipient").address()).await, 5_000_501);
}

// Checks: each response of Iris maps to one status of the burn, and another burn's message is never minted.
#[tokio::test(flavor = "multi_thread")]
async fn case_35_iris_responses_map_to_attestation_status() {
    let Some(way) = BridgeHarness::open(2, |_| {}).await else {
        return;
    };
    let burn = way.signed().await;
    let good = way.message(&burn, 100);
    for (status, kind) in [
        ("500 Internal Server Error", ErrorKind::Temporary),
        ("503 Service Unavailable", ErrorKind::Temporary),
        ("400 Bad Request", ErrorKind::Permanent),
        ("200 OK", ErrorKind::Temporary),
    ] {
        way.iris.respond(status, "", "<html>");
        assert_eq!(way.bridge.attestation(&burn).await.unwrap_err().kind, kind, "{status}");
        way.iris.respond(status, "", "<html>");
        let again = way.bridge.reattest(&good.nonce).await;
        assert_eq!(
            again.err().map(|error| error.kind),
            (status != "200 OK").then_some(kind),
            "{status}"
        );
    }
    let other = |change: fn(&mut BurnMessage)| {
        let mut message = good.clone();
        change(&mut message);
        message
    };
    for (message, field) in [
        (other(|message| message.amount += 1), "amount"),
        (other(|message| message.mint_recipient[31] ^= 1), "mint recipient"),
        (other(|message| message.burn_token = [1; 32]), "token"),
        (other(|message| message.recipient[31] ^= 1), "recipient contract"),
    ] {
        way.iris.lists("complete", &message);
        let wrong = way.bridge.attestation(&burn).await.unwrap_err();
        assert!(
            wrong.kind == ErrorKind::Permanent && wrong.message.contains(field),
            "{wrong}"
        );
    }
    let height = way.base.port().height().unwrap();
    for (expires, taken) in [(height + 1, false), (height + 2, true)] {
        let message = BurnMessage {
            expiration_block: expires,
            ..good.clone()
        };
        way.iris.lists("complete", &message);
        let complete = matches!(
            way.bridge.attestation(&burn).await.unwrap(),
            AttestationStatus::Complete(_)
        );
        assert_eq!(complete, taken, "no block is left for it");
    }
}

// Checks: for a burn that an operator attributed after a restore only the amount is known, and nothing else is required
// of its message.
#[tokio::test(flavor = "multi_thread")]
async fn burn_is_matched_by_its_amount() {
    let Some(way) = BridgeHarness::open(2, |_| {}).await else {
        return;
    };
    let burn = way.signed().await;
    let good = way.message(&burn, 100);
    let more = BurnMessage {
        amount: good.amount + 1,
        ..good.clone()
    };
    let named = SignedBurn {
        bytes: Vec::new(),
        ..burn.clone()
    };
    way.iris.lists("complete", &good);
    assert!(matches!(
        way.bridge.attestation(&named).await.unwrap(),
        AttestationStatus::Complete(_)
    ));
    assert_eq!(
        way.bridge.find_burn(&named).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    way.iris.lists("complete", &more);
    assert_eq!(
        way.bridge.attestation(&named).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
}

// Checks: after a 429 no request is sent to Iris for the time it gives.
#[tokio::test(flavor = "multi_thread")]
async fn iris_rate_limit_is_honoured() {
    let Some(way) = BridgeHarness::open(2, |_| {}).await else {
        return;
    };
    let burn = way.signed().await;
    way.iris.respond("429 Too Many Requests", "retry-after: 70\r\n", "");
    let limited = AttestationStatus::Pending { retry_after_ms: 70_000 };
    assert_eq!(way.bridge.attestation(&burn).await.unwrap(), limited);
    let asked = way.iris.requests.lock().len();
    let AttestationStatus::Pending { retry_after_ms } = way.bridge.attestation(&burn).await.unwrap() else {
        panic!("pending")
    };
    assert!((1..=70_000).contains(&retry_after_ms));
    assert_eq!(
        way.bridge.reattest(&[0x5a; 32]).await.unwrap_err().kind,
        ErrorKind::Temporary
    );
    assert_eq!(
        way.bridge.sign_burn(&way.bridge_transfer()).await.unwrap_err().kind,
        ErrorKind::Temporary
    );
    assert_eq!(way.iris.requests.lock().len(), asked);
}

// Checks: no burn is signed above the fee limit or without money. Without a fee the burned amount equals the delivered
// one.
#[tokio::test(flavor = "multi_thread")]
async fn a_burn_is_signed_within_the_fee_limit() {
    let standard = |settings: &mut CctpSettings| settings.min_finality_threshold = THRESHOLD_STANDARD;
    let Some(way) = BridgeHarness::open(2, standard).await else {
        return;
    };
    let free = way.signed().await;
    let order = sent(&free).order;
    assert_eq!((free.burned.atomic(), order.max_fee), (ARRIVES, 0));
    assert_eq!(order.min_finality_threshold, THRESHOLD_STANDARD);
    assert_ne!(
        way.signed().await.event_key,
        free.event_key,
        "a key of its own for each"
    );
    let fees = |rate: &str| format!(r#"[{{"finalityThreshold":2000,"minimumFee":{rate}}}]"#);
    let refused = async |rate: Value| {
        *way.iris.fees.lock() = fees(&rate.to_string());
        way.bridge
            .sign_burn(&way.bridge_transfer())
            .await
            .map(|burn| sent(&burn).order.max_fee)
    };
    // Above the limit; at it, without the reserve.
    let above = refused(json!(3)).await.unwrap_err();
    assert!(
        above.kind == ErrorKind::Temporary && above.message.contains("chains.bridge.max_fee_bps"),
        "{above}"
    );
    assert_eq!(refused(json!(2)).await.unwrap(), 1_001);
    *way.iris.fees.lock() = "[]".to_owned();
    assert_eq!(
        way.bridge.sign_burn(&way.bridge_transfer()).await.unwrap_err().kind,
        ErrorKind::Temporary
    );
    *way.iris.fees.lock() = fees("0");
    way.chain
        .would_fail(Some(json!({"InstructionError": [2, {"Custom": 1}]})));
    let poor = way.bridge.sign_burn(&way.bridge_transfer()).await.unwrap_err();
    assert!(
        poor.kind == ErrorKind::Temporary && poor.message.contains("insufficient_funds"),
        "{poor}"
    );
    assert_eq!(way.chain.counts(), (0, 0));
}

// Checks: two endpoints past the blockhash prove that a lost burn has expired. One endpoint never does.
#[tokio::test(flavor = "multi_thread")]
async fn case_38_failed_burn_is_proven_by_two_endpoints() {
    for endpoints in [2, 1] {
        let Some(way) = BridgeHarness::open(endpoints, |_| {}).await else {
            return;
        };
        way.chain.drop_transactions(true);
        let burn = way.signed().await;
        let patience = Duration::from_millis(300);
        assert!(tokio::time::timeout(patience, way.bridge.burn(&burn)).await.is_err());
        assert!(way.chain.counts().0 > 0, "it was sent");
        assert_eq!(way.bridge.find_burn(&burn).await.unwrap(), ChainStatus::Pending);
        way.chain.advance(400);
        if endpoints == 1 {
            until("the proof is missing", async || {
                (way.solana.status().unproven == 1).then_some(())
            })
            .await;
            assert_eq!(way.bridge.find_burn(&burn).await.unwrap(), ChainStatus::Pending);
            continue;
        }
        until("the burn is proved to be dead", async || {
            (way.bridge.find_burn(&burn).await.unwrap() == ChainStatus::Impossible).then_some(())
        })
        .await;
        let SubmitResult::Declined(decline) = way.bridge.burn(&burn).await.unwrap() else {
            panic!("declined")
        };
        assert_eq!(&*decline.reason, "burn_expired", "another one may be signed");
        assert_eq!(way.solana.event_accounts().await.unwrap(), [], "no rent was paid");
        assert_eq!(way.chain.counts().1, 0);
    }
}

// Checks: case 37. A port killed after signing or after the first submission burns once.
#[tokio::test(flavor = "multi_thread")]
async fn case_37_a_killed_port_burns_once() {
    let Some(mut way) = BridgeHarness::open(2, |_| {}).await else {
        return;
    };
    let burn = way.signed().await;
    way.reopen().await;
    assert_eq!(way.chain.counts(), (0, 0), "it was not given to be sent");
    way.chain.drop_transactions(true);
    let patience = Duration::from_millis(300);
    assert!(tokio::time::timeout(patience, way.bridge.burn(&burn)).await.is_err());
    way.reopen().await;
    way.chain.drop_transactions(false);
    assert_eq!(way.burned(&burn).await, burn.transaction);
    assert_eq!(way.chain.counts().1, 1);
}
