//! Rows of the gate.

use purser_storage::RowKey;

use super::{GATE, key};
use crate::id::{OutgoingTransferId, PaymentId, Wallet};

/// Present while the account is frozen: what signs for it is a batch that holds only without this row.
pub fn frozen(wallet: &Wallet) -> RowKey {
    key(&[&[GATE, b'a'], &wallet.key()])
}

/// Prefix of all accounts that are frozen.
pub fn all_frozen() -> RowKey {
    key(&[&[GATE, b'a']])
}

/// Present as long as the payment has settled and is not final: for ever, if its chain has taken it back before it was.
pub fn pending_finality(payment: PaymentId) -> RowKey {
    key(&[&[GATE, b'u'], &payment.0.to_be_bytes()])
}

/// A transfer of a managed wallet in which a restored store has recognised a spend: it is no other's. The value is the spend.
pub fn recognised_transfer(id: OutgoingTransferId) -> RowKey {
    key(&[&[GATE, b's'], &id.0.to_be_bytes()])
}
