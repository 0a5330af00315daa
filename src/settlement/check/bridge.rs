//! Requirements of the built-in bridge on both chains, if top-ups use it.

use std::sync::Arc;

use purser_actors::port::BoxFuture;
use purser_chains::cctp::{Deployment, MESSAGE_TRANSMITTER, TOKEN_MESSENGER_MINTER};
use purser_chains::evm::Address;
use purser_chains::evm::node::Node as BaseNode;
use purser_chains::rpc::RpcPool;
use purser_chains::solana::node::Node as SolanaNode;
use purser_chains::solana::status::Commitment;

use super::{ChainCheck, ENDPOINTS, Findings, rejected};
use purser_protocol::payment::evm::checksummed;
use purser_protocol::payment::solana::address::base58;

/// Checks that Circle's contracts are on Base.
pub struct BaseBridgeCheck {
    deployment: Deployment,
    node: BaseNode,
}

impl BaseBridgeCheck {
    /// Creates the check for the endpoints of Base.
    pub const fn new(deployment: Deployment, base: Arc<RpcPool>) -> Self {
        Self {
            deployment,
            node: BaseNode::new(base),
        }
    }

    async fn contracts(&self) -> Findings {
        let contracts = [
            ("chains.bridge.message_transmitter", self.deployment.message_transmitter),
            ("chains.bridge.token_messenger", self.deployment.token_messenger),
        ];
        let addresses = contracts.map(|(_, address)| Address::new(address));
        let code = match self.node.have_code(&addresses).await {
            Ok(code) => code,
            Err(error) => return Findings::from_unreachable(ENDPOINTS, error.to_string()),
        };
        let without = contracts.into_iter().zip(code).filter(|(_, has_code)| !has_code);
        let wrong = without.map(|((key, address), _)| {
            let address = checksummed(&address);
            rejected(
                key,
                format!("{address} has no code on this chain: no top-up could be minted"),
            )
        });
        Findings::from_mismatches(wrong.collect())
    }
}

impl ChainCheck for BaseBridgeCheck {
    fn check(&self) -> BoxFuture<'_, Findings> {
        Box::pin(self.contracts())
    }
}

/// Checks that Circle's programs are on Solana.
pub struct SolanaBridgeCheck(SolanaNode);

impl SolanaBridgeCheck {
    /// Creates the check for the endpoints of Solana.
    pub const fn new(solana: Arc<RpcPool>) -> Self {
        Self(SolanaNode::new(solana))
    }

    async fn programs(&self) -> Findings {
        let programs = [MESSAGE_TRANSMITTER, TOKEN_MESSENGER_MINTER];
        let found = match self.0.accounts(&programs, Commitment::Confirmed).await {
            Ok((_, found)) => found,
            Err(error) => return Findings::from_unreachable("chains.solana.endpoints", error.to_string()),
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
        Findings::from_mismatches(wrong.collect())
    }
}

impl ChainCheck for SolanaBridgeCheck {
    fn check(&self) -> BoxFuture<'_, Findings> {
        Box::pin(self.programs())
    }
}
