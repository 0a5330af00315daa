//! Agents that spend from managed wallets: by calls to foreign sellers, within caps and pins, and by transfers; each under a
//! key of its own and sent again until it is answered.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::agent_wallet::terms::{Acceptable, OwnAddresses, Pins};
use purser::payment::terms::Token;
use purser::wallet::PaymentRequired;
use purser_actors::agent_wallet::{Addresses, AgentWallet, Limits};
use purser_actors::engine::{Denied, Once};
use purser_actors::id::{Network, SpendId, Wallet};
use purser_actors::kernel::memo::{Kept, Told};
use purser_actors::kernel::{Entity as _, Kind, Memo};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Entropy as _;
use purser_actors::spend::{Order, Spend, Way};
use purser_storage::fault::Seeded;
use serde_json::{Value, json};

use crate::clients::{Clients, price as price_of, wallet};
use crate::fate::{Course, Fate};
use crate::own;
use crate::owners::durable;
use crate::plan::{Plan, Step, pick};
use crate::seller::{SPEND, call_of, funded};
use crate::withdrawals::{EACH, outlives_keys};

/// Wallets whose agents have a managed one.
const OWNERS: u32 = 2;

/// What an agent or its owner does. The same number is the same spend, under one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agents {
    Opens(u8),
    /// Somebody sends so many cents on each chain.
    Funds(u8, u64),
    /// Its owner sets other limits.
    Limits(u8, u8),
    Spends(u32),
}

/// Adds managed wallets to a plan by chance of their own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = Seeded::new(plan.seed ^ 0x6167_656e_7473);
    if chance.one_in(3) {
        return;
    }
    let owners = 1 + chance.below(OWNERS.into()) as u8;
    let mut steps = Vec::new();
    for owner in 0..owners {
        steps.push(Agents::Opens(owner));
        steps.push(Agents::Funds(owner, pick(&mut chance, &[700, 2_000, 50_000])));
    }
    for _ in 0..3 + chance.below(12) {
        steps.push(match chance.below(12) {
            0 => Agents::Opens(chance.below(owners.into()) as u8),
            1 => Agents::Funds(chance.below(owners.into()) as u8, 400),
            2 | 3 => Agents::Limits(chance.below(owners.into()) as u8, chance.below(4) as u8),
            _ => Agents::Spends(chance.below(12) as u32),
        });
    }
    let mut at = chance.below(plan.steps.len() as u64 / 2 + 1) as usize;
    for does in steps {
        // An agent that is impatient, or two of them.
        let times = if chance.one_in(4) { 2 } else { 1 };
        for _ in 0..times {
            plan.steps.insert(at, Step::Agent(does));
            at += 1;
        }
        if let Agents::Spends(nth) = does {
            let fate = Fate::of(&mut chance);
            plan.fates.entry(SPEND + nth * EACH).or_insert_with(|| Fate {
                issue: Vec::new(),
                send: Vec::new(),
                course: Course::default(),
                ..fate
            });
        }
        if chance.one_in(2) {
            at = (at + chance.below(4) as usize).min(plan.steps.len());
        }
        if chance.one_in(4) {
            let ms = pick(&mut chance, &[5, 100, 700, 3_000]);
            plan.steps.insert(at, Step::Wait { ms });
            at += 1;
        }
    }
}

pub(crate) const fn owner(nth: u32) -> u8 {
    (nth % OWNERS) as u8
}

pub(crate) fn addresses(owner: &Wallet) -> Addresses {
    // No two owners have the same: an address of a managed wallet may be an account of its own after a restore.
    let mark = match owner {
        Wallet::Evm(address) => address[0].wrapping_add(0xA0),
        Wallet::Solana(address) => address[0].wrapping_add(0xA0),
    };
    Addresses {
        base: [mark; 20],
        solana: [mark; 32],
    }
}

fn limits(which: u8) -> Limits {
    let (per_call, per_day) = [(500, Some(900)), (5_000, Some(2_000)), (100, None), (1_000, None)][which as usize % 4];
    Limits {
        per_call: Cents::new(per_call),
        per_day: per_day.map(Cents::new),
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
    nth < own::FIRST && nth % 4 == 3
}

/// What a seller asks for a call: the same on both networks, or more and for somebody else.
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
        accepts.insert(0, offer(first, price(nth), own::treasury(first)));
    }
    let json = json!({"x402Version": 2, "resource": {"url": "https://shop.example.com/"}, "accepts": accepts});
    PaymentRequired::from_header(STANDARD.encode(json.to_string()).as_bytes()).unwrap()
}

fn pins(nth: u32) -> Pins {
    let pins = Pins::default();
    match nth % 5 {
        1 => Pins {
            max_amount: Some(usdc(500)),
            ..pins
        },
        2 => Pins {
            network: Some(Network::Base),
            ..pins
        },
        3 => Pins {
            pay_to: Some(seller(Network::Solana, false)),
            ..pins
        },
        4 => Pins {
            max_amount: Some(usdc(80)),
            ..pins
        },
        _ => pins,
    }
}

/// Whether what is paid for a spend is what its agent allowed, by rules of this file's own.
pub(crate) fn allows(nth: u32, to: Wallet, amount: u64) -> bool {
    if let Some(payment) = own::payment_of(nth) {
        return (to, amount) == (own::treasury(to.network()), price_of(payment).atomic());
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
        && to != own::treasury(to.network())
        && (amount == price(nth) * 10_000 || amount == (price(nth) + 400) * 10_000)
}

fn usdc(cents: u64) -> Usdc {
    Usdc::from_cents(Cents::new(cents)).unwrap()
}

impl Clients {
    pub(crate) fn agent(&self, does: Agents) {
        let this = self.clone();
        self.go(async move {
            let (world, engine) = (&this.world, &this.engine);
            match does {
                Agents::Opens(number) => {
                    let owner = wallet(number);
                    // Keys of its own each time: the first ones are the wallet's.
                    let sealed = world.random().to_be_bytes().to_vec();
                    let made = (addresses(&owner), sealed);
                    let told = engine.open_agent_wallet(owner, made, limits(1), None).await;
                    let is_there = durable::<AgentWallet>(world, Kind::AgentWallet, &owner.key()).is_some();
                    if told.is_ok() && !is_there && !world.is_dead() {
                        world.object("answer.early", format!("the managed wallet of {owner} is not durable"));
                    }
                }
                Agents::Funds(number, cents) => world.till.lock().fund(&addresses(&wallet(number)), cents),
                Agents::Limits(number, which) => {
                    let told = engine.set_spend_limits(wallet(number), limits(which)).await;
                    world.trace(|| format!("owner {number} sets the limits {which}: {told:?}"));
                }
                Agents::Spends(nth) => {
                    for _ in 0..20 {
                        if world.is_dead() || this.spend_once(nth).await {
                            return;
                        }
                        world.linger(200).await;
                    }
                }
            }
        });
    }

    /// What is to be paid: what the seller asks for, as far as the agent's pins allow, or a transfer as it likes.
    fn asked(&self, nth: u32) -> Option<(Wallet, Usdc, Way)> {
        if let Some(payment) = own::payment_of(nth) {
            let (to, amount) = own::asked(nth, payment);
            let host = Way::OWN.into();
            return Some((to, amount, Way::Call { host }));
        }
        if is_transfer(nth) {
            let network = if nth % 8 == 3 { Network::Base } else { Network::Solana };
            return Some((seller(network, true), usdc(price(nth)), Way::Transfer));
        }
        let offers = pins(nth).acceptable(
            &required(nth),
            &addresses(&wallet(owner(nth))),
            &OwnAddresses::of(Network::ALL.map(own::treasury)),
            &Token::SANDBOX,
        );
        let Acceptable { to, amount, .. } = match offers {
            Ok(offers) => *offers.first()?,
            Err(none) => {
                self.world
                    .trace(|| format!("agent: of {nth} the pins allow nothing: {none:?}"));
                return None;
            }
        };
        let host = "shop.example.com:443".into();
        Some((to, amount, Way::Call { host }))
    }

    /// Whether it was answered for good.
    async fn spend_once(&self, nth: u32) -> bool {
        let (world, holder) = (&self.world, wallet(owner(nth)));
        if durable::<AgentWallet>(world, Kind::AgentWallet, &holder.key()).is_none() {
            return false;
        }
        let turn = match self.engine.once(holder, &format!("spend {nth}"), [nth as u8; 32]).await {
            Ok(Once::New(turn)) => turn,
            Ok(Once::Known(Kept::Follow { id, .. })) => {
                self.is_told_of(nth, SpendId(u128::from_be_bytes(id.try_into().unwrap())))
                    .await;
                return true;
            }
            Ok(Once::Running) | Err(_) => return false,
            Ok(other) => {
                world.object("key.unknown", format!("spend {nth}: {other:?}"));
                return true;
            }
        };
        let Some((to, amount, way)) = self.asked(nth) else {
            return true;
        };
        let tries = {
            let mut notes = world.notes.lock();
            let tries = notes.spends_tried.entry(nth).or_default();
            *tries += 1;
            *tries % (EACH / 4)
        };
        let id = SpendId(world.random() << 32 | u128::from(SPEND + nth * EACH + tries));
        let call = if way == Way::Transfer { Vec::new() } else { call_of(id) };
        let memo = Memo::<AgentWallet>::new(turn.place().clone(), move |told: Told<'_, AgentWallet>| {
            let (kind, id) = (Kind::Spend as u8, id.0.to_be_bytes().to_vec());
            told.is_ok().then_some(Kept::Follow { kind, id })
        });
        let holds = funded(world, &addresses(&holder).on(to.network()));
        let note = None;
        let order = Order { to, amount, note, way };
        let told = self.engine.spend(holder, (id, holds), (order, call), Some(memo)).await;
        drop(turn);
        if world.is_dead() {
            return true;
        }
        world.trace(|| format!("agent: spend {nth} of {amount} is answered {told:?}"));
        match told {
            Ok(()) => self.is_told_of(nth, id).await,
            Err(Denied::Rejected(_)) => {}
            Err(_) => return false,
        }
        true
    }

    /// Waits a while for what has become of it. What was said is durable, and the key is this spend's for ever.
    async fn is_told_of(&self, nth: u32, id: SpendId) {
        let world = &self.world;
        let patience = Duration::from_millis(5_000);
        let told = tokio::time::timeout(patience, self.engine.spend_ended(id)).await;
        if world.is_dead() {
            return;
        }
        let told = told.ok().flatten().map(|spend| spend.status());
        let stored: Option<Spend> = durable(world, Kind::Spend, &id.0.to_be_bytes());
        let stored = stored.map(|spend| spend.status());
        world.trace(|| format!("agent is told of spend {nth}: {told:?}"));
        let first = *world.notes.lock().spends.entry(nth).or_insert(id);
        if first != id && !outlives_keys(&world.plan) {
            world.object("key.answers", format!("spend {nth} is {first} and {id}"));
        }
        let rests = match (told, stored) {
            (_, None) => false,
            (None, Some(_)) => true,
            // The server has refused, and the chain may have spoken since.
            (Some("sent"), Some(stored)) => matches!(stored, "sent" | "settled" | "unsettled"),
            (Some(told), Some(stored)) => told == stored,
        };
        if !rests {
            world.object(
                "answer.early",
                format!("spend {nth} was said to be {told:?}, and durable is {stored:?}"),
            );
        }
    }
}
