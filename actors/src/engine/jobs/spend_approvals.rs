//! Jobs of spend approvals.

use super::work::{Inquiry, OperatorResolution, Summary, Work, ask, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers};
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::spend_approval::{Command, Job};
use crate::id::JobId;
use crate::kernel::OutboxJob;
use crate::port::BoxFuture;
use crate::reconciliation::EntryAmount;

impl Work for Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let (job, approvals) = (outbox_job.id, &on.registries.spend_approvals);
        match self {
            // If a spend uses the approval in this moment, the batch is refused, and the next attempt finds it used.
            Self::ExpireSpendApproval(id) => ask(approvals, id, Command::Expire { job }),
            Self::RecordSpendApprovalUse { approval, used_by } => {
                ask(approvals, approval, Command::RecordUse { job, used_by })
            }
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::ExpireSpendApproval(id) | Self::RecordSpendApprovalUse { approval: id, .. }) = self;
        summarize(&all.spend_approvals, id, |approval| {
            Some(EntryAmount::Usdc(approval.terms.amount))
        })
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}
