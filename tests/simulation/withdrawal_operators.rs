//! The operators who pay card-balance withdrawals by hand. They check before they act, as people do: only the present
//! lease holder pays, and an unpaid withdrawal is reported only after a check.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use purser_actors::engine::{ApprovalPending, OperationError};
use purser_actors::entity::card_withdrawal::{CardWithdrawal, Rejection};
use purser_actors::id::WithdrawalId;
use purser_actors::kernel::{Entity, EntityKind};
use purser_actors::lease::Leasable as _;
use purser_actors::port::Clock as _;

use crate::account_steps::durable;
use crate::card_balances::{durable_entities, withdrawal};
use crate::clients::Clients;
use crate::environment::Environment;
use crate::order_operators::act;

/// How long a lease runs.
const LEASE_MS: u64 = 2_500;

/// An operator's reply.
type OperatorResult = Result<&'static str, OperationError<Rejection, ApprovalPending>>;

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperatorStep {
    Claim,
    /// Claims it, pays soon or late, and says so.
    Pay,
    /// Completes a claimed withdrawal and pays it first if it is unpaid.
    Finish,
    Release,
    Reject,
    RejectUnclaimed,
    /// Says that another withdrawal's transaction paid it.
    PayWithAnothers,
}

/// What is known at the counter, whatever dies.
#[derive(Default)]
pub(crate) struct OperatorState {
    /// Who was given which lease.
    leases: BTreeMap<(WithdrawalId, u64), u8>,
    /// What was really paid, by its transaction.
    pub(crate) paid: BTreeMap<WithdrawalId, String>,
    /// Withdrawal states that replies reported.
    pub(crate) reported: Vec<(WithdrawalId, &'static str)>,
    /// Who has something in hand, in which life: one thing at a time.
    busy: BTreeSet<(WithdrawalId, u8, u64)>,
}

impl OperatorState {
    fn newest(&self, id: WithdrawalId) -> u64 {
        let newest = self.leases.range((id, 0)..=(id, u64::MAX)).next_back();
        newest.map_or(0, |((_, number), _)| *number)
    }

    /// The newest lease that an operator was given.
    fn lease(&self, id: WithdrawalId, who: u8) -> Option<u64> {
        let mut leases = self.leases.range((id, 0)..=(id, u64::MAX));
        leases.rfind(|(_, by)| **by == who).map(|((_, number), _)| *number)
    }
}

impl Clients {
    pub(crate) async fn operate(&self, nth: u32, who: u8, hand: OperatorStep) {
        let world = &self.environment;
        let Some((id, _)) = withdrawal(world, nth) else { return };
        let turn = (id, who, world.runs());
        if !world.withdrawal_operators.lock().busy.insert(turn) {
            return;
        }
        let result = self.handle(id, who, hand).await;
        if world.is_crashed() {
            return;
        }
        world.withdrawal_operators.lock().busy.remove(&turn);
        let Some(result) = result else { return };
        world.trace(|| format!("counter: {hand:?} of {id} by {who}: {result:?}"));
        if let Ok(state) = result {
            self.check_reported(id, state);
        }
    }

    async fn handle(&self, id: WithdrawalId, who: u8, hand: OperatorStep) -> Option<OperatorResult> {
        let (world, engine) = (&self.environment, &self.engine);
        let mut lease = world.withdrawal_operators.lock().lease(id, who);
        if matches!(hand, OperatorStep::Claim | OperatorStep::Pay) {
            match engine.claim_card_withdrawal(id, act(who), LEASE_MS).await {
                Ok(claimed) => lease = Some(self.leased(id, who, claimed.number)),
                Err(refused) => return Some(Err(refused.widen())),
            }
        }
        let newest = world.withdrawal_operators.lock().newest(id);
        let unpaid = || !world.withdrawal_operators.lock().paid.contains_key(&id);
        Some(match hand {
            OperatorStep::Claim => return None,
            OperatorStep::Pay => {
                let busy_ms = [0, 1, 300, 2 * LEASE_MS][world.below(4) as usize];
                tokio::time::sleep(Duration::from_millis(busy_ms)).await;
                self.pay_manually(id, who, lease?).await?
            }
            OperatorStep::Finish => self.pay_manually(id, who, lease?).await?,
            OperatorStep::Release if unpaid() => {
                let result = engine.release_card_withdrawal(id, act(who), lease?).await;
                result.map(|()| "queued").map_err(OperationError::widen)
            }
            OperatorStep::Reject | OperatorStep::RejectUnclaimed if unpaid() => {
                let lease = if hand == OperatorStep::Reject {
                    Some(lease?)
                } else {
                    None
                };
                let result = engine.reject_card_withdrawal(id, act(who), lease, "no".into()).await;
                if result.is_ok() && lease.is_some_and(|lease| lease < newest) {
                    world.report_violation("lease.old", format!("{id} was rejected with the old lease {lease:?}"));
                }
                result.map(|()| "rejected").map_err(OperationError::widen)
            }
            OperatorStep::Release | OperatorStep::Reject | OperatorStep::RejectUnclaimed => return None,
            OperatorStep::PayWithAnothers => {
                let another = durable_entities::<CardWithdrawal>(world, EntityKind::CardWithdrawal);
                let mut another = another
                    .into_iter()
                    .filter(|(other, w)| *other != id.0 && w.is_paid() == Some(true));
                let other = WithdrawalId(another.next()?.0);
                let transaction = world.withdrawal_operators.lock().paid.get(&other)?.clone();
                let result = engine.fulfil_card_withdrawal(id, act(who), lease?, transaction).await;
                if result.is_ok() {
                    world.report_violation("paid.for_two", format!("{id} is paid by what paid {other}"));
                }
                result.map(|()| "complete")
            }
        })
    }

    fn leased(&self, id: WithdrawalId, who: u8, number: u64) -> u64 {
        let world = &self.environment;
        if world.is_crashed() {
            return number;
        }
        world.trace(|| format!("counter: {id} is claimed by {who}: lease {number}"));
        let stored: Option<CardWithdrawal> = durable(world, EntityKind::CardWithdrawal, &id.0.to_be_bytes());
        if stored.is_none_or(|asked| asked.lease < number) {
            world.report_violation("answer.early", format!("lease {number} of {id} is not durable"));
        }
        if world
            .withdrawal_operators
            .lock()
            .leases
            .insert((id, number), who)
            .is_some()
        {
            world.report_violation("lease.twice", format!("lease {number} of {id} was given twice"));
        }
        number
    }

    /// Pays if it is unpaid and the lease is still valid. Repeats the report until there is a reply.
    async fn pay_manually(&self, id: WithdrawalId, who: u8, lease: u64) -> Option<OperatorResult> {
        let (world, engine) = (&self.environment, &self.engine);
        let asked: CardWithdrawal = durable(world, EntityKind::CardWithdrawal, &id.0.to_be_bytes())?;
        let holds = asked.leases().check_held_by(&act(who), lease, world.now()).is_ok();
        let transaction = {
            let mut counter = world.withdrawal_operators.lock();
            if holds && !world.is_crashed() {
                counter.paid.entry(id).or_insert_with(|| format!("0xhand{:x}", id.0));
            }
            counter.paid.get(&id).cloned()
        };
        let transaction = transaction?;
        world.trace(|| format!("counter: {id} is paid by {transaction}"));
        for _ in 0..20 {
            let result = engine
                .fulfil_card_withdrawal(id, act(who), lease, transaction.clone())
                .await;
            if !matches!(result, Err(OperationError::Unavailable)) || world.is_crashed() {
                return Some(result.map(|()| "complete"));
            }
            world.delay(100).await;
        }
        None
    }

    /// A withdrawal state in a reply is durable by then.
    fn check_reported(&self, id: WithdrawalId, state: &'static str) {
        let world = &self.environment;
        // Others may have gone on from the queue.
        if state == "queued" {
            return;
        }
        world.withdrawal_operators.lock().reported.push((id, state));
        let stored: Option<CardWithdrawal> = durable(world, EntityKind::CardWithdrawal, &id.0.to_be_bytes());
        let is = stored.as_ref().map_or("-", |asked| asked.status());
        if is != state {
            world.report_violation(
                "answer.early",
                format!("{id} was reported as {state}, and durable is {is}"),
            );
        }
    }
}

/// What was paid by hand for a withdrawal.
pub(crate) fn paid(world: &Environment, id: WithdrawalId) -> Option<String> {
    world.withdrawal_operators.lock().paid.get(&id).cloned()
}
