//! Purser.

pub mod provider;
pub mod sandbox;
pub mod secret;
pub mod settlement;
pub mod vault;
