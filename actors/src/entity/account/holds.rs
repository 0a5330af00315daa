//! Holds on the balance for withdrawals in progress.

use purser_storage::codec;

use super::machine::open;
use super::statement::{AccountAfter, StatementLineType, append_line};
use super::{Account, Command, Event, Rejection};
use crate::entity::account::CreditCause;
use crate::entity::incoming;
use crate::entity::withdrawal;
use crate::entity::withdrawal::Withdrawal;
use crate::id::{JobId, Network, Wallet, WithdrawalId};
use crate::kernel::{Context, Decision, EntityKind, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::money::Usdc;
use crate::operator::{AuditAction, AuditedAction};
use crate::port::{AttributedTransfer, OutgoingTransfer};

/// Opens a withdrawal, or ends its hold.
pub(super) fn decide(account: &Account, command: Command, context: &Context) -> Result<Decision<Account>, Rejection> {
    match command {
        Command::Withdraw { id, to, amount } => withdraw(account, id, to, amount, context),
        Command::SettleHold {
            job,
            withdrawal,
            amount,
            paid,
        } => settle_hold(account, job, (withdrawal, amount), paid, context),
        Command::AttributeTransfer {
            transfer,
            act,
            evidence,
        } => attribute_transfer(account, transfer, &act, evidence, context),
        _ => Err(Rejection::NotFound),
    }
}

/// Holds the amount and opens the withdrawal in one batch, so two concurrent ones never use the same cent.
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
    let held = account.held.checked_add(amount).map_err(|_| Rejection::Overflow)?;
    let opening = Withdrawal::request(id, owner, to, amount, context).map_err(|_| Rejection::NotFound)?;
    let booked = LedgerTransaction::new(context.now, id).post(
        LedgerAccount::Customer(owner),
        LedgerAccount::CustomerHeld(owner),
        amount,
    );
    let decision = Decision::answer(())
        .event(Event::Held(amount, id))
        .open(opening)
        .put(
            table::owner_index_entry(&owner, EntityKind::Withdrawal, context.now, id.0),
            Vec::new(),
        )
        .post_ledger(&booked, context)
        .enqueue(withdrawal::Job::SendWithdrawal(id), context);
    let noted = (StatementLineType::Held, amount, id.to_string());
    Ok(append_line(
        decision,
        &owner,
        noted,
        AccountAfter {
            held,
            ..AccountAfter::unchanged(Some(account))
        },
        context,
    ))
}

/// Credits a transfer to our treasury and holds it at once for the withdrawal that returns it to its sender, so it
/// cannot be spent meanwhile. It leaves like every withdrawal; if it cannot, it belongs to the account.
pub(super) fn send_back(
    this: Option<&Account>,
    owner: &Wallet,
    command: Command,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let Command::SendBack {
        job,
        deposit,
        to,
        amount,
    } = command
    else {
        return Err(Rejection::NotFound);
    };
    let most = this.map_or(Usdc::ZERO, |account| account.total_deposits.max(account.balance));
    most.checked_add(amount).map_err(|_| Rejection::Overflow)?;
    let (id, cause) = (deposit.return_withdrawal(), CreditCause::Deposit(deposit));
    let opening = Withdrawal::request(id, *owner, to, amount, context).map_err(|_| Rejection::NotFound)?;
    let after_credit = AccountAfter::unchanged(this).credited(amount)?;
    let after_hold = after_credit.then_held(amount)?;
    let credited = LedgerTransaction::new(context.now, deposit).post(
        LedgerAccount::Suspense,
        LedgerAccount::Customer(*owner),
        amount,
    );
    let booked = LedgerTransaction::new(context.now, id).post(
        LedgerAccount::Customer(*owner),
        LedgerAccount::CustomerHeld(*owner),
        amount,
    );
    let decision = open(this, owner, Decision::answer(()).completes_job(job), context)
        .event(Event::Credited { amount, cause })
        .event(Event::Held(amount, id))
        .open(opening)
        .put(
            table::owner_index_entry(owner, EntityKind::Withdrawal, context.now, id.0),
            Vec::new(),
        )
        .post_ledger(&credited, context)
        .post_ledger(&booked, context)
        .enqueue(incoming::Job::ConfirmIncoming(deposit), context)
        .enqueue(withdrawal::Job::SendWithdrawal(id), context);
    let came = (StatementLineType::Credited, amount, deposit.to_string());
    let decision = append_line(decision, owner, came, after_credit, context);
    let kept = (StatementLineType::Held, amount, id.to_string());
    Ok(append_line(decision, owner, kept, after_hold, context))
}

/// Ends a hold: the amount has left on chain, or is available again.
fn settle_hold(
    account: &Account,
    job: JobId,
    (id, amount): (WithdrawalId, Usdc),
    paid: Option<Network>,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let owner = account.wallet;
    let held = account.held.checked_sub(amount).map_err(|_| Rejection::Overflow)?;
    let (event, change, balance, goes_to) = match paid {
        Some(network) => {
            let balance = account.balance.checked_sub(amount).map_err(|_| Rejection::Overflow)?;
            let event = Event::Withdrawn(amount, id);
            (
                event,
                StatementLineType::Withdrawn,
                balance,
                LedgerAccount::Treasury(network),
            )
        }
        None => {
            let event = Event::Released(amount, id);
            (
                event,
                StatementLineType::Released,
                account.balance,
                LedgerAccount::Customer(owner),
            )
        }
    };
    let booked = LedgerTransaction::new(context.now, id).post(LedgerAccount::CustomerHeld(owner), goes_to, amount);
    let decision = Decision::answer(())
        .completes_job(job)
        .event(event)
        .post_ledger(&booked, context);
    Ok(append_line(
        decision,
        &owner,
        (change, amount, id.to_string()),
        AccountAfter {
            balance,
            held,
            ..AccountAfter::unchanged(Some(account))
        },
        context,
    ))
}

/// Debits a transfer that left before a restore from the available balance, once.
fn attribute_transfer(
    account: &Account,
    transfer: OutgoingTransfer,
    act: &AuditedAction,
    evidence: String,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let (available, amount, owner) = (account.available(), transfer.amount, account.wallet);
    if amount > available {
        return Err(Rejection::Insufficient { available });
    }
    let network = transfer.to.network();
    let id = transfer.id();
    let booked = LedgerTransaction::new(context.now, id).post(
        LedgerAccount::Customer(owner),
        LedgerAccount::Treasury(network),
        amount,
    );
    let balance = account.balance.checked_sub(amount).map_err(|_| Rejection::Overflow)?;
    let subject = format!("{} {} from {owner}", transfer.key(), amount.decimal());
    let decision = Decision::answer(())
        .audit(act, AuditAction::TransferAttribute, subject, Some(evidence), context)
        .event(Event::TransferAttributed(amount, id))
        .post_ledger(&booked, context);
    let noted = (StatementLineType::Withdrawn, amount, id.to_string());
    let after = AccountAfter {
        balance,
        ..AccountAfter::unchanged(Some(account))
    };
    let row = AttributedTransfer {
        transfer,
        account: Some(owner),
        outlay: None,
    };
    Ok(append_line(decision, &owner, noted, after, context)
        .put_new(table::attributed_transfer(id), codec::encode(&row)))
}
