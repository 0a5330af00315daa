//! The whole service from outside: the real binary on a data directory of its own, stock wallets, HTTP.
//!
//! Kill loop: `cargo test --test service kill_loop`. It kills the service six times; with `CI=true` 60 times, and
//! `PURSER_KILLS=1000 cargo test --test service kill_loop -- --nocapture` kills it a thousand times.
//! `PURSER_SEED=<the number it printed>` repeats the same wallets, amounts and pauses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod agent;
mod answers;
mod cases_access;
mod cases_admin;
mod cases_agent_wallet;
mod cases_api_keys;
mod cases_app_payments;
mod cases_banking;
mod cases_banking_money;
mod cases_card_withdrawal;
mod cases_catalogs;
mod cases_countries;
mod cases_developer;
mod cases_documents;
mod cases_elsewhere;
mod cases_elsewhere_money;
mod cases_faults;
mod cases_forged;
mod cases_frozen;
mod cases_gift_cards;
mod cases_gift_quotes;
mod cases_idempotency;
mod cases_intl;
mod cases_kept;
mod cases_life;
mod cases_maker_faults;
mod cases_metrics;
mod cases_mpp;
mod cases_payment;
mod cases_payouts;
mod cases_people;
mod cases_rails;
mod cases_reconciliation;
mod cases_refresh;
mod cases_reloadable;
mod cases_replay;
mod cases_restore;
mod cases_sandbox;
mod cases_secrets;
mod cases_secrets_desk;
mod cases_signup;
mod cases_steps;
mod cases_stream;
mod cases_top_up;
mod cases_trace;
mod cases_two_users;
mod cases_webhooks;
mod cases_webhooks_seen;
mod cases_withdraw;
mod climb;
#[path = "../contract/conformance.rs"]
mod conformance;
mod crash;
mod crash_books;
mod crash_traffic;
mod desk;
mod elsewhere;
mod exposition;
mod host;
#[path = "../contract/ladder.rs"]
mod ladder;
mod listener;
mod mpp;
mod names;
mod owner;
mod payee;
mod person;
mod precedence;
mod precedence_agent_wallet;
mod precedence_api_keys;
mod precedence_banking;
mod precedence_banking_money;
mod precedence_identity;
mod precedence_intl;
mod precedence_money;
mod precedence_payouts;
mod precedence_reloadable;
mod precedence_top_up;
mod precedence_webhooks;
mod receiver;
mod request;
mod seller;
mod two_users;
mod verify;
mod verify_sealed;
mod wire;
