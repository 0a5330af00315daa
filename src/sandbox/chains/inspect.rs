//! Inspection and control of the sandbox chains, for reconciliation, the sandbox API and tests.

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Decline, OutgoingTransfer, SolanaTransfer, Timestamp};
use serde::Serialize;

use super::chain::PlainTransfer;
use super::faults::FaultRule;
use super::svm;
use super::wire::Transaction;
use super::{SandboxSettlement, SandboxStoreError};
use crate::keys::treasury;

/// A transfer that is or was on a sandbox chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SandboxTransfer {
    /// Position in the chain's history, from 1: the cursor for the next page.
    pub position: u64,
    /// Transaction id on the chain.
    pub id: String,
    /// Index of the transfer in its transaction, from 0.
    pub index: u32,
    /// `base` or `solana`.
    pub network: &'static str,
    /// Address of the payer.
    pub from: String,
    /// Recipient's address; on Solana also the wallet's address.
    pub to: String,
    /// Amount in atomic USDC.
    pub amount: u64,
    /// In hex: the EIP-3009 nonce, or the SHA-256 of the Solana message.
    pub nonce_or_message: String,
    /// Time in milliseconds since the Unix epoch, by the chain's clock.
    pub at: u64,
    /// Whether a reorg removed the transfer.
    pub reorged: bool,
}

/// Summary of one chain.
#[derive(Clone, Debug)]
pub struct SandboxChainSummary {
    /// Network of the chain.
    pub network: Network,
    /// The wallet that receives payments to the service.
    pub treasury: Wallet,
    /// Balance of the treasury.
    pub treasury_balance: Usdc,
    /// All test USDC ever created on this chain; equal to the sum of all balances.
    pub minted: Usdc,
    /// Number of wallets that ever held or moved USDC.
    pub wallets: usize,
    /// Number of transfers in the history, including dropped ones.
    pub transfers: usize,
    /// Whether executions are on hold.
    pub held: bool,
    /// The active fault rules.
    pub rules: Vec<FaultRule>,
    /// Number of calls that met a fault since the start.
    pub faults_injected: u64,
}

impl SandboxSettlement {
    /// Available balance of a wallet on its chain. A wallet that was never seen shows its grant.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn balance(&self, wallet: &Wallet) -> Result<Usdc, SandboxStoreError> {
        self.chain(wallet.network())
            .read(|state, _| state.ledger.balance(wallet))
            .await
    }

    /// Transfers on a network after a position (0 is the beginning), oldest first, at most `limit`.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn transfers(
        &self,
        network: Network,
        after: u64,
        limit: usize,
    ) -> Result<Vec<SandboxTransfer>, SandboxStoreError> {
        self.chain(network)
            .read(|state, _| {
                let page = state.ledger.history(after, limit).into_iter();
                page.map(|(place, landed)| SandboxTransfer {
                    position: place + 1,
                    id: landed.transfer.transaction,
                    index: landed.index,
                    network: network.name(),
                    from: landed.transfer.key.payer.address(),
                    to: landed.transfer.to.address(),
                    amount: landed.transfer.amount.atomic(),
                    nonce_or_message: hex::encode(landed.transfer.key.nonce),
                    at: landed.transfer.at.0,
                    reorged: landed.reorged,
                })
                .collect()
            })
            .await
    }

    /// Whether a wallet can receive USDC. On Solana its token account must exist; it is created when the wallet is
    /// first seen.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn has_account(&self, wallet: &Wallet) -> Result<bool, SandboxStoreError> {
        let Wallet::Solana(owner) = wallet else { return Ok(true) };
        let account = svm::token_account(owner);
        let read = self.solana.read(|state, _| state.ledger.owner_of(&account).is_some());
        read.await
    }

    /// Outgoing transfers of a wallet in a span of time, without those removed by a reorg.
    pub(super) async fn outgoing_from(
        &self,
        from: Wallet,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<OutgoingTransfer>, SandboxStoreError> {
        const PAGE: usize = 1_000;
        let (mut left, mut after) = (Vec::new(), 0);
        loop {
            let page = self
                .chain(from.network())
                .read(move |state, _| state.ledger.history(after, PAGE))
                .await?;
            let Some((last, _)) = page.last() else { return Ok(left) };
            after = last + 1;
            let own = page.into_iter().filter(|(_, landed)| {
                let away = landed.transfer.key.payer == from && landed.transfer.to != from;
                !landed.reorged && away && (since..=until).contains(&landed.transfer.at)
            });
            left.extend(own.map(|(_, landed)| OutgoingTransfer {
                transaction: landed.transfer.transaction,
                to: landed.transfer.to,
                amount: landed.transfer.amount,
                at: landed.transfer.at,
                fingerprint: landed.transfer.key.nonce,
                index: landed.index,
            }));
        }
    }

    /// Whether Solana has a transfer out of the treasury with this id.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn has_outgoing_transfer(&self, transaction: &str) -> Result<bool, SandboxStoreError> {
        let ours = treasury(Network::Solana);
        let left = self.outgoing_from(ours, Timestamp(0), Timestamp(u64::MAX)).await?;
        Ok(left.iter().any(|outgoing| outgoing.transaction == transaction))
    }

    /// Totals and settings of one chain.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn state(&self, network: Network) -> Result<SandboxChainSummary, SandboxStoreError> {
        let chain = self.chain(network);
        let treasury = treasury(network);
        chain
            .read(|state, _| SandboxChainSummary {
                network,
                treasury,
                treasury_balance: state.ledger.balance(&treasury),
                minted: state.ledger.minted(),
                wallets: state.ledger.wallets().count(),
                transfers: usize::try_from(state.ledger.settled_count()).unwrap_or(usize::MAX),
                held: chain.is_held(),
                rules: chain.faults.waiting(),
                faults_injected: chain.faults.injected(),
            })
            .await
    }

    /// Credits a wallet with test USDC in addition to its grant. Returns the new balance, or why the amount does not
    /// fit.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn fund(&self, wallet: Wallet, amount: Usdc) -> Result<Result<Usdc, Decline>, SandboxStoreError> {
        let chain = self.chain(wallet.network());
        let (result, durable) = chain.transact(|state, _| match state.ledger.fund(wallet, amount) {
            Ok(records) => (records, Ok(())),
            Err(decline) => (Vec::new(), Err(decline)),
        });
        durable.wait().await?;
        match result {
            Ok(()) => self.balance(&wallet).await.map(Ok),
            Err(decline) => Ok(Err(decline)),
        }
    }

    /// Moves funds between two wallets of one chain by a plain transfer, without a payment authorization. Returns the
    /// recipient's new balance, or why the transfer was declined.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn transfer_plain(
        &self,
        (from, to): (Wallet, Wallet),
        amount: Usdc,
    ) -> Result<Result<Usdc, Decline>, SandboxStoreError> {
        let chain = self.chain(to.network());
        let plain = PlainTransfer { from, to, amount };
        let (declined, durable) = chain.transact(|state, now| chain.transfer_plain(state, now, plain));
        durable.wait().await?;
        match declined {
            None => self.balance(&to).await.map(Ok),
            Some(decline) => Ok(Err(decline)),
        }
    }

    /// Sets whether further transfers share one transaction. Only applies if the chain assigns the transaction id.
    pub fn set_shared_transaction(&self, network: Network, together: bool) {
        self.chain(network).set_shared_transaction(together);
    }

    /// The payment in a signed Solana transaction; `None` if it contains none.
    pub fn read_signed(wire: &[u8]) -> Option<SolanaTransfer> {
        let transaction = Transaction::parse(wire).ok()?;
        let transfer = svm::read_transfer(&transaction).ok()?;
        Some(SolanaTransfer {
            message_hash: svm::message_hash(&transaction),
            payer: transfer.authority,
            value: transfer.amount,
            blockhash: transaction.blockhash,
            not_before_slot: 0,
            transaction: wire.to_vec(),
        })
    }

    /// Adds a fault to a chain.
    pub fn add_fault(&self, network: Network, rule: FaultRule) {
        self.chain(network).faults.add(rule);
    }

    /// Whether no further fault may be added.
    pub fn has_too_many_faults(&self, network: Network) -> bool {
        self.chain(network).faults.is_full()
    }

    /// Clears all faults of a chain and resumes it.
    pub fn clear_faults(&self, network: Network) {
        self.chain(network).faults.clear();
        self.chain(network).hold(false);
        self.chain(network).set_shared_transaction(false);
    }

    /// Holds or resumes all executions of a chain. On resume, held transfers settle if they are still valid.
    pub fn hold(&self, network: Network, held: bool) {
        self.chain(network).hold(held);
    }

    /// The chain's time, which never runs backwards.
    pub fn chain_time(&self, network: Network) -> Timestamp {
        self.chain(network).transact(|_, now| (Vec::new(), now)).0
    }
}
