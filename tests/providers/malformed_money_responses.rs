//! What the client makes of answers of holders' money's keepers that are none.

use std::sync::Arc;

use axum::Router;
use purser::provider::banking::{BankApi as _, RemoteBank};
use purser::provider::bridge::RemoteBridge;
use purser::provider::reloadable_cards::{ReloadableCardApi as _, RemoteReloadableCards};
use purser_actors::id::{BankAccountId, BankTransferId, CardId, JobId, WithdrawalId};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::banking::{
    AccountType, BankDecision, BankTransferRequest, BankTransferResult, OpenAccountRequest,
};
use purser_actors::port::{
    Bridge as _, CardAction, CardActionRequest, ChainStatus, ErrorKind, Finality, HoldRequest, HoldResult,
    OpenCardRequest, PortError, SignedBurn,
};
use serde_json::{Value, json};

use super::malformed_responses::{LyingServer, remote, serve_fault, serving};

/// A provider that always says this.
async fn serve_response(body: &Value) -> String {
    let liar = LyingServer {
        status: 200,
        body: Arc::new(body.to_string()),
    };
    serving(Router::new().fallback(serve_fault).with_state(liar)).await
}

fn open<T: std::fmt::Debug>(result: Result<T, PortError>, body: &Value) {
    let kind = result.map_err(|e| e.kind);
    assert!(matches!(kind, Err(ErrorKind::Unknown)), "{body}: {kind:?}");
}

/// With one member changed, and without it.
fn corrupted(whole: &Value, changes: &[(&str, Value)]) -> Vec<Value> {
    let changed = changes.iter().map(|(member, value)| {
        let mut body = whole.clone();
        body[*member] = value.clone();
        body
    });
    let cut = changes.iter().map(|(member, _)| {
        let mut body = whole.clone();
        body.as_object_mut().unwrap().remove(*member);
        body
    });
    changed.chain(cut).collect()
}

// Checks: a bank order ends only with a complete response that names it. A response for another order, with a missing
// member or without a reference leaves it open.
#[tokio::test]
async fn only_a_definite_bank_response_decides() {
    let order = BankTransferRequest {
        key: JobId(1),
        transfer: BankTransferId(2),
        account: BankAccountId(3),
        amount: Cents::new(500),
        to_account: true,
    };
    let yes =
        json!({"transfer_id": BankTransferId(2).to_string(), "amount": "5", "status": "complete", "reference": "m"});
    let bank = RemoteBank(remote(&serve_response(&yes).await));
    let done = bank.transfer(&order).await.unwrap();
    assert!(
        matches!(done, BankDecision::Final(BankTransferResult::Complete { .. })),
        "{done:?}"
    );
    let no = json!({"transfer_id": BankTransferId(2).to_string(), "amount": "5", "status": "failed", "reason": "r"});
    let other = json!(BankTransferId(9).to_string());
    for body in [
        corrupted(
            &yes,
            &[
                ("transfer_id", other.clone()),
                ("amount", json!("50")),
                ("reference", json!("")),
                ("status", json!("done")),
            ],
        ),
        corrupted(
            &no,
            &[
                ("transfer_id", other),
                ("amount", json!("50")),
                ("reason", json!(5)),
                ("status", Value::Null),
            ],
        ),
    ]
    .concat()
    {
        open(
            RemoteBank(remote(&serve_response(&body).await)).transfer(&order).await,
            &body,
        );
    }
    let order = OpenAccountRequest {
        key: JobId(1),
        account: BankAccountId(3),
        customer: "c".into(),
        account_type: AccountType::OnRamp,
    };
    let yes = json!({"account_id": BankAccountId(3).to_string(), "customer": "c", "status": "open", "bank_name": "B",
        "routing_number": "021000021", "account_number": "1", "memo": "M"});
    assert!(
        RemoteBank(remote(&serve_response(&yes).await))
            .open(&order)
            .await
            .is_ok()
    );
    let long = json!("x".repeat(201));
    for body in corrupted(
        &yes,
        &[
            ("account_id", json!(BankAccountId(4).to_string())),
            ("customer", json!("d")),
            ("routing_number", json!("02100002")),
            ("account_number", long),
            // Money that is sent without it would be lost.
            ("memo", json!(5)),
        ],
    ) {
        open(
            RemoteBank(remote(&serve_response(&body).await)).open(&order).await,
            &body,
        );
    }
}

// Checks: deposits are accepted only from a list in order, so that no position is skipped. A malformed list is not
// accepted in part.
#[tokio::test]
async fn deposits_are_accepted_in_order_or_not_at_all() {
    let one = |number: u64, reference: &str| {
        json!({"position": number, "reference": reference, "account_id": BankAccountId(3).to_string(), "amount": "1",
            "sender": "s", "returned_transfer_id": null})
    };
    let read = async |deposits: Value| {
        let url = serve_response(&json!({"deposits": deposits})).await;
        RemoteBank(remote(&url)).incoming(5, 10).await
    };
    assert_eq!(read(json!([one(6, "a"), one(9, "b")])).await.unwrap().len(), 2);
    for broken in [
        json!([one(6, "a"), one(6, "b")]),
        json!([one(7, "a"), one(6, "b")]),
        json!([one(5, "a")]),
        json!([one(6, "a"), one(7, "")]),
        json!([one(6, "a"), {"position": 7}]),
        Value::Null,
    ] {
        let body = broken.clone();
        assert!(read(broken).await.is_err(), "{body}");
    }
}

// Checks: the same for cards loaded from a balance and for holds. The account owner is credited only after
// `insufficient_balance` or `declined` for this very order.
#[tokio::test]
async fn only_a_definite_issuer_response_decides() {
    let account = "0x0101010101010101010101010101010101010101";
    let named = |id: &str, of: String, status: &str| json!({id: of, "deposit_address": account, "amount": "5", "status": status});
    let changes = |id: &'static str| {
        [
            (id, json!(CardId(9).to_string())),
            ("deposit_address", json!("0x0202020202020202020202020202020202020202")),
            ("amount", json!("5.01")),
            ("status", json!("sold_out")),
        ]
    };
    let order = OpenCardRequest {
        key: JobId(1),
        card: CardId(2),
        account: [1; 20],
        amount: Cents::new(500),
        reusable: true,
    };
    let no = named("card_id", CardId(2).to_string(), "insufficient_balance");
    assert!(
        RemoteReloadableCards(remote(&serve_response(&no).await))
            .open(&order)
            .await
            .is_ok()
    );
    for body in corrupted(&no, &changes("card_id")) {
        open(
            RemoteReloadableCards(remote(&serve_response(&body).await))
                .open(&order)
                .await,
            &body,
        );
    }
    let part = HoldRequest {
        key: JobId(1),
        withdrawal: WithdrawalId(2),
        account: [1; 20],
        amount: Cents::new(500),
    };
    let held = named("withdrawal_id", WithdrawalId(2).to_string(), "held");
    let result = RemoteReloadableCards(remote(&serve_response(&held).await))
        .hold(&part)
        .await;
    assert_eq!(result.unwrap(), HoldResult::Held);
    for body in corrupted(&held, &changes("withdrawal_id")) {
        open(
            RemoteReloadableCards(remote(&serve_response(&body).await))
                .hold(&part)
                .await,
            &body,
        );
    }
    let ended = json!({"key": JobId(1).to_string(), "captured": true});
    for body in corrupted(
        &ended,
        &[("key", json!(JobId(2).to_string())), ("captured", json!(false))],
    ) {
        let program = RemoteReloadableCards(remote(&serve_response(&body).await));
        open(program.settle_hold(JobId(1), true).await, &body);
    }
}

// Checks: a response to a card action or a burn must name its card, job or transaction. Otherwise the card is not
// closed and the burn is not impossible.
#[tokio::test]
async fn card_action_and_burn_responses_must_match_their_request() {
    let request = CardActionRequest {
        key: JobId(7),
        card: CardId(2),
        issuer_ref: "r".into(),
        action: CardAction::Close,
    };
    let response = json!({"key": JobId(7).to_string(), "card_id": CardId(2).to_string(), "sequence": 1, "state": "closed",
        "available": "0", "released": "0", "transactions": []});
    assert!(
        RemoteReloadableCards(remote(&serve_response(&response).await))
            .apply_action(&request)
            .await
            .is_ok()
    );
    for body in corrupted(
        &response,
        &[
            ("key", json!(JobId(6).to_string())),
            ("card_id", json!(CardId(3).to_string())),
            ("available", json!("-1")),
        ],
    ) {
        open(
            RemoteReloadableCards(remote(&serve_response(&body).await))
                .apply_action(&request)
                .await,
            &body,
        );
    }
    let burn = SignedBurn {
        bytes: vec![1],
        transaction: "t".into(),
        event_key: [0; 32],
        burned: Usdc::from_atomic(1),
    };
    let gone = json!({"subject": "t", "status": "impossible"});
    let result = RemoteBridge(remote(&serve_response(&gone).await))
        .find_burn(&burn)
        .await;
    assert_eq!(result.unwrap(), ChainStatus::Impossible);
    // Of a landed burn a bridge may say that it is not final; one that does not say so means that it is.
    for (reversible, finality) in [
        (None, Finality::Final),
        (Some(false), Finality::Final),
        (Some(true), Finality::Confirmed),
    ] {
        let mut found = json!({"subject": "t", "status": "confirmed", "transaction": "t"});
        if let Some(reversible) = reversible {
            found["reversible"] = json!(reversible);
        }
        let result = RemoteBridge(remote(&serve_response(&found).await))
            .find_burn(&burn)
            .await;
        let transaction = "t".to_owned();
        assert_eq!(result.unwrap(), ChainStatus::Confirmed { transaction, finality });
    }
    for body in corrupted(&gone, &[("subject", json!("u")), ("status", json!("gone"))]) {
        open(
            RemoteBridge(remote(&serve_response(&body).await))
                .find_burn(&burn)
                .await,
            &body,
        );
    }
}
