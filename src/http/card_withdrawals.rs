//! `POST /withdraw-card-balance`: withdraws from the balance at the card issuer. An operator pays it out. Clients
//! follow it with `GET /get-withdrawal-status`, like every withdrawal.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::engine::OperationError;
use purser_actors::entity::card_withdrawal::{CardWithdrawal, INSUFFICIENT, Status};
use purser_actors::entity::spend_approval::{SpendAct, SpendPayee};
use purser_actors::id::WithdrawalId;
use purser_actors::kernel::idempotency::IdempotencySlot;
use purser_actors::money::{Cents, Usdc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::balance_spends::{AnswerForm, BalanceCall, agent_spend, denied};
use super::error::{ApiError, ErrorCode};
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder_of};
use super::reloadable_cards::ISSUER_TIMEOUT;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use super::top_ups;
use super::withdrawals::{CreateWithdrawalResponse, WithdrawalAnswer, address, in_range, require_account_wallet};

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/withdraw-card-balance" => withdraw_card_balance {
        Token, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterMissing, AmountInvalid, AmountOutOfRange,
            ParameterInvalid, AccountFrozen, SignInRequired, IdempotencyKeyReused, IssuerNotLinked,
            InsufficientCardBalance,
        ]
    }
}

/// 2 US dollars.
const MIN_AMOUNT: Cents = Cents::new(200);
/// 10,000 US dollars.
const MAX_AMOUNT: Cents = Cents::new(1_000_000);

/// Request of `POST /withdraw-card-balance`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct CardWithdrawalRequest {
    /// US dollars, 2 to 10,000, at most 2 decimal places.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ExactDecimal))]
    amount: Box<RawValue>,
    /// Address that receives USDC, on Base or Solana.
    destination_address: String,
    /// Approval of the account owner for this withdrawal, from a 202.
    approval_id: Option<String>,
}

/// Covered by the idempotency fingerprint.
#[derive(Serialize)]
struct CardWithdrawalParams {
    amount: String,
    destination_address: String,
}

/// Withdraw from the balance at the card issuer
///
/// The issuer holds the amount at once, and an operator pays it out. Follow `status_url`: `pending`, `queued`,
/// `claimed`, then `complete` or `rejected`. After `rejected` the issuer releases the hold
/// (`card_withdrawal.hold_released`). If the issuer declines the amount after this response, the withdrawal is
/// `failed`.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/withdraw-card-balance", operation_id = "createCardBalanceWithdrawal", tag = "Card balance", security(("bearer" = [])), request_body = inline(CardWithdrawalRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 202, description = "`success`, `withdrawal`, `status_url`. Or `approval_required`: over a limit, and the account's owner wants to be asked. Nothing was held. Make the same call again once the owner has approved.", body = WithdrawalAnswer<'static>),
        (status = 400, description = "A malformed body, amount, address or key."), (status = 401, description = "No good token."),
        (status = 403, description = "A frozen account, a limit of the owner (`policy_filtered`), an approval that the owner declined, or a token issued for a payment and another address than the wallet's."),
        (status = 404, description = "No such approval."),
        (status = 409, description = "An approval of something else, or that is used or too old. The balance is smaller than the amount (with `retry_after_seconds` while a top-up is on its way), the issuer refused, or the first request with this key is still running."),
        (status = 412, description = "No account at the card issuer is linked."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many requests."), (status = 503, description = "Not now."))))]
async fn withdraw_card_balance(
    State(state): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let request: CardWithdrawalRequest = state.body(body).await?;
    let amount = in_range(request.amount.get(), "amount", MIN_AMOUNT, Some(MAX_AMOUNT))?;
    let to = address("destination_address", &request.destination_address)?;
    if state.is_treasury(&to) {
        return Err(ApiError::parameter(
            ErrorCode::ParameterInvalid,
            "destination_address",
            "`destination_address` is our own.",
        ));
    }
    refuse_frozen(&state.engine, &claims).await?;
    require_account_wallet(&claims, &to)?;
    let order = CardWithdrawalParams {
        amount: amount.to_string(),
        destination_address: to.address(),
    };
    let caller = claims.clone();
    let (owner, route) = (claims.wallet, "/withdraw-card-balance");
    let (first, later) = (state.clone(), state.clone());
    let run = move |place: Option<IdempotencySlot>| async move {
        let account = top_ups::linked(&first.engine, &owner).await?;
        let pending = top_ups::await_pending(
            &first.engine,
            &*first.providers.balances,
            (&owner, &account),
            ("amount", amount),
        )
        .await?;
        let asked = BalanceCall {
            payee: SpendPayee::Wallet(to),
            amount: Usdc::from_cents(amount).map_err(|_| ApiError::internal())?,
            act: SpendAct::CardBalanceWithdrawal,
            note: None,
            approval: request.approval_id.as_deref(),
        };
        let asked = agent_spend(&caller, asked)?;
        let id = WithdrawalId::mint(owner.shard(), first.entropy.random());
        let recorder = place.map(|place| recorder_of::<CardWithdrawal, CardWithdrawal>(place, id));
        let engine = &first.engine;
        let done = engine.withdraw_card_balance_for(asked.as_ref(), (id, owner, account), (to, amount), recorder);
        match done.await {
            Ok(()) => accepted(&first, id, pending).await,
            Err(OperationError::Specific(why)) => denied(engine, &first.public_url, &why, AnswerForm::Route).await,
            Err(OperationError::AlreadyUsed) => Err(in_progress_response::<()>(&OperationError::AlreadyUsed)),
            Err(_) => Err(in_progress_response::<()>(&OperationError::Unavailable)),
        }
    };
    let follow = |key: Vec<u8>| async move {
        let id = <[u8; 16]>::try_from(key).map_err(|_| ApiError::internal())?;
        let pending = top_ups::pending(&later.engine, &owner).await?;
        accepted(&later, WithdrawalId(u128::from_be_bytes(id)), pending).await
    };
    key.run_following_until_recorded(&state.engine, &claims, route, &order, run, follow)
        .await
}

/// The response, as sent each time. It is the issuer's decline if that is known soon enough. `pending` is the amount
/// that was on its way to the balance at the time of the request.
async fn accepted(state: &App, id: WithdrawalId, pending: Cents) -> Result<RecordedReply, ApiError> {
    let read = async || {
        let read = state
            .engine
            .card_withdrawal(&id)
            .await
            .map_err(|_| ApiError::internal())?;
        read.ok_or_else(ApiError::internal)
    };
    let mut asked = read().await?;
    if asked.status == Status::Pending {
        drop(tokio::time::timeout(ISSUER_TIMEOUT, state.engine.await_card_withdrawal(id)).await);
        asked = read().await?;
    }
    match &asked.status {
        Status::Failed { reason } if reason.as_str() == INSUFFICIENT => {
            return Err(top_ups::insufficient("amount", pending));
        }
        Status::Failed { .. } => {
            let error = "The card issuer refused the withdrawal. Nothing was taken.";
            return Err(ApiError::new(ErrorCode::WithdrawalDeclined, error));
        }
        _ => {}
    }
    let body = CreateWithdrawalResponse::of(id, asked.amount.into(), &state.public_url);
    Ok(RecordedReply::accepted(&WithdrawalAnswer::Accepted(body)))
}
