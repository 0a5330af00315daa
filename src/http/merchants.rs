//! `GET /search-merchants`: whether merchants accept a card, before it is bought.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;

use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::query::Query;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use crate::provider::merchants::{Acceptance, CardType, Merchant, MerchantQuery};

/// Limit in characters.
pub(super) const MAX_QUERY_LEN: usize = 100;
const PARAMETERS: [&str; 4] = ["q", "card_type", "limit", "starting_after"];
const UNKNOWN: &str = "No such merchant is known, which says nothing of whether it takes the card.";

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/search-merchants" => search_merchants {
        Public, refuses [ParameterUnrecognized, ParameterInvalid, CatalogUnavailable, MerchantNotFound]
    }
}

/// Merchants that match a search.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct MerchantSearchResponse {
    /// Best match first, or by name without a search text. If no merchant matches, one row has the searched name and
    /// the status `unknown`.
    merchants: Vec<MerchantResult>,
    /// Whether more merchants follow.
    has_more: bool,
    /// Card type of every `status`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::MerchantCardType))]
    card_type: &'static str,
    /// Explains the status `unknown`; null otherwise.
    note: Option<&'static str>,
}

/// A merchant and whether it accepts the card.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct MerchantResult {
    /// Id for `starting_after`; null for an unknown merchant.
    merchant_id: Option<String>,
    /// Name of the merchant, or the searched name if it is unknown.
    name: String,
    /// Website; null if none is known.
    url: Option<String>,
    /// Category of goods; null if not known.
    category: Option<String>,
    /// Countries (ISO 3166-1 alpha-2); null for all countries, or if not known.
    countries: Option<Vec<String>>,
    /// `accepted`, `not_accepted` or `unknown`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::MerchantStatus))]
    status: &'static str,
    /// Advice for paying there; null for none.
    notes: Option<String>,
}

impl From<Merchant> for MerchantResult {
    fn from(merchant: Merchant) -> Self {
        Self {
            merchant_id: Some(merchant.id),
            name: merchant.name,
            url: merchant.url,
            category: Some(merchant.category),
            countries: (!merchant.countries.is_empty()).then_some(merchant.countries),
            status: merchant.status.name(),
            notes: merchant.notes,
        }
    }
}

impl MerchantResult {
    /// Row for a merchant that the directory does not know.
    fn unknown(asked: &str) -> Self {
        Self {
            merchant_id: None,
            name: asked.to_owned(),
            url: None,
            category: None,
            countries: None,
            status: Acceptance::Unknown.name(),
            notes: Some(UNKNOWN.to_owned()),
        }
    }
}

/// Search merchants that accept a card
///
/// Finds a merchant by its name, an alternative name, the beginning of its name, a typo or its domain. A domain must be
/// the merchant's own, ignoring its country: lookalikes do not match. An unknown merchant is one row with the searched
/// name and the status `unknown`, never a guess. Free; needs no authentication.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/search-merchants", operation_id = "searchMerchants", tag = "Catalog",
    params(("q" = Option<String>, Query, description = "A name or an address, at most 100 characters; all merchants by name without it."),
        ("card_type" = inline(Option<schemas::MerchantCardType>), Query, description = "`Non-Reloadable U.S.` (default), `Non-Reloadable International` or `Reloadable`."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `merchant_id` of the page before.")),
    responses((status = 200, description = "A page of merchants.", body = MerchantSearchResponse),
        (status = 400, description = "A malformed parameter."),
        (status = 404, description = "`merchant_not_found`: `starting_after` is not in this list."),
        (status = 503, description = "`catalog_unavailable`: the directory does not answer."))))]
async fn search_merchants(State(app): State<Arc<App>>, RawQuery(raw): RawQuery) -> Result<Response, ApiError> {
    let query = Query::parse(raw.as_deref(), &PARAMETERS)?;
    let word = query.choice("card_type", &CardType::ALL.map(CardType::name))?;
    let card_type = CardType::ALL.into_iter().find(|card| card.name() == word);
    let limit = query.number("limit", 20, 1, 100)?;
    let request = MerchantQuery {
        q: query.text("q", MAX_QUERY_LEN)?.map(str::to_owned),
        card_type: card_type.ok_or_else(ApiError::internal)?,
        starting_after: query.get("starting_after").map(str::to_owned),
        limit: usize::try_from(limit).unwrap_or(20),
    };
    let page = app
        .providers
        .merchants
        .search(&request)
        .await
        .map_err(|error| directory_unavailable(&error))?;
    let page =
        page.ok_or_else(|| ApiError::new(ErrorCode::MerchantNotFound, "There is no such merchant in this list."))?;
    let mut merchants: Vec<MerchantResult> = page.merchants.into_iter().map(MerchantResult::from).collect();
    let unknown = request
        .q
        .as_deref()
        .filter(|_| merchants.is_empty() && request.starting_after.is_none());
    merchants.extend(unknown.map(MerchantResult::unknown));
    Ok(json::ok(&MerchantSearchResponse {
        has_more: page.has_more,
        card_type: word,
        note: unknown.map(|_| UNKNOWN),
        merchants,
    }))
}

/// Whatever the directory's error is, the caller can only retry.
pub(super) fn directory_unavailable(error: &purser_actors::port::PortError) -> ApiError {
    tracing::warn!(%error, "a catalog does not answer");
    ApiError::unavailable(ErrorCode::CatalogUnavailable, "The catalog does not answer.", 2)
}
