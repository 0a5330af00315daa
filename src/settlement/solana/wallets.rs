//! Outgoing transfers of managed wallets, for `purser verify`.
//!
//! The follower only reads the treasury's token account. The wallets' accounts are read when the list is requested,
//! each from where the last read ended. Final transfers are stored, so that each is read once.

use std::collections::BTreeSet;

use futures_util::StreamExt as _;
use futures_util::stream;
use parking_lot::Mutex;
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::PortError;
use purser_chains::solana::address::base58;
use purser_chains::solana::follow::{Entry, PAGE_LIMIT, PageRequest};
use purser_chains::solana::node::NodeError;
use purser_chains::solana::status::Commitment;
use purser_chains::solana::{Pubkey, Signature};

use super::SolanaSettlement;
use super::reading::movements_of;
use super::rows::{MovementRow, WalletTransfer};
use crate::chain::ListedTransfer;
use crate::errors::temporary;

const LISTED: &str = "listed";
/// Positions of outgoing transfers of managed wallets are above this value; those of the treasury's transfers are
/// below.
const POSITION_OFFSET: u64 = 1 << 52;
/// Maximum number of wallets read concurrently.
const CONCURRENT_READS: usize = 8;

/// The managed wallets, and their transfers that were seen last.
#[derive(Debug, Default)]
pub(super) struct OwnWallets {
    all: Mutex<BTreeSet<Pubkey>>,
    /// Transfers that are not final. Locked while the wallets are read.
    pending: tokio::sync::Mutex<Vec<WalletTransfer>>,
}

/// The result of reading one wallet.
struct WalletRead {
    wallet: Pubkey,
    /// Final outgoing transfers since the last read, oldest first, and the newest final transaction.
    outgoing: Option<(Vec<MovementRow>, Signature)>,
    /// Outgoing transfers that are not final.
    pending: Vec<MovementRow>,
}

impl SolanaSettlement {
    /// Lists this wallet's transfers from now on, including earlier ones.
    pub fn track_wallet(&self, wallet: Pubkey) {
        self.own_wallets.all.lock().insert(wallet);
    }

    /// Outgoing transfers of managed wallets after a position. Any position of the treasury's list returns them from
    /// the first. Transfers to the treasury are on the treasury's list.
    ///
    /// # Errors
    /// `Temporary` when the chain or the rows cannot be read.
    pub async fn wallet_transfers_after(&self, after: u64, limit: usize) -> Result<Vec<ListedTransfer>, PortError> {
        let mut seen = self.own_wallets.pending.lock().await;
        if after < POSITION_OFFSET {
            *seen = self.read_wallets().await.map_err(|e| temporary(LISTED, e))?;
        }
        let number = after.saturating_sub(POSITION_OFFSET);
        let rows = self.rows.wallet_transfers(number, limit).await;
        let rows = rows.map_err(|e| temporary(LISTED, e))?;
        if !rows.is_empty() {
            return Ok(rows.into_iter().map(|(number, left)| listed(number, &left)).collect());
        }
        // Listed after the last row, all at once. They get their own numbers when they are final.
        let count = self
            .rows
            .count_wallet_transfers()
            .await
            .map_err(|e| temporary(LISTED, e))?;
        Ok(match number == count {
            true => (count + 1..).zip(&*seen).map(|(n, left)| listed(n, left)).collect(),
            false => Vec::new(),
        })
    }

    /// Reads new transfers of every wallet, and returns those that are not final.
    async fn read_wallets(&self) -> Result<Vec<WalletTransfer>, String> {
        let all: Vec<Pubkey> = self.own_wallets.all.lock().iter().copied().collect();
        let reading = stream::iter(all).map(|wallet| self.read_wallet(wallet));
        let mut reading = reading.buffered(CONCURRENT_READS);
        let mut seen = Vec::new();
        while let Some(read) = reading.next().await {
            let WalletRead {
                wallet,
                outgoing: left,
                pending: new,
            } = read?;
            if let Some((left, read_to)) = left {
                let added = self.rows.add_wallet_transfers(&wallet, left, read_to).await;
                added.map_err(|error| error.to_string())?;
            }
            seen.extend(new.into_iter().map(|moved| WalletTransfer {
                wallet,
                movement: moved,
            }));
        }
        Ok(seen)
    }

    async fn read_wallet(&self, wallet: Pubkey) -> Result<WalletRead, String> {
        let account = self
            .token_account_of(&wallet, LISTED)
            .map_err(|error| error.to_string())?;
        let until = self
            .rows
            .wallet_cursor(&wallet)
            .await
            .map_err(|error| error.to_string())?;
        let (mut left, mut seen, mut read_to) = (Vec::new(), Vec::new(), None);
        // Oldest first: the first entry that is not final ends the final part.
        for entry in self.new_entries(&account, until).await?.into_iter().rev() {
            let is_final = entry.level == Commitment::Finalized && seen.is_empty();
            let moved = self.outgoing_in(&entry, &account).await?;
            match is_final {
                true => {
                    left.extend(moved);
                    read_to = Some(entry.id);
                }
                false => seen.extend(moved),
            }
        }
        Ok(WalletRead {
            wallet,
            outgoing: read_to.map(|read_to| (left, read_to)),
            pending: seen,
        })
    }

    /// Transactions of a token account after this one, newest first.
    async fn new_entries(&self, account: &Pubkey, until: Option<Signature>) -> Result<Vec<Entry>, String> {
        let endpoint = self.follower.lock().await.endpoint();
        let (mut before, mut all) = (None, Vec::new());
        loop {
            let limit = PAGE_LIMIT;
            let page = PageRequest { before, until, limit };
            let entries = self.node.signatures_on(endpoint, account, page).await;
            let entries = entries.map_err(|error| error.to_string())?;
            let Some(last) = entries.last() else { return Ok(all) };
            before = Some(last.id);
            all.extend(entries);
        }
    }

    /// Outgoing transfers of a wallet in a transaction, except those to the treasury.
    async fn outgoing_in(&self, entry: &Entry, account: &Pubkey) -> Result<Vec<MovementRow>, String> {
        if entry.failed {
            return Ok(Vec::new());
        }
        let level = entry.level.max(Commitment::Confirmed);
        let found = match self.node.transaction(&entry.id, account, &self.mint, level).await {
            // An unreadable transaction must not stop the list: anyone can send one.
            Err(NodeError::Malformed { what, .. }) => {
                let transaction = base58(&entry.id);
                tracing::error!(transaction, what, "a transaction of a managed wallet could not be read");
                return Ok(Vec::new());
            }
            found => found.map_err(|error| error.to_string())?,
        };
        let found = found.ok_or_else(|| format!("no endpoint has the transaction {}", base58(&entry.id)))?;
        let mut moved = movements_of(&found, self.clock.now(), &self.mint);
        let treasury = self.treasury();
        moved.retain(|moved| !moved.incoming && moved.other != treasury);
        Ok(moved)
    }
}

fn listed(
    number: u64,
    WalletTransfer {
        wallet,
        movement: moved,
    }: &WalletTransfer,
) -> ListedTransfer {
    ListedTransfer {
        position: POSITION_OFFSET.saturating_add(number),
        transaction: base58(&moved.transaction),
        index: moved.index,
        from: Wallet::Solana(*wallet),
        to: Wallet::Solana(moved.other),
        amount: Usdc::from_atomic(moved.atomic),
        at: moved.at,
        reorged: false,
        mark: None,
    }
}
