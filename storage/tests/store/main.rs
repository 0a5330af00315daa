//! The store as its callers see it, on files and on a simulated disk.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod applying;
mod codec;
mod conformance;
mod cursors;
mod forgery;
mod mutation;
mod permissions;
mod reads;
mod rebuild;
mod recovery;
mod simulation;
mod spacing;
mod stats;
mod suite;
