//! Port of the bank: it reviews applications, keeps customers' accounts, and moves money between those and ours.

use super::{PortFuture, redact};
use crate::id::{BankAccountId, BankTransferId, BankingApplicationId, DocumentId, JobId, Wallet};
use crate::money::Cents;

/// Characters of the bank's own text that are stored, since a row's size is bounded.
const MAX_TEXT_CHARS: usize = 200;

fn truncate_text(text: String) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}

/// Truncates free text and removes card numbers. Not for identifiers.
fn redact_text(text: &str) -> String {
    redact(text).chars().take(MAX_TEXT_CHARS).collect()
}

/// An application as it is sent to the bank. Secrets in it are sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankApplicationRequest {
    /// Idempotency key: the same key is the same submission.
    pub key: JobId,
    /// Our id of the application.
    pub id: BankingApplicationId,
    /// Account that applies.
    pub wallet: Wallet,
    /// Profile and answers, by field name.
    pub answers: Vec<(&'static str, String)>,
    /// The tax number, sealed by the vault under the application's id.
    pub sealed_tax: Vec<u8>,
    /// Documents, each with its key, sealed by the vault under the document's id.
    pub documents: Vec<SealedDocument>,
}

/// A document to be sent to the bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedDocument {
    /// Our id of the document.
    pub id: DocumentId,
    /// Kind of document, such as a passport.
    pub document_type: &'static str,
    /// Media type of the plain bytes.
    pub media: &'static str,
    /// SHA-256 of the plain bytes.
    pub sha256: [u8; 32],
    /// Key of the document, sealed by the vault.
    pub sealed_key: Vec<u8>,
}

/// The bank's decision on an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    /// Accounts may be opened.
    Approved {
        /// The bank's id of the customer.
        customer: String,
    },
    /// The application is rejected. The owner may apply again.
    Rejected {
        /// The bank's reason.
        reason: String,
    },
    /// The bank needs more information before it decides.
    InformationRequested {
        /// What it needs, in the bank's words.
        what: String,
    },
}

impl ReviewDecision {
    /// Truncates the bank's text to what is stored.
    #[must_use]
    pub fn truncated(self) -> Self {
        match self {
            Self::Approved { customer } => Self::Approved {
                customer: truncate_text(customer),
            },
            Self::Rejected { reason } => Self::Rejected {
                reason: redact_text(&reason),
            },
            Self::InformationRequested { what } => Self::InformationRequested {
                what: redact_text(&what),
            },
        }
    }
}

/// The result of a request that the bank may not have decided yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BankDecision<T> {
    /// Undecided. Ask again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// Decided; never changes.
    Final(T),
}

/// What a bank account is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bincode::Encode, bincode::Decode)]
pub enum AccountType {
    /// Incoming money is credited to the owner's balance.
    OnRamp,
    /// Stores US dollars that came from the balance.
    OffRamp,
}

impl AccountType {
    /// Name in requests and responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnRamp => "onramp",
            Self::OffRamp => "offramp",
        }
    }
}

crate::answer::serialize_as_name!(AccountType);

/// An account to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAccountRequest {
    /// Idempotency key: the same key never opens a second account.
    pub key: JobId,
    /// Our id of the account.
    pub account: BankAccountId,
    /// The bank's id of the customer.
    pub customer: String,
    /// What the account is for.
    pub account_type: AccountType,
}

/// Result of opening an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenAccountResult {
    /// The account is open, with these numbers.
    Open(AccountNumbers),
    /// No account exists and none will.
    Rejected {
        /// The bank's reason.
        reason: String,
    },
}

/// The numbers that identify an account between banks.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AccountNumbers {
    /// Name of the bank.
    pub bank_name: String,
    /// ABA routing number, nine digits.
    pub routing_number: String,
    /// Account number. The owner gives it to payers, so it is not secret from the owner.
    pub account_number: String,
    /// Text that a payer must add, if the bank needs one.
    pub memo: Option<String>,
}

impl OpenAccountResult {
    /// Truncates the bank's text to what is stored.
    #[must_use]
    pub fn truncated(self) -> Self {
        match self {
            Self::Rejected { reason } => Self::Rejected {
                reason: redact_text(&reason),
            },
            Self::Open(at) => Self::Open(AccountNumbers {
                bank_name: truncate_text(at.bank_name),
                routing_number: truncate_text(at.routing_number),
                account_number: truncate_text(at.account_number),
                memo: at.memo.map(truncate_text),
            }),
        }
    }
}

/// A transfer between our money at the bank and a customer's account there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankTransferRequest {
    /// Idempotency key: the same key moves money once.
    pub key: JobId,
    /// Our id of the transfer.
    pub transfer: BankTransferId,
    /// Bank account of the customer.
    pub account: BankAccountId,
    /// Amount in US dollars.
    pub amount: Cents,
    /// True if the money goes to the account, false if it comes from it to us.
    pub to_account: bool,
}

/// Result of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BankTransferResult {
    /// The money has moved.
    Complete {
        /// The bank's id of the transfer.
        reference: String,
    },
    /// A definite no: the money will never move under this key.
    Failed {
        /// The bank's reason.
        reason: String,
    },
}

impl BankTransferResult {
    /// Truncates the bank's text to what is stored.
    #[must_use]
    pub fn truncated(self) -> Self {
        match self {
            Self::Complete { reference } => Self::Complete {
                reference: truncate_text(reference),
            },
            Self::Failed { reason } => Self::Failed {
                reason: redact_text(&reason),
            },
        }
    }
}

/// Money that came into a customer's account from outside, or returned to us from it. We credit it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncomingTransfer {
    /// Position among all incoming transfers, from 1. The next page continues after it.
    pub position: u64,
    /// The bank's id of the transfer. The same id is the same money, however often it is reported.
    pub reference: String,
    /// Account that received the money.
    pub account: BankAccountId,
    /// Amount in US dollars.
    pub amount: Cents,
    /// Sender as the bank reports it.
    pub sender: String,
    /// For a return: the transfer to that account that the bank had reported complete.
    pub returned_transfer: Option<BankTransferId>,
}

impl IncomingTransfer {
    /// Truncates the bank's text to what is stored.
    #[must_use]
    pub fn truncated(self) -> Self {
        Self {
            sender: redact_text(&self.sender),
            ..self
        }
    }
}

/// Keeps customers' accounts. Calls that change something are idempotent by their key. A timeout says nothing about the
/// outcome.
pub trait Bank: Send + Sync {
    /// Submits an application, or queries one with the same key.
    fn review<'a>(&'a self, application: &'a BankApplicationRequest) -> PortFuture<'a, BankDecision<ReviewDecision>>;

    /// Opens an account, or queries an order with the same key.
    fn open<'a>(&'a self, order: &'a OpenAccountRequest) -> PortFuture<'a, BankDecision<OpenAccountResult>>;

    /// Moves money, or queries a transfer with the same key.
    fn transfer<'a>(&'a self, order: &'a BankTransferRequest) -> PortFuture<'a, BankDecision<BankTransferResult>>;

    /// Incoming transfers after a position, oldest first, at most `limit`.
    fn incoming(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<IncomingTransfer>>;

    /// Current balance of an account in US dollars. Reads only.
    fn balance(&self, account: BankAccountId) -> PortFuture<'_, Cents>;
}
