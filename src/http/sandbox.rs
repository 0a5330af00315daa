//! `/sandbox/*`: steer and inspect the pretended world. Only there in sandbox mode, never limited by an account.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::{get, post};
use purser_actors::engine::Engine;
use purser_actors::id::Wallet;
use purser_actors::kernel::View;
use serde::Deserialize;
use serde_json::Value;
use utoipa::{OpenApi, ToSchema};

use super::error::ApiError;
use super::json;
use crate::sandbox::desk::{
    BalanceRequest, ChainFaultRequest, DeskError, FaucetRequest, IssuerFaultRequest, SandboxDesk, TransfersRequest,
};
use crate::settlement::sandbox::SandboxSettlement;

/// What these routes need.
pub struct SandboxRoutes {
    /// Chains and issuer.
    pub desk: SandboxDesk,
    /// Answers Solana's JSON-RPC.
    pub settlement: Arc<SandboxSettlement>,
    /// To freeze accounts.
    pub engine: Engine,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

/// These routes in `/openapi.json`, in sandbox mode only.
#[derive(OpenApi)]
#[openapi(paths(
    get_state,
    get_balance,
    get_transfers,
    get_magic,
    post_chain,
    post_issuer,
    post_faucet,
    post_freeze,
    post_solana
))]
pub struct Api;

type Shared = State<Arc<SandboxRoutes>>;

/// The routes.
pub fn router(state: Arc<SandboxRoutes>) -> Router {
    Router::new()
        .route("/sandbox", get(get_state))
        .route("/sandbox/balances", get(get_balance))
        .route("/sandbox/transfers", get(get_transfers))
        .route("/sandbox/magic", get(get_magic))
        .route("/sandbox/chain", post(post_chain))
        .route("/sandbox/issuer", post(post_issuer))
        .route("/sandbox/faucet", post(post_faucet))
        .route("/sandbox/freeze", post(post_freeze))
        .route("/sandbox/solana", post(post_solana))
        .with_state(state)
}

impl From<DeskError> for ApiError {
    fn from(error: DeskError) -> Self {
        match error {
            DeskError::Invalid { param, .. } => {
                let text = error.to_string();
                Self::parameter("parameter_invalid", param, text)
            }
            DeskError::Stopped(_) => Self::unavailable("sandbox_stopped", "The sandbox has stopped.", 1),
        }
    }
}

impl SandboxRoutes {
    async fn body<T: serde::de::DeserializeOwned>(&self, body: Body) -> Result<T, ApiError> {
        json::read(body, self.max_body_bytes, self.body_timeout).await
    }
}

fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, ApiError> {
    let Query(query) = query.map_err(|e| ApiError::parameter("parameter_invalid", "query", e.body_text()))?;
    Ok(query)
}

/// Chains and issuer at a glance
#[utoipa::path(get, path = "/sandbox", tag = "Sandbox",
    responses((status = 200, description = "`chains`, `issuer`, the faults that wait, `solana_fee_payer`.")))]
async fn get_state(State(sandbox): Shared) -> Result<Response, ApiError> {
    Ok(json::ok(&sandbox.desk.state().await?))
}

/// Test USDC of a wallet
#[utoipa::path(get, path = "/sandbox/balances", tag = "Sandbox",
    params(("wallet" = String, Query, description = "An address of either chain.")),
    responses((status = 200, description = "`wallet`, `network`, `usdc`, `atomic`."),
        (status = 400, description = "`wallet` is missing or no address.")))]
async fn get_balance(
    State(sandbox): Shared,
    request: Result<Query<BalanceRequest>, QueryRejection>,
) -> Result<Response, ApiError> {
    Ok(json::ok(&sandbox.desk.balance(&query(request)?).await?))
}

/// Transfers on a chain
#[utoipa::path(get, path = "/sandbox/transfers", tag = "Sandbox",
    params(("network" = Option<String>, Query, description = "`base` (default) or `solana`."),
        ("after" = Option<u64>, Query, description = "The position behind which the page begins."),
        ("limit" = Option<u32>, Query, description = "1 to 1000, 100 by default.")),
    responses((status = 200, description = "`transfers`, oldest first, and `has_more`."),
        (status = 400, description = "A parameter is wrong.")))]
async fn get_transfers(
    State(sandbox): Shared,
    request: Result<Query<TransfersRequest>, QueryRejection>,
) -> Result<Response, ApiError> {
    Ok(json::ok(&sandbox.desk.transfers(&query(request)?).await?))
}

/// Amounts that force an outcome
#[utoipa::path(get, path = "/sandbox/magic", tag = "Sandbox",
    responses((status = 200, description = "A list of `applies_to`, `amount`, `effect`.")))]
async fn get_magic(State(sandbox): Shared) -> Response {
    json::ok(&sandbox.desk.magic())
}

/// Make the chains misbehave
#[utoipa::path(post, path = "/sandbox/chain", tag = "Sandbox", request_body = inline(ChainFaultRequest),
    responses((status = 200, description = "The new state, as `GET /sandbox`."),
        (status = 400, description = "`param` names the field at fault; nothing has changed.")))]
async fn post_chain(State(sandbox): Shared, body: Body) -> Result<Response, ApiError> {
    let request: ChainFaultRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.desk.steer_chain(&request).await?))
}

/// Make the card issuer misbehave
#[utoipa::path(post, path = "/sandbox/issuer", tag = "Sandbox", request_body = inline(IssuerFaultRequest),
    responses((status = 200, description = "The new state, as `GET /sandbox`."),
        (status = 400, description = "`param` names the field at fault; nothing has changed.")))]
async fn post_issuer(State(sandbox): Shared, body: Body) -> Result<Response, ApiError> {
    let request: IssuerFaultRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.desk.steer_issuer(&request).await?))
}

/// Give a wallet test USDC
#[utoipa::path(post, path = "/sandbox/faucet", tag = "Sandbox", request_body = inline(FaucetRequest),
    responses((status = 200, description = "The new balance, as `GET /sandbox/balances`."),
        (status = 400, description = "`param` names the field at fault; nothing has changed.")))]
async fn post_faucet(State(sandbox): Shared, body: Body) -> Result<Response, ApiError> {
    let request: FaucetRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.desk.faucet(&request).await?))
}

/// Freezes an account, or unfreezes it when there is no message.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Freeze {
    /// An address of either chain.
    wallet: String,
    /// What its holder is told; absent to unfreeze.
    message: Option<String>,
}

/// Freeze or unfreeze an account
#[utoipa::path(post, path = "/sandbox/freeze", tag = "Sandbox", request_body = inline(Freeze),
    responses((status = 200, description = "`wallet` and `frozen`."),
        (status = 400, description = "`param` names the field at fault; nothing has changed.")))]
async fn post_freeze(State(sandbox): Shared, body: Body) -> Result<Response, ApiError> {
    let request: Freeze = sandbox.body(body).await?;
    let wallet: Wallet = request
        .wallet
        .parse()
        .map_err(|_| ApiError::parameter("parameter_invalid", "wallet", "not an address"))?;
    let frozen = request.message.is_some();
    sandbox
        .engine
        .set_frozen(wallet, request.message)
        .await
        .map_err(|_| ApiError::unavailable("unavailable", "The account could not be changed.", 1))?;
    let body = View::new().text("wallet", wallet.address()).flag("frozen", frozen);
    Ok(json::bytes_as_json(body.to_json()))
}

/// Solana JSON-RPC
///
/// The calls that stock clients make to build a payment.
#[utoipa::path(post, path = "/sandbox/solana", tag = "Sandbox",
    responses((status = 200, description = "A JSON-RPC answer."),
        (status = 400, description = "The body is not JSON.")))]
async fn post_solana(State(sandbox): Shared, body: Body) -> Result<Response, ApiError> {
    let request: Value = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.settlement.handle_rpc(request).await))
}
