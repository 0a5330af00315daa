//! One sandbox chain: ledger, clock and faults. A response waits until the records behind it are durable.

mod empty;
mod shared_transaction;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Clock, Decline, Entropy, ErrorKind, Finality, PortError, SubmitResult, Timestamp};
use tokio::sync::watch;

use self::empty::EmptyWallets;
pub(crate) use self::shared_transaction::PlainTransfer;
use self::shared_transaction::SharedTransaction;
use super::evm;
use super::faults::{ChainCall, ChainFault, ChainFaults, magic_amounts};
use super::ledger::{ChainLedger, ChainTransfer, LedgerRecord, ReplayKey, ScheduledEvent, decline};
use super::svm::{Blockhashes, SLOT_MS};
use crate::keys::treasury;
use crate::records::RecordBook as _;
use crate::store::{DurablePromise, SandboxStore, SandboxStoreError, Table};

pub(crate) struct SandboxChain {
    pub(crate) network: Network,
    clock: Arc<dyn Clock>,
    state: Mutex<ChainState>,
    pub(crate) faults: ChainFaults,
    held: watch::Sender<bool>,
    shared_transaction: SharedTransaction,
    magic: Vec<(Usdc, ChainFault)>,
    empty: EmptyWallets,
}

pub(crate) struct ChainState {
    pub(crate) ledger: ChainLedger,
    /// Empty on Base.
    pub(crate) hashes: Blockhashes,
    /// Time from settlement until a transfer is final, in milliseconds of the chain's clock.
    final_after_ms: u64,
}

impl ChainState {
    pub(crate) fn finality(&self, now: Timestamp, landed: &ChainTransfer) -> Finality {
        let may_drop = self.ledger.may_reorg(&landed.key);
        match may_drop || now < landed.at.plus_ms(self.final_after_ms) {
            true => Finality::Confirmed,
            false => Finality::Final,
        }
    }

    fn make_blocks(&mut self, network: Network, now: Timestamp) {
        if network == Network::Solana
            && let Some(secret) = self.ledger.secret()
        {
            self.hashes.advance(&secret, now.0 / SLOT_MS);
        }
    }
}

/// A payment with valid signatures. All other rules are checked at the moment of execution.
#[derive(Clone)]
pub(crate) struct TransferIntent {
    pub(crate) key: ReplayKey,
    pub(crate) to: TransferTarget,
    pub(crate) amount: Usdc,
    /// Empty if the chain assigns the id.
    pub(crate) transaction: String,
    pub(crate) validity: Validity,
}

#[derive(Clone)]
pub(crate) enum TransferTarget {
    Wallet(Wallet),
    /// The Solana token account of a wallet that the chain must know.
    TokenAccount([u8; 32]),
}

#[derive(Clone)]
pub(crate) enum Validity {
    Evm(purser_actors::port::EvmAuthorization),
    Blockhash([u8; 32]),
}

#[derive(Debug)]
pub(crate) enum ExecutionResult {
    Executed(String, Finality),
    /// The payment had already settled, submitted by any client.
    AlreadyExecuted(String, Finality),
    Declined(Decline),
}

impl SandboxChain {
    pub(crate) fn open(
        store: &SandboxStore,
        network: Network,
        grant: Usdc,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
    ) -> Result<Self, SandboxStoreError> {
        let table = match network {
            Network::Base => Table::BaseChain,
            Network::Solana => Table::SolanaChain,
        };
        let ledger = ChainLedger::new(grant, treasury(network)).open(store, table)?;
        let (held, _) = watch::channel(false);
        let state = Mutex::new(ChainState {
            ledger,
            hashes: Blockhashes::default(),
            final_after_ms: 0,
        });
        let magic = magic_amounts()
            .into_iter()
            .map(|(amount, fault, _)| (amount, fault))
            .collect();
        let chain = Self {
            network,
            clock,
            state,
            faults: ChainFaults::default(),
            held,
            shared_transaction: SharedTransaction::default(),
            magic,
            empty: EmptyWallets::default(),
        };
        if chain.state.lock().ledger.secret().is_none() {
            let mut secret = [0; 32];
            secret[..16].copy_from_slice(&entropy.random().to_be_bytes());
            secret[16..].copy_from_slice(&entropy.random().to_be_bytes());
            // Not awaited: every later response waits for this record too.
            let ((), _durable) = chain.transact(|_, _| (vec![LedgerRecord::Genesis(secret)], ()));
        }
        Ok(chain)
    }

    /// Executes due events, then `decide`; its records are applied and queued before any other call sees the state.
    /// Await the second value before the result leaves the chain.
    pub(crate) fn transact<R>(
        &self,
        decide: impl FnOnce(&ChainState, Timestamp) -> (Vec<LedgerRecord>, R),
    ) -> (R, DurablePromise) {
        let mut state = self.state.lock();
        let now = state.ledger.tick(self.clock.now());
        let mut changed = false;
        while let Some(records) = state.ledger.due() {
            apply(&mut state.ledger, &records);
            changed = true;
        }
        state.make_blocks(self.network, now);
        let (records, result) = decide(&state, now);
        if state.ledger.rows.has_failed() {
            // The decision was made on incomplete state: the result is not reported and has no consequence.
            return (result, DurablePromise::Broken);
        }
        if changed || !records.is_empty() {
            state.ledger.append(&records);
        }
        (result, state.ledger.rows.barrier())
    }

    /// The newest block hash and its last valid height. Depends only on the first record, so it does not wait.
    pub(crate) fn latest_blockhash(&self) -> ([u8; 32], u64) {
        let mut state = self.state.lock();
        let now = state.ledger.tick(self.clock.now());
        state.make_blocks(self.network, now);
        state.hashes.latest()
    }

    /// Reads the chain's current state, once it is durable.
    pub(crate) async fn read<R>(&self, look: impl FnOnce(&ChainState, Timestamp) -> R) -> Result<R, SandboxStoreError> {
        let (result, durable) = self.transact(|state, now| (Vec::new(), look(state, now)));
        durable.wait().await.map(|()| result)
    }

    pub(crate) fn check_reachable(&self, operation: &'static str, payer: &Wallet) -> Result<(), PortError> {
        match ChainCall::Read.fault(&self.faults, payer) {
            Some(_) => Err(unreachable(operation)),
            None => Ok(()),
        }
    }

    /// Whether the next read for this payer would meet a fault. Uses up none.
    pub(crate) fn is_unreachable_for(&self, payer: &Wallet) -> bool {
        ChainCall::Read.is_faulty(&self.faults, payer)
    }

    pub(crate) fn finalize_after(&self, after: Duration) {
        self.state.lock().final_after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    }

    /// Stops or resumes all executions. Held transfers settle on resume if they are still valid.
    pub(crate) fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    pub(crate) fn is_held(&self) -> bool {
        *self.held.borrow()
    }

    /// Adds a payment to the mempool and returns its outcome. Like a broadcast, it completes without its caller.
    pub(crate) async fn submit(self: Arc<Self>, intent: TransferIntent) -> Result<SubmitResult, PortError> {
        let running = tokio::spawn(async move { self.run(intent).await });
        running
            .await
            .unwrap_or_else(|_| Err(response_lost("the sandbox chain stopped")))
    }

    async fn run(&self, intent: TransferIntent) -> Result<SubmitResult, PortError> {
        let payer = intent.key.payer;
        let ruled = ChainCall::Submit.fault(&self.faults, &payer);
        let magic = ruled.is_none();
        let fault = ruled.or_else(|| self.magic_fault(intent.amount));
        match &fault {
            Some(ChainFault::Unreachable) => return Err(unreachable("submit")),
            Some(ChainFault::Slow { ms }) => tokio::time::sleep(Duration::from_millis(*ms)).await,
            _ => {}
        }
        let mut held = self.held.subscribe();
        // The sender lives as long as the chain, so this ends only on resume.
        let _ = held.wait_for(|held| !*held).await;
        let (executed, durable) = self.transact(|state, now| self.execute(state, now, &intent, fault.as_ref()));
        durable.wait().await.map_err(|e| response_lost(&e.to_string()))?;
        match executed {
            ExecutionResult::Executed(..) if fault == Some(ChainFault::LoseResponse) => {
                Err(response_lost("the answer was lost"))
            }
            ExecutionResult::AlreadyExecuted(..) if fault == Some(ChainFault::LoseResponse) && !magic => {
                Err(response_lost("the answer was lost"))
            }
            ExecutionResult::Executed(transaction, finality)
            | ExecutionResult::AlreadyExecuted(transaction, finality) => {
                Ok(SubmitResult::Settled { transaction, finality })
            }
            ExecutionResult::Declined(decline) => Ok(SubmitResult::Declined(self.record_decline(payer, decline))),
        }
    }

    fn magic_fault(&self, amount: Usdc) -> Option<ChainFault> {
        let (_, fault) = self.magic.iter().find(|(magic, _)| *magic == amount)?;
        self.faults.count();
        Some(fault.clone())
    }

    pub(crate) fn execute(
        &self,
        state: &ChainState,
        now: Timestamp,
        intent: &TransferIntent,
        fault: Option<&ChainFault>,
    ) -> (Vec<LedgerRecord>, ExecutionResult) {
        match self.attempt(state, now, intent, fault) {
            Ok((records, executed)) => (records, executed),
            Err(decline) => (Vec::new(), ExecutionResult::Declined(decline)),
        }
    }

    fn attempt(
        &self,
        state: &ChainState,
        now: Timestamp,
        intent: &TransferIntent,
        fault: Option<&ChainFault>,
    ) -> Result<(Vec<LedgerRecord>, ExecutionResult), Decline> {
        let to = resolve(state, &intent.to)?;
        if let Some(landed) = state.ledger.find(&intent.key) {
            // Another party may have submitted it first. If recipient and amount match, it is this payment.
            return if landed.to == to && landed.amount == intent.amount {
                let finality = state.finality(now, &landed);
                Ok((
                    Vec::new(),
                    ExecutionResult::AlreadyExecuted(landed.transaction, finality),
                ))
            } else {
                Err(decline(
                    "invalid_exact_evm_nonce_already_used",
                    "the authorization was used for another transfer",
                ))
            };
        }
        check_validity(state, now, &intent.validity)?;
        let preempted = fault == Some(&ChainFault::FrontRun);
        let submitter = if preempted { "an observer" } else { "the server" };
        let transfer = ChainTransfer {
            transaction: self.transaction_id(state, intent, submitter),
            key: intent.key,
            to,
            amount: intent.amount,
            at: now,
        };
        match fault {
            Some(ChainFault::Decline { reason }) => Err(decline(reason, "the sandbox was set to decline it")),
            Some(ChainFault::Insufficient) => Err(decline("insufficient_funds", "the sandbox was set to decline it")),
            Some(ChainFault::FailThenLand { after_ms }) => {
                let due = now.plus_ms(*after_ms);
                let refused = ExecutionResult::Declined(decline("invalid_transaction_state", "transaction failed"));
                let late = ScheduledEvent::Settle(ChainTransfer { at: due, ..transfer });
                let lands = valid_at(state, due, &intent.validity);
                Ok((
                    if lands {
                        vec![LedgerRecord::Planned { due, plan: late }]
                    } else {
                        Vec::new()
                    },
                    refused,
                ))
            }
            _ => {
                // The id of a transaction signed by the payer is the payer's signature.
                let (transfer, index) = self.assign_position(transfer, intent.transaction.is_empty());
                let mut records = state.ledger.transfer_in_shared(&transfer, index)?;
                let mut finality = state.finality(now, &transfer);
                if let Some(ChainFault::Reorg { after_ms } | ChainFault::DropFinal { after_ms }) = fault
                    && !state.ledger.was_reorganised(&intent.key)
                {
                    let due = now.plus_ms((*after_ms).max(1));
                    let plan = if matches!(fault, Some(ChainFault::Reorg { .. })) {
                        finality = Finality::Confirmed;
                        ScheduledEvent::Reorg(intent.key)
                    } else {
                        ScheduledEvent::DropFinal(intent.key)
                    };
                    records.push(LedgerRecord::Planned { due, plan });
                }
                Ok((records, ExecutionResult::Executed(transfer.transaction, finality)))
            }
        }
    }

    fn transaction_id(&self, state: &ChainState, intent: &TransferIntent, submitter: &str) -> String {
        if intent.transaction.is_empty() {
            evm::transaction_id(&intent.key, submitter, state.ledger.settled_count())
        } else {
            intent.transaction.clone()
        }
    }
}

/// The wallet of a target. A token account that no known wallet owns does not exist.
pub(crate) fn resolve(state: &ChainState, target: &TransferTarget) -> Result<Wallet, Decline> {
    match target {
        TransferTarget::Wallet(wallet) => Ok(*wallet),
        TransferTarget::TokenAccount(account) => state.ledger.owner_of(account).ok_or_else(|| {
            decline(
                "invalid_exact_svm_transaction_failed",
                "the destination account does not exist",
            )
        }),
    }
}

fn check_validity(state: &ChainState, now: Timestamp, validity: &Validity) -> Result<(), Decline> {
    match validity {
        Validity::Evm(authorization) => evm::check_time(authorization, now),
        Validity::Blockhash(hash) if state.hashes.is_recent(hash) => Ok(()),
        Validity::Blockhash(_) => Err(decline("invalid_exact_svm_transaction_failed", "Blockhash not found")),
    }
}

fn valid_at(state: &ChainState, due: Timestamp, validity: &Validity) -> bool {
    match validity {
        Validity::Evm(authorization) => evm::check_time(authorization, due).is_ok(),
        Validity::Blockhash(hash) => state
            .hashes
            .slot_of(hash)
            .is_some_and(|slot| due.0 / SLOT_MS <= slot + super::svm::BLOCKHASH_VALIDITY_SLOTS),
    }
}

fn apply(ledger: &mut ChainLedger, records: &[LedgerRecord]) {
    for record in records {
        if let Err(error) = ledger.accept(record) {
            // The records were made by this ledger under the same lock.
            tracing::error!(error, "sandbox ledger refused its own record");
        }
    }
}

pub(crate) fn unreachable(operation: &'static str) -> PortError {
    PortError {
        kind: ErrorKind::Temporary,
        operation,
        message: "the sandbox chain is unreachable".into(),
    }
}

pub(crate) fn response_lost(message: &str) -> PortError {
    PortError {
        kind: ErrorKind::Unknown,
        operation: "submit",
        message: message.into(),
    }
}
