//! Settlement through x402 facilitators: they send the signed payments, so that no gas key is needed. The network's own
//! port reads the transfers from the chain, over a read-only list of RPC endpoints.
//!
//! `client` implements the protocol (x402 version 2: `/supported`, `/verify`, `/settle`), and `response` interprets the
//! responses. [`FacilitatorList`] contains a network's facilitators in the operator's order. [`FacilitatedSettlement`]
//! is the settlement port over all of them.

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
