//! Records of the sandbox's bank.

use purser_actors::id::{BankAccountId, BankTransferId, JobId};
use purser_actors::port::Timestamp;
use purser_actors::port::banking::AccountType;
use purser_storage::codec::Stored;

use purser_sandbox::record_book;
use purser_sandbox::records::{RecordBook, SandboxRecord, key_name, name};
use purser_sandbox::state::{StoredMap, StoredValue};

/// The bank's verdict on an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum ReviewVerdict {
    Approved,
    Rejected,
    InformationRequested,
}

/// A stored record. Requests are stored as digests; no personal data is stored.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum BankRecord {
    /// An application was received; its verdict is due at this time.
    Reviewed {
        key: JobId,
        digest: [u8; 32],
        verdict: ReviewVerdict,
        due: Timestamp,
    },
    /// An account was requested; it is open, or declined, from this time.
    Opened {
        key: JobId,
        digest: [u8; 32],
        account: BankAccountId,
        ramp: AccountType,
        rejected: bool,
        due: Timestamp,
    },
    /// A transfer was requested and decided; the decision is reported from this time.
    Transferred {
        key: JobId,
        digest: [u8; 32],
        account: BankAccountId,
        cents: u64,
        to_account: bool,
        /// The bank's reason if it declined.
        decline_reason: Option<String>,
        due: Timestamp,
    },
    /// An external deposit.
    Deposited {
        account: BankAccountId,
        reference: String,
        cents: u64,
        sender: String,
        at: Timestamp,
    },
    /// A return of a transfer that went to an account.
    Returned {
        account: BankAccountId,
        reference: String,
        cents: u64,
        transfer: BankTransferId,
        at: Timestamp,
    },
}

impl BankRecord {
    /// Digest of the request under this key, and the time from which its result is reported.
    pub(super) fn request(&self) -> Option<(JobId, [u8; 32], Timestamp)> {
        match self {
            Self::Reviewed { key, digest, due, .. }
            | Self::Opened { key, digest, due, .. }
            | Self::Transferred { key, digest, due, .. } => Some((*key, *digest, *due)),
            Self::Deposited { .. } | Self::Returned { .. } => None,
        }
    }

    /// Whether it is a deposit or a return.
    pub(super) const fn is_incoming(&self) -> bool {
        matches!(self, Self::Deposited { .. } | Self::Returned { .. })
    }
}

fn by_reference(reference: &str) -> u64 {
    name(&[b"reference", reference.as_bytes()])
}

impl Stored for BankRecord {
    const SCHEMA: u16 = 719;
}

impl SandboxRecord for BankRecord {
    fn names(&self) -> Vec<u64> {
        match self {
            Self::Deposited { reference, .. } | Self::Returned { reference, .. } => vec![by_reference(reference)],
            _ => self.request().map(|(key, ..)| key_name(key)).into_iter().collect(),
        }
    }

    /// Money is counted, because it is on a list.
    fn is_numbered(&self) -> bool {
        self.is_incoming() || matches!(self, Self::Transferred { .. })
    }
}

/// Balance and purpose of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct AccountState {
    pub(super) cents: u64,
    pub(super) ramp: AccountType,
}

impl Stored for AccountState {
    const SCHEMA: u16 = 721;
}

#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
pub(crate) struct BankTotals {
    pub(super) applications: u64,
    pub(super) transfers: u64,
    pub(super) deposits: u64,
}

impl Stored for BankTotals {
    const SCHEMA: u16 = 720;
}

record_book! {
    pub(crate) struct BankRecords of BankRecord {
        pub(super) totals: StoredValue<BankTotals>,
        pub(super) accounts: StoredMap<u128, AccountState>,
    }
}

impl RecordBook for BankRecords {
    fn apply(&mut self, entry: &BankRecord) -> Result<(), String> {
        self.totals.deposits += u64::from(entry.is_incoming());
        match entry {
            BankRecord::Reviewed { .. } => self.totals.applications += 1,
            BankRecord::Opened { rejected: true, .. } => {}
            BankRecord::Opened { account, ramp, .. } => {
                let (cents, ramp) = (0, *ramp);
                self.accounts.insert(account.0, AccountState { cents, ramp });
            }
            BankRecord::Transferred {
                account,
                cents,
                to_account,
                decline_reason: None,
                ..
            } => {
                self.totals.transfers += 1;
                let state = self.accounts.change(&account.0).ok_or("a move of no account")?;
                let after = if *to_account {
                    state.cents.checked_add(*cents)
                } else {
                    state.cents.checked_sub(*cents)
                };
                state.cents = after.ok_or("a move of more than there is")?;
            }
            BankRecord::Returned { account, cents, .. } => {
                let state = self.accounts.change(&account.0).ok_or("a return of no account")?;
                let after = state.cents.checked_sub(*cents);
                state.cents = after.ok_or("a return of more than there is")?;
            }
            // Incoming money is reported at once.
            BankRecord::Transferred { .. } | BankRecord::Deposited { .. } => {}
        }
        Ok(())
    }
}

impl BankRecords {
    /// The request under a key.
    pub(super) fn find_request(&self, key: JobId) -> Option<BankRecord> {
        let mut found = self.rows.find(key_name(key)).into_iter();
        found.find(|entry| entry.request().is_some_and(|(of, ..)| of == key))
    }

    /// Latest record of the deposit or return with this reference.
    pub(super) fn received(&self, wanted: &str) -> Option<BankRecord> {
        let mut found = self.rows.find(by_reference(wanted)).into_iter().rev();
        found.find(|entry| match entry {
            BankRecord::Deposited { reference, .. } | BankRecord::Returned { reference, .. } => reference == wanted,
            _ => false,
        })
    }

    /// Incoming money after this record number, each with its number.
    pub(super) fn incoming_after(&self, after: u64, limit: usize) -> Vec<(u64, BankRecord)> {
        let mut found = Vec::new();
        self.rows.scan(after, |number, entry| {
            if entry.is_incoming() {
                found.push((number + 1, entry.clone()));
            }
            found.len() < limit
        });
        found
    }
}
