//! What agents buy from us by managed wallets: paid to our treasury like any purchase, and their owners' in everything.
//! A spend is the price of a call of our own route, so each has a number of both kinds.

use purser_actors::engine::{ClaimError, Engine, PaymentResult};
use purser_actors::entity::payment::Outcome;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, CallFailure, ServerResponse};
use purser_storage::sim_disk::SeededRng;

use std::sync::Arc;

use crate::clients::{Clients, price};
use crate::environment::Environment;
use crate::fault_plan::FaultPlan;
use crate::plan::{Plan, Step};
use crate::seller::WALLET_PAYMENT;
use crate::withdrawals::NUMBERS_PER_REQUEST;

/// The wallet payments `FIRST..FIRST + COUNT` pay our own routes.
pub(crate) const FIRST: u32 = 16;
pub(crate) const COUNT: u32 = 12;
/// The payments that they are.
const PAYMENTS: u32 = 258;

/// The payment of a wallet payment's number; `None` if it pays another seller.
pub(crate) const fn payment_of(nth: u32) -> Option<u32> {
    if nth >= FIRST && nth < FIRST + COUNT {
        Some(PAYMENTS + nth - FIRST)
    } else {
        None
    }
}

/// The wallet payment behind a payment to our own routes, by number.
const fn wallet_payment_of(payment: u32) -> Option<u32> {
    let nth = if payment >= WALLET_PAYMENT {
        (payment - WALLET_PAYMENT) / NUMBERS_PER_REQUEST
    } else {
        payment.wrapping_sub(PAYMENTS).wrapping_add(FIRST)
    };
    if nth >= FIRST && nth < FIRST + COUNT {
        Some(nth)
    } else {
        None
    }
}

/// Whether a transfer out of a managed wallet pays us.
pub(crate) const fn is_own(n: u32) -> bool {
    n >= WALLET_PAYMENT && wallet_payment_of(n).is_some()
}

/// The number under which a payment is made and priced: of a managed wallet's it is not that of its transfer.
pub(crate) const fn canonical(payment: u32) -> u32 {
    match wallet_payment_of(payment) {
        Some(nth) => PAYMENTS + nth - FIRST,
        None => payment,
    }
}

/// Whose managed wallet pays.
pub(crate) fn owner(payment: u32) -> Option<u8> {
    wallet_payment_of(payment).map(crate::agents::owner)
}

/// Where our own offers are to be paid.
pub(crate) const fn treasury(network: Network) -> Wallet {
    match network {
        Network::Base => Wallet::Evm([9; 20]),
        Network::Solana => Wallet::Solana([9; 32]),
    }
}

/// What the agent is to pay for its purchase, and to whom: on both networks by turns.
pub(crate) fn agent_request(nth: u32, payment: u32) -> (Wallet, Usdc) {
    let network = if (nth / 2).is_multiple_of(2) {
        Network::Solana
    } else {
        Network::Base
    };
    (treasury(network), price(payment))
}

/// Adds purchases to a plan in which managed wallets are opened, by chance of their own.
pub(crate) fn add(plan: &mut Plan) {
    use crate::agents::WalletPaymentStep;
    let mut chance = SeededRng::new(plan.seed ^ 0x6f77_6e5f_726f);
    let funded = |step: &Step| matches!(step, Step::Agent(WalletPaymentStep::Funds(..)));
    let Some(first) = plan.steps.iter().position(funded).filter(|_| !chance.one_in(3)) else {
        return;
    };
    // Enough for whatever is bought, now and then.
    if chance.one_in(2) {
        let at = (first + 4).min(plan.steps.len());
        for owner in 0..2 {
            plan.steps
                .insert(at, Step::Agent(WalletPaymentStep::Funds(owner, 50_000)));
            plan.steps.insert(at, Step::Agent(WalletPaymentStep::Limits(owner, 3)));
        }
    }
    for _ in 0..1 + chance.next_below(10) {
        let nth = FIRST + chance.next_below(COUNT.into()) as u32;
        let at = first + chance.next_below((plan.steps.len() - first) as u64 + 1) as usize;
        plan.steps.insert(at, Step::Agent(WalletPaymentStep::Pays(nth)));
        if chance.one_in(3) {
            plan.steps.insert(at + 1, Step::Wait { ms: 300 });
        }
        let moves = FaultPlan::random(&mut chance);
        let made = FaultPlan {
            issue: moves.issue.clone(),
            send: moves.send.clone(),
            payout_course: moves.payout_course,
            ..FaultPlan::default()
        };
        plan.fault_plans
            .entry(WALLET_PAYMENT + nth * NUMBERS_PER_REQUEST)
            .or_insert_with(|| FaultPlan {
                issue: Vec::new(),
                send: Vec::new(),
                payout_course: Default::default(),
                ..moves
            });
        if let Some(payment) = payment_of(nth) {
            plan.fault_plans.entry(payment).or_insert(made);
        }
    }
}

/// What our own route answers to the payment: for its agent, what any server says of it.
pub(crate) async fn call(
    world: &Arc<Environment>,
    engine: Engine,
    n: u32,
    authorization: &Authorization,
) -> (ServerResponse, Vec<u8>) {
    let clients = Clients {
        environment: world.clone(),
        engine,
    };
    let result = clients.present(n, 0, Some(authorization.clone())).await;
    let (http_status, failure) = match result {
        Ok(PaymentResult { outcome, .. }) => match outcome {
            Outcome::Fulfilled { .. } | Outcome::Credited { .. } => (200, None),
            Outcome::Declined(_) => (402, Some(CallFailure::Unsettled)),
            Outcome::Resolved(_) => (409, None),
            Outcome::Pending => (202, None),
            Outcome::Unavailable => (503, Some(CallFailure::HttpError)),
        },
        Err(ClaimError::Frozen { .. } | ClaimError::DailyCountCap { .. } | ClaimError::DailyAmountCap { .. }) => {
            (403, Some(CallFailure::HttpError))
        }
        Err(ClaimError::PreconditionFailed(_)) => (412, Some(CallFailure::HttpError)),
        Err(_) => (503, Some(CallFailure::HttpError)),
    };
    let answer = ServerResponse {
        http_status,
        content_type: Some("application/json".into()),
        failure,
    };
    (answer, b"{}".to_vec())
}
