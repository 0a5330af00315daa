//! Both ports as implementations of the service's traits.

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{ChainMovement, PortError, PortFuture, Timestamp};
use purser_chains::solana::status::Commitment;

use crate::chain::{Blockhash, BlockhashSource, ChainTime, FeePayers, Holdings, ListedTransfer, TransferList};
use crate::errors::permanent;
use crate::evm::{BaseSettlement, StoredTransfer};
use crate::facilitator::FacilitatorList;
use crate::solana::SolanaSettlement;
use purser_protocol::payment::solana::address::Pubkey;

/// The port of the other network was called.
fn wrong_network(operation: &'static str) -> PortError {
    permanent(operation, "this port is of another network")
}

impl Holdings for BaseSettlement {
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> PortFuture<'a, Usdc> {
        Box::pin(async move {
            match wallet {
                Wallet::Evm(address) => Self::holds(self, *address).await,
                Wallet::Solana(_) => Err(wrong_network("holds")),
            }
        })
    }
}

impl ChainTime for BaseSettlement {
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError> {
        match network {
            Network::Base => self.newest_time("now"),
            Network::Solana => Err(wrong_network("now")),
        }
    }
}

impl TransferList for BaseSettlement {
    fn transfers_after(&self, network: Network, after: u64, limit: usize) -> PortFuture<'_, Vec<ListedTransfer>> {
        Box::pin(async move {
            if network != Network::Base {
                return Err(wrong_network("listed"));
            }
            let kept = self.stored_transfers(after, limit).await?;
            Ok(kept.into_iter().map(listed_on_base).collect())
        })
    }
}

fn listed_on_base(kept: StoredTransfer) -> ListedTransfer {
    ListedTransfer {
        position: kept.position,
        transaction: kept.transaction,
        index: kept.index,
        from: Wallet::Evm(kept.from),
        to: Wallet::Evm(kept.to),
        amount: kept.amount,
        at: kept.at,
        reorged: kept.reorged,
        mark: Some(kept.mark),
    }
}

impl Holdings for SolanaSettlement {
    fn holds<'a>(&'a self, wallet: &'a Wallet) -> PortFuture<'a, Usdc> {
        Box::pin(async move {
            match wallet {
                Wallet::Solana(owner) => self.balance_of(owner, Commitment::Confirmed).await,
                Wallet::Evm(_) => Err(wrong_network("holds")),
            }
        })
    }
}

impl ChainTime for SolanaSettlement {
    fn now_on(&self, network: Network) -> Result<Timestamp, PortError> {
        match network {
            Network::Solana => self.chain_time(),
            Network::Base => Err(wrong_network("now")),
        }
    }
}

impl TransferList for SolanaSettlement {
    fn transfers_after(&self, network: Network, after: u64, limit: usize) -> PortFuture<'_, Vec<ListedTransfer>> {
        Box::pin(async move {
            if network != Network::Solana {
                return Err(wrong_network("listed"));
            }
            self.require_up_to_date("listed")?;
            if after == 0 {
                // A payment's status may be final before the follower has read the payment.
                self.catch_up().await?;
            }
            let moved = self.movements_after(after, limit).await?;
            if moved.is_empty() {
                return self.wallet_transfers_after(after, limit).await;
            }
            let treasury = Wallet::Solana(self.treasury());
            Ok(moved
                .into_iter()
                .map(|(position, moved)| listed_on_solana(position, moved, treasury))
                .collect())
        })
    }
}

/// Only final transfers are listed, so that none is removed later.
fn listed_on_solana(position: u64, moved: ChainMovement, treasury: Wallet) -> ListedTransfer {
    let (from, to) = match moved.incoming {
        true => (moved.counterparty, treasury),
        false => (treasury, moved.counterparty),
    };
    ListedTransfer {
        position,
        transaction: moved.transaction,
        index: moved.index,
        from,
        to,
        amount: moved.amount,
        at: moved.at,
        reorged: false,
        mark: Some(moved.fingerprint),
    }
}

impl BlockhashSource for SolanaSettlement {
    fn newest(&self) -> Option<Blockhash> {
        let (newest, age_ms) = self.recent_blockhash()?;
        Some(Blockhash {
            hash: newest.hash,
            last_valid_block_height: newest.last_valid_block_height,
            not_before_slot: newest.first_slot(),
            age_ms,
        })
    }
}

/// Our own fee payers first. Facilitators' fee payers are used if we have none, or while none of them can pay.
pub(super) struct CombinedFeePayers {
    pub(super) own: Arc<SolanaSettlement>,
    pub(super) facilitators: Option<Arc<FacilitatorList>>,
}

impl FeePayers for CombinedFeePayers {
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
        // While each of our fee payers is below its floor, `prepare` declines a payment with any of them.
        let first = || self.own.fee_payers().first().copied();
        let others = || self.facilitators.as_ref().and_then(|list| list.fee_payer());
        self.own.choose_fee_payer().or_else(others).or_else(first)
    }
}
