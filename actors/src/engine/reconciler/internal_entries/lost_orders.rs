//! Orders that a restore had lost. Once an operator has attributed them, they count as our orders.

use purser_storage::{Store, StoreError};

use super::{InternalEntry, own_order, read};
use crate::currency::Currency;
use crate::id::JobId;
use crate::kernel::table;
use crate::lost_order::AttributedOrder;
use crate::reconciliation::{EntryAmount, EntryStatus, ListedEntry, ReconciliationSource};

/// The order placed with a provider under this key, including one that only an operator attributed.
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

/// The bank's return of one, by the bank's id of it.
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
