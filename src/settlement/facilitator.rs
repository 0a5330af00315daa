//! x402 facilitators as a way to settle: they send what is signed, so that no gas key is needed. What moved is read from the chain
//! by the network's own port, over a read-only list of RPC endpoints.
//!
//! `client` speaks the protocol (x402 version 2: `/supported`, `/verify`, `/settle`), `answer` says what a response means,
//! [`List`] holds a network's facilitators in the operator's order, and [`Facilitated`] is the settlement port over all of it.

mod cdp;
mod check;
mod client;
mod counters;
mod health;
mod list;
mod port;
mod reader;
mod reasons;
mod response;
mod rows;
mod settings;
mod submitting;
mod wire;

pub use self::cdp::{CdpKey, InvalidKey};
pub use self::check::FacilitatorCheck;
pub use self::counters::{FacilitatorStats, RequestCount};
pub use self::list::FacilitatorList;
pub use self::port::{FacilitatedSettlement, SubmitIntervals};
pub use self::reader::{ChainReader, LookupDepth};
pub use self::settings::{Auth, FacilitatorSettings};
pub use self::wire::Chain as Presented;
pub(super) use self::wire::{base_body, solana_body};

#[cfg(test)]
mod tests;
