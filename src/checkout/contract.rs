//! Payments of contract wallets. Only the chain can verify their signatures, and it does so before any other use of the
//! payment.

use purser_actors::port::Authorization;

use super::Checkout;
use super::errors;
use super::presented_payment::ChallengeReason;
use super::verification::PaymentRejected;
use crate::payment::{InvalidReason, OfflineVerification, VerificationError};
use crate::settlement::chain::Acceptance;

/// Why a signature is not accepted.
pub(super) enum SignatureRejection {
    Invalid(VerificationError),
    Other(PaymentRejected),
}

impl SignatureRejection {
    /// The response in the protocol of the payment.
    pub(super) fn into_payment_rejected(
        self,
        tell: impl FnOnce(VerificationError) -> ChallengeReason,
    ) -> PaymentRejected {
        match self {
            Self::Invalid(refusal) => PaymentRejected::Challenge(tell(refusal)),
            Self::Other(unfit) => unfit,
        }
    }
}

impl Checkout {
    /// Verifies, on the chain, a signature that the payer's key did not make. `refusal` is the error if the payer is
    /// not a contract. A payment that is already claimed with the same signature is not verified again.
    pub(super) async fn prove(
        &self,
        authorization: &Authorization,
        refusal: VerificationError,
    ) -> Result<(), SignatureRejection> {
        let Authorization::Evm(signed) = authorization else {
            return Err(SignatureRejection::Invalid(refusal));
        };
        if self.is_claimed(authorization).await {
            return Ok(());
        }
        match self.contract_wallets.accepts(signed).await {
            Ok(Acceptance::Accepted) => Ok(()),
            Ok(Acceptance::NotAContract) => Err(SignatureRejection::Invalid(refusal)),
            Ok(Acceptance::NotAccepted) => Err(SignatureRejection::Invalid(VerificationError::new(
                InvalidReason::EvmSignature,
                "the contract at `from` does not accept the signature",
            ))),
            Ok(Acceptance::Declined(decline)) => Err(SignatureRejection::Other(PaymentRejected::Declined(
                authorization.clone(),
                decline,
            ))),
            Err(error) => {
                tracing::warn!(%error, "the signature of a contract wallet could not be verified");
                Err(SignatureRejection::Other(PaymentRejected::Unavailable(
                    errors::unreached(),
                )))
            }
        }
    }

    /// The payment if a call may join its claim. An unproven payment may only join a claim with the same signature,
    /// which the chain has verified before that claim.
    pub(super) async fn joinable(&self, judged: OfflineVerification<Authorization>) -> Option<Authorization> {
        match judged {
            OfflineVerification::Proven(authorization) => Some(authorization),
            OfflineVerification::Unproven(authorization, _) => {
                self.is_claimed(&authorization).await.then_some(authorization)
            }
        }
    }

    /// Whether this payment is claimed with the same signature.
    async fn is_claimed(&self, authorization: &Authorization) -> bool {
        let known = self.engine.payment(&self.engine.payment_id(authorization)).await;
        known.is_ok_and(|known| known.is_some_and(|known| known.claim.authorization == *authorization))
    }
}
