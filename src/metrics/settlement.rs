//! Metrics of facilitators, the built-in bridge, and the checks before claims; absent in the sandbox.

use purser_actors::engine::JOB_NAMES;
use purser_actors::engine::stats::EngineStats;

use super::exposition::{Exposition, Unit};
use crate::settlement::facilitator::FacilitatorStats;
use crate::settlement::real::stats::ChainStats;

/// The job type that waits for attestation and mint.
const BRIDGE_JOB: &str = "bridge_top_up";

/// Checks of payments before their claims.
pub(super) fn prechecks(page: &mut Exposition, chains: &[ChainStats]) {
    let of = |figure: fn(&ChainStats) -> u64| chains.iter().map(move |chain| (chain.network.name(), figure(chain)));
    page.counter(
        "purser_prechecks_total",
        "Payments that were checked before their claim.",
    )
    .each("network", of(|chain| chain.prechecks.requests));
    page.counter(
        "purser_precheck_reads_total",
        "Reads of the chain for checks of payments.",
    )
    .each("network", of(|chain| chain.prechecks.reads));
    page.counter(
        "purser_prechecks_unavailable_total",
        "Of them, those that the chain did not answer in time: they were decided after the claim.",
    )
    .each("network", of(|chain| chain.prechecks.unavailable));
    let mut declined = page.counter("purser_prechecks_declined_total", "Of them, those declined, by reason.");
    for chain in chains {
        for (reason, count) in &chain.prechecks.declined {
            declined = declined.with(&[("network", chain.network.name()), ("reason", reason)], *count);
        }
    }
}

/// Burns of the built-in bridge, and amounts burned and not yet minted, over any bridge.
pub(super) fn bridge(page: &mut Exposition, burns: u64, figures: &EngineStats) {
    page.counter(
        "purser_bridge_burns_total",
        "Burns into the built-in bridge that became final.",
    )
    .is(burns);
    let named = JOB_NAMES.into_iter().zip(&figures.jobs);
    let bridge_attempts = named.filter(|(name, _)| *name == BRIDGE_JOB).map(|(_, work)| work);
    let (mut waiting, mut oldest_ms) = (0, 0);
    for work in bridge_attempts {
        waiting += work.attempts.running + work.scheduled + work.dead_lettered;
        oldest_ms = oldest_ms.max(work.oldest_age_ms).max(work.oldest_dead_letter_age_ms);
    }
    page.gauge(
        "purser_bridge_mints_waiting",
        Unit::One,
        "Top-ups that are burned on Solana and not minted on Base.",
    )
    .is(waiting);
    page.gauge(
        "purser_bridge_oldest_seconds",
        Unit::Millis,
        "How long the oldest of them has waited; 0 without one.",
    )
    .is(oldest_ms);
}

/// Each configured facilitator.
pub(super) fn facilitators(page: &mut Exposition, chains: &[ChainStats]) {
    let each = || {
        chains.iter().flat_map(|chain| {
            let all = chain.facilitators.iter();
            all.map(|one| (chain.network.name(), one))
        })
    };
    let figure = |page: &mut Exposition, name, help, counts: bool, of: fn(&FacilitatorStats) -> u64| {
        let mut samples = match counts {
            true => page.counter(name, help),
            false => page.gauge(name, Unit::One, help),
        };
        for (network, one) in each() {
            samples = samples.with(&[("network", network), ("facilitator", &one.name)], of(one));
        }
    };
    let paused = "1 while a facilitator is passed over because it has failed, if another has not.";
    figure(page, "purser_facilitator_paused", paused, false, |one| {
        u64::from(one.is_paused)
    });
    let payments = "Payments that were handed to a facilitator.";
    figure(page, "purser_facilitator_payments_total", payments, true, |one| {
        one.payments
    });
    let mut requests = page.counter(
        "purser_facilitator_requests_total",
        "Requests to a facilitator, by route and outcome.",
    );
    for (network, one) in each() {
        for request in &one.requests {
            let labels = [
                ("network", network),
                ("facilitator", &*one.name),
                ("request", request.request),
                ("outcome", request.outcome),
            ];
            requests = requests.with(&labels, request.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: the job type counted as waiting for a mint exists under this name.
    #[test]
    fn bridge_job_is_a_job_type() {
        assert!(JOB_NAMES.contains(&BRIDGE_JOB));
    }
}
