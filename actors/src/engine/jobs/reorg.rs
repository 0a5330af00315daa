//! Handles a payment removed by a reorg: its account is frozen and a loss is posted.

use super::work::{Inquiry, OperatorResolution, Summary, Work, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::account;
use crate::entity::discrepancy::{self, Command, Status};
use crate::entity::payment::{self, Payment};
use crate::id::{DiscrepancyId, JobId, PaymentId};
use crate::kernel::{AttemptFailure, OutboxJob, audit_log};
use crate::operator::{AuditedAction, OperatorAction, Role, system};
use crate::port::{BoxFuture, ChainStatus};

impl Work for discrepancy::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::ConfirmReorg(id) = self;
        Box::pin(on.confirm_reorg(outbox_job, id))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::ConfirmReorg(id) = self;
        summarize(&all.discrepancies, id, |_| None)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl JobHandlers {
    /// Reads the chain until it shows the payment again, or proves that it can never settle. Only then the account is
    /// frozen and the loss posted. In this order, so that a crash in between repeats both.
    pub(super) async fn confirm_reorg(&self, outbox_job: &OutboxJob, id: DiscrepancyId) -> HandlerResult {
        let discrepancies = &self.registries.discrepancies;
        let over = Command::CloseReorg { job: outbox_job.id };
        let read = discrepancies.read(&id).await.map_err(load_failed)?;
        let open = read.filter(|(discrepancy, _)| discrepancy.status == Status::Open);
        let Some(payment_id) = open.and_then(|(discrepancy, _)| discrepancy.details.is_reorged_payment()) else {
            return ask_entity(discrepancies, id, over).await;
        };
        let payment = self.payment(payment_id).await?;
        let lookup = self
            .ports
            .settlement
            .lookup(&payment.claim.authorization, payment.prepared());
        match self.with_timeout(lookup, "lookup").await {
            Ok(ChainStatus::Impossible) => {}
            // In another transaction it is paid all the same. In its own transaction the lists will agree soon.
            Ok(ChainStatus::Confirmed { transaction, .. }) if payment.transaction() != Some(&transaction) => {
                return ask_entity(discrepancies, id, over).await;
            }
            Ok(ChainStatus::Confirmed { .. } | ChainStatus::Pending) => {
                return Err(AttemptFailure::defer(self.settings.watch_every_ms));
            }
            Err(error) => return Err(AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms)),
        }
        if self.incoming_outcome(payment_id, payment.account()).await?.is_some() {
            // It is recorded as an incoming transfer: an operator decides.
            return ask_entity(discrepancies, id, over).await;
        }
        self.reverse(outbox_job, payment_id, &payment).await
    }

    /// Ends a payment that can never settle again. Freezes its account if anything has left for it.
    pub(super) async fn reverse(&self, outbox_job: &OutboxJob, id: PaymentId, payment: &Payment) -> HandlerResult {
        if self.has_outgoing(id, payment).await? {
            self.freeze_for_reversal(outbox_job, id, payment).await?;
        }
        tracing::error!(payment = %id, "payment reversed by its chain: loss recorded");
        let command = payment::Command::RecordReorg { job: outbox_job.id };
        ask_entity(&self.registries.payments, id, command).await
    }

    /// Whether anything has left for a payment, as far as the gate knows. A product may have been used, so it counts as
    /// left until the whole charge was credited.
    async fn has_outgoing(&self, id: PaymentId, payment: &Payment) -> Result<bool, AttemptFailure> {
        if !self.is_pending_finality(id).await? {
            return Ok(true);
        }
        let payment::Status::Fulfilled { product, .. } = &payment.status else {
            return Ok(false);
        };
        let kind = product.product_type();
        if kind.waits_for_finality {
            // The gate has held it back.
            return Ok(false);
        }
        let read = kind.read(&*self.store, product.number()).await.map_err(load_failed)?;
        Ok(read.is_none_or(|record| record.credited() != record.charge.charged))
    }

    /// Freezes the account; an operator unfreezes it and finds the reason in the audit log. An earlier operator's
    /// message to the owner stays.
    async fn freeze_for_reversal(&self, outbox_job: &OutboxJob, id: PaymentId, payment: &Payment) -> HandlerResult {
        let (wallet, amount) = (payment.account(), payment.claim.authorization.value());
        let act = OperatorAction {
            operator: system::RECONCILIATION.to_owned(),
            role: Role::Support,
            request_id: outbox_job.request_id,
        };
        // An operator's action may take this position first: then this is retried.
        let link = audit_log::next_position(&*self.store).await;
        let link = link.map_err(|error| AttemptFailure::temporary(error.to_string()))?;
        // Read after the log position. Another task that freezes it for the same reason has either taken that position
        // or is seen here.
        let accounts = &self.registries.accounts;
        let read = accounts.read(&wallet).await.map_err(load_failed)?;
        if read.is_some_and(|(account, _)| account.frozen.is_some()) {
            return Ok(());
        }
        let freeze = account::Command::Freeze {
            message: format!("The blockchain reversed payment {id} of {amount} USDC. Please contact support."),
            act: Some(AuditedAction {
                act,
                position: link,
                extras: Box::default(),
            }),
        };
        ask_entity(accounts, wallet, freeze).await
    }
}
