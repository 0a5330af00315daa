//! State machine of a payment.

use purser_storage::mutants::{self, Mutant};

use super::PaymentView;
use super::view::{never_settled, reorged};
use super::{Claim, Command, Event, Job, Outcome, Payment, Rejection, Reply, SessionSeed, Status};
use crate::entity::PurchasedProduct;
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::id::{JobId, PaymentId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, NewEntity, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::port::{ChainStatus, Finality, PreparedTransaction};

type DecisionResult = Result<Decision<Payment>, Rejection>;

impl Payment {
    /// First snapshot of a payment, for the batch of the account that claims it. With `prepared` it is `settling` from
    /// that batch on: its job sends these bytes.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn claim(
        id: PaymentId,
        claim: Claim,
        prepared: Option<PreparedTransaction>,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let claim = Box::new(claim);
        let event = match prepared {
            Some(prepared) => Event::ClaimedPrepared(claim, prepared),
            None => Event::Claimed(claim),
        };
        NewEntity::from_event::<Self>(&id, &event, context)
    }

    /// First snapshot of a payment that a restore lost and whose product its provider shows.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn adopt(
        id: PaymentId,
        claim: Claim,
        (transaction, product): (&str, PurchasedProduct),
        context: &Context,
    ) -> Result<(NewEntity, Self), InvalidTransition> {
        let event = Event::Adopted(Box::new(claim), transaction.to_owned(), product);
        let payment = Self::apply(None, &id, &event)?;
        Ok((NewEntity::from_event::<Self>(&id, &event, context)?, payment))
    }

    fn rejoin(
        &self,
        id: &PaymentId,
        request: [u8; 32],
        again: Option<SessionSeed>,
        context: &Context,
    ) -> DecisionResult {
        if !self.claim.is_for(&request) {
            return Err(Rejection::DifferentRequest);
        }
        match (&self.status, again) {
            (Status::Released | Status::DeclinedUnsent(_), _) => Ok(Decision::answer(Reply::Readmit)),
            // It is being sent again: there is nothing to look up until the chain has answered.
            (Status::Declined(..), Some(session)) => Ok(Decision::answer(Reply::AwaitOutcome)
                .completes_job(watch_job_id(id))
                .event(Event::Resumed(session, context.now))
                .enqueue(Job::SettlePayment(*id), context)),
            _ => Ok(Decision::answer(Reply::AwaitOutcome)),
        }
    }

    /// Confirmed on chain: posted and, if a caller still waits for the product, fulfilled in the same batch.
    fn settle(
        &self,
        id: &PaymentId,
        job: JobId,
        (transaction, finality): (String, Finality),
        made: bool,
        context: &Context,
    ) -> DecisionResult {
        let treasury = LedgerAccount::Treasury(self.claim.authorization.network());
        let received = LedgerTransaction::new(context.now, id).post(treasury, LedgerAccount::Suspense, self.price());
        // A transfer that was recorded as a deposit pays for nothing any more.
        let deposit = table::taken_in_payment(*id);
        let decision = Decision::answer(Reply::Done)
            .completes_job(job)
            .requires_absent(deposit)
            .event(Event::Settled(transaction, context.now));
        let decision = self.list_cost(id, Some(self.price()), decision);
        let decision = match finality {
            Finality::Final => decision,
            Finality::Confirmed => decision
                .put_new(table::pending_finality(*id), Vec::new())
                .enqueue(Job::AwaitFinal(*id), context),
        };
        if matches!(self.status, Status::Declined(..)) && !made {
            let credit = account::Job::CreditAccount {
                account: self.account(),
                amount: self.price(),
                cause: CreditCause::Payment(*id),
            };
            return Ok(decision.post_ledger(&received, context).enqueue(credit, context));
        }
        self.fulfil(id, decision, received, context)
            .map_err(|_| Rejection::InvalidState(self.status()))
    }

    pub(super) fn release_cap_job(&self) -> account::Job {
        account::Job::ReleaseCapReservation {
            account: self.account(),
            reservation: self.claim.cap_reservation,
        }
    }

    fn apply_lookup(
        &self,
        id: &PaymentId,
        job: JobId,
        (lookup, made): (ChainStatus, bool),
        context: &Context,
    ) -> DecisionResult {
        match (&self.status, lookup) {
            (Status::Declined(..), ChainStatus::Confirmed { .. })
                if mutants::is_enabled(Mutant::LateSettlementIgnored) =>
            {
                Ok(Decision::answer(Reply::Done).completes_job(job))
            }
            (_, ChainStatus::Confirmed { transaction, finality }) => {
                self.settle(id, job, (transaction, finality), made, context)
            }
            (_, ChainStatus::Pending) => Ok(Decision::answer(Reply::Done)),
            (status, ChainStatus::Impossible) => {
                let decision = Decision::answer(Reply::Done).completes_job(job);
                let decision = match status {
                    Status::Unknown(_) => decision.event(Event::Declined(never_settled(), context.now)),
                    _ => decision,
                };
                let refused = decision.event(Event::Refused(context.now));
                Ok(refused.enqueue(self.release_cap_job(), context))
            }
        }
    }

    /// State after the first event.
    fn from_first_event(event: &Event) -> Result<Self, InvalidTransition> {
        let (claim, status) = match event {
            Event::Claimed(claim) => (claim, Status::Claimed),
            Event::ClaimedPrepared(claim, prepared) => (claim, Status::Settling(prepared.clone())),
            Event::Adopted(claim, transaction, product) => {
                let (transaction, product) = (transaction.clone(), *product);
                (claim, Status::Fulfilled { transaction, product })
            }
            event => return Err(InvalidTransition::new("-", event)),
        };
        Ok(Self {
            updated_at: claim.at,
            claim: (**claim).clone(),
            status,
        })
    }

    fn with_status(self, status: Status, at: crate::port::Timestamp) -> Self {
        Self {
            status,
            updated_at: at,
            ..self
        }
    }
}

/// At most one job follows a payment, so its id is derived.
const fn watch_job_id(payment: &PaymentId) -> JobId {
    JobId(payment.0)
}

const fn reversed_status(transaction: String, product: Option<PurchasedProduct>) -> Status {
    Status::Reversed { transaction, product }
}

impl Entity for Payment {
    const KIND: EntityKind = EntityKind::Payment;

    type Id = PaymentId;
    type Command = Command;
    type Reply = Reply;
    type Rejection = Rejection;
    type Outcome = Outcome;
    type View<'a> = PaymentView<'a>;

    fn decide(this: Option<&Self>, id: &PaymentId, command: Command, context: &Context) -> DecisionResult {
        let Some(payment) = this else {
            return Err(Rejection::InvalidState("-"));
        };
        let done = Decision::answer(Reply::Done);
        let now = context.now;
        match (&payment.status, command) {
            (
                _,
                Command::Join {
                    request,
                    new_session: again,
                },
            ) => payment.rejoin(id, request, again, context),
            (Status::Claimed, Command::RecordPrepared(prepared)) => Ok(done.event(Event::Settling(prepared, now))),
            (Status::Claimed, Command::Release { job }) => Ok(payment.release(job, Event::Released(now), context)),
            (Status::Claimed, Command::RecordDeclinedUnsent { job, decline }) => {
                Ok(payment.release(job, Event::DeclinedUnsent(decline, now), context))
            }
            (
                Status::Settling(_),
                Command::RecordSettled {
                    job,
                    transaction,
                    finality,
                },
            ) => payment.settle(id, job, (transaction, finality), false, context),
            (Status::Settling(_), Command::RecordDeclined { job, decline }) => {
                let declined = done.completes_job(job).event(Event::Declined(decline, now));
                let declined = declined.enqueue_as(watch_job_id(id), Job::WatchPayment(*id), context);
                if mutants::is_enabled(Mutant::CapReservationReleasedTwice) {
                    return Ok(declined.enqueue(payment.release_cap_job(), context));
                }
                Ok(declined)
            }
            (Status::Settling(_), Command::RecordNoResponse { job }) => Ok(done
                .completes_job(job)
                .event(Event::BecameUnknown(now))
                .enqueue_as(watch_job_id(id), Job::WatchPayment(*id), context)),
            (
                Status::Unknown(_) | Status::Declined(..),
                Command::RecordChainLookup {
                    job,
                    lookup,
                    is_ordered: made,
                },
            ) => payment.apply_lookup(id, job, (lookup, made), context),
            // A lookup for a payment that has moved on has nothing left to do.
            (_, Command::RecordChainLookup { job, .. }) => Ok(done.completes_job(job)),
            (
                Status::Settling(_) | Status::Unknown(_) | Status::Declined(..),
                Command::RecordRestoreCredit {
                    job,
                    transaction,
                    outcome: taken_in,
                },
            ) => Ok(payment.settle_by_deposit(id, job, (transaction, taken_in), context)),
            (Status::Settled { .. }, Command::RecordCredit { job }) => {
                Ok(done.completes_job(job).event(Event::Credited(now)))
            }
            (
                Status::Released | Status::DeclinedUnsent(_),
                Command::RecordReadmitted {
                    job,
                    reservation: share,
                    session,
                },
            ) => Ok(done
                .completes_job(job)
                .event(Event::Readmitted(share, session, now))
                .enqueue(Job::SettlePayment(*id), context)),
            // Another caller's retry was admitted first: this reservation is released.
            (
                _,
                Command::RecordReadmitted {
                    job,
                    reservation: share,
                    ..
                },
            ) => Ok(done.completes_job(job).enqueue(
                account::Job::ReleaseCapReservation {
                    account: payment.account(),
                    reservation: share,
                },
                context,
            )),
            (_, command @ (Command::RecordReorg { .. } | Command::RecordFinal { .. })) => {
                payment.decide_final(id, &command, context)
            }
            (_, _) => Err(Rejection::InvalidState(payment.status())),
        }
    }

    fn apply(this: Option<Self>, _: &PaymentId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(payment) = this else {
            return Self::from_first_event(event);
        };
        match (payment.status.clone(), event) {
            (Status::Claimed, Event::Settling(prepared, at)) => {
                Ok(payment.with_status(Status::Settling(prepared.clone()), *at))
            }
            (Status::Claimed, Event::Released(at)) => Ok(payment.with_status(Status::Released, *at)),
            (Status::Claimed, Event::DeclinedUnsent(decline, at)) => {
                Ok(payment.with_status(Status::DeclinedUnsent(decline.clone()), *at))
            }
            (Status::Released | Status::DeclinedUnsent(_), Event::Readmitted(share, session, at)) => {
                let mut payment = payment.with_status(Status::Claimed, *at);
                payment.claim.cap_reservation = *share;
                payment.claim.session = *session;
                Ok(payment)
            }
            (Status::Declined(_, prepared), Event::Resumed(session, at)) => {
                let mut payment = payment.with_status(Status::Settling(prepared), *at);
                payment.claim.session = *session;
                Ok(payment)
            }
            (Status::Settling(prepared), Event::BecameUnknown(at)) => {
                Ok(payment.with_status(Status::Unknown(prepared), *at))
            }
            (Status::Settling(prepared) | Status::Unknown(prepared), Event::Declined(decline, at)) => {
                Ok(payment.with_status(Status::Declined(decline.clone(), prepared), *at))
            }
            (Status::Declined(decline, _), Event::Refused(at)) => {
                Ok(payment.with_status(Status::Refused(decline), *at))
            }
            (Status::Settling(_) | Status::Unknown(_) | Status::Declined(..), Event::Settled(transaction, at)) => {
                Ok(payment.with_status(
                    Status::Settled {
                        transaction: transaction.clone(),
                    },
                    *at,
                ))
            }
            (Status::Settled { transaction }, Event::Fulfilled(product, at)) => Ok(payment.with_status(
                Status::Fulfilled {
                    transaction,
                    product: *product,
                },
                *at,
            )),
            (
                Status::Settling(_) | Status::Unknown(_) | Status::Declined(..),
                Event::CreditedAfterRestore(transaction, at),
            ) => {
                let transaction = transaction.clone();
                Ok(payment.with_status(Status::Credited { transaction }, *at))
            }
            (
                Status::Settling(_) | Status::Unknown(_) | Status::Declined(..),
                Event::Resolved(transaction, resolution, at),
            ) => {
                let (transaction, resolution) = (transaction.clone(), *resolution);
                let resolved = Status::Resolved {
                    transaction,
                    resolution,
                };
                Ok(payment.with_status(resolved, *at))
            }
            (Status::Fulfilled { transaction, product }, Event::Reversed(at)) => {
                Ok(payment.with_status(reversed_status(transaction, Some(product)), *at))
            }
            (Status::Credited { transaction }, Event::Reversed(at)) => {
                Ok(payment.with_status(reversed_status(transaction, None), *at))
            }
            (Status::Settled { transaction }, Event::Credited(at)) => {
                Ok(payment.with_status(Status::Credited { transaction }, *at))
            }
            (_, event) => Err(InvalidTransition::new(payment.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.account()
    }

    fn view(&self, id: &PaymentId) -> PaymentView<'_> {
        self.view(id)
    }

    fn outcome(&self) -> Option<Outcome> {
        match &self.status {
            Status::Claimed | Status::Settling(_) => None,
            Status::Unknown(_) | Status::Settled { .. } => Some(Outcome::Pending),
            Status::Declined(decline, _) | Status::Refused(decline) | Status::DeclinedUnsent(decline) => {
                Some(Outcome::Declined(decline.clone()))
            }
            Status::Released => Some(Outcome::Unavailable),
            Status::Fulfilled { transaction, product } => Some(Outcome::Fulfilled {
                product: *product,
                transaction: transaction.clone(),
                session: (!self.by_managed_wallet()).then_some(self.claim.session.id),
            }),
            Status::Credited { transaction } => Some(Outcome::Credited {
                amount: self.price(),
                transaction: transaction.clone(),
            }),
            Status::Reversed { .. } => Some(Outcome::Declined(reorged())),
            Status::Resolved { resolution, .. } => Some(Outcome::Resolved(*resolution)),
        }
    }
}
