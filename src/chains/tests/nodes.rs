//! The clients against real runtimes of both chains, and against the stock client's bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    unreachable_pub,
    reason = "a test"
)]

mod base;
mod solana;
mod stock_client;
