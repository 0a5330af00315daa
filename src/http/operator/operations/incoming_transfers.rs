//! Routes by which money is given to somebody, and those that wait for a second operator.

use purser_actors::operator::Permission;

use super::super::api_doc::{OperationDoc, of};
use super::super::{approvals as approving, incoming, schemas};

pub(super) fn arrivals() -> Vec<OperationDoc> {
    let none = "There is no such transfer.";
    let decided = "It waits for no decision.";
    vec![
        OperationDoc::get(
            "/admin/incoming-transfers",
            Permission::Read,
            "Transfers to the treasury that no payment claims and nobody has decided about, the oldest first",
            of::<schemas::IncomingTransfers>,
        )
        .paged(),
        OperationDoc::post::<incoming::CreditDepositRequest>(
            "/admin/incoming-transfers/credit",
            "Credit a transfer to whoever sent it, or to another account, once",
            of::<schemas::IncomingTransfer>,
        )
        .may_wait()
        .error(404, none)
        .error(409, decided),
        OperationDoc::post::<incoming::OperatorFundsRequest>(
            "/admin/incoming-transfers/operator-funds",
            "Say that a transfer is the treasury's own, put there by whoever runs the service",
            of::<schemas::IncomingTransfer>,
        )
        .error(404, none)
        .error(409, decided),
        OperationDoc::post::<incoming::ReturnDepositRequest>(
            "/admin/incoming-transfers/return",
            "Send a transfer back to whoever sent it, by a withdrawal of their account's",
            of::<schemas::IncomingTransfer>,
        )
        .may_wait()
        .error(404, none)
        .error(409, decided),
    ]
}

pub(super) fn approvals() -> Vec<OperationDoc> {
    let none = "Nothing of this id waits.";
    vec![
        OperationDoc::get(
            "/admin/approvals",
            Permission::Read,
            "Acts that give money and wait for a second operator, the oldest first; refunds have a list of their own",
            of::<schemas::ApprovalList>,
        )
        .paged(),
        OperationDoc::post::<approving::ApproveRequest>(
            "/admin/approvals/approve",
            "Approve what somebody else has asked for: it is done as it was asked for",
            of::<schemas::Approval>,
        )
        .error(404, none)
        .error(409, "It gives another amount, or what it does cannot be done any more."),
        OperationDoc::post::<approving::RejectRequest>(
            "/admin/approvals/reject",
            "Take an act off the list, another's or one's own: it is not done",
            of::<schemas::Approval>,
        )
        .error(404, none),
    ]
}
