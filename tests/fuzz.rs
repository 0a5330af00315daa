//! Everything that a stranger or a damaged disk can hand to a parser, mutated: what is accepted means what it meant, and
//! the rest is refused. `storage/tests/store/mutation.rs` does the same for the journal's files.
//!
//! bolero draws the inputs; each target reads them as dice (`fuzz/dice.rs`) that say which valid example is changed and
//! how, so that the changes reach behind the first check. A run is short; longer:
//! `BOLERO_RANDOM_ITERATIONS=1000000 cargo test --test fuzz <name>`. A failure prints the seed that repeats it. What was
//! found once is kept under `fuzz/__fuzz__/<target>/corpus` and tried first.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "fuzz/authorizations.rs"]
mod authorizations;
#[path = "fuzz/input.rs"]
mod input;
#[path = "payment_rules/verify.rs"]
mod judge;
#[path = "fuzz/mpp.rs"]
mod mpp;
#[path = "fuzz/payments.rs"]
mod payments;
#[path = "fuzz/queries.rs"]
mod queries;
#[path = "fuzz/records.rs"]
mod records;
#[path = "payment_rules/seller.rs"]
mod seller;
#[path = "fuzz/settings.rs"]
mod settings;
#[path = "fuzz/sign_in.rs"]
mod sign_in;
#[path = "fuzz/signatures.rs"]
mod signatures;
#[path = "fuzz/solana_drafts.rs"]
mod solana_drafts;
#[path = "fuzz/stream.rs"]
mod stream;
#[path = "fuzz/tokens.rs"]
mod tokens;
#[path = "fuzz/transactions.rs"]
mod transactions;
