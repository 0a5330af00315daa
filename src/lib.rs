//! Purser: a server that sells financial products to software agents, paid call by call in USDC.
//!
//! Everything that faces the network is here; what is sold and paid is decided in [`purser_actors`], what is durable lies
//! in [`purser_storage`].
//!
//! - A request: [`http`] (sockets, the front, routes) → [`checkout`] for a paid one, with [`prices`] and [`payment`] →
//!   the engine → [`stream`] for whoever watches.
//! - Names that people type, found: [`search`].
//! - Who is paid: [`bank_number`]. Who asks: [`identity`]. Card numbers: [`vault`].
//! - The engine's ports: [`settlement`] (chains), [`provider`] (card issuers), [`system`] (time and chance); [`sandbox`] is
//!   what their simulated sides share.
//! - Agents pay others: [`agent_wallet`], through [`outbound`], which also takes events to endpoints: [`webhooks`].
//! - The process: [`config`], [`service`], [`cli`], [`metrics`]; [`wallet`] pays as a client would; [`verify`] proves the books.
//!
//! `ARCHITECTURE.md` follows one paid call through these rooms.

pub mod agent_wallet;
pub mod bank_account_number;
pub mod checkout;
pub mod cli;
pub mod config;
pub mod http;
pub mod identity;
pub mod metrics;
pub mod outbound;
pub mod payment;
pub mod prices;
pub mod private_file;
pub mod provider;
pub mod revocations;
pub mod sandbox;
pub mod search;
pub mod secret;
pub mod service;
pub mod settlement;
pub mod stream;
pub mod suggest;
pub mod system;
pub mod vault;
pub mod verify;
pub mod wallet;
pub mod webhooks;
