//! Which product lines are sold now. Delivery results are counted here in memory. Closing or opening a line,
//! automatically or by an operator, is an entity's event, which the next start restores.

use std::future::Future;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use purser_storage::StoreError;
use purser_storage::mutants::{self, Mutant};

use super::jobs::JobHandlers;
use super::operators::corrupt;
use super::{Engine, OperationError, job_types};
use crate::breaker::{Breaker, BreakerChange, BreakerSettings};
use crate::entity::line::{Command, LineState, Rejection, State, Status};
use crate::kernel::job::{AttemptFailure, OutboxJob, RetryMode};
use crate::kernel::outbox::AttemptCounters;
use crate::kernel::{AskError, EntityRegistry};
use crate::operator::OperatorAction;
use crate::port::{ErrorKind, PortError, Timestamp};
use crate::product::ProductLine;

/// Flag: an operator has closed the line.
const CLOSED: u8 = 1;
/// Flag: there are recorded delivery failures.
const HAS_HISTORY: u8 = 2;
/// Flag: the settings do not offer the line. Operators can't open it.
const NOT_OFFERED: u8 = 4;

/// Characters of a provider's error that are stored.
const MAX_ERROR_CHARS: usize = 300;
/// `Retry-After` in seconds for a line that an operator has closed.
const CLOSED_RETRY_S: u64 = 60;

/// Breakers of all product lines.
pub(super) struct LineBreakers {
    rules: BreakerSettings,
    cells: [LineCell; ProductLine::ALL.len()],
}

#[derive(Default)]
struct LineCell {
    /// Zero while the line is healthy; then the lock is not taken.
    flags: AtomicU8,
    breaker: Mutex<Breaker>,
}

/// Status of a product line.
#[derive(Clone, Debug)]
pub struct LineStatus {
    /// The product line.
    pub line: ProductLine,
    /// Whether it is sold, and if not, why.
    pub status: State,
    /// Consecutive failed deliveries.
    pub failures: u32,
    /// When the next order probes the provider, while the line is failing.
    pub next_probe_at: Option<Timestamp>,
}

/// A line is not sold now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineUnavailable {
    /// When to retry, in seconds.
    pub retry_after_s: u64,
}

impl LineBreakers {
    pub(super) fn new(rules: BreakerSettings, not_offered: [bool; ProductLine::ALL.len()]) -> Self {
        let cell = |not_offered| LineCell {
            flags: AtomicU8::new(if not_offered { NOT_OFFERED } else { 0 }),
            breaker: Mutex::default(),
        };
        Self {
            rules,
            cells: not_offered.map(cell),
        }
    }

    /// Restores the stored status of every line.
    pub(super) async fn load(&self, family: &EntityRegistry<LineState>, now: Timestamp) -> Result<(), StoreError> {
        for line in ProductLine::ALL {
            let Some((known, _)) = family.read(&line).await.map_err(corrupt)? else {
                continue;
            };
            let cell = &self.cells[line as usize];
            match known.status {
                Status::Open => {}
                // Without breaker rules a line neither closes automatically nor stays closed from an earlier run.
                Status::Failing if self.rules.max_failures == 0 => {}
                Status::Failing => {
                    *cell.breaker.lock() = Breaker::closed(&self.rules, now);
                    cell.flags.fetch_or(HAS_HISTORY, Ordering::Release);
                }
                Status::Closed => drop(cell.flags.fetch_or(CLOSED, Ordering::Release)),
            }
        }
        Ok(())
    }

    /// Runs a function on a line's breaker.
    fn with_breaker<R>(&self, line: ProductLine, work: impl FnOnce(&mut Breaker) -> R) -> R {
        let cell = &self.cells[line as usize];
        let mut breaker = cell.breaker.lock();
        let done = work(&mut breaker);
        // Set under the lock: a reader that sees the flag finds the matching breaker state.
        match breaker.is_idle() {
            true => cell.flags.fetch_and(!HAS_HISTORY, Ordering::Release),
            false => cell.flags.fetch_or(HAS_HISTORY, Ordering::Release),
        };
        done
    }

    fn flags(&self, line: ProductLine) -> u8 {
        self.cells[line as usize].flags.load(Ordering::Acquire)
    }

    fn check(
        &self,
        line: ProductLine,
        judge: impl FnOnce(&mut Breaker) -> Result<(), u64>,
    ) -> Result<(), LineUnavailable> {
        let flags = self.flags(line);
        if mutants::is_enabled(Mutant::FailingLineStaysOpen) {
            return Ok(());
        }
        if flags & (CLOSED | NOT_OFFERED) != 0 {
            let retry_after_s = CLOSED_RETRY_S;
            return Err(LineUnavailable { retry_after_s });
        }
        if flags & HAS_HISTORY == 0 {
            return Ok(());
        }
        self.with_breaker(line, judge)
            .map_err(|retry_after_s| LineUnavailable { retry_after_s })
    }

    fn admit(&self, line: ProductLine, effect: &OutboxJob, now: Timestamp) -> Option<u64> {
        match self.flags(line) & HAS_HISTORY {
            0 => None,
            _ => self.with_breaker(line, |breaker| breaker.admit(effect.id, &self.rules, now)),
        }
    }

    fn record_success(&self, line: ProductLine, effect: &OutboxJob) -> BreakerChange {
        match self.flags(line) & HAS_HISTORY {
            0 => BreakerChange::None,
            _ => self.with_breaker(line, |breaker| breaker.record_success(effect.id, &self.rules)),
        }
    }

    fn record_failure(&self, line: ProductLine, effect: &OutboxJob, now: Timestamp) -> BreakerChange {
        self.with_breaker(line, |breaker| breaker.record_failure(effect.id, &self.rules, now))
    }
}

/// Wakes the jobs that wait for a line's provider.
fn wake(attempts: &AttemptCounters, line: ProductLine) {
    for (index, (_, job)) in job_types().enumerate() {
        if job.policy.line.waits_for(line) {
            attempts.wake(index);
        }
    }
}

impl JobHandlers {
    /// Runs a job that calls a line's provider, and counts its result. While the provider is down, orders that can wait
    /// go one at a time.
    pub(super) async fn run_on_line(
        &self,
        line: ProductLine,
        effect: &OutboxJob,
        work: impl Future<Output = Result<(), AttemptFailure>> + Send,
    ) -> Result<(), AttemptFailure> {
        if effect.job.line().waits()
            && let Some(ms) = self.lines.admit(line, effect, self.clock.now())
        {
            return Err(AttemptFailure::blocked(
                "its provider is down and is tried with another order",
                ms,
            ));
        }
        let done = work.await;
        let now = self.clock.now();
        let change = match &done {
            // The provider has answered, even if the order takes time.
            Ok(())
            | Err(AttemptFailure {
                retry_mode: RetryMode::Defer(_),
                ..
            }) => self.lines.record_success(line, effect),
            Err(AttemptFailure {
                retry_mode: RetryMode::Blocked(_),
                ..
            }) => BreakerChange::None,
            Err(AttemptFailure {
                kind: ErrorKind::Temporary | ErrorKind::Unknown | ErrorKind::Permanent,
                ..
            }) => self.lines.record_failure(line, effect, now),
        };
        let command = match (change, &done) {
            (BreakerChange::None, _) => return done,
            (BreakerChange::Opened, _) => {
                wake(&self.attempts, line);
                tracing::warn!(line = line.name(), "a provider delivers again: its line is open");
                Command::Recover
            }
            (BreakerChange::Closed(failures), failure) => {
                let error = failure.as_ref().err().map(|failure| failure.message.as_str());
                close_command(line, failures, error.unwrap_or_default())
            }
        };
        persist(&self.registries.lines, line, command).await;
        done
    }
}

/// The command that records a failing line.
fn close_command(line: ProductLine, failures: u32, error: &str) -> Command {
    let error: String = error.chars().take(MAX_ERROR_CHARS).collect();
    tracing::error!(
        line = line.name(),
        failures,
        error,
        "a provider is down: its line is closed"
    );
    Command::Fail { error }
}

async fn persist(lines: &EntityRegistry<LineState>, line: ProductLine, command: Command) {
    if let Err(refusal) = lines.ask(line, command).await {
        tracing::error!(
            line = line.name(),
            ?refusal,
            "the state of a product line could not be stored"
        );
    }
}

impl Engine {
    /// Whether a line is sold now. Changes nothing.
    ///
    /// # Errors
    /// [`LineUnavailable`].
    pub fn check_line(&self, line: ProductLine) -> Result<(), LineUnavailable> {
        let lines = &self.0.lines;
        lines.check(line, |breaker| breaker.check_sale(&lines.rules, self.0.clock.now()))
    }

    /// Takes one sale of a line. A failing line allows one sale now and then, as a probe.
    ///
    /// # Errors
    /// [`LineUnavailable`].
    pub(super) fn take_line_sale(&self, line: ProductLine) -> Result<(), LineUnavailable> {
        let lines = &self.0.lines;
        lines.check(line, |breaker| breaker.take_sale(&lines.rules, self.0.clock.now()))
    }

    /// Gives up a sale taken by [`Engine::take_line_sale`] whose payment was not claimed.
    pub(super) fn cancel_line_sale(&self, line: ProductLine) {
        let lines = &self.0.lines;
        if lines.flags(line) & HAS_HISTORY != 0 {
            lines.with_breaker(line, |breaker| breaker.cancel_sale(&lines.rules, self.0.clock.now()));
        }
    }

    /// Counts a failed query of a line's provider before anything was claimed. A permanent decline is an answer and
    /// does not count, since the caller may be its cause.
    pub async fn record_line_unanswered(&self, line: ProductLine, error: &PortError) {
        if error.kind == ErrorKind::Permanent {
            return;
        }
        let lines = &self.0.lines;
        let change = lines.with_breaker(line, |breaker| {
            breaker.record_unanswered(&lines.rules, self.0.clock.now())
        });
        if let BreakerChange::Closed(failures) = change {
            persist(
                &self.0.registries.lines,
                line,
                close_command(line, failures, &error.message),
            )
            .await;
        }
    }

    /// Whether a line is open. Takes no probe of a failing line.
    pub fn is_line_open(&self, line: ProductLine) -> bool {
        self.line_status(line).status == State::Open
    }

    /// Current status of a line.
    pub fn line_status(&self, line: ProductLine) -> LineStatus {
        let lines = &self.0.lines;
        let flags = lines.flags(line);
        let (open, failures, next_try_at) = match flags & HAS_HISTORY {
            0 => (true, 0, None),
            _ => lines.with_breaker(line, |breaker| {
                (breaker.is_open(), breaker.failures(), breaker.next_probe_at())
            }),
        };
        LineStatus {
            line,
            status: match (flags & (CLOSED | NOT_OFFERED), open) {
                (0, true) => State::Open,
                (0, false) => State::Failing,
                (_, _) => State::Closed,
            },
            failures,
            next_probe_at: next_try_at,
        }
    }

    /// Every line with its status and its last recorded state.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn lines(&self) -> Result<Vec<(LineStatus, Option<LineState>)>, StoreError> {
        let mut found = Vec::with_capacity(ProductLine::ALL.len());
        for line in ProductLine::ALL {
            let known = self.0.registries.lines.read(&line).await.map_err(corrupt)?;
            found.push((self.line_status(line), known.map(|(known, _)| known)));
        }
        Ok(found)
    }

    /// Closes a line by an operator: nothing of it is sold until an operator opens it. Orders already sold are
    /// delivered.
    ///
    /// # Errors
    /// [`OperationError::Rejected`] when an operator has already closed it.
    pub async fn close_line(
        &self,
        line: ProductLine,
        reason: String,
        act: &OperatorAction,
    ) -> Result<(), OperationError<Rejection>> {
        let one = self.lock_operator().await;
        let close = |act| Command::Close {
            reason: reason.clone(),
            act,
        };
        map_error(
            self.ask_as_operator(&one, (&self.0.registries.lines, line), act, close)
                .await,
        )?;
        let cell = &self.0.lines.cells[line as usize];
        cell.flags.fetch_or(CLOSED, Ordering::Release);
        Ok(())
    }

    /// Opens a line by an operator, whatever the provider's state. Failures are counted from here on.
    ///
    /// # Errors
    /// [`OperationError::Rejected`] when it is open.
    pub async fn open_line(
        &self,
        line: ProductLine,
        reason: String,
        act: &OperatorAction,
    ) -> Result<(), OperationError<Rejection>> {
        let one = self.lock_operator().await;
        let open = |act| Command::Open {
            reason: reason.clone(),
            act,
        };
        map_error(
            self.ask_as_operator(&one, (&self.0.registries.lines, line), act, open)
                .await,
        )?;
        let lines = &self.0.lines;
        lines.with_breaker(line, |breaker| *breaker = Breaker::default());
        lines.cells[line as usize].flags.fetch_and(!CLOSED, Ordering::Release);
        wake(&self.0.attempts, line);
        Ok(())
    }
}

fn map_error(result: Result<(), AskError<Rejection>>) -> Result<(), OperationError<Rejection>> {
    match result {
        Err(AskError::Conflict) => Err(OperationError::Unavailable),
        result => Ok(result?),
    }
}
