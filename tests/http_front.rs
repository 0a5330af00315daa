//! The edge from outside, over real sockets: what is true of every answer, and the stream. The engine is not here;
//! routes of the test stand in for it.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

#[path = "http_edge/anywhere.rs"]
mod common_errors;
#[path = "contract/conformance.rs"]
mod conformance;
#[path = "http_edge/free_routes.rs"]
mod free_routes;
#[path = "http_edge/front.rs"]
mod every_response;
#[path = "contract/ladder.rs"]
mod ladder;
#[path = "http_edge/leaving.rs"]
mod leaving;
#[path = "http_edge/limits.rs"]
mod limits;
#[path = "http_edge/memory.rs"]
mod memory_store;
#[path = "http_edge/precedence.rs"]
mod precedence;
#[path = "http_edge/stream.rs"]
mod stream;
#[path = "http_edge/watching.rs"]
mod stream_limits;
#[path = "http_edge/world.rs"]
mod harness;
