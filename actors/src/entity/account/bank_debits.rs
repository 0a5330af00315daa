//! Debits for a bank: the amount leaves the balance at once, and is credited again if it definitely does not arrive.

use super::claims::admit;
use super::statement::{AccountAfter, StatementLineType, append_line};
use super::{Account, Event, Rejection};
use crate::currency::Currency;
use crate::entity::banking::transfer;
use crate::entity::banking::transfer::{BankTransfer, TransferRequest};
use crate::entity::payout;
use crate::entity::payout::{Payout, PayoutOrdered, PayoutPlan, PayoutTarget};
use crate::id::{BankTransferId, JobId, OutgoingTransferId, PaymentId, PayoutId};
use crate::kernel::{Context, Decision, EntityKind, table};
use crate::ledger::{Charge, LedgerAccount, LedgerProvider, LedgerTransaction};
use crate::money::{Cents, Usdc};
use crate::product::{DailyCap, ProductLine};

/// Purpose of a debit, with its data.
#[derive(Clone, Debug)]
pub enum BankDebit {
    /// A payout to a bank destination, as a payment buys it.
    Payout(Box<BalancePayout>),
    /// A transfer to the owner's account at the bank.
    Transfer(BankTransferId, TransferRequest),
}

/// A payout that the balance pays for.
#[derive(Clone, Debug)]
pub struct BalancePayout {
    /// Id of the new payout.
    pub id: PayoutId,
    /// Recipient and terms; the target is a bank account.
    pub plan: PayoutPlan,
    /// Amount that arrives, in US cents.
    pub amount: Cents,
    /// Debited amount, fee included.
    pub charged: Usdc,
    /// Daily cap that now applies to bank payments.
    pub cap: Option<DailyCap>,
}

/// Purpose of a debit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum DebitPurpose {
    /// A payout to a bank destination.
    Payout(PayoutId),
    /// A transfer to an account at the bank.
    Transfer(BankTransferId),
    /// An order that a restore lost.
    LostOrder(OutgoingTransferId),
}

impl DebitPurpose {
    /// The id as text.
    pub fn name(&self) -> String {
        match self {
            Self::Payout(id) => id.to_string(),
            Self::Transfer(id) => id.to_string(),
            Self::LostOrder(id) => id.to_string(),
        }
    }
}

/// Debits the amount and opens the payout or transfer in one batch, so two concurrent ones never use the same cent.
pub(super) fn decide(
    account: &Account,
    outgoing: BankDebit,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    if let Some(message) = account.frozen.clone() {
        return Err(Rejection::Frozen { message });
    }
    match outgoing {
        BankDebit::Payout(payout) => debit_payout(account, *payout, context),
        BankDebit::Transfer(id, wanted) => debit_transfer(account, id, wanted, context),
    }
}

fn debit_payout(account: &Account, payout: BalancePayout, context: &Context) -> Result<Decision<Account>, Rejection> {
    let BalancePayout {
        id,
        plan,
        amount,
        charged,
        cap,
    } = payout;
    let PayoutTarget::Bank(destination, _) = &plan.target else {
        return Err(Rejection::NotFound);
    };
    let (owner, destination) = (account.wallet, *destination);
    let share = admit(Some(account), ProductLine::BankPayment, amount, cap, context.now)?;
    let owed = Usdc::from_cents(amount).map_err(|_| Rejection::Overflow)?;
    let charge = Charge::new(PaymentId::NONE, charged, owed);
    let key = JobId(id.0);
    let ordered = PayoutOrdered {
        owner,
        charge,
        amount,
        currency: Currency::USD,
        message: None,
        plan,
        key,
        at: context.now,
    };
    let opening = Payout::order(id, ordered, context).map_err(|_| Rejection::NotFound)?;
    let booked = LedgerTransaction::new(context.now, id)
        .post(
            LedgerAccount::Customer(owner),
            LedgerAccount::Provider(LedgerProvider::Bank),
            charge.provider_amount(),
        )
        .post(LedgerAccount::Customer(owner), LedgerAccount::FeeRevenue, charge.fee());
    let decision = Decision::answer(())
        .requires_present(table::payable_destination(&owner, destination))
        .event(Event::CapReserved(share))
        .open(opening)
        .index_for_owner(&owner, EntityKind::Payout, id.0, context)
        .post_ledger(&booked, context)
        .enqueue_as(key, payout::Job::SendPayout(id), context);
    debit(account, decision, charge.charged, DebitPurpose::Payout(id), context)
}

fn debit_transfer(
    account: &Account,
    id: BankTransferId,
    wanted: TransferRequest,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let (owner, amount, key) = (account.wallet, wanted.amount, JobId(id.0));
    let opening = BankTransfer::from_balance(id, wanted, key, context).map_err(|_| Rejection::NotFound)?;
    let booked = LedgerTransaction::new(context.now, id).post(
        LedgerAccount::Customer(owner),
        LedgerAccount::Provider(LedgerProvider::Banking),
        amount,
    );
    let decision = Decision::answer(())
        .open(opening)
        .index_for_owner(&owner, EntityKind::BankTransfer, id.0, context)
        .post_ledger(&booked, context)
        .enqueue_as(key, transfer::Job::ExecuteBankTransfer(id), context);
    debit(account, decision, amount, DebitPurpose::Transfer(id), context)
}

pub(super) fn debit(
    account: &Account,
    decision: Decision<Account>,
    amount: Usdc,
    paid_for: DebitPurpose,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let available = account.available();
    if amount == Usdc::ZERO || amount > available {
        return Err(Rejection::Insufficient { available });
    }
    let balance = account.balance.checked_sub(amount).map_err(|_| Rejection::Overflow)?;
    let noted = (StatementLineType::Debited, amount, paid_for.name());
    let decision = decision.event(Event::Debited(amount, paid_for));
    Ok(append_line(
        decision,
        &account.wallet,
        noted,
        AccountAfter {
            balance,
            ..AccountAfter::unchanged(Some(account))
        },
        context,
    ))
}
