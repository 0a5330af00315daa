//! The queue of international card orders: list, claim, release, fulfil, reject.

use std::sync::Arc;

use purser_actors::engine::{ApprovalPending, OperationError, QueuedOrder};
use purser_actors::entity::intl_order::{
    BillingAddress, EnteredCard, IntlCardDetails, IntlOrder, Rejection, State, Status,
};
use purser_actors::id::CardId;
use purser_actors::kernel::{Entity as _, NamedState as _, StateMachine as _};
use purser_actors::lease::{Leasable as _, LeaseError};
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_actors::port::{Timestamp, month_end};
use serde::{Deserialize, Serialize};

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::approvals::{self, Approvable};
use super::closed_sets::OpenStatus;
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
use super::leases::{ClaimedLease, LeaseView, LeasedResource, listed, page};
use super::{AdminState, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::readable::is_readable;
use crate::http::route::routes;
use crate::http::schemas::{ClaimedStatus, ExactDecimal};
use crate::secret::Secret;
use crate::statuses::state_subsets;
use crate::vault::CardNumberRecord;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/intl-orders" => get_queue {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listIntlOrders", tag: "International orders" },
                Permission::Read,
                "List open international card orders, overdue ones first, then oldest first",
                of::<IntlOrderQueue>,
            )
            .queued()
            .error(404, "No such order.")
        )
    }
    POST "/admin/intl-orders/claim" => post_claim {
        Operator, unkeyed("names the order and its lease; a stale lease changes nothing"), operation(||
            OperationDoc::post::<ClaimOrderRequest>(
                Operation { id: "claimIntlOrder", tag: "International orders" },
                "Claim an order until the lease expires",
                of::<ClaimedIntlOrder>,
            )
            .error(404, "No such order.")
            .error(409, "It is already decided, or another operator holds the lease.")
        )
    }
    POST "/admin/intl-orders/renew" => post_renew {
        Operator, unkeyed("names the order and its lease; a stale lease changes nothing"), operation(||
            OperationDoc::post::<RenewOrderRequest>(
                Operation { id: "renewIntlOrder", tag: "International orders" },
                "Extend your lease of an order. It gets a new number; the old one is no longer accepted",
                of::<ClaimedIntlOrder>,
            )
            .error(404, "No such order.")
            .error(409, "It is already decided, or you do not hold it with this lease.")
        )
    }
    POST "/admin/intl-orders/release" => post_release {
        Operator, unkeyed("names the order and its lease; a stale lease changes nothing"), operation(||
            OperationDoc::post::<ReleaseOrderRequest>(
                Operation { id: "releaseIntlOrder", tag: "International orders" },
                "Release an order",
                of::<IntlOrderStatus>,
            )
            .error(404, "No such order.")
            .error(409, "It is not claimed with this lease.")
        )
    }
    POST "/admin/intl-orders/fulfil" => post_fulfil {
        Operator, unkeyed("names the order and its lease; a stale lease changes nothing"), confirmed(), operation(||
            OperationDoc::post::<FulfilOrderRequest>(
                Operation { id: "fulfilIntlOrder", tag: "International orders" },
                "Enter the details of the ordered card",
                of::<FulfilledIntlOrder>,
            )
            .error(404, "No such order.")
            .error(409, "The lease has expired or is not current.")
        )
    }
    POST "/admin/intl-orders/reject" => post_reject {
        Operator, unkeyed("names the order and its lease; a stale lease changes nothing"), confirmed(), operation(||
            OperationDoc::post::<RejectOrderRequest>(
                Operation { id: "rejectIntlOrder", tag: "International orders" },
                "Reject an order and credit the full charge",
                of::<IntlOrderStatus>,
            )
            .may_wait()
            .error(404, "No such order.")
            .error(409, "It is already decided, or another operator holds the lease.")
        )
    }
}

/// Names and codes for error messages.
const ORDER: LeasedResource = LeasedResource {
    name: "order",
    not_open: ErrorCode::OrderNotOpen,
    leased: ErrorCode::OrderLeased,
};

/// Open international card orders.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct IntlOrderQueue {
    /// Overdue ones first, then oldest first.
    orders: Vec<OpenIntlOrder>,
    /// Whether more orders follow.
    has_more: bool,
}

/// An open order of an international card.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OpenIntlOrder {
    /// Id of the card.
    card_id: String,
    /// `queued` or `claimed`.
    status: OpenStatus,
    /// Owner's wallet address in lower case.
    user_id: String,
    /// Amount to load on the card, in US dollars.
    usd_amount: ExactDecimal,
    /// Amount charged, with the fee, in US dollars. A rejection credits it.
    charged_usd_amount: ExactDecimal,
    /// Label given by the owner.
    #[cfg_attr(feature = "documents", schema(required))]
    label: Option<String>,
    /// Whether the order is older than 24 hours.
    overdue: bool,
    #[serde(flatten)]
    doubt: Doubt,
    #[serde(flatten)]
    lease: LeaseView,
}

/// Whether a restore may have lost the order's fulfilment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct Doubt {
    /// Whether the card may have been ordered in the time lost by a restore.
    in_doubt: bool,
    /// What to do in that case.
    #[cfg_attr(feature = "documents", schema(required))]
    hint: Option<&'static str>,
}

impl Doubt {
    fn new(in_doubt: bool) -> Self {
        let hint = "The card may have been made in the time that a restore lost: look first. If it was not, release the order.";
        Self {
            in_doubt,
            hint: in_doubt.then_some(hint),
        }
    }
}

state_subsets! {
    "Status of an order that was released or rejected." ReleasedOrderStatus: State [Queued, Rejected];
    "Status of a fulfilled order." ReadyStatus: State [Ready];
}

/// A claimed order.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ClaimedIntlOrder {
    /// Id of the card.
    card_id: String,
    /// `claimed` in every case.
    status: ClaimedStatus,
    #[serde(flatten)]
    doubt: Doubt,
    #[serde(flatten)]
    lease: ClaimedLease,
}

/// An order that was released or rejected.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct IntlOrderStatus {
    /// Id of the card.
    card_id: String,
    /// `queued` or `rejected`.
    status: ReleasedOrderStatus,
}

/// A fulfilled order.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct FulfilledIntlOrder {
    /// Id of the card.
    card_id: String,
    /// `ready` in every case.
    status: ReadyStatus,
    /// Last four digits of the card number.
    last4: String,
}

async fn get_queue(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<IntlOrderQueue>, ApiError> {
    let (after, limit) = page(query.as_deref(), unknown)?;
    let found = admin.engine.intl_queue(after, limit).await;
    let (orders, more) = found.map_err(|_| ApiError::internal())?;
    let now = admin.clock.now();
    Ok(Private(IntlOrderQueue {
        orders: orders.iter().map(|order| render(order, now)).collect(),
        has_more: more,
    }))
}

fn render(queued: &QueuedOrder, now: Timestamp) -> OpenIntlOrder {
    let QueuedOrder { id, order, in_doubt } = queued;
    OpenIntlOrder {
        card_id: id.to_string(),
        status: order.state().into(),
        user_id: order.owner.user_id(),
        usd_amount: order.amount.into(),
        charged_usd_amount: order.charge.charged.into(),
        label: order.label.clone(),
        overdue: order.overdue,
        doubt: Doubt::new(*in_doubt),
        lease: listed(order.leases(), order.created_at, now),
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimOrderRequest {
    card_id: String,
}

impl OperatorRequest for ClaimOrderRequest {}

async fn post_claim(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ClaimOrderRequest>,
) -> Result<Private<ClaimedIntlOrder>, ApiError> {
    let (id, order) = load_order(&admin, &request.card_id).await?;
    let in_doubt = admin
        .engine
        .may_be_made_manually(&order)
        .await
        .map_err(|_| unavailable())?;
    let lease = admin.engine.claim_intl(id, act, admin.lease_ms).await;
    let lease = lease.map_err(map_error)?;
    Ok(Private(ClaimedIntlOrder {
        card_id: id.to_string(),
        status: ClaimedStatus::Claimed,
        doubt: Doubt::new(in_doubt),
        lease: lease.into(),
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RenewOrderRequest {
    card_id: String,
    /// Number of your lease.
    lease: u64,
}

impl OperatorRequest for RenewOrderRequest {}

async fn post_renew(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RenewOrderRequest>,
) -> Result<Private<ClaimedIntlOrder>, ApiError> {
    let (id, order) = load_order(&admin, &request.card_id).await?;
    let in_doubt = admin
        .engine
        .may_be_made_manually(&order)
        .await
        .map_err(|_| unavailable())?;
    let lease = admin.engine.renew_intl(id, act, request.lease, admin.lease_ms).await;
    let lease = lease.map_err(map_error)?;
    Ok(Private(ClaimedIntlOrder {
        card_id: id.to_string(),
        status: ClaimedStatus::Claimed,
        doubt: Doubt::new(in_doubt),
        lease: lease.into(),
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseOrderRequest {
    card_id: String,
    lease: u64,
}

impl OperatorRequest for ReleaseOrderRequest {}

async fn post_release(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ReleaseOrderRequest>,
) -> Result<Private<IntlOrderStatus>, ApiError> {
    let id = load_order(&admin, &request.card_id).await?.0;
    let released = admin.engine.release_intl(id, act, request.lease).await;
    released.map_err(map_error)?;
    Ok(Private(IntlOrderStatus {
        card_id: id.to_string(),
        status: State::Queued.into(),
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RejectOrderRequest {
    card_id: String,
    lease: Option<u64>,
    reason: String,
}

impl OperatorRequest for RejectOrderRequest {}

async fn post_reject(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RejectOrderRequest>,
) -> Result<Approvable<IntlOrderStatus>, ApiError> {
    check_note("reason", "is for the holder", &request.reason)?;
    let id = load_order(&admin, &request.card_id).await?.0;
    match admin.engine.reject_intl(id, act, request.lease, request.reason).await {
        Err(OperationError::Specific(ApprovalPending(id))) => return approvals::waiting(&admin, id).await,
        result => result.map_err(map_error)?,
    }
    Ok(Approvable::Done(IntlOrderStatus {
        card_id: id.to_string(),
        status: State::Rejected.into(),
    }))
}

/// No `Debug`: it holds the card number in plain text until it is sealed.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct FulfilOrderRequest {
    card_id: String,
    lease: u64,
    card_number: String,
    exp_month: u8,
    exp_year: u16,
    cvv: String,
    billing_address: BillingAddressInput,
}

impl OperatorRequest for FulfilOrderRequest {}

/// Billing address of the card.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct BillingAddressInput {
    line1: String,
    city: String,
    state: String,
    postal_code: String,
    country: String,
}

/// Limit in characters.
const MAX_LINE_LEN: usize = 100;

impl BillingAddressInput {
    fn checked(self) -> Result<BillingAddress, ApiError> {
        let lines = [&self.line1, &self.city, &self.state, &self.postal_code];
        let whole = lines.iter().all(|line| is_readable(line, MAX_LINE_LEN));
        let country = self.country.len() == 2 && self.country.bytes().all(|b| b.is_ascii_uppercase());
        if !(whole && country) {
            let error = format!(
                "`billing_address` has `line1`, `city`, `state` and `postal_code` of 1 to {MAX_LINE_LEN} characters, and \
                 `country` as two capital letters (ISO 3166-1)."
            );
            return Err(ApiError::parameter(
                ErrorCode::ParameterInvalid,
                "billing_address",
                error,
            ));
        }
        Ok(BillingAddress {
            line1: self.line1,
            city: self.city,
            state: self.state,
            postal_code: self.postal_code,
            country: self.country,
        })
    }
}

async fn post_fulfil(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<FulfilOrderRequest>,
) -> Result<Private<FulfilledIntlOrder>, ApiError> {
    let (number, cvv) = (Secret::new(request.card_number), Secret::new(request.cvv));
    let number = parse_card(&admin, number, request.exp_month, request.exp_year)?;
    let billing = request.billing_address.checked()?;
    let (id, order) = load_order(&admin, &request.card_id).await?;
    // Nothing is sealed for an order that can't be fulfilled. The order itself decides again.
    check_lease(&order, &act.operator, request.lease, admin.clock.now())?;
    let (card, key) = sealed(&admin, id, &number, (cvv, billing)).await?;
    match admin.engine.fulfil_intl(id, act, request.lease, card).await {
        Ok(()) => Ok(Private(FulfilledIntlOrder {
            card_id: id.to_string(),
            status: State::Ready.into(),
            last4: number.last4(),
        })),
        Err(denied) => {
            if matches!(denied, OperationError::Rejected(_)) {
                shred_cvv(&admin, key).await;
            }
            Err(map_error(denied))
        }
    }
}

fn check_lease(order: &IntlOrder, by: &str, lease: u64, now: Timestamp) -> Result<(), ApiError> {
    match (&order.status, order.leases().current(now)) {
        (Status::Claimed(_), Some(holder)) if holder.by == by && lease == order.lease => Ok(()),
        (Status::Queued | Status::Claimed(_), _) => Err(ORDER.lease_error(&LeaseError::Stale(order.lease))),
        _ => Err(ORDER.not_open(order.status())),
    }
}

/// Parses the card as typed, with the checks that find typing errors.
fn parse_card(admin: &AdminState, number: Secret<String>, month: u8, year: u16) -> Result<CardNumberRecord, ApiError> {
    let wrong =
        |param: &'static str, error: &'static str| ApiError::parameter(ErrorCode::ParameterInvalid, param, error);
    if !(1..=12).contains(&month) {
        return Err(wrong("exp_month", "`exp_month` is a month from 1 to 12."));
    }
    let now = admin.clock.now();
    let far = now.plus_ms(20 * 366 * 86_400_000);
    let end = month_end(year, month);
    if end <= now || end > far {
        return Err(wrong(
            "exp_year",
            "The card has expired, or ends more than 20 years from now.",
        ));
    }
    let no_number = "`card_number` is not a card's number: 12 to 19 digits, of which the last checks the others.";
    let number = CardNumberRecord::new(number, month, year).map_err(|_| wrong("card_number", no_number))?;
    if !number.has_check_digit() {
        return Err(wrong("card_number", no_number));
    }
    Ok(number)
}

/// The sealed card, and the sealed CVV again: a rejected request destroys the CVV's key.
async fn sealed(
    admin: &AdminState,
    id: CardId,
    number: &CardNumberRecord,
    (cvv, billing): (Secret<String>, BillingAddress),
) -> Result<(EnteredCard, Vec<u8>), ApiError> {
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(card = %id, %error, "a card could not be sealed");
        ApiError::internal()
    };
    let digits = cvv.expose_secret();
    if !(3..=4).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ApiError::parameter(
            ErrorCode::ParameterInvalid,
            "cvv",
            "`cvv` has 3 or 4 digits.",
        ));
    }
    let cvvs = admin.cvvs.clone();
    let cvv = tokio::task::spawn_blocking(move || cvvs.seal(id, &cvv)).await;
    let cvv = cvv.map_err(|e| failed(&e))?.map_err(|e| failed(&e))?;
    let details = IntlCardDetails {
        last4: number.last4(),
        exp_month: number.exp_month(),
        exp_year: number.exp_year(),
        billing,
    };
    let card = EnteredCard {
        details,
        number: admin.vault.seal(id, number).map_err(|e| failed(&e))?,
        cvv: cvv.clone(),
    };
    Ok((card, cvv))
}

/// A failure leaves only an unused key behind, which opens nothing.
async fn shred_cvv(admin: &AdminState, record: Vec<u8>) {
    let cvvs = admin.cvvs.clone();
    match tokio::task::spawn_blocking(move || cvvs.destroy_key(&record)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the key of a CVV that is not used stays behind"),
        Err(error) => tracing::warn!(%error, "the key of a CVV that is not used stays behind"),
    }
}

pub(super) async fn load_order(admin: &AdminState, text: &str) -> Result<(CardId, IntlOrder), ApiError> {
    let id: CardId = text.parse().map_err(|_| unknown())?;
    let order = admin.engine.intl_order(&id).await.map_err(|_| ApiError::internal())?;
    order.map(|order| (id, order)).ok_or_else(unknown)
}

pub(super) fn unknown() -> ApiError {
    ApiError::new(ErrorCode::CardNotFound, "There is no such order.")
}

pub(super) fn map_error<O>(denied: OperationError<Rejection, O>) -> ApiError {
    match denied {
        OperationError::Rejected(Rejection::InvalidState(status)) => ORDER.not_open(status),
        OperationError::Rejected(Rejection::Lease(not)) => ORDER.lease_error(&not),
        _ => unavailable(),
    }
}
