//! Status of the real chains and of the keys that pay fees, for monitoring.

use std::sync::atomic::Ordering;
use std::time::Duration;

use purser_actors::id::{Network, Wallet};
use purser_chains::evm::{Address, U256};
use purser_chains::rpc::EndpointStatus;

use super::RealPorts;
use crate::facilitator::{FacilitatorList, FacilitatorStats};
use crate::precheck_counters::PrecheckStats;

/// Timeout of a balance query. Without a response the balance is omitted: monitoring does not wait for a chain.
const BALANCE_TIMEOUT: Duration = Duration::from_secs(1);

/// Status of one chain. Fees are in gwei on Base and in lamports on Solana.
#[derive(Clone, Debug)]
pub struct ChainStats {
    /// Network of this chain.
    pub network: Network,
    /// The newest block or slot that was read; `None` before the first.
    pub height: Option<u64>,
    /// Age of that block by the chain's clock; on Solana the time since the newest slot was read. In milliseconds.
    pub age_ms: Option<u64>,
    /// The newest block or slot up to which two endpoints agree; `None` with one endpoint.
    pub cross_checked: Option<u64>,
    /// Blocks or transactions that were read again because two endpoints showed other transfers, since the start.
    pub mismatches: u64,
    /// Whether the chain accepts new payments.
    pub accepts_payments: bool,
    /// Endpoints in the order of the settings.
    pub endpoints: Vec<EndpointStatus>,
    /// Gas keys or fee payers.
    pub keys: Vec<FeeKey>,
    /// Fees charged since the start.
    pub fees_spent: u64,
    /// The part of them for payments that did not settle.
    pub fees_lost: u64,
    /// Alarms for an operator since the start; the log has the details.
    pub alarms: u64,
    /// Checks of payments before their claims, since the start.
    pub prechecks: PrecheckStats,
    /// Facilitators in the order of the settings.
    pub facilitators: Vec<FacilitatorStats>,
}

/// One of our keys that pay fees.
#[derive(Clone, Debug)]
pub struct FeeKey {
    /// Address of the key.
    pub address: String,
    /// Balance in gwei or lamports; `None` if it could not be read.
    pub balance: Option<u64>,
    /// Payments or transactions in flight with this key.
    pub in_flight: u64,
}

impl RealPorts {
    /// Current status of both chains. Reads the balances of the gas keys from the chain, everything else from memory.
    pub async fn stats(&self) -> [ChainStats; 2] {
        [self.base_stats().await, self.solana_stats()]
    }

    /// Burns into the built-in bridge that were found to be final, since the start.
    pub fn burns(&self) -> u64 {
        self.burns.get().map_or(0, |burns| burns.count())
    }

    async fn base_stats(&self) -> ChainStats {
        let balances = tokio::time::timeout(BALANCE_TIMEOUT, self.base.gas()).await;
        let balances = balances.ok().and_then(Result::ok).unwrap_or_default();
        let key = |(address, payments): (Address, usize)| FeeKey {
            balance: balances
                .iter()
                .find(|(of, _)| *of == address)
                .map(|(_, wei)| gwei(*wei)),
            address: Wallet::Evm(address.into()).address(),
            in_flight: payments as u64,
        };
        let mut keys: Vec<FeeKey> = self.base.loads().into_iter().map(key).collect();
        keys.sort_by(|one, other| one.address.cmp(&other.address));
        let (counters, now) = (self.base.counters(), self.clock.now());
        ChainStats {
            network: Network::Base,
            height: self.base.height(),
            age_ms: self.base.now().ok().map(|made| now.0.saturating_sub(made.0)),
            cross_checked: self.base.cross_checked(),
            mismatches: counters.mismatches.load(Ordering::Relaxed),
            accepts_payments: self.payments_blocked_reason(Network::Base).is_none(),
            endpoints: self.base.endpoints(),
            keys,
            fees_spent: counters.gas_spent_gwei.load(Ordering::Relaxed),
            fees_lost: counters.gas_lost_gwei.load(Ordering::Relaxed),
            alarms: counters.alarms.load(Ordering::Relaxed) + self.base.gate().alarms(),
            prechecks: self.base.prechecks(),
            facilitators: facilitators(self.base_facilitators.as_deref()),
        }
    }

    fn solana_stats(&self) -> ChainStats {
        let status = self.solana.status();
        let key = |payer: &purser_chains::solana::payers::PayerStatus| FeeKey {
            address: Wallet::Solana(payer.address).address(),
            balance: payer.lamports,
            in_flight: payer.in_flight as u64,
        };
        ChainStats {
            network: Network::Solana,
            height: (status.slot > 0).then_some(status.slot),
            age_ms: self.solana.recent_blockhash().map(|(_, age_ms)| age_ms),
            cross_checked: self.solana.cross_checked(),
            mismatches: self.solana.mismatches(),
            accepts_payments: self.payments_blocked_reason(Network::Solana).is_none(),
            endpoints: self.solana.node().pool().status(),
            keys: status.fee_payers.iter().map(key).collect(),
            fees_spent: status.fee_payers.iter().map(|payer| payer.spent).sum(),
            fees_lost: status.fee_payers.iter().map(|payer| payer.lost).sum(),
            alarms: status.contradictions + status.unreadable + self.solana.gate().alarms(),
            prechecks: self.solana.prechecks(),
            facilitators: facilitators(self.solana_facilitators.as_deref()),
        }
    }
}

fn facilitators(list: Option<&FacilitatorList>) -> Vec<FacilitatorStats> {
    list.map(FacilitatorList::stats).unwrap_or_default()
}

fn gwei(wei: U256) -> u64 {
    (wei / U256::from(1_000_000_000)).try_into().unwrap_or(u64::MAX)
}
