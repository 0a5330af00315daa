#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use alloy_primitives::hex;

use super::*;
use crate::evm::random::Random;

const EXPIRED: &str = "08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000002546696174546f6b656e56323a20617574686f72697a6174696f6e2069732065787069726564000000000000000000000000000000000000000000000000000000";

// Encoded with viem 2.55.18 and its `multicall3Abi`.
#[test]
fn aggregate3_matches_viem() {
    let calls = [
        BatchCall {
            target: address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
            data: hex!("70a08231").into(),
        },
        BatchCall {
            target: address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"),
            data: Bytes::new(),
        },
    ];
    let expected = concat!(
        "82ad56cb",
        "0000000000000000000000000000000000000000000000000000000000000020",
        "0000000000000000000000000000000000000000000000000000000000000002",
        "0000000000000000000000000000000000000000000000000000000000000040",
        "00000000000000000000000000000000000000000000000000000000000000e0",
        "000000000000000000000000833589fcd6edb6e08f4c7c32d4f71b54bda02913",
        "0000000000000000000000000000000000000000000000000000000000000001",
        "0000000000000000000000000000000000000000000000000000000000000060",
        "0000000000000000000000000000000000000000000000000000000000000004",
        "70a0823100000000000000000000000000000000000000000000000000000000",
        "00000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c8",
        "0000000000000000000000000000000000000000000000000000000000000001",
        "0000000000000000000000000000000000000000000000000000000000000060",
        "0000000000000000000000000000000000000000000000000000000000000000",
    );
    assert_eq!(hex::encode(encode(&calls).unwrap()), expected);
    assert_eq!(encode(&[]), Err(BatchError::Size(0)));
    assert_eq!(encode(&vec![calls[0].clone(); 201]), Err(BatchError::Size(201)));
    assert!(encode(&vec![calls[0].clone(); 200]).is_ok());
}

#[test]
fn results_decode_with_their_reasons() {
    let expired = hex::decode(EXPIRED).unwrap();
    let results = vec![
        abi::Result3 {
            success: true,
            returnData: Bytes::new(),
        },
        abi::Result3 {
            success: false,
            returnData: expired.clone().into(),
        },
    ];
    let data = results.abi_encode();
    let decoded = decode(&data, 2).unwrap();
    assert_eq!((decoded[0].success, decoded[1].success), (true, false));
    let reason = revert_reason(&decoded[1].data);
    assert_eq!(reason.as_deref(), Some("FiatTokenV2: authorization is expired"));
    assert_eq!(decode(&data, 3), Err(BatchError::Malformed));
    assert_eq!(decode(&data[..data.len() - 32], 2), Err(BatchError::Malformed));
    assert_eq!(decode(&[], 0), Err(BatchError::Malformed));
    let panic = [&hex!("4e487b71")[..], &U256::from(0x11).to_be_bytes::<32>()].concat();
    assert_eq!(revert_reason(&panic).as_deref(), Some("Panic(17)"));
    for data in [&[][..], &[8], &expired[..40], &[1; 36]] {
        assert_eq!(revert_reason(data), None);
    }
}

fn candidates(codes: &[bool]) -> Vec<Candidate<usize>> {
    let candidate = |(payment, has_code): (usize, &bool)| Candidate {
        payment,
        has_code: *has_code,
    };
    codes.iter().enumerate().map(candidate).collect()
}

fn sizes(groups: &[Group<usize>]) -> Vec<usize> {
    groups.iter().map(|group| group.payments.len()).collect()
}

#[test]
fn plan_holds_size_and_gas_limits() {
    let gas = GasSettings::default();
    let table = [
        (0, vec![]),
        (1, vec![1]),
        (200, vec![200]),
        (201, vec![200, 1]),
        (450, vec![200, 200, 50]),
    ];
    for (count, expected) in table {
        let groups = plan(&candidates(&vec![false; count]), &gas);
        assert_eq!(sizes(&groups), expected);
        assert!(
            groups
                .iter()
                .all(|group| group.gas_limit <= MAX_GAS && group.stage == Stage::First)
        );
    }
    let one = &plan(&candidates(&[false]), &gas)[0];
    assert_eq!((one.gas_limit, &one.payments), (gas.single, &vec![0]));
    let expensive = GasSettings { call: 1_000_000, ..gas };
    assert_eq!(sizes(&plan(&candidates(&[false; 40]), &expensive)), [15, 15, 10]);
    let absurd = GasSettings { call: u64::MAX, ..gas };
    assert_eq!(sizes(&plan(&candidates(&[false; 2]), &absurd)), [1, 1]);
    assert_eq!(GasSettings { call: 0, ..gas }.max_calls(), 200);
    assert_eq!(
        GasSettings {
            transaction: u64::MAX,
            ..gas
        }
        .batch_limit(usize::MAX),
        MAX_GAS
    );
}

#[test]
fn payer_with_code_never_shares_a_batch() {
    let groups = plan(&candidates(&[true, false, true, false, false]), &GasSettings::default());
    let payments: Vec<_> = groups.iter().map(|group| group.payments.clone()).collect();
    assert_eq!(payments, [vec![1, 3, 4], vec![0], vec![2]]);
    assert_eq!(groups[1].gas_limit, 1_000_000);
}

#[test]
fn failed_batch_is_separated_then_halved() {
    let gas = GasSettings::default();
    let group = |payments: &[usize], stage| Group {
        payments: payments.to_vec(),
        stage,
        gas_limit: 0,
    };
    let shape = |groups: Vec<Group<usize>>| {
        let shape = groups.into_iter().map(|group| (group.payments, group.stage));
        shape.collect::<Vec<_>>()
    };
    let after = |failed: &Group<usize>, codes: &[usize]| {
        let codes: BTreeSet<_> = codes.iter().copied().collect();
        shape(after_failure(failed, &codes, &gas))
    };
    use Stage::{First, Halved, Separated};
    let table = [
        (
            group(&[1, 2, 3, 4], First),
            vec![2],
            vec![(vec![1, 3, 4], Separated), (vec![2], Separated)],
        ),
        // The same batch would fail again.
        (
            group(&[1, 2, 3], First),
            vec![],
            vec![(vec![1, 2], Halved), (vec![3], Halved)],
        ),
        (
            group(&[1, 2, 3, 4], Separated),
            vec![],
            vec![(vec![1, 2], Halved), (vec![3, 4], Halved)],
        ),
        (
            group(&[1, 2, 3, 4, 5], Separated),
            vec![1],
            vec![(vec![2, 3], Halved), (vec![4, 5], Halved), (vec![1], Halved)],
        ),
        (
            group(&[1, 2], Halved),
            vec![],
            vec![(vec![1], Halved), (vec![2], Halved)],
        ),
        (
            group(&[1, 2], Halved),
            vec![1, 2],
            vec![(vec![1], Halved), (vec![2], Halved)],
        ),
        (group(&[1], First), vec![], vec![]),
        (group(&[1], Halved), vec![1], vec![]),
    ];
    for (failed, codes, expected) in table {
        assert_eq!(after(&failed, &codes), expected, "{failed:?} {codes:?}");
    }
}

// Checks: a payer who delegates to a contract after the simulation costs the others two further transactions.
#[test]
fn others_settle_within_two_transactions_beside_one_hostile_payer() {
    let gas = GasSettings::default();
    let first = &plan(&candidates(&[false; 50]), &gas)[0];
    let further = after_failure(first, &BTreeSet::from([17]), &gas);
    assert_eq!(sizes(&further), [49, 1]);
    assert_eq!(further[1].payments, [17]);
}

// Checks: hostile payers, with or without visible code, never prevent another payment from settling exactly once.
#[test]
fn every_honest_payment_settles_for_every_seed() {
    for seed in 0..2_000 {
        let mut random = Random::new(seed);
        let count = random.below(300) as usize + 1;
        let hostile: Vec<bool> = (0..count).map(|_| random.below(40) == 0).collect();
        let visible: Vec<bool> = hostile.iter().map(|hostile| *hostile && random.below(2) == 0).collect();
        let late: BTreeSet<usize> = (0..count).filter(|i| hostile[*i] && random.below(2) == 0).collect();
        let gas = GasSettings::default();
        let mut queue = plan(&candidates(&visible), &gas);
        let (mut settled, mut declined, mut transactions) = (vec![0; count], vec![0; count], 0);
        while let Some(group) = queue.pop() {
            transactions += 1;
            assert!(group.payments.len() <= MAX_CALLS && group.gas_limit <= MAX_GAS);
            if !group.payments.iter().any(|payment| hostile[*payment]) {
                group.payments.iter().for_each(|payment| settled[*payment] += 1);
                continue;
            }
            let next = after_failure(&group, &late, &gas);
            if next.is_empty() {
                declined[group.payments[0]] += 1;
            }
            queue.extend(next);
        }
        for payment in 0..count {
            let expected = if hostile[payment] { (0, 1) } else { (1, 0) };
            assert_eq!((settled[payment], declined[payment]), expected, "seed {seed}");
        }
        // Each hostile payer costs at most the path down from 200 and the siblings on it.
        let bad = hostile.iter().filter(|hostile| **hostile).count();
        assert!(transactions <= 2 + bad * 20, "seed {seed}: {transactions}");
    }
}
