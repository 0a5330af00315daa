//! An application as its owner sees it.

use serde::Serialize;

use super::State;
use crate::answer::Time;
use crate::id::BankingApplicationId;

/// An application for bank accounts, without its answers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = BankingApplicationResource))]
pub struct BankingApplicationView<'a> {
    /// `bapp_…` is the id of the application.
    pub application_id: BankingApplicationId,
    /// `incomplete`, `submitted`, `approved` or `rejected`.
    pub status: State,
    /// Reason of the rejection.
    #[cfg_attr(feature = "documents", schema(required))]
    pub rejection_reason: Option<&'a str>,
    /// What the bank asks for in addition.
    #[cfg_attr(feature = "documents", schema(required))]
    pub requested_items: Option<&'a str>,
    /// Number of submissions.
    pub submissions: u32,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}
