//! Scripted providers: a chain with a behavior per payment, and an issuer with a list of behaviors. Both survive a
//! crash of the engine, as real ones do.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainStatus, ChainTransactionStatus, Decline, ErrorKind, EvmAuthorization, Finality,
    KeyShredder, OutgoingTransfer, OutgoingTransferRequest, PortError, Preparation, PreparedTransaction, Settlement,
    SubmitResult, Timestamp,
};
use tokio::sync::Semaphore;

use super::holdings::FakeHoldings;
pub(crate) use super::issuer::{FakeIssuer, IssuerBehavior};

type Key = [u8; 32];

/// Behavior of the chain for a payment. Without one it settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaymentBehavior {
    /// Settles and responds.
    Settles,
    /// Settles, but the response is lost.
    ResponseLost,
    /// Does not settle now, and the response is lost.
    NotExecuted,
    Declined,
    /// This number of preparations fails before one succeeds.
    Unreachable(u32),
    /// This number of submissions panics before one settles.
    Panics(u32),
    /// Settles only when the test opens the gate.
    Waits,
}

pub(crate) struct FakeChain {
    behaviors: Mutex<HashMap<Key, PaymentBehavior>>,
    settled: Mutex<HashMap<Key, String>>,
    impossible: Mutex<Vec<Key>>,
    submissions: AtomicU64,
    lookups: AtomicU64,
    waiting: AtomicU64,
    outgoing: Mutex<Vec<OutgoingTransfer>>,
    unresponsive: AtomicBool,
    listings: AtomicU64,
    /// Wallet balances and outgoing transfers.
    pub(crate) holdings: FakeHoldings,
    gate: Semaphore,
    empty: Mutex<Vec<Wallet>>,
    empty_at_precheck: Mutex<Vec<Wallet>>,
    prechecks: AtomicU64,
    /// Payments are prepared before their claim.
    prepares_locally: AtomicBool,
    /// A settled payment may still be reversed.
    unconfirmed: AtomicBool,
    /// The same for outgoing treasury transfers.
    outgoing_unconfirmed: AtomicBool,
}

pub(crate) fn error(kind: ErrorKind, operation: &'static str) -> PortError {
    PortError {
        kind,
        operation,
        message: "as the script says".into(),
    }
}

impl FakeChain {
    pub(crate) fn new() -> Self {
        Self {
            behaviors: Mutex::default(),
            settled: Mutex::default(),
            impossible: Mutex::default(),
            submissions: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            outgoing: Mutex::default(),
            unresponsive: AtomicBool::new(false),
            listings: AtomicU64::new(0),
            holdings: FakeHoldings::default(),
            gate: Semaphore::new(0),
            empty: Mutex::default(),
            empty_at_precheck: Mutex::default(),
            prechecks: AtomicU64::new(0),
            prepares_locally: AtomicBool::new(false),
            unconfirmed: AtomicBool::new(false),
            outgoing_unconfirmed: AtomicBool::new(false),
        }
    }

    /// Sets whether payments are prepared before their claim.
    pub(crate) fn set_prepares_locally(&self, locally: bool) {
        self.prepares_locally.store(locally, Ordering::SeqCst);
    }

    /// Sets whether transfers on chain are final.
    pub(crate) fn set_unconfirmed(&self, seen: bool) {
        self.unconfirmed.store(seen, Ordering::SeqCst);
    }

    /// The same for outgoing treasury transfers only.
    pub(crate) fn set_outgoing_unconfirmed(&self, seen: bool) {
        self.outgoing_unconfirmed.store(seen, Ordering::SeqCst);
    }

    fn finality(&self, authorization: &Authorization) -> Finality {
        let left = authorization.payer() == Wallet::Evm(TREASURY);
        match self.unconfirmed.load(Ordering::SeqCst) || left && self.outgoing_unconfirmed.load(Ordering::SeqCst) {
            true => Finality::Confirmed,
            false => Finality::Final,
        }
    }

    pub(crate) fn set_behavior(&self, authorization: &Authorization, behavior: PaymentBehavior) {
        self.behaviors.lock().insert(authorization.claim_key(), behavior);
    }

    /// The transfer settles, submitted by any party.
    pub(crate) fn settle(&self, authorization: &Authorization) -> String {
        let key = authorization.claim_key();
        let mut landed = self.settled.lock();
        landed
            .entry(key)
            .or_insert_with(|| format!("0x{}", hex::encode(&key[..8])))
            .clone()
    }

    /// The transfer settles with others in this transaction.
    pub(crate) fn settle_in(&self, authorization: &Authorization, transaction: &str) {
        let landed = transaction.to_owned();
        self.settled.lock().insert(authorization.claim_key(), landed);
    }

    /// A reorg drops the transfer; it may settle again.
    pub(crate) fn reorg(&self, authorization: &Authorization) {
        self.settled.lock().remove(&authorization.claim_key());
    }

    /// Adds an outgoing treasury transfer that this engine did not send.
    pub(crate) fn add_outgoing(&self, transfer: OutgoingTransfer) {
        self.outgoing.lock().push(transfer);
    }

    /// Sets whether the list of outgoing transfers is unavailable.
    pub(crate) fn set_unresponsive(&self, silent: bool) {
        self.unresponsive.store(silent, Ordering::SeqCst);
    }

    /// Number of queries for outgoing transfers.
    pub(crate) fn listings(&self) -> u64 {
        self.listings.load(Ordering::SeqCst)
    }

    /// From now on, payments signed by this wallet are declined before they are sent.
    pub(crate) fn drain(&self, wallet: Wallet) {
        self.empty.lock().push(wallet);
    }

    /// Prechecks decline payments of this wallet from now on.
    pub(crate) fn set_empty_at_precheck(&self, wallet: Wallet) {
        self.empty_at_precheck.lock().push(wallet);
    }

    /// No wallet is empty any more.
    pub(crate) fn fill(&self) {
        self.empty.lock().clear();
        self.empty_at_precheck.lock().clear();
    }

    /// Number of checks before a claim.
    pub(crate) fn prechecks(&self) -> u64 {
        self.prechecks.load(Ordering::SeqCst)
    }

    /// The transfer's validity has ended.
    pub(crate) fn expire(&self, authorization: &Authorization) {
        self.impossible.lock().push(authorization.claim_key());
    }

    /// Lets every waiting and later submission through.
    pub(crate) fn open_gate(&self) {
        self.gate.add_permits(10_000);
    }

    /// Whether this exact transfer is on chain.
    pub(crate) fn has(&self, authorization: &Authorization) -> bool {
        self.settled.lock().contains_key(&authorization.claim_key())
    }

    /// Transfers on chain; each moved money exactly once.
    pub(crate) fn transfers(&self) -> usize {
        self.settled.lock().len()
    }

    pub(crate) fn submissions(&self) -> u64 {
        self.submissions.load(Ordering::SeqCst)
    }

    pub(crate) fn lookups(&self) -> u64 {
        self.lookups.load(Ordering::SeqCst)
    }

    /// Number of submissions that ever reached the gate.
    pub(crate) fn at_gate(&self) -> u64 {
        self.waiting.load(Ordering::SeqCst)
    }

    fn behavior_of(&self, key: &Key) -> PaymentBehavior {
        let mut behaviors = self.behaviors.lock();
        let Some(behavior) = behaviors.get_mut(key) else {
            return PaymentBehavior::Settles;
        };
        let now = *behavior;
        if let PaymentBehavior::Panics(left) = behavior {
            *left = left.saturating_sub(1);
        }
        now
    }
}

fn empty() -> Decline {
    Decline {
        reason: "insufficient_funds".into(),
        message: "the wallet is empty".into(),
    }
}

/// The treasury wallet of payouts.
pub(crate) const TREASURY: [u8; 20] = [9; 20];

/// A treasury transfer as this chain signs it: the same key always gives the same transfer.
pub(crate) fn outgoing(key: u128, to: Wallet, amount: Usdc) -> Authorization {
    let mut nonce = [0; 32];
    nonce[..16].copy_from_slice(&key.to_be_bytes());
    let Wallet::Evm(to) = to else {
        panic!("this chain knows Base only")
    };
    Authorization::Evm(EvmAuthorization {
        from: TREASURY,
        to,
        value: amount,
        valid_after: 0,
        valid_before: u64::MAX,
        nonce,
        signature: [1; 65].into(),
    })
}

impl Settlement for FakeChain {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> BoxFuture<'a, Result<Authorization, PortError>> {
        Box::pin(async move { Ok(outgoing(transfer.key, transfer.to, transfer.amount)) })
    }

    fn precheck<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        self.prechecks.fetch_add(1, Ordering::SeqCst);
        let broke = self.empty_at_precheck.lock().contains(&authorization.payer());
        Box::pin(std::future::ready(broke.then(empty)))
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Result<Preparation, PortError>> {
        let key = authorization.claim_key();
        let answer = match self.behaviors.lock().get_mut(&key) {
            Some(PaymentBehavior::Unreachable(left @ 1..)) => {
                *left -= 1;
                Err(error(ErrorKind::Temporary, "prepare"))
            }
            _ if self.empty.lock().contains(&authorization.payer()) => Ok(Preparation::Declined(empty())),
            _ => Ok(Preparation::Ready(PreparedTransaction {
                bytes: key.to_vec(),
                transaction: String::new(),
            })),
        };
        Box::pin(std::future::ready(answer))
    }

    fn prepare_locally(&self, authorization: &Authorization) -> Option<PreparedTransaction> {
        let key = authorization.claim_key();
        let unreachable = matches!(self.behaviors.lock().get(&key), Some(PaymentBehavior::Unreachable(1..)));
        let fails = unreachable || self.empty.lock().contains(&authorization.payer());
        (self.prepares_locally.load(Ordering::SeqCst) && !fails).then(|| PreparedTransaction {
            bytes: key.to_vec(),
            transaction: String::new(),
        })
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> BoxFuture<'a, Result<SubmitResult, PortError>> {
        Box::pin(async move {
            let key = authorization.claim_key();
            assert_eq!(prepared.bytes, key, "what was prepared is what is sent");
            self.submissions.fetch_add(1, Ordering::SeqCst);
            let settled = |transaction| {
                let finality = self.finality(authorization);
                Ok(SubmitResult::Settled { transaction, finality })
            };
            match self.behavior_of(&key) {
                PaymentBehavior::ResponseLost => {
                    self.settle(authorization);
                    Err(error(ErrorKind::Unknown, "submit"))
                }
                PaymentBehavior::NotExecuted => Err(error(ErrorKind::Unknown, "submit")),
                PaymentBehavior::Declined => Ok(SubmitResult::Declined(empty())),
                PaymentBehavior::Panics(1..) => panic!("{}", super::EXPECTED_PANIC),
                PaymentBehavior::Waits => {
                    self.waiting.fetch_add(1, Ordering::SeqCst);
                    if let Ok(permit) = self.gate.acquire().await {
                        permit.forget();
                    }
                    settled(self.settle(authorization))
                }
                PaymentBehavior::Settles | PaymentBehavior::Unreachable(_) | PaymentBehavior::Panics(0) => {
                    settled(self.settle(authorization))
                }
            }
        })
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: Option<&'a PreparedTransaction>,
    ) -> BoxFuture<'a, Result<ChainStatus, PortError>> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let key = authorization.claim_key();
        if let Some(prepared) = prepared {
            assert_eq!(prepared.bytes, key, "what was prepared is what is looked up");
        }
        let seen = match self.settled.lock().get(&key) {
            Some(transaction) => ChainStatus::Confirmed {
                transaction: transaction.clone(),
                finality: self.finality(authorization),
            },
            None if self.impossible.lock().contains(&key) => ChainStatus::Impossible,
            None => ChainStatus::Pending,
        };
        Box::pin(std::future::ready(Ok(seen)))
    }

    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        _: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> BoxFuture<'a, Result<ChainTransactionStatus, PortError>> {
        let landed = self.settled.lock();
        let status = match landed.get(&authorization.claim_key()) {
            Some(known) if known == transaction => self.finality(authorization).into(),
            _ => ChainTransactionStatus::NotFound,
        };
        Box::pin(std::future::ready(Ok(status)))
    }

    fn can_receive<'a>(&'a self, _: &'a Wallet) -> BoxFuture<'a, Result<bool, PortError>> {
        self.holdings.can_receive()
    }

    fn final_treasury_balance(&self, _: Network) -> BoxFuture<'_, Result<Usdc, PortError>> {
        self.holdings.treasury_holds()
    }

    fn sent_by<'a>(
        &'a self,
        from: &'a Wallet,
        since: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<OutgoingTransfer>, PortError>> {
        self.holdings
            .sent_by(from, since, self.unresponsive.load(Ordering::SeqCst))
    }

    fn outgoing_transfers(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<OutgoingTransfer>, PortError>> {
        self.listings.fetch_add(1, Ordering::SeqCst);
        if self.unresponsive.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Err(error(
                ErrorKind::Temporary,
                "outgoing transfers",
            ))));
        }
        let left = self.outgoing.lock().clone().into_iter();
        let left = left.filter(|transfer| (since..=until).contains(&transfer.at)).collect();
        Box::pin(std::future::ready(Ok(left)))
    }
}

/// Destroys the requested records and remembers them.
#[derive(Default)]
pub(crate) struct RecordingShredder(Mutex<Vec<Vec<u8>>>);

impl RecordingShredder {
    pub(crate) fn all(&self) -> Vec<Vec<u8>> {
        self.0.lock().clone()
    }
}

impl KeyShredder for RecordingShredder {
    fn shred<'a>(&'a self, record: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        self.0.lock().push(record.to_vec());
        Box::pin(std::future::ready(Ok(())))
    }
}
