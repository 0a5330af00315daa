//! The chains that USDC moves on, as the engine asks them.

use super::{Authorization, BoxFuture, ExternalText, OutgoingTransfer, PortError, Timestamp};
use crate::id::{Network, Wallet};
use crate::money::Usdc;

/// What will be sent to the chain. Stored before it is sent.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PreparedTransaction {
    /// The bytes to send: a co-signed transaction, or empty where the port sends the authorization itself.
    pub bytes: Vec<u8>,
    /// The transaction's id if it is known before sending, else empty.
    pub transaction: String,
}

/// What came of preparing a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// This can be sent, once it is durable.
    Ready(PreparedTransaction),
    /// As things stand the chain would refuse it, for what it is or for what its payer has; what we lack ourselves (gas, an
    /// endpoint) is an error. Nothing was sent and nothing was spent on it. It may be prepared again while it is valid, with
    /// another answer; and whoever else has the signed payment may still send it, so this is no proof that it never lands.
    /// Never said of a payment that the chain already shows, through whomever: that is `Ready`, and sending it finds it.
    Declined(Decline),
}

/// How sure a chain is of a transfer that it shows. By the port's own settings for network and amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub enum Finality {
    /// It is in a block that a reorganisation may still remove; also where the port does not know better.
    Confirmed,
    /// It is past the depth at which this amount is taken for irreversible. It is not `Seen` afterwards.
    Final,
}

/// The chain's answer to a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmitResult {
    /// The transfer is on chain, as this transaction.
    Settled {
        /// Its id.
        transaction: String,
        /// How sure that is.
        finality: Finality,
    },
    /// The chain refused it now. It may still be accepted later, until its validity ends.
    Declined(Decline),
}

/// Why the chain refused, in the vocabulary clients branch on (`insufficient_funds`, …).
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Decline {
    /// `errorReason` of the contract.
    pub reason: ExternalText,
    /// For people.
    pub message: ExternalText,
}

/// What the chain shows of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainStatus {
    /// It is there, through us or somebody else who submitted it.
    Confirmed {
        /// Its id.
        transaction: String,
        /// How sure that is.
        finality: Finality,
    },
    /// It is not there and may still come.
    Pending,
    /// It is not there and can never come any more.
    Impossible,
}

/// What the chain shows now of a transaction that a payment has landed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainTransactionStatus {
    /// The chain as it is now does not have this payment by this transaction. It proves no more than that: the payment may
    /// be there by another transaction, or may land again while it is valid. [`Settlement::lookup`] says which, and only
    /// its `Impossible` proves that it never lands.
    NotFound,
    /// It is there, and a reorganisation may still remove it.
    Confirmed,
    /// It is there for good.
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
    /// What it is for. On a chain that consumes nonces of the sender's choice (Base) the same key never moves money twice,
    /// however often it is signed.
    pub key: u128,
    /// Who receives it; says which chain.
    pub to: Wallet,
    /// How much.
    pub amount: Usdc,
}

/// Moves the USDC.
pub trait Settlement: Send + Sync {
    /// Signs a transfer out of our treasury, good for a limited time. Sends nothing: what comes of it is prepared, sent
    /// and looked up like a payment.
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> BoxFuture<'a, Result<Authorization, PortError>>;

    /// Why the chain would decline this payment now: from memory or by one read of the chain, within about 2 s. Called before
    /// the claim of a payment, never after it. `None` if the chain would not decline it or the answer is not known in time:
    /// then [`Self::prepare`] decides, after the claim. Always `None` for a payment that is on the chain. The default is `None`.
    fn precheck<'a>(&'a self, _: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        Box::pin(std::future::ready(None))
    }

    /// Makes ready what will be sent, or declines what the chain would refuse now. Sends nothing and spends nothing.
    /// `Permanent` means this port can never send this payment, `Temporary` and `Unknown` that it cannot say now: neither is
    /// the payer's fault.
    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Result<Preparation, PortError>>;

    /// Sends it and waits for the outcome. Sending the same again never moves the money twice.
    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> BoxFuture<'a, Result<SubmitResult, PortError>>;

    /// Reads the chain. `prepared` is what was made durable to be sent for it: `None` where nothing was, or where that is
    /// not known any more (a paid call that another server settles, a payment that was taken over after a restore, or one
    /// that has settled). Whoever sends the payment, it is found by its own identity; what was prepared only helps to find
    /// it sooner. Without a proof the answer is `Pending` or an error, never `Impossible`.
    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
    ) -> BoxFuture<'a, Result<ChainStatus, PortError>>;

    /// Whether a payment that has landed as this transaction is final, still only seen, or gone from the chain; `prepared`
    /// as for [`Self::lookup`]. What cannot be read now is an error, never [`ChainStanding::Gone`].
    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<ChainTransactionStatus, PortError>>;

    /// Whether this address can be sent USDC: an owner on Solana can once there is a token account of theirs.
    fn can_receive<'a>(&'a self, to: &'a Wallet) -> BoxFuture<'a, Result<bool, PortError>>;

    /// What our treasury holds on this chain, durable there.
    fn final_treasury_balance(&self, network: Network) -> BoxFuture<'_, Result<Usdc, PortError>>;

    /// Everything that left this wallet on its chain since then and stayed, oldest first.
    fn sent_by<'a>(
        &'a self,
        from: &'a Wallet,
        since: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<OutgoingTransfer>, PortError>>;

    /// Everything that left our treasury on either chain from `since` to `until` and stayed, burns into the bridge too.
    fn outgoing_transfers(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<OutgoingTransfer>, PortError>>;
}
