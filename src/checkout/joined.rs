//! Payments that are under way or at their end already: whoever shows one again is told what it came to, whatever has
//! become of prices, rates and catalogs since.

use http::HeaderMap;
use purser_actors::payment::{Payment, Status};
use purser_actors::port::Authorization;
use purser_actors::product::Purchase;

use super::Checkout;
use super::presented::{Presented, presented};
use crate::payment::{Payee, decode, mpp, verify_for_replay};

impl Checkout {
    /// What the payment among these headers was claimed for, if it is under way or at its end. Ask before anything that
    /// only a new purchase needs.
    pub async fn claimed_for(&self, headers: &HeaderMap) -> Option<Purchase> {
        let authorization = match presented(headers).ok()?? {
            Presented::X402(header) => {
                let payees = [Payee::Base(self.base.clone()), Payee::Solana(self.solana.clone())];
                verify_for_replay(&decode(header).ok()?, &payees, self.recovery)?
            }
            Presented::Mpp(credential) => {
                let credential = mpp::credential::decode(credential).ok()?;
                mpp::verify_for_replay(credential, &self.base, self.recovery)?.authorization
            }
        };
        let known = self.under_way(&authorization).await?;
        Some(known.claim.purchase)
    }

    /// The payment, if it is claimed. What was refused or given back would be a new claim, and that needs a quote.
    pub(super) async fn under_way(&self, authorization: &Authorization) -> Option<Payment> {
        let id = self.engine.payment_id(authorization);
        let known = self.engine.payment(&id).await.ok()??;
        let open = matches!(
            known.status,
            Status::Declined(..) | Status::Refused(_) | Status::Released
        );
        (!open).then_some(known)
    }
}
