//! Prices over time. A quote holds for its life even if a price or an exchange rate changes meanwhile, restarts included:
//! every version of the list is kept in the store with the time from which it held, and a payment may match any version
//! that was in force within the life of a quote.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use purser_actors::kernel::table;
use purser_actors::money::{Cents, FeeRule};
use purser_actors::port::Timestamp;
use purser_actors::product::{Currency, Line};
use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, CommitError, Store, StoreError, Write};
use rust_decimal::Decimal;
use tokio::sync::{Mutex, oneshot};

use crate::config::Products;

/// US dollars of one unit of each currency but the dollar itself.
pub type UsdPerUnit = BTreeMap<String, Decimal>;

/// A product's fee rule as decimal text.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Rule {
    rate: String,
    minimum: String,
    promotion: Option<Offer>,
}

/// Another rate for a while.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Offer {
    rate: String,
    from: Timestamp,
    until: Timestamp,
}

impl Rule {
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
type Rules = BTreeMap<String, Rule>;

/// One version of the list.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Version {
    from: Timestamp,
    /// `None` for the one in force.
    until: Option<Timestamp>,
    rules: Rules,
    /// [`UsdPerUnit`] as decimal text.
    rates: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Versions(Vec<Version>);

impl Stored for Versions {
    const SCHEMA: u16 = 61;
}

/// What is asked for, to be priced.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Of which product line.
    pub line: Line,
    /// How much, fees apart.
    pub amount: Cents,
    /// In which currency.
    pub currency: Currency,
    /// The product's own rate, where a line has products with rates of their own.
    pub fee_rate: Option<Decimal>,
}

/// A price, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Fees included.
    pub total: Cents,
    /// Fees apart.
    pub worth: Cents,
}

/// The price lists that count: today's and those of quotes still out.
pub struct PriceBook {
    store: Arc<dyn Store>,
    versions: RwLock<Arc<Vec<Version>>>,
    /// One change at a time.
    changing: Mutex<()>,
    quote_life_ms: u64,
}

/// The price list cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored is damaged.
    #[error("the stored price list is damaged: {0}")]
    Damaged(#[from] codec::DecodeError),
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
        products: &Products,
        rates: &UsdPerUnit,
        quote_life_ms: u64,
        now: Timestamp,
    ) -> Result<Self, PriceError> {
        let stored: Versions = match store.read(&table::meta("prices")).await? {
            Some(row) => codec::decode(&row.value)?,
            None => Versions::default(),
        };
        let book = Self {
            store,
            versions: RwLock::new(Arc::new(stored.0)),
            changing: Mutex::default(),
            quote_life_ms,
        };
        book.change(rules(products), as_text(rates), now).await?;
        Ok(book)
    }

    /// Takes new exchange rates into force from now. Quotes that are out keep theirs.
    ///
    /// # Errors
    /// When the store fails: the rates of before stay in force.
    pub async fn exchange(&self, rates: &UsdPerUnit, now: Timestamp) -> Result<(), PriceError> {
        let rules = self.versions.read().last().map(|v| v.rules.clone()).unwrap_or_default();
        self.change(rules, as_text(rates), now).await
    }

    async fn change(&self, rules: Rules, rates: BTreeMap<String, String>, now: Timestamp) -> Result<(), PriceError> {
        let _one = self.changing.lock().await;
        let stored = Versions(self.versions.read().to_vec());
        let versions = in_force(stored.clone(), (rules, rates), self.quote_life_ms, now);
        if versions != stored {
            let write = Write::Put {
                key: table::meta("prices"),
                revision: 0,
                value: codec::encode(&versions),
            };
            let (done, committed) = oneshot::channel();
            let batch = Batch {
                writes: vec![write],
                ..Batch::default()
            };
            self.store
                .commit(batch, Box::new(move |result| drop(done.send(result))));
            committed.await.unwrap_or(Err(CommitError::Stopped))?;
        }
        // Durable first: a quote that a crash forgot would be refused after it was paid.
        *self.versions.write() = Arc::new(versions.0);
        Ok(())
    }

    /// The prices of what is asked: the one in force first, then those that quotes may still name. Empty for an amount
    /// that does not fit, or a currency without a rate.
    pub fn quotes(&self, asked: &Asked, now: Timestamp) -> Vec<Quote> {
        let versions = self.versions.read().clone();
        honoured(&versions, asked, self.quote_life_ms, now)
    }

    /// The fee rate of a line in force now, promotions included.
    pub fn fee_rate(&self, line: Line, now: Timestamp) -> Option<Decimal> {
        let versions = self.versions.read();
        let rule = versions.last()?.rules.get(line.name())?;
        rule.rates(now, now).first()?.parse().ok()
    }

    /// What an amount is worth in US dollars now, rounded up to the cent.
    pub fn worth(&self, amount: Cents, currency: Currency) -> Option<Cents> {
        self.versions.read().last()?.worth(amount.decimal(), currency)
    }
}

/// Every price that was in force within the life of a quote, each once, the latest first.
fn honoured(versions: &[Version], asked: &Asked, quote_life_ms: u64, now: Timestamp) -> Vec<Quote> {
    let since = Timestamp(now.0.saturating_sub(quote_life_ms));
    let mut quotes = Vec::with_capacity(versions.len());
    let alive = versions
        .iter()
        .rev()
        .filter(|v| v.until.is_none_or(|until| until >= since));
    for quote in alive.flat_map(|version| version.quotes(asked, since, now)) {
        if !quotes.iter().any(|known: &Quote| known.total == quote.total) {
            quotes.push(quote);
        }
    }
    quotes
}

impl Version {
    fn quotes(&self, asked: &Asked, since: Timestamp, now: Timestamp) -> Vec<Quote> {
        let Some(rule) = self.rules.get(asked.line.name()) else {
            return Vec::new();
        };
        // A promotion counts only while this version was in force: what it would have been before or after, nobody quoted.
        let now = self
            .until
            .map_or(now, |until| now.min(Timestamp(until.0.saturating_sub(1))));
        let since = since.max(self.from).min(now);
        let own = asked.fee_rate.map(|rate| vec![rate]);
        let rates = own.unwrap_or_else(|| rule.rates(since, now).iter().filter_map(|r| r.parse().ok()).collect());
        let quotes = rates.into_iter().filter_map(|rate| {
            let fee = FeeRule {
                rate,
                minimum: rule.minimum.parse().ok()?,
            };
            Some(Quote {
                // Converted as it stands and rounded once, at the end.
                total: self.worth(fee.exact(asked.amount).ok()?, asked.currency)?,
                worth: self.worth(asked.amount.decimal(), asked.currency)?,
            })
        });
        quotes.collect()
    }

    fn worth(&self, amount: Decimal, currency: Currency) -> Option<Cents> {
        if currency == Currency::USD {
            return Cents::ceil_to_cent(amount).ok();
        }
        let rate: Decimal = self.rates.get(currency.as_str())?.parse().ok()?;
        Cents::ceil_to_cent(amount.checked_mul(rate)?).ok()
    }
}

fn rules(products: &Products) -> Rules {
    let rule = |(name, product): (&'static str, &crate::config::Product)| {
        let fee = product.fee();
        let during = product.promotion_from.zip(product.promotion_until);
        let promotion = product.promotion_rate.zip(during).map(|(rate, (from, until))| Offer {
            rate: rate.to_string(),
            from,
            until,
        });
        let (rate, minimum) = (fee.rate.to_string(), fee.minimum.to_string());
        let rule = Rule {
            rate,
            minimum,
            promotion,
        };
        (name.to_owned(), rule)
    };
    products.all().into_iter().map(rule).collect()
}

fn as_text(rates: &UsdPerUnit) -> BTreeMap<String, String> {
    let text = |(currency, rate): (&String, &Decimal)| (currency.clone(), rate.normalize().to_string());
    rates.iter().map(text).collect()
}

/// The list with these rules and rates in force at `now`, oldest first, without versions that no quote can name any more.
fn in_force(
    stored: Versions,
    (rules, rates): (Rules, BTreeMap<String, String>),
    quote_life_ms: u64,
    now: Timestamp,
) -> Versions {
    let Versions(mut versions) = stored;
    if versions
        .last()
        .is_none_or(|last| last.rules != rules || last.rates != rates)
    {
        if let Some(last) = versions.last_mut() {
            last.until = Some(now);
        }
        versions.push(Version {
            from: now,
            until: None,
            rules,
            rates,
        });
    }
    versions.retain(|v| v.until.is_none_or(|until| until.plus_ms(quote_life_ms) >= now));
    Versions(versions)
}

#[cfg(test)]
#[path = "prices/tests.rs"]
mod tests;
