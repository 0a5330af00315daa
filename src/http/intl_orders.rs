//! International cards: `GET /order-intl-card` (paid) and `POST /cancel-intl-order`. Clients read them with the other
//! cards.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, Uri};
use purser_actors::engine::{Engine, OperationError};
use purser_actors::entity::Purchase;
use purser_actors::entity::intl_order::{IntlCardPurchase, IntlOrder, Rejection};
use purser_actors::id::CardId;
use purser_actors::kernel::idempotency::CommandResult;
use purser_actors::money::Cents;
use serde::{Deserialize, Serialize};

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::auth::{AuthClaims, MaybeBearer};
use super::cards::{access_denied, not_found, require_card_rights};
use super::error::{ApiError, ErrorCode};
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::query::Query;
use super::readable::is_readable;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use crate::checkout::PaidCall;
#[cfg(feature = "documents")]
use crate::checkout::{IntlOrderPurchaseResponse, PendingPayment};

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/order-intl-card" => order_intl_card {
        Paid, refuses [
            ParameterUnrecognized, AmountInvalid, AmountOutOfRange, ParameterInvalid, PaymentRequired, WrongWallet,
            AccountFrozen, CapExceeded,
        ]
    }
    POST "/cancel-intl-order" => cancel_intl_order {
        Token, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterMissing, AccountFrozen, IdempotencyKeyReused,
            CardNotFound, CardAccessDenied, SignInRequired, NotCancellable,
        ]
    }
}

/// Limit in characters.
const MAX_LABEL_LEN: usize = 100;

/// Order an international prepaid card
///
/// Paid. An operator orders the card within 24 hours: follow it with `GET /get-card-data`. While it is `queued`, `POST
/// /cancel-intl-order` can cancel it.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/order-intl-card", operation_id = "orderIntlCard", tag = "Cards",
    params(("amount" = String, Query, description = "Whole US dollars to load.", example = "100"),
        ("label" = Option<String>, Query, description = "Your own name for the card, at most 100 characters.")),
    responses((status = 200, description = "Ordered: `auth` (for the call that paid first), `user_id`, `intl_card_order`. Or `status: credited`.", body = IntlOrderPurchaseResponse),
        (status = 202, description = "The payment's outcome is not known yet: follow `status_url`.", body = PendingPayment),
        (status = 400, description = "A parameter is missing, malformed or out of range."),
        (status = 402, description = "A challenge, as a page for browsers; or with `success: false` a settlement that failed.", body = schemas::PaymentRequiredResponse),
        (status = 403, description = "Wrong wallet, frozen account or daily cap. This call charged nothing."),
        (status = 409, description = "The payment was made for another request, or its transfer was decided about without it."),
        (status = 429, description = "Too many requests."),
        (status = 503, description = "Too busy, or the network cannot be reached. This call charged nothing."))))]
async fn order_intl_card(
    State(app): State<Arc<App>>,
    MaybeBearer(bearer): MaybeBearer,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["amount", "label"])?;
    let amount = whole_dollars(query.amount(&app.config.products.intl_prepaid_card)?)?;
    let label = label(&query)?;
    let call = PaidCall {
        headers: &headers,
        bearer: &bearer,
        target: uri.path_and_query().map_or("/order-intl-card", |p| p.as_str()),
        route: "/order-intl-card",
        purchase: Purchase::IntlCard(IntlCardPurchase { amount, label }),
        fee_rate: None,
        description: format!("International prepaid card, {amount} USD"),
        html: false,
    };
    app.checkout.handle(call).await
}

fn whole_dollars(amount: Cents) -> Result<Cents, ApiError> {
    if amount.get().is_multiple_of(100) {
        return Ok(amount);
    }
    let error = "`amount` must be whole dollars.";
    Err(ApiError::parameter(ErrorCode::AmountInvalid, "amount", error))
}

/// Parses the label, which must be readable text.
fn label(query: &Query) -> Result<Option<String>, ApiError> {
    let label = query.get("label").filter(|label| !label.is_empty());
    if label.is_some_and(|label| !is_readable(label, MAX_LABEL_LEN)) {
        let error = format!("`label` must be readable text of at most {MAX_LABEL_LEN} characters.");
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "label", error));
    }
    Ok(label.map(str::to_owned))
}

/// Request of `POST /cancel-intl-order`.
#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct CancelOrderRequest {
    /// Card from `GET /order-intl-card`.
    card_id: String,
}

/// A cancelled order.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CancelOrderResponse {
    /// Id of the card.
    card_id: CardId,
    /// Message for people.
    message: &'static str,
}

/// Cancel an international card order
///
/// Only while it is `queued`. The full charge, fee included, is credited to the account's balance.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/cancel-intl-order", operation_id = "cancelIntlOrder", tag = "Cards", security(("bearer" = [])), request_body = inline(CancelOrderRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`card_id`, `message`.", body = CancelOrderResponse),
        (status = 400, description = "`card_id` is missing, or a malformed key."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's order, or a frozen account."),
        (status = 404, description = "No such order."),
        (status = 409, description = "It is not queued any more, its card may have been made (after a restore, until an operator has looked), or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now."))))]
async fn cancel_intl_order(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let request: CancelOrderRequest = app.body(body).await?;
    refuse_frozen(&app.engine, &claims).await?;
    // The order is loaded inside the key: a used key replays its response, whatever the body names.
    let (engine, caller, named) = (app.engine.clone(), claims.clone(), request.card_id.clone());
    let earlier = app.config.identity.payment_token_can_read_cards;
    key.run(
        &app.engine,
        &claims,
        "/cancel-intl-order",
        &request,
        move |place| async move {
            let id: CardId = named.parse().map_err(|_| not_found())?;
            let order = load_owned_order(&engine, &caller, id).await?;
            require_card_rights(&caller, Some(order.charge.payment), earlier)?;
            let recorder = place.map(|place| {
                recorder::<IntlOrder>(place, move |result: CommandResult<'_, IntlOrder>| {
                    cancelled(id, result.map(drop))
                })
            });
            match engine.cancel_intl(id, recorder).await {
                Ok(()) => cancelled(id, Ok(())),
                Err(OperationError::Rejected(why)) => cancelled(id, Err(&why)),
                Err(denied) => Err(in_progress_response(&denied)),
            }
        },
    )
    .await
}

/// The response to a cancellation, as sent and recorded.
fn cancelled(id: CardId, result: Result<(), &Rejection>) -> Result<RecordedReply, ApiError> {
    match result {
        Ok(()) => Ok(RecordedReply::ok(&CancelOrderResponse {
            card_id: id,
            message: "The order is cancelled. The whole charge is credited to the account balance.",
        })),
        Err(Rejection::InDoubt) => Err(not_cancellable("The card of this order may have been made already.")
            .retry_after(60)
            .hint("The service was restored from a backup: the order can be cancelled once an operator has checked and released it.")),
        Err(Rejection::InvalidState(_) | Rejection::Lease(_) | Rejection::Released | Rejection::Ended) => {
            let refused = not_cancellable("Only an order that is queued can be cancelled.");
            Err(refused.hint("GET /get-card-data has the status of the order."))
        }
    }
}

fn not_cancellable(error: &'static str) -> ApiError {
    ApiError::new(ErrorCode::NotCancellable, error)
}

async fn load_owned_order(engine: &Engine, claims: &AuthClaims, id: CardId) -> Result<IntlOrder, ApiError> {
    let order = engine.intl_order(&id).await.map_err(|_| ApiError::internal())?;
    let order = order.ok_or_else(not_found)?;
    if order.owner != claims.wallet {
        return Err(access_denied());
    }
    Ok(order)
}
