//! Circle's CCTP v2 from Solana to Base: the burn on Solana, the attestation by Iris, the mint on Base.
//!
//! Sources: circlefin/solana-cctp-contracts (IDL and programs of version 2), circlefin/evm-cctp-contracts, and Circle's
//! API reference. Solana fills in nonce, executed threshold, executed fee and expiration block with zeros. Iris fills
//! in the actual values, so only Iris's bytes can be used to mint.

pub mod burn;
pub mod iris;
pub mod message;
pub mod mint;

use crate::solana::address::{Pubkey, constant};

/// Domain of Solana.
pub const DOMAIN_SOLANA: u32 = 5;
/// Domain of Base and of Base Sepolia.
pub const DOMAIN_BASE: u32 = 6;

/// MessageTransmitterV2 on Solana, mainnet and devnet alike.
pub const MESSAGE_TRANSMITTER: Pubkey = constant(b"CCTPV2Sm4AdWt5296sk4P66VBZ7bEhcARwFaaS9YPbeC");
/// TokenMessengerMinterV2 on Solana, mainnet and devnet alike.
pub const TOKEN_MESSENGER_MINTER: Pubkey = constant(b"CCTPV2vPZJS2u2BBsUoscuikbYjnpFmbFsvVuJdgUMQe");

/// Finality threshold of a fast transfer: attested at `confirmed`, costs a fee.
pub const THRESHOLD_FAST: u32 = 1000;
/// Finality threshold of a standard transfer: attested at `finalized`.
pub const THRESHOLD_STANDARD: u32 = 2000;

/// Circle's contracts and API of one environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// TokenMessengerV2 on Base: recipient of burn messages.
    pub token_messenger: [u8; 20],
    /// MessageTransmitterV2 on Base: receives messages with their attestations.
    pub message_transmitter: [u8; 20],
    /// Base URL of Iris.
    pub iris: &'static str,
}

/// Solana mainnet and Base.
pub const MAINNET: Deployment = Deployment {
    token_messenger: alloy_primitives::hex!("28b5a0e9C621a5BadaA536219b3a228C8168cf5d"),
    message_transmitter: alloy_primitives::hex!("81D40F21F12A8F0E3252Bccb954D722d4c464B64"),
    iris: "https://iris-api.circle.com",
};

/// Solana devnet and Base Sepolia.
pub const TESTNET: Deployment = Deployment {
    token_messenger: alloy_primitives::hex!("8FE6B999Dc680CcFDD5Bf7EB0974218be2542DAA"),
    message_transmitter: alloy_primitives::hex!("E737e5cEBEEBa77EFE34D4aa090756590b1CE275"),
    iris: "https://iris-api-sandbox.circle.com",
};

#[cfg(test)]
mod vectors;
