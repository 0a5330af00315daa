//! Gift card orders: each key creates at most one gift card, whatever fails.

use purser_actors::port::{ErrorKind, PortError, Timestamp};

use super::faults::MagicOutcome;
use super::records::{GiftCardOrderRecord, GiftCardRecord, GiftCardRecords};
use super::{SandboxGiftCards, redemption};
use crate::gift_cards::{GiftCardOrderRequest, GiftCardOrderStatus, GiftCardQuote};
use purser_sandbox::clock::advance;
use purser_sandbox::faults::{Fault, OrderResult, failed};
use purser_sandbox::records::RecordBook as _;

/// Maximum delay after which the caller is asked to retry.
const MAX_RETRY_AFTER_MS: u64 = 5_000;

impl SandboxGiftCards {
    pub(super) async fn place_order(&self, order: &GiftCardOrderRequest) -> Result<GiftCardOrderStatus, PortError> {
        const CALL: &str = "order_gift_card";
        let fault = self.faults.before(CALL, |_| true).await?;
        let magic = MagicOutcome::of(order.product_id.as_str());
        // Reads only what never changes. The remaining rules are checked later, under the lock of the records.
        let looked = self.quote(&order.product_id, &order.country, order.amount);
        let taken = self.records.run(|book| {
            let now = advance(&mut book.totals.now, &*self.clock);
            let taken = self.decide(book, order, &looked, fault, now);
            let twice =
                magic == Some(MagicOutcome::DuplicateResponse) && book.repeats(order.key, &existing_order(&taken), now);
            if let OrderResult::Created(new) = &taken {
                book.append(&[GiftCardRecord::Ordered(new.clone())]);
            }
            (taken, now, twice)
        });
        let (taken, now, twice) = taken.or(ErrorKind::Unknown, CALL).await?;
        let (known, fresh) = taken.order(CALL, "the catalog is busy (magic product)")?;
        self.faults.after(CALL, fault).await?;
        if fresh && magic == Some(MagicOutcome::TimeoutAfterSuccess) {
            return self.faults.time_out(CALL).await;
        }
        if fresh && magic == Some(MagicOutcome::GarbageAfterSuccess) {
            return Err(failed(ErrorKind::Unknown, CALL, "the answer is not a catalog's answer"));
        }
        let again = twice || (!fresh && fault == Some(Fault::Duplicate));
        Ok(self.order_status(known, now, fresh || again))
    }

    fn decide(
        &self,
        book: &GiftCardRecords,
        order: &GiftCardOrderRequest,
        looked: &GiftCardQuote,
        fault: Option<Fault>,
        now: Timestamp,
    ) -> OrderResult<GiftCardOrderRecord> {
        if let Some(known) = book.order(order.key) {
            return if known.is(order) {
                OrderResult::Existing(known)
            } else {
                OrderResult::Conflict
            };
        }
        let magic = MagicOutcome::of(order.product_id.as_str());
        if magic == Some(MagicOutcome::TwoTemporaryErrors) && self.faults.fails_temporarily(order.key) {
            return OrderResult::Busy;
        }
        let delay = match magic {
            Some(MagicOutcome::Slow) => self.settings.slow_ready_after_ms,
            _ => self.settings.ready_after_ms,
        };
        let declined = match (fault, magic) {
            (Some(Fault::Decline), _) | (_, Some(MagicOutcome::Declined)) => Some("declined_by_brand"),
            (Some(Fault::OutOfStock), _) | (_, Some(MagicOutcome::SoldOutAtOrder)) => Some("out_of_stock"),
            (_, Some(MagicOutcome::PriceRaisedAtOrder)) => Some("price_changed"),
            _ => self.decline_reason(book, order, looked),
        };
        OrderResult::Created(GiftCardOrderRecord::new(order, now, now.plus_ms(delay), declined))
    }

    fn decline_reason(
        &self,
        book: &GiftCardRecords,
        order: &GiftCardOrderRequest,
        looked: &GiftCardQuote,
    ) -> Option<&'static str> {
        match looked {
            GiftCardQuote::UnknownProduct => return Some("unknown_product"),
            GiftCardQuote::NotInCountry => return Some("not_in_country"),
            GiftCardQuote::InvalidAmount { .. } => return Some("amount_not_offered"),
            GiftCardQuote::OutOfStock | GiftCardQuote::Available { .. } => {}
        }
        // Checked again under the lock, so that the last card is sold only once.
        let now = self.catalog.get(&order.product_id).map(|listed| book.now_of(listed));
        match now {
            Some(product) if !product.in_stock => Some("out_of_stock"),
            Some(product) if product.fee_rate > order.fee_rate => Some("price_changed"),
            Some(_) => None,
            None => Some("unknown_product"),
        }
    }

    fn order_status(&self, known: GiftCardOrderRecord, now: Timestamp, first: bool) -> GiftCardOrderStatus {
        if let Some(reason) = known.declined {
            return GiftCardOrderStatus::Declined { reason: reason.into() };
        }
        let left = known.ready_at.0.saturating_sub(now.0);
        let retry_after_ms = left.clamp(1, MAX_RETRY_AFTER_MS);
        if first {
            return GiftCardOrderStatus::Accepted { retry_after_ms };
        }
        match self.catalog.get(&known.product) {
            Some(listed) if left == 0 => GiftCardOrderStatus::ready(redemption::redemption(listed.redeem, known.key)),
            _ => GiftCardOrderStatus::Pending { retry_after_ms },
        }
    }
}

fn existing_order(taken: &OrderResult<GiftCardOrderRecord>) -> Option<GiftCardOrderRecord> {
    match taken {
        OrderResult::Existing(known) => Some(known.clone()),
        _ => None,
    }
}
