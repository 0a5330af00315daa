//! Orders that a restore has lost, as an operator books them: what the balance had paid for, and what came of it.

use purser_storage::codec;

use super::claims::{counted_day, day_of};
use super::paying_out::taken;
use super::statement::{Change, line};
use super::{Account, Event, PaidFor, Rejection};
use crate::kernel::effect::{CreditCause, Share};
use crate::kernel::{Context, Decision, table};
use crate::lost_order::{BookedOrder, Direction};
use crate::money::Usdc;
use crate::operator::Deed;
use crate::product::Line;
use crate::reconcile::Source;

/// Takes what was charged for it, or gives what it brought.
pub(super) fn decide(
    account: &Account,
    booked: BookedOrder,
    (act, evidence): (&Deed, String),
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let order = &booked.order;
    let (amount, side) = match (booked.back, order.direction()) {
        (None, Direction::Out) => (booked.charged, "from"),
        (None, Direction::In) => (booked.owed, "to"),
        (Some(_), _) => (booked.brings_back(order.standing), "back to"),
    };
    let (list, wallet) = (order.source.name(), account.wallet);
    let subject = format!("{list} {} {} {side} {wallet}", order.key, amount.decimal());
    let decision = Decision::answer(()).audited(act, "order.book", subject, Some(evidence), context);
    let key = table::lost_order(order.key);
    match (booked.back, order.direction()) {
        (Some(to), _) => {
            let transaction = booked.undone(to, order.standing, context.now);
            let decision = decision.post(&transaction, context).put(key, codec::encode(&booked));
            given(account, decision, (&booked, amount), context)
        }
        (None, Direction::In) => {
            let transaction = booked.paid(context.now);
            let decision = decision
                .post(&transaction, context)
                .put_new(key, codec::encode(&booked));
            given(account, decision, (&booked, booked.owed), context)
        }
        (None, Direction::Out) => {
            let transaction = booked.paid(context.now);
            let decision = decision
                .post(&transaction, context)
                .put_new(key, codec::encode(&booked));
            let decision = counted(account, &booked, decision, context);
            taken(
                account,
                decision,
                booked.charged,
                PaidFor::LostOrder(order.id()),
                context,
            )
        }
    }
}

/// A bank payment of today counts against today's cap.
fn counted(
    account: &Account,
    booked: &BookedOrder,
    decision: Decision<Account>,
    context: &Context,
) -> Decision<Account> {
    let order = &booked.order;
    let (day, budget) = (day_of(order.at), Line::BankPayment.budget());
    let (_, sum) = account.used(day, budget);
    let fits = sum.plus(order.amount).is_ok();
    match order.source == Source::Payouts && day == counted_day(context.now, account.day) && fits {
        true => decision.event(Event::Reserved(Share {
            day,
            budget,
            cents: order.amount,
        })),
        false => decision,
    }
}

fn given(
    account: &Account,
    decision: Decision<Account>,
    (booked, amount): (&BookedOrder, Usdc),
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let most = account.total_deposits.max(account.balance);
    most.plus(amount).map_err(|_| Rejection::Overflow)?;
    let balance = account.balance.plus(amount).map_err(|_| Rejection::Overflow)?;
    let cause = CreditCause::LostOrder(booked.order.id());
    let noted = (Change::Credited, amount, cause.name());
    let after = (balance, account.held, account.lines);
    let decision = decision.event(Event::Credited { amount, cause });
    Ok(line(decision, &account.wallet, noted, after, context))
}
