//! Jobs of recoveries.

use super::work::{Inquiry, OperatorResolution, Summary, Work, ask, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::credential::MAX_PASSKEYS;
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::passkey;
use crate::entity::recovery::{Command, Job};
use crate::id::{JobId, PasskeyId, Wallet};
use crate::kernel::{AttemptFailure, OutboxJob, table};
use crate::port::{BoxFuture, Timestamp};

impl Work for Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let job = outbox_job.id;
        match self {
            Self::ContinueRecovery(account) => ask(&on.registries.recoveries, account, Command::Continue { job }),
            Self::RemoveLostPasskeys { account, until } => Box::pin(on.remove_lost_passkeys(job, account, until)),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::ContinueRecovery(account) | Self::RemoveLostPasskeys { account, .. }) = self;
        summarize(&all.recoveries, account, |_| None)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl JobHandlers {
    /// Removes the passkeys that existed when the recovery was completed. Every session that they opened ends.
    async fn remove_lost_passkeys(&self, job: JobId, account: Wallet, until: Timestamp) -> HandlerResult {
        let slots = table::passkey_slots(&account);
        let slots = self.store.scan(&slots, None, MAX_PASSKEYS.into()).await;
        for (_, row) in slots.map_err(|e| AttemptFailure::temporary(e.to_string()))? {
            let Some(id) = row.value.first_chunk() else {
                continue;
            };
            let (id, passkeys) = (PasskeyId(u128::from_be_bytes(*id)), &self.registries.passkeys);
            let passkey = passkeys.read(&id).await.map_err(load_failed)?;
            if passkey.is_some_and(|(passkey, _)| passkey.created_at <= until) {
                ask_entity(passkeys, id, passkey::Command::Remove).await?;
            }
        }
        ask_entity(
            &self.registries.recoveries,
            account,
            Command::RecordPasskeysRemoved { job },
        )
        .await
    }
}
