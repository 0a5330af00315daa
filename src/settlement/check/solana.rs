//! Checks of Solana at start.

use std::sync::Arc;

use purser_actors::port::BoxFuture;
use purser_chains::rpc::RpcPool;
use purser_chains::solana::node::{Account, Node as SolanaNode};
use purser_chains::solana::status::Commitment;
use purser_chains::solana::token::{USDC_DECIMALS, mint_decimals};
use serde_json::Value;

use super::{ChainCheck, Findings, query_each_endpoint, rejected, underfunded};
use crate::settings::SolanaConfig;
use purser_protocol::payment::SolanaChain;
use purser_protocol::payment::solana::address::{Pubkey, TOKEN, associated_token_account, base58};

/// Checks genesis hash, token accounts and fee payers.
pub struct SolanaCheck {
    chain: SolanaChain,
    treasury: Pubkey,
    /// Fee payers in the order of the settings.
    fee_payers: Vec<Pubkey>,
    is_facilitated: bool,
    floor: u64,
    node: SolanaNode,
    pool: Arc<RpcPool>,
}

impl SolanaCheck {
    /// Creates the check for these endpoints.
    pub fn new(parts: &SolanaConfig, pool: Arc<RpcPool>) -> Self {
        Self {
            chain: parts.chain,
            treasury: parts.treasury.address(),
            fee_payers: parts.fee_payers.iter().map(|key| key.address()).collect(),
            is_facilitated: !parts.facilitators.is_empty(),
            floor: parts.fee_payer_floor,
            node: SolanaNode::new(pool.clone()),
            pool,
        }
    }

    async fn genesis(&self) -> Findings {
        let ours = self.chain.genesis_hash;
        let hash = |value: Value| value.as_str().map(str::to_owned).ok_or_else(|| "not a hash".to_owned());
        query_each_endpoint("chains.solana.endpoints", &self.pool, "getGenesisHash", hash, |hash| {
            (hash != ours).then(|| format!("has the genesis hash {hash}, and chains.solana means {ours}"))
        })
        .await
    }

    async fn accounts(&self) -> Findings {
        let Some(paid) = associated_token_account(&self.treasury, &self.chain.mint) else {
            let why = "has no address for its token account";
            return Findings::from_mismatches(vec![rejected("payment.pay_to.solana", why)]);
        };
        let mut addresses = vec![self.chain.mint, paid];
        addresses.extend(&self.fee_payers);
        let found = match self.node.accounts(&addresses, Commitment::Confirmed).await {
            Ok((_, found)) => found,
            Err(error) => return Findings::from_unreachable("chains.solana.endpoints", error.to_string()),
        };
        let mut wrong = Vec::new();
        let mut found = found.into_iter();
        if !found.next().flatten().is_some_and(|mint| is_usdc(&mint)) {
            let why = format!(
                "{} is not an SPL Token mint with {USDC_DECIMALS} decimals",
                base58(&self.chain.mint)
            );
            wrong.push(rejected("chains.solana.usdc_mint", why));
        }
        match found.next().flatten().and_then(|account| account.token_account()) {
            None => {
                let why = format!(
                    "{} has no token account for USDC ({}): create it, it is where payments go",
                    base58(&self.treasury),
                    base58(&paid)
                );
                wrong.push(rejected("payment.pay_to.solana", why));
            }
            Some(account) if account.owner != self.treasury || account.mint != self.chain.mint => {
                wrong.push(rejected(
                    "payment.pay_to.solana",
                    format!("{} is not its token account", base58(&paid)),
                ));
            }
            Some(account) if account.frozen => {
                let why = format!("its token account {} is frozen", base58(&paid));
                wrong.push(rejected("payment.pay_to.solana", why));
            }
            Some(_) => {}
        }
        for (n, (payer, account)) in self.fee_payers.iter().zip(found).enumerate() {
            let has = account.map_or(0, |account| account.lamports);
            if has < self.floor {
                let (payer, floor) = (base58(payer), self.floor);
                let why = format!("{payer} has {has} lamports, and chains.solana.fee_payer_floor_lamports is {floor}");
                wrong.extend(underfunded(
                    self.is_facilitated,
                    format!("chains.solana.fee_payers[{n}]"),
                    why,
                ));
            }
        }
        Findings::from_mismatches(wrong)
    }

    async fn all(&self) -> Findings {
        let genesis = self.genesis().await;
        match genesis.is_empty() {
            true => self.accounts().await,
            false => genesis,
        }
    }
}

impl ChainCheck for SolanaCheck {
    fn check(&self) -> BoxFuture<'_, Findings> {
        Box::pin(self.all())
    }
}

fn is_usdc(account: &Account) -> bool {
    account.owner == TOKEN && mint_decimals(&account.data) == Some(USDC_DECIMALS)
}
