//! Controls of the sandbox bank.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::id::{BankAccountId, BankTransferId};
use purser_actors::money::Cents;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::error::{ApiError, ErrorCode};
use super::super::json;
#[cfg(feature = "documents")]
use super::super::schemas;
use super::ProviderControls;
use crate::http::route::routes;
use crate::provider::sandbox::bank::DepositError;
use crate::provider::sandbox::bank::faults::BankCall;

const MAX_DELAY_MS: u64 = 600_000;

type SharedState = State<Arc<ProviderControls>>;

routes! { pub static ROUTES: Arc<ProviderControls>, openapi;
    POST "/sandbox/bank" => post_bank { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/bank-deposits" => post_bank_deposits { Sandbox, control(), refuses [ProviderIsRemote] }
}

/// Fault to inject into the bank.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct BankFaultRequest {
    /// Operation that fails; every operation if absent.
    #[cfg_attr(feature = "documents", schema(inline))]
    operation: Option<BankCallParam>,
    /// Fault to inject.
    #[cfg_attr(feature = "documents", schema(inline))]
    fault: BankFaultParam,
    /// Number of occurrences; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: delay in milliseconds; 3,000 if absent.
    delay_ms: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum BankCallParam {
    Review,
    Open,
    Transfer,
    Incoming,
    Balance,
}

purser_sandbox::fault_params! {
    /// Faults of the bank. `duplicate` and `out_of_order` are of the reports of deposits.
    enum BankFaultParam { MalformedResponse, LoseResponse, Stall, Decline, Duplicate, OutOfOrder; }
}

/// Summary of the sandbox bank.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SandboxBankView {
    /// Number of decided applications.
    applications: u64,
    /// Number of open accounts.
    accounts: usize,
    /// Number of executed transfers.
    transfers: u64,
    /// Number of reported deposits.
    deposits: u64,
    /// Total balance of all accounts, in US dollar cents.
    balance_cents: u64,
    /// Faults that wait for a call.
    #[cfg_attr(feature = "documents", schema(inline))]
    faults: Vec<PendingBankFault>,
    /// Faults injected since startup.
    faults_injected: u64,
}

/// A fault that waits for a call.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PendingBankFault {
    /// Operation of the fault; null for every operation.
    call: Option<&'static str>,
    /// Name of the fault.
    fault: &'static str,
    /// Remaining occurrences; null until cleared.
    remaining: Option<u32>,
}

/// Inject a fault into the bank
///
/// Applications of people named `Refused` are rejected. Applications of people named `Wanted` first need another
/// document. A transfer with 13 cents is rejected.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/bank", operation_id = "injectBankFault", tag = "Sandbox", request_body = inline(BankFaultRequest),
    responses((status = 200, description = "The bank after it.", body = inline(SandboxBankView)),
        (status = 409, description = "The provider is remote."))))]
async fn post_bank(State(controls): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: BankFaultRequest = controls.body(body).await?;
    let ms = request.delay_ms.unwrap_or(3_000);
    if ms > MAX_DELAY_MS {
        return Err(invalid("delay_ms", "too long"));
    }
    let fault = request.fault.fault(ms);
    let call = request.operation.map(|call| match call {
        BankCallParam::Review => BankCall::Review,
        BankCallParam::Open => BankCall::Open,
        BankCallParam::Transfer => BankCall::Transfer,
        BankCallParam::Incoming => BankCall::Incoming,
        BankCallParam::Balance => BankCall::Balance,
    });
    if !controls.providers.bank.faults.set(call, fault, request.times) {
        return Err(invalid("fault", "too many faults are waiting; clear them first"));
    }
    Ok(json::ok(&controls.bank_view().await?))
}

/// Deposit from an external sender.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct BankDepositRequest {
    /// On-ramp account; with `returns` the off-ramp account.
    account_id: String,
    /// Amount in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ExactDecimal))]
    amount: Box<RawValue>,
    /// Name of the sender.
    sender: Option<String>,
    /// Bank's reference of the deposit, drawn if absent. A repeated reference is the same deposit, reported again.
    reference: Option<String>,
    /// Completed transfer to this account, whose funds return.
    returns: Option<String>,
}

/// Result of a deposit.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct BankDepositResponse {
    /// Bank's reference of the deposit.
    reference: String,
}

/// Pay into an on-ramp, or return a transfer from an off-ramp
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/bank-deposits", operation_id = "createSandboxBankDeposit", tag = "Sandbox", request_body = inline(BankDepositRequest),
    responses((status = 200, description = "The bank will report the deposit.", body = inline(BankDepositResponse)),
        (status = 409, description = "The provider is remote."))))]
async fn post_bank_deposits(State(controls): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: BankDepositRequest = controls.body(body).await?;
    let unknown = || invalid("account_id", "no such on-ramp account");
    let account: BankAccountId = request.account_id.parse().map_err(|_| unknown())?;
    let amount = Cents::parse(request.amount.get().trim_matches('"'));
    let amount = amount.ok().filter(|amount| *amount > Cents::ZERO);
    let amount = amount.ok_or_else(|| invalid("amount", "not an amount"))?;
    let sender = request.sender.unwrap_or_else(|| "External Sender".into());
    let reference = request
        .reference
        .unwrap_or_else(|| format!("sbx_in_{:032x}", controls.entropy.random()));
    if sender.len() > 200 || reference.is_empty() || reference.len() > 100 {
        return Err(invalid("reference", "too long"));
    }
    let returns: Option<BankTransferId> = match request.returns {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| invalid("returns", "no such transfer"))?),
    };
    let kept = match returns {
        None => {
            controls
                .providers
                .bank
                .deposit(account, amount, (sender, reference.clone()))
                .await
        }
        Some(transfer) => {
            controls
                .providers
                .bank
                .return_transfer(transfer, account, amount, reference.clone())
                .await
        }
    };
    match kept {
        Ok(()) => Ok(json::ok(&BankDepositResponse { reference })),
        Err(DepositError::NoAccount) => Err(unknown()),
        Err(DepositError::Stopped(_)) => Err(stopped()),
    }
}

impl ProviderControls {
    async fn bank_view(&self) -> Result<SandboxBankView, ApiError> {
        let state = self.providers.bank.state().await.map_err(|_| stopped())?;
        let waiting = self.providers.bank.faults.waiting();
        let faults = waiting.iter().map(|rule| PendingBankFault {
            call: rule.scope.map(BankCall::name),
            fault: rule.fault.name(),
            remaining: rule.remaining,
        });
        Ok(SandboxBankView {
            applications: state.applications,
            accounts: state.accounts,
            transfers: state.transfers,
            deposits: state.deposits,
            balance_cents: state.balance.get(),
            faults: faults.collect(),
            faults_injected: self.providers.bank.faults.injected(),
        })
    }
}

fn invalid(param: &'static str, error: &'static str) -> ApiError {
    ApiError::parameter(ErrorCode::ParameterInvalid, param, error)
}

fn stopped() -> ApiError {
    ApiError::unavailable(ErrorCode::SandboxUnavailable, "The sandbox has stopped.", 1)
}
