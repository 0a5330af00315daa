//! What every product has: the terms of a purchase, its preconditions, caps, and the purchased product. Names no product:
//! [`crate::entity`] lists them. The HTTP layer has the prices; each product's own state machine has its lifecycle.

mod list;

use purser_storage::RowKey;

use crate::currency::Currency;
use crate::id::{BankDestinationId, PaymentRecipientId, Wallet};
use crate::kernel::{Context, table};
use crate::money::{Cents, FeeRule, Usdc};

pub use self::list::{ListedOrder, Money, Product, ProductRecord, ProductType, Sale, Usable};
pub use crate::kinds::ProductLine;

impl ProductLine {
    /// Line whose daily cap it counts toward: prepaid cards share one.
    pub const fn cap_group(self) -> Self {
        match self {
            Self::IntlCard => Self::UsaCard,
            line => line,
        }
    }
}

/// Amounts for which a product line is sold, and the fees on top of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceRange {
    /// Smallest amount sold.
    pub min: Cents,
    /// Largest amount sold.
    pub max: Cents,
    /// Every amount is a multiple of this.
    pub step: Cents,
    /// Regular fee, and a promotional fee.
    pub fees: [Option<FeeRule>; 2],
}

impl PriceRange {
    /// Whether this USDC amount is the price of any amount that is sold.
    pub fn contains_price(&self, paid: Usdc) -> bool {
        let paid = paid.whole_cents();
        self.fees.iter().flatten().any(|fee| self.with_fee(fee, paid))
    }

    /// A price grows with its amount, so bisection finds the only amount that can have it.
    fn with_fee(&self, fee: &FeeRule, paid: Cents) -> bool {
        let step = self.step.get().max(1);
        let (mut low, mut high) = (self.min.get().div_ceil(step), self.max.get() / step);
        while low <= high {
            let middle = low + (high - low) / 2;
            match fee.total(Cents::new(middle * step)) {
                Ok(price) if price == paid => return true,
                Ok(price) if price < paid => low = middle + 1,
                _ if middle == 0 => return false,
                _ => high = middle - 1,
            }
        }
        false
    }
}

/// Daily (UTC) cap of one account for the lines of a cap group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyCap {
    /// Maximum number of purchases.
    pub count: u32,
    /// Maximum sum of their values in US dollars without fees.
    pub sum: Cents,
}

/// Current caps; a cap group without one is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyCaps([Option<DailyCap>; ProductLine::ALL.len()]);

impl DailyCaps {
    /// No cap group is limited.
    pub const NONE: Self = Self([None; ProductLine::ALL.len()]);

    /// Sets the cap of a line's cap group.
    #[must_use]
    pub const fn with(mut self, line: ProductLine, cap: DailyCap) -> Self {
        self.0[line.cap_group() as usize] = Some(cap);
        self
    }

    /// Cap that a line counts toward.
    pub const fn for_line(&self, line: ProductLine) -> Option<DailyCap> {
        self.0[line.cap_group() as usize]
    }
}

/// The parsed parameters of a paid route. Amounts are in the named currency, or in US dollars if none is named. Nothing
/// has a default, so a new purchase must define every item. Its fields are stored inside the payment.
pub trait PurchaseTerms {
    /// What it buys.
    type Product: Product;
    /// What is read of the payer and of the provider before the claim; `()` for nothing.
    type Resolved;

    /// Line that sells it.
    const LINE: ProductLine;
    /// Whether the quote is stored with the purchase: if the line has its own rates, or several currencies.
    const STORES_QUOTE: bool;

    /// Requested amount and its currency.
    fn amount(&self) -> (Cents, Currency);

    /// The bytes that a request's fingerprint is made of. A payment is recognised by them after any upgrade, so the
    /// bytes of a purchase that was possible earlier never change. Every field is named, so that a new one does not
    /// compile before it is decided on. A field that is added later is appended with its name, and only if the request
    /// has it.
    fn fingerprint_bytes(&self) -> Vec<u8>;

    /// What the payer must fulfil before settlement, in the contract's order of errors.
    fn preconditions(&self) -> Vec<Precondition>;

    /// The product's order, once the payment has settled.
    fn order(&self, sale: &Sale, resolved: Self::Resolved, context: &Context) -> <Self::Product as Product>::Order;
}

/// Encodes the number of a purchase and its fields, for [`PurchaseTerms::fingerprint_bytes`].
pub fn encode_fingerprint(parts: impl bincode::Encode) -> Vec<u8> {
    // Encoding plain data into memory cannot fail.
    bincode::encode_to_vec(parts, bincode::config::standard()).unwrap_or_default()
}

/// A precondition of a purchase. The HTTP layer learns which one fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// The account owner's identity is verified.
    IdentityVerified,
    /// The account owner has linked an account at the card issuer.
    IssuerLinked,
    /// The destination belongs to the payer.
    OwnsDestination(BankDestinationId),
    /// The saved recipient belongs to the payer and to the same app.
    OwnsRecipient(PaymentRecipientId),
    /// The caller's data of the saved recipient matches the saved data.
    MatchesSaved(PaymentRecipientId),
    /// The catalog has it in stock at this price.
    InStock,
}

impl Precondition {
    /// Row that exists exactly while the precondition holds, if there is one: the claim's batch has it as a condition.
    pub fn row(&self, payer: &Wallet) -> Option<RowKey> {
        match self {
            Self::IdentityVerified => Some(table::verified(payer)),
            Self::IssuerLinked => Some(table::issuer_linked(payer)),
            Self::OwnsDestination(id) => Some(table::payable_destination(payer, *id)),
            Self::OwnsRecipient(_) | Self::MatchesSaved(_) | Self::InStock => None,
        }
    }
}
