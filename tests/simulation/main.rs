//! The real engine, journal and recovery on one thread from one seed, with simulated time, disk, chains, issuer,
//! clients and crashes. ARCHITECTURE.md lists the checks.
//!
//! `PURSER_SIM_SEEDS` sets the number of fresh seeds, `PURSER_SIM_FIRST` the first of them. `PURSER_SIM_SEED` replays
//! one and prints its plan and trace. `PURSER_SIM_BUG` runs one mutant alone. `PURSER_SIM_WRITE` writes `RESULTS.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test")]

mod account_steps;
mod agents;
mod bank;
mod bank_applications;
mod boot;
mod bridge;
mod card_balances;
mod chain;
mod checks;
mod clients;
mod endpoints;
mod environment;
mod fault_plan;
mod identity;
mod keys;
mod limits;
mod mailboxes;
mod minimize;
mod mutant_switch;
#[cfg(debug_assertions)]
mod mutants;
mod order_operators;
mod outages;
mod own_purchases;
mod payment_responses;
mod payouts;
mod plan;
mod products;
mod providers;
mod recipients;
mod reconciliation;
mod reference_store;
mod regressions;
mod reloadable_cards;
mod restores;
mod results;
mod run;
mod seeds;
mod seller;
mod store;
mod subscribers;
mod top_ups;
mod withdrawal_operators;
mod withdrawals;
