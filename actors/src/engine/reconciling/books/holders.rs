//! What holders have at the bank and at the card issuer, as their lists should have it.

use super::{Ours, order};
use crate::banking::transfer::{self, BankTransfer, Way};
use crate::card_withdrawal::{self, CardWithdrawal};
use crate::id::{BankTransferId, CardId, WithdrawalId};
use crate::product::Currency;
use crate::reconcile::{Flow, Listed, Money, Source, Standing};
use crate::reloadable::{self, Reloadable};

/// What the bank was told to move. That it came back is another entry, of what came in.
pub(super) fn of_move(number: u128, transfer: &BankTransfer) -> Option<Ours> {
    let standing = match &transfer.status {
        _ if transfer.way == Way::Incoming => return None,
        transfer::Status::Pending(_) => Standing::UnderWay,
        transfer::Status::Complete(_) | transfer::Status::Returned(_) => Standing::Done,
        transfer::Status::Failed(_) => Standing::Refused,
    };
    let named = (Source::Bank, number, BankTransferId(number));
    let money = (standing, transfer.cents, Currency::USD);
    Some(order(named, money, transfer.updated_at))
}

/// What was credited of what came in at the bank, from outside or back.
pub(super) fn of_incoming(number: u128, transfer: &BankTransfer) -> Option<Ours> {
    let (reference, cents) = match &transfer.status {
        transfer::Status::Complete(reference) if transfer.way == Way::Incoming => (reference, transfer.cents),
        transfer::Status::Returned(back) => (&back.reference, back.amount.whole_cents()),
        _ => return None,
    };
    Some(Ours {
        source: Source::BankDeposits,
        flow: Flow::Incoming,
        key: reference.clone(),
        mark: None,
        payer: None,
        subject: BankTransferId(number).to_string(),
        listed: Listed {
            standing: Standing::Done,
            money: Money::Cents(cents, Currency::USD),
            at: transfer.updated_at,
        },
    })
}

pub(super) fn of_opening(number: u128, card: &Reloadable) -> Ours {
    use reloadable::Status;
    let standing = match &card.status {
        Status::Creating => Standing::UnderWay,
        Status::Open(_) | Status::Paused(_) | Status::Closed(_) => Standing::Done,
        Status::Failed { .. } => Standing::Refused,
    };
    let named = (Source::CardProgram, number, CardId(number));
    order(named, (standing, card.amount, Currency::USD), card.updated_at)
}

/// What is left on a card that was opened.
pub(super) fn of_balance(number: u128, card: &Reloadable) -> Option<Ours> {
    card.details()?;
    let named = (Source::CardBalances, number, CardId(number));
    let money = (Standing::Done, card.activity.available, Currency::USD);
    Some(order(named, money, card.updated_at))
}

pub(super) fn of_reservation(number: u128, withdrawal: &CardWithdrawal) -> Ours {
    use card_withdrawal::Status;
    let standing = match &withdrawal.status {
        Status::Pending => Standing::UnderWay,
        Status::Queued | Status::Claimed(_) => Standing::Held,
        Status::Complete { .. } | Status::Over { paid: true } => Standing::Done,
        Status::Rejected { .. } | Status::Over { paid: false } => Standing::Returned,
        Status::Failed { .. } => Standing::Refused,
    };
    let named = (Source::CardProgram, number, WithdrawalId(number));
    order(
        named,
        (standing, withdrawal.amount, Currency::USD),
        withdrawal.updated_at,
    )
}
