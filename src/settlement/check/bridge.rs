//! What the built-in bridge needs of both chains, while top-ups go over it.

use std::sync::Arc;

use purser_actors::port::BoxFuture;
use purser_chains::cctp::{MESSAGE_TRANSMITTER, TOKEN_MESSENGER_MINTER};
use purser_chains::evm::node::Node as BaseNode;
use purser_chains::rpc::RpcPool;
use purser_chains::solana::node::Node as SolanaNode;
use purser_chains::solana::status::Commitment;

use super::{ChainCheck, rejected};
use crate::config::ConfigError;
use crate::payment::evm::checksummed;
use crate::payment::solana::address::base58;
use crate::settlement::settings::{BridgeParts, evm_address};

/// Circle's contracts on Base and programs on Solana are there.
pub struct BridgeCheck {
    parts: BridgeParts,
    base: BaseNode,
    solana: SolanaNode,
}

impl BridgeCheck {
    /// Over the endpoints of both chains.
    pub const fn new(parts: BridgeParts, base: Arc<RpcPool>, solana: Arc<RpcPool>) -> Self {
        Self {
            parts,
            base: BaseNode::new(base),
            solana: SolanaNode::new(solana),
        }
    }

    async fn contracts(&self) -> Vec<ConfigError> {
        let deployment = &self.parts.cctp.deployment;
        let contracts = [
            ("chains.bridge.message_transmitter", deployment.message_transmitter),
            ("chains.bridge.token_messenger", deployment.token_messenger),
        ];
        let addresses = contracts.map(|(_, address)| evm_address(address));
        let code = match self.base.have_code(&addresses).await {
            Ok(code) => code,
            Err(error) => return vec![rejected("chains.base.endpoints", error.to_string())],
        };
        let without = contracts.into_iter().zip(code).filter(|(_, has_code)| !has_code);
        let wrong = without.map(|((key, address), _)| {
            let address = checksummed(&address);
            rejected(
                key,
                format!("{address} has no code on this chain: no top-up could be minted"),
            )
        });
        wrong.collect()
    }

    async fn programs(&self) -> Vec<ConfigError> {
        let programs = [MESSAGE_TRANSMITTER, TOKEN_MESSENGER_MINTER];
        let found = match self.solana.accounts(&programs, Commitment::Confirmed).await {
            Ok((_, found)) => found,
            Err(error) => return vec![rejected("chains.solana.endpoints", error.to_string())],
        };
        let missing = programs
            .iter()
            .zip(found)
            .filter(|(_, account)| !account.as_ref().is_some_and(|account| account.executable));
        let wrong = missing.map(|(program, _)| {
            let why = format!(
                "the chain has no program {}: Solana's side of the bridge is missing. Set providers.bridge.url, or \
                 products.card_balance.available = false",
                base58(program)
            );
            rejected("chains.solana.network", why)
        });
        wrong.collect()
    }
}

impl ChainCheck for BridgeCheck {
    fn check(&self) -> BoxFuture<'_, Vec<ConfigError>> {
        Box::pin(async move {
            if !self.parts.used {
                return Vec::new();
            }
            let (mut wrong, programs) = futures_util::future::join(self.contracts(), self.programs()).await;
            wrong.extend(programs);
            wrong
        })
    }
}
