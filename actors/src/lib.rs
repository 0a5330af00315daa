//! The engine.
//!
//! Every account, payment, card, order and session is an entity: a pure state machine (`decide`, `apply`) that one generic
//! actor, the shell, runs and makes durable. What an entity wants of the outside or of another entity is an effect: a
//! durable row that a supervised delivery works off.
//!
//! [`kernel`] is the machinery and knows no product. [`account`], [`payment`], [`card`], [`intl_order`] and
//! [`session`] are the rules; [`identity`] and [`link`] are what only a person brings about.
//! [`product`] says what is sold, [`operator`] who acts for the house, [`lease`] what of it is whose to work on. [`engine`] is the handle that the edge holds. [`port`]
//! names what is needed of the outside; [`ledger`], [`money`] and [`id`] are the words that all of them use.

pub mod account;
pub mod agent_wallet;
pub mod api_key;
pub mod approval;
pub mod bank_destination;
pub mod banking;
pub mod breaker;
pub mod card;
pub mod card_withdrawal;
pub mod discrepancy;
pub mod engine;
pub mod gift_card;
pub mod id;
pub mod identity_verification;
pub mod incoming;
pub mod intl_order;
pub mod issuer_link;
pub mod kernel;
pub mod late_return;
pub mod lease;
pub mod ledger;
pub mod line;
pub mod lost_order;
pub mod money;
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
pub mod top_up;
pub mod wallet_payment;
pub mod webhook;
pub mod webhook_delivery;
pub mod withdrawal;
