//! Purser.
