//! Accounts at the sandbox's card issuer: one per wallet, permanent, each with its own deposit address.
//!
//! The address is derived from the wallet, so it is the same after any loss. The address has no key; the issuer counts
//! what it receives.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::id::Wallet;
use purser_actors::port::{BoxFuture, Clock, ErrorKind, IssuerAccountResult, IssuerAccounts, PortError, Timestamp};
use sha2::{Digest as _, Sha256};

use super::fault_rules::{FaultRule, FaultRules};
use crate::sandbox::archive::{Archive, ArchiveRecord, ArchiveState, RecordBuffer, name};
use crate::sandbox::record_log::{DurablePromise, LogError};

const KIND: [u8; 8] = *b"SBXACC01";
/// Duration of a call that times out.
const TIMEOUT_MS: u64 = 1_000;

/// Faults of calls by the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountFault {
    Unreachable,
    /// The call is delayed and then proceeds normally.
    Slow {
        ms: u64,
    },
    /// The response is malformed.
    MalformedResponse,
    /// The account is opened and the response is lost.
    Timeout,
    /// No account is opened, and this order never opens one.
    Decline,
}

impl AccountFault {
    /// Name in the sandbox controls.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::MalformedResponse => "malformed_response",
            Self::Timeout => "timeout",
            Self::Decline => "decline",
        }
    }
}

/// Contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
enum AccountRecord {
    /// An account was opened.
    Opened { wallet: Wallet, at: Timestamp },
}

fn by_wallet(wallet: &Wallet) -> u64 {
    name(&[b"wallet", &wallet.key()])
}

impl ArchiveRecord for AccountRecord {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (entry, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(vec![entry])
        } else {
            Err("trailing bytes".into())
        }
    }

    fn index_keys(&self) -> Vec<u64> {
        let Self::Opened { wallet, .. } = self;
        vec![by_wallet(wallet)]
    }

    fn is_counted(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct AccountRecords {
    buffer: RecordBuffer<AccountRecord>,
    opened: u64,
}

impl AccountRecords {
    fn has(&self, wallet: &Wallet) -> bool {
        let near = self.buffer.find(by_wallet(wallet));
        near.iter().any(|AccountRecord::Opened { wallet: of, .. }| of == wallet)
    }
}

impl ArchiveState for AccountRecords {
    type Item = AccountRecord;

    fn apply(&mut self, entry: &AccountRecord) -> Result<(), String> {
        self.opened += 1;
        self.buffer.add(entry.clone());
        Ok(())
    }

    fn buffer(&mut self) -> &mut RecordBuffer<AccountRecord> {
        &mut self.buffer
    }

    fn save(&self) -> Vec<u8> {
        self.opened.to_be_bytes().to_vec()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let saved: [u8; 8] = saved.try_into().map_err(|_| "not a number".to_owned())?;
        self.opened = u64::from_be_bytes(saved);
        Ok(())
    }

    fn weight(&self) -> usize {
        0
    }
}

/// Summary of the issuer's accounts.
#[derive(Clone, Debug)]
pub struct SandboxIssuerAccountSummary {
    pub opened: u64,
    /// Faults that wait for a call.
    pub rules: Vec<FaultRule<AccountFault>>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

/// The simulated issuer's accounts.
pub struct SandboxIssuerAccounts {
    clock: Arc<dyn Clock>,
    records: Mutex<AccountRecords>,
    archive: Archive,
    rules: FaultRules<AccountFault>,
}

impl SandboxIssuerAccounts {
    /// Opens or creates `issuer.accounts` in the directory, which must exist.
    ///
    /// # Errors
    /// When the disk fails, another process has the file, or it is corrupt before its tail.
    pub fn open(directory: &Path, clock: Arc<dyn Clock>) -> Result<Self, LogError> {
        let mut book = AccountRecords::default();
        let archive = Archive::open(&directory.join("issuer.accounts"), KIND, &mut book)?;
        Ok(Self {
            clock,
            records: Mutex::new(book),
            archive,
            rules: FaultRules::default(),
        })
    }

    pub fn add_fault(&self, rule: FaultRule<AccountFault>) {
        self.rules.add(rule);
    }

    pub fn clear_faults(&self) {
        self.rules.clear();
    }

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the log has stopped.
    pub async fn state(&self) -> Result<SandboxIssuerAccountSummary, LogError> {
        let (state, durable) = {
            let book = self.records.lock();
            let state = SandboxIssuerAccountSummary {
                opened: book.opened,
                rules: self.rules.pending(),
                faults_injected: self.rules.injected(),
            };
            (state, self.archive.barrier())
        };
        durable.wait().await.map(|()| state)
    }

    async fn open_account(&self, wallet: &Wallet) -> Result<IssuerAccountResult, PortError> {
        let fault = self.rules.take(|_| true);
        match fault {
            Some(AccountFault::Unreachable) => return Err(failed(ErrorKind::Temporary, "the sandbox is unreachable")),
            Some(AccountFault::MalformedResponse) => return Err(failed(ErrorKind::Unknown, "the answer is no answer")),
            Some(AccountFault::Slow { ms }) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Some(AccountFault::Decline) => {
                let reason = "account_declined".into();
                return Ok(IssuerAccountResult::Declined { reason });
            }
            Some(AccountFault::Timeout) | None => {}
        }
        self.persist(wallet)
            .wait()
            .await
            .map_err(|e| failed(ErrorKind::Unknown, &e.to_string()))?;
        if fault == Some(AccountFault::Timeout) {
            tokio::time::sleep(Duration::from_millis(TIMEOUT_MS)).await;
            return Err(failed(ErrorKind::Unknown, "no answer in time"));
        }
        let deposit_address = deposit_address(wallet);
        Ok(IssuerAccountResult::Open { deposit_address })
    }

    /// Adds a new account to the records and the log.
    fn persist(&self, wallet: &Wallet) -> DurablePromise {
        let mut book = self.records.lock();
        if book.has(wallet) {
            return self.archive.barrier();
        }
        let entry = AccountRecord::Opened {
            wallet: *wallet,
            at: self.clock.now(),
        };
        if self.archive.has_failed() || book.apply(&entry).is_err() {
            return DurablePromise::broken();
        }
        // Encoding plain data into memory cannot fail.
        let record = bincode::encode_to_vec(&entry, bincode::config::standard()).unwrap_or_default();
        self.archive.append(&mut *book, record)
    }
}

impl IssuerAccounts for SandboxIssuerAccounts {
    fn open<'a>(&'a self, holder: &'a Wallet) -> BoxFuture<'a, Result<IssuerAccountResult, PortError>> {
        Box::pin(self.open_account(holder))
    }
}

/// The deposit address on Base of a wallet's account at the sandbox's issuer.
pub fn deposit_address(wallet: &Wallet) -> [u8; 20] {
    let hash: [u8; 32] = Sha256::new_with_prefix(b"purser SANDBOX deposit address")
        .chain_update(wallet.key())
        .finalize()
        .into();
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    address
}

fn failed(kind: ErrorKind, message: &str) -> PortError {
    PortError {
        kind,
        operation: "open account",
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::system::SystemClock;

    fn open(dir: &Path) -> SandboxIssuerAccounts {
        SandboxIssuerAccounts::open(dir, Arc::new(SystemClock)).unwrap()
    }

    // Checks: a wallet has one account and one address, after any number of requests, lost responses and a restart.
    #[tokio::test]
    async fn wallet_has_one_permanent_account() {
        let dir = tempfile::tempdir().unwrap();
        let (first, other) = (Wallet::Evm([1; 20]), Wallet::Solana([1; 32]));
        let accounts = open(dir.path());
        let deposit_address = deposit_address(&first);
        let is_open = Ok(IssuerAccountResult::Open { deposit_address });
        let (fault, remaining) = (AccountFault::Timeout, Some(1));
        accounts.add_fault(FaultRule { fault, remaining });
        assert_eq!(
            accounts.open_account(&first).await.unwrap_err().kind,
            ErrorKind::Unknown
        );
        for _ in 0..10 {
            assert_eq!(accounts.open_account(&first).await, is_open);
        }
        assert_ne!(accounts.open_account(&other).await, is_open);
        assert_eq!(accounts.state().await.unwrap().opened, 2);
        drop(accounts);
        let accounts = open(dir.path());
        assert_eq!(accounts.open_account(&first).await, is_open);
        assert_eq!(accounts.state().await.unwrap().opened, 2);
    }

    // Checks: a failed call opens nothing, and its error reveals whether it may have.
    #[tokio::test]
    async fn faults_open_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = open(dir.path());
        let wallet = Wallet::Evm([1; 20]);
        for (fault, kind) in [
            (AccountFault::Unreachable, ErrorKind::Temporary),
            (AccountFault::MalformedResponse, ErrorKind::Unknown),
        ] {
            let remaining = Some(1);
            accounts.add_fault(FaultRule { fault, remaining });
            assert_eq!(accounts.open_account(&wallet).await.unwrap_err().kind, kind);
        }
        let (fault, remaining) = (AccountFault::Decline, Some(1));
        accounts.add_fault(FaultRule { fault, remaining });
        let declined = accounts.open_account(&wallet).await.unwrap();
        assert!(matches!(declined, IssuerAccountResult::Declined { .. }), "{declined:?}");
        assert_eq!(accounts.state().await.unwrap().opened, 0);
    }
}
