//! What the sandbox's card program has taken from balances and given back, and what became of its cards.

use purser_actors::id::{CardId, EffectId};
use purser_actors::money::Cents;
use purser_actors::port::{CardActivity, CardState, CardTransaction, CardWord, Standing, Timestamp, TransactionStatus};

use super::super::Sale;
use super::card;
use crate::sandbox::archive::{Book, Item, Shelf, name};

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum Entry {
    /// A card was opened and loaded.
    Opened(Opened),
    /// What was ordered under this key was refused: for lack of money, or for a reason.
    Refused {
        key: EffectId,
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
        key: Option<EffectId>,
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
        key: EffectId,
        account: [u8; 20],
        amount: Cents,
        at: Timestamp,
    },
    /// That has ended.
    Ended {
        key: EffectId,
        account: [u8; 20],
        amount: Cents,
        paid: bool,
        at: Timestamp,
    },
}

/// A card as it was opened.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Opened {
    pub(super) key: EffectId,
    pub(super) card: CardId,
    pub(super) account: [u8; 20],
    pub(super) amount: Cents,
    pub(super) reusable: bool,
    pub(super) at: Timestamp,
    /// Raised until the derived number is nobody else's.
    pub(super) attempt: u32,
}

impl Item for Entry {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (entries, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(entries)
        } else {
            Err("trailing bytes".into())
        }
    }

    fn names(&self) -> Vec<u64> {
        match self {
            Self::Opened(opened) => vec![
                by_key(opened.key),
                by_card(opened.card),
                by_ref(&card::issuer_ref(opened.key)),
                by_number(card::account_part(opened.key, opened.attempt)),
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
    fn counts(&self) -> bool {
        true
    }
}

fn by_key(key: EffectId) -> u64 {
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
pub(super) struct CardFile {
    pub(super) opened: Opened,
    pub(super) state: CardState,
    pub(super) left: Cents,
    changes: u64,
    pub(super) changed_at: Timestamp,
    /// Oldest first.
    charges: Vec<CardTransaction>,
}

impl CardFile {
    pub(super) fn standing(&self) -> Standing {
        let newest = self.charges.iter().rev().take(CardActivity::LONGEST);
        Standing {
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
    pub(super) fn became(&self, charge: &str, status: TransactionStatus, at: Timestamp) -> Option<Vec<Entry>> {
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
            vec![Entry::Became {
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
        let name = card::issuer_ref(self.opened.key);
        format!("{name}_txn_{:06}", self.charges.len() + 1)
    }
}

#[derive(Default)]
pub(super) struct ProgramBook {
    pub(super) shelf: Shelf<Entry>,
    pub(super) cards: u64,
}

impl ProgramBook {
    /// Whatever was done or refused under this key, oldest first.
    pub(super) fn under(&self, wanted: EffectId) -> Vec<Entry> {
        let mut found = self.shelf.find(by_key(wanted));
        found.retain(|entry| match entry {
            Entry::Opened(opened) => opened.key == wanted,
            Entry::Refused { key, .. } | Entry::Reserved { key, .. } | Entry::Ended { key, .. } => *key == wanted,
            Entry::Moved { key, .. } => *key == Some(wanted),
            Entry::Charged { .. } | Entry::Became { .. } => false,
        });
        found
    }

    pub(super) fn card(&self, wanted: CardId) -> Option<CardFile> {
        let mut file: Option<CardFile> = None;
        for entry in self.shelf.find(by_card(wanted)) {
            match (entry, &mut file) {
                (Entry::Opened(opened), None) if opened.card == wanted => {
                    file = Some(CardFile {
                        state: CardState::Open,
                        left: opened.amount,
                        changed_at: opened.at,
                        opened,
                        changes: 0,
                        charges: Vec::new(),
                    });
                }
                (
                    Entry::Moved {
                        card, state, back, at, ..
                    },
                    Some(file),
                ) if card == wanted => {
                    file.state = state;
                    file.changed_at = at;
                    file.left = less(file.left, back);
                    file.changes += 1;
                }
                (Entry::Charged { card, transaction }, Some(file)) if card == wanted => {
                    if transaction.status != TransactionStatus::Declined {
                        file.left = less(file.left, transaction.amount);
                    }
                    file.changes += 1;
                    file.changed_at = transaction.at;
                    file.charges.push(transaction);
                }
                (
                    Entry::Became {
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
    pub(super) fn by_ref(&self, issuer_ref: &str) -> Option<CardFile> {
        let near = self.shelf.find(by_ref(issuer_ref)).into_iter();
        let mut own = near.filter_map(|entry| match entry {
            Entry::Opened(opened) if card::issuer_ref(opened.key) == issuer_ref => Some(opened.card),
            _ => None,
        });
        self.card(own.next()?)
    }

    /// Whether a card has the number with this account part.
    pub(super) fn is_given_out(&self, account_part: u64) -> bool {
        let near = self.shelf.find(by_number(account_part)).into_iter();
        near.into_iter().any(|entry| match entry {
            Entry::Opened(opened) => card::account_part(opened.key, opened.attempt) == account_part,
            _ => false,
        })
    }

    /// Cents that are on cards, set aside or gone, of what ever reached an account.
    pub(super) fn drawn(&self, wanted: &[u8; 20]) -> u64 {
        let moved = self.shelf.find(by_account(wanted)).into_iter();
        moved.fold(0, |drawn: u64, entry| match entry {
            Entry::Opened(opened) if opened.account == *wanted => drawn.saturating_add(opened.amount.get()),
            Entry::Reserved { account, amount, .. } if account == *wanted => drawn.saturating_add(amount.get()),
            Entry::Moved { account, back, .. } | Entry::Became { account, back, .. } if account == *wanted => {
                drawn.saturating_sub(back.get())
            }
            Entry::Ended {
                account,
                amount,
                paid: false,
                ..
            } if account == *wanted => drawn.saturating_sub(amount.get()),
            _ => drawn,
        })
    }

    /// What became of cards behind this place, at most so much.
    pub(super) fn told(&self, after: u64, limit: usize) -> Vec<CardWord> {
        let mut changed = Vec::new();
        self.shelf.scan(after, |number, entry| {
            if let Entry::Moved { card, .. } | Entry::Charged { card, .. } | Entry::Became { card, .. } = entry {
                changed.push((number + 1, *card));
            }
            changed.len() < limit
        });
        let word = |(number, card): (u64, CardId)| {
            let standing = self.card(card)?.standing();
            Some(CardWord { number, card, standing })
        };
        changed.into_iter().filter_map(word).collect()
    }
}

fn less(from: Cents, by: Cents) -> Cents {
    Cents::new(from.get().saturating_sub(by.get()))
}

impl Book for ProgramBook {
    type Item = Entry;

    fn apply(&mut self, entry: &Entry) -> Result<(), String> {
        self.cards += u64::from(matches!(entry, Entry::Opened(_)));
        self.shelf.add(entry.clone());
        Ok(())
    }

    fn shelf(&mut self) -> &mut Shelf<Entry> {
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
