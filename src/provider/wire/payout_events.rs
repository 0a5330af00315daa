//! What becomes of payouts, on the wire: answers of `POST /v1/payouts`, `GET /v1/payout-orders/{key}`,
//! `POST /v1/payouts/{payout_id}/recall` and `GET /v1/payout-events`.

use purser_actors::id::PayoutId;
use purser_actors::port;
use purser_actors::port::payouts::{PayoutRailStatus, RecallResult};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{MalformedResponse, TextValue};

/// A word about one payout.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutStatusUpdate {
    /// Which.
    #[schema(value_type = String)]
    pub payout_id: TextValue<PayoutId>,
    /// The word.
    #[serde(flatten)]
    pub body: PayoutUpdateBody,
}

/// What a rail says. Later words about one payout have a higher sequence, so that those which come twice or in another
/// order are recognized.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutUpdateBody {
    /// Its place among the words about this payout, from 1.
    pub sequence: u64,
    /// Where the payout stands.
    #[serde(flatten)]
    pub state: PayoutStatus,
}

/// Where a payout stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PayoutStatus {
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

impl PayoutStatusUpdate {
    /// As the rail says it.
    pub fn of(payout: PayoutId, said: port::payouts::PayoutStatusUpdate) -> Self {
        Self {
            payout_id: TextValue(payout),
            body: PayoutUpdateBody::of(said),
        }
    }

    /// As this service reads it.
    pub fn read(self) -> (PayoutId, port::payouts::PayoutStatusUpdate) {
        (self.payout_id.0, self.body.read())
    }
}

impl PayoutUpdateBody {
    /// As the rail says it.
    pub fn of(said: port::payouts::PayoutStatusUpdate) -> Self {
        let state = match said.status {
            PayoutRailStatus::InProcess { retry_after_ms } => PayoutStatus::InProcess { retry_after_ms },
            PayoutRailStatus::Complete { reference } => PayoutStatus::Complete {
                reference: reference.to_string(),
            },
            PayoutRailStatus::Failed { reason } => PayoutStatus::Failed {
                reason: reason.to_string(),
            },
            PayoutRailStatus::Cancelled { reason } => PayoutStatus::Cancelled {
                reason: reason.to_string(),
            },
            PayoutRailStatus::Returned { reason } => PayoutStatus::Returned {
                reason: reason.to_string(),
            },
        };
        Self {
            sequence: said.sequence,
            state,
        }
    }

    /// As this service reads it.
    pub fn read(self) -> port::payouts::PayoutStatusUpdate {
        let state = match self.state {
            PayoutStatus::InProcess { retry_after_ms } => PayoutRailStatus::InProcess { retry_after_ms },
            PayoutStatus::Complete { reference } => PayoutRailStatus::Complete {
                reference: reference.into(),
            },
            PayoutStatus::Failed { reason } => PayoutRailStatus::Failed { reason: reason.into() },
            PayoutStatus::Cancelled { reason } => PayoutRailStatus::Cancelled { reason: reason.into() },
            PayoutStatus::Returned { reason } => PayoutRailStatus::Returned { reason: reason.into() },
        };
        port::payouts::PayoutStatusUpdate {
            sequence: self.sequence,
            status: state,
        }
    }
}

/// What is known of an order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutLookupResponse {
    /// The key that was asked about.
    pub key: String,
    /// The newest word about what was ordered under it; `null` says that nothing ever was. It must be there: a payer is
    /// credited on that word.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub payout: Option<PayoutUpdateBody>,
}

/// What came of asking for money back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecallResponse {
    /// Which payout.
    #[schema(value_type = String)]
    pub payout_id: TextValue<PayoutId>,
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

impl From<RecallResult> for RecallOutcome {
    fn from(said: RecallResult) -> Self {
        match said {
            RecallResult::Recalled => Self::Recalled,
            RecallResult::TooLate => Self::TooLate,
        }
    }
}

impl From<RecallOutcome> for RecallResult {
    fn from(said: RecallOutcome) -> Self {
        match said {
            RecallOutcome::Recalled => Self::Recalled,
            RecallOutcome::TooLate => Self::TooLate,
        }
    }
}

/// Words in the order in which they were told, over all payouts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutEventList {
    /// Oldest first; each number is higher than the one before.
    pub events: Vec<PayoutEvent>,
}

/// A word and its place.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutEvent {
    /// Its place over all payouts, from 1: where the next reading goes on.
    pub position: u64,
    /// The word.
    #[serde(flatten)]
    pub update: PayoutStatusUpdate,
}

impl PayoutEventList {
    /// As the rails say it.
    pub fn of(told: Vec<port::payouts::PayoutEvent>) -> Self {
        let reports = told.into_iter().map(|told| PayoutEvent {
            position: told.position,
            update: PayoutStatusUpdate::of(told.payout, told.update),
        });
        Self {
            events: reports.collect(),
        }
    }

    /// As this service reads it, from behind `after`.
    ///
    /// # Errors
    /// When the numbers do not rise: a word that is skipped over would be lost.
    pub fn read(self, after: u64) -> Result<Vec<port::payouts::PayoutEvent>, MalformedResponse> {
        super::rising(after, self.events.iter().map(|one| one.position))?;
        let told = self.events.into_iter().map(|one| {
            let (payout, report) = one.update.read();
            let number = one.position;
            port::payouts::PayoutEvent {
                position: number,
                payout,
                update: report,
            }
        });
        Ok(told.collect())
    }
}
