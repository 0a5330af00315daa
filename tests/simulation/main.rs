//! The real engine, journal and recovery on one thread from one seed: simulated time, disk, chains, issuer, clients and
//! deaths. ARCHITECTURE.md says what is checked.
//!
//! `PURSER_SIM_SEEDS` sets the number of fresh seeds, `PURSER_SIM_FIRST` the first of them, `PURSER_SIM_SEED` replays one and
//! tells its story, `PURSER_SIM_BUG` hunts one planted bug alone, `PURSER_SIM_WRITE` writes `RESULTS.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test")]

mod agents;
mod answers;
mod bank_applications;
mod bank;
mod boot;
mod bridge;
mod chain;
mod checks;
mod clients;
mod withdrawal_operators;
mod order_operators;
mod endpoints;
mod fault_plan;
mod regressions;
mod products;
#[cfg(debug_assertions)]
mod mutants;
mod keys;
mod run;
mod limits;
mod card_balances;
mod providers;
mod outages;
mod own;
mod account_steps;
mod recipients;
mod identity;
mod plan;
mod mutant_switch;
mod reloadable_cards;
mod payouts;
mod reconciliation;
mod restores;
mod results;
mod seeds;
mod seller;
mod reference_store;
mod minimize;
mod store;
mod top_ups;
mod subscribers;
mod withdrawals;
mod environment;
