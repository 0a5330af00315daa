//! The edge from outside, over real sockets: what is true of every answer, and the stream. The engine is not here;
//! routes of the test replace it.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

#[path = "http_front/common_errors.rs"]
mod common_errors;
#[path = "contract/conformance.rs"]
mod conformance;
#[path = "http_front/every_response.rs"]
mod every_response;
#[path = "http_front/free_routes.rs"]
mod free_routes;
#[path = "http_front/harness.rs"]
mod harness;
#[path = "http_front/limits.rs"]
mod limits;
#[path = "http_front/memory_store.rs"]
mod memory_store;
#[path = "http_front/precedence.rs"]
mod precedence;
#[path = "contract/precedence_table.rs"]
mod precedence_table;
#[path = "http_front/stream.rs"]
mod stream;
#[path = "http_front/stream_closing.rs"]
mod stream_closing;
#[path = "http_front/stream_limits.rs"]
mod stream_limits;
