//! A payout as a product.

use super::{Job, Payout, PayoutOrdered, PayoutTarget, Status};
use crate::id::PayoutId;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition};
use crate::ledger::Charge;
use crate::money::Usdc;
use crate::payment_recipient;
use crate::product::{ListedOrder, Money, Product, Sale, Usable};
use crate::reconciliation::{EntryStatus, ReconciliationSource};

impl Product for Payout {
    const ID_FIELD: &'static str = "payout_id";
    const FIELD: &'static str = "payout";
    const LISTS: &'static [ReconciliationSource] = &[ReconciliationSource::Payouts];
    const WAITS_FOR_FINALITY: bool = true;

    type Order = PayoutOrdered;

    fn sell<D: Entity>(
        decision: Decision<D>,
        sale: &Sale,
        ordered: PayoutOrdered,
        context: &Context,
    ) -> Result<Decision<D>, InvalidTransition> {
        let (id, key, target) = (PayoutId(sale.number), ordered.key, ordered.plan.target.clone());
        let until = context.now.plus_ms(ordered.plan.terms.wait_ms);
        let decision = decision
            .index_for_owner(&sale.owner, EntityKind::Payout, id.0, context)
            .open(Self::order(id, ordered, context)?);
        Ok(match target {
            PayoutTarget::Card(_) => decision.enqueue_at(until, Job::ExpirePayout(id), context),
            PayoutTarget::Bank(..) => decision.enqueue_as(key, Job::SendPayout(id), context),
            PayoutTarget::App(..) => decision
                .enqueue_as(key, Job::SendPayout(id), context)
                .enqueue(payment_recipient::Job::SaveRecipient(id), context),
        })
    }

    fn charge(&self) -> &Charge {
        &self.charge
    }

    /// A payout may be returned at any time and is credited then. Our fee never is.
    fn money(&self) -> Money {
        let refundable = self.charge.fee();
        match self.status {
            Status::AwaitingDetails | Status::Queued | Status::InProcess => Money::InFlight,
            Status::Complete { .. } => Money::Delivered {
                credited: Usdc::ZERO,
                refundable,
                usable: Usable::All,
            },
            Status::Returned { .. } => Money::Returned {
                credited: self.credited().unwrap_or(Usdc::ZERO),
                refundable,
            },
            Status::Failed { .. } | Status::Cancelled { .. } | Status::Expired => Money::Credited,
        }
    }

    fn listed(&self, id: &PayoutId) -> Vec<ListedOrder> {
        let status = match &self.status {
            Status::AwaitingDetails | Status::Expired => EntryStatus::NotSubmitted,
            Status::Queued | Status::InProcess => EntryStatus::Pending,
            Status::Complete { .. } if self.returned_late => EntryStatus::Returned,
            Status::Complete { .. } => EntryStatus::Completed,
            Status::Failed { .. } | Status::Cancelled { .. } => EntryStatus::Declined,
            Status::Returned { .. } => EntryStatus::Returned,
        };
        vec![ListedOrder {
            source: ReconciliationSource::Payouts,
            key: self.key.0,
            subject: id.to_string(),
            status,
            amount: self.amount,
            currency: self.currency,
            at: self.updated_at,
        }]
    }
}
