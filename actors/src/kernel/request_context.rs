//! The request that a command or job belongs to. It travels with the calling task, from there with each command, and is
//! stored in each job that the command starts. Log lines of an attempt name it, also after a restart.

use std::future::Future;

use crate::id::RequestId;

tokio::task_local! {
    static ORIGIN: RequestId;
}

/// Runs a future whose commands and jobs belong to this request.
pub fn with_request<F: Future>(request: RequestId, work: F) -> impl Future<Output = F::Output> {
    ORIGIN.scope(request, work)
}

/// Request of the running task; [`RequestId::NONE`] outside of one.
pub fn current_request() -> RequestId {
    ORIGIN.try_with(|request| *request).unwrap_or(RequestId::NONE)
}
