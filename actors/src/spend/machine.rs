//! The spend's state machine.

use super::{Answer, Command, Event, Order, Part, Rejection, SPOKEN_KEPT_MS, Spend, Status, Way};
use crate::id::{DepartureId, SpendId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, Opening, OutOfOrder, View, table};
use crate::port::{Timestamp, TransferName};

/// Why a spend ended that our own service did not take.
const NOT_TAKEN: &str = "not_taken";

impl Spend {
    /// The first snapshot of a spend, for the batch of the wallet that reserves for it.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn reserve(
        id: SpendId,
        owner: Wallet,
        from: Wallet,
        order: Order,
        context: &Context,
    ) -> Result<Opening, OutOfOrder> {
        let event = Event::Reserved {
            owner,
            from,
            order: Box::new(order),
            at: context.now,
        };
        Opening::of::<Self>(&id, &event, context)
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// Tells the wallet how its reservation ends. What was said is kept for a while.
    fn ends(&self, spend: SpendId, paid: bool, decided: Decision<Self>, context: &Context) -> Decision<Self> {
        let wallet = self.owner;
        let decided = decided.then(Work::EndSpend { wallet, spend, paid }, context);
        match self.order.way {
            Way::Transfer => decided,
            Way::Call { .. } => {
                decided.then_at(context.now.plus_ms(SPOKEN_KEPT_MS), Work::ForgetSpoken(spend), context)
            }
        }
    }
}

impl Entity for Spend {
    const KIND: Kind = Kind::Spend;
    const CHANGES: &'static [&'static str] = &["reserved", "signed", "sent", "settled", "refused", "unsettled"];
    const MOVES: &'static [Move] = &[
        ("-", "the wallet reserves its amount", "reserved"),
        ("reserved", "what is to be sent is durable", "signed"),
        ("reserved", "it was not signed; reservation ends", "refused"),
        ("reserved", "the chain shows its transfer, after a restore", "settled"),
        ("signed", "the server answered, or is given up", "sent"),
        ("signed", "chain shows it", "settled"),
        ("signed", "it can never land; reservation ends", "unsettled"),
        ("sent", "chain shows it", "settled"),
        ("sent", "it can never land; reservation ends", "unsettled"),
    ];

    type Id = SpendId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = Self;

    fn decide(
        this: Option<&Self>,
        id: &SpendId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(spend) = this else {
            return Err(Rejection("-"));
        };
        let (decided, now) = (Decision::answer(()), context.now);
        match (&spend.status, command) {
            // Nothing is signed for an account that is frozen by then, whatever was read before.
            (Status::Reserved, Command::Signed { signed, payment }) => {
                let decided = Part::Payment.put(*id, &payment, decided);
                Ok(decided
                    .requires_absent(table::frozen(&spend.owner))
                    .event(Event::Signed(signed, now)))
            }
            (Status::Reserved, Command::Recognised { effect, transaction }) => {
                let row = table::recognised(DepartureId::named(spend.from.network(), &transaction));
                let decided = decided.completes(effect).put_new(row, id.0.to_be_bytes().to_vec());
                let decided = decided.event(Event::Landed(transaction, now));
                Ok(spend.ends(*id, true, decided, context))
            }
            (Status::Signed(_), Command::Answered { answer, body }) if matches!(spend.order.way, Way::Call { .. }) => {
                let decided = Part::Answer.put(*id, &body, decided);
                Ok(decided.event(Event::Answered(answer, now)))
            }
            (Status::Signed(_), Command::Declined { effect, answer, body }) if spend.order.way.is_own() => {
                let decided = Part::Answer.put(*id, &body, decided.completes(effect));
                let decided = decided.event(Event::Answered(answer, now));
                let decided = decided.event(Event::Unsettled(NOT_TAKEN.into(), now));
                Ok(spend.ends(*id, false, decided, context))
            }
            (Status::Signed(_) | Status::Sent(..), Command::Landed { effect, transaction }) => {
                let decided = decided.completes(effect).event(Event::Landed(transaction, now));
                Ok(spend.ends(*id, true, decided, context))
            }
            (Status::Reserved, Command::Fail { effect, reason }) => {
                let decided = decided.completes(effect).event(Event::Refused(reason, now));
                Ok(spend.ends(*id, false, decided, context))
            }
            (Status::Signed(_) | Status::Sent(..), Command::Fail { effect, reason }) => {
                let decided = decided.completes(effect).event(Event::Unsettled(reason, now));
                Ok(spend.ends(*id, false, decided, context))
            }
            (_, Command::Forget { effect, rows })
                if !spend.is_open() && rows.iter().all(|row| row.starts_with(&table::spoken_of(*id))) =>
            {
                Ok(rows.into_iter().fold(decided.completes(effect), Decision::take))
            }
            (_, _) => Err(Rejection(spend.status())),
        }
    }

    fn apply(this: Option<Self>, _: &SpendId, event: &Event) -> Result<Self, OutOfOrder> {
        let Some(spend) = this else {
            return match event {
                Event::Reserved { owner, from, order, at } => Ok(Self {
                    owner: *owner,
                    from: *from,
                    order: (**order).clone(),
                    created_at: *at,
                    updated_at: *at,
                    status: Status::Reserved,
                }),
                event => Err(OutOfOrder::new("-", event)),
            };
        };
        match (&spend.status, event) {
            (Status::Reserved, Event::Signed(signed, at)) => Ok(spend.at(Status::Signed(signed.clone()), *at)),
            (Status::Signed(signed), Event::Answered(answer, at)) => {
                let status = Status::Sent(signed.clone(), answer.clone());
                Ok(spend.at(status, *at))
            }
            (Status::Reserved | Status::Signed(_) | Status::Sent(..), Event::Landed(transaction, at)) => {
                let answer = spend.answer().cloned().map(Answer::though_paid);
                let transaction = transaction.clone();
                Ok(spend.at(Status::Settled { transaction, answer }, *at))
            }
            (Status::Reserved, Event::Refused(reason, at)) => {
                let reason = reason.clone();
                Ok(spend.at(Status::Refused { reason }, *at))
            }
            (Status::Signed(_) | Status::Sent(..), Event::Unsettled(reason, at)) => {
                let (reason, answer) = (reason.clone(), spend.answer().cloned());
                Ok(spend.at(Status::Unsettled { reason, answer }, *at))
            }
            (_, event) => Err(OutOfOrder::new(spend.status(), event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Reserved => "reserved",
            Status::Signed(_) => "signed",
            Status::Sent(..) => "sent",
            Status::Settled { .. } => "settled",
            Status::Refused { .. } => "refused",
            Status::Unsettled { .. } => "unsettled",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Reserved { .. } => "reserved",
            Event::Signed(..) => "signed",
            Event::Answered(..) => "sent",
            Event::Landed(..) => "settled",
            Event::Refused(..) => "refused",
            Event::Unsettled(..) => "unsettled",
        })
    }

    fn view(&self, id: &SpendId) -> View {
        let (kind, host) = match &self.order.way {
            Way::Transfer => ("transfer", None),
            Way::Call { host } => ("x402", Some(host.as_str())),
        };
        let view = View::new()
            .text("spend_id", id)
            .text("state", self.status())
            .text("kind", kind)
            .number("amount", self.order.amount.decimal())
            .text("asset", "USDC")
            .text("network", self.from.network().name())
            .text("from", self.from.address())
            .text("pay_to", self.order.to.address())
            .maybe("host", host)
            .maybe("note", self.order.note.as_deref());
        let view = match self
            .answer()
            .map(|answer| answer.http_status)
            .filter(|status| *status > 0)
        {
            Some(status) => view.integer("http_status", status.into()),
            None => view.maybe("http_status", None::<&str>),
        };
        view.maybe("tx_hash", self.transaction().map(TransferName::transaction_of))
            .maybe("failure_reason", self.failure())
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    /// Known once the chain has spoken, or as soon as the server has refused: the money may take its time then.
    fn outcome(&self) -> Option<Self> {
        let refused = matches!(&self.status, Status::Sent(_, answer) if answer.failure.is_some());
        (refused || !self.is_open()).then(|| self.clone())
    }
}
