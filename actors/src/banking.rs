//! Banking: who an account's holder is towards a bank, and what the bank then keeps for them.
//!
//! A holder makes a [`profile`]. No payment and no price is in any of this: the bank is a port, and money that it moves goes
//! through the account's balance.

pub mod profile;
