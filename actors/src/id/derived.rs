//! Derived ids: each follows from the thing it identifies, so it can always be computed again.

use sha2::{Digest, Sha256};

use super::{DepositId, JobId, Network, OutgoingTransferId, PaymentId, ShardId, TransferName, WithdrawalId};

impl PaymentId {
    /// Number of the purchased product, which is also its key at the provider. It follows from the payment alone, so a
    /// restored store that does not know the purchase can ask for it.
    pub fn product_id(self) -> u128 {
        let mut hash = Sha256::new();
        hash.update(b"bought with a payment");
        hash.update([0]);
        hash.update(self.0.to_be_bytes());
        ShardId::of_id(self.0).assign(first_half(&hash.finalize()))
    }
}

impl DepositId {
    /// Id of a transfer on a network: the same index in the same transaction always has the same id.
    pub fn for_transfer(network: Network, transaction: &str, index: u32) -> Self {
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

    /// The withdrawal that returns the transfer.
    pub const fn return_withdrawal(self) -> WithdrawalId {
        WithdrawalId(self.0)
    }
}

impl OutgoingTransferId {
    /// Id of a transfer on a network: the same index in the same transaction always has the same id. The first has the
    /// id that the transaction had before indexes were recorded.
    pub fn for_transfer(network: Network, transaction: &str, index: u32) -> Self {
        let mut hash = Sha256::new();
        hash.update(network.caip2());
        hash.update([0]);
        hash.update(transaction);
        if index > 0 {
            hash.update([0]);
            hash.update(index.to_be_bytes());
        }
        Self(first_half(&hash.finalize()))
    }

    /// Id of an order that a provider executed: derived from its list and its key there.
    pub fn for_order(list: &str, key: JobId) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"order at a provider");
        hash.update([0]);
        hash.update(list);
        hash.update([0]);
        hash.update(key.0.to_be_bytes());
        Self(first_half(&hash.finalize()))
    }

    /// Id from a key as rows have it: see [`TransferName`].
    pub fn for_name(network: Network, name: &str) -> Self {
        match TransferName::parse(name) {
            Some(TransferName { transaction, index }) => Self::for_transfer(network, &transaction, index.unwrap_or(0)),
            None => Self::for_transfer(network, name, 0),
        }
    }
}

fn first_half(hash: &[u8]) -> u128 {
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    u128::from_be_bytes(first)
}
