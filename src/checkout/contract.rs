//! Payments of contract wallets: only the chain knows whether their signatures count, and it is asked before anything else
//! happens with them.

use purser_actors::port::Authorization;

use super::Checkout;
use super::judged::Unfit;
use super::presented::Told;
use super::refused;
use crate::payment::{Judged, Reason, Refusal};
use crate::settlement::chain::Acceptance;

/// Why a signature is not taken.
pub(super) enum Unproven {
    /// For the payment itself.
    Refused(Refusal),
    /// For something else.
    Other(Unfit),
}

impl Unproven {
    /// In the words of the protocol that the payment came by.
    pub(super) fn told(self, tell: impl FnOnce(Refusal) -> Told) -> Unfit {
        match self {
            Self::Refused(refusal) => Unfit::Told(tell(refusal)),
            Self::Other(unfit) => unfit,
        }
    }
}

impl Checkout {
    /// Whether the payer's contract accepts a signature that no key of the payer's has made. `refusal` is for a payer that is no
    /// contract. What is claimed with the very same signature is not asked about again.
    pub(super) async fn prove(&self, authorization: &Authorization, refusal: Refusal) -> Result<(), Unproven> {
        let Authorization::Evm(signed) = authorization else {
            return Err(Unproven::Refused(refusal));
        };
        if self.is_claimed(authorization).await {
            return Ok(());
        }
        match self.contract_wallets.accepts(signed).await {
            Ok(Acceptance::Accepted) => Ok(()),
            Ok(Acceptance::NoContract) => Err(Unproven::Refused(refusal)),
            Ok(Acceptance::Refused) => Err(Unproven::Refused(Refusal::new(
                Reason::EvmSignature,
                "the contract at `from` does not accept the signature",
            ))),
            Ok(Acceptance::Declined(decline)) => Err(Unproven::Other(Unfit::Declined(authorization.clone(), decline))),
            Err(error) => {
                tracing::warn!(%error, "the signature of a contract wallet could not be judged");
                Err(Unproven::Other(Unfit::Unavailable(refused::unreached())))
            }
        }
    }

    /// The payment whose claim a call may join: of one whose signature only the chain could judge, what was claimed with the
    /// same signature, which was judged then.
    pub(super) async fn joinable(&self, judged: Judged<Authorization>) -> Option<Authorization> {
        match judged {
            Judged::Proven(authorization) => Some(authorization),
            Judged::Unproven(authorization, _) => self.is_claimed(&authorization).await.then_some(authorization),
        }
    }

    /// Whether there is a claim with these very bytes.
    async fn is_claimed(&self, authorization: &Authorization) -> bool {
        let known = self.engine.payment(&self.engine.payment_id(authorization)).await;
        known.is_ok_and(|known| known.is_some_and(|known| known.claim.authorization == *authorization))
    }
}
