//! Purser.

pub mod sandbox;
pub mod secret;
pub mod settlement;
