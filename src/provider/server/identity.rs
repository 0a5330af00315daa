//! Routes of identity checks and issuer accounts.

use purser_actors::port;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use purser_actors::port::{CardBalances, CardDeposit, IssuerAccounts};
use serde::Deserialize;
use utoipa::{IntoParams, OpenApi};

use super::{IdempotencyKeyHeader, ProtocolBody, ProtocolErrorResponse, ProtocolQuery, ProtocolResult, not_found, ok};
use crate::provider::wire::identity::{
    IdentityCheck, IdentityCheckRequest, IdentityCheckResponse, IssuerAccountRequest, IssuerAccountResponse,
    IssuerBalance, IssuerDeposit,
};
use crate::provider::wire::{BaseAddress, ErrorCode, TextValue, UsdcAmount};
use crate::provider::{CardBalanceReader, Providers};

#[derive(Clone)]
struct IdentityServerState {
    identity_check: Arc<dyn port::IdentityCheck>,
    accounts: Arc<dyn IssuerAccounts>,
    deposits: Arc<dyn CardBalances>,
    balances: Arc<dyn CardBalanceReader>,
}

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/identity-checks", post(start_identity_check))
        .route("/identity-checks/{reference}", get(check_status))
        .route("/issuer-accounts", post(open_account))
        .route("/issuer-accounts/{address}", get(account_balance))
        .route(
            "/issuer-accounts/{address}/deposits/{transaction}",
            get(account_deposit),
        )
        .with_state(IdentityServerState {
            identity_check: providers.identity_check.clone(),
            accounts: providers.accounts.clone(),
            deposits: providers.deposits.clone(),
            balances: providers.balances.clone(),
        })
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(start_identity_check, check_status, open_account, account_balance, account_deposit))]
    struct ApiDoc;
    ApiDoc::openapi()
}

/// Start an identity check, or return the one started with this key
#[utoipa::path(post, path = "/v1/identity-checks", operation_id = "startIdentityCheck", tag = "Identity", request_body = IdentityCheckRequest,
    params(("Idempotency-Key" = String, Header, description = "The same key never starts a second check.")),
    responses((status = 200, description = "The started check, with the URL of its form.", body = IdentityCheck)))]
async fn start_identity_check(
    State(people): State<IdentityServerState>,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(order): ProtocolBody<IdentityCheckRequest>,
) -> ProtocolResult<IdentityCheck> {
    let wallet = order.wallet.0.0;
    let begun = people
        .identity_check
        .start(&port::IdentityCheckRequest { key, wallet })
        .await?;
    ok(IdentityCheck::of(wallet, begun))
}

/// Return the status of a check
#[utoipa::path(get, path = "/v1/identity-checks/{reference}", operation_id = "getIdentityCheck", tag = "Identity",
    params(("reference" = String, Path, description = "The provider's reference of the check.")),
    responses((status = 200, description = "Pending, passed or failed.", body = IdentityCheckResponse)))]
async fn check_status(
    State(people): State<IdentityServerState>,
    Path(reference): Path<String>,
) -> ProtocolResult<IdentityCheckResponse> {
    let said = people.identity_check.status(&reference).await.map_err(not_found)?;
    ok(IdentityCheckResponse::of(&reference, said))
}

/// Open an account at the issuer, or return the existing one
#[utoipa::path(post, path = "/v1/issuer-accounts", operation_id = "openIssuerAccount", tag = "Issuer accounts", request_body = IssuerAccountRequest,
    responses((status = 200, description = "Result of the request.", body = IssuerAccountResponse)))]
async fn open_account(
    State(people): State<IdentityServerState>,
    ProtocolBody(order): ProtocolBody<IssuerAccountRequest>,
) -> ProtocolResult<IssuerAccountResponse> {
    let holder = order.wallet.0.0;
    let said = people.accounts.open(&holder).await?;
    ok(IssuerAccountResponse::of(holder, said))
}

/// Return the current balance of a deposit address
#[utoipa::path(get, path = "/v1/issuer-accounts/{address}", operation_id = "getIssuerAccountBalance", tag = "Issuer accounts",
    params(("address" = String, Path, description = "The deposit address on Base.")),
    responses((status = 200, description = "The balance.", body = IssuerBalance)))]
async fn account_balance(
    State(people): State<IdentityServerState>,
    Path(address): Path<String>,
) -> ProtocolResult<IssuerBalance> {
    let address = read_address(&address)?;
    let balance = people.balances.balance(&address.0).await?;
    ok(IssuerBalance {
        deposit_address: TextValue(address),
        balance: TextValue(UsdcAmount(balance)),
    })
}

/// Query parameters of a transfer.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct DepositStatus {
    /// Amount of the transfer, in USDC.
    #[param(value_type = String)]
    amount: TextValue<UsdcAmount>,
}

/// Return whether a transfer is credited to a balance
#[utoipa::path(get, path = "/v1/issuer-accounts/{address}/deposits/{transaction}", operation_id = "getIssuerAccountDeposit", tag = "Issuer accounts",
    params(("address" = String, Path, description = "The deposit address on Base."),
        ("transaction" = String, Path, description = "The transaction on Base."), DepositStatus),
    responses((status = 200, description = "Whether the transfer is credited.", body = IssuerDeposit)))]
async fn account_deposit(
    State(people): State<IdentityServerState>,
    Path((address, transaction)): Path<(String, String)>,
    ProtocolQuery(moved): ProtocolQuery<DepositStatus>,
) -> ProtocolResult<IssuerDeposit> {
    let deposited = CardDeposit {
        address: read_address(&address)?.0,
        transaction,
        amount: moved.amount.0.0,
    };
    let credited = people.deposits.is_credited(&deposited).await?;
    ok(IssuerDeposit {
        transaction: deposited.transaction,
        amount: moved.amount,
        credited,
    })
}

fn read_address(text: &str) -> Result<BaseAddress, ProtocolErrorResponse> {
    text.parse()
        .map_err(|_| ProtocolErrorResponse::new(ErrorCode::NotFound, "there is no such account"))
}
