//! One rule a case: a good payment with one thing wrong, and the reason it is refused for.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "payment_rules/chains.rs"]
mod chains;
#[path = "payment_rules/echo.rs"]
mod echo;
#[path = "payment_rules/evm.rs"]
mod evm;
#[path = "payment_rules/header.rs"]
mod header;
#[path = "payment_rules/mpp.rs"]
mod mpp;
#[path = "payment_rules/mpp_fields.rs"]
mod mpp_fields;
#[path = "payment_rules/seller.rs"]
mod seller;
#[path = "payment_rules/solana.rs"]
mod solana;
#[path = "payment_rules/verify.rs"]
mod verify;
