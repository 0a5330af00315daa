//! The payment's state machine.

use purser_storage::planted::{self, Bug};

use super::show::{never_landed, taken_back};
use super::{Answer, Claim, Command, Event, NewSession, Outcome, Payment, Rejection, Status};
use crate::id::{EffectId, PaymentId, Wallet};
use crate::kernel::effect::{CreditCause, Work};
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, Opening, OutOfOrder, View, table};
use crate::ledger::{Place, Transaction};
use crate::port::{Finality, Lookup};
use crate::product::Product;

type Decided = Result<Decision<Payment>, Rejection>;

impl Payment {
    /// The first snapshot of a payment, for the batch of the account that claims it.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn claim(id: PaymentId, claim: Claim, context: &Context) -> Result<Opening, OutOfOrder> {
        Opening::of::<Self>(&id, &Event::Claimed(Box::new(claim)), context)
    }

    /// The first snapshot of a payment that a restore lost and whose product its provider shows.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn adopted(
        id: PaymentId,
        claim: Claim,
        (transaction, product): (&str, Product),
        context: &Context,
    ) -> Result<(Opening, Self), OutOfOrder> {
        let event = Event::Adopted(Box::new(claim), transaction.to_owned(), product);
        let payment = Self::apply(None, &id, &event)?;
        Ok((Opening::of::<Self>(&id, &event, context)?, payment))
    }

    fn present(&self, id: &PaymentId, request: [u8; 32], again: Option<NewSession>, context: &Context) -> Decided {
        if !self.claim.is_for(&request) {
            return Err(Rejection::OtherRequest);
        }
        match (&self.status, again) {
            (Status::Released | Status::DeclinedUnsent(_), _) => Ok(Decision::answer(Answer::Readmit)),
            // It is being sent again: nothing to watch until the chain has answered.
            (Status::Declined(..), Some(session)) => Ok(Decision::answer(Answer::Wait)
                .completes(watch(id))
                .event(Event::Resumed(session, context.now))
                .then(Work::Settle(*id), context)),
            _ => Ok(Decision::answer(Answer::Wait)),
        }
    }

    /// On chain: booked and, if somebody still waits for the product, fulfilled in the same batch.
    fn settled(
        &self,
        id: &PaymentId,
        effect: EffectId,
        (transaction, finality): (String, Finality),
        made: bool,
        context: &Context,
    ) -> Decided {
        let treasury = Place::Treasury(self.claim.authorization.network());
        let received = Transaction::new(context.now, id).book(treasury, Place::Suspense, self.price());
        // A transfer that was taken in otherwise buys nothing any more.
        let deposit = table::deposit(*id);
        let decision = Decision::answer(Answer::Done)
            .completes(effect)
            .requires_absent(deposit)
            .event(Event::Settled(transaction, context.now));
        let decision = match finality {
            Finality::Final => decision,
            Finality::Seen => decision
                .put_new(table::unfinal(*id), Vec::new())
                .then(Work::AwaitFinal(*id), context),
        };
        if matches!(self.status, Status::Declined(..)) && !made {
            let credit = Work::Credit {
                account: self.account(),
                amount: self.price(),
                cause: CreditCause::Payment(*id),
            };
            return Ok(decision.post(&received, context).then(credit, context));
        }
        self.fulfil(id, decision, received, context)
            .map_err(|_| Rejection::OutOfOrder(self.status()))
    }

    pub(super) fn freed_share(&self) -> Work {
        Work::FreeShare {
            account: self.account(),
            share: self.claim.share,
        }
    }

    fn seen(&self, id: &PaymentId, effect: EffectId, (lookup, made): (Lookup, bool), context: &Context) -> Decided {
        match (&self.status, lookup) {
            (Status::Declined(..), Lookup::Landed { .. }) if planted::is(Bug::LateLandingIgnored) => {
                Ok(Decision::answer(Answer::Done).completes(effect))
            }
            (_, Lookup::Landed { transaction, finality }) => {
                self.settled(id, effect, (transaction, finality), made, context)
            }
            (_, Lookup::Pending) => Ok(Decision::answer(Answer::Done)),
            (status, Lookup::Impossible) => {
                let decision = Decision::answer(Answer::Done).completes(effect);
                let decision = match status {
                    Status::Unknown(_) => decision.event(Event::Declined(never_landed(), context.now)),
                    _ => decision,
                };
                let refused = decision.event(Event::Refused(context.now));
                Ok(refused.then(self.freed_share(), context))
            }
        }
    }

    /// As its first event makes it.
    fn begun(event: &Event) -> Result<Self, OutOfOrder> {
        let (claim, status) = match event {
            Event::Claimed(claim) => (claim, Status::Claimed),
            Event::Adopted(claim, transaction, product) => {
                let (transaction, product) = (transaction.clone(), *product);
                (claim, Status::Fulfilled { transaction, product })
            }
            event => return Err(OutOfOrder::new("-", event)),
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
const fn watch(payment: &PaymentId) -> EffectId {
    EffectId(payment.0)
}

const fn gone(transaction: String, product: Option<Product>) -> Status {
    Status::Reversed { transaction, product }
}

impl Entity for Payment {
    const KIND: Kind = Kind::Payment;
    const CHANGES: &'static [&'static str] = &[
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
    const MOVES: &'static [Move] = &[
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
    type Answer = Answer;
    type Rejection = Rejection;
    type Outcome = Outcome;

    fn decide(this: Option<&Self>, id: &PaymentId, command: Command, context: &Context) -> Decided {
        let Some(payment) = this else {
            return Err(Rejection::OutOfOrder("-"));
        };
        let done = Decision::answer(Answer::Done);
        let now = context.now;
        match (&payment.status, command) {
            (_, Command::Present { request, again }) => payment.present(id, request, again, context),
            (Status::Claimed, Command::Prepared(prepared)) => Ok(done.event(Event::Settling(prepared, now))),
            (Status::Claimed, Command::Unsendable { effect }) => {
                Ok(payment.released(effect, Event::Released(now), context))
            }
            (Status::Claimed, Command::DeclinedUnsent { effect, decline }) => {
                Ok(payment.released(effect, Event::DeclinedUnsent(decline, now), context))
            }
            (
                Status::Settling(_),
                Command::Settled {
                    effect,
                    transaction,
                    finality,
                },
            ) => payment.settled(id, effect, (transaction, finality), false, context),
            (Status::Settling(_), Command::Declined { effect, decline }) => {
                let declined = done.completes(effect).event(Event::Declined(decline, now));
                let declined = declined.then_as(watch(id), Work::Watch(*id), context);
                if planted::is(Bug::ShareFreedTwice) {
                    return Ok(declined.then(payment.freed_share(), context));
                }
                Ok(declined)
            }
            (Status::Settling(_), Command::Lost { effect }) => Ok(done
                .completes(effect)
                .event(Event::Lost(now))
                .then_as(watch(id), Work::Watch(*id), context)),
            (Status::Unknown(_) | Status::Declined(..), Command::Seen { effect, lookup, made }) => {
                payment.seen(id, effect, (lookup, made), context)
            }
            // A watch that finds its payment moved on has nothing left to watch.
            (_, Command::Seen { effect, .. }) => Ok(done.completes(effect)),
            (
                Status::Settling(_) | Status::Unknown(_) | Status::Declined(..),
                Command::Deposited {
                    effect,
                    transaction,
                    taken_in,
                },
            ) => Ok(payment.deposited(id, effect, (transaction, taken_in), context)),
            (Status::Settled { .. }, Command::Credited { effect }) => {
                Ok(done.completes(effect).event(Event::Credited(now)))
            }
            (Status::Released | Status::DeclinedUnsent(_), Command::Readmitted { effect, share, session }) => Ok(done
                .completes(effect)
                .event(Event::Readmitted(share, session, now))
                .then(Work::Settle(*id), context)),
            // Somebody else's presentation was admitted first: this share goes back.
            (_, Command::Readmitted { effect, share, .. }) => Ok(done.completes(effect).then(
                Work::FreeShare {
                    account: payment.account(),
                    share,
                },
                context,
            )),
            (_, command @ (Command::Reversed { .. } | Command::Finalized { .. })) => {
                payment.known_for_good(id, &command, context)
            }
            (_, _) => Err(Rejection::OutOfOrder(payment.status())),
        }
    }

    fn apply(this: Option<Self>, _: &PaymentId, event: &Event) -> Result<Self, OutOfOrder> {
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
            (Status::Settling(prepared), Event::Lost(at)) => Ok(payment.moved(Status::Unknown(prepared), *at)),
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
            (Status::Settling(_) | Status::Unknown(_) | Status::Declined(..), Event::Deposited(transaction, at)) => {
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
            (_, event) => Err(OutOfOrder::new(payment.status(), event)),
        }
    }

    fn status(&self) -> &'static str {
        self.state_name()
    }

    fn owner(&self) -> Wallet {
        self.account()
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Self::change(event)
    }

    fn view(&self, id: &PaymentId) -> View {
        self.shown(id)
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
            Status::Reversed { .. } => Some(Outcome::Declined(taken_back())),
            Status::Resolved { resolution, .. } => Some(Outcome::Resolved(*resolution)),
        }
    }
}
