//! The actor that runs one job after the other.

use std::sync::Arc;

use purser_storage::{Store, codec};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tracing::Instrument as _;

use super::{JobHandler, RetryReason, SupervisorMsg};
use crate::kernel::job::{AttemptFailure, OutboxJob, RetryMode};
use crate::kernel::{request_context, table};

/// Runs jobs, one after the other, until an attempt fails.
pub(super) struct JobRunner {
    pub(super) handler: Arc<dyn JobHandler>,
    pub(super) store: Arc<dyn Store>,
    pub(super) supervisor: ActorRef<SupervisorMsg>,
}

impl Actor for JobRunner {
    type Msg = OutboxJob;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<OutboxJob>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<OutboxJob>,
        outbox_job: OutboxJob,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let (id, request, work) = (
            outbox_job.id,
            outbox_job.request_id,
            self.handler.facts(&outbox_job.job).name,
        );
        // Off by default, and then free: the default log lines name job and request themselves.
        let span = tracing::debug_span!("delivery", job = %id, %request, work);
        let end = match request_context::with_request(request, self.handler.handle(&outbox_job))
            .instrument(span)
            .await
        {
            Ok(()) => {
                self.check_ended(&outbox_job).await?;
                SupervisorMsg::Completed(myself.get_id())
            }
            Err(AttemptFailure {
                retry_mode: RetryMode::Defer(ms),
                ..
            }) => SupervisorMsg::Retry(myself.get_id(), ms, RetryReason::NotDue),
            Err(AttemptFailure {
                retry_mode: RetryMode::Blocked(ms),
                message,
                ..
            }) => SupervisorMsg::Retry(myself.get_id(), ms, RetryReason::Blocked(message)),
            Err(AttemptFailure {
                retry_mode: RetryMode::Fixed(ms),
                kind,
                message,
            }) => {
                tracing::debug!(job = %id, work, error = message, "an attempt failed and is repeated");
                SupervisorMsg::Retry(myself.get_id(), ms, RetryReason::Failed(kind, message))
            }
            Err(failure) => return Err(failure.into()),
        };
        drop(self.supervisor.cast(end));
        Ok(())
    }
}

impl JobRunner {
    /// A job handler that reports success without deleting the row would lose the job until the next start.
    async fn check_ended(&self, outbox_job: &OutboxJob) -> Result<(), ActorProcessingErr> {
        let row = self.store.read(&table::outbox_job(outbox_job.id)).await?;
        let open: Option<OutboxJob> = row.map(|row| codec::decode(&row.value)).transpose()?;
        if open.is_some_and(|open| open.created_at == outbox_job.created_at) {
            return Err(AttemptFailure::temporary("the attempt ended and the job is still open").into());
        }
        Ok(())
    }
}
