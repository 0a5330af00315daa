//! Ports of the chains on which USDC moves.

use super::{Authorization, BoxFuture, ExternalText, OutgoingTransfer, PortFuture, Timestamp};
use crate::id::{Network, Wallet};
use crate::money::Usdc;

/// The data to send to the chain. Persisted before it is sent.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PreparedTransaction {
    /// A co-signed transaction, or empty where the port sends the authorization itself.
    pub bytes: Vec<u8>,
    /// Transaction id if it is known before sending, else empty.
    pub transaction: String,
}

/// Result of preparing a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// This can be sent once it is durable.
    Ready(PreparedTransaction),
    /// The chain would decline the payment now, because of the payment itself or the payer's funds. What we lack (gas,
    /// an RPC endpoint) is an error instead. Nothing was sent and no fee was paid.
    ///
    /// A later preparation may succeed while the payment is valid. Anyone with the signed payment may still send it, so
    /// this does not prove that it can never settle. A payment that the chain already shows, from any sender, is
    /// `Ready` instead, and sending finds it.
    Declined(Decline),
}

/// How final a transfer on chain is, by the port's own settings for network and amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Finality {
    /// In a block that a reorg may still remove. Also used where the port has no better information.
    Confirmed,
    /// Past the depth at which this amount counts as irreversible. It never returns to `Confirmed`.
    Final,
}

/// Result of sending a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmitResult {
    /// The transfer is on chain in this transaction.
    Settled {
        /// Id of the transaction on chain.
        transaction: String,
        /// Finality of the transfer.
        finality: Finality,
    },
    /// The chain declined it for now. It may still be accepted until its validity ends.
    Declined(Decline),
}

/// Why the chain declined, in the vocabulary clients branch on (`insufficient_funds`, …).
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Decline {
    /// `errorReason` of the contract.
    pub reason: ExternalText,
    /// Explanation for people; not stable.
    pub message: ExternalText,
}

/// State of a payment on its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainStatus {
    /// On chain, sent by us or by another submitter.
    Confirmed {
        /// Id of the transaction on chain.
        transaction: String,
        /// Finality of the transfer.
        finality: Finality,
    },
    /// Not on chain; may still settle.
    Pending,
    /// Not on chain; can never settle.
    Impossible,
}

/// Current state of a transaction that settled a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainTransactionStatus {
    /// The chain does not have the payment in this transaction. The payment may be in another transaction, or may
    /// settle again while it is valid. [`Settlement::lookup`] tells which; only its `Impossible` proves that it can
    /// never settle.
    NotFound,
    /// On chain; a reorg may still remove it.
    Confirmed,
    /// On chain and irreversible.
    Final,
}

impl From<Finality> for ChainTransactionStatus {
    fn from(finality: Finality) -> Self {
        match finality {
            Finality::Confirmed => Self::Confirmed,
            Finality::Final => Self::Final,
        }
    }
}

/// A transfer out of our treasury.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingTransferRequest {
    /// Purpose of the transfer. On Base the sender chooses the nonces, so the same key never moves money twice, however
    /// often it is signed.
    pub key: u128,
    /// Recipient; its variant names the chain.
    pub to: Wallet,
    /// Amount to transfer.
    pub amount: Usdc,
}

/// Prepares, sends and looks up USDC payments.
pub trait Settlement: Send + Sync {
    /// Signs a transfer out of our treasury that is valid for a limited time. Sends nothing: the result is prepared,
    /// sent and looked up like a payment.
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> PortFuture<'a, Authorization>;

    /// Why the chain would decline this payment now, from memory or by one read of the chain, within about 2 s. Called
    /// before a payment is claimed, never after.
    ///
    /// `None` if the chain would accept it or the result is not known in time: then [`Self::prepare`] decides, after
    /// the claim. Always `None` for a payment that is on the chain. The default is `None`.
    fn precheck<'a>(&'a self, _: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        Box::pin(std::future::ready(None))
    }

    /// Prepares what will be sent, or declines what the chain would decline now. Sends nothing and pays no fee.
    /// `Permanent` means that this port can never send the payment, `Temporary` and `Unknown` that it can't tell now.
    /// None of these errors is the payer's fault.
    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Preparation>;

    /// What [`Self::prepare`] would return as `Ready`, if the port knows that without asking anybody: no read of a
    /// chain, no other server, no disk. Called before a payment is claimed, so that its claim already stores the bytes.
    ///
    /// It has no side effect: the result is dropped if the claim is refused. A port that reserves a nonce or a fee, or
    /// that stores what it prepares, returns `None`. So does every port for a payment that it can't or wouldn't
    /// prepare: then [`Self::prepare`] is called after the claim and gives the reason. The default is `None`.
    fn prepare_locally(&self, _: &Authorization) -> Option<PreparedTransaction> {
        None
    }

    /// Sends it and waits for the outcome. Sending the same again never moves the money twice.
    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> PortFuture<'a, SubmitResult>;

    /// Reads the chain. `prepared` is what was persisted in order to be sent. It is `None` where nothing was, or where
    /// that is no longer known: a paid call that another server settles, a payment taken over after a restore, or one
    /// that has settled.
    ///
    /// The payment is found by its own identity, from any sender; `prepared` only helps to find it sooner. Without
    /// proof the result is `Pending` or an error, never `Impossible`.
    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
    ) -> PortFuture<'a, ChainStatus>;

    /// Whether a payment that settled in this transaction is final, only confirmed, or gone from the chain; `prepared`
    /// as for [`Self::lookup`]. A failed read is an error, never [`ChainTransactionStatus::NotFound`].
    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> PortFuture<'a, ChainTransactionStatus>;

    /// Whether this address can receive USDC. A Solana owner can once they have a token account.
    fn can_receive<'a>(&'a self, to: &'a Wallet) -> PortFuture<'a, bool>;

    /// Final USDC balance of our treasury on this chain.
    fn final_treasury_balance(&self, network: Network) -> PortFuture<'_, Usdc>;

    /// All transfers from this wallet on its chain since then that were not reorged, oldest first.
    fn sent_by<'a>(&'a self, from: &'a Wallet, since: Timestamp) -> PortFuture<'a, Vec<OutgoingTransfer>>;

    /// All transfers out of our treasury on both chains from `since` to `until` that were not reorged, bridge burns
    /// included.
    fn outgoing_transfers(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Vec<OutgoingTransfer>>;
}
