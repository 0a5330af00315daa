//! A fake gift card catalog.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use purser_actors::currency::{Country, Currency};
use purser_actors::id::JobId;
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, ErrorKind, GiftCardOffer, GiftCardOrderResult, GiftCardProvider, GiftCardRequest, PortError,
};

use super::ports::{IssuerBehavior, error};

/// Has every item at 4 % and issues one gift card per key.
#[derive(Default)]
pub(crate) struct FakeGiftCards {
    behaviors: Mutex<VecDeque<IssuerBehavior>>,
    offers: Mutex<VecDeque<Result<GiftCardOffer, PortError>>>,
    made: Mutex<HashMap<JobId, Vec<u8>>>,
    calls: Mutex<Vec<GiftCardRequest>>,
}

impl FakeGiftCards {
    /// Sets the behaviors of the next orders, in order.
    pub(crate) fn set_behaviors(&self, behaviors: &[IssuerBehavior]) {
        self.behaviors.lock().extend(behaviors);
    }

    /// Sets the results of the next stock and price queries, in order.
    pub(crate) fn set_offers(&self, offers: impl IntoIterator<Item = Result<GiftCardOffer, PortError>>) {
        self.offers.lock().extend(offers);
    }

    /// Number of issued gift cards.
    pub(crate) fn made(&self) -> usize {
        self.made.lock().len()
    }

    /// All orders, repeated ones included.
    pub(crate) fn calls(&self) -> Vec<GiftCardRequest> {
        self.calls.lock().clone()
    }

    fn make(&self, order: &GiftCardRequest) -> GiftCardOrderResult {
        let mut made = self.made.lock();
        let sealed = made
            .entry(order.key)
            .or_insert_with(|| order.card.0.to_be_bytes().to_vec());
        let sealed = sealed.clone();
        GiftCardOrderResult::Ready { sealed }
    }
}

impl GiftCardProvider for FakeGiftCards {
    fn offer<'a>(
        &'a self,
        _: &'a str,
        _: Currency,
        _: Country,
        _: Cents,
    ) -> BoxFuture<'a, Result<GiftCardOffer, PortError>> {
        let fee_rate = "0.04".into();
        let next = self.offers.lock().pop_front();
        Box::pin(async move { next.unwrap_or(Ok(GiftCardOffer::Available { fee_rate })) })
    }

    fn order<'a>(&'a self, order: &'a GiftCardRequest) -> BoxFuture<'a, Result<GiftCardOrderResult, PortError>> {
        Box::pin(async move {
            self.calls.lock().push(order.clone());
            let behavior = self.behaviors.lock().pop_front().unwrap_or(IssuerBehavior::Ready);
            match behavior {
                IssuerBehavior::Ready => Ok(self.make(order)),
                IssuerBehavior::NotYet => Ok(GiftCardOrderResult::Pending { retry_after_ms: 2 }),
                IssuerBehavior::Declines => Ok(GiftCardOrderResult::Declined {
                    reason: "out_of_stock".into(),
                }),
                IssuerBehavior::ResponseLost => {
                    self.make(order);
                    std::future::pending().await
                }
                IssuerBehavior::Busy => Err(error(ErrorKind::Temporary, "order_gift_card")),
                IssuerBehavior::Panics => panic!("{}", super::EXPECTED_PANIC),
                IssuerBehavior::Broken => Err(error(ErrorKind::Permanent, "order_gift_card")),
            }
        })
    }
}
