//! Who makes what is sold, pretended: each keeps its word under one key, whatever becomes of its answers. One press for all
//! of them; what they say in their own terms is the last thing they do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purser_actors::card::Card;
use purser_actors::gift_card::GiftCard;
use purser_actors::id::EffectId;
use purser_actors::kernel::{Kind, table};
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, CardActivity, CardIssuer, CardState, CardWord, ErrorKind, GiftCards, GiftOffer, GiftOrdered, GiftTerms,
    Issuance, IssueCard, IssuedCard, OrderGift, PortError, Standing, SteerCard, Wish,
};
use purser_actors::product::{Country, Currency};
use purser_storage::codec::{self, Stored};

use crate::clients::payment_of_amount;
use crate::fate::Issue;
use crate::outages::{self, Provider};
use crate::world::{ORDERED_PANIC, World};

/// A thing that is sold: its kind as stored, and its id.
pub(crate) type Thing = (u8, u128);

/// What a maker knows of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Open,
    Made,
    Declined,
}

#[derive(Default)]
pub(crate) struct Press {
    /// Orders by key, with our name of the thing.
    pub(crate) orders: BTreeMap<EffectId, (Thing, Order)>,
    /// What was asked under each key.
    pub(crate) asked: BTreeMap<EffectId, Placed>,
    calls: BTreeMap<EffectId, usize>,
    /// Prepaid cards that somebody wanted something of, by the issuer's name.
    stands: BTreeMap<String, Standing>,
    steered: BTreeSet<EffectId>,
}

/// What an order is for, as its maker lists it.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) payment: u32,
    pub(crate) product: String,
    pub(crate) amount: Cents,
    pub(crate) currency: Currency,
    pub(crate) terms: Option<GiftTerms>,
}

/// One order, whoever it goes to.
struct Asked {
    key: EffectId,
    thing: Thing,
    placed: Placed,
    provider: Provider,
    /// One try of each at once, and so many of this maker.
    at_once: &'static str,
    /// For the trace.
    name: String,
}

/// A maker's word.
enum Word {
    Made,
    /// Nonsense in place of what was made, for ever.
    Spoilt,
    Pending(u64),
    Declined,
}

/// All makers.
pub(crate) struct Makers(pub(crate) Arc<World>);

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "make",
        message: "as the plan says".into(),
    }
}

impl Makers {
    /// The durable snapshot of a thing.
    fn sold<T: Stored>(&self, (kind, id): (Kind, u128)) -> Option<T> {
        let shadow = self.0.shadow.lock();
        let row = shadow.rows.get(&table::entity(kind, &id.to_be_bytes()));
        row.and_then(|row| codec::decode(&row.value).ok())
    }

    /// Nobody orders what is not durably sold, or under two keys.
    fn judge(&self, asked: &Asked, is_sold: bool) {
        if !is_sold {
            let detail = format!("{} was ordered and is not durably sold", asked.name);
            self.0.object("issue.early", detail);
        }
        let mut press = self.0.press.lock();
        let known = press.orders.entry(asked.key).or_insert((asked.thing, Order::Open)).0;
        press.asked.entry(asked.key).or_insert_with(|| asked.placed.clone());
        let keys = press.orders.values().filter(|(thing, _)| *thing == asked.thing).count();
        drop(press);
        if known != asked.thing || keys != 1 {
            let detail = format!("{} was ordered under {keys} keys", asked.name);
            self.0.object("issue.keys", detail);
        }
    }

    /// Makes it unless it was made or refused before; a word once given stands.
    fn make(&self, asked: &Asked) -> Word {
        let mut press = self.0.press.lock();
        let (_, state) = press.orders.entry(asked.key).or_insert((asked.thing, Order::Open));
        if *state == Order::Open {
            *state = Order::Made;
        }
        match state {
            Order::Made => Word::Made,
            _ => Word::Declined,
        }
    }

    /// Whether its provider is there; one that is down says so, or nothing.
    async fn reached(&self, asked: &Asked, call: usize) -> Result<(), PortError> {
        let Some(silent) = outages::is_down(&self.0, asked.provider) else {
            return Ok(());
        };
        self.0.trace(|| format!("maker: {} meets an outage", asked.name));
        outages::fails(&self.0, asked.provider, asked.key, call == 0, silent);
        if silent {
            std::future::pending::<()>().await;
        }
        Err(error(ErrorKind::Temporary))
    }

    async fn answer(&self, asked: &Asked) -> Result<Word, PortError> {
        self.0.linger(self.0.below(80)).await;
        let call = {
            let mut press = self.0.press.lock();
            let calls = press.calls.entry(asked.key).or_default();
            *calls += 1;
            *calls - 1
        };
        self.reached(asked, call).await?;
        let n = asked.placed.payment;
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
                _ => Ok(Word::Spoilt),
            };
        }
        let fate = fates.get(call).filter(|_| !self.0.is_calm());
        let Some(fate) = fate else { return Ok(self.make(asked)) };
        self.0
            .trace(|| format!("maker: {} of payment {n} meets {fate:?}", asked.name));
        match *fate {
            Issue::Busy => Err(error(ErrorKind::Temporary)),
            Issue::Pending(retry_after_ms) => Ok(Word::Pending(retry_after_ms)),
            Issue::MadeAnswerLost => {
                self.make(asked);
                Err(error(ErrorKind::Unknown))
            }
            Issue::MadeAndHangs => {
                self.make(asked);
                std::future::pending().await
            }
            Issue::MadeAndPanics => {
                self.make(asked);
                panic!("{ORDERED_PANIC}");
            }
            Issue::MadeSaysPending => {
                self.make(asked);
                Ok(Word::Pending(100))
            }
            Issue::Declines => {
                let mut press = self.0.press.lock();
                let (_, state) = press.orders.entry(asked.key).or_insert((asked.thing, Order::Open));
                if *state == Order::Open {
                    *state = Order::Declined;
                }
                drop(press);
                Ok(self.make(asked))
            }
            Issue::Panics => panic!("{ORDERED_PANIC}"),
            Issue::Slow(ms) => {
                self.0.linger(ms).await;
                Ok(self.make(asked))
            }
            Issue::Garbage | Issue::Broken => Err(error(ErrorKind::Permanent)),
        }
    }

    async fn ask(&self, asked: &Asked, is_sold: impl FnOnce() -> bool) -> Result<Word, PortError> {
        self.0.pass().await;
        self.judge(asked, is_sold());
        let _one = self.0.alone.enter(&self.0, asked.at_once, asked.key.0);
        let answer = self.answer(asked).await;
        self.0.pass().await;
        self.0
            .trace(|| format!("maker: {} is answered {}", asked.name, answer.is_ok()));
        answer
    }
}

/// More than a row takes.
const UNWRITABLE: usize = 20_000;

fn card(order: &IssueCard) -> IssuedCard {
    IssuedCard {
        issuer_ref: format!("ref-{:032x}", order.card.0),
        last4: format!("{:04}", order.card.0 % 10_000),
        exp_month: 12,
        exp_year: 2031,
        sealed: order.card.0.to_be_bytes().to_vec(),
    }
}

/// As a card was made; what was bought with it nobody says.
fn fresh() -> Standing {
    Standing {
        sequence: 0,
        state: CardState::Open,
        activity: CardActivity::default(),
        released: Cents::ZERO,
    }
}

impl Makers {
    /// Busy, or panicking, as it happens.
    async fn weather(&self, what: impl Fn() -> String) -> Result<(), PortError> {
        self.0.pass().await;
        let weather = if self.0.is_calm() { 9 } else { self.0.below(10) };
        self.0.trace(|| format!("{} in weather {weather}", what()));
        match weather {
            0 | 1 => Err(error(ErrorKind::Temporary)),
            2 => panic!("{ORDERED_PANIC}"),
            _ => Ok(()),
        }
    }
}

impl CardIssuer for Makers {
    /// Of a card that was made; busy, or panicking, as it happens.
    fn standing<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Standing, PortError>> {
        Box::pin(async move {
            self.weather(|| format!("issuer: news of {issuer_ref}")).await?;
            let press = self.0.press.lock();
            Ok(press.stands.get(issuer_ref).cloned().unwrap_or_else(fresh))
        })
    }

    /// A wish is carried out once under its key, whatever became of the answer.
    fn steer<'a>(&'a self, order: &'a SteerCard) -> BoxFuture<'a, Result<Standing, PortError>> {
        Box::pin(async move {
            self.weather(|| format!("issuer: {} of {}", order.wish.name(), order.card))
                .await?;
            let standing = {
                let mut press = self.0.press.lock();
                let is_new = press.steered.insert(order.key);
                let standing = press.stands.entry(order.issuer_ref.clone()).or_insert_with(fresh);
                let to = match (standing.state, order.wish) {
                    (CardState::Open, Wish::Pause) => Some(CardState::Paused),
                    (CardState::Paused, Wish::Resume) => Some(CardState::Open),
                    (CardState::Open | CardState::Paused, Wish::Close) => Some(CardState::Closed),
                    _ => None,
                };
                if let Some(state) = to.filter(|_| is_new) {
                    standing.state = state;
                    standing.sequence += 1;
                }
                standing.clone()
            };
            self.weather(|| format!("issuer: answers of {}", order.card)).await?;
            Ok(standing)
        })
    }

    /// Nothing comes unasked.
    fn told(&self, _: u64, _: usize) -> BoxFuture<'_, Result<Vec<CardWord>, PortError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn issue<'a>(&'a self, order: &'a IssueCard) -> BoxFuture<'a, Result<Issuance, PortError>> {
        Box::pin(async move {
            let id = order.card.0;
            let asked = Asked {
                key: order.key,
                thing: (Kind::Card as u8, id),
                placed: Placed {
                    payment: payment_of_amount(order.amount),
                    product: "card".into(),
                    amount: order.amount,
                    currency: Currency::USD,
                    terms: None,
                },
                provider: Provider::Cards,
                at_once: "issue.at_once",
                name: order.card.to_string(),
            };
            let sold = || {
                self.sold((Kind::Card, id))
                    .is_some_and(|c: Card| c.amount == order.amount)
            };
            Ok(match self.ask(&asked, sold).await? {
                Word::Made => Issuance::Ready(card(order)),
                Word::Spoilt => Issuance::Ready(IssuedCard {
                    sealed: vec![7; UNWRITABLE],
                    exp_month: 99,
                    ..card(order)
                }),
                Word::Pending(retry_after_ms) => Issuance::Pending { retry_after_ms },
                Word::Declined => Issuance::Declined {
                    reason: "the issuer says no".into(),
                },
            })
        })
    }
}

impl GiftCards for Makers {
    /// In stock, dearer, sold out or silent, as it happens.
    fn offer<'a>(
        &'a self,
        _: &'a str,
        _: Currency,
        _: Country,
        amount: Cents,
    ) -> BoxFuture<'a, Result<GiftOffer, PortError>> {
        Box::pin(async move {
            self.0.pass().await;
            let weather = if self.0.is_calm() { 9 } else { self.0.below(10) };
            self.0
                .trace(|| format!("catalog: {amount} is looked up in weather {weather}"));
            match weather {
                0 => Err(error(ErrorKind::Temporary)),
                1 => Ok(GiftOffer::NotNow),
                2 => Ok(GiftOffer::Open {
                    fee_rate: "0.99".into(),
                }),
                _ => Ok(GiftOffer::Open { fee_rate: "0".into() }),
            }
        })
    }

    fn order<'a>(&'a self, order: &'a OrderGift) -> BoxFuture<'a, Result<GiftOrdered, PortError>> {
        Box::pin(async move {
            let id = order.card.0;
            let asked = Asked {
                key: order.key,
                thing: (Kind::GiftCard as u8, id),
                placed: Placed {
                    payment: payment_of_amount(order.order.amount),
                    product: order.order.product.clone(),
                    amount: order.order.amount,
                    currency: order.order.currency,
                    terms: Some(GiftTerms {
                        country: order.order.country,
                        fee_rate: order.order.fee_rate.clone(),
                    }),
                },
                provider: Provider::GiftCards,
                at_once: "gift_card.at_once",
                name: order.card.to_string(),
            };
            let sold = || {
                self.sold((Kind::GiftCard, id))
                    .is_some_and(|g: GiftCard| g.order == order.order)
            };
            Ok(match self.ask(&asked, sold).await? {
                Word::Made => GiftOrdered::Ready {
                    sealed: id.to_be_bytes().to_vec(),
                },
                Word::Spoilt => GiftOrdered::Ready {
                    sealed: vec![7; UNWRITABLE],
                },
                Word::Pending(retry_after_ms) => GiftOrdered::Pending { retry_after_ms },
                Word::Declined => GiftOrdered::Declined {
                    reason: "sold out".into(),
                },
            })
        })
    }
}
