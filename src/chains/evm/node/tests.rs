#![allow(clippy::unwrap_used, reason = "a test")]

mod agreement;

use alloy_primitives::{address, b256};

use super::parse::text;
use super::*;
use crate::evm::blocks::NextBlock;
use crate::evm::tx::Fee;
use crate::rpc::script::{ScriptTransport, TestClock, error, ok, result};
use crate::rpc::{EndpointSettings, EndpointUrl};

const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
const HASH: B256 = b256!("00000000000000000000000000000000000000000000000000000000000000aa");

fn node(hosts: &[&str], transport: ScriptTransport) -> Node {
    let settings = hosts
        .iter()
        .map(|host| EndpointSettings::new(EndpointUrl::parse(&format!("https://{host}")).unwrap()));
    let pool = RpcPool::new(settings.collect(), Arc::new(transport), Arc::new(TestClock::default()));
    Node::new(Arc::new(pool.unwrap()))
}

// One endpoint with one answer to everything.
fn answering(value: Value) -> Node {
    node(
        &["a.example"],
        ScriptTransport::new(move |_, request| result(request, value.clone())),
    )
}

fn block(number: u64, hash: B256) -> Value {
    json!({
        "number": format!("{number:#x}"),
        "hash": text(hash),
        "parentHash": text(B256::repeat_byte(1)),
        "timestamp": "0x64",
    })
}

fn log(index: u64, hash: B256) -> Value {
    json!({
        "address": text(USDC),
        "topics": [text(B256::repeat_byte(5))],
        "data": "0x01",
        "blockNumber": "0x10",
        "blockHash": text(hash),
        "transactionHash": text(B256::repeat_byte(6)),
        "logIndex": format!("{index:#x}"),
        "removed": false,
    })
}

#[tokio::test]
async fn quantities_are_strict() {
    let table = [
        (json!("0x2105"), Ok(8453)),
        (json!("0x0"), Ok(0)),
        (json!("0xffffffffffffffff"), Ok(u64::MAX)),
        (json!("0x10000000000000000"), Err(())),
        (json!("8453"), Err(())),
        (json!("0x"), Err(())),
        (json!("0x-1"), Err(())),
        (json!("0x1_0"), Err(())),
        (json!(8453), Err(())),
        (json!(null), Err(())),
    ];
    for (value, expected) in table {
        let found = answering(value.clone()).chain_id(0).await;
        assert_eq!(found.map_err(|_| ()), expected, "{value}");
    }
}

#[test]
fn answers_to_raw_transactions_are_understood() {
    use SendReply::*;
    let failed = |message: &str| {
        Err(RpcError::Rpc {
            code: -32000,
            message: message.to_owned(),
            data: Value::Null,
        })
    };
    let table = [
        (Ok(json!(text(HASH))), Accepted),
        (Ok(json!(text(B256::ZERO))), Unknown),
        (Ok(Value::Null), Unknown),
        (failed("already known"), AlreadyKnown),
        (failed("AlreadyKnown"), AlreadyKnown),
        (failed("transaction already imported"), AlreadyKnown),
        (failed("ALREADY_EXISTS: already known"), AlreadyKnown),
        (failed("Known transaction"), AlreadyKnown),
        (failed("nonce too low: next nonce 5, tx nonce 3"), NonceTooLow),
        (
            failed("OldNonce, Current nonce: 5, nonce of rejected tx: 3"),
            NonceTooLow,
        ),
        (failed("replacement transaction underpriced"), ReplacementUnderpriced),
        (failed("ReplacementNotAllowed"), ReplacementUnderpriced),
        (
            failed("transaction underpriced: gas tip cap 0, minimum needed 1"),
            FeeTooLow,
        ),
        (
            failed("max fee per gas less than block base fee: address 0x1, maxFeePerGas: 1, baseFee: 2"),
            FeeTooLow,
        ),
        (
            failed("insufficient funds for gas * price + value: have 0 want 1"),
            InsufficientFunds,
        ),
        (failed("Insufficient funds for gas * price + value"), InsufficientFunds),
        (failed("intrinsic gas too low: gas 0, minimum needed 21000"), Rejected),
        (
            failed("transaction gas limit too high (cap: 16777216, tx: 30000000)"),
            Rejected,
        ),
        (failed("txpool is full"), Unknown),
        (failed("internal error"), Unknown),
        (Err(RpcError::Timeout), Unknown),
        (Err(RpcError::MalformedResponse("x".into())), Unknown),
    ];
    for (answer, reply) in table {
        assert_eq!(send_reply(&answer, HASH), reply, "{answer:?}");
    }
}

#[tokio::test]
async fn raw_transaction_goes_to_every_endpoint() {
    let transport = ScriptTransport::new(|host, request| match host {
        "a.example" => error(request, -32000, "already known"),
        _ => result(request, json!(text(HASH))),
    });
    let answers = node(&["a.example", "b.example"], transport)
        .send_raw(&[2, 0xff], HASH)
        .await;
    let replies: Vec<_> = answers
        .iter()
        .map(|answer| (answer.host.as_str(), answer.reply))
        .collect();
    assert_eq!(
        replies,
        [
            ("a.example", SendReply::AlreadyKnown),
            ("b.example", SendReply::Accepted)
        ]
    );
    assert_eq!(answers[0].error.as_deref(), Some("rpc error -32000: already known"));
}

#[tokio::test]
async fn reverts_differ_from_failed_calls() {
    const EXPIRED: &str = "0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000002546696174546f6b656e56323a20617574686f72697a6174696f6e2069732065787069726564000000000000000000000000000000000000000000000000000000";
    let request = CallRequest {
        from: USDC,
        to: USDC,
        data: Bytes::new(),
        gas: 1,
    };
    let text = "FiatTokenV2: authorization is expired";
    let table = [
        (3, "execution reverted", json!(EXPIRED), Some(text)),
        (-32000, "VM error: revert", json!({"data": EXPIRED}), Some(text)),
        (-32000, "execution reverted", Value::Null, Some("execution reverted")),
        (-32000, "out of gas", Value::Null, Some("out of gas")),
        (-32000, "header not found", Value::Null, None),
        (-32603, "internal", Value::Null, None),
    ];
    for (code, message, data, reason) in table {
        let transport = ScriptTransport::new(move |_, request| {
            ok(&json!({"id": request["id"], "error": {"code": code, "message": message, "data": data}}))
        });
        let failed = node(&["a.example"], transport)
            .call(&request, BlockTag::Latest)
            .await
            .unwrap_err();
        match (failed, reason) {
            (CallError::Reverted { reason, .. }, Some(expected)) => assert_eq!(reason, expected),
            (CallError::Node(NodeError::Rpc(_)), None) => {}
            other => panic!("{message}: {other:?}"),
        }
    }
    let returned = answering(json!("0x0102")).call(&request, BlockTag::Number(255)).await;
    assert_eq!(returned, Ok(vec![1, 2].into()));
}

// Checks: header and logs come from one endpoint, and one that lacks the block is skipped.
#[tokio::test]
async fn block_is_read_from_an_endpoint_that_has_it() {
    let transport = ScriptTransport::new(|host, request| {
        let answer = |call: &Value| match (host, call["method"].as_str().unwrap()) {
            ("a.example", "eth_getBlockByHash") => json!({"id": call["id"], "result": null}),
            ("a.example", _) => json!({"id": call["id"], "error": {"code": -32000, "message": "unknown block"}}),
            (_, "eth_getBlockByHash") => json!({"id": call["id"], "result": block(16, HASH)}),
            (_, "eth_getLogs") => {
                assert_eq!(call["params"][0]["blockHash"], json!(text(HASH)));
                json!({"id": call["id"], "result": [log(4, HASH), log(3, HASH)]})
            }
            (_, method) => panic!("{method}"),
        };
        match request.as_array() {
            Some(calls) => ok(&calls.iter().map(answer).collect()),
            None => result(request, block(16, HASH)),
        }
    });
    let node = node(&["a.example", "b.example"], transport);
    let filter = LogFilter {
        address: USDC,
        topics: vec![vec![], vec![HASH]],
    };
    for next in [NextBlock::Hash(HASH), NextBlock::Number(16)] {
        // Two filters that admit the same logs.
        let filters = [filter.clone(), filter.clone()];
        let found = node.block(next, &filters).await.unwrap().unwrap();
        assert_eq!(found.header, parse::header(&block(16, HASH)).unwrap());
        assert_eq!(found.logs.iter().map(|log| log.log_index).collect::<Vec<_>>(), [3, 4]);
    }
}

#[tokio::test]
async fn missing_block_differs_from_malformed_answers() {
    let batch = |header: Value, logs: Value| {
        node(
            &["a.example"],
            ScriptTransport::new(move |_, request| {
                let id = |at: usize| request[at]["id"].clone();
                ok(&json!([{"id": id(0), "result": header}, {"id": id(1), "result": logs}]))
            }),
        )
    };
    let filters = [LogFilter {
        address: USDC,
        topics: vec![],
    }];
    let next = NextBlock::Hash(HASH);
    assert_eq!(batch(Value::Null, json!([])).block(next, &filters).await, Ok(None));
    let mut removed = log(1, HASH);
    removed["removed"] = json!(true);
    let wrong = [
        (block(16, B256::ZERO), json!([])),
        (json!({}), json!([])),
        (block(16, HASH), Value::Null),
        (block(16, HASH), json!([log(1, B256::ZERO)])),
        (block(16, HASH), json!([removed])),
        (block(16, HASH), json!([{}])),
    ];
    for (header, logs) in wrong {
        let found = batch(header, logs.clone()).block(next, &filters).await;
        assert!(matches!(found, Err(NodeError::Malformed { .. })), "{logs}");
    }
    let none = answering(Value::Null);
    assert_eq!(none.block(NextBlock::Number(1), &filters).await, Ok(None));
    assert_eq!(
        (none.header(BlockTag::Safe).await, none.receipt(HASH).await),
        (Ok(None), Ok(None))
    );
}

#[tokio::test]
async fn heads_record_the_lag_of_each_endpoint() {
    let transport = ScriptTransport::new(|host, request| match host {
        "a.example" => result(request, block(90, HASH)),
        "b.example" => result(request, block(100, HASH)),
        _ => result(request, Value::Null),
    });
    let node = node(&["a.example", "b.example", "c.example"], transport);
    let heads = node.heads().await;
    assert_eq!(heads[1].as_ref().unwrap().number, 100);
    assert!(matches!(heads[2], Err(NodeError::Malformed { .. })));
    let lags: Vec<_> = node.pool().status().iter().map(|status| status.lag).collect();
    assert_eq!(lags, [Some(10), Some(0), None]);
}

#[tokio::test]
async fn fees_follow_the_base_fee_within_the_policy() {
    let policy = FeePolicy {
        min_priority_fee: 10,
        max_priority_fee: 1_000,
        max_fee: 50_000,
    };
    let fee = |max_fee, max_priority_fee| Fee {
        max_fee,
        max_priority_fee,
    };
    let history = |base: &str, rewards: Value| json!({"baseFeePerGas": ["0x1", base], "reward": rewards});
    let table = [
        (
            history("0x64", json!([["0x20"], ["0x10"], ["0x30"]])),
            Some((fee(232, 32), 100)),
        ),
        (history("0x64", json!([["0x1"]])), Some((fee(210, 10), 100))),
        (history("0x64", json!([])), Some((fee(210, 10), 100))),
        (history("0x64", json!([["0xffffff"]])), Some((fee(1_200, 1_000), 100))),
        (history("0x7530", json!([["0x20"]])), Some((fee(50_000, 32), 30_000))),
        (
            history("0xffffffffffffffffffffffffffffffff", json!([])),
            Some((fee(50_000, 10), u128::MAX)),
        ),
        (history("x", json!([])), None),
        (history("0x1", json!([[]])), None),
        (json!({}), None),
    ];
    for (history, expected) in table {
        let quote = answering(history.clone()).fees(policy).await;
        assert_eq!(
            quote.ok().map(|quote| (quote.fee, quote.base_fee)),
            expected,
            "{history}"
        );
    }
}

#[tokio::test]
async fn receipt_counts_the_fee_of_both_layers() {
    let receipt = |status: &str| {
        json!({
            "transactionHash": text(HASH), "blockHash": text(B256::repeat_byte(9)), "blockNumber": "0x10", "status": status,
            "gasUsed": "0x64", "effectiveGasPrice": "0xa", "l1Fee": "0x7", "logs": [log(1, B256::repeat_byte(9))],
        })
    };
    let found = answering(receipt("0x0")).receipt(HASH).await.unwrap().unwrap();
    assert_eq!(
        (found.success, found.cost, found.logs.len()),
        (false, U256::from(1_007), 1)
    );
    assert!(answering(receipt("0x1")).receipt(HASH).await.unwrap().unwrap().success);
    assert!(answering(receipt("0x2")).receipt(HASH).await.is_err());
    assert!(answering(receipt("0x1")).receipt(B256::ZERO).await.is_err());
    let node = node(
        &["a.example", "b.example"],
        ScriptTransport::new(move |host, request| match host {
            "a.example" => result(request, Value::Null),
            _ => result(request, receipt("0x1")),
        }),
    );
    assert!(node.receipt(HASH).await.unwrap().is_some());
    let each = node.receipts_of_each(HASH).await;
    assert_eq!(
        each.iter()
            .map(|found| found.as_ref().unwrap().is_some())
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[tokio::test]
async fn code_is_read_in_one_request() {
    let transport = ScriptTransport::new(|_, request| {
        let code = |call: &Value| {
            let code = if call["params"][0] == json!(text(USDC)) {
                "0xef0100"
            } else {
                "0x"
            };
            json!({"id": call["id"], "result": code})
        };
        ok(&request.as_array().unwrap().iter().map(code).collect())
    });
    let node = node(&["a.example"], transport);
    assert_eq!(node.have_code(&[Address::ZERO, USDC]).await, Ok(vec![false, true]));
    assert_eq!(node.have_code(&[]).await, Ok(vec![]));
}
