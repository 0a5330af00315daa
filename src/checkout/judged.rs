//! The verdict on what a call shows, and whose payment it then is about.

use purser_actors::engine::{Paid, PayError, PayRequest};
use purser_actors::port::{Authorization, Decline};
use tokio::time::error::Elapsed;

use super::presented::{Shown, Told};
use super::{Call, Checkout, digest, refused};
use crate::http::error::ApiError;
use crate::payment::mpp::{self, Bound};
use crate::payment::{Judged, Terms, decode, identifier, judge, judge_for_replay};

/// Why a payment is not claimed.
pub(super) enum Unfit {
    /// It is not good: a fresh challenge.
    Told(Told),
    /// What came with it is not: another payment would not mend that.
    Refused(ApiError),
    /// The chain did not verify its signature in time.
    Unavailable(ApiError),
    /// The chain would decline it for another reason than its signature.
    Declined(Authorization, Decline),
}

impl Checkout {
    /// The payment, if it fits a quote, or if it is good in itself and its money is under way or here already: who
    /// paid gets what was bought, however long ago the quote or the authorization ended. So does who paid under the same
    /// identifier, by the payment that was claimed then.
    pub(super) async fn authorized(&self, header: &[u8], call: &Call<'_>, terms: &[Terms]) -> Result<Shown, Unfit> {
        let told = |refusal| Unfit::Told(Told::x402(refusal));
        let payment = decode(header).map_err(told)?;
        let identifier = identifier::read(payment.extensions.as_ref());
        let identifier = identifier.map_err(|error| Unfit::Refused(refused::identifier_invalid(&error)))?;
        let refusal = match judge(&payment, terms, &[], self.wallets.now(), self.recovery) {
            Ok(Judged::Proven(verified)) => return Ok(Shown::x402(verified.authorization, identifier)),
            Ok(Judged::Unproven(verified, refusal)) => {
                self.prove(&verified.authorization, refusal)
                    .await
                    .map_err(|unproven| unproven.told(Told::x402))?;
                return Ok(Shown::x402(verified.authorization, identifier));
            }
            Err(refusal) => refusal,
        };
        let payees = self.payees();
        let Some(judged) = judge_for_replay(&payment, &payees, self.recovery) else {
            return Err(told(refusal));
        };
        let Some(authorization) = self.joinable(judged).await else {
            return Err(told(refusal));
        };
        if self.under_way(&authorization).await.is_some() {
            return Ok(Shown::x402(authorization, None));
        }
        match self.named(&authorization, identifier.as_deref()).await {
            Some(known) if known.claim.request == digest(call.route, &call.purchase) => {
                let known = Shown::x402(known.claim.authorization, None);
                Ok(Shown { follows: true, ..known })
            }
            _ => Err(told(refusal)),
        }
    }

    /// As [`Checkout::authorized`], for an MPP credential.
    pub(super) async fn answered(&self, credential: &[u8], call: &Call<'_>, terms: &[Terms]) -> Result<Shown, Unfit> {
        let told = |rejection| Unfit::Told(Told::mpp(rejection));
        let credential = mpp::credential::decode(credential).map_err(told)?;
        let request = digest(call.route, &call.purchase);
        let bound = Bound {
            route: call.route,
            request: &request,
        };
        let now = self.wallets.now();
        let rejection = match self.mpp.judge(credential.clone(), terms, &bound, now, self.recovery) {
            Ok(Judged::Proven(answered)) => return Ok(Shown::mpp(answered)),
            Ok(Judged::Unproven(answered, refusal)) => {
                let proved = self.prove(&answered.authorization, refusal).await;
                proved.map_err(|unproven| unproven.told(|refusal| Told::mpp(refusal.into())))?;
                return Ok(Shown::mpp(answered));
            }
            Err(rejection) => rejection,
        };
        let Some(judged) = mpp::judge_for_replay(credential, &self.base, self.recovery) else {
            return Err(told(rejection));
        };
        let (Judged::Proven(answered) | Judged::Unproven(answered, _)) = judged.clone();
        match self.joinable(judged.map(|answered| answered.authorization)).await {
            Some(authorization) if self.under_way(&authorization).await.is_some() => Ok(Shown::mpp(answered)),
            _ => Err(told(rejection)),
        }
    }

    /// What the payment comes to, and whose it is: one whose identifier stands for another joins that one, and is itself
    /// never sent.
    pub(super) async fn paid_or_joined(
        &self,
        request: PayRequest,
    ) -> (Authorization, Result<Result<Paid, PayError>, Elapsed>) {
        let asked = |request: PayRequest| tokio::time::timeout(self.answer_timeout, self.engine.pay(request));
        match asked(request.clone()).await {
            Ok(Err(PayError::Identified(known))) => {
                let joins = PayRequest {
                    authorization: (*known).clone(),
                    identifier: None,
                    ..request
                };
                (*known, asked(joins).await)
            }
            told => (request.authorization, told),
        }
    }
}
