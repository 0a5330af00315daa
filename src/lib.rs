//! Purser: a server that sells financial products to software agents, paid per call in USDC.
//!
//! This crate contains everything that faces the network. [`purser_actors`] decides what is sold and paid, and
//! [`purser_storage`] makes it durable.
//!
//! - A request: [`edge`] (sockets, the front) → [`http`] (routes) → [`checkout`] for a paid one, with [`prices`] and
//!   [`payment`] → the engine → [`stream`] for subscribers.
//! - Caller identity: [`identity`]. Card numbers: [`vault`].
//! - The engine's ports: [`settlement`] (chains), [`provider`] (providers such as the card issuer), [`system`]
//!   (time and randomness). [`sandbox`] has what their simulated versions share.
//! - Pages for people that work without a script: [`page`].
//! - Payments by agents: [`agent_wallet`], through [`outbound`], which also delivers events to endpoints:
//!   [`webhooks`]. What waits for operators is announced to their own endpoint: [`announcements`].
//! - The process: [`config`], [`service`], [`commands`], [`metrics`]. [`wallet`] pays as a client would, and
//!   [`verify`] checks the ledger.
//!
//! `ARCHITECTURE.md` follows one paid call through these modules.

pub mod agent_wallet;
pub mod announcements;
pub mod checkout;
pub mod commands;
pub mod http;
pub mod metrics;
pub mod page;
pub mod prices;
pub mod revocations;
pub mod service;
pub mod statuses;
pub mod stream;
pub mod webhooks;

pub use purser_cli as cli;
pub use purser_config as config;
pub use purser_config::suggest;
pub use purser_edge as edge;
pub use purser_host::{outbound, private_file, secret, system};
pub use purser_protocol::{identity, payment, rfc3339, wallet};
pub use purser_provider as provider;
pub use purser_sandbox as sandbox;
pub use purser_settlement as settlement;
pub use purser_vault as vault;
pub use purser_verify as verify;
