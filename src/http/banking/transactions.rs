//! `getBankingTransaction`, `listBankingTransactions`: transfers and payouts in one list, ordered by time.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::engine::{Engine, ListStart};
use purser_actors::entity::banking::transfer;
use purser_actors::entity::banking::transfer::BankTransfer;
use purser_actors::entity::payout;
use purser_actors::entity::payout::{Payout, PayoutTarget};
use purser_actors::id::{BankTransferId, PayoutId};
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::port::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::account::BearerClaims;
use super::super::auth::AuthClaims;
use super::super::callable;
use super::super::error::{ApiError, ErrorCode};
use super::super::list_order::list_start;
use super::super::outgoing_holds::with_hold_reason;
#[cfg(feature = "documents")]
use super::super::schemas;
use super::SharedState;
use super::fields::limit;
use crate::http::app::App;
use crate::statuses::BankTransactionType;

/// Request of `getBankingTransaction`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct GetTransactionRequest {
    /// Id of a transfer or a payout.
    transaction_id: String,
}

/// A transfer or a payout.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct BankTransactionResult {
    /// The requested transaction.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::BankTransaction))]
    transaction: JsonObject,
}

/// Read a transfer or payout
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/getBankingTransaction", operation_id = "getBankingTransaction", tag = "Banking", security(("bearer" = [])), request_body = inline(GetTransactionRequest),
    responses((status = 200, description = "`transaction`.", body = BankTransactionResult),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "No such transaction."))))]
pub(super) async fn get_banking_transaction(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<GetTransactionRequest>(body).await?;
    app.admit(&claims, &call).await?;
    let found = app
        .bank_transaction(&claims, &call.data.transaction_id, "transactionId")
        .await?;
    let transaction = found.render(&app.engine).await?;
    Ok(callable::result(&BankTransactionResult { transaction }))
}

/// Request of `listBankingTransactions`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ListTransactionsRequest {
    /// `asc`, oldest first and the default, or `desc`.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ListOrder>))]
    order: Option<String>,
    /// Only these: `transfer` or `payout`.
    r#type: Option<BankTransactionType>,
    /// Page size, 1 to 100, 20 by default.
    limit: Option<u64>,
    /// Last `transactionId` of the previous page.
    starting_after: Option<String>,
}

/// A page of transfers and payouts.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct ListBankTransactionsResult {
    /// Transactions, oldest first unless `order` is `desc`.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<schemas::BankTransaction>))]
    transactions: Vec<JsonObject>,
    /// Whether more transactions follow.
    has_more: bool,
}

/// List transfers and bank payouts
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/listBankingTransactions", operation_id = "listBankingTransactions", tag = "Banking", security(("bearer" = [])), request_body = inline(ListTransactionsRequest),
    responses((status = 200, description = "`transactions`, `hasMore`.", body = ListBankTransactionsResult),
        (status = 400, description = "A member is unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "`startingAfter` is no transaction."))))]
pub(super) async fn list_banking_transactions(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<ListTransactionsRequest>(body).await?;
    let newest_first = match call.data.order.as_deref() {
        None | Some("asc") => false,
        Some("desc") => true,
        Some(_) => {
            let error = "`order` must be one of: asc, desc.";
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "order", error));
        }
    };
    let limit = limit(call.data.limit)?;
    app.admit(&claims, &call).await?;
    let after = match call.data.starting_after.as_deref() {
        None => None,
        Some(text) => Some(app.bank_transaction(&claims, text, "startingAfter").await?.sort_key()),
    };
    let engine = &app.engine;
    let failed = |_| ApiError::internal();
    let start = list_start(newest_first, after);
    let (transfers, more_transfers) = match call.data.r#type {
        Some(BankTransactionType::Payout) => (Vec::new(), false),
        _ => {
            let read = engine.bank_transfers_of(&claims.wallet, start, limit).await;
            read.map_err(failed)?
        }
    };
    let (payouts, more_payouts) = match call.data.r#type {
        Some(BankTransactionType::Transfer) => (Vec::new(), false),
        _ => app.bank_payouts(&claims, start, limit).await?,
    };
    let transfers = transfers
        .into_iter()
        .map(|(id, transfer)| BankTransactionRecord::Transfer(id, transfer));
    let payouts = payouts
        .into_iter()
        .map(|(id, payout)| BankTransactionRecord::Payout(id, Box::new(payout)));
    let mut found: Vec<BankTransactionRecord> = transfers.chain(payouts).collect();
    found.sort_by_key(BankTransactionRecord::sort_key);
    if newest_first {
        found.reverse();
    }
    let has_more = more_transfers || more_payouts || found.len() > limit;
    found.truncate(limit);
    let mut transactions = Vec::with_capacity(found.len());
    for one in &found {
        transactions.push(one.render(engine).await?);
    }
    Ok(callable::result(&ListBankTransactionsResult { transactions, has_more }))
}

/// A transfer or a payout.
enum BankTransactionRecord {
    Transfer(BankTransferId, BankTransfer),
    Payout(PayoutId, Box<Payout>),
}

impl BankTransactionRecord {
    /// Position in the list of its owner.
    fn sort_key(&self) -> (Timestamp, u128) {
        match self {
            Self::Transfer(id, transfer) => (transfer.created_at, id.0),
            Self::Payout(id, payout) => (payout.created_at, id.0),
        }
    }

    /// Renders the transaction with its status, and the reason if it is on hold.
    async fn render(&self, engine: &Engine) -> Result<JsonObject, ApiError> {
        let job = match self {
            Self::Transfer(id, _) => transfer::Job::ExecuteBankTransfer(*id).into(),
            Self::Payout(id, _) => payout::Job::SendPayout(*id).into(),
        };
        with_hold_reason(engine, job, self.view()).await
    }

    fn view(&self) -> JsonObject {
        let (id, payout) = match self {
            Self::Transfer(id, transfer) => return JsonObject::of(&transfer.view(id)),
            Self::Payout(id, payout) => (id, payout),
        };
        let destination = match &payout.plan.target {
            PayoutTarget::Bank(destination, _) => Some(destination),
            PayoutTarget::Card(_) | PayoutTarget::App(..) => None,
        };
        JsonObject::new()
            .text("transaction_id", id)
            .text("type", "payout")
            .text("direction", "outgoing")
            .text("status", payout.status())
            .number("amount", payout.amount.decimal())
            .text("currency", payout.currency)
            .number("fee_amount", payout.charge.fee().decimal())
            .number("charged_amount", payout.charge.charged.decimal())
            .optional_text("destination_id", destination)
            .optional_text("failure_reason", payout.reason())
            .time("created_at", payout.created_at)
            .time("last_updated_at", payout.updated_at)
    }
}

impl App {
    /// Loads the caller's transaction.
    async fn bank_transaction(
        &self,
        claims: &AuthClaims,
        text: &str,
        param: &'static str,
    ) -> Result<BankTransactionRecord, ApiError> {
        let engine = &self.engine;
        let unknown = || ApiError::new(ErrorCode::TransactionNotFound, "There is no such transaction.").param(param);
        let (owner, found) = if let Ok(id) = text.parse::<BankTransferId>() {
            let read = engine.bank_transfer(&id).await.map_err(|_| ApiError::internal())?;
            let transfer = read.ok_or_else(unknown)?;
            (transfer.owner, BankTransactionRecord::Transfer(id, transfer))
        } else {
            let id: PayoutId = text.parse().map_err(|_| unknown())?;
            let read = engine.payout(&id).await.map_err(|_| ApiError::internal())?;
            let bank = |payout: &Payout| matches!(payout.plan.target, PayoutTarget::Bank(..));
            let payout = read.filter(bank).ok_or_else(unknown)?;
            (payout.owner, BankTransactionRecord::Payout(id, Box::new(payout)))
        };
        // Transactions of other accounts are not found, because this searches payouts of all kinds.
        if owner == claims.wallet {
            Ok(found)
        } else {
            Err(unknown())
        }
    }

    /// Payouts to banks from a position on. Payouts to cards and apps are skipped.
    async fn bank_payouts(
        &self,
        claims: &AuthClaims,
        mut start: ListStart<(Timestamp, u128)>,
        limit: usize,
    ) -> Result<(Vec<(PayoutId, Payout)>, bool), ApiError> {
        let mut found = Vec::new();
        loop {
            let read = self.engine.bank_payouts_of(&claims.wallet, start, limit).await;
            let (page, more) = read.map_err(|_| ApiError::internal())?;
            let last = page.last().map(|(id, payout)| (payout.created_at, id.0));
            start = start.at(last.or(start.position()));
            found.extend(
                page.into_iter()
                    .filter(|(_, p)| matches!(p.plan.target, PayoutTarget::Bank(..))),
            );
            if found.len() > limit || !more {
                let more = more || found.len() > limit;
                found.truncate(limit);
                return Ok((found, more));
            }
        }
    }
}
