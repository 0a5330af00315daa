//! Jobs that an account's owner started: identity verification and the account at the card issuer.

use std::time::Duration;

use super::work::{
    Inquiry, NOT_COMPLETED_REASON, OperatorResolution, Summary, Work, not_queryable, not_resolvable, summarize,
};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::identity_verification::{self, Status};
use crate::entity::issuer_link;
use crate::id::{JobId, Wallet};
use crate::kernel::{AttemptFailure, OutboxJob};
use crate::port::{BoxFuture, CheckStatus, ErrorKind, IdentityCheckRequest, IssuerAccountResult};

impl Work for identity_verification::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::CheckIdentity(wallet) = self;
        Box::pin(on.check_identity(outbox_job, wallet))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::CheckIdentity(wallet) = self;
        summarize(&all.identities, wallet, |_| None)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl Work for issuer_link::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::OpenIssuerAccount(wallet) = self;
        Box::pin(on.open_issuer_account(outbox_job, wallet))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::OpenIssuerAccount(wallet) = self;
        summarize(&all.issuer_links, wallet, |_| None)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        let Self::OpenIssuerAccount(wallet) = self;
        if resolution.done {
            return not_resolvable();
        }
        resolution.send(engine, (&engine.0.registries.issuer_links, wallet), || {
            issuer_link::Command::RecordDecline {
                job: resolution.id,
                reason: NOT_COMPLETED_REASON.into(),
            }
        })
    }
}

impl JobHandlers {
    /// Starts the check once and queries it until it has ended. A callback may be faster; the job is then gone.
    pub(super) async fn check_identity(&self, outbox_job: &OutboxJob, wallet: Wallet) -> HandlerResult {
        let read = self.registries.identities.read(&wallet).await.map_err(load_failed)?;
        let Some((identity, _)) = read else {
            return Err(AttemptFailure::temporary("the identity is not there"));
        };
        let Status::InReview { check, started: begun } = identity.status else {
            return Ok(());
        };
        if check != outbox_job.id {
            return Ok(());
        }
        let reference = match begun {
            Some(begun) => begun.reference,
            None => match self.start_check(outbox_job, wallet).await? {
                Some(reference) => reference,
                None => return Ok(()),
            },
        };
        let asked = with_timeout_ms(
            self.issuer_timeout(),
            self.ports.identity_check.status(&reference),
            "identity status",
        );
        match asked.await {
            Ok(CheckStatus::Pending { retry_after_ms }) => Err(AttemptFailure::defer(retry_after_ms)),
            Ok(CheckStatus::Decided(verdict)) => {
                let command = identity_verification::Command::RecordVerdict { reference, verdict };
                ask_entity(&self.registries.identities, wallet, command).await
            }
            // A query only reads: no error decides anything, and a check may take days.
            Err(error) => Err(AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms)),
        }
    }

    /// The provider's id of the check, persisted; `None` if there will be none.
    async fn start_check(&self, outbox_job: &OutboxJob, wallet: Wallet) -> Result<Option<String>, AttemptFailure> {
        let check = IdentityCheckRequest {
            key: outbox_job.id,
            wallet,
        };
        let started = with_timeout_ms(
            self.issuer_timeout(),
            self.ports.identity_check.start(&check),
            "identity start",
        );
        let (command, reference) = match started.await {
            Ok(begun) => {
                let reference = Some(begun.reference.clone());
                let job = outbox_job.id;
                (
                    identity_verification::Command::RecordStarted { job, started: begun },
                    reference,
                )
            }
            Err(error) if error.kind == ErrorKind::Permanent => {
                let request = outbox_job.request_id;
                tracing::warn!(%wallet, %request, %error, "the identity check was refused");
                let (job, reason) = (outbox_job.id, "check_refused".into());
                (identity_verification::Command::RecordDecline { job, reason }, None)
            }
            // Retried without limit: no other check can be started meanwhile.
            Err(error) => return Err(AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms)),
        };
        ask_entity(&self.registries.identities, wallet, command).await?;
        Ok(reference)
    }

    pub(super) async fn open_issuer_account(&self, outbox_job: &OutboxJob, wallet: Wallet) -> HandlerResult {
        let read = self.registries.issuer_links.read(&wallet).await.map_err(load_failed)?;
        let Some((link, _)) = read else {
            return Err(AttemptFailure::temporary("the link is not there"));
        };
        if link.pending_job() != Some(outbox_job.id) {
            return Ok(());
        }
        let opening = with_timeout_ms(
            self.issuer_timeout(),
            self.ports.issuer_accounts.open(&wallet),
            "open account",
        );
        let job = outbox_job.id;
        let command = match opening.await? {
            IssuerAccountResult::Open { deposit_address } => {
                issuer_link::Command::RecordOpened { job, deposit_address }
            }
            IssuerAccountResult::Declined { reason } => issuer_link::Command::RecordDecline { job, reason },
            IssuerAccountResult::Pending { retry_after_ms } => return Err(AttemptFailure::defer(retry_after_ms)),
        };
        ask_entity(&self.registries.issuer_links, wallet, command).await
    }

    const fn issuer_timeout(&self) -> Duration {
        Duration::from_millis(self.settings.issuer_timeout_ms)
    }
}
