//! The sandbox's chains behind the traits of [`purser_settlement::chain`].

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{EvmAuthorization, PortError, PortFuture, Timestamp};

use super::svm::SLOT_MS;
use super::{SandboxSettlement, SandboxTransfer, evm, temporary};
use crate::keys::treasury;
use purser_protocol::payment::solana::address::Pubkey;
use purser_protocol::payment::{BaseChain, Chains, SolanaChain};
use purser_settlement::chain::{
    Acceptance, Blockhash, BlockhashSource, ChainParts, ChainTime, ContractWallets, FeePayers, Holdings,
    ListedTransfer, OwnWallets, TransferList,
};

impl SandboxSettlement {
    /// Both chains as the service uses them.
    pub fn parts(self: Arc<Self>) -> ChainParts {
        ChainParts {
            settlement: self.clone(),
            treasury: self.clone(),
            holdings: self.clone(),
            blockhashes: self.clone(),
            time: self.clone(),
            transfers: self.clone(),
            fee_payers: self.clone(),
            own_wallets: self.clone(),
            contract_wallets: self.clone(),
            names: Chains {
                base: BaseChain::SANDBOX,
                solana: SolanaChain::MAINNET,
            },
            base_treasury: treasury(Network::Base),
            solana_treasury: treasury(Network::Solana),
        }
    }
}

impl Holdings for SandboxSettlement {
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> PortFuture<'a, Usdc> {
        Box::pin(async move {
            let holds = self.balance(wallet).await;
            holds.map_err(|error| temporary("balance", &error.to_string()))
        })
    }
}

impl BlockhashSource for SandboxSettlement {
    fn newest(&self) -> Option<Blockhash> {
        let slot = self.clock.now().0 / SLOT_MS;
        let mut newest = self.newest.lock();
        if let Some((at, blockhash)) = *newest
            && at == slot
        {
            return Some(blockhash);
        }
        let (hash, last_valid_block_height) = self.solana.latest_blockhash();
        let blockhash = Blockhash {
            hash,
            last_valid_block_height,
            not_before_slot: 0,
            age_ms: 0,
        };
        *newest = Some((slot, blockhash));
        Some(blockhash)
    }
}

impl ChainTime for SandboxSettlement {
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError> {
        Ok(self.chain_time(network))
    }
}

impl TransferList for SandboxSettlement {
    fn transfers_after(&self, network: Network, after: u64, limit: usize) -> PortFuture<'_, Vec<ListedTransfer>> {
        Box::pin(async move {
            let seen = self.transfers(network, after, limit).await;
            let seen = seen.map_err(|error| temporary("transfers", &error.to_string()))?;
            seen.into_iter().map(listed).collect()
        })
    }
}

fn listed(seen: SandboxTransfer) -> Result<ListedTransfer, PortError> {
    let wallet = |text: &str| {
        let wallet = text.parse::<Wallet>();
        wallet.map_err(|_| temporary("transfers", &format!("{text} is no address")))
    };
    Ok(ListedTransfer {
        position: seen.position,
        index: seen.index,
        from: wallet(&seen.from)?,
        to: wallet(&seen.to)?,
        amount: Usdc::from_atomic(seen.amount),
        at: Timestamp(seen.at),
        reorged: seen.reorged,
        mark: None,
        transaction: seen.id,
    })
}

impl FeePayers for SandboxSettlement {
    fn all(&self) -> Arc<[Pubkey]> {
        self.fee_payers.all()
    }

    fn choose(&self) -> Option<Pubkey> {
        self.fee_payers.choose()
    }
}

impl ContractWallets for SandboxSettlement {
    fn accepts<'a>(&'a self, signed: &'a EvmAuthorization) -> PortFuture<'a, Acceptance> {
        let reached = self.base.check_reachable("accepts", &Wallet::Evm(signed.from));
        Box::pin(std::future::ready(reached.map(|()| evm::acceptance(signed))))
    }
}

impl OwnWallets for SandboxSettlement {
    /// The sandbox's chains store every transfer.
    fn track(&self, _: &Wallet) {}
}
