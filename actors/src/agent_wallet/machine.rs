//! The managed wallet's state machine.

use purser_storage::mutants::{self, Mutant};

use super::{AgentWallet, Command, Event, Rejection, WalletHold, counted_day, in_usdc};
use crate::id::{JobId, Network, Wallet, WalletPaymentId};
use crate::kernel::entity::Transition;
use crate::kernel::job::Job;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, table};
use crate::money::Usdc;
use crate::wallet_payment::{HttpRecordPart, WalletPayment, WalletPaymentOrder};

impl AgentWallet {
    fn reserve(
        &self,
        spend: WalletPaymentId,
        (order, call): (WalletPaymentOrder, Vec<u8>),
        (holds, before): (Usdc, Usdc),
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let (amount, network) = (order.amount, order.to.network());
        if amount > in_usdc(self.limits.per_call) {
            let cap = self.limits.per_call;
            return Err(Rejection::PerCallCap { cap });
        }
        if let (Some(left), Some(cap)) = (self.remaining_on(context.now, before), self.limits.per_day)
            && amount > left
        {
            return Err(Rejection::DailyCap { cap, left });
        }
        if self.open.len() >= Self::MAX_PENDING {
            return Err(Rejection::TooManyPending);
        }
        let available = holds.checked_sub(self.held(network)).unwrap_or(Usdc::ZERO);
        if amount == Usdc::ZERO || amount > available {
            return Err(Rejection::Insufficient { available });
        }
        let open = WalletHold {
            spend,
            network,
            amount,
            day: counted_day(context.now, self.day),
        };
        let from = self.addresses.on(network);
        let opening =
            WalletPayment::reserve(spend, self.owner, from, order, context).map_err(|_| Rejection::NotFound)?;
        Ok(HttpRecordPart::Request
            .put(spend, &call, Decision::answer(()))
            .event(Event::Held(open))
            .open(opening)
            .index_for_owner(&self.owner, EntityKind::WalletPayment, spend.0, context)
            .enqueue(Job::SendWalletPayment(spend), context))
    }

    fn end(&self, effect: JobId, spend: WalletPaymentId, paid: bool) -> Decision<Self> {
        let done = Decision::answer(()).completes_job(effect);
        if self.open.iter().any(|open| open.spend == spend) {
            return done.event(Event::HoldSettled(spend, paid));
        }
        done
    }

    /// After a reservation, or after one that did not leave is given back.
    fn reserving(mut self, open: WalletHold) -> Option<Self> {
        if self.day != open.day {
            self.day = open.day;
            self.used = Usdc::ZERO;
        }
        self.used = self.used.checked_add(open.amount).ok()?;
        self.open.push(open);
        Some(self)
    }

    fn ending(mut self, spend: WalletPaymentId, paid: bool) -> Option<Self> {
        let at = self.open.iter().position(|open| open.spend == spend)?;
        let open = self.open.remove(at);
        // A share of a day that is over needs no giving back.
        if (!paid || mutants::is_enabled(Mutant::WalletCapRefunded)) && open.day == self.day {
            self.used = self.used.checked_sub(open.amount).ok()?;
        }
        Some(self)
    }
}

impl Entity for AgentWallet {
    const KIND: EntityKind = EntityKind::AgentWallet;
    const EVENT_NAMES: &'static [&'static str] = &["opened", "limits_changed", "address_saved", "address_deleted"];
    const TRANSITIONS: &'static [Transition] = &[("-", "an agent opens it", "active")];
    const CREATED_BY_COMMAND: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Event = Event;
    type Reply = ();
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
                Command::Create {
                    addresses,
                    sealed,
                    limits,
                },
            ) => Ok(Network::ALL
                .into_iter()
                .map(|network| table::address(&addresses.on(network)))
                .fold(done, |done, address| done.put_new(address, owner.key()))
                .put_new(table::vault(Self::keys(owner)), sealed)
                .event(Event::Created {
                    addresses,
                    limits,
                    at: context.now,
                })),
            // Another call was first; what both derived is the same.
            (Some(_), Command::Create { .. }) => Ok(done),
            (Some(wallet), Command::SetCaps(limits)) if wallet.limits == limits => Ok(done),
            (Some(_), Command::SetCaps(limits)) => Ok(done.event(Event::CapsChanged(limits))),
            (
                Some(wallet),
                Command::Hold {
                    spend,
                    order,
                    call,
                    holds,
                    before,
                },
            ) => wallet.reserve(spend, (*order, call), (holds, before), context),
            (Some(wallet), Command::SettleHold { effect, spend, paid }) => Ok(wallet.end(effect, spend, paid)),
            (Some(wallet), Command::SaveAddress(saved)) => wallet.save(saved),
            (Some(wallet), Command::DeleteAddress(id)) => wallet.forget(id),
            (None, _) => Err(Rejection::NotFound),
        }
    }

    fn apply(this: Option<Self>, owner: &Wallet, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || InvalidTransition::new(status, event);
        match (this, event) {
            (None, Event::Created { addresses, limits, at }) => Ok(Self {
                owner: *owner,
                addresses: *addresses,
                limits: *limits,
                created_at: *at,
                open: Vec::new(),
                book: Vec::new(),
                day: 0,
                used: Usdc::ZERO,
            }),
            (Some(wallet), Event::CapsChanged(limits)) => Ok(Self {
                limits: *limits,
                ..wallet
            }),
            (Some(wallet), Event::Held(open)) => wallet.reserving(*open).ok_or_else(broken),
            (Some(wallet), Event::HoldSettled(spend, paid)) => wallet.ending(*spend, *paid).ok_or_else(broken),
            (Some(wallet), Event::AddressSaved(saved)) => Ok(wallet.saving(saved.clone())),
            (Some(wallet), Event::AddressDeleted(id)) => wallet.forgetting(*id).ok_or_else(broken),
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
    fn event_name(event: &Event) -> Option<&'static str> {
        match event {
            Event::Created { .. } => Some("opened"),
            Event::CapsChanged(_) => Some("limits_changed"),
            Event::Held(_) | Event::HoldSettled(..) => None,
            Event::AddressSaved(_) => Some("address_saved"),
            Event::AddressDeleted(_) => Some("address_deleted"),
        }
    }

    fn view(&self, owner: &Wallet) -> JsonObject {
        let addresses = JsonObject::new()
            .text("base", self.addresses.on(Network::Base).address())
            .text("solana", self.addresses.on(Network::Solana).address());
        let limits = JsonObject::new().number("per_call_usd", self.limits.per_call.decimal());
        let limits = match self.limits.per_day {
            Some(cap) => limits.number("per_day_usd", cap.decimal()),
            None => limits.optional_text("per_day_usd", None::<&str>),
        };
        JsonObject::new()
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
