//! Both ports behind the service's traits.

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{BoxFuture, ChainMovement, ErrorKind, PortError, Timestamp};
use purser_chains::solana::status::Commitment;

use crate::payment::solana::address::Pubkey;
use crate::settlement::chain::{Blockhash, BlockhashSource, ChainTime, FeePayers, Holdings, Listed, TransferList};
use crate::settlement::evm::{BaseSettlement, Kept};
use crate::settlement::facilitator::List;
use crate::settlement::solana::SolanaSettlement;

/// A caller has asked the port of the other network.
fn misdirected(operation: &'static str) -> PortError {
    PortError {
        kind: ErrorKind::Permanent,
        operation,
        message: "this port is of another network".into(),
    }
}

impl Holdings for BaseSettlement {
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> BoxFuture<'a, Result<Usdc, PortError>> {
        Box::pin(async move {
            match wallet {
                Wallet::Evm(address) => Self::holds(self, *address).await,
                Wallet::Solana(_) => Err(misdirected("holds")),
            }
        })
    }
}

impl ChainTime for BaseSettlement {
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError> {
        match network {
            Network::Base => self.newest_time("now"),
            Network::Solana => Err(misdirected("now")),
        }
    }
}

impl TransferList for BaseSettlement {
    fn listed(&self, network: Network, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, PortError>> {
        Box::pin(async move {
            if network != Network::Base {
                return Err(misdirected("listed"));
            }
            let kept = self.kept(after, limit).await?;
            Ok(kept.into_iter().map(listed_on_base).collect())
        })
    }
}

fn listed_on_base(kept: Kept) -> Listed {
    Listed {
        position: kept.position,
        transaction: kept.transaction,
        index: kept.index,
        from: Wallet::Evm(kept.from),
        to: Wallet::Evm(kept.to),
        amount: kept.amount,
        at: kept.at,
        dropped: kept.dropped,
        mark: Some(kept.mark),
    }
}

impl Holdings for SolanaSettlement {
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> BoxFuture<'a, Result<Usdc, PortError>> {
        Box::pin(async move {
            match wallet {
                Wallet::Solana(owner) => self.holds_of(owner, Commitment::Confirmed).await,
                Wallet::Evm(_) => Err(misdirected("holds")),
            }
        })
    }
}

impl ChainTime for SolanaSettlement {
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError> {
        match network {
            Network::Solana => self.chain_time(),
            Network::Base => Err(misdirected("now")),
        }
    }
}

impl TransferList for SolanaSettlement {
    fn listed(&self, network: Network, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, PortError>> {
        Box::pin(async move {
            if network != Network::Solana {
                return Err(misdirected("listed"));
            }
            self.if_up_to_date("listed")?;
            if after == 0 {
                // Payments may be final by their status before the follower has come to them.
                self.catch_up().await?;
            }
            let moved = self.movements_after(after, limit).await?;
            if moved.is_empty() {
                return self.left_wallets_after(after, limit).await;
            }
            let treasury = Wallet::Solana(self.treasury());
            Ok(moved
                .into_iter()
                .map(|(position, moved)| listed_on_solana(position, moved, treasury))
                .collect())
        })
    }
}

/// Only what is final is listed, so that nothing is removed again.
fn listed_on_solana(position: u64, moved: ChainMovement, treasury: Wallet) -> Listed {
    let (from, to) = match moved.incoming {
        true => (moved.other, treasury),
        false => (treasury, moved.other),
    };
    Listed {
        position,
        transaction: moved.transaction,
        index: moved.index,
        from,
        to,
        amount: moved.amount,
        at: moved.at,
        dropped: false,
        mark: Some(moved.mark),
    }
}

impl BlockhashSource for SolanaSettlement {
    fn newest(&self) -> Option<Blockhash> {
        let (newest, age_ms) = self.recent_blockhash()?;
        Some(Blockhash {
            hash: newest.hash,
            last_valid_block_height: newest.last_valid_block_height,
            age_ms,
        })
    }
}

/// Our own fee payers first; facilitators' where there are none, or while none of ours can pay.
pub(super) struct OwnAndOthers {
    pub(super) own: Arc<SolanaSettlement>,
    pub(super) facilitators: Option<Arc<List>>,
}

impl FeePayers for OwnAndOthers {
    fn all(&self) -> Arc<[Pubkey]> {
        let (own, others) = (self.own.fee_payers(), self.facilitators.as_ref());
        let Some(others) = others.map(|list| list.fee_payers()) else {
            return own.into();
        };
        match own.is_empty() {
            true => others,
            false => [own, &others].concat().into(),
        }
    }

    fn choose(&self) -> Option<Pubkey> {
        // While each of ours is below its floor a payment is declined by `prepare`, whichever is named.
        let first = || self.own.fee_payers().first().copied();
        let others = || self.facilitators.as_ref().and_then(|list| list.fee_payer());
        self.own.choose_fee_payer().or_else(others).or_else(first)
    }
}
