//! Jobs of international card orders.

use std::time::Duration;

use super::work::{Inquiry, OperatorResolution, Summary, Work, ask, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, with_timeout_ms};
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::intl_order::{Command, Job};
use crate::id::{CardId, JobId};
use crate::kernel::{AttemptFailure, OutboxJob, table};
use crate::port::BoxFuture;
use crate::reconciliation::EntryAmount;

impl Work for Job {
    fn run<'a>(self, on: &'a JobHandlers, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let (orders, job) = (&on.registries.intl_orders, effect.id);
        match self {
            Self::ExpireOrderLease { order, lease } => ask(orders, order, Command::ExpireLease { job, lease }),
            Self::MarkOrderOverdue(id) => ask(orders, id, Command::MarkOverdue { job }),
            Self::ExpireIntlCard(id) => ask(orders, id, Command::Expire { job }),
            Self::ShredCvv(id) => Box::pin(on.shred_cvv(effect, id)),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::ExpireOrderLease { order: id, .. }
        | Self::MarkOrderOverdue(id)
        | Self::ExpireIntlCard(id)
        | Self::ShredCvv(id)) = self;
        summarize(&all.intl_orders, id, |order| {
            Some(EntryAmount::Usdc(order.charge.charged))
        })
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl JobHandlers {
    /// The key first, then the record: what is left of the record without its key is noise.
    async fn shred_cvv(&self, effect: &OutboxJob, id: CardId) -> HandlerResult {
        let row = self.store.read(&table::cvv(id)).await;
        if let Some(row) = row.map_err(|e| AttemptFailure::temporary(e.to_string()))? {
            let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
            with_timeout_ms(timeout, self.ports.shredder.shred(&row.value), "shred").await?;
        }
        let command = Command::RecordCvvShredded { job: effect.id };
        ask_entity(&self.registries.intl_orders, id, command).await
    }
}
