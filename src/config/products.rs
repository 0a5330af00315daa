//! Settings of products and of their providers: prices, ranges and countries in one table, so that
//! `/get-supported-countries` and the enforced rules cannot differ.

use std::collections::BTreeMap;
use std::path::PathBuf;

use purser_actors::money::{Cents, FeeRule};
use purser_actors::port::Timestamp;
use purser_actors::product::{PriceRange, ProductLine};
use rust_decimal::Decimal;
use serde::Deserialize;

use super::text;

/// Countries as ISO 3166-1 alpha-2 codes, or no fixed list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<String>")]
pub enum CountryList {
    Listed(Vec<String>),
    /// The countries where the service is available; replaced by [`CountryList::Listed`] at load.
    Default,
    /// No fixed list.
    Unrestricted,
}

impl From<Vec<String>> for CountryList {
    fn from(codes: Vec<String>) -> Self {
        match codes.as_slice() {
            [one] if one == "default" => Self::Default,
            [one] if one == "*" => Self::Unrestricted,
            _ => Self::Listed(codes),
        }
    }
}

impl CountryList {
    fn resolve(&mut self, service: &[String]) {
        if *self == Self::Default {
            *self = Self::Listed(service.to_vec());
        }
    }

    /// The codes, or `None` without a fixed list.
    pub fn codes(&self) -> Option<&[String]> {
        match self {
            Self::Listed(codes) => Some(codes),
            Self::Default | Self::Unrestricted => None,
        }
    }

    /// Whether `code` is supported. True for every code without a fixed list.
    pub fn serves(&self, code: &str) -> bool {
        self.codes().is_none_or(|codes| codes.iter().any(|c| c == code))
    }
}

/// One product's price list entry.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductConfig {
    /// The paid route that sells it.
    pub route: String,
    /// Whether it can be bought yet.
    pub available: bool,
    /// Currencies of `amount`; empty where the product's own currency applies.
    pub currencies: Vec<String>,
    /// Smallest `amount` of a purchase.
    #[serde(deserialize_with = "text::cents")]
    pub min_amount: Cents,
    /// Largest `amount` of a purchase.
    #[serde(deserialize_with = "text::cents")]
    pub max_amount: Cents,
    /// Fraction of `amount`.
    #[serde(deserialize_with = "text::decimal")]
    pub fee_rate: Decimal,
    /// Smallest fee, in the amount's currency.
    #[serde(deserialize_with = "text::decimal")]
    pub min_fee: Decimal,
    /// A temporary fee rate between two times; none if one of the three settings is absent.
    #[serde(default, deserialize_with = "text::optional_decimal")]
    pub promotion_fee_rate: Option<Decimal>,
    /// Start of the promotion, inclusive.
    #[serde(default, deserialize_with = "text::optional_timestamp")]
    pub promotion_from: Option<Timestamp>,
    /// End of the promotion, exclusive.
    #[serde(default, deserialize_with = "text::optional_timestamp")]
    pub promotion_until: Option<Timestamp>,
    /// Pricing rules in words; empty for none.
    pub note: String,
    /// Where it can be used or paid to.
    pub countries: CountryList,
    /// Country rules in words; empty for none.
    pub country_note: String,
    /// By currency, for push to card.
    #[serde(default)]
    pub countries_by_currency: BTreeMap<String, CountryList>,
    /// By payment app, for app payments; the keys are the apps' names.
    #[serde(default)]
    pub countries_by_platform: BTreeMap<String, CountryList>,
}

impl ProductConfig {
    /// The fee on top of the amount.
    pub fn fee(&self) -> FeeRule {
        FeeRule {
            rate: self.fee_rate,
            minimum: self.min_fee,
        }
    }

    /// The range of the product's past and present prices: for multiples of `step`, at the usual fee and at a
    /// promotion's, at any time.
    pub fn prices(&self, step: Cents) -> PriceRange {
        let promotion = self.promotion_fee_rate.map(|rate| FeeRule { rate, ..self.fee() });
        PriceRange {
            min: self.min_amount,
            max: self.max_amount,
            step,
            fees: [Some(self.fee()), promotion],
        }
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &CountryList> {
        let by_key = self
            .countries_by_currency
            .values()
            .chain(self.countries_by_platform.values());
        std::iter::once(&self.countries).chain(by_key)
    }
}

/// Writes [`ProductsConfig`], with a field per product line. A row ends with the providers without which the line cannot
/// be sold.
///
/// ```ignore
/// products! { GiftCard: gift_card needs [gift_cards], }
/// // becomes
/// pub struct ProductsConfig { pub gift_card: ProductConfig }
/// // and `of`, which is `&self.gift_card` for `ProductLine::GiftCard`, `needs`, which is the provider's name and
/// // settings, and `each_mut`
/// ```
macro_rules! products {
    ($($line:ident: $name:ident needs [$($provider:ident),*],)+) => {
        /// The contract's products; every one is listed, sold or not.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(missing_docs, reason = "the names are the contract's own product identifiers")]
        pub struct ProductsConfig {
            $(pub $name: ProductConfig,)+
        }

        impl ProductsConfig {
            pub const fn of(&self, line: ProductLine) -> &ProductConfig {
                match line {
                    $(ProductLine::$line => &self.$name,)+
                }
            }

            /// The providers that the line needs, with their names in the settings.
            pub(super) fn needs(line: ProductLine, all: &RemoteProviders) -> Vec<(&'static str, &RemoteProvider)> {
                match line {
                    $(ProductLine::$line => vec![$((concat!("providers.", stringify!($provider)), &all.$provider)),*],)+
                }
            }

            fn each_mut(&mut self) -> [&mut ProductConfig; ProductLine::ALL.len()] {
                [$(&mut self.$name),+]
            }
        }
    };
}

products! {
    UsaCard: usa_prepaid_card needs [issuer],
    IntlCard: intl_prepaid_card needs [],
    GiftCard: gift_card needs [gift_cards],
    PushToCard: push_to_card needs [payouts],
    BankPayment: bank_payment needs [payouts],
    // App payments and balances at the card issuer need a verified account owner.
    AppPayment: app_payment needs [payouts, identity],
    // The bridge is built in: see [chains.bridge].
    CardBalance: card_balance needs [issuer_accounts, identity],
}

impl ProductsConfig {
    /// All, with their identifiers, in the contract's order.
    pub fn all(&self) -> [(&'static str, &ProductConfig); ProductLine::ALL.len()] {
        ProductLine::ALL.map(|line| (line.name(), self.of(line)))
    }

    pub(super) fn resolve(&mut self, service: &[String]) {
        for product in self.each_mut() {
            product.countries.resolve(service);
            product
                .countries_by_currency
                .values_mut()
                .for_each(|c| c.resolve(service));
            product
                .countries_by_platform
                .values_mut()
                .for_each(|c| c.resolve(service));
        }
    }
}

/// Writes [`RemoteProviders`]: `remote_providers! { issuer, }` is a field `issuer`, and in `all` the pair
/// `("providers.issuer", &self.issuer)`.
macro_rules! remote_providers {
    ($($name:ident,)+) => {
        /// Providers, one per port.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct RemoteProviders {
            $(pub $name: RemoteProvider,)+
        }

        impl RemoteProviders {
            /// Each with its name in the settings.
            pub const fn all(&self) -> [(&'static str, &RemoteProvider); [$(stringify!($name)),+].len()] {
                [$((concat!("providers.", stringify!($name)), &self.$name)),+]
            }
        }
    };
}

remote_providers! {
    issuer,
    gift_cards,
    payouts,
    identity,
    issuer_accounts,
    banking,
    bridge,
    rates,
    merchants,
}

impl RemoteProviders {
    /// Whether any provider is remote and so uses its own clock.
    pub fn configured(&self) -> bool {
        self.all().iter().any(|(_, outside)| !outside.url.is_empty())
    }

    /// The providers that report events.
    pub const fn event_sources(&self) -> [&RemoteProvider; 3] {
        [&self.payouts, &self.issuer_accounts, &self.banking]
    }
}

/// Address of a provider; an empty URL uses the sandbox's own, in this process.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteProvider {
    pub url: String,
    pub token_file: PathBuf,
    pub timeout_ms: u64,
}
