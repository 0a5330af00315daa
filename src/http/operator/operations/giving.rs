//! Routes by which money is given to somebody, and those that wait for a second operator.

use purser_actors::operator::Task;

use super::super::document::{Operation, of};
use super::super::{approvals as approving, incoming, shapes};

pub(super) fn arrivals() -> Vec<Operation> {
    let none = "There is no such transfer.";
    let decided = "It waits for no decision.";
    vec![
        Operation::get(
            "/admin/incoming-transfers",
            Task::Look,
            "Transfers to the treasury that no payment claims and nobody has decided about, the oldest first",
            of::<shapes::IncomingTransfers>,
        )
        .paged(),
        Operation::post::<incoming::Credit>(
            "/admin/incoming-transfers/credit",
            "Credit a transfer to whoever sent it, or to another account, once",
            of::<shapes::IncomingTransfer>,
        )
        .may_wait()
        .refuses(404, none)
        .refuses(409, decided),
        Operation::post::<incoming::OperatorFunds>(
            "/admin/incoming-transfers/operator-funds",
            "Say that a transfer is the treasury's own, put there by whoever runs the service",
            of::<shapes::IncomingTransfer>,
        )
        .refuses(404, none)
        .refuses(409, decided),
        Operation::post::<incoming::Return>(
            "/admin/incoming-transfers/return",
            "Send a transfer back to whoever sent it, by a withdrawal of their account's",
            of::<shapes::IncomingTransfer>,
        )
        .may_wait()
        .refuses(404, none)
        .refuses(409, decided),
    ]
}

pub(super) fn approvals() -> Vec<Operation> {
    let none = "Nothing of this id waits.";
    vec![
        Operation::get(
            "/admin/approvals",
            Task::Look,
            "Acts that give money and wait for a second operator, the oldest first; refunds have a list of their own",
            of::<shapes::Approvals>,
        )
        .paged(),
        Operation::post::<approving::ApproveAct>(
            "/admin/approvals/approve",
            "Approve what somebody else has asked for: it is done as it was asked for",
            of::<shapes::Approval>,
        )
        .refuses(404, none)
        .refuses(409, "It gives another amount, or what it does cannot be done any more."),
        Operation::post::<approving::RejectAct>(
            "/admin/approvals/reject",
            "Take an act off the list, another's or one's own: it is not done",
            of::<shapes::Approval>,
        )
        .refuses(404, none),
    ]
}
