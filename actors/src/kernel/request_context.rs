//! The request that a command or job belongs to. It travels with the calling task, from there with each command, and is
//! stored in each job that the command starts. Log lines of an attempt name it, also after a restart.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::sync::Arc;

use purser_storage::Condition;

use crate::id::{RequestId, Wallet};
use crate::kernel::event_actor::EventActor;
use crate::kernel::table;
use crate::operator::OperatorToken;

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
    /// With what an operator was authenticated.
    operator: Cell<Option<OperatorAccess>>,
    /// Who sent the request, once that is known.
    actor: RefCell<Option<Arc<EventActor>>>,
}

/// With what an operator was authenticated.
#[derive(Clone, Copy, Debug)]
pub struct OperatorAccess {
    /// Hash of the token, or of the one that vouched for the session.
    pub token: [u8; 32],
    /// Hash of the cookie of the session at the desk, if the request has one.
    pub session: Option<[u8; 32]>,
}

impl OperatorAccess {
    /// The token is not revoked, and the session has not ended.
    fn conditions(self) -> impl Iterator<Item = Condition> {
        let token = Condition::Revision(table::operator(&self.token), OperatorToken::VALID);
        let session = self.session.map(|hash| table::operator_session(&hash));
        std::iter::once(token).chain(session.map(Condition::Present))
    }
}

impl Origin {
    const fn new(request: RequestId, answers: bool) -> Self {
        Self {
            request,
            answers,
            agent_of: Cell::new(None),
            access: Cell::new(None),
            operator: Cell::new(None),
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

/// States with what the operator who sent the request was authenticated. What the running task and those that continue it
/// commit from then on needs that this is still valid: a request can wait for others of operators, of which one ends it.
/// Outside of a request it does nothing.
pub fn rely_on_operator(access: OperatorAccess) {
    // An error means that there is no request.
    let _ = ORIGIN.try_with(|origin| origin.operator.set(Some(access)));
}

/// Conditions of what the running task commits for an operator; none for other requests.
pub(crate) fn operator_conditions() -> Vec<Condition> {
    let access = ORIGIN.try_with(|origin| origin.operator.get()).ok().flatten();
    access.into_iter().flat_map(OperatorAccess::conditions).collect()
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
