//! Payout statuses and events on the wire: responses of `POST /v1/payouts`, `GET /v1/payout-orders/{key}`, `POST
//! /v1/payouts/{payout_id}/recall` and `GET /v1/payout-events`.

use purser_actors::id::PayoutId;
use purser_actors::port;
use purser_actors::port::payouts::{PayoutRailStatus, RecallResult};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{MalformedResponse, TextValue};

/// A status update of one payout.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutStatusUpdate {
    /// The service's id of the payout.
    #[schema(value_type = String)]
    pub payout_id: TextValue<PayoutId>,
    /// Sequence and status.
    #[serde(flatten)]
    pub body: PayoutUpdateBody,
}

/// A status update. Later updates of one payout have a higher sequence, so that repeated or reordered ones are
/// recognized.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutUpdateBody {
    /// Number of the update within this payout, from 1.
    pub sequence: u64,
    /// Status of the payout.
    #[serde(flatten)]
    pub state: PayoutStatus,
}

/// Status of a payout.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PayoutStatus {
    /// Accepted and in progress; for a payment app, also waiting to be claimed.
    InProcess {
        /// Delay before the next query, in milliseconds.
        retry_after_ms: u64,
    },
    /// The payout is paid.
    Complete {
        /// The rail's reference of the payment.
        reference: String,
    },
    /// The payout is not paid and will not be.
    Failed {
        /// The rail's reason.
        reason: String,
    },
    /// Cancelled before it was paid.
    Cancelled {
        /// The rail's reason.
        reason: String,
    },
    /// The money was returned.
    Returned {
        /// The rail's reason.
        reason: String,
    },
}

impl PayoutStatusUpdate {
    /// The wire form of an update.
    pub fn of(payout: PayoutId, said: port::payouts::PayoutStatusUpdate) -> Self {
        Self {
            payout_id: TextValue(payout),
            body: PayoutUpdateBody::of(said),
        }
    }

    /// Payout id and update as the service reads them.
    pub fn read(self) -> (PayoutId, port::payouts::PayoutStatusUpdate) {
        (self.payout_id.0, self.body.read())
    }
}

impl PayoutUpdateBody {
    /// The wire form of an update.
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

    /// The update as the service reads it.
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

/// The payout ordered under a key.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutLookupResponse {
    /// Key of the request.
    pub key: String,
    /// Latest status under the key; `null` if nothing was ever ordered under it. The field must be present: a payer is
    /// credited because of a `null`.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub payout: Option<PayoutUpdateBody>,
}

/// Result of a recall.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecallResponse {
    /// The service's id of the payout.
    #[schema(value_type = String)]
    pub payout_id: TextValue<PayoutId>,
    /// Outcome of the recall.
    pub outcome: RecallOutcome,
}

/// Outcome of a recall.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecallOutcome {
    /// The recipient has received nothing and will not.
    Recalled,
    /// The recipient has the money.
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

/// Events of all payouts, in the order of their positions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutEventList {
    /// Oldest first; each position is higher than the one before.
    pub events: Vec<PayoutEvent>,
}

/// A payout event and its position.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutEvent {
    /// Position over all payouts, from 1. Use it as `after` to continue.
    pub position: u64,
    /// The status update.
    #[serde(flatten)]
    pub update: PayoutStatusUpdate,
}

impl PayoutEventList {
    /// The wire form of the rails' events.
    pub fn of(list: Vec<port::payouts::PayoutEvent>) -> Self {
        let reports = list.into_iter().map(|event| PayoutEvent {
            position: event.position,
            update: PayoutStatusUpdate::of(event.payout, event.update),
        });
        Self {
            events: reports.collect(),
        }
    }

    /// Reads the events after position `after`.
    ///
    /// # Errors
    /// When the positions do not rise: a skipped event would be lost.
    pub fn read(self, after: u64) -> Result<Vec<port::payouts::PayoutEvent>, MalformedResponse> {
        super::rising(after, self.events.iter().map(|one| one.position))?;
        let list = self.events.into_iter().map(|one| {
            let (payout, report) = one.update.read();
            let number = one.position;
            port::payouts::PayoutEvent {
                position: number,
                payout,
                update: report,
            }
        });
        Ok(list.collect())
    }
}
