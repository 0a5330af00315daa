//! Whoever calls: agents that pay, repeat, race and vanish, owners that look, the operator. What each was told is kept,
//! to be held against everything that comes later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use purser_actors::account::LinkCode;
use purser_actors::engine::{Engine, Paid, PayError, PayRequest};
use purser_actors::id::{CardId, PaymentId, SessionId, Wallet};
use purser_actors::kernel::{Kind, table};
use purser_actors::money::{Cents, Usdc};
use purser_actors::payment::{NewSession, Outcome, Payment, Product, Purchase, Status};
use purser_actors::port::{Authorization, Entropy, EvmAuthorization, SolanaTransfer};
use purser_actors::session::Amr;
use purser_storage::codec;

use crate::world::World;

/// One presentation of a payment.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) payment: u32,
    pub(crate) request: u8,
    pub(crate) session: SessionId,
    pub(crate) asked: u64,
    /// When the answer came, and what it was.
    pub(crate) told: Option<(u64, Result<Paid, PayError>)>,
}

/// A change of an account by the operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freeze {
    pub(crate) wallet: u8,
    pub(crate) frozen: bool,
    pub(crate) asked: u64,
    pub(crate) told: Option<u64>,
}

#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) authorizations: BTreeMap<u32, Authorization>,
    pub(crate) ids: BTreeMap<u32, PaymentId>,
    pub(crate) calls: Vec<Call>,
    pub(crate) freezes: Vec<Freeze>,
    pub(crate) closed: BTreeSet<CardId>,
    pub(crate) revealed: BTreeMap<CardId, usize>,
    signed_in: BTreeSet<u8>,
    /// Sessions that somebody was told are open.
    pub(crate) sessions: BTreeSet<SessionId>,
    /// Clients of this life that wait for an answer.
    pub(crate) waiting: usize,
}

pub(crate) fn wallet(n: u8) -> Wallet {
    match n {
        0 | 1 => Wallet::Evm([n + 1; 20]),
        _ => Wallet::Solana([n + 1; 32]),
    }
}

pub(crate) fn request(n: u8) -> [u8; 32] {
    [n; 32]
}

/// Each payment has an amount of its own, so that the issuer's calls tell which it was.
fn amount(payment: u32) -> Cents {
    Cents::new(500 + u64::from(payment))
}

pub(crate) fn payment_of_amount(amount: Cents) -> u32 {
    (amount.get() - 500) as u32
}

fn authorization(world: &World, payment: u32) -> Authorization {
    let until_ms = world.true_ms() + [4_000, 30_000, 120_000][payment as usize % 3];
    let fee = [0, 100][payment as usize % 2];
    let value = Usdc::from_cents(Cents::new(amount(payment).get() + fee)).unwrap();
    let mut mark = [0; 32];
    mark[28..].copy_from_slice(&payment.to_be_bytes());
    match wallet((payment % 4) as u8) {
        Wallet::Evm(from) => Authorization::Evm(EvmAuthorization {
            from,
            to: [9; 20],
            value,
            valid_after: 0,
            valid_before: until_ms,
            nonce: mark,
            signature: [0; 65],
        }),
        Wallet::Solana(payer) => {
            let mut blockhash = [0; 32];
            blockhash[..8].copy_from_slice(&until_ms.to_be_bytes());
            Authorization::Solana(SolanaTransfer {
                transaction: vec![7; 300],
                message_hash: mark,
                payer,
                value,
                blockhash,
            })
        }
    }
}

pub(crate) fn number_of(authorization: &Authorization) -> u32 {
    let mark = match authorization {
        Authorization::Evm(a) => &a.nonce,
        Authorization::Solana(t) => &t.message_hash,
    };
    u32::from_be_bytes(*mark.last_chunk().unwrap())
}

/// When it stops being valid, by the chain's time.
pub(crate) fn valid_until_ms(authorization: &Authorization) -> u64 {
    match authorization {
        Authorization::Evm(a) => a.valid_before,
        Authorization::Solana(t) => u64::from_be_bytes(*t.blockhash.first_chunk().unwrap()),
    }
}

/// The clients of one life.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) world: Arc<World>,
    pub(crate) engine: Engine,
}

impl Clients {
    /// Lets a client do something for as long as it takes; nobody hears of it after the process's death.
    fn go(&self, what: impl Future<Output = ()> + Send + 'static) {
        let world = self.world.clone();
        world.notes.lock().waiting += 1;
        tokio::spawn(async move {
            what.await;
            world.notes.lock().waiting -= 1;
        });
    }

    fn new_session(&self) -> NewSession {
        let id = self.world.random();
        NewSession {
            id: SessionId(id),
            first: [(id % 251) as u8; 32],
            life_ms: 3_600_000,
        }
    }

    pub(crate) fn pay(&self, payment: u32, request_no: u8, patience_ms: Option<u64>) {
        let (world, engine, session) = (self.world.clone(), self.engine.clone(), self.new_session());
        let asked = world.moment();
        let mut notes = world.notes.lock();
        let authorization = notes
            .authorizations
            .entry(payment)
            .or_insert_with(|| authorization(&world, payment));
        let authorization = authorization.clone();
        notes.ids.insert(payment, engine.payment_id(&authorization));
        let call = notes.calls.len();
        notes.calls.push(Call {
            payment,
            request: request_no,
            session: session.id,
            asked,
            told: None,
        });
        drop(notes);
        let request = PayRequest {
            authorization,
            purchase: Purchase::Card {
                amount: amount(payment),
            },
            request: request(request_no),
            session,
        };
        self.go(async move {
            let patience = patience_ms.map_or(Duration::MAX, Duration::from_millis);
            let Ok(answer) = tokio::time::timeout(patience, engine.pay(request)).await else {
                return world.trace(|| format!("client {call} goes away"));
            };
            if world.is_dead() {
                return;
            }
            world.trace(|| format!("client {call} is told of payment {payment}: {answer:?}"));
            judge_answer(&world, payment, &answer);
            world.notes.lock().calls[call].told = Some((world.moment(), answer));
        });
    }

    pub(crate) fn read(&self, wallet_no: u8) {
        let (world, engine, owner) = (self.world.clone(), self.engine.clone(), wallet(wallet_no));
        let known = bought(&world, owner);
        self.go(async move {
            let account = engine.account(&owner).await;
            let cards = engine.cards_of(&owner, None, 1_000).await;
            if world.is_dead() {
                return;
            }
            if let Ok((cards, more)) = cards {
                let missing = known.iter().find(|id| !cards.iter().any(|(card, _)| card == *id));
                if let Some(missing) = missing.filter(|_| !more) {
                    world.object("read.cards", format!("{missing} was sold and is not listed"));
                }
            }
            if let Ok(None) = account
                && !known.is_empty()
            {
                world.object("read.account", "an account that has bought is not there");
            }
        });
    }

    pub(crate) fn sign_in(&self, wallet_no: u8, nonce: u8) {
        let (world, engine, session) = (self.world.clone(), self.engine.clone(), self.new_session());
        self.go(async move {
            let told = engine.sign_in(wallet(wallet_no), ([nonce; 16], NEVER_S), session).await;
            if told.is_err() || world.is_dead() {
                return;
            }
            let mut notes = world.notes.lock();
            notes.sessions.insert(session.id);
            let first = notes.signed_in.insert(nonce);
            drop(notes);
            if !first {
                world.object("nonce.twice", format!("nonce {nonce} signed in twice"));
            }
        });
    }

    /// A sign-in, a link made by it, and so many who use the link at once: one of them gets in.
    pub(crate) fn link(&self, wallet_no: u8, uses: u8) {
        let (this, maker, salt) = (self.clone(), self.new_session(), self.world.random());
        self.go(async move {
            let (engine, owner) = (&this.engine, wallet(wallet_no));
            let nonce = (salt.to_be_bytes(), NEVER_S);
            if engine.sign_in(owner, nonce, maker).await.is_err() {
                return;
            }
            let mut hash = [0; 32];
            hash[..16].copy_from_slice(&salt.to_be_bytes());
            let code = LinkCode {
                hash,
                expires_s: NEVER_S,
            };
            if engine.offer_link(owner, code, Amr::Wallet, maker.id).await.is_err() {
                return;
            }
            let used = Arc::new(parking_lot::Mutex::new(0));
            for _ in 0..uses {
                let (that, used, session) = (this.clone(), used.clone(), this.new_session());
                this.go(async move {
                    let told = that.engine.use_link(hash, session).await;
                    if told.is_err() || that.world.is_dead() {
                        return;
                    }
                    that.world.notes.lock().sessions.insert(session.id);
                    *used.lock() += 1;
                    if *used.lock() > 1 {
                        that.world.object("link.twice", "a login link let two in");
                    }
                });
            }
        });
    }

    pub(crate) fn freeze(&self, wallet_no: u8, frozen: bool) {
        let (world, engine) = (self.world.clone(), self.engine.clone());
        let asked = world.moment();
        let mut notes = world.notes.lock();
        let n = notes.freezes.len();
        notes.freezes.push(Freeze {
            wallet: wallet_no,
            frozen,
            asked,
            told: None,
        });
        drop(notes);
        self.go(async move {
            let message = frozen.then(|| "the operator wants it so".to_owned());
            let told = engine.set_frozen(wallet(wallet_no), message).await;
            if told.is_ok() && !world.is_dead() {
                world.notes.lock().freezes[n].told = Some(world.moment());
            }
        });
    }

    pub(crate) fn card(&self, payment: u32, closes: bool) {
        let (world, engine) = (self.world.clone(), self.engine.clone());
        let card = world.notes.lock().calls.iter().find_map(|call| match &call.told {
            Some((_, Ok(paid))) if call.payment == payment => product(&paid.outcome),
            _ => None,
        });
        let Some(card) = card else { return };
        self.go(async move {
            let told = if closes {
                engine.close_card(card).await
            } else {
                engine.reveal(card).await
            };
            if told.is_err() || world.is_dead() {
                return;
            }
            let mut notes = world.notes.lock();
            if closes {
                notes.closed.insert(card);
            } else {
                *notes.revealed.entry(card).or_default() += 1;
            }
        });
    }
}

/// A second that no run reaches.
const NEVER_S: u64 = 9_000_000_000;

pub(crate) fn product(outcome: &Outcome) -> Option<CardId> {
    match outcome {
        Outcome::Fulfilled {
            product: Product::Card(card),
            ..
        } => Some(*card),
        _ => None,
    }
}

/// Cards that a wallet was told it has.
fn bought(world: &World, owner: Wallet) -> BTreeSet<CardId> {
    let notes = world.notes.lock();
    let told = notes
        .calls
        .iter()
        .filter(|call| wallet((call.payment % 4) as u8) == owner);
    told.filter_map(|call| match &call.told {
        Some((_, Ok(paid))) => product(&paid.outcome),
        _ => None,
    })
    .collect()
}

/// An answer rests on what is durable at the moment it is given.
fn judge_answer(world: &World, payment: u32, answer: &Result<Paid, PayError>) {
    let shadow = world.shadow.lock();
    let id = world.notes.lock().ids[&payment];
    let row = shadow.rows.get(&table::entity(Kind::Payment, &id.0.to_be_bytes()));
    let stored: Option<Payment> = row.and_then(|row| codec::decode(&row.value).ok());
    drop(shadow);
    let rests = match (answer, stored.as_ref().map(|p| &p.status)) {
        (Ok(_) | Err(PayError::AlreadyUsed), None) => false,
        (Ok(paid), Some(status)) => match (&paid.outcome, status) {
            (
                Outcome::Fulfilled {
                    product, transaction, ..
                },
                Status::Fulfilled {
                    product: p,
                    transaction: t,
                },
            ) => product == p && transaction == t,
            (Outcome::Credited { transaction, .. }, Status::Credited { transaction: t }) => transaction == t,
            (Outcome::Fulfilled { .. } | Outcome::Credited { .. }, _) => false,
            // These may have been overtaken by what came after them.
            (Outcome::Declined(_) | Outcome::Pending | Outcome::Unavailable, _) => true,
        },
        (Err(_), _) => true,
    };
    if !rests {
        world.object(
            "answer.early",
            format!("payment {payment}: {answer:?}, and durable is {stored:?}"),
        );
    }
}
