//! The sandbox's gift cards: a built-in catalog, orders that are idempotent by key, with records that are synced before
//! each response, limited stock, and products that force an outcome.

mod catalog;
pub mod faults;
mod orders;
mod reconciliation;
mod records;
mod redemption;

use std::sync::Arc;

use purser_actors::money::Cents;
use purser_actors::port::{Clock, PortFuture};
use rust_decimal::Decimal;

use self::catalog::Catalog;
use self::records::{GiftCardRecord, GiftCardRecords};
use crate::gift_cards::{
    GiftCardApi, GiftCardOrderRequest, GiftCardOrderStatus, GiftCardPage, GiftCardProduct, GiftCardQuery, GiftCardQuote,
};
use purser_sandbox::faults::{Fault, FaultTexts, Faults};
use purser_sandbox::records::{RecordBook as _, Records};
use purser_sandbox::store::{SandboxStore, SandboxStoreError, Table};

const TEXTS: FaultTexts = FaultTexts {
    unreachable: "the sandbox's catalog is unreachable",
    malformed: "the answer is not a catalog's answer",
};

/// How the sandbox's catalog behaves.
#[derive(Clone, Copy, Debug)]
pub struct SandboxGiftCardSettings {
    /// Time from the order until the gift card is ready, in milliseconds.
    pub ready_after_ms: u64,
    /// The same for the slow magic product.
    pub slow_ready_after_ms: u64,
    /// Duration of a call that times out, in milliseconds.
    pub timeout_after_ms: u64,
}

impl Default for SandboxGiftCardSettings {
    fn default() -> Self {
        Self {
            ready_after_ms: 2_000,
            slow_ready_after_ms: 10_000,
            timeout_after_ms: 1_000,
        }
    }
}

/// A simulated catalog.
pub struct SandboxGiftCards {
    settings: SandboxGiftCardSettings,
    clock: Arc<dyn Clock>,
    catalog: Catalog,
    records: Records<GiftCardRecords>,
    pub faults: Faults,
}

/// Summary of the catalog.
#[derive(Clone, Debug)]
pub struct SandboxGiftCardSummary {
    /// Products in the catalog.
    pub products: usize,
    /// Products that are sold out.
    pub sold_out: usize,
    /// Gift cards that are ready or in preparation.
    pub gift_cards: usize,
    pub declined: usize,
}

/// Why the catalog cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The list of products is invalid.
    #[error("products: {0}")]
    Products(String),
    /// The log of orders cannot be opened.
    #[error(transparent)]
    Log(#[from] SandboxStoreError),
}

impl SandboxGiftCards {
    /// Opens its tables of the store.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open(
        store: &SandboxStore,
        settings: SandboxGiftCardSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let catalog = Catalog::read(catalog::PRODUCTS).map_err(OpenError::Products)?;
        Ok(Self {
            settings,
            clock,
            catalog,
            records: Records::open(store, Table::GiftCards)?,
            faults: Faults::new(TEXTS, settings.timeout_after_ms),
        })
    }

    /// Sets a product's stock, durably. False if there is no such product.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn set_stock(&self, product_id: &str, stock: u32) -> Result<bool, SandboxStoreError> {
        let product = product_id.to_owned();
        self.change(product_id, GiftCardRecord::Stock { product, stock }).await
    }

    /// Sets a product's fee rate, durably. False if there is no such product.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn set_fee_rate(&self, product_id: &str, fee_rate: Decimal) -> Result<bool, SandboxStoreError> {
        let record = GiftCardRecord::Price {
            product: product_id.to_owned(),
            fee_rate: fee_rate.to_string(),
        };
        self.change(product_id, record).await
    }

    async fn change(&self, product_id: &str, record: GiftCardRecord) -> Result<bool, SandboxStoreError> {
        if self.catalog.get(product_id).is_none() {
            return Ok(false);
        }
        self.records.run(|book| book.append(&[record])).wait().await?;
        Ok(true)
    }

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn state(&self) -> Result<SandboxGiftCardSummary, SandboxStoreError> {
        let all = self.catalog.all();
        let state = self.records.run(|book| SandboxGiftCardSummary {
            products: all.len(),
            sold_out: all.iter().filter(|listed| book.stock(listed) == 0).count(),
            gift_cards: book.totals.made,
            declined: book.totals.declined,
        });
        state.wait().await
    }

    fn page(&self, wanted: &GiftCardQuery) -> Option<GiftCardPage> {
        let (found, facets) = self.catalog.find(wanted);
        let from = match &wanted.starting_after {
            None => 0,
            Some(id) => found.iter().position(|listed| listed.product.product_id == *id)? + 1,
        };
        let rest = &found[from..];
        let book = self.records.lock();
        Some(GiftCardPage {
            products: rest
                .iter()
                .take(wanted.limit)
                .map(|listed| book.now_of(listed))
                .collect(),
            count: found.len(),
            has_more: rest.len() > wanted.limit,
            facets,
        })
    }

    fn quote(&self, product_id: &str, country: &str, amount: Cents) -> GiftCardQuote {
        let Some(product) = self
            .catalog
            .get(product_id)
            .map(|listed| self.records.lock().now_of(listed))
        else {
            return GiftCardQuote::UnknownProduct;
        };
        if !product.redeemability.covers(country) {
            return GiftCardQuote::NotInCountry;
        }
        if !product.values.offer(amount) {
            return GiftCardQuote::InvalidAmount { values: product.values };
        }
        if !product.in_stock {
            return GiftCardQuote::OutOfStock;
        }
        GiftCardQuote::Available {
            currency: product.currency,
            fee_rate: product.fee_rate,
        }
    }
}

impl GiftCardApi for SandboxGiftCards {
    fn search<'a>(&'a self, wanted: &'a GiftCardQuery) -> PortFuture<'a, Option<GiftCardPage>> {
        Box::pin(async move {
            self.faults.before("search_gift_cards", faults::affects_reads).await?;
            Ok(self.page(wanted))
        })
    }

    fn product<'a>(&'a self, product_id: &'a str) -> PortFuture<'a, Option<GiftCardProduct>> {
        Box::pin(async move {
            self.faults.before("gift_product", faults::affects_reads).await?;
            let listed = self.catalog.get(product_id);
            Ok(listed.map(|listed| self.records.lock().now_of(listed)))
        })
    }

    fn offer<'a>(&'a self, product_id: &'a str, country: &'a str, amount: Cents) -> PortFuture<'a, GiftCardQuote> {
        Box::pin(async move {
            let fault = self.faults.before("gift_offer", faults::affects_quotes).await?;
            if fault == Some(Fault::OutOfStock) {
                return Ok(GiftCardQuote::OutOfStock);
            }
            Ok(self.quote(product_id, country, amount))
        })
    }

    fn order<'a>(&'a self, order: &'a GiftCardOrderRequest) -> PortFuture<'a, GiftCardOrderStatus> {
        Box::pin(self.place_order(order))
    }
}

#[cfg(test)]
mod tests;
