//! Jobs of card balances: opening cards, card actions and holds.

use std::time::Duration;

use purser_storage::mutants::{self, Mutant};

use super::work::{
    Inquiry, NOT_COMPLETED_REASON, OperatorResolution, Summary, Work, ask, listed, not_queryable, not_resolvable,
    summarize, usd,
};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::operators::corrupt;
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::card_withdrawal;
use crate::entity::reloadable_card::{self, INSUFFICIENT};
use crate::id::{CardId, JobId, WithdrawalId};
use crate::kernel::{AttemptFailure, OutboxJob};
use crate::port::{
    BoxFuture, CardActionRequest, ErrorKind, HoldRequest, HoldResult, HoldStatus, OpenCardRequest, OpenCardResult,
    PortError,
};
use crate::reconciliation::{EntryStatus, ReconciliationSource};

#[deny(clippy::wildcard_enum_match_arm, reason = "a new job must be handled here")]
impl Work for reloadable_card::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        match self {
            Self::OpenReloadableCard(id) => Box::pin(on.open_reloadable_card(outbox_job, id)),
            Self::ChangeCardState(id) => Box::pin(on.change_card_state(outbox_job, id)),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::OpenReloadableCard(id) | Self::ChangeCardState(id)) = self;
        summarize(&all.reloadable_cards, id, |card| Some(usd(card.amount)))
    }

    fn inquire(self, engine: &Engine, key: JobId) -> BoxFuture<'_, Inquiry> {
        match self {
            Self::OpenReloadableCard(_) => listed(engine, ReconciliationSource::ReloadableCards, key),
            Self::ChangeCardState(_) => not_queryable(),
        }
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        match self {
            Self::OpenReloadableCard(id) if !resolution.done => {
                resolution.send(engine, (&engine.0.registries.reloadable_cards, id), || {
                    reloadable_card::Command::RecordDecline {
                        job: resolution.id,
                        reason: NOT_COMPLETED_REASON.into(),
                    }
                })
            }
            Self::OpenReloadableCard(_) | Self::ChangeCardState(_) => not_resolvable(),
        }
    }
}

#[deny(clippy::wildcard_enum_match_arm, reason = "a new job must be handled here")]
impl Work for card_withdrawal::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        match self {
            Self::HoldCardBalance(id) => Box::pin(on.hold_card_balance(outbox_job, id)),
            Self::SettleCardHold(id) => Box::pin(on.settle_card_hold(outbox_job, id)),
            Self::ExpireWithdrawalLease { withdrawal, lease } => {
                let command = card_withdrawal::Command::ExpireLease {
                    job: outbox_job.id,
                    lease,
                };
                ask(&on.registries.card_withdrawals, withdrawal, command)
            }
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::HoldCardBalance(id) | Self::SettleCardHold(id) | Self::ExpireWithdrawalLease { withdrawal: id, .. }) =
            self;
        summarize(&all.card_withdrawals, id, |asked| Some(usd(asked.amount)))
    }

    fn inquire(self, engine: &Engine, key: JobId) -> BoxFuture<'_, Inquiry> {
        match self {
            Self::HoldCardBalance(_) => Box::pin(async move { Ok(Some(engine.card_hold_status(key).await)) }),
            Self::SettleCardHold(id) => Box::pin(engine.settled_hold_status(id)),
            Self::ExpireWithdrawalLease { .. } => not_queryable(),
        }
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        let withdrawals = &engine.0.registries.card_withdrawals;
        match self {
            Self::HoldCardBalance(id) => resolution.send(engine, (withdrawals, id), || match resolution.done {
                true => card_withdrawal::Command::RecordHold { job: resolution.id },
                false => card_withdrawal::Command::RecordDecline {
                    job: resolution.id,
                    reason: NOT_COMPLETED_REASON.into(),
                },
            }),
            Self::SettleCardHold(id) if resolution.done => resolution.send(engine, (withdrawals, id), || {
                card_withdrawal::Command::RecordHoldSettled { job: resolution.id }
            }),
            Self::SettleCardHold(_) | Self::ExpireWithdrawalLease { .. } => not_resolvable(),
        }
    }
}

impl Engine {
    async fn card_hold_status(&self, key: JobId) -> Result<EntryStatus, PortError> {
        Ok(match self.hold_at_issuer(key).await? {
            HoldStatus::Held => EntryStatus::Completed,
            HoldStatus::Settled { .. } => EntryStatus::Returned,
            HoldStatus::NotFound => EntryStatus::NotSubmitted,
        })
    }

    /// Whether the hold has ended in the intended way.
    async fn settled_hold_status(&self, id: WithdrawalId) -> Inquiry {
        let read = self.0.registries.card_withdrawals.read(&id).await.map_err(corrupt)?;
        let Some((key, wanted)) = read.and_then(|(asked, _)| asked.hold_key.zip(asked.is_paid())) else {
            return Ok(None);
        };
        let reported = self.hold_at_issuer(key).await;
        Ok(Some(reported.map(|reported| match reported {
            HoldStatus::Held => EntryStatus::Pending,
            HoldStatus::Settled { paid } if paid == wanted => EntryStatus::Completed,
            HoldStatus::Settled { .. } => EntryStatus::Declined,
            HoldStatus::NotFound => EntryStatus::NotSubmitted,
        })))
    }

    async fn hold_at_issuer(&self, key: JobId) -> Result<HoldStatus, PortError> {
        let asked = self.0.ports.reloadable_cards.hold_status(key);
        with_timeout_ms(self.query_timeout(), asked, "reservation").await
    }
}

impl JobHandlers {
    /// Orders the card until the issuer accepts or declines it.
    pub(super) async fn open_reloadable_card(&self, outbox_job: &OutboxJob, id: CardId) -> HandlerResult {
        let cards = &self.registries.reloadable_cards;
        let Some((card, _)) = cards.read(&id).await.map_err(load_failed)? else {
            return Err(AttemptFailure::temporary("the card is not there"));
        };
        if card.status != reloadable_card::Status::Creating {
            return Ok(());
        }
        let key = if mutants::is_enabled(Mutant::CardOpeningKeyPerAttempt) {
            JobId(outbox_job.id.0.wrapping_add(u128::from(outbox_job.attempts)))
        } else {
            outbox_job.id
        };
        let order = OpenCardRequest {
            key,
            card: id,
            account: card.account,
            amount: card.amount,
            reusable: card.reusable,
        };
        let job = outbox_job.id;
        let refused = |reason| reloadable_card::Command::RecordDecline { job, reason };
        let opening = with_timeout_ms(
            self.retry_after(),
            self.ports.reloadable_cards.open(&order),
            "open card",
        )
        .await;
        let command = match opening {
            Err(error) if mutants::is_enabled(Mutant::IssuerTimeoutDeclines) && error.kind == ErrorKind::Unknown => {
                refused(error.message.into())
            }
            Err(error) => return Err(error.into()),
            Ok(opening) => match opening {
                OpenCardResult::Open(card) => reloadable_card::Command::RecordOpened { job, card },
                OpenCardResult::InsufficientBalance => refused(INSUFFICIENT.into()),
                OpenCardResult::Declined { reason } => refused(reason),
                OpenCardResult::Pending { retry_after_ms } => return Err(AttemptFailure::defer(retry_after_ms)),
            },
        };
        ask_entity(cards, id, command).await
    }

    /// Sends the owner's action to the issuer. Retried without limit: no other action is accepted until it has a
    /// result.
    pub(super) async fn change_card_state(&self, outbox_job: &OutboxJob, id: CardId) -> HandlerResult {
        let cards = &self.registries.reloadable_cards;
        let Some((card, _)) = cards.read(&id).await.map_err(load_failed)? else {
            return Err(AttemptFailure::temporary("the card is not there"));
        };
        let Some((details, action)) = card.details().zip(card.pending_action) else {
            return Ok(());
        };
        let order = CardActionRequest {
            key: outbox_job.id,
            card: id,
            issuer_ref: details.issuer_ref.clone(),
            action,
        };
        let snapshot = with_timeout_ms(
            self.retry_after(),
            self.ports.reloadable_cards.apply_action(&order),
            "change card state",
        )
        .await;
        let snapshot = snapshot.map_err(|error| self.with_fixed_retry(&error))?;
        let job = outbox_job.id;
        ask_entity(
            cards,
            id,
            reloadable_card::Command::RecordActionResult { job, snapshot },
        )
        .await
    }

    /// Places the hold until the issuer accepts or declines it.
    pub(super) async fn hold_card_balance(&self, outbox_job: &OutboxJob, id: WithdrawalId) -> HandlerResult {
        let withdrawals = &self.registries.card_withdrawals;
        let Some((asked, _)) = withdrawals.read(&id).await.map_err(load_failed)? else {
            return Err(AttemptFailure::temporary("the withdrawal is not there"));
        };
        if asked.status != card_withdrawal::Status::Pending {
            return Ok(());
        }
        let order = HoldRequest {
            key: outbox_job.id,
            withdrawal: id,
            account: asked.account,
            amount: asked.amount,
        };
        let job = outbox_job.id;
        let refused = |reason| card_withdrawal::Command::RecordDecline { job, reason };
        let command =
            match with_timeout_ms(self.retry_after(), self.ports.reloadable_cards.hold(&order), "reserve").await? {
                HoldResult::Held => card_withdrawal::Command::RecordHold { job },
                HoldResult::InsufficientBalance => refused(INSUFFICIENT.into()),
                HoldResult::Declined { reason } => refused(reason),
                HoldResult::Pending { retry_after_ms } => return Err(AttemptFailure::defer(retry_after_ms)),
                HoldResult::AlreadySettled { paid } => {
                    tracing::error!(withdrawal = %id, paid, "a withdrawal was decided in a history that was lost");
                    card_withdrawal::Command::RecordClosedAtIssuer { job, paid }
                }
            };
        ask_entity(withdrawals, id, command).await
    }

    /// Captures or releases the hold at the issuer.
    pub(super) async fn settle_card_hold(&self, outbox_job: &OutboxJob, id: WithdrawalId) -> HandlerResult {
        let withdrawals = &self.registries.card_withdrawals;
        let Some((asked, _)) = withdrawals.read(&id).await.map_err(load_failed)? else {
            return Err(AttemptFailure::temporary("the withdrawal is not there"));
        };
        let Some((key, paid)) = asked.hold_key.zip(asked.is_paid()).filter(|_| !asked.settled) else {
            return Ok(());
        };
        let ended = self.ports.reloadable_cards.settle_hold(key, paid);
        match with_timeout_ms(self.retry_after(), ended, "end reservation").await {
            Ok(()) => {}
            // The issuer reports the opposite end: an operator has to look.
            Err(error) if error.kind == ErrorKind::Permanent => return Err(error.into()),
            Err(error) => return Err(self.with_fixed_retry(&error)),
        }
        let job = outbox_job.id;
        ask_entity(withdrawals, id, card_withdrawal::Command::RecordHoldSettled { job }).await
    }

    /// Retries without a limit on attempts. A permanent error is dead-lettered with its reason.
    fn with_fixed_retry(&self, error: &PortError) -> AttemptFailure {
        match error.kind {
            ErrorKind::Permanent => error.clone().into(),
            ErrorKind::Temporary | ErrorKind::Unknown => {
                AttemptFailure::temporary(error.to_string()).retry_every_ms(self.settings.watch_every_ms)
            }
        }
    }

    const fn retry_after(&self) -> Duration {
        Duration::from_millis(self.settings.issuer_timeout_ms)
    }
}
