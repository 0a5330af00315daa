//! What account owners do with a balance at the card issuer: they order, use, pause and close cards and withdraw money.
//! Each order has its own idempotency key and is sent again until it is answered.

mod plans;

use std::time::Duration;

use purser_actors::engine::{KeyGuard, KeyState, OperationError};
use purser_actors::entity::card_withdrawal::CardWithdrawal;
use purser_actors::entity::issuer_link::{self, IssuerLink};
use purser_actors::entity::reloadable_card::{self, Event, ReloadableCard};
use purser_actors::id::{CardId, WithdrawalId};
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::kernel::idempotency::{CommandResult, RecordedResponse};
use purser_actors::kernel::{Entity, EntityKind, IdempotencyRecorder, table};
use purser_actors::money::Cents;
use purser_actors::port::{CardAction, Entropy as _};
use purser_storage::codec::{self, Stored};

use crate::account_steps::durable;
use crate::clients::{Clients, wallet};
use crate::environment::Environment;
use crate::identity::address;
use crate::withdrawal_operators::OperatorStep;
use crate::withdrawals::outlives_keys;

pub(crate) use plans::add;

/// Wallets that have a balance at the issuer.
const OWNERS: u32 = 3;

/// One action with the balance at the card issuer. The same number is the same card or withdrawal, under one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CardBalanceStep {
    /// Adds this number of cents to the owner's balance.
    Deposits(u32, u64),
    Orders(u32),
    ChangesCardState(u32, CardAction),
    /// A merchant charges this number of cents.
    IsCharged(u32, u64),
    /// The issuer ends the card by itself.
    Closes(u32),
    Reveals(u32),
    Withdraws(u32),
    /// An operator sees to a withdrawal.
    Operates(u32, u8, OperatorStep),
    /// Time goes by before what follows.
    Waits(u64),
}

const fn owner_number(nth: u32) -> u8 {
    (nth % OWNERS) as u8
}

fn amount(nth: u32) -> Cents {
    Cents::new([400, 650, 300, 1_200, 500, 90][nth as usize % 6])
}

/// Every durable entity of a kind whose id is a number, by number.
pub(crate) fn durable_entities<T: Stored>(world: &Environment, kind: EntityKind) -> Vec<(u128, T)> {
    let shadow = world.reference.lock();
    let prefix = table::entity(kind, &[]);
    let rows = shadow.rows.iter().filter(|(key, _)| key.starts_with(&prefix));
    rows.map(|(key, row)| {
        let id = u128::from_be_bytes(*key.last_chunk().unwrap());
        (id, codec::decode(&row.value).unwrap())
    })
    .collect()
}

/// The durable one that was asked for under a number.
fn numbered<T: Stored>(world: &Environment, kind: EntityKind, nth: u32) -> Option<(u128, T)> {
    durable_entities(world, kind)
        .into_iter()
        .find(|(id, _)| *id as u32 == nth)
}

pub(crate) fn withdrawal(world: &Environment, nth: u32) -> Option<(WithdrawalId, CardWithdrawal)> {
    numbered(world, EntityKind::CardWithdrawal, nth).map(|(id, asked)| (WithdrawalId(id), asked))
}

/// An order that follows what it opened.
enum PendingOrder {
    Card,
    Withdrawal,
}

impl Clients {
    pub(crate) fn load(&self, does: CardBalanceStep) {
        let this = self.clone();
        self.spawn(async move {
            match does {
                CardBalanceStep::Deposits(nth, cents) => {
                    let account = address(&wallet(owner_number(nth)));
                    this.environment.issuer.lock().deposit(account, cents);
                }
                CardBalanceStep::Orders(nth) => this.until_answered(nth, &PendingOrder::Card).await,
                CardBalanceStep::Withdraws(nth) => this.until_answered(nth, &PendingOrder::Withdrawal).await,
                CardBalanceStep::ChangesCardState(nth, action) => this.change_card_state(nth, action).await,
                CardBalanceStep::IsCharged(nth, cents) => this.charge(nth, cents).await,
                CardBalanceStep::Closes(nth) => {
                    if let Some((id, _)) =
                        numbered::<ReloadableCard>(&this.environment, EntityKind::ReloadableCard, nth)
                    {
                        let mut issuer = this.environment.issuer.lock();
                        if issuer.cards.contains_key(&CardId(id)) {
                            issuer.close(&this.environment, CardId(id));
                        }
                    }
                }
                CardBalanceStep::Reveals(nth) => this.reveal(nth).await,
                CardBalanceStep::Operates(nth, who, hand) => this.operate(nth, who, hand).await,
                CardBalanceStep::Waits(ms) => this.environment.delay(ms).await,
            }
        });
    }

    /// A merchant who has the card's number, and tries it for a while.
    async fn charge(&self, nth: u32, cents: u64) {
        let world = &self.environment;
        for _ in 0..4 {
            let card = numbered::<ReloadableCard>(world, EntityKind::ReloadableCard, nth);
            let known = card.filter(|(_, card)| card.details().is_some());
            if let Some((id, _)) = known
                && world.issuer.lock().charge(world, CardId(id), cents)
            {
                return;
            }
            world.delay(300).await;
        }
    }

    async fn reveal(&self, nth: u32) {
        let world = &self.environment;
        let Some((id, _)) = numbered::<ReloadableCard>(world, EntityKind::ReloadableCard, nth) else {
            return;
        };
        let before = event_count(world, id, |event| matches!(event, Event::Revealed(_)));
        let result = self.engine.reveal_reloadable(CardId(id)).await;
        if result.is_ok() && !world.is_crashed() {
            world.trace(|| format!("the number of {} is shown", CardId(id)));
            if event_count(world, id, |event| matches!(event, Event::Revealed(_))) <= before {
                world.report_violation("card.revealed", format!("{} was shown, and it is not kept", CardId(id)));
            }
        }
    }

    /// An accepted action is durable before the reply, whether or not the issuer has answered it.
    async fn change_card_state(&self, nth: u32, action: CardAction) {
        let world = &self.environment;
        let Some((id, _)) = numbered::<ReloadableCard>(world, EntityKind::ReloadableCard, nth) else {
            return;
        };
        for _ in 0..10 {
            let result = self.engine.request_card_action(CardId(id), action, None).await;
            if world.is_crashed() {
                return;
            }
            world.trace(|| format!("owner: {} of {} is answered {result:?}", action.name(), CardId(id)));
            let requested = event_count(
                world,
                id,
                |event| matches!(event, Event::ActionRequested(w, _) if *w == action),
            );
            match result {
                Ok(true) if requested == 0 => {
                    world.report_violation("answer.early", format!("{action:?} of {} is not durable", CardId(id)));
                }
                Err(OperationError::Unavailable) => {
                    world.delay(200).await;
                    continue;
                }
                _ => {}
            }
            return;
        }
    }

    async fn until_answered(&self, nth: u32, order: &PendingOrder) {
        for _ in 0..20 {
            if self.environment.is_crashed() || self.order_once(nth, order).await {
                return;
            }
            self.environment.delay(200).await;
        }
    }

    /// Whether it has a final answer.
    async fn order_once(&self, nth: u32, order: &PendingOrder) -> bool {
        let (world, owner) = (&self.environment, wallet(owner_number(nth)));
        let key = match order {
            PendingOrder::Card => format!("card {nth}"),
            PendingOrder::Withdrawal => format!("card withdrawal {nth}"),
        };
        let turn = match self.engine.acquire_key(owner, &key, [nth as u8; 32]).await {
            Ok(KeyState::Acquired(turn)) => turn,
            Ok(KeyState::Replay(RecordedResponse::EntityRef { id, .. })) => {
                self.wait_for_outcome(nth, order, u128::from_be_bytes(id.try_into().unwrap()))
                    .await;
                return true;
            }
            Ok(KeyState::InProgress) | Err(_) => return false,
            Ok(other) => {
                world.report_violation("key.unknown", format!("{key}: {other:?}"));
                return true;
            }
        };
        // Only the holder of a linked account asks at all; whether it still is, the batch says.
        let link: Option<IssuerLink> = durable(world, EntityKind::IssuerLink, &owner.key());
        if !link.is_some_and(|link| matches!(link.status, issuer_link::Status::Linked { .. })) {
            return false;
        }
        let id = world.random() << 32 | u128::from(nth);
        let taken = match order {
            PendingOrder::Card => self.order_card(nth, id, &turn).await,
            PendingOrder::Withdrawal => self.order_withdrawal(nth, id, &turn).await,
        };
        drop(turn);
        if world.is_crashed() {
            return true;
        }
        if taken {
            self.wait_for_outcome(nth, order, id).await;
        }
        taken
    }

    async fn order_card(&self, nth: u32, id: u128, turn: &KeyGuard) -> bool {
        let owner = wallet(owner_number(nth));
        let recorder = IdempotencyRecorder::<ReloadableCard>::new(
            turn.slot().clone(),
            move |result: CommandResult<'_, ReloadableCard>| {
                let (kind, id) = (EntityKind::ReloadableCard as u8, id.to_be_bytes().to_vec());
                result.is_ok().then_some(RecordedResponse::EntityRef { kind, id })
            },
        );
        let whose = (CardId(id), owner, address(&owner));
        // Two of three stay open after their first charge.
        let asked = self
            .engine
            .create_reloadable(whose, (amount(nth), nth % 3 != 1), None, Some(recorder));
        asked.await.is_ok()
    }

    async fn order_withdrawal(&self, nth: u32, id: u128, turn: &KeyGuard) -> bool {
        let owner = wallet(owner_number(nth));
        let recorder = IdempotencyRecorder::<CardWithdrawal>::new(
            turn.slot().clone(),
            move |result: CommandResult<'_, CardWithdrawal>| {
                let (kind, id) = (EntityKind::CardWithdrawal as u8, id.to_be_bytes().to_vec());
                result.is_ok().then_some(RecordedResponse::EntityRef { kind, id })
            },
        );
        let whose = (WithdrawalId(id), owner, address(&owner));
        let what = (wallet(owner_number(nth + 1)), amount(nth));
        let asked = self.engine.withdraw_card_balance(whose, what, Some(recorder));
        asked.await.is_ok()
    }

    /// Waits a while for the outcome. A success needs the card, and a failure needs the money to be credited.
    async fn wait_for_outcome(&self, nth: u32, order: &PendingOrder, id: u128) {
        let (world, patience) = (&self.environment, Duration::from_millis(3_000));
        let (kind, status) = match order {
            PendingOrder::Card => {
                let answer = tokio::time::timeout(patience, self.engine.await_reloadable(CardId(id))).await;
                ("card", answer.ok().flatten().map(|card| card.status()))
            }
            PendingOrder::Withdrawal => {
                let wait = self.engine.await_card_withdrawal(WithdrawalId(id));
                let answer = tokio::time::timeout(patience, wait).await;
                ("card withdrawal", answer.ok().flatten().map(|asked| asked.status()))
            }
        };
        if world.is_crashed() {
            return;
        }
        world.trace(|| format!("owner is notified of {kind} {nth}: {status:?}"));
        let (stored, is_there) = match order {
            PendingOrder::Card => {
                let card: Option<ReloadableCard> = durable(world, EntityKind::ReloadableCard, &id.to_be_bytes());
                let is_there = world.issuer.lock().cards.contains_key(&CardId(id));
                (card.map(|card| card.status()), is_there)
            }
            PendingOrder::Withdrawal => {
                let asked: Option<CardWithdrawal> = durable(world, EntityKind::CardWithdrawal, &id.to_be_bytes());
                let issuer = world.issuer.lock();
                let is_there = issuer.holds.values().any(|(order, _)| order.withdrawal.0 == id);
                (asked.map(|asked| asked.status()), is_there)
            }
        };
        let first = *world
            .client_log
            .lock()
            .card_balance_ids
            .entry((kind, nth))
            .or_insert(id);
        if first != id && !outlives_keys(&world.plan) {
            world.report_violation("key.answers", format!("{kind} {nth} is {first:x} and {id:x}"));
        }
        let rests = match (status, stored) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some("failed"), Some(stored)) => stored == "failed" && !is_there,
            (Some(_), Some(stored)) => !matches!(stored, "creating" | "pending" | "failed") && is_there,
        };
        if !rests {
            world.report_violation(
                "answer.early",
                format!("{kind} {nth} was reported as {status:?}; durable is {stored:?}, at the issuer: {is_there}"),
            );
        }
    }
}

/// How often something durably happened to a reloadable card.
pub(crate) fn event_count(world: &Environment, id: u128, which: impl Fn(&Event) -> bool) -> usize {
    let shadow = world.reference.lock();
    let records = shadow
        .events
        .iter()
        .filter_map(|event| EventRecord::read(&event.subject, &event.payload).ok());
    let of_it = records.filter(|r| r.kind == EntityKind::ReloadableCard as u8 && r.id == id.to_be_bytes());
    of_it
        .filter(|r| codec::decode(&r.event).is_ok_and(|event: reloadable_card::Event| which(&event)))
        .count()
}
