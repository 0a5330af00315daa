//! Orders that a restore had lost: once an operator has booked them they are ours.

use purser_storage::{Store, StoreError};

use super::{InternalEntry, ordered_here, read};
use crate::id::JobId;
use crate::kernel::table;
use crate::lost_order::BookedOrder;
use crate::product::Currency;
use crate::reconciliation::{EntryAmount, EntryStatus, ListedEntry, ReconciliationSource};

/// What was ordered of a provider under this key, also where only an operator knows of it.
pub(in crate::engine) async fn ordered(
    store: &dyn Store,
    source: ReconciliationSource,
    number: u128,
) -> Result<Option<InternalEntry>, StoreError> {
    match ordered_here(store, source, number).await? {
        Some(ours) => Ok(Some(ours)),
        None => {
            let booked: Option<BookedOrder> = read(store, &table::lost_order(JobId(number))).await?;
            Ok(booked.as_ref().and_then(|booked| of_booked(source, booked)))
        }
    }
}

pub(super) fn of_booked(source: ReconciliationSource, booked: &BookedOrder) -> Option<InternalEntry> {
    let order = &booked.order;
    (order.source == source).then(|| InternalEntry {
        source,
        flow: source.flow(),
        key: order.key.to_string(),
        mark: None,
        payer: None,
        subject: order.id().to_string(),
        listed: booked.our_side(),
    })
}

/// What the bank gave back of one, by its own name for that.
pub(super) fn of_returned(booked: &BookedOrder) -> Option<InternalEntry> {
    let (reference, amount) = booked.returned()?;
    Some(InternalEntry {
        source: ReconciliationSource::BankDeposits,
        flow: ReconciliationSource::BankDeposits.flow(),
        key: reference.to_owned(),
        mark: None,
        payer: None,
        subject: booked.order.id().to_string(),
        listed: ListedEntry {
            standing: EntryStatus::Completed,
            money: EntryAmount::Cents(amount.whole_cents(), Currency::USD),
            at: booked.order.at,
        },
    })
}
