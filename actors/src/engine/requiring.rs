//! What a purchase needs of its payer and of the world, before anything is claimed.

use std::time::Duration;

use super::paying::{PayError, PayRequest};
use super::work::within;
use super::{Engine, NotPromised};
use crate::account;
use crate::id::{PaymentId, Wallet};
use crate::kernel::Refusal;
use crate::payment::Found;
use crate::port::GiftOffer;
use crate::product::{Purchase, Requirement};

impl Engine {
    /// What a purchase needs of its payer, in the contract's order of refusals. The claim's batch asks again for all that
    /// is a row, so that what changes in between is no purchase either.
    pub(super) async fn check(&self, payer: &Wallet, request: &PayRequest) -> Result<Found, PayError> {
        self.sells(request.purchase.line()).map_err(PayError::NotSold)?;
        let required = request.purchase.requires();
        if required.is_empty() {
            return self.found(payer, request, Found::Nothing).await;
        }
        let account = self.account(payer).await.map_err(|_| PayError::Unavailable)?;
        if let Some(message) = account.and_then(|account| account.frozen) {
            return Err(PayError::Frozen { message });
        }
        let mut found = Found::Nothing;
        for requirement in required {
            let Some(key) = requirement.row(payer) else {
                if requirement == Requirement::InStock {
                    found = self.in_stock(request).await?;
                }
                continue;
            };
            let row = self.0.store.read(&key).await.map_err(|_| PayError::Unavailable)?;
            let row = row.ok_or(PayError::Missing(requirement))?;
            if requirement == Requirement::Linked {
                let address = <[u8; 20]>::try_from(&*row.value).map_err(|_| PayError::Unavailable)?;
                found = Found::Linked(address);
            }
        }
        if matches!(request.purchase, Purchase::CardBalance { .. }) {
            // It is forwarded out of what its own chain's treasury has.
            let rail = request.authorization.network();
            self.keeps_promises(rail).await.map_err(|why| match why {
                NotPromised::Short(network) => PayError::Short(network),
                NotPromised::NoAccount | NotPromised::Unavailable => PayError::Unavailable,
            })?;
        }
        self.found(payer, request, found).await
    }

    /// What the product is built on, besides the purchase.
    async fn found(&self, payer: &Wallet, request: &PayRequest, found: Found) -> Result<Found, PayError> {
        let plan = self.plan(payer, request).await?;
        Ok(plan.map_or(found, |plan| Found::Payout(Box::new(plan))))
    }

    /// Whether the catalog has the gift card. At which rate, is no reason to refuse: what comes on top is ours, and the
    /// payment fits a quote that holds. A catalog that does not answer sells nothing.
    async fn in_stock(&self, request: &PayRequest) -> Result<Found, PayError> {
        let Purchase::GiftCard {
            amount,
            currency,
            product,
            country,
        } = &request.purchase
        else {
            return Ok(Found::Nothing);
        };
        let asked = self.0.ports.gift_cards.offer(product, *currency, *country, *amount);
        let patience = Duration::from_millis(self.0.settings.issuer_timeout_ms);
        match within(patience, asked, "gift card offer").await {
            Ok(GiftOffer::Open { fee_rate }) => match request.quoted.clone() {
                Some(quoted) => Ok(Found::Offer { fee_rate, quoted }),
                None => Err(PayError::Unavailable),
            },
            Ok(_) => Err(PayError::Missing(Requirement::InStock)),
            Err(error) => {
                self.unanswered(request.purchase.line(), &error).await;
                Err(PayError::Unavailable)
            }
        }
    }
}

/// What a claim that was refused tells its caller.
pub(super) fn refused(id: PaymentId, refusal: Refusal<account::Rejection>) -> PayError {
    match refusal {
        Refusal::Rejected(rejection) => rejected(rejection),
        Refusal::Quarantined => PayError::Unavailable,
        _ => PayError::Unknown(id),
    }
}

/// What the account's own refusal tells its caller.
pub(super) fn rejected(rejection: account::Rejection) -> PayError {
    match rejection {
        account::Rejection::Frozen { message } => PayError::Frozen { message },
        account::Rejection::CountPerDay { cap } => PayError::CountPerDay { cap },
        account::Rejection::SumPerDay { cap } => PayError::SumPerDay { cap },
        account::Rejection::MayHaveBought => PayError::AlreadyUsed,
        _ => PayError::Unavailable,
    }
}
