//! Rows of the gate.

use purser_storage::RowKey;

use super::{GATE, key};
use crate::id::{OutgoingTransferId, PaymentId, Wallet};

/// Present while the account is frozen: every signing batch has the absence of this row as a condition.
pub fn frozen(wallet: &Wallet) -> RowKey {
    key(&[&[GATE, b'a'], &wallet.key()])
}

/// Prefix of all frozen accounts.
pub fn all_frozen() -> RowKey {
    key(&[&[GATE, b'a']])
}

/// Present while the account owner has stopped all agents: every batch of an agent has the absence of this row as a
/// condition.
pub fn agents_stopped(wallet: &Wallet) -> RowKey {
    key(&[&[GATE, b't'], &wallet.key()])
}

/// Prefix of all accounts whose agents are stopped.
pub fn all_agents_stopped() -> RowKey {
    key(&[&[GATE, b't']])
}

/// Present while the payment is settled and not final; permanently if it was reorged before it was final.
pub fn pending_finality(payment: PaymentId) -> RowKey {
    key(&[&[GATE, b'u'], &payment.0.to_be_bytes()])
}

/// An agent wallet's transfer that a restored store attributed to a wallet payment; it belongs to no other. The value
/// is the wallet payment.
pub fn recognised_transfer(id: OutgoingTransferId) -> RowKey {
    key(&[&[GATE, b's'], &id.0.to_be_bytes()])
}
