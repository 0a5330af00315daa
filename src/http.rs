//! The HTTP front. Thin: it parses, asks, and renders; what it asks decides.
//!
//! `server` (sockets) → `front` (what is true of every request) → routes, one file an area. Every refusal is an
//! [`error::ApiError`] and is written by the front.

pub mod caller;
pub mod error;
pub mod front;
pub mod headers;
pub mod json;
pub mod query;
pub mod rate;
pub mod server;
mod unparsed;
