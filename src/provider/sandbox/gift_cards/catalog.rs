//! The products, from a file that is compiled in, and the search over them. The caller holds what changes: stock and
//! price.

use std::collections::BTreeMap;

use purser_actors::money::Cents;
use rust_decimal::Decimal;

use crate::gift_cards::{Denominations, GiftCardFacets, GiftCardProduct, GiftCardQuery, Redeemability};
use crate::search::{SearchName, SearchQuery, ranked};

pub(super) const PRODUCTS: &str = include_str!("products.tsv");

/// Secrets that a gift card comes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedemptionKind {
    Url,
    Code,
    CodeAndPin,
}

/// A product as it is in the file.
#[derive(Debug)]
pub(super) struct CatalogProduct {
    /// With the values of the file.
    pub(super) product: GiftCardProduct,
    pub(super) stock: u32,
    pub(super) redeem: RedemptionKind,
    /// Product, brand and category.
    names: Vec<SearchName>,
    /// All of their words.
    search_name: SearchName,
}

impl CatalogProduct {
    fn points(&self, asked: &SearchQuery) -> u32 {
        let named = self.names.iter().map(|name| asked.score(name)).max().unwrap_or(0);
        named.max(asked.points_within(&self.search_name))
    }
}

/// All products, in the file's order.
#[derive(Debug)]
pub(super) struct Catalog {
    listed: Vec<CatalogProduct>,
    by_id: BTreeMap<String, usize>,
}

impl Catalog {
    /// Reads one product per line. An error names the line.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut listed = Vec::new();
        let mut by_id = BTreeMap::new();
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        for (n, line) in lines {
            let one = CatalogProduct::read(line).ok_or_else(|| format!("line {}: not a product", n + 1))?;
            let id = one.product.product_id.clone();
            if by_id.insert(id, listed.len()).is_some() {
                return Err(format!("line {}: the product is there twice", n + 1));
            }
            listed.push(one);
        }
        Ok(Self { listed, by_id })
    }

    pub(super) fn all(&self) -> &[CatalogProduct] {
        &self.listed
    }

    pub(super) fn get(&self, product_id: &str) -> Option<&CatalogProduct> {
        self.listed.get(*self.by_id.get(product_id)?)
    }

    /// Matching products, best first, and the counts of each filter value.
    pub(super) fn find(&self, wanted: &GiftCardQuery) -> (Vec<&CatalogProduct>, GiftCardFacets) {
        let asked = wanted.q.as_deref().map(SearchQuery::new);
        let named = ranked(self.listed.iter().map(|listed| {
            let points = match &asked {
                None => 1,
                Some(None) => 0,
                Some(Some(asked)) => listed.points(asked),
            };
            (points, listed)
        }));
        let facets = facets(&named, wanted);
        let fits = |listed: &&CatalogProduct| FilterMatch::of(&listed.product, wanted).all();
        (named.into_iter().filter(fits).collect(), facets)
    }
}

/// Filters that a product passes.
struct FilterMatch {
    country: bool,
    currency: bool,
    category: bool,
}

impl FilterMatch {
    fn of(product: &GiftCardProduct, wanted: &GiftCardQuery) -> Self {
        let passes = |filter: &Option<String>, test: &dyn Fn(&str) -> bool| filter.as_deref().is_none_or(test);
        Self {
            country: passes(&wanted.country, &|country| product.redeemability.covers(country)),
            currency: passes(&wanted.currency, &|currency| product.currency == currency),
            category: passes(&wanted.category, &|category| {
                product.category.eq_ignore_ascii_case(category)
            }),
        }
    }

    const fn all(&self) -> bool {
        self.country && self.currency && self.category
    }
}

fn facets(named: &[&CatalogProduct], wanted: &GiftCardQuery) -> GiftCardFacets {
    let mut facets = GiftCardFacets::default();
    let mut borderless = 0;
    for listed in named {
        let product = &listed.product;
        let fit = FilterMatch::of(product, wanted);
        if fit.currency && fit.category {
            match &product.redeemability {
                Redeemability::Worldwide => borderless += 1,
                Redeemability::Countries(codes) => codes.iter().for_each(|code| count(&mut facets.countries, code)),
            }
        }
        if fit.country && fit.category {
            count(&mut facets.currencies, &product.currency);
        }
        if fit.country && fit.currency {
            count(&mut facets.categories, &product.category);
        }
    }
    facets
        .countries
        .values_mut()
        .for_each(|products| *products += borderless);
    facets
}

fn count(facet: &mut BTreeMap<String, usize>, value: &str) {
    *facet.entry(value.to_owned()).or_default() += 1;
}

impl CatalogProduct {
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [
            id,
            name,
            brand,
            category,
            countries,
            currency,
            values,
            fee_rate,
            stock,
            redeem,
            description,
            terms,
        ] = fields.try_into().ok()?;
        let reach = match countries {
            "*" => Redeemability::Worldwide,
            codes => Redeemability::Countries(codes.split(' ').map(str::to_owned).collect()),
        };
        Some(Self {
            names: [name, brand, category]
                .into_iter()
                .map(SearchName::new)
                .collect::<Option<_>>()?,
            search_name: SearchName::new(&format!("{name} {brand} {category}"))?,
            product: GiftCardProduct {
                product_id: id.to_owned(),
                name: name.to_owned(),
                brand: brand.to_owned(),
                category: category.to_owned(),
                redeemability: reach,
                currency: currency.to_owned(),
                values: values_of(values)?,
                fee_rate: Decimal::from_str_exact(fee_rate).ok()?,
                in_stock: stock != "0",
                description: description.to_owned(),
                terms: terms.to_owned(),
            },
            stock: stock.parse().ok()?,
            redeem: match redeem {
                "url" => RedemptionKind::Url,
                "code" => RedemptionKind::Code,
                "code+pin" => RedemptionKind::CodeAndPin,
                _ => return None,
            },
        })
    }
}

/// `10 25 50`, or `5..500/1`.
fn values_of(text: &str) -> Option<Denominations> {
    let amount = |text: &str| Cents::parse(text).ok().filter(|a| *a > Cents::ZERO);
    if let Some((min, rest)) = text.split_once("..") {
        let (max, step) = rest.split_once('/')?;
        let (min, max, step) = (amount(min)?, amount(max)?, amount(step)?);
        return (min < max).then_some(Denominations::Range { min, max, step });
    }
    let amounts: Vec<Cents> = text.split(' ').map(amount).collect::<Option<_>>()?;
    amounts
        .is_sorted_by(|a, b| a < b)
        .then_some(Denominations::Fixed { amounts })
}
