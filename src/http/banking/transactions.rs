//! `getBankingTransaction`, `listBankingTransactions`: transfers and payouts, in one order of time.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::banking::transfer::BankTransfer;
use purser_actors::engine::Engine;
use purser_actors::id::{BankTransferId, PayoutId};
use purser_actors::kernel::effect::Work;
use purser_actors::kernel::{Entity as _, View};
use purser_actors::payout::{Payout, Target};
use purser_actors::port::Timestamp;
use serde::Deserialize;
use utoipa::ToSchema;

use super::super::account::Holder;
use super::super::callable;
use super::super::caller::Claims;
use super::super::error::ApiError;
use super::super::held::with_held;
use super::super::shapes;
use super::members::limit;
use super::{Banking, Shared};

/// What `getBankingTransaction` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct One {
    /// A transfer's or a payout's.
    transaction_id: String,
}

/// What became of a transfer or a payout
#[utoipa::path(post, path = "/getBankingTransaction", tag = "Banking", security(("bearer" = [])), request_body = inline(One),
    responses((status = 200, description = "`transaction`.", body = shapes::OneBankTransaction),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "No such transaction.")))]
pub(super) async fn get_banking_transaction(
    State(banking): Shared,
    Holder(claims): Holder,
    body: Body,
) -> Result<Response, ApiError> {
    let call = banking.callables.read::<One>(body).await?;
    banking.callables.admit(&claims, &call).await?;
    let found = banking
        .transaction(&claims, &call.data.transaction_id, "transactionId")
        .await?;
    let view = found.shown(&banking.callables.engine).await?;
    Ok(callable::result(&View::new().object("transaction", &view)))
}

/// What `listBankingTransactions` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct List {
    /// 1 to 100, 20 by default.
    limit: Option<u64>,
    /// The last `transactionId` of the page before.
    starting_after: Option<String>,
}

/// Transfers and bank payouts, oldest first
#[utoipa::path(post, path = "/listBankingTransactions", tag = "Banking", security(("bearer" = [])), request_body = inline(List),
    responses((status = 200, description = "`transactions`, `hasMore`.", body = shapes::BankTransactions),
        (status = 400, description = "A member is unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "`startingAfter` is no transaction.")))]
pub(super) async fn list_banking_transactions(
    State(banking): Shared,
    Holder(claims): Holder,
    body: Body,
) -> Result<Response, ApiError> {
    let call = banking.callables.read::<List>(body).await?;
    let limit = limit(call.data.limit)?;
    banking.callables.admit(&claims, &call).await?;
    let after = match call.data.starting_after.as_deref() {
        None => None,
        Some(text) => Some(banking.transaction(&claims, text, "startingAfter").await?.place()),
    };
    let engine = &banking.callables.engine;
    let failed = |_| ApiError::internal();
    let transfers = engine.bank_transfers_of(&claims.wallet, after, limit).await;
    let (transfers, more_transfers) = transfers.map_err(failed)?;
    let (payouts, more_payouts) = banking.bank_payouts(&claims, after, limit).await?;
    let transfers = transfers
        .into_iter()
        .map(|(id, transfer)| Found::Transfer(id, transfer));
    let payouts = payouts
        .into_iter()
        .map(|(id, payout)| Found::Payout(id, Box::new(payout)));
    let mut found: Vec<Found> = transfers.chain(payouts).collect();
    found.sort_by_key(Found::place);
    let more = more_transfers || more_payouts || found.len() > limit;
    found.truncate(limit);
    let mut shown = Vec::with_capacity(found.len());
    for one in &found {
        shown.push(one.shown(engine).await?);
    }
    Ok(callable::result(
        &View::new().list("transactions", shown).flag("has_more", more),
    ))
}

/// A transaction of either kind.
enum Found {
    Transfer(BankTransferId, BankTransfer),
    Payout(PayoutId, Box<Payout>),
}

impl Found {
    /// Its place among its owner's.
    fn place(&self) -> (Timestamp, u128) {
        match self {
            Self::Transfer(id, transfer) => (transfer.created_at, id.0),
            Self::Payout(id, payout) => (payout.created_at, id.0),
        }
    }

    /// As it stands, and why it waits if it does.
    async fn shown(&self, engine: &Engine) -> Result<View, ApiError> {
        let work = match self {
            Self::Transfer(id, _) => Work::MoveBankMoney(*id),
            Self::Payout(id, _) => Work::SendPayout(*id),
        };
        with_held(engine, &work, self.view()).await
    }

    fn view(&self) -> View {
        let (id, payout) = match self {
            Self::Transfer(id, transfer) => return transfer.view(id),
            Self::Payout(id, payout) => (id, payout),
        };
        let destination = match &payout.plan.target {
            Target::Bank(destination, _) => Some(destination),
            Target::Card(_) | Target::App(..) => None,
        };
        View::new()
            .text("transaction_id", id)
            .text("type", "payout")
            .text("direction", "outgoing")
            .text("status", payout.status())
            .number("amount", payout.amount.decimal())
            .text("currency", payout.currency)
            .number("fee_amount", payout.charge.fee().decimal())
            .number("charged_amount", payout.charge.charged.decimal())
            .maybe("destination_id", destination)
            .maybe("failure_reason", payout.reason())
            .time("created_at", payout.created_at)
            .time("last_updated_at", payout.updated_at)
    }
}

impl Banking {
    /// The transaction of this name, if it is the caller's.
    async fn transaction(&self, claims: &Claims, text: &str, param: &'static str) -> Result<Found, ApiError> {
        let engine = &self.callables.engine;
        let unknown = || ApiError::not_found("transaction_unknown", "There is no such transaction.").param(param);
        let (owner, found) = if let Ok(id) = text.parse::<BankTransferId>() {
            let read = engine.bank_transfer(&id).await.map_err(|_| ApiError::internal())?;
            let transfer = read.ok_or_else(unknown)?;
            (transfer.owner, Found::Transfer(id, transfer))
        } else {
            let id: PayoutId = text.parse().map_err(|_| unknown())?;
            let read = engine.payout(&id).await.map_err(|_| ApiError::internal())?;
            let bank = |payout: &Payout| matches!(payout.plan.target, Target::Bank(..));
            let payout = read.filter(bank).ok_or_else(unknown)?;
            (payout.owner, Found::Payout(id, Box::new(payout)))
        };
        // Another's reads like one that nobody has: payouts of all kinds are looked for here.
        if owner == claims.wallet {
            Ok(found)
        } else {
            Err(unknown())
        }
    }

    /// Payouts to banks behind a place: those to cards and apps are looked past.
    async fn bank_payouts(
        &self,
        claims: &Claims,
        mut after: Option<(Timestamp, u128)>,
        limit: usize,
    ) -> Result<(Vec<(PayoutId, Payout)>, bool), ApiError> {
        let mut found = Vec::new();
        loop {
            let read = self.callables.engine.payouts_behind(&claims.wallet, after, limit).await;
            let (page, more) = read.map_err(|_| ApiError::internal())?;
            after = page.last().map(|(id, payout)| (payout.created_at, id.0)).or(after);
            found.extend(
                page.into_iter()
                    .filter(|(_, p)| matches!(p.plan.target, Target::Bank(..))),
            );
            if found.len() > limit || !more {
                let more = more || found.len() > limit;
                found.truncate(limit);
                return Ok((found, more));
            }
        }
    }
}
