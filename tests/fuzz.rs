//! Mutated input for every parser that reads data from strangers or from a corrupt disk. Accepted input keeps its
//! meaning, and the rest is rejected. `storage/tests/store/mutation.rs` does the same for the journal's files.
//!
//! bolero draws the inputs. Each target reads them as choices (`fuzz/input.rs`) of a valid example and its change, so
//! that changes pass the first checks. A run is short. For a longer one use `BOLERO_RANDOM_ITERATIONS=1000000 cargo
//! test --test fuzz <name>`. A failure prints its seed. Earlier findings are stored in `fuzz/__fuzz__/<target>/corpus`
//! and run first.
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
