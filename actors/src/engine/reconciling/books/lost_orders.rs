//! Orders that a restore had lost: once an operator has booked them they are ours.

use purser_storage::{Store, StoreError};

use super::{Ours, ordered_here, read};
use crate::id::EffectId;
use crate::kernel::table;
use crate::lost_order::BookedOrder;
use crate::product::Currency;
use crate::reconcile::{Listed, Money, Source, Standing};

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
        payer: None,
        subject: order.id().to_string(),
        listed: booked.our_side(),
    })
}

/// What the bank gave back of one, by its own name for that.
pub(super) fn of_returned(booked: &BookedOrder) -> Option<Ours> {
    let (reference, amount) = booked.returned()?;
    Some(Ours {
        source: Source::BankDeposits,
        flow: Source::BankDeposits.flow(),
        key: reference.to_owned(),
        mark: None,
        payer: None,
        subject: booked.order.id().to_string(),
        listed: Listed {
            standing: Standing::Done,
            money: Money::Cents(amount.whole_cents(), Currency::USD),
            at: booked.order.at,
        },
    })
}
