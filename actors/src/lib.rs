//! The engine of Purser.
//!
//! Every account, payment, card, order and session is an entity: a pure state machine (`decide`, `apply`) that one
//! generic entity actor runs and makes durable. Calls to external systems or other entities are jobs: durable rows that
//! a supervised job handler executes.
//!
//! [`kernel`] is the machinery and knows no product. [`account`], [`payment`], [`card`], [`intl_order`] and [`session`]
//! have the rules; [`identity_verification`] and [`issuer_link`] only change by a person's action. [`product`] defines
//! what is sold, [`operator`] the staff and the audit log, [`lease`] the claims of operators. [`engine`] is the handle
//! for the HTTP layer. [`port`] has the traits for external systems. [`ledger`], [`money`] and [`id`] are the types
//! that all of them use.

#![warn(missing_docs)]

pub mod account;
pub mod agent_wallet;
pub mod api_key;
pub mod approval;
pub mod bank_destination;
pub mod banking;
pub mod breaker;
pub mod card;
pub mod card_withdrawal;
pub mod currency;
pub mod discrepancy;
pub mod engine;
pub mod entities;
pub mod gift_card;
pub mod id;
pub mod identity_verification;
pub mod incoming;
pub mod intl_order;
pub mod issuer_link;
pub mod jobs;
mod json_text;
pub mod kernel;
pub mod kinds;
pub mod late_return;
pub mod lease;
pub mod ledger;
pub mod line;
pub mod lost_order;
pub mod money;
mod named_enum;
pub mod operator;
pub mod payment;
pub mod payment_recipient;
pub mod payout;
pub mod port;
pub mod product;
pub mod quote;
pub mod reconciliation;
pub mod refund;
pub mod reloadable_card;
pub mod session;
pub mod time;
pub mod top_up;
pub mod wallet_payment;
pub mod webhook;
pub mod webhook_delivery;
pub mod withdrawal;
