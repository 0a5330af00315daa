//! Orders that a restore lost, as an operator attributes them: what the balance paid for, and their proceeds.

use purser_storage::codec;

use super::bank_debits::debit;
use super::claims::{counted_day, day_of};
use super::machine::open;
use super::statement::{AccountAfter, StatementLineType, append_line};
use super::{Account, Command, DebitPurpose, Event, Rejection};
use crate::entity::account::{CapReservation, CreditCause};
use crate::id::Wallet;
use crate::kernel::{Context, Decision, table};
use crate::lost_order::{AttributedOrder, Direction};
use crate::money::Usdc;
use crate::operator::AuditAction;
use crate::product::ProductLine;
use crate::reconciliation::ReconciliationSource;

/// Debits the charge of the order, or credits its proceeds.
pub(super) fn decide(
    this: Option<&Account>,
    wallet: &Wallet,
    command: Command,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let Command::AttributeOrder {
        attributed: booked,
        is_repeat: again,
        act,
        evidence,
    } = command
    else {
        return Err(Rejection::NotFound);
    };
    let order = &booked.order;
    let (amount, side) = match (&booked.returned, order.direction()) {
        (Some(back), _) => (back.amount, "back to"),
        (None, Direction::In) => (booked.owed, "to"),
        (None, Direction::Out) => (booked.charged, "from"),
    };
    let subject = format!(
        "{} {} {} {side} {wallet}",
        order.source.name(),
        order.key,
        amount.decimal()
    );
    let decision = Decision::answer(()).audit(&act, AuditAction::OrderBook, subject, Some(evidence), context);
    let (key, row) = (table::lost_order(order.key), codec::encode(&*booked));
    if let Some(back) = &booked.returned {
        let decision = open(this, wallet, decision, context).put(key, row);
        let decision = decision.post_ledger(&booked.return_transaction(back, context.now), context);
        return credit_order(this, wallet, decision, (&booked, amount), context);
    }
    let decision = match again {
        true => decision.put(key, row),
        false => decision.put_new(key, row),
    };
    let decision = decision.post_ledger(&booked.payment_transaction(context.now), context);
    let account = this.ok_or(Rejection::NotFound)?;
    match order.direction() {
        Direction::In => credit_order(this, wallet, decision, (&booked, amount), context),
        Direction::Out => {
            let decision = count_against_cap(account, &booked, decision, context);
            debit(account, decision, amount, DebitPurpose::LostOrder(order.id()), context)
        }
    }
}

/// A bank payment of today counts toward today's cap.
fn count_against_cap(
    account: &Account,
    booked: &AttributedOrder,
    decision: Decision<Account>,
    context: &Context,
) -> Decision<Account> {
    let order = &booked.order;
    let (day, cap_group) = (day_of(order.at), ProductLine::BankPayment.cap_group());
    let (_, sum) = account.used(day, cap_group);
    let fits = sum.checked_add(order.amount).is_ok();
    match order.source == ReconciliationSource::Payouts && day == counted_day(context.now, account.day) && fits {
        true => decision.event(Event::CapReserved(CapReservation {
            day,
            cap_group,
            cents: order.amount,
        })),
        false => decision,
    }
}

fn credit_order(
    this: Option<&Account>,
    wallet: &Wallet,
    decision: Decision<Account>,
    (booked, amount): (&AttributedOrder, Usdc),
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let most = this.map_or(Usdc::ZERO, |account| account.total_deposits.max(account.balance));
    most.checked_add(amount).map_err(|_| Rejection::Overflow)?;
    let after = AccountAfter::unchanged(this).credited(amount)?;
    let cause = CreditCause::LostOrder(booked.order.id());
    let noted = (StatementLineType::Credited, amount, cause.name());
    let decision = decision.event(Event::Credited { amount, cause });
    Ok(append_line(decision, wallet, noted, after, context))
}
