//! Prices over time. A quote is valid for its lifetime even if a price or an exchange rate changes, across restarts
//! too. Every version of the price list is stored with the time from which it was in force. A payment may match any
//! version that was in force within the lifetime of a quote.

mod product_rates;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use purser_actors::currency::Currency;
use purser_actors::kernel::table;
use purser_actors::money::{Cents, FeeRule};
use purser_actors::port::Timestamp;
use purser_actors::product::ProductLine;
use purser_actors::quote::{ExchangeRate, QuoteFacts};
use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, CommitError, Store, StoreError, Write};
use rust_decimal::Decimal;
use tokio::sync::{Mutex, oneshot};

use crate::config::ProductsConfig;
use crate::provider::rates::RateTable;
pub use product_rates::ProductFeeRate;

/// A product's fee rule as decimal text.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct FeeRuleText {
    rate: String,
    minimum: String,
    promotion: Option<Promotion>,
}

/// A temporary rate.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Promotion {
    rate: String,
    from: Timestamp,
    until: Timestamp,
}

impl FeeRuleText {
    /// The rates in force at any time from `since` to `now`, the latest first.
    fn rates(&self, since: Timestamp, now: Timestamp) -> Vec<&str> {
        let at = |moment: Timestamp| match &self.promotion {
            Some(offer) if offer.from <= moment && moment < offer.until => offer.rate.as_str(),
            _ => self.rate.as_str(),
        };
        let turns = self.promotion.iter().flat_map(|offer| [offer.until, offer.from]);
        let within = turns.filter(|turn| since < *turn && *turn <= now);
        let mut rates = vec![at(now)];
        for rate in within.map(at).chain([at(since)]).collect::<Vec<_>>() {
            if !rates.contains(&rate) {
                rates.push(rate);
            }
        }
        rates
    }
}

type FeeRules = BTreeMap<String, FeeRuleText>;

/// Exchange rates, with their source and the time since which they are valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct RateTableRecord {
    /// US dollars as decimal text.
    rates: BTreeMap<String, String>,
    source: String,
    as_of: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct PriceVersion {
    from: Timestamp,
    /// `None` for the version in force.
    until: Option<Timestamp>,
    rules: FeeRules,
    table: RateTableRecord,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct PriceVersions(Vec<PriceVersion>);

impl Stored for PriceVersions {
    const SCHEMA: u16 = 61;
}

#[derive(Clone, Copy, Debug)]
pub struct PriceQuery<'a> {
    pub line: ProductLine,
    /// Amount without fees.
    pub amount: Cents,
    pub currency: Currency,
    /// Fee rates of the individual product, today's first. For lines whose products have their own rates.
    pub product_rates: Option<&'a [ProductFeeRate]>,
}

/// A price in US dollars and its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Total with fees.
    pub total: Cents,
    /// Value without fees.
    pub worth: Cents,
    pub fee: FeeRule,
    /// `None` for US dollars.
    pub exchange: Option<ExchangeRate>,
}

impl Quote {
    /// The facts that are stored with the product.
    pub fn facts(&self) -> QuoteFacts {
        QuoteFacts {
            fee_rate: self.fee.rate.normalize().to_string(),
            min_fee: self.fee.minimum.normalize().to_string(),
            exchange: self.exchange.clone(),
        }
    }
}

/// Lifetimes in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct QuoteLifetimes {
    /// Lifetime of a quote.
    pub quote_ms: u64,
    /// Maximum age of an exchange rate that its source no longer reports.
    pub exchange_ms: u64,
}

/// The current price list and the ones that unexpired quotes still use.
pub struct PriceBook {
    store: Arc<dyn Store>,
    versions: RwLock<Arc<Vec<PriceVersion>>>,
    /// Lock that serializes changes.
    changing: Mutex<()>,
    /// Product-specific rates, by product.
    product_rates: parking_lot::Mutex<HashMap<String, product_rates::ProductRates>>,
    /// When the source of exchange rates last reported them.
    rates_updated_at: AtomicU64,
    lifetimes: QuoteLifetimes,
}

/// Why the price list cannot be loaded or stored.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored list is corrupt.
    #[error("the stored price list is damaged: {0}")]
    Corrupt(#[from] codec::DecodeError),
    #[error("the price list could not be stored: {0}")]
    Commit(#[from] CommitError),
}

impl PriceBook {
    /// Puts the configured prices and these exchange rates into force from now on, unless they already are.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open(
        store: Arc<dyn Store>,
        products: &ProductsConfig,
        table: &RateTable,
        lives: QuoteLifetimes,
        now: Timestamp,
    ) -> Result<Self, PriceError> {
        let stored: PriceVersions = match store.read(&table::meta("prices")).await? {
            Some(row) => codec::decode(&row.value)?,
            None => PriceVersions::default(),
        };
        let book = Self {
            product_rates: parking_lot::Mutex::new(product_rates::read(&*store, now).await?),
            store,
            versions: RwLock::new(Arc::new(stored.0)),
            changing: Mutex::default(),
            rates_updated_at: AtomicU64::new(now.0),
            lifetimes: lives,
        };
        book.change(rules(products), RateTableRecord::of(table), now).await?;
        Ok(book)
    }

    /// Puts new exchange rates into force. Existing quotes are unaffected.
    ///
    /// # Errors
    /// When the store fails; the previous rates stay in force.
    pub async fn exchange(&self, table: &RateTable, now: Timestamp) -> Result<(), PriceError> {
        let rules = self.versions.read().last().map(|v| v.rules.clone()).unwrap_or_default();
        self.change(rules, RateTableRecord::of(table), now).await?;
        self.rates_updated_at.fetch_max(now.0, Ordering::Relaxed);
        Ok(())
    }

    async fn change(&self, rules: FeeRules, table: RateTableRecord, now: Timestamp) -> Result<(), PriceError> {
        let _one = self.changing.lock().await;
        let stored = PriceVersions(self.versions.read().to_vec());
        let versions = effective_at(stored.clone(), (rules, table), self.lifetimes.quote_ms, now);
        if versions != stored {
            self.persist("prices", codec::encode(&versions)).await?;
        }
        // Durable first: a quote that a crash lost would be rejected after it was paid.
        *self.versions.write() = Arc::new(versions.0);
        Ok(())
    }

    /// Durable when it returns.
    async fn persist(&self, name: &str, value: Vec<u8>) -> Result<(), CommitError> {
        let write = Write::Put {
            key: table::meta(name),
            revision: 0,
            value,
        };
        let (done, committed) = oneshot::channel();
        let batch = Batch {
            writes: vec![write],
            ..Batch::default()
        };
        self.store
            .commit(batch, Box::new(move |result| drop(done.send(result))));
        committed.await.unwrap_or(Err(CommitError::Stopped)).map(drop)
    }

    /// Prices for a query: the one in force first, then those that quotes may still use. Empty for an amount that does
    /// not fit, or a currency without a usable rate.
    pub fn quotes(&self, asked: &PriceQuery<'_>, now: Timestamp) -> Vec<Quote> {
        let versions = self.versions.read().clone();
        let window = QuoteWindow {
            since: Timestamp(now.0.saturating_sub(self.lifetimes.quote_ms)),
            now,
            fresh_until: self.fresh_until(),
        };
        still_honoured(&versions, asked, &window)
    }

    /// Whether products in this currency are sold now. US dollars always are; other currencies only while their rates
    /// are fresh.
    pub fn has_rate_for(&self, currency: Currency, now: Timestamp) -> bool {
        currency == Currency::USD || now <= self.fresh_until()
    }

    fn fresh_until(&self) -> Timestamp {
        Timestamp(self.rates_updated_at.load(Ordering::Relaxed)).plus_ms(self.lifetimes.exchange_ms)
    }

    /// The fee rate of a line in force now, promotions included.
    pub fn fee_rate(&self, line: ProductLine, now: Timestamp) -> Option<Decimal> {
        let versions = self.versions.read();
        let rule = versions.last()?.rules.get(line.name())?;
        rule.rates(now, now).first()?.parse().ok()
    }

    /// Current value in US dollars, rounded up to the cent.
    pub fn usd_value(&self, amount: Cents, currency: Currency) -> Option<Cents> {
        self.versions.read().last()?.worth(amount.decimal(), currency)
    }
}

/// The period in which a quote that is still valid was issued.
struct QuoteWindow {
    since: Timestamp,
    now: Timestamp,
    /// The last moment of the exchange rates in force.
    fresh_until: Timestamp,
}

/// Every distinct price that was in force within the lifetime of a quote, the latest first.
fn still_honoured(versions: &[PriceVersion], asked: &PriceQuery<'_>, window: &QuoteWindow) -> Vec<Quote> {
    let mut quotes = Vec::with_capacity(versions.len());
    for quote in versions.iter().rev().flat_map(|version| version.quotes(asked, window)) {
        if !quotes.iter().any(|known: &Quote| known.total == quote.total) {
            quotes.push(quote);
        }
    }
    quotes
}

impl PriceVersion {
    fn quotes(&self, asked: &PriceQuery<'_>, window: &QuoteWindow) -> Vec<Quote> {
        let fresh_until = match asked.currency {
            Currency::USD => window.now,
            _ => window.fresh_until,
        };
        let gone = |end: Timestamp| end < window.since;
        let (Some(rule), false) = (
            self.rules.get(asked.line.name()),
            self.until.is_some_and(gone) || gone(fresh_until),
        ) else {
            return Vec::new();
        };
        // A rate only counts while this version was in force: no quote used it before or after.
        let last = self.until.map_or(u64::MAX, |until| until.0.saturating_sub(1));
        let now = window.now.min(fresh_until).min(Timestamp(last));
        let since = window.since.max(self.from).min(now);
        let rates = match asked.product_rates {
            Some(own) => product_rates::within(own, since, now, self.until.is_none()),
            None => rule.rates(since, now).iter().filter_map(|r| r.parse().ok()).collect(),
        };
        let quotes = rates.into_iter().filter_map(|rate| {
            let fee = FeeRule {
                rate,
                minimum: rule.minimum.parse().ok()?,
            };
            Some(Quote {
                // Converted unrounded and rounded once, at the end.
                total: self.worth(fee.exact(asked.amount).ok()?, asked.currency)?,
                worth: self.worth(asked.amount.decimal(), asked.currency)?,
                fee,
                exchange: self.exchange(asked.currency),
            })
        });
        quotes.collect()
    }

    fn exchange(&self, currency: Currency) -> Option<ExchangeRate> {
        if currency == Currency::USD {
            return None;
        }
        self.table.rates.get(currency.as_str()).map(|rate| ExchangeRate {
            usd_per_unit: rate.clone(),
            source: self.table.source.clone(),
            as_of: self.table.as_of,
        })
    }

    fn worth(&self, amount: Decimal, currency: Currency) -> Option<Cents> {
        if currency == Currency::USD {
            return Cents::ceil_to_cent(amount).ok();
        }
        let rate: Decimal = self.table.rates.get(currency.as_str())?.parse().ok()?;
        Cents::ceil_to_cent(amount.checked_mul(rate)?).ok()
    }
}

fn rules(products: &ProductsConfig) -> FeeRules {
    let rule = |(name, product): (&'static str, &crate::config::ProductConfig)| {
        let fee = product.fee();
        let during = product.promotion_from.zip(product.promotion_until);
        let promotion = product
            .promotion_fee_rate
            .zip(during)
            .map(|(rate, (from, until))| Promotion {
                rate: rate.to_string(),
                from,
                until,
            });
        let (rate, minimum) = (fee.rate.to_string(), fee.minimum.to_string());
        let rule = FeeRuleText {
            rate,
            minimum,
            promotion,
        };
        (name.to_owned(), rule)
    };
    products.all().into_iter().map(rule).collect()
}

impl RateTableRecord {
    fn of(rates: &RateTable) -> Self {
        let text = |(currency, rate): (&String, &Decimal)| (currency.clone(), rate.normalize().to_string());
        Self {
            rates: rates.usd_per_unit.iter().map(text).collect(),
            source: rates.source.clone(),
            as_of: rates.as_of,
        }
    }
}

/// The list with these rules and rates in force at `now`, oldest first. Drops versions that no quote can use any more.
fn effective_at(
    stored: PriceVersions,
    (rules, table): (FeeRules, RateTableRecord),
    quote_life_ms: u64,
    now: Timestamp,
) -> PriceVersions {
    let PriceVersions(mut versions) = stored;
    match versions.last_mut() {
        // The same rates reported again are not new prices, but quotes use the later time.
        Some(last) if last.rules == rules && last.table.rates == table.rates => last.table = table,
        last => {
            if let Some(last) = last {
                last.until = Some(now);
            }
            versions.push(PriceVersion {
                from: now,
                until: None,
                rules,
                table,
            });
        }
    }
    versions.retain(|v| v.until.is_none_or(|until| until.plus_ms(quote_life_ms) >= now));
    PriceVersions(versions)
}

#[cfg(test)]
#[path = "prices/tests.rs"]
mod tests;
