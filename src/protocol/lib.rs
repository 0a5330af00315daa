//! What travels between agents and this service, on both sides: bytes and a clock in, a verdict or bytes out.
//!
//! - [`payment`]: x402 and MPP, from the challenge to the verdict about a payment.
//! - [`identity`]: sign-in, tokens, cookies and API keys, with the keys for all of them.
//! - [`wallet`]: the client's side, which signs.
//!
//! No route, no store and no connection. Only the files of keys and wallets are read and written here.

pub mod identity;
pub mod payment;
pub mod wallet;
