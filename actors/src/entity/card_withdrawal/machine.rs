//! State machine of a card withdrawal.

use purser_storage::mutants::{self, Mutant};

use super::{CardWithdrawal, Command, Event, HOLD_RELEASED_REASON, Job, Rejection, Status};
use crate::entity::withdrawal::{self, WithdrawalSource, WithdrawalView};
use crate::id::{JobId, Wallet, WithdrawalId};
use crate::kernel::job::AnyJob;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::lease::{Leasable, Lease, LeaseError, LeaseEvent, Leases};
use crate::operator::{AuditAction, AuditedAction};
use crate::port::Timestamp;

type DecisionResult = Result<Decision<CardWithdrawal>, Rejection>;

fn request(id: WithdrawalId, command: Command, context: &Context) -> DecisionResult {
    let Command::Request {
        owner,
        account,
        to,
        amount,
    } = command
    else {
        return Err(Rejection::InvalidState("-"));
    };
    let at = context.now;
    let asked = Event::Requested {
        owner,
        account,
        to,
        amount,
        at,
    };
    Ok(Decision::answer(None)
        .requires_present(table::issuer_linked(&owner))
        // Indexed with the other withdrawals, so that they form one list.
        .index_for_owner(&owner, EntityKind::Withdrawal, id.0, context)
        .event(asked)
        .enqueue_as(JobId(id.0), Job::HoldCardBalance(id), context))
}

impl CardWithdrawal {
    /// No decision is needed any more, and a job tells the issuer how the hold ends.
    fn close_at_issuer(&self, id: WithdrawalId, decided: Decision<Self>, context: &Context) -> Decision<Self> {
        decided
            .delete(table::card_withdrawal_queue(self.created_at, id))
            .enqueue(Job::SettleCardHold(id), context)
    }

    /// It was already decided in a history that was lost: it must not be paid, and the issuer needs no notification.
    fn record_closed_on_review(
        &self,
        id: WithdrawalId,
        act: &AuditedAction,
        paid: bool,
        context: &Context,
    ) -> DecisionResult {
        let key = self.hold_key.ok_or(Rejection::HoldMissing)?;
        let words = if paid { "paid" } else { "released" };
        let at = context.now;
        Ok(Decision::answer(None)
            .audit(
                act,
                AuditAction::CardWithdrawalClosedAtIssuer,
                id,
                Some(words.to_owned()),
                context,
            )
            .delete(table::card_withdrawal_queue(self.created_at, id))
            .event(Event::ClosedAtIssuer { key, paid, at }))
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// Decides a command of an operator.
    fn decide_operator_command(&self, id: WithdrawalId, command: Command, context: &Context) -> DecisionResult {
        let (decided, now) = (Decision::answer(None), context.now);
        match (&self.status, command) {
            (Status::Queued | Status::Claimed(_), Command::Claim { act, life_ms }) => {
                // It is not paid for an account that is frozen by then.
                let claimed = self.claim(id, &act, life_ms, context)?;
                Ok(claimed.requires_absent(table::frozen(&self.owner)))
            }
            (Status::Claimed(_), Command::Release { act, lease }) => Ok(self.release(id, &act, lease, context)?),
            (Status::Claimed(_), Command::Renew { act, lease, life_ms }) => {
                // As for a claim: the operator would go on to pay it.
                let renewed = self.renew(id, &act, lease, life_ms, context)?;
                Ok(renewed.requires_absent(table::frozen(&self.owner)))
            }
            (Status::Queued, Command::Renew { .. }) => Err(LeaseError::Stale(self.lease).into()),
            (
                Status::Claimed(_),
                Command::Fulfil {
                    act,
                    lease,
                    transaction,
                },
            ) => {
                self.leases().check_held_by(&act, lease, now)?;
                let words = Some(transaction.clone());
                let decided = decided
                    .audit(&act, AuditAction::CardWithdrawalFulfil, id, words, context)
                    .put_new(table::withdrawal_transaction(&transaction), id.0.to_be_bytes().to_vec())
                    .event(Event::Fulfilled(transaction, now));
                Ok(self.close_at_issuer(id, decided, context))
            }
            (Status::Queued, Command::Fulfil { .. }) => Err(LeaseError::Stale(self.lease).into()),
            (Status::Queued | Status::Claimed(_), Command::Reject { act, lease, reason }) => {
                // Once claimed, the money may be on its way, even after the lease expired. Only the current lease
                // holder, who has seen the previous one, may report that nothing was paid.
                match (&self.status, lease) {
                    (Status::Queued, None) => {}
                    (Status::Claimed(_), Some(_)) if mutants::is_enabled(Mutant::StaleLeaseAccepted) => {}
                    (Status::Claimed(_), Some(lease)) => self.leases().check_held_by(&act, lease, now)?,
                    _ => return Err(LeaseError::Stale(self.lease).into()),
                }
                let decided = decided
                    .audit(
                        &act,
                        AuditAction::CardWithdrawalReject,
                        id,
                        Some(reason.clone()),
                        context,
                    )
                    .event(Event::Rejected(reason, now));
                Ok(self.close_at_issuer(id, decided, context))
            }
            (Status::Queued | Status::Claimed(_), Command::RecordClosedOnReview { act, paid }) => {
                self.record_closed_on_review(id, &act, paid, context)
            }
            (Status::ClosedAtIssuer { paid }, _) => Err(Rejection::ClosedAtIssuer { paid: *paid }),
            (_, _) => Err(Rejection::InvalidState(self.status())),
        }
    }
}

impl Leasable for CardWithdrawal {
    const CLAIM: AuditAction = AuditAction::CardWithdrawalClaim;
    const RELEASE: AuditAction = AuditAction::CardWithdrawalRelease;
    const RENEW: AuditAction = AuditAction::CardWithdrawalRenew;

    fn lease_reply(lease: Option<Lease>) -> Option<Lease> {
        lease
    }

    fn leases(&self) -> Leases<'_> {
        Leases {
            last: self.lease,
            holder: self.holder(),
        }
    }

    fn lease_event(change: LeaseEvent) -> Event {
        match change {
            LeaseEvent::Claimed(holder, at) => Event::Claimed(holder, at),
            LeaseEvent::Expired(at) => Event::LeaseExpired(at),
            LeaseEvent::Released(at) => Event::Released(at),
        }
    }

    fn expiry_job(id: WithdrawalId, lease: u64) -> AnyJob {
        Job::ExpireWithdrawalLease { withdrawal: id, lease }.into()
    }
}

impl CardWithdrawal {
    /// Public status, common to all withdrawals: pending, paid, or not paid and released to the balance.
    const fn public_state(&self) -> withdrawal::State {
        match &self.status {
            Status::Pending | Status::Queued | Status::Claimed(_) => withdrawal::State::Pending,
            Status::Complete { .. } | Status::ClosedAtIssuer { paid: true } => withdrawal::State::Complete,
            Status::Rejected { .. } | Status::Failed { .. } | Status::ClosedAtIssuer { paid: false } => {
                withdrawal::State::Failed
            }
        }
    }
}

impl Entity for CardWithdrawal {
    const KIND: EntityKind = EntityKind::CardWithdrawal;
    const CREATED_BY_COMMAND: bool = true;

    type Id = WithdrawalId;
    type Command = Command;
    type Reply = Option<Lease>;
    type Rejection = Rejection;
    type Outcome = Self;
    type View<'a> = WithdrawalView<'a>;

    fn decide(this: Option<&Self>, id: &WithdrawalId, command: Command, context: &Context) -> DecisionResult {
        let Some(asked) = this else {
            return request(*id, command, context);
        };
        let (decided, now) = (Decision::answer(None), context.now);
        match (&asked.status, command) {
            (Status::Pending, Command::RecordHold { job }) => Ok(decided
                .completes_job(job)
                .put_new(table::card_withdrawal_queue(asked.created_at, *id), Vec::new())
                .event(Event::Held(job, now))),
            (Status::Pending, Command::RecordDecline { job, reason }) => {
                Ok(decided.completes_job(job).event(Event::Declined(reason, now)))
            }
            (Status::Pending, Command::RecordClosedAtIssuer { job, paid }) => {
                let (key, at) = (job, now);
                Ok(decided
                    .completes_job(job)
                    .event(Event::ClosedAtIssuer { key, paid, at }))
            }
            (Status::Claimed(Some(_)), Command::ExpireLease { job, lease }) if lease == asked.lease => {
                Ok(decided.completes_job(job).event(Event::LeaseExpired(now)))
            }
            // Scheduled jobs are never cancelled: one that runs too late just completes.
            (_, Command::ExpireLease { job, .. }) => Ok(decided.completes_job(job)),
            (_, Command::EndLease { lease }) => Ok(asked.end_lease(lease, context)),
            (_, Command::RecordHoldSettled { job }) if !asked.settled => match asked.is_paid() {
                Some(paid) => {
                    let settled = Event::HoldSettled {
                        released: !paid,
                        at: now,
                    };
                    Ok(decided.completes_job(job).event(settled))
                }
                None => Err(Rejection::InvalidState(asked.status())),
            },
            (_, command) => asked.decide_operator_command(*id, command, context),
        }
    }

    fn apply(this: Option<Self>, _: &WithdrawalId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(asked) = this else {
            return match event {
                Event::Requested {
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
                    hold_key: None,
                    lease: 0,
                    settled: false,
                    status: Status::Pending,
                }),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        match (asked.status.clone(), event) {
            (Status::Pending, Event::Held(key, at)) => {
                let reservation = Some(*key);
                Ok(Self {
                    hold_key: reservation,
                    ..asked
                }
                .at(Status::Queued, *at))
            }
            (Status::Pending, Event::Declined(reason, at)) => {
                let reason = reason.clone();
                Ok(asked.at(Status::Failed { reason }, *at))
            }
            (Status::Pending, Event::ClosedAtIssuer { key, paid, at }) => Ok(closed_at_issuer(asked, *key, *paid, *at)),
            (Status::Queued | Status::Claimed(_), Event::ClosedAtIssuer { key, paid, at })
                if asked.hold_key == Some(*key) =>
            {
                Ok(closed_at_issuer(asked, *key, *paid, *at))
            }
            (Status::Queued | Status::Claimed(None), Event::Claimed(holder, at)) => {
                let lease = asked.lease.saturating_add(1);
                Ok(Self { lease, ..asked }.at(Status::Claimed(Some(holder.clone())), *at))
            }
            (Status::Claimed(Some(_)), Event::LeaseExpired(at)) => Ok(asked.at(Status::Claimed(None), *at)),
            (Status::Claimed(_), Event::Released(at)) => Ok(asked.at(Status::Queued, *at)),
            (Status::Claimed(Some(_)), Event::Fulfilled(transaction, at)) => {
                let transaction = transaction.clone();
                Ok(asked.at(Status::Complete { transaction }, *at))
            }
            (Status::Queued | Status::Claimed(_), Event::Rejected(reason, at)) => {
                let reason = reason.clone();
                Ok(asked.at(Status::Rejected { reason }, *at))
            }
            (status @ Status::Complete { .. }, Event::HoldSettled { released: false, at })
            | (status @ Status::Rejected { .. }, Event::HoldSettled { released: true, at })
                if !asked.settled =>
            {
                let settled = true;
                Ok(Self { settled, ..asked }.at(status, *at))
            }
            (_, event) => Err(InvalidTransition::new(asked.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &WithdrawalId) -> WithdrawalView<'_> {
        let (transaction, reason) = match &self.status {
            Status::Complete { transaction } => (Some(transaction.as_str()), None),
            Status::Rejected { reason } => (None, Some(reason.as_str())),
            Status::Failed { reason } => (None, Some(reason.as_str())),
            Status::ClosedAtIssuer { paid: false } => (None, Some(HOLD_RELEASED_REASON)),
            _ => (None, None),
        };
        WithdrawalView {
            id: *id,
            source: Some(WithdrawalSource::CardBalance),
            state: self.public_state(),
            status: Some(self.state()),
            amount: self.amount.into(),
            asset: "USDC",
            network: self.to.network(),
            address: self.to.into(),
            tx_hash: transaction,
            failure_reason: reason,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<Self> {
        (self.status != Status::Pending).then(|| self.clone())
    }
}

/// The issuer ended it in a history that was lost: nothing is left to do.
fn closed_at_issuer(asked: CardWithdrawal, key: JobId, paid: bool, at: Timestamp) -> CardWithdrawal {
    let (reservation, settled) = (Some(key), true);
    let asked = asked.at(Status::ClosedAtIssuer { paid }, at);
    CardWithdrawal {
        hold_key: reservation,
        settled,
        ..asked
    }
}
