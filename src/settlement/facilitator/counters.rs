//! Requests to a facilitator by what came of them, counted since the start for the operator's monitoring.

use std::sync::atomic::{AtomicU64, Ordering};

/// A route of a facilitator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Supported,
    Verify,
    Settle,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It supports, would settle or has settled what was asked.
    Succeeded,
    /// It does not.
    Declined,
    /// By its answer the payment is used already.
    Used,
    /// Nothing can be concluded from its answer.
    Unknown,
    /// No whole answer came.
    NoResponse,
    /// The chain has shown the payment before the answer came, or the caller has gone.
    Abandoned,
}

impl Request {
    const ALL: [(Self, &str); 3] = [
        (Self::Supported, "supported"),
        (Self::Verify, "verify"),
        (Self::Settle, "settle"),
    ];
}

impl Outcome {
    const ALL: [(Self, &str); 6] = [
        (Self::Succeeded, "good"),
        (Self::Declined, "declined"),
        (Self::Used, "used"),
        (Self::Unknown, "unknown"),
        (Self::NoResponse, "no_answer"),
        (Self::Abandoned, "given_up"),
    ];
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct FacilitatorCounters {
    requests: [[AtomicU64; 6]; 3],
    payments: AtomicU64,
}

/// A request that is under way: counted when this is dropped.
pub(super) struct RequestInProgress<'a> {
    counters: &'a FacilitatorCounters,
    request: Request,
    outcome: Outcome,
}

impl FacilitatorCounters {
    /// Counts as given up unless [`UnderWay::ended`] says otherwise.
    pub(super) const fn start_request(&self, request: Request) -> RequestInProgress<'_> {
        RequestInProgress {
            counters: self,
            request,
            outcome: Outcome::Abandoned,
        }
    }

    /// A payment was handed over.
    pub(super) fn record_assignment(&self) {
        self.payments.fetch_add(1, Ordering::Relaxed);
    }
}

impl RequestInProgress<'_> {
    pub(super) const fn set_outcome(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for RequestInProgress<'_> {
    fn drop(&mut self) {
        let Self {
            counters: tally,
            request,
            outcome,
        } = self;
        tally.requests[*request as usize][*outcome as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// Requests with the same route and outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestCount {
    /// `supported`, `verify` or `settle`.
    pub request: &'static str,
    /// What came of them.
    pub outcome: &'static str,
    /// How many.
    pub count: u64,
}

/// How a facilitator is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacilitatorStats {
    /// Its URL in the settings.
    pub name: String,
    /// It has failed a moment ago and is passed over while another has not.
    pub is_paused: bool,
    /// Payments that were handed to it.
    pub payments: u64,
    /// Each route with each outcome.
    pub requests: Vec<RequestCount>,
}

impl FacilitatorCounters {
    pub(super) fn stats(&self, name: &str, is_paused: bool) -> FacilitatorStats {
        let of = |(request, outcome): (Request, Outcome)| {
            let count = &self.requests[request as usize][outcome as usize];
            count.load(Ordering::Relaxed)
        };
        let all = Request::ALL
            .into_iter()
            .flat_map(|request| Outcome::ALL.map(|outcome| (request, outcome)));
        FacilitatorStats {
            name: name.to_owned(),
            is_paused,
            payments: self.payments.load(Ordering::Relaxed),
            requests: all
                .map(|((request, route), (outcome, ended))| RequestCount {
                    request: route,
                    outcome: ended,
                    count: of((request, outcome)),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a request is counted once by its end, and one without an end as given up.
    #[test]
    fn a_request_is_counted_by_its_end() {
        let tally = FacilitatorCounters::default();
        tally.start_request(Request::Settle).set_outcome(Outcome::Used);
        drop(tally.start_request(Request::Verify));
        tally.record_assignment();
        let figures = tally.stats("one", true);
        let counted: Vec<_> = figures.requests.iter().filter(|figure| figure.count > 0).collect();
        let figure = |request, outcome| RequestCount {
            request,
            outcome,
            count: 1,
        };
        assert_eq!(counted, [&figure("verify", "given_up"), &figure("settle", "used")]);
        assert_eq!(figures.requests.len(), 18);
        assert_eq!((figures.is_paused, figures.payments), (true, 1));
    }
}
