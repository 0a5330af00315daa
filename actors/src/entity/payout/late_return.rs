//! Returns after the return window of a payout.

use super::{Event, Payout, Rejection};
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::entity::late_return;
use crate::entity::late_return::{LateReturn, LateReturnDetails};
use crate::id::{LateReturnId, PayoutId};
use crate::kernel::job::AnyJob;
use crate::kernel::{Context, Decision, Entity as _, table};
use crate::money::Usdc;
use crate::port::ExternalText;

impl Payout {
    /// A return after the window: one late return, however often it is reported.
    pub(super) fn record_late_return(
        &self,
        id: PayoutId,
        decision: Decision<Self>,
        reason: ExternalText,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        if self.returned_late {
            return Ok(decision);
        }
        let kept = self.plan.terms.return_fee.min(self.charge.provider_amount());
        let (owner, late, at) = (self.owner, LateReturnId::for_payout(id), context.now);
        let (posted, amount) = self.charge.provider_return(at, late, self.provider(), kept);
        let received = LateReturnDetails {
            owner,
            payout: id,
            amount: self.charge.provider_amount(),
            return_fee: kept,
            reason,
            at,
        };
        let opening = LateReturn::receive(received, context).map_err(|_| Rejection(self.status()))?;
        let cause = CreditCause::LateReturn(late);
        let next: AnyJob = match amount {
            Usdc::ZERO => late_return::Job::ConfirmLateReturnCredit(late).into(),
            amount => account::Job::CreditAccount {
                account: owner,
                amount,
                cause,
            }
            .into(),
        };
        let decision = decision
            .event(Event::ReturnedLate)
            .open(opening)
            .put_new(table::late_return(at, late), Vec::new())
            .post_ledger(&posted, context)
            .enqueue(next, context);
        Ok(self.reverse_recipient_totals(id, decision, context))
    }
}
