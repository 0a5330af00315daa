//! What was spent with the sandbox's cards: the desk plays the merchant.

use purser_actors::money::Cents;
use purser_actors::port::{CardTransaction, Timestamp};

use crate::sandbox::archive::{Book, Item, Shelf, name};

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Charged {
    /// The issuer's name of the card.
    pub(super) issuer_ref: String,
    pub(super) transaction: CardTransaction,
}

fn by_ref(issuer_ref: &str) -> u64 {
    name(&[b"charged", issuer_ref.as_bytes()])
}

impl Item for Charged {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (charge, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(vec![charge])
        } else {
            Err("trailing bytes".into())
        }
    }

    fn names(&self) -> Vec<u64> {
        vec![by_ref(&self.issuer_ref)]
    }

    fn counts(&self) -> bool {
        true
    }
}

/// All charges.
#[derive(Default)]
pub(super) struct Charges {
    shelf: Shelf<Charged>,
    count: u64,
}

impl Charges {
    /// Of one card, oldest first.
    pub(super) fn of(&self, issuer_ref: &str) -> Vec<CardTransaction> {
        let near = self.shelf.find(by_ref(issuer_ref)).into_iter();
        let mut all: Vec<_> = near
            .filter(|c| c.issuer_ref == issuer_ref)
            .map(|c| c.transaction)
            .collect();
        all.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        all
    }

    /// Cents spent with one card.
    pub(super) fn spent(&self, issuer_ref: &str) -> u64 {
        let spent = self.of(issuer_ref);
        spent.iter().fold(0, |sum, one| sum.saturating_add(one.amount.get()))
    }

    /// The next charge; [`Book::apply`] makes it one.
    pub(super) fn next(&self, issuer_ref: &str, merchant: &str, amount: Cents, at: Timestamp) -> Charged {
        let id = format!("txn_{:08}", self.count + 1);
        let merchant = merchant.to_owned();
        let transaction = CardTransaction {
            id,
            merchant,
            amount,
            at,
        };
        Charged {
            issuer_ref: issuer_ref.to_owned(),
            transaction,
        }
    }
}

impl Book for Charges {
    type Item = Charged;

    fn apply(&mut self, charge: &Charged) -> Result<(), String> {
        self.count += 1;
        self.shelf.add(charge.clone());
        Ok(())
    }

    fn shelf(&mut self) -> &mut Shelf<Charged> {
        &mut self.shelf
    }

    fn save(&self) -> Vec<u8> {
        self.count.to_le_bytes().to_vec()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let saved = saved.try_into().map_err(|_| "not a count".to_owned())?;
        self.count = u64::from_le_bytes(saved);
        Ok(())
    }

    fn weight(&self) -> usize {
        0
    }
}
