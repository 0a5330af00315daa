//! State machine of a payout.

use purser_storage::mutants::{self, Mutant};

use super::PayoutView;
use super::{Command, Event, Job, Payout, PayoutOrdered, PayoutTarget, Rejection, Status};
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::entity::payment_recipient;
use crate::id::{CardId, JobId, PayoutId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, table};
use crate::money::Usdc;
use crate::port::payouts::{PayoutRailStatus, PayoutStatusUpdate};
use crate::port::{ExternalText, Timestamp};

/// Return reason of an app payment that was not claimed.
const UNCLAIMED: &str = "unclaimed";

impl Payout {
    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    pub(super) fn provider(&self) -> crate::ledger::LedgerProvider {
        self.plan.target.line().provider()
    }

    /// Credits the whole charge, fee included.
    fn reversal(&self, id: PayoutId, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        let back = self.charge.reversal(context.now, id, self.provider());
        let credit = account::Job::CreditAccount {
            account: self.owner,
            amount: self.charge.charged,
            cause: CreditCause::Payout(id),
        };
        let decision = decision.post_ledger(&back, context).enqueue(credit, context);
        self.reverse_recipient_totals(id, decision, context)
    }

    /// Returned money was not received: a job updates the recipient's totals.
    pub(super) fn reverse_recipient_totals(
        &self,
        id: PayoutId,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        match self.plan.target {
            PayoutTarget::App(..) => decision.enqueue(payment_recipient::Job::ReverseRecipientTotals(id), context),
            PayoutTarget::Card(_) | PayoutTarget::Bank(..) => decision,
        }
    }

    /// Credits the return less the rail's fee; our fee stays earned.
    fn returned(
        &self,
        id: PayoutId,
        decision: Decision<Self>,
        reason: ExternalText,
        context: &Context,
    ) -> Decision<Self> {
        let kept = self.plan.terms.return_fee.min(self.charge.provider_amount());
        let (posted, amount) = self.charge.provider_return(context.now, id, self.provider(), kept);
        let decision = decision
            .event(Event::Returned(reason, kept, context.now))
            .post_ledger(&posted, context);
        let decision = self.reverse_recipient_totals(id, decision, context);
        if amount == Usdc::ZERO {
            return decision;
        }
        let (account, cause) = (self.owner, CreditCause::Payout(id));
        decision.enqueue(account::Job::CreditAccount { account, amount, cause }, context)
    }

    /// The order at the rail has ended, and the card number is no longer needed.
    fn settled(&self, id: PayoutId, decision: Decision<Self>) -> Decision<Self> {
        let decision = decision.completes_job(self.key);
        match self.plan.target {
            PayoutTarget::Card(Some(_)) => decision.delete(table::vault(CardId(id.0))),
            // The form was submitted in a history that was lost: no data of it is stored here.
            PayoutTarget::Card(None) | PayoutTarget::Bank(..) | PayoutTarget::App(..) => decision,
        }
    }

    /// Applies a rail event that is newer than all before it.
    fn apply_rail_event(
        &self,
        id: PayoutId,
        PayoutStatusUpdate {
            sequence,
            status: state,
        }: PayoutStatusUpdate,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        if self.status == Status::AwaitingDetails {
            // A history that a restore lost sent the order to the rail. The event is not applied yet: the job polls it.
            let found = Decision::answer(()).event(Event::FoundAtRail(context.now));
            return Ok(found.enqueue_as(self.key, Job::SendPayout(id), context));
        }
        let decision = Decision::answer(()).event(Event::RailSequenceAdvanced(sequence));
        Ok(match &self.status {
            Status::AwaitingDetails | Status::Queued | Status::InProcess => {
                self.apply_rail_status(id, decision, state, context)
            }
            Status::Complete { returnable, .. } => match state {
                // Its late return credited the payer: if it is paid again, it is recalled as after any credit.
                PayoutRailStatus::Complete { .. } if self.returned_late && !self.recalling => decision
                    .event(Event::PaidAfterCredit(context.now))
                    .enqueue(Job::RecallPayout(id), context),
                PayoutRailStatus::InProcess { .. } | PayoutRailStatus::Complete { .. } => decision,
                // An event that was wrong, or whose state did not last, is returned all the same.
                PayoutRailStatus::Failed { reason }
                | PayoutRailStatus::Cancelled { reason }
                | PayoutRailStatus::Returned { reason } => {
                    if !*returnable {
                        return self.record_late_return(id, decision, reason, context);
                    }
                    self.returned(id, decision, reason, context)
                }
            },
            Status::Failed { .. } | Status::Cancelled { .. } | Status::Expired | Status::Returned { .. } => match state
            {
                PayoutRailStatus::Complete { .. } if !self.recalling => decision
                    .event(Event::PaidAfterCredit(context.now))
                    .enqueue(Job::RecallPayout(id), context),
                _ => decision,
            },
        })
    }

    /// Effect of a new rail event on a pending payout.
    fn apply_rail_status(
        &self,
        id: PayoutId,
        decision: Decision<Self>,
        state: PayoutRailStatus,
        context: &Context,
    ) -> Decision<Self> {
        let accepted = |decision: Decision<Self>| match self.status {
            Status::Queued => self.accepted(id, decision, context),
            _ => decision,
        };
        match state {
            PayoutRailStatus::InProcess { .. } => accepted(decision),
            PayoutRailStatus::Complete { reference } => {
                let decision = self.settled(id, accepted(decision));
                let until = context.now.plus_ms(self.plan.terms.returns_ms);
                decision.event(Event::Completed(reference, context.now)).enqueue_at(
                    until,
                    Job::CloseReturnWindow(id),
                    context,
                )
            }
            PayoutRailStatus::Failed { reason } => {
                let decision = self.settled(id, decision).event(Event::Failed(reason, context.now));
                self.reversal(id, decision, context)
            }
            PayoutRailStatus::Cancelled { reason } => {
                let decision = self.settled(id, decision).event(Event::Cancelled(reason, context.now));
                self.reversal(id, decision, context)
            }
            PayoutRailStatus::Returned { reason } => {
                let decision = self.settled(id, accepted(decision));
                self.returned(id, decision, reason, context)
            }
        }
    }

    fn accepted(&self, id: PayoutId, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        let decision = decision.event(Event::Accepted(context.now));
        match self.plan.target {
            PayoutTarget::App(..) => {
                let until = context.now.plus_ms(self.plan.terms.wait_ms);
                decision.enqueue_at(until, Job::RecallPayout(id), context)
            }
            PayoutTarget::Card(_) | PayoutTarget::Bank(..) => decision,
        }
    }

    /// The recall was requested. A payout that has ended otherwise meanwhile only completes the job.
    fn recalled(&self, id: PayoutId, job: JobId, done: bool, context: &Context) -> Decision<Self> {
        let decision = Decision::answer(()).completes_job(job);
        match (&self.status, done) {
            (Status::InProcess, true) => {
                let decision = self.settled(id, decision);
                self.returned(id, decision, UNCLAIMED.into(), context)
            }
            (_, true) if self.recalling => decision.event(Event::RecallCompleted(context.now)),
            _ => decision,
        }
    }
}

impl Entity for Payout {
    const KIND: EntityKind = EntityKind::Payout;

    type Id = PayoutId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = PayoutView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &PayoutId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(payout) = this else { return Err(Rejection("-")) };
        let decided = Decision::answer(());
        match (&payout.status, command) {
            (Status::AwaitingDetails, Command::SubmitDetails { last4, sealed })
                if context.now < payout.expires_at() =>
            {
                Ok(decided
                    .event(Event::DetailsSubmitted(last4, context.now))
                    .put_new(table::vault(CardId(id.0)), sealed)
                    .enqueue_as(payout.key, Job::SendPayout(*id), context))
            }
            (_, Command::SubmitDetails { .. }) => Err(Rejection(payout.status())),
            (Status::Returned { return_fee: kept, .. }, Command::RecordRailEvent(report))
                if mutants::is_enabled(Mutant::ReturnCreditedTwice)
                    && matches!(report.status, PayoutRailStatus::Returned { .. }) =>
            {
                let (posted, amount) = payout
                    .charge
                    .provider_return(context.now, *id, payout.provider(), *kept);
                let (account, cause) = (payout.owner, CreditCause::Payout(*id));
                let credit = account::Job::CreditAccount { account, amount, cause };
                Ok(decided.post_ledger(&posted, context).enqueue(credit, context))
            }
            (Status::Queued | Status::InProcess, Command::ResolveManually { job, state }) if job == payout.key => {
                Ok(payout.apply_rail_status(*id, decided, state, context))
            }
            (_, Command::ResolveManually { .. }) => Err(Rejection(payout.status())),
            (_, Command::RecordRailEvent(report)) if report.sequence <= payout.last_sequence => Ok(decided),
            (_, Command::RecordRailEvent(report)) => payout.apply_rail_event(*id, report, context),
            (Status::AwaitingDetails, Command::Expire { job }) => {
                let decision = decided.completes_job(job).event(Event::Expired(context.now));
                Ok(payout.reversal(*id, decision, context))
            }
            (Status::Complete { returnable: true, .. }, Command::CloseReturnWindow { job }) => {
                Ok(decided.completes_job(job).event(Event::ReturnWindowClosed(context.now)))
            }
            (_, Command::Expire { job } | Command::CloseReturnWindow { job }) => Ok(decided.completes_job(job)),
            (_, Command::RecordRecall { job, done }) => Ok(payout.recalled(*id, job, done, context)),
        }
    }

    fn apply(this: Option<Self>, _: &PayoutId, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || InvalidTransition::new(status, event);
        let Some(payout) = this else {
            return match event {
                Event::Ordered(ordered) => Ok(from_order(ordered)),
                _ => Err(broken()),
            };
        };
        match (payout.status.clone(), event) {
            (Status::AwaitingDetails, Event::DetailsSubmitted(last4, at)) => {
                let mut payout = payout.at(Status::Queued, *at);
                payout.plan.target = PayoutTarget::Card(Some(last4.clone()));
                Ok(payout)
            }
            (Status::AwaitingDetails, Event::FoundAtRail(at)) => Ok(payout.at(Status::Queued, *at)),
            (Status::AwaitingDetails, Event::Expired(at)) => Ok(payout.at(Status::Expired, *at)),
            (Status::Queued, Event::Accepted(at)) => Ok(payout.at(Status::InProcess, *at)),
            (Status::InProcess, Event::Completed(reference, at)) => {
                let (reference, returnable) = (reference.clone(), true);
                Ok(payout.at(Status::Complete { reference, returnable }, *at))
            }
            (Status::Queued | Status::InProcess, Event::Failed(reason, at)) => {
                Ok(payout.at(Status::Failed { reason: reason.clone() }, *at))
            }
            (Status::Queued | Status::InProcess, Event::Cancelled(reason, at)) => {
                Ok(payout.at(Status::Cancelled { reason: reason.clone() }, *at))
            }
            (Status::InProcess | Status::Complete { returnable: true, .. }, Event::Returned(reason, kept, at)) => {
                let (reason, kept) = (reason.clone(), *kept);
                Ok(payout.at(
                    Status::Returned {
                        reason,
                        return_fee: kept,
                    },
                    *at,
                ))
            }
            (
                Status::Complete {
                    reference,
                    returnable: true,
                },
                Event::ReturnWindowClosed(at),
            ) => {
                let returnable = false;
                Ok(payout.at(Status::Complete { reference, returnable }, *at))
            }
            (Status::AwaitingDetails, Event::RailSequenceAdvanced(_)) => Err(broken()),
            (_, Event::RailSequenceAdvanced(seen)) if *seen > payout.last_sequence => Ok(Self {
                last_sequence: *seen,
                ..payout
            }),
            (_, Event::PaidAfterCredit(_)) if (payout.is_credited() || payout.returned_late) && !payout.recalling => {
                Ok(Self {
                    recalling: true,
                    ..payout
                })
            }
            (_, Event::RecallCompleted(_)) if payout.recalling => Ok(Self {
                recalling: false,
                ..payout
            }),
            (Status::Complete { returnable: false, .. }, Event::ReturnedLate) if !payout.returned_late => Ok(Self {
                returned_late: true,
                ..payout
            }),
            _ => Err(broken()),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &PayoutId) -> PayoutView<'_> {
        self.view(*id)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

fn from_order(ordered: &PayoutOrdered) -> Payout {
    let status = match ordered.plan.target {
        PayoutTarget::Card(_) => Status::AwaitingDetails,
        PayoutTarget::Bank(..) | PayoutTarget::App(..) => Status::Queued,
    };
    Payout {
        owner: ordered.owner,
        charge: ordered.charge,
        amount: ordered.amount,
        currency: ordered.currency,
        message: ordered.message.clone(),
        plan: ordered.plan.clone(),
        key: ordered.key,
        created_at: ordered.at,
        updated_at: ordered.at,
        last_sequence: 0,
        recalling: false,
        returned_late: false,
        status,
    }
}
