#![allow(clippy::unwrap_used, clippy::type_complexity, reason = "a test")]

mod movements;

use super::*;
use crate::rpc::script::{ScriptTransport, TestClock, error, result};
use crate::rpc::{EndpointSettings, EndpointUrl, TransportError};
use crate::solana::address::{TOKEN, USDC_MAINNET};
use crate::solana::draft::Draft;
use crate::solana::keypair::Keypair;
use crate::solana::message::Version;
use crate::solana::token::memo;
use crate::solana::transaction::{Transaction, UNSIGNED, sign};

fn node(
    hosts: &[&str],
    answer: impl Fn(&str, &Value) -> Result<crate::rpc::Response, TransportError> + Send + Sync + 'static,
) -> Node {
    let settings = hosts
        .iter()
        .map(|host| EndpointSettings::new(EndpointUrl::parse(&format!("http://{host}")).unwrap()));
    let transport = Arc::new(ScriptTransport::new(answer));
    let pool = RpcPool::new(settings.collect(), transport, Arc::new(TestClock::default())).unwrap();
    Node::new(Arc::new(pool))
}

/// A node with one endpoint that returns this result for every call.
fn answering(value: Value) -> Node {
    node(&["a"], move |_, request| result(request, value.clone()))
}

const ID: Signature = [7; 64];

#[tokio::test]
async fn blockhash_position_and_rent() {
    let blockhash =
        json!({"context": {"slot": 40}, "value": {"blockhash": base58(&[9; 32]), "lastValidBlockHeight": 160}});
    let expected = Blockhash {
        hash: [9; 32],
        last_valid_block_height: 160,
        slot: 40,
    };
    let found = answering(blockhash).latest_blockhash(Commitment::Confirmed).await;
    assert_eq!(found, Ok(expected));
    let info = json!({"absoluteSlot": 50, "blockHeight": 45, "epoch": 0});
    let position = answering(info).position(Commitment::Finalized).await;
    let expected = ChainPosition {
        slot: 50,
        block_height: 45,
    };
    assert_eq!(position, Ok(expected));
    assert_eq!(answering(json!(2_039_280)).rent_exemption(165).await, Ok(2_039_280));
    let valid = json!({"context": {"slot": 3}, "value": false});
    assert_eq!(
        answering(valid)
            .is_blockhash_valid(&[9; 32], Commitment::Processed)
            .await,
        Ok((false, 3))
    );
}

#[tokio::test]
async fn malformed_results_are_errors() {
    for value in [
        json!(null),
        json!({}),
        json!([]),
        json!("x"),
        json!({"context": {"slot": -1}, "value": [1]}),
        json!(1.5),
    ] {
        let node = answering(value.clone());
        assert!(node.latest_blockhash(Commitment::Confirmed).await.is_err(), "{value}");
        assert!(node.position(Commitment::Confirmed).await.is_err(), "{value}");
        assert!(node.rent_exemption(1).await.is_err(), "{value}");
        assert!(node.statuses_on(0, &[ID], true).await.is_err(), "{value}");
        assert!(
            node.accounts(&[[1; 32]], Commitment::Confirmed).await.is_err(),
            "{value}"
        );
        assert!(node.simulate(&[1], Commitment::Confirmed).await.is_err(), "{value}");
        assert!(node.genesis_hash_each().await[0].is_err(), "{value}");
        let page = PageRequest {
            before: None,
            until: None,
            limit: 1,
        };
        let empty = value == json!([]);
        assert_eq!(node.signatures_on(0, &[1; 32], page).await.is_ok(), empty, "{value}");
    }
}

#[tokio::test]
async fn evidence_is_position_then_history() {
    let node = node(&["a", "b", "c"], |host, request| {
        match (host, request["method"].as_str().unwrap()) {
            ("c", _) => Err(TransportError::Unreachable("down".to_owned())),
            (_, "getEpochInfo") => {
                assert_eq!(request["params"], json!([{"commitment": "finalized"}]));
                result(request, json!({"absoluteSlot": 1200, "blockHeight": 1100}))
            }
            (_, "getFirstAvailableBlock") => result(request, json!(12)),
            ("a", "getSignatureStatuses") => {
                assert_eq!(
                    request["params"],
                    json!([[base58(&ID)], {"searchTransactionHistory": true}])
                );
                result(request, json!({"context": {"slot": 1232}, "value": [null]}))
            }
            (_, "getSignatureStatuses") => {
                let status =
                    json!({"slot": 990, "confirmations": null, "err": null, "confirmationStatus": "finalized"});
                result(request, json!({"context": {"slot": 1230}, "value": [status]}))
            }
            (_, method) => panic!("{method}"),
        }
    });
    let evidence = node.evidence_each(&ID).await;
    let absent = Absence {
        finalized_block_height: 1100,
        finalized_slot: 1200,
        first_available_slot: 12,
        context_slot: 1232,
    };
    assert_eq!(evidence[0], Ok(Evidence::Absent(absent)));
    let status = SignatureStatus {
        slot: 990,
        level: Commitment::Finalized,
        error: None,
    };
    assert_eq!(
        evidence[1],
        Ok(Evidence::Found {
            context_slot: 1230,
            status
        })
    );
    assert!(matches!(evidence[2], Err(NodeError::Rpc(RpcError::Unreachable(_)))));
}

#[tokio::test]
async fn each_endpoint_answers_to_a_send() {
    let node = node(&["a", "b", "c", "d"], |host, request| {
        let options = json!({"encoding": "base64", "skipPreflight": true, "maxRetries": 0});
        assert_eq!(request["params"], json!(["AQI=", options]));
        match host {
            "a" => result(request, json!(base58(&ID))),
            "b" => error(request, -32002, "This transaction has already been processed"),
            "c" => error(request, -32602, "failed to deserialize"),
            _ => Err(TransportError::Unreachable("down".to_owned())),
        }
    });
    let outcomes = node.send_each(&[1, 2]).await;
    assert_eq!(outcomes[..2], [SendOutcome::Accepted, SendOutcome::AlreadyProcessed]);
    assert!(matches!(
        outcomes[2],
        SendOutcome::Unknown(RpcError::Rpc { code: -32602, .. })
    ));
    assert!(matches!(outcomes[3], SendOutcome::Unknown(RpcError::Unreachable(_))));
    let rejected = |err: Value| {
        let data = json!({"err": err, "logs": []});
        let message = "Transaction simulation failed".to_owned();
        send_outcome(Err(RpcError::Rpc {
            code: -32002,
            message,
            data,
        }))
    };
    assert_eq!(rejected(json!("AlreadyProcessed")), SendOutcome::AlreadyProcessed);
    let SendOutcome::Rejected(error) = rejected(json!("BlockhashNotFound")) else {
        panic!("rejected")
    };
    assert!(error.is_blockhash_not_found());
}

#[tokio::test]
async fn accounts_and_token_accounts() {
    let mut data = vec![0; 165];
    data[..32].copy_from_slice(&USDC_MAINNET);
    data[64..72].copy_from_slice(&5u64.to_le_bytes());
    data[108] = 2;
    let account = |owner: &Pubkey| {
        json!({"lamports": 2_039_280u64, "owner": base58(owner), "executable": false, "rentEpoch": u64::MAX,
            "data": [STANDARD.encode(&data), "base64"]})
    };
    let token = answering(json!({"context": {"slot": 9}, "value": [account(&TOKEN)]}));
    let state = token
        .token_account(&[1; 32], Commitment::Confirmed)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((state.amount, state.frozen, state.mint), (5, true, USDC_MAINNET));
    for value in [account(&crate::solana::address::TOKEN_2022), Value::Null] {
        let node = answering(json!({"context": {"slot": 9}, "value": [value]}));
        assert_eq!(node.token_account(&[1; 32], Commitment::Confirmed).await, Ok(None));
    }
}

#[tokio::test]
async fn signatures_are_requested_by_cursor() {
    let node = node(&["a"], |_, request| {
        let options =
            json!({"commitment": "confirmed", "limit": 1000, "before": base58(&[1; 64]), "until": base58(&[2; 64])});
        assert_eq!(request["params"], json!([base58(&[3; 32]), options]));
        let entry = json!({"signature": base58(&ID), "slot": 5, "err": {"InstructionError": [0, "Custom"]},
            "confirmationStatus": "confirmed", "memo": null, "blockTime": 1});
        result(request, json!([entry]))
    });
    let page = PageRequest {
        before: Some([1; 64]),
        until: Some([2; 64]),
        limit: 1000,
    };
    let expected = Entry {
        id: ID,
        slot: 5,
        level: Commitment::Confirmed,
        failed: true,
    };
    assert_eq!(node.signatures_on(0, &[3; 32], page).await, Ok(vec![expected]));
}

#[tokio::test]
async fn many_accounts_and_signatures_are_requested_in_parts() {
    let node = node(&["a"], |_, request| {
        let count = request["params"][0].as_array().unwrap().len();
        // The second part is answered by a node with a newer slot.
        let slot = if count < 50 { 8 } else { 7 };
        result(
            request,
            json!({"context": {"slot": slot}, "value": vec![Value::Null; count]}),
        )
    });
    let accounts = node.accounts(&[[1; 32]; 140], Commitment::Confirmed).await;
    assert_eq!(accounts, Ok((7, vec![None; 140])));
    let statuses = node.statuses_on(0, &[ID; 300], false).await;
    assert_eq!(statuses, Ok((7, vec![None; 300])));
}

// Checks: a simulation shows the endpoint no signature. The requested account is returned as the transaction leaves it;
// without a request, none is.
#[tokio::test]
async fn a_simulation_shows_the_account_that_was_asked_for() {
    let account = json!({"lamports": 3, "owner": base58(&TOKEN), "executable": false, "data": ["AQI=", "base64"]});
    let payer = Keypair::from_seed(&[6; 32]);
    let draft = Draft {
        fee_payer: payer.address(),
        blockhash: [7; 32],
        instructions: vec![memo("paid")],
        version: Version::V0,
    };
    let signed = sign(&draft, &[&payer]).unwrap();
    for (accounts, expected) in [
        (json!([account]), Some(vec![1, 2])),
        (json!([null]), None),
        (json!(null), None),
    ] {
        let node = node(&["a"], move |_, request| {
            let asked = &request["params"][1]["accounts"];
            assert_eq!(*asked, json!({"encoding": "base64", "addresses": [base58(&[5; 32])]}));
            assert_eq!(request["params"][1]["sigVerify"], false);
            let sent = STANDARD.decode(request["params"][0].as_str().unwrap()).unwrap();
            assert_eq!(Transaction::parse(&sent).unwrap().signatures, [UNSIGNED]);
            let value = json!({"err": null, "logs": [], "accounts": accounts.clone()});
            result(request, json!({"context": {"slot": 9}, "value": value}))
        });
        let shown = node
            .simulate_unsigned(&signed.bytes, Some(&[5; 32]), Commitment::Processed)
            .await;
        let shown = shown.unwrap();
        assert_eq!((shown.slot, shown.account.map(|account| account.data)), (9, expected));
    }
}
