//! Jobs of refunds.

use super::work::{Inquiry, OperatorResolution, Summary, Work, ask, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers};
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::refund::{Command, Job};
use crate::id::JobId;
use crate::kernel::OutboxJob;
use crate::port::BoxFuture;
use crate::reconciliation::EntryAmount;

impl Work for Job {
    fn run<'a>(self, on: &'a JobHandlers, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let (refunds, job) = (&on.registries.refunds, effect.id);
        match self {
            Self::ConfirmRefund(id) => ask(refunds, id, Command::RecordCredit { job }),
            Self::ExpireRefund { refund, round } => ask(refunds, refund, Command::Expire { job, round }),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::ConfirmRefund(id) | Self::ExpireRefund { refund: id, .. }) = self;
        summarize(&all.refunds, id, |refund| {
            Some(EntryAmount::Usdc(refund.request.amount))
        })
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}
