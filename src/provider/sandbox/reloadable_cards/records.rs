//! What the sandbox's card program has taken from balances and given back, and what became of its cards.

use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{
    CardActivity, CardEvent, CardSnapshot, CardState, CardTransaction, Timestamp, TransactionStatus,
};

use super::super::Sale;
use super::card_numbers;
use crate::sandbox::archive::{ArchiveRecord, ArchiveState, RecordBuffer, name};

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum ReloadableCardRecord {
    /// A card was opened and loaded.
    Opened(OpenedCard),
    /// What was ordered under this key was refused: for lack of money, or for a reason.
    Refused {
        key: JobId,
        /// Whether it was a card; else part of a balance.
        card: bool,
        amount: Cents,
        reason: Option<String>,
        at: Timestamp,
    },
    /// A card was paused, resumed or closed, by an order or by its one charge.
    Moved {
        card: CardId,
        account: [u8; 20],
        key: Option<JobId>,
        state: CardState,
        /// To the balance.
        back: Cents,
        at: Timestamp,
    },
    /// A card was charged.
    Charged { card: CardId, transaction: CardTransaction },
    /// Something came of a charge.
    Became {
        card: CardId,
        account: [u8; 20],
        charge: String,
        status: TransactionStatus,
        /// To the balance, where the card had ended.
        back: Cents,
        at: Timestamp,
    },
    /// Part of a balance was set aside.
    Reserved {
        key: JobId,
        account: [u8; 20],
        amount: Cents,
        at: Timestamp,
    },
    /// That has ended.
    Ended {
        key: JobId,
        account: [u8; 20],
        amount: Cents,
        paid: bool,
        at: Timestamp,
    },
}

/// A card as it was opened.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct OpenedCard {
    pub(super) key: JobId,
    pub(super) card: CardId,
    pub(super) account: [u8; 20],
    pub(super) amount: Cents,
    pub(super) reusable: bool,
    pub(super) at: Timestamp,
    /// Raised until the derived number is nobody else's.
    pub(super) attempt: u32,
}

impl ArchiveRecord for ReloadableCardRecord {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (entries, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(entries)
        } else {
            Err("trailing bytes".into())
        }
    }

    fn index_keys(&self) -> Vec<u64> {
        match self {
            Self::Opened(opened) => vec![
                by_key(opened.key),
                by_card(opened.card),
                by_ref(&card_numbers::issuer_ref(opened.key)),
                by_number(card_numbers::account_part(opened.key, opened.attempt)),
                by_account(&opened.account),
            ],
            Self::Refused { key, .. } => vec![by_key(*key)],
            Self::Moved { card, account, key, .. } => [by_card(*card), by_account(account)]
                .into_iter()
                .chain(key.map(by_key))
                .collect(),
            Self::Charged { card, .. } => vec![by_card(*card)],
            Self::Became { card, account, .. } => vec![by_card(*card), by_account(account)],
            Self::Reserved { key, account, .. } | Self::Ended { key, account, .. } => {
                vec![by_key(*key), by_account(account)]
            }
        }
    }

    /// All of it is told, or on a list.
    fn is_counted(&self) -> bool {
        true
    }
}

fn by_key(key: JobId) -> u64 {
    name(&[b"key", &key.0.to_be_bytes()])
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

/// A card as it stands.
#[derive(Clone, Debug)]
pub(super) struct CardLedger {
    pub(super) opened: OpenedCard,
    pub(super) state: CardState,
    pub(super) left: Cents,
    changes: u64,
    pub(super) changed_at: Timestamp,
    /// Oldest first.
    charges: Vec<CardTransaction>,
}

impl CardLedger {
    pub(super) fn standing(&self) -> CardSnapshot {
        let newest = self.charges.iter().rev().take(CardActivity::LONGEST);
        CardSnapshot {
            sequence: self.changes,
            state: self.state,
            activity: CardActivity {
                available: self.left,
                transactions: newest.cloned().collect(),
            },
            released: Cents::ZERO,
        }
    }

    /// What becomes of a merchant's charge: taken, or refused for a reason.
    pub(super) fn judged(&self, sale: Sale<'_>, now: Timestamp) -> CardTransaction {
        let refused = match self.state {
            CardState::Paused => Some("card_paused"),
            CardState::Closed => Some("card_closed"),
            CardState::Open if sale.amount > self.left => Some("insufficient_funds"),
            CardState::Open => None,
        };
        CardTransaction {
            id: self.next_charge(),
            merchant: sale.merchant.to_owned(),
            amount: sale.amount,
            at: now,
            status: match (refused, sale.settles) {
                (Some(_), _) => TransactionStatus::Declined,
                (None, true) => TransactionStatus::Settled,
                (None, false) => TransactionStatus::Pending,
            },
            reason: refused.map(str::to_owned),
        }
    }

    /// What follows when a charge is settled or given back; `None` for what cannot become of it. What comes back to a card that
    /// has ended is the balance's.
    pub(super) fn became(
        &self,
        charge: &str,
        status: TransactionStatus,
        at: Timestamp,
    ) -> Option<Vec<ReloadableCardRecord>> {
        let one = self.charges.iter().find(|one| one.id == charge)?;
        let follows = matches!(
            (one.status, status),
            (
                TransactionStatus::Pending,
                TransactionStatus::Settled | TransactionStatus::Refunded
            ) | (TransactionStatus::Settled, TransactionStatus::Refunded)
        );
        let is_back = self.state == CardState::Closed && status == TransactionStatus::Refunded;
        follows.then(|| {
            vec![ReloadableCardRecord::Became {
                card: self.opened.card,
                account: self.opened.account,
                charge: charge.to_owned(),
                status,
                back: if is_back { one.amount } else { Cents::ZERO },
                at,
            }]
        })
    }

    /// The issuer's name of the next charge.
    fn next_charge(&self) -> String {
        let name = card_numbers::issuer_ref(self.opened.key);
        format!("{name}_txn_{:06}", self.charges.len() + 1)
    }
}

#[derive(Default)]
pub(super) struct ReloadableCardRecords {
    pub(super) shelf: RecordBuffer<ReloadableCardRecord>,
    pub(super) cards: u64,
}

impl ReloadableCardRecords {
    /// Whatever was done or refused under this key, oldest first.
    pub(super) fn under(&self, wanted: JobId) -> Vec<ReloadableCardRecord> {
        let mut found = self.shelf.find(by_key(wanted));
        found.retain(|entry| match entry {
            ReloadableCardRecord::Opened(opened) => opened.key == wanted,
            ReloadableCardRecord::Refused { key, .. }
            | ReloadableCardRecord::Reserved { key, .. }
            | ReloadableCardRecord::Ended { key, .. } => *key == wanted,
            ReloadableCardRecord::Moved { key, .. } => *key == Some(wanted),
            ReloadableCardRecord::Charged { .. } | ReloadableCardRecord::Became { .. } => false,
        });
        found
    }

    pub(super) fn card(&self, wanted: CardId) -> Option<CardLedger> {
        let mut file: Option<CardLedger> = None;
        for entry in self.shelf.find(by_card(wanted)) {
            match (entry, &mut file) {
                (ReloadableCardRecord::Opened(opened), None) if opened.card == wanted => {
                    file = Some(CardLedger {
                        state: CardState::Open,
                        left: opened.amount,
                        changed_at: opened.at,
                        opened,
                        changes: 0,
                        charges: Vec::new(),
                    });
                }
                (
                    ReloadableCardRecord::Moved {
                        card, state, back, at, ..
                    },
                    Some(file),
                ) if card == wanted => {
                    file.state = state;
                    file.changed_at = at;
                    file.left = less(file.left, back);
                    file.changes += 1;
                }
                (ReloadableCardRecord::Charged { card, transaction }, Some(file)) if card == wanted => {
                    if transaction.status != TransactionStatus::Declined {
                        file.left = less(file.left, transaction.amount);
                    }
                    file.changes += 1;
                    file.changed_at = transaction.at;
                    file.charges.push(transaction);
                }
                (
                    ReloadableCardRecord::Became {
                        card,
                        charge,
                        status,
                        back,
                        at,
                        ..
                    },
                    Some(file),
                ) if card == wanted => {
                    file.changes += 1;
                    file.changed_at = at;
                    for one in file.charges.iter_mut().filter(|one| one.id == charge) {
                        if status == TransactionStatus::Refunded {
                            let more = one.amount.get().saturating_sub(back.get());
                            file.left = Cents::new(file.left.get().saturating_add(more));
                        }
                        one.status = status;
                    }
                }
                _ => {}
            }
        }
        file
    }

    /// A card by the issuer's name of it.
    pub(super) fn by_ref(&self, issuer_ref: &str) -> Option<CardLedger> {
        let near = self.shelf.find(by_ref(issuer_ref)).into_iter();
        let mut own = near.filter_map(|entry| match entry {
            ReloadableCardRecord::Opened(opened) if card_numbers::issuer_ref(opened.key) == issuer_ref => {
                Some(opened.card)
            }
            _ => None,
        });
        self.card(own.next()?)
    }

    /// Whether a card has the number with this account part.
    pub(super) fn is_given_out(&self, account_part: u64) -> bool {
        let near = self.shelf.find(by_number(account_part)).into_iter();
        near.into_iter().any(|entry| match entry {
            ReloadableCardRecord::Opened(opened) => {
                card_numbers::account_part(opened.key, opened.attempt) == account_part
            }
            _ => false,
        })
    }

    /// Cents that are on cards, set aside or gone, of what ever reached an account.
    pub(super) fn drawn(&self, wanted: &[u8; 20]) -> u64 {
        let moved = self.shelf.find(by_account(wanted)).into_iter();
        moved.fold(0, |drawn: u64, entry| match entry {
            ReloadableCardRecord::Opened(opened) if opened.account == *wanted => {
                drawn.saturating_add(opened.amount.get())
            }
            ReloadableCardRecord::Reserved { account, amount, .. } if account == *wanted => {
                drawn.saturating_add(amount.get())
            }
            ReloadableCardRecord::Moved { account, back, .. } | ReloadableCardRecord::Became { account, back, .. }
                if account == *wanted =>
            {
                drawn.saturating_sub(back.get())
            }
            ReloadableCardRecord::Ended {
                account,
                amount,
                paid: false,
                ..
            } if account == *wanted => drawn.saturating_sub(amount.get()),
            _ => drawn,
        })
    }

    /// What became of cards behind this place, at most so much.
    pub(super) fn told(&self, after: u64, limit: usize) -> Vec<CardEvent> {
        let mut changed = Vec::new();
        self.shelf.scan(after, |number, entry| {
            if let ReloadableCardRecord::Moved { card, .. }
            | ReloadableCardRecord::Charged { card, .. }
            | ReloadableCardRecord::Became { card, .. } = entry
            {
                changed.push((number + 1, *card));
            }
            changed.len() < limit
        });
        let word = |(number, card): (u64, CardId)| {
            let standing = self.card(card)?.standing();
            Some(CardEvent { number, card, standing })
        };
        changed.into_iter().filter_map(word).collect()
    }
}

fn less(from: Cents, by: Cents) -> Cents {
    Cents::new(from.get().saturating_sub(by.get()))
}

impl ArchiveState for ReloadableCardRecords {
    type Item = ReloadableCardRecord;

    fn apply(&mut self, entry: &ReloadableCardRecord) -> Result<(), String> {
        self.cards += u64::from(matches!(entry, ReloadableCardRecord::Opened(_)));
        self.shelf.add(entry.clone());
        Ok(())
    }

    fn buffer(&mut self) -> &mut RecordBuffer<ReloadableCardRecord> {
        &mut self.shelf
    }

    fn save(&self) -> Vec<u8> {
        self.cards.to_be_bytes().to_vec()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let saved: [u8; 8] = saved.try_into().map_err(|_| "not a number".to_owned())?;
        self.cards = u64::from_be_bytes(saved);
        Ok(())
    }

    fn weight(&self) -> usize {
        0
    }
}
