//! Requests to a facilitator by outcome, counted since the start for monitoring.

use std::sync::atomic::{AtomicU64, Ordering};

/// A route of a facilitator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Supported,
    Verify,
    Settle,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The facilitator supports, would settle or has settled the payment.
    Succeeded,
    /// The facilitator declined.
    Declined,
    /// The response reports that the payment is already used.
    Used,
    /// The response allows no conclusion.
    Unknown,
    /// No complete response arrived.
    NoResponse,
    /// The chain showed the payment before the response arrived, or the caller is gone.
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

/// Counters of one facilitator; see the module.
#[derive(Debug, Default)]
pub(super) struct FacilitatorCounters {
    requests: [[AtomicU64; 6]; 3],
    payments: AtomicU64,
}

/// A request in progress, counted when this is dropped.
pub(super) struct RequestInProgress<'a> {
    counters: &'a FacilitatorCounters,
    request: Request,
    outcome: Outcome,
}

impl FacilitatorCounters {
    /// Starts a request. It counts as abandoned unless [`RequestInProgress::set_outcome`] is called.
    pub(super) const fn start_request(&self, request: Request) -> RequestInProgress<'_> {
        RequestInProgress {
            counters: self,
            request,
            outcome: Outcome::Abandoned,
        }
    }

    /// Counts a payment that was assigned to this facilitator.
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
    /// Label of the outcome.
    pub outcome: &'static str,
    /// Number of requests.
    pub count: u64,
}

/// Status and counters of a facilitator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacilitatorStats {
    /// URL of the facilitator in the settings.
    pub name: String,
    /// The facilitator failed a moment ago and is skipped while another has not.
    pub is_paused: bool,
    /// Payments assigned to it.
    pub payments: u64,
    /// Counts for each route and outcome.
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

    // Checks: a request is counted once with its outcome, and one without an outcome as abandoned.
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
