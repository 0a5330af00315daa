//! The sandbox issuer's orders and their totals.

use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;
use purser_storage::codec::Stored;

use super::card_numbers;
use purser_sandbox::record_book;
use purser_sandbox::records::{RecordBook, SandboxRecord, key_name, name};
use purser_sandbox::state::StoredValue;

/// A stored record.
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

impl Stored for CardOrderRecord {
    const SCHEMA: u16 = 703;
}

impl SandboxRecord for CardOrderRecord {
    fn names(&self) -> Vec<u64> {
        let mut names = vec![key_name(self.key)];
        if self.declined.is_none() {
            names.push(by_number(card_numbers::account_part(self.key, self.attempt)));
            names.push(by_ref(&card_numbers::issuer_ref(self.key)));
        }
        names
    }

    fn is_numbered(&self) -> bool {
        true
    }
}

fn by_number(account_part: u64) -> u64 {
    name(&[b"number", &account_part.to_be_bytes()])
}

fn by_ref(issuer_ref: &str) -> u64 {
    name(&[b"ref", issuer_ref.as_bytes()])
}

#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
pub(super) struct IssuerTotals {
    pub(super) cards: usize,
    pub(super) declined: usize,
    /// Cents on all cards.
    pub(super) loaded: u64,
    /// The issuer's time never runs backwards.
    pub(super) now: Timestamp,
}

impl Stored for IssuerTotals {
    const SCHEMA: u16 = 704;
}

record_book! {
    pub(super) struct IssuerRecords of CardOrderRecord {
        pub(super) totals: StoredValue<IssuerTotals>,
    }
}

impl IssuerRecords {
    pub(super) fn order(&self, key: JobId) -> Option<CardOrderRecord> {
        self.rows.find(key_name(key)).into_iter().find(|order| order.key == key)
    }

    /// A card, ready or in preparation, by the issuer's reference.
    pub(super) fn by_ref(&self, issuer_ref: &str) -> Option<CardOrderRecord> {
        let mut near = self.rows.find(by_ref(issuer_ref)).into_iter();
        near.find(|order| order.declined.is_none() && card_numbers::issuer_ref(order.key) == issuer_ref)
    }

    /// Whether a card has the number with this account part.
    pub(super) fn is_number_used(&self, account_part: u64) -> bool {
        let mut near = self.rows.find(by_number(account_part)).into_iter();
        near.any(|order| {
            order.declined.is_none() && card_numbers::account_part(order.key, order.attempt) == account_part
        })
    }
}

impl RecordBook for IssuerRecords {
    fn apply(&mut self, order: &CardOrderRecord) -> Result<(), String> {
        let totals = &mut *self.totals;
        if order.declined.is_none() {
            totals.cards += 1;
            totals.loaded = totals.loaded.saturating_add(order.amount.get());
        } else {
            totals.declined += 1;
        }
        totals.now = totals.now.max(order.at);
        Ok(())
    }
}
