//! The queue of withdrawals from card balances: list, claim, release, fulfil, reject.

use std::sync::Arc;

use purser_actors::engine::{ApprovalPending, GateHold, OperationError};
use purser_actors::entity::card_withdrawal::{CardWithdrawal, Rejection, State};
use purser_actors::id::WithdrawalId;
use purser_actors::kernel::{NamedState as _, StateMachine as _};
use purser_actors::lease::Leasable as _;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_actors::port::Timestamp;
use serde::{Deserialize, Serialize};

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::approvals::{self, Approvable};
use super::closed_sets::OpenStatus;
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
use super::leases::{ClaimedLease, LeaseView, LeasedResource, conflict, listed, page};
use super::{AdminState, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::route::routes;
use crate::http::schemas::{ClaimedStatus, ExactDecimal, NetworkName};
use crate::statuses::{named_values, state_subsets};

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/card-withdrawals" => get_queue {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listCardWithdrawals", tag: "Card withdrawals" },
                Permission::Read,
                "List open withdrawals from card balances, oldest first",
                of::<CardWithdrawalQueue>,
            )
            .queued()
            .error(404, "No such withdrawal.")
        )
    }
    POST "/admin/card-withdrawals/claim" => post_claim {
        Operator, unkeyed("names the withdrawal and its lease; a stale lease changes nothing"), operation(||
            OperationDoc::post::<ClaimWithdrawalRequest>(
                Operation { id: "claimCardWithdrawal", tag: "Card withdrawals" },
                "Claim a withdrawal until the lease expires",
                of::<ClaimedCardWithdrawal>,
            )
            .error(404, "No such withdrawal.")
            .error(409, "It is already decided, or another operator holds the lease.")
        )
    }
    POST "/admin/card-withdrawals/renew" => post_renew {
        Operator, unkeyed("names the withdrawal and its lease; a stale lease changes nothing"), operation(||
            OperationDoc::post::<RenewWithdrawalRequest>(
                Operation { id: "renewCardWithdrawal", tag: "Card withdrawals" },
                "Extend your lease of a withdrawal. It gets a new number; the old one is no longer accepted",
                of::<ClaimedCardWithdrawal>,
            )
            .error(404, "No such withdrawal.")
            .error(409, "It is already decided, or you do not hold it with this lease.")
        )
    }
    POST "/admin/card-withdrawals/release" => post_release {
        Operator, unkeyed("names the withdrawal and its lease; a stale lease changes nothing"), operation(||
            OperationDoc::post::<ReleaseWithdrawalRequest>(
                Operation { id: "releaseCardWithdrawal", tag: "Card withdrawals" },
                "Release a withdrawal without paying it",
                of::<CardWithdrawalStatus>,
            )
            .error(404, "No such withdrawal.")
            .error(409, "It is not claimed with this lease.")
        )
    }
    POST "/admin/card-withdrawals/fulfil" => post_fulfil {
        Operator, unkeyed("names the withdrawal and its lease; a stale lease changes nothing"), operation(||
            OperationDoc::post::<FulfilWithdrawalRequest>(
                Operation { id: "fulfilCardWithdrawal", tag: "Card withdrawals" },
                "Record that a withdrawal was paid",
                of::<CardWithdrawalStatus>,
            )
            .may_wait()
            .error(404, "No such withdrawal.")
            .error(
                409,
                "The lease has expired or is not current, or the transaction paid another withdrawal.",
            )
        )
    }
    POST "/admin/card-withdrawals/reject" => post_reject {
        Operator, unkeyed("names the withdrawal and its lease; a stale lease changes nothing"), operation(||
            OperationDoc::post::<RejectWithdrawalRequest>(
                Operation { id: "rejectCardWithdrawal", tag: "Card withdrawals" },
                "Reject a withdrawal. The issuer returns the amount to the card balance",
                of::<CardWithdrawalStatus>,
            )
            .error(404, "No such withdrawal.")
            .error(409, "It is already decided, or another operator holds the lease.")
        )
    }
}

/// Names and codes for error messages.
const WITHDRAWAL: LeasedResource = LeasedResource {
    name: "withdrawal",
    not_open: ErrorCode::WithdrawalNotOpen,
    leased: ErrorCode::WithdrawalLeased,
};

/// Open withdrawals from card balances.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CardWithdrawalQueue {
    /// Withdrawals, oldest first.
    withdrawals: Vec<OpenCardWithdrawal>,
    /// Whether more withdrawals follow.
    has_more: bool,
}

/// An open withdrawal from a card balance.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OpenCardWithdrawal {
    /// Id of the withdrawal.
    withdrawal_id: String,
    /// `queued` or `claimed`.
    status: OpenStatus,
    /// Owner's wallet address in lower case.
    user_id: String,
    /// Amount in US dollars.
    amount: ExactDecimal,
    /// `base` or `solana`.
    network: NetworkName,
    /// Address to pay to.
    address: String,
    #[serde(flatten)]
    lease: LeaseView,
    /// `held_frozen` while its owner is frozen. Do not pay it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<FrozenHold>,
}

/// A claimed withdrawal.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ClaimedCardWithdrawal {
    /// Id of the withdrawal.
    withdrawal_id: String,
    /// `claimed` in every case.
    status: ClaimedStatus,
    #[serde(flatten)]
    lease: ClaimedLease,
}

/// A withdrawal that was released, fulfilled or rejected.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CardWithdrawalStatus {
    /// Id of the withdrawal.
    withdrawal_id: String,
    /// `queued`, `complete` or `rejected`.
    status: ReleasedWithdrawalStatus,
}

state_subsets! {
    "Status of a withdrawal that was released, fulfilled or rejected." ReleasedWithdrawalStatus:
        State [Queued, Complete, Rejected];
}

named_values! {
    "Reason of a hold until an account is unfrozen." FrozenHold: GateHold = [GateHold::AccountFrozen], GateHold::name;
}

async fn get_queue(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<CardWithdrawalQueue>, ApiError> {
    let (after, limit) = page(query.as_deref(), unknown)?;
    let found = admin.engine.card_withdrawal_queue(after, limit).await;
    let (open, more) = found.map_err(|_| ApiError::internal())?;
    let now = admin.clock.now();
    let mut withdrawals = Vec::with_capacity(open.len());
    for (id, withdrawal) in &open {
        let frozen = admin.engine.is_frozen(&withdrawal.owner).await;
        let frozen = frozen.map_err(|_| ApiError::internal())?;
        withdrawals.push(render(id, withdrawal, now, frozen));
    }
    Ok(Private(CardWithdrawalQueue {
        withdrawals,
        has_more: more,
    }))
}

fn render(id: &WithdrawalId, withdrawal: &CardWithdrawal, now: Timestamp, frozen: bool) -> OpenCardWithdrawal {
    OpenCardWithdrawal {
        withdrawal_id: id.to_string(),
        status: withdrawal.state().into(),
        user_id: withdrawal.owner.user_id(),
        amount: withdrawal.amount.into(),
        network: withdrawal.to.network(),
        address: withdrawal.to.address(),
        lease: listed(withdrawal.leases(), withdrawal.created_at, now),
        held: frozen.then(|| GateHold::AccountFrozen.into()),
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimWithdrawalRequest {
    withdrawal_id: String,
}

impl OperatorRequest for ClaimWithdrawalRequest {}

async fn post_claim(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ClaimWithdrawalRequest>,
) -> Result<Private<ClaimedCardWithdrawal>, ApiError> {
    let id = load_withdrawal(&admin, &request.withdrawal_id).await?;
    let lease = admin.engine.claim_card_withdrawal(id, act, admin.lease_ms).await;
    let lease = lease.map_err(map_error)?;
    Ok(Private(ClaimedCardWithdrawal {
        withdrawal_id: id.to_string(),
        status: ClaimedStatus::Claimed,
        lease: lease.into(),
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RenewWithdrawalRequest {
    withdrawal_id: String,
    /// Number of your lease.
    lease: u64,
}

impl OperatorRequest for RenewWithdrawalRequest {}

async fn post_renew(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RenewWithdrawalRequest>,
) -> Result<Private<ClaimedCardWithdrawal>, ApiError> {
    let id = load_withdrawal(&admin, &request.withdrawal_id).await?;
    let renewed = admin
        .engine
        .renew_card_withdrawal(id, act, request.lease, admin.lease_ms);
    let lease = renewed.await.map_err(map_error)?;
    Ok(Private(ClaimedCardWithdrawal {
        withdrawal_id: id.to_string(),
        status: ClaimedStatus::Claimed,
        lease: lease.into(),
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseWithdrawalRequest {
    withdrawal_id: String,
    lease: u64,
}

impl OperatorRequest for ReleaseWithdrawalRequest {}

async fn post_release(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ReleaseWithdrawalRequest>,
) -> Result<Private<CardWithdrawalStatus>, ApiError> {
    let id = load_withdrawal(&admin, &request.withdrawal_id).await?;
    let released = admin.engine.release_card_withdrawal(id, act, request.lease).await;
    released.map_err(map_error)?;
    Ok(Private(done(id, State::Queued)))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct FulfilWithdrawalRequest {
    withdrawal_id: String,
    lease: u64,
    tx_hash: String,
}

impl OperatorRequest for FulfilWithdrawalRequest {}

async fn post_fulfil(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<FulfilWithdrawalRequest>,
) -> Result<Approvable<CardWithdrawalStatus>, ApiError> {
    let id = load_withdrawal(&admin, &request.withdrawal_id).await?;
    let tx_hash = transaction(&request.tx_hash).ok_or_else(|| {
        let error = "`tx_hash` is the transaction that paid it: 0x and 64 hex digits, or base58 of 64 bytes.";
        ApiError::parameter(ErrorCode::ParameterInvalid, "tx_hash", error)
    })?;
    let paid = admin.engine.fulfil_card_withdrawal(id, act, request.lease, tx_hash);
    match paid.await {
        Err(OperationError::Specific(ApprovalPending(id))) => return approvals::waiting(&admin, id).await,
        result => result.map_err(map_error)?,
    }
    Ok(Approvable::Done(done(id, State::Complete)))
}

/// Normalizes a transaction id, so that one transaction pays only one withdrawal in any notation.
fn transaction(text: &str) -> Option<String> {
    if let Some(digits) = text.strip_prefix("0x") {
        let hash = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        return hash.then(|| text.to_ascii_lowercase());
    }
    let signature = bs58::decode(text).into_vec().ok()?;
    (signature.len() == 64).then(|| text.to_owned())
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RejectWithdrawalRequest {
    withdrawal_id: String,
    lease: Option<u64>,
    reason: String,
}

impl OperatorRequest for RejectWithdrawalRequest {}

async fn post_reject(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RejectWithdrawalRequest>,
) -> Result<Private<CardWithdrawalStatus>, ApiError> {
    check_note("reason", "is for the holder", &request.reason)?;
    let id = load_withdrawal(&admin, &request.withdrawal_id).await?;
    let rejected = admin
        .engine
        .reject_card_withdrawal(id, act, request.lease, request.reason);
    rejected.await.map_err(map_error)?;
    Ok(Private(done(id, State::Rejected)))
}

async fn load_withdrawal(admin: &AdminState, text: &str) -> Result<WithdrawalId, ApiError> {
    let id: WithdrawalId = text.parse().map_err(|_| unknown())?;
    let withdrawal = admin.engine.card_withdrawal(&id).await;
    let withdrawal = withdrawal.map_err(|_| ApiError::internal())?;
    withdrawal.map(|_| id).ok_or_else(unknown)
}

fn unknown() -> ApiError {
    ApiError::new(
        ErrorCode::WithdrawalNotFound,
        "There is no such withdrawal from a card balance.",
    )
}

fn done(id: WithdrawalId, state: State) -> CardWithdrawalStatus {
    CardWithdrawalStatus {
        withdrawal_id: id.to_string(),
        status: state.into(),
    }
}

pub(super) fn map_error<O>(denied: OperationError<Rejection, O>) -> ApiError {
    match denied {
        OperationError::Rejected(Rejection::InvalidState(status)) => WITHDRAWAL.not_open(status),
        OperationError::Rejected(Rejection::Lease(not)) => WITHDRAWAL.lease_error(&not),
        OperationError::Rejected(Rejection::ClosedAtIssuer { paid }) => {
            let how = if paid { "paid it" } else { "released it" };
            let error = format!("The card issuer had {how} in a history that a restore lost: nothing is to be paid.");
            conflict(ErrorCode::WithdrawalClosedAtIssuer, error)
        }
        OperationError::Rejected(Rejection::HoldMissing) => {
            let error = "The card issuer has set nothing aside for this withdrawal: do not pay it.";
            conflict(ErrorCode::WithdrawalHoldMissing, error)
        }
        OperationError::Rejected(Rejection::Frozen) => {
            let error = "The withdrawal's owner is frozen: do not pay it.";
            conflict(ErrorCode::HeldFrozen, error).hint("It can be claimed once the account is thawed, or rejected.")
        }
        OperationError::AlreadyUsed => conflict(
            ErrorCode::TransactionAlreadyUsed,
            "This transaction paid another withdrawal.",
        ),
        _ => unavailable(),
    }
}
