//! The whole engine on one thread from one seed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

mod planted;
