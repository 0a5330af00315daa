//! What is true at the card issuer, whatever anybody was told of it; and what it tells unasked.

use std::collections::BTreeMap;

use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{
    self, CardAction, CardActivity, CardEvent, CardSnapshot, CardState, CardTransaction, HoldRequest, HoldResult,
    HoldStatus, OpenCardRequest, OpenCardResult, Timestamp, TransactionStatus,
};

use super::{FAILING, IssuerReply, IssuerRequest};
use crate::environment::Environment;

/// A card as the issuer knows it.
pub(crate) struct IssuedCard {
    pub(crate) order: OpenCardRequest,
    /// How it has stood; the last one is the truth.
    pub(crate) stood: Vec<CardSnapshot>,
    pub(crate) spent: u64,
}

impl IssuedCard {
    pub(crate) fn stands(&self) -> &CardSnapshot {
        self.stood.last().expect("a card stands somehow")
    }
}

#[derive(Default)]
pub(crate) struct IssuerLedger {
    /// Cents that ever came onto each balance, and that are left of it.
    pub(crate) came: BTreeMap<[u8; 20], u64>,
    pub(crate) left: BTreeMap<[u8; 20], u64>,
    pub(crate) cards: BTreeMap<CardId, IssuedCard>,
    pub(crate) steered: BTreeMap<JobId, CardId>,
    /// What is set aside, and whether it has ended as paid.
    pub(crate) aside: BTreeMap<JobId, (HoldRequest, Option<bool>)>,
    /// Definitely: with a reason, or because the balance was less.
    refused: BTreeMap<JobId, Option<&'static str>>,
    /// What each key was first used for.
    pub(super) asked: BTreeMap<JobId, IssuerRequest>,
    failing: BTreeMap<JobId, u32>,
    /// Taken, and carried out at this time.
    late: Vec<(u64, IssuerRequest)>,
    told: Vec<CardEvent>,
    /// To be told behind whatever comes next.
    held: Vec<(CardId, CardSnapshot)>,
    /// The highest number from which somebody read on.
    heard: u64,
    down_until_ms: u64,
}

impl IssuerLedger {
    pub(crate) fn deposit(&mut self, account: [u8; 20], cents: u64) {
        *self.came.entry(account).or_default() += cents;
        *self.left.entry(account).or_default() += cents;
    }

    /// Whether everything has been carried out, told, and read.
    pub(crate) fn is_heard(&self) -> bool {
        self.late.is_empty() && self.held.is_empty() && self.heard >= self.told.len() as u64
    }

    pub(super) fn may_fail(&mut self, key: JobId) -> bool {
        let failing = self.failing.entry(key).or_default();
        *failing += 1;
        *failing <= FAILING
    }

    pub(super) fn is_down(&self, world: &Environment) -> bool {
        world.true_ms() < self.down_until_ms
    }

    pub(super) fn goes_down(&mut self, world: &Environment) {
        self.down_until_ms = world.true_ms() + [400, 3_000][world.below(2) as usize];
    }

    /// Accepts something that is carried out later, with nobody waiting for it.
    pub(super) fn take(&mut self, world: &Environment, errand: &IssuerRequest, after_ms: u64) {
        self.late.push((world.true_ms() + after_ms, errand.clone()));
    }

    /// Carries out what is due, and tells what was held back.
    pub(super) fn speak(&mut self, world: &Environment) {
        let (now, calm) = (world.true_ms(), world.is_calm());
        let all = std::mem::take(&mut self.late).into_iter();
        let (due, late): (Vec<_>, Vec<_>) = all.partition(|(at, _)| calm || *at <= now);
        self.late = late;
        for (_, errand) in due {
            world.trace(|| format!("issuer: {errand:?} is carried out late"));
            self.carry_out(world, &errand);
        }
        for (card, standing) in std::mem::take(&mut self.held) {
            self.tell(card, standing);
        }
    }

    pub(super) fn since(&mut self, after: u64, limit: usize) -> Vec<CardEvent> {
        self.heard = self.heard.max(after);
        let from = usize::try_from(after).unwrap_or(usize::MAX).min(self.told.len());
        self.told[from..].iter().take(limit).cloned().collect()
    }

    fn tell(&mut self, card: CardId, standing: CardSnapshot) {
        let number = self.told.len() as u64 + 1;
        self.told.push(CardEvent { number, card, standing });
    }

    /// A card stands otherwise: which is told now, twice, together with an older word, or behind a newer one.
    fn changed(&mut self, world: &Environment, id: CardId, change: impl FnOnce(&mut CardSnapshot)) {
        let card = self.cards.get_mut(&id).expect("a card");
        let mut standing = card.stands().clone();
        change(&mut standing);
        standing.sequence += 1;
        card.stood.push(standing.clone());
        let old = card.stood[world.below(card.stood.len() as u64) as usize].clone();
        world.trace(|| format!("issuer: {id} stands {standing:?}"));
        match world.below(6) {
            0 => self.held.push((id, standing)),
            1 => {
                self.tell(id, standing.clone());
                self.tell(id, standing);
            }
            2 => {
                self.tell(id, standing);
                self.tell(id, old);
            }
            _ => self.tell(id, standing),
        }
    }

    fn take_from(&mut self, account: [u8; 20], amount: Cents) -> bool {
        let left = self.left.entry(account).or_default();
        let is_there = *left >= amount.get();
        if is_there {
            *left -= amount.get();
        }
        is_there
    }

    /// The card ends, and what is left on it goes back.
    pub(crate) fn close(&mut self, world: &Environment, id: CardId) {
        let card = &self.cards[&id];
        if card.stands().state == CardState::Closed {
            return;
        }
        let (account, left) = (card.order.account, card.stands().activity.available);
        *self.left.entry(account).or_default() += left.get();
        self.changed(world, id, |standing| {
            standing.state = CardState::Closed;
            standing.activity.available = Cents::ZERO;
        });
    }

    /// A merchant charges a card; whether the issuer took it.
    pub(crate) fn charge(&mut self, world: &Environment, id: CardId, cents: u64) -> bool {
        let Some(card) = self.cards.get_mut(&id) else {
            return false;
        };
        let (state, left) = (card.stands().state, card.stands().activity.available.get());
        if state != CardState::Open || cents > left {
            return false;
        }
        card.spent += cents;
        let (ends, nth) = (!card.order.reusable, card.stood.len());
        let one = CardTransaction {
            id: format!("charge {nth}"),
            merchant: "Books".into(),
            amount: Cents::new(cents),
            at: Timestamp(1),
            status: TransactionStatus::Settled,
            reason: None,
        };
        self.changed(world, id, |standing| {
            standing.activity.available = Cents::new(left - cents);
            standing.activity.transactions.insert(0, one);
        });
        if ends {
            self.close(world, id);
        }
        true
    }
}

/// What is asked of it. The same key is the same errand: it is carried out once, and a word once given stands.
impl IssuerLedger {
    pub(super) fn carry_out(&mut self, world: &Environment, errand: &IssuerRequest) -> IssuerReply {
        match errand {
            IssuerRequest::Open(order) => IssuerReply::Opening(self.open(world, order)),
            IssuerRequest::CardAction(order) => {
                let is_new = self.steered.insert(order.key, order.card).is_none();
                if is_new && (world.is_calm() || !world.one_in(8)) {
                    self.steer(world, order.card, order.wish);
                }
                IssuerReply::Card(self.cards[&order.card].stands().clone())
            }
            IssuerRequest::CreateHold(order) => IssuerReply::Hold(self.reserve(world, order)),
            IssuerRequest::SettleHold(key, paid) => {
                self.end(world, *key, *paid);
                IssuerReply::Ended
            }
        }
    }

    /// How what was set aside under a key stands.
    pub(super) fn reserved(&self, key: JobId) -> HoldStatus {
        match self.aside.get(&key) {
            None => HoldStatus::NotFound,
            Some((_, None)) => HoldStatus::Held,
            Some((_, Some(paid))) => HoldStatus::Settled { paid: *paid },
        }
    }

    /// How a card once stood, in place of how it stands.
    pub(super) fn old_word(&self, world: &Environment, errand: &IssuerRequest) -> Option<IssuerReply> {
        let IssuerRequest::CardAction(order) = errand else {
            return None;
        };
        let stood = &self.cards[&order.card].stood;
        let old = stood[world.below(stood.len() as u64) as usize].clone();
        Some(IssuerReply::Card(old))
    }

    /// Whether it is refused for good, as now and then happens, or because the balance is less.
    fn refuses(
        &mut self,
        world: &Environment,
        key: JobId,
        account: [u8; 20],
        amount: Cents,
    ) -> Option<Option<&'static str>> {
        if let Some(refused) = self.refused.get(&key) {
            return Some(*refused);
        }
        let refused = if world.one_in(12) {
            Some("no")
        } else if self.take_from(account, amount) {
            return None;
        } else {
            None
        };
        self.refused.insert(key, refused);
        Some(refused)
    }

    fn open(&mut self, world: &Environment, order: &OpenCardRequest) -> OpenCardResult {
        let id = order.card;
        if !self.cards.contains_key(&id) {
            match self.refuses(world, order.key, order.account, order.amount) {
                Some(None) => return OpenCardResult::InsufficientBalance,
                Some(Some(reason)) => return OpenCardResult::Declined { reason: reason.into() },
                None => {}
            }
            let standing = CardSnapshot {
                sequence: 0,
                state: CardState::Open,
                activity: CardActivity {
                    available: order.amount,
                    transactions: Vec::new(),
                },
                released: Cents::ZERO,
            };
            let card = IssuedCard {
                order: order.clone(),
                stood: vec![standing],
                spent: 0,
            };
            self.cards.insert(id, card);
        }
        OpenCardResult::Open(port::IssuedCard {
            issuer_ref: reference(id),
            last4: format!("{:04}", id.0 % 10_000),
            exp_month: 12,
            exp_year: 2031,
            sealed: id.0.to_be_bytes().to_vec(),
        })
    }

    fn steer(&mut self, world: &Environment, id: CardId, wish: CardAction) {
        let to = match (self.cards[&id].stands().state, wish) {
            (CardState::Open, CardAction::Pause) => CardState::Paused,
            (CardState::Paused, CardAction::Resume) => CardState::Open,
            (CardState::Open | CardState::Paused, CardAction::Close) => return self.close(world, id),
            _ => return,
        };
        self.changed(world, id, |standing| standing.state = to);
    }

    fn reserve(&mut self, world: &Environment, order: &HoldRequest) -> HoldResult {
        if !self.aside.contains_key(&order.key) {
            match self.refuses(world, order.key, order.account, order.amount) {
                Some(None) => return HoldResult::InsufficientBalance,
                Some(Some(reason)) => return HoldResult::Declined { reason: reason.into() },
                None => {}
            }
            self.aside.insert(order.key, (order.clone(), None));
        }
        match self.aside[&order.key].1 {
            None => HoldResult::Held,
            Some(paid) => HoldResult::AlreadySettled { paid },
        }
    }

    fn end(&mut self, world: &Environment, key: JobId, paid: bool) {
        let Some((order, ended)) = self.aside.get_mut(&key) else {
            return world.object("aside.unknown", format!("{key} was never set aside"));
        };
        let (account, amount) = (order.account, order.amount.get());
        match ended.replace(paid) {
            None if !paid => *self.left.entry(account).or_default() += amount,
            None => {}
            Some(before) if before == paid => {}
            Some(_) => world.object("aside.both", format!("{key} is said to be paid and to be put back")),
        }
    }
}

pub(super) fn reference(id: CardId) -> String {
    format!("plastic {id}")
}
