//! Operations on product lines and chains.

use purser_actors::operator::Permission;

use super::super::api_doc::{Operation, OperationDoc, of};
use super::super::{chains as accepting, lines as selling, schemas};

pub(super) fn lines() -> Vec<OperationDoc> {
    let none = "No such product line.";
    vec![
        OperationDoc::get(
            Operation {
                id: "listLines",
                tag: "Availability",
                path: "/admin/lines",
            },
            Permission::Read,
            "List product lines, whether each is open, and why not",
            of::<schemas::ProductLineList>,
        ),
        OperationDoc::post::<selling::CloseLineRequest>(
            Operation {
                id: "closeLine",
                tag: "Availability",
                path: "/admin/lines/close",
            },
            "Close a product line for new purchases. Existing purchases are still delivered",
            of::<schemas::ProductLineStatus>,
        )
        .error(404, none)
        .error(409, "The product line is already closed."),
        OperationDoc::post::<selling::OpenLineRequest>(
            Operation {
                id: "openLine",
                tag: "Availability",
                path: "/admin/lines/open",
            },
            "Open a product line, whatever the status of its provider",
            of::<schemas::ProductLineStatus>,
        )
        .error(404, none)
        .error(409, "The product line is already open."),
    ]
}

pub(super) fn chains() -> Vec<OperationDoc> {
    vec![
        OperationDoc::post::<accepting::AcceptChainRequest>(
            Operation { id: "acceptChain", tag: "Availability", path: "/admin/chains/accept" },
            "Accept a chain that replaced final blocks, if two endpoints agree on it. The replaced blocks are discarded and read \
             again",
            of::<schemas::AcceptChainResponse>,
        )
        .error(409, "The endpoints show the same chain that was read."),
    ]
}
