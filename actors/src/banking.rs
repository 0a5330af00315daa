//! Banking: who an account's holder is towards a bank, and what the bank then keeps for them.
//!
//! A holder makes a [`profile`], which opens an [`application`]; once the bank approves it, [`account`]s are opened, and
//! [`transfer`]s move money between those and the holder's balance. No payment and no price is in any of this: the bank is
//! a port, and what it moves goes through the balance.

pub mod account;
pub mod application;
pub mod profile;
pub mod transfer;
