//! Purser.

pub mod config;
pub mod nearest;
