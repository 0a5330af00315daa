//! The engine.

pub mod id;
pub mod money;
pub mod port;
