//! Top-ups of a card balance: who buys them and when, what the treasury signs for those paid on Base, and the operator
//! who retries their dead letters.

use std::ops::Range;

use purser::verify::ChainTransfer;
use purser_actors::engine::Engine;
use purser_actors::entity::Purchase;
use purser_actors::entity::top_up;
use purser_actors::entity::top_up::{CardBalancePurchase, FirstLeg, Status, TopUp};
use purser_actors::id::{TopUpId, Wallet};
use purser_actors::kernel::job::AnyJob;
use purser_actors::kernel::{EntityKind, OutboxJob};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Authorization, EvmAuthorization, OutgoingTransferRequest, PreparedTransaction};
use purser_storage::sim_disk::SeededRng;

use crate::account_steps::durable;
use crate::clients::payment_of_amount;
use crate::environment::Environment;
use crate::fault_plan::FaultPlan;
use crate::order_operators::act;
use crate::plan::{Plan, Step, pick};
use crate::seller::WALLET_PAYMENT;
use crate::withdrawals::NUMBERS_PER_REQUEST;

/// Payments with this number and above are for top-ups.
const TOP: u32 = 1 << 14;
/// Transfers with this number and above are forwarded on Base.
pub(crate) const FORWARD: u32 = 1 << 25;

pub(crate) const fn is_top_up(payment: u32) -> bool {
    payment >= TOP
}

/// Who pays for it: on either network.
pub(crate) const fn payer(payment: u32) -> u8 {
    [2, 0, 3, 1][payment as usize % 4]
}

pub(crate) const fn purchase(amount: Cents) -> Purchase {
    Purchase::CardBalance(CardBalancePurchase { amount })
}

/// The payment that bought what arrives.
pub(crate) fn payment_for(arrives: Usdc) -> u32 {
    payment_of_amount(Cents::new(arrives.atomic() / 10_000))
}

/// Adds top-ups to a plan by chance of their own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x746f_7075_7073);
    let first = TOP + chance.next_below(4) as u32;
    plan.settings.card_credit_timeout_ms = pick(&mut chance, &[4_000, 600_000]);
    for payment in first..first + chance.next_below(3) as u32 {
        let wallet = payer(payment);
        let pay = |patience_ms| Step::Pay {
            payment,
            request: 0,
            client_timeout_ms: patience_ms,
        };
        let mut steps = Vec::new();
        if !chance.one_in(10) {
            steps.push(Step::Issuer { wallet, linked: true });
            let ms = pick(&mut chance, &[300, 1_200, 2_500]);
            steps.push(Step::Wait { ms });
        }
        steps.push(pay(chance.one_in(4).then_some(500)));
        let ms = pick(&mut chance, &[1, 300, 3_000]);
        steps.push(Step::Wait { ms });
        if chance.one_in(6) {
            steps.push(Step::Issuer { wallet, linked: false });
        }
        let at = chance.next_below(plan.steps.len() as u64 + 1) as usize;
        let behind = at + steps.len();
        plan.steps.splice(at..at, steps);
        if chance.one_in(2) {
            let again = behind + chance.next_below((plan.steps.len() - behind) as u64 + 1) as usize;
            plan.steps.insert(again, pay(None));
        }
        let forwarded = FaultPlan {
            issue: Vec::new(),
            ..FaultPlan::random(&mut chance)
        };
        plan.fault_plans.insert(payment, FaultPlan::random_top_up(&mut chance));
        plan.fault_plans
            .insert(FORWARD + (payment - TOP) * NUMBERS_PER_REQUEST, forwarded);
    }
}

/// What the treasury signs for a top-up that was paid on Base: another authorization every time, so that nothing but
/// its own care keeps the service from sending two. Nothing is signed that is not durably sold.
pub(crate) fn sign(world: &Environment, transfer: &OutgoingTransferRequest) -> Option<Authorization> {
    let id = TopUpId(transfer.key);
    let top_up: TopUp = durable(world, EntityKind::TopUp, &transfer.key.to_be_bytes())?;
    let Wallet::Evm(to) = transfer.to else { return None };
    if (top_up.address, top_up.delivered_amount()) != (to, transfer.amount) || !matches!(top_up.status, Status::Paid(_))
    {
        world.report_violation("forward.early", format!("{transfer:?}, and durable is {top_up:?}"));
    }
    let mut chain = world.chain.lock();
    let base = FORWARD + (payment_for(transfer.amount) - TOP) * NUMBERS_PER_REQUEST;
    let n = (base..base + NUMBERS_PER_REQUEST).find(|n| !chain.forwards.contains_key(n))?;
    chain.forwards.insert(n, id);
    let mut nonce = [0; 32];
    nonce[28..].copy_from_slice(&n.to_be_bytes());
    Some(Authorization::Evm(EvmAuthorization {
        from: [9; 20],
        to,
        value: transfer.amount,
        valid_after: 0,
        valid_before: world.true_ms() + 20_000,
        nonce,
        signature: [0; 65].into(),
    }))
}

/// Whether exactly this was durable before it is sent.
pub(crate) fn is_durable(
    world: &Environment,
    n: u32,
    authorization: &Authorization,
    prepared: &PreparedTransaction,
) -> bool {
    let id = world.chain.lock().forwards[&n];
    let top_up: Option<TopUp> = durable(world, EntityKind::TopUp, &id.0.to_be_bytes());
    top_up.is_some_and(|top_up| match &top_up.status {
        Status::Paid(None) => false,
        Status::Paid(Some(first)) => matches!(
            &**first,
            FirstLeg::Transfer(out) if out.authorization == *authorization && out.prepared == *prepared
        ),
        // An older try, while a younger one has already come back.
        _ => true,
    })
}

/// What has been forwarded, with what it was for.
pub(crate) fn forwards(world: &Environment) -> Vec<(TopUpId, ChainTransfer)> {
    let mut chain = world.chain.lock();
    chain.settle(world.true_ms());
    let all: Range<u32> = FORWARD..WALLET_PAYMENT;
    let landed = chain.transfers.range(all);
    landed
        .map(|(n, transfer)| (chain.forwards[n], transfer.clone()))
        .collect()
}

/// The top-up that a piece of work moves on.
pub(crate) fn moved_by(work: &AnyJob) -> Option<TopUpId> {
    let (top_up::Job::SendTopUp(id) | top_up::Job::BridgeTopUp(id) | top_up::Job::AwaitIssuerCredit(id)) =
        work.typed()?;
    Some(id)
}

/// An operator retries dead-lettered jobs after a false attestation, or a deposit that the issuer did not count in
/// time. No other top-up job is ever dead-lettered.
pub(crate) async fn operate(world: &Environment, engine: &Engine, effects: &[OutboxJob]) {
    for effect in effects.iter().filter(|effect| effect.dead_lettered) {
        let Some(id) = moved_by(&effect.job) else { continue };
        let known = match effect.job.typed() {
            Some(top_up::Job::BridgeTopUp(_)) => world.bridge.lock().misattested.contains(&id),
            Some(top_up::Job::AwaitIssuerCredit(_)) => world.bridge.lock().uncounted.contains(&id),
            _ => false,
        };
        if !known {
            world.report_violation("top_up.dead_letter", format!("{effect:?}"));
        }
        let result = engine.retry_job(effect.id, &act(0)).await;
        world.trace(|| format!("operator: {} of {id} is tried again: {result:?}", effect.job.name()));
    }
}
