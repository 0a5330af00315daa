//! The life of a card that spends what was loaded on it, from the day it can be used: what its holder wants of it, and what
//! whoever made it tells. The same for every kind of such a card, whoever makes it.
//!
//! What the holder wants is a wish until the maker has said how the card stands; the maker's words carry a sequence, so that
//! older ones, and the same again, change nothing. What was left when it ended is the maker's to give back: it says how much
//! in total, and only what that is more than before is credited.

use crate::id::{CardId, RefundId, Wallet};
use crate::kernel::entity::EntityId as _;
use crate::kernel::job::{CreditCause, Job};
use crate::kernel::{Context, Decision, Entity, EntityKind, table};
use crate::ledger::{Charge, RemainderReturn};
use crate::money::{Cents, Usdc};
use crate::port::{CardAction, CardActivity, CardSnapshot, CardState, CardTransaction, ChargeChange, Timestamp};
use crate::refund::Refunded;

/// What happened to a card, kept for its holder: at most so many, the newest.
pub const MAX_HISTORY: usize = 20;

/// What is known of a card besides its state.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardLifecycle {
    /// What the holder wants of it, until the maker has answered.
    pub pending_action: Option<CardAction>,
    /// Of the maker's newest word.
    pub sequence: u64,
    /// What is left and what was spent, by that word.
    pub activity: CardActivity,
    /// Of what was left at its end, what its maker has given back in total.
    pub released: Cents,
    /// Of that, what the house kept, since a refund gave the holder as much.
    pub retained: Usdc,
    /// What happened to it, oldest first; at most [`HISTORY`].
    pub history: Vec<(LifecycleChange, Timestamp)>,
}

/// Something that happened to a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum LifecycleChange {
    /// It could be used from then on.
    Ready,
    /// It was paused.
    Paused,
    /// It was resumed.
    Resumed,
    /// It was closed.
    Closed,
    /// Its life was over.
    Expired,
    /// There was no card.
    Failed,
}

impl LifecycleChange {
    /// As in documents and, after the dot, in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Closed => "closed",
            Self::Expired => "expired",
            Self::Failed => "failed",
        }
    }
}

/// Where a card stands that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifecycleState {
    /// It takes charges.
    Usable,
    /// It refuses them for now.
    Paused,
    /// It has ended.
    Ended,
}

/// A word of the maker's that says something new.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CardUpdate {
    /// It refuses charges for now.
    Paused(CardSnapshot),
    /// It takes them again.
    Resumed(CardSnapshot),
    /// It has ended.
    Closed(CardSnapshot),
    /// Something happened to one of its charges, or to what is left on it.
    Charged(CardSnapshot, Option<ChargeChange>),
    /// Of what was left on a card that has ended, more was given back.
    Released(CardSnapshot),
}

impl CardUpdate {
    /// What is told of it: the part after the dot of an event's type.
    pub const fn event_suffix(&self) -> Option<&'static str> {
        match self {
            Self::Paused(_) => Some(LifecycleChange::Paused.name()),
            Self::Resumed(_) => Some(LifecycleChange::Resumed.name()),
            Self::Closed(_) => Some(LifecycleChange::Closed.name()),
            Self::Charged(_, Some(news)) => Some(news.name()),
            Self::Charged(_, None) => None,
            Self::Released(_) => Some("remainder_released"),
        }
    }

    const fn snapshot(&self) -> &CardSnapshot {
        match self {
            Self::Paused(standing)
            | Self::Resumed(standing)
            | Self::Closed(standing)
            | Self::Charged(standing, _)
            | Self::Released(standing) => standing,
        }
    }

    const fn change(&self) -> Option<LifecycleChange> {
        match self {
            Self::Paused(_) => Some(LifecycleChange::Paused),
            Self::Resumed(_) => Some(LifecycleChange::Resumed),
            Self::Closed(_) => Some(LifecycleChange::Closed),
            Self::Charged(..) | Self::Released(_) => None,
        }
    }
}

/// What a wish comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionDecision {
    /// It is so already.
    AlreadyInEffect,
    /// The maker is being asked for just that.
    InProgress,
    /// The maker is to be asked.
    Request,
    /// The maker is being asked for something else.
    OtherInProgress(CardAction),
}

impl CardLifecycle {
    /// Of a card that can be used from now on, with so much on it.
    pub fn activated(amount: Cents, at: Timestamp) -> Self {
        Self {
            activity: CardActivity::loaded(amount),
            history: vec![(LifecycleChange::Ready, at)],
            ..Self::default()
        }
    }

    /// Of what was left at its end, what was credited to its holder.
    pub fn credited(&self) -> Usdc {
        let released = Usdc::from_cents(self.released).unwrap_or(Usdc::ZERO);
        released.checked_sub(self.retained).unwrap_or(Usdc::ZERO)
    }

    /// What its maker has given back in total before a word, and by it.
    pub fn released_totals(&self, news: &[CardUpdate]) -> (Cents, Cents) {
        let more = news.iter().map(|one| self.remainder(one)).max().unwrap_or(Cents::ZERO);
        (self.released, self.released.checked_add(more).unwrap_or(self.released))
    }

    /// After the house has kept so much.
    #[must_use]
    pub fn with_retained(self, amount: Usdc) -> Self {
        let kept = self.retained.checked_add(amount).unwrap_or(self.retained);
        Self { retained: kept, ..self }
    }

    /// What the holder's wish comes to for a card that has not ended.
    pub fn decide_action(&self, stand: LifecycleState, wish: CardAction) -> ActionDecision {
        match self.pending_action {
            Some(under_way) if under_way == wish => ActionDecision::InProgress,
            Some(under_way) => ActionDecision::OtherInProgress(under_way),
            None if matches!(
                (stand, wish),
                (LifecycleState::Usable, CardAction::Resume) | (LifecycleState::Paused, CardAction::Pause)
            ) =>
            {
                ActionDecision::AlreadyInEffect
            }
            None => ActionDecision::Request,
        }
    }

    /// What a word of the maker's says that is new; nothing if it is not newer than the last one. A word may tell of several
    /// charges at once: each is news of its own, and how the card stands comes behind them.
    pub fn updates_from(&self, stand: LifecycleState, standing: CardSnapshot, loaded: Cents) -> Vec<CardUpdate> {
        if standing.sequence <= self.sequence {
            return Vec::new();
        }
        let mut standing = CardSnapshot {
            activity: standing.activity.bounded(),
            released: standing.released.min(loaded),
            ..standing
        };
        // Nothing can be spent of a card that has ended, whatever is said to be left on it.
        if stand == LifecycleState::Ended || standing.state == CardState::Closed {
            standing.activity.available = Cents::ZERO;
        }
        let charges = standing.activity.changes_since(&self.activity).into_iter();
        let mut news: Vec<CardUpdate> = charges
            .map(|charge| CardUpdate::Charged(standing.clone(), Some(charge)))
            .collect();
        match (stand, standing.state) {
            (LifecycleState::Usable, CardState::Paused) => news.push(CardUpdate::Paused(standing)),
            (LifecycleState::Paused, CardState::Open) => news.push(CardUpdate::Resumed(standing)),
            (LifecycleState::Usable | LifecycleState::Paused, CardState::Closed) => {
                news.push(CardUpdate::Closed(standing))
            }
            (LifecycleState::Ended, _) if standing.released > self.released => {
                news.push(CardUpdate::Released(standing))
            }
            (LifecycleState::Usable | LifecycleState::Paused, CardState::Open | CardState::Paused)
            | (LifecycleState::Ended, _) => {
                if news.is_empty() {
                    news.push(CardUpdate::Charged(standing, None));
                }
            }
        }
        news
    }

    /// What is given back because of it, beyond what was before.
    fn remainder(&self, news: &CardUpdate) -> Cents {
        match news {
            CardUpdate::Closed(standing) | CardUpdate::Released(standing) => {
                standing.released.checked_sub(self.released).unwrap_or(Cents::ZERO)
            }
            CardUpdate::Paused(_) | CardUpdate::Resumed(_) | CardUpdate::Charged(..) => Cents::ZERO,
        }
    }

    /// After such a word.
    #[must_use]
    pub fn apply_update(self, news: &CardUpdate, at: Timestamp) -> Self {
        let standing = news.snapshot();
        let released = self.released.checked_add(self.remainder(news)).unwrap_or(self.released);
        let after = Self {
            sequence: standing.sequence,
            activity: standing.activity.clone(),
            released,
            ..self
        };
        match news.change() {
            Some(change) => after.with_history_entry(change, at),
            None => after,
        }
    }

    /// With something more in its history.
    #[must_use]
    pub fn with_history_entry(mut self, change: LifecycleChange, at: Timestamp) -> Self {
        let over = (self.history.len() + 1).saturating_sub(MAX_HISTORY);
        self.history.drain(..over);
        self.history.push((change, at));
        self
    }

    /// What was bought with it, newest first.
    pub fn transactions(&self) -> &[CardTransaction] {
        &self.activity.transactions
    }
}

impl RemainderReturn {
    /// Books it, and has its payer's part credited. The batch holds only while the payment's refund stands as it was read.
    pub(crate) fn post_and_credit<E: Entity>(
        &self,
        decided: Decision<E>,
        (account, card): (Wallet, CardId),
        (charge, refunded): (&Charge, Refunded),
        context: &Context,
    ) -> Decision<E> {
        if self.transaction.postings.is_empty() {
            return decided;
        }
        let refund = table::entity(EntityKind::Refund, &RefundId::for_payment(charge.payment).key());
        let decided = decided
            .post_ledger(&self.transaction, context)
            .requires_unchanged(refund, refunded.revision);
        if self.credited == Usdc::ZERO {
            return decided;
        }
        let (amount, cause) = (self.credited, CreditCause::Card(card));
        decided.enqueue(Job::CreditAccount { account, amount, cause }, context)
    }
}
