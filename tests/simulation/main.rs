//! The real engine, journal and recovery on one thread from one seed: simulated time, disk, chains, issuer, clients and
//! deaths. ARCHITECTURE.md says what is checked.
//!
//! `PURSER_SIM_SEEDS` sets the number of fresh seeds, `PURSER_SIM_FIRST` the first of them, `PURSER_SIM_SEED` replays one and
//! tells its story, `PURSER_SIM_BUG` hunts one planted bug alone, `PURSER_SIM_WRITE` writes `RESULTS.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test")]

mod agents;
mod answers;
mod applicants;
mod bank;
mod birth;
mod bridge;
mod chain;
mod checks;
mod clients;
mod counter;
mod desk;
mod endpoints;
mod fate;
mod found;
mod goods;
#[cfg(debug_assertions)]
mod hunt;
mod keys;
mod life;
mod limits;
mod loads;
mod makers;
mod outages;
mod own;
mod owners;
mod payees;
mod people;
mod plan;
mod planted;
mod program;
mod rails;
mod reconciled;
mod restores;
mod results;
mod seeds;
mod seller;
mod shadow;
mod shrink;
mod store;
mod top_ups;
mod watchers;
mod withdrawals;
mod world;
