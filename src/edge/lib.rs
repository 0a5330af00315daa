//! What all routes share: sockets, the front around the routes, errors, callers, strict parameters, limits.
//!
//! `server` (sockets) → `front` (common to all requests) → the routes, which are not here. Every error is an
//! [`error::ApiError`], and the front writes its body. Knows no product, no payment and no engine.

pub mod auth;
mod connection_timer;
mod deprecation;
pub mod error;
mod forwarded;
pub mod front;
pub mod headers;
pub mod json;
mod parse_error;
pub mod query;
pub mod rate_limit;
pub mod request_id;
pub mod request_metrics;
pub mod server;
