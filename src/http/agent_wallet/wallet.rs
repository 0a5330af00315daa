//! `createAgentWallet`, `getAgentWallet`, `getAgentSpendLimit`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::answer::ExactDecimal;
use purser_actors::engine::OperationError;
use purser_actors::entity::agent_wallet::{AgentWallet, WalletHold};
use purser_actors::entity::agent_wallet::{AgentWalletView, MerchantCapsView};
use purser_actors::entity::session::AuthMethod;
use purser_actors::id::{Network, Wallet, WalletPaymentId};
use purser_actors::kernel::Entity as _;
use purser_actors::kernel::idempotency::CommandResult;
use purser_actors::money::Usdc;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::account::BearerClaims;
use super::super::auth::AuthClaims;
use super::super::callable::{self, in_camel_case, reply, require_spend_rights};
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
#[cfg(feature = "documents")]
use super::super::schemas;
use super::payments::{AgentPaymentResult, PaidCallResponse};
use super::{EmptyRequest, SharedState, payment_error, payments};
use crate::http::app::App;

/// Result of `createAgentWallet`.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CreateAgentWalletResult {
    /// The new or existing wallet.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::AgentWallet))]
    wallet: AgentWalletView,
}

/// Create the managed wallet
///
/// An account has one: a USDC address on Base and one on Solana. The service derives their keys and signs with them for
/// this account's agents. Both addresses belong to the account, and so do purchases they pay for here. Returns the
/// existing wallet if there is one.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/createAgentWallet", operation_id = "createAgentWallet", tag = "Agent wallet", security(("bearer" = [])), request_body = inline(EmptyRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`wallet`.", body = CreateAgentWalletResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token issued for a payment."),
        (status = 409, description = "The first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn create_agent_wallet(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<EmptyRequest>(body).await?;
    state.admit(&claims, &call).await?;
    require_spend_rights(&claims)?;
    let (engine, owner, amr, limits) = (
        state.engine.clone(),
        claims.wallet,
        claims.amr,
        state.config.agent_wallet.default_caps(),
    );
    let made = state.wallets.create(&owner).map_err(|_| ApiError::internal())?;
    key.run(
        &state.engine,
        &claims,
        "/createAgentWallet",
        &(),
        move |place| async move {
            let recorder = place.map(|place| {
                recorder::<AgentWallet>(place, move |outcome: CommandResult<'_, AgentWallet>| match outcome {
                    Ok((_, Some(wallet))) => Ok(created(wallet, amr)),
                    _ => Err(ApiError::internal()),
                })
            });
            match engine.create_agent_wallet(owner, made, limits, recorder).await {
                Ok(()) => {}
                Err(OperationError::Rejected(why)) => return Err(payment_error(&why)),
                Err(denied) => return Err(in_progress_response(&denied)),
            }
            let wallet = engine.agent_wallet(&owner).await.map_err(|_| ApiError::internal())?;
            Ok(created(&wallet.ok_or_else(ApiError::internal)?, amr))
        },
    )
    .await
}

fn created(wallet: &AgentWallet, reader: AuthMethod) -> RecordedReply {
    reply(&CreateAgentWalletResult {
        wallet: wallet.seen_by(reader),
    })
}

/// Request of `getAgentWallet`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct GetWalletRequest {
    /// Wallet payment to show with the response of its call.
    wallet_payment_id: Option<String>,
}

/// A managed wallet with its current balances.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct GetAgentWalletResult {
    /// Addresses and limits of the wallet.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::AgentWallet))]
    wallet: Box<RawValue>,
    /// Balances in USDC.
    balances: AgentBalances,
    /// Pending wallet payments, oldest first.
    pending_payments: Vec<PendingWalletPayment>,
    /// `settled`, `pending`, `failed` or `unsettled`: status of the requested wallet payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::WalletPaymentProgress>))]
    status: Option<&'static str>,
    /// Requested wallet payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::WalletPayment>))]
    wallet_payment: Option<Box<RawValue>>,
    /// Response to the call of that payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<PaidCallResponse>))]
    response: Option<Option<PaidCallResponse>>,
}

/// Balances by chain.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AgentBalances {
    /// Balance on Base.
    base: AgentBalance,
    /// Balance on Solana.
    solana: AgentBalance,
}

/// USDC on one chain.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AgentBalance {
    /// Balance on chain.
    balance: ExactDecimal,
    /// Part of the balance reserved for pending payments.
    held: ExactDecimal,
    /// Part of the balance that can be spent.
    available: ExactDecimal,
}

/// A pending wallet payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct PendingWalletPayment {
    /// Id of the wallet payment.
    wallet_payment_id: WalletPaymentId,
    /// `base` or `solana`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::NetworkName))]
    network: &'static str,
    /// Amount in USDC.
    amount: ExactDecimal,
}

/// Read the managed wallet
///
/// Its addresses and limits, its balances on chain, and the amounts reserved for pending payments. A token issued for a
/// payment can't read wallet payments.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/getAgentWallet", operation_id = "getAgentWallet", tag = "Agent wallet", security(("bearer" = [])), request_body = inline(GetWalletRequest),
    responses((status = 200, description = "`wallet`, `balances`, `pendingPayments`; with `walletPaymentId` also `walletPayment`, `response`.", body = GetAgentWalletResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId` or spend, frozen, or a spend by a token issued for a payment."),
        (status = 404, description = "No wallet, or no such spend."), (status = 503, description = "A chain cannot be read now."))))]
pub(super) async fn get_agent_wallet(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<GetWalletRequest>(body).await?;
    state.admit(&claims, &call).await?;
    let wallet = state.load_owned_wallet(&claims.wallet).await?;
    let asked = match &call.data.wallet_payment_id {
        None => None,
        Some(text) => {
            let own = state.load_owned_wallet_payment(&claims, text).await?;
            // The response may hold a code or a link that this token's payment did not buy.
            require_spend_rights(&claims)?;
            Some(own)
        }
    };
    let mut result = GetAgentWalletResult {
        wallet: in_camel_case(&wallet.seen_by(claims.amr))?,
        balances: AgentBalances {
            base: state.agent_balance(&wallet, Network::Base).await?,
            solana: state.agent_balance(&wallet, Network::Solana).await?,
        },
        pending_payments: wallet.holds.iter().map(PendingWalletPayment::from).collect(),
        status: None,
        wallet_payment: None,
        response: None,
    };
    if let Some((id, spend)) = asked {
        let stored = payments::stored_response(&state.engine, &state.vault, id, &spend).await?;
        let AgentPaymentResult {
            status,
            wallet_payment,
            response,
        } = payments::render(&state.engine, id, &spend, stored).await?;
        result.status = Some(status);
        result.wallet_payment = wallet_payment;
        result.response = Some(response);
    }
    Ok(callable::result_verbatim(&result))
}

impl From<&WalletHold> for PendingWalletPayment {
    fn from(open: &WalletHold) -> Self {
        Self {
            wallet_payment_id: open.payment,
            network: open.network.name(),
            amount: open.amount.into(),
        }
    }
}

/// Spend limit of the managed wallet.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct AgentSpendLimit {
    /// Cap per payment or transfer.
    per_call_usd: ExactDecimal,
    /// Cap per day (UTC); null without a cap.
    per_day_usd: Option<ExactDecimal>,
    /// Amount spent or reserved today.
    used_today_usd: ExactDecimal,
    /// Rest of the daily cap; null without a cap.
    left_today_usd: Option<ExactDecimal>,
    /// Caps per merchant and day (UTC), if the owner has set any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::AgentMerchantLimits>))]
    merchants: Option<MerchantCapsView>,
}

/// Read the spend limit
///
/// The account owner sets the caps on the account page. Agents read them.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/getAgentSpendLimit", operation_id = "getAgentSpendLimit", tag = "Agent wallet", security(("bearer" = [])), request_body = inline(EmptyRequest),
    responses((status = 200, description = "The caps in US dollars, and what is used of the day's (UTC).", body = AgentSpendLimit),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "No wallet."),
        (status = 503, description = "A chain cannot be read now; only after a restore is one read."))))]
pub(super) async fn get_agent_spend_limit(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<EmptyRequest>(body).await?;
    state.admit(&claims, &call).await?;
    let wallet = state.load_owned_wallet(&claims.wallet).await?;
    let now = state.clock.now();
    let before = state.engine.spent_before(&wallet).await;
    let before = before.ok_or_else(chain_unavailable)?;
    let used = wallet
        .used_on(now)
        .checked_add(before)
        .map_err(|_| ApiError::internal())?;
    Ok(callable::result(&AgentSpendLimit {
        per_call_usd: wallet.caps.per_call.into(),
        per_day_usd: wallet.caps.per_day.map(ExactDecimal::from),
        used_today_usd: used.into(),
        left_today_usd: wallet.remaining_on(now, before).map(ExactDecimal::from),
        merchants: wallet.view(&claims.wallet).limits.merchants,
    }))
}

impl App {
    async fn agent_balance(&self, wallet: &AgentWallet, network: Network) -> Result<AgentBalance, ApiError> {
        let balance = self.wallet_balance(&wallet.addresses.on(network)).await?;
        let held = wallet.held(network);
        Ok(AgentBalance {
            balance: balance.into(),
            held: held.into(),
            available: balance.checked_sub(held).unwrap_or(Usdc::ZERO).into(),
        })
    }

    /// The balance of an address on its chain.
    ///
    /// # Errors
    /// 503 `chain_unavailable`.
    pub(super) async fn wallet_balance(&self, address: &Wallet) -> Result<Usdc, ApiError> {
        let held = self.wallets.balance(address).await;
        held.map_err(|_| chain_unavailable())
    }

    /// Loads the caller's wallet payment.
    async fn load_owned_wallet_payment(
        &self,
        claims: &AuthClaims,
        text: &str,
    ) -> Result<(WalletPaymentId, purser_actors::entity::wallet_payment::WalletPayment), ApiError> {
        let unknown = || ApiError::new(ErrorCode::WalletPaymentNotFound, "There is no such spend.");
        let id: WalletPaymentId = text.parse().map_err(|_| unknown())?;
        let found = self.engine.wallet_payment(&id).await;
        let spend = found.map_err(|_| ApiError::internal())?.ok_or_else(unknown)?;
        if spend.owner != claims.wallet {
            let error = "This spend belongs to another wallet.";
            return Err(ApiError::new(ErrorCode::WalletPaymentAccessDenied, error));
        }
        Ok((id, spend))
    }
}

fn chain_unavailable() -> ApiError {
    ApiError::unavailable(ErrorCode::ChainUnavailable, "The chain cannot be read now.", 1)
}
