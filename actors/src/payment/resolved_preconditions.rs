//! What a purchase was built on.

use crate::payout::PayoutPlan;
use crate::quote::QuoteFacts;

/// What was read of the payer before the claim, that the product is built on. It holds at the claim by the same batch's
/// conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ResolvedPreconditions {
    /// The product needs nothing of the payer.
    #[default]
    None,
    /// The catalog has the gift card.
    Offer {
        /// At this fee rate, as decimal text.
        fee_rate: String,
        /// What it was sold at: the catalog's rate may have moved since the quote, which holds for its life.
        quoted: Box<QuoteFacts>,
    },
    /// To whom a payout goes, and by which rules.
    Payout(Box<PayoutPlan>),
    /// The deposit address of the payer's linked account at the card issuer, on Base.
    DepositAddress([u8; 20]),
}

impl ResolvedPreconditions {
    /// Fee rate and quote of a gift card that was found.
    pub(super) fn offer(&self) -> (String, Box<QuoteFacts>) {
        match self {
            Self::Offer { fee_rate, quoted } => (fee_rate.clone(), quoted.clone()),
            Self::None | Self::DepositAddress(_) | Self::Payout(_) => Default::default(),
        }
    }
}
