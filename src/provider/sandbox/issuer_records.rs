//! The sandbox issuer's orders: totals in memory, records in an archive.

use std::collections::HashMap;

use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;

use super::card_numbers;
use crate::sandbox::archive::{ArchiveRecord, ArchiveState, RecordBuffer, name};

/// Contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct CardOrderRecord {
    pub(super) key: JobId,
    pub(super) card: CardId,
    pub(super) amount: Cents,
    pub(super) at: Timestamp,
    pub(super) ready_at: Timestamp,
    pub(super) declined: Option<String>,
    /// Incremented until the derived number is unique.
    pub(super) attempt: u32,
}

impl ArchiveRecord for CardOrderRecord {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (order, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(vec![order])
        } else {
            Err("trailing bytes".into())
        }
    }

    fn index_keys(&self) -> Vec<u64> {
        let mut names = vec![by_key(self.key)];
        if self.declined.is_none() {
            names.push(by_number(card_numbers::account_part(self.key, self.attempt)));
            names.push(by_ref(&card_numbers::issuer_ref(self.key)));
        }
        names
    }

    fn is_counted(&self) -> bool {
        true
    }
}

fn by_key(key: JobId) -> u64 {
    name(&[b"key", &key.0.to_be_bytes()])
}

fn by_number(account_part: u64) -> u64 {
    name(&[b"number", &account_part.to_be_bytes()])
}

fn by_ref(issuer_ref: &str) -> u64 {
    name(&[b"ref", issuer_ref.as_bytes()])
}

#[derive(Default)]
pub(super) struct IssuerRecords {
    buffer: RecordBuffer<CardOrderRecord>,
    pub(super) cards: usize,
    pub(super) declined: usize,
    /// Cents on all cards.
    pub(super) loaded: u64,
    /// Number of temporary errors that a magic order has had; removed once it is accepted.
    pub(super) faults: HashMap<JobId, u32>,
    /// The issuer's time never runs backwards.
    pub(super) now: Timestamp,
}

impl IssuerRecords {
    pub(super) fn order(&self, key: JobId) -> Option<CardOrderRecord> {
        self.buffer.find(by_key(key)).into_iter().find(|order| order.key == key)
    }

    /// A card, ready or in preparation, by the issuer's reference.
    pub(super) fn by_ref(&self, issuer_ref: &str) -> Option<CardOrderRecord> {
        let mut near = self.buffer.find(by_ref(issuer_ref)).into_iter();
        near.find(|order| order.declined.is_none() && card_numbers::issuer_ref(order.key) == issuer_ref)
    }

    /// Whether a card has the number with this account part.
    pub(super) fn is_number_used(&self, account_part: u64) -> bool {
        let mut near = self.buffer.find(by_number(account_part)).into_iter();
        near.any(|order| {
            order.declined.is_none() && card_numbers::account_part(order.key, order.attempt) == account_part
        })
    }
}

impl ArchiveState for IssuerRecords {
    type Item = CardOrderRecord;

    fn apply(&mut self, order: &CardOrderRecord) -> Result<(), String> {
        if order.declined.is_none() {
            self.cards += 1;
            self.loaded = self.loaded.saturating_add(order.amount.get());
        } else {
            self.declined += 1;
        }
        self.now = self.now.max(order.at);
        self.buffer.add(order.clone());
        Ok(())
    }

    fn buffer(&mut self) -> &mut RecordBuffer<CardOrderRecord> {
        &mut self.buffer
    }

    fn save(&self) -> Vec<u8> {
        let saved = (self.cards, self.declined, self.loaded, self.now);
        // Encoding plain data into memory cannot fail.
        bincode::encode_to_vec(saved, bincode::config::standard()).unwrap_or_default()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let (saved, _) = bincode::decode_from_slice(saved, bincode::config::standard()).map_err(|e| e.to_string())?;
        (self.cards, self.declined, self.loaded, self.now) = saved;
        Ok(())
    }

    fn weight(&self) -> usize {
        0
    }
}
