//! Gift cards: what a catalog offers, and how one of them is ordered.

use std::collections::BTreeMap;

use purser_actors::id::JobId;
use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, ExternalText, PortError};
use rust_decimal::Decimal;

use crate::secret::Secret;

/// Where a gift card can be redeemed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redeemability {
    /// Everywhere.
    Worldwide,
    /// In these countries, ISO 3166-1 alpha-2.
    Countries(Vec<String>),
}

impl Redeemability {
    /// Whether it can be redeemed there.
    pub fn covers(&self, country: &str) -> bool {
        match self {
            Self::Worldwide => true,
            Self::Countries(codes) => codes.iter().any(|code| code == country),
        }
    }
}

/// Which amounts a gift card comes in, in hundredths of its own currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denominations {
    /// Exactly these, rising.
    Fixed(Vec<Cents>),
    /// From `least` to `most`, both included, in steps from `least`.
    Range {
        /// Smallest.
        min: Cents,
        /// Largest.
        max: Cents,
        /// Above zero.
        step: Cents,
    },
}

impl Denominations {
    /// Whether a card of this amount exists.
    pub fn offer(&self, amount: Cents) -> bool {
        match self {
            Self::Fixed(amounts) => amounts.contains(&amount),
            Self::Range {
                min: least,
                max: most,
                step,
            } => (least..=most).contains(&&amount) && (amount.get() - least.get()).is_multiple_of(step.get()),
        }
    }

    /// Smallest and largest amount.
    pub fn ends(&self) -> (Cents, Cents) {
        match self {
            Self::Fixed(amounts) => (
                amounts.first().copied().unwrap_or(Cents::ZERO),
                amounts.last().copied().unwrap_or(Cents::ZERO),
            ),
            Self::Range {
                min: least, max: most, ..
            } => (*least, *most),
        }
    }
}

/// A gift card as it is offered now. Texts are the catalog's: show them as text, never as markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftCardProduct {
    /// The catalog's name of it; stable.
    pub product_id: String,
    /// For people.
    pub name: String,
    /// Who redeems it.
    pub brand: String,
    /// What the brand sells, in a word.
    pub category: String,
    /// Where.
    pub redeemability: Redeemability,
    /// ISO 4217, of every amount of this product.
    pub currency: String,
    /// How much.
    pub values: Denominations,
    /// Fraction of the amount that its buyer pays on top, and we keep: the catalog is owed what the card is worth.
    pub fee_rate: Decimal,
    /// Whether an order now would find one.
    pub in_stock: bool,
    /// What it is good for.
    pub description: String,
    /// The brand's rules.
    pub terms: String,
}

/// What is looked for; absent filters let everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GiftCardQuery {
    /// A product, brand or category by name, with slips.
    pub q: Option<String>,
    /// ISO 3166-1 alpha-2; borderless products are in every country.
    pub country: Option<String>,
    /// ISO 4217.
    pub currency: Option<String>,
    /// A category, case aside.
    pub category: Option<String>,
    /// Begin behind this product of the same search.
    pub starting_after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// How many products each choice of a filter would leave, the other filters being as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GiftCardFacets {
    /// By country; borderless products count in each.
    pub countries: BTreeMap<String, usize>,
    /// By currency.
    pub currencies: BTreeMap<String, usize>,
    /// By category.
    pub categories: BTreeMap<String, usize>,
}

/// A page of products, best match first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GiftCardPage {
    /// The page.
    pub products: Vec<GiftCardProduct>,
    /// Products found in all.
    pub count: usize,
    /// Whether more follow.
    pub has_more: bool,
    /// For narrowing the search.
    pub facets: GiftCardFacets,
}

/// What the catalog says of a purchase that is being considered. It reserves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiftCardQuote {
    /// It could be ordered now.
    Available {
        /// ISO 4217.
        currency: String,
        /// Fraction of the amount that comes on top.
        fee_rate: Decimal,
    },
    /// No such product.
    UnknownProduct,
    /// It cannot be redeemed in that country.
    NotInCountry,
    /// It does not come in that amount.
    InvalidAmount(Denominations),
    /// Sold out for now.
    OutOfStock,
}

/// An order for one gift card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftCardOrderRequest {
    /// Idempotency key: the same key never makes a second gift card, whatever was answered before.
    pub key: JobId,
    /// Which product.
    pub product_id: String,
    /// Where its holder redeems it.
    pub country: String,
    /// In hundredths of the product's currency.
    pub amount: Cents,
    /// At which it was offered when its stock was looked at. A catalog that has raised it since declines with
    /// `price_changed`.
    pub fee_rate: Decimal,
}

/// What lets its bearer spend the gift card. At least one is there; which, is the brand's choice.
#[derive(Clone, Debug)]
pub struct RedemptionDetails {
    /// A page to open. Whoever opens it may spend the card.
    pub redemption_url: Option<Secret<String>>,
    /// To be typed at the brand's.
    pub redemption_code: Option<Secret<String>>,
    /// Asked for with the code.
    pub pin_code: Option<Secret<String>>,
}

/// What the catalog says of an order. Answers may come twice and out of order: what was ready stays ready.
#[derive(Debug)]
pub enum GiftCardOrderStatus {
    /// Taken down; ask again with the same key after this time.
    Accepted {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Being made; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// It exists.
    Ready(RedemptionDetails),
    /// Definitely refused: there is no gift card under this key and never will be.
    Declined {
        /// `out_of_stock`, `price_changed`, `declined_by_brand`, or the catalog's own word.
        reason: ExternalText,
    },
}

/// A catalog of gift cards that sells them, in plain.
pub trait GiftCardApi: Send + Sync {
    /// A page of what is offered now; `None` when `starting_after` is not among it. `Temporary` when the catalog does not
    /// answer.
    fn search<'a>(&'a self, wanted: &'a GiftCardQuery) -> BoxFuture<'a, Result<Option<GiftCardPage>, PortError>>;

    /// One product as it is offered now; `None` for none.
    fn product<'a>(&'a self, product_id: &'a str) -> BoxFuture<'a, Result<Option<GiftCardProduct>, PortError>>;

    /// Stock and price of a purchase at this moment, to be asked before a payment settles.
    fn offer<'a>(
        &'a self,
        product_id: &'a str,
        country: &'a str,
        amount: Cents,
    ) -> BoxFuture<'a, Result<GiftCardQuote, PortError>>;

    /// Orders, or asks after an order: the key makes them the same call, so the same order may be sent until it is answered.
    /// `Unknown` says nothing of what happened and is never a failure: the card may exist, and asking again tells.
    /// `Permanent` for a key that was used with another content.
    fn order<'a>(&'a self, order: &'a GiftCardOrderRequest) -> BoxFuture<'a, Result<GiftCardOrderStatus, PortError>>;
}
