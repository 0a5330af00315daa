//! Rows and counts at a start.

use super::*;

fn row(nonce: u64, payment: u32, hash: u8) -> Row<u32> {
    let attempts = vec![attempt(hash, fee(100))];
    Row {
        nonce,
        payments: vec![payment],
        attempts,
        released: false,
        canceled: false,
    }
}

// Checks: a start sends missing transactions, looks up used nonces and fills unused ones.
#[test]
fn start_compares_rows_with_the_chain() {
    let settings = NonceSettings::new(CAP);
    let rows = vec![row(4, 1, 1), row(5, 2, 2), row(8, 3, 3)];
    let (mut manager, actions) = NonceManager::start(settings, rows, counts(5, 4), 7, 0);
    assert_eq!(
        actions,
        [Action::FindReceipts {
            nonce: 4,
            hashes: vec![B256::repeat_byte(1)]
        }]
    );
    // 6 is an external transaction in the pool, 7 is missing.
    assert_eq!(manager.gaps(), 2);
    assert_eq!(
        manager.tick(fee(100), 0),
        [Action::Send { nonce: 5 }, Action::Send { nonce: 8 }]
    );
    let sign = |nonce| Action::Sign {
        nonce,
        fee: fee(100),
        payments: vec![],
    };
    let signs = |actions: Vec<Action<u32>>| {
        let signs = actions
            .into_iter()
            .filter(|action| matches!(action, Action::Sign { payments, .. } if payments.is_empty()));
        signs.collect::<Vec<_>>()
    };
    assert_eq!(signs(manager.tick(fee(100), 10_000)), [sign(7)]);
    manager.signed(7, filler(9, fee(100)), 10_000).unwrap();
    assert_eq!(manager.stored(7, 10_000), [Action::Send { nonce: 7 }]);
    assert_eq!(signs(manager.tick(fee(100), 20_000)), [sign(6)]);
    manager.signed(6, filler(10, fee(100)), 20_000).unwrap();
    assert_eq!((manager.gaps(), manager.reserve(vec![9], 20_000)), (0, Ok(9)));
}

#[test]
fn returned_nonce_takes_a_new_payment_before_a_filler() {
    let (mut manager, _) = NonceManager::start(NonceSettings::new(CAP), vec![row(7, 1, 1)], counts(5, 5), 5, 0);
    assert_eq!(
        (manager.reserve(vec![2], 0), manager.reserve(vec![3], 0)),
        (Ok(5), Ok(6))
    );
    manager.returned(5, 0);
    assert_eq!(manager.gaps(), 1);
    assert_eq!(manager.reserve(vec![4], 9_000), Ok(5));
}

// Checks: a lagging endpoint releases no final nonce.
#[test]
fn counts_of_a_lagging_endpoint_free_no_final_nonce() {
    let mut manager = started();
    assert_eq!(manager.counted(counts(9, 8), 0), []);
    assert_eq!(manager.counted(counts(6, 5), 0), []);
    assert_eq!(manager.tick(fee(100), 60_000), []);
    // The next nonce is unknown while the endpoint lags.
    assert_eq!(manager.reserve(vec![1], 60_000), Err(NonceError::CountConflict));
    assert_eq!(manager.counted(counts(8, 5), 60_000), []);
    // 8 was not final and may be free again.
    assert_eq!(manager.reserve(vec![1], 60_000), Ok(8));
}
