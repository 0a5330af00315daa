//! The follower's writes.

use purser_chains::solana::Signature;
use purser_chains::solana::follow::Row as ChainRow;
use purser_storage::Write;

use super::{FINAL, MOVEMENT, Moved, NUMBER, OUT, PENDING, POSITION, Seen, key, put, put_bytes};

/// The write for a transaction that is seen.
pub(in crate::settlement::solana) fn seen(row: ChainRow) -> Write {
    put(key(PENDING, &[&row.id]), &Seen::from(row))
}

/// The write for one that was removed.
pub(in crate::settlement::solana) fn gone(id: &Signature) -> Write {
    Write::Delete {
        key: key(PENDING, &[id]),
    }
}

/// The writes for a transaction that is final: its row and its number.
pub(in crate::settlement::solana) fn finalized(row: ChainRow, number: u64) -> [Write; 3] {
    let number = number.to_be_bytes();
    [
        gone(&row.id),
        put(key(FINAL, &[&number]), &Seen::from(row)),
        put_bytes(key(NUMBER, &[&row.id]), number.to_vec()),
    ]
}

/// The writes for a movement of it.
pub(in crate::settlement::solana) fn moved(movement: &Moved, position: u64) -> Vec<Write> {
    let position = position.to_be_bytes();
    let by_name = key(POSITION, &[&movement.transaction, &movement.index.to_be_bytes()]);
    let mut writes = vec![
        put(key(MOVEMENT, &[&position]), movement),
        put_bytes(by_name, position.to_vec()),
    ];
    if !movement.incoming {
        writes.push(put_bytes(
            key(OUT, &[&movement.at.0.to_be_bytes(), &position]),
            Vec::new(),
        ));
    }
    writes
}
