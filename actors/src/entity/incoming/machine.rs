//! State machine of an incoming transfer.

use purser_storage::codec;

use super::IncomingView;
use super::{Command, Event, Incoming, Job, OperatorDecision, PaidFor, Rejection, Status, Verdict};
use crate::answer::Address;
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::id::{DepositId, Wallet};
use crate::kernel::entity::EntityId as _;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::money::Usdc;
use crate::operator::{AuditAction, AuditedAction};
use crate::port::{AttributedTransfer, Timestamp};

type DecisionResult = Result<Decision<Incoming>, Rejection>;

/// Value of its row in the list: whether an operator must decide.
const UNDER_INVESTIGATION: u8 = 0;
const AWAITS_OPERATOR: u8 = 1;

impl Incoming {
    /// Conditions of every decision about its money: it is in the list, and the payment that it would settle is
    /// unchanged since it was read. From now on that payment can no longer settle by it.
    fn decide_unclaimed(&self, id: DepositId, payment: u64, decision: Decision<Self>) -> Decision<Self> {
        let key = table::entity(EntityKind::Payment, &self.transfer.payment.key());
        decision
            .requires_unchanged(key, payment)
            .delete(table::incoming(self.found_at, id))
            .put(
                table::taken_in_payment(self.transfer.payment),
                id.0.to_be_bytes().to_vec(),
            )
    }

    fn receipt(&self, id: DepositId, at: Timestamp, for_whom: LedgerAccount) -> LedgerTransaction {
        let treasury = LedgerAccount::Treasury(self.transfer.network);
        LedgerTransaction::new(at, id).post(treasury, for_whom, self.transfer.amount)
    }

    fn grant_credit(
        &self,
        id: DepositId,
        account: Wallet,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        let credit = account::Job::CreditAccount {
            account,
            amount: self.transfer.amount,
            cause: CreditCause::Deposit(id),
        };
        decision
            .event(Event::CreditGranted(account, context.now))
            .post_ledger(&self.receipt(id, context.now, LedgerAccount::Suspense), context)
            .enqueue(credit, context)
            .enqueue(self.uncount_job(), context)
    }

    fn record_verdict(
        &self,
        id: DepositId,
        (verdict, payment): (Verdict, u64),
        done: Decision<Self>,
        context: &Context,
    ) -> DecisionResult {
        let row = table::incoming(self.found_at, id);
        Ok(match verdict {
            Verdict::Claimed => done.delete(row).event(Event::Claimed(context.now)),
            Verdict::Wait {
                provider_report: shows,
                cap_usage: counts,
            } => {
                let listed = done
                    .put(row, vec![AWAITS_OPERATOR])
                    .event(Event::OperatorRequired(shows, context.now));
                match counts {
                    Some((account, lines)) => listed.enqueue(self.count_job(account, &lines), context),
                    None => listed,
                }
            }
            Verdict::Credit(account) => {
                let taken = self.decide_unclaimed(id, payment, done);
                self.grant_credit(id, account, taken, context)
            }
            Verdict::Adopt(account, made) => {
                let adopted = self.adopt((account, made), done.delete(row), context);
                adopted.map_err(|_| Rejection(self.status()))?
            }
        })
    }

    fn apply_decision(
        &self,
        id: DepositId,
        (ruling, payment): (OperatorDecision, u64),
        (act, evidence): (&AuditedAction, String),
        context: &Context,
    ) -> Decision<Self> {
        let subject = format!("{id} {} {}", self.transfer.amount.decimal(), self.transfer.from);
        let (what, subject) = match ruling {
            OperatorDecision::Credit(account) => (AuditAction::IncomingCredit, format!("{subject} to {account}")),
            OperatorDecision::OperatorFunds => (AuditAction::IncomingOperatorFunds, subject),
            OperatorDecision::Return(_) => (AuditAction::IncomingReturn, subject),
        };
        let decision = Decision::answer(()).audit(act, what, subject, Some(evidence), context);
        let decision = self.decide_unclaimed(id, payment, decision);
        match ruling {
            OperatorDecision::Credit(account) => self.grant_credit(id, account, decision, context),
            OperatorDecision::OperatorFunds => decision
                .event(Event::TakenAsOperatorFunds(context.now))
                .post_ledger(&self.receipt(id, context.now, LedgerAccount::OperatorFunds), context)
                .enqueue(self.uncount_job(), context),
            OperatorDecision::Return(account) => {
                let send_back = account::Job::SendBack {
                    account,
                    deposit: id,
                    to: self.transfer.from,
                    amount: self.transfer.amount,
                };
                decision
                    .event(Event::SentBack(account, context.now))
                    .post_ledger(&self.receipt(id, context.now, LedgerAccount::Suspense), context)
                    .enqueue(send_back, context)
                    .enqueue(self.uncount_job(), context)
            }
        }
    }

    /// The amount has left again, or paid for an order, and both are posted in one batch. An amount beyond it is our
    /// cost, as a bridge's fee is; a remainder was our fee.
    fn forward(
        &self,
        id: DepositId,
        (paid_for, payment): (PaidFor, u64),
        (act, evidence): (&AuditedAction, String),
        context: &Context,
    ) -> Decision<Self> {
        let now = context.now;
        let (what, subject, left, booked, row) = match paid_for {
            PaidFor::OutgoingTransfer(transfer) => {
                let treasury = LedgerAccount::Treasury(transfer.to.network());
                let left = transfer.id();
                let (came, went) = (self.transfer.amount, transfer.amount);
                let booked = LedgerTransaction::new(now, left)
                    .post(LedgerAccount::Suspense, treasury, came.min(went))
                    .post(
                        LedgerAccount::OperatingCosts,
                        treasury,
                        went.checked_sub(came).unwrap_or(Usdc::ZERO),
                    )
                    .post(
                        LedgerAccount::Suspense,
                        LedgerAccount::FeeRevenue,
                        came.checked_sub(went).unwrap_or(Usdc::ZERO),
                    );
                let subject = format!("{} {} from {id}", transfer.key(), went.decimal());
                let row = AttributedTransfer {
                    transfer,
                    account: None,
                    outlay: None,
                };
                let row = (table::attributed_transfer(left), codec::encode(&row));
                (AuditAction::TransferAttribute, subject, left, booked, row)
            }
            PaidFor::Order(order) => {
                let (list, paid) = (order.order.source.name(), order.charged.decimal());
                let subject = format!("{list} {} {paid} from {id}", order.order.key);
                let row = (table::lost_order(order.order.key), codec::encode(&order));
                (
                    AuditAction::OrderBook,
                    subject,
                    order.order.id(),
                    order.payment_transaction(now),
                    row,
                )
            }
        };
        let decision = Decision::answer(()).audit(act, what, subject, Some(evidence), context);
        self.decide_unclaimed(id, payment, decision)
            .delete_if_present(table::unclaimed_cap_usage(self.transfer.payment))
            .event(Event::Forwarded(left, now))
            .post_ledger(&self.receipt(id, now, LedgerAccount::Suspense), context)
            .post_ledger(&booked, context)
            .put_new(row.0, row.1)
    }

    /// Whether the same decision was made already: the operator's response was lost.
    fn is_decided_as(&self, ruling: OperatorDecision) -> bool {
        match (self.status, ruling) {
            (Status::Crediting(has) | Status::Credited(has), OperatorDecision::Credit(account))
            | (Status::Returning(has) | Status::Returned(has), OperatorDecision::Return(account)) => has == account,
            (Status::OperatorFunds, OperatorDecision::OperatorFunds) => true,
            _ => false,
        }
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }
}

impl Entity for Incoming {
    const KIND: EntityKind = EntityKind::Incoming;
    const CREATED_BY_COMMAND: bool = true;
    const SYSTEM_OWNED: bool = true;

    type Id = DepositId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = IncomingView<'a>;

    fn decide(this: Option<&Self>, id: &DepositId, command: Command, context: &Context) -> DecisionResult {
        let (done, now) = (Decision::answer(()), context.now);
        let Some(incoming) = this else {
            return match command {
                Command::Find(transfer) => Ok(done
                    .put_new(table::incoming(now, *id), vec![UNDER_INVESTIGATION])
                    .event(Event::Found(transfer, now))
                    .enqueue(Job::ClassifyIncoming(*id), context)),
                _ => Err(Rejection("-")),
            };
        };
        match (incoming.status, command) {
            // The list is read again after a crash.
            (_, Command::Find(_)) => Ok(done),
            (
                Status::Found,
                Command::RecordVerdict {
                    job: effect,
                    verdict,
                    payment,
                },
            ) => incoming.record_verdict(*id, (*verdict, payment), done.completes_job(effect), context),
            (_, Command::RecordVerdict { job: effect, .. }) => Ok(done.completes_job(effect)),
            (Status::Found, Command::Count(account, lines)) => {
                Ok(done.enqueue(incoming.count_job(account, &lines), context))
            }
            (_, Command::Count(..)) => Ok(done),
            (Status::Waiting, Command::Claim(account)) => {
                let payment = incoming.transfer.payment;
                Ok(done
                    .delete(table::incoming(incoming.found_at, *id))
                    .event(Event::Claimed(now))
                    .enqueue(account::Job::CountClaimed { account, payment }, context))
            }
            (_, Command::Claim(_)) => Ok(done),
            (
                Status::Waiting,
                Command::Decide {
                    decision: ruling,
                    payment,
                    act,
                    evidence,
                },
            ) => Ok(incoming.apply_decision(*id, (ruling, payment), (&*act, evidence), context)),
            (_, Command::Decide { decision: ruling, .. }) if incoming.is_decided_as(ruling) => Ok(done),
            (
                Status::Waiting,
                Command::Forward {
                    paid_for,
                    payment,
                    act,
                    evidence,
                },
            ) => Ok(incoming.forward(*id, (*paid_for, payment), (&*act, evidence), context)),
            (Status::Crediting(_), Command::Confirm { job: effect }) => {
                Ok(done.completes_job(effect).event(Event::Credited(now)))
            }
            (Status::Returning(_), Command::Confirm { job: effect }) => {
                Ok(done.completes_job(effect).event(Event::Returned(now)))
            }
            (_, _) => Err(Rejection(incoming.status())),
        }
    }

    fn apply(this: Option<Self>, _: &DepositId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(incoming) = this else {
            return match event {
                Event::Found(transfer, at) => Ok(Self {
                    transfer: (**transfer).clone(),
                    found_at: *at,
                    updated_at: *at,
                    provider_report: None,
                    status: Status::Found,
                }),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        match (incoming.status, event) {
            (Status::Found, Event::OperatorRequired(shows, at)) => Ok(Self {
                provider_report: shows.clone(),
                ..incoming.at(Status::Waiting, *at)
            }),
            (Status::Found | Status::Waiting, Event::Claimed(at)) => Ok(incoming.at(Status::Claimed, *at)),
            (Status::Found | Status::Waiting, Event::CreditGranted(account, at)) => {
                Ok(incoming.at(Status::Crediting(*account), *at))
            }
            (Status::Crediting(account), Event::Credited(at)) => Ok(incoming.at(Status::Credited(account), *at)),
            (Status::Found, Event::Adopted(product, at)) => Ok(incoming.at(Status::Adopted(*product), *at)),
            (Status::Waiting, Event::TakenAsOperatorFunds(at)) => Ok(incoming.at(Status::OperatorFunds, *at)),
            (Status::Waiting, Event::SentBack(account, at)) => Ok(incoming.at(Status::Returning(*account), *at)),
            (Status::Returning(account), Event::Returned(at)) => Ok(incoming.at(Status::Returned(account), *at)),
            (Status::Waiting, Event::Forwarded(by, at)) => Ok(incoming.at(Status::Forwarded(*by), *at)),
            (_, event) => Err(InvalidTransition::new(incoming.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        Wallet::SYSTEM
    }

    fn view(&self, id: &DepositId) -> IncomingView<'_> {
        let transfer = &self.transfer;
        let product = match &self.status {
            Status::Adopted(product) => Some(*product),
            _ => None,
        };
        let withdrawal = match self.status {
            Status::Returning(_) | Status::Returned(_) => Some(id.return_withdrawal()),
            _ => None,
        };
        IncomingView {
            deposit_id: *id,
            network: transfer.network,
            transaction: &transfer.transaction,
            index: u64::from(transfer.index),
            sender: transfer.from.into(),
            amount: transfer.amount.into(),
            at: transfer.at.into(),
            status: self.state(),
            shows: self.provider_report.as_deref(),
            account: self.account().map(Address::from),
            product_id: product,
            withdrawal_id: withdrawal,
            found_at: self.found_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
