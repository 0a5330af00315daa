//! The request that a command or job belongs to. It travels with the calling task, from there with each command, and is
//! stored in each job that the command starts. Log lines of an attempt name it, also after a restart.

use std::future::Future;

use crate::id::RequestId;

#[derive(Clone, Copy)]
struct Origin {
    request: RequestId,
    /// Whether the task answers the request, so that its log lines are in the request's span. Lines of a job name job
    /// and request themselves.
    answers: bool,
}

impl Origin {
    const NONE: Self = Self {
        request: RequestId::NONE,
        answers: false,
    };

    fn of_task() -> Self {
        ORIGIN.try_with(|origin| *origin).unwrap_or(Self::NONE)
    }
}

tokio::task_local! {
    static ORIGIN: Origin;
}

/// Runs a future whose commands and jobs belong to this request.
pub fn with_request<F: Future>(request: RequestId, work: F) -> impl Future<Output = F::Output> {
    let answers = false;
    ORIGIN.scope(Origin { request, answers }, work)
}

/// The same for a future that answers the request: the request's span is around its log lines.
pub fn in_request<F: Future>(request: RequestId, work: F) -> impl Future<Output = F::Output> {
    let answers = true;
    ORIGIN.scope(Origin { request, answers }, work)
}

/// Lets a future that runs in a task of its own continue what the running task does.
pub fn continue_request<F: Future>(work: F) -> impl Future<Output = F::Output> {
    ORIGIN.scope(Origin::of_task(), work)
}

/// Request of the running task; [`RequestId::NONE`] outside of one.
pub fn current_request() -> RequestId {
    Origin::of_task().request
}

/// The request that the running task answers: log lines name it.
pub fn request_of_lines() -> Option<RequestId> {
    let origin = Origin::of_task();
    origin.answers.then_some(origin.request)
}
