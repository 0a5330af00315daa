//! Purser: a server that sells financial products to software agents, paid call by call in USDC.

pub mod config;
pub mod http;
pub mod identity;
pub mod nearest;
pub mod payment;
pub mod secret;
pub mod settlement;
pub mod stream;
pub mod verify;
pub mod wallet;
