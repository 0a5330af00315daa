//! Merchants, and whether they accept the cards that are sold here.

use serde::{Deserialize, Serialize};

use super::definition::provider;

provider! {
    /// A directory of merchants.
    trait MerchantDirectory, client RemoteMerchantDirectory, tag "Reference data";

    /// A page of matches; `None` if `starting_after` is not one of them. `Temporary` when the directory does not
    /// answer.
    fn search(wanted: &'a MerchantQuery) -> Option<MerchantPage> {
        GET "/merchants" searchMerchants "Search the merchant directory";
        asks query it: MerchantQuery = wanted;
        calls (&it);
        answers MerchantList "One page of the list.";
    }
}

/// Card types of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CardType {
    #[serde(rename = "Non-Reloadable U.S.")]
    NonReloadableUs,
    #[serde(rename = "Non-Reloadable International")]
    NonReloadableInternational,
    Reloadable,
}

impl CardType {
    /// In the contract's order; the first is the default.
    pub const ALL: [Self; 3] = [
        Self::NonReloadableUs,
        Self::NonReloadableInternational,
        Self::Reloadable,
    ];

    /// The contract's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NonReloadableUs => "Non-Reloadable U.S.",
            Self::NonReloadableInternational => "Non-Reloadable International",
            Self::Reloadable => "Reloadable",
        }
    }
}

/// Whether a merchant accepts a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acceptance {
    Accepted,
    NotAccepted,
    /// It varies, or there is no information.
    #[serde(other)]
    Unknown,
}

impl Acceptance {
    /// The contract's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::NotAccepted => "not_accepted",
            Self::Unknown => "unknown",
        }
    }
}

/// A merchant, for the card type of the query.
// Texts come from the directory: render them as text, never as markup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct Merchant {
    /// Stable id of the merchant.
    pub id: String,
    /// Name as the merchant spells it.
    pub name: String,
    /// The merchant's site, if known.
    pub url: Option<String>,
    /// What the merchant sells.
    pub category: String,
    /// Countries, ISO 3166-1 alpha-2; empty for everywhere.
    pub countries: Vec<String>,
    /// `accepted`, `not_accepted` or `unknown`.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub status: Acceptance,
    /// What to know before paying there.
    pub notes: Option<String>,
}

/// Search filters for merchants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "documents", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct MerchantQuery {
    /// A name or an address; if absent, all merchants are listed by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// `Non-Reloadable U.S.`, `Non-Reloadable International` or `Reloadable`.
    #[cfg_attr(feature = "documents", param(value_type = String))]
    pub card_type: CardType,
    /// Start after this merchant of the same search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_after: Option<String>,
    /// Maximum number of merchants.
    pub limit: usize,
}

/// A page of merchants, best match first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MerchantPage {
    /// Empty if no such merchant is known, which does not mean that cards are declined there.
    pub merchants: Vec<Merchant>,
    pub has_more: bool,
}

/// A page of merchants, best match first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct MerchantList {
    /// Merchants of the page; `null` if `starting_after` is not one of the matches.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "documents", schema(required))]
    merchants: Option<Vec<Merchant>>,
    /// Whether more pages follow.
    has_more: bool,
}

impl From<Option<MerchantPage>> for MerchantList {
    fn from(page: Option<MerchantPage>) -> Self {
        let has_more = page.as_ref().is_some_and(|page| page.has_more);
        let merchants = page.map(|page| page.merchants);
        Self { merchants, has_more }
    }
}

impl From<MerchantList> for Option<MerchantPage> {
    fn from(list: MerchantList) -> Self {
        let has_more = list.has_more;
        let merchants = list.merchants?;
        Some(MerchantPage { merchants, has_more })
    }
}
