//! Outgoing transfers and orders from before a restore that are missing from the ledger. An operator attributes each to
//! an account or a purpose.

use std::sync::Arc;

use purser_actors::answer::rfc3339;
use purser_actors::engine::{self, Attribution, AttributionError, AttributionWait};
use purser_actors::ledger::{LedgerProvider, Outlay};
use purser_actors::lost_order::{Direction, LostOrder};
use purser_actors::reconciliation::ReconciliationSource;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::approvals::{self, Approvable};
use super::closed_sets::ProviderStatus;
use super::extractors::{AuthorizedRequest, EVIDENCE, OperatorRequest, check_note};
use super::refunds::dollars;
use super::{AdminState, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::route::routes;
use crate::http::schemas::{ExactDecimal, NetworkName};
use crate::statuses::named_values;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    POST "/admin/untracked-transfers/attribute" => post_attribute {
        Operator, unkeyed("names the transfer, which is attributed once"), confirmed(), operation(||
            OperationDoc::post::<AttributeTransferRequest>(
                Operation { id: "attributeTransfer", tag: "Reconciliation" },
                "Attribute an outgoing transfer or order that is missing from the ledger. `deposit_id` links it to the incoming transfer that paid for it",
                of::<AttributionResponse>,
            )
            .may_wait()
            .error(404, "No such unexplained transfer or order.")
            .error(
                409,
                "The transfer does not match the attribution, or not yet. Its transaction moved money more than once. Or the provider did not execute the order.",
            )
        )
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct AttributeTransferRequest {
    /// Transfer on the chain, or idempotency key of the order.
    transaction: String,
    /// Amount charged to the account for this payout, in USDC, fee included.
    #[cfg_attr(feature = "documents", schema(value_type = Option<ExactDecimal>))]
    amount: Option<Box<RawValue>>,
    account: Option<String>,
    withdrawal_id: Option<String>,
    top_up_id: Option<String>,
    /// Pending incoming transfer that paid for it. Both are attributed.
    deposit_id: Option<String>,
    /// Provider that was paid: `card_issuer`, `intl_fulfilment`, `gift_cards`, `push_to_card`, `bank`, `payment_apps`,
    /// `card_balances` or `banking`.
    provider: Option<String>,
    /// The operator withdrew it from the treasury.
    #[serde(default)]
    operator_funds: bool,
    /// It paid for transaction fees or rent.
    #[serde(default)]
    network_fees: bool,
    #[serde(default)]
    loss: bool,
    evidence: String,
}

impl OperatorRequest for AttributeTransferRequest {}

impl AttributeTransferRequest {
    /// The requested attribution. It must be explicit, because the receiver is often not the owner of the funds.
    fn attribution(&self) -> Result<Attribution, ApiError> {
        const ATTRIBUTION_FIELDS: &str = "`account`, `withdrawal_id`, `top_up_id`, `deposit_id`, `provider`, `operator_funds`, `network_fees` and `loss`";
        let invalid =
            |param: &'static str, error: &'static str| ApiError::parameter(ErrorCode::ParameterInvalid, param, error);
        check_note("evidence", EVIDENCE, &self.evidence)?;
        let account = self.account.as_deref().map(|account| {
            let wallet = account.parse().map(Attribution::Account);
            wallet.map_err(|_| invalid("account", "`account` is not an address."))
        });
        let withdrawal = self.withdrawal_id.as_deref().map(|id| {
            let id = id.parse().map(Attribution::Withdrawal);
            id.map_err(|_| invalid("withdrawal_id", "`withdrawal_id` is not one."))
        });
        let top_up = self.top_up_id.as_deref().map(|id| {
            let id = id.parse().map(Attribution::TopUp);
            id.map_err(|_| invalid("top_up_id", "`top_up_id` is not one."))
        });
        let incoming = self.deposit_id.as_deref().map(|id| {
            let id = id.parse().map(Attribution::Incoming);
            id.map_err(|_| invalid("deposit_id", "`deposit_id` is not one."))
        });
        let provider = self.provider.as_deref().map(|name| {
            let provider = LedgerProvider::from_name(name).map(Outlay::Provider);
            let paid = provider.map(Attribution::Outlay);
            paid.ok_or_else(|| invalid("provider", "`provider` is not a known provider."))
        });
        let flag = |is: bool, booking: Attribution| is.then_some(Ok(booking));
        let words = [
            account,
            withdrawal,
            top_up,
            incoming,
            provider,
            flag(self.operator_funds, Attribution::Outlay(Outlay::OperatorFunds)),
            flag(self.network_fees, Attribution::Outlay(Outlay::NetworkFees)),
            flag(self.loss, Attribution::Loss),
        ];
        let mut given = words.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(booking), None) => booking,
            (None, _) => {
                let error = format!("Say whose it was: one of {ATTRIBUTION_FIELDS}.");
                Err(ApiError::parameter(ErrorCode::ParameterMissing, "account", error))
            }
            (Some(_), Some(_)) => {
                let error = format!("Only one of {ATTRIBUTION_FIELDS} can be true.");
                Err(ApiError::parameter(ErrorCode::ParameterInvalid, "account", error))
            }
        }
    }
}

/// An outgoing transfer or order that was attributed.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AttributionResponse {
    /// Transfer as it was named, or idempotency key of the order.
    transaction: String,
    /// Account, withdrawal, top-up or incoming transfer; or `provider` with its name, `operator_funds`, `network_fees`
    /// or `loss`.
    attributed_to: String,
    /// Whether further transfers or orders must be attributed first.
    withdrawals_paused: bool,
}

/// An outgoing transfer that is missing from the ledger.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct UntrackedTransfer {
    /// Transaction id on the chain.
    transaction: String,
    /// Transaction and index of the transfer, as `transaction#index`, for `POST /admin/untracked-transfers/attribute`.
    /// The transaction alone is enough if it has only one transfer from the treasury.
    name: String,
    /// `base` or `solana`.
    network: NetworkName,
    /// Address that received the transfer.
    receiver: String,
    /// Amount in USDC.
    amount: ExactDecimal,
    /// Chain time of the transfer (RFC 3339).
    at: String,
    /// Account of the receiver, if it has one.
    #[cfg_attr(feature = "documents", schema(required))]
    account: Option<String>,
    /// Withdrawals and top-ups that wait for such a transfer, and incoming transfers that may have paid for it, because
    /// a restore lost what they bought. `POST /admin/untracked-transfers/attribute` takes each by its id.
    candidates: Vec<TransferCandidate>,
}

/// A resource that may explain the transfer.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct TransferCandidate {
    /// Id of a withdrawal, a top-up or an incoming transfer.
    id: String,
}

/// An order from before a restore that is missing from the ledger.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct UntrackedOrder {
    /// Idempotency key of the order at its provider, for `POST /admin/untracked-transfers/attribute`.
    transaction: String,
    /// Source that lists the order: `payouts` or `bank_transfers`.
    list: UntrackedOrderList,
    /// Product, as the provider names it.
    product: String,
    /// Amount of the order.
    amount: ExactDecimal,
    /// Currency (ISO 4217).
    currency: String,
    /// `pending`, `held` or `completed`. Another status only until the order leaves this list.
    status: ProviderStatus,
    /// `out`: we paid for it. `in`: it came from an owner's bank account and must be credited.
    direction: OrderDirection,
    /// Last change by the provider's clock (RFC 3339).
    at: String,
}

named_values! {
    "List of orders at a provider." UntrackedOrderList: ReconciliationSource
        = [ReconciliationSource::Payouts, ReconciliationSource::BankTransfers], ReconciliationSource::name;
    "Direction of the money of an order." OrderDirection: Direction = Direction::ALL, Direction::name;
}

async fn post_attribute(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<AttributeTransferRequest>,
) -> Result<Approvable<AttributionResponse>, ApiError> {
    let amount = request.amount.as_ref().map(|amount| dollars(amount)).transpose()?;
    let booking = (request.attribution()?, amount);
    let booked = admin
        .engine
        .attribute_transfer(&request.transaction, booking, (&act, request.evidence))
        .await;
    match booked {
        Ok(booking) => {
            let to = match booking {
                Attribution::Account(wallet) => wallet.to_string(),
                Attribution::Withdrawal(id) => id.to_string(),
                Attribution::TopUp(id) => id.to_string(),
                Attribution::Incoming(id) => id.to_string(),
                Attribution::Outlay(outlay) => outlay.name(),
                Attribution::Loss => "loss".to_owned(),
            };
            Ok(Approvable::Done(AttributionResponse {
                transaction: request.transaction,
                attributed_to: to,
                withdrawals_paused: admin.engine.are_withdrawals_paused(),
            }))
        }
        Err(AttributionError::ApprovalPending(id)) => approvals::waiting(&admin, id).await,
        Err(why) => Err(map_error(why)),
    }
}

pub(super) fn map_error(why: AttributionError) -> ApiError {
    let conflict = |code, error: String| ApiError::new(code, error);
    match why {
        AttributionError::NotFound => {
            let error = "No such transfer or order waits to be explained, or it is booked.";
            ApiError::new(ErrorCode::TransferNotFound, error)
        }
        AttributionError::Ambiguous(names) => {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let names = names.join(", ");
            let error = format!("This transaction moved our money out more than once. These wait: {names}.");
            let hint = "Name one of them, with its place in the transaction.";
            conflict(ErrorCode::TransferAmbiguous, error).hint(hint)
        }
        AttributionError::Insufficient { available } => {
            let error = format!("Only {} is available on this account.", available.decimal());
            conflict(ErrorCode::InsufficientBalance, error)
        }
        AttributionError::Mismatch => {
            let error = "There is no such account, the withdrawal or top-up does not wait for this transfer, the bridge reports another recipient, the incoming transfer cannot have paid for it, or it cannot be attributed this way.";
            conflict(ErrorCode::TransferMismatch, error.to_owned())
        }
        AttributionError::MayStillSettle(why) => {
            let (error, hint) = match why {
                AttributionWait::OwnBurn => (
                    "A burn that this top-up has signed itself may still settle.",
                    "Try again in some minutes.",
                ),
                AttributionWait::Attestation => (
                    "The bridge has not said yet whom this burn reached.",
                    "Try again in some minutes.",
                ),
                AttributionWait::Bank => (
                    "The bank has not decided about this transfer yet.",
                    "Try again in some minutes.",
                ),
                AttributionWait::Payment => (
                    "A payment of the lost time may still turn out to have paid for this order.",
                    "Try again after `withdrawals_paused_until` of GET /admin/dead-letters.",
                ),
            };
            conflict(ErrorCode::TransferMayStillSettle, error.to_owned()).hint(hint)
        }
        AttributionError::AmountNotAllowed => {
            let error = "How much this order was charged is known: leave `amount` out.";
            ApiError::parameter(ErrorCode::ParameterInvalid, "amount", error)
        }
        AttributionError::PaidBy(id) => {
            let error = format!("{id} had paid for this order, and waits for a decision.");
            let hint = "Book it with `deposit_id` (`--deposit`), or decide about the transfer first.";
            conflict(ErrorCode::TransferMismatch, error).hint(hint)
        }
        AttributionError::AmountOutOfRange(least, most) => {
            let (least, most) = (least.decimal(), most.decimal());
            let error = format!("`amount` is what its payer was charged, fee included: from {least} to {most}.");
            ApiError::parameter(ErrorCode::ParameterInvalid, "amount", error)
        }
        AttributionError::NotExecuted => {
            let error =
                "The provider did not carry this order out, or has sent its money back: nothing is to be booked.";
            conflict(ErrorCode::OrderNotCarriedOut, error.to_owned())
        }
        AttributionError::AmountMissing => {
            let error = "Say in `amount` what its payer was charged, in USDC and fee included.";
            ApiError::parameter(ErrorCode::ParameterMissing, "amount", error)
        }
        // The caller has answered an approval that is pending already.
        AttributionError::ApprovalPending(_) | AttributionError::Unavailable => unavailable(),
    }
}

/// Adds possible explanations. `account` is the receiver if it has an account here: only a hint.
pub(super) fn render(unexplained: engine::UntrackedTransfer) -> UntrackedTransfer {
    let transfer = unexplained.transfer;
    let candidates = unexplained.candidates.into_iter();
    UntrackedTransfer {
        name: transfer.name().to_string(),
        network: transfer.to.network(),
        receiver: transfer.to.to_string(),
        amount: transfer.amount.into(),
        at: rfc3339(transfer.at),
        account: unexplained.has_account.then(|| transfer.to.to_string()),
        candidates: candidates.map(|id| TransferCandidate { id: id.to_string() }).collect(),
        transaction: transfer.transaction,
    }
}

/// Renders an order as its provider lists it.
pub(super) fn render_order(order: &LostOrder) -> UntrackedOrder {
    UntrackedOrder {
        transaction: order.key.to_string(),
        list: order.source.into(),
        product: order.product.to_string(),
        amount: order.amount.into(),
        currency: order.currency.as_str().to_owned(),
        status: order.status.into(),
        direction: order.direction().into(),
        at: rfc3339(order.at),
    }
}
