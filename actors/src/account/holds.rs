//! What is reserved of a balance while a withdrawal is on its way.

use purser_storage::codec;

use super::machine::born;
use super::statement::{Change, line};
use super::{Account, Command, Event, Rejection};
use crate::id::{EffectId, Network, Wallet, WithdrawalId};
use crate::kernel::effect::{CreditCause, Work};
use crate::kernel::{Context, Decision, Kind, table};
use crate::ledger::{Place, Transaction};
use crate::money::Usdc;
use crate::operator::Deed;
use crate::port::{Booked, Departure};
use crate::withdrawal::Withdrawal;

/// Takes a withdrawal on, or ends its hold.
pub(super) fn decide(account: &Account, command: Command, context: &Context) -> Result<Decision<Account>, Rejection> {
    match command {
        Command::Withdraw { id, to, amount } => withdraw(account, id, to, amount, context),
        Command::EndHold {
            effect,
            withdrawal,
            amount,
            paid,
        } => end_hold(account, effect, (withdrawal, amount), paid, context),
        Command::Book {
            departure,
            act,
            evidence,
        } => book(account, departure, &act, evidence, context),
        _ => Err(Rejection::Nothing),
    }
}

/// Holds the amount and opens the withdrawal, in one batch: two at once never share a cent.
fn withdraw(
    account: &Account,
    id: WithdrawalId,
    to: Wallet,
    amount: Usdc,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    if let Some(message) = account.frozen.clone() {
        return Err(Rejection::Frozen { message });
    }
    let available = account.available();
    if amount == Usdc::ZERO || amount > available {
        return Err(Rejection::Insufficient { available });
    }
    let owner = account.wallet;
    let held = account.held.plus(amount).map_err(|_| Rejection::Overflow)?;
    let opening = Withdrawal::ask(id, owner, to, amount, context).map_err(|_| Rejection::Nothing)?;
    let booked = Transaction::new(context.now, id).book(Place::Holder(owner), Place::Held(owner), amount);
    let decision = Decision::answer(())
        .event(Event::Held(amount, id))
        .open(opening)
        .put(
            table::owned_one(&owner, Kind::Withdrawal, context.now, id.0),
            Vec::new(),
        )
        .post(&booked, context)
        .then(Work::Withdraw(id), context);
    let noted = (Change::Held, amount, id.to_string());
    Ok(line(
        decision,
        &owner,
        noted,
        (account.balance, held, account.lines),
        context,
    ))
}

/// Credits a transfer to our treasury and reserves it at once for the withdrawal that brings it back to its sender: what is to be
/// returned is nobody's to use meanwhile. It leaves as every withdrawal does; if it cannot, it is the account's.
pub(super) fn send_back(
    this: Option<&Account>,
    owner: &Wallet,
    command: Command,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let Command::SendBack {
        effect,
        deposit,
        to,
        amount,
    } = command
    else {
        return Err(Rejection::Nothing);
    };
    let most = this.map_or(Usdc::ZERO, |account| account.total_deposits.max(account.balance));
    most.plus(amount).map_err(|_| Rejection::Overflow)?;
    let (id, cause) = (deposit.sent_back(), CreditCause::Deposit(deposit));
    let opening = Withdrawal::ask(id, *owner, to, amount, context).map_err(|_| Rejection::Nothing)?;
    let (before, held, lines) = this.map_or((Usdc::ZERO, Usdc::ZERO, 0), |a| (a.balance, a.held, a.lines));
    let balance = before.plus(amount).map_err(|_| Rejection::Overflow)?;
    let reserved = held.plus(amount).map_err(|_| Rejection::Overflow)?;
    let credited = Transaction::new(context.now, deposit).book(Place::Suspense, Place::Holder(*owner), amount);
    let booked = Transaction::new(context.now, id).book(Place::Holder(*owner), Place::Held(*owner), amount);
    let decision = born(this, owner, Decision::answer(()).completes(effect), context)
        .event(Event::Credited { amount, cause })
        .event(Event::Held(amount, id))
        .open(opening)
        .put(table::owned_one(owner, Kind::Withdrawal, context.now, id.0), Vec::new())
        .post(&credited, context)
        .post(&booked, context)
        .then(Work::ConfirmIncoming(deposit), context)
        .then(Work::Withdraw(id), context);
    let came = (Change::Credited, amount, deposit.to_string());
    let decision = line(decision, owner, came, (balance, held, lines), context);
    let kept = (Change::Held, amount, id.to_string());
    Ok(line(
        decision,
        owner,
        kept,
        (balance, reserved, lines.saturating_add(1)),
        context,
    ))
}

/// Ends a hold: the amount has left by a chain, or is the holder's to use again.
fn end_hold(
    account: &Account,
    effect: EffectId,
    (id, amount): (WithdrawalId, Usdc),
    paid: Option<Network>,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let owner = account.wallet;
    let held = account.held.minus(amount).map_err(|_| Rejection::Overflow)?;
    let (event, change, balance, goes_to) = match paid {
        Some(network) => {
            let balance = account.balance.minus(amount).map_err(|_| Rejection::Overflow)?;
            let event = Event::Withdrawn(amount, id);
            (event, Change::Withdrawn, balance, Place::Treasury(network))
        }
        None => {
            let event = Event::Released(amount, id);
            (event, Change::Released, account.balance, Place::Holder(owner))
        }
    };
    let booked = Transaction::new(context.now, id).book(Place::Held(owner), goes_to, amount);
    let decision = Decision::answer(())
        .completes(effect)
        .event(event)
        .post(&booked, context);
    Ok(line(
        decision,
        &owner,
        (change, amount, id.to_string()),
        (balance, held, account.lines),
        context,
    ))
}

/// Takes what had left before a restore out of what is available, once.
fn book(
    account: &Account,
    departure: Departure,
    act: &Deed,
    evidence: String,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let (available, amount, owner) = (account.available(), departure.amount, account.wallet);
    if amount > available {
        return Err(Rejection::Insufficient { available });
    }
    let network = departure.to.network();
    let id = departure.id();
    let booked = Transaction::new(context.now, id).book(Place::Holder(owner), Place::Treasury(network), amount);
    let balance = account.balance.minus(amount).map_err(|_| Rejection::Overflow)?;
    let subject = format!("{} {} from {owner}", departure.key(), amount.decimal());
    let decision = Decision::answer(())
        .audited(act, "departure.book", subject, Some(evidence), context)
        .event(Event::Departed(amount, id))
        .post(&booked, context);
    let noted = (Change::Withdrawn, amount, id.to_string());
    let after = (balance, account.held, account.lines);
    let row = Booked {
        departure,
        account: Some(owner),
        outlay: None,
    };
    Ok(line(decision, &owner, noted, after, context).put_new(table::departure(id), codec::encode(&row)))
}
