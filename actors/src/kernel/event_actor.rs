//! Who caused an event: the session of the request that the command came from. Events of jobs and of paid calls have none.

use serde::Serialize;

use crate::id::{ApiKeyId, PaymentId, SessionId};

/// What opened the session of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventActorType {
    /// The wallet signed in.
    Wallet,
    /// A payment of the wallet.
    Payment,
    /// An API key.
    ApiKey,
    /// A passkey of the account owner.
    Passkey,
}

/// Who caused an event, for events that a request of a session caused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct EventActor {
    /// `wallet`, `payment`, `api_key` or `passkey`: what opened the session.
    pub r#type: EventActorType,
    /// `ses_…` is the id of the session.
    pub session_id: SessionId,
    /// Whether a person did it, at a page of the service.
    pub in_browser: bool,
    /// The payment that opened the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<PaymentId>,
    /// The API key that opened the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_id: Option<ApiKeyId>,
    /// Name of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_name: Option<String>,
}
