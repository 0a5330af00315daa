//! The payout's state machine.

use purser_storage::planted::{self, Bug};

use super::{Command, Event, Ordered, Payout, Rejection, Status, Target};
use crate::id::{CardId, EffectId, PayoutId, Wallet};
use crate::kernel::effect::{CreditCause, Work};
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::money::Usdc;
use crate::port::payout::{RailState, Report};
use crate::port::{Said, Timestamp};

/// Said of a payment to an app that nobody claimed.
const UNCLAIMED: &str = "unclaimed";

impl Payout {
    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    pub(super) fn provider(&self) -> crate::ledger::Provider {
        self.plan.target.line().provider()
    }

    /// Credits the whole charge, fee included.
    fn undone(&self, id: PayoutId, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        let back = self.charge.undone(context.now, id, self.provider());
        let credit = Work::Credit {
            account: self.owner,
            amount: self.charge.charged,
            cause: CreditCause::Payout(id),
        };
        let decision = decision.post(&back, context).then(credit, context);
        self.uncounted(id, decision, context)
    }

    /// What came back was not paid to anybody: its recipient's totals are told.
    pub(super) fn uncounted(&self, id: PayoutId, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        match self.plan.target {
            Target::App(..) => decision.then(Work::UncountPayment(id), context),
            Target::Card(_) | Target::Bank(..) => decision,
        }
    }

    /// Credits what came back, less what the rail keeps of it; our fee is earned.
    fn returned(&self, id: PayoutId, decision: Decision<Self>, reason: Said, context: &Context) -> Decision<Self> {
        let kept = self.plan.terms.return_fee.min(self.charge.owed());
        let (posted, amount) = self.charge.returned(context.now, id, self.provider(), kept);
        let decision = decision
            .event(Event::Returned(reason, kept, context.now))
            .post(&posted, context);
        let decision = self.uncounted(id, decision, context);
        if amount == Usdc::ZERO {
            return decision;
        }
        let (account, cause) = (self.owner, CreditCause::Payout(id));
        decision.then(Work::Credit { account, amount, cause }, context)
    }

    /// The order at the rail has come to its end, and nobody needs the card's number any more.
    fn settled(&self, id: PayoutId, decision: Decision<Self>) -> Decision<Self> {
        let decision = decision.completes(self.key);
        match self.plan.target {
            Target::Card(Some(_)) => decision.take(table::vault(CardId(id.0))),
            // The form was filled in by a history that was lost: nothing of it is kept here.
            Target::Card(None) | Target::Bank(..) | Target::App(..) => decision,
        }
    }

    /// A word of the rail that is newer than all before it.
    fn told(
        &self,
        id: PayoutId,
        Report { sequence, state }: Report,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        if self.status == Status::AwaitingDetails {
            // Ordered at the rail by a history that a restore has lost. The word is not taken yet: the effect asks for it.
            let found = Decision::answer(()).event(Event::Found(context.now));
            return Ok(found.then_as(self.key, Work::SendPayout(id), context));
        }
        let decision = Decision::answer(()).event(Event::Seen(sequence));
        Ok(match &self.status {
            Status::AwaitingDetails | Status::Queued | Status::InProcess => self.moved(id, decision, state, context),
            Status::Complete { returnable, .. } => match state {
                // Its late return has credited the payer: paid again, it is taken back as after any credit.
                RailState::Complete { .. } if self.came_back_late && !self.recalling => decision
                    .event(Event::PaidTooLate(context.now))
                    .then(Work::RecallPayout(id), context),
                RailState::InProcess { .. } | RailState::Complete { .. } => decision,
                // What was a lie, or did not last, comes back all the same.
                RailState::Failed { reason } | RailState::Cancelled { reason } | RailState::Returned { reason } => {
                    if !*returnable {
                        return self.came_back_late(id, decision, reason, context);
                    }
                    self.returned(id, decision, reason, context)
                }
            },
            Status::Failed { .. } | Status::Cancelled { .. } | Status::Expired | Status::Returned { .. } => match state
            {
                RailState::Complete { .. } if !self.recalling => decision
                    .event(Event::PaidTooLate(context.now))
                    .then(Work::RecallPayout(id), context),
                _ => decision,
            },
        })
    }

    /// What a new word means for a payout that is under way.
    fn moved(&self, id: PayoutId, decision: Decision<Self>, state: RailState, context: &Context) -> Decision<Self> {
        let accepted = |decision: Decision<Self>| match self.status {
            Status::Queued => self.accepted(id, decision, context),
            _ => decision,
        };
        match state {
            RailState::InProcess { .. } => accepted(decision),
            RailState::Complete { reference } => {
                let decision = self.settled(id, accepted(decision));
                let until = context.now.plus_ms(self.plan.terms.returns_ms);
                decision
                    .event(Event::Completed(reference, context.now))
                    .then_at(until, Work::CloseReturns(id), context)
            }
            RailState::Failed { reason } => {
                let decision = self.settled(id, decision).event(Event::Failed(reason, context.now));
                self.undone(id, decision, context)
            }
            RailState::Cancelled { reason } => {
                let decision = self.settled(id, decision).event(Event::Cancelled(reason, context.now));
                self.undone(id, decision, context)
            }
            RailState::Returned { reason } => {
                let decision = self.settled(id, accepted(decision));
                self.returned(id, decision, reason, context)
            }
        }
    }

    fn accepted(&self, id: PayoutId, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        let decision = decision.event(Event::Accepted(context.now));
        match self.plan.target {
            Target::App(..) => {
                let until = context.now.plus_ms(self.plan.terms.wait_ms);
                decision.then_at(until, Work::RecallPayout(id), context)
            }
            Target::Card(_) | Target::Bank(..) => decision,
        }
    }

    /// The rail was asked to give the money back; whatever has ended otherwise meanwhile only ends the asking.
    fn recalled(&self, id: PayoutId, effect: EffectId, done: bool, context: &Context) -> Decision<Self> {
        let decision = Decision::answer(()).completes(effect);
        match (&self.status, done) {
            (Status::InProcess, true) => {
                let decision = self.settled(id, decision);
                self.returned(id, decision, UNCLAIMED.into(), context)
            }
            (_, true) if self.recalling => decision.event(Event::TakenBack(context.now)),
            _ => decision,
        }
    }
}

impl Entity for Payout {
    const KIND: Kind = Kind::Payout;
    const CHANGES: &'static [&'static str] = &[
        "awaiting-details",
        "queued",
        "in-process",
        "complete",
        "failed",
        "cancelled",
        "expired",
        "returned",
    ];
    const MOVES: &'static [Move] = &[
        ("-", "payment for a push to card settled", "awaiting-details"),
        ("-", "payment settled", "queued"),
        (
            "awaiting-details",
            "recipient gave a card, or the rail has it (restored)",
            "queued",
        ),
        ("awaiting-details", "30 days without one; charge credited", "expired"),
        ("queued", "rail has it", "in-process"),
        ("queued", "rail definitely refused; charge credited", "failed"),
        ("queued", "rail stopped it; charge credited", "cancelled"),
        ("in-process", "rail paid it", "complete"),
        ("in-process", "rail definitely refused; charge credited", "failed"),
        ("in-process", "rail stopped it; charge credited", "cancelled"),
        (
            "in-process",
            "unclaimed for 30 days; amount less return fee credited",
            "returned",
        ),
        (
            "complete",
            "came back in time; amount less return fee credited",
            "returned",
        ),
    ];

    type Id = PayoutId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        id: &PayoutId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(payout) = this else { return Err(Rejection("-")) };
        let decided = Decision::answer(());
        match (&payout.status, command) {
            (Status::AwaitingDetails, Command::Detail { last4, sealed }) if context.now < payout.open_until() => {
                Ok(decided
                    .event(Event::Detailed(last4, context.now))
                    .put_new(table::vault(CardId(id.0)), sealed)
                    .then_as(payout.key, Work::SendPayout(*id), context))
            }
            (_, Command::Detail { .. }) => Err(Rejection(payout.status())),
            (Status::Returned { kept, .. }, Command::Reported(report))
                if planted::is(Bug::ReturnCreditedTwice) && matches!(report.state, RailState::Returned { .. }) =>
            {
                let (posted, amount) = payout.charge.returned(context.now, *id, payout.provider(), *kept);
                let (account, cause) = (payout.owner, CreditCause::Payout(*id));
                let credit = Work::Credit { account, amount, cause };
                Ok(decided.post(&posted, context).then(credit, context))
            }
            (Status::Queued | Status::InProcess, Command::Resolved { effect, state }) if effect == payout.key => {
                Ok(payout.moved(*id, decided, state, context))
            }
            (_, Command::Resolved { .. }) => Err(Rejection(payout.status())),
            (_, Command::Reported(report)) if report.sequence <= payout.seen => Ok(decided),
            (_, Command::Reported(report)) => payout.told(*id, report, context),
            (Status::AwaitingDetails, Command::Expire { effect }) => {
                let decision = decided.completes(effect).event(Event::Expired(context.now));
                Ok(payout.undone(*id, decision, context))
            }
            (Status::Complete { returnable: true, .. }, Command::CloseReturns { effect }) => {
                Ok(decided.completes(effect).event(Event::ReturnsClosed(context.now)))
            }
            (_, Command::Expire { effect } | Command::CloseReturns { effect }) => Ok(decided.completes(effect)),
            (_, Command::Recalled { effect, done }) => Ok(payout.recalled(*id, effect, done, context)),
        }
    }

    fn apply(this: Option<Self>, _: &PayoutId, event: &Event) -> Result<Self, OutOfOrder> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || OutOfOrder::new(status, event);
        let Some(payout) = this else {
            return match event {
                Event::Ordered(ordered) => Ok(begun(ordered)),
                _ => Err(broken()),
            };
        };
        match (payout.status.clone(), event) {
            (Status::AwaitingDetails, Event::Detailed(last4, at)) => {
                let mut payout = payout.at(Status::Queued, *at);
                payout.plan.target = Target::Card(Some(last4.clone()));
                Ok(payout)
            }
            (Status::AwaitingDetails, Event::Found(at)) => Ok(payout.at(Status::Queued, *at)),
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
                Ok(payout.at(Status::Returned { reason, kept }, *at))
            }
            (
                Status::Complete {
                    reference,
                    returnable: true,
                },
                Event::ReturnsClosed(at),
            ) => {
                let returnable = false;
                Ok(payout.at(Status::Complete { reference, returnable }, *at))
            }
            (Status::AwaitingDetails, Event::Seen(_)) => Err(broken()),
            (_, Event::Seen(seen)) if *seen > payout.seen => Ok(Self { seen: *seen, ..payout }),
            (_, Event::PaidTooLate(_)) if (payout.is_credited() || payout.came_back_late) && !payout.recalling => {
                Ok(Self {
                    recalling: true,
                    ..payout
                })
            }
            (_, Event::TakenBack(_)) if payout.recalling => Ok(Self {
                recalling: false,
                ..payout
            }),
            (Status::Complete { returnable: false, .. }, Event::CameBackLate) if !payout.came_back_late => Ok(Self {
                came_back_late: true,
                ..payout
            }),
            _ => Err(broken()),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::AwaitingDetails => "awaiting-details",
            Status::Queued => "queued",
            Status::InProcess => "in-process",
            Status::Complete { .. } => "complete",
            Status::Failed { .. } => "failed",
            Status::Cancelled { .. } => "cancelled",
            Status::Expired => "expired",
            Status::Returned { .. } => "returned",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Ordered(ordered) if matches!(ordered.plan.target, Target::Card(_)) => "awaiting-details",
            Event::Ordered(_) | Event::Detailed(..) | Event::Found(_) => "queued",
            Event::Accepted(_) => "in-process",
            Event::Completed(..) => "complete",
            Event::Failed(..) => "failed",
            Event::Cancelled(..) => "cancelled",
            Event::Expired(_) => "expired",
            Event::Returned(..) => "returned",
            // The house's own: nothing changes for the payer. A late return announces itself.
            Event::ReturnsClosed(_)
            | Event::Seen(_)
            | Event::PaidTooLate(_)
            | Event::TakenBack(_)
            | Event::CameBackLate => return None,
        })
    }

    fn view(&self, id: &PayoutId) -> View {
        self.shown(*id)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

fn begun(ordered: &Ordered) -> Payout {
    let status = match ordered.plan.target {
        Target::Card(_) => Status::AwaitingDetails,
        Target::Bank(..) | Target::App(..) => Status::Queued,
    };
    Payout {
        owner: ordered.owner,
        charge: ordered.charge,
        amount: ordered.amount,
        currency: ordered.currency,
        plan: ordered.plan.clone(),
        key: ordered.key,
        created_at: ordered.at,
        updated_at: ordered.at,
        seen: 0,
        recalling: false,
        came_back_late: false,
        status,
    }
}
