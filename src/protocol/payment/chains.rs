//! Ids, names and tokens of the supported chains. A process uses one pair of them from start to end.

use std::sync::OnceLock;

use purser_actors::id::Network;

use super::solana::address::{Pubkey, constant};
use super::terms::{SOLANA_USDC, Token};

/// A chain of the Base family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseChain {
    /// CAIP-2: `eip155:` and the chain id.
    pub caip2: &'static str,
    /// Name in x402 v1; empty for none.
    pub v1_name: &'static str,
    /// USDC on the chain, with the chain id (EIP-155).
    pub token: Token,
}

/// A chain of the Solana family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolanaChain {
    /// CAIP-2: `solana:` and the first 32 characters of the genesis hash.
    pub caip2: &'static str,
    /// Name in x402 v1; empty for none.
    pub v1_name: &'static str,
    /// Base58 of the first block's hash: `getGenesisHash`.
    pub genesis_hash: &'static str,
    /// Mint of USDC.
    pub mint: Pubkey,
}

impl BaseChain {
    pub const MAINNET: Self = Self {
        caip2: "eip155:8453",
        v1_name: "base",
        token: Token::USDC,
    };
    pub const SEPOLIA: Self = Self {
        caip2: "eip155:84532",
        v1_name: "base-sepolia",
        token: Token::SEPOLIA,
    };
    /// The sandbox's chain: named like mainnet, with test money that is worthless there.
    pub const SANDBOX: Self = Self {
        token: Token::SANDBOX,
        ..Self::MAINNET
    };
}

impl SolanaChain {
    pub const MAINNET: Self = Self {
        caip2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
        v1_name: "solana",
        genesis_hash: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
        mint: SOLANA_USDC,
    };
    pub const DEVNET: Self = Self {
        caip2: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
        v1_name: "solana-devnet",
        genesis_hash: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
        mint: constant(b"4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"),
    };
}

/// One chain of each family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chains {
    pub base: BaseChain,
    pub solana: SolanaChain,
}

static CONFIGURED: OnceLock<Chains> = OnceLock::new();

impl Chains {
    pub const MAINNET: Self = Self {
        base: BaseChain::MAINNET,
        solana: SolanaChain::MAINNET,
    };

    /// The chains of this process: mainnet's names unless [`Chains::configure`] was called.
    pub fn configured() -> &'static Self {
        CONFIGURED.get_or_init(|| Self::MAINNET)
    }

    /// Sets the chains of this process. Call it before anything else is built: names, ids and signatures depend on
    /// them.
    ///
    /// # Errors
    /// The names of the pair that is already set, if it differs.
    pub fn configure(self) -> Result<(), [&'static str; 2]> {
        let now = CONFIGURED.get_or_init(|| self);
        let same = *now == self && Network::name_chains([self.base.caip2, self.solana.caip2]);
        same.then_some(()).ok_or([now.base.caip2, now.solana.caip2])
    }

    pub const fn caip2(&self, network: Network) -> &'static str {
        match network {
            Network::Base => self.base.caip2,
            Network::Solana => self.solana.caip2,
        }
    }

    /// The network of an x402 v1 client: by the chain's v1 name or its CAIP-2 name.
    pub fn of_v1(&self, name: &str) -> Option<Network> {
        let is = |v1: &str, caip2: &str| !name.is_empty() && (name == v1 || name == caip2);
        if is(self.base.v1_name, self.base.caip2) {
            return Some(Network::Base);
        }
        is(self.solana.v1_name, self.solana.caip2).then_some(Network::Solana)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment::solana::address::base58;

    // CAIP-2 (chain-agnostic.org): eip155 is the chain id in decimal, solana 32 characters of the genesis hash.
    #[test]
    fn names_follow_from_chain_id_and_genesis_hash() {
        for base in [BaseChain::MAINNET, BaseChain::SEPOLIA, BaseChain::SANDBOX] {
            assert_eq!(base.caip2, format!("eip155:{}", base.token.chain_id));
        }
        for solana in [SolanaChain::MAINNET, SolanaChain::DEVNET] {
            assert_eq!(solana.caip2, format!("solana:{}", &solana.genesis_hash[..32]));
        }
        assert_eq!(
            base58(&SolanaChain::DEVNET.mint),
            "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"
        );
    }

    // A signature for one of the tokens must be worthless for another.
    #[test]
    fn no_two_tokens_share_a_domain() {
        let tokens = [Token::USDC, Token::SEPOLIA, Token::SANDBOX];
        for (index, token) in tokens.iter().enumerate() {
            for other in &tokens[..index] {
                assert_ne!(token.domain(), other.domain(), "{} {}", token.name, other.name);
                assert_ne!(token.mpp_domain(), other.mpp_domain(), "{} {}", token.name, other.name);
            }
        }
    }

    #[test]
    fn a_v1_client_names_the_chain_that_is_in_effect() {
        let test = Chains {
            base: BaseChain::SEPOLIA,
            solana: SolanaChain::DEVNET,
        };
        assert_eq!(test.of_v1("base-sepolia"), Some(Network::Base));
        assert_eq!(test.of_v1("eip155:84532"), Some(Network::Base));
        assert_eq!(test.of_v1("solana-devnet"), Some(Network::Solana));
        for other in ["base", "eip155:8453", "solana", ""] {
            assert_eq!(test.of_v1(other), None, "{other}");
        }
        assert_eq!(Chains::MAINNET.of_v1("base"), Some(Network::Base));
        assert_eq!(Chains::MAINNET.of_v1(SolanaChain::MAINNET.caip2), Some(Network::Solana));
    }

    // Changing the names while running would make ids and signatures inconsistent.
    #[test]
    fn one_pair_is_in_effect() {
        assert_eq!(*Chains::configured(), Chains::MAINNET);
        let test = Chains {
            base: BaseChain::SEPOLIA,
            ..Chains::MAINNET
        };
        assert_eq!(test.configure(), Err(["eip155:8453", SolanaChain::MAINNET.caip2]));
        assert_eq!(Network::Base.caip2(), "eip155:8453");
    }
}
