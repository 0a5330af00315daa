//! The USDC token of an offer, and its chain.

use purser_actors::id::Network;

use crate::payment::chains::{BaseChain, Chains, SolanaChain};
use crate::payment::evm::parse_address;
use crate::payment::solana::address::{Pubkey, parse as parse_pubkey};

/// A token of a chain of the Base family.
#[derive(Clone, Copy, Debug)]
pub(super) struct BaseToken {
    pub(super) chain_id: u64,
    pub(super) asset: [u8; 20],
}

/// The USDC of an offer, on the chain of its offer.
#[derive(Clone, Copy, Debug)]
pub(super) enum OfferedToken {
    Base(BaseToken),
    Solana { mint: Pubkey },
}

impl OfferedToken {
    /// On the chains of this process.
    pub(super) fn configured(network: &str, asset: &str) -> Option<Self> {
        let chains = Chains::configured();
        let token = Self::anywhere(network, asset)?;
        let is_ours = match token {
            Self::Base(token) => network == chains.base.caip2 && token.asset == chains.base.token.asset,
            Self::Solana { mint } => network == chains.solana.caip2 && mint == chains.solana.mint,
        };
        is_ours.then_some(token)
    }

    /// On any chain of the two families. A signature for one of them, such as a test network, is valid on no other.
    pub(super) fn anywhere(network: &str, asset: &str) -> Option<Self> {
        match network.split_once(':')? {
            ("eip155", chain_id) => Some(Self::Base(BaseToken {
                chain_id: chain_id.parse().ok()?,
                asset: parse_address(asset)?,
            })),
            ("solana", _) => Some(Self::Solana {
                mint: parse_pubkey(asset)?,
            }),
            _ => None,
        }
    }

    /// Whether it is Circle's USDC of mainnet or of the test network, or that of this process.
    pub(super) fn is_usdc(&self) -> bool {
        let own = Chains::configured();
        match self {
            Self::Base(token) => {
                let known = [own.base, BaseChain::MAINNET, BaseChain::SEPOLIA];
                known.iter().any(|chain| chain.token.asset == token.asset)
            }
            Self::Solana { mint } => {
                let known = [own.solana, SolanaChain::MAINNET, SolanaChain::DEVNET];
                known.iter().any(|chain| chain.mint == *mint)
            }
        }
    }

    pub(super) const fn network(&self) -> Network {
        match self {
            Self::Base(_) => Network::Base,
            Self::Solana { .. } => Network::Solana,
        }
    }
}
