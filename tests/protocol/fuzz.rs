//! Mutated input for every parser that reads data from strangers or from a corrupt disk. Accepted input keeps its
//! meaning, and the rest is rejected. `storage/tests/store/mutation.rs` does the same for the journal's files.
//!
//! bolero draws the inputs. Each target reads them as choices (`input.rs`) of a valid example and its change, so
//! that changes pass the first checks. A run is short. For a longer one use `BOLERO_RANDOM_ITERATIONS=1000000 cargo
//! test --test protocol <name>`. A failure prints its seed. Earlier findings are stored in `fuzz/__fuzz__/<target>/corpus`
//! and run first.

mod mpp;
mod payments;
mod queries;
mod records;
mod settings;
mod sign_in;
mod signatures;
mod stream;
mod tokens;
mod transactions;
