//! Agents that pay from agent wallets: by calls to foreign sellers, within caps and pins, and by transfers. Each
//! request has its own idempotency key and is repeated until it is answered.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::agent_wallet::offer_selection::{OwnAddresses, PaymentPins, SelectedOffer};
use purser::payment::terms::Token;
use purser::wallet::PaymentRequired;
use purser_actors::engine::{KeyState, OperationError};
use purser_actors::entity::agent_wallet::{AgentWallet, WalletCaps, WalletSpend};
use purser_actors::entity::session::AuthMethod;
use purser_actors::entity::spend_approval::{SpendAgent, SpendApproval, Status as Consent};
use purser_actors::entity::wallet_payment::{PaymentMethod, WalletPayment, WalletPaymentOrder};
use purser_actors::id::{Network, Wallet, WalletPaymentId};
use purser_actors::kernel::idempotency::{CommandResult, RecordedResponse};
use purser_actors::kernel::{Entity as _, EntityKind, IdempotencyRecorder};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Entropy as _, WalletAddresses};
use purser_storage::sim_disk::SeededRng;
use serde_json::{Value, json};

use crate::account_steps::durable;
use crate::clients::{Clients, price as price_of, wallet};
use crate::fault_plan::{FaultPlan, PayoutCourse};
use crate::own_purchases;
use crate::plan::{Plan, Step, pick};
use crate::seller::{WALLET_PAYMENT, call_of, funded};
use crate::withdrawals::{NUMBERS_PER_REQUEST, outlives_keys};

/// Wallets whose agents have a managed one.
const OWNERS: u32 = 2;

/// What an agent or its owner does. The same number is the same spend, under one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalletPaymentStep {
    Opens(u8),
    /// A sender transfers this number of cents on each chain.
    Funds(u8, u64),
    /// Its owner sets other limits.
    Limits(u8, u8),
    Pays(u32),
    /// Its owner sets limits, and wants to be asked about spends over them.
    Asks(u8, u8),
    /// Its owner approves or declines what waits.
    Decides(u8, bool),
}

/// Adds managed wallets to a plan by chance of their own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x6167_656e_7473);
    if chance.one_in(3) {
        return;
    }
    let owners = 1 + chance.next_below(OWNERS.into()) as u8;
    let mut steps = Vec::new();
    for owner in 0..owners {
        steps.push(WalletPaymentStep::Opens(owner));
        steps.push(WalletPaymentStep::Funds(
            owner,
            pick(&mut chance, &[700, 2_000, 50_000]),
        ));
    }
    for _ in 0..3 + chance.next_below(12) {
        steps.push(match chance.next_below(12) {
            0 => WalletPaymentStep::Opens(chance.next_below(owners.into()) as u8),
            1 => WalletPaymentStep::Funds(chance.next_below(owners.into()) as u8, 400),
            2 | 3 => WalletPaymentStep::Limits(chance.next_below(owners.into()) as u8, chance.next_below(4) as u8),
            _ => WalletPaymentStep::Pays(chance.next_below(12) as u32),
        });
    }
    let mut at = chance.next_below(plan.steps.len() as u64 / 2 + 1) as usize;
    for does in steps {
        // An agent that is impatient, or two of them.
        let times = if chance.one_in(4) { 2 } else { 1 };
        for _ in 0..times {
            plan.steps.insert(at, Step::Agent(does));
            at += 1;
        }
        if let WalletPaymentStep::Pays(nth) = does {
            let fault_plan = FaultPlan::random(&mut chance);
            plan.fault_plans
                .entry(WALLET_PAYMENT + nth * NUMBERS_PER_REQUEST)
                .or_insert_with(|| FaultPlan {
                    issue: Vec::new(),
                    send: Vec::new(),
                    payout_course: PayoutCourse::default(),
                    ..fault_plan
                });
        }
        if chance.one_in(2) {
            at = (at + chance.next_below(4) as usize).min(plan.steps.len());
        }
        if chance.one_in(4) {
            let ms = pick(&mut chance, &[5, 100, 700, 3_000]);
            plan.steps.insert(at, Step::Wait { ms });
            at += 1;
        }
    }
    add_approvals(plan);
}

/// Lets owners be asked, by chance of their own too: two agents want the same spend, and have one approval.
fn add_approvals(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x636f_6e73_656e_7400);
    let pays = |(at, step): (usize, &Step)| match step {
        Step::Agent(WalletPaymentStep::Pays(nth)) if !is_transfer(*nth) => Some((at, *nth)),
        _ => None,
    };
    let pays: Vec<(usize, u32)> = plan.steps.iter().enumerate().filter_map(pays).collect();
    let Some((first, _)) = pays.first().copied() else {
        return;
    };
    if chance.one_in(2) {
        return;
    }
    for (at, nth) in pays.into_iter().rev() {
        if chance.one_in(2) {
            continue;
        }
        let agrees = !chance.one_in(4);
        let ms = pick(&mut chance, &[100, 700, 3_000]);
        let steps = [
            Step::Wait { ms },
            Step::Agent(WalletPaymentStep::Decides(owner(nth), agrees)),
            Step::Agent(WalletPaymentStep::Pays(nth + SECOND_AGENT)),
            Step::Agent(WalletPaymentStep::Pays(nth)),
        ];
        plan.steps.splice(at + 1..at + 1, steps);
    }
    for number in 0..OWNERS as u8 {
        let asks = WalletPaymentStep::Asks(number, chance.next_below(4) as u8);
        plan.steps.insert(first, Step::Agent(asks));
    }
}

/// The spends of a second agent are those of the first, each this much further. Divisible by all that a number decides.
const SECOND_AGENT: u32 = 120;

pub(crate) const fn owner(nth: u32) -> u8 {
    (nth % OWNERS) as u8
}

pub(crate) fn addresses(owner: &Wallet) -> WalletAddresses {
    // No two owners have the same: an address of a managed wallet may be an account of its own after a restore.
    let mark = match owner {
        Wallet::Evm(address) => address[0].wrapping_add(0xA0),
        Wallet::Solana(address) => address[0].wrapping_add(0xA0),
    };
    WalletAddresses {
        base: [mark; 20],
        solana: [mark; 32],
    }
}

fn limits(which: u8) -> WalletCaps {
    let (per_call, per_day) = [(500, Some(900)), (5_000, Some(2_000)), (100, None), (1_000, None)][which as usize % 4];
    WalletCaps {
        per_call: Cents::new(per_call),
        per_day: per_day.map(Cents::new),
        approvals: false,
    }
}

/// Sellers' addresses: the first is where everybody is paid, the second is a stranger's.
fn seller(network: Network, stranger: bool) -> Wallet {
    let mark = if stranger { 0xEE } else { 0x5E };
    match network {
        Network::Base => Wallet::Evm([mark; 20]),
        Network::Solana => Wallet::Solana([mark; 32]),
    }
}

/// What is paid for the spend of a number, in cents.
fn price(nth: u32) -> u64 {
    [90, 450, 300, 120, 700][nth as usize % 5]
}

fn is_transfer(nth: u32) -> bool {
    nth < own_purchases::FIRST && nth % 4 == 3
}

/// A seller's offers for a call: the same on both networks, or a higher one with another recipient.
fn required(nth: u32) -> PaymentRequired {
    let offer = |network: Network, cents: u64, to: Wallet| {
        let asset = match network {
            Network::Base => "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
            Network::Solana => "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
        };
        let to = to.address();
        let extra = match network {
            Network::Base => json!({"name": Token::SANDBOX.name, "version": Token::SANDBOX.version}),
            Network::Solana => json!({"feePayer": to}),
        };
        json!({"scheme": "exact", "network": network.caip2(), "amount": (cents * 10_000).to_string(), "asset": asset,
            "payTo": to, "maxTimeoutSeconds": 300, "extra": extra})
    };
    let (first, second) = match nth % 2 {
        0 => (Network::Base, Network::Solana),
        _ => (Network::Solana, Network::Base),
    };
    let mut accepts: Vec<Value> = match nth % 3 {
        0 => vec![offer(first, price(nth), seller(first, false))],
        1 => vec![
            offer(first, price(nth) + 400, seller(first, true)),
            offer(second, price(nth), seller(second, false)),
        ],
        _ => vec![
            offer(second, price(nth), seller(second, true)),
            offer(first, price(nth), seller(first, false)),
        ],
    };
    // A hostile one asks on our own terms: what it is paid is ours, and the product would be its.
    if nth % 4 == 2 {
        accepts.insert(0, offer(first, price(nth), own_purchases::treasury(first)));
    }
    let json = json!({"x402Version": 2, "resource": {"url": "https://shop.example.com/"}, "accepts": accepts});
    PaymentRequired::from_header(STANDARD.encode(json.to_string()).as_bytes()).unwrap()
}

fn pins(nth: u32) -> PaymentPins {
    let pins = PaymentPins::default();
    match nth % 5 {
        1 => PaymentPins {
            max_amount: Some(usdc(500)),
            ..pins
        },
        2 => PaymentPins {
            network: Some(Network::Base),
            ..pins
        },
        3 => PaymentPins {
            pay_to: Some(seller(Network::Solana, false)),
            ..pins
        },
        4 => PaymentPins {
            max_amount: Some(usdc(80)),
            ..pins
        },
        _ => pins,
    }
}

/// Whether what is paid for a spend is what its agent allowed, by rules of this file's own.
pub(crate) fn allows(nth: u32, to: Wallet, amount: u64) -> bool {
    if let Some(payment) = own_purchases::payment_of(nth) {
        return (to, amount) == (own_purchases::treasury(to.network()), price_of(payment).atomic());
    }
    let pinned = is_transfer(nth)
        || match nth % 5 {
            1 => amount <= 500 * 10_000,
            2 => matches!(to, Wallet::Evm(_)),
            3 => to == Wallet::Solana([0x5E; 32]),
            4 => amount <= 80 * 10_000,
            _ => true,
        };
    pinned
        && to != own_purchases::treasury(to.network())
        && (amount == price(nth) * 10_000 || amount == (price(nth) + 400) * 10_000)
}

fn usdc(cents: u64) -> Usdc {
    Usdc::from_cents(Cents::new(cents)).unwrap()
}

impl Clients {
    pub(crate) fn agent(&self, does: WalletPaymentStep) {
        let this = self.clone();
        self.spawn(async move {
            let (world, engine) = (&this.environment, &this.engine);
            match does {
                WalletPaymentStep::Opens(number) => {
                    let owner = wallet(number);
                    // Keys of its own each time: the first ones are the wallet's.
                    let sealed = world.random().to_be_bytes().to_vec();
                    let made = (addresses(&owner), sealed);
                    let result = engine.create_agent_wallet(owner, made, limits(1), None).await;
                    let is_there = durable::<AgentWallet>(world, EntityKind::AgentWallet, &owner.key()).is_some();
                    if result.is_ok() && !is_there && !world.is_crashed() {
                        world.report_violation("answer.early", format!("the managed wallet of {owner} is not durable"));
                    }
                }
                WalletPaymentStep::Funds(number, cents) => world.seller.lock().fund(&addresses(&wallet(number)), cents),
                WalletPaymentStep::Limits(number, which) => {
                    let result = engine.set_wallet_caps(wallet(number), limits(which)).await;
                    world.trace(|| format!("owner {number} sets the limits {which}: {result:?}"));
                }
                WalletPaymentStep::Asks(number, which) => {
                    let approvals = true;
                    let limits = WalletCaps {
                        approvals,
                        ..limits(which)
                    };
                    let result = engine.set_wallet_caps(wallet(number), limits).await;
                    world.trace(|| format!("owner {number} wants to be asked over the limits {which}: {result:?}"));
                }
                WalletPaymentStep::Decides(number, agrees) => {
                    for _ in 0..5 {
                        if world.is_crashed() {
                            return;
                        }
                        this.decide_spends(&wallet(number), agrees).await;
                        world.delay(150).await;
                    }
                }
                WalletPaymentStep::Pays(nth) => {
                    for _ in 0..20 {
                        if world.is_crashed() || this.pay_once(nth).await {
                            return;
                        }
                        world.delay(200).await;
                    }
                }
            }
        });
    }

    /// What is to be paid: what the seller asks for, as far as the agent's pins allow, or a transfer as it likes.
    fn payment_request(&self, nth: u32) -> Option<(Wallet, Usdc, PaymentMethod)> {
        if let Some(payment) = own_purchases::payment_of(nth) {
            let (to, amount) = own_purchases::agent_request(nth, payment);
            let host = PaymentMethod::OWN.into();
            return Some((to, amount, PaymentMethod::PaidCall { host }));
        }
        if is_transfer(nth) {
            let network = if nth % 8 == 3 { Network::Base } else { Network::Solana };
            return Some((seller(network, true), usdc(price(nth)), PaymentMethod::Transfer));
        }
        let offers = pins(nth).select(
            &required(nth),
            &addresses(&wallet(owner(nth))),
            &OwnAddresses::of(Network::ALL.map(own_purchases::treasury)),
            &Token::SANDBOX,
        );
        let SelectedOffer { to, amount, .. } = match offers {
            Ok(offers) => *offers.first()?,
            Err(none) => {
                self.environment
                    .trace(|| format!("agent: of {nth} the pins allow nothing: {none:?}"));
                return None;
            }
        };
        let host = "shop.example.com:443".into();
        Some((to, amount, PaymentMethod::PaidCall { host }))
    }

    /// The owner decides on everything that waits. What was said is durable.
    async fn decide_spends(&self, owner: &Wallet, agrees: bool) {
        let (world, engine) = (&self.environment, &self.engine);
        let Ok((all, _)) = engine.spend_approvals_of(owner, AuthMethod::Wallet, None, 50).await else {
            return;
        };
        for (id, _) in all
            .into_iter()
            .filter(|(_, approval)| approval.status == Consent::Pending)
        {
            let result = match agrees {
                true => engine.approve_spend(id).await,
                false => engine.decline_spend(id).await,
            };
            if world.is_crashed() {
                return;
            }
            world.trace(|| format!("the owner decides on {id}: {agrees}, answered {result:?}"));
            let stored: Option<SpendApproval> = durable(world, EntityKind::SpendApproval, &id.0.to_be_bytes());
            if result.is_ok() && stored.is_none_or(|stored| stored.status == Consent::Pending) {
                world.report_violation("answer.early", format!("the decision on {id} is not durable"));
            }
        }
    }

    /// Whether it has a final answer.
    async fn pay_once(&self, nth: u32) -> bool {
        let (world, holder) = (&self.environment, wallet(owner(nth)));
        if durable::<AgentWallet>(world, EntityKind::AgentWallet, &holder.key()).is_none() {
            return false;
        }
        let turn = match self
            .engine
            .acquire_key(holder, &format!("spend {nth}"), [nth as u8; 32])
            .await
        {
            Ok(KeyState::Acquired(turn)) => turn,
            Ok(KeyState::Replay(RecordedResponse::EntityRef { id, .. })) => {
                self.wait_for_wallet_payment(nth, WalletPaymentId(u128::from_be_bytes(id.try_into().unwrap())))
                    .await;
                return true;
            }
            Ok(KeyState::InProgress) | Err(_) => return false,
            Ok(other) => {
                world.report_violation("key.unknown", format!("wallet payment {nth}: {other:?}"));
                return true;
            }
        };
        let Some((to, amount, way)) = self.payment_request(nth) else {
            return true;
        };
        let attempts = {
            let mut notes = world.client_log.lock();
            let attempts = notes.wallet_payment_attempts.entry(nth).or_default();
            *attempts += 1;
            *attempts % (NUMBERS_PER_REQUEST / 4)
        };
        let id =
            WalletPaymentId(world.random() << 32 | u128::from(WALLET_PAYMENT + nth * NUMBERS_PER_REQUEST + attempts));
        let call = if way == PaymentMethod::Transfer {
            Vec::new()
        } else {
            call_of(id)
        };
        let recorder = IdempotencyRecorder::<AgentWallet>::new(
            turn.slot().clone(),
            move |result: CommandResult<'_, AgentWallet>| {
                let (kind, id) = (EntityKind::WalletPayment as u8, id.0.to_be_bytes().to_vec());
                result.is_ok().then_some(RecordedResponse::EntityRef { kind, id })
            },
        );
        let holds = funded(world, &addresses(&holder).on(to.network()));
        let note = None;
        let spend = WalletSpend {
            payment: id,
            order: WalletPaymentOrder {
                to,
                amount,
                note,
                method: way,
            },
            call,
            chain_balance: holds,
            known_lines: None,
            agent: SpendAgent::default(),
            call_digest: [(nth % SECOND_AGENT) as u8; 32],
            purchase: None,
        };
        let result = self
            .engine
            .start_wallet_payment(holder, spend, None, Some(recorder))
            .await;
        drop(turn);
        if world.is_crashed() {
            return true;
        }
        world.trace(|| format!("agent: wallet payment {nth} of {amount} is answered {result:?}"));
        match result {
            Ok(()) => self.wait_for_wallet_payment(nth, id).await,
            Err(OperationError::Rejected(_)) => {}
            Err(_) => return false,
        }
        true
    }

    /// Waits a while for what has become of it. What was said is durable, and the key is this spend's for ever.
    async fn wait_for_wallet_payment(&self, nth: u32, id: WalletPaymentId) {
        let world = &self.environment;
        let patience = Duration::from_millis(5_000);
        let result = tokio::time::timeout(patience, self.engine.await_wallet_payment(id)).await;
        if world.is_crashed() {
            return;
        }
        let result = result.ok().flatten().map(|spend| spend.status());
        let stored: Option<WalletPayment> = durable(world, EntityKind::WalletPayment, &id.0.to_be_bytes());
        let stored = stored.map(|spend| spend.status());
        world.trace(|| format!("agent is notified of wallet payment {nth}: {result:?}"));
        let first = *world.client_log.lock().wallet_payments.entry(nth).or_insert(id);
        if first != id && !outlives_keys(&world.plan) {
            world.report_violation("key.answers", format!("wallet payment {nth} is {first} and {id}"));
        }
        let rests = match (result, stored) {
            (_, None) => false,
            (None, Some(_)) => true,
            // The server rejected it, and the chain may have settled it since.
            (Some("sent"), Some(stored)) => matches!(stored, "sent" | "settled" | "unsettled"),
            (Some(result), Some(stored)) => result == stored,
        };
        if !rests {
            world.report_violation(
                "answer.early",
                format!("wallet payment {nth} was reported as {result:?}, and durable is {stored:?}"),
            );
        }
    }
}
