//! Fee rates of individual products. A rate shown to a client is valid for the lifetime of a quote, even if the product
//! has another by then, and across restarts. A rate is therefore stored before it is first shown.

use std::collections::HashMap;

use purser_actors::kernel::table;
use purser_actors::port::Timestamp;
use purser_storage::Store;
use purser_storage::codec::{self, Stored};
use rust_decimal::Decimal;

use super::{PriceBook, PriceError};

/// Prefix of the product's name in row keys.
const PREFIX: &str = "fee_rate/";
const PAGE: usize = 1_000;

/// A product's rate, and when it was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductFeeRate {
    /// Fraction of the amount.
    pub rate: Decimal,
    from: Timestamp,
    /// When it was shown last; `None` for the current one.
    until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct RateSpan {
    rate: String,
    from: Timestamp,
    until: Option<Timestamp>,
}

/// A product's rates, today's first.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct RateHistory(Vec<RateSpan>);

impl Stored for RateHistory {
    const SCHEMA: u16 = 62;
}

/// Cached rates of one product.
pub(super) struct ProductRates {
    /// Rates, today's first.
    rates: Vec<ProductFeeRate>,
    /// When today's was last shown.
    last_quoted_at: Timestamp,
}

/// All stored rates. The time when each was last shown is lost, except that it is before `now`.
pub(super) async fn read(store: &dyn Store, now: Timestamp) -> Result<HashMap<String, ProductRates>, PriceError> {
    let (prefix, mut after, mut all) = (table::meta(PREFIX), None, HashMap::new());
    loop {
        let page = store.scan(&prefix, after.as_deref(), PAGE).await?;
        for (key, row) in &page {
            let product = String::from_utf8_lossy(key.get(prefix.len()..).unwrap_or_default()).into_owned();
            let RateHistory(spans) = codec::decode(&row.value)?;
            let rate = |span: RateSpan| {
                Some(ProductFeeRate {
                    rate: span.rate.parse().ok()?,
                    from: span.from,
                    until: span.until,
                })
            };
            let rates = spans.into_iter().filter_map(rate).collect();
            all.insert(
                product,
                ProductRates {
                    rates,
                    last_quoted_at: now,
                },
            );
        }
        match page.into_iter().last() {
            Some((key, _)) => after = Some(key),
            None => return Ok(all),
        }
    }
}

/// The rates that were shown between the two times, today's first. Today's is always included if its list is in force.
pub(super) fn within(rates: &[ProductFeeRate], since: Timestamp, now: Timestamp, in_force: bool) -> Vec<Decimal> {
    let shown = |own: &&ProductFeeRate| match own.until {
        None => in_force || own.from <= now,
        Some(until) => own.from <= now && since <= until,
    };
    rates.iter().filter(shown).map(|own| own.rate).collect()
}

impl PriceBook {
    /// Records that a product's rate is shown: it is valid from now for the lifetime of a quote. Returns it with
    /// earlier rates that are still valid.
    ///
    /// # Errors
    /// When a new rate could not be stored: it must not be shown then.
    pub async fn record_quoted_rate(
        &self,
        product: &str,
        rate: Decimal,
        now: Timestamp,
    ) -> Result<Vec<ProductFeeRate>, PriceError> {
        let rate = rate.normalize();
        if let Some(rates) = self.refresh_quoted_rate(product, rate, now) {
            return Ok(rates);
        }
        let _one = self.changing.lock().await;
        // Another task may have shown it first.
        if let Some(rates) = self.refresh_quoted_rate(product, rate, now) {
            return Ok(rates);
        }
        let mut rates = {
            let own = self.product_rates.lock();
            let known = own.get(product);
            let ended = |own: &ProductFeeRate| ProductFeeRate {
                until: own.until.or(known.map(|known| known.last_quoted_at.max(own.from))),
                ..*own
            };
            known.map_or_else(Vec::new, |known| known.rates.iter().map(ended).collect())
        };
        rates.retain(|own| {
            own.until
                .is_none_or(|until| until.plus_ms(self.lifetimes.quote_ms) >= now)
        });
        rates.insert(
            0,
            ProductFeeRate {
                rate,
                from: now,
                until: None,
            },
        );
        let span = |own: &ProductFeeRate| RateSpan {
            rate: own.rate.to_string(),
            from: own.from,
            until: own.until,
        };
        let spans = RateHistory(rates.iter().map(span).collect());
        self.persist(&format!("{PREFIX}{product}"), codec::encode(&spans))
            .await?;
        let known = ProductRates {
            rates: rates.clone(),
            last_quoted_at: now,
        };
        self.product_rates.lock().insert(product.to_owned(), known);
        Ok(rates)
    }

    /// For a product whose current rate this already is.
    fn refresh_quoted_rate(&self, product: &str, rate: Decimal, now: Timestamp) -> Option<Vec<ProductFeeRate>> {
        let mut own = self.product_rates.lock();
        let known = own.get_mut(product)?;
        known.rates.first().filter(|own| own.rate == rate)?;
        known.last_quoted_at = known.last_quoted_at.max(now);
        Some(known.rates.clone())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use purser_actors::currency::Currency;
    use purser_actors::money::Cents;
    use purser_actors::product::ProductLine;
    use purser_storage::JournalStore;

    use super::super::{PriceBook, PriceQuery, QuoteLifetimes};
    use super::*;
    use crate::config::{Config, ConfigSources};

    const LIFETIMES: QuoteLifetimes = QuoteLifetimes {
        quote_ms: 300_000,
        exchange_ms: 3_600_000,
    };
    const CARD: &str = "gift_card";

    async fn open_price_book(store: &Arc<JournalStore>, now: u64) -> PriceBook {
        let config = Config::load(&ConfigSources::default()).unwrap();
        let table = config.rates.table();
        let opened = PriceBook::open(store.clone(), &config.products, &table, LIFETIMES, Timestamp(now));
        opened.await.unwrap()
    }

    fn store(directory: &std::path::Path) -> Arc<JournalStore> {
        JournalStore::open(purser_storage::StoreOptions {
            dir: directory.to_owned(),
            limits: purser_storage::StoreLimits::sandbox(),
            clock: Arc::new(|| 0),
        })
        .unwrap()
    }

    /// The price of 100 dollars by each rate that is valid when this one is shown.
    async fn totals(book: &PriceBook, rate: &str, now: u64) -> Vec<String> {
        let rates = book
            .record_quoted_rate(CARD, rate.parse().unwrap(), Timestamp(now))
            .await
            .unwrap();
        let asked = PriceQuery {
            line: ProductLine::GiftCard,
            amount: Cents::new(10_000),
            currency: Currency::USD,
            product_rates: Some(&rates),
        };
        let quotes = book.quotes(&asked, Timestamp(now));
        quotes.iter().map(|quote| quote.total.to_string()).collect()
    }

    // Checks (case 22): a product's rate is accepted for the lifetime of a quote after it was shown, and no longer.
    // That holds for any later rates and across a restart; the current rate always comes first.
    #[tokio::test]
    async fn case_22_a_rate_that_was_shown_holds_for_the_life_of_a_quote() {
        let directory = tempfile::tempdir().unwrap();
        let kept = store(directory.path());
        let first = open_price_book(&kept, 1_000).await;
        assert_eq!(totals(&first, "0.02", 1_000).await, ["102"]);
        assert_eq!(totals(&first, "0.020", 50_000).await, ["102"]);
        // Shown at 50 s for the last time, however late the change is seen.
        assert_eq!(totals(&first, "0.03", 350_000).await, ["103", "102"]);
        assert_eq!(totals(&first, "0.03", 350_001).await, ["103"]);
        assert_eq!(totals(&first, "0.01", 350_002).await, ["101", "103"]);
        assert_eq!(totals(&first, "0.03", 350_003).await, ["103", "101"]);
        kept.close();
        drop((first, kept));
        let kept = store(directory.path());
        let second = open_price_book(&kept, 400_000).await;
        assert_eq!(totals(&second, "0.04", 400_001).await, ["104", "103", "101"]);
        // When it was shown last before the restart is unknown: at its start, at the latest.
        assert_eq!(totals(&second, "0.04", 700_000).await, ["104", "103"]);
        assert_eq!(totals(&second, "0.04", 700_001).await, ["104"]);
        kept.close();
    }
}
