use super::super::movements::{Direction, InstructionPath, TransferRef};
use super::*;

/// A transaction with a transfer to the account, one from it inside another program, a batch, and an unrelated
/// transfer.
fn transaction(error: Value) -> Value {
    let key = |byte: u8| base58(&[byte; 32]);
    let data = |amount: u64| bs58::encode([&[12][..], &amount.to_le_bytes(), &[6]].concat()).into_string();
    let batch = {
        let mut batch = vec![255, 4, 10];
        batch.extend([&[12][..], &30u64.to_le_bytes(), &[6]].concat());
        batch.extend([4, 10]);
        batch.extend([&[12][..], &4u64.to_le_bytes(), &[6]].concat());
        bs58::encode(batch).into_string()
    };
    let balance = |index: u8, owner: u8, amount: u64| {
        json!({"accountIndex": index, "mint": base58(&USDC_MAINNET), "owner": key(owner),
            "uiTokenAmount": {"amount": amount.to_string(), "decimals": 6, "uiAmount": 0.1}})
    };
    let moved = error.is_null();
    json!({
        "slot": 77, "blockTime": 1_700_000_000, "version": 0,
        "meta": {
            "err": error, "fee": 10_001,
            "loadedAddresses": {"writable": [key(11)], "readonly": [base58(&USDC_MAINNET)]},
            "preTokenBalances": [balance(1, 50, 1000), balance(2, 51, 500), balance(5, 52, 0)],
            "postTokenBalances": if moved {
                json!([balance(1, 50, 1073), balance(2, 51, 400), balance(5, 52, 27)])
            } else {
                json!([balance(1, 50, 1000), balance(2, 51, 500), balance(5, 52, 0)])
            },
            "innerInstructions": [{"index": 1, "instructions": [
                {"programIdIndex": 4, "accounts": [], "data": "", "stackHeight": 2},
                {"programIdIndex": 3, "accounts": [1, 6, 5, 0], "data": data(27), "stackHeight": 2},
            ]}],
        },
        "transaction": {
            "signatures": [base58(&ID)],
            "message": {
                "accountKeys": [key(1), key(10), key(12), base58(&TOKEN), key(60)],
                "recentBlockhash": base58(&[9; 32]),
                "instructions": [
                    {"programIdIndex": 3, "accounts": [2, 6, 1, 0], "data": data(70)},
                    {"programIdIndex": 4, "accounts": [1, 2], "data": "3Bxs"},
                    {"programIdIndex": 3, "accounts": [2, 6, 1, 0, 1, 6, 1, 0], "data": batch},
                    {"programIdIndex": 3, "accounts": [2, 6, 5, 0], "data": data(0)},
                ],
            },
        },
    })
}

#[tokio::test]
async fn every_movement_of_the_account_has_its_own_name() {
    let node = answering(transaction(Value::Null));
    let found = node
        .transaction(&ID, &[10; 32], &USDC_MAINNET, Commitment::Confirmed)
        .await;
    let found = found.unwrap().unwrap();
    assert_eq!(
        (found.slot, found.fee_lamports, found.fee_payer, found.unexplained),
        (77, 10_001, [1; 32], 0)
    );
    let movements: Vec<(String, Direction, u64, Option<Pubkey>)> = found
        .movements
        .iter()
        .map(|movement| {
            assert_eq!((movement.reference.transaction, movement.authority), (ID, [1; 32]));
            (
                movement.reference.instruction.to_string(),
                movement.direction,
                movement.amount,
                movement.other_owner,
            )
        })
        .collect();
    let expected = [
        ("0".to_owned(), Direction::In, 70, Some([51; 32])),
        ("1.1".to_owned(), Direction::Out, 27, Some([52; 32])),
        ("2+0".to_owned(), Direction::In, 30, Some([51; 32])),
        ("2+1".to_owned(), Direction::Own, 4, Some([50; 32])),
    ];
    assert_eq!(movements, expected);
    let reference = TransferRef {
        transaction: ID,
        instruction: InstructionPath {
            top: 1,
            inner: Some(1),
            batch: None,
        },
    };
    assert_eq!(found.movements[1].reference, reference);
    assert_eq!(reference.to_string(), format!("{}:1.1", base58(&ID)));
}

#[tokio::test]
async fn a_failed_transaction_moves_nothing_and_costs_its_fee() {
    let node = answering(transaction(json!({"InstructionError": [2, {"Custom": 1}]})));
    let found = node
        .transaction(&ID, &[10; 32], &USDC_MAINNET, Commitment::Finalized)
        .await
        .unwrap()
        .unwrap();
    assert!(found.movements.is_empty() && found.unexplained == 0);
    assert_eq!(found.error.unwrap().custom, Some(1));
    assert_eq!(found.fee_lamports, 10_001);
}

#[tokio::test]
async fn an_unknown_way_to_move_tokens_is_reported() {
    let mut hidden = transaction(Value::Null);
    hidden["meta"]["innerInstructions"] = Value::Null;
    let found = answering(hidden)
        .transaction(&ID, &[10; 32], &USDC_MAINNET, Commitment::Confirmed)
        .await;
    let found = found.unwrap().unwrap();
    assert_eq!((found.movements.len(), found.unexplained), (3, -27));
    // A different transaction or mint is never accepted instead.
    let other = answering(transaction(Value::Null));
    assert!(
        other
            .transaction(&[8; 64], &[10; 32], &USDC_MAINNET, Commitment::Confirmed)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_missing_transaction_is_sought_at_the_other_endpoint() {
    let node = node(&["a", "b"], |host, request| match host {
        "a" => result(request, Value::Null),
        _ => result(request, transaction(Value::Null)),
    });
    let found = node
        .transaction(&ID, &[10; 32], &USDC_MAINNET, Commitment::Confirmed)
        .await;
    assert!(found.unwrap().is_some());
    assert_eq!(
        answering(Value::Null)
            .transaction(&ID, &[10; 32], &USDC_MAINNET, Commitment::Confirmed)
            .await,
        Ok(None)
    );
}

#[tokio::test]
async fn a_newer_transaction_version_is_read_too() {
    let node = node(&["a"], |_, request| {
        if request["params"][1]["maxSupportedTransactionVersion"] == json!(0) {
            return error(
                request,
                -32015,
                "Transaction version (1) is not supported by the requesting client",
            );
        }
        result(request, transaction(Value::Null))
    });
    let found = node
        .transaction(&ID, &[10; 32], &USDC_MAINNET, Commitment::Confirmed)
        .await;
    assert_eq!(found.unwrap().unwrap().movements.len(), 4);
}

#[test]
fn instructions_are_ordered_as_executed() {
    let path = |top, inner, batch| InstructionPath { top, inner, batch };
    let order = [
        path(0, None, None),
        path(1, None, None),
        path(1, Some(0), None),
        path(1, Some(1), Some(0)),
        path(1, Some(1), Some(1)),
        path(2, None, Some(0)),
    ];
    assert!(order.is_sorted());
}
