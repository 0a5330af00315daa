//! State machine of an account.

use purser_storage::codec;
use purser_storage::mutants::{self, Mutant};

use super::AccountView;
use super::statement::{AccountAfter, StatementLineType, append_line};
use super::{
    Account, AgentStop, Command, Event, Job, LoginGrant, Rejection, bank_debits, claims, holds, lost_orders,
    provisional_credits,
};
use crate::answer::Time;
use crate::entity::account::CreditCause;
use crate::entity::incoming;
use crate::entity::late_return;
use crate::entity::payment;
use crate::entity::refund;
use crate::entity::session::{AuthMethod, Session};
use crate::id::{JobId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, NewEntity, StateMachine as _, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::money::Usdc;
use crate::operator::{AuditAction, AuditedAction};

/// An account is created by the first command that needs it. A Solana address also reserves its lower-case form; if
/// another address already has it, the batch is rejected.
pub(super) fn open(
    this: Option<&Account>,
    wallet: &Wallet,
    decision: Decision<Account>,
    context: &Context,
) -> Decision<Account> {
    if this.is_some() {
        return decision;
    }
    let decision = decision.event(Event::Opened(context.now));
    match wallet {
        Wallet::Evm(_) => decision,
        Wallet::Solana(_) => decision.put_new(table::user(&wallet.user_id()), wallet.key()),
    }
}

/// Adds the session that was opened, which is new.
fn with_session(
    decision: Decision<Account>,
    opened: Result<NewEntity, InvalidTransition>,
) -> Result<Decision<Account>, Rejection> {
    Ok(decision.open(opened.map_err(|_| Rejection::NotFound)?))
}

pub(super) fn credit(
    this: Option<&Account>,
    wallet: &Wallet,
    (job, amount): (JobId, Usdc),
    cause: CreditCause,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    // Checked here so that `apply` cannot fail: the sum of all USDC fits many times over.
    let most = this.map_or(Usdc::ZERO, |account| account.total_deposits.max(account.balance));
    most.checked_add(amount).map_err(|_| Rejection::Overflow)?;
    let booked = LedgerTransaction::new(context.now, cause.name()).post(
        LedgerAccount::Suspense,
        LedgerAccount::Customer(*wallet),
        amount,
    );
    let done = Decision::answer(());
    let done = if mutants::is_enabled(Mutant::CreditThenDelete) {
        done
    } else {
        done.completes_job(job)
    };
    // The owner of an incoming transfer may have no account yet.
    let done = open(this, wallet, done, context);
    let decision = done
        .event(Event::Credited { amount, cause })
        .post_ledger(&booked, context);
    let after = AccountAfter::unchanged(this).credited(amount)?;
    let credited = (StatementLineType::Credited, amount, cause.name());
    let decision = append_line(decision, wallet, credited, after, context);
    Ok(match cause {
        CreditCause::Deposit(deposit) => decision.enqueue(incoming::Job::ConfirmIncoming(deposit), context),
        CreditCause::Payment(payment) => decision.enqueue(payment::Job::ConfirmPaymentCredit(payment), context),
        CreditCause::LateReturn(late) => decision.enqueue(late_return::Job::ConfirmLateReturnCredit(late), context),
        CreditCause::Refund(refund) => decision.enqueue(refund::Job::ConfirmRefund(refund), context),
        _ => decision,
    })
}

/// Amount in suspense for a credit that is not paid.
fn retain_credit(job: JobId, amount: Usdc, cause: CreditCause, context: &Context) -> Decision<Account> {
    let kept = LedgerTransaction::new(context.now, cause.name()).post(
        LedgerAccount::Suspense,
        LedgerAccount::OperatingCosts,
        amount,
    );
    Decision::answer(()).completes_job(job).post_ledger(&kept, context)
}

/// Freezes the account with this message, or unfreezes it. An operator's request is recorded even if it has no effect.
fn freeze(
    this: Option<&Account>,
    wallet: &Wallet,
    words: Option<String>,
    act: Option<&AuditedAction>,
    context: &Context,
) -> Decision<Account> {
    let mut done = Decision::answer(());
    if let Some(act) = act {
        let what = if words.is_some() {
            AuditAction::AccountFreeze
        } else {
            AuditAction::AccountUnfreeze
        };
        done = done.audit(act, what, wallet, words.clone(), context);
    }
    let said = this.and_then(|account| account.frozen.as_ref());
    match words {
        words if words.as_ref() == said => done,
        Some(words) => {
            // From this batch on nothing is signed for the account: a signing batch has the absence of this row as a
            // condition.
            let frozen = open(this, wallet, done, context).put(table::frozen(wallet), Vec::new());
            frozen.event(Event::Frozen(words))
        }
        None => done.delete_if_present(table::frozen(wallet)).event(Event::Unfrozen),
    }
}

/// Stops all agents. From this batch on no batch of an agent commits and no purchase is claimed. Their sessions end by
/// the time of the stop, and a job revokes the API keys. What is paid already continues.
fn stop_agents(this: Option<&Account>, wallet: &Wallet, context: &Context) -> Decision<Account> {
    let done = Decision::answer(());
    if this.is_some_and(|account| account.agents_stopped_at().is_some()) {
        return done;
    }
    let account = *wallet;
    let until = context.now;
    open(this, wallet, done, context)
        .put(table::agents_stopped(wallet), Vec::new())
        .event(Event::AgentsStopped(until))
        .enqueue(Job::RevokeApiKeys { account, until }, context)
}

impl Entity for Account {
    const KIND: EntityKind = EntityKind::Account;
    const CREATED_BY_COMMAND: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = AccountView;

    fn decide(
        this: Option<&Self>,
        wallet: &Wallet,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        match (this, command) {
            (
                this,
                Command::SignIn {
                    nonce: (nonce, expires_s),
                    session,
                },
            ) => {
                let used = done.put_new(table::nonce(expires_s, &nonce), Vec::new());
                let opened = Session::open(session, *wallet, AuthMethod::Wallet, None, context);
                let used = used.put(Session::list_key(wallet, context.now, session.id), Vec::new());
                with_session(open(this, wallet, used, context), opened)
            }
            (this, Command::Claim(admission)) => claims::claim(this, wallet, *admission, context),
            (this, command @ Command::Readmit { .. }) => claims::readmit(this, wallet, command, context),
            (Some(_), Command::ReleaseCapReservation { job, reservation }) => {
                Ok(done.completes_job(job).event(Event::CapReleased(reservation)))
            }
            (
                this,
                command @ (Command::CountCapReservation { .. }
                | Command::CountUnclaimed { .. }
                | Command::CountClaimed { .. }),
            ) => claims::count_unadmitted(this, wallet, command, context),
            (Some(_), Command::RetainCredit { job, amount, cause }) => Ok(retain_credit(job, amount, cause, context)),
            (this, Command::Credit { job, amount, cause }) => credit(this, wallet, (job, amount), cause, context),
            (this, command @ (Command::CreditProvisionally { .. } | Command::EndProvisionalHold { .. })) => {
                provisional_credits::decide(this, wallet, command, context)
            }
            (this, command @ Command::SendBack { .. }) => holds::send_back(this, wallet, command, context),
            (Some(account), Command::DebitForBank(outgoing)) => bank_debits::decide(account, outgoing, context),
            (this, command @ Command::AttributeOrder { .. }) => lost_orders::decide(this, wallet, command, context),
            (
                Some(account),
                command @ (Command::Withdraw { .. } | Command::SettleHold { .. } | Command::AttributeTransfer { .. }),
            ) => holds::decide(account, command, context),
            (
                Some(Self {
                    frozen: Some(message), ..
                }),
                Command::SetCaps(_) | Command::SetBalanceLimits(_),
            ) => Err(Rejection::Frozen {
                message: message.clone(),
            }),
            (Some(_), Command::CreateLoginCode { code, amr, created_by }) => {
                let grant = LoginGrant {
                    wallet: *wallet,
                    amr,
                    expires_s: code.expires_s,
                    created_by,
                };
                Ok(done.put_new(table::login_code(&code.hash), codec::encode(&grant)))
            }
            (Some(_), Command::RedeemLoginCode { code, grant, session }) => {
                let used = done.delete(table::login_code(&code));
                let used = used.put(Session::list_key(wallet, context.now, session.id), Vec::new());
                let opened = Session::open(session, *wallet, grant.amr, Some(grant.created_by), context);
                with_session(used, opened)
            }
            (Some(account), Command::SetCaps(caps)) if account.owner_caps == caps => Ok(done),
            (Some(_), Command::SetCaps(caps)) => Ok(done.event(Event::CapsChanged(caps))),
            (Some(account), Command::SetBalanceLimits(limits)) if account.balance_limits == limits => Ok(done),
            (Some(_), Command::SetBalanceLimits(limits)) => Ok(done.event(Event::BalanceLimitsChanged(limits))),
            (this, Command::StopAgents) => Ok(stop_agents(this, wallet, context)),
            (Some(account), Command::ResumeAgents) if account.agents_stopped_at().is_none() => Ok(done),
            (Some(_), Command::ResumeAgents) => Ok(done
                .delete_if_present(table::agents_stopped(wallet))
                .event(Event::AgentsResumed)),
            (Some(_), Command::RecordKeysRevoked { job }) => Ok(done.completes_job(job)),
            (this, Command::Freeze { message, act }) => Ok(freeze(this, wallet, Some(message), act.as_ref(), context)),
            (this, Command::Unfreeze { act }) => Ok(freeze(this, wallet, None, act.as_ref(), context)),
            (None, _) => Err(Rejection::NotFound),
        }
    }

    fn apply(this: Option<Self>, wallet: &Wallet, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || InvalidTransition::new(status, event);
        match (this, event) {
            (None, Event::Opened(at)) => Ok(Self::new(*wallet, *at)),
            (Some(a), Event::CapReserved(share)) => {
                let (count, sum) = a.used(share.day, share.cap_group);
                let sum = sum.checked_add(share.cents).map_err(|_| broken())?;
                let count = count.checked_add(1).ok_or_else(broken)?;
                Ok(a.with_usage(share.day, share.cap_group, (count, sum)))
            }
            (Some(a), Event::CapReleased(share)) => Ok(a.with_released(*share)),
            (Some(a), Event::Credited { amount, .. }) => Ok(Self {
                balance: a.balance.checked_add(*amount).map_err(|_| broken())?,
                total_deposits: a.total_deposits.checked_add(*amount).map_err(|_| broken())?,
                statement_line_count: a.statement_line_count.saturating_add(1),
                ..a
            }),
            (Some(a), Event::Held(amount, _) | Event::HeldUntilFinal(amount, _)) => Ok(Self {
                held: a.held.checked_add(*amount).map_err(|_| broken())?,
                statement_line_count: a.statement_line_count.saturating_add(1),
                ..a
            }),
            (Some(a), Event::Withdrawn(amount, _) | Event::Reversed(amount, _)) => Ok(Self {
                balance: a.balance.checked_sub(*amount).map_err(|_| broken())?,
                held: a.held.checked_sub(*amount).map_err(|_| broken())?,
                statement_line_count: a.statement_line_count.saturating_add(1),
                ..a
            }),
            (Some(a), Event::Released(amount, _) | Event::Finalized(amount, _)) => Ok(Self {
                held: a.held.checked_sub(*amount).map_err(|_| broken())?,
                statement_line_count: a.statement_line_count.saturating_add(1),
                ..a
            }),
            (Some(a), Event::TransferAttributed(amount, _)) => Ok(Self {
                balance: a.balance.checked_sub(*amount).map_err(|_| broken())?,
                statement_line_count: a.statement_line_count.saturating_add(1),
                ..a
            }),
            (Some(a), Event::Debited(amount, _)) => Ok(Self {
                balance: a.balance.checked_sub(*amount).map_err(|_| broken())?,
                statement_line_count: a.statement_line_count.saturating_add(1),
                ..a
            }),
            (Some(a), Event::Frozen(message)) => Ok(Self {
                frozen: Some(message.clone()),
                ..a
            }),
            (Some(a), Event::Unfrozen) if a.frozen.is_some() => Ok(Self { frozen: None, ..a }),
            (Some(a), Event::CapsChanged(caps)) => Ok(Self {
                owner_caps: caps.clone(),
                ..a
            }),
            (Some(a), Event::BalanceLimitsChanged(limits)) => Ok(Self {
                balance_limits: *limits,
                ..a
            }),
            (Some(a), Event::AgentsStopped(at)) => Ok(Self {
                agent_stop: Some(AgentStop {
                    at: *at,
                    is_active: true,
                }),
                ..a
            }),
            (Some(a), Event::AgentsResumed) => Ok(Self {
                agent_stop: a.agent_stop.map(|stop| AgentStop {
                    is_active: false,
                    ..stop
                }),
                ..a
            }),
            (_, _) => Err(broken()),
        }
    }

    fn owner(&self) -> Wallet {
        self.wallet
    }

    fn view(&self, _: &Wallet) -> AccountView {
        AccountView {
            user_id: self.wallet.into(),
            status: self.state(),
            balance: self.balance.into(),
            available: self.available().into(),
            held: self.held.into(),
            total_deposits: self.total_deposits.into(),
            created_at: self.created_at.into(),
            owner_caps: self.owner_caps.view(),
            balance_limits: self.balance_limits.view(),
            agents_stopped_at: self.agents_stopped_at().map(Time::from),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
