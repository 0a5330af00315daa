//! What left our treasury, as the chains list it: what a restored store is held against.

use std::fmt;

use purser_storage::codec::{self, DecodeError, Stored};

use super::{Authorization, ChainMovement, Timestamp, key_of};
use crate::id::{OutgoingTransferId, Wallet};
use crate::ledger::Outlay;
use crate::money::Usdc;

/// The name of a transfer on its chain: the transaction, and the place in it. As text `transaction#index`. Text without an index
/// names the transaction alone: the transfer is the only one in it, or the first where the text is a row's of before there was more
/// than one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferName {
    /// The chain's id of the transaction.
    pub transaction: String,
    /// See [`Movement::index`]; `None` if only the transaction is named.
    pub index: Option<u32>,
}

impl TransferName {
    /// Of text; `None` if there is no transaction in it or its index is no number.
    pub fn parse(text: &str) -> Option<Self> {
        let (transaction, index) = match text.rsplit_once('#') {
            Some((transaction, index)) => (transaction, Some(index.parse().ok()?)),
            None => (text, None),
        };
        (!transaction.is_empty()).then(|| Self {
            transaction: transaction.to_owned(),
            index,
        })
    }

    /// The transaction in a name: what explorers, the bridge and clients know.
    pub fn transaction_of(text: &str) -> &str {
        text.split_once('#').map_or(text, |(transaction, _)| transaction)
    }
}

impl fmt::Display for TransferName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}#{index}", self.transaction),
            None => f.write_str(&self.transaction),
        }
    }
}

/// A transfer out of our treasury that is on a chain and stayed.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OutgoingTransfer {
    /// The chain's id of the transaction.
    pub transaction: String,
    /// Who received it; says which chain.
    pub to: Wallet,
    /// How much.
    pub amount: Usdc,
    /// When, by the chain's clock.
    pub at: Timestamp,
    /// What its authorization is recognised by: see [`Authorization::mark`] and [`Movement::mark`].
    pub fingerprint: [u8; 32],
    /// Where in the transaction: see [`Movement::index`].
    pub index: u32,
}

impl OutgoingTransfer {
    /// What a movement out of a treasury is; `None` for one that came in.
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

    /// Its name, the index always with it.
    pub fn name(&self) -> TransferName {
        TransferName {
            transaction: self.transaction.clone(),
            index: Some(self.index),
        }
    }

    /// Its name as rows and the chain's list have it: see [`Movement::key`].
    pub fn key(&self) -> String {
        key_of(&self.transaction, self.index)
    }

    /// Its id: always the same.
    pub fn id(&self) -> OutgoingTransferId {
        OutgoingTransferId::for_transfer(self.to.network(), &self.transaction, self.index)
    }

    /// Whether this text names it, alone or with others of its transaction.
    pub fn is_named(&self, name: &TransferName) -> bool {
        name.transaction == self.transaction && name.index.is_none_or(|index| index == self.index)
    }
}

/// A departure that an operator has booked: the row is what lets it be booked once.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AttributedTransfer {
    /// Which.
    pub transfer: OutgoingTransfer,
    /// Whose balance it was taken from.
    pub account: Option<Wallet>,
    /// What the treasury paid with it. Without this, and without an account, it is a loss of ours, or sent on what had come in.
    pub outlay: Option<Outlay>,
}

impl Stored for AttributedTransfer {
    const SCHEMA: u16 = 83;
}

impl AttributedTransfer {
    /// Decodes a row, also one written when a transaction moved money once and a booking was an account's or a loss.
    ///
    /// # Errors
    /// When it is neither.
    pub fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        match codec::decode::<AttributedTransferV1>(bytes) {
            Ok(AttributedTransferV1 {
                transfer: departure,
                account,
            }) => Ok(Self {
                transfer: OutgoingTransfer {
                    transaction: departure.transaction,
                    to: departure.to,
                    amount: departure.amount,
                    at: departure.at,
                    fingerprint: departure.fingerprint,
                    index: 0,
                },
                account,
                outlay: None,
            }),
            Err(DecodeError::Schema { .. }) => codec::decode(bytes),
            Err(error) => Err(error),
        }
    }
}

/// A row of before a transfer was named by its place in its transaction.
#[derive(bincode::Encode, bincode::Decode)]
struct AttributedTransferV1 {
    transfer: OutgoingTransferV1,
    account: Option<Wallet>,
}

#[derive(bincode::Encode, bincode::Decode)]
struct OutgoingTransferV1 {
    transaction: String,
    to: Wallet,
    amount: Usdc,
    at: Timestamp,
    fingerprint: [u8; 32],
}

impl Stored for AttributedTransferV1 {
    const SCHEMA: u16 = 82;
}

impl Authorization {
    /// What a chain's list of transfers shows of it: the nonce on Base, the hash of the message on Solana.
    pub const fn fingerprint(&self) -> [u8; 32] {
        match self {
            Self::Evm(a) => a.nonce,
            Self::Solana(t) => t.message_hash,
        }
    }
}
