//! Records of the sandbox's reloadable cards: money taken from balances and returned, and the ledger of each card.

use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{
    CardActivity, CardEvent, CardSnapshot, CardState, CardTransaction, Timestamp, TransactionStatus,
};
use purser_storage::codec::Stored;

use super::super::card_charges::{CardCharge, can_become};
use super::card_numbers;
use purser_sandbox::record_book;
use purser_sandbox::records::{RecordBook, SandboxRecord, key_name, name};
use purser_sandbox::state::StoredValue;

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum ReloadableCardRecord {
    /// A card was opened and loaded.
    Opened(OpenedCard),
    /// The order under this key was declined: the balance was too low, or for another reason.
    Declined {
        key: JobId,
        /// Whether the order was for a card; otherwise for a hold.
        card: bool,
        amount: Cents,
        reason: Option<String>,
        at: Timestamp,
    },
    /// A card was paused, resumed or closed, by an action or by its single charge.
    StateChanged {
        card: CardId,
        account: [u8; 20],
        key: Option<JobId>,
        state: CardState,
        /// Returned to the balance.
        returned: Cents,
        at: Timestamp,
    },
    /// A card was charged.
    Charged { card: CardId, transaction: CardTransaction },
    /// A charge changed its status.
    ChargeUpdated {
        card: CardId,
        account: [u8; 20],
        charge: String,
        status: TransactionStatus,
        /// Returned to the balance if the card was closed.
        returned: Cents,
        at: Timestamp,
    },
    /// Part of a balance was put on hold.
    HoldCreated {
        key: JobId,
        account: [u8; 20],
        amount: Cents,
        at: Timestamp,
    },
    /// The hold was captured or released.
    HoldSettled {
        key: JobId,
        account: [u8; 20],
        amount: Cents,
        captured: bool,
        at: Timestamp,
    },
}

/// A card as it was opened.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct OpenedCard {
    pub(super) key: JobId,
    pub(super) card: CardId,
    pub(super) account: [u8; 20],
    pub(super) amount: Cents,
    pub(super) reusable: bool,
    pub(super) at: Timestamp,
    /// Incremented until the derived number is unique.
    pub(super) attempt: u32,
}

impl Stored for ReloadableCardRecord {
    const SCHEMA: u16 = 717;
}

impl SandboxRecord for ReloadableCardRecord {
    fn names(&self) -> Vec<u64> {
        match self {
            Self::Opened(opened) => vec![
                key_name(opened.key),
                by_card(opened.card),
                by_ref(&card_numbers::issuer_ref(opened.key)),
                by_number(card_numbers::account_part(opened.key, opened.attempt)),
                by_account(&opened.account),
            ],
            Self::Declined { key, .. } => vec![key_name(*key)],
            Self::StateChanged { card, account, key, .. } => [by_card(*card), by_account(account)]
                .into_iter()
                .chain(key.map(key_name))
                .collect(),
            Self::Charged { card, .. } => vec![by_card(*card)],
            Self::ChargeUpdated { card, account, .. } => vec![by_card(*card), by_account(account)],
            Self::HoldCreated { key, account, .. } | Self::HoldSettled { key, account, .. } => {
                vec![key_name(*key), by_account(account)]
            }
        }
    }

    /// All records are reported or on a list.
    fn is_numbered(&self) -> bool {
        true
    }
}

fn by_card(card: CardId) -> u64 {
    name(&[b"card", &card.0.to_be_bytes()])
}

fn by_ref(issuer_ref: &str) -> u64 {
    name(&[b"ref", issuer_ref.as_bytes()])
}

fn by_number(account_part: u64) -> u64 {
    name(&[b"number", &account_part.to_be_bytes()])
}

fn by_account(account: &[u8; 20]) -> u64 {
    name(&[b"account", account])
}

/// Current ledger of a card.
#[derive(Clone, Debug)]
pub(crate) struct CardLedger {
    pub(super) opened: OpenedCard,
    pub(super) state: CardState,
    pub(super) available: Cents,
    changes: u64,
    pub(super) changed_at: Timestamp,
    /// Charges, oldest first.
    charges: Vec<CardTransaction>,
}

impl CardLedger {
    pub(super) fn snapshot(&self) -> CardSnapshot {
        let newest = self.charges.iter().rev().take(CardActivity::MAX_TRANSACTIONS);
        CardSnapshot {
            sequence: self.changes,
            state: self.state,
            activity: CardActivity {
                available: self.available,
                transactions: newest.cloned().collect(),
            },
            released: Cents::ZERO,
        }
    }

    /// Decides on a merchant's charge: approved, or declined with a reason.
    pub(super) fn charge(&self, sale: CardCharge<'_>, now: Timestamp) -> CardTransaction {
        let refused = match self.state {
            CardState::Paused => Some("card_paused"),
            CardState::Closed => Some("card_closed"),
            CardState::Open if sale.amount > self.available => Some("insufficient_funds"),
            CardState::Open => None,
        };
        sale.transaction(self.opened.key, self.charges.len() + 1, refused, now)
    }

    /// The record for settling or refunding a charge; `None` if the charge cannot change that way. A refund to a closed
    /// card returns to the balance.
    pub(super) fn update_charge(
        &self,
        charge: &str,
        status: TransactionStatus,
        at: Timestamp,
    ) -> Option<Vec<ReloadableCardRecord>> {
        let one = self.charges.iter().find(|one| one.id == charge)?;
        let follows = can_become(one.status, status);
        let is_back = self.state == CardState::Closed && status == TransactionStatus::Refunded;
        follows.then(|| {
            vec![ReloadableCardRecord::ChargeUpdated {
                card: self.opened.card,
                account: self.opened.account,
                charge: charge.to_owned(),
                status,
                returned: if is_back { one.amount } else { Cents::ZERO },
                at,
            }]
        })
    }
}

/// Number of opened cards.
#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
pub(crate) struct CardCount(pub(super) u64);

impl Stored for CardCount {
    const SCHEMA: u16 = 718;
}

record_book! {
    pub(crate) struct ReloadableCardRecords of ReloadableCardRecord {
        pub(super) cards: StoredValue<CardCount>,
    }
}

impl ReloadableCardRecords {
    /// All records under this key, oldest first.
    pub(super) fn records_of(&self, wanted: JobId) -> Vec<ReloadableCardRecord> {
        let mut found = self.rows.find(key_name(wanted));
        found.retain(|entry| match entry {
            ReloadableCardRecord::Opened(opened) => opened.key == wanted,
            ReloadableCardRecord::Declined { key, .. }
            | ReloadableCardRecord::HoldCreated { key, .. }
            | ReloadableCardRecord::HoldSettled { key, .. } => *key == wanted,
            ReloadableCardRecord::StateChanged { key, .. } => *key == Some(wanted),
            ReloadableCardRecord::Charged { .. } | ReloadableCardRecord::ChargeUpdated { .. } => false,
        });
        found
    }

    pub(super) fn card(&self, wanted: CardId) -> Option<CardLedger> {
        let mut file: Option<CardLedger> = None;
        for entry in self.rows.find(by_card(wanted)) {
            match (entry, &mut file) {
                (ReloadableCardRecord::Opened(opened), None) if opened.card == wanted => {
                    file = Some(CardLedger {
                        state: CardState::Open,
                        available: opened.amount,
                        changed_at: opened.at,
                        opened,
                        changes: 0,
                        charges: Vec::new(),
                    });
                }
                (
                    ReloadableCardRecord::StateChanged {
                        card,
                        state,
                        returned,
                        at,
                        ..
                    },
                    Some(file),
                ) if card == wanted => {
                    file.state = state;
                    file.changed_at = at;
                    file.available = less(file.available, returned);
                    file.changes += 1;
                }
                (ReloadableCardRecord::Charged { card, transaction }, Some(file)) if card == wanted => {
                    if transaction.status != TransactionStatus::Declined {
                        file.available = less(file.available, transaction.amount);
                    }
                    file.changes += 1;
                    file.changed_at = transaction.at;
                    file.charges.push(transaction);
                }
                (
                    ReloadableCardRecord::ChargeUpdated {
                        card,
                        charge,
                        status,
                        returned,
                        at,
                        ..
                    },
                    Some(file),
                ) if card == wanted => {
                    file.changes += 1;
                    file.changed_at = at;
                    for one in file.charges.iter_mut().filter(|one| one.id == charge) {
                        if status == TransactionStatus::Refunded {
                            let more = one.amount.get().saturating_sub(returned.get());
                            file.available = Cents::new(file.available.get().saturating_add(more));
                        }
                        one.status = status;
                    }
                }
                _ => {}
            }
        }
        file
    }

    /// A card by the issuer's reference.
    pub(super) fn by_ref(&self, issuer_ref: &str) -> Option<CardLedger> {
        let near = self.rows.find(by_ref(issuer_ref)).into_iter();
        let mut own = near.filter_map(|entry| match entry {
            ReloadableCardRecord::Opened(opened) if card_numbers::issuer_ref(opened.key) == issuer_ref => {
                Some(opened.card)
            }
            _ => None,
        });
        self.card(own.next()?)
    }

    /// Whether a card has the number with this account part.
    pub(super) fn is_number_used(&self, account_part: u64) -> bool {
        let near = self.rows.find(by_number(account_part)).into_iter();
        near.into_iter().any(|entry| match entry {
            ReloadableCardRecord::Opened(opened) => {
                card_numbers::account_part(opened.key, opened.attempt) == account_part
            }
            _ => false,
        })
    }

    /// Cents of an account that are on cards, on hold or spent.
    pub(super) fn spent_balance(&self, wanted: &[u8; 20]) -> u64 {
        let moved = self.rows.find(by_account(wanted)).into_iter();
        moved.fold(0, |drawn: u64, entry| match entry {
            ReloadableCardRecord::Opened(opened) if opened.account == *wanted => {
                drawn.saturating_add(opened.amount.get())
            }
            ReloadableCardRecord::HoldCreated { account, amount, .. } if account == *wanted => {
                drawn.saturating_add(amount.get())
            }
            ReloadableCardRecord::StateChanged { account, returned, .. }
            | ReloadableCardRecord::ChargeUpdated { account, returned, .. }
                if account == *wanted =>
            {
                drawn.saturating_sub(returned.get())
            }
            ReloadableCardRecord::HoldSettled {
                account,
                amount,
                captured: false,
                ..
            } if account == *wanted => drawn.saturating_sub(amount.get()),
            _ => drawn,
        })
    }

    /// Card events after this position, at most `limit`.
    pub(super) fn events_after(&self, after: u64, limit: usize) -> Vec<CardEvent> {
        let mut changed = Vec::new();
        self.rows.scan(after, |number, entry| {
            if let ReloadableCardRecord::StateChanged { card, .. }
            | ReloadableCardRecord::Charged { card, .. }
            | ReloadableCardRecord::ChargeUpdated { card, .. } = entry
            {
                changed.push((number + 1, *card));
            }
            changed.len() < limit
        });
        let word = |(number, card): (u64, CardId)| {
            let snapshot = self.card(card)?.snapshot();
            Some(CardEvent {
                position: number,
                card,
                snapshot,
            })
        };
        changed.into_iter().filter_map(word).collect()
    }
}

fn less(from: Cents, by: Cents) -> Cents {
    Cents::new(from.get().saturating_sub(by.get()))
}

impl RecordBook for ReloadableCardRecords {
    fn apply(&mut self, entry: &ReloadableCardRecord) -> Result<(), String> {
        self.cards.0 += u64::from(matches!(entry, ReloadableCardRecord::Opened(_)));
        Ok(())
    }
}
