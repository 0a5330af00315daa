//! Both chains, simulated: each payment follows its fault plan. The ledger and the clock here survive every crash of
//! the process.

mod ledger;
mod lists;

use std::sync::Arc;

use purser::verify::ChainTransfer;
use purser_actors::entity::payment::{Payment, Status};
use purser_actors::entity::wallet_payment::SendTarget;
use purser_actors::id::{Network, Wallet};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainStatus, ChainTransactionStatus, Decline, ErrorKind, Finality, OutgoingTransfer,
    OutgoingTransferRequest, PortError, Preparation, PreparedTransaction, Settlement, SubmitResult, Timestamp,
};
use purser_storage::codec;

use crate::clients::{number_of, valid_until_ms};
use crate::environment::{Environment, ORDERED_PANIC};
use crate::fault_plan::{ReadBehavior, Submit};
use crate::own_purchases;
use crate::seller::{self, WALLET_PAYMENT};
use crate::top_ups::{self, FORWARD};
use crate::withdrawals::{self, FIRST_OUTGOING, fault_plan_of};

use lists::paid_to;

pub(crate) use ledger::Ledger;
pub(crate) use lists::{received, transfers, wallet_payments, withdrawn};

/// Whether a transfer is one that we send: what a managed wallet pays us with is sent as any other payment.
const fn is_outgoing(n: u32) -> bool {
    n >= FIRST_OUTGOING && !own_purchases::is_own(n)
}

pub(crate) struct SimChain(pub(crate) Arc<Environment>);

fn error(kind: ErrorKind, operation: &'static str) -> PortError {
    PortError {
        kind,
        operation,
        message: "as the plan says".into(),
    }
}

impl SimChain {
    fn transfer(&self, authorization: &Authorization, by: &str, at_ms: u64) -> ChainTransfer {
        ChainTransfer {
            transaction: format!("0x{by}{:04}", number_of(authorization)),
            index: 0,
            from: authorization.payer(),
            to: paid_to(authorization),
            atomic: authorization.value().atomic(),
            at_ms,
            mark: Some(authorization.fingerprint()),
        }
    }

    /// Executes the transfer after this delay, if it is valid by then; never twice.
    fn schedule_transfer(&self, authorization: &Authorization, by: &str, after_ms: u64) {
        let (n, at) = (number_of(authorization), self.0.true_ms() + after_ms);
        let mut ledger = self.0.chain.lock();
        ledger.settle(self.0.true_ms());
        if n >= WALLET_PAYMENT && seller::lacks(&self.0, &mut ledger, authorization) {
            return;
        }
        if at < valid_until_ms(authorization) && !ledger.transfers.contains_key(&n) && !ledger.expired.contains(&n) {
            let transfer = self.transfer(authorization, by, at);
            ledger.scheduled.entry(n).or_insert((at, transfer));
            ledger.marks.insert(n, authorization.fingerprint());
            ledger.settle(self.0.true_ms());
        }
        drop(ledger);
        self.0
            .trace(|| format!("chain: payment {n} lands through {by} at {at}"));
    }

    fn settled_transaction(&self, n: u32) -> Option<String> {
        let mut ledger = self.0.chain.lock();
        ledger.settle(self.0.true_ms());
        ledger.transfers.get(&n).map(|t| t.transaction.clone())
    }

    /// What was not durable before it was sent could be sent twice as two.
    fn check_sent(&self, authorization: &Authorization, prepared: &PreparedTransaction) {
        let n = number_of(authorization);
        let before = self
            .0
            .chain
            .lock()
            .sent
            .entry(n)
            .or_insert_with(|| prepared.bytes.clone())
            .clone();
        if before != prepared.bytes {
            self.0
                .report_violation("sent.other_bytes", format!("payment {n} was sent as two transactions"));
        }
        if is_outgoing(n) {
            if (FIRST_OUTGOING..FORWARD).contains(&n) {
                withdrawals::check_sent(&self.0, authorization);
            }
            let durable = match n {
                WALLET_PAYMENT.. => seller::is_durable(&self.0, n, authorization, &SendTarget::Chain(prepared.clone())),
                FORWARD.. => top_ups::is_durable(&self.0, n, authorization, prepared),
                _ => withdrawals::is_durable(&self.0, authorization, prepared),
            };
            if !durable {
                self.0.report_violation(
                    "sent.early",
                    format!("transfer {n} was sent before its bytes were durable"),
                );
            }
            return;
        }
        let id = self.0.client_log.lock().ids.get(&n).copied();
        let shadow = self.0.reference.lock();
        let row = id.and_then(|id| {
            shadow
                .rows
                .get(&table::entity(EntityKind::Payment, &id.0.to_be_bytes()))
        });
        let payment: Option<Payment> = row.and_then(|row| codec::decode(&row.value).ok());
        drop(shadow);
        let ready = payment.is_some_and(|payment| match &payment.status {
            Status::Claimed | Status::Released | Status::DeclinedUnsent(_) => false,
            Status::Settling(p) | Status::Unknown(p) | Status::Declined(_, p) => p == prepared,
            // An older try, while a younger one has already come back.
            Status::Settled { .. }
            | Status::Fulfilled { .. }
            | Status::Credited { .. }
            | Status::Refused(_)
            | Status::Reversed { .. }
            | Status::Resolved { .. } => true,
        });
        if !ready {
            self.0.report_violation(
                "sent.early",
                format!("payment {n} was sent before its bytes were durable"),
            );
        }
    }

    async fn apply_fault(&self, n: u32, operation: &'static str, asks: &[ReadBehavior]) -> Result<(), PortError> {
        self.0.delay(self.0.below(30)).await;
        if self.0.are_faults_over() {
            return Ok(());
        }
        let call = self.0.chain.lock().count(n, operation);
        match asks.get(call) {
            None => Ok(()),
            Some(ReadBehavior::Fails) => Err(error(ErrorKind::Temporary, operation)),
            Some(ReadBehavior::Unknown) => Err(error(ErrorKind::Unknown, operation)),
            Some(ReadBehavior::Never) => Err(error(ErrorKind::Permanent, operation)),
            Some(ReadBehavior::Panics) => panic!("{ORDERED_PANIC}"),
            Some(ReadBehavior::Hangs) => std::future::pending().await,
        }
    }

    /// Whether a list can be read, as it happens.
    fn random_fault(&self, operation: &'static str) -> Result<(), PortError> {
        match !self.0.are_faults_over() && self.0.one_in(10) {
            true => Err(error(ErrorKind::Temporary, operation)),
            false => Ok(()),
        }
    }

    async fn settle(&self, authorization: &Authorization) -> Result<SubmitResult, PortError> {
        let n = number_of(authorization);
        self.0.delay(self.0.below(120)).await;
        self.schedule_transfer(authorization, "a", 0);
        // Here the transfer is on chain, and no response was sent.
        self.0.delay(self.0.below(50)).await;
        match self.settled_transaction(n) {
            Some(transaction) => Ok(settled(transaction)),
            None => Ok(declined("authorization_expired")),
        }
    }

    pub(crate) async fn submitted(&self, authorization: &Authorization) -> Result<SubmitResult, PortError> {
        let n = number_of(authorization);
        self.0.delay(self.0.below(20)).await;
        if let Some(transaction) = self.settled_transaction(n) {
            return Ok(settled(transaction));
        }
        if self.0.chain.lock().expired.contains(&n) {
            return Err(error(ErrorKind::Permanent, "submit"));
        }
        let call = self.0.chain.lock().count(n, "submit");
        let behavior = self
            .0
            .plan
            .fault_plans
            .get(&fault_plan_of(n))
            .and_then(|f| f.submit.get(call))
            .filter(|_| !self.0.are_faults_over());
        let Some(behavior) = behavior else {
            return self.settle(authorization).await;
        };
        self.0.trace(|| format!("chain: payment {n} meets {behavior:?}"));
        let lost = Err(error(ErrorKind::Unknown, "submit"));
        match *behavior {
            Submit::Slow(ms) => {
                self.0.delay(ms).await;
                self.settle(authorization).await
            }
            Submit::LandsAnswerLost => {
                self.schedule_transfer(authorization, "a", 0);
                lost
            }
            Submit::LandsAndHangs => {
                self.schedule_transfer(authorization, "a", 0);
                std::future::pending().await
            }
            Submit::NothingAnswerLost => lost,
            Submit::NothingAndHangs => std::future::pending().await,
            Submit::AnswerLostLandsLater(ms) => {
                self.schedule_transfer(authorization, "a", ms);
                lost
            }
            Submit::Declines => Ok(declined("insufficient_funds")),
            Submit::DeclinesLandsLater(ms) => {
                self.schedule_transfer(authorization, "a", ms);
                Ok(declined("settlement_failed"))
            }
            Submit::Temporary => Err(error(ErrorKind::Temporary, "submit")),
            Submit::Permanent => {
                self.0.chain.lock().expired.insert(n);
                Err(error(ErrorKind::Permanent, "submit"))
            }
            Submit::PanicsBefore => panic!("{ORDERED_PANIC}"),
            Submit::PanicsAfter => {
                self.schedule_transfer(authorization, "a", 0);
                panic!("{ORDERED_PANIC}");
            }
            Submit::ObservedSettled => {
                self.schedule_transfer(authorization, "observer", 0);
                self.settle(authorization).await
            }
            Submit::ObservedLost => {
                self.schedule_transfer(authorization, "observer", 0);
                lost
            }
        }
    }
}

/// No reorganisation is simulated.
const fn settled(transaction: String) -> SubmitResult {
    let finality = Finality::Final;
    SubmitResult::Settled { transaction, finality }
}

fn declined(reason: &str) -> SubmitResult {
    SubmitResult::Declined(Decline {
        reason: reason.into(),
        message: "the chain says no".into(),
    })
}

impl Settlement for SimChain {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> BoxFuture<'a, Result<Authorization, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let forward = top_ups::sign(&self.0, transfer);
            Ok(forward.unwrap_or_else(|| withdrawals::sign(&self.0, transfer)))
        })
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Result<Preparation, PortError>> {
        Box::pin(async move {
            let n = number_of(authorization);
            self.0.crash_point_or_hang().await;
            let asks = self
                .0
                .plan
                .fault_plans
                .get(&fault_plan_of(n))
                .map(|f| f.prepare.clone())
                .unwrap_or_default();
            self.apply_fault(n, "prepare", &asks).await?;
            Ok(Preparation::Ready(self.0.chain.lock().prepare(n)))
        })
    }

    /// Every other payment of each product is prepared before its claim, unless its preparation meets a fault.
    fn prepare_locally(&self, authorization: &Authorization) -> Option<PreparedTransaction> {
        let n = number_of(authorization);
        let plan = self.0.plan.fault_plans.get(&fault_plan_of(n));
        let faulty = plan.is_some_and(|plan| !plan.prepare.is_empty()) && !self.0.are_faults_over();
        ((n + n / 6).is_multiple_of(2) && !faulty).then(|| self.0.chain.lock().prepare(n))
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> BoxFuture<'a, Result<SubmitResult, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            self.check_sent(authorization, prepared);
            let n = number_of(authorization);
            // Each kind has its own supervisor and so its own permits.
            let (call, what) = match self.0.chain.lock().forwards.get(&n) {
                Some(id) => ("top_up.at_once", id.0),
                None if own_purchases::is_own(n) => ("sent.at_once", u128::from(n)),
                None if n >= WALLET_PAYMENT => ("wallet_payment.at_once", self.0.seller.lock().signed[&n].0.0),
                None if n >= FIRST_OUTGOING => ("left.at_once", u128::from(n)),
                None => ("sent.at_once", u128::from(n)),
            };
            let _one = self.0.single_attempts.enter(&self.0, call, what);
            let answer = self.submitted(authorization).await;
            if matches!(&answer, Ok(SubmitResult::Declined(_)))
                || answer.as_ref().is_err_and(|e| e.kind == ErrorKind::Permanent)
            {
                self.0.chain.lock().declined.insert(n);
            }
            self.0.crash_point_or_hang().await;
            self.0
                .trace(|| format!("chain: payment {} is answered {answer:?}", number_of(authorization)));
            answer
        })
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        _: Option<&'a PreparedTransaction>,
    ) -> BoxFuture<'a, Result<ChainStatus, PortError>> {
        Box::pin(async move {
            let n = number_of(authorization);
            self.0.crash_point_or_hang().await;
            let asks = self
                .0
                .plan
                .fault_plans
                .get(&fault_plan_of(n))
                .map(|f| f.lookup.clone())
                .unwrap_or_default();
            self.apply_fault(n, "lookup", &asks).await?;
            Ok(match self.settled_transaction(n) {
                Some(transaction) => ChainStatus::Confirmed {
                    transaction,
                    finality: Finality::Final,
                },
                None if self.0.true_ms() >= valid_until_ms(authorization) => {
                    self.0.chain.lock().declined.insert(n);
                    ChainStatus::Impossible
                }
                None => ChainStatus::Pending,
            })
        })
    }

    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        _: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<ChainTransactionStatus, PortError>> {
        let status = match self.settled_transaction(number_of(authorization)) {
            Some(known) if known == transaction => ChainTransactionStatus::Final,
            _ => ChainTransactionStatus::NotFound,
        };
        Box::pin(std::future::ready(Ok(status)))
    }

    fn can_receive<'a>(&'a self, _: &'a Wallet) -> BoxFuture<'a, Result<bool, PortError>> {
        Box::pin(std::future::ready(Ok(true)))
    }

    /// Not read here: the HTTP layer checks it, and these clients call the engine directly.
    fn final_treasury_balance(&self, _: Network) -> BoxFuture<'_, Result<Usdc, PortError>> {
        Box::pin(std::future::ready(Ok(Usdc::from_atomic(u64::MAX))))
    }

    fn sent_by<'a>(
        &'a self,
        from: &'a Wallet,
        since: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<OutgoingTransfer>, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            self.random_fault("sent by")?;
            Ok(lists::sent_by(&self.0, from, since))
        })
    }

    fn outgoing_transfers(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<OutgoingTransfer>, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            self.random_fault("outgoing transfers")?;
            Ok(lists::outgoing_transfers(&self.0, since, until))
        })
    }
}
