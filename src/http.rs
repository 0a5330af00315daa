//! The HTTP layer. Handlers parse requests, call the engine and render responses. They contain no business logic.
//!
//! `server` (sockets) → `front` (common to all requests) → routes, one file per area. Every error is an
//! [`error::ApiError`], and the front writes its body.

pub mod account;
pub mod agent_wallet;
pub mod api_keys;
pub mod auth;
pub mod banking;
pub mod callable;
pub mod callbacks;
pub mod card_actions;
pub mod card_refresh;
pub mod card_withdrawals;
pub mod cards;
mod deprecation;
pub mod discovery;
pub mod error;
pub mod events;
mod forwarded;
pub mod front;
pub mod gift_card_orders;
pub mod gift_cards;
pub mod headers;
pub mod health;
pub mod idempotency;
pub mod intl_orders;
pub mod json;
pub mod kyc;
pub mod login;
pub mod login_page;
pub mod merchants;
pub mod openapi;
pub mod operator;
mod outgoing_holds;
pub mod owner;
pub(crate) mod owner_page;
mod parse_error;
pub mod payments;
pub mod payouts;
pub mod pricing;
pub mod query;
pub mod rate_limit;
mod readable;
pub mod recipients;
pub mod redeem;
pub mod reloadable_cards;
pub mod request_metrics;
pub mod sandbox;
pub mod sandbox_identity_page;
pub mod schemas;
pub mod server;
pub mod sign_in;
pub mod signup;
pub mod top_ups;
pub mod version;
pub mod webhooks;
pub mod withdrawals;
