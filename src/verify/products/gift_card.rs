//! Gift cards.

use purser_actors::gift_card::{Event, GiftCard, Order, Status};
use purser_actors::id::CardId;
use purser_actors::ledger::Provider;
use purser_actors::product::Product;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};
use rust_decimal::Decimal;

use super::{Has, Keeps, Money, Sold};

/// USDC has six decimals, a price two.
const ATOMIC_PER_CENT: i128 = 10_000;

pub(super) fn read(id: CardId, row: &Row) -> Result<Sold, DecodeError> {
    let gift: GiftCard = codec::decode(&row.value)?;
    let (worth, price) = priced(&gift.order).unwrap_or_default();
    let (status, money) = match gift.status {
        Status::Processing => ("processing", Money::Spent),
        Status::Completed => ("completed", Money::Spent),
        Status::Failed { .. } => ("failed", Money::Undone),
    };
    Ok(Sold {
        product: Product::GiftCard(id),
        plural: "gift_cards",
        revision: row.revision,
        status,
        owner: gift.owner,
        charge: gift.charge,
        worth,
        provider: Provider::GiftCards,
        money,
        price: Some(price),
        moving: gift.status == Status::Processing,
        keeps: Keeps {
            number: match gift.status {
                Status::Completed => Has::Always,
                Status::Processing | Status::Failed { .. } => Has::Never,
            },
            ..Keeps::default()
        },
    })
}

/// What an order is worth and what it cost, in atomic USDC, by the facts of its quote and nothing else: both are converted
/// exactly and rounded up to the cent once. Facts that are no numbers are no price.
fn priced(order: &Order) -> Option<(i128, i128)> {
    let number = |text: &str| Decimal::from_str_exact(text).ok();
    let usd_per_unit = match &order.quoted.exchange {
        Some(exchange) => number(&exchange.usd_per_unit)?,
        None if order.currency.as_str() == "USD" => Decimal::ONE,
        None => return None,
    };
    let amount = Decimal::from(order.amount.get()) / Decimal::ONE_HUNDRED;
    let on_top = number(&order.quoted.min_fee)?.max(amount * number(&order.quoted.fee_rate)?);
    let atomic = |units: Decimal| {
        let cents = units
            .checked_mul(usd_per_unit)?
            .checked_mul(Decimal::ONE_HUNDRED)?
            .ceil();
        Some(i128::try_from(cents).ok()? * ATOMIC_PER_CENT)
    };
    Some((atomic(amount)?, atomic(amount + on_top)?))
}

pub(super) fn fold(event: &[u8]) -> Result<&'static str, DecodeError> {
    Ok(match codec::decode(event)? {
        Event::Ordered { .. } => "processing",
        Event::Delivered(_) | Event::Revealed(_) => "completed",
        Event::Refused(..) => "failed",
    })
}
