//! Metrics of the real chains; absent in the sandbox.

use purser_chains::rpc::EndpointStatus;

use super::exposition::Exposition;
use super::table::{self, Metric};
use crate::settlement::real::stats::{ChainStats, FeeKey};

/// The value of a metric for a `T`; `None` leaves the sample out.
type Figure<T> = fn(&T) -> Option<u64>;

pub(super) fn chains(page: &mut Exposition, chains: &[ChainStats]) {
    of_chains(page, chains, &table::CHAIN_HEIGHT, |chain| chain.height);
    of_chains(page, chains, &table::CHAIN_CROSS_CHECKED_HEIGHT, |chain| {
        chain.cross_checked
    });
    of_chains(page, chains, &table::CHAIN_TAKES_PAYMENTS, |chain| {
        Some(u64::from(chain.accepts_payments))
    });
    of_chains(page, chains, &table::CHAIN_BLOCK_AGE, |chain| chain.age_ms);
    of_endpoints(page, chains, &table::RPC_ENDPOINT_FAILURES, |endpoint| {
        Some(u64::from(endpoint.consecutive_failures))
    });
    of_endpoints(page, chains, &table::RPC_ENDPOINT_LAG, |endpoint| endpoint.lag);
    of_endpoints(page, chains, &table::RPC_CALLS, |endpoint| Some(endpoint.calls));
    of_keys(page, chains, &table::FEE_KEY_BALANCE, |key| key.balance);
    of_keys(page, chains, &table::FEE_KEY_IN_FLIGHT, |key| Some(key.in_flight));
    of_chains(page, chains, &table::CHAIN_CROSS_CHECK_MISMATCHES, |chain| {
        Some(chain.mismatches)
    });
    of_chains(page, chains, &table::CHAIN_FEES, |chain| Some(chain.fees_spent));
    of_chains(page, chains, &table::CHAIN_FEES_LOST, |chain| Some(chain.fees_lost));
    of_chains(page, chains, &table::CHAIN_ALARMS, |chain| Some(chain.alarms));
}

fn of_chains(page: &mut Exposition, chains: &[ChainStats], metric: &Metric, of: Figure<ChainStats>) {
    let value = |chain: &ChainStats| Some((chain.network.name(), of(chain)?));
    page.metric(metric).each(chains.iter().filter_map(value));
}

fn of_endpoints(page: &mut Exposition, chains: &[ChainStats], metric: &Metric, of: Figure<EndpointStatus>) {
    let mut samples = page.metric(metric);
    for chain in chains {
        for (n, endpoint) in chain.endpoints.iter().enumerate() {
            if let Some(value) = of(endpoint) {
                samples = samples.with(&[chain.network.name(), &n.to_string(), &endpoint.host], value);
            }
        }
    }
}

fn of_keys(page: &mut Exposition, chains: &[ChainStats], metric: &Metric, of: Figure<FeeKey>) {
    let mut samples = page.metric(metric);
    for chain in chains {
        for key in &chain.keys {
            if let Some(value) = of(key) {
                samples = samples.with(&[chain.network.name(), &key.address], value);
            }
        }
    }
}
