//! Ledgers of the sandbox's prepaid cards: charges from the sandbox controls, which act as the merchant, and card
//! actions.

use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{
    CardAction, CardActivity, CardSnapshot, CardState, CardTransaction, Timestamp, TransactionStatus, month_end,
};
use purser_storage::codec::Stored;

use super::card_charges::{CardCharge, can_become};
use super::card_numbers;
use super::issuer_records::CardOrderRecord;
use purser_sandbox::record_book;
use purser_sandbox::records::{RecordBook, SandboxRecord, name};

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct CardRecord {
    /// The issuer's reference of the card.
    pub(super) issuer_ref: String,
    /// The service's id of the card.
    pub(super) card: CardId,
    pub(super) change: CardChange,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum CardChange {
    /// An approved or declined charge.
    Charged(CardTransaction),
    /// A charge changed its status.
    ChargeUpdated(String, TransactionStatus),
    /// The card was paused, resumed or closed; includes the released amount.
    StateChanged {
        key: Option<JobId>,
        state: CardState,
        released: Cents,
        at: Timestamp,
    },
}

impl CardRecord {
    /// Whether it released some of the remaining money.
    pub(super) fn releases_money(&self) -> bool {
        matches!(self.change, CardChange::StateChanged { released, .. } if released > Cents::ZERO)
    }
}

fn by_ref(issuer_ref: &str) -> u64 {
    name(&[b"life", issuer_ref.as_bytes()])
}

fn by_key(key: JobId) -> u64 {
    name(&[b"wish", &key.0.to_be_bytes()]) // frozen: index key
}

impl Stored for CardRecord {
    const SCHEMA: u16 = 705;
}

impl SandboxRecord for CardRecord {
    fn names(&self) -> Vec<u64> {
        let key = match &self.change {
            CardChange::StateChanged { key: Some(key), .. } => Some(by_key(*key)),
            _ => None,
        };
        std::iter::once(by_ref(&self.issuer_ref)).chain(key).collect()
    }

    /// All records are reported.
    fn is_numbered(&self) -> bool {
        true
    }
}

/// Current ledger of a card.
#[derive(Clone, Debug)]
pub(super) struct CardLedger {
    order: CardOrderRecord,
    pub(super) state: CardState,
    released: Cents,
    /// Time of the last release.
    released_at: Timestamp,
    changes: u64,
    /// Charges, oldest first.
    charges: Vec<CardTransaction>,
}

impl CardLedger {
    /// What can still be spent.
    pub(super) fn available(&self) -> Cents {
        let taken = self
            .charges
            .iter()
            .filter(|one| matches!(one.status, TransactionStatus::Pending | TransactionStatus::Settled));
        let gone = taken.fold(self.released.get(), |sum, one| sum.saturating_add(one.amount.get()));
        Cents::new(self.order.amount.get().saturating_sub(gone))
    }

    /// Total released amount and the time of the last release; `None` if nothing was released.
    pub(super) fn released_total(&self) -> Option<(Cents, Timestamp)> {
        (self.released > Cents::ZERO).then_some((self.released, self.released_at))
    }

    pub(super) fn snapshot(&self) -> CardSnapshot {
        let newest = self.charges.iter().rev().take(CardActivity::MAX_TRANSACTIONS);
        CardSnapshot {
            sequence: self.changes,
            state: self.state,
            activity: CardActivity {
                available: self.available(),
                transactions: newest.cloned().collect(),
            },
            released: self.released,
        }
    }

    /// Decides on a merchant's charge: approved, or declined with a reason.
    pub(super) fn charge(&self, sale: CardCharge<'_>, now: Timestamp) -> CardChange {
        let (year, month) = card_numbers::expiry(self.order.at);
        let refused = match self.state {
            CardState::Paused => Some("card_paused"),
            CardState::Closed => Some("card_closed"),
            CardState::Open if now >= month_end(year, month) => Some("card_expired"),
            CardState::Open if sale.amount > self.available() => Some("insufficient_funds"),
            CardState::Open => None,
        };
        CardChange::Charged(sale.transaction(self.order.key, self.charges.len() + 1, refused, now))
    }

    /// The record for settling or refunding a charge. A refund to a closed card is released at once. `None` if the
    /// charge cannot change that way.
    pub(super) fn update_charge(
        &self,
        transaction: &str,
        status: TransactionStatus,
        at: Timestamp,
    ) -> Option<Vec<CardChange>> {
        let one = self.charges.iter().find(|one| one.id == transaction)?;
        let follows = can_become(one.status, status);
        let became = follows.then(|| CardChange::ChargeUpdated(transaction.to_owned(), status))?;
        let is_back = self.state == CardState::Closed && status == TransactionStatus::Refunded;
        let back = is_back.then_some(CardChange::StateChanged {
            key: None,
            state: CardState::Closed,
            released: one.amount,
            at,
        });
        Some(std::iter::once(became).chain(back).collect())
    }

    /// The record for a card action; `None` if it is impossible or already done.
    pub(super) fn apply_action(&self, key: JobId, action: CardAction, at: Timestamp) -> Option<CardChange> {
        let (state, released) = match (self.state, action) {
            (CardState::Open, CardAction::Pause) => (CardState::Paused, Cents::ZERO),
            (CardState::Paused, CardAction::Resume) => (CardState::Open, Cents::ZERO),
            (CardState::Open | CardState::Paused, CardAction::Close) => (CardState::Closed, self.available()),
            _ => return None,
        };
        let key = Some(key);
        Some(CardChange::StateChanged {
            key,
            state,
            released,
            at,
        })
    }
}

record_book! {
    /// Ledgers of all cards.
    pub(super) struct CardLedgers of CardRecord {}
}

impl CardLedgers {
    /// Current ledger of the card that this order created.
    pub(super) fn of(&self, order: CardOrderRecord) -> CardLedger {
        let name = card_numbers::issuer_ref(order.key);
        let mut file = CardLedger {
            order,
            state: CardState::Open,
            released: Cents::ZERO,
            released_at: Timestamp(0),
            changes: 0,
            charges: Vec::new(),
        };
        for event in self.rows.find(by_ref(&name)) {
            if event.issuer_ref != name {
                continue;
            }
            file.changes += 1;
            match event.change {
                CardChange::Charged(transaction) => file.charges.push(transaction),
                CardChange::ChargeUpdated(id, status) => {
                    file.charges
                        .iter_mut()
                        .filter(|one| one.id == id)
                        .for_each(|one| one.status = status);
                }
                CardChange::StateChanged {
                    state, released, at, ..
                } => {
                    file.state = state;
                    if released > Cents::ZERO {
                        file.released = Cents::new(file.released.get().saturating_add(released.get()));
                        file.released_at = at;
                    }
                }
            }
        }
        file
    }

    /// Whether the action under this key was applied.
    pub(super) fn is_done(&self, key: JobId) -> bool {
        self.rows
            .find(by_key(key))
            .iter()
            .any(|event| matches!(&event.change, CardChange::StateChanged { key: Some(known), .. } if *known == key))
    }

    /// Cards that changed after this position, at most `limit`: the event's position, the issuer's reference and the
    /// service's id.
    pub(super) fn changes_after(&self, after: u64, limit: usize) -> Vec<(u64, CardId, String)> {
        let mut changed = Vec::new();
        self.rows.scan(after, |number, event| {
            changed.push((number + 1, event.card, event.issuer_ref.clone()));
            changed.len() < limit
        });
        changed
    }
}

impl RecordBook for CardLedgers {}
