//! Gift cards: the catalog, quotes and orders.

use std::collections::BTreeMap;

use purser_actors::id::JobId;
use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, ExternalText, PortError};
use rust_decimal::Decimal;

use crate::secret::Secret;

/// Countries where a gift card can be redeemed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redeemability {
    Worldwide,
    /// In these countries, ISO 3166-1 alpha-2.
    Countries(Vec<String>),
}

impl Redeemability {
    /// Whether it can be redeemed in `country`.
    pub fn covers(&self, country: &str) -> bool {
        match self {
            Self::Worldwide => true,
            Self::Countries(codes) => codes.iter().any(|code| code == country),
        }
    }
}

/// Amounts in which a gift card is sold, in hundredths of its own currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denominations {
    /// Exactly these, in ascending order.
    Fixed(Vec<Cents>),
    /// From `min` to `max`, both included, in steps from `min`.
    Range {
        min: Cents,
        max: Cents,
        /// Step between amounts, above zero.
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

/// A gift card as it is offered now. Texts come from the catalog: render them as text, never as markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftCardProduct {
    /// The catalog's id of the product; stable.
    pub product_id: String,
    pub name: String,
    /// Brand that redeems the card.
    pub brand: String,
    /// What the brand sells, in one word.
    pub category: String,
    pub redeemability: Redeemability,
    /// ISO 4217 code of every amount of this product.
    pub currency: String,
    pub values: Denominations,
    /// Fraction of the amount that the buyer pays in addition and the service keeps. The catalog is owed the card's
    /// face value.
    pub fee_rate: Decimal,
    /// Whether an order would succeed now.
    pub in_stock: bool,
    /// What the card can be used for.
    pub description: String,
    /// The brand's rules.
    pub terms: String,
}

/// Search filters; an absent filter matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GiftCardQuery {
    /// Text to match against products, brands and categories; tolerates typos.
    pub q: Option<String>,
    /// ISO 3166-1 alpha-2; products without borders are in every country.
    pub country: Option<String>,
    /// Currency code (ISO 4217).
    pub currency: Option<String>,
    /// A category, case-insensitive.
    pub category: Option<String>,
    /// Start after this product of the same search.
    pub starting_after: Option<String>,
    /// Maximum number of products.
    pub limit: usize,
}

/// Number of products for each value of a filter, with the other filters unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GiftCardFacets {
    /// By country; products without borders count in each.
    pub countries: BTreeMap<String, usize>,
    pub currencies: BTreeMap<String, usize>,
    pub categories: BTreeMap<String, usize>,
}

/// A page of products, best match first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GiftCardPage {
    pub products: Vec<GiftCardProduct>,
    /// Number of products found in all.
    pub count: usize,
    pub has_more: bool,
    /// Counts for narrowing the search.
    pub facets: GiftCardFacets,
}

/// The catalog's answer to a possible purchase. It reserves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiftCardQuote {
    /// It could be ordered now.
    Available {
        /// Currency code (ISO 4217).
        currency: String,
        /// Fraction of the amount that is added to it.
        fee_rate: Decimal,
    },
    UnknownProduct,
    /// It cannot be redeemed in that country.
    NotInCountry,
    /// It is not sold in that amount.
    InvalidAmount(Denominations),
    /// Currently sold out.
    OutOfStock,
}

/// An order for one gift card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiftCardOrderRequest {
    /// Idempotency key: the same key never creates a second gift card, whatever the earlier answer was.
    pub key: JobId,
    pub product_id: String,
    /// Country where the card is redeemed.
    pub country: String,
    /// In hundredths of the product's currency.
    pub amount: Cents,
    /// Fee rate at which the card was offered during the stock check. A catalog that has raised it since declines with
    /// `price_changed`.
    pub fee_rate: Decimal,
}

/// Secrets that let their bearer spend the gift card. At least one is present; the brand decides which.
#[derive(Clone, Debug)]
pub struct RedemptionDetails {
    /// A page that shows the card. Opening it is enough to spend the card.
    pub redemption_url: Option<Secret<String>>,
    /// To be entered at the brand.
    pub redemption_code: Option<Secret<String>>,
    /// PIN that the brand requires with the code.
    pub pin_code: Option<Secret<String>>,
}

/// Status of an order. Answers may be repeated and arrive out of order: what was ready stays ready.
#[derive(Debug)]
pub enum GiftCardOrderStatus {
    /// Order recorded; query again with the same key after this time.
    Accepted {
        retry_after_ms: u64,
    },
    /// In preparation; query again with the same key after this time.
    Pending {
        retry_after_ms: u64,
    },
    Ready(RedemptionDetails),
    /// Declined: no gift card exists under this key, and none ever will.
    Declined {
        /// `out_of_stock`, `price_changed`, `declined_by_brand`, or a reason of the catalog.
        reason: ExternalText,
    },
}

/// A catalog of gift cards, with unsealed data.
pub trait GiftCardApi: Send + Sync {
    /// A page of the current products; `None` if `starting_after` is not one of them. `Temporary` when the catalog does
    /// not answer.
    fn search<'a>(&'a self, wanted: &'a GiftCardQuery) -> BoxFuture<'a, Result<Option<GiftCardPage>, PortError>>;

    /// One product as it is offered now; `None` if it does not exist.
    fn product<'a>(&'a self, product_id: &'a str) -> BoxFuture<'a, Result<Option<GiftCardProduct>, PortError>>;

    /// Current stock and price of a purchase. To be queried before a payment settles.
    fn offer<'a>(
        &'a self,
        product_id: &'a str,
        country: &'a str,
        amount: Cents,
    ) -> BoxFuture<'a, Result<GiftCardQuote, PortError>>;

    /// Places an order, or queries it: with the same key both are the same call, so an order may be repeated until it
    /// is answered. `Unknown` reveals nothing about the outcome and is never a failure: the card may exist, and another
    /// call finds out. `Permanent` if the key was used with different content.
    fn order<'a>(&'a self, order: &'a GiftCardOrderRequest) -> BoxFuture<'a, Result<GiftCardOrderStatus, PortError>>;
}
