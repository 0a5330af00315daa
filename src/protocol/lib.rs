//! What travels between agents and this service, on both sides: bytes and a clock in, a verdict or bytes out.
//!
//! - [`payment`]: x402 and MPP, from the challenge to the verdict about a payment.
//! - [`identity`]: sign-in, tokens, cookies and API keys, with the keys for all of them.
//! - [`wallet`]: the client's side, which signs. [`sandbox_keys`] are the published keys of the sandbox.
//! - [`webhook_signature`] signs events to webhook endpoints, [`callback`] verifies what providers send.
//!
//! No route, no store and no connection. Only the files of keys and wallets are read and written here.

pub mod callback;
pub mod identity;
pub mod payment;
pub mod rfc3339;
pub mod sandbox_keys;
pub mod wallet;
pub mod webhook_signature;
