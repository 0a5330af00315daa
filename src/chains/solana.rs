//! Solana.
