//! The store as its callers see it, on files and on a simulated disk.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod conformance;
mod codec;
mod stats;
mod cursors;
mod forgery;
mod permissions;
mod mutation;
mod reads;
mod rebuild;
mod recovery;
mod simulation;
mod suite;
