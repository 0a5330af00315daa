//! Runs the answers of a journal's groups on the runtime.
//!
//! The committer wakes one task for a group. That task wakes the callers and starts the jobs of the group: a thread of
//! the runtime wakes a task without a system call, the committing thread seldom does.

use purser_storage::{GroupAnswers, JournalStore};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::unbounded_channel;

/// Runs the answers in one task, group after group, until the store is dropped. When the runtime has ended, the committing
/// thread runs them again.
pub fn run_on(runtime: &Handle, store: &JournalStore) {
    // Bounded by the commands in flight, each of which waits for its answer.
    let (groups, mut pending) = unbounded_channel::<GroupAnswers>();
    store.set_answer_sink(Box::new(move |answers| {
        if let Err(SendError(answers)) = groups.send(answers) {
            answers.run();
        }
    }));
    runtime.spawn(async move {
        while let Some(answers) = pending.recv().await {
            answers.run();
        }
    });
}
