//! Withdrawals: `POST /withdraw` and `GET /get-withdrawal-status`.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::answer::ExactDecimal;
use purser_actors::engine::{AnyWithdrawal, Engine, OperationError, ReservationError, TreasuryReservation};
use purser_actors::entity::account::{Account, Rejection};
use purser_actors::entity::spend_approval::{SpendAct, SpendPayee};
use purser_actors::entity::withdrawal::Status;
use purser_actors::entity::{card_withdrawal, withdrawal};
use purser_actors::id::{Network, Wallet, WithdrawalId};
use purser_actors::kernel::idempotency::CommandResult;
use purser_actors::money::{AmountError, Cents, Usdc};
use purser_actors::port::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::approvals::ApprovalRequiredResponse;
use super::auth::AuthClaims;
use super::balance_spends::{AnswerForm, BalanceCall, agent_spend, denied};
use super::error::{ApiError, ErrorCode};
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::list_order::{ORDERS, list_start};
use super::outgoing_holds::{hold_reason, require_withdrawals_active, transfer_error};
use super::query::Query;
use super::route::routes;
use super::{json, schemas};
use crate::payment::evm::checksummed;
use crate::payment::terms::can_own_usdc;
use crate::rfc3339;

/// Minimum amount of a withdrawal.
const MIN_AMOUNT: Cents = Cents::new(1);
/// Most withdrawals are complete after this time, or wait for an operator to pay them.
const USUAL_TIME_MS: u64 = 60_000;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/withdraw" => post_withdraw {
        Token, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterUnrecognized, AmountInvalid, AmountOutOfRange,
            ParameterInvalid, AccountFrozen, SignInRequired, IdempotencyKeyReused, InsufficientBalance,
            TokenAccountMissing,
        ]
    }
    GET "/get-withdrawal-status" => get_withdrawal_status {
        Token, refuses [TokenMissing, ParameterUnrecognized, AccountFrozen, WithdrawalNotFound, WithdrawalAccessDenied]
    }
}

type SharedState = State<Arc<App>>;

/// Request of `POST /withdraw`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct WithdrawRequest {
    /// US dollars, at least 0.01, at most 2 decimal places.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ExactDecimal))]
    amount: Box<RawValue>,
    /// Address of the receiver on either chain. By default the caller's own wallet.
    address: Option<String>,
    /// `base` or `solana`. By default derived from the address.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::NetworkName>))]
    network: Option<String>,
    /// Approval of the account owner for this withdrawal, from a 202.
    approval_id: Option<String>,
}

/// Covered by the idempotency fingerprint.
#[derive(Serialize)]
struct WithdrawParams {
    amount: String,
    address: String,
}

/// Response to an accepted withdrawal.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct CreateWithdrawalResponse {
    /// Always true on success.
    success: bool,
    /// The withdrawal as accepted.
    withdrawal: CreatedWithdrawal,
    /// URL to poll for its status.
    status_url: String,
}

/// An accepted withdrawal, or one that waits for the owner's approval.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub(super) enum WithdrawalAnswer<'a> {
    /// Accepted: the amount is held.
    Accepted(CreateWithdrawalResponse),
    /// Over a limit of the account owner: nothing is held.
    ApprovalRequired(Box<ApprovalRequiredResponse<'a>>),
}

/// A withdrawal as accepted.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CreatedWithdrawal {
    /// `wd_…` is the id of the withdrawal.
    id: WithdrawalId,
    /// Amount in US dollars.
    amount: ExactDecimal,
    /// `pending` in every case.
    state: schemas::PendingStatus,
}

impl CreateWithdrawalResponse {
    pub(super) fn of(id: WithdrawalId, amount: ExactDecimal, public_url: &str) -> Self {
        Self {
            success: true,
            withdrawal: CreatedWithdrawal {
                id,
                amount,
                state: schemas::PendingStatus::Pending,
            },
            status_url: format!("{public_url}/get-withdrawal-status?withdrawal_id={id}"),
        }
    }
}

/// Withdraw from the balance
///
/// The amount is held at once and sent as USDC on the chain of the address. Follow `status_url`: a withdrawal that can
/// never settle becomes `failed`, and its amount is available again. An address on Solana needs a token account for
/// USDC. Each chain pays from its own treasury.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/withdraw", operation_id = "createWithdrawal", tag = "Account", security(("bearer" = [])), request_body = inline(WithdrawRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 202, description = "`success`, `withdrawal`, `status_url`. Or `approval_required`: over a limit, and the account's owner wants to be asked. Nothing was held. Make the same call again once the owner has approved.", body = WithdrawalAnswer<'static>),
        (status = 400, description = "A malformed body, amount, address or key."), (status = 401, description = "No good token."),
        (status = 403, description = "A frozen account, a limit of the owner (`policy_filtered`), an approval that the owner declined, or a token issued for a payment and another address than the wallet's."),
        (status = 404, description = "No such approval."),
        (status = 409, description = "More than is available, an owner on Solana without a token account, an approval of something else or that is used or too old, or the first request with this key is still running."),
        (status = 422, description = "The key was used for something else."),
        (status = 503, description = "Not now: too little on this chain, after a restore, or no answer."))))]
async fn post_withdraw(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let request: WithdrawRequest = state.body(body).await?;
    let amount = in_range(request.amount.get(), "amount", MIN_AMOUNT, None)?;
    let to = recipient(&state, &claims, &request)?;
    refuse_frozen(&state.engine, &claims).await?;
    require_account_wallet(&claims, &to)?;
    let order = WithdrawParams {
        amount: amount.to_string(),
        address: to.address(),
    };
    let usdc = Usdc::from_cents(amount).map_err(|_| out_of_range("amount", MIN_AMOUNT, None))?;
    let id = WithdrawalId::mint(claims.wallet.shard(), state.entropy.random());
    let (engine, from, public_url) = (state.engine.clone(), claims.wallet, state.public_url.clone());
    let caller = claims.clone();
    key.run(&state.engine, &claims, "/withdraw", &order, move |place| async move {
        let url = public_url.clone();
        let recorder = place.map(|place| {
            recorder::<Account>(place, move |result: CommandResult<'_, Account>| {
                accepted(id, usdc, &url, result.map(drop))
            })
        });
        let asked = BalanceCall {
            payee: SpendPayee::Wallet(to),
            amount: usdc,
            act: SpendAct::Withdrawal,
            note: None,
            approval: request.approval_id.as_deref(),
        };
        let asked = agent_spend(&caller, asked)?;
        require_withdrawals_active(&engine)?;
        let promise = check_transferable(&engine, &from, (id, &to, usdc)).await?;
        match engine
            .withdraw_for(asked.as_ref(), from, (id, to, usdc), recorder)
            .await
        {
            Ok(()) => {
                promise.into_iter().for_each(TreasuryReservation::commit);
                accepted(id, usdc, &public_url, Ok(()))
            }
            Err(OperationError::Rejected(why)) => accepted(id, usdc, &public_url, Err(&why)),
            Err(OperationError::Specific(why)) => denied(&engine, &public_url, &why, AnswerForm::Route).await,
            Err(OperationError::AlreadyUsed) => Err(in_progress_response::<()>(&OperationError::AlreadyUsed)),
            Err(OperationError::Unavailable) => Err(in_progress_response::<()>(&OperationError::Unavailable)),
        }
    })
    .await
}

/// Checks the treasury of the chain for a withdrawal. An account with too little balance skips the check, so that its
/// own error comes first. A concurrent withdrawal of the account may still use up both.
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

/// The response to a withdrawal, as sent and recorded.
fn accepted(
    id: WithdrawalId,
    amount: Usdc,
    url: &str,
    result: Result<(), &Rejection>,
) -> Result<RecordedReply, ApiError> {
    match result {
        Ok(()) => Ok(RecordedReply::accepted(&WithdrawalAnswer::Accepted(
            CreateWithdrawalResponse::of(id, amount.into(), url),
        ))),
        Err(Rejection::Frozen { message }) => Err(ApiError::frozen(message.clone())),
        Err(Rejection::Insufficient { available }) => {
            let error = format!("Only {} is available.", available.decimal());
            Err(ApiError::new(ErrorCode::InsufficientBalance, error).param("amount"))
        }
        // An account that does not exist yet has no balance.
        Err(_) => Err(ApiError::new(ErrorCode::InsufficientBalance, "Nothing is available.").param("amount")),
    }
}

/// A dollar amount in a body: a JSON number by its digits, or the same text as a string.
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
            Err(ApiError::parameter(ErrorCode::AmountInvalid, param, error))
        }
    }
}

fn out_of_range(param: &'static str, least: Cents, most: Option<Cents>) -> ApiError {
    let error = match most {
        Some(most) => format!("`{param}` must be {least} to {most}."),
        None => format!("`{param}` must be at least {least}."),
    };
    ApiError::parameter(ErrorCode::AmountOutOfRange, param, error)
}

/// An address that can receive USDC. An address in mixed case must have a valid checksum (EIP-55).
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn address(name: &'static str, text: &str) -> Result<Wallet, ApiError> {
    let invalid = |error: String| Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error));
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

/// Limits tokens issued for a payment or an API key to the account's own wallet. The payment may have been relayed, and
/// an API key belongs to an agent.
pub(super) fn require_account_wallet(claims: &AuthClaims, to: &Wallet) -> Result<(), ApiError> {
    if claims.is_signed_in() || *to == claims.wallet {
        return Ok(());
    }
    let error = match claims.is_payment_token() {
        true => "This token was issued for a payment and withdraws only to its own wallet.",
        false => "This token was issued for an API key and withdraws only to its owner's wallet.",
    };
    Err(ApiError::new(ErrorCode::SignInRequired, error).hint("Sign in with GET /auth."))
}

impl App {
    /// Whether an address is the service's own. Withdrawals to those are rejected.
    pub(super) fn is_treasury(&self, wallet: &Wallet) -> bool {
        let pay_to = &self.config.payment.pay_to;
        Network::ALL
            .into_iter()
            .any(|network| pay_to.wallet(network).as_ref() == Some(wallet))
    }
}

fn recipient(state: &App, claims: &AuthClaims, request: &WithdrawRequest) -> Result<Wallet, ApiError> {
    let invalid =
        |param: &'static str, error: &'static str| ApiError::parameter(ErrorCode::ParameterInvalid, param, error);
    let to = match &request.address {
        None => claims.wallet,
        Some(text) => address("address", text)?,
    };
    if state.is_treasury(&to) {
        return Err(invalid("address", "`address` is our own."));
    }
    let network = match request.network.as_deref() {
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

/// Response with one withdrawal.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct WithdrawalResponse<'a> {
    /// Details of the withdrawal.
    withdrawal: schemas::Withdrawal<'a>,
}

/// A page of withdrawals.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct WithdrawalList<'a> {
    /// Withdrawals, oldest first unless `order=desc`.
    withdrawals: Vec<schemas::Withdrawal<'a>>,
    /// Whether more withdrawals follow.
    has_more: bool,
}

/// One withdrawal, or a page of them.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
enum WithdrawalStatusResponse<'a> {
    /// The withdrawal with `withdrawal_id`.
    One(Box<WithdrawalResponse<'a>>),
    /// A page of withdrawals, without `withdrawal_id`.
    All(WithdrawalList<'a>),
}

/// Read withdrawals
///
/// From the account's balance and from the balance at the card issuer.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-withdrawal-status", operation_id = "getWithdrawalStatus", tag = "Account", security(("bearer" = [])),
    params(("withdrawal_id" = Option<String>, Query, description = "One withdrawal; without it all, oldest first."),
        ("order" = inline(Option<schemas::ListOrder>), Query, description = "`asc`, the default, or `desc`."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `id` of the page before.")),
    responses((status = 200, description = "`withdrawal`; or `withdrawals`, `has_more`.", body = WithdrawalStatusResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's withdrawal, or a frozen account."),
        (status = 404, description = "No such withdrawal."))))]
async fn get_withdrawal_status(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["withdrawal_id", "order", "limit", "starting_after"])?;
    refuse_frozen(&state.engine, &claims).await?;
    if let Some(text) = query.get("withdrawal_id") {
        let (id, withdrawal) = load_owned(&state.engine, &claims, text).await?;
        let stuck = stuck_among(&state, [&withdrawal]).await?;
        let withdrawal = render(&state.engine, &id, &withdrawal, &stuck).await?;
        let one = Box::new(WithdrawalResponse { withdrawal });
        return Ok(json::private_ok(&WithdrawalStatusResponse::One(one)));
    }
    let newest_first = query.choice("order", &ORDERS)? == "desc";
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let after = match query.get("starting_after") {
        Some(text) => Some(load_owned(&state.engine, &claims, text).await?.0),
        None => None,
    };
    let start = list_start(newest_first, after);
    let found = state.engine.withdrawals_of(&claims.wallet, start, limit).await;
    let (found, has_more) = found.map_err(|_| ApiError::internal())?;
    let stuck = stuck_among(&state, found.iter().map(|(_, withdrawal)| withdrawal)).await?;
    let mut withdrawals = Vec::with_capacity(found.len());
    for (id, withdrawal) in &found {
        withdrawals.push(render(&state.engine, id, withdrawal, &stuck).await?);
    }
    Ok(json::private_ok(&WithdrawalStatusResponse::All(WithdrawalList {
        withdrawals,
        has_more,
    })))
}

/// A withdrawal with the reason if it is on hold, and whether it is among those that wait for an operator.
async fn render<'a>(
    engine: &Engine,
    id: &WithdrawalId,
    withdrawal: &'a AnyWithdrawal,
    stuck: &BTreeSet<WithdrawalId>,
) -> Result<schemas::Withdrawal<'a>, ApiError> {
    let held = match withdrawal {
        AnyWithdrawal::Account(_) => hold_reason(engine, withdrawal::Job::SendWithdrawal(*id)).await?,
        // An operator pays it, and not while its owner is frozen. A caller here is not frozen.
        AnyWithdrawal::Card(_) => None,
    };
    Ok(schemas::Withdrawal {
        withdrawal: withdrawal.view(id),
        held,
        needs_operator: stuck.contains(id),
    })
}

/// Withdrawals that wait for an operator, if one of these may be among them. Finding them reads every open job, so it is
/// not done while all of these are complete or as new as most that are in progress.
async fn stuck_among<'a>(
    app: &App,
    shown: impl IntoIterator<Item = &'a AnyWithdrawal>,
) -> Result<BTreeSet<WithdrawalId>, ApiError> {
    let now = app.clock.now();
    let may_be_stuck = shown
        .into_iter()
        .filter_map(running_since)
        .any(|since| since.plus_ms(USUAL_TIME_MS) <= now);
    if !may_be_stuck {
        return Ok(BTreeSet::new());
    }
    let stuck = app.engine.dead_lettered_withdrawals().await;
    stuck.map_err(|_| ApiError::internal())
}

/// When a withdrawal began that is carried out by a job now.
const fn running_since(withdrawal: &AnyWithdrawal) -> Option<Timestamp> {
    match withdrawal {
        AnyWithdrawal::Account(one) if matches!(one.status, Status::Pending | Status::Sent(_)) => Some(one.created_at),
        AnyWithdrawal::Card(one) if matches!(one.status, card_withdrawal::Status::Pending) => Some(one.created_at),
        _ => None,
    }
}

/// Loads the caller's withdrawal.
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
        return Err(ApiError::new(ErrorCode::WithdrawalAccessDenied, error));
    }
    Ok((id, withdrawal))
}

/// A time in the query.
pub(super) fn time_param(query: &Query, name: &'static str) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = query.get(name) else {
        return Ok(None);
    };
    rfc3339::parse(text).map(Some).ok_or_else(|| {
        let error = format!("`{name}` is not a time in UTC, such as 2026-11-22T09:41:00Z.");
        ApiError::parameter(ErrorCode::ParameterInvalid, name, error)
    })
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::WithdrawalNotFound, "There is no such withdrawal.")
}
