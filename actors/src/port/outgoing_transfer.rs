//! Outgoing transfers of our treasury as the chains list them. A restored store is compared with them.

use purser_storage::codec::Stored;

use super::{Authorization, ChainMovement, Timestamp, key_of};
use crate::id::{OutgoingTransferId, TransferName, Wallet};
use crate::ledger::Outlay;
use crate::money::Usdc;

/// An outgoing transfer of our treasury that is on a chain and was not reorged.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OutgoingTransfer {
    /// The chain's transaction id.
    pub transaction: String,
    /// Recipient; its variant names the chain.
    pub to: Wallet,
    /// Transferred amount in USDC.
    pub amount: Usdc,
    /// Time by the chain's clock.
    pub at: Timestamp,
    /// Recognises the payment authorization: see [`Authorization::fingerprint`] and [`ChainMovement::fingerprint`].
    pub fingerprint: [u8; 32],
    /// Index in the transaction: see [`ChainMovement::index`].
    pub index: u32,
}

impl OutgoingTransfer {
    /// Converts an outgoing movement of a treasury; `None` for an incoming one.
    pub fn from_movement(moved: &ChainMovement) -> Option<Self> {
        (!moved.incoming).then(|| Self {
            transaction: moved.transaction.clone(),
            to: moved.counterparty,
            amount: moved.amount,
            at: moved.at,
            fingerprint: moved.fingerprint,
            index: moved.index,
        })
    }

    /// The name, always with the index.
    pub fn name(&self) -> TransferName {
        TransferName {
            transaction: self.transaction.clone(),
            index: Some(self.index),
        }
    }

    /// The name as in rows and on the chain's list: see [`ChainMovement::key`].
    pub fn key(&self) -> String {
        key_of(&self.transaction, self.index)
    }

    /// The id, derived from the name, so always the same.
    pub fn id(&self) -> OutgoingTransferId {
        OutgoingTransferId::for_transfer(self.to.network(), &self.transaction, self.index)
    }

    /// Whether this text names the transfer, alone or together with others of its transaction.
    pub fn is_named(&self, name: &TransferName) -> bool {
        name.transaction == self.transaction && name.index.is_none_or(|index| index == self.index)
    }
}

/// An untracked transfer that an operator has attributed. The row prevents a second attribution.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AttributedTransfer {
    /// Outgoing transfer that was attributed.
    pub transfer: OutgoingTransfer,
    /// Account whose balance was debited.
    pub account: Option<Wallet>,
    /// What the treasury paid for. Without this and without an account, the transfer is a loss, or forwarded an
    /// incoming transfer.
    pub outlay: Option<Outlay>,
}

impl Stored for AttributedTransfer {
    const SCHEMA: u16 = 83;
}

impl Authorization {
    /// What a chain's transfer list shows of the authorization: the nonce on Base, the message hash on Solana.
    pub const fn fingerprint(&self) -> [u8; 32] {
        match self {
            Self::Evm(a) => a.nonce,
            Self::Solana(t) => t.message_hash,
        }
    }
}
