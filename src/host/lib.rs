//! What the process has of its machine: time and randomness, files that only its owner reads, connections to others,
//! and the types of values that must not leave its memory in print. Knows no product, no route and no chain.

pub mod outbound;
pub mod private_file;
pub mod secret;
pub mod system;
