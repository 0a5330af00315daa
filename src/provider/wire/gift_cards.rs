//! Gift cards on the wire: `GET /v1/gift-cards`, `GET /v1/gift-cards/{product_id}`,
//! `GET /v1/gift-cards/{product_id}/offer`.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Amount, Text, Unreadable};
use crate::provider::gift_cards::{GiftFacets, GiftPage, GiftProduct, GiftSearch, Offer, Reach, Values};

/// What is looked for.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct GiftQuery {
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

impl From<GiftSearch> for GiftQuery {
    fn from(wanted: GiftSearch) -> Self {
        let GiftSearch {
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

impl From<GiftQuery> for GiftSearch {
    fn from(wanted: GiftQuery) -> Self {
        let GiftQuery {
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
pub struct Products {
    /// The page; `null` when `starting_after` is not among what was found.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub products: Option<Vec<Product>>,
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
pub struct Product {
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
    pub values: ValuesOnWire,
    /// Fraction of the amount that its buyer pays on top.
    #[schema(value_type = String)]
    pub fee_rate: Text<Decimal>,
    /// Whether an order now would find one.
    pub in_stock: bool,
    /// What it is good for.
    pub description: String,
    /// The brand's rules.
    pub terms: String,
}

/// One product, or none.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MaybeProduct {
    /// What was asked for.
    pub product_id: String,
    /// `null` for no such product.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub product: Option<Product>,
}

/// Which amounts a gift card comes in.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ValuesOnWire {
    /// Exactly these, rising.
    Fixed {
        /// Them.
        #[schema(value_type = Vec<Amount>)]
        amounts: Vec<Text<Amount>>,
    },
    /// From `least` to `most`, both included, in steps from `least`.
    Range {
        /// Smallest.
        #[schema(value_type = Amount)]
        least: Text<Amount>,
        /// Largest.
        #[schema(value_type = Amount)]
        most: Text<Amount>,
        /// Above zero.
        #[schema(value_type = Amount)]
        step: Text<Amount>,
    },
}

impl From<Values> for ValuesOnWire {
    fn from(values: Values) -> Self {
        let text = |cents| Text(Amount(cents));
        match values {
            Values::Fixed(amounts) => Self::Fixed {
                amounts: amounts.into_iter().map(text).collect(),
            },
            Values::Range { least, most, step } => Self::Range {
                least: text(least),
                most: text(most),
                step: text(step),
            },
        }
    }
}

impl TryFrom<ValuesOnWire> for Values {
    type Error = Unreadable;

    fn try_from(values: ValuesOnWire) -> Result<Self, Unreadable> {
        let values = match values {
            ValuesOnWire::Fixed { amounts } => Self::Fixed(amounts.into_iter().map(|a| a.0.0).collect()),
            ValuesOnWire::Range { least, most, step } => Self::Range {
                least: least.0.0,
                most: most.0.0,
                step: step.0.0,
            },
        };
        let sound = match &values {
            Self::Fixed(amounts) => amounts.windows(2).all(|pair| pair[0] < pair[1]),
            Self::Range { least, most, step } => least <= most && step.get() > 0,
        };
        if sound { Ok(values) } else { Err(Unreadable("amounts")) }
    }
}

impl From<GiftProduct> for Product {
    fn from(product: GiftProduct) -> Self {
        Self {
            product_id: product.product_id,
            name: product.name,
            brand: product.brand,
            category: product.category,
            countries: match product.reach {
                Reach::Borderless => None,
                Reach::Countries(countries) => Some(countries),
            },
            currency: product.currency,
            values: product.values.into(),
            fee_rate: Text(product.fee_rate),
            in_stock: product.in_stock,
            description: product.description,
            terms: product.terms,
        }
    }
}

impl TryFrom<Product> for GiftProduct {
    type Error = Unreadable;

    fn try_from(product: Product) -> Result<Self, Unreadable> {
        Ok(Self {
            product_id: product.product_id,
            name: product.name,
            brand: product.brand,
            category: product.category,
            reach: product.countries.map_or(Reach::Borderless, Reach::Countries),
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
fn rate(rate: Text<Decimal>) -> Result<Decimal, Unreadable> {
    if rate.0 < Decimal::ZERO || rate.0 > Decimal::ONE {
        return Err(Unreadable("a fee rate"));
    }
    Ok(rate.0)
}

impl Products {
    /// As the catalog says it.
    pub fn of(page: Option<GiftPage>) -> Self {
        let found = page.is_some();
        let page = page.unwrap_or_default();
        Self {
            products: found.then(|| page.products.into_iter().map(Product::from).collect()),
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
    pub fn read(self) -> Result<Option<GiftPage>, Unreadable> {
        let Some(products) = self.products else { return Ok(None) };
        Ok(Some(GiftPage {
            products: products.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            count: self.count,
            has_more: self.has_more,
            facets: GiftFacets {
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
pub struct OfferQuery {
    /// ISO 3166-1 alpha-2.
    pub country: String,
    /// In the product's currency.
    #[param(value_type = String)]
    pub amount: Text<Amount>,
}

/// What the catalog says of it. It reserves nothing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum OfferAnswer {
    /// It could be ordered now.
    Open {
        /// ISO 4217.
        currency: String,
        /// Fraction of the amount that comes on top.
        #[schema(value_type = String)]
        fee_rate: Text<Decimal>,
    },
    /// No such product.
    UnknownProduct,
    /// It cannot be redeemed in that country.
    NotInCountry,
    /// It does not come in that amount.
    NotThisAmount {
        /// In which it does.
        values: ValuesOnWire,
    },
    /// Sold out for now.
    OutOfStock,
}

impl From<Offer> for OfferAnswer {
    fn from(said: Offer) -> Self {
        match said {
            Offer::Open { currency, fee_rate } => Self::Open {
                currency,
                fee_rate: Text(fee_rate),
            },
            Offer::UnknownProduct => Self::UnknownProduct,
            Offer::NotInCountry => Self::NotInCountry,
            Offer::NotThisAmount(values) => Self::NotThisAmount { values: values.into() },
            Offer::OutOfStock => Self::OutOfStock,
        }
    }
}

impl TryFrom<OfferAnswer> for Offer {
    type Error = Unreadable;

    fn try_from(said: OfferAnswer) -> Result<Self, Unreadable> {
        Ok(match said {
            OfferAnswer::Open { currency, fee_rate } => Self::Open {
                currency,
                fee_rate: rate(fee_rate)?,
            },
            OfferAnswer::UnknownProduct => Self::UnknownProduct,
            OfferAnswer::NotInCountry => Self::NotInCountry,
            OfferAnswer::NotThisAmount { values } => Self::NotThisAmount(values.try_into()?),
            OfferAnswer::OutOfStock => Self::OutOfStock,
        })
    }
}
