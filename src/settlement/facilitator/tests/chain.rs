//! An in-memory chain behind the port's traits. It executes each payment once, and shows what it executed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainMovement, ChainStatus, ChainTransactionStatus, Decline, ErrorKind, Finality,
    ListCursor, ListPage, OutgoingTransfer, OutgoingTransferRequest, PortError, PortFuture, Preparation,
    PreparedTransaction, Settlement, SubmitResult, Timestamp, TreasuryList,
};
use purser_chains::solana::Pubkey;
use purser_chains::solana::address::base58;
use serde_json::{Value, json};

use super::MAINNET;
use super::server::{Backend, Failure};
use crate::chain::{ChainTime, Holdings, ListedTransfer, TransferList};
use crate::facilitator::rows::{Mark, mark};
use crate::facilitator::{ChainReader, LookupDepth, Presented};
use crate::gate::Gate;
use purser_protocol::payment::SolanaChain;

#[derive(Default)]
struct State {
    settled: HashMap<Mark, String>,
    impossible: HashSet<Mark>,
    decline: Option<Decline>,
    has_own_keys: bool,
}

pub(super) struct TestChain {
    network: Network,
    state: Mutex<State>,
    gate: Arc<Gate>,
}

impl TestChain {
    pub(super) fn base() -> Self {
        Self {
            network: Network::Base,
            state: Mutex::default(),
            gate: Gate::opened(),
        }
    }

    pub(super) fn solana() -> Self {
        Self {
            network: Network::Solana,
            ..Self::base()
        }
    }

    pub(super) const fn presented(&self) -> Presented {
        match self.network {
            Network::Base => MAINNET,
            Network::Solana => Presented::Solana(SolanaChain::MAINNET),
        }
    }

    /// The transaction that executes the payment; `None` if one already has.
    pub(super) fn execute(&self, mark: Mark) -> Option<String> {
        let mut state = self.state.lock();
        let count = state.settled.len() + 1;
        if state.settled.contains_key(&mark) {
            return None;
        }
        let transaction = match self.network {
            Network::Base => format!("0x{count:064x}"),
            Network::Solana => bs58::encode([u8::try_from(count).unwrap(); 64]).into_string(),
        };
        state.settled.insert(mark, transaction.clone());
        Some(transaction)
    }

    pub(super) fn transfers(&self) -> usize {
        self.state.lock().settled.len()
    }

    pub(super) fn make_impossible(&self, authorization: &Authorization) {
        self.state.lock().impossible.insert(mark(authorization));
    }

    pub(super) fn set_decline(&self, decline: Option<Decline>) {
        self.state.lock().decline = decline;
    }

    pub(super) fn set_own_keys(&self, own: bool) {
        self.state.lock().has_own_keys = own;
    }

    fn status_of(&self, authorization: &Authorization) -> ChainStatus {
        let (state, mark) = (self.state.lock(), mark(authorization));
        match (state.settled.get(&mark), state.impossible.contains(&mark)) {
            (Some(transaction), _) => ChainStatus::Confirmed {
                transaction: transaction.clone(),
                finality: Finality::Confirmed,
            },
            (None, true) => ChainStatus::Impossible,
            (None, false) => ChainStatus::Pending,
        }
    }
}

/// Only reads the mark of a request.
impl Backend for TestChain {
    fn caip2(&self) -> &'static str {
        self.presented().caip2()
    }

    fn extra(&self) -> Value {
        match self.network {
            Network::Base => Value::Null,
            Network::Solana => json!({"feePayer": base58(&[0; 32])}),
        }
    }

    fn verify<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<(), &'static str>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn settle<'a>(&'a self, request: &'a Value) -> BoxFuture<'a, Result<String, Failure>> {
        let mark = hex::decode(request["mark"].as_str().unwrap()).unwrap();
        let executed = self.execute(mark.try_into().unwrap());
        let used = "invalid_exact_evm_nonce_already_used";
        Box::pin(std::future::ready(executed.ok_or_else(|| used.into())))
    }
}

fn unavailable<T: Send + 'static>(operation: &'static str) -> PortFuture<'static, T> {
    let error = PortError {
        kind: ErrorKind::Permanent,
        operation,
        message: "not of this test".into(),
    };
    Box::pin(std::future::ready(Err(error)))
}

fn now<T: Send + 'static>(value: T) -> PortFuture<'static, T> {
    Box::pin(std::future::ready(Ok(value)))
}

impl ChainReader for TestChain {
    fn can_send_with_own_keys(&self, _: &Authorization) -> bool {
        self.has_own_keys()
    }

    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn has_own_keys(&self) -> bool {
        self.state.lock().has_own_keys
    }

    fn would_decline<'a>(&'a self, _: &'a Authorization) -> PortFuture<'a, Option<Decline>> {
        now(self.state.lock().decline.clone())
    }

    /// The test facilitators only need the mark.
    fn request_body<'a>(&'a self, authorization: &'a Authorization, _: &'a Presented) -> PortFuture<'a, Value> {
        now(json!({"mark": hex::encode(mark(authorization))}))
    }

    fn fee_payer(&self, authorization: &Authorization) -> Option<Pubkey> {
        match authorization {
            Authorization::Evm(_) => None,
            // The tests' payments on Solana contain it in place of a transaction.
            Authorization::Solana(transfer) => transfer.transaction.as_slice().try_into().ok(),
        }
    }

    fn matches_payment(&self, _: &Authorization, _: &str) -> bool {
        true
    }

    fn expires_at(&self, _: &Authorization) -> Timestamp {
        Timestamp(u64::MAX)
    }

    fn chain_status<'a>(
        &'a self,
        of: &'a Authorization,
        _: Option<&'a str>,
        _: LookupDepth,
    ) -> PortFuture<'a, ChainStatus> {
        now(self.status_of(of))
    }

    fn sign_for<'a>(&'a self, _: &'a OutgoingTransferRequest, _: Option<Pubkey>) -> PortFuture<'a, Authorization> {
        unavailable("sign")
    }

    fn can_receive_from_facilitator<'a>(&'a self, _: &'a Wallet) -> PortFuture<'a, bool> {
        unavailable("can receive")
    }
}

impl Settlement for TestChain {
    fn sign<'a>(&'a self, _: &'a OutgoingTransferRequest) -> PortFuture<'a, Authorization> {
        unavailable("sign")
    }

    fn prepare<'a>(&'a self, _: &'a Authorization) -> PortFuture<'a, Preparation> {
        let prepared = PreparedTransaction {
            bytes: b"own".to_vec(),
            transaction: String::new(),
        };
        now(Preparation::Ready(prepared))
    }

    /// Submits with its own key.
    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        _: &'a PreparedTransaction,
    ) -> PortFuture<'a, SubmitResult> {
        let transaction = self.execute(mark(authorization)).unwrap();
        let finality = Finality::Confirmed;
        now(SubmitResult::Settled { transaction, finality })
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        _: Option<&'a PreparedTransaction>,
    ) -> PortFuture<'a, ChainStatus> {
        now(self.status_of(authorization))
    }

    fn transaction_status<'a>(
        &'a self,
        _: &'a Authorization,
        _: Option<&'a PreparedTransaction>,
        _: &'a str,
    ) -> PortFuture<'a, ChainTransactionStatus> {
        now(ChainTransactionStatus::Final)
    }

    fn can_receive<'a>(&'a self, _: &'a Wallet) -> PortFuture<'a, bool> {
        unavailable("can receive")
    }

    fn final_treasury_balance(&self, _: Network) -> PortFuture<'_, Usdc> {
        unavailable("treasury holds")
    }

    fn sent_by<'a>(&'a self, _: &'a Wallet, _: Timestamp) -> PortFuture<'a, Vec<OutgoingTransfer>> {
        unavailable("sent by")
    }

    fn outgoing_transfers(&self, _: Timestamp, _: Timestamp) -> PortFuture<'_, Vec<OutgoingTransfer>> {
        unavailable("outgoing transfers")
    }
}

impl TreasuryList for TestChain {
    fn movements<'a>(
        &'a self,
        _: Network,
        _: Option<&'a ListCursor>,
        _: usize,
    ) -> PortFuture<'a, ListPage<ChainMovement>> {
        unavailable("movements")
    }

    fn in_transaction<'a>(&'a self, _: Network, _: &'a str) -> PortFuture<'a, Vec<ChainMovement>> {
        unavailable("in transaction")
    }

    fn movement_finality<'a>(&'a self, _: Network, _: &'a ChainMovement) -> PortFuture<'a, Finality> {
        unavailable("movement finality")
    }
}

impl Holdings for TestChain {
    fn holds<'a>(&'a self, _: &'a Wallet) -> PortFuture<'a, Usdc> {
        unavailable("holds")
    }
}

impl ChainTime for TestChain {
    fn now_on(&self, _: Network) -> Result<Timestamp, PortError> {
        Ok(Timestamp(0))
    }
}

impl TransferList for TestChain {
    fn transfers_after(&self, _: Network, _: u64, _: usize) -> PortFuture<'_, Vec<ListedTransfer>> {
        unavailable("listed")
    }
}
