//! Every route of the operator's address, as its document describes it.

mod giving;
mod lines;

use purser_actors::operator::Task;

use super::document::{Operation, any, of};
use super::{
    card_withdrawals, departures, desk, intl, intl_cards, reconciliation, refunds as refunding, shapes, stuck,
    suspended, tokens,
};
use crate::http::shapes::{WebhookDeliveryPage, WebhookRedelivery};
use crate::http::webhooks::Redelivery;

/// In the order of the router.
pub(super) fn operations() -> Vec<Operation> {
    [
        accounts(),
        work(),
        giving::arrivals(),
        refunds(),
        house(),
        giving::approvals(),
        lines::lines(),
        lines::chains(),
        orders(),
        withdrawals(),
        webhooks(),
        trust(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn accounts() -> Vec<Operation> {
    vec![
        Operation::get(
            "/admin/customers",
            Task::Look,
            "Find a customer by a wallet, its user_id, any id of ours, the last four digits of a card, or the Request-Id of a \
             call that opened something: one that was refused, or only read, leads to nobody",
            of::<shapes::Customers>,
        )
        .needs("q", "string", "What they quote.")
        .with("after", "string", "With four digits or a user_id: `next_after` of the call before.")
        .with("limit", "integer", "How many of each kind are shown, the newest first: 1 to 100, 5 by default."),
        Operation::post::<desk::Freeze>(
            "/admin/freeze",
            "Stop an account: it buys and reads nothing, and its holder is told why",
            of::<shapes::Frozen>,
        )
        .refuses(404, "There is no such account."),
        Operation::post::<desk::Unfreeze>(
            "/admin/unfreeze",
            "Let an account go",
            of::<shapes::Frozen>,
        )
        .refuses(404, "There is no such account."),
    ]
}

fn work() -> Vec<Operation> {
    vec![
        Operation::get(
            "/admin/stuck",
            Task::Look,
            "Work that waits for a person, and payments whose outcome is not known",
            of::<shapes::Stuck>,
        )
        .with("effect_id", "string", "Only this.")
        .refuses(404, "Nothing of this id waits."),
        Operation::post::<stuck::Retry>("/admin/retry", "Try stuck work once more, now", of::<shapes::Retried>)
            .refuses(404, "There is no such work, or it is done.")
            .refuses(409, "It is under way and tried again by itself."),
        Operation::post::<stuck::Resolve>(
            "/admin/stuck/resolve",
            "Say what came of stuck work, with what that rests on: it moves as if the other side had said so",
            of::<shapes::Resolved>,
        )
        .may_wait()
        .refuses(404, "There is no such work, or it is done.")
        .refuses(
            409,
            "The other side says otherwise, or nobody's word stands for it, or it is under way or early.",
        ),
        Operation::post::<stuck::Credit>(
            "/admin/stuck/credit",
            "Give the holder back what stuck work was paid with",
            of::<shapes::CreditedBack>,
        )
        .may_wait()
        .refuses(404, "There is no such work, or it is done.")
        .refuses(
            409,
            "Nothing proves that the money has not left, or the other side says that it has.",
        ),
        Operation::post::<stuck::Keep>(
            "/admin/stuck/keep",
            "End a withheld credit without giving it: a chain has taken back what paid for it, and the house keeps the money",
            of::<shapes::Kept>,
        )
        .refuses(404, "There is no such work, or it is done.")
        .refuses(409, "It is no withheld credit, or is under way."),
        Operation::post::<departures::Book>(
            "/admin/departures/book",
            "Say whose a transfer or an order was that left and is in no book, or what it paid for; with `deposit_id` also that it was for what came in with that one",
            of::<shapes::Booked>,
        )
        .may_wait()
        .refuses(404, "No such transfer or order waits to be explained.")
        .refuses(
            409,
            "It does not fit what it is booked to, or not yet; its transaction moved money more than once; or the provider did not carry it out.",
        ),
    ]
}

fn refunds() -> Vec<Operation> {
    let none = "There is no such refund.";
    vec![
        Operation::get(
            "/admin/refunds",
            Task::Look,
            "Refunds that wait for a second operator, the oldest first; with `payment_id` the one of that payment",
            of::<shapes::Refunds>,
        )
        .with("payment_id", "string", "Of this payment, however it stands.")
        .with(
            "all",
            "boolean",
            "Every refund, however it stands, in the order of their ids; without it those that wait.",
        )
        .paged()
        .refuses(404, none),
        Operation::post::<refunding::Ask>(
            "/admin/refunds",
            "Give a payer back up to what was charged, once a payment; above a limit somebody else has to approve",
            of::<shapes::Refund>,
        )
        .refuses(404, "There is no such payment.")
        .refuses(
            409,
            "It is more than can be refunded, its holder can still use what was bought and nobody has said that they may, or there \
             is one already.",
        ),
        Operation::post::<refunding::Approve>(
            "/admin/refunds/approve",
            "Approve what somebody else has asked for",
            of::<shapes::Refund>,
        )
        .refuses(404, none)
        .refuses(
            409,
            "It is about another amount, waits no more, or its holder can use what was bought again.",
        ),
        Operation::post::<refunding::Reject>(
            "/admin/refunds/reject",
            "Reject a refund, or take it back",
            of::<shapes::Refund>,
        )
        .refuses(404, none)
        .refuses(409, "It waits no more."),
    ]
}

fn house() -> Vec<Operation> {
    vec![
        Operation::get(
            "/admin/late-returns",
            Task::Look,
            "Money that came back after its payout was final, the oldest first",
            of::<shapes::LateReturns>,
        )
        .paged(),
        Operation::get(
            "/admin/reconciliation",
            Task::Look,
            "What our books and others' lists do not agree about, the oldest first",
            of::<shapes::Reconciled>,
        )
        .paged(),
        Operation::post::<reconciliation::WalkAnew>(
            "/admin/reconciliation/walk",
            "Compare our books with others' lists now, without the rest between two walks. It is done when `walk.ended.number` of \
             `/admin/reconciliation` is at least `walk` of the answer",
            of::<shapes::WalkAsked>,
        ),
        Operation::get(
            "/admin/events",
            Task::Look,
            "What the house itself was told, the oldest first",
            of::<shapes::HouseEvents>,
        )
        .with("after", "integer", "`next_after` of the page before.")
        .with("limit", "integer", "1 to 1,000, 100 by default."),
        Operation::get(
            "/admin/system",
            Task::Look,
            "The supervision tree, its actors and their mailboxes, work, storage and streams, as they are now",
            of::<shapes::System>,
        ),
    ]
}

fn orders() -> Vec<Operation> {
    let no_order = "There is no such order.";
    vec![
        Operation::get(
            "/admin/intl-orders",
            Task::Look,
            "Orders of international cards that are open, overdue ones first, then the oldest",
            of::<shapes::IntlQueue>,
        )
        .queued()
        .refuses(404, no_order),
        Operation::post::<intl::Claim>(
            "/admin/intl-orders/claim",
            "Take an order for as long as the lease runs",
            of::<shapes::IntlClaimed>,
        )
        .refuses(404, no_order)
        .refuses(409, "It is decided, or somebody else holds it."),
        Operation::post::<intl::Release>(
            "/admin/intl-orders/release",
            "Put an order back",
            of::<shapes::IntlDone>,
        )
        .refuses(404, no_order)
        .refuses(409, "It is not claimed under this lease."),
        Operation::post::<intl::Fulfil>(
            "/admin/intl-orders/fulfil",
            "Enter the card",
            of::<shapes::IntlFulfilled>,
        )
        .refuses(404, no_order)
        .refuses(409, "This lease does not run."),
        Operation::post::<intl::Reject>(
            "/admin/intl-orders/reject",
            "Refuse an order; the whole charge is credited",
            of::<shapes::IntlDone>,
        )
        .may_wait()
        .refuses(404, no_order)
        .refuses(409, "It is decided, or somebody else holds it."),
        Operation::get(
            "/admin/intl-cards",
            Task::Look,
            "International cards whose holders want them paused, resumed or closed, the oldest wish first",
            of::<shapes::CardWishes>,
        )
        .queued()
        .refuses(404, no_order),
        Operation::post::<intl_cards::Reported>(
            "/admin/intl-cards/report",
            "Say what became of an international card at whoever made it: whether it takes charges, what it was charged, and what \
             was given back of a closed one, which is credited",
            of::<shapes::CardReported>,
        )
        .refuses(404, no_order)
        .refuses(409, "There is no card, or that is more than one operator gives alone."),
    ]
}

fn withdrawals() -> Vec<Operation> {
    let none = "There is no such withdrawal.";
    vec![
        Operation::get(
            "/admin/card-withdrawals",
            Task::Look,
            "Withdrawals from card balances that are open, the oldest first",
            of::<shapes::CardQueue>,
        )
        .queued()
        .refuses(404, none),
        Operation::post::<card_withdrawals::Claim>(
            "/admin/card-withdrawals/claim",
            "Take a withdrawal for as long as the lease runs",
            of::<shapes::CardClaimed>,
        )
        .refuses(404, none)
        .refuses(409, "It is decided, or somebody else holds it."),
        Operation::post::<card_withdrawals::Release>(
            "/admin/card-withdrawals/release",
            "Put a withdrawal back: it is not paid",
            of::<shapes::CardDone>,
        )
        .refuses(404, none)
        .refuses(409, "It is not claimed under this lease."),
        Operation::post::<card_withdrawals::Fulfil>(
            "/admin/card-withdrawals/fulfil",
            "Say that it is paid",
            of::<shapes::CardDone>,
        )
        .may_wait()
        .refuses(404, none)
        .refuses(409, "This lease does not run, or the transaction paid another."),
        Operation::post::<card_withdrawals::Reject>(
            "/admin/card-withdrawals/reject",
            "Refuse a withdrawal; the issuer puts it back on the balance",
            of::<shapes::CardDone>,
        )
        .refuses(404, none)
        .refuses(409, "It is decided, or somebody else holds it."),
    ]
}

fn webhooks() -> Vec<Operation> {
    let none = "There is no such endpoint or delivery.";
    vec![
        Operation::get(
            "/admin/webhooks",
            Task::Look,
            "Endpoints that events are posted to",
            of::<shapes::Webhooks>,
        )
        .with("wallet", "string", "Of this account alone.")
        .queued()
        .refuses(404, none),
        Operation::get(
            "/admin/webhooks/deliveries",
            Task::Look,
            "What was posted to an endpoint or for an account, the newest first",
            of::<WebhookDeliveryPage>,
        )
        .with("wallet", "string", "For this account; or else `webhook_id`.")
        .with("webhook_id", "string", "To this endpoint.")
        .with("state", "string", "Only those that stand so.")
        .queued()
        .refuses(404, none),
        Operation::post::<Redelivery>(
            "/admin/webhooks/redeliver",
            "Post one delivery again, or everything since a moment that an endpoint has not received",
            of::<WebhookRedelivery>,
        )
        .accepted()
        .refuses(404, none)
        .refuses(409, "The endpoint takes nothing now."),
    ]
}

fn trust() -> Vec<Operation> {
    vec![
        Operation::get(
            "/admin/audit",
            Task::Look,
            "What was done, the oldest first",
            of::<shapes::Acts>,
        )
        .paged(),
        Operation::get(
            "/admin/tokens",
            Task::Trust,
            "Whose tokens there are",
            of::<shapes::Tokens>,
        ),
        Operation::post::<tokens::Create>(
            "/admin/tokens",
            "Make a token; it is shown once",
            of::<shapes::NewToken>,
        )
        .refuses(409, "Another token has this name."),
        Operation::post::<tokens::Revoke>("/admin/tokens/revoke", "End a token", of::<shapes::Revoked>)
            .refuses(404, "No token has this name.")
            .refuses(409, "It stands in the settings."),
        Operation::post::<suspended::Confirm>(
            "/admin/suspended/confirm",
            "After a restore without the log of revocations: say that an API key, an operator's token or everything of before is good",
            of::<shapes::StillSuspended>,
        )
        .refuses(404, "Nothing of this name is suspended."),
        Operation::get("/admin/openapi.json", Task::Look, "Every route of the operator's side, as OpenAPI 3.1", any),
    ]
}
