//! x402 facilitators as a way to settle: they send what is signed, so that no gas key is needed. What moved is read from the chain
//! by the network's own port, over a read-only list of RPC endpoints.
//!
//! `client` speaks the protocol (x402 version 2: `/supported`, `/verify`, `/settle`), `answer` says what a response means,
//! [`List`] holds a network's facilitators in the operator's order, and [`Facilitated`] is the settlement port over all of it.

mod answer;
mod cdp;
mod check;
mod client;
mod health;
mod list;
mod port;
mod reader;
mod reasons;
mod rows;
mod settings;
mod submitting;
mod tally;
mod wire;

pub use self::cdp::{CdpKey, NoKey};
pub use self::check::FacilitatorCheck;
pub use self::list::List;
pub use self::port::{Facilitated, Waiting};
pub use self::reader::{ChainReader, Look};
pub use self::settings::{Auth, FacilitatorSettings};
pub use self::tally::{FacilitatorFigures, RequestFigure};
pub use self::wire::Chain as Presented;
pub(super) use self::wire::{on_base, on_solana};

#[cfg(test)]
mod tests;
