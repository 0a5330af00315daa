//! The process's access to its machine: time and randomness, files that only their owner can read, outgoing connections,
//! and types for values that must never be printed. Knows no product, no route and no chain.

pub mod outbound;
pub mod private_file;
pub mod secret;
pub mod system;
