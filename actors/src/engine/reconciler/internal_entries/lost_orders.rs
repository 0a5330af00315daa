//! Orders that a restore had lost: once an operator has booked them they are ours.

use purser_storage::{Store, StoreError};

use super::{InternalEntry, own_order, read};
use crate::id::JobId;
use crate::kernel::table;
use crate::lost_order::AttributedOrder;
use crate::product::Currency;
use crate::reconciliation::{EntryAmount, EntryStatus, ListedEntry, ReconciliationSource};

/// What was ordered of a provider under this key, also where only an operator knows of it.
pub(in crate::engine) async fn from_order(
    store: &dyn Store,
    source: ReconciliationSource,
    number: u128,
) -> Result<Option<InternalEntry>, StoreError> {
    match own_order(store, source, number).await? {
        Some(ours) => Ok(Some(ours)),
        None => {
            let booked: Option<AttributedOrder> = read(store, &table::lost_order(JobId(number))).await?;
            Ok(booked.as_ref().and_then(|booked| from_attributed_order(source, booked)))
        }
    }
}

pub(super) fn from_attributed_order(source: ReconciliationSource, booked: &AttributedOrder) -> Option<InternalEntry> {
    let order = &booked.order;
    (order.source == source).then(|| InternalEntry {
        source,
        entry_kind: source.entry_kind(),
        key: order.key.to_string(),
        fingerprint: None,
        payer: None,
        subject: order.id().to_string(),
        listed: booked.internal_entry(),
    })
}

/// What the bank gave back of one, by its own name for that.
pub(super) fn from_order_return(booked: &AttributedOrder) -> Option<InternalEntry> {
    let (reference, amount) = booked.bank_return()?;
    Some(InternalEntry {
        source: ReconciliationSource::BankDeposits,
        entry_kind: ReconciliationSource::BankDeposits.entry_kind(),
        key: reference.to_owned(),
        fingerprint: None,
        payer: None,
        subject: booked.order.id().to_string(),
        listed: ListedEntry {
            status: EntryStatus::Completed,
            amount: EntryAmount::Cents(amount.whole_cents(), Currency::USD),
            at: booked.order.at,
        },
    })
}
