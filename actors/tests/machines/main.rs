//! The pure parts: state machines, money, names, views. No runtime, no store.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accounts;
mod amounts;
mod api_keys;
mod bank_transfers;
mod banking;
mod books;
mod card_withdrawals;
mod cards;
mod charts;
mod gift_cards;
mod intl_orders;
mod late_returns;
mod names;
mod payments;
mod payouts;
mod people;
mod recipients;
mod reconciliation;
mod reloadables;
mod sample;
mod sessions;
mod spends;
mod top_ups;
mod webhooks;
mod withdrawals;
