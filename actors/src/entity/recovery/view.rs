//! A recovery as the account's owner and wallet see it.

use serde::Serialize;

use super::{CancelledBy, Recovery, State};
use crate::answer::{Time, UserId};
use crate::kernel::StateMachine as _;

/// The recovery of an account whose passkeys are lost.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = RecoveryResource))]
pub struct RecoveryView {
    /// The wallet's address in lower case.
    pub user_id: UserId,
    /// `waiting`, `ready`, `completed`, `cancelled` or `expired`.
    pub status: State,
    /// Time of the wallet's request (RFC 3339).
    pub requested_at: Time,
    /// From when the wallet can complete it (RFC 3339). Until then it can only be cancelled.
    pub ready_at: Time,
    /// Until when the wallet can complete it (RFC 3339).
    pub expires_at: Time,
    /// Time of the end (RFC 3339), if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// `owner` or `restore`: what cancelled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<CancelledBy>,
}

impl RecoveryView {
    pub(super) fn of(recovery: &Recovery) -> Self {
        Self {
            user_id: recovery.owner.into(),
            status: recovery.state(),
            requested_at: recovery.requested_at.into(),
            ready_at: recovery.ready_at.into(),
            expires_at: recovery.expires_at.into(),
            ended_at: recovery.ended_at.map(Time::from),
            cancelled_by: recovery.cancelled_by,
        }
    }
}
