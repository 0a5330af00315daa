//! Reloadable cards: `POST /create-reloadable-card`. Clients read them with the other cards.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::answer::{ExactDecimal, Time};
use purser_actors::engine::Engine;
use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::payment;
use purser_actors::entity::reloadable_card::{INSUFFICIENT, ReloadableCard, Status};
use purser_actors::id::{CardId, PaymentId};
use purser_actors::kernel::idempotency::IdempotencySlot;
use purser_actors::money::Cents;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::auth::AuthClaims;
use super::error::{ApiError, ErrorCode};
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder_of};
use super::page_session::require_signed_in;
use super::route::routes;
use super::schemas;
use super::top_ups;
use super::withdrawals::in_range;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/create-reloadable-card" => create_reloadable_card {
        Token, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterInvalid, AmountInvalid, AmountOutOfRange,
            AccountFrozen, SignInRequired, IdempotencyKeyReused, IssuerNotLinked, InsufficientCardBalance,
        ]
    }
}

type SharedState = State<Arc<App>>;

/// How long a response waits for the issuer. Events report later answers.
pub(super) const ISSUER_TIMEOUT: Duration = Duration::from_secs(3);

/// One US dollar.
const MIN_AMOUNT: Cents = Cents::new(100);

/// Request of `POST /create-reloadable-card`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct CreateReloadableCardRequest {
    /// US dollars to load from the balance at the card issuer, at least 1, at most 2 decimal places.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ExactDecimal))]
    usd_amount: Box<RawValue>,
    /// Whether the card stays open after its first charge. True by default.
    reusable: Option<bool>,
}

/// Covered by the idempotency fingerprint.
#[derive(Serialize)]
struct CreateReloadableCardParams {
    usd_amount: String,
    reusable: bool,
}

/// Response to a card creation.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CreateReloadableCardResponse {
    /// Always true on success.
    success: bool,
    /// The card as created.
    card: CreatedReloadableCard,
    /// URL to poll for its status.
    status_url: String,
}

/// A reloadable card as created.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CreatedReloadableCard {
    /// Id for `GET /get-card-data`, `POST /pause-card`, `POST /resume-card` and `POST /close-card`.
    card_id: CardId,
    /// US dollars loaded on the card.
    usd_amount: ExactDecimal,
    /// Whether it stays open after its first charge.
    reusable: bool,
    /// `US` is the country of the card.
    country: &'static str,
    /// `open`, or `creating` until the issuer has answered.
    status: schemas::CreatedCardStatus,
    /// Creation time (RFC 3339).
    created_at: Time,
}

/// Create a reloadable card
///
/// Free. The card is loaded from the balance at the card issuer (`GET /get-card-deposit-address`). The token from `GET
/// /fund-card-balance` loads up to the amount of that payment, and reads the numbers of the cards it created. A card
/// that is not `reusable` closes after its first charge. Closing returns the remainder to the balance. Answers 202 if
/// the issuer has not answered within 3 seconds: the card is `creating`, and `reloadable_card.open` or
/// `reloadable_card.failed` reports the outcome.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/create-reloadable-card", operation_id = "createReloadableCard", tag = "Cards", security(("bearer" = [])), request_body = inline(CreateReloadableCardRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "The card is open: `GET /get-card-data` has its number.", body = CreateReloadableCardResponse),
        (status = 202, description = "The issuer has not answered yet: follow `status_url`.", body = CreateReloadableCardResponse),
        (status = 400, description = "A malformed body, amount or key."), (status = 401, description = "No good token."),
        (status = 403, description = "A frozen account, an API key's token, or a token issued for a payment that did not bring that amount: `GET /auth` gives one that may."),
        (status = 409, description = "The balance is smaller than the amount (with `retry_after_seconds` while a top-up is on its way), the issuer refused the card, or the first request with this key is still running."),
        (status = 412, description = "No account at the card issuer is linked."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now."))))]
async fn create_reloadable_card(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let request: CreateReloadableCardRequest = state.body(body).await?;
    let amount = in_range(request.usd_amount.get(), "usd_amount", MIN_AMOUNT, None)?;
    let reusable = request.reusable.unwrap_or(true);
    refuse_frozen(&state.engine, &claims).await?;
    let funded_by = funding_payment(&state.engine, &claims).await?;
    let order = CreateReloadableCardParams {
        usd_amount: amount.to_string(),
        reusable,
    };
    let (owner, route) = (claims.wallet, "/create-reloadable-card");
    let (first, later) = (state.clone(), state.clone());
    let run = move |place: Option<IdempotencySlot>| async move {
        let account = top_ups::linked(&first.engine, &owner).await?;
        let id = CardId::mint(owner.shard(), first.entropy.random());
        let funding = match funded_by {
            Some(payment) => Some((payment, cards_within(&first.engine, payment, amount).await?)),
            None => None,
        };
        let held = (&owner, &account);
        let pending =
            top_ups::await_pending(&first.engine, &*first.providers.balances, held, ("usd_amount", amount)).await?;
        let recorder = place.map(|place| recorder_of::<ReloadableCard, ReloadableCard>(place, id));
        let ordered = (id, owner, account);
        match first
            .engine
            .create_reloadable(ordered, (amount, reusable), funding, recorder)
            .await
        {
            Ok(()) => first.card_created(id, pending).await,
            Err(denied) => Err(in_progress_response(&denied)),
        }
    };
    let follow = |key: Vec<u8>| async move {
        let id = <[u8; 16]>::try_from(key).map_err(|_| ApiError::internal())?;
        let pending = top_ups::pending(&later.engine, &owner).await?;
        later.card_created(CardId(u128::from_be_bytes(id)), pending).await
    };
    key.run_following_until_recorded(&state.engine, &claims, route, &order, run, follow)
        .await
}

/// The payment that this token was issued for, if it loaded the card balance. A seller that relayed a payment has its
/// token, and so reads the card's number. Funds of other payments must stay out of reach.
///
/// # Errors
/// 403 `sign_in_required` for a token of another payment, and for an API key's.
async fn funding_payment(engine: &Engine, claims: &AuthClaims) -> Result<Option<PaymentId>, ApiError> {
    let Some(payment) = claims.amr.payment() else {
        return require_signed_in(claims).map(|()| None);
    };
    let bought = engine.payment(&payment).await.map_err(|_| ApiError::internal())?;
    match bought.map(|payment| payment.status) {
        Some(payment::Status::Fulfilled {
            product: PurchasedProduct::TopUp(_),
            ..
        }) => Ok(Some(payment)),
        _ => require_signed_in(claims).map(|()| None),
    }
}

/// The number of cards that tokens of this payment have ordered, if its amount still covers this one.
async fn cards_within(engine: &Engine, payment: PaymentId, amount: Cents) -> Result<u32, ApiError> {
    let (left, ordered) = engine.top_up_left(payment).await.map_err(|_| ApiError::internal())?;
    if amount <= left {
        return Ok(ordered);
    }
    let error = format!(
        "This token was issued for a payment and loads only what that payment brought: {left} USD are left of it."
    );
    Err(ApiError::new(ErrorCode::SignInRequired, error)
        .param("usd_amount")
        .hint("Sign in with GET /auth to load more."))
}

impl App {
    /// The response to an order: the issuer's answer if it comes soon. `pending` is the amount that was on its way to
    /// the balance at the time of the request.
    async fn card_created(&self, id: CardId, pending: Cents) -> Result<RecordedReply, ApiError> {
        let mut card = self.reloadable_card(id).await?;
        if card.status == Status::Creating {
            drop(tokio::time::timeout(ISSUER_TIMEOUT, self.engine.await_reloadable(id)).await);
            card = self.reloadable_card(id).await?;
        }
        let status = match &card.status {
            Status::Failed { reason } if reason.as_str() == INSUFFICIENT => {
                return Err(top_ups::insufficient("usd_amount", pending));
            }
            Status::Failed { .. } => {
                let error = "The card issuer refused the card.";
                return Err(ApiError::new(ErrorCode::CardCreationDeclined, error));
            }
            Status::Creating => schemas::CreatedCardStatus::Creating,
            // The status at creation, so that every replay shows the same.
            Status::Open(_) | Status::Paused(_) | Status::Closed(_) => schemas::CreatedCardStatus::Open,
        };
        let body = CreateReloadableCardResponse {
            success: true,
            card: CreatedReloadableCard {
                card_id: id,
                usd_amount: card.amount.into(),
                reusable: card.reusable,
                country: "US",
                status,
                created_at: card.created_at.into(),
            },
            status_url: self.status_url(id),
        };
        Ok(match card.status {
            Status::Creating => RecordedReply::accepted(&body),
            _ => RecordedReply::ok(&body),
        })
    }

    async fn reloadable_card(&self, id: CardId) -> Result<ReloadableCard, ApiError> {
        let read = self.engine.reloadable(&id).await.map_err(|_| ApiError::internal())?;
        read.ok_or_else(ApiError::internal)
    }

    pub(super) fn status_url(&self, id: CardId) -> String {
        format!("{}/get-card-data?card_id={id}", self.public_url)
    }
}
