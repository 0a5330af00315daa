//! The ledger of a sandbox chain. No I/O: time and facts are the input, records the output. Only [`ChainLedger::apply`]
//! changes it. Settled transfers are read from the store; everything else is also in memory.
//!
//! Test dollars are created by a grant (when a wallet is first seen) or by the faucet and are never destroyed. The sum
//! of all balances is therefore the amount created.

mod history;
mod rows;

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{Decline, Timestamp};

use self::rows::{key_hash, reorg_key_hash};
use super::svm::token_account;
use crate::records::RecordRows;
use crate::state::{StoredMap, StoredValue};

/// The key that the chain consumes once. Base: payer and EIP-3009 nonce. Solana: payer and message hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub(crate) struct ReplayKey {
    pub(crate) payer: Wallet,
    pub(crate) nonce: [u8; 32],
}

/// A transfer on the chain.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct ChainTransfer {
    pub(crate) transaction: String,
    pub(crate) key: ReplayKey,
    pub(crate) to: Wallet,
    pub(crate) amount: Usdc,
    pub(crate) at: Timestamp,
}

/// A scheduled change.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum ScheduledEvent {
    /// The transfer settles although its submission was declined.
    Settle(ChainTransfer),
    /// A reorg drops the settled transfer.
    Reorg(ReplayKey),
    /// A reorg drops the settled transfer although it was final.
    DropFinal(ReplayKey),
}

impl ScheduledEvent {
    const fn key(&self) -> ReplayKey {
        match self {
            Self::Settle(transfer) => transfer.key,
            Self::Reorg(key) | Self::DropFinal(key) => *key,
        }
    }
}

/// A record of the ledger's file.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum LedgerRecord {
    /// The chain's secret randomness: no block hash can be predicted.
    Genesis([u8; 32]),
    /// Test dollars were created; `grant` marks the wallet's one initial grant.
    Funded {
        wallet: Wallet,
        amount: Usdc,
        grant: bool,
    },
    Transferred(ChainTransfer),
    Planned {
        due: Timestamp,
        plan: ScheduledEvent,
    },
    /// A scheduled change was due but no longer possible.
    Expired {
        due: Timestamp,
        key: ReplayKey,
    },
    Reorged {
        key: ReplayKey,
        at: Timestamp,
    },
    /// A transfer in a transaction with other transfers.
    TransferredInShared {
        transfer: ChainTransfer,
        /// Index in the transaction, from 1.
        index: u32,
    },
}

impl LedgerRecord {
    /// The transfer of this record, and its index in the transaction.
    const fn transferred(&self) -> Option<(&ChainTransfer, u32)> {
        match self {
            Self::Transferred(transfer) => Some((transfer, 0)),
            Self::TransferredInShared { transfer, index } => Some((transfer, *index)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, bincode::Encode, bincode::Decode)]
struct Account {
    balance: Usdc,
    granted: bool,
}

/// A settled transfer and its current state.
#[derive(Clone, Debug)]
pub(crate) struct SettledTransfer {
    pub(crate) transfer: ChainTransfer,
    /// Index in its transaction.
    pub(crate) index: u32,
    /// Whether a reorg has removed it.
    pub(crate) reorged: bool,
}

pub(crate) struct ChainLedger {
    grant: Usdc,
    treasury: Wallet,
    totals: StoredValue<ChainTotals>,
    accounts: StoredMap<Wallet, Account>,
    /// Owners of the Solana token accounts that exist: the treasury's and those of wallets seen here. Stored too:
    /// deriving a million of them would delay a start by half a minute.
    token_accounts: StoredMap<[u8; 32], Owner>,
    /// Every transfer that was settled or dropped, in order.
    pub(crate) rows: RecordRows<LedgerRecord>,
    plans: StoredMap<(Timestamp, ReplayKey), ScheduledEvent>,
}

#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
struct ChainTotals {
    secret: Option<[u8; 32]>,
    minted: Usdc,
    /// Chain time never runs backwards, even if the wall clock does.
    now: Timestamp,
}

#[derive(Clone, Copy, Debug, bincode::Encode, bincode::Decode)]
struct Owner(Wallet);

impl ChainLedger {
    /// Creates a ledger. `grant` is the initial balance of every wallet except the treasury.
    pub(crate) fn new(grant: Usdc, treasury: Wallet) -> Self {
        let mut ledger = Self {
            grant,
            treasury,
            totals: StoredValue::default(),
            accounts: StoredMap::default(),
            token_accounts: StoredMap::default(),
            rows: RecordRows::default(),
            plans: StoredMap::default(),
        };
        ledger.open_account(treasury);
        ledger
    }

    fn open_account(&mut self, wallet: Wallet) -> &mut Account {
        if let Wallet::Solana(owner) = wallet
            && !self.accounts.contains_key(&wallet)
        {
            self.token_accounts.insert(token_account(&owner), Owner(wallet));
        }
        self.accounts.change_or_default(&wallet)
    }

    /// The chain's secret randomness, once it is drawn.
    pub(crate) fn secret(&self) -> Option<[u8; 32]> {
        self.totals.secret
    }

    /// The owner of a Solana token account, if the account exists.
    pub(crate) fn owner_of(&self, account: &[u8; 32]) -> Option<Wallet> {
        self.token_accounts.get(account).map(|owner| owner.0)
    }

    /// Updates the chain's time from the wall clock and returns it.
    pub(crate) fn tick(&mut self, wall: Timestamp) -> Timestamp {
        self.totals.now = self.totals.now.max(wall);
        self.totals.now
    }

    /// The available balance of a wallet. A wallet that was never seen already has its grant.
    pub(crate) fn balance(&self, wallet: &Wallet) -> Usdc {
        let account = self.accounts.get(wallet).copied().unwrap_or_default();
        account
            .balance
            .checked_add(self.grant_due(wallet))
            .unwrap_or(account.balance)
    }

    fn grant_due(&self, wallet: &Wallet) -> Usdc {
        let granted = self.accounts.get(wallet).is_some_and(|a| a.granted);
        if granted || *wallet == self.treasury {
            Usdc::ZERO
        } else {
            self.grant
        }
    }

    /// The current transfer of a key.
    pub(crate) fn find(&self, key: &ReplayKey) -> Option<ChainTransfer> {
        let last = self.settled_transfers(key).pop()?;
        (!last.reorged).then_some(last.transfer)
    }

    /// All transfers of a key, oldest first: all but the last are dropped.
    fn settled_transfers(&self, key: &ReplayKey) -> Vec<SettledTransfer> {
        let mut all: Vec<SettledTransfer> = Vec::new();
        for record in self.rows.find(key_hash(key)) {
            if let Some((transfer, index)) = record.transferred().filter(|(transfer, _)| transfer.key == *key) {
                all.push(SettledTransfer {
                    transfer: transfer.clone(),
                    index,
                    reorged: false,
                });
            } else if let LedgerRecord::Reorged { key: dropped, .. } = record
                && dropped == *key
                && let Some(last) = all.last_mut()
            {
                last.reorged = true;
            }
        }
        all
    }

    /// Whether a reorg has already hit this key; no key is hit twice.
    pub(crate) fn was_reorganised(&self, key: &ReplayKey) -> bool {
        // Reorgs are the only records without a number. Most chains have none, and the list of transfers asks for each.
        if !self.rows.has_unnumbered() {
            return false;
        }
        let mut near = self.rows.find(reorg_key_hash(key)).into_iter();
        near.any(|record| matches!(record, LedgerRecord::Reorged { key: dropped, .. } if dropped == *key))
    }

    /// Whether a scheduled reorg will free this key again.
    pub(crate) fn may_reorg(&self, key: &ReplayKey) -> bool {
        self.plans
            .values()
            .any(|plan| matches!(plan, ScheduledEvent::Reorg(dropped) if dropped == key))
    }

    /// The number of transfers ever settled.
    pub(crate) const fn settled_count(&self) -> u64 {
        self.rows.numbered()
    }

    /// Wallets that ever held or moved something here.
    pub(crate) fn wallets(&self) -> impl Iterator<Item = &Wallet> {
        self.accounts.keys()
    }

    /// Total amount created, equal to the sum of all balances.
    pub(crate) fn minted(&self) -> Usdc {
        self.totals.minted
    }

    /// The records of crediting a wallet from the faucet.
    pub(crate) fn fund(&self, wallet: Wallet, amount: Usdc) -> Result<Vec<LedgerRecord>, Decline> {
        self.balance(&wallet)
            .checked_add(amount)
            .and_then(|_| self.totals.minted.checked_add(amount))
            .map_err(|_| overflow())?;
        let mut records = self.open_if_new(wallet)?;
        records.push(LedgerRecord::Funded {
            wallet,
            amount,
            grant: false,
        });
        Ok(records)
    }

    fn open_if_new(&self, wallet: Wallet) -> Result<Vec<LedgerRecord>, Decline> {
        let amount = self.grant_due(&wallet);
        self.totals.minted.checked_add(amount).map_err(|_| overflow())?;
        let grant = LedgerRecord::Funded {
            wallet,
            amount,
            grant: true,
        };
        Ok(if amount == Usdc::ZERO { Vec::new() } else { vec![grant] })
    }

    /// The records of a transfer, if the balance covers it.
    pub(crate) fn transfer(&self, transfer: &ChainTransfer) -> Result<Vec<LedgerRecord>, Decline> {
        self.transfer_in_shared(transfer, 0)
    }

    /// The same for a transfer with this index in its transaction.
    pub(crate) fn transfer_in_shared(
        &self,
        transfer: &ChainTransfer,
        index: u32,
    ) -> Result<Vec<LedgerRecord>, Decline> {
        let payer = transfer.key.payer;
        if self.balance(&payer) < transfer.amount {
            return Err(insufficient());
        }
        self.balance(&transfer.to)
            .checked_add(transfer.amount)
            .map_err(|_| overflow())?;
        let mut records = self.open_if_new(payer)?;
        let transfer = transfer.clone();
        records.push(match index {
            0 => LedgerRecord::Transferred(transfer),
            index => LedgerRecord::TransferredInShared { transfer, index },
        });
        Ok(records)
    }

    /// The records of the earliest scheduled change that is due.
    pub(crate) fn due(&self) -> Option<Vec<LedgerRecord>> {
        let ((due, key), plan) = self
            .plans
            .first_key_value()
            .filter(|((due, _), _)| *due <= self.totals.now)?;
        let expired = vec![LedgerRecord::Expired { due: *due, key: *key }];
        Some(match plan {
            ScheduledEvent::Settle(transfer) if self.find(key).is_none() => self.transfer(transfer).unwrap_or(expired),
            ScheduledEvent::Settle(_) => expired,
            // The money may have moved on. A chain would also drop later transfers; the sandbox keeps both.
            ScheduledEvent::Reorg(_) | ScheduledEvent::DropFinal(_)
                if self.find(key).is_some_and(|t| self.balance(&t.to) >= t.amount) =>
            {
                vec![LedgerRecord::Reorged { key: *key, at: *due }]
            }
            ScheduledEvent::Reorg(_) | ScheduledEvent::DropFinal(_) => expired,
        })
    }

    fn take(&mut self, record: &LedgerRecord) -> Result<(), String> {
        match record {
            LedgerRecord::Genesis(secret) => self.totals.secret = Some(*secret),
            LedgerRecord::Funded { wallet, amount, grant } => {
                let bad = |_| "amounts that do not add up".to_owned();
                self.totals.minted = self.totals.minted.checked_add(*amount).map_err(bad)?;
                let account = self.open_account(*wallet);
                account.balance = account.balance.checked_add(*amount).map_err(bad)?;
                account.granted |= grant;
            }
            LedgerRecord::Transferred(transfer) | LedgerRecord::TransferredInShared { transfer, .. } => {
                self.totals.now = self.totals.now.max(transfer.at);
                self.move_balance(transfer.key.payer, transfer.to, transfer.amount)?;
                self.plans
                    .retain(|_, plan| !matches!(plan, ScheduledEvent::Settle(t) if t.key == transfer.key));
            }
            LedgerRecord::Planned { due, plan } => {
                self.plans.insert((*due, plan.key()), plan.clone());
            }
            LedgerRecord::Expired { due, key } => {
                self.plans.remove(&(*due, *key));
            }
            LedgerRecord::Reorged { key, at } => {
                self.totals.now = self.totals.now.max(*at);
                self.plans.remove(&(*at, *key));
                let landed = self.find(key).ok_or("a drop of nothing")?;
                self.move_balance(landed.to, key.payer, landed.amount)?;
            }
        }
        Ok(())
    }

    fn move_balance(&mut self, from: Wallet, to: Wallet, amount: Usdc) -> Result<(), String> {
        let bad = |_| "amounts that do not add up".to_owned();
        let source = self.open_account(from);
        source.balance = source.balance.checked_sub(amount).map_err(bad)?;
        let target = self.open_account(to);
        target.balance = target.balance.checked_add(amount).map_err(bad)?;
        Ok(())
    }
}

/// A decline with a reason defined by the contract.
pub(crate) fn decline(reason: &str, message: &str) -> Decline {
    Decline {
        reason: reason.into(),
        message: message.into(),
    }
}

/// The decline for a balance lower than the amount.
pub(crate) fn insufficient() -> Decline {
    decline(
        "insufficient_funds",
        "the payer's USDC balance is lower than the amount",
    )
}

fn overflow() -> Decline {
    decline("invalid_transaction_state", "the amount does not fit the balance")
}

#[cfg(test)]
mod tests;
