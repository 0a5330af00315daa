//! Operations on incoming transfers, and approvals by a second operator.

use purser_actors::operator::Permission;

use super::super::api_doc::{Operation, OperationDoc, of};
use super::super::{approvals as approving, incoming, schemas};

pub(super) fn arrivals() -> Vec<OperationDoc> {
    let none = "No such transfer.";
    let decided = "The transfer is already decided.";
    vec![
        OperationDoc::get(
            Operation {
                id: "listIncomingTransfers",
                tag: "Incoming transfers",
                path: "/admin/incoming-transfers",
            },
            Permission::Read,
            "List undecided transfers to the treasury that match no payment, oldest first",
            of::<schemas::IncomingTransfers>,
        )
        .paged(),
        OperationDoc::post::<incoming::CreditDepositRequest>(
            Operation {
                id: "creditIncomingTransfer",
                tag: "Incoming transfers",
                path: "/admin/incoming-transfers/credit",
            },
            "Credit a transfer to its sender or to another account, once",
            of::<schemas::IncomingTransfer>,
        )
        .may_wait()
        .error(404, none)
        .error(409, decided),
        OperationDoc::post::<incoming::OperatorFundsRequest>(
            Operation {
                id: "recordOperatorFunds",
                tag: "Incoming transfers",
                path: "/admin/incoming-transfers/operator-funds",
            },
            "Record a transfer as funds that the operator added to the treasury",
            of::<schemas::IncomingTransfer>,
        )
        .error(404, none)
        .error(409, decided),
        OperationDoc::post::<incoming::ReturnDepositRequest>(
            Operation {
                id: "returnIncomingTransfer",
                tag: "Incoming transfers",
                path: "/admin/incoming-transfers/return",
            },
            "Return a transfer to its sender as a withdrawal from their account",
            of::<schemas::IncomingTransfer>,
        )
        .may_wait()
        .error(404, none)
        .error(409, decided),
    ]
}

pub(super) fn approvals() -> Vec<OperationDoc> {
    let none = "No such pending approval.";
    vec![
        OperationDoc::get(
            Operation {
                id: "listApprovals",
                tag: "Approvals",
                path: "/admin/approvals",
            },
            Permission::Read,
            "List actions that wait for a second operator, oldest first. Refunds are listed separately",
            of::<schemas::ApprovalList>,
        )
        .paged(),
        OperationDoc::post::<approving::ApproveRequest>(
            Operation {
                id: "approveAction",
                tag: "Approvals",
                path: "/admin/approvals/approve",
            },
            "Approve and execute an action that another operator requested",
            of::<schemas::Approval>,
        )
        .error(404, none)
        .error(409, "The amount differs, or the action is no longer possible."),
        OperationDoc::post::<approving::RejectRequest>(
            Operation {
                id: "rejectAction",
                tag: "Approvals",
                path: "/admin/approvals/reject",
            },
            "Reject an action, your own or another operator's",
            of::<schemas::Approval>,
        )
        .error(404, none),
    ]
}
