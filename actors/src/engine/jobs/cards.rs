//! Card jobs: orders and queries at the issuer.

use std::time::Duration;

use purser_storage::mutants::{self, Mutant};

use super::work::{
    Inquiry, NOT_COMPLETED_REASON, OperatorResolution, Summary, Work, ask, listed, not_queryable, not_resolvable,
    summarize,
};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::refunds::refunded_for_snapshot;
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::card::{self, Card};
use crate::entity::refund::Refunded;
use crate::id::{CardId, JobId};
use crate::kernel::{AttemptFailure, OutboxJob};
use crate::port::{BoxFuture, CardActionRequest, CardSnapshot, ErrorKind, IssueCardRequest, IssueResult, PortError};
use crate::reconciliation::{EntryAmount, ReconciliationSource};

#[deny(clippy::wildcard_enum_match_arm, reason = "a new job must be handled here")]
impl Work for card::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        match self {
            Self::IssueCard(id) => Box::pin(on.issue_card(outbox_job, id)),
            Self::ExpireCard(id) => ask(&on.registries.cards, id, card::Command::Expire { job: outbox_job.id }),
            Self::RefreshCard(id) => Box::pin(on.refresh_card(outbox_job, id)),
            Self::ChangePrepaidCardState(id) => Box::pin(on.change_prepaid_card_state(outbox_job, id)),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::IssueCard(id) | Self::ExpireCard(id) | Self::RefreshCard(id) | Self::ChangePrepaidCardState(id)) =
            self;
        summarize(&all.cards, id, |card| Some(EntryAmount::Usdc(card.charge.charged)))
    }

    fn inquire(self, engine: &Engine, key: JobId) -> BoxFuture<'_, Inquiry> {
        match self {
            Self::IssueCard(_) => listed(engine, ReconciliationSource::Cards, key),
            Self::ExpireCard(_) | Self::RefreshCard(_) | Self::ChangePrepaidCardState(_) => not_queryable(),
        }
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        match self {
            Self::IssueCard(id) if !resolution.done => {
                resolution.send(engine, (&engine.0.registries.cards, id), || {
                    card::Command::RecordDecline {
                        job: resolution.id,
                        reason: NOT_COMPLETED_REASON.into(),
                    }
                })
            }
            Self::IssueCard(_) | Self::ExpireCard(_) | Self::RefreshCard(_) | Self::ChangePrepaidCardState(_) => {
                not_resolvable()
            }
        }
    }
}

impl JobHandlers {
    /// Orders the card until the issuer accepts or declines it.
    pub(super) async fn issue_card(&self, outbox_job: &OutboxJob, id: CardId) -> HandlerResult {
        let read = self.registries.cards.read(&id).await.map_err(load_failed)?;
        let Some((card, _)) = read else {
            return Err(AttemptFailure::temporary("the card is not there"));
        };
        if card.status != card::Status::Pending {
            return Ok(());
        }
        let key = if mutants::is_enabled(Mutant::IdempotencyKeyPerAttempt) {
            JobId(outbox_job.id.0.wrapping_add(u128::from(outbox_job.attempts)))
        } else {
            outbox_job.id
        };
        let order = IssueCardRequest {
            key,
            card: id,
            amount: card.amount,
        };
        let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
        let command = match with_timeout_ms(timeout, self.ports.issuer.issue(&order), "issue").await? {
            IssueResult::Ready(card) => card::Command::RecordIssuance {
                job: outbox_job.id,
                card,
            },
            IssueResult::Declined { reason } => card::Command::RecordDecline {
                job: outbox_job.id,
                reason,
            },
            IssueResult::Pending { retry_after_ms } => return Err(AttemptFailure::defer(retry_after_ms)),
        };
        ask_entity(&self.registries.cards, id, command).await
    }

    /// Fetches the card's activity. Every failure is retried: the owner's refresh limit is charged only once.
    pub(super) async fn refresh_card(&self, outbox_job: &OutboxJob, id: CardId) -> HandlerResult {
        let cards = &self.registries.cards;
        let Some((card, _)) = cards.read(&id).await.map_err(load_failed)? else {
            return Err(AttemptFailure::temporary("the card is not there"));
        };
        let Some(details) = card.details().filter(|_| card.refreshing) else {
            return Ok(());
        };
        // A dead-lettered query would block every later refresh of the card.
        let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
        let snapshot = with_timeout_ms(
            timeout,
            self.ports.issuer.card_snapshot(&details.issuer_ref),
            "card_snapshot",
        )
        .await;
        let (snapshot, refunded) = self.with_refunded(&card, snapshot).await?;
        let report = card::Command::RecordRefresh {
            job: outbox_job.id,
            snapshot,
            refunded,
        };
        ask_entity(cards, id, report).await
    }

    /// Sends the owner's action to the issuer. No other action is accepted until it has a result.
    pub(super) async fn change_prepaid_card_state(&self, outbox_job: &OutboxJob, id: CardId) -> HandlerResult {
        let cards = &self.registries.cards;
        let Some((card, _)) = cards.read(&id).await.map_err(load_failed)? else {
            return Err(AttemptFailure::temporary("the card is not there"));
        };
        let Some((details, action)) = card.details().zip(card.lifecycle.pending_action) else {
            return Ok(());
        };
        let order = CardActionRequest {
            key: outbox_job.id,
            card: id,
            issuer_ref: details.issuer_ref.clone(),
            action,
        };
        let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
        let snapshot = with_timeout_ms(timeout, self.ports.issuer.apply_action(&order), "change card state").await;
        let (snapshot, refunded) = self.with_refunded(&card, snapshot).await?;
        let report = card::Command::RecordActionResult {
            job: outbox_job.id,
            snapshot,
            refunded,
        };
        ask_entity(cards, id, report).await
    }

    /// The issuer's snapshot of a card, with the refunded part of its price.
    async fn with_refunded(
        &self,
        card: &Card,
        said: Result<CardSnapshot, PortError>,
    ) -> Result<(CardSnapshot, Refunded), AttemptFailure> {
        let snapshot = said.map_err(|error| self.retry_indefinitely(&error))?;
        let refunded = refunded_for_snapshot(&self.registries, card, &snapshot)
            .await
            .map_err(load_failed)?;
        Ok((snapshot, refunded))
    }

    /// Retries without a limit on attempts.
    fn retry_indefinitely(&self, error: &PortError) -> AttemptFailure {
        let pause = match error.kind {
            ErrorKind::Permanent => self.settings.retry.max_backoff_ms,
            ErrorKind::Temporary | ErrorKind::Unknown => self.settings.watch_every_ms,
        };
        AttemptFailure::temporary(error.to_string()).retry_every_ms(pause)
    }
}
