//! Every route of the operator's address, as its document describes it.

mod incoming_transfers;
mod lines;

use purser_actors::operator::Permission;

use super::api_doc::{OperationDoc, any, of};
use super::{
    accounts, card_withdrawals, intl_cards, intl_orders, jobs, reconciliation, refunds as refunding, schemas,
    suspended, tokens, untracked_transfers,
};
use crate::http::schemas::{RedeliverWebhookResponse, WebhookDeliveryList};
use crate::http::webhooks::RedeliverWebhookRequest;

/// In the order of the router.
pub(super) fn operations() -> Vec<OperationDoc> {
    [
        accounts(),
        jobs(),
        incoming_transfers::arrivals(),
        refunds(),
        system(),
        incoming_transfers::approvals(),
        lines::lines(),
        lines::chains(),
        orders(),
        withdrawals(),
        webhooks(),
        tokens(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn accounts() -> Vec<OperationDoc> {
    vec![
        OperationDoc::get(
            "/admin/customers",
            Permission::Read,
            "Find a customer by a wallet, its user_id, any id of ours, the last four digits of a card, or the Request-Id of a \
             call that opened something: one that was refused, or only read, leads to nobody",
            of::<schemas::CustomerSearchResponse>,
        )
        .needs("q", "string", "What they quote.")
        .with("after", "string", "With four digits or a user_id: `next_after` of the call before.")
        .with("limit", "integer", "How many of each kind are shown, the newest first: 1 to 100, 5 by default."),
        OperationDoc::post::<accounts::FreezeAccountRequest>(
            "/admin/freeze",
            "Stop an account: it buys and reads nothing, and its holder is told why",
            of::<schemas::FreezeResponse>,
        )
        .error(404, "There is no such account."),
        OperationDoc::post::<accounts::UnfreezeAccountRequest>(
            "/admin/unfreeze",
            "Let an account go",
            of::<schemas::FreezeResponse>,
        )
        .error(404, "There is no such account."),
    ]
}

fn jobs() -> Vec<OperationDoc> {
    vec![
        OperationDoc::get(
            "/admin/dead-letters",
            Permission::Read,
            "Work that waits for a person, and payments whose outcome is not known",
            of::<schemas::DeadLettersResponse>,
        )
        .with("job_id", "string", "Only this.")
        .error(404, "Nothing of this id waits."),
        OperationDoc::post::<jobs::RetryJobRequest>("/admin/jobs/retry", "Try stuck work once more, now", of::<schemas::RetryResponse>)
            .error(404, "There is no such work, or it is done.")
            .error(409, "It is under way and tried again by itself."),
        OperationDoc::post::<jobs::ResolveJobRequest>(
            "/admin/jobs/resolve",
            "Say what came of stuck work, with what that rests on: it moves as if the other side had said so",
            of::<schemas::ResolveResponse>,
        )
        .may_wait()
        .error(404, "There is no such work, or it is done.")
        .error(
            409,
            "The other side says otherwise, or nobody's word stands for it, or it is under way or early.",
        ),
        OperationDoc::post::<jobs::CreditJobRequest>(
            "/admin/jobs/credit",
            "Give the holder back what stuck work was paid with",
            of::<schemas::CreditResponse>,
        )
        .may_wait()
        .error(404, "There is no such work, or it is done.")
        .error(
            409,
            "Nothing proves that the money has not left, or the other side says that it has.",
        ),
        OperationDoc::post::<jobs::WithholdCreditRequest>(
            "/admin/jobs/keep",
            "End a withheld credit without giving it: a chain has taken back what paid for it, and the house keeps the money",
            of::<schemas::WithholdCreditResponse>,
        )
        .error(404, "There is no such work, or it is done.")
        .error(409, "It is no withheld credit, or is under way."),
        OperationDoc::post::<untracked_transfers::AttributeTransferRequest>(
            "/admin/untracked-transfers/attribute",
            "Say whose a transfer or an order was that left and is in no book, or what it paid for; with `deposit_id` also that it was for what came in with that one",
            of::<schemas::AttributionResponse>,
        )
        .may_wait()
        .error(404, "No such transfer or order waits to be explained.")
        .error(
            409,
            "It does not fit what it is booked to, or not yet; its transaction moved money more than once; or the provider did not carry it out.",
        ),
    ]
}

fn refunds() -> Vec<OperationDoc> {
    let none = "There is no such refund.";
    vec![
        OperationDoc::get(
            "/admin/refunds",
            Permission::Read,
            "Refunds that wait for a second operator, the oldest first; with `payment_id` the one of that payment",
            of::<schemas::RefundsResponse>,
        )
        .with("payment_id", "string", "Of this payment, however it stands.")
        .with(
            "all",
            "boolean",
            "Every refund, however it stands, in the order of their ids; without it those that wait.",
        )
        .paged()
        .error(404, none),
        OperationDoc::post::<refunding::CreateRefundRequest>(
            "/admin/refunds",
            "Give a payer back up to what was charged, once a payment; above a limit somebody else has to approve",
            of::<schemas::OperatorRefund>,
        )
        .error(404, "There is no such payment.")
        .error(
            409,
            "It is more than can be refunded, its holder can still use what was bought and nobody has said that they may, or there \
             is one already.",
        ),
        OperationDoc::post::<refunding::ApproveRefundRequest>(
            "/admin/refunds/approve",
            "Approve what somebody else has asked for",
            of::<schemas::OperatorRefund>,
        )
        .error(404, none)
        .error(
            409,
            "It is about another amount, waits no more, or its holder can use what was bought again.",
        ),
        OperationDoc::post::<refunding::RejectRefundRequest>(
            "/admin/refunds/reject",
            "Reject a refund, or take it back",
            of::<schemas::OperatorRefund>,
        )
        .error(404, none)
        .error(409, "It waits no more."),
    ]
}

fn system() -> Vec<OperationDoc> {
    vec![
        OperationDoc::get(
            "/admin/late-returns",
            Permission::Read,
            "Money that came back after its payout was final, the oldest first",
            of::<schemas::LateReturnList>,
        )
        .paged(),
        OperationDoc::get(
            "/admin/reconciliation",
            Permission::Read,
            "What our books and others' lists do not agree about, the oldest first",
            of::<schemas::ReconciliationResponse>,
        )
        .paged(),
        OperationDoc::post::<reconciliation::StartRunRequest>(
            "/admin/reconciliation/walk",
            "Compare our books with others' lists now, without the rest between two walks. It is done when `walk.ended.number` of \
             `/admin/reconciliation` is at least `walk` of the answer",
            of::<schemas::RunRequestedResponse>,
        ),
        OperationDoc::get(
            "/admin/events",
            Permission::Read,
            "What the house itself was told, the oldest first",
            of::<schemas::SystemEventList>,
        )
        .with("after", "integer", "`next_after` of the page before.")
        .with("limit", "integer", "1 to 1,000, 100 by default."),
        OperationDoc::get(
            "/admin/system",
            Permission::Read,
            "The supervision tree, its actors and their mailboxes, work, storage and streams, as they are now",
            of::<schemas::SystemStatus>,
        ),
    ]
}

fn orders() -> Vec<OperationDoc> {
    let no_order = "There is no such order.";
    vec![
        OperationDoc::get(
            "/admin/intl-orders",
            Permission::Read,
            "Orders of international cards that are open, overdue ones first, then the oldest",
            of::<schemas::IntlOrderQueue>,
        )
        .queued()
        .error(404, no_order),
        OperationDoc::post::<intl_orders::ClaimOrderRequest>(
            "/admin/intl-orders/claim",
            "Take an order for as long as the lease runs",
            of::<schemas::ClaimedIntlOrder>,
        )
        .error(404, no_order)
        .error(409, "It is decided, or somebody else holds it."),
        OperationDoc::post::<intl_orders::ReleaseOrderRequest>(
            "/admin/intl-orders/release",
            "Put an order back",
            of::<schemas::IntlOrderStatus>,
        )
        .error(404, no_order)
        .error(409, "It is not claimed under this lease."),
        OperationDoc::post::<intl_orders::FulfilOrderRequest>(
            "/admin/intl-orders/fulfil",
            "Enter the card",
            of::<schemas::FulfilledIntlOrder>,
        )
        .error(404, no_order)
        .error(409, "This lease does not run."),
        OperationDoc::post::<intl_orders::RejectOrderRequest>(
            "/admin/intl-orders/reject",
            "Refuse an order; the whole charge is credited",
            of::<schemas::IntlOrderStatus>,
        )
        .may_wait()
        .error(404, no_order)
        .error(409, "It is decided, or somebody else holds it."),
        OperationDoc::get(
            "/admin/intl-cards",
            Permission::Read,
            "International cards whose holders want them paused, resumed or closed, the oldest wish first",
            of::<schemas::CardActionQueue>,
        )
        .queued()
        .error(404, no_order),
        OperationDoc::post::<intl_cards::CardReportRequest>(
            "/admin/intl-cards/report",
            "Say what became of an international card at whoever made it: whether it takes charges, what it was charged, and what \
             was given back of a closed one, which is credited",
            of::<schemas::CardReportResponse>,
        )
        .error(404, no_order)
        .error(409, "There is no card, or that is more than one operator gives alone."),
    ]
}

fn withdrawals() -> Vec<OperationDoc> {
    let none = "There is no such withdrawal.";
    vec![
        OperationDoc::get(
            "/admin/card-withdrawals",
            Permission::Read,
            "Withdrawals from card balances that are open, the oldest first",
            of::<schemas::CardWithdrawalQueue>,
        )
        .queued()
        .error(404, none),
        OperationDoc::post::<card_withdrawals::ClaimWithdrawalRequest>(
            "/admin/card-withdrawals/claim",
            "Take a withdrawal for as long as the lease runs",
            of::<schemas::ClaimedCardWithdrawal>,
        )
        .error(404, none)
        .error(409, "It is decided, or somebody else holds it."),
        OperationDoc::post::<card_withdrawals::ReleaseWithdrawalRequest>(
            "/admin/card-withdrawals/release",
            "Put a withdrawal back: it is not paid",
            of::<schemas::CardWithdrawalStatus>,
        )
        .error(404, none)
        .error(409, "It is not claimed under this lease."),
        OperationDoc::post::<card_withdrawals::FulfilWithdrawalRequest>(
            "/admin/card-withdrawals/fulfil",
            "Say that it is paid",
            of::<schemas::CardWithdrawalStatus>,
        )
        .may_wait()
        .error(404, none)
        .error(409, "This lease does not run, or the transaction paid another."),
        OperationDoc::post::<card_withdrawals::RejectWithdrawalRequest>(
            "/admin/card-withdrawals/reject",
            "Refuse a withdrawal; the issuer puts it back on the balance",
            of::<schemas::CardWithdrawalStatus>,
        )
        .error(404, none)
        .error(409, "It is decided, or somebody else holds it."),
    ]
}

fn webhooks() -> Vec<OperationDoc> {
    let none = "There is no such endpoint or delivery.";
    vec![
        OperationDoc::get(
            "/admin/webhooks",
            Permission::Read,
            "Endpoints that events are posted to",
            of::<schemas::OperatorWebhookList>,
        )
        .with("wallet", "string", "Of this account alone.")
        .queued()
        .error(404, none),
        OperationDoc::get(
            "/admin/webhooks/deliveries",
            Permission::Read,
            "What was posted to an endpoint or for an account, the newest first",
            of::<WebhookDeliveryList>,
        )
        .with("wallet", "string", "For this account; or else `webhook_id`.")
        .with("webhook_id", "string", "To this endpoint.")
        .with("status", "string", "Only those with this status.")
        .queued()
        .error(404, none),
        OperationDoc::post::<RedeliverWebhookRequest>(
            "/admin/webhooks/redeliver",
            "Post one delivery again, or everything since a moment that an endpoint has not received",
            of::<RedeliverWebhookResponse>,
        )
        .accepted()
        .error(404, none)
        .error(409, "The endpoint takes nothing now."),
    ]
}

fn tokens() -> Vec<OperationDoc> {
    vec![
        OperationDoc::get(
            "/admin/audit",
            Permission::Read,
            "What was done, the oldest first",
            of::<schemas::AuditLogResponse>,
        )
        .paged(),
        OperationDoc::get(
            "/admin/tokens",
            Permission::ManageTokens,
            "Whose tokens there are",
            of::<schemas::OperatorTokenList>,
        ),
        OperationDoc::post::<tokens::CreateTokenRequest>(
            "/admin/tokens",
            "Make a token; it is shown once",
            of::<schemas::CreatedOperatorToken>,
        )
        .error(409, "Another token has this name."),
        OperationDoc::post::<tokens::RevokeTokenRequest>("/admin/tokens/revoke", "End a token", of::<schemas::RevokedOperatorToken>)
            .error(404, "No token has this name.")
            .error(409, "It stands in the settings."),
        OperationDoc::post::<suspended::ConfirmRequest>(
            "/admin/suspended/confirm",
            "After a restore without the log of revocations: say that an API key, an operator's token or everything of before is good",
            of::<schemas::SuspendedResponse>,
        )
        .error(404, "Nothing of this name is suspended."),
        OperationDoc::get("/admin/openapi.json", Permission::Read, "Every route of the operator's side, as OpenAPI 3.1", any),
    ]
}
