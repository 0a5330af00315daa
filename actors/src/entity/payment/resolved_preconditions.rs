//! Preconditions of a purchase as read before its claim.

use crate::entity::gift_card::StockOffer;
use crate::entity::payout::PayoutPlan;
use crate::entity::top_up::DepositAddress;
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

/// What was resolved is not what the purchase needs.
#[derive(Debug)]
pub struct WrongPreconditions;

impl From<&ResolvedPreconditions> for () {
    fn from(_: &ResolvedPreconditions) {}
}

impl From<&ResolvedPreconditions> for StockOffer {
    fn from(resolved: &ResolvedPreconditions) -> Self {
        match resolved {
            ResolvedPreconditions::Offer { fee_rate, quoted } => Self {
                fee_rate: fee_rate.clone(),
                quoted: quoted.clone(),
            },
            ResolvedPreconditions::None
            | ResolvedPreconditions::DepositAddress(_)
            | ResolvedPreconditions::Payout(_) => Self::default(),
        }
    }
}

impl TryFrom<&ResolvedPreconditions> for PayoutPlan {
    type Error = WrongPreconditions;

    fn try_from(resolved: &ResolvedPreconditions) -> Result<Self, WrongPreconditions> {
        match resolved {
            ResolvedPreconditions::Payout(plan) => Ok((**plan).clone()),
            _ => Err(WrongPreconditions),
        }
    }
}

impl TryFrom<&ResolvedPreconditions> for DepositAddress {
    type Error = WrongPreconditions;

    fn try_from(resolved: &ResolvedPreconditions) -> Result<Self, WrongPreconditions> {
        match resolved {
            ResolvedPreconditions::DepositAddress(address) => Ok(Self(*address)),
            _ => Err(WrongPreconditions),
        }
    }
}
