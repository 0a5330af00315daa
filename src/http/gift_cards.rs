//! `GET /search-gift-cards`: gift cards that can be ordered, with current prices and stock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::answer::ExactDecimal;
use purser_actors::port::{ErrorKind, PortError};
use rust_decimal::Decimal;
use serde::Serialize;

use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::merchants::{MAX_QUERY_LEN, directory_unavailable};
use super::query::Query;
use super::route::routes;
use crate::provider::gift_cards::{Denominations, GiftCardFacets, GiftCardProduct, GiftCardQuery, Redeemability};

const PARAMETERS: [&str; 6] = ["q", "country", "currency", "category", "limit", "starting_after"];

impl App {
    /// Timeout of catalog requests.
    pub(super) fn catalog_timeout(&self) -> Duration {
        Duration::from_millis(self.config.engine.settlement_timeout_ms)
    }
}

/// Awaits a catalog response within the timeout.
///
/// # Errors
/// 503 if the catalog fails or times out.
pub(super) async fn provider_error<T>(
    patience: Duration,
    asked: impl Future<Output = Result<T, PortError>>,
) -> Result<T, ApiError> {
    with_timeout(patience, asked)
        .await
        .map_err(|error| directory_unavailable(&error))
}

/// Awaits a catalog response within the timeout.
pub(super) async fn with_timeout<T>(
    patience: Duration,
    asked: impl Future<Output = Result<T, PortError>>,
) -> Result<T, PortError> {
    let late = |_| PortError {
        kind: ErrorKind::Temporary,
        operation: "gift_cards",
        message: "no answer in time".into(),
    };
    tokio::time::timeout(patience, asked).await.map_err(late)?
}

/// Fee rate of a product, between 0 and the published maximum.
pub(super) fn fee_for(product: &GiftCardProduct, most: Decimal) -> Decimal {
    product.fee_rate.clamp(Decimal::ZERO, most.max(Decimal::ZERO))
}

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/search-gift-cards" => search_gift_cards {
        Public, refuses [ParameterUnrecognized, ParameterInvalid, CatalogUnavailable, ProductNotFound]
    }
}

/// Gift cards that match a search.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct GiftCardSearchResponse {
    /// Best match first.
    gift_cards: Vec<GiftCardOffer>,
    /// Total number of matching gift cards.
    count: usize,
    /// Whether more gift cards follow.
    has_more: bool,
    /// Filters of this search.
    filters: AppliedFilters,
    /// Values of each filter, given the other filters.
    facets: SearchFacets,
}

/// A gift card with its current price and stock.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct GiftCardOffer {
    /// Id for `/order-gift-card` and `starting_after`.
    product_id: String,
    /// Name of the gift card.
    name: String,
    /// Brand that redeems it.
    brand: String,
    /// Category of the brand.
    category: String,
    /// Whether it can be redeemed in every country.
    borderless: bool,
    /// Countries where it can be redeemed (ISO 3166-1 alpha-2); null when borderless.
    countries: Option<Vec<String>>,
    /// Currency of all amounts of the gift card (ISO 4217).
    currency: String,
    /// Exactly these amounts; null if any amount of the range can be ordered.
    amounts: Option<Vec<ExactDecimal>>,
    /// Smallest amount that can be ordered.
    min_amount: ExactDecimal,
    /// Largest amount that can be ordered.
    max_amount: ExactDecimal,
    /// Amounts of a range go up from the smallest in these steps; null for a list.
    amount_step: Option<ExactDecimal>,
    /// Fee as a fraction of the amount.
    fee_rate: ExactDecimal,
    /// Whether it can be ordered now.
    in_stock: bool,
    /// Description of the product.
    description: String,
    /// Terms of the brand.
    terms: String,
}

/// Filters of a search; null for filters that were not given.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AppliedFilters {
    /// Text of the search.
    q: Option<String>,
    /// Country (ISO 3166-1 alpha-2).
    country: Option<String>,
    /// Currency (ISO 4217).
    currency: Option<String>,
    /// Category of brands.
    category: Option<String>,
}

/// Values of each filter with the number of matches.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SearchFacets {
    /// Countries where gift cards are redeemed.
    countries: Vec<FacetValue>,
    /// Currencies of gift cards.
    currencies: Vec<FacetValue>,
    /// Categories of brands.
    categories: Vec<FacetValue>,
}

/// A value of a filter.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct FacetValue {
    /// Value for the parameter of that name.
    value: String,
    /// Number of gift cards with this value.
    count: usize,
}

impl GiftCardOffer {
    fn of(product: GiftCardProduct, most: Decimal) -> Self {
        let fee_rate = fee_for(&product, most);
        let (least, most) = product.values.ends();
        let (amounts, step) = match product.values {
            Denominations::Fixed { amounts } => (Some(amounts.into_iter().map(ExactDecimal::from).collect()), None),
            Denominations::Range { step, .. } => (None, Some(step.into())),
        };
        let countries = match product.redeemability {
            Redeemability::Worldwide => None,
            Redeemability::Countries(codes) => Some(codes),
        };
        Self {
            product_id: product.product_id,
            name: product.name,
            brand: product.brand,
            category: product.category,
            borderless: countries.is_none(),
            countries,
            currency: product.currency,
            amounts,
            min_amount: least.into(),
            max_amount: most.into(),
            amount_step: step,
            fee_rate: fee_rate.normalize().into(),
            in_stock: product.in_stock,
            description: product.description,
            terms: product.terms,
        }
    }
}

impl From<GiftCardFacets> for SearchFacets {
    fn from(facets: GiftCardFacets) -> Self {
        let choices = |counted: BTreeMap<String, usize>| {
            let choices = counted.into_iter().map(|(value, count)| FacetValue { value, count });
            choices.collect()
        };
        Self {
            countries: choices(facets.countries),
            currencies: choices(facets.currencies),
            categories: choices(facets.categories),
        }
    }
}

/// Search gift cards
///
/// Finds gift cards by any word of product, brand or category, or the beginning of one. Accents and small typos are
/// ignored. Filters narrow by country, currency and category. Borderless gift cards match every country. Prices and
/// stock are current. Free; needs no authentication.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/search-gift-cards", operation_id = "searchGiftCards", tag = "Catalog",
    params(("q" = Option<String>, Query, description = "Words of a product, brand or category, at most 100 characters."),
        ("country" = Option<String>, Query, description = "ISO 3166-1 alpha-2, in capitals; one that gift cards are sold in."),
        ("currency" = Option<String>, Query, description = "ISO 4217, in capitals."),
        ("category" = Option<String>, Query, description = "One of the facet's values."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `product_id` of the page before.")),
    responses((status = 200, description = "A page of gift cards with facets.", body = GiftCardSearchResponse),
        (status = 400, description = "A malformed parameter, or a country in which gift cards are not sold."),
        (status = 404, description = "`product_not_found`: `starting_after` is not in this list."),
        (status = 503, description = "`catalog_unavailable`: the catalog does not answer."))))]
async fn search_gift_cards(State(state): State<Arc<App>>, RawQuery(raw): RawQuery) -> Result<Response, ApiError> {
    let query = Query::parse(raw.as_deref(), &PARAMETERS)?;
    let country = query.code("country", 2, "ISO 3166-1 alpha-2")?;
    if country.is_some_and(|code| !state.config.products.gift_card.countries.serves(code)) {
        let error = ApiError::parameter(
            ErrorCode::ParameterInvalid,
            "country",
            "Gift cards are not sold in that country.",
        );
        return Err(error.hint("GET /get-supported-countries lists where they are."));
    }
    let currency = query.code("currency", 3, "ISO 4217")?;
    let category = query.text("category", MAX_QUERY_LEN)?;
    let limit = query.number("limit", 20, 1, 100)?;
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let request = GiftCardQuery {
        q: owned(query.text("q", MAX_QUERY_LEN)?),
        country: owned(country),
        currency: owned(currency),
        category: owned(category),
        starting_after: owned(query.get("starting_after")),
        limit: usize::try_from(limit).unwrap_or(20),
    };
    let page = provider_error(state.catalog_timeout(), state.providers.gift_cards.search(&request)).await?;
    let page =
        page.ok_or_else(|| ApiError::new(ErrorCode::ProductNotFound, "There is no such gift card in this list."))?;
    Ok(json::ok(&GiftCardSearchResponse {
        gift_cards: page
            .products
            .into_iter()
            .map(|product| GiftCardOffer::of(product, state.config.products.gift_card.fee_rate))
            .collect(),
        count: page.count,
        has_more: page.has_more,
        filters: AppliedFilters {
            q: request.q,
            country: request.country,
            currency: request.currency,
            category: request.category,
        },
        facets: page.facets.into(),
    }))
}
