//! The managed wallet's state machine.

use purser_storage::planted::{self, Bug};

use super::{AgentWallet, Command, Event, Open, Rejection, counted_day, in_usdc};
use crate::id::{EffectId, Network, SpendId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::money::Usdc;
use crate::spend::{Order, Part, Spend};

impl AgentWallet {
    fn reserve(
        &self,
        spend: SpendId,
        (order, call): (Order, Vec<u8>),
        (holds, before): (Usdc, Usdc),
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let (amount, network) = (order.amount, order.to.network());
        if amount > in_usdc(self.limits.per_call) {
            let cap = self.limits.per_call;
            return Err(Rejection::PerCall { cap });
        }
        if let (Some(left), Some(cap)) = (self.left_on(context.now, before), self.limits.per_day)
            && amount > left
        {
            return Err(Rejection::PerDay { cap, left });
        }
        if self.open.len() >= Self::MOST_OPEN {
            return Err(Rejection::Busy);
        }
        let available = holds.minus(self.reserved(network)).unwrap_or(Usdc::ZERO);
        if amount == Usdc::ZERO || amount > available {
            return Err(Rejection::Insufficient { available });
        }
        let open = Open {
            spend,
            network,
            amount,
            day: counted_day(context.now, self.day),
        };
        let from = self.addresses.on(network);
        let opening = Spend::reserve(spend, self.owner, from, order, context).map_err(|_| Rejection::Nothing)?;
        Ok(Part::Call
            .put(spend, &call, Decision::answer(()))
            .event(Event::Reserved(open))
            .open(opening)
            .owned(&self.owner, Kind::Spend, spend.0, context)
            .then(Work::Spend(spend), context))
    }

    fn end(&self, effect: EffectId, spend: SpendId, paid: bool) -> Decision<Self> {
        let done = Decision::answer(()).completes(effect);
        if self.open.iter().any(|open| open.spend == spend) {
            return done.event(Event::Ended(spend, paid));
        }
        done
    }

    /// After a reservation, or after one that did not leave is given back.
    fn reserving(mut self, open: Open) -> Option<Self> {
        if self.day != open.day {
            self.day = open.day;
            self.used = Usdc::ZERO;
        }
        self.used = self.used.plus(open.amount).ok()?;
        self.open.push(open);
        Some(self)
    }

    fn ending(mut self, spend: SpendId, paid: bool) -> Option<Self> {
        let at = self.open.iter().position(|open| open.spend == spend)?;
        let open = self.open.remove(at);
        // A share of a day that is over needs no giving back.
        if (!paid || planted::is(Bug::SpendShareGivenBack)) && open.day == self.day {
            self.used = self.used.minus(open.amount).ok()?;
        }
        Some(self)
    }
}

impl Entity for AgentWallet {
    const KIND: Kind = Kind::AgentWallet;
    const CHANGES: &'static [&'static str] = &["opened", "limits_changed", "address_saved", "address_deleted"];
    const MOVES: &'static [Move] = &[("-", "an agent opens it", "active")];
    const SELF_BORN: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        owner: &Wallet,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        match (this, command) {
            (
                None,
                Command::Open {
                    addresses,
                    sealed,
                    limits,
                },
            ) => Ok(Network::ALL
                .into_iter()
                .map(|network| table::address(&addresses.on(network)))
                .fold(done, |done, address| done.put_new(address, owner.key()))
                .put_new(table::vault(Self::keys(owner)), sealed)
                .event(Event::Opened {
                    addresses,
                    limits,
                    at: context.now,
                })),
            // Another call was first; what both derived is the same.
            (Some(_), Command::Open { .. }) => Ok(done),
            (Some(wallet), Command::SetLimits(limits)) if wallet.limits == limits => Ok(done),
            (Some(_), Command::SetLimits(limits)) => Ok(done.event(Event::LimitsChanged(limits))),
            (
                Some(wallet),
                Command::Reserve {
                    spend,
                    order,
                    call,
                    holds,
                    before,
                },
            ) => wallet.reserve(spend, (*order, call), (holds, before), context),
            (Some(wallet), Command::End { effect, spend, paid }) => Ok(wallet.end(effect, spend, paid)),
            (Some(wallet), Command::Save(saved)) => wallet.save(saved),
            (Some(wallet), Command::Forget(id)) => wallet.forget(id),
            (None, _) => Err(Rejection::Nothing),
        }
    }

    fn apply(this: Option<Self>, owner: &Wallet, event: &Event) -> Result<Self, OutOfOrder> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || OutOfOrder::new(status, event);
        match (this, event) {
            (None, Event::Opened { addresses, limits, at }) => Ok(Self {
                owner: *owner,
                addresses: *addresses,
                limits: *limits,
                created_at: *at,
                open: Vec::new(),
                book: Vec::new(),
                day: 0,
                used: Usdc::ZERO,
            }),
            (Some(wallet), Event::LimitsChanged(limits)) => Ok(Self {
                limits: *limits,
                ..wallet
            }),
            (Some(wallet), Event::Reserved(open)) => wallet.reserving(*open).ok_or_else(broken),
            (Some(wallet), Event::Ended(spend, paid)) => wallet.ending(*spend, *paid).ok_or_else(broken),
            (Some(wallet), Event::Saved(saved)) => Ok(wallet.saving(saved.clone())),
            (Some(wallet), Event::Forgotten(id)) => wallet.forgetting(*id).ok_or_else(broken),
            (_, _) => Err(broken()),
        }
    }

    fn status(&self) -> &'static str {
        "active"
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    /// Reservations are told by the spends themselves.
    fn announces(event: &Event) -> Option<&'static str> {
        match event {
            Event::Opened { .. } => Some("opened"),
            Event::LimitsChanged(_) => Some("limits_changed"),
            Event::Reserved(_) | Event::Ended(..) => None,
            Event::Saved(_) => Some("address_saved"),
            Event::Forgotten(_) => Some("address_deleted"),
        }
    }

    fn view(&self, owner: &Wallet) -> View {
        let addresses = View::new()
            .text("base", self.addresses.on(Network::Base).address())
            .text("solana", self.addresses.on(Network::Solana).address());
        let limits = View::new().number("per_call_usd", self.limits.per_call.decimal());
        let limits = match self.limits.per_day {
            Some(cap) => limits.number("per_day_usd", cap.decimal()),
            None => limits.maybe("per_day_usd", None::<&str>),
        };
        View::new()
            .text("user_id", owner.user_id())
            .text("state", self.status())
            .object("addresses", &addresses)
            .object("limits", &limits)
            .integer("saved_addresses", self.book.len() as u64)
            .time("created_at", self.created_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
