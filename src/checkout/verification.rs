//! Verifies the payment of a call, and determines whose payment it is.

use purser_actors::engine::{ClaimError, PaymentRequest, PaymentResult};
use purser_actors::port::{Authorization, Decline};
use tokio::time::error::Elapsed;

use super::presented_payment::{ChallengeReason, PresentedPayment};
use super::{Checkout, PaidCall, errors, request_fingerprint};
use crate::edge::error::ApiError;
use crate::payment::mpp::{self, BoundRequest};
use crate::payment::{OfflineVerification, Terms, decode, identifier, verify_against, verify_offline_for_replay};

/// Why a payment is not claimed.
pub(super) enum PaymentRejected {
    /// The payment is invalid: a fresh challenge.
    Challenge(ChallengeReason),
    /// Data beside the payment is invalid: another payment would not fix that.
    Error(ApiError),
    /// The chain did not verify its signature in time.
    Unavailable(ApiError),
    /// The chain would decline it for another reason than its signature.
    Declined(Authorization, Decline),
}

impl Checkout {
    /// The payment, if it matches a quote, or if it is valid and already in progress or settled. A payer gets the
    /// purchase even long after the quote or the authorization has expired. A payment under an existing identifier
    /// joins the payment claimed then.
    pub(super) async fn verify_x402(
        &self,
        header: &[u8],
        call: &PaidCall<'_>,
        terms: &[Terms],
    ) -> Result<PresentedPayment, PaymentRejected> {
        let to_reason = |refusal| PaymentRejected::Challenge(ChallengeReason::x402(refusal));
        let payment = decode(header).map_err(to_reason)?;
        let identifier = identifier::read(payment.extensions.as_ref());
        let identifier = identifier.map_err(|error| PaymentRejected::Error(errors::identifier_invalid(&error)))?;
        let refusal = match verify_against(&payment, terms, &[], self.wallet_clock.now(), self.recovery) {
            Ok(OfflineVerification::Proven(verified)) => {
                return Ok(PresentedPayment::x402(verified.authorization, identifier));
            }
            Ok(OfflineVerification::Unproven(verified, refusal)) => {
                self.prove(&verified.authorization, refusal)
                    .await
                    .map_err(|unproven| unproven.into_payment_rejected(ChallengeReason::x402))?;
                return Ok(PresentedPayment::x402(verified.authorization, identifier));
            }
            Err(refusal) => refusal,
        };
        let payees = self.payees();
        let Some(judged) = verify_offline_for_replay(&payment, &payees, self.recovery) else {
            return Err(to_reason(refusal));
        };
        let Some(authorization) = self.joinable(judged).await else {
            return Err(to_reason(refusal));
        };
        if self.joinable_payment(&authorization).await.is_some() {
            return Ok(PresentedPayment::x402(authorization, None));
        }
        match self.payment_by_identifier(&authorization, identifier.as_deref()).await {
            Some(known) if known.claim.request == request_fingerprint(call.route, &call.purchase) => {
                let known = PresentedPayment::x402(known.claim.authorization, None);
                Ok(PresentedPayment {
                    is_identifier_replay: true,
                    ..known
                })
            }
            _ => Err(to_reason(refusal)),
        }
    }

    /// As [`Checkout::verify_x402`], for an MPP credential.
    pub(super) async fn verify_mpp(
        &self,
        credential: &[u8],
        call: &PaidCall<'_>,
        terms: &[Terms],
    ) -> Result<PresentedPayment, PaymentRejected> {
        let to_reason = |rejection| PaymentRejected::Challenge(ChallengeReason::mpp(rejection));
        let credential = mpp::credential::decode(credential).map_err(to_reason)?;
        let request = request_fingerprint(call.route, &call.purchase);
        let bound = BoundRequest {
            route: call.route,
            request: &request,
        };
        let now = self.wallet_clock.now();
        let rejection = match self
            .mpp
            .verify_offline(credential.clone(), terms, &bound, now, self.recovery)
        {
            Ok(OfflineVerification::Proven(answered)) => return Ok(PresentedPayment::mpp(answered)),
            Ok(OfflineVerification::Unproven(answered, refusal)) => {
                let proved = self.prove(&answered.authorization, refusal).await;
                proved.map_err(|unproven| {
                    unproven.into_payment_rejected(|refusal| ChallengeReason::mpp(refusal.into()))
                })?;
                return Ok(PresentedPayment::mpp(answered));
            }
            Err(rejection) => rejection,
        };
        let Some(judged) = mpp::verify_offline_for_replay(credential, &self.base, self.recovery) else {
            return Err(to_reason(rejection));
        };
        let (OfflineVerification::Proven(answered) | OfflineVerification::Unproven(answered, _)) = judged.clone();
        match self.joinable(judged.map(|answered| answered.authorization)).await {
            Some(authorization) if self.joinable_payment(&authorization).await.is_some() => {
                Ok(PresentedPayment::mpp(answered))
            }
            _ => Err(to_reason(rejection)),
        }
    }

    /// The result of the payment and its account. A payment whose identifier belongs to another joins that one, and is
    /// never sent.
    pub(super) async fn claim_or_replay(
        &self,
        request: PaymentRequest,
    ) -> (Authorization, Result<Result<PaymentResult, ClaimError>, Elapsed>) {
        let asked = |request: PaymentRequest| tokio::time::timeout(self.response_timeout, self.engine.pay(request));
        match asked(request.clone()).await {
            Ok(Err(ClaimError::IdentifierClaimed(known))) => {
                let joins = PaymentRequest {
                    authorization: (*known).clone(),
                    identifier: None,
                    ..request
                };
                (*known, asked(joins).await)
            }
            result => (request.authorization, result),
        }
    }
}
