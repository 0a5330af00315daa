//! The simulated bank and its customers. Deposits are reported twice, in reverse and again. Responses to transfers in
//! both directions get lost or hang. At rest, the records of both sides must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use purser_actors::entity::account::BankDebit;
use purser_actors::entity::banking::account::{self, BankAccount};
use purser_actors::entity::banking::transfer::{BankTransfer, Status, TransferDirection, TransferRequest};
use purser_actors::id::{BankAccountId, BankTransferId, JobId, Wallet};
use purser_actors::kernel::{Entity as _, EntityKind, table};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::banking::{
    AccountNumbers, AccountType, Bank, BankApplicationRequest, BankDecision, BankTransferRequest, BankTransferResult,
    IncomingTransfer, OpenAccountRequest, OpenAccountResult, ReviewDecision,
};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};
use purser_storage::codec;
use purser_storage::sim_disk::SeededRng;

use crate::account_steps::durable;
use crate::bank_applications::{BANKED, approved, has_account};
use crate::clients::{Clients, wallet};
use crate::environment::{Environment, ORDERED_PANIC};
use crate::fault_plan::FaultPlan;
use crate::plan::{Plan, Step, WALLETS};

/// Failing calls of one key, at most: a bank that never answers is for the engine's tests.
const FAILING: u32 = 4;

/// One action at the bank. The same number is the same deposit or transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BankStep {
    Opens,
    ReceivesDeposit(u32),
    TransfersToBank(u32),
    TransfersToBalance(u32),
    /// To an account of another person.
    PaysExternal(u32),
    Applies,
    Answers(u32),
    Submits,
}

/// What the bank knows.
#[derive(Default)]
pub(crate) struct BankTruth {
    requests: BTreeMap<JobId, String>,
    failing: BTreeMap<JobId, u32>,
    pub(crate) transfers: BTreeMap<BankTransferId, bool>,
    pub(crate) deposits: Vec<IncomingTransfer>,
    /// What was said to each submission, and whose it was.
    pub(crate) reviews: BTreeMap<JobId, (Wallet, ReviewDecision)>,
    /// The highest position that was read.
    read_sequence: u64,
}

impl BankTruth {
    /// Whether everything that came in was read.
    pub(crate) fn is_fully_read(&self) -> bool {
        self.read_sequence >= self.deposits.len() as u64
    }
}

/// Adds banking to a plan by chance of its own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x6261_6e6b_6261_6e6b);
    for _ in 0..chance.next_below(20) {
        let wallet = chance.next_below(WALLETS.min(3)) as u8;
        let nth = chance.next_below(12) as u32;
        let does = match chance.next_below(8) {
            0 | 1 => BankStep::Opens,
            2..5 => BankStep::ReceivesDeposit(nth),
            5 | 6 => BankStep::TransfersToBank(nth),
            _ => BankStep::TransfersToBalance(nth),
        };
        let third = plan.steps.len() as u64 / 3;
        let at = (third + chance.next_below(2 * third + 1)) as usize;
        plan.steps.insert(at, Step::Bank { wallet, step: does });
    }
    add_people(plan, &mut chance);
}

/// Who applies, answers and submits, and who pays other people's accounts.
fn add_people(plan: &mut Plan, chance: &mut SeededRng) {
    if chance.one_in(2) {
        let wallet = chance.next_below(WALLETS.min(3)) as u8;
        let mut at = chance.next_below(plan.steps.len() as u64 / 2 + 1) as usize;
        let mut steps = vec![
            BankStep::Applies,
            BankStep::Answers(chance.next_below(4) as u32),
            BankStep::Submits,
        ];
        for _ in 0..chance.next_below(4) {
            steps.extend([BankStep::Answers(1 + chance.next_below(3) as u32), BankStep::Submits]);
        }
        for does in steps {
            plan.steps.insert(at, Step::Bank { wallet, step: does });
            plan.steps.insert(at + 1, Step::Wait { ms: 300 });
            at = (at + 2 + chance.next_below(4) as usize).min(plan.steps.len());
        }
    }
    for _ in 0..chance.next_below(5) {
        let (wallet, nth) = (chance.next_below(WALLETS.min(3)) as u8, chance.next_below(12) as u32);
        let half = plan.steps.len() as u64 / 2;
        let at = (half + chance.next_below(half + 1)) as usize;
        let does = BankStep::PaysExternal(nth);
        plan.steps.insert(at, Step::Bank { wallet, step: does });
        let fault_plan = FaultPlan::random(chance);
        plan.fault_plans.entry(BANKED + nth).or_insert_with(|| FaultPlan {
            issue: Vec::new(),
            ..fault_plan
        });
    }
}

fn account_of(wallet: u8) -> BankAccountId {
    BankAccountId(u128::from(wallet) + 1)
}

fn cents(nth: u32) -> Cents {
    Cents::new([1, 500, 120, 50, 7_00][nth as usize % 5])
}

fn transfer_id(wallet: u8, nth: u32, way: TransferDirection) -> BankTransferId {
    BankTransferId(u128::from(wallet) << 64 | u128::from(nth) << 8 | u128::from(way == TransferDirection::ToAccount))
}

impl Clients {
    pub(crate) fn bank(&self, wallet: u8, does: BankStep) {
        let this = self.clone();
        self.spawn(async move {
            for _ in 0..10 {
                if this.environment.is_crashed() || this.bank_once(wallet, does).await {
                    return;
                }
                this.environment.delay(200).await;
            }
        });
    }

    /// Whether it has a final answer.
    async fn bank_once(&self, number: u8, does: BankStep) -> bool {
        let (world, owner, id) = (&self.environment, wallet(number), account_of(number));
        let stored: Option<BankAccount> = durable(world, EntityKind::BankAccount, &id.0.to_be_bytes());
        let is_open = stored.is_some_and(|stored| matches!(stored.status, account::Status::Open(_)));
        let request = |nth| TransferRequest {
            owner,
            account: id,
            cents: cents(nth),
            amount: Usdc::from_cents(cents(nth)).unwrap(),
            note: None,
        };
        let result = match does {
            // A customer has signed in before.
            _ if !has_account(world, &owner) => return matches!(does, BankStep::Opens),
            BankStep::Opens => {
                let ramp = (AccountType::OnRamp, None);
                let customer = approved(world, &owner).unwrap_or_else(|| "cus".into());
                let result = self.engine.open_bank_account(id, owner, customer, ramp, None).await;
                format!("{result:?}")
            }
            BankStep::Applies => self.applies(number).await,
            BankStep::Answers(nth) => self.answers(number, nth).await,
            BankStep::Submits => self.submits(number).await,
            BankStep::PaysExternal(nth) => self.pays_out(number, nth).await,
            _ if !is_open => return false,
            BankStep::ReceivesDeposit(nth) => {
                let mut vaults = world.bank.lock();
                let number = vaults.deposits.len() as u64 + 1;
                vaults.deposits.push(IncomingTransfer {
                    position: number,
                    reference: format!("wire {nth} for {id}"),
                    account: id,
                    amount: cents(nth),
                    sender: "Sender".into(),
                    returned_transfer: None,
                });
                "paid in".into()
            }
            BankStep::TransfersToBank(nth) => {
                let outgoing =
                    BankDebit::Transfer(transfer_id(number, nth, TransferDirection::ToAccount), request(nth));
                format!("{:?}", self.engine.debit_for_bank(owner, outgoing, None).await)
            }
            BankStep::TransfersToBalance(nth) => {
                let drawn = self.engine.transfer_to_balance(
                    transfer_id(number, nth, TransferDirection::ToBalance),
                    request(nth),
                    None,
                );
                format!("{:?}", drawn.await)
            }
        };
        world.trace(|| format!("wallet {number} {does:?} at the bank: {result}"));
        !result.contains("Unavailable")
    }
}

pub(crate) struct SimBank(pub(crate) Arc<Environment>);

type CallResult<'a, T> = BoxFuture<'a, Result<T, PortError>>;

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "bank",
        message: "as the plan says".into(),
    }
}

impl SimBank {
    /// One call under a key, which is always for the same: done before, after, or in spite of what goes wrong.
    async fn call<T>(
        &self,
        rule: &'static str,
        (key, what): (JobId, String),
        act: impl FnOnce() -> T + Send,
    ) -> Result<BankDecision<T>, PortError> {
        let world = &self.0;
        world.crash_point_or_hang().await;
        let _one = world.single_attempts.enter(world, rule, key.0);
        let same = world.bank.lock().requests.entry(key).or_insert_with(|| what.clone()) == &what;
        if !same {
            world.report_violation("bank.keys", format!("{key} is used for {what} too"));
        }
        world.delay(world.below(80)).await;
        let fails = {
            let mut vaults = world.bank.lock();
            let failing = vaults.failing.entry(key).or_default();
            *failing += 1;
            *failing <= FAILING && !world.are_faults_over()
        };
        let weather = if fails { world.below(9) } else { 8 };
        world.trace(|| format!("bank: {what} meets weather {weather}"));
        match weather {
            0 => return Err(error(ErrorKind::Temporary)),
            1 => return Err(error(ErrorKind::Unknown)),
            2 => return Ok(BankDecision::Pending { retry_after_ms: 300 }),
            _ => {}
        }
        let done = act();
        match weather {
            3 => return Err(error(ErrorKind::Unknown)),
            4 => std::future::pending().await,
            5 => panic!("{ORDERED_PANIC}"),
            _ => {}
        }
        world.crash_point_or_hang().await;
        Ok(BankDecision::Final(done))
    }
}

impl Bank for SimBank {
    fn review<'a>(&'a self, application: &'a BankApplicationRequest) -> CallResult<'a, BankDecision<ReviewDecision>> {
        self.check_application(application);
        let what = (application.key, format!("{application:?}"));
        Box::pin(self.call("bank.reviews_at_once", what, || self.reviewed(application)))
    }

    fn open<'a>(&'a self, order: &'a OpenAccountRequest) -> CallResult<'a, BankDecision<OpenAccountResult>> {
        Box::pin(self.call("bank.opens_at_once", (order.key, format!("{order:?}")), || {
            OpenAccountResult::Open(AccountNumbers {
                bank_name: "Bank".into(),
                routing_number: "021000021".into(),
                account_number: "123456789".into(),
                memo: None,
            })
        }))
    }

    fn transfer<'a>(&'a self, order: &'a BankTransferRequest) -> CallResult<'a, BankDecision<BankTransferResult>> {
        let stored: Option<BankTransfer> = durable(&self.0, EntityKind::BankTransfer, &order.transfer.0.to_be_bytes());
        let known = stored.is_some_and(|transfer| {
            let ended = !matches!(transfer.status, Status::Pending(key) if key != order.key);
            ended
                && transfer.cents == order.amount
                && (transfer.direction == TransferDirection::ToAccount) == order.to_account
        });
        if !known {
            self.0
                .report_violation("bank.early", format!("{order:?} is not durable"));
        }
        Box::pin(self.call("bank.moves_at_once", (order.key, format!("{order:?}")), || {
            let no = self.0.below(4) == 0;
            let mut vaults = self.0.bank.lock();
            if *vaults.transfers.entry(order.transfer).or_insert(!no) {
                BankTransferResult::Complete {
                    reference: "moved".into(),
                }
            } else {
                BankTransferResult::Failed { reason: "no".into() }
            }
        }))
    }

    fn incoming(&self, after: u64, limit: usize) -> CallResult<'_, Vec<IncomingTransfer>> {
        Box::pin(async move {
            let world = &self.0;
            world.crash_point_or_hang().await;
            let weather = if world.are_faults_over() { 9 } else { world.below(12) };
            match weather {
                0 => return Err(error(ErrorKind::Unknown)),
                1 => world.delay(900).await,
                2 if world.one_in(4) => panic!("{ORDERED_PANIC}"),
                _ => {}
            }
            let mut vaults = world.bank.lock();
            vaults.read_sequence = vaults.read_sequence.max(after);
            let mut result: Vec<_> = vaults
                .deposits
                .iter()
                .filter(|one| one.position > after)
                .cloned()
                .collect();
            result.truncate(limit);
            if weather % 2 == 0 {
                result.extend(result.clone());
                result.reverse();
            }
            Ok(result)
        })
    }

    fn balance(&self, _: BankAccountId) -> CallResult<'_, Cents> {
        Box::pin(std::future::ready(Err(error(ErrorKind::Temporary))))
    }
}

/// At rest: each deposit is one transfer, however often it was reported. Each transfer has the bank's outcome, and the
/// bank has no transfer without a record.
pub(crate) fn at_rest(world: &Environment) -> Result<(), (&'static str, String)> {
    let prefix = table::entity(EntityKind::BankTransfer, &[]);
    let shadow = world.reference.lock();
    let rows = shadow.rows.iter().filter(|(key, _)| key.starts_with(&prefix));
    let stored: BTreeMap<BankTransferId, BankTransfer> = rows
        .map(|(key, row)| {
            let id = BankTransferId(u128::from_be_bytes(*key.last_chunk().unwrap()));
            (id, codec::decode(&row.value).unwrap())
        })
        .collect();
    drop(shadow);
    let vaults = world.bank.lock();
    let mut came: BTreeSet<(&str, u64)> = vaults
        .deposits
        .iter()
        .map(|d| (&*d.reference, d.amount.get()))
        .collect();
    let mut moves = vaults.transfers.clone();
    for (id, transfer) in &stored {
        world.trace(|| {
            format!(
                "{id}: a bank transfer {:?} is {}",
                transfer.direction,
                transfer.status()
            )
        });
        let good = match (&transfer.status, transfer.direction) {
            (Status::Complete(reference), TransferDirection::Incoming) => {
                came.remove(&(reference, transfer.cents.get()))
            }
            (Status::Complete(_), _) => moves.remove(id) == Some(true),
            (Status::Failed(_), _) => moves.remove(id) == Some(false),
            // The bank of these runs gives nothing back.
            (Status::Pending(_) | Status::Returned(_), _) => false,
        };
        if !good {
            return Err(("bank.transfer", format!("{id} is {transfer:?}")));
        }
    }
    if let Some(lost) = came.first() {
        return Err(("bank.deposit", format!("{lost:?} was never credited")));
    }
    match moves.first_key_value() {
        Some(lost) => Err(("bank.moved", format!("{lost:?} moved for nothing"))),
        None => Ok(()),
    }
}
