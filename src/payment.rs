//! x402 and MPP payments: the challenge, and the verdict on what comes back.
//!
//! Pure: bytes and a clock in, a verdict out. No I/O, no state, and no key but the one by which [`mpp`] knows its own
//! challenges. A payment that passes here has the right form, goes to us, over the exact amount, inside its time window,
//! and is signed by its payer. Whether the payer has the money and whether the payment was used before are questions for
//! the engine and the settlement port; so is the signature of a payer that is a contract ([`proof`]).
//!
//! The order of a call: [`header::payment_header`] finds the payment, [`decode::decode`] reads it, [`verify::verify`]
//! judges it against what was offered ([`terms::Terms`]). [`challenge::challenge`] says what is wanted, and [`receipt`]
//! what became of it. [`mpp`] is the same for the Machine Payments Protocol, with the same verdict in the end.
//!
//! *Invariant*: a payment is judged against our own terms. What the client echoes of them only selects which of the
//! offered terms it means.

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
pub use error::{PaymentHeaderError, Reason, VerificationError};
pub use header::{mpp_credential, payment_header};
pub use proof::OfflineVerification;
pub use terms::{BasePayee, Payee, RecentBlockhash, SolanaPayee, Terms, Token};
pub use verify::{VerifiedPayment, verify, verify_against, verify_for_replay, verify_offline_for_replay};
