//! The last hour in memory: paid calls with their durations, and calls to providers and chains. Samples of counters that
//! exist anyway, at a fixed interval. A restart begins a new hour.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::engine::JOB_NAMES;
use purser_actors::id::Network;
use purser_actors::port::Timestamp;
use purser_storage::stats::HistogramSnapshot;

use super::Metrics;
use crate::settlement::metered::ChainMeters;

/// Interval of the samples.
const STEP: Duration = Duration::from_secs(10);
/// Samples of an hour, and the one before it.
const SAMPLES: usize = 361;
/// Samples between two points.
const PER_POINT: usize = 6;
/// Samples of the window in which providers are judged.
const PER_WINDOW: usize = 90;

/// A provider, and the types of the jobs that call it.
struct ProviderJobs {
    name: &'static str,
    jobs: &'static [&'static str],
}

const PROVIDERS: [ProviderJobs; 8] = [
    ProviderJobs {
        name: "card_issuer",
        jobs: &["issue_card", "refresh_card", "change_prepaid_card_state"],
    },
    ProviderJobs {
        name: "gift_cards",
        jobs: &["order_gift_card"],
    },
    ProviderJobs {
        name: "payouts",
        jobs: &["send_payout", "recall_payout"],
    },
    ProviderJobs {
        name: "identity",
        jobs: &["check_identity"],
    },
    ProviderJobs {
        name: "issuer_accounts",
        jobs: &["open_issuer_account", "await_issuer_credit"],
    },
    ProviderJobs {
        name: "reloadable_cards",
        jobs: &[
            "open_reloadable_card",
            "change_card_state",
            "hold_card_balance",
            "settle_card_hold",
        ],
    },
    ProviderJobs {
        name: "bank",
        jobs: &["submit_bank_application", "open_bank_account", "execute_bank_transfer"],
    },
    ProviderJobs {
        name: "bridge",
        jobs: &["bridge_top_up"],
    },
];

/// Calls since the start.
#[derive(Clone)]
struct Calls {
    failures: u64,
    durations: HistogramSnapshot,
}

impl Calls {
    fn since(&self, before: &Self) -> Self {
        Self {
            failures: self.failures.saturating_sub(before.failures),
            durations: difference(&self.durations, &before.durations),
        }
    }
}

/// All counters at one time.
struct Sample {
    at: Timestamp,
    /// Answered calls of paid routes; `failures` are those that ended with a 5xx.
    paid: Calls,
    /// In the order of [`PROVIDERS`].
    providers: Vec<Calls>,
    chains: [Calls; Network::ALL.len()],
}

/// Paid calls of one part of the hour.
pub struct Point {
    /// End of the part.
    pub at: Timestamp,
    /// Duration of the part in milliseconds.
    pub ms: u64,
    /// Calls of paid routes that succeeded: paid ones and repeated ones, without challenges.
    pub calls: u64,
    /// Calls of paid routes that ended with a 5xx.
    pub failures: u64,
    /// Half of the calls took at most this, in microseconds.
    pub p50_us: Option<u64>,
    /// 99 of 100 calls took at most this, in microseconds.
    pub p99_us: Option<u64>,
}

/// Calls to a provider or a chain in the last 15 minutes.
pub struct Health {
    pub name: &'static str,
    pub is_chain: bool,
    pub calls: u64,
    pub failures: u64,
    /// Half of the calls took at most this, in milliseconds; `None` also if that is more than the histogram's last bound.
    pub p50_ms: Option<u64>,
    /// 99 of 100 calls took at most this, in milliseconds.
    pub p99_ms: Option<u64>,
}

/// Takes the samples.
pub struct SeriesRecorder {
    metrics: Arc<Metrics>,
    chains: Arc<ChainMeters>,
    paid_routes: Vec<&'static str>,
    recorded: Mutex<Recorded>,
}

/// The samples of the last hour.
#[derive(Default)]
struct Recorded {
    samples: VecDeque<Sample>,
    /// Older samples, which are gone.
    removed: usize,
}

impl SeriesRecorder {
    /// `paid_routes` are the paths whose successful calls are paid calls.
    pub fn new(metrics: Arc<Metrics>, chains: Arc<ChainMeters>, paid_routes: Vec<&'static str>) -> Self {
        Self {
            metrics,
            chains,
            paid_routes,
            recorded: Mutex::default(),
        }
    }

    /// Takes samples until the service stops.
    pub async fn run(self: Arc<Self>) {
        loop {
            self.sample();
            tokio::select! {
                () = tokio::time::sleep(STEP) => {}
                () = self.metrics.hub.stopped() => return,
            }
        }
    }

    fn sample(&self) {
        let sample = self.current();
        let mut recorded = self.recorded.lock();
        // The service's clock can be moved in the sandbox: an hour of samples is an hour of intervals.
        while recorded.samples.len() >= SAMPLES {
            recorded.samples.pop_front();
            recorded.removed += 1;
        }
        recorded.samples.push_back(sample);
    }

    fn current(&self) -> Sample {
        let mut paid: Option<Calls> = None;
        for (route, class, durations) in self.metrics.requests.read() {
            if !self.paid_routes.contains(&route) || !matches!(class, "2xx" | "5xx") {
                continue;
            }
            let failures = if class == "5xx" { durations.count() } else { 0 };
            let sum = paid.get_or_insert_with(|| Calls {
                failures: 0,
                durations: empty(&durations),
            });
            sum.failures += failures;
            if class == "2xx" {
                sum.durations.add(&durations);
            }
        }
        let (counts, durations) = self.metrics.engine.attempt_stats();
        let providers = PROVIDERS.iter().map(|provider| {
            let mut sum: Option<Calls> = None;
            for (name, (counts, durations)) in JOB_NAMES.iter().zip(counts.iter().zip(&durations)) {
                if provider.jobs.contains(name) {
                    let sum = sum.get_or_insert_with(|| Calls {
                        failures: 0,
                        durations: empty(durations),
                    });
                    sum.failures += counts.failures.iter().sum::<u64>();
                    sum.durations.add(durations);
                }
            }
            sum.unwrap_or_else(Calls::none)
        });
        Sample {
            at: self.metrics.clock.now(),
            paid: paid.unwrap_or_else(Calls::none),
            providers: providers.collect(),
            chains: Network::ALL.map(|network| {
                let (failures, durations) = self.chains.of(network).read();
                Calls { failures, durations }
            }),
        }
    }

    /// Paid calls of the last hour by the minute, oldest first. A part that has ended does not change; the newest may still
    /// go on, and the oldest may have lost its beginning.
    pub fn points(&self) -> Vec<Point> {
        let recorded = self.recorded.lock();
        let ends = part_ends(recorded.removed, recorded.samples.len());
        let parts = ends.windows(2).filter_map(|part| {
            let &[first, last] = part else { return None };
            let (before, after) = (recorded.samples.get(first)?, recorded.samples.get(last)?);
            let calls = after.paid.since(&before.paid);
            Some(Point {
                at: after.at,
                ms: (last - first) as u64 * STEP.as_secs() * 1_000,
                calls: calls.durations.count(),
                failures: calls.failures,
                p50_us: calls.durations.at_most(50),
                p99_us: calls.durations.at_most(99),
            })
        });
        parts.collect()
    }

    /// Providers, then chains. Counted to this moment, so that a failure shows without delay.
    pub fn health(&self) -> Vec<Health> {
        let now = self.current();
        let recorded = self.recorded.lock();
        let samples = &recorded.samples;
        let Some(before) = samples
            .get(samples.len().saturating_sub(PER_WINDOW))
            .or_else(|| samples.front())
        else {
            return Vec::new();
        };
        let health = |name, is_chain, now: &Calls, before: &Calls| {
            let calls = now.since(before);
            Health {
                name,
                is_chain,
                // An attempt that is retried for a failure is counted when it fails, and as finished a moment later.
                calls: calls.durations.count().max(calls.failures),
                failures: calls.failures,
                p50_ms: calls.durations.at_most(50),
                p99_ms: calls.durations.at_most(99),
            }
        };
        let providers = PROVIDERS.iter().zip(now.providers.iter().zip(&before.providers));
        let chains = Network::ALL.iter().zip(now.chains.iter().zip(&before.chains));
        providers
            .map(|(provider, (now, before))| health(provider.name, false, now, before))
            .chain(chains.map(|(network, (now, before))| health(network.name(), true, now, before)))
            .collect()
    }
}

impl Calls {
    const fn none() -> Self {
        Self {
            failures: 0,
            durations: HistogramSnapshot {
                bounds: &[],
                counts: Vec::new(),
                sum: 0,
            },
        }
    }
}

/// Samples between which the parts of the hour are, of this many after those that were removed. Parts end at fixed samples:
/// counted back from the newest, each reading would show other ones.
fn part_ends(removed: usize, samples: usize) -> Vec<usize> {
    let is_end = |at: &usize| *at == 0 || at + 1 == samples || (removed + at).is_multiple_of(PER_POINT);
    (0..samples).filter(is_end).collect()
}

fn empty(like: &HistogramSnapshot) -> HistogramSnapshot {
    HistogramSnapshot {
        bounds: like.bounds,
        counts: vec![0; like.counts.len()],
        sum: 0,
    }
}

/// What was counted after `before`. A counter without a value before counts from zero.
fn difference(now: &HistogramSnapshot, before: &HistogramSnapshot) -> HistogramSnapshot {
    let earlier = before.counts.iter().copied().chain(std::iter::repeat(0));
    HistogramSnapshot {
        bounds: now.bounds,
        counts: now
            .counts
            .iter()
            .zip(earlier)
            .map(|(now, before)| now.saturating_sub(before))
            .collect(),
        sum: now.sum.saturating_sub(before.sum),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: every job of a provider exists, and is that of one provider only.
    #[test]
    fn jobs_of_providers_exist() {
        let mut known = Vec::new();
        for job in PROVIDERS.iter().flat_map(|provider| provider.jobs) {
            assert!(JOB_NAMES.contains(job), "{job}");
            assert!(!known.contains(job), "{job} is that of two providers");
            known.push(*job);
        }
    }

    // Checks: the parts of an hour end at the same samples however many follow and however many were removed.
    #[test]
    fn parts_end_at_fixed_samples() {
        assert_eq!(part_ends(0, 0), [0; 0]);
        assert_eq!(part_ends(0, 1), [0]);
        assert_eq!(part_ends(0, 6), [0, 5]);
        assert_eq!(part_ends(0, 9), [0, 6, 8]);
        assert_eq!(part_ends(2, 12), [0, 4, 10, 11]);
        let recorded = |removed: usize, samples: usize| {
            let ends = part_ends(removed, samples);
            ends.into_iter().map(|at| at + removed).collect::<Vec<_>>()
        };
        assert_eq!(recorded(5, 15), [5, 6, 12, 18, 19]);
    }

    // Checks: a difference counts what is new, also when nothing was counted before.
    #[test]
    fn difference_counts_what_is_new() {
        static BOUNDS: &[u64] = &[10, 20];
        let histogram = |counts: [u64; 3], sum| HistogramSnapshot {
            bounds: BOUNDS,
            counts: counts.into(),
            sum,
        };
        let now = histogram([3, 5, 1], 90);
        assert_eq!(difference(&now, &histogram([1, 5, 0], 50)), histogram([2, 0, 1], 40));
        assert_eq!(difference(&now, &Calls::none().durations), now);
    }
}
