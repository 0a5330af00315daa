//! Merchants, and whether they take the cards that are sold here.

use purser_actors::port::{BoxFuture, PortError};

/// The contract's kinds of card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardType {
    /// `Non-Reloadable U.S.`
    NonReloadableUs,
    /// `Non-Reloadable International`
    NonReloadableInternational,
    /// `Reloadable`
    Reloadable,
}

impl CardType {
    /// In the contract's order; the first is meant where none is said.
    pub const ALL: [Self; 3] = [
        Self::NonReloadableUs,
        Self::NonReloadableInternational,
        Self::Reloadable,
    ];

    /// The contract's word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NonReloadableUs => "Non-Reloadable U.S.",
            Self::NonReloadableInternational => "Non-Reloadable International",
            Self::Reloadable => "Reloadable",
        }
    }
}

/// What is known of a card at a merchant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// Taken.
    Accepted,
    /// Refused.
    NotAccepted,
    /// It depends, or nobody knows.
    Unknown,
}

impl Acceptance {
    /// The contract's word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::NotAccepted => "not_accepted",
            Self::Unknown => "unknown",
        }
    }
}

/// A merchant, as seen by the holder of one kind of card. Texts are the directory's: show them as text, never as markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merchant {
    /// Stable; names the merchant in lists.
    pub id: String,
    /// As the merchant writes it.
    pub name: String,
    /// Its site, if known.
    pub url: Option<String>,
    /// What it sells, in a word or two.
    pub category: String,
    /// ISO 3166-1 alpha-2; empty for everywhere.
    pub countries: Vec<String>,
    /// For the kind of card that was asked about.
    pub status: Acceptance,
    /// What to know before paying there.
    pub notes: Option<String>,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerchantQuery {
    /// A name or an address; without one all are listed by name.
    pub q: Option<String>,
    /// Which card is to be used.
    pub card_type: CardType,
    /// Begin behind this merchant of the same search.
    pub starting_after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// A page of merchants, best match first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MerchantPage {
    /// Empty when nothing is known of such a merchant, which is not a refusal.
    pub merchants: Vec<Merchant>,
    /// Whether more follow.
    pub has_more: bool,
}

/// A directory of merchants.
pub trait MerchantDirectory: Send + Sync {
    /// A page of what was found; `None` when `starting_after` is not among it. `Temporary` when the directory does not
    /// answer.
    fn search<'a>(&'a self, wanted: &'a MerchantQuery) -> BoxFuture<'a, Result<Option<MerchantPage>, PortError>>;
}
