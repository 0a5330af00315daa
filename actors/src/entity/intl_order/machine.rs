//! State machine of an international card order.

use super::{Command, EnteredCard, Event, IntlOrder, Job, Rejection, Reply, Status};
use super::{IntlCardType, IntlCardView};
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::entity::card::lifecycle::{self, CardLifecycle};
use crate::id::{CardId, Wallet};
use crate::kernel::job::AnyJob;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::lease::{Leasable, Lease, LeaseError, LeaseEvent, Leases};
use crate::ledger::LedgerProvider;
use crate::operator::AuditAction;
use crate::port::Timestamp;

impl IntlOrder {
    fn fulfil(&self, id: CardId, card: EnteredCard, decided: Decision<Self>, context: &Context) -> Decision<Self> {
        let EnteredCard { details, number, cvv } = card;
        let ends = details.end();
        decided
            .delete(table::intl_order_queue(self.created_at, id))
            .put_new(table::vault(id), number)
            .put_new(table::cvv(id), cvv)
            .enqueue_at(ends, Job::ExpireIntlCard(id), context)
            .event(Event::Fulfilled(details, context.now))
    }

    /// There will be no card: credits the whole charge.
    fn credit_charge(&self, id: CardId, decided: Decision<Self>, context: &Context) -> Decision<Self> {
        let credit = account::Job::CreditAccount {
            account: self.owner,
            amount: self.charge.charged,
            cause: CreditCause::Card(id),
        };
        decided
            .delete(table::intl_order_queue(self.created_at, id))
            .post_ledger(
                &self.charge.reversal(context.now, id, LedgerProvider::IntlFulfilment),
                context,
            )
            .enqueue(credit, context)
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }
}

impl Leasable for IntlOrder {
    const CLAIM: AuditAction = AuditAction::IntlOrderClaim;
    const RELEASE: AuditAction = AuditAction::IntlOrderRelease;
    const RENEW: AuditAction = AuditAction::IntlOrderRenew;

    fn lease_reply(lease: Option<Lease>) -> Reply {
        lease.map_or(Reply::Done, Reply::Lease)
    }

    fn leases(&self) -> Leases<'_> {
        Leases {
            last: self.lease,
            holder: self.lease_holder(),
        }
    }

    fn lease_event(change: LeaseEvent) -> Event {
        match change {
            LeaseEvent::Claimed(holder, at) => Event::Claimed(holder, at),
            LeaseEvent::Expired(at) => Event::LeaseExpired(at),
            LeaseEvent::Released(at) => Event::Released(at),
        }
    }

    fn expiry_job(id: CardId, lease: u64) -> AnyJob {
        Job::ExpireOrderLease { order: id, lease }.into()
    }
}

impl Entity for IntlOrder {
    const KIND: EntityKind = EntityKind::IntlOrder;

    type Id = CardId;
    type Command = Command;
    type Reply = Reply;
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = IntlCardView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &CardId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(order) = this else {
            return Err(Rejection::InvalidState("-"));
        };
        let (decided, now) = (Decision::answer(Reply::Done), context.now);
        match (&order.status, command) {
            (Status::Queued | Status::Claimed(_), Command::Claim { act, life_ms }) => {
                Ok(order.claim(*id, &act, life_ms, context)?)
            }
            (Status::Claimed(_), Command::Release { act, lease }) => Ok(order.release(*id, &act, lease, context)?),
            (Status::Claimed(_), Command::Renew { act, lease, life_ms }) => {
                Ok(order.renew(*id, &act, lease, life_ms, context)?)
            }
            (Status::Queued, Command::Renew { .. }) => Err(LeaseError::Stale(order.lease).into()),
            (Status::Claimed(_), Command::Fulfil { act, lease, card }) => {
                order.leases().check_held_by(&act, lease, now)?;
                let decided = decided.audit(&act, AuditAction::IntlOrderFulfil, id, None, context);
                Ok(order.fulfil(*id, *card, decided, context))
            }
            (Status::Queued, Command::Fulfil { .. }) => Err(LeaseError::Stale(order.lease).into()),
            (Status::Queued | Status::Claimed(_), Command::Reject { act, lease, reason }) => {
                let leases = order.leases();
                leases.check_available_to(&act, now)?;
                if let Some(lease) = lease {
                    leases.check_held_by(&act, lease, now)?;
                }
                let decided = decided
                    .audit(&act, AuditAction::IntlOrderReject, id, Some(reason.clone()), context)
                    .event(Event::Rejected(reason, now));
                Ok(order.credit_charge(*id, decided, context))
            }
            (Status::Queued, Command::Cancel) => {
                Ok(order.credit_charge(*id, decided.event(Event::Cancelled(now)), context))
            }
            (Status::Ready(_) | Status::Paused(_), Command::Reveal) => Ok(decided.event(Event::Revealed(now))),
            (_, Command::RequestAction(action)) if order.is_usable() => Ok(order.request_action(*id, action, context)),
            (_, Command::RecordReport { act, report, refunded }) if order.lifecycle_state().is_some() => {
                order.record_report(*id, &act, (*report, refunded), context)
            }
            (Status::Claimed(Some(_)), Command::ExpireLease { job, lease }) if lease == order.lease => {
                Ok(decided.completes_job(job).event(Event::LeaseExpired(now)))
            }
            (_, Command::EndLease { lease }) => Ok(order.end_lease(lease, context)),
            (Status::Queued | Status::Claimed(_), Command::MarkOverdue { job }) if !order.overdue => {
                let claimed = matches!(order.status, Status::Claimed(_));
                Ok(decided
                    .completes_job(job)
                    .event(Event::BecameOverdue { claimed, at: now }))
            }
            (Status::Ready(_) | Status::Paused(_), Command::Expire { job }) => {
                let decided = decided.completes_job(job).event(Event::Expired(now));
                Ok(order
                    .clear_pending_action(*id, decided)
                    .enqueue(Job::ShredCvv(*id), context))
            }
            (Status::Expired(_) | Status::Closed(_), Command::RecordCvvShredded { job }) => {
                Ok(decided.completes_job(job).delete(table::cvv(*id)))
            }
            // Scheduled jobs are never cancelled: one that runs too late just completes.
            (
                _,
                Command::ExpireLease { job, .. }
                | Command::MarkOverdue { job }
                | Command::Expire { job }
                | Command::RecordCvvShredded { job },
            ) => Ok(decided.completes_job(job)),
            (_, _) => Err(Rejection::InvalidState(order.status())),
        }
    }

    fn apply(this: Option<Self>, _: &CardId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(order) = this else {
            return match event {
                Event::Ordered {
                    owner,
                    charge,
                    amount,
                    label,
                    at,
                } => Ok(Self {
                    owner: *owner,
                    charge: *charge,
                    amount: *amount,
                    label: label.clone(),
                    created_at: *at,
                    updated_at: *at,
                    overdue: false,
                    lease: 0,
                    released_at: None,
                    lifecycle: CardLifecycle::default(),
                    action_requested_at: None,
                    status: Status::Queued,
                }),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        match (order.status.clone(), event) {
            (Status::Queued | Status::Claimed(None), Event::Claimed(holder, at)) => {
                let lease = order.lease.saturating_add(1);
                Ok(Self { lease, ..order }.at(Status::Claimed(Some(holder.clone())), *at))
            }
            (Status::Claimed(Some(_)), Event::LeaseExpired(at)) => Ok(order.at(Status::Claimed(None), *at)),
            (Status::Claimed(_), Event::Released(at)) => {
                let released_at = Some(*at);
                Ok(Self { released_at, ..order }.at(Status::Queued, *at))
            }
            (Status::Claimed(Some(_)), Event::Fulfilled(details, at)) => {
                let life = CardLifecycle::activated(order.amount, *at);
                Ok(Self {
                    lifecycle: life,
                    ..order
                }
                .at(Status::Ready(details.clone()), *at))
            }
            (Status::Queued, Event::Cancelled(at)) => Ok(order.at(Status::Cancelled, *at)),
            (Status::Queued | Status::Claimed(_), Event::Rejected(reason, at)) => {
                let reason = reason.clone();
                Ok(order.at(Status::Rejected { reason }, *at))
            }
            (status @ (Status::Queued | Status::Claimed(_)), Event::BecameOverdue { at, .. }) => {
                let overdue = Self { overdue: true, ..order };
                Ok(overdue.at(status, *at))
            }
            (Status::Ready(_) | Status::Paused(_), Event::Revealed(_)) => Ok(order),
            (Status::Ready(details) | Status::Paused(details), Event::Expired(at)) => {
                let ended = order
                    .with_pending_action(None, *at)
                    .with_history_entry(lifecycle::LifecycleChange::Expired, *at);
                Ok(ended.at(Status::Expired(details), *at))
            }
            (status @ (Status::Ready(_) | Status::Paused(_)), Event::ActionRequested(action, at)) => {
                Ok(order.with_pending_action(Some(*action), *at).at(status, *at))
            }
            (status, Event::ActionCompleted(at) | Event::ActionCancelled(at))
                if order.lifecycle.pending_action.is_some() =>
            {
                Ok(order.with_pending_action(None, *at).at(status, *at))
            }
            (_, Event::Updated(news, at)) => order.apply_update(news, *at),
            (status, Event::RemainderRetained(amount, at)) if order.lifecycle_state().is_some() => {
                let life = order.lifecycle.clone().with_retained(*amount);
                Ok(Self {
                    lifecycle: life,
                    ..order
                }
                .at(status, *at))
            }
            (_, event) => Err(InvalidTransition::new(order.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &CardId) -> IntlCardView<'_> {
        let reason = match &self.status {
            Status::Rejected { reason } => Some(reason.as_str()),
            _ => None,
        };
        IntlCardView {
            card_id: *id,
            status: self.state(),
            state: self.state(),
            card_type: IntlCardType::NonReloadableInternational,
            usd_amount: self.amount.into(),
            on_card_usd_amount: self.amount.into(),
            charged_usd_amount: self.charge.charged.into(),
            fees_paid: self.charge.fee().into(),
            available_usd_amount: self.lifecycle.activity.available.into(),
            credited_usd_amount: self.credited().into(),
            label: self.label.as_deref(),
            last4: self.details().map(|d| d.last4.as_str()),
            pending_action: self.lifecycle.pending_action,
            rejection_reason: reason,
            overdue: self.overdue,
            payment_id: self.charge.payment,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
