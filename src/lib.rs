//! Purser.

pub mod cli;
pub mod payment;
pub mod wallet;
