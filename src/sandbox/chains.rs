//! The sandbox's two chains behind the settlement port.
//!
//! Each has its own table of the sandbox's store, synced before it responds. The chains share no state with the engine.
//! The checks of real chains are repeated here on the bytes that were sent. On Base: EIP-3009 signature, window, nonce
//! and balance. On Solana: both signatures, a recent block hash, the transfer in the instruction data, and the balance.
//! Each new wallet starts with test USDC.

mod chain;
mod contract_wallet;
mod evm;
pub mod faults;
mod inspect;
mod ledger;
mod outgoing;
mod parts;
mod reconciliation;
pub mod remote;
mod rpc;
mod svm;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use ed25519_dalek::Signer as _;
use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainStatus, ChainTransactionStatus, Clock, Decline, Entropy, ErrorKind,
    EvmAuthorization, OutgoingTransfer, OutgoingTransferRequest, PortError, PortFuture, Preparation,
    PreparedTransaction, Settlement, SolanaTransfer, SubmitResult, Timestamp,
};

use self::chain::{ChainState, SandboxChain, TransferIntent, TransferTarget, Validity};
pub use self::inspect::{SandboxChainSummary, SandboxTransfer};
use self::ledger::{ReplayKey, decline};
use self::wire::Transaction;
use crate::keys::{fee_payers, signer_of, treasury};
use crate::store::SandboxStore;
pub use crate::store::SandboxStoreError;
use purser_protocol::payment::terms::Token;
use purser_settlement::chain::{Blockhash, FeePayers as _};
use purser_settlement::fee_payers::FeePayerLoads;

/// Initial balance of a new wallet unless configured otherwise: 10,000 test USDC.
pub const DEFAULT_GRANT: Usdc = Usdc::from_atomic(10_000_000_000);

/// Both sandbox chains.
pub struct SandboxSettlement {
    base: Arc<SandboxChain>,
    solana: Arc<SandboxChain>,
    /// Delay of a submission before the chain processes it.
    settle: Duration,
    /// They pay no fees here.
    fee_payers: FeePayerLoads,
    clock: Arc<dyn Clock>,
    /// Read from the chain once per slot, and stored with that slot.
    newest: Mutex<Option<(u64, Blockhash)>>,
}

impl SandboxSettlement {
    /// The token on Base in which payments settle.
    pub const fn token(&self) -> Token {
        Token::SANDBOX
    }

    /// Opens the chains' tables of the store. `grant` is the initial balance of each new
    /// wallet; `clock` is the time of both chains.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open(
        store: &SandboxStore,
        grant: Usdc,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
    ) -> Result<Self, SandboxStoreError> {
        let open = |network| SandboxChain::open(store, network, grant, Arc::clone(&clock), entropy).map(Arc::new);
        Ok(Self {
            base: open(Network::Base)?,
            solana: open(Network::Solana)?,
            settle: Duration::ZERO,
            fee_payers: loads(1),
            newest: Mutex::default(),
            clock,
        })
    }

    /// Delays each settlement by this time, like a real chain.
    #[must_use]
    pub const fn with_settlement_delay(mut self, settle: Duration) -> Self {
        self.settle = settle;
        self
    }

    /// Sets the time from settlement until a transfer is final, like the blocks that a real chain needs. A transfer
    /// with a planned removal is not final before that removal has run, whatever this time is.
    #[must_use]
    pub fn finalizing(self, after: Duration) -> Self {
        self.finalize_after(after);
        self
    }

    /// Changes that time, also for transfers that have settled.
    pub fn finalize_after(&self, after: Duration) {
        for chain in [&self.base, &self.solana] {
            chain.finalize_after(after);
        }
    }

    /// Sets the number of fee payers, from 1 to [`MAX_FEE_PAYERS`](crate::keys::MAX_FEE_PAYERS).
    #[must_use]
    pub fn with_fee_payers(mut self, count: usize) -> Self {
        self.fee_payers = loads(count);
        self
    }

    const fn chain(&self, network: Network) -> &Arc<SandboxChain> {
        match network {
            Network::Base => &self.base,
            Network::Solana => &self.solana,
        }
    }

    fn prepare_payment(&self, authorization: &Authorization) -> Result<PreparedTransaction, PortError> {
        match authorization {
            // The port sends the authorization itself; the chain assigns the transaction's id.
            Authorization::Evm(_) => Ok(PreparedTransaction {
                bytes: Vec::new(),
                transaction: String::new(),
            }),
            Authorization::Solana(transfer) => co_sign(transfer, &self.fee_payers.all()),
        }
    }

    async fn submit_payment(
        &self,
        authorization: &Authorization,
        prepared: &PreparedTransaction,
    ) -> Result<SubmitResult, PortError> {
        let intent = match authorization {
            Authorization::Evm(evm) => evm::check_signature(evm).map(|()| evm_intent(evm)),
            Authorization::Solana(_) => solana_intent(&prepared.bytes),
        };
        let _sending = match authorization {
            Authorization::Evm(_) => self.fee_payers.track_in_flight(None),
            Authorization::Solana(transfer) => self
                .fee_payers
                .track_in_flight(fee_payer_of(&transfer.transaction).as_ref()),
        };
        tokio::time::sleep(self.settle).await;
        match intent {
            Ok(intent) => Arc::clone(self.chain(authorization.network())).submit(intent).await,
            Err(decline) => Ok(SubmitResult::Declined(decline)),
        }
    }

    async fn lookup_authorization(&self, authorization: &Authorization) -> Result<ChainStatus, PortError> {
        let chain = self.chain(authorization.network());
        chain.check_reachable("lookup", &authorization.payer())?;
        let found = match authorization {
            Authorization::Evm(evm) => chain.read(|state, now| lookup_evm(state, now, evm)).await,
            Authorization::Solana(transfer) => chain.read(|state, now| lookup_solana(state, now, transfer)).await,
        };
        found.map_err(|error| temporary("lookup", &error.to_string()))
    }

    async fn find_transaction_status(
        &self,
        authorization: &Authorization,
        transaction: &str,
    ) -> Result<ChainTransactionStatus, PortError> {
        let chain = self.chain(authorization.network());
        chain.check_reachable("standing", &authorization.payer())?;
        let key = key_of(authorization);
        let found = chain
            .read(|state, now| match state.ledger.find(&key) {
                Some(landed) if landed.transaction == transaction => state.finality(now, &landed).into(),
                _ => ChainTransactionStatus::NotFound,
            })
            .await;
        found.map_err(|error| temporary("standing", &error.to_string()))
    }
}

impl Settlement for SandboxSettlement {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> PortFuture<'a, Authorization> {
        Box::pin(async move { self.sign_outgoing(transfer) })
    }

    fn precheck<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        let chain = self.chain(authorization.network());
        let lacking = chain.is_known_insufficient(&key_of(authorization), authorization.value());
        Box::pin(std::future::ready(lacking.then(ledger::insufficient)))
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Preparation> {
        Box::pin(async move {
            self.chain(authorization.network())
                .check_reachable("prepare", &authorization.payer())?;
            self.prepare_payment(authorization).map(Preparation::Ready)
        })
    }

    /// A chain that a fault makes unreachable prepares nothing here, so that `prepare` reports the fault.
    fn prepare_locally(&self, authorization: &Authorization) -> Option<PreparedTransaction> {
        let chain = self.chain(authorization.network());
        let reachable = !chain.is_unreachable_for(&authorization.payer());
        reachable.then(|| self.prepare_payment(authorization).ok()).flatten()
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        prepared: &'a PreparedTransaction,
    ) -> PortFuture<'a, SubmitResult> {
        Box::pin(self.submit_payment(authorization, prepared))
    }

    fn can_receive<'a>(&'a self, to: &'a Wallet) -> PortFuture<'a, bool> {
        Box::pin(async move {
            let exists = self.has_account(to).await;
            exists.map_err(|error| temporary("can receive", &error.to_string()))
        })
    }

    fn final_treasury_balance(&self, network: Network) -> PortFuture<'_, Usdc> {
        Box::pin(async move {
            let holds = self.balance(&treasury(network)).await;
            holds.map_err(|error| temporary("treasury holds", &error.to_string()))
        })
    }

    fn sent_by<'a>(&'a self, from: &'a Wallet, since: Timestamp) -> PortFuture<'a, Vec<OutgoingTransfer>> {
        Box::pin(async move {
            let sent = self.outgoing_from(*from, since, Timestamp(u64::MAX)).await;
            sent.map_err(|error| temporary("sent by", &error.to_string()))
        })
    }

    fn outgoing_transfers(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Vec<OutgoingTransfer>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for network in Network::ALL {
                let left = self.outgoing_from(treasury(network), since, until).await;
                all.extend(left.map_err(|error| temporary("outgoing transfers", &error.to_string()))?);
            }
            all.sort_by_key(|outgoing| outgoing.at);
            Ok(all)
        })
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        _: Option<&'a PreparedTransaction>,
    ) -> PortFuture<'a, ChainStatus> {
        Box::pin(self.lookup_authorization(authorization))
    }

    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        _: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> PortFuture<'a, ChainTransactionStatus> {
        Box::pin(self.find_transaction_status(authorization, transaction))
    }
}

const fn key_of(authorization: &Authorization) -> ReplayKey {
    match authorization {
        Authorization::Evm(evm) => evm::key(evm),
        Authorization::Solana(transfer) => ReplayKey {
            payer: Wallet::Solana(transfer.payer),
            nonce: transfer.message_hash,
        },
    }
}

fn evm_intent(authorization: &EvmAuthorization) -> TransferIntent {
    TransferIntent {
        key: evm::key(authorization),
        to: TransferTarget::Wallet(Wallet::Evm(authorization.to)),
        amount: authorization.value,
        transaction: String::new(),
        validity: Validity::Evm(authorization.clone()),
    }
}

/// Parses and verifies a fully signed transaction.
fn solana_intent(wire: &[u8]) -> Result<TransferIntent, Decline> {
    let refused = |message: &str| decline("invalid_exact_svm_transaction_failed", message);
    let transaction = Transaction::parse(wire).map_err(|e| refused(&e.to_string()))?;
    svm::check_signatures(&transaction).map_err(|_| {
        decline(
            "invalid_exact_svm_payload_signature_invalid",
            "a required signature does not verify",
        )
    })?;
    let transfer = svm::read_transfer(&transaction).map_err(|e| refused(&rpc::describe(&e)))?;
    if svm::token_account(&transfer.authority) != transfer.source {
        return Err(refused("the source is not the payer's token account"));
    }
    Ok(TransferIntent {
        key: ReplayKey {
            payer: Wallet::Solana(transfer.authority),
            nonce: svm::message_hash(&transaction),
        },
        to: TransferTarget::TokenAccount(transfer.destination),
        amount: transfer.amount,
        transaction: svm::transaction_id(&transaction),
        validity: Validity::Blockhash(transaction.blockhash),
    })
}

fn loads(count: usize) -> FeePayerLoads {
    let [first, others @ ..] = fee_payers();
    let more = count.saturating_sub(1).min(others.len());
    FeePayerLoads::new(first, &others[..more])
}

/// The fee payer of a transaction.
fn fee_payer_of(wire: &[u8]) -> Option<[u8; 32]> {
    let transaction = purser_protocol::payment::solana::wire::Transaction::parse(wire).ok()?;
    transaction.keys.first().copied()
}

/// Signs slot 0 as the fee payer. ed25519 is deterministic, so preparing again gives the same bytes and id.
fn co_sign(transfer: &SolanaTransfer, ours: &[[u8; 32]]) -> Result<PreparedTransaction, PortError> {
    let refused = |message: &str| PortError {
        kind: ErrorKind::Permanent,
        operation: "prepare",
        message: message.into(),
    };
    let mut transaction = Transaction::parse(&transfer.transaction).map_err(|e| refused(&e.to_string()))?;
    let signer = transaction
        .keys
        .first()
        .filter(|key| ours.contains(key))
        .and_then(signer_of);
    let signer = signer.ok_or_else(|| refused("the fee payer is not the sandbox's"))?;
    if svm::message_hash(&transaction) != transfer.message_hash {
        return Err(refused("the message hash is not the transaction's"));
    }
    let signature = signer.sign(&transaction.message).to_bytes();
    if let Some(slot) = transaction.signatures.first_mut() {
        *slot = signature;
    }
    Ok(PreparedTransaction {
        bytes: transaction.wire(),
        transaction: bs58::encode(signature).into_string(),
    })
}

fn lookup_evm(state: &ChainState, now: Timestamp, authorization: &EvmAuthorization) -> ChainStatus {
    let key = evm::key(authorization);
    match state.ledger.find(&key) {
        Some(landed) if landed.to == Wallet::Evm(authorization.to) && landed.amount == authorization.value => {
            ChainStatus::Confirmed {
                finality: state.finality(now, &landed),
                transaction: landed.transaction,
            }
        }
        // Another transfer used the nonce: this one can never settle, unless the other is dropped.
        Some(_) if !state.ledger.may_reorg(&key) => ChainStatus::Impossible,
        _ if now.seconds() >= authorization.valid_before => ChainStatus::Impossible,
        _ => ChainStatus::Pending,
    }
}

fn lookup_solana(state: &ChainState, now: Timestamp, transfer: &SolanaTransfer) -> ChainStatus {
    let key = ReplayKey {
        payer: Wallet::Solana(transfer.payer),
        nonce: transfer.message_hash,
    };
    match state.ledger.find(&key) {
        Some(landed) => ChainStatus::Confirmed {
            finality: state.finality(now, &landed),
            transaction: landed.transaction,
        },
        // Block hashes are stored for their validity and as long as a block takes to be final.
        None if state.hashes.slot_of(&transfer.blockhash).is_some() => ChainStatus::Pending,
        None => ChainStatus::Impossible,
    }
}

fn temporary(operation: &'static str, message: &str) -> PortError {
    PortError {
        kind: ErrorKind::Temporary,
        operation,
        message: message.into(),
    }
}

#[cfg(test)]
mod tests;
