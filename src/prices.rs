//! Prices over time. A quote holds for its life even if the price changes meanwhile, restarts included: every version
//! of the price list is kept in the store with the time from which it held, and a payment may match any version that
//! was in force within the life of a quote.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::kernel::table;
use purser_actors::money::{Cents, FeeRule};
use purser_actors::port::Timestamp;
use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, CommitError, Store, StoreError, Write};
use rust_decimal::Decimal;
use tokio::sync::oneshot;

use crate::config::Products;

/// Fee rules by product.
type Rules = BTreeMap<String, (String, String)>;

/// One version of the list.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Version {
    from: Timestamp,
    /// `None` for the one in force.
    until: Option<Timestamp>,
    /// Rate and smallest fee as decimal text.
    rules: Rules,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Versions(Vec<Version>);

impl Stored for Versions {
    const SCHEMA: u16 = 60;
}

/// The price lists that count: today's and those of quotes still out.
#[derive(Debug)]
pub struct PriceBook {
    versions: Vec<Version>,
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
    /// Takes the settings' prices into force from now, unless they already are.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open(
        store: &Arc<dyn Store>,
        products: &Products,
        quote_life_ms: u64,
        now: Timestamp,
    ) -> Result<Self, PriceError> {
        let key = table::meta("prices");
        let stored: Versions = match store.read(&key).await? {
            Some(row) => codec::decode(&row.value)?,
            None => Versions::default(),
        };
        let rules = products.all().into_iter().map(|(name, product)| {
            let fee = product.fee();
            (name.to_owned(), (fee.rate.to_string(), fee.minimum.to_string()))
        });
        let versions = in_force(stored.clone(), rules.collect(), quote_life_ms, now);
        if versions != stored {
            let write = Write::Put { key, revision: 0, value: codec::encode(&versions) };
            let (done, committed) = oneshot::channel();
            let batch = Batch { writes: vec![write], ..Batch::default() };
            store.commit(batch, Box::new(move |result| drop(done.send(result))));
            committed.await.unwrap_or(Err(CommitError::Stopped))?;
        }
        Ok(Self { versions: versions.0, quote_life_ms })
    }

    /// What an amount costs, fee included: by the price in force first, then by those that quotes may still name.
    /// Empty for an unknown product or an amount that does not fit.
    pub fn totals(&self, product: &str, amount: Cents, now: Timestamp) -> Vec<Cents> {
        let mut totals = Vec::with_capacity(self.versions.len());
        for version in self.versions.iter().rev() {
            let honoured = version.until.is_none_or(|until| until.plus_ms(self.quote_life_ms) >= now);
            let total = version.rules.get(product).and_then(rule).and_then(|rule| rule.total(amount).ok());
            if let Some(total) = total.filter(|total| honoured && !totals.contains(total)) {
                totals.push(total);
            }
        }
        totals
    }
}

fn rule((rate, minimum): &(String, String)) -> Option<FeeRule> {
    Some(FeeRule { rate: rate.parse::<Decimal>().ok()?, minimum: minimum.parse::<Decimal>().ok()? })
}

/// The list with `rules` in force at `now`, oldest first, without versions that no quote can name any more.
fn in_force(stored: Versions, rules: Rules, quote_life_ms: u64, now: Timestamp) -> Versions {
    let Versions(mut versions) = stored;
    if versions.last().is_none_or(|last| last.rules != rules) {
        if let Some(last) = versions.last_mut() {
            last.until = Some(now);
        }
        versions.push(Version { from: now, until: None, rules });
    }
    versions.retain(|v| v.until.is_none_or(|until| until.plus_ms(quote_life_ms) >= now));
    Versions(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rate: &str) -> Rules {
        BTreeMap::from([("bank".to_owned(), (rate.to_owned(), "1.5".to_owned()))])
    }

    // Aim (case 22): a changed price is asked at once, and the old one is still taken for the life of its quotes.
    #[test]
    fn case_22_an_old_price_is_honoured_for_the_life_of_its_quotes() {
        let life = 300_000;
        let at = Timestamp;
        let first = in_force(Versions::default(), rules("0.0025"), life, at(1_000));
        let unchanged = in_force(first.clone(), rules("0.0025"), life, at(2_000));
        assert_eq!(first, unchanged);
        let changed = in_force(first, rules("0.01"), life, at(10_000));
        let book = PriceBook { versions: changed.0.clone(), quote_life_ms: life };
        let amount = Cents::new(200_000);
        assert_eq!(book.totals("bank", amount, at(10_000)), [Cents::new(202_000), Cents::new(200_500)]);
        assert_eq!(book.totals("bank", amount, at(310_000)), [Cents::new(202_000), Cents::new(200_500)]);
        assert_eq!(book.totals("bank", amount, at(310_001)), [Cents::new(202_000)]);
        assert_eq!(book.totals("other", amount, at(310_001)), []);
        assert_eq!(in_force(changed, rules("0.01"), life, at(310_001)).0.len(), 1);
    }
}
