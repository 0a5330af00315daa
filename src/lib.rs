//! Purser.

pub mod payment;
pub mod wallet;
