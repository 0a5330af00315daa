//! Operations of the operator API, for its OpenAPI document.

mod incoming_transfers;
mod lines;

use purser_actors::operator::Permission;

use super::api_doc::{Operation, OperationDoc, any, of};
use super::{
    accounts, card_withdrawals, intl_cards, intl_orders, jobs, reconciliation, refunds as refunding, schemas,
    suspended, tokens, untracked_transfers,
};
use crate::http::schemas::{RedeliverWebhookResponse, WebhookDeliveryList};
use crate::http::webhooks::RedeliverWebhookRequest;

/// Operations in the order of the router.
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
            Operation { id: "searchCustomers", tag: "Accounts", path: "/admin/customers" },
            Permission::Read,
            "Find a customer by wallet, user_id, any Purser id, the last four digits of a card, or the Request-Id of a call that \
             created something. Failed calls and reads are not indexed",
            of::<schemas::CustomerSearchResponse>,
        )
        .needs("q", "string", "The identifier that the customer quotes.")
        .with("after", "string", "With four digits or a user_id: `next_after` of the previous page.")
        .with("limit", "integer", "Resources of each kind, newest first: 1 to 100, 5 by default."),
        OperationDoc::post::<accounts::FreezeAccountRequest>(
            Operation { id: "freezeAccount", tag: "Accounts", path: "/admin/freeze" },
            "Freeze an account: block purchases and reads, and show its owner the reason",
            of::<schemas::FreezeResponse>,
        )
        .error(404, "No such account."),
        OperationDoc::post::<accounts::UnfreezeAccountRequest>(
            Operation { id: "unfreezeAccount", tag: "Accounts", path: "/admin/unfreeze" },
            "Unfreeze an account",
            of::<schemas::FreezeResponse>,
        )
        .error(404, "No such account."),
    ]
}

fn jobs() -> Vec<OperationDoc> {
    vec![
        OperationDoc::get(
            Operation { id: "listDeadLetters", tag: "Jobs", path: "/admin/dead-letters" },
            Permission::Read,
            "List dead-lettered jobs and payments with an unknown outcome",
            of::<schemas::DeadLettersResponse>,
        )
        .with("job_id", "string", "Only this job.")
        .error(404, "No such dead-lettered job."),
        OperationDoc::post::<jobs::RetryJobRequest>(Operation { id: "retryJob", tag: "Jobs", path: "/admin/jobs/retry" }, "Retry a dead-lettered job now", of::<schemas::RetryResponse>)
            .error(404, "No such job, or it has already completed.")
            .error(409, "The job is in progress and is retried automatically."),
        OperationDoc::post::<jobs::ResolveJobRequest>(
            Operation { id: "resolveJob", tag: "Jobs", path: "/admin/jobs/resolve" },
            "Record the outcome of a dead-lettered job, with evidence, as if the provider had reported it",
            of::<schemas::ResolveResponse>,
        )
        .may_wait()
        .error(404, "No such job, or it has already completed.")
        .error(
            409,
            "The provider disagrees, the outcome can't be recorded for this job, or the job is in progress or too early.",
        ),
        OperationDoc::post::<jobs::CreditJobRequest>(
            Operation { id: "creditJob", tag: "Jobs", path: "/admin/jobs/credit" },
            "Credit the account owner with the payment of a dead-lettered job",
            of::<schemas::CreditResponse>,
        )
        .may_wait()
        .error(404, "No such job, or it has already completed.")
        .error(
            409,
            "There is no proof that the funds were not sent, or the provider reports that they were.",
        ),
        OperationDoc::post::<jobs::WithholdCreditRequest>(
            Operation { id: "keepJob", tag: "Jobs", path: "/admin/jobs/keep" },
            "Close a withheld credit without crediting it, because the chain reversed the payment. The service retains the money",
            of::<schemas::WithholdCreditResponse>,
        )
        .error(404, "No such job, or it has already completed.")
        .error(409, "The job is not a withheld credit, or is in progress."),
        OperationDoc::post::<untracked_transfers::AttributeTransferRequest>(
            Operation { id: "attributeTransfer", tag: "Reconciliation", path: "/admin/untracked-transfers/attribute" },
            "Attribute an outgoing transfer or order that is missing from the ledger. `deposit_id` links it to the incoming transfer that paid for it",
            of::<schemas::AttributionResponse>,
        )
        .may_wait()
        .error(404, "No such unexplained transfer or order.")
        .error(
            409,
            "The transfer does not match the attribution, or not yet. Its transaction moved money more than once. Or the provider did not execute the order.",
        ),
    ]
}

fn refunds() -> Vec<OperationDoc> {
    let none = "No such refund.";
    vec![
        OperationDoc::get(
            Operation { id: "listRefunds", tag: "Refunds", path: "/admin/refunds" },
            Permission::Read,
            "List refunds that wait for a second operator, oldest first, or the refund of one payment",
            of::<schemas::RefundsResponse>,
        )
        .with("payment_id", "string", "Only the refund of this payment, in any status.")
        .with(
            "all",
            "boolean",
            "Every refund in any status, in order of id. By default only pending refunds.",
        )
        .paged()
        .error(404, none),
        OperationDoc::post::<refunding::CreateRefundRequest>(
            Operation { id: "requestRefund", tag: "Refunds", path: "/admin/refunds" },
            "Refund a payer up to the amount charged, once per payment. Above a limit, a second operator must approve",
            of::<schemas::OperatorRefund>,
        )
        .error(404, "No such payment.")
        .error(
            409,
            "The amount exceeds what can be refunded, the owner can still use the product and the request does not permit it, or \
             the payment already has a refund.",
        ),
        OperationDoc::post::<refunding::ApproveRefundRequest>(
            Operation { id: "approveRefund", tag: "Refunds", path: "/admin/refunds/approve" },
            "Approve a refund that another operator requested",
            of::<schemas::OperatorRefund>,
        )
        .error(404, none)
        .error(
            409,
            "The amount differs, the refund is no longer pending, or the owner can use the product again.",
        ),
        OperationDoc::post::<refunding::RejectRefundRequest>(
            Operation { id: "rejectRefund", tag: "Refunds", path: "/admin/refunds/reject" },
            "Reject a refund, or cancel your own",
            of::<schemas::OperatorRefund>,
        )
        .error(404, none)
        .error(409, "The refund is no longer pending."),
    ]
}

fn system() -> Vec<OperationDoc> {
    vec![
        OperationDoc::get(
            Operation {
                id: "listLateReturns",
                tag: "Reconciliation",
                path: "/admin/late-returns",
            },
            Permission::Read,
            "List payouts that were returned after they became final, oldest first",
            of::<schemas::LateReturnList>,
        )
        .paged(),
        OperationDoc::get(
            Operation {
                id: "getReconciliation",
                tag: "Reconciliation",
                path: "/admin/reconciliation",
            },
            Permission::Read,
            "List discrepancies between the ledger and external records, oldest first",
            of::<schemas::ReconciliationResponse>,
        )
        .paged(),
        OperationDoc::post::<reconciliation::StartRunRequest>(
            Operation {
                id: "runReconciliation",
                tag: "Reconciliation",
                path: "/admin/reconciliation/run",
            },
            "Start a reconciliation run now. It has completed when `run.ended.number` of `/admin/reconciliation` is at least \
             `run` of the response",
            of::<schemas::RunRequestedResponse>,
        ),
        OperationDoc::get(
            Operation {
                id: "listSystemEvents",
                tag: "System",
                path: "/admin/events",
            },
            Permission::Read,
            "List system events, oldest first",
            of::<schemas::SystemEventList>,
        )
        .with("after", "integer", "`next_after` of the previous page.")
        .with("limit", "integer", "1 to 1,000, 100 by default."),
        OperationDoc::get(
            Operation {
                id: "getSystemStatus",
                tag: "System",
                path: "/admin/system",
            },
            Permission::Read,
            "Read the current supervision tree, mailboxes, jobs, storage and streams",
            of::<schemas::SystemStatus>,
        ),
    ]
}

fn orders() -> Vec<OperationDoc> {
    let no_order = "No such order.";
    vec![
        OperationDoc::get(
            Operation { id: "listIntlOrders", tag: "International orders", path: "/admin/intl-orders" },
            Permission::Read,
            "List open international card orders, overdue ones first, then oldest first",
            of::<schemas::IntlOrderQueue>,
        )
        .queued()
        .error(404, no_order),
        OperationDoc::post::<intl_orders::ClaimOrderRequest>(
            Operation { id: "claimIntlOrder", tag: "International orders", path: "/admin/intl-orders/claim" },
            "Claim an order until the lease expires",
            of::<schemas::ClaimedIntlOrder>,
        )
        .error(404, no_order)
        .error(409, "It is already decided, or another operator holds the lease."),
        OperationDoc::post::<intl_orders::ReleaseOrderRequest>(
            Operation { id: "releaseIntlOrder", tag: "International orders", path: "/admin/intl-orders/release" },
            "Release an order",
            of::<schemas::IntlOrderStatus>,
        )
        .error(404, no_order)
        .error(409, "It is not claimed with this lease."),
        OperationDoc::post::<intl_orders::FulfilOrderRequest>(
            Operation { id: "fulfilIntlOrder", tag: "International orders", path: "/admin/intl-orders/fulfil" },
            "Enter the details of the ordered card",
            of::<schemas::FulfilledIntlOrder>,
        )
        .error(404, no_order)
        .error(409, "The lease has expired or is not current."),
        OperationDoc::post::<intl_orders::RejectOrderRequest>(
            Operation { id: "rejectIntlOrder", tag: "International orders", path: "/admin/intl-orders/reject" },
            "Reject an order and credit the full charge",
            of::<schemas::IntlOrderStatus>,
        )
        .may_wait()
        .error(404, no_order)
        .error(409, "It is already decided, or another operator holds the lease."),
        OperationDoc::get(
            Operation { id: "listIntlCards", tag: "International cards", path: "/admin/intl-cards" },
            Permission::Read,
            "List international cards with a requested pause, resume or close, oldest request first",
            of::<schemas::CardActionQueue>,
        )
        .queued()
        .error(404, no_order),
        OperationDoc::post::<intl_cards::CardReportRequest>(
            Operation { id: "reportIntlCard", tag: "International cards", path: "/admin/intl-cards/report" },
            "Report the status of an international card at its issuer: whether it can be charged, its charges, and the amount \
             released on closing, which is credited",
            of::<schemas::CardReportResponse>,
        )
        .error(404, no_order)
        .error(409, "There is no card, or the amount needs a second operator."),
    ]
}

fn withdrawals() -> Vec<OperationDoc> {
    let none = "No such withdrawal.";
    vec![
        OperationDoc::get(
            Operation {
                id: "listCardWithdrawals",
                tag: "Card withdrawals",
                path: "/admin/card-withdrawals",
            },
            Permission::Read,
            "List open withdrawals from card balances, oldest first",
            of::<schemas::CardWithdrawalQueue>,
        )
        .queued()
        .error(404, none),
        OperationDoc::post::<card_withdrawals::ClaimWithdrawalRequest>(
            Operation {
                id: "claimCardWithdrawal",
                tag: "Card withdrawals",
                path: "/admin/card-withdrawals/claim",
            },
            "Claim a withdrawal until the lease expires",
            of::<schemas::ClaimedCardWithdrawal>,
        )
        .error(404, none)
        .error(409, "It is already decided, or another operator holds the lease."),
        OperationDoc::post::<card_withdrawals::ReleaseWithdrawalRequest>(
            Operation {
                id: "releaseCardWithdrawal",
                tag: "Card withdrawals",
                path: "/admin/card-withdrawals/release",
            },
            "Release a withdrawal without paying it",
            of::<schemas::CardWithdrawalStatus>,
        )
        .error(404, none)
        .error(409, "It is not claimed with this lease."),
        OperationDoc::post::<card_withdrawals::FulfilWithdrawalRequest>(
            Operation {
                id: "fulfilCardWithdrawal",
                tag: "Card withdrawals",
                path: "/admin/card-withdrawals/fulfil",
            },
            "Record that a withdrawal was paid",
            of::<schemas::CardWithdrawalStatus>,
        )
        .may_wait()
        .error(404, none)
        .error(
            409,
            "The lease has expired or is not current, or the transaction paid another withdrawal.",
        ),
        OperationDoc::post::<card_withdrawals::RejectWithdrawalRequest>(
            Operation {
                id: "rejectCardWithdrawal",
                tag: "Card withdrawals",
                path: "/admin/card-withdrawals/reject",
            },
            "Reject a withdrawal. The issuer returns the amount to the card balance",
            of::<schemas::CardWithdrawalStatus>,
        )
        .error(404, none)
        .error(409, "It is already decided, or another operator holds the lease."),
    ]
}

fn webhooks() -> Vec<OperationDoc> {
    let none = "No such endpoint or delivery.";
    vec![
        OperationDoc::get(
            Operation {
                id: "listWebhooks",
                tag: "Webhooks",
                path: "/admin/webhooks",
            },
            Permission::Read,
            "List webhook endpoints",
            of::<schemas::OperatorWebhookList>,
        )
        .with("wallet", "string", "Only endpoints of this account.")
        .queued()
        .error(404, none),
        OperationDoc::get(
            Operation {
                id: "listOperatorWebhookDeliveries",
                tag: "Webhooks",
                path: "/admin/webhooks/deliveries",
            },
            Permission::Read,
            "List deliveries to an endpoint or for an account, newest first",
            of::<WebhookDeliveryList>,
        )
        .with(
            "wallet",
            "string",
            "Only deliveries for this account. Give this or `webhook_id`.",
        )
        .with("webhook_id", "string", "Only deliveries to this endpoint.")
        .with("status", "string", "Only deliveries with this status.")
        .queued()
        .error(404, none),
        OperationDoc::post::<RedeliverWebhookRequest>(
            Operation {
                id: "redeliverOperatorWebhook",
                tag: "Webhooks",
                path: "/admin/webhooks/redeliver",
            },
            "Redeliver one event, or every undelivered event since a given time",
            of::<RedeliverWebhookResponse>,
        )
        .accepted()
        .error(404, none)
        .error(409, "The endpoint is disabled or deleted."),
    ]
}

fn tokens() -> Vec<OperationDoc> {
    vec![
        OperationDoc::get(
            Operation { id: "listAuditLog", tag: "System", path: "/admin/audit" },
            Permission::Read,
            "List audit records, oldest first",
            of::<schemas::AuditLogResponse>,
        )
        .paged(),
        OperationDoc::get(
            Operation { id: "listOperatorTokens", tag: "Tokens", path: "/admin/tokens" },
            Permission::ManageTokens,
            "List operator tokens",
            of::<schemas::OperatorTokenList>,
        ),
        OperationDoc::post::<tokens::CreateTokenRequest>(
            Operation { id: "createOperatorToken", tag: "Tokens", path: "/admin/tokens" },
            "Create an operator token. It is shown once",
            of::<schemas::CreatedOperatorToken>,
        )
        .error(409, "Another token has this name."),
        OperationDoc::post::<tokens::RevokeTokenRequest>(Operation { id: "revokeOperatorToken", tag: "Tokens", path: "/admin/tokens/revoke" }, "Revoke an operator token", of::<schemas::RevokedOperatorToken>)
            .error(404, "No token has this name.")
            .error(409, "The token is defined in the settings."),
        OperationDoc::post::<suspended::ConfirmRequest>(
            Operation { id: "confirmSuspended", tag: "Reconciliation", path: "/admin/suspended/confirm" },
            "Confirm an API key, an operator token or all earlier credentials after a restore without the revocation log",
            of::<schemas::SuspendedResponse>,
        )
        .error(404, "No suspended credential has this name."),
        OperationDoc::get(Operation { id: "getOperatorOpenApi", tag: "System", path: "/admin/openapi.json" }, Permission::Read, "Read the OpenAPI 3.1 document of the operator API", any),
    ]
}
