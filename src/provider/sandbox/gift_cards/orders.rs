//! Orders of gift cards: one key, one gift card, whatever goes wrong around it.

use std::time::Duration;

use purser_actors::port::{ErrorKind, PortError, Timestamp};

use super::book::{GiftBook, Ordered, Record};
use super::fault::{GiftFault, Magic, magic_of};
use super::{SandboxGiftCards, failed, redemption};
use crate::provider::gift_cards::{GiftAnswer, Offer, OrderGiftCard};
use crate::sandbox::record_log::LogError;

/// What the caller is told to wait at most before it asks again.
const RETRY_AT_MOST_MS: u64 = 5_000;

/// An order's outcome under the lock.
enum Taken {
    Stumble,
    Conflict,
    Old(Ordered),
    New(Ordered),
}

impl SandboxGiftCards {
    pub(super) async fn take_order(&self, order: &OrderGiftCard) -> Result<GiftAnswer, PortError> {
        const CALL: &str = "order_gift_card";
        let fault = self.faults.take(|_| true);
        self.before(CALL, fault).await?;
        let magic = magic_of(&order.product_id);
        // What the book would refuse anyway is refused under its lock; this reads what never changes.
        let looked = self.look(&order.product_id, &order.country, order.amount);
        let (taken, now, twice, durable) = {
            let mut book = self.book.lock();
            book.now = book.now.max(self.clock.now());
            let now = book.now;
            let taken = self.decide(&mut book, order, &looked, fault, now);
            let twice = magic == Some(Magic::AnsweredTwice) && book.repeats(order.key, &taken_of(&taken), now);
            let durable = match &taken {
                Taken::New(new) => self.keep(&mut book, &Record::Ordered(new.clone())),
                _ => self.archive.barrier(),
            };
            (taken, now, twice, durable)
        };
        let stopped = |e: LogError| failed(CALL, ErrorKind::Unknown, &e.to_string());
        durable.wait().await.map_err(stopped)?;
        let (known, fresh) = match taken {
            Taken::Stumble => {
                return Err(failed(
                    CALL,
                    ErrorKind::Temporary,
                    "the catalog is busy (magic product)",
                ));
            }
            Taken::Conflict => {
                let message = "this key belongs to an order with another content";
                return Err(failed(CALL, ErrorKind::Permanent, message));
            }
            Taken::Old(known) => (known, false),
            Taken::New(known) => (known, true),
        };
        if fault == Some(GiftFault::Timeout) || (fresh && magic == Some(Magic::TimeoutAfterSuccess)) {
            tokio::time::sleep(Duration::from_millis(self.settings.timeout_after_ms)).await;
            return Err(failed(CALL, ErrorKind::Unknown, "no answer in time"));
        }
        if fresh && magic == Some(Magic::GarbageAfterSuccess) {
            return Err(failed(CALL, ErrorKind::Unknown, "the answer is not a catalog's answer"));
        }
        let again = twice || (!fresh && fault == Some(GiftFault::Twice));
        Ok(self.answer(known, now, fresh || again))
    }

    fn decide(
        &self,
        book: &mut GiftBook,
        order: &OrderGiftCard,
        looked: &Offer,
        fault: Option<GiftFault>,
        now: Timestamp,
    ) -> Taken {
        if let Some(known) = book.order(order.key) {
            return if known.is(order) {
                Taken::Old(known)
            } else {
                Taken::Conflict
            };
        }
        let magic = magic_of(&order.product_id);
        if magic == Some(Magic::TemporaryTwice) && book.stumbles(order.key) {
            return Taken::Stumble;
        }
        let delay = match magic {
            Some(Magic::Slow) => self.settings.slow_ready_after_ms,
            _ => self.settings.ready_after_ms,
        };
        let declined = match (fault, magic) {
            (Some(GiftFault::Decline), _) | (_, Some(Magic::Declined)) => Some("declined_by_brand"),
            (Some(GiftFault::OutOfStock), _) | (_, Some(Magic::SoldOutAtOrder)) => Some("out_of_stock"),
            (_, Some(Magic::DearerAtOrder)) => Some("price_changed"),
            _ => self.refusal(book, order, looked),
        };
        Taken::New(Ordered::new(order, now, now.plus_ms(delay), declined))
    }

    fn refusal(&self, book: &GiftBook, order: &OrderGiftCard, looked: &Offer) -> Option<&'static str> {
        match looked {
            Offer::UnknownProduct => return Some("unknown_product"),
            Offer::NotInCountry => return Some("not_in_country"),
            Offer::NotThisAmount(_) => return Some("amount_not_offered"),
            Offer::OutOfStock | Offer::Open { .. } => {}
        }
        // Looked at again, under the lock: the last one is sold once.
        let now = self.catalog.get(&order.product_id).map(|listed| book.now_of(listed));
        match now {
            Some(product) if !product.in_stock => Some("out_of_stock"),
            Some(product) if product.fee_rate > order.fee_rate => Some("price_changed"),
            Some(_) => None,
            None => Some("unknown_product"),
        }
    }

    fn answer(&self, known: Ordered, now: Timestamp, first: bool) -> GiftAnswer {
        if let Some(reason) = known.declined {
            return GiftAnswer::Declined { reason: reason.into() };
        }
        let left = known.ready_at.0.saturating_sub(now.0);
        let retry_after_ms = left.clamp(1, RETRY_AT_MOST_MS);
        if first {
            return GiftAnswer::Accepted { retry_after_ms };
        }
        match self.catalog.get(&known.product) {
            Some(listed) if left == 0 => GiftAnswer::Ready(redemption::redemption(listed.redeem, known.key)),
            _ => GiftAnswer::Pending { retry_after_ms },
        }
    }
}

fn taken_of(taken: &Taken) -> Option<Ordered> {
    match taken {
        Taken::Old(known) => Some(known.clone()),
        _ => None,
    }
}
