//! Purser: a server that sells financial products to software agents, paid call by call in USDC.

pub mod checkout;
pub mod cli;
pub mod config;
pub mod http;
pub mod identity;
pub mod nearest;
pub mod payment;
pub mod prices;
pub mod provider;
pub mod sandbox;
pub mod secret;
pub mod service;
pub mod settlement;
pub mod stream;
pub mod system;
pub mod vault;
pub mod verify;
pub mod wallet;
