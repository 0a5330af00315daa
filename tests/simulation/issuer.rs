//! The card issuer, pretended: it keeps its word under one key whatever becomes of its answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::card::Card;
use purser_actors::id::{CardId, EffectId};
use purser_actors::kernel::{Kind, table};
use purser_actors::port::{BoxFuture, CardIssuer, ErrorKind, Issuance, IssueCard, IssuedCard, PortError};
use purser_storage::codec;

use crate::clients::payment_of_amount;
use crate::fate::Issue;
use crate::world::{ORDERED_PANIC, World};

/// What the issuer knows of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Open,
    Made(IssuedCard),
    Declined,
}

#[derive(Default)]
pub(crate) struct Press {
    /// Orders by key, with our name of the card.
    pub(crate) orders: BTreeMap<EffectId, (CardId, Order)>,
    calls: BTreeMap<EffectId, usize>,
}

pub(crate) struct SimIssuer(pub(crate) Arc<World>);

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "issue",
        message: "as the plan says".into(),
    }
}

fn made(order: &IssueCard) -> IssuedCard {
    IssuedCard {
        issuer_ref: format!("ref-{:032x}", order.card.0),
        last4: format!("{:04}", order.card.0 % 10_000),
        exp_month: 12,
        exp_year: 2031,
        sealed: order.card.0.to_be_bytes().to_vec(),
    }
}

impl SimIssuer {
    /// Nobody orders what is not durably sold.
    fn judge(&self, order: &IssueCard) {
        let shadow = self.0.shadow.lock();
        let row = shadow.rows.get(&table::entity(Kind::Card, &order.card.0.to_be_bytes()));
        let card: Option<Card> = row.and_then(|row| codec::decode(&row.value).ok());
        drop(shadow);
        if card.is_none_or(|card| card.amount != order.amount) {
            self.0.object(
                "issue.early",
                format!("{} was ordered and is not durably sold", order.card),
            );
        }
        let mut press = self.0.press.lock();
        let known = press.orders.entry(order.key).or_insert((order.card, Order::Open)).0;
        let keys = press.orders.values().filter(|(card, _)| *card == order.card).count();
        drop(press);
        if known != order.card || keys != 1 {
            self.0
                .object("issue.keys", format!("{} was ordered under {keys} keys", order.card));
        }
    }

    /// Makes the card unless it was made or refused before; a word once given stands.
    fn make(&self, order: &IssueCard) -> Issuance {
        let mut press = self.0.press.lock();
        let (_, state) = press.orders.entry(order.key).or_insert((order.card, Order::Open));
        if *state == Order::Open {
            *state = Order::Made(made(order));
        }
        match state {
            Order::Made(card) => Issuance::Ready(card.clone()),
            _ => Issuance::Declined {
                reason: "the issuer says no".into(),
            },
        }
    }

    async fn issued(&self, order: &IssueCard) -> Result<Issuance, PortError> {
        self.0.linger(self.0.below(80)).await;
        let call = {
            let mut press = self.0.press.lock();
            let calls = press.calls.entry(order.key).or_default();
            *calls += 1;
            *calls - 1
        };
        let n = payment_of_amount(order.amount);
        let fates = self
            .0
            .plan
            .fates
            .get(&n)
            .map(|f| f.issue.as_slice())
            .unwrap_or_default();
        // Bad for good, whatever the weather.
        if let Some(at) = fates.iter().position(|i| matches!(i, Issue::Garbage | Issue::Broken))
            && call >= at
        {
            return match fates[at] {
                Issue::Broken => Err(error(ErrorKind::Permanent)),
                _ => Ok(Issuance::Ready(IssuedCard {
                    sealed: vec![7; 20_000],
                    exp_month: 99,
                    ..made(order)
                })),
            };
        }
        let fate = fates.get(call).filter(|_| !self.0.is_calm());
        let Some(fate) = fate else { return Ok(self.make(order)) };
        self.0
            .trace(|| format!("issuer: {} of payment {n} meets {fate:?}", order.card));
        match *fate {
            Issue::Busy => Err(error(ErrorKind::Temporary)),
            Issue::Pending(retry_after_ms) => Ok(Issuance::Pending { retry_after_ms }),
            Issue::MadeAnswerLost => {
                self.make(order);
                Err(error(ErrorKind::Unknown))
            }
            Issue::MadeAndHangs => {
                self.make(order);
                std::future::pending().await
            }
            Issue::MadeAndPanics => {
                self.make(order);
                panic!("{ORDERED_PANIC}");
            }
            Issue::MadeSaysPending => {
                self.make(order);
                Ok(Issuance::Pending { retry_after_ms: 100 })
            }
            Issue::Declines => {
                let mut press = self.0.press.lock();
                let (_, state) = press.orders.entry(order.key).or_insert((order.card, Order::Open));
                if *state == Order::Open {
                    *state = Order::Declined;
                }
                drop(press);
                Ok(self.make(order))
            }
            Issue::Panics => panic!("{ORDERED_PANIC}"),
            Issue::Slow(ms) => {
                self.0.linger(ms).await;
                Ok(self.make(order))
            }
            Issue::Garbage | Issue::Broken => Err(error(ErrorKind::Permanent)),
        }
    }
}

impl CardIssuer for SimIssuer {
    fn issue<'a>(&'a self, order: &'a IssueCard) -> BoxFuture<'a, Result<Issuance, PortError>> {
        Box::pin(async move {
            self.0.pass().await;
            self.judge(order);
            let _one = self.0.alone.enter(&self.0, "issue.at_once", order.key.0);
            let answer = self.issued(order).await;
            self.0.pass().await;
            self.0
                .trace(|| format!("issuer: {} is answered {}", order.card, answer.is_ok()));
            answer
        })
    }
}
