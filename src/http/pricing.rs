//! `GET /get-pricing` and `GET /get-supported-countries`, generated from the product table that the paid routes
//! enforce. Prices use the current fee rates.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use purser_actors::answer::ExactDecimal;
use purser_actors::product::ProductLine;
use rust_decimal::Decimal;
use serde::Serialize;

use super::json;
use super::route::routes;
use crate::config::{Config, CountryList, ProductConfig};

const FEE_NOTE: &str = "Fees are added on top of amount. The recipient or card receives the full amount. The caller pays \
    amount + max(amount x fee_rate, min_fee), rounded up to the cent, in USDC.";

const COUNTRY_NOTE: &str = "Codes are ISO 3166-1 alpha-2. A request for a country that a product does not serve is refused \
    before anything is charged.";

/// Fee schedule of all paid products.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PricingResponse<'a> {
    /// How fees are applied.
    note: &'a str,
    /// One entry per paid product.
    products: Vec<ProductPrice<'a>>,
}

/// Price of a product.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ProductPrice<'a> {
    /// Identifier of the product.
    product: &'a str,
    /// Paid route that sells it.
    route: &'a str,
    /// Currencies of `amount`; null if the amount is in the product's own currency.
    amount_currencies: Option<&'a [String]>,
    /// Smallest accepted `amount`.
    #[cfg_attr(feature = "documents", schema(value_type = f64))]
    min_amount: ExactDecimal,
    /// Largest accepted `amount`.
    #[cfg_attr(feature = "documents", schema(value_type = f64))]
    max_amount: ExactDecimal,
    /// Fraction of `amount` (0.0025 means 0.25%).
    #[cfg_attr(feature = "documents", schema(value_type = f64))]
    fee_rate: ExactDecimal,
    /// Smallest fee, in the amount's currency.
    #[cfg_attr(feature = "documents", schema(value_type = f64))]
    min_fee: ExactDecimal,
    /// Pricing rules of the product.
    note: Option<&'a str>,
    /// Whether the product is available now.
    available: bool,
}

/// Countries of all products.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SupportedCountriesResponse<'a> {
    /// How to read this table.
    note: &'a str,
    /// One entry per product.
    products: Vec<ProductCountries<'a>>,
}

/// Countries of one product.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ProductCountries<'a> {
    /// Identifier of the product.
    product: &'a str,
    /// Paid route that sells it.
    route: &'a str,
    /// ISO 3166-1 alpha-2 codes; null without a fixed list.
    countries: Option<Vec<&'a str>>,
    /// Countries by currency, for push to card.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    countries_by_currency: BTreeMap<&'a str, Option<&'a [String]>>,
    /// Countries by payment app, for app payments.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    countries_by_platform: BTreeMap<&'a str, Option<&'a [String]>>,
    /// Usage note for the product.
    note: Option<&'a str>,
    /// Whether the product is available.
    available: bool,
}

/// Current fee rate of a product line, if known.
pub type FeeRateLookup = Arc<dyn Fn(ProductLine) -> Option<Decimal> + Send + Sync>;

/// Whether a product line is available now.
pub type Sold = Arc<dyn Fn(ProductLine) -> bool + Send + Sync>;

/// The prices of this service, as they are now.
#[derive(Clone)]
pub struct PriceList {
    config: Arc<Config>,
    rates: FeeRateLookup,
    sold: Sold,
}

/// A product with its current price.
pub(super) struct PricedProduct<'a> {
    pub(super) line: ProductLine,
    pub(super) product: &'a ProductConfig,
    pub(super) fee_rate: Decimal,
    pub(super) available: bool,
}

impl PriceList {
    pub fn new(config: Arc<Config>, rates: FeeRateLookup, sold: Sold) -> Self {
        Self { config, rates, sold }
    }

    /// All paid products, in the contract's order.
    pub(super) fn products(&self) -> impl Iterator<Item = PricedProduct<'_>> {
        let products = ProductLine::ALL.map(|line| (line, self.config.products.of(line)));
        products.into_iter().map(|(line, product)| PricedProduct {
            line,
            product,
            fee_rate: (self.rates)(line).unwrap_or(product.fee_rate).normalize(),
            available: product.available && (self.sold)(line),
        })
    }
}

#[derive(Clone)]
pub(super) struct PricingPages {
    prices: PriceList,
    countries: Bytes,
}

routes! { pub(super) static ROUTES: PricingPages, openapi;
    GET "/get-pricing" => get_pricing { Public }
    GET "/get-supported-countries" => get_supported_countries { Public }
}

/// # Errors
/// Never for loaded settings: the tables are text and decimals.
pub fn router(prices: PriceList) -> Result<Router, serde_json::Error> {
    let pages = PricingPages {
        countries: serde_json::to_vec(&supported(&prices.config))?.into(),
        prices,
    };
    Ok(ROUTES.router(pages))
}

/// Read the fee schedule
///
/// The price of every paid product. Free; needs no authentication.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-pricing", operation_id = "getPricing", tag = "Catalog",
    responses((status = 200, description = "The fee schedule.", body = inline(PricingResponse<'static>)))))]
async fn get_pricing(State(pages): State<PricingPages>) -> Response {
    json::ok(&pricing(&pages))
}

/// Read the supported countries
///
/// The countries of every product. Free; needs no authentication.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-supported-countries", operation_id = "getSupportedCountries", tag = "Catalog",
    responses((status = 200, description = "Countries by product.", body = inline(SupportedCountriesResponse<'static>)))))]
async fn get_supported_countries(State(pages): State<PricingPages>) -> Response {
    json::bytes_as_json(pages.countries)
}

fn amount_note(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn pricing(pages: &PricingPages) -> PricingResponse<'_> {
    let products = pages.prices.products().map(|priced| ProductPrice {
        product: priced.line.name(),
        route: &priced.product.route,
        amount_currencies: (!priced.product.currencies.is_empty()).then_some(priced.product.currencies.as_slice()),
        min_amount: priced.product.min_amount.into(),
        max_amount: priced.product.max_amount.into(),
        fee_rate: priced.fee_rate.into(),
        min_fee: priced.product.min_fee.normalize().into(),
        note: amount_note(&priced.product.note),
        available: priced.available,
    });
    PricingResponse {
        note: FEE_NOTE,
        products: products.collect(),
    }
}

fn supported(config: &Config) -> SupportedCountriesResponse<'_> {
    let products = config
        .products
        .all()
        .into_iter()
        .map(|(name, product)| ProductCountries {
            product: name,
            route: &product.route,
            countries: everywhere(product),
            countries_by_currency: by_key(&product.countries_by_currency),
            countries_by_platform: by_key(&product.countries_by_platform),
            note: amount_note(&product.country_note),
            available: product.available,
        });
    SupportedCountriesResponse {
        note: COUNTRY_NOTE,
        products: products.collect(),
    }
}

/// The product's countries, or the union over its currencies or apps.
fn everywhere(product: &ProductConfig) -> Option<Vec<&str>> {
    let parts = product
        .countries_by_currency
        .values()
        .chain(product.countries_by_platform.values());
    let mut all: Vec<&str> = Vec::new();
    for table in std::iter::once(&product.countries).chain(parts) {
        all.extend(table.codes()?.iter().map(String::as_str));
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

fn by_key(tables: &BTreeMap<String, CountryList>) -> BTreeMap<&str, Option<&[String]>> {
    tables
        .iter()
        .map(|(key, countries)| (key.as_str(), countries.codes()))
        .collect()
}
