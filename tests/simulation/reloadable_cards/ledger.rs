//! The true state at the card issuer, whatever its responses were, and the events it emits.

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
    pub(crate) snapshots: Vec<CardSnapshot>,
    pub(crate) spent: u64,
}

impl IssuedCard {
    pub(crate) fn snapshot(&self) -> &CardSnapshot {
        self.snapshots.last().expect("a card has a snapshot")
    }
}

#[derive(Default)]
pub(crate) struct IssuerLedger {
    /// Cents that ever came onto each balance, and that are left of it.
    pub(crate) deposited: BTreeMap<[u8; 20], u64>,
    pub(crate) balances: BTreeMap<[u8; 20], u64>,
    pub(crate) cards: BTreeMap<CardId, IssuedCard>,
    pub(crate) state_changes: BTreeMap<JobId, CardId>,
    /// Holds, and whether each was settled as paid.
    pub(crate) holds: BTreeMap<JobId, (HoldRequest, Option<bool>)>,
    /// Definitely: with a reason, or because the balance was less.
    declined: BTreeMap<JobId, Option<&'static str>>,
    /// What each key was first used for.
    pub(super) requests: BTreeMap<JobId, IssuerRequest>,
    failing: BTreeMap<JobId, u32>,
    /// Taken, and carried out at this time.
    delayed: Vec<(u64, IssuerRequest)>,
    events: Vec<CardEvent>,
    /// Delivered after the next event.
    held: Vec<(CardId, CardSnapshot)>,
    /// The highest position that was read.
    read_sequence: u64,
    down_until_ms: u64,
}

impl IssuerLedger {
    pub(crate) fn deposit(&mut self, account: [u8; 20], cents: u64) {
        *self.deposited.entry(account).or_default() += cents;
        *self.balances.entry(account).or_default() += cents;
    }

    /// Whether all requests were executed, and all events delivered and read.
    pub(crate) fn is_fully_read(&self) -> bool {
        self.delayed.is_empty() && self.held.is_empty() && self.read_sequence >= self.events.len() as u64
    }

    pub(super) fn may_fail(&mut self, key: JobId) -> bool {
        let failing = self.failing.entry(key).or_default();
        *failing += 1;
        *failing <= FAILING
    }

    pub(super) fn is_down(&self, world: &Environment) -> bool {
        world.true_ms() < self.down_until_ms
    }

    pub(super) fn start_outage(&mut self, world: &Environment) {
        self.down_until_ms = world.true_ms() + [400, 3_000][world.below(2) as usize];
    }

    /// Accepts a request that is executed later, without a waiting caller.
    pub(super) fn take(&mut self, world: &Environment, errand: &IssuerRequest, after_ms: u64) {
        self.delayed.push((world.true_ms() + after_ms, errand.clone()));
    }

    /// Carries out what is due, and tells what was held back.
    pub(super) fn emit_due(&mut self, world: &Environment) {
        let (now, calm) = (world.true_ms(), world.are_faults_over());
        let all = std::mem::take(&mut self.delayed).into_iter();
        let (due, late): (Vec<_>, Vec<_>) = all.partition(|(at, _)| calm || *at <= now);
        self.delayed = late;
        for (_, errand) in due {
            world.trace(|| format!("issuer: {errand:?} is carried out late"));
            self.carry_out(world, &errand);
        }
        for (card, snapshot) in std::mem::take(&mut self.held) {
            self.emit_event(card, snapshot);
        }
    }

    pub(super) fn since(&mut self, after: u64, limit: usize) -> Vec<CardEvent> {
        self.read_sequence = self.read_sequence.max(after);
        let from = usize::try_from(after).unwrap_or(usize::MAX).min(self.events.len());
        self.events[from..].iter().take(limit).cloned().collect()
    }

    fn emit_event(&mut self, card: CardId, snapshot: CardSnapshot) {
        let number = self.events.len() as u64 + 1;
        self.events.push(CardEvent {
            position: number,
            card,
            snapshot,
        });
    }

    /// A card changes. The event is delivered now, twice, with an older one, or after a newer one.
    fn changed(&mut self, world: &Environment, id: CardId, change: impl FnOnce(&mut CardSnapshot)) {
        let card = self.cards.get_mut(&id).expect("a card");
        let mut snapshot = card.snapshot().clone();
        change(&mut snapshot);
        snapshot.sequence += 1;
        card.snapshots.push(snapshot.clone());
        let old = card.snapshots[world.below(card.snapshots.len() as u64) as usize].clone();
        world.trace(|| format!("issuer: {id} is {snapshot:?}"));
        match world.below(6) {
            0 => self.held.push((id, snapshot)),
            1 => {
                self.emit_event(id, snapshot.clone());
                self.emit_event(id, snapshot);
            }
            2 => {
                self.emit_event(id, snapshot);
                self.emit_event(id, old);
            }
            _ => self.emit_event(id, snapshot),
        }
    }

    fn take_from(&mut self, account: [u8; 20], amount: Cents) -> bool {
        let left = self.balances.entry(account).or_default();
        let is_there = *left >= amount.get();
        if is_there {
            *left -= amount.get();
        }
        is_there
    }

    /// The card ends, and what is left on it goes back.
    pub(crate) fn close(&mut self, world: &Environment, id: CardId) {
        let card = &self.cards[&id];
        if card.snapshot().state == CardState::Closed {
            return;
        }
        let (account, left) = (card.order.account, card.snapshot().activity.available);
        *self.balances.entry(account).or_default() += left.get();
        self.changed(world, id, |snapshot| {
            snapshot.state = CardState::Closed;
            snapshot.activity.available = Cents::ZERO;
        });
    }

    /// A merchant charges a card; whether the issuer took it.
    pub(crate) fn charge(&mut self, world: &Environment, id: CardId, cents: u64) -> bool {
        let Some(card) = self.cards.get_mut(&id) else {
            return false;
        };
        let (state, left) = (card.snapshot().state, card.snapshot().activity.available.get());
        if state != CardState::Open || cents > left {
            return false;
        }
        card.spent += cents;
        let (ends, nth) = (!card.order.reusable, card.snapshots.len());
        let one = CardTransaction {
            id: format!("charge {nth}"),
            merchant: "Books".into(),
            amount: Cents::new(cents),
            at: Timestamp(1),
            status: TransactionStatus::Settled,
            reason: None,
        };
        self.changed(world, id, |snapshot| {
            snapshot.activity.available = Cents::new(left - cents);
            snapshot.activity.transactions.insert(0, one);
        });
        if ends {
            self.close(world, id);
        }
        true
    }
}

/// Requests to the issuer. The same key is the same request: it is executed once, and its outcome is final.
impl IssuerLedger {
    pub(super) fn carry_out(&mut self, world: &Environment, errand: &IssuerRequest) -> IssuerReply {
        match errand {
            IssuerRequest::Open(order) => IssuerReply::Opening(self.open(world, order)),
            IssuerRequest::CardAction(order) => {
                let is_new = self.state_changes.insert(order.key, order.card).is_none();
                if is_new && (world.are_faults_over() || !world.one_in(8)) {
                    self.change_card_state(world, order.card, order.action);
                }
                IssuerReply::Card(self.cards[&order.card].snapshot().clone())
            }
            IssuerRequest::CreateHold(order) => IssuerReply::Hold(self.create_hold(world, order)),
            IssuerRequest::SettleHold(key, paid) => {
                self.settle_hold(world, *key, *paid);
                IssuerReply::HoldSettled
            }
        }
    }

    /// The status of the hold under a key.
    pub(super) fn reserved(&self, key: JobId) -> HoldStatus {
        match self.holds.get(&key) {
            None => HoldStatus::NotFound,
            Some((_, None)) => HoldStatus::Held,
            Some((_, Some(paid))) => HoldStatus::Settled { paid: *paid },
        }
    }

    /// An old snapshot of a card instead of the present one.
    pub(super) fn stale_reply(&self, world: &Environment, errand: &IssuerRequest) -> Option<IssuerReply> {
        let IssuerRequest::CardAction(order) = errand else {
            return None;
        };
        let stood = &self.cards[&order.card].snapshots;
        let old = stood[world.below(stood.len() as u64) as usize].clone();
        Some(IssuerReply::Card(old))
    }

    /// Whether it is permanently declined, at random or for a low balance.
    fn declines(
        &mut self,
        world: &Environment,
        key: JobId,
        account: [u8; 20],
        amount: Cents,
    ) -> Option<Option<&'static str>> {
        if let Some(refused) = self.declined.get(&key) {
            return Some(*refused);
        }
        let refused = if world.one_in(12) {
            Some("no")
        } else if self.take_from(account, amount) {
            return None;
        } else {
            None
        };
        self.declined.insert(key, refused);
        Some(refused)
    }

    fn open(&mut self, world: &Environment, order: &OpenCardRequest) -> OpenCardResult {
        let id = order.card;
        if !self.cards.contains_key(&id) {
            match self.declines(world, order.key, order.account, order.amount) {
                Some(None) => return OpenCardResult::InsufficientBalance,
                Some(Some(reason)) => return OpenCardResult::Declined { reason: reason.into() },
                None => {}
            }
            let snapshot = CardSnapshot {
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
                snapshots: vec![snapshot],
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

    fn change_card_state(&mut self, world: &Environment, id: CardId, action: CardAction) {
        let to = match (self.cards[&id].snapshot().state, action) {
            (CardState::Open, CardAction::Pause) => CardState::Paused,
            (CardState::Paused, CardAction::Resume) => CardState::Open,
            (CardState::Open | CardState::Paused, CardAction::Close) => return self.close(world, id),
            _ => return,
        };
        self.changed(world, id, |snapshot| snapshot.state = to);
    }

    fn create_hold(&mut self, world: &Environment, order: &HoldRequest) -> HoldResult {
        if !self.holds.contains_key(&order.key) {
            match self.declines(world, order.key, order.account, order.amount) {
                Some(None) => return HoldResult::InsufficientBalance,
                Some(Some(reason)) => return HoldResult::Declined { reason: reason.into() },
                None => {}
            }
            self.holds.insert(order.key, (order.clone(), None));
        }
        match self.holds[&order.key].1 {
            None => HoldResult::Held,
            Some(paid) => HoldResult::AlreadySettled { paid },
        }
    }

    fn settle_hold(&mut self, world: &Environment, key: JobId, paid: bool) {
        let Some((order, ended)) = self.holds.get_mut(&key) else {
            return world.report_violation("hold.unknown", format!("{key} was never held"));
        };
        let (account, amount) = (order.account, order.amount.get());
        match ended.replace(paid) {
            None if !paid => *self.balances.entry(account).or_default() += amount,
            None => {}
            Some(before) if before == paid => {}
            Some(_) => world.report_violation("hold.both", format!("{key} is both paid and released")),
        }
    }
}

pub(super) fn reference(id: CardId) -> String {
    format!("plastic {id}")
}
