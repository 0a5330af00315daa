//! Prices over time. A quote holds for its life even if a price or an exchange rate changes meanwhile, restarts included:
//! every version of the list is kept in the store with the time from which it held, and a payment may match any version
//! that was in force within the life of a quote.

mod product_rates;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use purser_actors::kernel::table;
use purser_actors::money::{Cents, FeeRule};
use purser_actors::port::Timestamp;
use purser_actors::product::{Currency, ProductLine};
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

/// Another rate for a while.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Promotion {
    rate: String,
    from: Timestamp,
    until: Timestamp,
}

impl FeeRuleText {
    /// The rates that were in force at any time from `since` to `now`, the latest first.
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

/// Fee rules by product.
type FeeRules = BTreeMap<String, FeeRuleText>;

/// What a unit of each currency costs, and who says so since when.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct RateTableRecord {
    /// US dollars as decimal text.
    rates: BTreeMap<String, String>,
    source: String,
    as_of: Timestamp,
}

/// One version of the list.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct PriceVersion {
    from: Timestamp,
    /// `None` for the one in force.
    until: Option<Timestamp>,
    rules: FeeRules,
    table: RateTableRecord,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct PriceVersions(Vec<PriceVersion>);

impl Stored for PriceVersions {
    const SCHEMA: u16 = 61;
}

/// What is asked for, to be priced.
#[derive(Clone, Copy, Debug)]
pub struct PriceQuery<'a> {
    /// Of which product line.
    pub line: ProductLine,
    /// How much, fees apart.
    pub amount: Cents,
    /// In which currency.
    pub currency: Currency,
    /// The product's own rates, where a line has products with rates of their own: today's first.
    pub product_rates: Option<&'a [ProductFeeRate]>,
}

/// A price, in US dollars, and what it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Fees included.
    pub total: Cents,
    /// Fees apart.
    pub worth: Cents,
    /// What comes on top.
    pub fee: FeeRule,
    /// How the amount was converted; `None` for US dollars.
    pub exchange: Option<ExchangeRate>,
}

impl Quote {
    /// What is kept with the product.
    pub fn facts(&self) -> QuoteFacts {
        QuoteFacts {
            fee_rate: self.fee.rate.normalize().to_string(),
            min_fee: self.fee.minimum.normalize().to_string(),
            exchange: self.exchange.clone(),
        }
    }
}

/// How long things hold, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct QuoteLifetimes {
    /// A quote.
    pub quote_ms: u64,
    /// An exchange rate that its source no longer tells.
    pub exchange_ms: u64,
}

/// The price lists that count: today's and those of quotes still out.
pub struct PriceBook {
    store: Arc<dyn Store>,
    versions: RwLock<Arc<Vec<PriceVersion>>>,
    /// One change at a time.
    changing: Mutex<()>,
    /// Products' own rates, by product.
    product_rates: parking_lot::Mutex<HashMap<String, product_rates::ProductRates>>,
    /// When the source of exchange rates last told them.
    rates_updated_at: AtomicU64,
    lifetimes: QuoteLifetimes,
}

/// The price list cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored is damaged.
    #[error("the stored price list is damaged: {0}")]
    Corrupt(#[from] codec::DecodeError),
    /// The new list could not be stored.
    #[error("the price list could not be stored: {0}")]
    Commit(#[from] CommitError),
}

impl PriceBook {
    /// Takes the settings' prices and these exchange rates into force from now, unless they already are.
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

    /// Takes the exchange rates that the source told now into force. Quotes that are out keep theirs.
    ///
    /// # Errors
    /// When the store fails: the rates of before stay in force.
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
        // Durable first: a quote that a crash forgot would be refused after it was paid.
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

    /// The prices of what is asked: the one in force first, then those that quotes may still name. Empty for an amount
    /// that does not fit, or a currency without a rate that quotes could name.
    pub fn quotes(&self, asked: &PriceQuery<'_>, now: Timestamp) -> Vec<Quote> {
        let versions = self.versions.read().clone();
        let window = QuoteWindow {
            since: Timestamp(now.0.saturating_sub(self.lifetimes.quote_ms)),
            now,
            fresh_until: self.fresh_until(),
        };
        still_honoured(&versions, asked, &window)
    }

    /// Whether what costs that currency is sold now: in dollars always, in others while their rates are not too old.
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

    /// What an amount is worth in US dollars now, rounded up to the cent.
    pub fn usd_value(&self, amount: Cents, currency: Currency) -> Option<Cents> {
        self.versions.read().last()?.worth(amount.decimal(), currency)
    }
}

/// The time in which a quote was made that still holds.
struct QuoteWindow {
    since: Timestamp,
    now: Timestamp,
    /// The last moment of the exchange rates in force.
    fresh_until: Timestamp,
}

/// Every price that was in force within the life of a quote, each once, the latest first.
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
        // A rate counts only while this version was in force: what it would have been before or after, nobody quoted.
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
                // Converted as it stands and rounded once, at the end.
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
    fn of(told: &RateTable) -> Self {
        let text = |(currency, rate): (&String, &Decimal)| (currency.clone(), rate.normalize().to_string());
        Self {
            rates: told.usd_per_unit.iter().map(text).collect(),
            source: told.source.clone(),
            as_of: told.as_of,
        }
    }
}

/// The list with these rules and rates in force at `now`, oldest first, without versions that no quote can name any more.
fn effective_at(
    stored: PriceVersions,
    (rules, table): (FeeRules, RateTableRecord),
    quote_life_ms: u64,
    now: Timestamp,
) -> PriceVersions {
    let PriceVersions(mut versions) = stored;
    match versions.last_mut() {
        // The same rates told again are no new prices, though quotes name the later time.
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
