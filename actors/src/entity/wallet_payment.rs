//! A wallet payment: USDC sent from an agent wallet, by a transfer or as the price of a paid call.
//!
//! ```text
//! pending ---signed and durable--> signed --server responded-> sent
//!    |                               |  \                       | \
//!    `--not signed--> FAILED         |   `-chain shows it-------+--`-> SETTLED
//!                                    `------can never settle----`----> UNSETTLED
//! ```
//!
//! After a restore, a pending wallet payment may have been signed in the lost history. It is then recognised on the
//! chain and goes from `pending` to `SETTLED`.
//!
//! The batch that opens it reserves its part of the wallet's caps. The signature is durable before it is sent and is
//! the same on every attempt, so the chain accepts it once, whatever crashes in between. A server's response proves
//! nothing about the money. A wallet payment ends by what the chain shows, and its reservation with it. Only Purser's
//! own routes prove more: a payment that Purser declined without claiming it, or released unsent, was not given to any
//! other party and is never sent.

mod http_record;
mod job;
mod machine;
mod view;

pub use self::view::{WalletPaymentKind, WalletPaymentView};
use purser_storage::RowKey;
use purser_storage::codec::Stored;

use crate::id::{JobId, Wallet};
use crate::money::Usdc;
use crate::port::{Authorization, CallFailure, ExternalText, PreparedTransaction, ServerResponse, Timestamp};

pub use self::job::Job;
pub use http_record::HttpRecordPart;

/// State of a wallet payment.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletPayment {
    /// Account that owns the agent wallet.
    pub owner: Wallet,
    /// Address of the agent wallet on the network.
    pub from: Wallet,
    /// Amount, recipient and payment method.
    pub order: WalletPaymentOrder,
    /// Time when the amount was reserved.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Status, from the hold to the settlement.
    pub status: Status,
}

/// Amount, recipient and payment method.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletPaymentOrder {
    /// Wallet that receives it; determines the network.
    pub to: Wallet,
    /// Amount in USDC.
    pub amount: Usdc,
    /// Note by the agent, at most 200 characters.
    pub note: Option<String>,
    /// Whether it is a transfer or a paid call.
    pub method: PaymentMethod,
}

/// Method by which the payment is made.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum PaymentMethod {
    /// A transfer that Purser sends itself.
    Transfer,
    /// The price of a paid call, sent to the server that demanded it.
    PaidCall {
        /// `host:port`, or `route` for Purser's own routes.
        host: String,
    },
}

/// Status of a wallet payment.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Nothing was signed yet.
    Pending,
    /// Signed; it may already be sent.
    Signed(Box<SignedWalletPayment>),
    /// The server has responded, or is not called any more; the chain is read.
    Sent(Box<SignedWalletPayment>, ServerResponse),
    /// Confirmed on chain.
    Settled {
        /// Transaction id on its chain.
        transaction: String,
        /// Response to a paid call.
        response: Option<ServerResponse>,
    },
    /// Nothing was ever signed.
    Failed {
        /// Reason for the outcome.
        reason: ExternalText,
    },
    /// Signed, not on chain, and can never settle.
    Unsettled {
        /// Reason for the outcome.
        reason: ExternalText,
        /// Response to a paid call.
        response: Option<ServerResponse>,
    },
}

/// The signed payment: the same on every attempt.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SignedWalletPayment {
    /// Payment authorization; it moves the money at most once.
    pub authorization: Authorization,
    /// Target of the signed payment.
    pub target: SendTarget,
}

impl SignedWalletPayment {
    /// Transaction prepared for the chain; `None` if a server gets the payment.
    pub const fn prepared(&self) -> Option<&PreparedTransaction> {
        match &self.target {
            SendTarget::Chain(prepared) => Some(prepared),
            SendTarget::Server => None,
        }
    }
}

/// Where a signed wallet payment is sent.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum SendTarget {
    /// To the chain, as a transfer.
    Chain(PreparedTransaction),
    /// To the server, as [`HttpRecordPart::PaymentHeader`].
    Server,
}

impl PaymentMethod {
    /// `host` of a [`PaymentMethod::PaidCall`] to Purser's own routes.
    pub const OWN: &'static str = "route";

    /// Merchant of a paid call: its host without the port, or [`PaymentMethod::OWN`].
    pub fn merchant(&self) -> Option<&str> {
        let Self::PaidCall { host } = self else { return None };
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        // A name with its final dot is the same host.
        match name.strip_suffix('.').unwrap_or(name) {
            // A server that has this name is not Purser.
            Self::OWN if !self.is_own() => Some(host),
            name => Some(name),
        }
    }

    /// Whether it is a paid call to Purser's own routes.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::PaidCall { host } if host == Self::OWN)
    }
}

/// Commands to a wallet payment.
#[derive(Clone, Debug)]
pub enum Command {
    /// The payment is signed and about to be sent.
    RecordSigned {
        /// The signed payment.
        signed: Box<SignedWalletPayment>,
        /// Of a paid call: [`HttpRecordPart::PaymentHeader`].
        payment: Vec<u8>,
    },
    /// The server responded, or will not be called any more.
    RecordResponse {
        /// Response of the server.
        response: ServerResponse,
        /// [`HttpRecordPart::Response`]; empty without one.
        body: Vec<u8>,
    },
    /// Purser's own route declined it and claimed nothing, so it is never sent: response and end are one event.
    RecordDeclined {
        /// Job that made the call.
        job: JobId,
        /// Response of the route.
        response: ServerResponse,
        /// Body of the response, stored as [`HttpRecordPart::Response`].
        body: Vec<u8>,
    },
    /// The chain shows the payment.
    RecordConfirmed {
        /// Job that observed it.
        job: JobId,
        /// Transaction id on its chain.
        transaction: String,
    },
    /// The lost history had signed it: the chain shows a transfer of the wallet that matches this wallet payment and no
    /// other.
    RecordRecognised {
        /// Job that observed it.
        job: JobId,
        /// Key of the transfer: see [`crate::port::OutgoingTransfer::key`].
        transaction: String,
    },
    /// It was never signed, or can never settle.
    Fail {
        /// Job that proved it.
        job: JobId,
        /// Reason for the outcome.
        reason: ExternalText,
    },
    /// Its retention has ended: delete its HTTP record.
    PurgeHttpRecord {
        /// Job that requests the purge.
        job: JobId,
        /// All rows of the HTTP record.
        rows: Vec<RowKey>,
    },
}

/// Events of a wallet payment.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Created with a reservation.
    Created {
        /// Account that owns the agent wallet.
        owner: Wallet,
        /// Address of the agent wallet.
        from: Wallet,
        /// Amount, recipient and payment method.
        order: Box<WalletPaymentOrder>,
        /// Time of the event.
        at: Timestamp,
    },
    /// It was signed.
    Signed(Box<SignedWalletPayment>, Timestamp),
    /// The server responded.
    ResponseReceived(ServerResponse, Timestamp),
    /// Confirmed on chain.
    Confirmed(String, Timestamp),
    /// It was never signed.
    Failed(ExternalText, Timestamp),
    /// It can never settle.
    Unsettled(ExternalText, Timestamp),
}

crate::state_machine! { WalletPayment, Status, Event;
    states {
        Pending = "pending", Signed = "signed", Sent = "sent", Settled = "settled", Failed = "failed",
        Unsettled = "unsettled",
    }
    events {
        Created "pending" { - => Pending: "hold on the wallet's balance" }
        Signed "signed" { Pending => Signed: "durable storage of the signed bytes" }
        ResponseReceived "sent" { Signed => Sent: "response of the server, or end of its attempts" }
        Confirmed "settled" {
            Pending => Settled: "transfer found on chain after a restore",
            Signed | Sent => Settled: "transfer found on chain",
        }
        Failed "failed" { Pending => Failed: "failure before signing; hold released" }
        Unsettled "unsettled" { Signed | Sent => Unsettled: "proof that it cannot settle; hold released" }
    }
}

/// Retention of a paid call's HTTP record after its end, in milliseconds: 30 days. An idempotency key replays it for 24
/// hours. By its id a wallet payment is read later, and a paid response should survive a client's data loss. Purser is
/// not an archive of third-party data, so the record is deleted then, whatever key seals it.
pub const HTTP_RECORD_RETENTION_MS: u64 = 30 * 24 * 3_600_000;

/// Reason why a wallet payment rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for WalletPayment {
    const SCHEMA: u16 = 222;
}

impl Stored for Event {
    const SCHEMA: u16 = 223;
}

impl WalletPayment {
    /// Transaction id, once it is on chain, with the index in it if it is known not to be the first.
    pub fn transaction(&self) -> Option<&str> {
        match &self.status {
            Status::Settled { transaction, .. } => Some(transaction),
            _ => None,
        }
    }

    /// Server response, if there is one.
    pub fn response(&self) -> Option<&ServerResponse> {
        match &self.status {
            Status::Sent(_, answer) => Some(answer),
            Status::Settled { response: answer, .. } | Status::Unsettled { response: answer, .. } => answer.as_ref(),
            _ => None,
        }
    }

    /// Failure reason: the contract's code if the call failed, else the reason of the chain or of Purser.
    pub fn failure(&self) -> Option<&str> {
        let call = self.response().and_then(|answer| answer.failure).map(CallFailure::name);
        match &self.status {
            Status::Failed { reason } => Some(reason),
            Status::Unsettled { .. } => Some("unsettled"),
            _ => call,
        }
    }

    /// Whether it can still change.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Pending | Status::Signed(_) | Status::Sent(..))
    }
}
