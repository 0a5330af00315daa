//! The payment's state machine.

use purser_storage::mutants::{self, Mutant};

use super::view::{never_settled, reorged};
use super::{Claim, Command, Event, Outcome, Payment, Rejection, Reply, SessionSeed, Status};
use crate::id::{JobId, PaymentId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::job::{CreditCause, Job};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, NewEntity, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::port::{ChainStatus, Finality};
use crate::product::PurchasedProduct;

type DecisionResult = Result<Decision<Payment>, Rejection>;

impl Payment {
    /// The first snapshot of a payment, for the batch of the account that claims it.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn claim(id: PaymentId, claim: Claim, context: &Context) -> Result<NewEntity, InvalidTransition> {
        NewEntity::of::<Self>(&id, &Event::Claimed(Box::new(claim)), context)
    }

    /// The first snapshot of a payment that a restore lost and whose product its provider shows.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn adopted(
        id: PaymentId,
        claim: Claim,
        (transaction, product): (&str, PurchasedProduct),
        context: &Context,
    ) -> Result<(NewEntity, Self), InvalidTransition> {
        let event = Event::Adopted(Box::new(claim), transaction.to_owned(), product);
        let payment = Self::apply(None, &id, &event)?;
        Ok((NewEntity::of::<Self>(&id, &event, context)?, payment))
    }

    fn present(
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
            // It is being sent again: nothing to watch until the chain has answered.
            (Status::Declined(..), Some(session)) => Ok(Decision::answer(Reply::AwaitOutcome)
                .completes_job(watch(id))
                .event(Event::Resumed(session, context.now))
                .enqueue(Job::SettlePayment(*id), context)),
            _ => Ok(Decision::answer(Reply::AwaitOutcome)),
        }
    }

    /// On chain: booked and, if somebody still waits for the product, fulfilled in the same batch.
    fn settled(
        &self,
        id: &PaymentId,
        effect: JobId,
        (transaction, finality): (String, Finality),
        made: bool,
        context: &Context,
    ) -> DecisionResult {
        let treasury = LedgerAccount::Treasury(self.claim.authorization.network());
        let received = LedgerTransaction::new(context.now, id).post(treasury, LedgerAccount::Suspense, self.price());
        // A transfer that was taken in otherwise buys nothing any more.
        let deposit = table::deposit(*id);
        let decision = Decision::answer(Reply::Done)
            .completes_job(effect)
            .requires_absent(deposit)
            .event(Event::Settled(transaction, context.now));
        let decision = match finality {
            Finality::Final => decision,
            Finality::Seen => decision
                .put_new(table::unfinal(*id), Vec::new())
                .enqueue(Job::AwaitFinal(*id), context),
        };
        if matches!(self.status, Status::Declined(..)) && !made {
            let credit = Job::CreditAccount {
                account: self.account(),
                amount: self.price(),
                cause: CreditCause::Payment(*id),
            };
            return Ok(decision.post_ledger(&received, context).enqueue(credit, context));
        }
        self.fulfil(id, decision, received, context)
            .map_err(|_| Rejection::InvalidState(self.status()))
    }

    pub(super) fn released_cap(&self) -> Job {
        Job::ReleaseCapReservation {
            account: self.account(),
            share: self.claim.share,
        }
    }

    fn apply_lookup(
        &self,
        id: &PaymentId,
        effect: JobId,
        (lookup, made): (ChainStatus, bool),
        context: &Context,
    ) -> DecisionResult {
        match (&self.status, lookup) {
            (Status::Declined(..), ChainStatus::Landed { .. })
                if mutants::is_enabled(Mutant::LateSettlementIgnored) =>
            {
                Ok(Decision::answer(Reply::Done).completes_job(effect))
            }
            (_, ChainStatus::Landed { transaction, finality }) => {
                self.settled(id, effect, (transaction, finality), made, context)
            }
            (_, ChainStatus::Pending) => Ok(Decision::answer(Reply::Done)),
            (status, ChainStatus::Impossible) => {
                let decision = Decision::answer(Reply::Done).completes_job(effect);
                let decision = match status {
                    Status::Unknown(_) => decision.event(Event::Declined(never_settled(), context.now)),
                    _ => decision,
                };
                let refused = decision.event(Event::Refused(context.now));
                Ok(refused.enqueue(self.released_cap(), context))
            }
        }
    }

    /// As its first event makes it.
    fn begun(event: &Event) -> Result<Self, InvalidTransition> {
        let (claim, status) = match event {
            Event::Claimed(claim) => (claim, Status::Claimed),
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

    fn moved(self, status: Status, at: crate::port::Timestamp) -> Self {
        Self {
            status,
            updated_at: at,
            ..self
        }
    }
}

/// A payment is watched by one effect at most, so its id needs no drawing.
const fn watch(payment: &PaymentId) -> JobId {
    JobId(payment.0)
}

const fn gone(transaction: String, product: Option<PurchasedProduct>) -> Status {
    Status::Reversed { transaction, product }
}

impl Entity for Payment {
    const KIND: EntityKind = EntityKind::Payment;
    const EVENT_NAMES: &'static [&'static str] = &[
        "unknown",
        "declined",
        "released",
        "settled",
        "fulfilled",
        "credited",
        "refused",
        "reversed",
        "resolved",
    ];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "the account admits it", "claimed"),
        ("-", "the provider shows what it bought, after a restore", "fulfilled"),
        ("claimed", "the bytes to send are durable", "settling"),
        (
            "claimed",
            "it could not be sent, or the chain would refuse it",
            "released",
        ),
        ("released", "presented again and admitted", "claimed"),
        ("settling", "chain says yes", "settled"),
        ("settling", "chain says no", "declined"),
        ("settling", "no answer", "unknown"),
        ("unknown", "chain shows it", "settled"),
        ("unknown", "it can never land", "declined"),
        ("declined", "presented again", "settling"),
        ("declined", "chain shows it", "settled"),
        ("declined", "it can never land", "refused"),
        ("settling", "its transfer was taken in without it", "credited"),
        ("unknown", "its transfer was taken in without it", "credited"),
        ("declined", "its transfer was taken in without it", "credited"),
        ("settling", "its transfer was taken in, and not credited", "resolved"),
        ("unknown", "its transfer was taken in, and not credited", "resolved"),
        ("declined", "its transfer was taken in, and not credited", "resolved"),
        ("settled", "the product exists", "fulfilled"),
        ("settled", "the balance holds it", "credited"),
        ("fulfilled", "chain has taken it back for good", "reversed"),
        ("credited", "chain has taken it back for good", "reversed"),
    ];

    type Id = PaymentId;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Rejection = Rejection;
    type Outcome = Outcome;

    fn decide(this: Option<&Self>, id: &PaymentId, command: Command, context: &Context) -> DecisionResult {
        let Some(payment) = this else {
            return Err(Rejection::InvalidState("-"));
        };
        let done = Decision::answer(Reply::Done);
        let now = context.now;
        match (&payment.status, command) {
            (_, Command::Join { request, again }) => payment.present(id, request, again, context),
            (Status::Claimed, Command::RecordPrepared(prepared)) => Ok(done.event(Event::Settling(prepared, now))),
            (Status::Claimed, Command::Release { effect }) => {
                Ok(payment.released(effect, Event::Released(now), context))
            }
            (Status::Claimed, Command::DeclinedUnsent { effect, decline }) => {
                Ok(payment.released(effect, Event::DeclinedUnsent(decline, now), context))
            }
            (
                Status::Settling(_),
                Command::RecordSettled {
                    effect,
                    transaction,
                    finality,
                },
            ) => payment.settled(id, effect, (transaction, finality), false, context),
            (Status::Settling(_), Command::RecordDeclined { effect, decline }) => {
                let declined = done.completes_job(effect).event(Event::Declined(decline, now));
                let declined = declined.enqueue_as(watch(id), Job::WatchPayment(*id), context);
                if mutants::is_enabled(Mutant::CapReservationReleasedTwice) {
                    return Ok(declined.enqueue(payment.released_cap(), context));
                }
                Ok(declined)
            }
            (Status::Settling(_), Command::RecordNoResponse { effect }) => Ok(done
                .completes_job(effect)
                .event(Event::BecameUnknown(now))
                .enqueue_as(watch(id), Job::WatchPayment(*id), context)),
            (Status::Unknown(_) | Status::Declined(..), Command::RecordChainLookup { effect, lookup, made }) => {
                payment.apply_lookup(id, effect, (lookup, made), context)
            }
            // A watch that finds its payment moved on has nothing left to watch.
            (_, Command::RecordChainLookup { effect, .. }) => Ok(done.completes_job(effect)),
            (
                Status::Settling(_) | Status::Unknown(_) | Status::Declined(..),
                Command::RecordRestoreCredit {
                    effect,
                    transaction,
                    taken_in,
                },
            ) => Ok(payment.deposited(id, effect, (transaction, taken_in), context)),
            (Status::Settled { .. }, Command::RecordCredit { effect }) => {
                Ok(done.completes_job(effect).event(Event::Credited(now)))
            }
            (Status::Released | Status::DeclinedUnsent(_), Command::RecordReadmitted { effect, share, session }) => {
                Ok(done
                    .completes_job(effect)
                    .event(Event::Readmitted(share, session, now))
                    .enqueue(Job::SettlePayment(*id), context))
            }
            // Somebody else's presentation was admitted first: this share goes back.
            (_, Command::RecordReadmitted { effect, share, .. }) => Ok(done.completes_job(effect).enqueue(
                Job::ReleaseCapReservation {
                    account: payment.account(),
                    share,
                },
                context,
            )),
            (_, command @ (Command::RecordReorg { .. } | Command::Finalized { .. })) => {
                payment.known_for_good(id, &command, context)
            }
            (_, _) => Err(Rejection::InvalidState(payment.status())),
        }
    }

    fn apply(this: Option<Self>, _: &PaymentId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(payment) = this else {
            return Self::begun(event);
        };
        match (payment.status.clone(), event) {
            (Status::Claimed, Event::Settling(prepared, at)) => {
                Ok(payment.moved(Status::Settling(prepared.clone()), *at))
            }
            (Status::Claimed, Event::Released(at)) => Ok(payment.moved(Status::Released, *at)),
            (Status::Claimed, Event::DeclinedUnsent(decline, at)) => {
                Ok(payment.moved(Status::DeclinedUnsent(decline.clone()), *at))
            }
            (Status::Released | Status::DeclinedUnsent(_), Event::Readmitted(share, session, at)) => {
                let mut payment = payment.moved(Status::Claimed, *at);
                payment.claim.share = *share;
                payment.claim.session = *session;
                Ok(payment)
            }
            (Status::Declined(_, prepared), Event::Resumed(session, at)) => {
                let mut payment = payment.moved(Status::Settling(prepared), *at);
                payment.claim.session = *session;
                Ok(payment)
            }
            (Status::Settling(prepared), Event::BecameUnknown(at)) => Ok(payment.moved(Status::Unknown(prepared), *at)),
            (Status::Settling(prepared) | Status::Unknown(prepared), Event::Declined(decline, at)) => {
                Ok(payment.moved(Status::Declined(decline.clone(), prepared), *at))
            }
            (Status::Declined(decline, _), Event::Refused(at)) => Ok(payment.moved(Status::Refused(decline), *at)),
            (Status::Settling(_) | Status::Unknown(_) | Status::Declined(..), Event::Settled(transaction, at)) => {
                Ok(payment.moved(
                    Status::Settled {
                        transaction: transaction.clone(),
                    },
                    *at,
                ))
            }
            (Status::Settled { transaction }, Event::Fulfilled(product, at)) => Ok(payment.moved(
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
                Ok(payment.moved(Status::Credited { transaction }, *at))
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
                Ok(payment.moved(resolved, *at))
            }
            (Status::Fulfilled { transaction, product }, Event::Reversed(at)) => {
                Ok(payment.moved(gone(transaction, Some(product)), *at))
            }
            (Status::Credited { transaction }, Event::Reversed(at)) => Ok(payment.moved(gone(transaction, None), *at)),
            (Status::Settled { transaction }, Event::Credited(at)) => {
                Ok(payment.moved(Status::Credited { transaction }, *at))
            }
            (_, event) => Err(InvalidTransition::new(payment.status(), event)),
        }
    }

    fn status(&self) -> &'static str {
        self.state_name()
    }

    fn owner(&self) -> Wallet {
        self.account()
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        Self::event_view(event)
    }

    fn view(&self, id: &PaymentId) -> JsonObject {
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
