//! Accounts at the sandbox's card issuer: one per wallet, permanent, each with its own deposit address.
//!
//! The address is derived from the wallet, so it is the same after any loss. The address has no key; the issuer counts
//! what it receives.

use std::sync::Arc;

use purser_actors::id::Wallet;
use purser_actors::port::{Clock, ErrorKind, IssuerAccountResult, IssuerAccounts, PortError, PortFuture, Timestamp};
use purser_storage::codec::Stored;
use sha2::{Digest as _, Sha256};

use purser_sandbox::faults::{Fault, FaultTexts, Faults};
use purser_sandbox::record_book;
use purser_sandbox::records::{Durable, RecordBook, Records, SandboxRecord, name};
use purser_sandbox::store::{SandboxStore, SandboxStoreError, Table};

/// Duration of a call that times out.
const TIMEOUT_MS: u64 = 1_000;
const TEXTS: FaultTexts = FaultTexts {
    unreachable: "the sandbox is unreachable",
    malformed: "the answer is no answer",
};
const OPEN: &str = "open account";

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
enum AccountRecord {
    /// An account was opened.
    Opened { wallet: Wallet, at: Timestamp },
}

fn by_wallet(wallet: &Wallet) -> u64 {
    name(&[b"wallet", &wallet.key()])
}

impl Stored for AccountRecord {
    const SCHEMA: u16 = 713;
}

impl SandboxRecord for AccountRecord {
    fn names(&self) -> Vec<u64> {
        let Self::Opened { wallet, .. } = self;
        vec![by_wallet(wallet)]
    }

    fn is_numbered(&self) -> bool {
        true
    }
}

record_book! {
    struct AccountRecords of AccountRecord {}
}

impl AccountRecords {
    fn has(&self, wallet: &Wallet) -> bool {
        let near = self.rows.find(by_wallet(wallet));
        near.iter().any(|AccountRecord::Opened { wallet: of, .. }| of == wallet)
    }
}

impl RecordBook for AccountRecords {}

/// The simulated issuer's accounts.
pub struct SandboxIssuerAccounts {
    clock: Arc<dyn Clock>,
    records: Records<AccountRecords>,
    pub faults: Faults,
}

impl SandboxIssuerAccounts {
    /// Opens its tables of the store.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open(store: &SandboxStore, clock: Arc<dyn Clock>) -> Result<Self, SandboxStoreError> {
        Ok(Self {
            clock,
            records: Records::open(store, Table::IssuerAccounts)?,
            faults: Faults::new(TEXTS, TIMEOUT_MS),
        })
    }

    /// Number of opened accounts, after they are durable.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn opened(&self) -> Result<u64, SandboxStoreError> {
        self.records.run(|book| book.rows.numbered()).wait().await
    }

    async fn open_account(&self, wallet: &Wallet) -> Result<IssuerAccountResult, PortError> {
        let fault = self.faults.before(OPEN, |_| true).await?;
        if fault == Some(Fault::Decline) {
            let reason = "account_declined".into();
            return Ok(IssuerAccountResult::Declined { reason });
        }
        self.add_account(wallet).or(ErrorKind::Unknown, OPEN).await?;
        self.faults.after(OPEN, fault).await?;
        let deposit_address = deposit_address(wallet);
        Ok(IssuerAccountResult::Open { deposit_address })
    }

    /// Stores the account if it is new.
    fn add_account(&self, wallet: &Wallet) -> Durable<()> {
        self.records.run(|book| {
            if !book.has(wallet) {
                let (wallet, at) = (*wallet, self.clock.now());
                book.append(&[AccountRecord::Opened { wallet, at }]);
            }
        })
    }
}

impl IssuerAccounts for SandboxIssuerAccounts {
    fn open<'a>(&'a self, holder: &'a Wallet) -> PortFuture<'a, IssuerAccountResult> {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;
    use purser_host::system::SystemClock;
    use purser_sandbox::test_store::store_in;

    fn open(dir: &Path) -> SandboxIssuerAccounts {
        SandboxIssuerAccounts::open(&store_in(dir), Arc::new(SystemClock)).unwrap()
    }

    // Checks: a wallet has one account and one address, after any number of requests, lost responses and a restart.
    #[tokio::test]
    async fn wallet_has_one_permanent_account() {
        let dir = tempfile::tempdir().unwrap();
        let (first, other) = (Wallet::Evm([1; 20]), Wallet::Solana([1; 32]));
        let accounts = open(dir.path());
        let deposit_address = deposit_address(&first);
        let is_open = Ok(IssuerAccountResult::Open { deposit_address });
        accounts.faults.add(Fault::Timeout, Some(1));
        assert_eq!(
            accounts.open_account(&first).await.unwrap_err().kind,
            ErrorKind::Unknown
        );
        for _ in 0..10 {
            assert_eq!(accounts.open_account(&first).await, is_open);
        }
        assert_ne!(accounts.open_account(&other).await, is_open);
        assert_eq!(accounts.opened().await.unwrap(), 2);
        drop(accounts);
        let accounts = open(dir.path());
        assert_eq!(accounts.open_account(&first).await, is_open);
        assert_eq!(accounts.opened().await.unwrap(), 2);
    }

    // Checks: a failed call opens nothing, and its error reveals whether it may have.
    #[tokio::test]
    async fn faults_open_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = open(dir.path());
        let wallet = Wallet::Evm([1; 20]);
        for (fault, kind) in [
            (Fault::Unreachable, ErrorKind::Temporary),
            (Fault::MalformedResponse, ErrorKind::Unknown),
        ] {
            accounts.faults.add(fault, Some(1));
            assert_eq!(accounts.open_account(&wallet).await.unwrap_err().kind, kind);
        }
        accounts.faults.add(Fault::Decline, Some(1));
        let declined = accounts.open_account(&wallet).await.unwrap();
        assert!(matches!(declined, IssuerAccountResult::Declined { .. }), "{declined:?}");
        assert_eq!(accounts.opened().await.unwrap(), 0);
    }
}
