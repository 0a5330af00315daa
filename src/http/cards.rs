//! `GET /get-card` (paid) and `GET /get-card-data`.

mod any_card;

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Uri, header};
use purser_actors::engine::Engine;
use purser_actors::entity::Purchase;
use purser_actors::entity::card::CardPurchase;
use purser_actors::id::{CardId, PaymentId};
use purser_actors::kernel::JsonObject;

pub(super) use self::any_card::AnyCard;
pub(super) use self::any_card::CARD_TYPES;
use self::any_card::ListedCards;
pub use self::any_card::{AnyCardWithDetails, CardTransaction};
use serde::Serialize;

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::auth::{AuthClaims, MaybeBearer};
use super::error::{ApiError, ErrorCode};
use super::json;
use super::list_order::{ORDERS, list_start};
use super::query::Query;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use crate::checkout::PaidCall;
#[cfg(feature = "documents")]
use crate::checkout::{CardPurchaseResponse, PendingPayment};

/// Seconds after which to retry a read that waits for a final payment.
const FINALITY_RETRY_S: u64 = 2;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/get-card" => get_card {
        Paid, refuses [
            ParameterUnrecognized, ParameterDuplicated, QueryMalformed, AmountInvalid, AmountOutOfRange,
            ParameterInvalid, MultiplePayments, PaymentRequired, PaymentInvalid, PaymentIdentifierInvalid, RateLimited,
            WrongWallet, PaymentIdentifierReused, PaymentAlreadyUsed, Overloaded, AccountFrozen, CapExceeded,
            SettlementFailed, ChallengeAlreadyUsed,
        ]
    }
    GET "/get-card-data" => get_card_data {
        Token, without_head(), confirmed_secrets(), refuses [
            TokenInvalid, ParameterUnrecognized, AccountFrozen, CardNotFound, CardAccessDenied, SignInRequired,
            IssuerUnavailable, TokenMissing, ParameterInvalid,
        ]
    }
}

/// Buy a USA prepaid card
///
/// Paid. Answers 402 with a challenge until the request carries a payment, then 200 with the card's id once the payment
/// settled.
#[cfg_attr(feature = "documents", utoipa::path(get, path = "/get-card", operation_id = "buyCard", tag = "Cards",
    params(("amount" = String, Query, description = "US dollars to load, at most 2 decimal places.", example = "5"),
        ("format" = inline(Option<schemas::PurchaseFormat>), Query, description = "`json` (default) or `html`.")),
    responses((status = 200, description = "Bought: `auth` (for the call that paid first), `user_id`, `card_id`, `status`, `card`. Or `status: credited`.",
            content((CardPurchaseResponse = "application/json"), (String = "text/html"))),
        (status = 202, description = "The payment's outcome is not known yet: follow `status_url`.", body = PendingPayment),
        (status = 400, description = "A parameter is missing, malformed or out of range."),
        (status = 402, description = "A challenge, as a page for browsers; or with `success: false` a settlement that failed.", body = schemas::PaymentRequiredResponse),
        (status = 403, description = "Wrong wallet, frozen account or daily cap. This call charged nothing."),
        (status = 409, description = "The payment was made for another request, or its transfer was decided about without it."),
        (status = 429, description = "Too many requests."),
        (status = 503, description = "Too busy, or the network cannot be reached. This call charged nothing."))))]
async fn get_card(
    State(app): State<Arc<App>>,
    MaybeBearer(bearer): MaybeBearer,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["amount", "format"])?;
    let amount = query.amount(&app.config.products.usa_prepaid_card)?;
    let html = query.choice("format", &["json", "html"])? == "html";
    let call = PaidCall {
        headers: &headers,
        bearer: &bearer,
        target: uri.path_and_query().map_or("/get-card", |p| p.as_str()),
        route: "/get-card",
        purchase: Purchase::UsaCard(CardPurchase { amount }),
        fee_rate: None,
        description: format!("USA prepaid card, {amount} USD"),
        html,
    };
    app.checkout.handle(call).await
}

/// One card, or a page of cards.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
enum CardDataResponse<'a> {
    /// The card of `card_id`.
    One(AnyCardWithDetails<'a>),
    /// A page, without `card_id`.
    Page(CardList),
}

/// A page of cards.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CardList {
    /// All of one type, oldest first unless `order=desc`.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<schemas::ListedCard>))]
    cards: Vec<JsonObject>,
    /// Whether more cards follow.
    has_more: bool,
}

/// Read cards
///
/// With `card_id`: the card, with its number, CVV and expiry while it is ready or paused. The account owner gets an
/// event that they were read (`card.details_viewed`). A gift card's code is shown once its payment is final. Until then
/// the response has `held`, `hint` and `Retry-After`. With `details=false` the details are left out and no event is
/// sent. Without `card_id`: all cards of a type, without their numbers, oldest first, or newest first with
/// `order=desc`. Failed orders have no card and are left out, unless `include_failed=true` asks for what became of them.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-card-data", operation_id = "getCardData", tag = "Cards", security(("bearer" = [])),
    params(("card_id" = Option<String>, Query, description = "One card."),
        ("details" = Option<bool>, Query, description = "Of one card: `true` (default) or `false`, without number, code or link."),
        ("card_type" = inline(Option<schemas::CardTypeName>), Query, description = "`Non-Reloadable U.S.` (default), `Non-Reloadable International`, `Reloadable` or `Gift Card`."),
        ("include_failed" = Option<bool>, Query, description = "`true`: also orders that failed or were rejected, whose charge was credited. `false` by default."),
        ("order" = inline(Option<schemas::ListOrder>), Query, description = "`asc`, the default, or `desc`."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `card_id` of the page before.")),
    responses((status = 200, description = "`card_id`, `status`, and `card_details` when ready; or `cards`, `has_more`.", body = CardDataResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card, or a frozen account."),
        (status = 404, description = "No such card."), (status = 429, description = "Too many requests."))))]
async fn get_card_data(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(
        query.as_deref(),
        &[
            "card_id",
            "details",
            "card_type",
            "include_failed",
            "order",
            "limit",
            "starting_after",
        ],
    )?;
    refuse_frozen(&app.engine, &claims).await?;
    let details = query.choice("details", &["true", "false"])? == "true";
    match query.get("card_id") {
        Some(text) => {
            let id: CardId = text.parse().map_err(|_| not_found())?;
            one(&app, &claims, id, details).await
        }
        None => list(&app, &claims, &query).await,
    }
}

async fn one(app: &App, claims: &AuthClaims, id: CardId, details: bool) -> Result<Response, ApiError> {
    let held = load_owned(&app.engine, claims, id).await?;
    if details && held.vault_record() {
        if !claims.may_read_secrets(held.payment(), app.config.identity.payment_token_can_read_cards) {
            return Err(of_earlier());
        }
        if held.is_unfinal(&app.engine).await? {
            return not_final(&app.engine, id, &held).await;
        }
        return Ok(json::private_ok(&CardDataResponse::One(
            held.with_details(app, id).await?,
        )));
    }
    Ok(json::private_ok(&CardDataResponse::One(held.without_details(id))))
}

/// The card's details are withheld until its payment is final. This read records no view and sends no event.
async fn not_final(engine: &Engine, id: CardId, held: &AnyCard) -> Result<Response, ApiError> {
    if held.is_reversed(engine).await? {
        let hint = "The chain has taken the payment back: the code is not shown. Please contact support.";
        return Ok(json::private_ok(&CardDataResponse::One(held.withheld(id, hint, None))));
    }
    let hint = "The payment is on chain and not final yet. The code is shown once it is: ask again then.";
    let shown = held.withheld(id, hint, Some(FINALITY_RETRY_S));
    let mut response = json::private_ok(&CardDataResponse::One(shown));
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(FINALITY_RETRY_S));
    Ok(response)
}

/// Parses the id of the caller's U.S. card. Other kinds of card can't be refreshed.
pub(super) async fn load_owned_usa_card(engine: &Engine, claims: &AuthClaims, text: &str) -> Result<CardId, ApiError> {
    let id: CardId = text.parse().map_err(|_| not_found())?;
    match load_owned(engine, claims, id).await? {
        AnyCard::Usa(_) => Ok(id),
        AnyCard::Gift(_) | AnyCard::Intl(_) | AnyCard::Reloadable(_) => Err(not_found()),
    }
}

/// Loads the caller's card, of any kind.
pub(super) async fn load_owned_card(
    engine: &Engine,
    claims: &AuthClaims,
    text: &str,
) -> Result<(CardId, AnyCard), ApiError> {
    let id: CardId = text.parse().map_err(|_| not_found())?;
    Ok((id, load_owned(engine, claims, id).await?))
}

async fn load_owned(engine: &Engine, claims: &AuthClaims, id: CardId) -> Result<AnyCard, ApiError> {
    let held = AnyCard::read(engine, id).await?.ok_or_else(not_found)?;
    // After a restore, a lost purchase of a managed wallet may have been recovered under the wallet's own address,
    // before its owner was known.
    if engine.account_of(&held.owner()) == claims.wallet {
        Ok(held)
    } else {
        Err(access_denied())
    }
}

/// Error for tokens issued for a payment, which may have been relayed.
fn of_earlier() -> ApiError {
    let error = "This token was issued for a payment and reads only what that payment bought.";
    ApiError::new(ErrorCode::SignInRequired, error).hint("Sign in with GET /auth.")
}

/// Checks that the token may change what `payment` bought. `earlier` is the setting for reads of other payments'
/// products.
///
/// # Errors
/// 403 `sign_in_required`.
pub(super) fn require_card_rights(
    claims: &AuthClaims,
    bought_by: Option<PaymentId>,
    earlier: bool,
) -> Result<(), ApiError> {
    if claims.may_read_secrets(bought_by, earlier) {
        return Ok(());
    }
    let error = "This token was issued for a payment and changes only what that payment bought.";
    Err(ApiError::new(ErrorCode::SignInRequired, error).hint("Sign in with GET /auth."))
}

async fn list(app: &App, claims: &AuthClaims, query: &Query) -> Result<Response, ApiError> {
    let card_type = query.choice("card_type", &CARD_TYPES)?;
    let with_failed = query.choice("include_failed", &["false", "true"])? == "true";
    let newest_first = query.choice("order", &ORDERS)? == "desc";
    let limit = query.number("limit", 20, 1, 100)?;
    let after = match query.get("starting_after") {
        None => None,
        // Reject cursors that are not in this list. They would reveal when another account's card was created, or
        // silently restart the list.
        Some(text) => {
            let id: CardId = text.parse().map_err(|_| not_found())?;
            let held = load_owned(&app.engine, claims, id).await?;
            (held.card_type() == card_type)
                .then_some(Some(id))
                .ok_or_else(not_found)?
        }
    };
    let limit = usize::try_from(limit).unwrap_or(20);
    let (cards, has_more) = AnyCard::list(
        &app.engine,
        card_type,
        &claims.wallet,
        ListedCards {
            start: list_start(newest_first, after),
            limit,
            with_failed,
        },
    )
    .await?;
    Ok(json::private_ok(&CardDataResponse::Page(CardList { cards, has_more })))
}

pub(super) fn access_denied() -> ApiError {
    ApiError::new(ErrorCode::CardAccessDenied, "This card belongs to another wallet.")
}

pub(super) fn not_found() -> ApiError {
    ApiError::new(ErrorCode::CardNotFound, "There is no such card.")
}
