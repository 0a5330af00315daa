//! What becomes of payouts, on the wire: answers of `POST /v1/payouts`, `GET /v1/payout-orders/{key}`,
//! `POST /v1/payouts/{payout_id}/recall` and `GET /v1/payout-reports`.

use purser_actors::id::PayoutId;
use purser_actors::port::payout::{RailState, Recall, Report, Told};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Text, Unreadable};

/// A word about one payout.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutReport {
    /// Which.
    #[schema(value_type = String)]
    pub payout_id: Text<PayoutId>,
    /// The word.
    #[serde(flatten)]
    pub word: Word,
}

/// What a rail says. Later words about one payout have a higher sequence, so that those which come twice or in another
/// order are recognized.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Word {
    /// Its place among the words about this payout, from 1.
    pub sequence: u64,
    /// Where the payout stands.
    #[serde(flatten)]
    pub state: PayoutState,
}

/// Where a payout stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PayoutState {
    /// Accepted and on its way; for a payment app, also waiting to be claimed.
    InProcess {
        /// When to ask again, in milliseconds.
        retry_after_ms: u64,
    },
    /// Paid.
    Complete {
        /// The rail's name of the payment.
        reference: String,
    },
    /// Definitely not paid, and will not be.
    Failed {
        /// The rail's word for it.
        reason: String,
    },
    /// Stopped before it was paid.
    Cancelled {
        /// The rail's word for it.
        reason: String,
    },
    /// The money came back.
    Returned {
        /// The rail's word for it.
        reason: String,
    },
}

impl PayoutReport {
    /// As the rail says it.
    pub fn of(payout: PayoutId, said: Report) -> Self {
        Self {
            payout_id: Text(payout),
            word: Word::of(said),
        }
    }

    /// As this service reads it.
    pub fn read(self) -> (PayoutId, Report) {
        (self.payout_id.0, self.word.read())
    }
}

impl Word {
    /// As the rail says it.
    pub fn of(said: Report) -> Self {
        let state = match said.state {
            RailState::InProcess { retry_after_ms } => PayoutState::InProcess { retry_after_ms },
            RailState::Complete { reference } => PayoutState::Complete {
                reference: reference.to_string(),
            },
            RailState::Failed { reason } => PayoutState::Failed {
                reason: reason.to_string(),
            },
            RailState::Cancelled { reason } => PayoutState::Cancelled {
                reason: reason.to_string(),
            },
            RailState::Returned { reason } => PayoutState::Returned {
                reason: reason.to_string(),
            },
        };
        Self {
            sequence: said.sequence,
            state,
        }
    }

    /// As this service reads it.
    pub fn read(self) -> Report {
        let state = match self.state {
            PayoutState::InProcess { retry_after_ms } => RailState::InProcess { retry_after_ms },
            PayoutState::Complete { reference } => RailState::Complete {
                reference: reference.into(),
            },
            PayoutState::Failed { reason } => RailState::Failed { reason: reason.into() },
            PayoutState::Cancelled { reason } => RailState::Cancelled { reason: reason.into() },
            PayoutState::Returned { reason } => RailState::Returned { reason: reason.into() },
        };
        Report {
            sequence: self.sequence,
            state,
        }
    }
}

/// What is known of an order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OrderedAnswer {
    /// The key that was asked about.
    pub key: String,
    /// The newest word about what was ordered under it; `null` says that nothing ever was. It must be there: a payer is
    /// credited on that word.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub report: Option<Word>,
}

/// What came of asking for money back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecallAnswer {
    /// Which payout.
    #[schema(value_type = String)]
    pub payout_id: Text<PayoutId>,
    /// What came of it.
    pub outcome: RecallOutcome,
}

/// What came of asking for money back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecallOutcome {
    /// The recipient has and gets nothing.
    Recalled,
    /// The recipient has it.
    TooLate,
}

impl From<Recall> for RecallOutcome {
    fn from(said: Recall) -> Self {
        match said {
            Recall::Done => Self::Recalled,
            Recall::TooLate => Self::TooLate,
        }
    }
}

impl From<RecallOutcome> for Recall {
    fn from(said: RecallOutcome) -> Self {
        match said {
            RecallOutcome::Recalled => Self::Done,
            RecallOutcome::TooLate => Self::TooLate,
        }
    }
}

/// Words in the order in which they were told, over all payouts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Reports {
    /// Oldest first; each number is higher than the one before.
    pub reports: Vec<NumberedReport>,
}

/// A word and its place.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NumberedReport {
    /// Its place over all payouts, from 1: where the next reading goes on.
    pub number: u64,
    /// The word.
    #[serde(flatten)]
    pub report: PayoutReport,
}

impl Reports {
    /// As the rails say it.
    pub fn of(told: Vec<Told>) -> Self {
        let reports = told.into_iter().map(|told| NumberedReport {
            number: told.number,
            report: PayoutReport::of(told.payout, told.report),
        });
        Self {
            reports: reports.collect(),
        }
    }

    /// As this service reads it, from behind `after`.
    ///
    /// # Errors
    /// When the numbers do not rise: a word that is skipped over would be lost.
    pub fn read(self, after: u64) -> Result<Vec<Told>, Unreadable> {
        super::rising(after, self.reports.iter().map(|one| one.number))?;
        let told = self.reports.into_iter().map(|one| {
            let (payout, report) = one.report.read();
            let number = one.number;
            Told { number, payout, report }
        });
        Ok(told.collect())
    }
}
