//! Routes about lines of products and about the chains behind them.

use purser_actors::operator::Permission;

use super::super::api_doc::{OperationDoc, of};
use super::super::{chains as accepting, lines as selling, schemas};

pub(super) fn lines() -> Vec<OperationDoc> {
    let none = "There is no such line.";
    vec![
        OperationDoc::get(
            "/admin/lines",
            Permission::Read,
            "Lines of products: whether each is sold, and why not",
            of::<schemas::ProductLineList>,
        ),
        OperationDoc::post::<selling::CloseLineRequest>(
            "/admin/lines/close",
            "Sell nothing of a line until it is opened; what was sold is delivered",
            of::<schemas::ProductLineStatus>,
        )
        .error(404, none)
        .error(409, "It is closed already."),
        OperationDoc::post::<selling::OpenLineRequest>(
            "/admin/lines/open",
            "Sell a line again, whatever its provider does",
            of::<schemas::ProductLineStatus>,
        )
        .error(404, none)
        .error(409, "It is open already."),
    ]
}

pub(super) fn chains() -> Vec<OperationDoc> {
    vec![
        OperationDoc::post::<accepting::AcceptChainRequest>(
            "/admin/chains/accept",
            "Take the chain that two endpoints show where it has replaced blocks that were final: what was read of those is dropped \
             and read again",
            of::<schemas::AcceptChainResponse>,
        )
        .error(409, "The endpoints show no other chain than the one that was read."),
    ]
}
