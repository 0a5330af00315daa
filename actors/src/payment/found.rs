//! What a purchase was built on.

use crate::payout::Plan;
use crate::quote::Quoted;

/// What was read of the payer before the claim, that the product is built on. It holds at the claim by the same batch's
/// conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Found {
    /// The product needs nothing of the payer.
    #[default]
    Nothing,
    /// The catalog has the gift card.
    Offer {
        /// At this fee rate, as decimal text.
        fee_rate: String,
        /// What it was sold at: the catalog's rate may have moved since the quote, which holds for its life.
        quoted: Box<Quoted>,
    },
    /// To whom a payout goes, and by which rules.
    Payout(Box<Plan>),
    /// The deposit address of the payer's linked account at the card issuer, on Base.
    Linked([u8; 20]),
}

impl Found {
    /// Fee rate and quote of a gift card that was found.
    pub(super) fn offer(&self) -> (String, Box<Quoted>) {
        match self {
            Self::Offer { fee_rate, quoted } => (fee_rate.clone(), quoted.clone()),
            Self::Nothing | Self::Linked(_) | Self::Payout(_) => Default::default(),
        }
    }
}
