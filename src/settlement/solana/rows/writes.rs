//! Write operations of the follower.

use purser_chains::solana::Signature;
use purser_chains::solana::follow::Row as ChainRow;
use purser_storage::Write;

use super::{FINAL, MOVEMENT, MovementRow, NUMBER, OUTGOING, PENDING, POSITION, TransactionRow, key, put, put_bytes};

/// The write for a seen transaction.
pub(in crate::solana) fn put_pending(row: ChainRow) -> Write {
    put(key(PENDING, &[&row.id]), &TransactionRow::from(row))
}

/// The write for a removed transaction.
pub(in crate::solana) fn delete_pending(id: &Signature) -> Write {
    Write::Delete {
        key: key(PENDING, &[id]),
    }
}

/// The writes for a final transaction: its row and its number.
pub(in crate::solana) fn put_final(row: ChainRow, number: u64) -> [Write; 3] {
    let number = number.to_be_bytes();
    [
        delete_pending(&row.id),
        put(key(FINAL, &[&number]), &TransactionRow::from(row)),
        put_bytes(key(NUMBER, &[&row.id]), number.to_vec()),
    ]
}

/// The writes for one of its transfers.
pub(in crate::solana) fn put_movement(movement: &MovementRow, position: u64) -> Vec<Write> {
    let position = position.to_be_bytes();
    let by_name = key(POSITION, &[&movement.transaction, &movement.index.to_be_bytes()]);
    let mut writes = vec![
        put(key(MOVEMENT, &[&position]), movement),
        put_bytes(by_name, position.to_vec()),
    ];
    if !movement.incoming {
        writes.push(put_bytes(
            key(OUTGOING, &[&movement.at.0.to_be_bytes(), &position]),
            Vec::new(),
        ));
    }
    writes
}
