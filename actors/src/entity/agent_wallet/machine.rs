//! State machine of an agent wallet.

use purser_storage::mutants::{self, Mutant};

use super::{AgentWallet, Command, Event, Rejection, UsableApproval, WalletHold, WalletSpend, counted_day, refusal_of};
use super::{
    AgentWalletAddresses, AgentWalletLimits, AgentWalletView, MerchantCaps, MerchantCapsView, RefusedSpendView,
    WalletSums,
};
use crate::answer::ExactDecimal;
use crate::entity::api_key::KeyAllowance;
use crate::entity::spend_approval::{self, SpendUse};
use crate::entity::wallet_payment;
use crate::entity::wallet_payment::{HttpRecordPart, WalletPayment};
use crate::id::{JobId, Network, SpendApprovalId, Wallet, WalletPaymentId};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::money::Usdc;

impl AgentWallet {
    fn hold(
        &self,
        spend: WalletSpend,
        before: Usdc,
        approval: Option<&UsableApproval>,
        key: Option<&KeyAllowance>,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let (amount, network) = (spend.order.amount, spend.order.to.network());
        let exceeded = self.exceeded_limits(&spend.order, before, key, context.now);
        let over = exceeded.first();
        let used =
            approval.filter(|approval| over.is_some() && self.is_passed_by(approval, &spend, &exceeded, context.now));
        if let Some(over) = over
            && used.is_none()
            && !self.is_approvable(amount)
        {
            return Err(refusal_of(over));
        }
        if self.holds.len() >= Self::MAX_PENDING {
            return Err(Rejection::TooManyPending);
        }
        let available = spend
            .chain_balance
            .checked_sub(self.held(network))
            .unwrap_or(Usdc::ZERO);
        if amount == Usdc::ZERO || amount > available {
            return Err(Rejection::Insufficient { available });
        }
        // Last, so that the owner is not asked about what could not be paid.
        if over.is_some() && used.is_none() {
            return Err(Rejection::ApprovalRequired);
        }
        let payment = spend.payment;
        let decision = Decision::answer(());
        let balances = [(network, spend.chain_balance)];
        let decision = self.observe(&balances, spend.known_lines, decision, context);
        let (decision, share) = match key {
            Some(key) => {
                let (decision, share) = key.count(amount, decision, context);
                (decision, Some(share))
            }
            None => (decision, None),
        };
        let open = WalletHold {
            payment,
            network,
            amount,
            day: counted_day(context.now, self.day),
            key: share,
            approval: used.map(|approval| approval.id),
            merchant: spend.order.method.merchant().map(str::to_owned),
        };
        let from = self.addresses.on(network);
        let opening =
            WalletPayment::create(payment, self.owner, from, spend.order, context).map_err(|_| Rejection::NotFound)?;
        let held = HttpRecordPart::Request
            .put(payment, &spend.call, decision)
            .event(Event::Held(open))
            .open(opening)
            .index_for_owner(&self.owner, EntityKind::WalletPayment, payment.0, context)
            .enqueue(wallet_payment::Job::SendWalletPayment(payment), context);
        Ok(match used {
            Some(approval) => use_approval(held, approval.id, payment, context),
            None => held,
        })
    }

    fn settle_hold(
        &self,
        job: JobId,
        spend: WalletPaymentId,
        paid: bool,
        key: Option<&KeyAllowance>,
        context: &Context,
    ) -> Decision<Self> {
        let done = Decision::answer(()).completes_job(job);
        let Some(open) = self.holds.iter().find(|open| open.payment == spend) else {
            return done;
        };
        let done = done.event(Event::HoldSettled(spend, paid));
        let done = match paid {
            true => self.append_payment(open, done, context),
            false => done,
        };
        match (key, open.key) {
            (Some(key), Some(share)) if !paid => key.release(share, open.amount, done),
            _ => done,
        }
    }

    /// State after a reservation, or after one without a payment was released.
    fn with_hold(mut self, open: WalletHold) -> Option<Self> {
        if self.day != open.day {
            self.day = open.day;
            self.used = Usdc::ZERO;
            self.merchant_uses.clear();
        }
        self.used = self.used.checked_add(open.amount).ok()?;
        self.count_merchant(&open)?;
        self.holds.push(open);
        Some(self)
    }

    fn without_hold(mut self, spend: WalletPaymentId, paid: bool) -> Option<Self> {
        let at = self.holds.iter().position(|open| open.payment == spend)?;
        let open = self.holds.remove(at);
        if paid {
            self.sums = self.sums.paid(open.network, open.amount)?;
        }
        // A reservation of a past day needs no release.
        if (!paid || mutants::is_enabled(Mutant::WalletCapRefunded)) && open.day == self.day {
            self.used = self.used.checked_sub(open.amount).ok()?;
            self.uncount_merchant(&open);
        }
        Some(self)
    }
}

/// Uses the approval up: of two spends at once, the row exists for one.
fn use_approval(
    held: Decision<AgentWallet>,
    approval: SpendApprovalId,
    payment: WalletPaymentId,
    context: &Context,
) -> Decision<AgentWallet> {
    let held = match mutants::is_enabled(Mutant::ApprovalUsedAgain) {
        true => held,
        false => held.delete(table::approved_spend(approval)),
    };
    let used_by = SpendUse::WalletPayment(payment);
    held.enqueue(
        spend_approval::Job::RecordSpendApprovalUse { approval, used_by },
        context,
    )
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
            (Some(wallet), Command::SetMerchantCaps(caps)) if wallet.merchant_caps == caps => Ok(done),
            (Some(_), Command::SetMerchantCaps(caps)) => Ok(done.event(Event::MerchantCapsChanged(caps))),
            (
                Some(wallet),
                Command::Hold {
                    spend,
                    spent_before,
                    approval,
                    key,
                },
            ) => wallet.hold(*spend, spent_before, approval.as_deref(), key.as_deref(), context),
            (Some(wallet), Command::RecordRefusal(refused)) => Ok(wallet.record_refusal(*refused)),
            (
                Some(wallet),
                Command::SettleHold {
                    job,
                    payment: spend,
                    paid,
                    key,
                },
            ) => Ok(wallet.settle_hold(job, spend, paid, key.as_deref(), context)),
            (Some(wallet), Command::ObserveBalances { balances, lines }) => {
                Ok(wallet.observe(&balances, Some(lines), done, context))
            }
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
                merchant_caps: MerchantCaps::default(),
                merchant_uses: Vec::new(),
                last_refusal: None,
                sums: WalletSums::default(),
            }),
            (Some(wallet), Event::CapsChanged(limits)) => Ok(Self {
                caps: *limits,
                ..wallet
            }),
            (Some(wallet), Event::Held(open)) => wallet.with_hold(open.clone()).ok_or_else(broken),
            (Some(wallet), Event::HoldSettled(spend, paid)) => wallet.without_hold(*spend, *paid).ok_or_else(broken),
            (Some(wallet), Event::AddressSaved(saved)) => Ok(wallet.with_saved_address(saved.clone())),
            (Some(wallet), Event::AddressDeleted(id)) => wallet.without_address(*id).ok_or_else(broken),
            (Some(wallet), Event::BalanceObserved(network, balance)) => Ok(Self {
                sums: wallet.sums.observed(*network, *balance).ok_or_else(broken)?,
                ..wallet
            }),
            (Some(wallet), Event::MerchantCapsChanged(caps)) => Ok(Self {
                merchant_caps: caps.clone(),
                ..wallet
            }),
            (Some(wallet), Event::SpendRefused(refused)) => Ok(Self {
                last_refusal: Some((**refused).clone()),
                ..wallet
            }),
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
                approvals: self.caps.approvals,
                merchants: Some(&self.merchant_caps)
                    .filter(|caps| !caps.is_empty())
                    .map(MerchantCapsView::from),
            },
            saved_addresses: self.address_book.len() as u64,
            created_at: self.created_at.into(),
            last_refused_spend: self.last_refusal.as_ref().and_then(RefusedSpendView::of),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
