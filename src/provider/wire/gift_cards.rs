//! Gift cards on the wire: `GET /v1/gift-cards`, `GET /v1/gift-cards/{product_id}`, `GET
//! /v1/gift-cards/{product_id}/quote`.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{DecimalAmount, MalformedResponse, TextValue};
use crate::provider::gift_cards::{GiftCardFacets, GiftCardPage, Redeemability};

/// Search filters for gift cards.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct GiftCardQuery {
    /// Text to match against products, brands and categories; tolerates typos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Country where the card is redeemed, ISO 3166-1 alpha-2.
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

impl From<crate::provider::gift_cards::GiftCardQuery> for GiftCardQuery {
    fn from(wanted: crate::provider::gift_cards::GiftCardQuery) -> Self {
        let crate::provider::gift_cards::GiftCardQuery {
            q,
            country,
            currency,
            category,
            starting_after,
            limit,
        } = wanted;
        Self {
            q,
            country,
            currency,
            category,
            starting_after,
            limit,
        }
    }
}

impl From<GiftCardQuery> for crate::provider::gift_cards::GiftCardQuery {
    fn from(wanted: GiftCardQuery) -> Self {
        let GiftCardQuery {
            q,
            country,
            currency,
            category,
            starting_after,
            limit,
        } = wanted;
        Self {
            q,
            country,
            currency,
            category,
            starting_after,
            limit,
        }
    }
}

/// A page of products, best match first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GiftCardProductList {
    /// Products of the page; `null` if `starting_after` is not one of the matches.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub products: Option<Vec<GiftCardProduct>>,
    /// Number of products found in all.
    pub count: usize,
    /// Whether more pages follow.
    pub has_more: bool,
    /// Number of products for each country as a filter.
    pub countries: BTreeMap<String, usize>,
    /// Number of products for each currency as a filter.
    pub currencies: BTreeMap<String, usize>,
    /// Number of products for each category as a filter.
    pub categories: BTreeMap<String, usize>,
}

/// One product as it is offered now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
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
    pub countries: Option<Vec<String>>,
    /// Currency of every amount, ISO 4217.
    pub currency: String,
    /// Amounts in which the card is sold.
    pub values: Denominations,
    /// Fraction of the amount that the buyer pays in addition.
    #[schema(value_type = String)]
    pub fee_rate: TextValue<Decimal>,
    /// Whether an order would succeed now.
    pub in_stock: bool,
    /// What the card can be used for.
    pub description: String,
    /// Terms set by the brand.
    pub terms: String,
}

/// One product, or `null`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GiftCardProductResponse {
    /// Product id of the request.
    pub product_id: String,
    /// The product; `null` if it does not exist.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub product: Option<GiftCardProduct>,
}

/// Amounts in which a gift card is sold.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Denominations {
    /// Exactly these amounts, in ascending order.
    Fixed {
        /// Amounts in ascending order.
        #[schema(value_type = Vec<DecimalAmount>)]
        amounts: Vec<TextValue<DecimalAmount>>,
    },
    /// From `min` to `max`, both included, in steps from `min`.
    Range {
        /// Smallest amount of the range.
        #[schema(value_type = DecimalAmount)]
        min: TextValue<DecimalAmount>,
        /// Largest amount of the range.
        #[schema(value_type = DecimalAmount)]
        max: TextValue<DecimalAmount>,
        /// Step between amounts; above zero.
        #[schema(value_type = DecimalAmount)]
        step: TextValue<DecimalAmount>,
    },
}

impl From<crate::provider::gift_cards::Denominations> for Denominations {
    fn from(values: crate::provider::gift_cards::Denominations) -> Self {
        let text = |cents| TextValue(DecimalAmount(cents));
        match values {
            crate::provider::gift_cards::Denominations::Fixed(amounts) => Self::Fixed {
                amounts: amounts.into_iter().map(text).collect(),
            },
            crate::provider::gift_cards::Denominations::Range {
                min: least,
                max: most,
                step,
            } => Self::Range {
                min: text(least),
                max: text(most),
                step: text(step),
            },
        }
    }
}

impl TryFrom<Denominations> for crate::provider::gift_cards::Denominations {
    type Error = MalformedResponse;

    fn try_from(values: Denominations) -> Result<Self, MalformedResponse> {
        let values = match values {
            Denominations::Fixed { amounts } => Self::Fixed(amounts.into_iter().map(|a| a.0.0).collect()),
            Denominations::Range {
                min: least,
                max: most,
                step,
            } => Self::Range {
                min: least.0.0,
                max: most.0.0,
                step: step.0.0,
            },
        };
        let sound = match &values {
            Self::Fixed(amounts) => amounts.windows(2).all(|pair| pair[0] < pair[1]),
            Self::Range {
                min: least,
                max: most,
                step,
            } => least <= most && step.get() > 0,
        };
        if sound {
            Ok(values)
        } else {
            Err(MalformedResponse("amounts"))
        }
    }
}

impl From<crate::provider::gift_cards::GiftCardProduct> for GiftCardProduct {
    fn from(product: crate::provider::gift_cards::GiftCardProduct) -> Self {
        Self {
            product_id: product.product_id,
            name: product.name,
            brand: product.brand,
            category: product.category,
            countries: match product.redeemability {
                Redeemability::Worldwide => None,
                Redeemability::Countries(countries) => Some(countries),
            },
            currency: product.currency,
            values: product.values.into(),
            fee_rate: TextValue(product.fee_rate),
            in_stock: product.in_stock,
            description: product.description,
            terms: product.terms,
        }
    }
}

impl TryFrom<GiftCardProduct> for crate::provider::gift_cards::GiftCardProduct {
    type Error = MalformedResponse;

    fn try_from(product: GiftCardProduct) -> Result<Self, MalformedResponse> {
        Ok(Self {
            product_id: product.product_id,
            name: product.name,
            brand: product.brand,
            category: product.category,
            redeemability: product
                .countries
                .map_or(Redeemability::Worldwide, Redeemability::Countries),
            currency: product.currency,
            values: product.values.try_into()?,
            fee_rate: rate(product.fee_rate)?,
            in_stock: product.in_stock,
            description: product.description,
            terms: product.terms,
        })
    }
}

/// Fee rates below 0 or above 1 are rejected as implausible.
fn rate(rate: TextValue<Decimal>) -> Result<Decimal, MalformedResponse> {
    if rate.0 < Decimal::ZERO || rate.0 > Decimal::ONE {
        return Err(MalformedResponse("a fee rate"));
    }
    Ok(rate.0)
}

impl GiftCardProductList {
    /// The wire form of a page.
    pub fn of(page: Option<GiftCardPage>) -> Self {
        let found = page.is_some();
        let page = page.unwrap_or_default();
        Self {
            products: found.then(|| page.products.into_iter().map(GiftCardProduct::from).collect()),
            count: page.count,
            has_more: page.has_more,
            countries: page.facets.countries,
            currencies: page.facets.currencies,
            categories: page.facets.categories,
        }
    }

    /// Reads the page.
    ///
    /// # Errors
    /// When a product is invalid.
    pub fn read(self) -> Result<Option<GiftCardPage>, MalformedResponse> {
        let Some(products) = self.products else { return Ok(None) };
        Ok(Some(GiftCardPage {
            products: products.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            count: self.count,
            has_more: self.has_more,
            facets: GiftCardFacets {
                countries: self.countries,
                currencies: self.currencies,
                categories: self.categories,
            },
        }))
    }
}

/// A possible purchase.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct GiftCardQuoteQuery {
    /// Country where the card is redeemed, ISO 3166-1 alpha-2.
    pub country: String,
    /// Amount in the product's currency.
    #[param(value_type = String)]
    pub amount: TextValue<DecimalAmount>,
}

/// The catalog's answer to a possible purchase. It reserves nothing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum GiftCardQuote {
    /// It could be ordered now.
    Available {
        /// Currency of the amount, ISO 4217.
        currency: String,
        /// Fraction of the amount that is added to it.
        #[schema(value_type = String)]
        fee_rate: TextValue<Decimal>,
    },
    /// The product does not exist.
    ProductNotFound,
    /// It cannot be redeemed in that country.
    CountryNotServed,
    /// It is not sold in that amount.
    InvalidAmount {
        /// Amounts in which it is sold.
        values: Denominations,
    },
    /// The product is currently sold out.
    OutOfStock,
}

impl From<crate::provider::gift_cards::GiftCardQuote> for GiftCardQuote {
    fn from(said: crate::provider::gift_cards::GiftCardQuote) -> Self {
        match said {
            crate::provider::gift_cards::GiftCardQuote::Available { currency, fee_rate } => Self::Available {
                currency,
                fee_rate: TextValue(fee_rate),
            },
            crate::provider::gift_cards::GiftCardQuote::UnknownProduct => Self::ProductNotFound,
            crate::provider::gift_cards::GiftCardQuote::NotInCountry => Self::CountryNotServed,
            crate::provider::gift_cards::GiftCardQuote::InvalidAmount(values) => {
                Self::InvalidAmount { values: values.into() }
            }
            crate::provider::gift_cards::GiftCardQuote::OutOfStock => Self::OutOfStock,
        }
    }
}

impl TryFrom<GiftCardQuote> for crate::provider::gift_cards::GiftCardQuote {
    type Error = MalformedResponse;

    fn try_from(said: GiftCardQuote) -> Result<Self, MalformedResponse> {
        Ok(match said {
            GiftCardQuote::Available { currency, fee_rate } => Self::Available {
                currency,
                fee_rate: rate(fee_rate)?,
            },
            GiftCardQuote::ProductNotFound => Self::UnknownProduct,
            GiftCardQuote::CountryNotServed => Self::NotInCountry,
            GiftCardQuote::InvalidAmount { values } => Self::InvalidAmount(values.try_into()?),
            GiftCardQuote::OutOfStock => Self::OutOfStock,
        })
    }
}
