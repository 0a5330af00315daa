//! What comes back after the return window of a payout.

use super::{Event, Payout, Rejection};
use crate::id::{LateReturnId, PayoutId};
use crate::kernel::effect::{CreditCause, Work};
use crate::kernel::{Context, Decision, Entity as _, table};
use crate::late_return::{LateReturn, Received};
use crate::money::Usdc;
use crate::port::Said;

impl Payout {
    /// Money that comes back after the window: a late return, of which there is one, however often it is told.
    pub(super) fn came_back_late(
        &self,
        id: PayoutId,
        decision: Decision<Self>,
        reason: Said,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        if self.came_back_late {
            return Ok(decision);
        }
        let kept = self.plan.terms.return_fee.min(self.charge.owed());
        let (owner, late, at) = (self.owner, LateReturnId::of(id), context.now);
        let (posted, amount) = self.charge.returned(at, late, self.provider(), kept);
        let received = Received {
            owner,
            payout: id,
            amount: self.charge.owed(),
            kept,
            reason,
            at,
        };
        let opening = LateReturn::receive(received, context).map_err(|_| Rejection(self.status()))?;
        let cause = CreditCause::LateReturn(late);
        let next = match amount {
            Usdc::ZERO => Work::LateReturn(late),
            amount => Work::Credit {
                account: owner,
                amount,
                cause,
            },
        };
        let decision = decision
            .event(Event::CameBackLate)
            .open(opening)
            .put_new(table::late_return(at, late), Vec::new())
            .post(&posted, context)
            .then(next, context);
        Ok(self.uncounted(id, decision, context))
    }
}
