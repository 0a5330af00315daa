//! Gift card jobs: the order is repeated until the catalog accepts or declines it.

use std::time::Duration;

use super::work::{
    Inquiry, NOT_COMPLETED_REASON, OperatorResolution, Summary, Work, listed, not_resolvable, summarize,
};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::gift_card::{Command, Job, Status};
use crate::id::{CardId, JobId};
use crate::kernel::{AttemptFailure, OutboxJob};
use crate::port::{BoxFuture, GiftCardOrderResult, GiftCardRequest};
use crate::reconciliation::{EntryAmount, ReconciliationSource};

impl Work for Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::OrderGiftCard(id) = self;
        Box::pin(on.order_gift_card(outbox_job, id))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::OrderGiftCard(id) = self;
        summarize(&all.gift_cards, id, |gift| Some(EntryAmount::Usdc(gift.charge.charged)))
    }

    fn inquire(self, engine: &Engine, key: JobId) -> BoxFuture<'_, Inquiry> {
        listed(engine, ReconciliationSource::GiftCards, key)
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        let Self::OrderGiftCard(id) = self;
        if resolution.done {
            return not_resolvable();
        }
        resolution.send(engine, (&engine.0.registries.gift_cards, id), || {
            Command::RecordDecline {
                job: resolution.id,
                reason: NOT_COMPLETED_REASON.into(),
            }
        })
    }
}

impl JobHandlers {
    pub(super) async fn order_gift_card(&self, outbox_job: &OutboxJob, id: CardId) -> HandlerResult {
        let gifts = &self.registries.gift_cards;
        let Some((gift, _)) = gifts.read(&id).await.map_err(load_failed)? else {
            return Err(AttemptFailure::temporary("the gift card is not there"));
        };
        if gift.status != Status::Processing {
            return Ok(());
        }
        let order = GiftCardRequest {
            key: outbox_job.id,
            card: id,
            order: gift.order,
        };
        let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
        let job = outbox_job.id;
        let command = match with_timeout_ms(timeout, self.ports.gift_cards.order(&order), "order_gift_card").await? {
            GiftCardOrderResult::Ready { sealed } => Command::RecordDelivery { job, sealed },
            GiftCardOrderResult::Declined { reason } => Command::RecordDecline { job, reason },
            GiftCardOrderResult::Pending { retry_after_ms } => return Err(AttemptFailure::defer(retry_after_ms)),
        };
        ask_entity(gifts, id, command).await
    }
}
