//! Metrics of facilitators, the built-in bridge, and the checks before claims; absent in the sandbox.

use purser_actors::engine::JOB_NAMES;
use purser_actors::engine::stats::EngineStats;

use super::exposition::Exposition;
use super::table;
use crate::settlement::real::stats::ChainStats;

/// The job type that waits for attestation and mint.
const BRIDGE_JOB: &str = "bridge_top_up";

/// Checks of payments before their claims.
pub(super) fn prechecks(page: &mut Exposition, chains: &[ChainStats]) {
    let of = |figure: fn(&ChainStats) -> u64| chains.iter().map(move |chain| (chain.network.name(), figure(chain)));
    page.metric(&table::PRECHECKS)
        .each(of(|chain| chain.prechecks.requests));
    page.metric(&table::PRECHECK_READS)
        .each(of(|chain| chain.prechecks.reads));
    page.metric(&table::PRECHECKS_UNAVAILABLE)
        .each(of(|chain| chain.prechecks.unavailable));
    let mut declined = page.metric(&table::PRECHECKS_DECLINED);
    for chain in chains {
        for (reason, count) in &chain.prechecks.declined {
            declined = declined.with(&[chain.network.name(), reason], *count);
        }
    }
}

/// Burns of the built-in bridge, and amounts burned and not yet minted, over any bridge.
pub(super) fn bridge(page: &mut Exposition, burns: u64, figures: &EngineStats) {
    page.metric(&table::BRIDGE_BURNS).is(burns);
    let named = JOB_NAMES.into_iter().zip(&figures.jobs);
    let bridge_attempts = named.filter(|(name, _)| *name == BRIDGE_JOB).map(|(_, work)| work);
    let (mut waiting, mut oldest_ms) = (0, 0);
    for work in bridge_attempts {
        waiting += work.attempts.running + work.scheduled + work.dead_lettered;
        oldest_ms = oldest_ms.max(work.oldest_age_ms).max(work.oldest_dead_letter_age_ms);
    }
    page.metric(&table::BRIDGE_MINTS_WAITING).is(waiting);
    page.metric(&table::BRIDGE_OLDEST).is(oldest_ms);
}

/// Each configured facilitator.
pub(super) fn facilitators(page: &mut Exposition, chains: &[ChainStats]) {
    let each = || {
        chains.iter().flat_map(|chain| {
            let all = chain.facilitators.iter();
            all.map(|one| (chain.network.name(), one))
        })
    };
    let mut paused = page.metric(&table::FACILITATOR_PAUSED);
    for (network, one) in each() {
        paused = paused.with(&[network, &one.name], u64::from(one.is_paused));
    }
    let mut payments = page.metric(&table::FACILITATOR_PAYMENTS);
    for (network, one) in each() {
        payments = payments.with(&[network, &one.name], one.payments);
    }
    let mut requests = page.metric(&table::FACILITATOR_REQUESTS);
    for (network, one) in each() {
        for request in &one.requests {
            let labels = [network, &*one.name, request.request, request.outcome];
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
