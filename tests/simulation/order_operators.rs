//! Operators and owners of international orders: claims, releases, cards, rejections and cancellations. Their responses
//! are recorded. The destruction of CVV keys is here too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use purser_actors::engine::{ApprovalPending, OperationError};
use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::intl_order::{BillingAddress, EnteredCard, IntlCardDetails, IntlOrder, Rejection, Status};
use purser_actors::id::{CardId, RequestId};
use purser_actors::kernel::{Entity, EntityKind};
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::port::{BoxFuture, ErrorKind, KeyShredder, PortError};

use crate::account_steps::durable;
use crate::clients::{Clients, product};
use crate::environment::Environment;

/// How long a lease runs.
const LEASE_MS: u64 = 2_500;

/// The reply to an operator or owner, with the order's new state.
fn with_state(
    result: Result<(), OperationError<Rejection>>,
    state: &'static str,
) -> Result<&'static str, OperationError<Rejection, ApprovalPending>> {
    result.map(|()| state).map_err(OperationError::widen)
}

/// What is asked of an international order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderStep {
    Claim,
    /// Claim it, and enter the card soon or late.
    Make,
    Release,
    Fulfil,
    /// With the number of a lease that another has followed.
    FulfilOld,
    Reject,
    Cancel,
    Reveal,
}

/// The operators' records, which survive every crash.
#[derive(Default)]
pub(crate) struct OrderOperators {
    /// Cards whose CVV can no longer be decrypted.
    pub(crate) shredded: BTreeSet<CardId>,
    /// Leases from replies, and their operators.
    leases: BTreeMap<CardId, BTreeMap<u64, u8>>,
    /// Order states that replies reported.
    pub(crate) reported: Vec<(CardId, &'static str)>,
    /// How often a number was shown.
    pub(crate) reveals: BTreeMap<CardId, usize>,
}

impl OrderOperators {
    /// The newest lease from a reply, or the oldest, and its operator.
    fn lease(&self, id: CardId, does: OrderStep) -> Option<(u64, u8)> {
        let mut leases = self.leases.get(&id)?.iter();
        let lease = match does {
            OrderStep::FulfilOld => leases.next(),
            _ => leases.next_back(),
        };
        lease.map(|(number, who)| (*number, *who))
    }

    fn newest(&self, id: CardId) -> u64 {
        self.lease(id, OrderStep::Fulfil).map_or(0, |(number, _)| number)
    }
}

pub(crate) fn act(who: u8) -> OperatorAction {
    OperatorAction {
        operator: format!("operator {who}"),
        role: if who == 2 { Role::Administrator } else { Role::Operator },
        request_id: RequestId(7),
    }
}

/// Some cards have ended by the time they are entered.
fn entered(id: CardId) -> EnteredCard {
    let (exp_month, exp_year) = if id.0.is_multiple_of(2) { (10, 2026) } else { (12, 2031) };
    EnteredCard {
        details: IntlCardDetails {
            last4: "4242".into(),
            exp_month,
            exp_year,
            billing: BillingAddress::default(),
        },
        number: b"number".to_vec(),
        cvv: id.0.to_be_bytes().to_vec(),
    }
}

impl Clients {
    pub(crate) fn operate_order(&self, payment: u32, who: u8, does: OrderStep) {
        let world = &self.environment;
        let order = world
            .client_log
            .lock()
            .calls
            .iter()
            .find_map(|call| match &call.response {
                Some((_, Ok(paid))) if call.payment == payment => product(&paid.outcome),
                _ => None,
            });
        let Some(PurchasedProduct::IntlOrder(id)) = order else {
            return;
        };
        let known = world.order_operators.lock().lease(id, does);
        let this = self.clone();
        self.spawn(async move {
            let (mut lease, who) = match does {
                OrderStep::Fulfil | OrderStep::FulfilOld => match known {
                    Some(known) => known,
                    None => return,
                },
                _ => (known.map_or(0, |(number, _)| number), who),
            };
            let (world, engine, act) = (&this.environment, &this.engine, act(who));
            if matches!(does, OrderStep::Claim | OrderStep::Make) {
                let claimed = engine.claim_intl(id, act.clone(), LEASE_MS).await;
                match claimed {
                    Ok(claimed) => lease = claimed.number,
                    Err(_) if world.is_crashed() => return,
                    Err(refused) => return world.trace(|| format!("operators: {id} is not claimed: {refused:?}")),
                }
                this.claimed(id, who, lease);
            }
            if does == OrderStep::Claim {
                // Another operator wants it too.
                let rival = (who + 1) % 3;
                match engine.claim_intl(id, self::act(rival), LEASE_MS).await {
                    Ok(claimed) => this.claimed(id, rival, claimed.number),
                    Err(_) if world.is_crashed() => {}
                    Err(refused) => world.trace(|| format!("operators: {id} is not claimed: {refused:?}")),
                }
                return;
            }
            if does == OrderStep::Make {
                let busy_ms = [0, 1, 300, 2 * LEASE_MS][world.below(4) as usize];
                tokio::time::sleep(Duration::from_millis(busy_ms)).await;
            }
            let newest = world.order_operators.lock().newest(id);
            let result = match does {
                OrderStep::Claim => return,
                OrderStep::Release => with_state(engine.release_intl(id, act, lease).await, "queued"),
                OrderStep::Fulfil | OrderStep::FulfilOld | OrderStep::Make => {
                    with_state(engine.fulfil_intl(id, act, lease, entered(id)).await, "ready")
                }
                OrderStep::Reject => engine
                    .reject_intl(id, act, None, "no".into())
                    .await
                    .map(|()| "rejected"),
                OrderStep::Cancel => with_state(engine.cancel_intl(id, None).await, "cancelled"),
                OrderStep::Reveal => with_state(engine.reveal_intl(id).await, "shown"),
            };
            if world.is_crashed() {
                return;
            }
            world.trace(|| format!("operators: {does:?} of {id} by {who} with {lease}: {result:?}"));
            if let Ok(state) = result {
                if lease < newest && state == "ready" {
                    world.report_violation("lease.old", format!("{id} was made with lease {lease}"));
                }
                this.check_order_reported(id, state);
            } else if matches!(result, Err(OperationError::Rejected(Rejection::InvalidState("-")))) {
                world.report_violation("order.lost", format!("{id} is not there"));
            }
        });
    }

    fn claimed(&self, id: CardId, who: u8, number: u64) {
        let world = &self.environment;
        if world.is_crashed() {
            return;
        }
        world.trace(|| format!("operators: {id} is claimed by {who}: lease {number}"));
        let stored: Option<IntlOrder> = durable(world, EntityKind::IntlOrder, &id.0.to_be_bytes());
        if stored.is_none_or(|order| order.lease < number) {
            world.report_violation("answer.early", format!("lease {number} of {id} is not durable"));
        }
        let mut operators = world.order_operators.lock();
        let known = operators.leases.entry(id).or_default().insert(number, who);
        drop(operators);
        if known.is_some() {
            world.report_violation("lease.twice", format!("lease {number} of {id} was given twice"));
        }
    }

    /// An order state in a reply is durable by then.
    fn check_order_reported(&self, id: CardId, state: &'static str) {
        let world = &self.environment;
        let mut operators = world.order_operators.lock();
        match state {
            // Others may have gone on from here.
            "queued" => return,
            "shown" => *operators.reveals.entry(id).or_default() += 1,
            state => operators.reported.push((id, state)),
        }
        drop(operators);
        let stored: Option<IntlOrder> = durable(world, EntityKind::IntlOrder, &id.0.to_be_bytes());
        let is = stored.as_ref().map_or("-", IntlOrder::status);
        let good = is == state || (matches!(state, "ready" | "shown") && matches!(is, "ready" | "expired"));
        if !good {
            world.report_violation(
                "answer.early",
                format!("{id} was reported as {state}, and durable is {is}"),
            );
        }
    }
}

pub(crate) struct SimShredder(pub(crate) Arc<Environment>);

impl KeyShredder for SimShredder {
    fn shred<'a>(&'a self, record: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let world = &self.0;
            world.crash_point_or_hang().await;
            let id = CardId(u128::from_be_bytes(*record.last_chunk().unwrap()));
            let order: Option<IntlOrder> = durable(world, EntityKind::IntlOrder, &id.0.to_be_bytes());
            if !order.is_some_and(|order| matches!(order.status, Status::Expired(_))) {
                world.report_violation(
                    "cvv.early",
                    format!("the key of {id} is destroyed, and its card has not ended"),
                );
            }
            let failed = |message: &str| PortError {
                kind: ErrorKind::Temporary,
                operation: "shred",
                message: message.to_owned(),
            };
            if !world.are_faults_over() && world.one_in(5) {
                return Err(failed("the disk is busy"));
            }
            world.crash_point_or_hang().await;
            world.trace(|| format!("the key of {id} is destroyed"));
            world.order_operators.lock().shredded.insert(id);
            if !world.are_faults_over() && world.one_in(5) {
                return Err(failed("unknown state"));
            }
            world.crash_point_or_hang().await;
            Ok(())
        })
    }
}
