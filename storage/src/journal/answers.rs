//! Answers of a group: the callbacks of its batches with their results.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;

use super::core::StoreCore;
use crate::{CommitCallback, CommitError, Committed};

/// A batch's callback with its result.
pub(crate) type Answer = (CommitCallback, Result<Committed, CommitError>);

/// Receives the answers of every group, in order, on the committing thread. Must not block, and must have them run one
/// group after the other.
pub type AnswerSink = Box<dyn Fn(GroupAnswers) + Send + Sync>;

/// The answers of one group whose batches are durable or rejected.
#[must_use = "callers wait for their answers"]
pub struct GroupAnswers {
    pub(crate) answers: VecDeque<Answer>,
    pub(crate) engine: Weak<StoreCore>,
}

impl GroupAnswers {
    /// Runs the callbacks in the order of the batches. If one panics, the others still run, and then the store stops.
    pub fn run(self) {
        let all_ran = run(self.answers);
        if let (false, Some(engine)) = (all_ran, self.engine.upgrade()) {
            engine.callback_panicked();
        }
    }
}

/// Runs every callback. False if one panicked.
pub(crate) fn run(answers: VecDeque<Answer>) -> bool {
    let mut all_ran = true;
    for (done, outcome) in answers {
        all_ran &= catch_unwind(AssertUnwindSafe(|| done(outcome))).is_ok();
    }
    all_ran
}
