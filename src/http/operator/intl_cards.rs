//! International cards after fulfilment: actions that their owners requested, and operators' reports from the issuer.

use std::sync::Arc;

use purser_actors::answer::rfc3339;
use purser_actors::engine::{ExceedsOperatorLimit, OperationError, QueuedOrder};
use purser_actors::entity::intl_order::{CardReport, IntlOrder, Rejection, State};
use purser_actors::kernel::{NamedState as _, StateMachine as _};
use purser_actors::money::Cents;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_actors::port::{CardActivity, CardState, CardTransaction, Timestamp, TransactionStatus};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest};
use super::intl_orders::{load_order, unknown};
use super::leases::{conflict, page};
use super::unavailable;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::route::routes;
use crate::http::schemas::{CardAction, ExactDecimal};
#[cfg(feature = "documents")]
use crate::http::schemas::{CardTransactionStatus, ReportedStatus};
use crate::http::withdrawals::in_range;
use crate::statuses::state_subsets;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/intl-cards" => get_card_actions {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listIntlCards", tag: "International cards" },
                Permission::Read,
                "List international cards with a requested pause, resume or close, oldest request first",
                of::<CardActionQueue>,
            )
            .queued()
            .error(404, "No such order.")
        )
    }
    POST "/admin/intl-cards/report" => post_report {
        Operator, unkeyed("names the card and its state; the returned amount is a total, credited once"), confirmed(), operation(||
            OperationDoc::post::<CardReportRequest>(
                Operation { id: "reportIntlCard", tag: "International cards" },
                "Report the status of an international card at its issuer: whether it can be charged, its charges, and the amount \
                 released on closing, which is credited",
                of::<CardReportResponse>,
            )
            .error(404, "No such order.")
            .error(409, "There is no card, or the amount needs a second operator.")
        )
    }
}

/// International cards with a requested action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CardActionQueue {
    /// Oldest request first.
    cards: Vec<QueuedCardAction>,
    /// Whether more cards follow.
    has_more: bool,
}

/// An international card with a requested action.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct QueuedCardAction {
    /// Id of the card.
    card_id: String,
    /// `ready` or `paused`.
    status: UsableCardStatus,
    /// `pause`, `resume` or `close`.
    #[cfg_attr(feature = "documents", schema(required))]
    requested: Option<CardAction>,
    /// Owner's wallet address in lower case.
    user_id: String,
    /// Last four digits of the card number.
    #[cfg_attr(feature = "documents", schema(required))]
    last4: Option<String>,
    /// Remaining US dollars, as last reported.
    available_usd_amount: ExactDecimal,
    /// Age of the request, in seconds.
    age_seconds: u64,
    /// Time of the request (RFC 3339).
    requested_at: String,
}

state_subsets! {
    "Status of an international card that can be used." UsableCardStatus: State [Ready, Paused];
    "Status of an international card after a report." ReportedCardStatus: State [Ready, Paused, Closed, Expired];
}

/// A card after a report.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CardReportResponse {
    /// Id of the card.
    card_id: String,
    /// `ready`, `paused`, `closed` or `expired`.
    status: ReportedCardStatus,
    /// Action that the owner still requests.
    #[cfg_attr(feature = "documents", schema(required))]
    requested: Option<CardAction>,
    /// Remaining US dollars.
    available_usd_amount: ExactDecimal,
    /// US dollars of the remainder that were credited to the owner, or will be.
    credited_usd_amount: ExactDecimal,
}

/// Cards with a requested action, oldest request first.
async fn get_card_actions(
    AuthorizedRead { admin, query }: AuthorizedRead,
) -> Result<Private<CardActionQueue>, ApiError> {
    let (after, limit) = page(query.as_deref(), unknown)?;
    let found = admin.engine.pending_card_actions(after, limit).await;
    let (cards, more) = found.map_err(|_| ApiError::internal())?;
    let now = admin.clock.now();
    Ok(Private(CardActionQueue {
        cards: cards.iter().map(|card| render_card_action(card, now)).collect(),
        has_more: more,
    }))
}

fn render_card_action(queued: &QueuedOrder, now: Timestamp) -> QueuedCardAction {
    let QueuedOrder { id, order, .. } = queued;
    let since = order.action_requested_at.unwrap_or(order.updated_at);
    QueuedCardAction {
        card_id: id.to_string(),
        status: order.state().into(),
        requested: order.lifecycle.pending_action,
        user_id: order.owner.user_id(),
        last4: order.details().map(|details| details.last4.clone()),
        available_usd_amount: order.lifecycle.activity.available.into(),
        age_seconds: now.0.saturating_sub(since.0) / 1_000,
        requested_at: rfc3339(since),
    }
}

/// Report on a card. Absent members keep their last reported value.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CardReportRequest {
    card_id: String,
    /// `ready`, `paused` or `closed`.
    #[cfg_attr(feature = "documents", schema(value_type = ReportedStatus))]
    status: String,
    /// Remaining amount, in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = Option<ExactDecimal>))]
    available_usd_amount: Option<Box<RawValue>>,
    /// Transactions, newest first. The newest 20 are stored.
    transactions: Option<Vec<ReportedCharge>>,
    /// Total amount that the issuer released after closing, in US dollars. The increase since the last report is
    /// credited to the owner.
    #[cfg_attr(feature = "documents", schema(value_type = Option<ExactDecimal>))]
    released_usd_amount: Option<Box<RawValue>>,
    /// Whether the owner's requested action has ended without further effect.
    ends_request: Option<bool>,
}

impl OperatorRequest for CardReportRequest {}

/// A charge as the card issuer reports it.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct ReportedCharge {
    /// Id of the charge at the issuer.
    transaction_id: String,
    merchant: String,
    /// Amount in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = ExactDecimal))]
    usd_amount: Box<RawValue>,
    /// `pending`, `settled`, `declined` or `refunded`.
    #[cfg_attr(feature = "documents", schema(value_type = CardTransactionStatus))]
    status: String,
    /// Reason of a declined charge.
    decline_reason: Option<String>,
    /// Time of the charge, in Unix milliseconds.
    at_ms: u64,
}

async fn post_report(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<CardReportRequest>,
) -> Result<Private<CardReportResponse>, ApiError> {
    let (id, order) = load_order(&admin, &request.card_id).await?;
    let report = request.read(&order)?;
    let result = admin.engine.report_intl(id, act, report).await;
    result.map_err(map_error)?;
    let (id, order) = load_order(&admin, &id.to_string()).await?;
    Ok(Private(CardReportResponse {
        card_id: id.to_string(),
        status: order.state().into(),
        requested: order.lifecycle.pending_action,
        available_usd_amount: order.lifecycle.activity.available.into(),
        credited_usd_amount: order.credited().into(),
    }))
}

impl CardReportRequest {
    fn read(self, order: &IntlOrder) -> Result<CardReport, ApiError> {
        let state = match self.status.as_str() {
            "ready" => CardState::Open,
            "paused" => CardState::Paused,
            "closed" => CardState::Closed,
            _ => return Err(wrong("status", "`status` is `ready`, `paused` or `closed`.")),
        };
        let known = &order.lifecycle;
        let available = match self.available_usd_amount {
            Some(text) => in_range(text.get(), "available_usd_amount", Cents::ZERO, Some(order.amount))?,
            None if state == CardState::Closed => Cents::ZERO,
            None => known.activity.available,
        };
        let released = match self.released_usd_amount {
            Some(text) => in_range(text.get(), "released_usd_amount", Cents::ZERO, Some(order.amount))?,
            None => known.released,
        };
        if released > known.released && state != CardState::Closed && order.is_usable() {
            return Err(wrong(
                "released_usd_amount",
                "Only a closed or ended card can have a released amount.",
            ));
        }
        let transactions = match self.transactions {
            Some(charges) => charges
                .into_iter()
                .map(ReportedCharge::read)
                .collect::<Result<_, _>>()?,
            None => known.activity.transactions.clone(),
        };
        Ok(CardReport {
            state,
            activity: CardActivity {
                available,
                transactions,
            },
            released,
            ends_action: self.ends_request.unwrap_or(false),
        })
    }
}

impl ReportedCharge {
    fn read(self) -> Result<CardTransaction, ApiError> {
        let status = TransactionStatus::ALL
            .into_iter()
            .find(|status| status.name() == self.status);
        let status = status.ok_or_else(|| {
            wrong(
                "transactions",
                "The `status` of a charge is `pending`, `settled`, `declined` or `refunded`.",
            )
        })?;
        let texts = [&self.transaction_id, &self.merchant];
        if texts
            .iter()
            .any(|text| text.trim().is_empty() || text.chars().any(char::is_control))
        {
            return Err(wrong(
                "transactions",
                "A charge has a `transaction_id` and a `merchant`.",
            ));
        }
        Ok(CardTransaction {
            amount: in_range(self.usd_amount.get(), "transactions", Cents::ZERO, None)?,
            id: self.transaction_id,
            merchant: self.merchant,
            at: Timestamp(self.at_ms),
            status,
            reason: self.decline_reason,
        })
    }
}

fn wrong(param: &'static str, error: &'static str) -> ApiError {
    ApiError::parameter(ErrorCode::ParameterInvalid, param, error)
}

fn map_error(denied: OperationError<Rejection, ExceedsOperatorLimit>) -> ApiError {
    match denied {
        OperationError::Rejected(Rejection::InvalidState(status)) => {
            let error = format!("The order is {status}: there is no card to report of.");
            ApiError::new(ErrorCode::OrderNotOpen, error)
        }
        OperationError::Rejected(Rejection::Ended) => {
            let error = "The card has ended. Report only the amount that its issuer released, with status `closed`.";
            ApiError::new(ErrorCode::OrderNotOpen, error).param("status")
        }
        OperationError::Rejected(Rejection::Released) => wrong(
            "released_usd_amount",
            "The amount is less than was released before, or more than the card had.",
        ),
        OperationError::Specific(ExceedsOperatorLimit) => conflict(
            ErrorCode::SecondOperatorNeeded,
            "That is more than one operator gives alone.",
        )
        .param("released_usd_amount")
        .hint("Report it without this, and ask for a refund of its payment, which another operator approves."),
        OperationError::Rejected(Rejection::Lease(_) | Rejection::InDoubt)
        | OperationError::AlreadyUsed
        | OperationError::Unavailable => unavailable(),
    }
}
