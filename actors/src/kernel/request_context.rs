//! Which request a piece of work goes back to. It travels with the task that asks, from there with each command, and
//! is written into each effect that the command brings about: a delivery names it, after a restart too.

use std::future::Future;

use crate::id::RequestId;

tokio::task_local! {
    static ORIGIN: RequestId;
}

/// Runs a future whose commands and effects go back to this request.
pub fn with_request<F: Future>(request: RequestId, work: F) -> impl Future<Output = F::Output> {
    ORIGIN.scope(request, work)
}

/// The request that the running task works for; [`RequestId::NONE`] outside of one.
pub fn current_request() -> RequestId {
    ORIGIN.try_with(|request| *request).unwrap_or(RequestId::NONE)
}
