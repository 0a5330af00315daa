//! Gift cards: ordered from the catalog until it says yes or no.

use std::time::Duration;

use super::{Desk, Done, tell, unreadable, within};
use crate::gift_card::{Command, Status};
use crate::id::CardId;
use crate::kernel::{Effect, Failure};
use crate::port::{GiftOrdered, OrderGift};

impl Desk {
    pub(super) async fn order_gift_card(&self, effect: &Effect, id: CardId) -> Done {
        let gifts = &self.families.gift_cards;
        let Some((gift, _)) = gifts.read(&id).await.map_err(unreadable)? else {
            return Err(Failure::temporary("the gift card is not there"));
        };
        if gift.status != Status::Processing {
            return Ok(());
        }
        let order = OrderGift {
            key: effect.id,
            card: id,
            order: gift.order,
        };
        let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
        let effect = effect.id;
        let command = match within(timeout, self.ports.gift_cards.order(&order), "order_gift_card").await? {
            GiftOrdered::Ready { sealed } => Command::Delivered { effect, sealed },
            GiftOrdered::Declined { reason } => Command::Refused { effect, reason },
            GiftOrdered::Pending { retry_after_ms } => return Err(Failure::not_yet(retry_after_ms)),
        };
        tell(gifts, id, command).await
    }
}
