//! The engine of Purser.
//!
//! Every account, payment, card, order and session is an entity: a pure state machine (`decide`, `apply`) that one
//! generic entity actor runs and makes durable. Calls to external systems or other entities are jobs: durable rows that
//! a supervised job handler executes.
//!
//! The layers, each of which imports only what stands before it:
//! - values: [`id`], [`money`], [`time`], [`currency`], [`kinds`] (everything that is stored by number), [`ledger`],
//!   [`credential`], [`operator`] (the staff and the audit log), [`announcement`], and [`answer`] (how values look to clients);
//! - [`port`]: the traits for external systems;
//! - [`kernel`]: the machinery. It knows no entity and no product;
//! - [`jobs`], [`lease`] (operators' claims) and [`product`] (what every product must answer);
//! - [`entity`]: the entities, and the lists of entities, purchases and products;
//! - [`engine`]: the handle for the HTTP layer, and the handlers of jobs.

#![warn(missing_docs)]

pub mod announcement;
pub mod answer;
pub mod approval;
pub mod breaker;
pub mod credential;
pub mod currency;
#[cfg(feature = "documents")]
pub mod documents;
pub mod engine;
pub mod entity;
pub mod id;
pub mod jobs;
mod json_text;
pub mod kernel;
pub mod kinds;
pub mod lease;
pub mod ledger;
pub mod lost_order;
pub mod money;
mod named_enum;
pub mod operator;
pub mod port;
pub mod product;
pub mod quote;
pub mod reconciliation;
pub mod time;
