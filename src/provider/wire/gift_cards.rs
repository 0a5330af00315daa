//! Gift cards on the wire: `GET /v1/gift-cards`, `GET /v1/gift-cards/{product_id}`,
//! `GET /v1/gift-cards/{product_id}/quote`.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{DecimalAmount, MalformedResponse, TextValue};
use crate::provider::gift_cards::{GiftCardFacets, GiftCardPage, Redeemability};

/// What is looked for.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct GiftCardQuery {
    /// A product, brand or category by name, with slips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// ISO 3166-1 alpha-2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// ISO 4217.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// A category, case aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Begin behind this product of the same search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_after: Option<String>,
    /// At most so many.
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
    /// The page; `null` when `starting_after` is not among what was found.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub products: Option<Vec<GiftCardProduct>>,
    /// Products found in all.
    pub count: usize,
    /// Whether more follow.
    pub has_more: bool,
    /// How many products each country would leave.
    pub countries: BTreeMap<String, usize>,
    /// How many products each currency would leave.
    pub currencies: BTreeMap<String, usize>,
    /// How many products each category would leave.
    pub categories: BTreeMap<String, usize>,
}

/// One product as it is offered now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GiftCardProduct {
    /// The catalog's name of it; stable.
    pub product_id: String,
    /// For people.
    pub name: String,
    /// Who redeems it.
    pub brand: String,
    /// What the brand sells.
    pub category: String,
    /// ISO 3166-1 alpha-2; `null` for everywhere.
    pub countries: Option<Vec<String>>,
    /// ISO 4217, of every amount.
    pub currency: String,
    /// How much.
    pub values: Denominations,
    /// Fraction of the amount that its buyer pays on top.
    #[schema(value_type = String)]
    pub fee_rate: TextValue<Decimal>,
    /// Whether an order now would find one.
    pub in_stock: bool,
    /// What it is good for.
    pub description: String,
    /// The brand's rules.
    pub terms: String,
}

/// One product, or none.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GiftCardProductResponse {
    /// What was asked for.
    pub product_id: String,
    /// `null` for no such product.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub product: Option<GiftCardProduct>,
}

/// Which amounts a gift card comes in.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Denominations {
    /// Exactly these, rising.
    Fixed {
        /// Them.
        #[schema(value_type = Vec<DecimalAmount>)]
        amounts: Vec<TextValue<DecimalAmount>>,
    },
    /// From `min` to `max`, both included, in steps from `min`.
    Range {
        /// Smallest.
        #[schema(value_type = DecimalAmount)]
        min: TextValue<DecimalAmount>,
        /// Largest.
        #[schema(value_type = DecimalAmount)]
        max: TextValue<DecimalAmount>,
        /// Above zero.
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

/// A catalog that pays its buyers, or takes more than the card, is out of its mind.
fn rate(rate: TextValue<Decimal>) -> Result<Decimal, MalformedResponse> {
    if rate.0 < Decimal::ZERO || rate.0 > Decimal::ONE {
        return Err(MalformedResponse("a fee rate"));
    }
    Ok(rate.0)
}

impl GiftCardProductList {
    /// As the catalog says it.
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

    /// As this service reads it.
    ///
    /// # Errors
    /// When a product cannot be.
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

/// What is considered.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct GiftCardQuoteQuery {
    /// ISO 3166-1 alpha-2.
    pub country: String,
    /// In the product's currency.
    #[param(value_type = String)]
    pub amount: TextValue<DecimalAmount>,
}

/// What the catalog says of it. It reserves nothing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum GiftCardQuote {
    /// It could be ordered now.
    Available {
        /// ISO 4217.
        currency: String,
        /// Fraction of the amount that comes on top.
        #[schema(value_type = String)]
        fee_rate: TextValue<Decimal>,
    },
    /// No such product.
    ProductNotFound,
    /// It cannot be redeemed in that country.
    CountryNotServed,
    /// It does not come in that amount.
    InvalidAmount {
        /// In which it does.
        values: Denominations,
    },
    /// Sold out for now.
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
