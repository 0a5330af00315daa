//! Payments that are in progress or complete: presented again, a payment returns its existing result. Later changes of
//! prices, rates and catalogs do not matter.

use http::HeaderMap;
use purser_actors::entity::Purchase;
use purser_actors::entity::payment::{Payment, Status};
use purser_actors::port::Authorization;

use super::Checkout;
use super::presented_payment::{PaymentHeader, find_payment_header};
use crate::payment::{decode, identifier, mpp, verify_offline_for_replay};

impl Checkout {
    /// The claimed purchase of the payment in these headers, if it is in progress or complete. Call before any check
    /// that only a new purchase needs.
    pub async fn existing_claim(&self, headers: &HeaderMap) -> Option<Purchase> {
        let known = match find_payment_header(headers).ok()?? {
            PaymentHeader::X402(header) => {
                let payees = self.payees();
                let payment = decode(header).ok()?;
                let identifier = identifier::read(payment.extensions.as_ref()).ok()?;
                let judged = verify_offline_for_replay(&payment, &payees, self.recovery)?;
                let authorization = self.joinable(judged).await?;
                match self.joinable_payment(&authorization).await {
                    None => self.payment_by_identifier(&authorization, identifier.as_deref()).await,
                    known => known,
                }
            }
            PaymentHeader::Mpp(credential) => {
                let credential = mpp::credential::decode(credential).ok()?;
                let judged = mpp::verify_offline_for_replay(credential, &self.base, self.recovery)?;
                let judged = judged.map(|answered| answered.authorization);
                self.joinable_payment(&self.joinable(judged).await?).await
            }
        };
        Some(known?.claim.purchase)
    }

    /// The payment that is claimed under the identifier of this one's account.
    pub(super) async fn payment_by_identifier(
        &self,
        shown: &Authorization,
        identifier: Option<&str>,
    ) -> Option<Payment> {
        let account = self.engine.account_of(&shown.payer());
        let named = self.engine.payment_by_identifier(&account, identifier?).await;
        named.ok()?.filter(is_joinable)
    }

    /// The payment, if a request with it joins it. A declined or credited payment would need a new claim, which needs a
    /// quote.
    pub(super) async fn joinable_payment(&self, authorization: &Authorization) -> Option<Payment> {
        let id = self.engine.payment_id(authorization);
        self.engine.payment(&id).await.ok()?.filter(is_joinable)
    }
}

/// Whether it is in progress or complete.
const fn is_joinable(payment: &Payment) -> bool {
    !payment.is_released() && !matches!(payment.status, Status::Declined(..) | Status::Refused(_))
}
