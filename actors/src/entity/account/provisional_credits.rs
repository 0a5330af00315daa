//! Credits that depend on a payment which is not final: part of the balance and on hold, until the payment is final or
//! reorged permanently.

use super::machine::credit;
use super::statement::{AccountAfter, StatementLineType, append_line};
use super::{Account, Command, Event, Job, Rejection};
use crate::id::{PaymentId, Wallet};
use crate::kernel::{Context, Decision, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::money::Usdc;

const PROVISIONAL_HOLD_SUFFIX: &str = ".unfinal";

/// Ledger cause of a hold that depends on a payment; the credit itself has a cause of its own.
pub fn provisional_hold_cause(payment: PaymentId) -> String {
    format!("{payment}{PROVISIONAL_HOLD_SUFFIX}")
}

/// Payment behind such a hold, parsed from its ledger cause.
pub fn underlying_payment(cause: &str) -> Option<PaymentId> {
    cause.strip_suffix(PROVISIONAL_HOLD_SUFFIX)?.parse().ok()
}

/// Credits the amount, or ends the hold.
pub(super) fn decide(
    this: Option<&Account>,
    wallet: &Wallet,
    command: Command,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    match (this, command) {
        (
            this,
            Command::CreditProvisionally {
                job,
                amount,
                cause,
                payment,
            },
        ) => {
            let credited = credit(this, wallet, (job, amount), cause, context)?;
            hold(this, wallet, (amount, payment), credited, context)
        }
        (
            Some(account),
            Command::EndProvisionalHold {
                job,
                payment,
                amount,
                is_final,
            },
        ) => {
            let done = Decision::answer(()).completes_job(job);
            end(account, (amount, payment), is_final, done, context)
        }
        (_, _) => Err(Rejection::NotFound),
    }
}

/// Holds the amount that the same batch credits. If the payment is final by now, nothing is held.
fn hold(
    this: Option<&Account>,
    wallet: &Wallet,
    (amount, payment): (Usdc, PaymentId),
    credited: Decision<Account>,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let after = AccountAfter::unchanged(this).credited(amount)?.then_held(amount)?;
    let booked = LedgerTransaction::new(context.now, provisional_hold_cause(payment)).post(
        LedgerAccount::Customer(*wallet),
        LedgerAccount::CustomerHeld(*wallet),
        amount,
    );
    let account = *wallet;
    let release = Job::ReleaseCredit {
        account,
        payment,
        amount,
    };
    let decision = credited
        .requires_present(table::pending_finality(payment))
        .event(Event::HeldUntilFinal(amount, payment))
        .post_ledger(&booked, context)
        .enqueue(release, context);
    let noted = (StatementLineType::HeldUntilFinal, amount, payment.to_string());
    Ok(append_line(decision, wallet, noted, after, context))
}

/// Ends the hold: the amount is available, or it is removed and reduces the loss of the payment.
fn end(
    account: &Account,
    (amount, payment): (Usdc, PaymentId),
    is_final: bool,
    done: Decision<Account>,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let owner = account.wallet;
    let held = account.held.checked_sub(amount).map_err(|_| Rejection::Overflow)?;
    let (event, change, balance, goes_to) = match is_final {
        true => {
            let event = Event::Finalized(amount, payment);
            (
                event,
                StatementLineType::Released,
                account.balance,
                LedgerAccount::Customer(owner),
            )
        }
        false => {
            let balance = account.balance.checked_sub(amount).map_err(|_| Rejection::Overflow)?;
            let event = Event::Reversed(amount, payment);
            (event, StatementLineType::Reversed, balance, LedgerAccount::Losses)
        }
    };
    let booked = LedgerTransaction::new(context.now, provisional_hold_cause(payment)).post(
        LedgerAccount::CustomerHeld(owner),
        goes_to,
        amount,
    );
    let decision = done.event(event).post_ledger(&booked, context);
    let noted = (change, amount, payment.to_string());
    Ok(append_line(
        decision,
        &owner,
        noted,
        AccountAfter {
            balance,
            held,
            ..AccountAfter::unchanged(Some(account))
        },
        context,
    ))
}
