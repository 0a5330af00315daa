//! Combines the checks of concurrent payments into one request and one call. Endpoints count their calls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser_chains::evm::multicall::MAX_CALLS;
use tokio::sync::oneshot;

use super::checking::Verdict;
use super::core::Core;
use super::job::Job;

/// Interval between checks, in milliseconds: payments that arrive in between are checked together. A payment that
/// arrives later than this after the last check is checked at once. At 500 payments a second, ten share two calls, and
/// one waits 10 ms on average. A response of an internet endpoint takes 50 to 200 ms.
const JOIN_MS: u64 = 20;

type CheckRequest = (Arc<Job>, oneshot::Sender<Result<Verdict, String>>);

#[derive(Default)]
struct QueueState {
    requests: VecDeque<CheckRequest>,
    /// Whether a task is running the checks.
    is_running: bool,
    /// Earliest time of the next check.
    next_ms: u64,
}

/// The queue of checks; see the module.
#[derive(Default)]
pub(super) struct CheckQueue {
    queue: Mutex<QueueState>,
}

enum Next {
    Check(Vec<CheckRequest>),
    Wait(Duration),
    Done,
}

impl QueueState {
    /// Requests whose caller is gone are not checked.
    fn next(&mut self, now_ms: u64) -> Next {
        self.requests.retain(|(_, reply)| !reply.is_closed());
        if self.requests.is_empty() {
            self.is_running = false;
            return Next::Done;
        }
        let early_ms = self.next_ms.saturating_sub(now_ms);
        if early_ms > 0 && self.requests.len() < MAX_CALLS {
            return Next::Wait(Duration::from_millis(early_ms));
        }
        self.next_ms = now_ms.saturating_add(JOIN_MS);
        let most = self.requests.len().min(MAX_CALLS);
        Next::Check(self.requests.drain(..most).collect())
    }
}

impl CheckQueue {
    /// Whether a payment would settle now.
    ///
    /// # Errors
    /// Why the result is unknown.
    pub(super) async fn submit(self: &Arc<Self>, core: &Arc<Core>, payment: Arc<Job>) -> Result<Verdict, String> {
        let (reply, verdict) = oneshot::channel();
        let begin = {
            let mut queue = self.queue.lock();
            queue.requests.push_back((payment, reply));
            !std::mem::replace(&mut queue.is_running, true)
        };
        if begin {
            let (worker, core) = (self.clone(), core.clone());
            tokio::spawn(async move { worker.run(&core).await });
        }
        verdict.await.unwrap_or_else(|_| Err("the check has stopped".into()))
    }

    async fn run(&self, core: &Core) {
        loop {
            let next = self.queue.lock().next(core.clock.now_ms());
            match next {
                Next::Done => return,
                Next::Wait(pause) => core.clock.sleep(pause).await,
                Next::Check(asked) => check(core, asked).await,
            }
        }
    }
}

async fn check(core: &Core, asked: Vec<CheckRequest>) {
    let (payments, replies): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
    core.prechecks.counters.record_read();
    match core.check(&payments).await {
        Ok(verdicts) => {
            for (reply, verdict) in replies.into_iter().zip(verdicts) {
                let _ = reply.send(Ok(verdict));
            }
        }
        Err(error) => {
            for reply in replies {
                let _ = reply.send(Err(error.to_string()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::super::job::Mint;
    use super::*;

    fn ask(queue: &mut QueueState) -> oneshot::Receiver<Result<Verdict, String>> {
        let (reply, verdict) = oneshot::channel();
        let mint = Mint {
            contract: [8; 20],
            nonce: [9; 32],
            call: Vec::new(),
        };
        queue.requests.push_back((Arc::new(Job::Mint(mint)), reply));
        verdict
    }

    /// The number of checks to run now, or the time to wait.
    fn next(queue: &mut QueueState, now_ms: u64) -> Result<usize, u64> {
        match queue.next(now_ms) {
            Next::Check(asked) => Ok(asked.len()),
            Next::Wait(pause) => Err(u64::try_from(pause.as_millis()).unwrap()),
            Next::Done => Ok(0),
        }
    }

    // Checks: a single payment is checked at once, also just after the interval of the last check. Earlier ones wait
    // for the rest of the interval and go together. A full check does not wait. A request whose caller is gone is not
    // checked.
    #[test]
    fn payments_wait_for_others_only_behind_a_check() {
        let mut queue = QueueState::default();
        let _first = ask(&mut queue);
        assert_eq!(next(&mut queue, 0), Ok(1));
        assert_eq!(next(&mut queue, 1), Ok(0));
        let _second = ask(&mut queue);
        assert_eq!(next(&mut queue, 5), Err(15));
        let (_third, gone) = (ask(&mut queue), ask(&mut queue));
        drop(gone);
        assert_eq!(next(&mut queue, JOIN_MS), Ok(2));
        let _alone = ask(&mut queue);
        assert_eq!(next(&mut queue, 2 * JOIN_MS), Ok(1), "at once");
        let _many: Vec<_> = (0..=MAX_CALLS).map(|_| ask(&mut queue)).collect();
        assert_eq!(next(&mut queue, 2 * JOIN_MS), Ok(MAX_CALLS));
        assert_eq!(next(&mut queue, 2 * JOIN_MS), Err(JOIN_MS));
        assert_eq!(next(&mut queue, 3 * JOIN_MS), Ok(1));
    }
}
