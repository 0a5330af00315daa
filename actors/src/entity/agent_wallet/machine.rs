//! State machine of an agent wallet.

use purser_storage::mutants::{self, Mutant};

use super::{AgentWallet, Command, Event, Rejection, WalletHold, counted_day, in_usdc};
use super::{AgentWalletAddresses, AgentWalletLimits, AgentWalletView};
use crate::answer::ExactDecimal;
use crate::entity::wallet_payment;
use crate::entity::wallet_payment::{HttpRecordPart, WalletPayment, WalletPaymentOrder};
use crate::id::{JobId, Network, Wallet, WalletPaymentId};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::money::Usdc;

impl AgentWallet {
    fn hold(
        &self,
        spend: WalletPaymentId,
        (order, call): (WalletPaymentOrder, Vec<u8>),
        (holds, before): (Usdc, Usdc),
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let (amount, network) = (order.amount, order.to.network());
        if amount > in_usdc(self.caps.per_call) {
            let cap = self.caps.per_call;
            return Err(Rejection::PerCallCap { cap });
        }
        if let (Some(left), Some(cap)) = (self.remaining_on(context.now, before), self.caps.per_day)
            && amount > left
        {
            return Err(Rejection::DailyCap { cap, left });
        }
        if self.holds.len() >= Self::MAX_PENDING {
            return Err(Rejection::TooManyPending);
        }
        let available = holds.checked_sub(self.held(network)).unwrap_or(Usdc::ZERO);
        if amount == Usdc::ZERO || amount > available {
            return Err(Rejection::Insufficient { available });
        }
        let open = WalletHold {
            payment: spend,
            network,
            amount,
            day: counted_day(context.now, self.day),
        };
        let from = self.addresses.on(network);
        let opening =
            WalletPayment::create(spend, self.owner, from, order, context).map_err(|_| Rejection::NotFound)?;
        Ok(HttpRecordPart::Request
            .put(spend, &call, Decision::answer(()))
            .event(Event::Held(open))
            .open(opening)
            .index_for_owner(&self.owner, EntityKind::WalletPayment, spend.0, context)
            .enqueue(wallet_payment::Job::SendWalletPayment(spend), context))
    }

    fn settle_hold(&self, effect: JobId, spend: WalletPaymentId, paid: bool) -> Decision<Self> {
        let done = Decision::answer(()).completes_job(effect);
        if self.holds.iter().any(|open| open.payment == spend) {
            return done.event(Event::HoldSettled(spend, paid));
        }
        done
    }

    /// State after a reservation, or after one without a payment was released.
    fn with_hold(mut self, open: WalletHold) -> Option<Self> {
        if self.day != open.day {
            self.day = open.day;
            self.used = Usdc::ZERO;
        }
        self.used = self.used.checked_add(open.amount).ok()?;
        self.holds.push(open);
        Some(self)
    }

    fn without_hold(mut self, spend: WalletPaymentId, paid: bool) -> Option<Self> {
        let at = self.holds.iter().position(|open| open.payment == spend)?;
        let open = self.holds.remove(at);
        // A reservation of a past day needs no release.
        if (!paid || mutants::is_enabled(Mutant::WalletCapRefunded)) && open.day == self.day {
            self.used = self.used.checked_sub(open.amount).ok()?;
        }
        Some(self)
    }
}

impl Entity for AgentWallet {
    const KIND: EntityKind = EntityKind::AgentWallet;
    const CREATED_BY_COMMAND: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = AgentWalletView;

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
                    caps: limits,
                },
            ) => Ok(Network::ALL
                .into_iter()
                .map(|network| table::address(&addresses.on(network)))
                .fold(done, |done, address| done.put_new(address, owner.key()))
                .put_new(table::vault(Self::keys(owner)), sealed)
                .event(Event::Created {
                    addresses,
                    caps: limits,
                    at: context.now,
                })),
            // Another call created it first; both derived the same addresses.
            (Some(_), Command::Create { .. }) => Ok(done),
            (Some(wallet), Command::SetCaps(limits)) if wallet.caps == limits => Ok(done),
            (Some(_), Command::SetCaps(limits)) => Ok(done.event(Event::CapsChanged(limits))),
            (
                Some(wallet),
                Command::Hold {
                    payment: spend,
                    order,
                    call,
                    chain_balance: holds,
                    spent_before: before,
                },
            ) => wallet.hold(spend, (*order, call), (holds, before), context),
            (
                Some(wallet),
                Command::SettleHold {
                    job: effect,
                    payment: spend,
                    paid,
                },
            ) => Ok(wallet.settle_hold(effect, spend, paid)),
            (Some(wallet), Command::SaveAddress(saved)) => wallet.save_address(saved),
            (Some(wallet), Command::DeleteAddress(id)) => wallet.delete_address(id),
            (None, _) => Err(Rejection::NotFound),
        }
    }

    fn apply(this: Option<Self>, owner: &Wallet, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || InvalidTransition::new(status, event);
        match (this, event) {
            (
                None,
                Event::Created {
                    addresses,
                    caps: limits,
                    at,
                },
            ) => Ok(Self {
                owner: *owner,
                addresses: *addresses,
                caps: *limits,
                created_at: *at,
                holds: Vec::new(),
                address_book: Vec::new(),
                day: 0,
                used: Usdc::ZERO,
            }),
            (Some(wallet), Event::CapsChanged(limits)) => Ok(Self {
                caps: *limits,
                ..wallet
            }),
            (Some(wallet), Event::Held(open)) => wallet.with_hold(*open).ok_or_else(broken),
            (Some(wallet), Event::HoldSettled(spend, paid)) => wallet.without_hold(*spend, *paid).ok_or_else(broken),
            (Some(wallet), Event::AddressSaved(saved)) => Ok(wallet.with_saved_address(saved.clone())),
            (Some(wallet), Event::AddressDeleted(id)) => wallet.without_address(*id).ok_or_else(broken),
            (_, _) => Err(broken()),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    /// Wallet payments announce their own reservations.
    fn view(&self, owner: &Wallet) -> AgentWalletView {
        AgentWalletView {
            user_id: (*owner).into(),
            status: self.state(),
            addresses: AgentWalletAddresses {
                base: self.addresses.on(Network::Base).into(),
                solana: self.addresses.on(Network::Solana).into(),
            },
            limits: AgentWalletLimits {
                per_call_usd: self.caps.per_call.into(),
                per_day_usd: self.caps.per_day.map(ExactDecimal::from),
            },
            saved_addresses: self.address_book.len() as u64,
            created_at: self.created_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
