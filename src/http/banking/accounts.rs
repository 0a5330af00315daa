//! `createBankingAccount`, `listBankingAccounts`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::engine::OperationError;
use purser_actors::entity::banking::account::{BankAccount, Status};
use purser_actors::entity::banking::application;
use purser_actors::id::{BankAccountId, Wallet};
use purser_actors::kernel::idempotency::CommandResult;
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::port::banking::AccountType;
use serde::{Deserialize, Serialize};

use super::super::account::BearerClaims;
use super::super::callable;
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
#[cfg(feature = "documents")]
use super::super::schemas;
use super::SharedState;
use super::fields::{limit, line};
use crate::http::app::App;

/// Maximum accounts per customer.
const MAX_ACCOUNTS: usize = 10;

/// Request of `createBankingAccount`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CreateAccountRequest {
    /// `onramp`: deposits are credited to the balance. `offramp`: holds dollars transferred from the balance.
    r#type: AccountTypeParam,
    /// Label for the account, 1 to 60 characters.
    label: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
enum AccountTypeParam {
    Onramp,
    Offramp,
}

#[derive(Serialize)]
struct CreateAccountParams {
    r#type: AccountTypeParam,
    label: Option<String>,
}

/// A requested bank account.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct CreateBankAccountResult {
    /// The new bank account.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::BankAccount))]
    account: JsonObject,
}

/// Open a bank account
///
/// Needs an approved application. The account is `pending` until the bank has opened it. Then `listBankingAccounts` has
/// its numbers.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/createBankingAccount", operation_id = "createBankingAccount", tag = "Banking", security(("bearer" = [])), request_body = inline(CreateAccountRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`account`, opening.", body = CreateBankAccountResult),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "No profile yet."),
        (status = 409, description = "The application is not approved, there are too many, or the first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn create_banking_account(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<CreateAccountRequest>(body).await?;
    let label = call
        .data
        .label
        .as_deref()
        .map(|label| line("label", label, 60))
        .transpose()?;
    app.admit(&claims, &call).await?;
    let ramp = match call.data.r#type {
        AccountTypeParam::Onramp => AccountType::OnRamp,
        AccountTypeParam::Offramp => AccountType::OffRamp,
    };
    let request = CreateAccountParams {
        r#type: call.data.r#type,
        label: label.clone(),
    };
    let id = BankAccountId::mint(claims.wallet.shard(), app.entropy.random());
    let (state, owner) = (app.clone(), claims.wallet);
    let route = "/createBankingAccount";
    key.run(&app.engine, &claims, route, &request, move |place| async move {
        let customer = state.bank_customer(&owner).await?;
        let engine = &state.engine;
        let kept = engine.bank_accounts_of(&owner, None, MAX_ACCOUNTS).await;
        if kept.map_err(|_| ApiError::internal())?.0.len() >= MAX_ACCOUNTS {
            let error = format!("A holder has at most {MAX_ACCOUNTS} accounts.");
            return Err(ApiError::new(ErrorCode::BankAccountLimitReached, error));
        }
        let memo = place.map(|place| {
            recorder::<BankAccount>(place, move |outcome: CommandResult<'_, BankAccount>| match outcome {
                Ok((_, Some(account))) => Ok(opening(id, account)),
                _ => Err(ApiError::internal()),
            })
        });
        match engine.open_bank_account(id, owner, customer, (ramp, label), memo).await {
            Ok(()) => {}
            Err(OperationError::Rejected(_)) => return Err(ApiError::internal()),
            Err(denied) => return Err(in_progress_response(&denied)),
        }
        let account = engine.bank_account(&id).await.map_err(|_| ApiError::internal())?;
        Ok(opening(id, &account.ok_or_else(ApiError::internal)?))
    })
    .await
}

fn opening(id: BankAccountId, account: &BankAccount) -> RecordedReply {
    callable::reply(&CreateBankAccountResult {
        account: JsonObject::of(&account.view(&id)),
    })
}

/// Request of `listBankingAccounts`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ListAccountsRequest {
    /// Page size, 1 to 100, 20 by default.
    limit: Option<u64>,
    /// Last `accountId` of the previous page.
    starting_after: Option<String>,
}

/// A page of bank accounts.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct ListBankAccountsResult {
    /// Bank accounts, oldest first.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<schemas::BankAccount>))]
    accounts: Vec<JsonObject>,
    /// Whether more accounts follow.
    has_more: bool,
}

/// List the bank accounts
///
/// Oldest first. A sender needs the numbers of an on-ramp and its `memo`. The balance of an off-ramp is the bank's
/// current report, or null if the bank does not answer.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/listBankingAccounts", operation_id = "listBankingAccounts", tag = "Banking", security(("bearer" = [])), request_body = inline(ListAccountsRequest),
    responses((status = 200, description = "`accounts`, `hasMore`.", body = ListBankAccountsResult),
        (status = 400, description = "A member is unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId` or account, or frozen."), (status = 404, description = "`startingAfter` is no account."))))]
pub(super) async fn list_banking_accounts(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<ListAccountsRequest>(body).await?;
    let limit = limit(call.data.limit)?;
    app.admit(&claims, &call).await?;
    let after = match call.data.starting_after.as_deref() {
        None => None,
        Some(text) => Some(app.load_owned_account(&claims.wallet, text, "startingAfter").await?.0),
    };
    let engine = &app.engine;
    let found = engine.bank_accounts_of(&claims.wallet, after, limit).await;
    let (found, has_more) = found.map_err(|_| ApiError::internal())?;
    let mut accounts = Vec::with_capacity(found.len());
    for (id, account) in &found {
        accounts.push(app.bank_account_view(*id, account).await);
    }
    Ok(callable::result(&ListBankAccountsResult { accounts, has_more }))
}

impl App {
    /// The bank's id of the customer, who needs an approved application.
    async fn bank_customer(&self, owner: &Wallet) -> Result<String, ApiError> {
        let application = self.banking_application(owner).await?;
        if let application::Status::Approved(customer) = application.status {
            return Ok(customer);
        }
        let error = format!(
            "The application is {}; accounts are opened once it is approved.",
            application.status()
        );
        Err(ApiError::new(ErrorCode::ApplicationNotApproved, error))
    }

    /// Renders an account with the fields that only its owner sees.
    async fn bank_account_view(&self, id: BankAccountId, account: &BankAccount) -> JsonObject {
        let Status::Open(at) = &account.status else {
            return JsonObject::of(&account.view(&id));
        };
        let view = JsonObject::of(&account.view(&id))
            .text("routing_number", &at.routing_number)
            .text("account_number", &at.account_number)
            .optional_text("memo", at.memo.as_ref());
        match account.account_type {
            AccountType::OnRamp => view,
            AccountType::OffRamp => match self.engine.bank_balance(id).await {
                Ok(balance) => view.number("balance", balance.decimal()),
                Err(_) => view.optional_text("balance", None::<&str>),
            },
        }
    }

    /// Loads the caller's account.
    pub(super) async fn load_owned_account(
        &self,
        owner: &Wallet,
        text: &str,
        param: &'static str,
    ) -> Result<(BankAccountId, BankAccount), ApiError> {
        let unknown = || ApiError::new(ErrorCode::BankAccountNotFound, "There is no such account.").param(param);
        let id: BankAccountId = text.parse().map_err(|_| unknown())?;
        let read = self.engine.bank_account(&id).await;
        let account = read.map_err(|_| ApiError::internal())?.ok_or_else(unknown)?;
        if account.owner == *owner {
            return Ok((id, account));
        }
        let error = "This account belongs to another wallet.";
        Err(ApiError::new(ErrorCode::BankAccountAccessDenied, error).param(param))
    }
}
