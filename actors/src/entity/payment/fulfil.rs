//! Fulfilment of every kind of purchase. An order at a provider uses the product's number as its key, so each is found
//! by the other. The number is derived from the payment, so it can be found from the paying transfer alone.

use super::{Event, Payment};
use crate::entity::session::{AuthMethod, Session};
use crate::id::PaymentId;
use crate::kernel::{Context, Decision, InvalidTransition};
use crate::ledger::LedgerTransaction;
use crate::product::Sale;

impl Payment {
    /// Adds the product to a decision, and the payer's session unless an agent wallet paid. The received payment and
    /// the capture are one ledger transaction.
    pub(super) fn fulfil(
        &self,
        id: &PaymentId,
        decision: Decision<Self>,
        received: LedgerTransaction,
        context: &Context,
    ) -> Result<Decision<Self>, InvalidTransition> {
        let owner = self.account();
        let charge = self.charge(*id);
        let sold = charge.capture(received, self.claim.purchase.line().provider());
        let decision = self.open_session(id, decision, context)?;
        let sale = Sale {
            number: id.product_id(),
            owner,
            charge,
            network: self.claim.authorization.network(),
        };
        let bought = |product| Event::Fulfilled(product, context.now);
        let (purchase, resolved) = (&self.claim.purchase, &self.claim.resolved);
        let decision = purchase.sell(decision, bought, &sale, resolved, context)?;
        Ok(decision.post_ledger(&sold, context))
    }

    /// Only for the payer's own wallet: the owner of an agent wallet already has tokens, and no other caller may get
    /// any.
    fn open_session(
        &self,
        payment: &PaymentId,
        decision: Decision<Self>,
        context: &Context,
    ) -> Result<Decision<Self>, InvalidTransition> {
        if self.by_managed_wallet() {
            return Ok(decision);
        }
        let by = AuthMethod::Payment(*payment);
        let opened = Session::open(self.claim.session, self.account(), by, None, context)?;
        Ok(decision.open(opened))
    }
}
