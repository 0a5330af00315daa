//! The withdrawal's state machine.

use purser_storage::planted::{self, Bug};

use super::{CardWithdrawal, Command, Event, PUT_BACK, Rejection, Status};
use crate::id::{EffectId, Wallet, WithdrawalId};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::lease::{Change, Lease, Leased, Leases, NotYours};
use crate::operator::Deed;
use crate::port::Timestamp;

type Decided = Result<Decision<CardWithdrawal>, Rejection>;

fn ask(id: WithdrawalId, command: Command, context: &Context) -> Decided {
    let Command::Ask {
        owner,
        account,
        to,
        amount,
    } = command
    else {
        return Err(Rejection::State("-"));
    };
    let at = context.now;
    let asked = Event::Asked {
        owner,
        account,
        to,
        amount,
        at,
    };
    Ok(Decision::answer(None)
        .requires_present(table::linked(&owner))
        // Among the other withdrawals, so that they are one list.
        .owned(&owner, Kind::Withdrawal, id.0, context)
        .event(asked)
        .then_as(EffectId(id.0), Work::ReserveCardBalance(id), context))
}

impl CardWithdrawal {
    /// Nobody has to decide any more, and the issuer is told how the reservation ends.
    fn over(&self, id: WithdrawalId, decided: Decision<Self>, context: &Context) -> Decision<Self> {
        decided
            .take(table::card_queued(self.created_at, id))
            .then(Work::EndReservation(id), context)
    }

    /// It is decided already, in a history that was lost: nobody is to pay it, and the issuer has nothing to be told.
    fn found_over(&self, id: WithdrawalId, act: &Deed, paid: bool, context: &Context) -> Decided {
        let key = self.reservation.ok_or(Rejection::Unreserved)?;
        let words = if paid { "paid" } else { "put back" };
        let at = context.now;
        Ok(Decision::answer(None)
            .audited(act, "card_withdrawal.found_over", id, Some(words.to_owned()), context)
            .take(table::card_queued(self.created_at, id))
            .event(Event::Over { key, paid, at }))
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// What an operator asks for.
    fn operate(&self, id: WithdrawalId, command: Command, context: &Context) -> Decided {
        let (decided, now) = (Decision::answer(None), context.now);
        match (&self.status, command) {
            (Status::Queued | Status::Claimed(_), Command::Claim { act, life_ms }) => {
                // Nobody pays it for who is frozen by then.
                let claimed = self.claim(id, &act, life_ms, context)?;
                Ok(claimed.requires_absent(table::frozen(&self.owner)))
            }
            (Status::Claimed(_), Command::Release { act, lease }) => Ok(self.release(id, &act, lease, context)?),
            (
                Status::Claimed(_),
                Command::Fulfil {
                    act,
                    lease,
                    transaction,
                },
            ) => {
                self.leases().held_by(&act, lease, now)?;
                let words = Some(transaction.clone());
                let decided = decided
                    .audited(&act, "card_withdrawal.fulfil", id, words, context)
                    .put_new(table::paid_by(&transaction), id.0.to_be_bytes().to_vec())
                    .event(Event::Fulfilled(transaction, now));
                Ok(self.over(id, decided, context))
            }
            (Status::Queued, Command::Fulfil { .. }) => Err(NotYours::OldLease(self.lease).into()),
            (Status::Queued | Status::Claimed(_), Command::Reject { act, lease, reason }) => {
                // Once claimed, the money may be on its way, also after the lease has ended: only who holds it now, and so
                // has seen who held it before, may say that nothing was paid.
                match (&self.status, lease) {
                    (Status::Queued, None) => {}
                    (Status::Claimed(_), Some(_)) if planted::is(Bug::OldLeaseRejects) => {}
                    (Status::Claimed(_), Some(lease)) => self.leases().held_by(&act, lease, now)?,
                    _ => return Err(NotYours::OldLease(self.lease).into()),
                }
                let decided = decided
                    .audited(&act, "card_withdrawal.reject", id, Some(reason.clone()), context)
                    .event(Event::Rejected(reason, now));
                Ok(self.over(id, decided, context))
            }
            (Status::Queued | Status::Claimed(_), Command::FoundOver { act, paid }) => {
                self.found_over(id, &act, paid, context)
            }
            (Status::Over { paid }, _) => Err(Rejection::Over { paid: *paid }),
            (_, _) => Err(Rejection::State(self.status())),
        }
    }
}

impl Leased for CardWithdrawal {
    fn answered(lease: Option<Lease>) -> Option<Lease> {
        lease
    }

    fn leases(&self) -> Leases<'_> {
        Leases {
            last: self.lease,
            holder: self.holder(),
        }
    }

    fn told(change: Change) -> Event {
        match change {
            Change::Claimed(holder, at) => Event::Claimed(holder, at),
            Change::Ended(at) => Event::LeaseEnded(at),
            Change::Released(at) => Event::Released(at),
        }
    }

    fn end_of(id: WithdrawalId, lease: u64) -> Work {
        Work::EndCardLease { withdrawal: id, lease }
    }
}

impl CardWithdrawal {
    /// Where it stands, in the words that are said of every withdrawal: on its way, paid, or not paid and back on the balance.
    const fn state(&self) -> &'static str {
        match &self.status {
            Status::Pending | Status::Queued | Status::Claimed(_) => "pending",
            Status::Complete { .. } | Status::Over { paid: true } => "complete",
            Status::Rejected { .. } | Status::Failed { .. } | Status::Over { paid: false } => "failed",
        }
    }
}

impl Entity for CardWithdrawal {
    const KIND: Kind = Kind::CardWithdrawal;
    const CHANGES: &'static [&'static str] = &[
        "pending", "queued", "failed", "claimed", "complete", "rejected", "put_back",
    ];
    const MOVES: &'static [Move] = &[
        ("-", "holder asks for it", "pending"),
        ("pending", "issuer set it aside", "queued"),
        ("pending", "issuer definitely refused", "failed"),
        ("pending", "issuer had ended it as paid (restored)", "complete"),
        ("pending", "issuer had put it back (restored)", "rejected"),
        ("queued", "an operator claims it", "claimed"),
        ("queued", "issuer had ended it as paid (restored)", "complete"),
        (
            "queued",
            "an operator rejects; issuer puts it back, or had (restored)",
            "rejected",
        ),
        ("claimed", "an operator releases it", "queued"),
        (
            "claimed",
            "the operator whose lease runs has paid, or issuer had ended it as paid (restored)",
            "complete",
        ),
        (
            "claimed",
            "the operator whose lease runs rejects; issuer puts it back, or had (restored)",
            "rejected",
        ),
    ];
    const SELF_BORN: bool = true;

    type Id = WithdrawalId;
    type Command = Command;
    type Event = Event;
    type Answer = Option<Lease>;
    type Rejection = Rejection;
    type Outcome = Self;

    fn decide(this: Option<&Self>, id: &WithdrawalId, command: Command, context: &Context) -> Decided {
        let Some(asked) = this else {
            return ask(*id, command, context);
        };
        let (decided, now) = (Decision::answer(None), context.now);
        match (&asked.status, command) {
            (Status::Pending, Command::Held { effect }) => Ok(decided
                .completes(effect)
                .put_new(table::card_queued(asked.created_at, *id), Vec::new())
                .event(Event::Held(effect, now))),
            (Status::Pending, Command::Refused { effect, reason }) => {
                Ok(decided.completes(effect).event(Event::Refused(reason, now)))
            }
            (Status::Pending, Command::Over { effect, paid }) => {
                let (key, at) = (effect, now);
                Ok(decided.completes(effect).event(Event::Over { key, paid, at }))
            }
            (Status::Claimed(Some(_)), Command::EndLease { effect, lease }) if lease == asked.lease => {
                Ok(decided.completes(effect).event(Event::LeaseEnded(now)))
            }
            // Timers are never called off: one that comes too late just ends.
            (_, Command::EndLease { effect, .. }) => Ok(decided.completes(effect)),
            (_, Command::Settled { effect }) if !asked.settled => match asked.is_paid() {
                Some(paid) => {
                    let settled = Event::Settled { back: !paid, at: now };
                    Ok(decided.completes(effect).event(settled))
                }
                None => Err(Rejection::State(asked.status())),
            },
            (_, command) => asked.operate(*id, command, context),
        }
    }

    fn apply(this: Option<Self>, _: &WithdrawalId, event: &Event) -> Result<Self, OutOfOrder> {
        let Some(asked) = this else {
            return match event {
                Event::Asked {
                    owner,
                    account,
                    to,
                    amount,
                    at,
                } => Ok(Self {
                    owner: *owner,
                    account: *account,
                    to: *to,
                    amount: *amount,
                    created_at: *at,
                    updated_at: *at,
                    reservation: None,
                    lease: 0,
                    settled: false,
                    status: Status::Pending,
                }),
                event => Err(OutOfOrder::new("-", event)),
            };
        };
        match (asked.status.clone(), event) {
            (Status::Pending, Event::Held(key, at)) => {
                let reservation = Some(*key);
                Ok(Self { reservation, ..asked }.at(Status::Queued, *at))
            }
            (Status::Pending, Event::Refused(reason, at)) => {
                let reason = reason.clone();
                Ok(asked.at(Status::Failed { reason }, *at))
            }
            (Status::Pending, Event::Over { key, paid, at }) => Ok(over(asked, *key, *paid, *at)),
            (Status::Queued | Status::Claimed(_), Event::Over { key, paid, at }) if asked.reservation == Some(*key) => {
                Ok(over(asked, *key, *paid, *at))
            }
            (Status::Queued | Status::Claimed(None), Event::Claimed(holder, at)) => {
                let lease = asked.lease.saturating_add(1);
                Ok(Self { lease, ..asked }.at(Status::Claimed(Some(holder.clone())), *at))
            }
            (Status::Claimed(Some(_)), Event::LeaseEnded(at)) => Ok(asked.at(Status::Claimed(None), *at)),
            (Status::Claimed(_), Event::Released(at)) => Ok(asked.at(Status::Queued, *at)),
            (Status::Claimed(Some(_)), Event::Fulfilled(transaction, at)) => {
                let transaction = transaction.clone();
                Ok(asked.at(Status::Complete { transaction }, *at))
            }
            (Status::Queued | Status::Claimed(_), Event::Rejected(reason, at)) => {
                let reason = reason.clone();
                Ok(asked.at(Status::Rejected { reason }, *at))
            }
            (status @ Status::Complete { .. }, Event::Settled { back: false, at })
            | (status @ Status::Rejected { .. }, Event::Settled { back: true, at })
                if !asked.settled =>
            {
                let settled = true;
                Ok(Self { settled, ..asked }.at(status, *at))
            }
            (_, event) => Err(OutOfOrder::new(asked.status(), event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Pending => "pending",
            Status::Queued => "queued",
            Status::Claimed(_) => "claimed",
            Status::Complete { .. } | Status::Over { paid: true } => "complete",
            Status::Rejected { .. } | Status::Over { paid: false } => "rejected",
            Status::Failed { .. } => "failed",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Asked { .. } => "pending",
            Event::Held(..) | Event::Released(_) => "queued",
            Event::Refused(..) => "failed",
            Event::Claimed(..) => "claimed",
            // To the holder nothing has changed; what was paid is off the balance since it was asked for.
            Event::LeaseEnded(_) | Event::Settled { back: false, .. } => return None,
            Event::Fulfilled(..) | Event::Over { paid: true, .. } => "complete",
            Event::Rejected(..) | Event::Over { paid: false, .. } => "rejected",
            Event::Settled { back: true, .. } => "put_back",
        })
    }

    fn view(&self, id: &WithdrawalId) -> View {
        let (transaction, reason) = match &self.status {
            Status::Complete { transaction } => (Some(transaction.as_str()), None),
            Status::Rejected { reason } => (None, Some(reason.as_str())),
            Status::Failed { reason } => (None, Some(reason.as_str())),
            Status::Over { paid: false } => (None, Some(PUT_BACK)),
            _ => (None, None),
        };
        View::new()
            .text("id", id)
            .text("source", "card_balance")
            .text("state", self.state())
            .text("status", self.status())
            .number("amount", self.amount.decimal())
            .text("asset", "USDC")
            .text("network", self.to.network().name())
            .text("address", self.to.address())
            .maybe("tx_hash", transaction)
            .maybe("failure_reason", reason)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        (self.status != Status::Pending).then(|| self.clone())
    }
}

/// Ended by the issuer in a history that was lost: nothing of it is left to be done.
fn over(asked: CardWithdrawal, key: EffectId, paid: bool, at: Timestamp) -> CardWithdrawal {
    let (reservation, settled) = (Some(key), true);
    let asked = asked.at(Status::Over { paid }, at);
    CardWithdrawal {
        reservation,
        settled,
        ..asked
    }
}
