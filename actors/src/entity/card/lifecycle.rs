//! Lifecycle of an activated card: actions by the account owner and events from the card issuer. Shared by every card
//! kind and issuer.
//!
//! An action stays pending until the issuer reports the card's state. Issuer events carry a sequence number, so older
//! and repeated events change nothing. After a card has ended, the issuer reports the total that it released; only the
//! increase is credited.

use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::entity::refund::Refunded;
use crate::id::{CardId, RefundId, Wallet};
use crate::kernel::entity::EntityId as _;
use crate::kernel::{Context, Decision, Entity, EntityKind, table};
use crate::ledger::{Charge, RemainderReturn};
use crate::money::{Cents, Usdc};
use crate::port::{CardAction, CardActivity, CardSnapshot, CardState, CardTransaction, ChargeChange, Timestamp};

/// Maximum number of history entries stored per card; older ones are dropped.
pub const MAX_HISTORY: usize = 20;

/// Data of a card besides its status.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardLifecycle {
    /// Action requested by the account owner, until the issuer has answered.
    pub pending_action: Option<CardAction>,
    /// Sequence number of the issuer's latest event.
    pub sequence: u64,
    /// Remaining amount and transactions, as of that event.
    pub activity: CardActivity,
    /// Total that the issuer has released of the remainder since the card ended.
    pub released: Cents,
    /// Part of the released amount that Purser retained because a refund already paid the account owner as much.
    pub retained: Usdc,
    /// Card history, oldest first; at most [`MAX_HISTORY`] entries.
    pub history: Vec<(LifecycleChange, Timestamp)>,
}

/// One change in the life of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum LifecycleChange {
    /// The card became usable.
    Ready,
    /// The issuer or the owner paused it.
    Paused,
    /// The issuer or the owner resumed it.
    Resumed,
    /// It was closed before its expiry.
    Closed,
    /// Its last month ended.
    Expired,
    /// No card was issued.
    Failed,
}

impl LifecycleChange {
    /// Name in API documents, and the part after the dot of event types.
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

/// State of a card that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifecycleState {
    /// Purchases are authorized.
    Usable,
    /// Purchases are declined until it is resumed.
    Paused,
    /// It is closed or expired.
    Ended,
}

/// A change reported by the issuer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CardUpdate {
    /// The card was paused: purchases are declined for now.
    Paused(CardSnapshot),
    /// The card was resumed.
    Resumed(CardSnapshot),
    /// The card was closed at the issuer.
    Closed(CardSnapshot),
    /// A transaction or the remaining amount changed.
    Charged(CardSnapshot, Option<ChargeChange>),
    /// The issuer released more of the remainder of a card that has ended.
    Released(CardSnapshot),
}

impl CardUpdate {
    /// Part after the dot of the event type; `None` if the change is not announced.
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
            Self::Paused(snapshot)
            | Self::Resumed(snapshot)
            | Self::Closed(snapshot)
            | Self::Charged(snapshot, _)
            | Self::Released(snapshot) => snapshot,
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

/// Result of a requested card action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionDecision {
    /// The card is already in the requested state.
    AlreadyInEffect,
    /// The same action is already pending at the issuer.
    InProgress,
    /// Send the action to the issuer.
    Request,
    /// Another action is pending at the issuer.
    OtherInProgress(CardAction),
}

impl CardLifecycle {
    /// Lifecycle of a card that becomes usable now, loaded with `amount`.
    pub fn activated(amount: Cents, at: Timestamp) -> Self {
        Self {
            activity: CardActivity::loaded(amount),
            history: vec![(LifecycleChange::Ready, at)],
            ..Self::default()
        }
    }

    /// USDC credited to the account owner from the remainder.
    pub fn credited(&self) -> Usdc {
        let released = Usdc::from_cents(self.released).unwrap_or(Usdc::ZERO);
        released.checked_sub(self.retained).unwrap_or(Usdc::ZERO)
    }

    /// Total released by the issuer before the updates, and including them.
    pub fn released_totals(&self, news: &[CardUpdate]) -> (Cents, Cents) {
        let more = news.iter().map(|one| self.remainder(one)).max().unwrap_or(Cents::ZERO);
        (self.released, self.released.checked_add(more).unwrap_or(self.released))
    }

    /// Adds to the amount that Purser retained.
    #[must_use]
    pub fn with_retained(self, amount: Usdc) -> Self {
        let retained = self.retained.checked_add(amount).unwrap_or(self.retained);
        Self { retained, ..self }
    }

    /// Decides an action on a card that has not ended.
    pub fn decide_action(&self, state: LifecycleState, action: CardAction) -> ActionDecision {
        match self.pending_action {
            Some(under_way) if under_way == action => ActionDecision::InProgress,
            Some(under_way) => ActionDecision::OtherInProgress(under_way),
            None if matches!(
                (state, action),
                (LifecycleState::Usable, CardAction::Resume) | (LifecycleState::Paused, CardAction::Pause)
            ) =>
            {
                ActionDecision::AlreadyInEffect
            }
            None => ActionDecision::Request,
        }
    }

    /// Updates in an issuer event; empty if the event is not newer than the last one. One event can report several
    /// transactions: each becomes an update of its own, and the card's state follows last.
    pub fn updates_from(&self, state: LifecycleState, snapshot: CardSnapshot, loaded: Cents) -> Vec<CardUpdate> {
        if snapshot.sequence <= self.sequence {
            return Vec::new();
        }
        let mut snapshot = CardSnapshot {
            activity: snapshot.activity.bounded(),
            released: snapshot.released.min(loaded),
            ..snapshot
        };
        // A card that has ended cannot be spent, whatever remainder is reported.
        if state == LifecycleState::Ended || snapshot.state == CardState::Closed {
            snapshot.activity.available = Cents::ZERO;
        }
        let charges = snapshot.activity.changes_since(&self.activity).into_iter();
        let mut news: Vec<CardUpdate> = charges
            .map(|charge| CardUpdate::Charged(snapshot.clone(), Some(charge)))
            .collect();
        match (state, snapshot.state) {
            (LifecycleState::Usable, CardState::Paused) => news.push(CardUpdate::Paused(snapshot)),
            (LifecycleState::Paused, CardState::Open) => news.push(CardUpdate::Resumed(snapshot)),
            (LifecycleState::Usable | LifecycleState::Paused, CardState::Closed) => {
                news.push(CardUpdate::Closed(snapshot))
            }
            (LifecycleState::Ended, _) if snapshot.released > self.released => {
                news.push(CardUpdate::Released(snapshot))
            }
            (LifecycleState::Usable | LifecycleState::Paused, CardState::Open | CardState::Paused)
            | (LifecycleState::Ended, _) => {
                if news.is_empty() {
                    news.push(CardUpdate::Charged(snapshot, None));
                }
            }
        }
        news
    }

    /// Released amount of this update, beyond the total before it.
    fn remainder(&self, news: &CardUpdate) -> Cents {
        match news {
            CardUpdate::Closed(snapshot) | CardUpdate::Released(snapshot) => {
                snapshot.released.checked_sub(self.released).unwrap_or(Cents::ZERO)
            }
            CardUpdate::Paused(_) | CardUpdate::Resumed(_) | CardUpdate::Charged(..) => Cents::ZERO,
        }
    }

    /// Lifecycle after the update.
    #[must_use]
    pub fn apply_update(self, news: &CardUpdate, at: Timestamp) -> Self {
        let snapshot = news.snapshot();
        let released = self.released.checked_add(self.remainder(news)).unwrap_or(self.released);
        let after = Self {
            sequence: snapshot.sequence,
            activity: snapshot.activity.clone(),
            released,
            ..self
        };
        match news.change() {
            Some(change) => after.with_history_entry(change, at),
            None => after,
        }
    }

    /// Appends a history entry.
    #[must_use]
    pub fn with_history_entry(mut self, change: LifecycleChange, at: Timestamp) -> Self {
        let over = (self.history.len() + 1).saturating_sub(MAX_HISTORY);
        self.history.drain(..over);
        self.history.push((change, at));
        self
    }

    /// Card transactions, newest first.
    pub fn transactions(&self) -> &[CardTransaction] {
        &self.activity.transactions
    }
}

impl RemainderReturn {
    /// Posts the update to the ledger and credits the account owner's part. The batch commits only if the payment's
    /// refund is unchanged since it was read.
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
        decided.enqueue(account::Job::CreditAccount { account, amount, cause }, context)
    }
}
