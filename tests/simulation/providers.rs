//! Simulated providers of all products: an outcome under a key is final, even if its response is lost. They share one
//! implementation and differ in their response types.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purser_actors::currency::{Country, Currency};
use purser_actors::entity::card::Card;
use purser_actors::entity::gift_card::GiftCard;
use purser_actors::id::JobId;
use purser_actors::kernel::{EntityKind, table};
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, CardAction, CardActionRequest, CardActivity, CardEvent, CardIssuer, CardSnapshot, CardState, ErrorKind,
    GiftCardOffer, GiftCardOrderResult, GiftCardProvider, GiftCardRequest, GiftTerms, IssueCardRequest, IssueResult,
    IssuedCard, PortError,
};
use purser_storage::codec::{self, Stored};

use crate::clients::payment_of_amount;
use crate::environment::{Environment, ORDERED_PANIC};
use crate::fault_plan::Issue;
use crate::outages::{self, Provider};

/// A thing that is sold: its kind as stored, and its id.
pub(crate) type ProductKey = (u8, u128);

/// A provider's view of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Open,
    Made,
    Declined,
}

#[derive(Default)]
pub(crate) struct CardNumbers {
    /// Orders by key, with our name of the thing.
    pub(crate) orders: BTreeMap<JobId, (ProductKey, Order)>,
    /// What was asked under each key.
    pub(crate) requests: BTreeMap<JobId, OrderTerms>,
    calls: BTreeMap<JobId, usize>,
    /// Prepaid cards with an action, by the issuer's reference.
    card_states: BTreeMap<String, CardSnapshot>,
    state_changes: BTreeSet<JobId>,
}

/// The terms of an order, as its provider lists it.
#[derive(Clone, Debug)]
pub(crate) struct OrderTerms {
    pub(crate) payment: u32,
    pub(crate) product: String,
    pub(crate) amount: Cents,
    pub(crate) currency: Currency,
    pub(crate) terms: Option<GiftTerms>,
}

/// One order, to any provider.
struct ProviderOrder {
    key: JobId,
    product: ProductKey,
    terms: OrderTerms,
    provider: Provider,
    /// Limits concurrency: one attempt per order at once, and a maximum for this provider.
    concurrency_rule: &'static str,
    /// For the trace.
    name: String,
}

/// A provider's reply.
enum ProviderReply {
    Made,
    /// Nonsense in place of what was made, for ever.
    Spoilt,
    Pending(u64),
    Declined,
}

pub(crate) struct SimProviders(pub(crate) Arc<Environment>);

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "make",
        message: "as the plan says".into(),
    }
}

impl SimProviders {
    /// The durable snapshot of a thing.
    fn sold<T: Stored>(&self, (kind, id): (EntityKind, u128)) -> Option<T> {
        let shadow = self.0.reference.lock();
        let row = shadow.rows.get(&table::entity(kind, &id.to_be_bytes()));
        row.and_then(|row| codec::decode(&row.value).ok())
    }

    /// Orders need a durable purchase and one key.
    fn check_order(&self, asked: &ProviderOrder, is_sold: bool) {
        if !is_sold {
            let detail = format!("{} was ordered and is not durably sold", asked.name);
            self.0.report_violation("issue.early", detail);
        }
        let mut press = self.0.card_numbers.lock();
        let known = press.orders.entry(asked.key).or_insert((asked.product, Order::Open)).0;
        press.requests.entry(asked.key).or_insert_with(|| asked.terms.clone());
        let keys = press
            .orders
            .values()
            .filter(|(thing, _)| *thing == asked.product)
            .count();
        drop(press);
        if known != asked.product || keys != 1 {
            let detail = format!("{} was ordered under {keys} keys", asked.name);
            self.0.report_violation("issue.keys", detail);
        }
    }

    /// Makes it, unless it was made or declined before. An outcome is final.
    fn make(&self, asked: &ProviderOrder) -> ProviderReply {
        let mut press = self.0.card_numbers.lock();
        let (_, state) = press.orders.entry(asked.key).or_insert((asked.product, Order::Open));
        if *state == Order::Open {
            *state = Order::Made;
        }
        match state {
            Order::Made => ProviderReply::Made,
            _ => ProviderReply::Declined,
        }
    }

    /// Whether its provider is there; one that is down says so, or nothing.
    async fn reached(&self, asked: &ProviderOrder, call: usize) -> Result<(), PortError> {
        let Some(silent) = outages::is_down(&self.0, asked.provider) else {
            return Ok(());
        };
        self.0.trace(|| format!("provider: {} meets an outage", asked.name));
        outages::fails(&self.0, asked.provider, asked.key, call == 0, silent);
        if silent {
            std::future::pending::<()>().await;
        }
        Err(error(ErrorKind::Temporary))
    }

    async fn answer(&self, asked: &ProviderOrder) -> Result<ProviderReply, PortError> {
        self.0.delay(self.0.below(80)).await;
        let call = {
            let mut press = self.0.card_numbers.lock();
            let calls = press.calls.entry(asked.key).or_default();
            *calls += 1;
            *calls - 1
        };
        self.reached(asked, call).await?;
        let n = asked.terms.payment;
        let behaviors = self
            .0
            .plan
            .fault_plans
            .get(&n)
            .map(|f| f.issue.as_slice())
            .unwrap_or_default();
        // A permanent failure, whatever the random behavior.
        if let Some(at) = behaviors
            .iter()
            .position(|i| matches!(i, Issue::MalformedResponse | Issue::Broken))
            && call >= at
        {
            return match behaviors[at] {
                Issue::Broken => Err(error(ErrorKind::Permanent)),
                _ => Ok(ProviderReply::Spoilt),
            };
        }
        let behavior = behaviors.get(call).filter(|_| !self.0.are_faults_over());
        let Some(behavior) = behavior else {
            return Ok(self.make(asked));
        };
        self.0
            .trace(|| format!("provider: {} of payment {n} meets {behavior:?}", asked.name));
        match *behavior {
            Issue::Busy => Err(error(ErrorKind::Temporary)),
            Issue::Pending(retry_after_ms) => Ok(ProviderReply::Pending(retry_after_ms)),
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
                Ok(ProviderReply::Pending(100))
            }
            Issue::Declines => {
                let mut press = self.0.card_numbers.lock();
                let (_, state) = press.orders.entry(asked.key).or_insert((asked.product, Order::Open));
                if *state == Order::Open {
                    *state = Order::Declined;
                }
                drop(press);
                Ok(self.make(asked))
            }
            Issue::Panics => panic!("{ORDERED_PANIC}"),
            Issue::Slow(ms) => {
                self.0.delay(ms).await;
                Ok(self.make(asked))
            }
            Issue::MalformedResponse | Issue::Broken => Err(error(ErrorKind::Permanent)),
        }
    }

    async fn call(&self, asked: &ProviderOrder, is_sold: impl FnOnce() -> bool) -> Result<ProviderReply, PortError> {
        self.0.crash_point_or_hang().await;
        self.check_order(asked, is_sold());
        let _one = self
            .0
            .single_attempts
            .enter(&self.0, asked.concurrency_rule, asked.key.0);
        let answer = self.answer(asked).await;
        self.0.crash_point_or_hang().await;
        self.0
            .trace(|| format!("provider: {} is answered {}", asked.name, answer.is_ok()));
        answer
    }
}

/// More than a row takes.
const UNWRITABLE: usize = 20_000;

fn card(order: &IssueCardRequest) -> IssuedCard {
    IssuedCard {
        issuer_ref: format!("ref-{:032x}", order.card.0),
        last4: format!("{:04}", order.card.0 % 10_000),
        exp_month: 12,
        exp_year: 2031,
        sealed: order.card.0.to_be_bytes().to_vec(),
    }
}

/// A new card. Purchases with it are not simulated.
fn fresh() -> CardSnapshot {
    CardSnapshot {
        sequence: 0,
        state: CardState::Open,
        activity: CardActivity::default(),
        released: Cents::ZERO,
    }
}

impl SimProviders {
    /// Busy, or panicking, as it happens.
    async fn random_fault(&self, what: impl Fn() -> String) -> Result<(), PortError> {
        self.0.crash_point_or_hang().await;
        let weather = if self.0.are_faults_over() { 9 } else { self.0.below(10) };
        self.0.trace(|| format!("{} in weather {weather}", what()));
        match weather {
            0 | 1 => Err(error(ErrorKind::Temporary)),
            2 => panic!("{ORDERED_PANIC}"),
            _ => Ok(()),
        }
    }
}

impl CardIssuer for SimProviders {
    /// Of a card that was made; busy, or panicking, as it happens.
    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        Box::pin(async move {
            self.random_fault(|| format!("issuer: news of {issuer_ref}")).await?;
            let press = self.0.card_numbers.lock();
            Ok(press.card_states.get(issuer_ref).cloned().unwrap_or_else(fresh))
        })
    }

    /// An action is applied once per key, even if its response is lost.
    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        Box::pin(async move {
            self.random_fault(|| format!("issuer: {} of {}", order.action.name(), order.card))
                .await?;
            let snapshot = {
                let mut press = self.0.card_numbers.lock();
                let is_new = press.state_changes.insert(order.key);
                let snapshot = press.card_states.entry(order.issuer_ref.clone()).or_insert_with(fresh);
                let to = match (snapshot.state, order.action) {
                    (CardState::Open, CardAction::Pause) => Some(CardState::Paused),
                    (CardState::Paused, CardAction::Resume) => Some(CardState::Open),
                    (CardState::Open | CardState::Paused, CardAction::Close) => Some(CardState::Closed),
                    _ => None,
                };
                if let Some(state) = to.filter(|_| is_new) {
                    snapshot.state = state;
                    snapshot.sequence += 1;
                }
                snapshot.clone()
            };
            self.random_fault(|| format!("issuer: answers of {}", order.card))
                .await?;
            Ok(snapshot)
        })
    }

    /// Nothing comes unasked.
    fn events_after(&self, _: u64, _: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> BoxFuture<'a, Result<IssueResult, PortError>> {
        Box::pin(async move {
            let id = order.card.0;
            let asked = ProviderOrder {
                key: order.key,
                product: (EntityKind::Card as u8, id),
                terms: OrderTerms {
                    payment: payment_of_amount(order.amount),
                    product: "card".into(),
                    amount: order.amount,
                    currency: Currency::USD,
                    terms: None,
                },
                provider: Provider::Cards,
                concurrency_rule: "issue.at_once",
                name: order.card.to_string(),
            };
            let sold = || {
                self.sold((EntityKind::Card, id))
                    .is_some_and(|c: Card| c.amount == order.amount)
            };
            Ok(match self.call(&asked, sold).await? {
                ProviderReply::Made => IssueResult::Ready(card(order)),
                ProviderReply::Spoilt => IssueResult::Ready(IssuedCard {
                    sealed: vec![7; UNWRITABLE],
                    exp_month: 99,
                    ..card(order)
                }),
                ProviderReply::Pending(retry_after_ms) => IssueResult::Pending { retry_after_ms },
                ProviderReply::Declined => IssueResult::Declined {
                    reason: "the issuer says no".into(),
                },
            })
        })
    }
}

impl GiftCardProvider for SimProviders {
    /// In stock, dearer, sold out or silent, as it happens.
    fn offer<'a>(
        &'a self,
        _: &'a str,
        _: Currency,
        _: Country,
        amount: Cents,
    ) -> BoxFuture<'a, Result<GiftCardOffer, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let weather = if self.0.are_faults_over() { 9 } else { self.0.below(10) };
            self.0
                .trace(|| format!("catalog: {amount} is looked up in weather {weather}"));
            match weather {
                0 => Err(error(ErrorKind::Temporary)),
                1 => Ok(GiftCardOffer::Unavailable),
                2 => Ok(GiftCardOffer::Available {
                    fee_rate: "0.99".into(),
                }),
                _ => Ok(GiftCardOffer::Available { fee_rate: "0".into() }),
            }
        })
    }

    fn order<'a>(&'a self, order: &'a GiftCardRequest) -> BoxFuture<'a, Result<GiftCardOrderResult, PortError>> {
        Box::pin(async move {
            let id = order.card.0;
            let asked = ProviderOrder {
                key: order.key,
                product: (EntityKind::GiftCard as u8, id),
                terms: OrderTerms {
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
                concurrency_rule: "gift_card.at_once",
                name: order.card.to_string(),
            };
            let sold = || {
                self.sold((EntityKind::GiftCard, id))
                    .is_some_and(|g: GiftCard| g.order == order.order)
            };
            Ok(match self.call(&asked, sold).await? {
                ProviderReply::Made => GiftCardOrderResult::Ready {
                    sealed: id.to_be_bytes().to_vec(),
                },
                ProviderReply::Spoilt => GiftCardOrderResult::Ready {
                    sealed: vec![7; UNWRITABLE],
                },
                ProviderReply::Pending(retry_after_ms) => GiftCardOrderResult::Pending { retry_after_ms },
                ProviderReply::Declined => GiftCardOrderResult::Declined {
                    reason: "sold out".into(),
                },
            })
        })
    }
}
