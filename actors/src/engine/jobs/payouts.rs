//! Payout jobs.

use std::time::Duration;

use purser_storage::mutants::{self, Mutant};

use super::finality::PAYMENT_REVERSED;
use super::work::{
    Inquiry, NOT_COMPLETED_REASON, OperatorResolution, Summary, Work, not_queryable, not_resolvable, summarize,
};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::operators::corrupt;
use crate::engine::registries::Registries;
use crate::engine::untracked_transfers::gate::closure_for;
use crate::engine::{Engine, ResolveError};
use crate::entity::bank_destination;
use crate::entity::late_return;
use crate::entity::payment_recipient;
use crate::entity::payout::{self, Command, Payout, PayoutTarget, Status};
use crate::id::{BankDestinationId, CardId, JobId, LateReturnId, PayoutId};
use crate::kernel::{AttemptFailure, EntityKind, OutboxJob, table};
use crate::port::payouts::{PayoutDestination, PayoutRailStatus, PayoutRequest, PayoutStatusUpdate, RecallResult};
use crate::port::{BoxFuture, ErrorKind, PortError};
use crate::reconciliation::{EntryAmount, EntryStatus};

/// Milliseconds until the rail is queried again after an outdated update.
const STALE_RETRY_MS: u64 = 1_000;
/// Milliseconds until a number that a payout still needs is checked again.
const IN_USE_RETRY_MS: u64 = 3_600_000;
/// Payouts read in one page.
const PAGE: usize = 200;

#[deny(clippy::wildcard_enum_match_arm, reason = "a new job must be handled here")]
impl Work for payout::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        match self {
            Self::SendPayout(id) => Box::pin(on.send_payout(outbox_job, id)),
            Self::RecallPayout(id) => Box::pin(on.recall_payout(outbox_job, id)),
            Self::ExpirePayout(id) => Box::pin(on.expire_payout(outbox_job, id)),
            Self::CloseReturnWindow(id) => Box::pin(on.close_return_window(outbox_job, id)),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::SendPayout(id) | Self::RecallPayout(id) | Self::ExpirePayout(id) | Self::CloseReturnWindow(id)) =
            self;
        summarize_payout(all, id)
    }

    fn inquire(self, engine: &Engine, key: JobId) -> BoxFuture<'_, Inquiry> {
        match self {
            Self::SendPayout(_) => Box::pin(async move { Ok(Some(engine.payout_order_status(key).await)) }),
            Self::RecallPayout(id) => Box::pin(async move {
                let Some((payout, _)) = engine.0.registries.payouts.read(&id).await.map_err(corrupt)? else {
                    return Ok(None);
                };
                Ok(Some(engine.payout_order_status(payout.key).await.map(recall_status)))
            }),
            Self::ExpirePayout(_) | Self::CloseReturnWindow(_) => not_queryable(),
        }
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        let payouts = &engine.0.registries.payouts;
        match self {
            Self::SendPayout(id) => resolution.send(engine, (payouts, id), || Command::ResolveManually {
                job: resolution.id,
                state: stated_status(resolution),
            }),
            Self::RecallPayout(id) if resolution.done => {
                resolution.send(engine, (payouts, id), || Command::RecordRecall {
                    job: resolution.id,
                    done: true,
                })
            }
            Self::RecallPayout(_) | Self::ExpirePayout(_) | Self::CloseReturnWindow(_) => not_resolvable(),
        }
    }
}

impl Work for late_return::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::ConfirmLateReturnCredit(id) = self;
        Box::pin(on.confirm_late_return_credit(outbox_job, id))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::ConfirmLateReturnCredit(id) = self;
        summarize(&all.late_returns, id, |late| Some(EntryAmount::Usdc(late.amount)))
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl Work for payment_recipient::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        match self {
            Self::SaveRecipient(payout) => Box::pin(on.save_recipient(outbox_job, payout)),
            Self::ReverseRecipientTotals(payout) => Box::pin(on.reverse_recipient_totals(outbox_job, payout)),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::SaveRecipient(payout) | Self::ReverseRecipientTotals(payout)) = self;
        summarize_payout(all, payout)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl Work for bank_destination::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::ShredAccountNumber(id) = self;
        Box::pin(on.shred_account_number(outbox_job, id))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::ShredAccountNumber(id) = self;
        summarize(&all.destinations, id, |_| None)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

fn summarize_payout(all: &Registries, id: PayoutId) -> BoxFuture<'_, Summary> {
    summarize(&all.payouts, id, |payout| {
        Some(EntryAmount::Usdc(payout.charge.charged))
    })
}

/// The status that a rail would have reported.
fn stated_status(resolution: &OperatorResolution<'_>) -> PayoutRailStatus {
    match resolution.done {
        true => PayoutRailStatus::Complete {
            reference: resolution.reference.into(),
        },
        false => PayoutRailStatus::Failed {
            reason: NOT_COMPLETED_REASON.into(),
        },
    }
}

/// A completed payout has not been recalled yet.
const fn recall_status(status: EntryStatus) -> EntryStatus {
    match status {
        EntryStatus::Returned | EntryStatus::Declined => EntryStatus::Completed,
        EntryStatus::Completed => EntryStatus::Pending,
        other @ (EntryStatus::NotSubmitted | EntryStatus::Pending | EntryStatus::Held) => other,
    }
}

impl Engine {
    async fn payout_order_status(&self, key: JobId) -> Result<EntryStatus, PortError> {
        let word = with_timeout_ms(self.query_timeout(), self.0.ports.payout_rails.find(key), "ask after").await?;
        Ok(word.map_or(EntryStatus::NotSubmitted, |word| match word.status {
            PayoutRailStatus::InProcess { .. } => EntryStatus::Pending,
            PayoutRailStatus::Complete { .. } => EntryStatus::Completed,
            PayoutRailStatus::Failed { .. } | PayoutRailStatus::Cancelled { .. } => EntryStatus::Declined,
            PayoutRailStatus::Returned { .. } => EntryStatus::Returned,
        }))
    }
}

impl JobHandlers {
    /// Sends an order, or queries it, until the rail has decided. An event from the rail may decide first.
    pub(super) async fn send_payout(&self, outbox_job: &OutboxJob, id: PayoutId) -> HandlerResult {
        let payout = self.payout(id).await?;
        if !payout.is_pending() {
            return Ok(());
        }
        let line = payout.plan.target.line();
        self.run_on_line(line, outbox_job, self.send_pending(outbox_job, id, payout))
            .await
    }

    async fn send_pending(&self, outbox_job: &OutboxJob, id: PayoutId, payout: Payout) -> HandlerResult {
        let report = match payout.plan.target {
            // No card is known here: a history lost by a restore ordered it. The payout is queried and never sent.
            PayoutTarget::Card(None) => self
                .find_at_rail(payout.key)
                .await?
                .ok_or_else(|| AttemptFailure::temporary("the rail reported an order that it cannot find"))?,
            _ => self.find_or_send(outbox_job, id, &payout).await?,
        };
        let again = match report.status {
            PayoutRailStatus::InProcess { retry_after_ms } => Some(retry_after_ms),
            _ if report.sequence <= payout.last_sequence => Some(STALE_RETRY_MS),
            _ => None,
        };
        ask_entity(&self.registries.payouts, id, Command::RecordRailEvent(report)).await?;
        match again {
            Some(ms) => Err(AttemptFailure::defer(ms)),
            None => Ok(()),
        }
    }

    /// A payout held at the gate is queried and not ordered. An earlier attempt or a lost history may have ordered it.
    async fn find_or_send(
        &self,
        outbox_job: &OutboxJob,
        id: PayoutId,
        payout: &Payout,
    ) -> Result<PayoutStatusUpdate, AttemptFailure> {
        if payout.last_sequence > 0 {
            return self.submit_order(outbox_job, id, payout).await;
        }
        let rests_on = payout.charge.payment;
        let held = match self
            .acquire_outgoing_permit(&payout.owner, closure_for(rests_on), rests_on)
            .await
        {
            Ok(_) => return self.submit_order(outbox_job, id, payout).await,
            Err(held) => held,
        };
        match self.find_at_rail(payout.key).await? {
            Some(report) => Ok(report),
            // It was never ordered, and never will be.
            None if self.is_reversed(rests_on).await? => Ok(PayoutStatusUpdate {
                sequence: payout.last_sequence.saturating_add(1),
                status: PayoutRailStatus::Failed {
                    reason: PAYMENT_REVERSED.into(),
                },
            }),
            None => Err(held),
        }
    }

    async fn submit_order(
        &self,
        outbox_job: &OutboxJob,
        id: PayoutId,
        payout: &Payout,
    ) -> Result<PayoutStatusUpdate, AttemptFailure> {
        let key = if mutants::is_enabled(Mutant::PayoutKeyPerAttempt) {
            JobId(outbox_job.id.0.wrapping_add(u128::from(outbox_job.attempts)))
        } else {
            outbox_job.id
        };
        let order = PayoutRequest {
            key,
            payout: id,
            line: payout.plan.target.line(),
            amount: payout.amount,
            currency: payout.currency,
            to: self.payee(id, payout).await?,
        };
        let timeout = Duration::from_millis(self.settings.payouts.timeout_ms);
        match with_timeout_ms(timeout, self.ports.payout_rails.send(&order), "pay out").await {
            Err(error) if mutants::is_enabled(Mutant::PayoutTimeoutCredits) && error.kind == ErrorKind::Unknown => {
                Ok(PayoutStatusUpdate {
                    sequence: payout.last_sequence.saturating_add(1),
                    status: PayoutRailStatus::Failed {
                        reason: error.message.into(),
                    },
                })
            }
            report => Ok(report?),
        }
    }

    /// The rail's status of the order under this key.
    async fn find_at_rail(&self, key: JobId) -> Result<Option<PayoutStatusUpdate>, AttemptFailure> {
        let timeout = Duration::from_millis(self.settings.payouts.timeout_ms);
        let found = with_timeout_ms(timeout, self.ports.payout_rails.find(key), "ask after").await;
        // Without a response nothing is credited and the job goes on.
        found.map_err(|error| match error.kind {
            ErrorKind::Permanent => error.into(),
            ErrorKind::Temporary | ErrorKind::Unknown => {
                AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms)
            }
        })
    }

    async fn payee(&self, id: PayoutId, payout: &Payout) -> Result<PayoutDestination, AttemptFailure> {
        Ok(match &payout.plan.target {
            PayoutTarget::Card(_) => PayoutDestination::Card {
                sealed: self.sealed(CardId(id.0)).await?,
            },
            PayoutTarget::Bank(destination, details) => PayoutDestination::Bank {
                destination: *destination,
                details: details.clone(),
                sealed: self.sealed(CardId(destination.0)).await?,
            },
            PayoutTarget::App(_, platform, payee) => PayoutDestination::App {
                platform: *platform,
                payee: payee.clone(),
            },
        })
    }

    /// Sealed account number. A destination removed after its payout was paid has none any more: an operator decides.
    async fn sealed(&self, id: CardId) -> Result<Vec<u8>, AttemptFailure> {
        let row = self.store.read(&table::vault(id)).await;
        let row = row.map_err(|e| AttemptFailure::temporary(e.to_string()))?;
        row.map(|row| row.value.to_vec()).ok_or_else(|| AttemptFailure {
            kind: ErrorKind::Permanent,
            ..AttemptFailure::temporary("the sealed number is not there")
        })
    }

    /// Recalls a payout. If the recall is no longer wanted, only completes the job.
    pub(super) async fn recall_payout(&self, outbox_job: &OutboxJob, id: PayoutId) -> HandlerResult {
        let payout = self.payout(id).await?;
        let mut done = false;
        if payout.is_recallable() {
            let timeout = Duration::from_millis(self.settings.payouts.timeout_ms);
            done = match with_timeout_ms(timeout, self.ports.payout_rails.recall(payout.key, id), "recall").await? {
                RecallResult::Recalled => true,
                RecallResult::TooLate if payout.recalling => {
                    return Err(AttemptFailure {
                        kind: ErrorKind::Permanent,
                        ..AttemptFailure::temporary("paid after the payer was credited, and it cannot be recalled")
                    });
                }
                // Claimed at the last moment: the rail will report it soon, so it is queried again.
                RecallResult::TooLate => return Err(AttemptFailure::defer(STALE_RETRY_MS)),
            };
        }
        let command = Command::RecordRecall {
            job: outbox_job.id,
            done,
        };
        ask_entity(&self.registries.payouts, id, command).await
    }

    /// The time to fill in the form is over. Credits only what the rail proves was never ordered.
    pub(super) async fn expire_payout(&self, outbox_job: &OutboxJob, id: PayoutId) -> HandlerResult {
        let payout = self.payout(id).await?;
        if payout.status == Status::AwaitingDetails
            && let Some(report) = self.find_at_rail(payout.key).await?
        {
            ask_entity(&self.registries.payouts, id, Command::RecordRailEvent(report)).await?;
        }
        let job = outbox_job.id;
        ask_entity(&self.registries.payouts, id, Command::Expire { job }).await
    }

    pub(super) async fn close_return_window(&self, outbox_job: &OutboxJob, id: PayoutId) -> HandlerResult {
        let job = outbox_job.id;
        ask_entity(&self.registries.payouts, id, Command::CloseReturnWindow { job }).await
    }

    pub(super) async fn save_recipient(&self, outbox_job: &OutboxJob, id: PayoutId) -> HandlerResult {
        let payout = self.payout(id).await?;
        let PayoutTarget::App(recipient, platform, payee) = payout.plan.target else {
            return Err(AttemptFailure::temporary("not a payment to an app"));
        };
        let command = payment_recipient::Command::RecordPayment {
            job: outbox_job.id,
            owner: payout.owner,
            platform,
            payee,
            amount: payout.amount,
        };
        ask_entity(&self.registries.recipients, recipient, command).await
    }

    /// Confirms that the owner of a late return has the credit.
    pub(super) async fn confirm_late_return_credit(&self, outbox_job: &OutboxJob, id: LateReturnId) -> HandlerResult {
        let command = late_return::Command::RecordCredit { job: outbox_job.id };
        ask_entity(&self.registries.late_returns, id, command).await
    }

    /// Removes a returned payment from the recipient's totals. The return may come before the recipient is saved.
    pub(super) async fn reverse_recipient_totals(&self, outbox_job: &OutboxJob, id: PayoutId) -> HandlerResult {
        let payout = self.payout(id).await?;
        let PayoutTarget::App(recipient, ..) = payout.plan.target else {
            return Err(AttemptFailure::temporary("not a payment to an app"));
        };
        if self
            .registries
            .recipients
            .read(&recipient)
            .await
            .map_err(load_failed)?
            .is_none()
        {
            return Err(AttemptFailure::defer(STALE_RETRY_MS));
        }
        let command = payment_recipient::Command::RecordReturn {
            job: outbox_job.id,
            amount: payout.amount,
        };
        ask_entity(&self.registries.recipients, recipient, command).await
    }

    /// Destroys a removed destination's account number, unless a payout to it is in progress.
    pub(super) async fn shred_account_number(&self, outbox_job: &OutboxJob, id: BankDestinationId) -> HandlerResult {
        let read = self.registries.destinations.read(&id).await.map_err(load_failed)?;
        let Some((kept, _)) = read else {
            return Err(AttemptFailure::temporary("the destination is not there"));
        };
        let (all, mut after) = (table::owner_index(&kept.owner, EntityKind::Payout), None);
        loop {
            let rows = self.store.scan(&all, after.as_deref(), PAGE);
            let rows = rows.await.map_err(|e| AttemptFailure::temporary(e.to_string()))?;
            for (key, _) in &rows {
                let Some((_, payout)) = table::created_and_id(key) else {
                    continue;
                };
                let payout = self.payout(PayoutId(payout)).await?;
                if payout.is_pending() && matches!(payout.plan.target, PayoutTarget::Bank(to, _) if to == id) {
                    return Err(AttemptFailure::defer(IN_USE_RETRY_MS));
                }
            }
            match rows.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        let command = bank_destination::Command::ShredNumber { job: outbox_job.id };
        ask_entity(&self.registries.destinations, id, command).await
    }

    async fn payout(&self, id: PayoutId) -> Result<Payout, AttemptFailure> {
        let read = self.registries.payouts.read(&id).await.map_err(load_failed)?;
        read.map(|(payout, _)| payout)
            .ok_or_else(|| AttemptFailure::temporary("the payout is not there"))
    }
}
