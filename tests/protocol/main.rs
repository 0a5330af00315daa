//! Payments, sign-in and wallets as bytes: golden vectors of the stock clients, the rules of verification, and mutated
//! input.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    unreachable_pub,
    reason = "a test"
)]

mod authorizations;
mod fuzz;
mod identity_vectors;
mod input;
mod payment_vectors;
mod rules;
mod seller;
mod solana_drafts;
mod verify;
mod wallet_vectors;
