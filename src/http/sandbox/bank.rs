//! The desk that steers the sandbox's bank.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use purser_actors::id::{BankAccountId, BankTransferId};
use purser_actors::money::Cents;
use purser_actors::port::Entropy;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{OpenApi, ToSchema};

use super::super::error::ApiError;
use super::super::{json, schemas};
use crate::provider::sandbox::bank::faults::{BankCall, BankFault, BankFaultKind};
use crate::provider::sandbox::bank::{DepositError, SandboxBank};
use crate::provider::sandbox::fault_rules::FaultRule;

/// Longest delay that can be asked for, in milliseconds.
const MAX_DELAY_MS: u64 = 600_000;
/// Most faults waiting at once.
const MAX_FAULT_RULES: usize = 1_000;

/// What these routes need.
pub struct BankControl {
    /// The bank.
    pub bank: Arc<SandboxBank>,
    /// Names deposits.
    pub entropy: Arc<dyn Entropy>,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

type SharedState = State<Arc<BankControl>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(post_bank, post_bank_deposits))]
pub struct ApiDoc;

/// The routes.
pub fn router(desk: Arc<BankControl>) -> Router {
    Router::new()
        .route("/sandbox/bank", post(post_bank))
        .route("/sandbox/bank-deposits", post(post_bank_deposits))
        .with_state(desk)
}

/// What is to go wrong.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BankFaultRequest {
    /// Where; every call if absent.
    #[schema(inline)]
    operation: Option<BankCallParam>,
    /// What goes wrong.
    #[schema(inline)]
    fault: BankFaultParam,
    /// How often; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: milliseconds; 3,000 if absent.
    delay_ms: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BankCallParam {
    Review,
    Open,
    Transfer,
    Incoming,
    Balance,
}

/// What the bank can be told.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BankFaultParam {
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Answer nonsense.
    MalformedResponse,
    /// Do it and lose the answer.
    LoseResponse,
    /// Do nothing and say nothing.
    Stall,
    /// Refuse for good.
    Decline,
    /// Tell twice what came in.
    Duplicate,
    /// Tell what came in with the newest first.
    OutOfOrder,
    /// Forget every fault.
    Clear,
}

/// The bank.
#[derive(Serialize, ToSchema)]
struct SandboxBankView {
    /// Applications decided.
    applications: u64,
    /// Accounts open.
    accounts: usize,
    /// Moves made.
    transfers: u64,
    /// Deposits told.
    deposits: u64,
    /// US dollar cents on all accounts.
    balance_cents: u64,
    /// Faults waiting.
    #[schema(inline)]
    faults: Vec<PendingBankFault>,
    /// Calls that met a fault since the start.
    faults_injected: u64,
}

/// A fault waiting for a call.
#[derive(Serialize, ToSchema)]
struct PendingBankFault {
    /// Where; null is everywhere.
    call: Option<&'static str>,
    /// Its name.
    fault: &'static str,
    /// How often it still happens; null until cleared.
    remaining: Option<u32>,
}

/// Make the bank misbehave
///
/// Applications of people named `Refused` are rejected, of those named `Wanted` another document is wanted first; a transfer
/// with 13 cents is refused.
#[utoipa::path(post, path = "/sandbox/bank", tag = "Sandbox", request_body = inline(BankFaultRequest),
    responses((status = 200, description = "The bank after it.", body = inline(SandboxBankView)),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_bank(State(desk): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: BankFaultRequest = json::read(body, desk.max_body_bytes, desk.body_timeout).await?;
    match fault(&request)? {
        None => desk.bank.clear_faults(),
        Some(_) if desk.render().await?.faults.len() >= MAX_FAULT_RULES => {
            return Err(invalid("fault", "too many faults are waiting; clear them first"));
        }
        Some(fault) => {
            let remaining = match request.times {
                Some(0) => None,
                times => Some(times.unwrap_or(1)),
            };
            desk.bank.add_fault(FaultRule { fault, remaining });
        }
    }
    Ok(json::ok(&desk.render().await?))
}

/// `None` clears.
fn fault(request: &BankFaultRequest) -> Result<Option<BankFault>, ApiError> {
    let ms = request.delay_ms.unwrap_or(3_000);
    if ms > MAX_DELAY_MS {
        return Err(invalid("delay_ms", "too long"));
    }
    let trouble = match request.fault {
        BankFaultParam::Unreachable => BankFaultKind::Unreachable,
        BankFaultParam::Slow => BankFaultKind::Slow { ms },
        BankFaultParam::MalformedResponse => BankFaultKind::MalformedResponse,
        BankFaultParam::LoseResponse => BankFaultKind::LoseResponse,
        BankFaultParam::Stall => BankFaultKind::Stall,
        BankFaultParam::Decline => BankFaultKind::Decline,
        BankFaultParam::Duplicate => BankFaultKind::Duplicate,
        BankFaultParam::OutOfOrder => BankFaultKind::OutOfOrder,
        BankFaultParam::Clear => return Ok(None),
    };
    let call = request.operation.map(|call| match call {
        BankCallParam::Review => BankCall::Review,
        BankCallParam::Open => BankCall::Open,
        BankCallParam::Transfer => BankCall::Transfer,
        BankCallParam::Incoming => BankCall::Incoming,
        BankCallParam::Balance => BankCall::Balance,
    });
    Ok(Some(BankFault { call, kind: trouble }))
}

/// Money that somebody outside pays in.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BankDepositRequest {
    /// An on-ramp; with `returns` the off-ramp.
    account_id: String,
    /// US dollars.
    #[schema(value_type = schemas::ExactDecimal)]
    amount: Box<RawValue>,
    /// Who pays.
    sender: Option<String>,
    /// The bank's name of it; drawn if absent. The same one again is the same money, told once more.
    reference: Option<String>,
    /// A complete transfer to this account, whose money comes back.
    returns: Option<String>,
}

/// A deposit.
#[derive(Serialize, ToSchema)]
struct BankDepositResponse {
    /// The bank's name of it.
    reference: String,
}

/// Pay into an on-ramp, or have a transfer come back from an off-ramp
#[utoipa::path(post, path = "/sandbox/bank-deposits", tag = "Sandbox", request_body = inline(BankDepositRequest),
    responses((status = 200, description = "It will be told.", body = inline(BankDepositResponse)),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_bank_deposits(State(desk): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: BankDepositRequest = json::read(body, desk.max_body_bytes, desk.body_timeout).await?;
    let unknown = || invalid("account_id", "no such on-ramp account");
    let account: BankAccountId = request.account_id.parse().map_err(|_| unknown())?;
    let amount = Cents::parse(request.amount.get().trim_matches('"'));
    let amount = amount.ok().filter(|amount| *amount > Cents::ZERO);
    let amount = amount.ok_or_else(|| invalid("amount", "not an amount"))?;
    let sender = request.sender.unwrap_or_else(|| "Somebody Outside".into());
    let reference = request
        .reference
        .unwrap_or_else(|| format!("sbx_in_{:032x}", desk.entropy.random()));
    if sender.len() > 200 || reference.is_empty() || reference.len() > 100 {
        return Err(invalid("reference", "too long"));
    }
    let returns: Option<BankTransferId> = match request.returns {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| invalid("returns", "no such transfer"))?),
    };
    let kept = match returns {
        None => desk.bank.deposit(account, amount, (sender, reference.clone())).await,
        Some(transfer) => {
            desk.bank
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

impl BankControl {
    async fn render(&self) -> Result<SandboxBankView, ApiError> {
        let state = self.bank.state().await.map_err(|_| stopped())?;
        let faults = state.rules.iter().map(|rule| PendingBankFault {
            call: rule.fault.call.map(BankCall::name),
            fault: rule.fault.kind.name(),
            remaining: rule.remaining,
        });
        Ok(SandboxBankView {
            applications: state.applications,
            accounts: state.accounts,
            transfers: state.transfers,
            deposits: state.deposits,
            balance_cents: state.balance.get(),
            faults: faults.collect(),
            faults_injected: state.faults_injected,
        })
    }
}

fn invalid(param: &'static str, error: &'static str) -> ApiError {
    ApiError::parameter("parameter_invalid", param, error)
}

fn stopped() -> ApiError {
    ApiError::unavailable("sandbox_unavailable", "The sandbox has stopped.", 1)
}
