//! Merchants, and whether they accept the cards that are sold here.

use purser_actors::port::{BoxFuture, PortError};

/// Card types of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardType {
    /// In the contract: `Non-Reloadable U.S.`
    NonReloadableUs,
    /// In the contract: `Non-Reloadable International`
    NonReloadableInternational,
    /// In the contract: `Reloadable`
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    Accepted,
    NotAccepted,
    /// It varies, or there is no information.
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

/// A merchant, for one type of card. Texts come from the directory: render them as text, never as markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merchant {
    /// Stable id; used as the cursor of lists.
    pub id: String,
    /// As the merchant spells it.
    pub name: String,
    /// The merchant's site, if known.
    pub url: Option<String>,
    /// What the merchant sells, in one or two words.
    pub category: String,
    /// ISO 3166-1 alpha-2; empty for everywhere.
    pub countries: Vec<String>,
    /// For the card type of the query.
    pub status: Acceptance,
    /// What to know before paying there.
    pub notes: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerchantQuery {
    /// A name or an address; if absent, all merchants are listed by name.
    pub q: Option<String>,
    pub card_type: CardType,
    /// Start after this merchant of the same search.
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

/// A directory of merchants.
pub trait MerchantDirectory: Send + Sync {
    /// A page of matches; `None` if `starting_after` is not one of them. `Temporary` when the directory does not
    /// answer.
    fn search<'a>(&'a self, wanted: &'a MerchantQuery) -> BoxFuture<'a, Result<Option<MerchantPage>, PortError>>;
}
