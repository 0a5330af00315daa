//! Records of the sandbox's catalog: orders, and changed stock and prices.

use std::collections::HashSet;

use purser_actors::id::JobId;
use purser_actors::money::Cents;
use purser_actors::port::{GiftTerms, Timestamp};
use purser_storage::codec::Stored;
use rust_decimal::Decimal;

use super::catalog::CatalogProduct;
use crate::gift_cards::{GiftCardOrderRequest, GiftCardProduct};
use purser_sandbox::record_book;
use purser_sandbox::records::{RecordBook, SandboxRecord, key_name};
use purser_sandbox::state::{StoredMap, StoredValue};

/// An accepted order.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct GiftCardOrderRecord {
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

/// A stored record.
#[derive(Clone, Debug, bincode::Encode, bincode::Decode)]
pub(crate) enum GiftCardRecord {
    Ordered(GiftCardOrderRecord),
    Stock { product: String, stock: u32 },
    Price { product: String, fee_rate: String },
}

impl Stored for GiftCardRecord {
    const SCHEMA: u16 = 706;
}

impl SandboxRecord for GiftCardRecord {
    fn names(&self) -> Vec<u64> {
        match self {
            Self::Ordered(order) => vec![key_name(order.key)],
            Self::Stock { .. } | Self::Price { .. } => Vec::new(),
        }
    }

    /// Orders are numbered in the list of all orders.
    fn is_numbered(&self) -> bool {
        matches!(self, Self::Ordered(_))
    }
}

#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
pub(crate) struct GiftCardTotals {
    /// Gift cards that are ready or in preparation.
    pub(super) made: usize,
    pub(super) declined: usize,
    /// The catalog's time never runs backwards.
    pub(super) now: Timestamp,
}

impl Stored for GiftCardTotals {
    const SCHEMA: u16 = 707;
}

/// What has changed of a product.
#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
struct ProductState {
    /// Stock set by the sandbox controls. Until then the catalog's own stock counts.
    stock: Option<u32>,
    /// Gift cards since the stock was set.
    sold: u32,
    /// Set by the sandbox controls.
    fee_rate: Option<String>,
}

impl Stored for ProductState {
    const SCHEMA: u16 = 708;
}

record_book! {
    pub(crate) struct GiftCardRecords of GiftCardRecord {
        pub(super) totals: StoredValue<GiftCardTotals>,
        products: StoredMap<String, ProductState>,
    } memory {
        /// Magic orders whose first response was repeated.
        repeated: HashSet<JobId>,
    }
}

impl RecordBook for GiftCardRecords {
    fn apply(&mut self, record: &GiftCardRecord) -> Result<(), String> {
        match record {
            GiftCardRecord::Ordered(order) => {
                self.totals.now = self.totals.now.max(order.at);
                match order.declined {
                    Some(_) => self.totals.declined += 1,
                    None => {
                        self.totals.made += 1;
                        self.products.change_or_default(&order.product).sold += 1;
                    }
                }
            }
            GiftCardRecord::Stock { product, stock } => {
                let state = self.products.change_or_default(product);
                (state.stock, state.sold) = (Some(*stock), 0);
            }
            GiftCardRecord::Price { product, fee_rate } => {
                Decimal::from_str_exact(fee_rate).map_err(|e| e.to_string())?;
                self.products.change_or_default(product).fee_rate = Some(fee_rate.clone());
            }
        }
        Ok(())
    }
}

impl GiftCardRecords {
    pub(super) fn order(&self, key: JobId) -> Option<GiftCardOrderRecord> {
        let near = self.rows.find(key_name(key)).into_iter();
        let mut orders = near.filter_map(|record| match record {
            GiftCardRecord::Ordered(order) => Some(order),
            GiftCardRecord::Stock { .. } | GiftCardRecord::Price { .. } => None,
        });
        orders.find(|order| order.key == key)
    }

    pub(super) fn stock(&self, listed: &CatalogProduct) -> u32 {
        let id = &listed.product.product_id;
        let state = self.products.get(id);
        let had = state.and_then(|state| state.stock).unwrap_or(listed.stock);
        had.saturating_sub(state.map_or(0, |state| state.sold))
    }

    /// The product with its current stock and price.
    pub(super) fn now_of(&self, listed: &CatalogProduct) -> GiftCardProduct {
        let mut product = listed.product.clone();
        product.in_stock = self.stock(listed) > 0;
        let state = self.products.get(&product.product_id);
        let fee_rate = state.and_then(|state| state.fee_rate.as_deref());
        if let Some(fee_rate) = fee_rate.and_then(|text| Decimal::from_str_exact(text).ok()) {
            product.fee_rate = fee_rate;
        }
        product
    }

    /// Whether a magic order that is ready repeats its first response.
    pub(super) fn repeats(&mut self, key: JobId, known: &Option<GiftCardOrderRecord>, now: Timestamp) -> bool {
        known.as_ref().is_some_and(|known| known.ready_at <= now) && self.repeated.insert(key)
    }
}
