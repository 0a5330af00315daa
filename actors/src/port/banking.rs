//! The bank: what reviews applications, keeps holders' accounts, and moves money between those and ours.

use super::{BoxFuture, PortError, redact};
use crate::id::{BankAccountId, BankTransferId, BankingApplicationId, DocumentId, JobId, Wallet};
use crate::money::Cents;

/// What is kept of a bank's own text, in characters: a row's size is bounded.
const MAX_TEXT_CHARS: usize = 200;

fn truncate_text(text: String) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}

/// The same of words, which name nothing: without card numbers.
fn redact_text(text: &str) -> String {
    redact(text).chars().take(MAX_TEXT_CHARS).collect()
}

/// An application as the bank is to see it. What is secret is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankApplicationRequest {
    /// Idempotency key: the same key is the same submission.
    pub key: JobId,
    /// Our name of it.
    pub id: BankingApplicationId,
    /// Whose.
    pub wallet: Wallet,
    /// Profile and answers, by their names.
    pub answers: Vec<(&'static str, String)>,
    /// The tax number, sealed by the vault under the application's id.
    pub sealed_tax: Vec<u8>,
    /// Documents, each with its key, sealed by the vault under its id.
    pub documents: Vec<SealedDocument>,
}

/// A document on its way to the bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedDocument {
    /// Ours.
    pub id: DocumentId,
    /// What it shows.
    pub document_type: &'static str,
    /// Its media type.
    pub media: &'static str,
    /// SHA-256 of the plain bytes.
    pub sha256: [u8; 32],
    /// Sealed.
    pub sealed_key: Vec<u8>,
}

/// What the bank says to an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    /// Accounts may be opened.
    Approved {
        /// The bank's name of the customer.
        customer: String,
    },
    /// Not now.
    Rejected {
        /// The bank's word for it.
        reason: String,
    },
    /// More is wanted before it decides.
    InformationRequested {
        /// In the bank's words.
        what: String,
    },
}

impl ReviewDecision {
    /// With no more of the bank's text than is kept.
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

/// Something that the bank may not have decided yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BankDecision<T> {
    /// Nothing yet; ask again after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Decided, for good.
    Final(T),
}

/// What an account is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bincode::Encode, bincode::Decode)]
pub enum AccountType {
    /// Money that comes in is credited to the holder's balance.
    OnRamp,
    /// The holder keeps dollars there that came from the balance.
    OffRamp,
}

impl AccountType {
    /// As in calls and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnRamp => "onramp",
            Self::OffRamp => "offramp",
        }
    }
}

/// An account to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAccountRequest {
    /// Idempotency key: the same key never opens a second one.
    pub key: JobId,
    /// Our name of it.
    pub account: BankAccountId,
    /// Whose: the bank's name of the customer.
    pub customer: String,
    /// What it is for.
    pub account_type: AccountType,
}

/// What came of opening an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenAccountResult {
    /// Open.
    Open(AccountNumbers),
    /// There is none and will be none.
    Rejected {
        /// The bank's word for it.
        reason: String,
    },
}

/// How an account is known among banks.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AccountNumbers {
    /// The bank.
    pub bank_name: String,
    /// ABA, nine digits.
    pub routing_number: String,
    /// The account's number. Its holder gives it to whoever pays in, so it is no secret from them.
    pub account_number: String,
    /// What a payer writes with it, if the bank needs that.
    pub memo: Option<String>,
}

impl OpenAccountResult {
    /// With no more of the bank's text than is kept.
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

/// A move between our money at the bank and a holder's account there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankTransferRequest {
    /// Idempotency key: the same key moves once.
    pub key: JobId,
    /// Our name of it.
    pub transfer: BankTransferId,
    /// Which account.
    pub account: BankAccountId,
    /// US dollars.
    pub amount: Cents,
    /// Whether it goes to the account, or from it to us.
    pub to_account: bool,
}

/// What came of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BankTransferResult {
    /// Done.
    Complete {
        /// The bank's name of it.
        reference: String,
    },
    /// Definitely not, and never under this key.
    Failed {
        /// The bank's word for it.
        reason: String,
    },
}

impl BankTransferResult {
    /// With no more of the bank's text than is kept.
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

/// Money that came into a holder's account from outside, or comes back out of it, and is ours to credit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncomingTransfer {
    /// Its place among all of them, from 1: where the next reading goes on.
    pub position: u64,
    /// The bank's name of it. The same one is the same money, however often it is told.
    pub reference: String,
    /// Into which account.
    pub account: BankAccountId,
    /// US dollars.
    pub amount: Cents,
    /// Who sent it, as the bank tells.
    pub sender: String,
    /// What it is the return of: a move to that account, which the bank has said is complete.
    pub returned_transfer: Option<BankTransferId>,
}

impl IncomingTransfer {
    /// With no more of the bank's text than is kept.
    #[must_use]
    pub fn truncated(self) -> Self {
        Self {
            sender: redact_text(&self.sender),
            ..self
        }
    }
}

/// Keeps holders' accounts. The calls that change something are idempotent by their key; a time-out of theirs says nothing.
pub trait Bank: Send + Sync {
    /// Submits an application, or asks after it.
    fn review<'a>(
        &'a self,
        application: &'a BankApplicationRequest,
    ) -> BoxFuture<'a, Result<BankDecision<ReviewDecision>, PortError>>;

    /// Opens an account, or asks after it.
    fn open<'a>(
        &'a self,
        order: &'a OpenAccountRequest,
    ) -> BoxFuture<'a, Result<BankDecision<OpenAccountResult>, PortError>>;

    /// Moves money, or asks after it.
    fn transfer<'a>(
        &'a self,
        order: &'a BankTransferRequest,
    ) -> BoxFuture<'a, Result<BankDecision<BankTransferResult>, PortError>>;

    /// What came in since, oldest first, at most `limit`.
    fn incoming(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<IncomingTransfer>, PortError>>;

    /// What stands on an account now, in US dollars. Only reads.
    fn balance(&self, account: BankAccountId) -> BoxFuture<'_, Result<Cents, PortError>>;
}
