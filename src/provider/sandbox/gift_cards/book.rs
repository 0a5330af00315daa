//! What the sandbox's catalog knows besides its list: orders, stock and prices that changed.

use std::collections::{HashMap, HashSet};

use purser_actors::id::EffectId;
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;
use rust_decimal::Decimal;

use super::catalog::Listed;
use crate::provider::gift_cards::{GiftProduct, OrderGiftCard};

/// An order as it was taken.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct Ordered {
    pub(super) key: EffectId,
    pub(super) product: String,
    country: String,
    amount: Cents,
    fee_rate: String,
    at: Timestamp,
    pub(super) ready_at: Timestamp,
    pub(super) declined: Option<String>,
}

impl Ordered {
    pub(super) fn new(order: &OrderGiftCard, at: Timestamp, ready_at: Timestamp, declined: Option<&str>) -> Self {
        Self {
            key: order.key,
            product: order.product_id.clone(),
            country: order.country.clone(),
            amount: order.amount,
            fee_rate: order.fee_rate.normalize().to_string(),
            at,
            ready_at,
            declined: declined.map(str::to_owned),
        }
    }

    /// Whether the order is the same in everything that was asked for.
    pub(super) fn is(&self, order: &OrderGiftCard) -> bool {
        *self == Self::new(order, self.at, self.ready_at, self.declined.as_deref())
    }
}

/// What the file holds.
#[derive(Clone, Debug, bincode::Encode, bincode::Decode)]
pub(super) enum Record {
    Ordered(Ordered),
    Stock { product: String, stock: u32 },
    Price { product: String, fee_rate: String },
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        // Encoding plain data into memory has no failing case.
        bincode::encode_to_vec(self, bincode::config::standard()).unwrap_or_default()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let (record, used) =
            bincode::decode_from_slice(bytes, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == bytes.len() {
            Ok(record)
        } else {
            Err("trailing bytes".into())
        }
    }
}

#[derive(Default)]
pub(super) struct Book {
    orders: HashMap<EffectId, Ordered>,
    /// Stock that the desk set, and what was sold since; the list's own stock counts until then.
    stock: HashMap<String, u32>,
    sold: HashMap<String, u32>,
    fee_rates: HashMap<String, Decimal>,
    declined: usize,
    /// Temporary errors that a magic order has had; gone once it is accepted.
    stumbles: HashMap<EffectId, u32>,
    /// Magic orders that gave their first answer a second time.
    repeated: HashSet<EffectId>,
    /// The catalog's time never runs backwards.
    pub(super) now: Timestamp,
}

impl Book {
    pub(super) fn apply(&mut self, record: Record) {
        match record {
            Record::Ordered(order) => {
                self.now = self.now.max(order.at);
                match order.declined {
                    Some(_) => self.declined += 1,
                    None => *self.sold.entry(order.product.clone()).or_default() += 1,
                }
                self.orders.insert(order.key, order);
            }
            Record::Stock { product, stock } => {
                self.sold.remove(&product);
                self.stock.insert(product, stock);
            }
            Record::Price { product, fee_rate } => {
                if let Ok(fee_rate) = Decimal::from_str_exact(&fee_rate) {
                    self.fee_rates.insert(product, fee_rate);
                }
            }
        }
    }

    pub(super) fn order(&self, key: EffectId) -> Option<&Ordered> {
        self.orders.get(&key)
    }

    /// Gift cards made or being made, and orders declined.
    pub(super) fn totals(&self) -> (usize, usize) {
        (self.orders.len() - self.declined, self.declined)
    }

    pub(super) fn stock(&self, listed: &Listed) -> u32 {
        let id = &listed.product.product_id;
        let had = self.stock.get(id).copied().unwrap_or(listed.stock);
        had.saturating_sub(self.sold.get(id).copied().unwrap_or(0))
    }

    /// The product with its stock and price of now.
    pub(super) fn now_of(&self, listed: &Listed) -> GiftProduct {
        let mut product = listed.product.clone();
        product.in_stock = self.stock(listed) > 0;
        if let Some(fee_rate) = self.fee_rates.get(&product.product_id) {
            product.fee_rate = *fee_rate;
        }
        product
    }

    /// Whether this try of a magic order fails; the third does not.
    pub(super) fn stumbles(&mut self, key: EffectId) -> bool {
        let had = self.stumbles.entry(key).or_default();
        *had += 1;
        if *had <= 2 {
            return true;
        }
        self.stumbles.remove(&key);
        false
    }

    /// Whether a magic order that is ready gives its first answer once more.
    pub(super) fn repeats(&mut self, key: EffectId, known: &Option<Ordered>, now: Timestamp) -> bool {
        known.as_ref().is_some_and(|known| known.ready_at <= now) && self.repeated.insert(key)
    }
}
