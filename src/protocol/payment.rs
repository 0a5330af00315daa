//! x402 and MPP payments: the challenge, and the verification of the client's payment.
//!
//! Pure: bytes and a clock in, a result out. No I/O and no state; the only key is the one by which [`mpp`] recognises
//! its own challenges. A payment that passes has the right form, pays us the exact amount, is inside its time window,
//! and is signed by its payer. Whether the payer has the money and whether the payment was used before is checked by
//! the engine and the settlement port. So is the signature of a payer that is a contract ([`proof`]).
//!
//! The order of a call: [`header::payment_header`] finds the payment, [`decode::decode`] parses it, [`verify::verify`]
//! checks it against the offer ([`terms::Terms`]). [`challenge::challenge`] writes the challenge, and [`receipt`] the
//! result. [`mpp`] does the same for the Machine Payments Protocol, with the same result in the end.
//!
//! *Invariant*: a payment is checked against our own terms. The client's echo only selects which of the offered
//! terms it means.

pub mod chains;
pub mod challenge;
pub mod decode;
pub mod error;
pub mod evm;
pub mod header;
pub mod identifier;
pub mod matching;
pub mod mpp;
pub mod proof;
pub mod receipt;
pub mod solana;
pub mod terms;
pub mod verify;

pub use chains::{BaseChain, Chains, SolanaChain};
pub use decode::{DecodedPayment, decode};
pub use error::{InvalidReason, PaymentHeaderError, VerificationError};
pub use header::{mpp_credential, payment_header};
pub use proof::OfflineVerification;
pub use terms::{BasePayee, Payee, RecentBlockhash, SolanaPayee, Terms, Token};
pub use verify::{VerifiedPayment, verify, verify_against, verify_for_replay, verify_offline_for_replay};
