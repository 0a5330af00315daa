//! One rule a case: a good payment with one thing wrong, and the reason it is refused for.

mod chains;
mod echo;
mod evm;
mod header;
mod mpp;
mod mpp_fields;
mod solana;
