//! Banking: account owners as customers of a bank, and their accounts there.
//!
//! An account owner creates a [`profile`], which opens an [`application`]. Once the bank approves it, [`account`]s are
//! opened, and [`transfer`]s move money between them and the owner's balance. Payments and prices are not involved: the
//! bank is a port, and its transfers go through the balance.

pub mod account;
pub mod application;
pub mod profile;
pub mod transfer;
