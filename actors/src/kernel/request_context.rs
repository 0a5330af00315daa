//! The request that a command or job belongs to. It travels with the calling task, from there with each command, and is
//! stored in each job that the command starts. Log lines of an attempt name it, also after a restart.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::sync::Arc;

use crate::id::{RequestId, Wallet};
use crate::kernel::event_actor::EventActor;

#[derive(Clone)]
struct Origin {
    request: RequestId,
    /// Whether the task answers the request, so that its log lines are in the request's span. Lines of a job name job
    /// and request themselves.
    answers: bool,
    /// Account in whose name an agent sends the commands, once that is known.
    agent_of: Cell<Option<Wallet>>,
    /// Account whose access the request has, and the revision of its cutoff when that was checked.
    access: Cell<Option<(Wallet, u64)>>,
    /// Who sent the request, once that is known.
    actor: RefCell<Option<Arc<EventActor>>>,
}

impl Origin {
    const fn new(request: RequestId, answers: bool) -> Self {
        Self {
            request,
            answers,
            agent_of: Cell::new(None),
            access: Cell::new(None),
            actor: RefCell::new(None),
        }
    }

    fn of_task() -> Self {
        ORIGIN
            .try_with(Self::clone)
            .unwrap_or(Self::new(RequestId::NONE, false))
    }
}

tokio::task_local! {
    static ORIGIN: Origin;
}

/// Runs a future whose commands and jobs belong to this request.
pub fn with_request<F: Future>(request: RequestId, work: F) -> impl Future<Output = F::Output> {
    ORIGIN.scope(Origin::new(request, false), work)
}

/// The same for a future that answers the request: the request's span is around its log lines.
pub fn in_request<F: Future>(request: RequestId, work: F) -> impl Future<Output = F::Output> {
    ORIGIN.scope(Origin::new(request, true), work)
}

/// Lets a future that runs in a task of its own continue what the running task does.
pub fn continue_request<F: Future>(work: F) -> impl Future<Output = F::Output> {
    ORIGIN.scope(Origin::of_task(), work)
}

/// Request of the running task; [`RequestId::NONE`] outside of one.
pub fn current_request() -> RequestId {
    Origin::of_task().request
}

/// States that an agent of this account sends the commands that follow in the running task, and in those that continue
/// it. Their batches commit only while the account owner has not stopped the agents. Outside of a request it does
/// nothing.
pub fn act_as_agent_of(account: Wallet) {
    // An error means that there is no request.
    let _ = ORIGIN.try_with(|origin| origin.agent_of.set(Some(account)));
}

/// States that the request has access to this account, and at which revision of the account's access cutoff that was
/// checked. What the running task and those that continue it commit from then on needs that no recovery completes
/// meanwhile. The first check counts: a later one cannot give back access that has ended. Outside of a request it does
/// nothing.
pub(crate) fn rely_on_access(account: Wallet, cutoff_revision: u64) {
    // An error means that there is no request.
    let _ = ORIGIN.try_with(|origin| {
        let first = origin.access.get().unwrap_or((account, cutoff_revision));
        origin.access.set(Some(first));
    });
}

/// Account whose access the running task has, and the revision of its cutoff when that was checked.
pub(crate) fn access() -> Option<(Wallet, u64)> {
    ORIGIN.try_with(|origin| origin.access.get()).ok().flatten()
}

/// States who sent the request: the events of the commands that follow name the sender. Outside of a request it does
/// nothing.
pub fn sent_by(actor: EventActor) {
    // An error means that there is no request.
    let _ = ORIGIN.try_with(|origin| origin.actor.replace(Some(Arc::new(actor))));
}

/// Who sent the request of the running task, if a session did.
pub(crate) fn current_actor() -> Option<Arc<EventActor>> {
    ORIGIN.try_with(|origin| origin.actor.borrow().clone()).ok().flatten()
}

/// Account in whose name an agent sends the running task's commands.
pub fn agent_account() -> Option<Wallet> {
    ORIGIN.try_with(|origin| origin.agent_of.get()).ok().flatten()
}

/// The request that the running task answers: log lines name it.
pub fn request_of_lines() -> Option<RequestId> {
    let origin = Origin::of_task();
    origin.answers.then_some(origin.request)
}
