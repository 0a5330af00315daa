//! `createBankingTransfer`, `sendBankingPayout`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::answer::ExactDecimal;
use purser_actors::currency::Currency;
use purser_actors::engine::{OperationError, SpendDenied};
use purser_actors::entity::account::{Account, BalancePayout, BankDebit, Rejection};
use purser_actors::entity::bank_destination::DestinationType;
use purser_actors::entity::banking::account::{BankAccount, Status};
use purser_actors::entity::banking::transfer::{BankTransfer, TransferRequest};
use purser_actors::entity::payout::{PayoutPlan, PayoutTarget};
use purser_actors::entity::spend_approval::{SpendAct, SpendPayee};
use purser_actors::id::{BankDestinationId, BankTransferId, PayoutId};
use purser_actors::kernel::idempotency::CommandResult;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::banking::AccountType;
use purser_actors::product::ProductLine;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::account::BearerClaims;
#[cfg(feature = "documents")]
use super::super::agent_wallet::payments::ApprovalRequired;
use super::super::balance_spends::{AnswerForm, BalanceCall, agent_spend, denied};
use super::super::callable::{self, require_sign_in};
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::super::outgoing_holds::require_withdrawals_active;
use super::super::schemas;
use super::SharedState;
use super::fields::{amount, line};
use crate::checkout::product_unavailable;
use crate::http::app::App;
use crate::prices::{PriceQuery, Quote};

/// Request of `createBankingTransfer`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CreateTransferRequest {
    /// Id from `listBankingAccounts`. The account must be open.
    account_id: String,
    /// US dollars, at least 0.01, at most 2 decimal places.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ExactDecimal))]
    amount: Box<RawValue>,
    /// `to_account` (default) moves dollars from the balance to an off-ramp. `to_balance` moves dollars from the
    /// account.
    direction: Option<TransferDirectionParam>,
    /// Note of the caller, 1 to 140 characters.
    note: Option<String>,
    /// Approval of the account owner for this transfer, from a 202.
    approval_id: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum TransferDirectionParam {
    ToAccount,
    ToBalance,
}

#[derive(Serialize)]
struct CreateTransferParams {
    account_id: String,
    amount: String,
    direction: TransferDirectionParam,
    note: Option<String>,
}

/// A new bank transfer.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct CreateBankTransferResult {
    /// Id for `getBankingTransaction`.
    transaction_id: String,
    /// `pending` until the bank has moved it.
    status: schemas::PendingStatus,
}

/// Transfer between the balance and a bank account
///
/// There is no fee. An amount to the account leaves the balance at once, and is credited again if the bank rejects it.
/// An amount from the account is credited once the bank has moved it.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/createBankingTransfer", operation_id = "createBankingTransfer", tag = "Banking", security(("bearer" = [])), request_body = inline(CreateTransferRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`transactionId`, `status`.", body = CreateBankTransferResult),
        (status = 202, description = "`approval_required`: over a limit, and the account's owner wants to be asked. Nothing was taken. Make the same call again once the owner has approved.", body = ApprovalRequired<'static>),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId` or bank account, frozen, a limit of the owner (`policy_filtered`), an approval that the owner declined, or a token issued for a payment."),
        (status = 404, description = "No such account or approval."),
        (status = 409, description = "The account is not open or not for that, the balance is too small, the approval is another spend's, used or too old, or the first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn create_banking_transfer(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<CreateTransferRequest>(body).await?;
    let cents = amount(&call.data.amount)?;
    let note = call
        .data
        .note
        .as_deref()
        .map(|note| line("note", note, 140))
        .transpose()?;
    let direction = call.data.direction.unwrap_or(TransferDirectionParam::ToAccount);
    app.admit(&claims, &call).await?;
    require_sign_in(&claims)?;
    let asked = CreateTransferParams {
        account_id: call.data.account_id.clone(),
        amount: cents.to_string(),
        direction,
        note: note.clone(),
    };
    let usdc = Usdc::from_cents(cents).map_err(|_| too_large())?;
    let id = BankTransferId::mint(claims.wallet.shard(), app.entropy.random());
    let (state, owner, caller) = (app.clone(), claims.wallet, claims.clone());
    let route = "/createBankingTransfer";
    key.run(&app.engine, &claims, route, &asked, move |place| async move {
        let (account, kept) = state
            .load_owned_account(&owner, &call.data.account_id, "accountId")
            .await?;
        check_transferable(&kept, direction)?;
        let asked = BalanceCall {
            payee: SpendPayee::BankAccount(account),
            amount: usdc,
            act: SpendAct::BankTransfer,
            note: note.clone(),
            approval: call.data.approval_id.as_deref(),
        };
        let request = TransferRequest {
            owner,
            account,
            cents,
            amount: usdc,
            note,
        };
        let engine = &state.engine;
        if direction == TransferDirectionParam::ToAccount {
            let asked = agent_spend(&caller, asked)?;
            require_withdrawals_active(engine)?;
            let recorder = place.map(|place| {
                recorder::<Account>(place, move |result: CommandResult<'_, Account>| {
                    started(&transfer_started(id), result.map(drop))
                })
            });
            let result = engine
                .debit_for_bank_for(asked.as_ref(), owner, BankDebit::Transfer(id, request), recorder)
                .await;
            return ended(&state, &transfer_started(id), result).await;
        }
        let recorder = place.map(|place| {
            recorder::<BankTransfer>(place, move |result: CommandResult<'_, BankTransfer>| match result {
                Ok(_) => Ok(callable::reply(&transfer_started(id))),
                Err(_) => Err(ApiError::internal()),
            })
        });
        match engine.transfer_to_balance(id, request, recorder).await {
            Ok(()) => Ok(callable::reply(&transfer_started(id))),
            Err(OperationError::Rejected(_)) => Err(ApiError::internal()),
            Err(denied) => Err(in_progress_response(&denied)),
        }
    })
    .await
}

/// Checks that the account supports the direction.
fn check_transferable(kept: &BankAccount, direction: TransferDirectionParam) -> Result<(), ApiError> {
    let refused = |code, error: &'static str| Err(ApiError::new(code, error).param("accountId"));
    if !matches!(kept.status, Status::Open(_)) {
        return refused(ErrorCode::BankAccountNotOpen, "The bank has not opened this account.");
    }
    if direction == TransferDirectionParam::ToAccount && kept.account_type == AccountType::OnRamp {
        return refused(
            ErrorCode::BankAccountReceiveOnly,
            "An on-ramp takes money from outside only.",
        );
    }
    Ok(())
}

fn transfer_started(id: BankTransferId) -> CreateBankTransferResult {
    CreateBankTransferResult {
        transaction_id: id.to_string(),
        status: schemas::PendingStatus::Pending,
    }
}

/// Request of `sendBankingPayout`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CreatePayoutRequest {
    /// Id from `listBankingRecipients`, of type `fiat_us`.
    destination_id: String,
    /// US dollars that arrive, within the range of `bank_payment`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ExactDecimal))]
    amount: Box<RawValue>,
    /// Approval of the account owner for this payout, from a 202.
    approval_id: Option<String>,
}

#[derive(Serialize)]
struct CreatePayoutParams {
    destination_id: String,
    amount: String,
}

/// A new bank payout.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct CreateBankPayoutResult {
    /// `po_…` is the id for `getBankingTransaction` and `GET /get-payment-status`.
    transaction_id: String,
    /// `queued` until the rail accepts it.
    status: schemas::QueuedStatus,
    /// Bank destination of the payout.
    destination_id: String,
    /// US dollars that arrive.
    amount: ExactDecimal,
    /// Fee in US dollars.
    fee_amount: ExactDecimal,
    /// Amount and fee in US dollars.
    charged_amount: ExactDecimal,
}

/// Pay a bank destination from the balance
///
/// Price and behavior are those of `GET /send-bank-payment`. Amount and fee leave the balance at once. If the rail
/// definitely declines the payout, both are credited again.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sendBankingPayout", operation_id = "sendBankingPayout", tag = "Banking", security(("bearer" = [])), request_body = inline(CreatePayoutRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`transactionId`, `status`, `feeAmount`, `chargedAmount`.", body = CreateBankPayoutResult),
        (status = 202, description = "`approval_required`: over a limit, and the account's owner wants to be asked. Nothing was taken. Make the same call again once the owner has approved.", body = ApprovalRequired<'static>),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, a daily cap, a limit of the owner (`policy_filtered`), an approval that the owner declined, or a token issued for a payment."),
        (status = 404, description = "No such destination or approval."),
        (status = 409, description = "The balance is too small, the destination cannot be paid so, the approval is another spend's, used or too old, or the first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn send_banking_payout(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<CreatePayoutRequest>(body).await?;
    let cents = amount(&call.data.amount)?;
    let (least, most) = (
        app.config.products.bank_payment.min_amount,
        app.config.products.bank_payment.max_amount,
    );
    if cents < least || cents > most {
        let error = format!("`amount` must be between {least} and {most}.");
        return Err(ApiError::parameter(ErrorCode::AmountOutOfRange, "amount", error));
    }
    app.admit(&claims, &call).await?;
    require_sign_in(&claims)?;
    let asked = CreatePayoutParams {
        destination_id: call.data.destination_id.clone(),
        amount: cents.to_string(),
    };
    let id = PayoutId::mint(claims.wallet.shard(), app.entropy.random());
    let (state, owner, caller) = (app.clone(), claims.wallet, claims.clone());
    let route = "/sendBankingPayout";
    key.run(&app.engine, &claims, route, &asked, move |place| async move {
        let (destination, kept) = state.load_owned_destination(&owner, &call.data.destination_id).await?;
        if kept.scheme != DestinationType::FiatUs {
            let error = "Payouts go to destinations of type fiat_us.";
            let error = ApiError::new(ErrorCode::DestinationTypeNotSupported, error);
            return Err(error.param("destinationId"));
        }
        let engine = &state.engine;
        engine
            .check_line(ProductLine::BankPayment)
            .map_err(product_unavailable)?;
        require_withdrawals_active(engine)?;
        let quote = state.quote_bank_payout(cents)?;
        let charged = Usdc::from_cents(quote.total).map_err(|_| too_large())?;
        let plan = PayoutPlan {
            target: PayoutTarget::Bank(destination, kept.details),
            terms: engine.bank_payment_terms(),
            quoted: Some(quote.facts()),
        };
        let response = payout_started(id, destination, cents, charged);
        let view = response.clone();
        let recorder = place.map(|place| {
            recorder::<Account>(place, move |result: CommandResult<'_, Account>| {
                started(&view, result.map(drop))
            })
        });
        let payout = Box::new(BalancePayout {
            id,
            plan,
            amount: cents,
            charged,
            cap: None,
        });
        let asked = BalanceCall {
            payee: SpendPayee::BankDestination(destination),
            amount: charged,
            act: SpendAct::BankPayout,
            note: None,
            approval: call.data.approval_id.as_deref(),
        };
        let asked = agent_spend(&caller, asked)?;
        let result = engine
            .debit_for_bank_for(asked.as_ref(), owner, BankDebit::Payout(payout), recorder)
            .await;
        ended(&state, &response, result).await
    })
    .await
}

fn payout_started(id: PayoutId, destination: BankDestinationId, cents: Cents, charged: Usdc) -> CreateBankPayoutResult {
    let fee = Usdc::from_cents(cents)
        .and_then(|owed| charged.checked_sub(owed))
        .unwrap_or(Usdc::ZERO);
    CreateBankPayoutResult {
        transaction_id: id.to_string(),
        status: schemas::QueuedStatus::Queued,
        destination_id: destination.to_string(),
        amount: cents.into(),
        fee_amount: fee.into(),
        charged_amount: charged.into(),
    }
}

/// The response to a debit of the balance, as recorded.
fn started(view: &impl Serialize, result: Result<(), &Rejection>) -> Result<RecordedReply, ApiError> {
    match result {
        Ok(()) => Ok(callable::reply(view)),
        Err(Rejection::Frozen { message }) => Err(ApiError::frozen(message.clone())),
        Err(Rejection::Insufficient { available }) => {
            let error = format!("Only {} is available.", available.decimal());
            Err(ApiError::new(ErrorCode::InsufficientBalance, error).param("amount"))
        }
        Err(Rejection::DailyCountCap { cap }) => Err(capped(format!("At most {cap} bank payments a day."))),
        Err(Rejection::DailyAmountCap { cap }) => Err(capped(format!("At most {cap} USD of bank payments a day."))),
        // An account that does not exist yet has no balance.
        Err(_) => Err(ApiError::new(ErrorCode::InsufficientBalance, "Nothing is available.").param("amount")),
    }
}

/// As [`started`], for the response that is sent.
async fn ended(
    app: &App,
    view: &(impl Serialize + Sync),
    result: Result<(), OperationError<Rejection, SpendDenied>>,
) -> Result<RecordedReply, ApiError> {
    match result {
        Ok(()) => started(view, Ok(())),
        Err(OperationError::Rejected(why)) => started(view, Err(&why)),
        Err(OperationError::Specific(why)) => denied(&app.engine, &app.public_url, &why, AnswerForm::Callable).await,
        Err(OperationError::AlreadyUsed) => Err(in_progress_response::<()>(&OperationError::AlreadyUsed)),
        Err(OperationError::Unavailable) => Err(in_progress_response::<()>(&OperationError::Unavailable)),
    }
}

fn capped(error: String) -> ApiError {
    ApiError::new(ErrorCode::CapExceeded, error)
        .hint("The owner's caps are on the account page; days end at midnight UTC.")
}

fn too_large() -> ApiError {
    ApiError::parameter(ErrorCode::AmountOutOfRange, "amount", "`amount` is too large.")
}

impl App {
    fn quote_bank_payout(&self, amount: Cents) -> Result<Quote, ApiError> {
        let asked = PriceQuery {
            line: ProductLine::BankPayment,
            amount,
            currency: Currency::USD,
            product_rates: None,
        };
        let quotes = self.checkout.prices.quotes(&asked, self.clock.now());
        quotes.into_iter().next().ok_or_else(too_large)
    }
}
