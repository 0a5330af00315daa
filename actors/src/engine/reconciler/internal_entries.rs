//! Our side of reconciliation: the external entry that each row should have, and the row behind an external entry.

mod customers;
mod lost_orders;
mod transfers;

use std::fmt::Display;

use purser_storage::codec::{self, DecodeError, Stored};
use purser_storage::{Store, StoreError};

pub(in crate::engine) use self::lost_orders::from_order;

use self::customers::{from_bank_deposit, from_bank_transfer, from_card_balance, from_card_opening, from_hold};
use self::lost_orders::{from_attributed_order, from_order_return};
pub(super) use self::transfers::{deposit_entry, outgoing_index, outgoing_transfer, paying_movement, sent_transfer};
use crate::currency::Currency;
use crate::engine::operators::corrupt;
use crate::engine::untracked_transfers::recorded::{self, RecordedTransfers};
use crate::entity::PRODUCTS;
use crate::entity::banking::transfer::BankTransfer;
use crate::entity::discrepancy::DiscrepancyDetails;
use crate::entity::incoming::Incoming;
use crate::entity::payment::Payment;
use crate::entity::reloadable_card::ReloadableCard;
use crate::entity::top_up::TopUp;
use crate::entity::withdrawal::Withdrawal;
use crate::id::{
    BankTransferId, CardId, DepositId, JobId, Network, PaymentId, PayoutId, TopUpId, TransferName, Wallet, WithdrawalId,
};
use crate::kernel::{EntityKind, table};
use crate::lost_order::AttributedOrder;
use crate::money::Cents;
use crate::port::AttributedTransfer;
use crate::port::EntryKey;
use crate::port::Timestamp;
use crate::product::ListedOrder;
use crate::reconciliation::{EntryAmount, EntryKind, EntryStatus, ListedEntry, ReconciliationSource};

/// An entry of our records, and where it should be listed.
#[derive(Clone, Debug)]
pub(in crate::engine) struct InternalEntry {
    pub(super) source: ReconciliationSource,
    pub(super) entry_kind: EntryKind,
    /// Key on the other list. For a transfer on chain, as far as we know it.
    pub(super) key: String,
    /// Recognises the transfer on chain without its name.
    pub(super) fingerprint: Option<[u8; 32]>,
    /// Owner of that payment authorization, if not our treasury.
    pub(super) payer: Option<Wallet>,
    /// Our id of the subject.
    pub(super) subject: String,
    pub(super) listed: ListedEntry,
}

const TABLES_BEFORE_PRODUCTS: [&[u8]; 5] = [
    &[table::ENTITY, EntityKind::Payment as u8],
    &[table::ENTITY, EntityKind::Incoming as u8],
    &[table::ENTITY, EntityKind::Withdrawal as u8],
    &[table::ENTITY, EntityKind::TopUp as u8],
    &[table::ATTRIBUTED_TRANSFER],
];
const TABLES_AFTER_PRODUCTS: [&[u8]; 4] = [
    &[table::ENTITY, EntityKind::BankTransfer as u8],
    &[table::ENTITY, EntityKind::ReloadableCard as u8],
    &[table::ENTITY, EntityKind::CardWithdrawal as u8],
    &[table::LOST_ORDER],
];

/// Every table with entries of some kind, in the order of a run.
pub(super) fn tables() -> impl Iterator<Item = &'static [u8]> {
    let products = PRODUCTS.iter().filter(|product| !product.lists.is_empty());
    let products = products.map(|product| &product.table[..]);
    TABLES_BEFORE_PRODUCTS
        .into_iter()
        .chain(products)
        .chain(TABLES_AFTER_PRODUCTS)
}

/// The external entries that a row of one of these tables should have.
pub(super) fn from_row(key: &[u8], value: &[u8]) -> Result<Vec<InternalEntry>, DecodeError> {
    let number = key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id));
    let kind = key.get(1).copied().unwrap_or_default();
    let listed = PRODUCTS
        .iter()
        .find(|product| key.starts_with(&product.table) && !product.lists.is_empty());
    if let Some(product) = listed {
        let orders = (product.listed)(number, value)?;
        return Ok(orders.into_iter().map(product_entry).collect());
    }
    let one = match key.first().copied() {
        Some(table::ATTRIBUTED_TRANSFER) => {
            let row: AttributedTransfer = codec::decode(value)?;
            let network = row.transfer.to.network();
            Some(transfer_entry(network, recorded::from_attribution(&row)))
        }
        Some(table::LOST_ORDER) => {
            let row: AttributedOrder = codec::decode(value)?;
            let (paid, back) = (from_attributed_order(row.order.source, &row), from_order_return(&row));
            return Ok(paid.into_iter().chain(back).collect());
        }
        Some(table::ENTITY) if kind == EntityKind::Incoming as u8 => from_incoming_transfer(&codec::decode(value)?),
        Some(table::ENTITY) if kind == EntityKind::Payment as u8 => {
            from_payment(PaymentId(number), &codec::decode(value)?)
        }
        Some(table::ENTITY) if kind == EntityKind::Withdrawal as u8 => {
            let row: Withdrawal = codec::decode(value)?;
            let left = recorded::from_withdrawal(WithdrawalId(number), &row);
            left.map(|left| transfer_entry(row.to.network(), left))
        }
        Some(table::ENTITY) if kind == EntityKind::TopUp as u8 => {
            let row: TopUp = codec::decode(value)?;
            let id = TopUpId(number);
            let left = recorded::from_top_up(id, &row).map(|left| transfer_entry(row.rail, left));
            let bridge_transfer = recorded::from_bridge(id, &row).map(bridge_entry);
            return Ok(left.into_iter().chain(bridge_transfer).collect());
        }
        Some(table::ENTITY) if kind == EntityKind::BankTransfer as u8 => {
            let row: BankTransfer = codec::decode(value)?;
            let (moved, came) = (from_bank_transfer(number, &row), from_bank_deposit(number, &row));
            return Ok(moved.into_iter().chain(came).collect());
        }
        Some(table::ENTITY) if kind == EntityKind::ReloadableCard as u8 => {
            let row: ReloadableCard = codec::decode(value)?;
            let opened = Some(from_card_opening(number, &row));
            return Ok(opened.into_iter().chain(from_card_balance(number, &row)).collect());
        }
        Some(table::ENTITY) if kind == EntityKind::CardWithdrawal as u8 => {
            Some(from_hold(number, &codec::decode(value)?))
        }
        _ => None,
    };
    Ok(one.into_iter().collect())
}

/// A payment that its chain has shown.
fn from_payment(id: PaymentId, payment: &Payment) -> Option<InternalEntry> {
    let transaction = payment.transaction()?;
    Some(InternalEntry {
        source: ReconciliationSource::for_network(payment.payer().network()),
        entry_kind: EntryKind::Deposit,
        key: transaction.to_owned(),
        fingerprint: Some(payment.claim.authorization.fingerprint()),
        payer: Some(payment.payer()),
        subject: id.to_string(),
        listed: ListedEntry {
            status: EntryStatus::Completed,
            amount: EntryAmount::Usdc(payment.price()),
            at: payment.updated_at,
        },
    })
}

/// A transfer recorded under its own name. An undecided transfer is not in the ledger.
fn from_incoming_transfer(incoming: &Incoming) -> Option<InternalEntry> {
    let transfer = &incoming.transfer;
    incoming.is_posted().then(|| InternalEntry {
        source: ReconciliationSource::for_network(transfer.network),
        entry_kind: EntryKind::Deposit,
        key: transfer.key(),
        fingerprint: None,
        payer: None,
        subject: transfer.id().to_string(),
        listed: ListedEntry {
            status: EntryStatus::Completed,
            amount: EntryAmount::Usdc(transfer.amount),
            at: Timestamp(0),
        },
    })
}

fn transfer_entry(
    network: Network,
    recorded::TransferRow {
        name,
        transfer: left,
        fingerprint,
        ..
    }: recorded::TransferRow,
) -> InternalEntry {
    InternalEntry {
        source: ReconciliationSource::for_network(network),
        entry_kind: EntryKind::OutgoingTransfer,
        key: name,
        fingerprint,
        payer: None,
        subject: left.subject,
        listed: left.listed,
    }
}

fn bridge_entry((transaction, left): (String, recorded::RecordedTransfer)) -> InternalEntry {
    InternalEntry {
        source: ReconciliationSource::Bridge,
        entry_kind: EntryKind::BridgeTransfer,
        key: transaction,
        fingerprint: None,
        payer: None,
        subject: left.subject,
        listed: left.listed,
    }
}

/// An order's key is the number of the ordered entity, so that either is found by the other.
fn order_entry(
    (source, key, subject): (ReconciliationSource, u128, impl Display),
    (status, amount, currency): (EntryStatus, Cents, Currency),
    at: Timestamp,
) -> InternalEntry {
    let money = EntryAmount::Cents(amount, currency);
    InternalEntry {
        source,
        entry_kind: source.entry_kind(),
        key: JobId(key).to_string(),
        fingerprint: None,
        payer: None,
        subject: subject.to_string(),
        listed: ListedEntry {
            status,
            amount: money,
            at,
        },
    }
}

/// A product's order.
fn product_entry(order: ListedOrder) -> InternalEntry {
    let money = (order.status, order.amount, order.currency);
    order_entry((order.source, order.key, order.subject), money, order.at)
}

async fn read<T: Stored>(store: &dyn Store, key: &[u8]) -> Result<Option<T>, StoreError> {
    let row = store.read(key).await?;
    row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()
}

/// Our entry for one on a provider's list. An order is found by its key. An incoming transfer is found by the
/// provider's id, or by the transfer that it returns. Bridge transfers are in [`RecordedTransfers`].
pub(super) async fn for_listed(
    store: &dyn Store,
    source: ReconciliationSource,
    (name, returns): (&EntryKey, Option<BankTransferId>),
) -> Result<Option<InternalEntry>, StoreError> {
    if source == ReconciliationSource::BankDeposits {
        return from_incoming(store, name.as_str(), returns).await;
    }
    match name.order() {
        Some(key) => from_order(store, source, key.0).await,
        None => Ok(None),
    }
}

async fn from_incoming(
    store: &dyn Store,
    reference: &str,
    returns: Option<BankTransferId>,
) -> Result<Option<InternalEntry>, StoreError> {
    let id = returns.unwrap_or_else(|| BankTransferId::for_reference(reference));
    let transfer: Option<BankTransfer> =
        read(store, &table::entity(EntityKind::BankTransfer, &id.0.to_be_bytes())).await?;
    let came = match transfer {
        Some(transfer) => from_bank_deposit(id.0, &transfer),
        None => {
            let booked: Option<AttributedOrder> = read(store, &table::lost_order(JobId(id.0))).await?;
            booked.as_ref().and_then(from_order_return)
        }
    };
    Ok(came.filter(|came| came.key == reference))
}

/// The order that we placed with a provider under this key.
async fn own_order(
    store: &dyn Store,
    source: ReconciliationSource,
    number: u128,
) -> Result<Option<InternalEntry>, StoreError> {
    if let Some(product) = PRODUCTS.iter().find(|product| product.lists.contains(&source)) {
        let orders = product.read_listed(store, number).await?;
        let on_list = orders.into_iter().find(|order| order.source == source);
        return Ok(on_list.map(product_entry));
    }
    let entity = |kind| table::entity(kind, &number.to_be_bytes());
    Ok(match source {
        ReconciliationSource::BankTransfers => {
            let transfer = read(store, &entity(EntityKind::BankTransfer)).await?;
            transfer.and_then(|transfer| from_bank_transfer(number, &transfer))
        }
        ReconciliationSource::ReloadableCards => match read(store, &entity(EntityKind::ReloadableCard)).await? {
            Some(card) => Some(from_card_opening(number, &card)),
            None => {
                let withdrawal = read(store, &entity(EntityKind::CardWithdrawal)).await?;
                withdrawal.map(|withdrawal| from_hold(number, &withdrawal))
            }
        },
        ReconciliationSource::CardBalances => {
            let card = read(store, &entity(EntityKind::ReloadableCard)).await?;
            card.and_then(|card| from_card_balance(number, &card))
        }
        // Products are above. The other lists show no orders.
        ReconciliationSource::Cards
        | ReconciliationSource::GiftCards
        | ReconciliationSource::Payouts
        | ReconciliationSource::PrepaidRemainders
        | ReconciliationSource::Base
        | ReconciliationSource::Solana
        | ReconciliationSource::BankDeposits
        | ReconciliationSource::Bridge => None,
    })
}

/// Purpose of a bridge transfer.
pub(super) fn bridge_transfer(transaction: &str, known: &RecordedTransfers) -> Option<InternalEntry> {
    let crossed = known.bridge_transfer(transaction)?;
    Some(bridge_entry((transaction.to_owned(), crossed.clone())))
}

/// The row behind a discrepancy, by our own id, or for an order by its key. Outgoing and bridge transfers are in
/// [`RecordedTransfers`].
pub(super) async fn entity_behind(
    store: &dyn Store,
    found: &DiscrepancyDetails,
) -> Result<Option<InternalEntry>, StoreError> {
    let subject = found.subject.as_deref().unwrap_or_default();
    let number = |prefix: &str| {
        subject
            .strip_prefix(prefix)
            .and_then(|id| u128::from_str_radix(id, 16).ok())
    };
    if let Some(key) = number(PayoutId::PREFIX).or_else(|| number(CardId::PREFIX)) {
        return from_order(store, found.source, key).await;
    }
    if let (ReconciliationSource::BankDeposits, Some(id)) = (found.source, number(BankTransferId::PREFIX)) {
        return from_incoming(store, &found.key, Some(BankTransferId(id))).await;
    }
    if let (None, Some(name)) = (found.source.network(), EntryKey::new(found.key.clone())) {
        return for_listed(store, found.source, (&name, None)).await;
    }
    let ours = if let Some(id) = number(PaymentId::PREFIX) {
        let payment = read(store, &table::entity(EntityKind::Payment, &id.to_be_bytes())).await?;
        payment.and_then(|payment| from_payment(PaymentId(id), &payment))
    } else if let Some(id) = number(DepositId::PREFIX) {
        let incoming = read(store, &table::entity(EntityKind::Incoming, &id.to_be_bytes())).await?;
        incoming.as_ref().and_then(from_incoming_transfer)
    } else {
        None
    };
    // The payment may have settled in another transaction since.
    let same =
        |ours: &InternalEntry| TransferName::transaction_of(&ours.key) == TransferName::transaction_of(&found.key);
    Ok(ours.filter(same))
}
