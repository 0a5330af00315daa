//! Jobs of accounts: credits, holds and daily caps.

use super::work::{Inquiry, OperatorResolution, Summary, Work, ask, not_queryable, not_resolvable, summarize, usd};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::engine::api_keys::MAX_KEY_SLOTS;
use crate::engine::job_resolution::credit_command;
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::account::{Command, Job, UnclaimedCapUsage};
use crate::entity::api_key;
use crate::id::{ApiKeyId, JobId, Wallet};
use crate::kernel::{AttemptFailure, OutboxJob, table};
use crate::port::{BoxFuture, Timestamp};
use crate::reconciliation::EntryAmount;

#[deny(clippy::wildcard_enum_match_arm, reason = "a new job must be handled here")]
impl Work for Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let (accounts, job) = (&on.registries.accounts, outbox_job.id);
        match self {
            Self::CreditAccount { account, amount, cause } => {
                Box::pin(on.credit_account(outbox_job, account, amount, cause))
            }
            Self::ReleaseCapReservation { account, reservation } => {
                ask(accounts, account, Command::ReleaseCapReservation { job, reservation })
            }
            Self::CountCapReservation { account, reservation } => {
                ask(accounts, account, Command::CountCapReservation { job, reservation })
            }
            Self::CountUnclaimed {
                account,
                payment,
                lines,
                reservations,
            } => {
                let counted = UnclaimedCapUsage {
                    account,
                    lines,
                    reservations,
                };
                Box::pin(on.count_unclaimed(outbox_job, payment, counted))
            }
            Self::CountClaimed { account, payment } => Box::pin(on.count_claimed(outbox_job, account, payment)),
            Self::SettleHold {
                withdrawal,
                account,
                amount,
                paid,
            } => {
                // Captures the hold for a completed withdrawal, or releases it.
                let command = Command::SettleHold {
                    job,
                    withdrawal,
                    amount,
                    paid,
                };
                ask(accounts, account, command)
            }
            Self::ReleaseCredit {
                account,
                payment,
                amount,
            } => Box::pin(on.release_credit(outbox_job, account, (payment, amount))),
            Self::RevokeApiKeys { account, until } => Box::pin(on.revoke_api_keys(outbox_job, account, until)),
            Self::SendBack {
                deposit,
                account,
                to,
                amount,
            } => {
                let command = Command::SendBack {
                    job,
                    deposit,
                    to,
                    amount,
                };
                ask(accounts, account, command)
            }
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        match self {
            Self::CreditAccount { account, amount, .. }
            | Self::SettleHold { account, amount, .. }
            | Self::ReleaseCredit { account, amount, .. } => {
                summarize(&all.accounts, account, move |_| Some(EntryAmount::Usdc(amount)))
            }
            Self::ReleaseCapReservation { account, reservation }
            | Self::CountCapReservation { account, reservation } => {
                summarize(&all.accounts, account, move |_| Some(usd(reservation.cents)))
            }
            Self::CountUnclaimed { account, .. }
            | Self::CountClaimed { account, .. }
            | Self::RevokeApiKeys { account, .. } => summarize(&all.accounts, account, |_| None),
            Self::SendBack { deposit, .. } => summarize(&all.incoming, deposit, |incoming| {
                Some(EntryAmount::Usdc(incoming.transfer.amount))
            }),
        }
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        match self {
            Self::CreditAccount { account, amount, cause } if !resolution.done => Box::pin(async move {
                let unfinal = engine.pending_payment_of_credit(cause).await?;
                let credit = || credit_command(resolution.id, amount, (cause, unfinal));
                resolution
                    .send(engine, (&engine.0.registries.accounts, account), credit)
                    .await
            }),
            Self::CreditAccount { .. }
            | Self::ReleaseCapReservation { .. }
            | Self::CountCapReservation { .. }
            | Self::CountUnclaimed { .. }
            | Self::CountClaimed { .. }
            | Self::SettleHold { .. }
            | Self::ReleaseCredit { .. }
            | Self::RevokeApiKeys { .. }
            | Self::SendBack { .. } => not_resolvable(),
        }
    }
}

impl JobHandlers {
    /// Revokes the API keys that existed when the agents were stopped, and ends what any agent had asked the owner for.
    async fn revoke_api_keys(&self, outbox_job: &OutboxJob, account: Wallet, until: Timestamp) -> HandlerResult {
        let slots = self.store.scan(&table::api_keys(&account), None, MAX_KEY_SLOTS).await;
        for (_, row) in slots.map_err(|e| AttemptFailure::temporary(e.to_string()))? {
            let Some(id) = row.value.first_chunk() else {
                continue;
            };
            let id = ApiKeyId(u128::from_be_bytes(*id));
            let keys = &self.registries.api_keys;
            let key = keys.read(&id).await.map_err(load_failed)?;
            if key.is_some_and(|(key, _)| key.created_at <= until) {
                ask_entity(keys, id, api_key::Command::Revoke).await?;
            }
        }
        // Also what was asked without a key, by a program of the wallet whose session has ended.
        self.end_approvals(account, |approval| approval.requested_at <= until)
            .await?;
        let job = outbox_job.id;
        ask_entity(&self.registries.accounts, account, Command::RecordKeysRevoked { job }).await
    }
}
