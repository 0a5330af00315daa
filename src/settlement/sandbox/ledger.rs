//! The one ledger behind both sandbox chains. Pure: time and facts come in, records come out; [`Ledger::apply`]
//! is the only thing that changes it, live and on replay. What landed lies in an archive; the rest is here.
//!
//! Test dollars appear by grant (a wallet's first sight) or by the faucet and are never destroyed, so the sum of
//! all balances is always what was made.

mod history;
mod saved;

use std::collections::{BTreeMap, HashMap};

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{Decline, Timestamp};

use self::saved::{by_drop, by_key};
use super::svm::token_account;
use crate::sandbox::archive::Shelf;

/// What the chain consumes once: the payer with its EIP-3009 nonce on Base, the payer with the message hash on Solana.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub(crate) struct Key {
    pub(crate) payer: Wallet,
    pub(crate) nonce: [u8; 32],
}

/// A transfer on the chain.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct Transfer {
    pub(crate) transaction: String,
    pub(crate) key: Key,
    pub(crate) to: Wallet,
    pub(crate) amount: Usdc,
    pub(crate) at: Timestamp,
}

/// Something that will happen by itself.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum Plan {
    /// The transfer lands although its submission was declined.
    Land(Transfer),
    /// The landed transfer is dropped by a reorganisation.
    Drop(Key),
    /// The same, though it was final.
    DropFinal(Key),
}

impl Plan {
    const fn key(&self) -> Key {
        match self {
            Self::Land(transfer) => transfer.key,
            Self::Drop(key) | Self::DropFinal(key) => *key,
        }
    }
}

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum Record {
    /// The chain's own randomness: nobody can name a block hash before its time.
    Born([u8; 32]),
    /// Test dollars made; `grant` marks the wallet's one first-sight grant.
    Funded {
        wallet: Wallet,
        amount: Usdc,
        grant: bool,
    },
    Transferred(Transfer),
    Planned {
        due: Timestamp,
        plan: Plan,
    },
    /// A plan that came due and could not happen any more.
    Lapsed {
        due: Timestamp,
        key: Key,
    },
    Dropped {
        key: Key,
        at: Timestamp,
    },
    /// A transfer beside others in its transaction.
    Beside {
        transfer: Transfer,
        /// Its place there, from 1.
        index: u32,
    },
}

impl Record {
    /// The transfer that it is of, and its place in its transaction.
    const fn transferred(&self) -> Option<(&Transfer, u32)> {
        match self {
            Self::Transferred(transfer) => Some((transfer, 0)),
            Self::Beside { transfer, index } => Some((transfer, *index)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, bincode::Encode, bincode::Decode)]
struct Account {
    balance: Usdc,
    granted: bool,
}

/// A transfer with its fate.
#[derive(Clone, Debug)]
pub(crate) struct Landed {
    pub(crate) transfer: Transfer,
    /// Its place in its transaction.
    pub(crate) index: u32,
    /// Whether a reorganisation removed it again.
    pub(crate) dropped: bool,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    grant: Usdc,
    treasury: Wallet,
    pub(crate) secret: Option<[u8; 32]>,
    accounts: HashMap<Wallet, Account>,
    /// Owners of the Solana token accounts that exist: the treasury's and those of wallets seen here.
    token_accounts: HashMap<[u8; 32], Wallet>,
    /// Everything that ever landed or was dropped, in order.
    shelf: Shelf<Record>,
    plans: BTreeMap<(Timestamp, Key), Plan>,
    minted: Usdc,
    /// Chain time never runs backwards, whatever the wall clock does.
    now: Timestamp,
}

impl Ledger {
    /// `grant` is what a wallet other than the treasury starts with.
    pub(crate) fn new(grant: Usdc, treasury: Wallet) -> Self {
        let mut ledger = Self {
            grant,
            treasury,
            secret: None,
            accounts: HashMap::new(),
            token_accounts: HashMap::new(),
            shelf: Shelf::default(),
            plans: BTreeMap::new(),
            minted: Usdc::ZERO,
            now: Timestamp(0),
        };
        ledger.open_account(treasury);
        ledger
    }

    fn open_account(&mut self, wallet: Wallet) -> &mut Account {
        if let Wallet::Solana(owner) = wallet
            && !self.accounts.contains_key(&wallet)
        {
            self.token_accounts.insert(token_account(&owner), wallet);
        }
        self.accounts.entry(wallet).or_default()
    }

    /// Whose Solana token account this is, if it exists.
    pub(crate) fn owner_of(&self, account: &[u8; 32]) -> Option<Wallet> {
        self.token_accounts.get(account).copied()
    }

    /// Takes the wall clock into account and gives the chain's time.
    pub(crate) fn tick(&mut self, wall: Timestamp) -> Timestamp {
        self.now = self.now.max(wall);
        self.now
    }

    /// What a wallet can spend. A wallet never seen has its grant already.
    pub(crate) fn balance(&self, wallet: &Wallet) -> Usdc {
        let account = self.accounts.get(wallet).copied().unwrap_or_default();
        account.balance.plus(self.grant_due(wallet)).unwrap_or(account.balance)
    }

    fn grant_due(&self, wallet: &Wallet) -> Usdc {
        let granted = self.accounts.get(wallet).is_some_and(|a| a.granted);
        if granted || *wallet == self.treasury {
            Usdc::ZERO
        } else {
            self.grant
        }
    }

    /// The live transfer of a key.
    pub(crate) fn find(&self, key: &Key) -> Option<Transfer> {
        let last = self.landed_of(key).pop()?;
        (!last.dropped).then_some(last.transfer)
    }

    /// Every transfer of a key, oldest first: all but the last are dropped.
    fn landed_of(&self, key: &Key) -> Vec<Landed> {
        let mut all: Vec<Landed> = Vec::new();
        for record in self.shelf.find(by_key(key)) {
            if let Some((transfer, index)) = record.transferred().filter(|(transfer, _)| transfer.key == *key) {
                all.push(Landed {
                    transfer: transfer.clone(),
                    index,
                    dropped: false,
                });
            } else if let Record::Dropped { key: dropped, .. } = record
                && dropped == *key
                && let Some(last) = all.last_mut()
            {
                last.dropped = true;
            }
        }
        all
    }

    /// Whether a reorganisation hit this key once; it hits none twice.
    pub(crate) fn was_reorganised(&self, key: &Key) -> bool {
        let mut near = self.shelf.find(by_drop(key)).into_iter();
        near.any(|record| matches!(record, Record::Dropped { key: dropped, .. } if dropped == *key))
    }

    /// Whether a reorganisation is on its way that frees this key again.
    pub(crate) fn may_drop(&self, key: &Key) -> bool {
        self.plans
            .values()
            .any(|plan| matches!(plan, Plan::Drop(dropped) if dropped == key))
    }

    /// How much ever landed.
    pub(crate) const fn landed(&self) -> u64 {
        self.shelf.counted()
    }

    /// Wallets that ever held or moved something here.
    pub(crate) fn wallets(&self) -> impl Iterator<Item = &Wallet> {
        self.accounts.keys()
    }

    /// Everything made, which is the sum of all balances.
    pub(crate) const fn minted(&self) -> Usdc {
        self.minted
    }

    /// The records of a wallet's faucet money.
    pub(crate) fn fund(&self, wallet: Wallet, amount: Usdc) -> Result<Vec<Record>, Decline> {
        self.balance(&wallet)
            .plus(amount)
            .and_then(|_| self.minted.plus(amount))
            .map_err(|_| overflow())?;
        let mut records = self.first_sight(wallet)?;
        records.push(Record::Funded {
            wallet,
            amount,
            grant: false,
        });
        Ok(records)
    }

    fn first_sight(&self, wallet: Wallet) -> Result<Vec<Record>, Decline> {
        let amount = self.grant_due(&wallet);
        self.minted.plus(amount).map_err(|_| overflow())?;
        let grant = Record::Funded {
            wallet,
            amount,
            grant: true,
        };
        Ok(if amount == Usdc::ZERO { Vec::new() } else { vec![grant] })
    }

    /// The records of moving the money, if it is there.
    pub(crate) fn transfer(&self, transfer: &Transfer) -> Result<Vec<Record>, Decline> {
        self.transfer_beside(transfer, 0)
    }

    /// The same of one that has this place in its transaction.
    pub(crate) fn transfer_beside(&self, transfer: &Transfer, index: u32) -> Result<Vec<Record>, Decline> {
        let payer = transfer.key.payer;
        if self.balance(&payer) < transfer.amount {
            return Err(insufficient());
        }
        self.balance(&transfer.to)
            .plus(transfer.amount)
            .map_err(|_| overflow())?;
        let mut records = self.first_sight(payer)?;
        let transfer = transfer.clone();
        records.push(match index {
            0 => Record::Transferred(transfer),
            index => Record::Beside { transfer, index },
        });
        Ok(records)
    }

    /// The records of the earliest plan that is due, if any.
    pub(crate) fn due(&self) -> Option<Vec<Record>> {
        let ((due, key), plan) = self.plans.first_key_value().filter(|((due, _), _)| *due <= self.now)?;
        let lapsed = vec![Record::Lapsed { due: *due, key: *key }];
        Some(match plan {
            Plan::Land(transfer) if self.find(key).is_none() => self.transfer(transfer).unwrap_or(lapsed),
            Plan::Land(_) => lapsed,
            // The money may have moved on; a chain would drop what follows too, the sandbox keeps both.
            Plan::Drop(_) | Plan::DropFinal(_) if self.find(key).is_some_and(|t| self.balance(&t.to) >= t.amount) => {
                vec![Record::Dropped { key: *key, at: *due }]
            }
            Plan::Drop(_) | Plan::DropFinal(_) => lapsed,
        })
    }

    fn take(&mut self, record: &Record) -> Result<(), String> {
        match record {
            Record::Born(secret) => self.secret = Some(*secret),
            Record::Funded { wallet, amount, grant } => {
                let bad = |_| "amounts that do not add up".to_owned();
                self.minted = self.minted.plus(*amount).map_err(bad)?;
                let account = self.open_account(*wallet);
                account.balance = account.balance.plus(*amount).map_err(bad)?;
                account.granted |= grant;
            }
            Record::Transferred(transfer) | Record::Beside { transfer, .. } => {
                self.now = self.now.max(transfer.at);
                self.shift(transfer.key.payer, transfer.to, transfer.amount)?;
                self.plans
                    .retain(|_, plan| !matches!(plan, Plan::Land(t) if t.key == transfer.key));
            }
            Record::Planned { due, plan } => {
                self.plans.insert((*due, plan.key()), plan.clone());
            }
            Record::Lapsed { due, key } => {
                self.plans.remove(&(*due, *key));
            }
            Record::Dropped { key, at } => {
                self.now = self.now.max(*at);
                self.plans.remove(&(*at, *key));
                let landed = self.find(key).ok_or("a drop of nothing")?;
                self.shift(landed.to, key.payer, landed.amount)?;
            }
        }
        Ok(())
    }

    fn shift(&mut self, from: Wallet, to: Wallet, amount: Usdc) -> Result<(), String> {
        let bad = |_| "amounts that do not add up".to_owned();
        let source = self.open_account(from);
        source.balance = source.balance.minus(amount).map_err(bad)?;
        let target = self.open_account(to);
        target.balance = target.balance.plus(amount).map_err(bad)?;
        Ok(())
    }
}

/// A refusal in the contract's vocabulary.
pub(crate) fn decline(reason: &str, message: &str) -> Decline {
    Decline {
        reason: reason.into(),
        message: message.into(),
    }
}

/// The balance is lower than the amount.
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
