#![allow(clippy::unwrap_used, reason = "a test")]

mod chain;
mod counting;
mod model;
mod start;

use alloy_primitives::B256;

use super::*;

pub(super) const CAP: u128 = 1_000_000;

pub(super) fn fee(max_fee: u128) -> Fee {
    Fee {
        max_fee,
        max_priority_fee: max_fee / 10,
    }
}

fn counts(latest: u64, finalized: u64) -> Counts {
    Counts { latest, finalized }
}

fn attempt(hash: u8, fee: Fee) -> Attempt {
    Attempt {
        hash: B256::repeat_byte(hash),
        bytes: vec![hash],
        fee,
        filler: false,
    }
}

fn filler(hash: u8, fee: Fee) -> Attempt {
    Attempt {
        filler: true,
        ..attempt(hash, fee)
    }
}

fn started() -> NonceManager<u32> {
    let (manager, actions) = NonceManager::start(NonceSettings::new(CAP), vec![], counts(5, 5), 5, 0);
    assert_eq!(actions, []);
    manager
}

// Reserves, signs, stores and sends a transaction.
fn sent(manager: &mut NonceManager<u32>, payment: u32, hash: u8, now_ms: u64) -> u64 {
    let nonce = manager.reserve(vec![payment], now_ms).unwrap();
    manager.signed(nonce, attempt(hash, fee(100)), now_ms).unwrap();
    assert_eq!(manager.stored(nonce, now_ms), [Action::Send { nonce }]);
    assert_eq!(manager.stored(nonce, now_ms), []);
    nonce
}

#[test]
fn bump_is_an_eighth_rounded_up() {
    let fees = |max_fee, max_priority_fee| Fee {
        max_fee,
        max_priority_fee,
    };
    let table = [
        (fees(1_000, 8), Some(fees(1_125, 9))),
        (fees(1_001, 9), Some(fees(1_127, 11))),
        (fees(8, 0), Some(fees(9, 1))),
        (fees(0, 0), Some(fees(1, 1))),
        (fees(888_888, 1), Some(fees(999_999, 2))),
        (fees(888_889, 1), None),
        (fees(u128::MAX, 1), None),
    ];
    for (old, new) in table {
        // 888,889 * 1.125 is 1,000,000.125.
        assert_eq!(bumped(old, CAP), new, "{old:?}");
        assert!(new.is_none_or(|new| fee::replaces(new, old) && !fee::replaces(old, old)));
    }
    assert_eq!(clamped(fees(2_000_000, 1_500_000), CAP), fees(CAP, CAP));
}

#[test]
fn nonces_are_reserved_in_order_and_returned_ones_first() {
    let mut manager = started();
    for (payment, nonce) in [(1, 5), (2, 6), (3, 7)] {
        assert_eq!(manager.reserve(vec![payment], 0), Ok(nonce));
    }
    manager.returned(6, 10);
    assert_eq!(manager.reserve(vec![2], 10), Ok(6));
    assert_eq!(manager.reserve(vec![9, 2], 10), Err(NonceError::Duplicate));
    // A returned nonce at the end is the next one again.
    manager.returned(7, 10);
    assert_eq!(manager.tick(fee(100), 10), []);
    assert_eq!(
        (manager.reserve(vec![4], 10), manager.reserve(vec![5], 10)),
        (Ok(7), Ok(8))
    );
    for payment in 10..22 {
        manager.reserve(vec![payment], 10).unwrap();
    }
    assert_eq!(
        (manager.in_flight(), manager.reserve(vec![50], 10)),
        (16, Err(NonceError::Full))
    );
}

#[test]
fn signed_transaction_must_match_its_reservation() {
    let mut manager = started();
    let signed = |manager: &mut NonceManager<u32>, nonce, attempt| manager.signed(nonce, attempt, 0).map(|_| ());
    assert_eq!(
        signed(&mut manager, 5, attempt(1, fee(1))),
        Err(NonceError::NotReserved)
    );
    manager.reserve(vec![1], 0).unwrap();
    assert_eq!(signed(&mut manager, 5, filler(1, fee(1))), Err(NonceError::Mismatch));
    assert_eq!(
        signed(&mut manager, 5, attempt(1, fee(CAP + 1))),
        Err(NonceError::Mismatch)
    );
    assert_eq!(signed(&mut manager, 5, attempt(1, fee(100))), Ok(()));
    // A second signature without a request for it.
    assert_eq!(
        signed(&mut manager, 5, attempt(2, fee(200))),
        Err(NonceError::NotReserved)
    );
    // An external transaction was first.
    manager.reserve(vec![2], 0).unwrap();
    manager.counted(counts(7, 5), 0);
    assert_eq!(signed(&mut manager, 6, attempt(2, fee(100))), Err(NonceError::Used));
    assert_eq!(manager.reserve(vec![2], 0), Ok(7));
}

#[test]
fn waiting_transaction_is_sent_again_then_replaced() {
    let mut manager = started();
    let nonce = sent(&mut manager, 1, 1, 0);
    let second = sent(&mut manager, 2, 2, 0);
    let send = |nonce| Action::Send { nonce };
    assert_eq!(manager.tick(fee(100), 3_999), []);
    assert_eq!(manager.tick(fee(100), 4_000), [send(nonce), send(second)]);
    assert_eq!(manager.tick(fee(100), 8_000), [send(nonce), send(second)]);
    // Only the first one is replaced at an unchanged price: the second waits for it.
    let sign = |nonce, max_fee, priority, payment| Action::Sign {
        nonce,
        fee: Fee {
            max_fee,
            max_priority_fee: priority,
        },
        payments: vec![payment],
    };
    assert_eq!(manager.tick(fee(100), 12_000), [sign(nonce, 113, 12, 1), send(second)]);
    // While it is being signed, no other action applies to it.
    assert_eq!(manager.tick(fee(100), 13_000), []);
    let cheap = Fee {
        max_fee: 112,
        max_priority_fee: 12,
    };
    assert_eq!(
        manager.signed(nonce, attempt(3, cheap), 13_000).map(|_| ()),
        Err(NonceError::Mismatch)
    );
    manager.signed(nonce, attempt(3, fee(120)), 13_000).unwrap();
    assert_eq!(manager.row(nonce).unwrap().attempts.len(), 2);
    assert_eq!(manager.stored(nonce, 13_000), [send(nonce)]);
    // The market price is higher: both follow it at once.
    let expected = [sign(nonce, 400, 40, 1), sign(second, 400, 40, 2)];
    assert_eq!(manager.tick(fee(400), 25_000), expected);
    manager.returned(nonce, 25_000);
    assert_eq!(manager.tick(fee(400), 25_000), expected[..1]);
    // Any of the attempts may be included.
    assert_eq!(manager.mined(nonce, B256::repeat_byte(1), 9, &[]), []);
    assert_eq!(manager.mined_attempt(nonce), Some(B256::repeat_byte(1)));
}

#[test]
fn price_at_the_cap_is_an_alarm_and_stays() {
    let mut manager = started();
    manager.reserve(vec![1], 0).unwrap();
    manager.signed(5, attempt(1, fee(CAP)), 0).unwrap();
    manager.stored(5, 0);
    assert_eq!(
        manager.tick(fee(CAP * 100), 12_000),
        [Action::Alarm(Alarm::FeeCap { nonce: 5 })]
    );
    assert_eq!(manager.tick(fee(CAP * 100), 12_001), [Action::Send { nonce: 5 }]);
    assert_eq!(manager.tick(fee(CAP * 100), 12_002), []);
}

#[test]
fn replies_decide_what_follows() {
    use SendReply::*;
    let hash = B256::repeat_byte(1);
    let find = Action::FindReceipts {
        nonce: 5,
        hashes: vec![hash],
    };
    let bump = Action::Sign {
        nonce: 5,
        fee: Fee {
            max_fee: 113,
            max_priority_fee: 12,
        },
        payments: vec![1],
    };
    let table = [
        (Accepted, vec![], vec![]),
        (AlreadyKnown, vec![], vec![]),
        (Unknown, vec![], vec![]),
        (NonceTooLow, vec![find], vec![]),
        (ReplacementUnderpriced, vec![], vec![bump.clone()]),
        (FeeTooLow, vec![], vec![bump]),
        (InsufficientFunds, vec![Action::Alarm(Alarm::NoGas)], vec![]),
        (Rejected, vec![Action::Alarm(Alarm::Rejected { nonce: 5 })], vec![]),
    ];
    for (reply, at_once, at_tick) in table {
        let mut manager = started();
        sent(&mut manager, 1, 1, 0);
        assert_eq!(manager.replied(5, hash, reply, 1), at_once, "{reply:?}");
        assert_eq!(manager.tick(fee(100), 1), at_tick, "{reply:?}");
        assert_eq!(manager.replied(5, B256::ZERO, reply, 1), [], "of another transaction");
    }
}

// Checks: after "nonce too low" no payment is released before the nonce is used in a final block.
#[test]
fn nonce_used_by_another_transaction_releases_when_final() {
    let mut manager = started();
    sent(&mut manager, 1, 1, 0);
    let find = [Action::FindReceipts {
        nonce: 5,
        hashes: vec![B256::repeat_byte(1)],
    }];
    assert_eq!(manager.counted(counts(6, 5), 10), find);
    assert_eq!(manager.not_found(5), []);
    assert_eq!(manager.counted(counts(6, 5), 20), []);
    assert_eq!(manager.reserve(vec![1], 20), Err(NonceError::Duplicate));
    assert_eq!(manager.counted(counts(9, 6), 5_000), find);
    let reason = ReleaseReason::ForeignTransaction;
    let expected = [
        Action::Alarm(Alarm::ForeignTransaction { nonce: 5 }),
        Action::Release {
            nonce: 5,
            payments: vec![1],
            reason,
        },
        Action::Forget { nonce: 5 },
    ];
    assert_eq!(manager.not_found(5), expected);
    assert_eq!(manager.not_found(5), []);
    assert_eq!(manager.reserve(vec![1], 5_000), Ok(9));
}

#[test]
fn confirmed_transaction_is_removed_when_final() {
    let mut manager = started();
    sent(&mut manager, 1, 1, 0);
    assert_eq!(manager.mined(5, B256::repeat_byte(1), 80, &[]), []);
    assert_eq!(manager.counted(counts(6, 5), 0), []);
    assert_eq!(manager.reserve(vec![1], 0), Err(NonceError::Duplicate));
    // The receipt is read once more with a final block above.
    let hash = B256::repeat_byte(1);
    let find = [Action::FindReceipts {
        nonce: 5,
        hashes: vec![hash],
    }];
    assert_eq!(manager.counted(counts(6, 6), 0), find);
    assert_eq!(manager.mined(5, hash, 80, &[]), [Action::Forget { nonce: 5 }]);
}

// Checks: the receipt of a block that was replaced before it was followed does not end the processing of its payments.
#[test]
fn transaction_of_a_replaced_block_is_sent_again_or_released() {
    let mut manager = started();
    sent(&mut manager, 1, 1, 0);
    let hash = B256::repeat_byte(1);
    assert_eq!(manager.mined(5, hash, 80, &[]), []);
    let mut foreign = manager.clone();
    // The nonce is unused.
    assert_eq!(manager.counted(counts(5, 5), 10), []);
    assert_eq!(manager.mined_attempt(5), None);
    assert_eq!(manager.tick(fee(100), 10), [Action::Send { nonce: 5 }]);
    // The nonce is used, by another transaction.
    let find = [Action::FindReceipts {
        nonce: 5,
        hashes: vec![hash],
    }];
    assert_eq!(foreign.counted(counts(6, 6), 10), find);
    assert!(matches!(
        foreign.not_found(5)[..],
        [Action::Alarm(_), Action::Release { .. }, Action::Forget { nonce: 5 }]
    ));
}

// Checks: a reverted batch releases its payments. If its block is removed from the chain, a filler and not the batch
// uses the nonce.
#[test]
fn reverted_transaction_releases_and_never_returns() {
    let mut manager = started();
    manager.reserve(vec![1, 2, 3], 0).unwrap();
    manager.signed(5, attempt(1, fee(100)), 0).unwrap();
    manager.stored(5, 0);
    let release = |payments: Vec<u32>| {
        [
            Action::Store { nonce: 5 },
            Action::Release {
                nonce: 5,
                payments,
                reason: ReleaseReason::Unsettled,
            },
        ]
    };
    let mut reverted = manager.clone();
    assert_eq!(
        reverted.mined(5, B256::repeat_byte(1), 80, &[1, 2, 3]),
        release(vec![1, 2, 3])
    );
    assert_eq!(reverted.mined(5, B256::repeat_byte(1), 80, &[1, 2, 3]), []);
    assert_eq!(reverted.reserve(vec![1, 2], 0), Ok(6));
    reverted.reorganized(81);
    assert_eq!(reverted.tick(fee(100), 20_000), []);
    reverted.counted(counts(5, 5), 20_000);
    reverted.reorganized(80);
    let fill = Action::Sign {
        nonce: 5,
        fee: Fee {
            max_fee: 113,
            max_priority_fee: 12,
        },
        payments: vec![],
    };
    assert_eq!(reverted.tick(fee(100), 20_000), [fill]);
    // One payment of the batch settled: it stays with the row.
    assert_eq!(manager.mined(5, B256::repeat_byte(1), 80, &[2]), release(vec![2]));
    assert_eq!(manager.row(5).unwrap().payments, [1, 3]);
    assert_eq!(manager.reserve(vec![3], 0), Err(NonceError::Duplicate));
    manager.reorganized(80);
    assert_eq!(manager.tick(fee(100), 0), [Action::Send { nonce: 5 }]);
}

#[test]
fn canceled_payments_are_released_when_the_filler_is_final() {
    let mut manager = started();
    sent(&mut manager, 1, 1, 0);
    assert_eq!(manager.cancel(5), [Action::Store { nonce: 5 }]);
    assert_eq!(manager.cancel(5), []);
    let Action::Sign { fee, payments, .. } = manager.tick(fee(100), 1).remove(0) else {
        panic!()
    };
    assert_eq!(payments, [0; 0]);
    assert_eq!(
        manager.signed(5, attempt(2, fee), 1).map(|_| ()),
        Err(NonceError::Mismatch)
    );
    manager.signed(5, filler(2, fee), 1).unwrap();
    manager.stored(5, 1);
    let mut late = manager.clone();
    assert_eq!(manager.mined(5, B256::repeat_byte(2), 80, &[]), []);
    assert_eq!(manager.reserve(vec![1], 1), Err(NonceError::Duplicate));
    let reason = ReleaseReason::Canceled;
    let expected = [
        Action::Release {
            nonce: 5,
            payments: vec![1],
            reason,
        },
        Action::Forget { nonce: 5 },
    ];
    assert!(matches!(
        manager.counted(counts(6, 6), 1)[..],
        [Action::FindReceipts { .. }]
    ));
    assert_eq!(manager.mined(5, B256::repeat_byte(2), 80, &[]), expected);
    // The payment's own transaction was included first: it has settled.
    late.counted(counts(6, 6), 1);
    assert_eq!(
        late.mined(5, B256::repeat_byte(1), 80, &[]),
        [Action::Forget { nonce: 5 }]
    );
}

#[test]
fn canceled_payment_at_the_cap_gets_a_filler_at_the_cap() {
    let mut manager = started();
    manager.reserve(vec![1], 0).unwrap();
    manager.signed(5, attempt(1, fee(CAP)), 0).unwrap();
    manager.stored(5, 0);
    manager.cancel(5);
    let sign = Action::Sign {
        nonce: 5,
        fee: fee(CAP),
        payments: vec![],
    };
    assert_eq!(manager.tick(fee(100), 1), [sign]);
    manager.signed(5, filler(2, fee(CAP)), 1).unwrap();
    assert_eq!(manager.stored(5, 1), [Action::Send { nonce: 5 }]);
}
