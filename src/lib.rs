//! Purser.

pub mod identity;
