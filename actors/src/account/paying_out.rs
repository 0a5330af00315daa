//! What leaves the balance for a bank: it is taken at once, and credited again if it definitely does not arrive.

use super::claims::admit;
use super::statement::{Change, line};
use super::{Account, Event, Rejection};
use crate::banking::transfer::{BankTransfer, Wanted};
use crate::id::{BankTransferId, DepartureId, EffectId, PaymentId, PayoutId};
use crate::kernel::effect::Work;
use crate::kernel::{Context, Decision, Kind, table};
use crate::ledger::{Charge, Place, Provider, Transaction};
use crate::money::{Cents, Usdc};
use crate::payout::{Ordered, Payout, Plan, Target};
use crate::product::{Cap, Currency, Line};

/// What the balance pays for.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// A payout to a bank destination, as a payment buys it.
    Payout(Box<BankPayout>),
    /// A move to the holder's own account at the bank.
    Transfer(BankTransferId, Wanted),
}

/// A payout that the balance pays for.
#[derive(Clone, Debug)]
pub struct BankPayout {
    /// The new payout's id.
    pub id: PayoutId,
    /// To whom and by which rules; to a bank.
    pub plan: Plan,
    /// US dollars that arrive.
    pub amount: Cents,
    /// Everything that is taken, fee included.
    pub charged: Usdc,
    /// In force now for bank payments.
    pub cap: Option<Cap>,
}

/// What the balance has paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum PaidFor {
    /// A payout.
    Payout(PayoutId),
    /// A move to an account at the bank.
    Transfer(BankTransferId),
    /// An order that a restore had lost.
    LostOrder(DepartureId),
}

impl PaidFor {
    /// The id as text.
    pub fn name(&self) -> String {
        match self {
            Self::Payout(id) => id.to_string(),
            Self::Transfer(id) => id.to_string(),
            Self::LostOrder(id) => id.to_string(),
        }
    }
}

/// Takes the amount and opens what it pays for, in one batch: two at once never share a cent.
pub(super) fn decide(account: &Account, outgoing: Outgoing, context: &Context) -> Result<Decision<Account>, Rejection> {
    if let Some(message) = account.frozen.clone() {
        return Err(Rejection::Frozen { message });
    }
    match outgoing {
        Outgoing::Payout(payout) => pay_out(account, *payout, context),
        Outgoing::Transfer(id, wanted) => transfer(account, id, wanted, context),
    }
}

fn pay_out(account: &Account, payout: BankPayout, context: &Context) -> Result<Decision<Account>, Rejection> {
    let BankPayout {
        id,
        plan,
        amount,
        charged,
        cap,
    } = payout;
    let Target::Bank(destination, _) = &plan.target else {
        return Err(Rejection::Nothing);
    };
    let (owner, destination) = (account.wallet, *destination);
    let share = admit(Some(account), Line::BankPayment, amount, cap, context.now)?;
    let owed = Usdc::from_cents(amount).map_err(|_| Rejection::Overflow)?;
    let charge = Charge::new(PaymentId::NONE, charged, owed);
    let key = EffectId(id.0);
    let ordered = Ordered {
        owner,
        charge,
        amount,
        currency: Currency::USD,
        plan,
        key,
        at: context.now,
    };
    let opening = Payout::order(id, ordered, context).map_err(|_| Rejection::Nothing)?;
    let booked = Transaction::new(context.now, id)
        .book(Place::Holder(owner), Place::Provider(Provider::Bank), charge.owed())
        .book(Place::Holder(owner), Place::Fees, charge.fee());
    let decision = Decision::answer(())
        .requires_present(table::destination(&owner, destination))
        .event(Event::Reserved(share))
        .open(opening)
        .owned(&owner, Kind::Payout, id.0, context)
        .post(&booked, context)
        .then_as(key, Work::SendPayout(id), context);
    taken(account, decision, charge.charged, PaidFor::Payout(id), context)
}

fn transfer(
    account: &Account,
    id: BankTransferId,
    wanted: Wanted,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let (owner, amount, key) = (account.wallet, wanted.amount, EffectId(id.0));
    let opening = BankTransfer::from_balance(id, wanted, key, context).map_err(|_| Rejection::Nothing)?;
    let booked =
        Transaction::new(context.now, id).book(Place::Holder(owner), Place::Provider(Provider::Banking), amount);
    let decision = Decision::answer(())
        .open(opening)
        .owned(&owner, Kind::BankTransfer, id.0, context)
        .post(&booked, context)
        .then_as(key, Work::MoveBankMoney(id), context);
    taken(account, decision, amount, PaidFor::Transfer(id), context)
}

pub(super) fn taken(
    account: &Account,
    decision: Decision<Account>,
    amount: Usdc,
    paid_for: PaidFor,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let available = account.available();
    if amount == Usdc::ZERO || amount > available {
        return Err(Rejection::Insufficient { available });
    }
    let balance = account.balance.minus(amount).map_err(|_| Rejection::Overflow)?;
    let noted = (Change::PaidOut, amount, paid_for.name());
    let decision = decision.event(Event::PaidOut(amount, paid_for));
    Ok(line(
        decision,
        &account.wallet,
        noted,
        (balance, account.held, account.lines),
        context,
    ))
}
