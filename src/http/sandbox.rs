//! `/sandbox/*`: control and inspect the simulated chains and providers. Only in sandbox mode, without account limits.

pub mod bank;
pub mod bridge;
pub mod card_charges;
pub mod catalogs;
pub mod clock;
pub mod identity;
pub mod identity_result;
pub mod payouts;
pub mod reloadable_cards;
pub mod remote_guard;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::engine::Engine;
use purser_actors::id::Wallet;
use purser_actors::port::{Authorization, Entropy, PreparedTransaction, Settlement as _, SubmitResult};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{ApiError, ErrorCode};
use super::query::Query;
use super::route::{self, Listing, Table, routes};
use super::{json, openapi};
use crate::page::PageFrame;
use crate::payment::decode::{Payload, decode};
use crate::payment::evm::parse_fields;
use crate::provider::sandbox::all::SandboxProviders;
use crate::provider::sandbox::control::catalogs::CatalogControl;
use crate::provider::sandbox::control::payouts::PayoutControl;
use crate::provider::sandbox::control::{
    BalanceRequest, ChainFaultRequest, ControlError, FaucetRequest, IssuerFaultRequest, NetworkParam, SandboxControl,
    TransfersRequest,
};
#[cfg(feature = "documents")]
use crate::provider::sandbox::control::{BalanceResponse, MagicValue, SandboxView, TransferList};
use crate::sandbox::chains::SandboxSettlement;
use crate::sandbox::chains::remote::ChainRpcRequest;
#[cfg(feature = "documents")]
use crate::sandbox::chains::remote::ChainRpcResponse;
use crate::sandbox::faults::FaultRule;

/// State of the controls of the built-in providers. `purser serve-providers` serves some of them too.
pub struct ProviderControls {
    pub providers: SandboxProviders,
    /// Frame of the pages for people.
    pub frame: PageFrame,
    pub entropy: Arc<dyn Entropy>,
    pub max_body_bytes: usize,
}

/// State of the other controls.
pub struct SandboxApp {
    pub shared: Arc<ProviderControls>,
    pub engine: Engine,
    /// Chains and issuer.
    pub control: SandboxControl,
    /// Answers Solana's JSON-RPC.
    pub settlement: Arc<SandboxSettlement>,
    pub catalogs: CatalogControl,
    pub payouts: PayoutControl,
}

/// Tables with [`ProviderControls`].
static PROVIDERS: [&Table<Arc<ProviderControls>>; 4] = [
    &bank::ROUTES,
    &bridge::ROUTES,
    &identity::PAGES,
    &reloadable_cards::ROUTES,
];

/// Tables with [`SandboxApp`].
static TABLES: [&Table<Arc<SandboxApp>>; 6] = [
    &ROUTES,
    &card_charges::ROUTES,
    &catalogs::ROUTES,
    &identity::ROUTES,
    &identity_result::ROUTES,
    &payouts::ROUTES,
];

pub fn listings() -> impl Iterator<Item = Listing> {
    let providers = PROVIDERS.iter().map(|table| table.listing);
    let others = TABLES.iter().map(|table| table.listing);
    others
        .chain(providers)
        .chain([clock::ROUTES.listing, openapi::SANDBOX.listing])
}

/// A router with all controls but those of the clock.
pub fn router(app: Arc<SandboxApp>) -> Router {
    let shared = app.shared.clone();
    route::router(&TABLES, app).merge(route::router(&PROVIDERS, shared))
}

/// A fault that waits for a call.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PendingProviderFault {
    /// Name of the fault.
    fault: &'static str,
    /// Remaining occurrences; null until cleared.
    remaining: Option<u32>,
}

impl PendingProviderFault {
    fn all(waiting: &[FaultRule<()>]) -> Vec<Self> {
        let shown = waiting.iter().map(|rule| Self {
            fault: rule.fault.name(),
            remaining: rule.remaining,
        });
        shown.collect()
    }
}

type SharedState = State<Arc<SandboxApp>>;

routes! { pub static ROUTES: Arc<SandboxApp>, openapi;
    GET "/sandbox" => get_state { Sandbox }
    GET "/sandbox/balances" => get_balance { Sandbox }
    GET "/sandbox/transfers" => get_transfers { Sandbox }
    GET "/sandbox/magic" => get_magic { Sandbox }
    POST "/sandbox/chain" => post_chain { Sandbox, control() }
    POST "/sandbox/issuer" => post_issuer { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/faucet" => post_faucet {
        Sandbox, unkeyed("controls the simulated chains and providers"), refuses [
            BodyMalformed, ParameterUnrecognized, ParameterMissing, ParameterInvalid,
        ]
    }
    POST "/sandbox/freeze" => post_freeze { Sandbox, control() }
    POST "/sandbox/base" => post_base { Sandbox, control() }
    POST "/sandbox/solana" => post_solana { Sandbox, control() }
    POST "/sandbox/chain-rpc" => post_settlement { Sandbox, control() }
}

/// The response to a request that reads or controls the sandbox.
fn answer<T: Serialize>(outcome: Result<T, ControlError>) -> Result<Response, ApiError> {
    outcome.map(|view| json::ok(&view)).map_err(|error| match error {
        ControlError::Invalid { param, .. } => {
            ApiError::parameter(ErrorCode::ParameterInvalid, param, error.to_string())
        }
        ControlError::Stopped(_) => ApiError::unavailable(ErrorCode::SandboxUnavailable, "The sandbox has stopped.", 1),
    })
}

impl ProviderControls {
    async fn body<T: DeserializeOwned>(&self, body: Body) -> Result<T, ApiError> {
        json::read(body, self.max_body_bytes).await
    }
}

/// Read the state of chains and issuer
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/sandbox", operation_id = "getSandboxState", tag = "Sandbox",
    responses((status = 200, description = "The simulated world.", body = SandboxView))))]
async fn get_state(State(sandbox): SharedState) -> Result<Response, ApiError> {
    answer(sandbox.control.state().await)
}

/// Read the balance of a wallet on its chain
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/sandbox/balances", operation_id = "getSandboxBalance", tag = "Sandbox", params(("wallet" = String, Query, description = "An address of either chain.")),
    responses((status = 200, description = "Its balance.", body = BalanceResponse))))]
async fn get_balance(State(sandbox): SharedState, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["wallet"])?;
    let wallet = query.required("wallet")?.to_owned();
    answer(sandbox.control.balance(&BalanceRequest { wallet }).await)
}

/// List the transfers of a chain
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/sandbox/transfers", operation_id = "listSandboxTransfers", tag = "Sandbox", params(("network" = Option<String>, Query, description = "`base` (default) or `solana`."),
    ("after" = Option<u64>, Query, description = "The position behind which the page begins."),
    ("limit" = Option<u32>, Query, description = "1 to 1,000, 100 by default.")),
    responses((status = 200, description = "A page of transfers, oldest first.", body = TransferList))))]
async fn get_transfers(State(sandbox): SharedState, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["network", "after", "limit"])?;
    let network = match query.choice("network", &["base", "solana"])? {
        "solana" => NetworkParam::Solana,
        _ => NetworkParam::Base,
    };
    let request = TransfersRequest {
        network: Some(network),
        after: Some(query.number("after", 0, 0, u64::MAX)?),
        limit: Some(query.number("limit", 100, 1, 1_000)? as usize),
    };
    answer(sandbox.control.transfers(&request).await)
}

/// List the amounts that force an outcome
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/sandbox/magic", operation_id = "listMagicValues", tag = "Sandbox",
    responses((status = 200, description = "The list.", body = Vec<MagicValue>))))]
async fn get_magic(State(sandbox): SharedState) -> Response {
    json::ok(&sandbox.control.magic_values())
}

/// Inject a fault into a chain
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/chain", operation_id = "injectChainFault", tag = "Sandbox", request_body = inline(ChainFaultRequest),
    responses((status = 200, description = "The chains after it.", body = SandboxView))))]
async fn post_chain(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: ChainFaultRequest = sandbox.shared.body(body).await?;
    answer(sandbox.control.set_chain_fault(&request).await)
}

/// Inject a fault into the card issuer
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/issuer", operation_id = "injectIssuerFault", tag = "Sandbox", request_body = inline(IssuerFaultRequest),
    responses((status = 200, description = "The issuer after it.", body = SandboxView),
        (status = 409, description = "The provider is remote."))))]
async fn post_issuer(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: IssuerFaultRequest = sandbox.shared.body(body).await?;
    answer(sandbox.control.set_issuer_fault(&request).await)
}

/// Give a wallet test USDC
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/faucet", operation_id = "fundSandboxWallet", tag = "Sandbox", request_body = inline(FaucetRequest),
    responses((status = 200, description = "Its balance after it.", body = BalanceResponse))))]
async fn post_faucet(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: FaucetRequest = sandbox.shared.body(body).await?;
    answer(sandbox.control.faucet(&request).await)
}

/// Account to freeze or unfreeze.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct SandboxFreezeRequest {
    /// Wallet address on either chain.
    wallet: String,
    /// Message shown to the owner. The account is unfrozen if absent.
    message: Option<String>,
}

/// Result of freezing or unfreezing an account.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SandboxFreezeResponse {
    /// Exact wallet address.
    wallet: String,
    /// Whether the account is frozen now.
    frozen: bool,
}

/// Freeze an account, or unfreeze it without a message
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/freeze", operation_id = "freezeSandboxAccount", tag = "Sandbox", request_body = inline(SandboxFreezeRequest),
    responses((status = 200, description = "What is true now.", body = SandboxFreezeResponse))))]
async fn post_freeze(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: SandboxFreezeRequest = sandbox.shared.body(body).await?;
    let wallet: Wallet = request
        .wallet
        .parse()
        .map_err(|_| ApiError::parameter(ErrorCode::ParameterInvalid, "wallet", "not an address"))?;
    let frozen = request.message.is_some();
    sandbox
        .engine
        .set_frozen(wallet, request.message, None)
        .await
        .map_err(|_| ApiError::unavailable(ErrorCode::ServiceUnavailable, "The account could not be changed.", 1))?;
    Ok(json::ok(&SandboxFreezeResponse {
        wallet: wallet.address(),
        frozen,
    }))
}

/// A payment that a seller received.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct SubmitBasePaymentRequest {
    /// Value of `PAYMENT-SIGNATURE`, on Base.
    payment: String,
}

/// Result of a submitted payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SubmitBasePaymentResponse {
    /// Whether the transfer is on chain.
    success: bool,
    /// Transaction id, if the transfer is on chain.
    transaction: Option<String>,
    /// Reason of the chain, if it declined.
    reason: Option<String>,
}

/// Submit a payment on Base
///
/// Any receiver of a payment can do this. Other sellers in the sandbox settle their payments this way.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/base", operation_id = "submitSandboxBasePayment", tag = "Sandbox", request_body = inline(SubmitBasePaymentRequest),
    responses((status = 200, description = "What the chain did with it.", body = SubmitBasePaymentResponse),
        (status = 400, description = "No payment on Base."), (status = 503, description = "The chain gave no answer."))))]
async fn post_base(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let taken: SubmitBasePaymentRequest = sandbox.shared.body(body).await?;
    let none = || {
        ApiError::parameter(
            ErrorCode::ParameterInvalid,
            "payment",
            "`payment` is no EIP-3009 payment.",
        )
    };
    let payment = decode(taken.payment.as_bytes()).map_err(|_| none())?;
    let Payload::Evm(payload) = payment.payload else {
        return Err(none());
    };
    let authorization = Authorization::Evm(parse_fields(&payload).ok_or_else(none)?);
    // On Base the authorization itself is submitted.
    let prepared = PreparedTransaction {
        bytes: Vec::new(),
        transaction: String::new(),
    };
    let submitted = sandbox.settlement.submit(&authorization, &prepared).await;
    let receipt = match submitted {
        Ok(SubmitResult::Settled { transaction, .. }) => SubmitBasePaymentResponse {
            success: true,
            transaction: Some(transaction),
            reason: None,
        },
        Ok(SubmitResult::Declined(decline)) => SubmitBasePaymentResponse {
            success: false,
            transaction: None,
            reason: Some(decline.reason.to_string()),
        },
        Err(_) => {
            return Err(ApiError::unavailable(
                ErrorCode::ChainUnavailable,
                "The chain gave no answer.",
                1,
            ));
        }
    };
    Ok(json::ok(&receipt))
}

/// Call Solana's JSON-RPC as stock clients do
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/solana", operation_id = "callSandboxSolanaRpc", tag = "Sandbox", request_body = serde_json::Value,
    responses((status = 200, description = "As a Solana node answers.", body = serde_json::Value))))]
async fn post_solana(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: Value = sandbox.shared.body(body).await?;
    Ok(json::ok(&sandbox.settlement.handle_rpc(request).await))
}

/// Serve the chains to a bridge in another process
///
/// For `purser serve-providers --chain-url`. Request and response use `purser`'s own encoding, of the same version.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/chain-rpc", operation_id = "callSandboxChain", tag = "Sandbox", request_body = inline(ChainRpcRequest),
    responses((status = 200, description = "What they say.", body = inline(ChainRpcResponse)))))]
async fn post_settlement(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let question: ChainRpcRequest = sandbox.shared.body(body).await?;
    match question.execute(&sandbox.settlement).await {
        Some(reply) => Ok(json::ok(&reply)),
        None => Err(ApiError::parameter(
            ErrorCode::ParameterInvalid,
            "request",
            "not a request of this version",
        )),
    }
}
