//! The engine on a store in memory, with the outside scripted.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/lib.rs"]
mod support;

mod admission;
mod adopted;
mod banking;
mod challenges;
mod crashes;
mod credits;
mod declined_unsent;
mod deliveries;
mod departures;
mod durability;
mod figures;
mod finality;
mod gate;
mod gift_cards;
mod identified;
mod identity;
mod incoming;
mod intl_orders;
mod late_returns;
mod lists;
mod lost_orders;
mod managed;
mod operating;
mod paid_call;
mod payouts;
mod people;
mod prepaid;
mod program;
mod program_restored;
mod reconciliation;
mod refunded_cards;
mod remembered;
mod restored;
mod reversals;
mod shells;
mod spends;
mod taken_back;
mod timers;
mod top_ups;
mod webhooks;
mod webhooks_apart;
mod withdrawals;
