//! The HTTP layer. Handlers parse requests, call the engine and render responses. They contain no business logic.
//!
//! In `purser-edge`: `server` (sockets) → `front` (common to all requests). Behind them are the routes, one file per area.
//! Each file has a table of its routes (`route`). `APP` lists the tables. Every error is an [`error::ApiError`],
//! and the front writes its body.

pub mod account;
pub mod agent_wallet;
pub mod api_keys;
pub mod app;
pub mod approvals;
pub mod balance_limits;
mod balance_spends;
pub mod banking;
pub mod callable;
pub mod callbacks;
pub mod card_actions;
pub mod card_refresh;
pub mod card_withdrawals;
pub mod cards;
pub mod discovery;
pub mod events;
pub(crate) mod form_pages;
pub mod gift_card_orders;
pub mod gift_cards;
pub mod health;
pub mod idempotency;
pub mod index_page;
pub mod intl_orders;
pub mod key_limits;
pub mod kyc;
mod list_order;
pub mod login;
pub mod login_page;
pub mod merchant_limits;
pub mod merchants;
pub mod openapi;
pub mod operator;
mod outgoing_holds;
mod overview;
pub mod owner;
pub mod page_address;
mod page_session;
pub mod passkeys;
pub mod payments;
pub mod payouts;
pub mod pricing;
mod readable;
pub mod recipients;
mod recovery;
pub mod redeem;
pub mod reloadable_cards;
pub mod route;
pub mod routes;
pub mod sandbox;
pub mod sandbox_identity_page;
pub mod schemas;
mod sessions;
pub mod sign_in;
pub mod signup;
mod spending;
mod statement;
pub mod token_authenticator;
pub mod top_ups;
pub mod version;
pub mod web_apps;
pub mod webhooks;
pub mod withdrawals;

pub use purser_edge::{auth, error, front, headers, json, query, rate_limit, request_metrics, server};

/// Tables of the routes that share [`app::App`].
static APP: &[&route::Table<std::sync::Arc<app::App>>] = &[
    &account::ROUTES,
    &agent_wallet::ROUTES,
    &api_keys::ROUTES,
    &approvals::ROUTES,
    &balance_limits::ROUTES,
    &banking::ROUTES,
    &callbacks::ROUTES,
    &card_actions::ROUTES,
    &card_refresh::ROUTES,
    &card_withdrawals::ROUTES,
    &cards::ROUTES,
    &gift_card_orders::ROUTES,
    &gift_cards::ROUTES,
    &intl_orders::ROUTES,
    &key_limits::ROUTES,
    &kyc::ROUTES,
    &login::ROUTES,
    &merchant_limits::ROUTES,
    &merchants::ROUTES,
    &overview::ROUTES,
    &owner::ROUTES,
    &passkeys::ROUTES,
    &passkeys::confirmation::ROUTES,
    &passkeys::sign_in::ROUTES,
    &payments::ROUTES,
    &payouts::ROUTES,
    &recipients::ROUTES,
    &recovery::ROUTES,
    &redeem::ROUTES,
    &reloadable_cards::ROUTES,
    &sessions::ROUTES,
    &sign_in::ROUTES,
    &signup::ROUTES,
    &spending::ROUTES,
    &statement::ROUTES,
    &top_ups::ROUTES,
    &web_apps::ROUTES,
    &webhooks::ROUTES,
    &withdrawals::ROUTES,
];
