//! What the sandbox's rails know: orders with the words that are still to come, and every word that was said, in order.

use std::collections::{BTreeMap, HashMap};

use purser_actors::id::{EffectId, PayoutId};
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;
use purser_actors::port::payout::{RailState, Report, Told};
use purser_actors::product::{Currency, Line};

use crate::sandbox::archive::{Book, Item, Shelf, name};

/// When the caller is told to ask again at most, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// What a rail can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Words {
    /// On its way.
    InProcess,
    /// Paid.
    Complete,
    /// Not paid.
    Failed,
    /// Stopped.
    Cancelled,
    /// Came back.
    Returned,
}

impl Words {
    fn state(self, key: EffectId) -> RailState {
        match self {
            Self::InProcess => RailState::InProcess {
                retry_after_ms: RETRY_MS,
            },
            // Half of the key: enough to be found again at the rail, and nothing to order with.
            Self::Complete => RailState::Complete {
                reference: format!("sbx_pay_{:016x}", key.0 >> 64).into(),
            },
            Self::Failed => RailState::Failed {
                reason: "declined_by_rail".into(),
            },
            Self::Cancelled => RailState::Cancelled {
                reason: "stopped_by_rail".into(),
            },
            Self::Returned => RailState::Returned {
                reason: "returned_by_recipient".into(),
            },
        }
    }
}

/// A word about one payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Says {
    /// Said, or to be said.
    pub(super) at: Timestamp,
    pub(super) key: EffectId,
    pub(super) payout: PayoutId,
    pub(super) sequence: u64,
    pub(super) says: Words,
}

impl Says {
    pub(super) fn report(&self) -> Report {
        Report {
            sequence: self.sequence,
            state: self.says.state(self.key),
        }
    }
}

/// An order as it was taken.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Ordered {
    pub(super) key: EffectId,
    pub(super) payout: PayoutId,
    pub(super) line: Line,
    pub(super) amount: Cents,
    pub(super) currency: Currency,
    /// Of everything that was asked for.
    pub(super) digest: [u8; 32],
    pub(super) at: Timestamp,
    /// Whether a payment after a refusal cannot be taken back.
    pub(super) gone: bool,
    /// Whether it is paid after a refusal.
    pub(super) late: bool,
    /// What will be said of it.
    pub(super) to_come: Vec<Says>,
}

/// What the file holds.
#[derive(Clone, Debug, bincode::Encode, bincode::Decode)]
pub(super) enum Record {
    Ordered(Ordered),
    Word(Says),
    /// Its money was taken back: what was still to come is not said any more.
    Recalled(EffectId),
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        // Encoding plain data into memory has no failing case.
        bincode::encode_to_vec(self, bincode::config::standard()).unwrap_or_default()
    }
}

impl Item for Record {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (read, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(vec![read])
        } else {
            Err("trailing bytes".into())
        }
    }

    fn names(&self) -> Vec<u64> {
        match self {
            Self::Ordered(order) => vec![by_key(order.key), by_payout(order.payout)],
            Self::Word(word) => vec![by_key(word.key)],
            Self::Recalled(key) => vec![by_key(*key)],
        }
    }

    fn counts(&self) -> bool {
        matches!(self, Self::Word(_))
    }
}

fn by_key(key: EffectId) -> u64 {
    name(&[b"key", &key.0.to_be_bytes()])
}

fn by_payout(payout: PayoutId) -> u64 {
    name(&[b"payout", &payout.0.to_be_bytes()])
}

/// When a word is due, and its place among those of the same moment.
type Due = (Timestamp, u64);

#[derive(Default)]
pub(super) struct RailBook {
    shelf: Shelf<Record>,
    orders: usize,
    recalled: usize,
    /// Words whose time has not come.
    to_come: BTreeMap<Due, Says>,
    /// Words that were ever to come: what orders those of one moment.
    planned: u64,
    /// Temporary errors that a magic order has had; gone once it is taken.
    stumbles: HashMap<EffectId, u32>,
    /// The rails' time never runs backwards.
    pub(super) now: Timestamp,
}

impl Book for RailBook {
    type Item = Record;

    fn apply(&mut self, record: &Record) -> Result<(), String> {
        match record {
            Record::Ordered(order) => {
                self.now = self.now.max(order.at);
                self.orders += 1;
                for word in &order.to_come {
                    self.planned += 1;
                    self.to_come.insert((word.at, self.planned), *word);
                }
            }
            // What the desk says was never to come.
            Record::Word(word) => {
                let planned = self.to_come.iter().find(|(_, to_come)| *to_come == word);
                if let Some(due) = planned.map(|(due, _)| *due) {
                    self.to_come.remove(&due);
                }
            }
            Record::Recalled(key) => {
                self.recalled += 1;
                self.to_come.retain(|_, word| word.key != *key);
            }
        }
        self.shelf.add(record.clone());
        Ok(())
    }

    fn shelf(&mut self) -> &mut Shelf<Record> {
        &mut self.shelf
    }

    fn save(&self) -> Vec<u8> {
        let to_come: Vec<_> = self.to_come.iter().map(|(due, word)| (*due, *word)).collect();
        let saved = (self.orders, self.recalled, to_come, self.planned, self.now);
        // Encoding plain data into memory has no failing case.
        bincode::encode_to_vec(saved, bincode::config::standard()).unwrap_or_default()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let (saved, _) = bincode::decode_from_slice(saved, bincode::config::standard()).map_err(|e| e.to_string())?;
        let to_come: Vec<(Due, Says)>;
        (self.orders, self.recalled, to_come, self.planned, self.now) = saved;
        self.to_come = to_come.into_iter().collect();
        Ok(())
    }

    fn weight(&self) -> usize {
        self.to_come.len()
    }
}

impl RailBook {
    /// Orders, words, and money taken back.
    pub(super) const fn totals(&self) -> (usize, u64, usize) {
        (self.orders, self.shelf.counted(), self.recalled)
    }

    /// The next word whose time has come.
    pub(super) fn due(&self) -> Option<Says> {
        let (due, word) = self.to_come.first_key_value()?;
        (due.0 <= self.now).then_some(*word)
    }

    pub(super) fn order(&self, key: EffectId) -> Option<Ordered> {
        self.near(by_key(key)).find(|order| order.key == key)
    }

    pub(super) fn order_of(&self, payout: PayoutId) -> Option<Ordered> {
        self.near(by_payout(payout)).find(|order| order.payout == payout)
    }

    fn near(&self, name: u64) -> impl Iterator<Item = Ordered> {
        let found = self.shelf.find(name).into_iter();
        found.filter_map(|record| match record {
            Record::Ordered(order) => Some(order),
            Record::Word(_) | Record::Recalled(_) => None,
        })
    }

    /// Every word said of an order, oldest first.
    pub(super) fn said(&self, key: EffectId) -> Vec<Says> {
        let found = self.shelf.find(by_key(key)).into_iter();
        let words = found.filter_map(|record| match record {
            Record::Word(word) if word.key == key => Some(word),
            _ => None,
        });
        let mut said: Vec<Says> = Vec::new();
        // A frame of the file is found once for each of its names.
        words.for_each(|word| {
            if said.last() != Some(&word) {
                said.push(word);
            }
        });
        said
    }

    /// The word with the highest sequence: the truth, whatever was said last.
    pub(super) fn latest(&self, key: EffectId) -> Option<Says> {
        self.said(key).into_iter().max_by_key(|word| word.sequence)
    }

    pub(super) fn is_recalled(&self, key: EffectId) -> bool {
        let mut found = self.shelf.find(by_key(key)).into_iter();
        found.any(|record| matches!(record, Record::Recalled(recalled) if recalled == key))
    }

    /// Every word that was said, by its number.
    pub(super) const fn words(&self) -> &Shelf<Record> {
        &self.shelf
    }

    /// The words behind this number.
    pub(super) fn told(&self, after: u64, limit: usize) -> Vec<Told> {
        let mut told = Vec::new();
        self.shelf.scan(after, |number, record| {
            if let Record::Word(word) = record {
                told.push(Told {
                    number: number + 1,
                    payout: word.payout,
                    report: word.report(),
                });
            }
            told.len() < limit
        });
        told
    }

    /// Whether an order stumbles once more: twice in all.
    pub(super) fn stumbles(&mut self, key: EffectId) -> bool {
        let stumbles = self.stumbles.entry(key).or_default();
        *stumbles += 1;
        if *stumbles <= 2 {
            return true;
        }
        self.stumbles.remove(&key);
        false
    }
}
