//! Customers' entries at the bank and at the card issuer, as their lists should show them.

use super::{InternalEntry, order_entry};
use crate::currency::Currency;
use crate::entity::banking::transfer::{self, BankTransfer, TransferDirection};
use crate::entity::card_withdrawal::{self, CardWithdrawal};
use crate::entity::reloadable_card::{self, ReloadableCard};
use crate::id::{BankTransferId, CardId, WithdrawalId};
use crate::reconciliation::{EntryAmount, EntryKind, EntryStatus, ListedEntry, ReconciliationSource};

/// A transfer that the bank was asked to make. Its return is a separate entry, among the incoming transfers.
pub(super) fn from_bank_transfer(number: u128, transfer: &BankTransfer) -> Option<InternalEntry> {
    let standing = match &transfer.status {
        _ if transfer.direction == TransferDirection::Incoming => return None,
        transfer::Status::Pending(_) => EntryStatus::Pending,
        transfer::Status::Complete(_) | transfer::Status::Returned(_) => EntryStatus::Completed,
        transfer::Status::Failed(_) => EntryStatus::Declined,
    };
    let named = (ReconciliationSource::BankTransfers, number, BankTransferId(number));
    let money = (standing, transfer.cents, Currency::USD);
    Some(order_entry(named, money, transfer.updated_at))
}

/// Our credit for an incoming transfer at the bank, from outside or returned.
pub(super) fn from_bank_deposit(number: u128, transfer: &BankTransfer) -> Option<InternalEntry> {
    let (reference, cents) = match &transfer.status {
        transfer::Status::Complete(reference) if transfer.direction == TransferDirection::Incoming => {
            (reference, transfer.cents)
        }
        transfer::Status::Returned(back) => (&back.reference, back.amount.whole_cents()),
        _ => return None,
    };
    Some(InternalEntry {
        source: ReconciliationSource::BankDeposits,
        entry_kind: EntryKind::IncomingTransfer,
        key: reference.clone(),
        fingerprint: None,
        payer: None,
        subject: BankTransferId(number).to_string(),
        listed: ListedEntry {
            status: EntryStatus::Completed,
            amount: EntryAmount::Cents(cents, Currency::USD),
            at: transfer.updated_at,
        },
    })
}

pub(super) fn from_card_opening(number: u128, card: &ReloadableCard) -> InternalEntry {
    use reloadable_card::Status;
    let standing = match &card.status {
        Status::Creating => EntryStatus::Pending,
        Status::Open(_) | Status::Paused(_) | Status::Closed(_) => EntryStatus::Completed,
        Status::Failed { .. } => EntryStatus::Declined,
    };
    let named = (ReconciliationSource::ReloadableCards, number, CardId(number));
    order_entry(named, (standing, card.amount, Currency::USD), card.updated_at)
}

/// Amount left on a card that was opened.
pub(super) fn from_card_balance(number: u128, card: &ReloadableCard) -> Option<InternalEntry> {
    card.details()?;
    let named = (ReconciliationSource::CardBalances, number, CardId(number));
    let money = (EntryStatus::Completed, card.activity.available, Currency::USD);
    Some(order_entry(named, money, card.updated_at))
}

pub(super) fn from_hold(number: u128, withdrawal: &CardWithdrawal) -> InternalEntry {
    use card_withdrawal::Status;
    let standing = match &withdrawal.status {
        Status::Pending => EntryStatus::Pending,
        Status::Queued | Status::Claimed(_) => EntryStatus::Held,
        Status::Complete { .. } | Status::ClosedAtIssuer { paid: true } => EntryStatus::Completed,
        Status::Rejected { .. } | Status::ClosedAtIssuer { paid: false } => EntryStatus::Returned,
        Status::Failed { .. } => EntryStatus::Declined,
    };
    let named = (ReconciliationSource::ReloadableCards, number, WithdrawalId(number));
    order_entry(
        named,
        (standing, withdrawal.amount, Currency::USD),
        withdrawal.updated_at,
    )
}
