//! `GET /search-gift-cards`: what could be ordered, as it is offered now.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::routing::get;
use purser_actors::port::{ErrorKind, PortError};
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use super::error::ApiError;
use super::json::{self, ExactNumber};
use super::merchants::{MAX_QUERY_LEN, directory_unavailable};
use super::query::Query;
use super::schemas::ExactDecimal;
use crate::config::CountryList;
use crate::provider::gift_cards::{
    Denominations, GiftCardApi, GiftCardFacets, GiftCardProduct, GiftCardQuery, Redeemability,
};

const PARAMETERS: [&str; 6] = ["q", "country", "currency", "category", "limit", "starting_after"];

/// What the route needs.
pub struct GiftCardSearchState {
    /// Who offers them.
    pub catalog: Arc<dyn GiftCardApi>,
    /// Where gift cards are sold at all.
    pub countries: CountryList,
    /// The most that comes on top, whatever the catalog says.
    pub max_fee_rate: Decimal,
    /// How long the catalog may take.
    pub catalog_timeout: Duration,
}

/// What the catalog says of a product, if it says so in time.
///
/// # Errors
/// 503 when it does not.
pub(super) async fn provider_error<T>(
    patience: Duration,
    asked: impl Future<Output = Result<T, PortError>>,
) -> Result<T, ApiError> {
    with_timeout(patience, asked)
        .await
        .map_err(|error| directory_unavailable(&error))
}

/// What a catalog answers, if it does in time.
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

/// What comes on top of a product: ours, and so never below nothing nor above what we publish.
pub(super) fn fee_for(product: &GiftCardProduct, most: Decimal) -> Decimal {
    product.fee_rate.clamp(Decimal::ZERO, most.max(Decimal::ZERO))
}

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(search_gift_cards))]
pub struct ApiDoc;

/// The route.
pub fn router(state: Arc<GiftCardSearchState>) -> Router {
    Router::new()
        .route("/search-gift-cards", get(search_gift_cards))
        .with_state(state)
}

/// What was found.
#[derive(Serialize, ToSchema)]
struct GiftCardSearchResponse {
    /// Best match first.
    gift_cards: Vec<GiftCardOffer>,
    /// Gift cards found in all.
    count: usize,
    /// Whether more follow.
    has_more: bool,
    /// What was looked for.
    filters: AppliedFilters,
    /// What each choice of a filter would leave, the other filters being as they are.
    facets: SearchFacets,
}

/// A gift card as it is offered now.
#[derive(Serialize, ToSchema)]
struct GiftCardOffer {
    /// For `/order-gift-card`, and for `starting_after`.
    product_id: String,
    /// For people.
    name: String,
    /// Who redeems it.
    brand: String,
    /// What the brand sells.
    category: String,
    /// Whether it can be redeemed in every country.
    borderless: bool,
    /// Where it can be redeemed, ISO 3166-1 alpha-2; null when borderless.
    countries: Option<Vec<String>>,
    /// ISO 4217, of every amount here.
    currency: String,
    /// Exactly these amounts; null where any within the range will do.
    #[schema(value_type = Option<Vec<ExactDecimal>>)]
    amounts: Option<Vec<ExactNumber>>,
    /// Smallest amount.
    #[schema(value_type = ExactDecimal)]
    min_amount: ExactNumber,
    /// Largest amount.
    #[schema(value_type = ExactDecimal)]
    max_amount: ExactNumber,
    /// Amounts of a range go up from the smallest in these steps; null for a list.
    #[schema(value_type = Option<ExactDecimal>)]
    amount_step: Option<ExactNumber>,
    /// Fraction of the amount that comes on top.
    #[schema(value_type = ExactDecimal)]
    fee_rate: ExactNumber,
    /// Whether an order now would find one.
    in_stock: bool,
    /// What it is good for.
    description: String,
    /// The brand's rules.
    terms: String,
}

/// What was looked for; null where nothing was said.
#[derive(Serialize, ToSchema)]
struct AppliedFilters {
    /// As it was asked.
    q: Option<String>,
    /// ISO 3166-1 alpha-2.
    country: Option<String>,
    /// ISO 4217.
    currency: Option<String>,
    /// As it was asked.
    category: Option<String>,
}

/// Choices with what they would leave.
#[derive(Serialize, ToSchema)]
struct SearchFacets {
    /// Where gift cards are redeemed.
    countries: Vec<FacetValue>,
    /// In which they are issued.
    currencies: Vec<FacetValue>,
    /// What their brands sell.
    categories: Vec<FacetValue>,
}

/// A value of a filter.
#[derive(Serialize, ToSchema)]
struct FacetValue {
    /// For the parameter of that name.
    value: String,
    /// Gift cards it would leave.
    count: usize,
}

impl GiftCardOffer {
    fn of(product: GiftCardProduct, most: Decimal) -> Self {
        let fee_rate = fee_for(&product, most);
        let (least, most) = product.values.ends();
        let (amounts, step) = match product.values {
            Denominations::Fixed(amounts) => (Some(amounts.into_iter().map(ExactNumber::from).collect()), None),
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
            fee_rate: ExactNumber(fee_rate),
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

/// Gift cards that can be ordered
///
/// Finds gift cards by any word of product, brand or category, or the beginning of one, accents and small slips aside, and
/// narrows them by country, currency and category. Those without borders are in every country. Prices and stock are those of this moment. Free; needs no authentication.
#[utoipa::path(get, path = "/search-gift-cards", tag = "Free",
    params(("q" = Option<String>, Query, description = "Words of a product, brand or category, at most 100 characters."),
        ("country" = Option<String>, Query, description = "ISO 3166-1 alpha-2, in capitals; one that gift cards are sold in."),
        ("currency" = Option<String>, Query, description = "ISO 4217, in capitals."),
        ("category" = Option<String>, Query, description = "One of the facet's values."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `product_id` of the page before.")),
    responses((status = 200, description = "A page of gift cards with facets.", body = GiftCardSearchResponse),
        (status = 400, description = "A malformed parameter, or a country in which gift cards are not sold."),
        (status = 404, description = "`product_not_found`: `starting_after` is not in this list."),
        (status = 503, description = "`catalog_unavailable`: the catalog does not answer.")))]
async fn search_gift_cards(
    State(state): State<Arc<GiftCardSearchState>>,
    RawQuery(raw): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(raw.as_deref(), &PARAMETERS)?;
    let country = query.code("country", 2, "ISO 3166-1 alpha-2")?;
    if country.is_some_and(|code| !state.countries.serves(code)) {
        let error = ApiError::parameter(
            "parameter_invalid",
            "country",
            "Gift cards are not sold in that country.",
        );
        return Err(error.hint("GET /get-supported-countries lists where they are."));
    }
    let currency = query.code("currency", 3, "ISO 4217")?;
    let category = query.text("category", MAX_QUERY_LEN)?;
    let limit = query.number("limit", 20, 1, 100)?;
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let wanted = GiftCardQuery {
        q: owned(query.text("q", MAX_QUERY_LEN)?),
        country: owned(country),
        currency: owned(currency),
        category: owned(category),
        starting_after: owned(query.get("starting_after")),
        limit: usize::try_from(limit).unwrap_or(20),
    };
    let page = provider_error(state.catalog_timeout, state.catalog.search(&wanted)).await?;
    let page =
        page.ok_or_else(|| ApiError::not_found("product_not_found", "There is no such gift card in this list."))?;
    Ok(json::inert(&GiftCardSearchResponse {
        gift_cards: page
            .products
            .into_iter()
            .map(|product| GiftCardOffer::of(product, state.max_fee_rate))
            .collect(),
        count: page.count,
        has_more: page.has_more,
        filters: AppliedFilters {
            q: wanted.q,
            country: wanted.country,
            currency: wanted.currency,
            category: wanted.category,
        },
        facets: page.facets.into(),
    }))
}
