//! The store as its callers see it, on files and on a simulated disk.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod behaviour;
mod codec;
mod counting;
mod cursors;
mod forgery;
mod modes;
mod mutation;
mod reads;
mod rebuild;
mod recovery;
mod simulation;
mod suite;
