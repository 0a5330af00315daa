//! Taking money out: `POST /withdraw`, `GET /get-withdrawal-status`, and `GET /get-account-statement`, which says where it
//! came from and went.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use purser_actors::account::{Account, Rejection};
use purser_actors::engine::{AnyWithdrawal, Engine, OperationError, ReservationError, TreasuryReservation};
use purser_actors::id::{Network, StatementLineId, Wallet, WithdrawalId};
use purser_actors::kernel::JsonObject;
use purser_actors::kernel::idempotency::CommandResult;
use purser_actors::kernel::job::Job;
use purser_actors::money::{AmountError, Cents, Usdc};
use purser_actors::port::Entropy;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{OpenApi, ToSchema};

use super::account::{BearerClaims, authenticated_account};
use super::auth::AuthClaims;
use super::error::ApiError;
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::outgoing_holds::{require_withdrawals_active, transfer_error, with_hold_reason};
use super::query::Query;
use super::{json, schemas};
use crate::payment::evm::checksummed;
use crate::payment::terms::can_own_usdc;
use crate::provider::CardBalanceReader;

/// What is withdrawn at least.
const MIN_AMOUNT: Cents = Cents::new(1);

/// What these routes need.
pub struct WithdrawalState {
    /// Asks and reads.
    pub engine: Engine,
    /// Knows what holders have at the card issuer.
    pub balances: Arc<dyn CardBalanceReader>,
    /// Ids.
    pub entropy: Arc<dyn Entropy>,
    /// Our own addresses, which nothing is sent to.
    pub treasuries: Vec<Wallet>,
    /// For `status_url`.
    pub public_url: String,
    /// Longest body taken.
    pub max_body_bytes: usize,
    /// Longest wait for it.
    pub body_timeout: Duration,
}

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(post_withdraw, get_withdrawal_status, get_account_statement))]
pub struct ApiDoc;

/// The routes.
pub fn router(withdrawals: Arc<WithdrawalState>) -> Router {
    Router::new()
        .route("/withdraw", post(post_withdraw))
        .route("/get-withdrawal-status", get(get_withdrawal_status))
        .route("/get-account-statement", get(get_account_statement))
        .with_state(withdrawals)
}

type SharedState = State<Arc<WithdrawalState>>;

/// What `POST /withdraw` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WithdrawRequest {
    /// US dollars, at least 0.01, at most 2 decimal places.
    #[schema(value_type = schemas::ExactDecimal)]
    amount: Box<RawValue>,
    /// Who receives it, on either chain; the caller's own wallet without it.
    address: Option<String>,
    /// `base` or `solana`; the address says which.
    network: Option<String>,
}

/// What was understood of it: what an idempotency key stands for.
#[derive(Serialize)]
struct WithdrawParams {
    amount: String,
    address: String,
}

/// Take money out of the balance
///
/// The amount is held at once and sent as USDC on the chain of the address. Follow `status_url`: a withdrawal that can never
/// reach the chain becomes `failed`, and its amount is available again. An address on Solana needs a token account for USDC, and
/// each chain pays out what its own treasury has.
#[utoipa::path(post, path = "/withdraw", tag = "Account", security(("bearer" = [])), request_body = inline(WithdrawRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 202, description = "`success`, `withdrawal`, `status_url`.", body = schemas::CreateWithdrawalResponse),
        (status = 400, description = "A malformed body, amount, address or key."), (status = 401, description = "No good token."),
        (status = 403, description = "A frozen account, or a token born of a payment and another address than the wallet's."),
        (status = 409, description = "More than is available, an owner on Solana without a token account, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 503, description = "Not now: too little on this chain, after a restore, or no answer.")))]
async fn post_withdraw(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let wanted: WithdrawRequest = json::read(body, state.max_body_bytes, state.body_timeout).await?;
    let amount = in_range(wanted.amount.get(), "amount", MIN_AMOUNT, None)?;
    let to = recipient(&state, &claims, &wanted)?;
    authenticated_account(&state.engine, &claims).await?;
    require_account_wallet(&claims, &to)?;
    let order = WithdrawParams {
        amount: amount.to_string(),
        address: to.address(),
    };
    let usdc = Usdc::from_cents(amount).map_err(|_| out_of_range("amount", MIN_AMOUNT, None))?;
    let id = WithdrawalId(state.entropy.random());
    let (engine, from, public_url) = (state.engine.clone(), claims.wallet, state.public_url.clone());
    key.run(&state.engine, &claims, "/withdraw", &order, move |place| async move {
        let url = public_url.clone();
        let memo = place.map(|place| {
            recorder::<Account>(place, move |told: CommandResult<'_, Account>| {
                accepted(id, usdc, &url, told.map(drop))
            })
        });
        require_withdrawals_active(&engine)?;
        let promise = check_transferable(&engine, &from, (id, &to, usdc)).await?;
        match engine.withdraw(from, (id, to, usdc), memo).await {
            Ok(()) => {
                promise.into_iter().for_each(TreasuryReservation::commit);
                accepted(id, usdc, &public_url, Ok(()))
            }
            Err(OperationError::Rejected(why)) => accepted(id, usdc, &public_url, Err(&why)),
            Err(denied) => Err(in_progress_response(&denied)),
        }
    })
    .await
}

/// Room on its chain for a withdrawal. Whoever has too little of their own is told that, whatever the chain has: then there is
/// none, and the account says it. Another withdrawal of theirs may take both at the same moment.
async fn check_transferable(
    engine: &Engine,
    from: &Wallet,
    (id, to, amount): (WithdrawalId, &Wallet, Usdc),
) -> Result<Option<TreasuryReservation>, ApiError> {
    let has = async || {
        let account = engine.account(from).await.map_err(|_| ApiError::internal())?;
        Ok::<_, ApiError>(account.is_some_and(|account| account.available() >= amount))
    };
    if !has().await? {
        return Ok(None);
    }
    match engine.reserve_treasury(id, to, amount).await {
        Ok(promise) => Ok(Some(promise)),
        Err(ReservationError::InsufficientTreasury(_)) if !has().await? => Ok(None),
        Err(why) => Err(transfer_error(why, "address")),
    }
}

/// The answer to a withdrawal, as it is sent and remembered.
fn accepted(
    id: WithdrawalId,
    amount: Usdc,
    url: &str,
    told: Result<(), &Rejection>,
) -> Result<RecordedReply, ApiError> {
    match told {
        Ok(()) => {
            let withdrawal = JsonObject::new()
                .text("id", id)
                .number("amount", amount.decimal())
                .text("state", "pending");
            let body = JsonObject::new()
                .boolean("success", true)
                .object("withdrawal", &withdrawal)
                .text("status_url", format!("{url}/get-withdrawal-status?withdrawal_id={id}"));
            Ok(RecordedReply::accepted(&body))
        }
        Err(Rejection::Frozen { message }) => Err(ApiError::frozen(message.clone())),
        Err(Rejection::Insufficient { available }) => {
            let error = format!("Only {} is available.", available.decimal());
            Err(ApiError::new(StatusCode::CONFLICT, "insufficient_balance", error).param("amount"))
        }
        // An account that does not exist yet has nothing.
        Err(_) => {
            Err(ApiError::new(StatusCode::CONFLICT, "insufficient_balance", "Nothing is available.").param("amount"))
        }
    }
}

/// An amount of dollars in a body: a JSON number by its own text, or the same text as a string.
///
/// # Errors
/// 400 `amount_invalid` and `amount_out_of_range`.
pub(super) fn in_range(json: &str, param: &'static str, least: Cents, most: Option<Cents>) -> Result<Cents, ApiError> {
    let text = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(json);
    match Cents::parse(text) {
        Ok(amount) if amount >= least && most.is_none_or(|most| amount <= most) => Ok(amount),
        Ok(_) | Err(AmountError::OutOfRange) => Err(out_of_range(param, least, most)),
        Err(AmountError::Malformed) => {
            let error = format!("`{param}` is not a plain decimal number of at most 2 places.");
            Err(ApiError::parameter("amount_invalid", param, error))
        }
    }
}

fn out_of_range(param: &'static str, least: Cents, most: Option<Cents>) -> ApiError {
    let error = match most {
        Some(most) => format!("`{param}` must be {least} to {most}."),
        None => format!("`{param}` must be at least {least}."),
    };
    ApiError::parameter("amount_out_of_range", param, error)
}

/// An address that USDC can be sent to. In capitals and small letters it must have its checksum (EIP-55).
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn address(name: &'static str, text: &str) -> Result<Wallet, ApiError> {
    let invalid = |error: String| Err(ApiError::parameter("parameter_invalid", name, error));
    let Ok(to) = text.parse() else {
        return invalid(format!("`{name}` is not an address on Base or Solana."));
    };
    if let Wallet::Evm(bytes) = &to {
        let digits = text.get(2..).unwrap_or_default();
        let is = |of: fn(&u8) -> bool| digits.bytes().any(|byte| of(&byte));
        if is(u8::is_ascii_lowercase) && is(u8::is_ascii_uppercase) && text != checksummed(bytes) {
            return invalid(format!(
                "`{name}` is mistyped: its capitals are not those of its checksum (EIP-55)."
            ));
        }
    }
    if !can_own_usdc(&to) {
        return invalid(format!(
            "`{name}` cannot own USDC: it is the zero address, the token's own, or a program's on Solana."
        ));
    }
    Ok(to)
}

/// A token that was born of a payment may have been relayed, and an API key is an agent's: they withdraw to the account's own
/// wallet only.
pub(super) fn require_account_wallet(claims: &AuthClaims, to: &Wallet) -> Result<(), ApiError> {
    if claims.is_signed_in() || *to == claims.wallet {
        return Ok(());
    }
    let error = match claims.is_payment_token() {
        true => "This token was born of a payment and withdraws to its own wallet only.",
        false => "This token was born of an API key and withdraws to its owner's wallet only.",
    };
    Err(ApiError::forbidden("sign_in_required", error).hint("Sign in with GET /auth."))
}

fn recipient(state: &WithdrawalState, claims: &AuthClaims, wanted: &WithdrawRequest) -> Result<Wallet, ApiError> {
    let invalid = |param: &'static str, error: &'static str| ApiError::parameter("parameter_invalid", param, error);
    let to = match &wanted.address {
        None => claims.wallet,
        Some(text) => address("address", text)?,
    };
    if state.treasuries.contains(&to) {
        return Err(invalid("address", "`address` is our own."));
    }
    let network = match wanted.network.as_deref() {
        None => to.network(),
        Some("base") => Network::Base,
        Some("solana") => Network::Solana,
        Some(_) => return Err(invalid("network", "`network` must be one of: base, solana.")),
    };
    if network != to.network() {
        return Err(invalid("network", "The address is on the other network."));
    }
    Ok(to)
}

/// What became of withdrawals
///
/// From the account's balance, and from the one at the card issuer.
#[utoipa::path(get, path = "/get-withdrawal-status", tag = "Account", security(("bearer" = [])),
    params(("withdrawal_id" = Option<String>, Query, description = "One withdrawal; without it all, oldest first."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `id` of the page before.")),
    responses((status = 200, description = "`withdrawal`; or `withdrawals`, `has_more`.", body = schemas::WithdrawalStatusResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's withdrawal, or a frozen account."),
        (status = 404, description = "No such withdrawal.")))]
async fn get_withdrawal_status(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["withdrawal_id", "limit", "starting_after"])?;
    authenticated_account(&state.engine, &claims).await?;
    if let Some(text) = query.get("withdrawal_id") {
        let (id, withdrawal) = load_owned(&state.engine, &claims, text).await?;
        let body = JsonObject::new().object("withdrawal", &render(&state.engine, &id, &withdrawal).await?);
        return Ok(json::private(json::bytes_as_json(body.to_json())));
    }
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let after = match query.get("starting_after") {
        Some(text) => Some(load_owned(&state.engine, &claims, text).await?.0),
        None => None,
    };
    let found = state.engine.withdrawals_of(&claims.wallet, after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let mut all = Vec::with_capacity(found.0.len());
    for (id, withdrawal) in &found.0 {
        all.push(render(&state.engine, id, withdrawal).await?.to_json());
    }
    Ok(page("withdrawals", all.into_iter(), found.1))
}

/// As it stands, and why it waits if it does.
async fn render(engine: &Engine, id: &WithdrawalId, withdrawal: &AnyWithdrawal) -> Result<JsonObject, ApiError> {
    let view = withdrawal.view(id);
    match withdrawal {
        AnyWithdrawal::Account(_) => with_hold_reason(engine, &Job::SendWithdrawal(*id), view).await,
        // An operator pays it, and none may while its owner is frozen: who asks here is not.
        AnyWithdrawal::Card(_) => Ok(view),
    }
}

/// The withdrawal of this name, if it is the caller's.
async fn load_owned(
    engine: &Engine,
    claims: &AuthClaims,
    text: &str,
) -> Result<(WithdrawalId, AnyWithdrawal), ApiError> {
    let id: WithdrawalId = text.parse().map_err(|_| unknown())?;
    let found = engine.any_withdrawal(&id).await.map_err(|_| ApiError::internal())?;
    let withdrawal = found.ok_or_else(unknown)?;
    if withdrawal.owner() != claims.wallet {
        let error = "This withdrawal belongs to another wallet.";
        return Err(ApiError::forbidden("withdrawal_access_denied", error));
    }
    Ok((id, withdrawal))
}

/// What changed the balance
///
/// Every credit, hold, payout and release, oldest first, with what caused it and the balance after it.
#[utoipa::path(get, path = "/get-account-statement", tag = "Account", security(("bearer" = [])),
    params(("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `entry_id` of the page before.")),
    responses((status = 200, description = "`entries`, `has_more`.", body = schemas::StatementResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Frozen.")))]
async fn get_account_statement(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["limit", "starting_after"])?;
    authenticated_account(&state.engine, &claims).await?;
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let after: Option<StatementLineId> = query.get("starting_after").map(str::parse).transpose().map_err(|_| {
        ApiError::parameter(
            "parameter_invalid",
            "starting_after",
            "`starting_after` is not an `entry_id`.",
        )
    })?;
    let found = state.engine.statement(&claims.wallet, after, limit).await;
    let (lines, more) = found.map_err(|_| ApiError::internal())?;
    Ok(page(
        "entries",
        lines.iter().map(|(id, entry)| entry.view(id).to_json()),
        more,
    ))
}

fn page(name: &str, shown: impl Iterator<Item = String>, more: bool) -> Response {
    let shown: Vec<String> = shown.collect();
    let body = format!("{{\"{name}\":[{}],\"has_more\":{more}}}", shown.join(","));
    json::private(json::bytes_as_json(body))
}

fn unknown() -> ApiError {
    ApiError::not_found("withdrawal_not_found", "There is no such withdrawal.")
}
