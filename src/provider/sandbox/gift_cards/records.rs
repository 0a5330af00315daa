//! Records of the sandbox's catalog: orders, and changed stock and prices.

use std::collections::{HashMap, HashSet};

use purser_actors::id::JobId;
use purser_actors::money::Cents;
use purser_actors::port::{GiftTerms, Timestamp};
use rust_decimal::Decimal;

use super::catalog::CatalogProduct;
use crate::provider::gift_cards::{GiftCardOrderRequest, GiftCardProduct};
use crate::sandbox::archive::{ArchiveRecord, ArchiveState, RecordBuffer, name};

/// An accepted order.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct GiftCardOrderRecord {
    pub(super) key: JobId,
    pub(super) product: String,
    country: String,
    pub(super) amount: Cents,
    fee_rate: String,
    pub(super) at: Timestamp,
    pub(super) ready_at: Timestamp,
    pub(super) declined: Option<String>,
}

impl GiftCardOrderRecord {
    pub(super) fn new(
        order: &GiftCardOrderRequest,
        at: Timestamp,
        ready_at: Timestamp,
        declined: Option<&str>,
    ) -> Self {
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

    /// Terms of the order besides product and amount.
    pub(super) fn terms(&self) -> Option<GiftTerms> {
        let country = self.country.parse().ok()?;
        let fee_rate = self.fee_rate.clone();
        Some(GiftTerms { country, fee_rate })
    }

    /// Whether the request is the same as that of the order.
    pub(super) fn is(&self, order: &GiftCardOrderRequest) -> bool {
        *self == Self::new(order, self.at, self.ready_at, self.declined.as_deref())
    }
}

/// Contents of the file.
#[derive(Clone, Debug, bincode::Encode, bincode::Decode)]
pub(super) enum GiftCardRecord {
    Ordered(GiftCardOrderRecord),
    Stock { product: String, stock: u32 },
    Price { product: String, fee_rate: String },
}

impl GiftCardRecord {
    pub(super) fn encode(&self) -> Vec<u8> {
        // Encoding plain data into memory cannot fail.
        bincode::encode_to_vec(self, bincode::config::standard()).unwrap_or_default()
    }
}

impl ArchiveRecord for GiftCardRecord {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (read, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(vec![read])
        } else {
            Err("trailing bytes".into())
        }
    }

    fn index_keys(&self) -> Vec<u64> {
        match self {
            Self::Ordered(order) => vec![by_key(order.key)],
            Self::Stock { .. } | Self::Price { .. } => Vec::new(),
        }
    }

    /// Orders are numbered in the list of all orders.
    fn is_counted(&self) -> bool {
        matches!(self, Self::Ordered(_))
    }
}

fn by_key(key: JobId) -> u64 {
    name(&[b"key", &key.0.to_be_bytes()])
}

#[derive(Default)]
pub(super) struct GiftCardRecords {
    buffer: RecordBuffer<GiftCardRecord>,
    made: usize,
    declined: usize,
    /// Stock set by the sandbox controls, less what was sold since. Until then the catalog's own stock counts.
    stock: HashMap<String, u32>,
    sold: HashMap<String, u32>,
    /// Fee rates set by the sandbox controls.
    fee_rates: HashMap<String, String>,
    /// Number of temporary errors that a magic order has had; removed once it is accepted.
    faults: HashMap<JobId, u32>,
    /// Magic orders whose first response was repeated.
    repeated: HashSet<JobId>,
    /// The catalog's time never runs backwards.
    pub(super) now: Timestamp,
}

impl ArchiveState for GiftCardRecords {
    type Item = GiftCardRecord;

    fn apply(&mut self, record: &GiftCardRecord) -> Result<(), String> {
        match record {
            GiftCardRecord::Ordered(order) => {
                self.now = self.now.max(order.at);
                match order.declined {
                    Some(_) => self.declined += 1,
                    None => {
                        self.made += 1;
                        *self.sold.entry(order.product.clone()).or_default() += 1;
                    }
                }
            }
            GiftCardRecord::Stock { product, stock } => {
                self.sold.remove(product);
                self.stock.insert(product.clone(), *stock);
            }
            GiftCardRecord::Price { product, fee_rate } => {
                Decimal::from_str_exact(fee_rate).map_err(|e| e.to_string())?;
                self.fee_rates.insert(product.clone(), fee_rate.clone());
            }
        }
        self.buffer.add(record.clone());
        Ok(())
    }

    fn buffer(&mut self) -> &mut RecordBuffer<GiftCardRecord> {
        &mut self.buffer
    }

    fn save(&self) -> Vec<u8> {
        let saved = (
            self.made,
            self.declined,
            &self.stock,
            &self.sold,
            &self.fee_rates,
            self.now,
        );
        // Encoding plain data into memory cannot fail.
        bincode::encode_to_vec(saved, bincode::config::standard()).unwrap_or_default()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let (saved, _) = bincode::decode_from_slice(saved, bincode::config::standard()).map_err(|e| e.to_string())?;
        (
            self.made,
            self.declined,
            self.stock,
            self.sold,
            self.fee_rates,
            self.now,
        ) = saved;
        Ok(())
    }

    fn weight(&self) -> usize {
        self.stock.len() + self.sold.len() + self.fee_rates.len()
    }
}

impl GiftCardRecords {
    pub(super) fn order(&self, key: JobId) -> Option<GiftCardOrderRecord> {
        let near = self.buffer.find(by_key(key)).into_iter();
        let mut orders = near.filter_map(|record| match record {
            GiftCardRecord::Ordered(order) => Some(order),
            GiftCardRecord::Stock { .. } | GiftCardRecord::Price { .. } => None,
        });
        orders.find(|order| order.key == key)
    }

    /// Number of gift cards, ready or in preparation, and of declined orders.
    pub(super) const fn totals(&self) -> (usize, usize) {
        (self.made, self.declined)
    }

    pub(super) fn stock(&self, listed: &CatalogProduct) -> u32 {
        let id = &listed.product.product_id;
        let had = self.stock.get(id).copied().unwrap_or(listed.stock);
        had.saturating_sub(self.sold.get(id).copied().unwrap_or(0))
    }

    /// The product with its current stock and price.
    pub(super) fn now_of(&self, listed: &CatalogProduct) -> GiftCardProduct {
        let mut product = listed.product.clone();
        product.in_stock = self.stock(listed) > 0;
        let fee_rate = self.fee_rates.get(&product.product_id);
        if let Some(fee_rate) = fee_rate.and_then(|text| Decimal::from_str_exact(text).ok()) {
            product.fee_rate = fee_rate;
        }
        product
    }

    /// Whether this attempt of a magic order fails; the third does not.
    pub(super) fn has_faulted(&mut self, key: JobId) -> bool {
        let had = self.faults.entry(key).or_default();
        *had += 1;
        if *had <= 2 {
            return true;
        }
        self.faults.remove(&key);
        false
    }

    /// Whether a magic order that is ready repeats its first response.
    pub(super) fn repeats(&mut self, key: JobId, known: &Option<GiftCardOrderRecord>, now: Timestamp) -> bool {
        known.as_ref().is_some_and(|known| known.ready_at <= now) && self.repeated.insert(key)
    }
}
