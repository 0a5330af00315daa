//! Payments, alone and in batches.

use std::collections::BTreeSet;
use std::sync::Arc;

use purser_chains::evm::blocks::Finality;
use purser_chains::evm::expiry::{ExpiryProof, expiry_proof};
use purser_chains::evm::multicall::{Candidate, Group, Stage, after_failure, plan, revert_reason};
use purser_chains::evm::node::{BlockTag, CallError, CallRequest, Node};
use purser_chains::evm::nonces::ReleaseReason;
use purser_chains::evm::usdc::Authorization;
use purser_chains::evm::{B256, U256, usdc};
use serde_json::json;

use crate::base::anvil::pool;
use crate::base::harness::{CHAIN_ID, Harness, VALUE, hex};

fn single(payment: usize) -> Group<usize> {
    Group {
        payments: vec![payment],
        stage: Stage::First,
        gas_limit: 150_000,
    }
}

async fn plan_all(h: &Harness) -> Vec<Group<usize>> {
    let payers: Vec<_> = (0..h.payments.len()).map(|payment| h.payer(payment)).collect();
    let codes = h.node.have_code(&payers).await.unwrap();
    let candidate = |(payment, has_code)| Candidate { payment, has_code };
    plan(
        &codes.into_iter().enumerate().map(candidate).collect::<Vec<_>>(),
        &h.gas,
    )
}

// Checks: one EIP-3009 payment from signature to final movement; the digest is the contract's own.
#[tokio::test]
async fn single_payment_settles_and_becomes_final() {
    let Some(mut h) = Harness::start(1).await else { return };
    assert_eq!(h.node.chain_id(0).await, Ok(CHAIN_ID));
    // keccak256("DOMAIN_SEPARATOR()").
    let data = vec![0x36, 0x44, 0xe5, 0x15].into();
    let request = CallRequest {
        from: h.treasury,
        to: h.token.address(),
        data,
        gas: 100_000,
    };
    let separator = h.node.call(&request, BlockTag::Latest).await.unwrap();
    assert_eq!(separator.as_ref(), h.token.domain_separator().as_slice());

    let nonce = h.send(&single(0)).await;
    h.follow().await;
    assert_eq!(h.movements_of(0), []);
    h.anvil.mine(1).await;
    h.step(1_000).await;
    let movement = h.movements_of(0)[0];
    assert_eq!(Some(movement.reference.transaction), h.manager.mined_attempt(nonce));
    assert!(h.follower.is_final(movement.block_number, Finality::Confirmed));
    for finality in [Finality::Blocks(2), Finality::Safe, Finality::Finalized] {
        assert!(!h.follower.is_final(movement.block_number, finality), "{finality:?}");
    }
    let receipt = h.node.receipt(movement.reference.transaction).await.unwrap().unwrap();
    assert!(receipt.success && receipt.gas_used < h.gas.single && receipt.cost > U256::ZERO);
    let state = usdc::authorization_state_call(h.payer(0), h.payments[0].authorization.nonce).into();
    let request = CallRequest { data: state, ..request };
    let used = h.node.call(&request, BlockTag::Latest).await.unwrap();
    assert_eq!(usdc::decode_authorization_state(&used), Some(true));
    // The same authorization again is declined by the contract, before any gas is spent.
    let again = CallRequest {
        data: h.calldata(0),
        ..request
    };
    let Err(CallError::Reverted { reason, .. }) = h.node.call(&again, BlockTag::Latest).await else {
        panic!()
    };
    assert_eq!(reason, "FiatTokenV2: authorization is used or canceled");
    assert!(matches!(
        h.node.estimate_gas(&again).await,
        Err(CallError::Reverted { .. })
    ));
    h.assert_settled_once(&[0]).await;
    assert!(h.follower.is_final(movement.block_number, Finality::Finalized));
}

// Checks: a batch is simulated by one call, settles in one transaction, and each movement has its own name.
#[tokio::test]
async fn batch_settles_in_one_transaction_with_a_name_for_each() {
    let Some(mut h) = Harness::start(8).await else { return };
    // One payer has nothing any more.
    h.anvil
        .control(
            "anvil_dealERC20",
            json!([hex(h.payer(3)), hex(h.token.address()), "0x0"]),
        )
        .await;
    h.anvil.mine(1).await;
    let all: Vec<usize> = (0..8).collect();
    let results = h.simulate(&all).await;
    let failed: Vec<usize> = all
        .iter()
        .copied()
        .filter(|payment| !results[*payment].success)
        .collect();
    assert_eq!(failed, [3]);
    let reason = revert_reason(&results[3].data);
    assert_eq!(reason.as_deref(), Some("ERC20: transfer amount exceeds balance"));
    // It is sent all the same: the others do not depend on it.
    let groups = plan_all(&h).await;
    assert_eq!(groups.len(), 1);
    h.send(&groups[0]).await;
    h.anvil.mine(1).await;
    h.step(1_000).await;
    let settled = [0, 1, 2, 4, 5, 6, 7];
    assert_eq!(h.released, [(BTreeSet::from([3]), ReleaseReason::Unsettled)]);
    let names: BTreeSet<_> = settled
        .iter()
        .map(|payment| h.movements_of(*payment)[0].reference)
        .collect();
    let transactions: BTreeSet<_> = names.iter().map(|name| name.transaction).collect();
    assert_eq!((names.len(), transactions.len()), (7, 1));
    h.assert_settled_once(&settled).await;
}

// Checks: a reorganisation that forgets the batch: its rows are removed, it is sent again and settles once.
#[tokio::test]
async fn payments_survive_reorganizations_of_every_depth() {
    let Some(mut h) = Harness::start(6).await else { return };
    h.anvil.mine(10).await;
    for (depth, payments) in [(1, vec![0]), (2, vec![1, 2]), (4, vec![3, 4, 5])] {
        let gas_limit = h.gas.batch_limit(payments.len().max(2));
        h.send(&Group {
            payments: payments.clone(),
            stage: Stage::First,
            gas_limit,
        })
        .await;
        h.anvil.mine(1).await;
        h.step(1_000).await;
        assert!(payments.iter().all(|payment| h.movements_of(*payment).len() == 1));
        h.anvil.mine(depth - 1).await;
        h.step(1_000).await;
        let before = h.removed_blocks;
        h.anvil.control("anvil_reorg", json!([depth, []])).await;
        h.follow().await;
        assert_eq!(h.removed_blocks - before, depth as usize);
        assert!(
            payments.iter().all(|payment| h.movements_of(*payment).is_empty()),
            "depth {depth}"
        );
        h.step(1_000).await;
        h.anvil.mine(1).await;
        h.step(5_000).await;
        assert!(
            payments.iter().all(|payment| h.movements_of(*payment).len() == 1),
            "depth {depth}"
        );
    }
    assert_eq!(h.released, []);
    h.assert_settled_once(&[0, 1, 2, 3, 4, 5]).await;
}

// Checks: a payer who becomes a contract that uses up all gas, after the simulation, costs the others two transactions.
#[tokio::test]
async fn hostile_payer_costs_the_others_two_transactions() {
    let Some(mut h) = Harness::start(50).await else { return };
    const HOSTILE: usize = 5;
    let groups = plan_all(&h).await;
    assert_eq!(groups.len(), 1);
    assert!(
        h.simulate(&groups[0].payments)
            .await
            .iter()
            .all(|result| result.success)
    );
    // JUMPDEST PUSH0 JUMP: never ends.
    h.anvil
        .control("anvil_setCode", json!([hex(h.payer(HOSTILE)), "0x5b5f56"]))
        .await;
    h.send(&groups[0]).await;
    h.anvil.mine(1).await;
    h.step(1_000).await;
    let (failed, reason) = h.released.remove(0);
    assert_eq!(reason, ReleaseReason::Unsettled);
    assert!(failed.contains(&HOSTILE) && failed.len() > 30, "{}", failed.len());

    let payers: Vec<_> = failed.iter().map(|payment| h.payer(*payment)).collect();
    let codes = h.node.have_code(&payers).await.unwrap();
    let has_code = failed.iter().copied().zip(codes).filter(|(_, has_code)| *has_code);
    let has_code: BTreeSet<usize> = has_code.map(|(payment, _)| payment).collect();
    assert_eq!(has_code, BTreeSet::from([HOSTILE]));
    let failed = Group {
        payments: failed.into_iter().collect(),
        ..groups[0].clone()
    };
    let further = after_failure(&failed, &has_code, &h.gas);
    assert_eq!(further.len(), 2);
    // Alone it fails in the simulation, so that no further gas is lost.
    assert!(!h.simulate(&[HOSTILE]).await[0].success);
    h.send(&further[0]).await;
    h.anvil.mine(1).await;
    h.step(1_000).await;
    let settled: Vec<usize> = (0..50).filter(|payment| *payment != HOSTILE).collect();
    assert_eq!(h.released, []);
    h.assert_settled_once(&settled).await;
}

// Checks: a payment sent by a stranger is seen, and so is a cancellation by the payer.
#[tokio::test]
async fn payments_by_others_and_cancellations_are_seen() {
    let Some(mut h) = Harness::start(2).await else { return };
    let stranger = crate::base::harness::key("stranger");
    h.anvil
        .control(
            "anvil_setBalance",
            json!([hex(stranger.address()), "0xde0b6b3a7640000"]),
        )
        .await;
    let payer = crate::base::harness::key("payer 1");
    let cancelled = B256::repeat_byte(0x77);
    let signature = payer.sign(h.token.cancel_digest(payer.address(), cancelled)).unwrap();
    let calls = [
        h.calldata(0),
        usdc::cancel_call(payer.address(), cancelled, signature).into(),
    ];
    for (nonce, data) in (0..).zip(calls) {
        let transaction = purser_chains::evm::tx::Transaction {
            chain_id: CHAIN_ID,
            nonce,
            fee: h.node.fees(crate::base::harness::POLICY).await.unwrap().fee,
            gas_limit: 150_000,
            to: h.token.address(),
            value: U256::ZERO,
            data,
        };
        let signed = transaction.sign(&stranger).unwrap();
        h.node.send_raw(&signed.bytes, signed.hash).await;
    }
    h.anvil.mine(1).await;
    h.follow().await;
    assert_eq!(h.movements_of(0).len(), 1);
    let canceled = usdc::MovementKind::Canceled {
        authorizer: payer.address(),
        nonce: cancelled,
    };
    assert_eq!(
        h.movements
            .values()
            .filter(|movement| movement.kind == canceled)
            .count(),
        1
    );
    assert_eq!(h.balance(h.treasury).await, U256::from(VALUE));
}

// Checks: an authorization that has run out in a final block of two endpoints can never settle; one that settled is used.
#[tokio::test]
async fn expired_authorization_is_proven_by_two_endpoints() {
    let Some(mut h) = Harness::start(2).await else { return };
    h.send(&single(0)).await;
    h.anvil.mine(1).await;
    let both = [h.anvil.url.clone(), h.anvil.url.replace("127.0.0.1", "localhost")];
    let node = Node::new(Arc::new(pool(&[&both[0], &both[1]])));
    let proof = async |payment: usize, endpoints: usize, tag| {
        let Authorization {
            from,
            nonce,
            valid_before,
            ..
        } = h.payments[payment].authorization;
        let answers = node.authorization_states(h.token.address(), from, nonce, tag).await;
        let answers: Vec<_> = answers.into_iter().take(endpoints).map(Result::unwrap).collect();
        expiry_proof(valid_before, &answers)
    };
    assert_eq!(proof(0, 2, BlockTag::Latest).await, ExpiryProof::Used);
    assert_eq!(proof(1, 2, BlockTag::Latest).await, ExpiryProof::Unproven);
    let end = u64::from(u32::MAX);
    h.anvil.control("evm_setNextBlockTimestamp", json!([hex(end)])).await;
    h.anvil.mine(1).await;
    assert_eq!(proof(1, 2, BlockTag::Latest).await, ExpiryProof::Expired);
    assert_eq!(proof(1, 1, BlockTag::Latest).await, ExpiryProof::Unproven);
    // Not final yet: the block can still be replaced by an earlier one.
    assert_eq!(proof(1, 2, BlockTag::Finalized).await, ExpiryProof::Unproven);
    h.anvil.mine(12).await;
    assert_eq!(proof(1, 2, BlockTag::Finalized).await, ExpiryProof::Expired);
    let Err(CallError::Reverted { reason, .. }) = simulate_single(&h, 1).await else {
        panic!()
    };
    assert_eq!(reason, "FiatTokenV2: authorization is expired");
}

async fn simulate_single(h: &Harness, payment: usize) -> Result<purser_chains::evm::Bytes, CallError> {
    let data = h.calldata(payment);
    let request = CallRequest {
        from: h.key.address(),
        to: h.token.address(),
        data,
        gas: 150_000,
    };
    h.node.call(&request, BlockTag::Latest).await
}

// Checks: an ERC-1271 wallet pays with its owner's signature, alone beside a batch of others.
#[tokio::test]
async fn smart_account_pays_alone_beside_a_batch() {
    let Some(mut h) = Harness::start(4).await else { return };
    let (wallet, owner) = (h.payer(1), crate::base::harness::key("owner"));
    let contracts: serde_json::Value = serde_json::from_str(include_str!("../anvil/contracts.json")).unwrap();
    let code = &contracts["runtime"]["SmartWallet"];
    h.anvil.control("anvil_setCode", json!([hex(wallet), code])).await;
    let slot = format!("{:#x}", owner.address().into_word());
    h.anvil
        .control("anvil_setStorageAt", json!([hex(wallet), "0x0", slot]))
        .await;
    h.anvil.mine(1).await;
    // The key of the address no longer counts, the owner's does.
    assert!(simulate_single(&h, 1).await.is_err());
    let digest = h.token.transfer_digest(&h.payments[1].authorization);
    h.payments[1].signature = owner.sign(digest).unwrap().to_bytes();
    assert!(simulate_single(&h, 1).await.is_ok());

    let groups = plan_all(&h).await;
    let payments: Vec<_> = groups.iter().map(|group| group.payments.clone()).collect();
    assert_eq!(payments, [vec![0, 2, 3], vec![1]]);
    for group in &groups {
        h.send(group).await;
    }
    h.anvil.mine(1).await;
    h.step(1_000).await;
    let transactions: BTreeSet<_> = (0..4)
        .map(|payment| h.movements_of(payment)[0].reference.transaction)
        .collect();
    assert_eq!(transactions.len(), 2);
    h.assert_settled_once(&[0, 1, 2, 3]).await;
}
