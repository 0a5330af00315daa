//! Routes about lines of products and about the chains behind them.

use purser_actors::operator::Task;

use super::super::document::{Operation, of};
use super::super::{chains as accepting, lines as selling, shapes};

pub(super) fn lines() -> Vec<Operation> {
    let none = "There is no such line.";
    vec![
        Operation::get(
            "/admin/lines",
            Task::Look,
            "Lines of products: whether each is sold, and why not",
            of::<shapes::Lines>,
        ),
        Operation::post::<selling::CloseLine>(
            "/admin/lines/close",
            "Sell nothing of a line until it is opened; what was sold is delivered",
            of::<shapes::LineDone>,
        )
        .refuses(404, none)
        .refuses(409, "It is closed already."),
        Operation::post::<selling::OpenLine>(
            "/admin/lines/open",
            "Sell a line again, whatever its provider does",
            of::<shapes::LineDone>,
        )
        .refuses(404, none)
        .refuses(409, "It is open already."),
    ]
}

pub(super) fn chains() -> Vec<Operation> {
    vec![
        Operation::post::<accepting::AcceptChain>(
            "/admin/chains/accept",
            "Take the chain that two endpoints show where it has replaced blocks that were final: what was read of those is dropped \
             and read again",
            of::<shapes::ChainAccepted>,
        )
        .refuses(409, "The endpoints show no other chain than the one that was read."),
    ]
}
