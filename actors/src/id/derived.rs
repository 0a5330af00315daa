//! Names that follow from what they are the names of, so that whoever finds it again finds the name too.

use sha2::{Digest, Sha256};

use super::{DepartureId, DepositId, EffectId, Network, PaymentId, WithdrawalId};

impl PaymentId {
    /// The number of what it buys, and so the name of it at its provider: it follows from the payment alone, so that a
    /// restored store which does not know what was bought can ask for it.
    pub fn product(self) -> u128 {
        let mut hash = Sha256::new();
        hash.update(b"bought with a payment");
        hash.update([0]);
        hash.update(self.0.to_be_bytes());
        first_half(&hash.finalize())
    }
}

impl DepositId {
    /// Of a transfer on a network: the same place in the same transaction always has the same id.
    pub fn of(network: Network, transaction: &str, index: u32) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"incoming transfer");
        hash.update([0]);
        hash.update(network.caip2());
        hash.update([0]);
        hash.update(transaction);
        hash.update([0]);
        hash.update(index.to_be_bytes());
        Self(first_half(&hash.finalize()))
    }

    /// The withdrawal that sends the transfer back.
    pub const fn sent_back(self) -> WithdrawalId {
        WithdrawalId(self.0)
    }
}

impl DepartureId {
    /// Of a transaction on a network: the same transaction always has the same id.
    pub fn of(network: Network, transaction: &str) -> Self {
        Self(of_transaction(network, transaction))
    }

    /// Of an order that a provider has carried out: its list and its key there always give the same id.
    pub fn of_order(list: &str, key: EffectId) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"order at a provider");
        hash.update([0]);
        hash.update(list);
        hash.update([0]);
        hash.update(key.0.to_be_bytes());
        Self(first_half(&hash.finalize()))
    }
}

fn of_transaction(network: Network, transaction: &str) -> u128 {
    let mut hash = Sha256::new();
    hash.update(network.caip2());
    hash.update([0]);
    hash.update(transaction);
    first_half(&hash.finalize())
}

fn first_half(hash: &[u8]) -> u128 {
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    u128::from_be_bytes(first)
}
