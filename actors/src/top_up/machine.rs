//! The top-up's state machine.

use super::{Burned, Command, Event, First, LAPSED, Leg, LegName, ROUNDS, Rejection, Status, TopUp};
use crate::id::{DepartureId, EffectId, Network, TopUpId, Wallet};
use crate::kernel::effect::{CreditCause, Work};
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, Opening, OutOfOrder, View, table};
use crate::ledger::{Charge, Place, Provider, Transaction};
use crate::money::{Cents, Usdc};
use crate::operator::Deed;
use crate::port::{Attested, Said, SignedBurn, Timestamp};

type Decided = Result<Decision<TopUp>, Rejection>;

impl Burned {
    /// Whether it is the first word of the attesters, or a newer one on the same message: theirs lapse.
    fn may_take(&self, word: &Attested) -> bool {
        let known = self.attested.as_ref();
        known.is_none_or(|known| known.nonce == word.nonce && known != word)
    }
}

impl TopUp {
    /// The first snapshot of a top-up, for the batch of the payment that bought it.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn pay(
        id: TopUpId,
        owner: Wallet,
        charge: Charge,
        (amount, rail, address): (Cents, Network, [u8; 20]),
        context: &Context,
    ) -> Result<Opening, OutOfOrder> {
        let paid = Event::Paid {
            owner,
            charge,
            amount,
            rail,
            address,
            at: context.now,
        };
        Opening::of::<Self>(&id, &paid, context)
    }

    /// The first leg is on chain: what left the treasury is booked out, the bridge's fee as our cost.
    fn landed(
        &self,
        id: &TopUpId,
        decision: Decision<Self>,
        (first, effect, transaction): (&First, EffectId, String),
        context: &Context,
    ) -> Decision<Self> {
        let by = Place::Provider(Provider::CardBalances);
        let left = Place::Treasury(self.rail);
        let owed = self.charge.owed();
        let booked = Transaction::new(context.now, id).book(by, left, owed);
        let decision = decision.completes(effect);
        match first {
            First::Burn(burn) => {
                let fee = burn.burned.minus(owed).unwrap_or(Usdc::ZERO);
                decision
                    .post(&booked.book(Place::Costs, left, fee), context)
                    .event(Event::Burned(transaction, context.now))
                    .then(Work::CrossBridge(*id), context)
            }
            First::Transfer(_) => decision
                .post(&booked, context)
                .event(Event::Forwarded(transaction, context.now))
                .then(Work::AwaitCardCredit(*id), context),
        }
    }

    /// A burn that an operator names, in the place of one of its own that lapsed if there was one.
    fn adopted(
        &self,
        id: &TopUpId,
        decision: Decision<Self>,
        (effect, burn, index): (EffectId, SignedBurn, u32),
        (act, evidence): (&Deed, String),
        context: &Context,
    ) -> Decision<Self> {
        let (now, transaction) = (context.now, burn.transaction.clone());
        let subject = format!("{transaction} {id}");
        let decision = decision
            .audited(act, "departure.book", subject, Some(evidence), context)
            .requires_absent(table::departure(DepartureId::of(self.rail, &transaction, index)));
        // What the backup knew as signed lapsed, and was signed again by the history that was lost.
        let decision = match self.status {
            Status::Paid(Some(_)) => decision.event(Event::Lapsed(now)),
            _ => decision,
        };
        let first = First::Burn(burn);
        let decision = decision.event(Event::Signed(Box::new(first.clone()), now));
        self.landed(id, decision, (&first, effect, transaction), context)
    }

    /// Gives the whole charge back: of what the provider was owed, or, once it was burned, as a loss of ours.
    fn failed(&self, id: &TopUpId, effect: EffectId, reason: Said, context: &Context) -> Decision<Self> {
        let back = match self.status {
            Status::Bridging(_) => Transaction::new(context.now, id)
                .book(Place::Costs, Place::Suspense, self.charge.owed())
                .book(Place::Fees, Place::Suspense, self.charge.fee()),
            _ => self.charge.undone(context.now, id, Provider::CardBalances),
        };
        let credit = Work::Credit {
            account: self.owner,
            amount: self.charge.charged,
            cause: CreditCause::TopUp(*id),
        };
        Decision::answer(())
            .completes(effect)
            .event(Event::Failed(reason, context.now))
            .post(&back, context)
            .then(credit, context)
    }

    /// The mint is on chain. What it brought beyond the amount is no longer a fee of the bridge.
    fn minted(
        &self,
        id: &TopUpId,
        (effect, transaction): (EffectId, String),
        arrived: Usdc,
        context: &Context,
    ) -> Decision<Self> {
        let decision = Decision::answer(()).completes(effect);
        let decision = match arrived.minus(self.arrives()) {
            Ok(surplus) if surplus > Usdc::ZERO => {
                let booked = Transaction::new(context.now, id).book(Place::BridgeSurplus, Place::Costs, surplus);
                decision.post(&booked, context)
            }
            _ => decision,
        };
        decision
            .event(Event::Minted(transaction, context.now))
            .then(Work::AwaitCardCredit(*id), context)
    }

    /// The name of a mint that brings so much.
    fn mint_leg(&self, arrived: Usdc) -> LegName {
        match arrived > self.arrives() {
            true => LegName::MintOf(arrived),
            false => LegName::Mint,
        }
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    fn with_leg(mut self, leg: LegName, transaction: &str, at: Timestamp) -> Self {
        let transaction = transaction.to_owned();
        self.legs.push(Leg { leg, transaction, at });
        self
    }
}

impl Entity for TopUp {
    const KIND: Kind = Kind::TopUp;
    const CHANGES: &'static [&'static str] = &["paid", "bridging", "delivered", "credited", "failed"];
    const MOVES: &'static [Move] = &[
        ("-", "payment settled", "paid"),
        ("paid", "chain shows the burn", "bridging"),
        ("paid", "chain shows the transfer on Base", "delivered"),
        ("paid", "nothing left and nothing can; charge credited", "failed"),
        ("bridging", "Base shows the mint", "delivered"),
        ("bridging", "it can never be minted; charge credited", "failed"),
        ("delivered", "issuer counts it", "credited"),
    ];

    type Id = TopUpId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = Self;

    fn decide(this: Option<&Self>, id: &TopUpId, command: Command, context: &Context) -> Decided {
        let Some(top_up) = this else { return Err(Rejection("-")) };
        let (decided, now) = (Decision::answer(()), context.now);
        match (&top_up.status, command) {
            // The last word on link and freeze: what is unlinked now is not sent to, nor is anything for who is frozen.
            (Status::Paid(None), Command::Signed(first)) => Ok(decided
                .requires_present(table::linked(&top_up.owner))
                .requires_absent(table::frozen(&top_up.owner))
                .event(Event::Signed(Box::new(first), now))),
            (Status::Paid(Some(_)), Command::Lapse { effect, round })
                if round == top_up.lapsed && top_up.lapsed + 1 >= ROUNDS =>
            {
                Ok(top_up.failed(id, effect, LAPSED.into(), context))
            }
            // The effect goes on: it signs anew.
            (Status::Paid(Some(_)), Command::Lapse { effect, round }) if round == top_up.lapsed => Ok(decided
                .requires_present(table::effect(effect))
                .event(Event::Lapsed(now))),
            (Status::Paid(Some(first)), Command::Landed { effect, transaction }) => {
                Ok(top_up.landed(id, decided, (first, effect, transaction), context))
            }
            (
                Status::Paid(first),
                Command::Adopt {
                    effect,
                    burn,
                    index,
                    dead,
                    act,
                    evidence,
                },
            ) if own_burn(first.as_deref()) == Some(dead.as_deref()) => {
                Ok(top_up.adopted(id, decided, (effect, burn, index), (&act, evidence), context))
            }
            (Status::Bridging(burned), Command::Attested(attested)) if burned.may_take(&attested) => {
                Ok(decided.event(Event::Attested(Box::new(attested), now)))
            }
            (Status::Bridging(burned), Command::MintSigned(mint)) if burned.attested.is_some() => {
                Ok(decided.event(Event::MintSigned(Box::new(mint), now)))
            }
            (Status::Bridging(burned), Command::Minted { effect, transaction }) => match &burned.attested {
                Some(attested) => Ok(top_up.minted(id, (effect, transaction), attested.arrives, context)),
                None => Err(Rejection(top_up.status())),
            },
            (Status::Bridging(burned), Command::Fail { effect, reason }) if burned.attested.is_some() => {
                Ok(top_up.failed(id, effect, reason, context))
            }
            (Status::Paid(_), Command::Fail { effect, reason }) => Ok(top_up.failed(id, effect, reason, context)),
            (Status::Delivered, Command::IssuerCredited { effect }) => {
                Ok(decided.completes(effect).event(Event::Credited(now)))
            }
            (_, _) => Err(Rejection(top_up.status())),
        }
    }

    fn apply(this: Option<Self>, _: &TopUpId, event: &Event) -> Result<Self, OutOfOrder> {
        let Some(top_up) = this else { return born(event) };
        match (top_up.status.clone(), event) {
            (Status::Paid(None), Event::Signed(first, at)) => Ok(top_up.at(Status::Paid(Some(first.clone())), *at)),
            (Status::Paid(Some(_)), Event::Lapsed(at)) => {
                let lapsed = top_up.lapsed.saturating_add(1);
                let top_up = top_up.at(Status::Paid(None), *at);
                Ok(Self { lapsed, ..top_up })
            }
            (Status::Paid(Some(first)), event) => first_leg(top_up, *first, event),
            (Status::Bridging(mut burned), Event::Attested(attested, at)) if burned.may_take(attested) => {
                burned.attested = Some((**attested).clone());
                burned.mint = None;
                Ok(top_up.at(Status::Bridging(burned), *at))
            }
            (Status::Bridging(mut burned), Event::MintSigned(mint, at)) if burned.attested.is_some() => {
                burned.mint = Some((**mint).clone());
                Ok(top_up.at(Status::Bridging(burned), *at))
            }
            (Status::Bridging(burned), Event::Minted(transaction, at)) if burned.attested.is_some() => {
                let arrived = burned.attested.as_ref().map_or(Usdc::ZERO, |attested| attested.arrives);
                let leg = top_up.mint_leg(arrived);
                Ok(top_up.with_leg(leg, transaction, *at).at(Status::Delivered, *at))
            }
            (Status::Bridging(burned), Event::Failed(reason, at)) if burned.attested.is_some() => {
                Ok(top_up.at(Status::Failed { reason: reason.clone() }, *at))
            }
            (Status::Paid(None), Event::Failed(reason, at)) => {
                Ok(top_up.at(Status::Failed { reason: reason.clone() }, *at))
            }
            (Status::Delivered, Event::Credited(at)) => Ok(top_up.at(Status::Credited, *at)),
            (_, event) => Err(OutOfOrder::new(top_up.status(), event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Paid(_) => "paid",
            Status::Bridging(_) => "bridging",
            Status::Delivered => "delivered",
            Status::Credited => "credited",
            Status::Failed { .. } => "failed",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        match event {
            Event::Paid { .. } => Some("paid"),
            Event::Burned(..) => Some("bridging"),
            Event::Forwarded(..) | Event::Minted(..) => Some("delivered"),
            Event::Credited(_) => Some("credited"),
            Event::Failed(..) => Some("failed"),
            Event::Signed(..) | Event::Lapsed(_) | Event::Attested(..) | Event::MintSigned(..) => None,
        }
    }

    fn view(&self, id: &TopUpId) -> View {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        let legs = self.legs.iter().map(|leg| {
            View::new()
                .text("leg", leg.leg.name())
                .text("tx_hash", &leg.transaction)
                .time("at", leg.at)
        });
        View::new()
            .text("top_up_id", id)
            .text("status", self.status())
            .number("funded_usd", self.amount.decimal())
            .text("deposit_address", Wallet::Evm(self.address).address())
            .text("network", "base")
            .text("asset", "USDC")
            .text("payment_network", self.rail.name())
            .list("legs", legs)
            .maybe("failure_code", reason)
            .text("payment_id", self.charge.payment)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        matches!(self.status, Status::Credited | Status::Failed { .. }).then(|| self.clone())
    }
}

/// The burn that has been signed, by its transaction; `None` for what takes no other burn: a transfer on Base.
const fn own_burn(first: Option<&First>) -> Option<Option<&str>> {
    match first {
        None => Some(None),
        Some(First::Burn(burn)) => Some(Some(burn.transaction.as_str())),
        Some(First::Transfer(_)) => None,
    }
}

fn born(event: &Event) -> Result<TopUp, OutOfOrder> {
    let Event::Paid {
        owner,
        charge,
        amount,
        rail,
        address,
        at,
    } = event
    else {
        return Err(OutOfOrder::new("-", event));
    };
    Ok(TopUp {
        owner: *owner,
        charge: *charge,
        amount: *amount,
        rail: *rail,
        address: *address,
        legs: Vec::new(),
        spent: Usdc::ZERO,
        lapsed: 0,
        created_at: *at,
        updated_at: *at,
        status: Status::Paid(None),
    })
}

/// What follows a first leg that is signed.
fn first_leg(top_up: TopUp, first: First, event: &Event) -> Result<TopUp, OutOfOrder> {
    match (first, event) {
        (First::Burn(burn), Event::Burned(transaction, at)) => {
            let spent = burn.burned;
            let burned = Burned {
                burn,
                attested: None,
                mint: None,
            };
            let top_up = top_up.with_leg(LegName::Burn, transaction, *at);
            let top_up = top_up.at(Status::Bridging(Box::new(burned)), *at);
            Ok(TopUp { spent, ..top_up })
        }
        (First::Transfer(out), Event::Forwarded(transaction, at)) => {
            let spent = top_up.charge.owed();
            let top_up = top_up.with_leg(LegName::TransferSigned(out.authorization.mark()), transaction, *at);
            let top_up = top_up.at(Status::Delivered, *at);
            Ok(TopUp { spent, ..top_up })
        }
        (_, Event::Failed(reason, at)) => Ok(top_up.at(Status::Failed { reason: reason.clone() }, *at)),
        (_, event) => Err(OutOfOrder::new("paid", event)),
    }
}
