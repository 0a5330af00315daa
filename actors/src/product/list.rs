//! What shared code needs to know of a product.

use purser_storage::codec::{self, DecodeError, Stored};
use purser_storage::{Row, Store, StoreError};

use crate::currency::Currency;
use crate::id::Network;
use crate::id::Wallet;
use crate::kernel::chart::Chart;
use crate::kernel::registry::LoadError;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, table};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;
use crate::reconciliation::{EntryStatus, ReconciliationSource};

/// An entity that a payment buys. Implemented in the product's own file. Nothing has a default, so a new product must
/// define every item.
pub trait Product: Entity + Stored {
    /// JSON field of its id in responses.
    const ID_FIELD: &'static str;
    /// JSON field of the product in a payment.
    const FIELD: &'static str;
    /// Provider lists that show it.
    const LISTS: &'static [ReconciliationSource];
    /// Whether it is sent out only once its payment is final. Any other product may be used before.
    const WAITS_FOR_FINALITY: bool;

    /// The parameters that the purchase fixes.
    type Order;

    /// Adds the product and its first job to the batch of the payment.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    fn sell<D: Entity>(
        decision: Decision<D>,
        sale: &Sale,
        order: Self::Order,
        context: &Context,
    ) -> Result<Decision<D>, InvalidTransition>;

    /// What an operator has to do, or to know, before a refund of a product that its owner can still use.
    fn return_instructions(id: &Self::Id) -> String;

    /// Charge paid for it.
    fn charge(&self) -> &Charge;

    /// Where the money of its charge is now.
    fn money(&self) -> Money;

    /// The entries that each of [`Product::LISTS`] should show.
    fn listed(&self, id: &Self::Id) -> Vec<ListedOrder>;
}

/// A purchase that settled.
#[derive(Clone, Copy, Debug)]
pub struct Sale {
    /// Number of the product's id, derived from the payment.
    pub number: u128,
    /// Account that paid.
    pub owner: Wallet,
    /// Charge paid.
    pub charge: Charge,
    /// Chain that it was paid on.
    pub network: Network,
}

/// Where the money of a charge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Money {
    /// Undecided: the product may still fail, and is credited then.
    InFlight,
    /// The owner has the product.
    Delivered {
        /// USDC credited so far.
        credited: Usdc,
        /// Most that can be refunded: what the product never credits.
        refundable: Usdc,
        /// What the owner can still use of it.
        usable: Usable,
    },
    /// The product has ended, or its provider returned the money: nothing of it can be used.
    Returned {
        /// USDC credited so far.
        credited: Usdc,
        /// Most that can be refunded: what the product never credits.
        refundable: Usdc,
    },
    /// The whole charge was credited, or is about to be.
    Credited,
}

/// The part of a product that its owner can still use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usable {
    /// Amount left on a card, by the issuer's latest report.
    Remaining(Usdc),
    /// All of it: its use can't be determined or prevented.
    All,
}

/// An order as a provider's list should show it.
#[derive(Clone, Debug)]
pub struct ListedOrder {
    /// The list.
    pub source: ReconciliationSource,
    /// Key of the order: the number of the product's id, so that either is found by the other.
    pub key: u128,
    /// Text of that id.
    pub subject: String,
    /// Status by our records.
    pub status: EntryStatus,
    /// Amount of the order.
    pub amount: Cents,
    /// Currency of the amount.
    pub currency: Currency,
    /// Time of the last change.
    pub at: Timestamp,
}

/// A product in its present state, without its type.
#[derive(Clone, Debug)]
pub struct ProductRecord {
    /// Name of its status.
    pub status: &'static str,
    /// Charge paid for it.
    pub charge: Charge,
    /// Where that money is.
    pub money: Money,
    /// The owner's view of it.
    pub view: JsonObject,
    /// Revision of its row.
    pub revision: u64,
}

impl ProductRecord {
    /// USDC of its charge that was credited to the account's balance.
    pub const fn credited(&self) -> Usdc {
        match self.money {
            Money::InFlight => Usdc::ZERO,
            Money::Delivered { credited, .. } | Money::Returned { credited, .. } => credited,
            Money::Credited => self.charge.charged,
        }
    }
}

/// A type of product: its constants and functions over its rows.
pub struct ProductType {
    /// Kind of its entity.
    pub kind: EntityKind,
    /// [`Product::ID_FIELD`].
    pub id_field: &'static str,
    /// [`Product::FIELD`].
    pub field: &'static str,
    /// [`Product::LISTS`].
    pub lists: &'static [ReconciliationSource],
    /// [`Product::WAITS_FOR_FINALITY`].
    pub waits_for_finality: bool,
    /// Prefix of the keys of its rows.
    pub table: [u8; 2],
    /// Orders of a row, by the number of its id.
    pub listed: fn(u128, &[u8]) -> Result<Vec<ListedOrder>, DecodeError>,
    /// [`Product::return_instructions`], by the number of its id.
    pub return_instructions: fn(u128) -> String,
    /// Its states.
    pub chart: &'static Chart,
    record: fn(u128, &Row) -> Result<ProductRecord, DecodeError>,
}

impl ProductType {
    pub(crate) const fn of<P: Product>() -> Self
    where
        P::Id: From<u128>,
    {
        Self {
            kind: P::KIND,
            id_field: P::ID_FIELD,
            field: P::FIELD,
            lists: P::LISTS,
            waits_for_finality: P::WAITS_FOR_FINALITY,
            table: [table::ENTITY, P::KIND as u8],
            listed: |number, value| {
                let product: P = codec::decode(value)?;
                Ok(product.listed(&P::Id::from(number)))
            },
            return_instructions: |number| P::return_instructions(&P::Id::from(number)),
            chart: P::CHART,
            record: |number, row| {
                let product: P = codec::decode(&row.value)?;
                Ok(ProductRecord {
                    status: product.status(),
                    charge: *product.charge(),
                    money: product.money(),
                    view: product.view(&P::Id::from(number)),
                    revision: row.revision,
                })
            },
        }
    }
}

impl ProductType {
    /// The product with this number, if it is of this type.
    ///
    /// # Errors
    /// When storage fails or the row is corrupt.
    pub async fn read(&self, store: &dyn Store, number: u128) -> Result<Option<ProductRecord>, LoadError> {
        let row = store.read(&table::entity(self.kind, &number.to_be_bytes())).await?;
        let record = row.map(|row| (self.record)(number, &row)).transpose();
        record.map_err(|error| LoadError::Corrupt(format!("{} {number:032x}", self.kind.name()), error))
    }

    /// Its orders on lists.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn read_listed(&self, store: &dyn Store, number: u128) -> Result<Vec<ListedOrder>, StoreError> {
        let row = store.read(&table::entity(self.kind, &number.to_be_bytes())).await?;
        let listed = row.map(|row| (self.listed)(number, &row.value)).transpose();
        Ok(listed
            .map_err(|error| StoreError::Corrupt(error.to_string()))?
            .unwrap_or_default())
    }
}
