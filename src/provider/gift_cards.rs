//! Gift cards: the catalog, quotes and orders, and the adapter that seals redemption data for the engine, which is the
//! only place that opens it again.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::currency::{Country, Currency};
use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{
    ErrorKind, ExternalText, GiftCardOffer, GiftCardOrderResult, GiftCardProvider, GiftCardRequest, PortError,
    PortFuture,
};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::definition::provider;
use super::wire::{self, MalformedResponse};
#[cfg(feature = "documents")]
use super::wire::{DecimalAmount, SecretText};
use purser_host::secret::Secret;
use purser_vault::{Vault, VaultError};

provider! {
    /// A catalog of gift cards, with unsealed data.
    trait GiftCardApi, client RemoteGiftCards, tag "Gift cards";

    /// A page of the current products; `None` if `starting_after` is not one of them. `Temporary` when the catalog does
    /// not answer.
    fn search(wanted: &'a GiftCardQuery) -> Option<GiftCardPage> {
        GET "/gift-cards" searchGiftCards "List the products that are offered now";
        asks query it: GiftCardQuery = wanted;
        calls (&it);
        answers GiftCardProductList "One page of the list.";
        check |page| page.iter().flat_map(|page| &page.products).try_for_each(GiftCardProduct::check);
    }

    /// One product as it is offered now; `None` if it does not exist.
    fn product(product_id: &'a str) -> Option<GiftCardProduct> {
        GET "/gift-cards/{product_id}" getGiftCardProduct "Return one product as it is offered now";
        at product_id = product_id, "The catalog's id of the product.";
        calls (&product_id);
        answers GiftCardProductResponse { product_id = product_id.to_owned(); product } "The product, or `null`.";
        check |product| product.iter().try_for_each(|it| it.check_is(product_id));
    }

    /// Current stock and price of a purchase. To be queried before a payment settles.
    fn offer(product_id: &'a str, country: &'a str, amount: Cents) -> GiftCardQuote {
        GET "/gift-cards/{product_id}/quote" quoteGiftCard "Quote a purchase: current stock and price; nothing is reserved";
        at product_id = product_id, "The catalog's id of the product.";
        asks query it: GiftCardQuoteQuery = GiftCardQuoteQuery { country: country.to_owned(), amount };
        calls (&product_id, &it.country, it.amount);
        answers GiftCardQuote "Whether the purchase could be ordered.";
        check |quote| quote.check();
    }

    /// Places an order, or queries it: with the same key both are the same call, so an order may be repeated until it
    /// is answered. `Unknown` reveals nothing about the outcome and is never a failure: the card may exist, and another
    /// call finds out. `Permanent` if the key was used with different content.
    fn order(order: &'a GiftCardOrderRequest) -> GiftCardOrderStatus {
        POST "/gift-card-orders" orderGiftCard "Order a gift card, or query an order";
        key key = order.key, "The same key never creates a second gift card.";
        asks body it: GiftCardOrderRequest = order;
        calls (&GiftCardOrderRequest { key, ..it });
        answers GiftCardOrderResponse { order = order.without_key(); state } "Result of the order.";
        check |status| status.check();
    }
}

/// Countries where a gift card can be redeemed. In JSON a list, or `null` for everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<Vec<String>>", into = "Option<Vec<String>>")]
pub enum Redeemability {
    #[default]
    Worldwide,
    /// In these countries, ISO 3166-1 alpha-2.
    Countries(Vec<String>),
}

impl From<Option<Vec<String>>> for Redeemability {
    fn from(countries: Option<Vec<String>>) -> Self {
        countries.map_or(Self::Worldwide, Self::Countries)
    }
}

impl From<Redeemability> for Option<Vec<String>> {
    fn from(redeemability: Redeemability) -> Self {
        match redeemability {
            Redeemability::Worldwide => None,
            Redeemability::Countries(countries) => Some(countries),
        }
    }
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

/// Amounts in which a gift card is sold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Denominations {
    /// Exactly these amounts, in ascending order.
    Fixed {
        /// Amounts in ascending order.
        #[cfg_attr(feature = "documents", schema(value_type = Vec<DecimalAmount>))]
        amounts: Vec<Cents>,
    },
    /// From `min` to `max`, both included, in steps from `min`.
    Range {
        /// Smallest amount of the range.
        #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
        min: Cents,
        /// Largest amount of the range.
        #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
        max: Cents,
        /// Step between amounts; above zero.
        #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
        step: Cents,
    },
}

impl Denominations {
    /// Whether a card of this amount exists.
    pub fn offer(&self, amount: Cents) -> bool {
        match self {
            Self::Fixed { amounts } => amounts.contains(&amount),
            Self::Range { min, max, step } => {
                (min..=max).contains(&&amount) && (amount.get() - min.get()).is_multiple_of(step.get())
            }
        }
    }

    /// Smallest and largest amount.
    pub fn ends(&self) -> (Cents, Cents) {
        match self {
            Self::Fixed { amounts } => (
                amounts.first().copied().unwrap_or(Cents::ZERO),
                amounts.last().copied().unwrap_or(Cents::ZERO),
            ),
            Self::Range { min, max, .. } => (*min, *max),
        }
    }

    fn check(&self) -> Result<(), MalformedResponse> {
        let plausible = match self {
            Self::Fixed { amounts } => amounts.windows(2).all(|pair| pair[0] < pair[1]),
            Self::Range { min, max, step } => min <= max && step.get() > 0,
        };
        match plausible {
            true => Ok(()),
            false => Err(MalformedResponse("amounts")),
        }
    }
}

/// One product as it is offered now.
// Texts come from the catalog: render them as text, never as markup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct GiftCardProduct {
    /// The catalog's id of the product; stable.
    pub product_id: String,
    /// Display name of the product.
    pub name: String,
    /// Brand that redeems the card.
    pub brand: String,
    /// What the brand sells.
    pub category: String,
    /// Countries where the card can be redeemed, ISO 3166-1 alpha-2; `null` for everywhere.
    #[serde(rename = "countries", default)]
    #[cfg_attr(feature = "documents", schema(value_type = Option<Vec<String>>))]
    pub redeemability: Redeemability,
    /// Currency of every amount, ISO 4217.
    pub currency: String,
    /// Amounts in which the card is sold.
    pub values: Denominations,
    /// Fraction of the amount that the buyer pays in addition.
    // The service keeps it: the catalog is owed the card's face value.
    #[serde(with = "wire::text")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub fee_rate: Decimal,
    /// Whether an order would succeed now.
    pub in_stock: bool,
    /// What the card can be used for.
    pub description: String,
    /// Terms set by the brand.
    pub terms: String,
}

impl GiftCardProduct {
    fn check(&self) -> Result<(), MalformedResponse> {
        check_rate(self.fee_rate)?;
        self.values.check()
    }

    fn check_is(&self, product_id: &str) -> Result<(), MalformedResponse> {
        match self.product_id == product_id {
            true => self.check(),
            false => Err(MalformedResponse("it is about another product")),
        }
    }
}

/// Fee rates below 0 or above 1 are rejected as implausible.
fn check_rate(rate: Decimal) -> Result<(), MalformedResponse> {
    match (Decimal::ZERO..=Decimal::ONE).contains(&rate) {
        true => Ok(()),
        false => Err(MalformedResponse("a fee rate")),
    }
}

/// Search filters for gift cards; an absent filter matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "documents", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct GiftCardQuery {
    /// Text to match against products, brands and categories; tolerates typos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Country where the card is redeemed, ISO 3166-1 alpha-2.
    // Products without borders are in every country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Currency of the card, ISO 4217.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// A category, case-insensitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Start after this product of the same search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_after: Option<String>,
    /// Maximum number of products.
    pub limit: usize,
}

/// A possible purchase.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "documents", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct GiftCardQuoteQuery {
    /// Country where the card is redeemed, ISO 3166-1 alpha-2.
    pub country: String,
    /// Amount in the product's currency.
    #[cfg_attr(feature = "documents", param(value_type = String))]
    pub amount: Cents,
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

/// A page of products, best match first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct GiftCardProductList {
    /// Products of the page; `null` if `starting_after` is not one of the matches.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "documents", schema(required))]
    products: Option<Vec<GiftCardProduct>>,
    /// Number of products found in all.
    count: usize,
    /// Whether more pages follow.
    has_more: bool,
    /// Number of products for each country as a filter.
    countries: BTreeMap<String, usize>,
    /// Number of products for each currency as a filter.
    currencies: BTreeMap<String, usize>,
    /// Number of products for each category as a filter.
    categories: BTreeMap<String, usize>,
}

impl From<Option<GiftCardPage>> for GiftCardProductList {
    fn from(page: Option<GiftCardPage>) -> Self {
        let found = page.is_some();
        let page = page.unwrap_or_default();
        Self {
            products: found.then_some(page.products),
            count: page.count,
            has_more: page.has_more,
            countries: page.facets.countries,
            currencies: page.facets.currencies,
            categories: page.facets.categories,
        }
    }
}

impl From<GiftCardProductList> for Option<GiftCardPage> {
    fn from(list: GiftCardProductList) -> Self {
        Some(GiftCardPage {
            products: list.products?,
            count: list.count,
            has_more: list.has_more,
            facets: GiftCardFacets {
                countries: list.countries,
                currencies: list.currencies,
                categories: list.categories,
            },
        })
    }
}

/// One product, or `null`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct GiftCardProductResponse {
    /// Product id of the request.
    product_id: String,
    /// The product; `null` if it does not exist.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "documents", schema(required))]
    product: Option<GiftCardProduct>,
}

/// The catalog's answer to a possible purchase. It reserves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum GiftCardQuote {
    /// It could be ordered now.
    Available {
        /// Currency of the amount, ISO 4217.
        currency: String,
        /// Fraction of the amount that is added to it.
        #[serde(with = "wire::text")]
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        fee_rate: Decimal,
    },
    /// The product does not exist.
    #[serde(rename = "product_not_found")]
    UnknownProduct,
    /// It cannot be redeemed in that country.
    #[serde(rename = "country_not_served")]
    NotInCountry,
    /// It is not sold in that amount.
    InvalidAmount {
        /// Amounts in which it is sold.
        values: Denominations,
    },
    /// The product is currently sold out.
    OutOfStock,
}

impl GiftCardQuote {
    fn check(&self) -> Result<(), MalformedResponse> {
        match self {
            Self::Available { fee_rate, .. } => check_rate(*fee_rate),
            Self::InvalidAmount { values } => values.check(),
            Self::UnknownProduct | Self::NotInCountry | Self::OutOfStock => Ok(()),
        }
    }
}

/// An order for one gift card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GiftCardOrderRequest {
    /// Idempotency key: the same key never creates a second gift card, whatever the earlier answer was.
    #[serde(skip, default = "wire::no_key")]
    pub key: JobId,
    /// The catalog's id of the product.
    pub product_id: String,
    /// Country where the card is redeemed, ISO 3166-1 alpha-2.
    pub country: String,
    /// Amount in the product's currency.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    pub amount: Cents,
    /// Fee rate at which the card was offered. A catalog that has raised it since declines with `price_changed`.
    #[serde(with = "wire::text")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub fee_rate: Decimal,
}

impl GiftCardOrderRequest {
    /// The order as a response repeats it.
    fn without_key(&self) -> Self {
        Self {
            key: wire::no_key(),
            ..self.clone()
        }
    }
}

/// Result of an order. It repeats the order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct GiftCardOrderResponse {
    /// The order as it was sent.
    order: GiftCardOrderRequest,
    /// Status of the order.
    #[serde(flatten)]
    state: GiftCardOrderStatus,
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

/// Status of a gift card order.
// Answers may be repeated and arrive out of order: what was ready stays ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum GiftCardOrderStatus {
    /// Recorded; query again with the same key after this time.
    Accepted {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// In preparation; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The gift card exists. At least one of the three fields is present.
    Ready {
        /// Page that shows the card. Opening it is enough to spend the card.
        #[serde(default, with = "wire::optional_secret")]
        #[cfg_attr(feature = "documents", schema(value_type = Option<SecretText>))]
        redemption_url: Option<Secret<String>>,
        /// Code to be entered at the brand.
        #[serde(default, with = "wire::optional_secret")]
        #[cfg_attr(feature = "documents", schema(value_type = Option<SecretText>))]
        redemption_code: Option<Secret<String>>,
        /// PIN that the brand requires with the code.
        #[serde(default, with = "wire::optional_secret")]
        #[cfg_attr(feature = "documents", schema(value_type = Option<SecretText>))]
        pin_code: Option<Secret<String>>,
    },
    /// Declined: no gift card exists under this key, and none ever will.
    Declined {
        /// `out_of_stock`, `price_changed`, `declined_by_brand`, or a reason of the catalog.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
    },
}

impl GiftCardOrderStatus {
    /// The gift card exists.
    pub fn ready(redemption: RedemptionDetails) -> Self {
        let RedemptionDetails {
            redemption_url,
            redemption_code,
            pin_code,
        } = redemption;
        Self::Ready {
            redemption_url,
            redemption_code,
            pin_code,
        }
    }

    /// What redeems the gift card, once it exists.
    pub fn redemption(self) -> Option<RedemptionDetails> {
        match self {
            Self::Ready {
                redemption_url,
                redemption_code,
                pin_code,
            } => Some(RedemptionDetails {
                redemption_url,
                redemption_code,
                pin_code,
            }),
            Self::Accepted { .. } | Self::Pending { .. } | Self::Declined { .. } => None,
        }
    }

    fn check(&self) -> Result<(), MalformedResponse> {
        match self {
            Self::Ready {
                redemption_url: None,
                redemption_code: None,
                pin_code: None,
            } => Err(MalformedResponse("there is nothing to redeem")),
            _ => Ok(()),
        }
    }
}

/// First byte of sealed redemption data. It is not a month, so the bytes are never read as a card number.
const TAG: u8 = 0xF1;

/// Seals redemption data of `catalog` with the vault's active key.
pub struct SealingGiftCards {
    catalog: Arc<dyn GiftCardApi>,
    vault: Arc<Vault>,
}

impl SealingGiftCards {
    /// Wraps `catalog`; `vault` seals its codes.
    pub const fn new(catalog: Arc<dyn GiftCardApi>, vault: Arc<Vault>) -> Self {
        Self { catalog, vault }
    }
}

/// The parts in order, each with its length in two bytes; an absent part has the length 0xFFFF.
fn plain(redemption: &RedemptionDetails) -> Option<Zeroizing<Vec<u8>>> {
    let parts = [
        &redemption.redemption_url,
        &redemption.redemption_code,
        &redemption.pin_code,
    ];
    let mut bytes = Zeroizing::new(vec![TAG]);
    for part in parts {
        let text = part.as_ref().map(|secret| secret.expose_secret().as_bytes());
        let length = text.map_or(Some(u16::MAX), |t| {
            u16::try_from(t.len()).ok().filter(|n| *n < u16::MAX)
        })?;
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(text.unwrap_or_default());
    }
    Some(bytes)
}

fn parse(bytes: &[u8]) -> Option<RedemptionDetails> {
    let (TAG, mut rest) = bytes.split_first().map(|(tag, rest)| (*tag, rest))? else {
        return None;
    };
    let mut part = || {
        let (length, tail) = rest.split_first_chunk::<2>()?;
        let length = u16::from_be_bytes(*length);
        if length == u16::MAX {
            rest = tail;
            return Some(None);
        }
        let (text, tail) = tail.split_at_checked(usize::from(length))?;
        rest = tail;
        let text = std::str::from_utf8(text).ok()?;
        Some(Some(Secret::new(text.to_owned())))
    };
    Some(RedemptionDetails {
        redemption_url: part()?,
        redemption_code: part()?,
        pin_code: part()?,
    })
}

/// Opens a gift card's sealed redemption data.
///
/// # Errors
/// When the record belongs to another card, was changed, or its key is gone.
pub fn open(vault: &Vault, card: CardId, sealed: &[u8]) -> Result<RedemptionDetails, VaultError> {
    let bytes = vault.open_bytes(card, sealed)?;
    parse(&bytes).ok_or(VaultError::Sealed("content"))
}

impl SealingGiftCards {
    /// If sealing fails, the engine has received nothing yet; the order is safe at the catalog under its key.
    fn seal(&self, card: CardId, redemption: &RedemptionDetails) -> Result<Vec<u8>, PortError> {
        let none = [
            &redemption.redemption_url,
            &redemption.redemption_code,
            &redemption.pin_code,
        ];
        if none.iter().all(|part| part.is_none()) {
            return Err(failed("the catalog delivered nothing to redeem"));
        }
        let bytes = plain(redemption).ok_or_else(|| failed("the catalog delivered too much text"))?;
        self.vault.seal_bytes(card, &bytes).map_err(|e| failed(&e.to_string()))
    }
}

/// A retry loses nothing: the key makes it the same order.
fn failed(message: &str) -> PortError {
    PortError {
        kind: ErrorKind::Temporary,
        operation: "order_gift_card",
        message: message.to_owned(),
    }
}

impl GiftCardProvider for SealingGiftCards {
    fn offer<'a>(
        &'a self,
        product: &'a str,
        currency: Currency,
        country: Country,
        amount: Cents,
    ) -> PortFuture<'a, GiftCardOffer> {
        Box::pin(async move {
            Ok(match self.catalog.offer(product, country.as_str(), amount).await? {
                GiftCardQuote::Available {
                    currency: now,
                    fee_rate,
                } if now == currency.as_str() => GiftCardOffer::Available {
                    fee_rate: fee_rate.normalize().to_string(),
                },
                _ => GiftCardOffer::Unavailable,
            })
        })
    }

    fn order<'a>(&'a self, order: &'a GiftCardRequest) -> PortFuture<'a, GiftCardOrderResult> {
        Box::pin(async move {
            let wanted = &order.order;
            let fee_rate: Decimal = wanted
                .fee_rate
                .parse()
                .map_err(|_| failed("the quoted rate is no number"))?;
            let placed = GiftCardOrderRequest {
                key: order.key,
                product_id: wanted.product.clone(),
                country: wanted.country.to_string(),
                amount: wanted.amount,
                fee_rate,
            };
            Ok(match self.catalog.order(&placed).await? {
                GiftCardOrderStatus::Ready {
                    redemption_url,
                    redemption_code,
                    pin_code,
                } => {
                    let redemption = RedemptionDetails {
                        redemption_url,
                        redemption_code,
                        pin_code,
                    };
                    let sealed = self.seal(order.card, &redemption)?;
                    GiftCardOrderResult::Ready { sealed }
                }
                GiftCardOrderStatus::Accepted { retry_after_ms } | GiftCardOrderStatus::Pending { retry_after_ms } => {
                    GiftCardOrderResult::Pending { retry_after_ms }
                }
                GiftCardOrderStatus::Declined { reason } => GiftCardOrderResult::Declined { reason },
            })
        })
    }
}

#[cfg(test)]
mod tests;
