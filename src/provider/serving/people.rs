//! Identity checks and holders' accounts.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use purser_actors::port::{CardAccounts, CardBalances, Deposited, IdentityCheck, StartCheck};
use serde::Deserialize;
use utoipa::{IntoParams, OpenApi};

use super::{Answered, Body, Key, Query, Refused, answered, not_found};
use crate::provider::wire::people::{AccountAnswer, AccountOrder, Balance, Check, CheckAnswer, CheckOrder, Deposit};
use crate::provider::wire::{BaseAddress, Code, Dollars, Text};
use crate::provider::{Balances, Providers};

#[derive(Clone)]
struct People {
    identity_check: Arc<dyn IdentityCheck>,
    accounts: Arc<dyn CardAccounts>,
    deposits: Arc<dyn CardBalances>,
    balances: Arc<dyn Balances>,
}

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/identity-checks", post(begin_check))
        .route("/identity-checks/{reference}", get(check_status))
        .route("/card-accounts", post(open_account))
        .route("/card-accounts/{address}", get(account_balance))
        .route("/card-accounts/{address}/deposits/{transaction}", get(account_deposit))
        .with_state(People {
            identity_check: providers.identity_check.clone(),
            accounts: providers.accounts.clone(),
            deposits: providers.deposits.clone(),
            balances: providers.balances.clone(),
        })
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(begin_check, check_status, open_account, account_balance, account_deposit))]
    struct PeopleRoutes;
    PeopleRoutes::openapi()
}

/// Begins a check of who a person is, or finds the one that was begun with this key
#[utoipa::path(post, path = "/v1/identity-checks", tag = "people", request_body = CheckOrder,
    params(("Idempotency-Key" = String, Header, description = "The same key never begins a second check.")),
    responses((status = 200, description = "Where the person answers.", body = Check)))]
async fn begin_check(State(people): State<People>, Key(key): Key, Body(order): Body<CheckOrder>) -> Answered<Check> {
    let wallet = order.wallet.0.0;
    let begun = people.identity_check.start(&StartCheck { key, wallet }).await?;
    answered(Check::of(wallet, begun))
}

/// Where a check stands
#[utoipa::path(get, path = "/v1/identity-checks/{reference}", tag = "people",
    params(("reference" = String, Path, description = "The provider's name of it.")),
    responses((status = 200, description = "Pending, passed or failed.", body = CheckAnswer)))]
async fn check_status(State(people): State<People>, Path(reference): Path<String>) -> Answered<CheckAnswer> {
    let said = people.identity_check.status(&reference).await.map_err(not_found)?;
    answered(CheckAnswer::of(&reference, said))
}

/// Opens a holder's account at the issuer, or finds it
#[utoipa::path(post, path = "/v1/card-accounts", tag = "people", request_body = AccountOrder,
    responses((status = 200, description = "What became of it.", body = AccountAnswer)))]
async fn open_account(State(people): State<People>, Body(order): Body<AccountOrder>) -> Answered<AccountAnswer> {
    let holder = order.holder.0.0;
    let said = people.accounts.open(&holder).await?;
    answered(AccountAnswer::of(holder, said))
}

/// What there is behind a deposit address now
#[utoipa::path(get, path = "/v1/card-accounts/{address}", tag = "people",
    params(("address" = String, Path, description = "The deposit address on Base.")),
    responses((status = 200, description = "The balance.", body = Balance)))]
async fn account_balance(State(people): State<People>, Path(address): Path<String>) -> Answered<Balance> {
    let address = read_address(&address)?;
    let balance = people.balances.balance(&address.0).await?;
    answered(Balance {
        deposit_address: Text(address),
        balance: Text(Dollars(balance)),
    })
}

/// What is known of a transfer.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Moved {
    /// How much it moved, in USDC.
    #[param(value_type = String)]
    amount: Text<Dollars>,
}

/// Whether a transfer counts in a balance now
#[utoipa::path(get, path = "/v1/card-accounts/{address}/deposits/{transaction}", tag = "people",
    params(("address" = String, Path, description = "The deposit address on Base."),
        ("transaction" = String, Path, description = "The transaction on Base."), Moved),
    responses((status = 200, description = "Whether it counts.", body = Deposit)))]
async fn account_deposit(
    State(people): State<People>,
    Path((address, transaction)): Path<(String, String)>,
    Query(moved): Query<Moved>,
) -> Answered<Deposit> {
    let deposited = Deposited {
        address: read_address(&address)?.0,
        transaction,
        amount: moved.amount.0.0,
    };
    let credited = people.deposits.is_credited(&deposited).await?;
    answered(Deposit {
        transaction: deposited.transaction,
        amount: moved.amount,
        credited,
    })
}

fn read_address(text: &str) -> Result<BaseAddress, Refused> {
    text.parse()
        .map_err(|_| Refused::new(Code::NotFound, "there is no such account"))
}
