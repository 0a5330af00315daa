//! The sandbox's gift cards: a built-in catalog, orders that are idempotent by key, in a file that is synced before
//! each response, limited stock, and products that force an outcome.

mod catalog;
pub mod faults;
mod orders;
mod reconciliation;
mod records;
mod redemption;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, Clock, ErrorKind, PortError};
use rust_decimal::Decimal;

use self::catalog::Catalog;
use self::faults::GiftCardFault;
use self::records::{GiftCardRecord, GiftCardRecords};
use super::fault_rules::{FaultRule, FaultRules};
use crate::provider::gift_cards::{
    GiftCardApi, GiftCardOrderRequest, GiftCardOrderStatus, GiftCardPage, GiftCardProduct, GiftCardQuery, GiftCardQuote,
};
use crate::sandbox::archive::{Archive, ArchiveState as _};
use crate::sandbox::record_log::{DurablePromise, LogError};

const KIND: [u8; 8] = *b"SBXGFT01";

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
    records: Mutex<GiftCardRecords>,
    archive: Archive,
    faults: FaultRules<GiftCardFault>,
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
    /// Faults that wait for a call.
    pub rules: Vec<FaultRule<GiftCardFault>>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

/// Why the catalog cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The list of products is invalid.
    #[error("products: {0}")]
    Products(String),
    /// The log of orders cannot be opened.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl SandboxGiftCards {
    /// Opens or creates `gift_cards.orders` in the directory, which must exist.
    ///
    /// # Errors
    /// When the disk fails, another process has the file, or it is corrupt before its tail.
    pub fn open(directory: &Path, settings: SandboxGiftCardSettings, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let catalog = Catalog::read(catalog::PRODUCTS).map_err(OpenError::Products)?;
        let mut book = GiftCardRecords::default();
        let archive = Archive::open(&directory.join("gift_cards.orders"), KIND, &mut book)?;
        Ok(Self {
            settings,
            clock,
            catalog,
            records: Mutex::new(book),
            archive,
            faults: FaultRules::default(),
        })
    }

    pub fn add_fault(&self, fault: GiftCardFault, remaining: Option<u32>) {
        self.faults.add(FaultRule { fault, remaining });
    }

    /// Clears all faults; stock and prices stay.
    pub fn clear_faults(&self) {
        self.faults.clear();
    }

    /// Sets a product's stock, durably. False if there is no such product.
    ///
    /// # Errors
    /// When the log has stopped.
    pub async fn set_stock(&self, product_id: &str, stock: u32) -> Result<bool, LogError> {
        let product = product_id.to_owned();
        self.change(product_id, GiftCardRecord::Stock { product, stock }).await
    }

    /// Sets a product's fee rate, durably. False if there is no such product.
    ///
    /// # Errors
    /// When the log has stopped.
    pub async fn set_fee_rate(&self, product_id: &str, fee_rate: Decimal) -> Result<bool, LogError> {
        let record = GiftCardRecord::Price {
            product: product_id.to_owned(),
            fee_rate: fee_rate.to_string(),
        };
        self.change(product_id, record).await
    }

    async fn change(&self, product_id: &str, record: GiftCardRecord) -> Result<bool, LogError> {
        if self.catalog.get(product_id).is_none() {
            return Ok(false);
        }
        let durable = self.persist(&mut self.records.lock(), &record);
        durable.wait().await.map(|()| true)
    }

    /// Adds a record to the records and the log.
    fn persist(&self, book: &mut GiftCardRecords, record: &GiftCardRecord) -> DurablePromise {
        if self.archive.has_failed() || book.apply(record).is_err() {
            return DurablePromise::broken();
        }
        self.archive.append(book, record.encode())
    }

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the log has stopped.
    pub async fn state(&self) -> Result<SandboxGiftCardSummary, LogError> {
        let (state, durable) = {
            let book = self.records.lock();
            let (gift_cards, declined) = book.totals();
            let all = self.catalog.all();
            let state = SandboxGiftCardSummary {
                products: all.len(),
                sold_out: all.iter().filter(|listed| book.stock(listed) == 0).count(),
                gift_cards,
                declined,
                rules: self.faults.pending(),
                faults_injected: self.faults.injected(),
            };
            (state, self.archive.barrier())
        };
        durable.wait().await.map(|()| state)
    }

    /// The effect of a fault before the catalog has read the request.
    async fn before(&self, operation: &'static str, fault: Option<GiftCardFault>) -> Result<(), PortError> {
        match fault {
            Some(GiftCardFault::Unreachable) => Err(failed(
                operation,
                ErrorKind::Temporary,
                "the sandbox's catalog is unreachable",
            )),
            // A malformed response reveals nothing about the outcome.
            Some(GiftCardFault::MalformedResponse) => Err(failed(
                operation,
                ErrorKind::Unknown,
                "the answer is not a catalog's answer",
            )),
            Some(GiftCardFault::Slow { ms }) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(())
            }
            _ => Ok(()),
        }
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

fn failed(operation: &'static str, kind: ErrorKind, message: &str) -> PortError {
    PortError {
        kind,
        operation,
        message: message.to_owned(),
    }
}

impl GiftCardApi for SandboxGiftCards {
    fn search<'a>(&'a self, wanted: &'a GiftCardQuery) -> BoxFuture<'a, Result<Option<GiftCardPage>, PortError>> {
        Box::pin(async move {
            let fault = self.faults.take(GiftCardFault::affects_reads);
            self.before("search_gift_cards", fault).await?;
            Ok(self.page(wanted))
        })
    }

    fn product<'a>(&'a self, product_id: &'a str) -> BoxFuture<'a, Result<Option<GiftCardProduct>, PortError>> {
        Box::pin(async move {
            let fault = self.faults.take(GiftCardFault::affects_reads);
            self.before("gift_product", fault).await?;
            let listed = self.catalog.get(product_id);
            Ok(listed.map(|listed| self.records.lock().now_of(listed)))
        })
    }

    fn offer<'a>(
        &'a self,
        product_id: &'a str,
        country: &'a str,
        amount: Cents,
    ) -> BoxFuture<'a, Result<GiftCardQuote, PortError>> {
        Box::pin(async move {
            let fault = self.faults.take(GiftCardFault::affects_quotes);
            self.before("gift_offer", fault).await?;
            if fault == Some(GiftCardFault::OutOfStock) {
                return Ok(GiftCardQuote::OutOfStock);
            }
            Ok(self.quote(product_id, country, amount))
        })
    }

    fn order<'a>(&'a self, order: &'a GiftCardOrderRequest) -> BoxFuture<'a, Result<GiftCardOrderStatus, PortError>> {
        Box::pin(self.place_order(order))
    }
}

#[cfg(test)]
mod tests;
