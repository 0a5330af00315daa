//! Jobs of spend approvals.

use super::work::{Inquiry, OperatorResolution, Summary, Work, ask, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::api_key;
use crate::entity::spend_approval::{Command, Job, MAX_OPEN, SpendApproval};
use crate::id::{ApiKeyId, JobId, SpendApprovalId, Wallet};
use crate::kernel::{AttemptFailure, OutboxJob, table};
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
            Self::EndApprovalsOfKey(key) => Box::pin(on.end_approvals_of_key(job, key)),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let id = match self {
            Self::ExpireSpendApproval(id) | Self::RecordSpendApprovalUse { approval: id, .. } => id,
            Self::EndApprovalsOfKey(key) => return summarize(&all.api_keys, key, |_| None),
        };
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

impl JobHandlers {
    async fn end_approvals_of_key(&self, job: JobId, key: ApiKeyId) -> HandlerResult {
        let keys = &self.registries.api_keys;
        if let Some((revoked, _)) = keys.read(&key).await.map_err(load_failed)? {
            let is_its = |approval: &SpendApproval| approval.agent.key == Some(key);
            self.end_approvals(revoked.owner, is_its).await?;
        }
        ask_entity(keys, key, api_key::Command::RecordApprovalsEnded { job }).await
    }

    /// Ends the open requests and unused approvals of an account whose agents have no access any more.
    pub(super) async fn end_approvals(
        &self,
        account: Wallet,
        has_agent_ended: impl Fn(&SpendApproval) -> bool + Send + Sync,
    ) -> HandlerResult {
        let approvals = &self.registries.spend_approvals;
        let slots = table::spend_approval_slots(&account);
        let slots = self.store.scan(&slots, None, usize::from(MAX_OPEN)).await;
        for (_, row) in slots.map_err(|e| AttemptFailure::temporary(e.to_string()))? {
            let Some(id) = row.value.first_chunk() else {
                continue;
            };
            let id = SpendApprovalId(u128::from_be_bytes(*id));
            let open = approvals.read(&id).await.map_err(load_failed)?;
            if open.is_some_and(|(open, _)| has_agent_ended(&open)) {
                // If a spend uses the approval in this moment, the batch is refused, and the next attempt finds it used.
                ask_entity(approvals, id, Command::EndWithAgent).await?;
            }
        }
        Ok(())
    }
}
