//! Preconditions of a purchase, resolved before anything is claimed.

use std::time::Duration;

use super::jobs::with_timeout_ms;
use super::payments::{ClaimError, PaymentRequest};
use super::{Engine, ReservationError};
use crate::entity::Purchase;
use crate::entity::account::{self, Account};
use crate::entity::gift_card::GiftCardPurchase;
use crate::entity::payment::ResolvedPreconditions;
use crate::id::{PaymentId, Wallet};
use crate::kernel::AskError;
use crate::port::GiftCardOffer;
use crate::product::Precondition;

impl Engine {
    /// Resolves what a purchase requires of its payer and of the service, in the contract's error order. The claim's
    /// batch checks every row-based one again, so that a change in between prevents the purchase.
    pub(super) async fn resolve_preconditions(
        &self,
        payer: &Wallet,
        request: &PaymentRequest,
    ) -> Result<ResolvedPreconditions, ClaimError> {
        self.check_line(request.purchase.line())
            .map_err(ClaimError::LineUnavailable)?;
        let required = request.purchase.preconditions();
        if required.is_empty() {
            return self.with_payout_plan(payer, request, ResolvedPreconditions::None).await;
        }
        let account = self.account(payer).await.map_err(|_| ClaimError::Unavailable)?;
        refuse_account(account)?;
        let mut found = ResolvedPreconditions::None;
        for requirement in required {
            let Some(key) = requirement.row(payer) else {
                if requirement == Precondition::InStock {
                    found = self.in_stock(request).await?;
                }
                continue;
            };
            let row = self.0.store.read(&key).await.map_err(|_| ClaimError::Unavailable)?;
            let row = row.ok_or(ClaimError::PreconditionFailed(requirement))?;
            if requirement == Precondition::IssuerLinked {
                let address = <[u8; 20]>::try_from(&*row.value).map_err(|_| ClaimError::Unavailable)?;
                found = ResolvedPreconditions::DepositAddress(address);
            }
        }
        if matches!(request.purchase, Purchase::CardBalance(_)) {
            // It is forwarded from the treasury of the payment's own chain.
            let rail = request.authorization.network();
            self.check_treasury(rail).await.map_err(|why| match why {
                ReservationError::InsufficientTreasury(network) => ClaimError::InsufficientTreasury(network),
                ReservationError::CannotReceive | ReservationError::Unavailable => ClaimError::Unavailable,
            })?;
        }
        self.with_payout_plan(payer, request, found).await
    }

    /// What is resolved so far, or the plan if the purchase is a payout.
    async fn with_payout_plan(
        &self,
        payer: &Wallet,
        request: &PaymentRequest,
        resolved: ResolvedPreconditions,
    ) -> Result<ResolvedPreconditions, ClaimError> {
        let plan = self.payout_plan(payer, request).await?;
        Ok(plan.map_or(resolved, |plan| ResolvedPreconditions::Payout(Box::new(plan))))
    }

    /// Whether the catalog has the gift card. A changed fee rate is no reason to reject: we pay the difference, and the
    /// payment matches a valid quote. Without an answer from the catalog nothing is sold.
    async fn in_stock(&self, request: &PaymentRequest) -> Result<ResolvedPreconditions, ClaimError> {
        let Purchase::GiftCard(GiftCardPurchase {
            amount,
            currency,
            product,
            country,
        }) = &request.purchase
        else {
            return Ok(ResolvedPreconditions::None);
        };
        let asked = self.0.ports.gift_cards.offer(product, *currency, *country, *amount);
        let patience = Duration::from_millis(self.0.settings.issuer_timeout_ms);
        match with_timeout_ms(patience, asked, "gift card offer").await {
            Ok(GiftCardOffer::Available { fee_rate }) => match request.quoted.clone() {
                Some(quoted) => Ok(ResolvedPreconditions::Offer { fee_rate, quoted }),
                None => Err(ClaimError::Unavailable),
            },
            Ok(_) => Err(ClaimError::PreconditionFailed(Precondition::InStock)),
            Err(error) => {
                self.record_line_unanswered(request.purchase.line(), &error).await;
                Err(ClaimError::Unavailable)
            }
        }
    }
}

/// Rejects a purchase of an account that is frozen or whose agents are stopped.
pub(super) fn refuse_account(account: Option<Account>) -> Result<(), ClaimError> {
    match account {
        Some(Account {
            frozen: Some(message), ..
        }) => Err(ClaimError::Frozen { message }),
        Some(account) if account.agents_stopped_at().is_some() => Err(ClaimError::AgentsStopped),
        _ => Ok(()),
    }
}

/// The caller's error for a rejected claim.
pub(super) fn map_rejection(id: PaymentId, refusal: AskError<account::Rejection>) -> ClaimError {
    match refusal {
        AskError::Rejected(rejection) => map_account_rejection(rejection),
        AskError::Quarantined => ClaimError::Unavailable,
        _ => ClaimError::OutcomeUnknown(id),
    }
}

/// The caller's error for the account's own rejection.
pub(super) fn map_account_rejection(rejection: account::Rejection) -> ClaimError {
    match rejection {
        account::Rejection::Frozen { message } => ClaimError::Frozen { message },
        account::Rejection::AgentsStopped => ClaimError::AgentsStopped,
        account::Rejection::DailyCountCap { cap } => ClaimError::DailyCountCap { cap },
        account::Rejection::DailyAmountCap { cap } => ClaimError::DailyAmountCap { cap },
        account::Rejection::MayHaveBought => ClaimError::AlreadyUsed,
        _ => ClaimError::Unavailable,
    }
}
