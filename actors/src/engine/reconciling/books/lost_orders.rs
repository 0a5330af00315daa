//! Orders that a restore had lost: once an operator has booked them they are ours.

use purser_storage::{Store, StoreError};

use super::{Ours, ordered_here, read};
use crate::id::EffectId;
use crate::kernel::table;
use crate::lost_order::BookedOrder;
use crate::reconcile::Source;

/// What was ordered of a provider under this key, also where only an operator knows of it.
pub(in crate::engine) async fn ordered(
    store: &dyn Store,
    source: Source,
    number: u128,
) -> Result<Option<Ours>, StoreError> {
    match ordered_here(store, source, number).await? {
        Some(ours) => Ok(Some(ours)),
        None => {
            let booked: Option<BookedOrder> = read(store, &table::lost_order(EffectId(number))).await?;
            Ok(booked.as_ref().and_then(|booked| of_booked(source, booked)))
        }
    }
}

pub(super) fn of_booked(source: Source, booked: &BookedOrder) -> Option<Ours> {
    let order = &booked.order;
    (order.source == source).then(|| Ours {
        source,
        flow: source.flow(),
        key: order.key.to_string(),
        mark: None,
        subject: order.id().to_string(),
        listed: booked.our_side(),
    })
}
