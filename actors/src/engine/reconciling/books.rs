//! Our side: what each row of the books should be on another list, and the row behind something on one.

mod holders;
mod lost_orders;
mod transfers;

use std::fmt::Display;

use purser_storage::codec::{self, DecodeError, Stored};
use purser_storage::{Store, StoreError};

pub(in crate::engine) use self::lost_orders::ordered;

use self::holders::{of_balance, of_incoming, of_move, of_opening, of_reservation};
use self::lost_orders::{of_booked, of_returned};
pub(super) use self::transfers::{departed, deposited, left_for, paid_by, sent};
use crate::banking::transfer::BankTransfer;
use crate::card::{self, Card};
use crate::difference::Found;
use crate::engine::departures::known::{self, Known};
use crate::engine::operating::damaged;
use crate::gift_card::{self, GiftCard};
use crate::id::{
    BankTransferId, CardId, DepositId, EffectId, Network, PaymentId, PayoutId, TopUpId, Wallet, WithdrawalId,
};
use crate::incoming::Incoming;
use crate::kernel::{Kind, table};
use crate::lost_order::BookedOrder;
use crate::money::Cents;
use crate::payment::Payment;
use crate::payout::{self, Payout};
use crate::port::{Booked, EntryName, Timestamp, TransferName};
use crate::product::Currency;
use crate::reconcile::{Flow, Listed, Money, Source, Standing};
use crate::reloadable::Reloadable;
use crate::top_up::TopUp;
use crate::withdrawal::Withdrawal;

/// Something in our books, and where else it should be.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Ours {
    pub(super) source: Source,
    pub(super) flow: Flow,
    /// Its name on the other list; of a transfer on a chain, as far as we know it.
    pub(super) key: String,
    /// What a chain shows of a transfer besides its name.
    pub(super) mark: Option<[u8; 32]>,
    /// Whose authorization that is, if not our treasury's.
    pub(super) payer: Option<Wallet>,
    /// Our id of it.
    pub(super) subject: String,
    pub(super) listed: Listed,
}

/// Every table that holds something of the kind, in the order of a walk.
pub(super) const TABLES: [&[u8]; 12] = [
    &[table::ENTITY, Kind::Payment as u8],
    &[table::ENTITY, Kind::Incoming as u8],
    &[table::ENTITY, Kind::Withdrawal as u8],
    &[table::ENTITY, Kind::TopUp as u8],
    &[table::DEPARTURE],
    &[table::ENTITY, Kind::Card as u8],
    &[table::ENTITY, Kind::GiftCard as u8],
    &[table::ENTITY, Kind::Payout as u8],
    &[table::ENTITY, Kind::BankTransfer as u8],
    &[table::ENTITY, Kind::Reloadable as u8],
    &[table::ENTITY, Kind::CardWithdrawal as u8],
    &[table::LOST_ORDER],
];

/// What a row of one of these tables should be on other lists.
pub(super) fn of_row(key: &[u8], value: &[u8]) -> Result<Vec<Ours>, DecodeError> {
    let number = key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id));
    let kind = key.get(1).copied().unwrap_or_default();
    let one = match key.first().copied() {
        Some(table::DEPARTURE) => {
            let row = Booked::read(value)?;
            let network = row.departure.to.network();
            Some(of_departure(network, known::booked(&row)))
        }
        Some(table::LOST_ORDER) => {
            let row: BookedOrder = codec::decode(value)?;
            let (paid, back) = (of_booked(row.order.source, &row), of_returned(&row));
            return Ok(paid.into_iter().chain(back).collect());
        }
        Some(table::ENTITY) if kind == Kind::Incoming as u8 => of_incoming_transfer(&codec::decode(value)?),
        Some(table::ENTITY) if kind == Kind::Payment as u8 => of_payment(PaymentId(number), &codec::decode(value)?),
        Some(table::ENTITY) if kind == Kind::Withdrawal as u8 => {
            let row: Withdrawal = codec::decode(value)?;
            let left = known::withdrawn(WithdrawalId(number), &row);
            left.map(|left| of_departure(row.to.network(), left))
        }
        Some(table::ENTITY) if kind == Kind::TopUp as u8 => {
            let row: TopUp = codec::decode(value)?;
            let id = TopUpId(number);
            let left = known::topped_up(id, &row).map(|left| of_departure(row.rail, left));
            let crossing = known::crossed(id, &row).map(of_crossing);
            return Ok(left.into_iter().chain(crossing).collect());
        }
        Some(table::ENTITY) if kind == Kind::Card as u8 => {
            let card: Card = codec::decode(value)?;
            let made = Some(of_card(number, &card));
            return Ok(made.into_iter().chain(of_remainder(number, &card)).collect());
        }
        Some(table::ENTITY) if kind == Kind::GiftCard as u8 => Some(of_gift_card(number, &codec::decode(value)?)),
        Some(table::ENTITY) if kind == Kind::Payout as u8 => Some(of_payout(number, &codec::decode(value)?)),
        Some(table::ENTITY) if kind == Kind::BankTransfer as u8 => {
            let row: BankTransfer = codec::decode(value)?;
            let (moved, came) = (of_move(number, &row), of_incoming(number, &row));
            return Ok(moved.into_iter().chain(came).collect());
        }
        Some(table::ENTITY) if kind == Kind::Reloadable as u8 => {
            let row: Reloadable = codec::decode(value)?;
            let opened = Some(of_opening(number, &row));
            return Ok(opened.into_iter().chain(of_balance(number, &row)).collect());
        }
        Some(table::ENTITY) if kind == Kind::CardWithdrawal as u8 => {
            Some(of_reservation(number, &codec::decode(value)?))
        }
        _ => None,
    };
    Ok(one.into_iter().collect())
}

/// A payment that the chain has shown.
fn of_payment(id: PaymentId, payment: &Payment) -> Option<Ours> {
    let transaction = payment.transaction()?;
    Some(Ours {
        source: Source::of(payment.payer().network()),
        flow: Flow::Deposit,
        key: transaction.to_owned(),
        mark: Some(payment.claim.authorization.mark()),
        payer: Some(payment.payer()),
        subject: id.to_string(),
        listed: Listed {
            standing: Standing::Done,
            money: Money::Usdc(payment.price()),
            at: payment.updated_at,
        },
    })
}

/// A transfer that was taken in under its own name. Of one that nobody has decided about nothing is in the books.
fn of_incoming_transfer(incoming: &Incoming) -> Option<Ours> {
    let transfer = &incoming.transfer;
    incoming.is_booked().then(|| Ours {
        source: Source::of(transfer.network),
        flow: Flow::Deposit,
        key: transfer.key(),
        mark: None,
        payer: None,
        subject: transfer.id().to_string(),
        listed: Listed {
            standing: Standing::Done,
            money: Money::Usdc(transfer.amount),
            at: Timestamp(0),
        },
    })
}

fn of_departure(network: Network, known::Row { name, left, mark, .. }: known::Row) -> Ours {
    Ours {
        source: Source::of(network),
        flow: Flow::Departure,
        key: name,
        mark,
        payer: None,
        subject: left.subject,
        listed: left.listed,
    }
}

fn of_crossing((transaction, left): (String, known::Left)) -> Ours {
    Ours {
        source: Source::Bridge,
        flow: Flow::Crossing,
        key: transaction,
        mark: None,
        payer: None,
        subject: left.subject,
        listed: left.listed,
    }
}

/// An order's key is the number of what was ordered, so that either is found by the other.
fn order(
    (source, key, subject): (Source, u128, impl Display),
    (standing, amount, currency): (Standing, Cents, Currency),
    at: Timestamp,
) -> Ours {
    let money = Money::Cents(amount, currency);
    Ours {
        source,
        flow: source.flow(),
        key: EffectId(key).to_string(),
        mark: None,
        payer: None,
        subject: subject.to_string(),
        listed: Listed { standing, money, at },
    }
}

fn of_card(number: u128, card: &Card) -> Ours {
    let standing = match card.status {
        card::Status::Pending => Standing::UnderWay,
        card::Status::Ready(_) | card::Status::Paused(_) | card::Status::Closed(_) | card::Status::Expired(_) => {
            Standing::Done
        }
        card::Status::Failed { .. } => Standing::Refused,
    };
    let named = (Source::Cards, number, CardId(number));
    order(named, (standing, card.amount, Currency::USD), card.updated_at)
}

/// What was given back of a card that has ended, all so far.
fn of_remainder(number: u128, card: &Card) -> Option<Ours> {
    let released = card.life.released;
    let named = (Source::PrepaidRemainders, number, CardId(number));
    let given = order(named, (Standing::Done, released, Currency::USD), card.updated_at);
    (released > Cents::ZERO).then_some(given)
}

fn of_gift_card(number: u128, gift: &GiftCard) -> Ours {
    let standing = match gift.status {
        gift_card::Status::Processing => Standing::UnderWay,
        gift_card::Status::Completed => Standing::Done,
        gift_card::Status::Failed { .. } => Standing::Refused,
    };
    let named = (Source::GiftCards, number, CardId(number));
    let ordered = &gift.order;
    order(named, (standing, ordered.amount, ordered.currency), gift.updated_at)
}

fn of_payout(number: u128, payout: &Payout) -> Ours {
    use payout::Status;
    let standing = match &payout.status {
        Status::AwaitingDetails | Status::Expired => Standing::NotAsked,
        Status::Queued | Status::InProcess => Standing::UnderWay,
        Status::Complete { .. } if payout.came_back_late => Standing::Returned,
        Status::Complete { .. } => Standing::Done,
        Status::Failed { .. } | Status::Cancelled { .. } => Standing::Refused,
        Status::Returned { .. } => Standing::Returned,
    };
    let named = (Source::Payouts, payout.key.0, PayoutId(number));
    order(named, (standing, payout.amount, payout.currency), payout.updated_at)
}

async fn read<T: Stored>(store: &dyn Store, key: &[u8]) -> Result<Option<T>, StoreError> {
    let row = store.read(key).await?;
    row.map(|row| codec::decode(&row.value).map_err(damaged)).transpose()
}

/// What our books have of something on a provider's list: an order by its key, money that came in by the provider's name of
/// it, or as what the move says that it is the return of. What crosses the bridge is in [`Known`].
pub(super) async fn listed(
    store: &dyn Store,
    source: Source,
    (name, returns): (&EntryName, Option<BankTransferId>),
) -> Result<Option<Ours>, StoreError> {
    if source == Source::BankDeposits {
        return came_in(store, name.as_str(), returns).await;
    }
    match name.order() {
        Some(key) => ordered(store, source, key.0).await,
        None => Ok(None),
    }
}

async fn came_in(
    store: &dyn Store,
    reference: &str,
    returns: Option<BankTransferId>,
) -> Result<Option<Ours>, StoreError> {
    let id = returns.unwrap_or_else(|| BankTransferId::of(reference));
    let transfer: Option<BankTransfer> = read(store, &table::entity(Kind::BankTransfer, &id.0.to_be_bytes())).await?;
    let came = match transfer {
        Some(transfer) => of_incoming(id.0, &transfer),
        None => {
            let booked: Option<BookedOrder> = read(store, &table::lost_order(EffectId(id.0))).await?;
            booked.as_ref().and_then(of_returned)
        }
    };
    Ok(came.filter(|came| came.key == reference))
}

/// What was ordered of a provider under this key.
async fn ordered_here(store: &dyn Store, source: Source, number: u128) -> Result<Option<Ours>, StoreError> {
    let entity = |kind| table::entity(kind, &number.to_be_bytes());
    Ok(match source {
        Source::Cards => read(store, &entity(Kind::Card))
            .await?
            .map(|card| of_card(number, &card)),
        Source::GiftCards => {
            let gift = read(store, &entity(Kind::GiftCard)).await?;
            gift.map(|gift| of_gift_card(number, &gift))
        }
        Source::Payouts => {
            let payout = read(store, &entity(Kind::Payout)).await?;
            payout.map(|payout| of_payout(number, &payout))
        }
        Source::Bank => {
            let transfer = read(store, &entity(Kind::BankTransfer)).await?;
            transfer.and_then(|transfer| of_move(number, &transfer))
        }
        Source::CardProgram => match read(store, &entity(Kind::Reloadable)).await? {
            Some(card) => Some(of_opening(number, &card)),
            None => {
                let withdrawal = read(store, &entity(Kind::CardWithdrawal)).await?;
                withdrawal.map(|withdrawal| of_reservation(number, &withdrawal))
            }
        },
        Source::CardBalances => {
            let card = read(store, &entity(Kind::Reloadable)).await?;
            card.and_then(|card| of_balance(number, &card))
        }
        Source::PrepaidRemainders => {
            let card = read(store, &entity(Kind::Card)).await?;
            card.and_then(|card| of_remainder(number, &card))
        }
        Source::Base | Source::Solana | Source::BankDeposits | Source::Bridge => None,
    })
}

/// What a crossing of the bridge is for.
pub(super) fn crossing(transaction: &str, known: &Known) -> Option<Ours> {
    let crossed = known.crossing(transaction)?;
    Some(of_crossing((transaction.to_owned(), crossed.clone())))
}

/// The row behind what once differed, by our own id of it, or for an order by its key. What left the treasury, or crossed
/// the bridge, is in [`Known`].
pub(super) async fn behind(store: &dyn Store, found: &Found) -> Result<Option<Ours>, StoreError> {
    let subject = found.subject.as_deref().unwrap_or_default();
    let number = |prefix: &str| {
        subject
            .strip_prefix(prefix)
            .and_then(|id| u128::from_str_radix(id, 16).ok())
    };
    if let Some(key) = number(PayoutId::PREFIX).or_else(|| number(CardId::PREFIX)) {
        return ordered(store, found.source, key).await;
    }
    if let (Source::BankDeposits, Some(id)) = (found.source, number(BankTransferId::PREFIX)) {
        return came_in(store, &found.key, Some(BankTransferId(id))).await;
    }
    if let (None, Some(name)) = (found.source.network(), EntryName::new(found.key.clone())) {
        return listed(store, found.source, (&name, None)).await;
    }
    let ours = if let Some(id) = number(PaymentId::PREFIX) {
        let payment = read(store, &table::entity(Kind::Payment, &id.to_be_bytes())).await?;
        payment.and_then(|payment| of_payment(PaymentId(id), &payment))
    } else if let Some(id) = number(DepositId::PREFIX) {
        let incoming = read(store, &table::entity(Kind::Incoming, &id.to_be_bytes())).await?;
        incoming.as_ref().and_then(of_incoming_transfer)
    } else {
        None
    };
    // A payment may have landed by another transaction since.
    let same = |ours: &Ours| TransferName::transaction_of(&ours.key) == TransferName::transaction_of(&found.key);
    Ok(ours.filter(same))
}
