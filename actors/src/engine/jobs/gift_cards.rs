//! Gift card jobs: the order is repeated until the catalog accepts or declines it.

use std::time::Duration;

use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::gift_card::{Command, Status};
use crate::id::CardId;
use crate::kernel::{AttemptFailure, OutboxJob};
use crate::port::{GiftCardOrderResult, GiftCardRequest};

impl JobHandlers {
    pub(super) async fn order_gift_card(&self, effect: &OutboxJob, id: CardId) -> HandlerResult {
        let gifts = &self.registries.gift_cards;
        let Some((gift, _)) = gifts.read(&id).await.map_err(load_failed)? else {
            return Err(AttemptFailure::temporary("the gift card is not there"));
        };
        if gift.status != Status::Processing {
            return Ok(());
        }
        let order = GiftCardRequest {
            key: effect.id,
            card: id,
            order: gift.order,
        };
        let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
        let effect = effect.id;
        let command = match with_timeout_ms(timeout, self.ports.gift_cards.order(&order), "order_gift_card").await? {
            GiftCardOrderResult::Ready { sealed } => Command::RecordDelivery { job: effect, sealed },
            GiftCardOrderResult::Declined { reason } => Command::RecordDecline { job: effect, reason },
            GiftCardOrderResult::Pending { retry_after_ms } => return Err(AttemptFailure::defer(retry_after_ms)),
        };
        ask_entity(gifts, id, command).await
    }
}
