//! Refunds: asked for, approved by somebody else above a limit, or rejected.

use axum::response::Response;
use http::StatusCode;
use purser_actors::engine::{NotRefunded, RefundRequest};
use purser_actors::id::{PaymentId, RefundId};
use purser_actors::kernel::{Entity as _, View};
use purser_actors::money::{Cents, Usdc};
use purser_actors::product::Product;
use purser_actors::refund::Refund;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::asked::{Admitted, Asks, Looked, in_words};
use super::{desk, not_now};
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::http::shapes::Exact;
use crate::http::withdrawals::in_range;

/// Those that wait for a second operator, the oldest first; with `all` every one, and with `payment_id` the one of that payment,
/// however they stand.
pub(super) async fn get_refunds(Looked { admin, query }: Looked) -> Result<Response, ApiError> {
    let asked = Query::parse(query.as_deref(), &["after", "all", "limit", "payment_id"])?;
    if let Some(payment) = asked.get("payment_id") {
        let payment: PaymentId = payment.parse().map_err(|_| unknown())?;
        let id = RefundId::of(payment);
        let refund = admin.engine.refund(&id).await.map_err(|_| ApiError::internal())?;
        return Ok(answer(id, &refund.ok_or_else(unknown)?));
    }
    let (after, limit) = desk::place_and_limit(&asked)?;
    let found = match asked.word("all", &["false", "true"])? {
        "true" => admin.engine.all_refunds(after, limit).await,
        _ => admin.engine.open_refunds(after, limit).await,
    };
    let found = found.map_err(|_| ApiError::internal())?;
    Ok(desk::paged_behind("", "refunds", &found, |id, refund| {
        shown(RefundId(id), refund)
    }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    payment_id: String,
    #[schema(value_type = Exact)]
    amount: Box<RawValue>,
    reason: String,
    /// Says that the holder gets the money and may keep what was bought too.
    #[serde(default)]
    holder_keeps_product: bool,
}

impl Asks for Ask {}

pub(super) async fn post_refund(Admitted { admin, act, wanted }: Admitted<Ask>) -> Result<Response, ApiError> {
    let amount = dollars(&wanted.amount)?;
    in_words("reason", "is for the audit log", &wanted.reason)?;
    let payment: PaymentId = wanted.payment_id.parse().map_err(|_| no_payment())?;
    let asked = RefundRequest {
        amount,
        reason: wanted.reason,
        holder_keeps_product: wanted.holder_keeps_product,
    };
    let refund = admin.engine.ask_refund(payment, asked, &act).await;
    let (id, refund) = refund.map_err(|why| match why {
        NotRefunded::Unknown => no_payment(),
        why => refused(why),
    })?;
    Ok(answer(id, &refund))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Approve {
    refund_id: String,
    #[schema(value_type = Exact)]
    amount: Box<RawValue>,
}

impl Asks for Approve {}

pub(super) async fn post_approve(Admitted { admin, act, wanted }: Admitted<Approve>) -> Result<Response, ApiError> {
    let amount = dollars(&wanted.amount)?;
    let id: RefundId = wanted.refund_id.parse().map_err(|_| unknown())?;
    let (id, refund) = admin.engine.approve_refund(id, amount, &act).await.map_err(refused)?;
    Ok(answer(id, &refund))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reject {
    refund_id: String,
    reason: String,
}

impl Asks for Reject {}

pub(super) async fn post_reject(Admitted { admin, act, wanted }: Admitted<Reject>) -> Result<Response, ApiError> {
    in_words("reason", "is for the audit log", &wanted.reason)?;
    let id: RefundId = wanted.refund_id.parse().map_err(|_| unknown())?;
    let rejected = admin.engine.reject_refund(id, wanted.reason, &act).await;
    let (id, refund) = rejected.map_err(refused)?;
    Ok(answer(id, &refund))
}

pub(super) fn dollars(amount: &RawValue) -> Result<Usdc, ApiError> {
    let cents = in_range(amount.get(), "amount", Cents::new(1), None)?;
    Usdc::from_cents(cents)
        .map_err(|_| ApiError::parameter("amount_out_of_range", "amount", "`amount` is more than there is."))
}

/// With what only operators read.
fn shown(id: RefundId, refund: &Refund) -> View {
    refund
        .view(&id)
        .text("wallet", refund.asked.owner)
        .text("reason", &refund.asked.reason)
        .flag("holder_keeps_product", refund.asked.holder_keeps_product)
        .text("requested_by", &refund.asked.by)
        .maybe("decided_by", refund.decider())
        .time("open_until", refund.open_until)
}

fn answer(id: RefundId, refund: &Refund) -> Response {
    json::private(json::bytes_as_json(shown(id, refund).to_json()))
}

fn unknown() -> ApiError {
    ApiError::not_found("refund_unknown", "There is no such refund.")
}

fn no_payment() -> ApiError {
    ApiError::not_found("payment_unknown", "There is no such payment.")
}

fn refused(why: NotRefunded) -> ApiError {
    let conflict = |code, error: String| ApiError::new(StatusCode::CONFLICT, code, error);
    match why {
        NotRefunded::Unknown => unknown(),
        NotRefunded::TooMuch { refundable } => {
            let error = format!("At most {} of this payment can be refunded now.", refundable.decimal());
            let hint = "What may still fail or come back is credited by itself then.";
            conflict("refund_too_much", error).hint(hint)
        }
        NotRefunded::Kept {
            usable,
            refundable,
            product,
        } => {
            let error = format!(
                "{} of what this payment bought can still be used by its holder; as it is, at most {} can be refunded.",
                usable.decimal(),
                refundable.decimal()
            );
            let hint = format!(
                "{} If the holder is to have both, say so with `holder_keeps_product`: true (`--holder-keeps-product`).",
                taken_back(product)
            );
            conflict("product_not_returned", error).hint(hint)
        }
        NotRefunded::State("requested") => {
            conflict("refund_not_open", "Its time is over, or it waits already.".to_owned())
        }
        NotRefunded::State(state) => conflict("refund_not_open", format!("This refund is {state}.")),
        NotRefunded::Own => {
            let error = "Whoever asked for a refund does not approve it.";
            ApiError::forbidden("refund_own", error)
        }
        NotRefunded::Differs => conflict("refund_differs", "This refund is about another amount.".to_owned()),
        NotRefunded::Unavailable => not_now(),
    }
}

/// How what was bought is taken from its holder.
fn taken_back(product: Product) -> String {
    match product {
        Product::Card(id) => format!(
            "Its holder closes {id} first (`POST /close-card`): what is left on it is credited by itself, and the rest can be \
             refunded."
        ),
        Product::IntlOrder(id) => format!(
            "Have the card closed where it was made and report it first (`purser admin intl report {id} closed`): what is left \
             is credited by itself, and the rest can be refunded."
        ),
        Product::GiftCard(_) => "A gift card's code cannot be taken back.".to_owned(),
        Product::TopUp(_) => "A balance at the card issuer cannot be taken back.".to_owned(),
        Product::Payout(_) => "What was paid out cannot be taken back.".to_owned(),
    }
}
