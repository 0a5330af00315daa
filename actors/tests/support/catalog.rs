//! A catalog of gift cards in the test's hands.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use purser_actors::id::EffectId;
use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, ErrorKind, GiftCards, GiftOffer, GiftOrdered, OrderGift, PortError};
use purser_actors::product::{Country, Currency};

use super::ports::{Mood, error};

/// Has everything at 4 % and makes one gift card under one key.
#[derive(Default)]
pub(crate) struct Catalog {
    moods: Mutex<VecDeque<Mood>>,
    offers: Mutex<VecDeque<Result<GiftOffer, PortError>>>,
    made: Mutex<HashMap<EffectId, Vec<u8>>>,
    calls: Mutex<Vec<OrderGift>>,
}

impl Catalog {
    /// The moods of the next orders, in order.
    pub(crate) fn moods(&self, moods: &[Mood]) {
        self.moods.lock().extend(moods);
    }

    /// What the next looks at stock and price find, in order.
    pub(crate) fn offers(&self, offers: impl IntoIterator<Item = Result<GiftOffer, PortError>>) {
        self.offers.lock().extend(offers);
    }

    /// Gift cards made.
    pub(crate) fn made(&self) -> usize {
        self.made.lock().len()
    }

    /// All orders, repeated ones too.
    pub(crate) fn calls(&self) -> Vec<OrderGift> {
        self.calls.lock().clone()
    }

    fn make(&self, order: &OrderGift) -> GiftOrdered {
        let mut made = self.made.lock();
        let sealed = made
            .entry(order.key)
            .or_insert_with(|| order.card.0.to_be_bytes().to_vec());
        let sealed = sealed.clone();
        GiftOrdered::Ready { sealed }
    }
}

impl GiftCards for Catalog {
    fn offer<'a>(
        &'a self,
        _: &'a str,
        _: Currency,
        _: Country,
        _: Cents,
    ) -> BoxFuture<'a, Result<GiftOffer, PortError>> {
        let fee_rate = "0.04".into();
        let next = self.offers.lock().pop_front();
        Box::pin(async move { next.unwrap_or(Ok(GiftOffer::Open { fee_rate })) })
    }

    fn order<'a>(&'a self, order: &'a OrderGift) -> BoxFuture<'a, Result<GiftOrdered, PortError>> {
        Box::pin(async move {
            self.calls.lock().push(order.clone());
            let mood = self.moods.lock().pop_front().unwrap_or(Mood::Ready);
            match mood {
                Mood::Ready => Ok(self.make(order)),
                Mood::NotYet => Ok(GiftOrdered::Pending { retry_after_ms: 2 }),
                Mood::Declines => Ok(GiftOrdered::Declined {
                    reason: "out_of_stock".into(),
                }),
                Mood::Silent => {
                    self.make(order);
                    std::future::pending().await
                }
                Mood::Busy => Err(error(ErrorKind::Temporary, "order_gift_card")),
                Mood::Panics => panic!("{}", super::EXPECTED_PANIC),
                Mood::Broken => Err(error(ErrorKind::Permanent, "order_gift_card")),
            }
        })
    }
}
