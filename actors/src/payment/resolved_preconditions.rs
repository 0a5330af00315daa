//! Preconditions of a purchase as read before its claim.

use crate::payout::PayoutPlan;
use crate::quote::QuoteFacts;

/// Data read from the payer before the claim, which the product depends on. Conditions of the claim's batch ensure that
/// it still holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ResolvedPreconditions {
    /// The product has no preconditions with data.
    #[default]
    None,
    /// The catalog has the gift card in stock.
    Offer {
        /// Fee rate of the catalog, as decimal text.
        fee_rate: String,
        /// Quote of the sale: the catalog's rate may have changed since, and the quote stays valid until it expires.
        quoted: Box<QuoteFacts>,
    },
    /// Recipient and terms of a payout.
    Payout(Box<PayoutPlan>),
    /// The deposit address of the payer's linked account at the card issuer, on Base.
    DepositAddress([u8; 20]),
}

impl ResolvedPreconditions {
    /// Fee rate and quote of a gift card that is in stock.
    pub(super) fn offer(&self) -> (String, Box<QuoteFacts>) {
        match self {
            Self::Offer { fee_rate, quoted } => (fee_rate.clone(), quoted.clone()),
            Self::None | Self::DepositAddress(_) | Self::Payout(_) => Default::default(),
        }
    }
}
