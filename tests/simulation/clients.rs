//! The clients: agents that pay, repeat, race and disconnect, owners that read, and the operator. Every response is
//! recorded and compared with all later state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use purser_actors::currency::Currency;
use purser_actors::engine::{ClaimError, Engine, PaymentRequest, PaymentResult};
use purser_actors::entity::card::CardPurchase;
use purser_actors::entity::gift_card::GiftCardPurchase;
use purser_actors::entity::intl_order::IntlCardPurchase;
use purser_actors::entity::payment::{Outcome, SessionSeed};
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::{CardId, PaymentId, SessionId, Wallet, WalletPaymentId};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Authorization, Entropy, EvmAuthorization, SolanaTransfer};
use purser_actors::quote::{ExchangeRate, QuoteFacts};
use sha2::{Digest, Sha256};

use crate::environment::Environment;
use crate::keys::ApiKeyLog;
use crate::own_purchases;
use crate::payment_responses;
use crate::recipients::{self, is_payout};
use crate::top_ups;

/// One presentation of a payment.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) payment: u32,
    pub(crate) request: u8,
    pub(crate) session: SessionId,
    pub(crate) requested_at: u64,
    /// When the answer came, and what it was.
    pub(crate) response: Option<(u64, Result<PaymentResult, ClaimError>)>,
}

/// A change of an account by the operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freeze {
    pub(crate) wallet: u8,
    pub(crate) frozen: bool,
    pub(crate) requested_at: u64,
    /// When it was answered: as a moment, and in milliseconds of the run.
    pub(crate) confirmed_at: Option<u64>,
    pub(crate) confirmed_ms: u64,
}

#[derive(Clone, Default)]
pub(crate) struct ClientLog {
    pub(crate) authorizations: BTreeMap<u32, Authorization>,
    pub(crate) ids: BTreeMap<u32, PaymentId>,
    pub(crate) calls: Vec<Call>,
    pub(crate) freezes: Vec<Freeze>,
    /// What the first answer to each withdrawal was, with the id if it was taken on.
    pub(crate) withdrawn: BTreeMap<u32, (u16, String)>,
    /// Card and withdrawal ids from responses to account owners, by kind and number.
    pub(crate) card_balance_ids: BTreeMap<(&'static str, u32), u128>,
    /// Wallet payment ids from responses to agents, by number.
    pub(crate) wallet_payments: BTreeMap<u32, WalletPaymentId>,
    pub(crate) wallet_payment_attempts: BTreeMap<u32, u32>,
    /// How often each withdrawal was asked for.
    pub(crate) withdrawal_attempts: BTreeMap<u32, u32>,
    pub(crate) closed: BTreeSet<CardId>,
    pub(crate) revealed: BTreeMap<CardId, usize>,
    pub(crate) signed_in: BTreeSet<u8>,
    /// Sessions that a response reported as open.
    pub(crate) sessions: BTreeSet<SessionId>,
    /// The newest token generation that a response contained, by session.
    pub(crate) generations: BTreeMap<SessionId, u32>,
    /// When a response reported a session as revoked.
    pub(crate) revoked: BTreeMap<SessionId, u64>,
    pub(crate) keys: ApiKeyLog,
    /// Clients of this life that wait for an answer.
    pub(crate) waiting: usize,
}

impl ClientLog {
    /// A backup made at that moment is restored, and later responses are no longer in the ledger. Signed payments,
    /// requests and final revocations remain.
    pub(crate) fn recall(&mut self, then: &Self, made: u64, covered: bool) {
        let mut now = std::mem::take(self);
        for call in &mut now.calls {
            call.response.take_if(|(at, _)| *at > made);
        }
        // Without the log, later freezes are unknown, and all keys are suspended.
        if !covered {
            now.freezes.retain(|freeze| freeze.requested_at < made);
            for freeze in &mut now.freezes {
                freeze.confirmed_at.take_if(|at| *at > made);
            }
            now.revoked.retain(|_, at| *at < made);
        }
        *self = Self {
            keys: now.keys.after_restore(&then.keys),
            authorizations: now.authorizations,
            ids: now.ids,
            calls: now.calls,
            freezes: now.freezes,
            revoked: now.revoked,
            wallet_payment_attempts: now.wallet_payment_attempts,
            withdrawal_attempts: now.withdrawal_attempts,
            ..then.clone()
        };
    }
}

pub(crate) fn wallet(n: u8) -> Wallet {
    match n {
        0 | 1 => Wallet::Evm([n + 1; 20]),
        _ => Wallet::Solana([n + 1; 32]),
    }
}

/// Who pays, and for managed wallets whose they are: the first wallet most often, so that payments of one account meet.
pub(crate) fn payer(payment: u32) -> u8 {
    if let Some(owner) = own_purchases::owner(payment) {
        return owner;
    }
    if top_ups::is_top_up(payment) {
        return top_ups::payer(payment);
    }
    [0, 0, 2, 1, 0, 2, 3, 0][payment as usize % 8]
}

/// The hash of a session's token of a generation.
pub(crate) fn token(session: SessionId, generation: u32) -> [u8; 32] {
    Sha256::digest([session.0.to_be_bytes().as_slice(), &generation.to_be_bytes()].concat()).into()
}

pub(crate) fn request(n: u8) -> [u8; 32] {
    // Nothing but zeros is what a restored store knows of a request.
    [n + 1; 32]
}

/// Every second payment on Base answers a challenge, as by MPP.
fn challenge(payment: u32) -> Option<([u8; 16], u64)> {
    let on_base = own_purchases::owner(payment).is_none() && matches!(wallet(payer(payment)), Wallet::Evm(_));
    (on_base && payment % 2 == 1).then(|| (u128::from(payment).to_be_bytes(), u64::MAX))
}

/// Each payment has an amount of its own, so that the issuer's calls tell which it was.
pub(crate) fn amount(payment: u32) -> Cents {
    Cents::new(500 + u64::from(own_purchases::canonical(payment)))
}

/// What is paid for it.
pub(crate) fn price(payment: u32) -> Usdc {
    Usdc::from_cents(Cents::new(amount(payment).get() + fee(payment))).unwrap()
}

/// Every third payment is for a gift card.
pub(crate) fn is_gift(payment: u32) -> bool {
    payment % 3 == 2
}

/// Every sixth, from the fourth on, is for an international card.
pub(crate) const fn intl(nth: u32) -> u32 {
    4 + 6 * nth
}

/// Every other payment costs something on top, in cents.
fn fee(payment: u32) -> u64 {
    [0, 100][own_purchases::canonical(payment) as usize % 2]
}

fn quoted(payment: u32, purchase: &Purchase) -> QuoteFacts {
    let (_, currency) = purchase.amount();
    let exchange = ExchangeRate {
        usd_per_unit: "1".into(),
        ..ExchangeRate::default()
    };
    QuoteFacts {
        fee_rate: "0".into(),
        min_fee: Cents::new(fee(payment)).to_string(),
        exchange: (currency != Currency::USD).then_some(exchange),
    }
}

fn purchase(world: &Environment, payment: u32) -> Purchase {
    let (amount, payment) = (amount(payment), own_purchases::canonical(payment));
    if top_ups::is_top_up(payment) {
        return top_ups::purchase(amount);
    }
    if is_payout(payment) {
        return recipients::purchase(world, payment, payer(payment), amount);
    }
    if payment % 6 == intl(0) {
        let label = Some(format!("payment {payment}"));
        return Purchase::IntlCard(IntlCardPurchase { amount, label });
    }
    if is_gift(payment) {
        return Purchase::GiftCard(GiftCardPurchase {
            amount,
            currency: "USD".parse().unwrap(),
            product: "any".into(),
            country: "US".parse().unwrap(),
        });
    }
    Purchase::UsaCard(CardPurchase { amount })
}

pub(crate) fn payment_of_amount(amount: Cents) -> u32 {
    (amount.get() - 500) as u32
}

fn authorization(world: &Environment, payment: u32) -> Authorization {
    let until_ms = world.true_ms() + [4_000, 30_000, 120_000][payment as usize % 3];
    let value = price(payment);
    let mut mark = [0; 32];
    mark[28..].copy_from_slice(&payment.to_be_bytes());
    match wallet(payer(payment)) {
        Wallet::Evm(from) => Authorization::Evm(EvmAuthorization {
            from,
            to: [9; 20],
            value,
            valid_after: 0,
            valid_before: until_ms,
            nonce: mark,
            signature: [0; 65].into(),
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
                not_before_slot: 0,
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
    pub(crate) environment: Arc<Environment>,
    pub(crate) engine: Engine,
}

impl Clients {
    /// Runs a client's action to its end. The process's death drops it without a response.
    pub(crate) fn spawn(&self, what: impl Future<Output = ()> + Send + 'static) {
        let world = self.environment.clone();
        world.client_log.lock().waiting += 1;
        tokio::spawn(async move {
            what.await;
            world.client_log.lock().waiting -= 1;
        });
    }

    pub(crate) fn new_session(&self) -> SessionSeed {
        let id = SessionId(self.environment.random());
        SessionSeed {
            id,
            first: token(id, 0),
            life_ms: 3_600_000,
            presented_key: None,
        }
    }

    pub(crate) fn pay(&self, payment: u32, request_no: u8, patience_ms: Option<u64>) {
        let (world, call) = (self.environment.clone(), self.present(payment, request_no, None));
        self.spawn(async move {
            let patience = patience_ms.map_or(Duration::MAX, Duration::from_millis);
            if tokio::time::timeout(patience, call).await.is_err() {
                world.trace(|| format!("the client of payment {payment} goes away"));
            }
        });
    }

    /// Presents a payment, or what an agent wallet signed, and checks the response. The call is made whether or not the
    /// client still waits.
    pub(crate) fn present(
        &self,
        payment: u32,
        request_no: u8,
        signed: Option<Authorization>,
    ) -> impl Future<Output = Result<PaymentResult, ClaimError>> + Send + use<> {
        let (world, engine, session) = (self.environment.clone(), self.engine.clone(), self.new_session());
        let asked = world.next_sequence();
        let mut notes = world.client_log.lock();
        // What is signed anew on Base has the same nonce, and is the same payment.
        let authorization = signed.unwrap_or_else(|| match notes.authorizations.get(&payment) {
            Some(known) => known.clone(),
            None => authorization(&world, payment),
        });
        notes.authorizations.insert(payment, authorization.clone());
        let id = engine.payment_id(&authorization);
        let known = *notes.ids.entry(payment).or_insert(id);
        let call = notes.calls.len();
        notes.calls.push(Call {
            payment,
            request: request_no,
            session: session.id,
            requested_at: asked,
            response: None,
        });
        drop(notes);
        if id != known {
            world.report_violation("payment.id", format!("payment {payment} was {known} and is {id}"));
        }
        let purchase = purchase(&world, payment);
        let request = PaymentRequest {
            authorization,
            quoted: Some(Box::new(quoted(payment, &purchase))),
            purchase,
            worth: amount(payment),
            request: request(request_no),
            session,
            challenge: challenge(payment),
            identifier: None,
        };
        async move {
            let answer = engine.pay(request).await;
            // A crashed process sends no response.
            if world.is_crashed() {
                std::future::pending::<()>().await;
            }
            world.trace(|| format!("client {call} is notified of payment {payment}: {answer:?}"));
            payment_responses::check_response(&world, payment, &answer);
            world.client_log.lock().calls[call].response = Some((world.next_sequence(), answer.clone()));
            answer
        }
    }

    pub(crate) fn read(&self, wallet_no: u8) {
        let (world, engine, owner) = (self.environment.clone(), self.engine.clone(), wallet(wallet_no));
        let known = bought(&world, owner);
        self.spawn(async move {
            let account = engine.account(&owner).await;
            let cards = engine.cards_of(&owner, None, 1_000).await;
            if world.is_crashed() {
                return;
            }
            if let Ok((cards, more)) = cards {
                let missing = known.iter().find(|id| !cards.iter().any(|(card, _)| card == *id));
                if let Some(missing) = missing.filter(|_| !more) {
                    world.report_violation("read.cards", format!("{missing} was sold and is not listed"));
                }
            }
            if let Ok(None) = account
                && !known.is_empty()
            {
                world.report_violation("read.account", "an account that has bought is not there");
            }
        });
    }
}

pub(crate) fn product(outcome: &Outcome) -> Option<PurchasedProduct> {
    match outcome {
        Outcome::Fulfilled { product, .. } => Some(*product),
        _ => None,
    }
}

/// The USA card that an outcome names, if it names one.
pub(crate) fn card(outcome: &Outcome) -> Option<CardId> {
    match product(outcome) {
        Some(PurchasedProduct::Card(card)) => Some(card),
        _ => None,
    }
}

/// Cards that responses to a wallet contained.
fn bought(world: &Environment, owner: Wallet) -> BTreeSet<CardId> {
    let notes = world.client_log.lock();
    let calls = notes.calls.iter().filter(|call| wallet(payer(call.payment)) == owner);
    calls
        .filter_map(|call| match &call.response {
            Some((_, Ok(paid))) => card(&paid.outcome),
            _ => None,
        })
        .collect()
}
