//! Metrics of the real chains; absent in the sandbox.

use purser_chains::rpc::EndpointStatus;

use super::exposition::{Exposition, Samples, Unit};
use crate::settlement::real::stats::{ChainStats, FeeKey};

/// Name, help, and the value for a `T`.
type ChainMetric<T> = (&'static str, &'static str, fn(&T) -> Option<u64>);

pub(super) fn chains(page: &mut Exposition, chains: &[ChainStats]) {
    let all = |page: &mut Exposition, name, unit, help, of: fn(&ChainStats) -> Option<u64>| {
        let mut samples = page.gauge(name, unit, help);
        for chain in chains {
            if let Some(value) = of(chain) {
                samples = samples.with(&[("network", chain.network.name())], value);
            }
        }
    };
    let height = "The newest block (slot on Solana) that was read.";
    all(page, "purser_chain_height", Unit::One, height, |chain| chain.height);
    let checked = "The newest block or slot up to which two endpoints have shown the same.";
    all(page, "purser_chain_cross_checked_height", Unit::One, checked, |chain| {
        chain.cross_checked
    });
    let takes = "1 while new payments are taken on the network.";
    all(page, "purser_chain_takes_payments", Unit::One, takes, |chain| {
        Some(u64::from(chain.accepts_payments))
    });
    let age = "How old the newest block is that was read, by the chain's clock; on Solana how long ago the newest slot was read.";
    all(page, "purser_chain_block_age_seconds", Unit::Millis, age, |chain| {
        chain.age_ms
    });
    endpoints(page, chains);
    keys(page, chains);
    let counts: [ChainMetric<ChainStats>; 4] = [
        (
            "purser_chain_cross_check_mismatches_total",
            "Blocks or transactions that were read again because two endpoints showed other movements.",
            |chain| Some(chain.mismatches),
        ),
        (
            "purser_chain_fees_total",
            "Fees paid, in gwei on Base and lamports on Solana.",
            |chain| Some(chain.fees_spent),
        ),
        (
            "purser_chain_fees_lost_total",
            "Of the fees paid, those for payments that did not settle by it.",
            |chain| Some(chain.fees_lost),
        ),
        (
            "purser_chain_alarms_total",
            "What an operator should look at; the log says what.",
            |chain| Some(chain.alarms),
        ),
    ];
    for (name, help, of) in counts {
        let values = chains
            .iter()
            .filter_map(|chain| Some((chain.network.name(), of(chain)?)));
        page.counter(name, help).each("network", values);
    }
}

fn endpoints(page: &mut Exposition, chains: &[ChainStats]) {
    let figures: [ChainMetric<EndpointStatus>; 2] = [
        (
            "purser_rpc_endpoint_failures",
            "Failures of an endpoint since its last answer.",
            |endpoint| Some(u64::from(endpoint.consecutive_failures)),
        ),
        (
            "purser_rpc_endpoint_lag",
            "Blocks or slots that an endpoint is behind the best one.",
            |endpoint| endpoint.lag,
        ),
    ];
    for (name, help, of) in figures {
        of_endpoints(page.gauge(name, Unit::One, help), chains, of);
    }
    let calls = page.counter(
        "purser_rpc_calls_total",
        "Calls to an endpoint, each of a batch for itself, as its provider counts them.",
    );
    of_endpoints(calls, chains, |endpoint| Some(endpoint.calls));
}

fn of_endpoints(mut samples: Samples<'_>, chains: &[ChainStats], of: fn(&EndpointStatus) -> Option<u64>) {
    for chain in chains {
        for (n, endpoint) in chain.endpoints.iter().enumerate() {
            let place = n.to_string();
            let labels = [
                ("network", chain.network.name()),
                ("endpoint", &*place),
                ("host", &endpoint.host),
            ];
            if let Some(value) = of(endpoint) {
                samples = samples.with(&labels, value);
            }
        }
    }
}

fn keys(page: &mut Exposition, chains: &[ChainStats]) {
    let figures: [ChainMetric<FeeKey>; 2] = [
        (
            "purser_fee_key_balance",
            "What a key that pays fees has, in gwei on Base and lamports on Solana.",
            |key| key.balance,
        ),
        ("purser_fee_key_in_flight", "Payments in progress per gas key.", |key| {
            Some(key.in_flight)
        }),
    ];
    for (name, help, of) in figures {
        let mut samples = page.gauge(name, Unit::One, help);
        for chain in chains {
            for key in &chain.keys {
                if let Some(value) = of(key) {
                    samples = samples.with(&[("network", chain.network.name()), ("address", &key.address)], value);
                }
            }
        }
    }
}
