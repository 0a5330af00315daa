//! Purser.

pub mod config;
pub mod http;
pub mod nearest;
pub mod stream;
