//! A spend: USDC on its way out of a managed wallet, by a transfer or as the price of a call.
//!
//! ```text
//! reserved --signed and durable--> signed --server answered--> sent
//!    |                               |  \                       | \
//!    `--not signed--> REFUSED        |   `-chain shows it-------+--`-> SETTLED
//!                                    `-----it can never land----`----> UNSETTLED
//! ```
//!
//! After a restore a spend that is reserved may have been signed in the history that was lost: then it is recognised on the
//! chain and goes from `reserved` to `SETTLED`.
//!
//! Its share of the wallet's caps is reserved by the batch that opens it. What is sent was durable before, the same
//! signature on every try: whatever dies in between, the chain takes one. What a server says proves nothing about the
//! money; a spend ends by what the chain shows, and its reservation with it. Only our own service proves more: a payment that
//! it has refused without claiming it, or released unsent, was shown to nobody else, and is never sent.

mod http_record;
mod machine;

use purser_storage::RowKey;
use purser_storage::codec::Stored;

use crate::id::{JobId, Wallet};
use crate::money::Usdc;
use crate::port::{Authorization, ExternalText, PreparedTransaction, Timestamp};

pub use http_record::HttpRecordPart;

/// A spend's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletPayment {
    /// Whose managed wallet.
    pub owner: Wallet,
    /// Its address on the network.
    pub from: Wallet,
    /// What is to be paid, and how.
    pub order: WalletPaymentOrder,
    /// When it was reserved.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// What is to be paid, and how.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WalletPaymentOrder {
    /// Who receives it; says which network.
    pub to: Wallet,
    /// How much.
    pub amount: Usdc,
    /// The agent's own words, at most 200 characters.
    pub note: Option<String>,
    /// How it is paid.
    pub method: PaymentMethod,
}

/// How a spend is paid.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum PaymentMethod {
    /// By a transfer that we send ourselves.
    Transfer,
    /// As the price of a call, to the server that asked for it.
    PaidCall {
        /// `host:port`, or `route` for our own service.
        host: String,
    },
}

/// Where a spend stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Nothing was signed yet.
    Pending,
    /// Signed; it may be on its way.
    Signed(Box<SignedWalletPayment>),
    /// The server has answered, or is not asked any more; the chain is read.
    Sent(Box<SignedWalletPayment>, ServerResponse),
    /// On chain.
    Settled {
        /// The transaction.
        transaction: String,
        /// Of a call.
        response: Option<ServerResponse>,
    },
    /// Nothing was ever signed.
    Failed {
        /// Why.
        reason: ExternalText,
    },
    /// Signed, and it is not on chain and never will be.
    Unsettled {
        /// Why.
        reason: ExternalText,
        /// Of a call.
        response: Option<ServerResponse>,
    },
}

/// What was signed: the same on every try.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SignedWalletPayment {
    /// What moves the money, once.
    pub authorization: Authorization,
    /// What is sent.
    pub target: SendTarget,
}

impl SignedWalletPayment {
    /// What was prepared for the chain; `None` of what a server is given.
    pub const fn prepared(&self) -> Option<&PreparedTransaction> {
        match &self.target {
            SendTarget::Chain(prepared) => Some(prepared),
            SendTarget::Server => None,
        }
    }
}

/// What is sent of a signed spend.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum SendTarget {
    /// A transfer, to the chain.
    Chain(PreparedTransaction),
    /// [`Part::Payment`], to the server.
    Server,
}

/// What a server said to a paid call.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ServerResponse {
    /// The HTTP status; 0 without an answer.
    pub http_status: u16,
    /// Its content type.
    pub content_type: Option<ExternalText>,
    /// Why the call did not succeed.
    pub failure: Option<CallFailure>,
}

/// Why a paid call did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CallFailure {
    /// No whole answer.
    FetchFailed,
    /// A status that is neither success nor 402.
    HttpError,
    /// The server did not take the payment.
    Unsettled,
}

impl PaymentMethod {
    /// What [`Way::Call`] has for a host where the call goes to our own service.
    pub const OWN: &'static str = "route";

    /// Whether it is a call of our own service.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::PaidCall { host } if host == Self::OWN)
    }
}

impl ServerResponse {
    /// As it is where the chain shows the payment: a server that has been paid and answers as if it had not is one that
    /// answers with an error. One that took the payment and did not answer says so to the same payment again.
    #[must_use]
    pub fn error_after_payment(self) -> Self {
        let failure = self.failure.map(|failure| match failure {
            CallFailure::Unsettled => CallFailure::HttpError,
            other => other,
        });
        Self { failure, ..self }
    }
}

impl CallFailure {
    /// The contract's word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FetchFailed => "fetch_failed",
            Self::HttpError => "http_error",
            Self::Unsettled => "unsettled",
        }
    }
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// It is about to be sent.
    RecordSigned {
        /// What was signed.
        signed: Box<SignedWalletPayment>,
        /// Of a call, [`Part::Payment`].
        payment: Vec<u8>,
    },
    /// The server has said this, or will not be asked any more.
    RecordResponse {
        /// What it said.
        response: ServerResponse,
        /// [`Part::Answer`]; empty without one.
        body: Vec<u8>,
    },
    /// Our own service has refused it and claimed nothing, so nobody will ever send it: answer and end are one.
    RecordDeclined {
        /// The effect that called.
        job: JobId,
        /// What was said.
        response: ServerResponse,
        /// [`Part::Answer`].
        body: Vec<u8>,
    },
    /// The chain shows it.
    RecordConfirmed {
        /// The effect that saw it.
        job: JobId,
        /// The transaction.
        transaction: String,
    },
    /// The lost history had signed it: the chain shows a transfer of the wallet that is this one and no other spend's.
    RecordRecognised {
        /// The effect that saw it.
        job: JobId,
        /// The transfer, as rows name it: see [`crate::port::Departure::key`].
        transaction: String,
    },
    /// It was never signed, or can never land.
    Fail {
        /// The effect that proved it.
        job: JobId,
        /// Why.
        reason: ExternalText,
    },
    /// It ended long ago: delete what was said for it.
    PurgeHttpRecord {
        /// The effect that orders it.
        job: JobId,
        /// All rows of it.
        rows: Vec<RowKey>,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Reserved.
    Created {
        /// Whose managed wallet.
        owner: Wallet,
        /// Its address.
        from: Wallet,
        /// What for.
        order: Box<WalletPaymentOrder>,
        /// When.
        at: Timestamp,
    },
    /// Signed.
    Signed(Box<SignedWalletPayment>, Timestamp),
    /// The server has spoken.
    ResponseReceived(ServerResponse, Timestamp),
    /// On chain.
    Confirmed(String, Timestamp),
    /// Never signed.
    Failed(ExternalText, Timestamp),
    /// Never on chain.
    Unsettled(ExternalText, Timestamp),
}

/// How long what was said for a call is kept after its end, in milliseconds: 30 days. An idempotency key asks for it for 24
/// hours; by its id a spend is asked for later, and what was paid for should survive a client's own loss. What others wrote
/// is no archive of ours, so it goes then, whatever holds the seal.
pub const HTTP_RECORD_RETENTION_MS: u64 = 30 * 24 * 3_600_000;

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for WalletPayment {
    const SCHEMA: u16 = 220;
}

impl Stored for Event {
    const SCHEMA: u16 = 221;
}

impl WalletPayment {
    /// The transaction, once it is on chain; with the place in it where that is known not to be the first.
    pub fn transaction(&self) -> Option<&str> {
        match &self.status {
            Status::Settled { transaction, .. } => Some(transaction),
            _ => None,
        }
    }

    /// What the server said, as far as it has.
    pub fn response(&self) -> Option<&ServerResponse> {
        match &self.status {
            Status::Sent(_, answer) => Some(answer),
            Status::Settled { response: answer, .. } | Status::Unsettled { response: answer, .. } => answer.as_ref(),
            _ => None,
        }
    }

    /// Why it failed: the contract's word where the call failed, else the chain's or ours.
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
