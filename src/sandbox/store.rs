//! The journal of the sandbox's chains and providers: a second [`JournalStore`] with its own directory, files and
//! threads.
//!
//! It shares no batch with the engine's store. After a kill a sandbox chain can therefore be ahead of the engine, as a
//! real chain would be. Chains and providers do share its group commit.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use purser_actors::kernel::answers;
use purser_actors::port::{ErrorKind, PortError};
use purser_storage::{Batch, Condition, JournalStore, OpenError, StoreError, StoreLimits, StoreOptions, Write};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::faults::failed;
use purser_host::system::SystemClock;

/// Directory of the journal below that of the sandbox.
pub const DIRECTORY: &str = "sandbox.store";
/// The smallest segments, which suit tests: a batch takes at most a quarter of a segment.
pub const SMALL_SEGMENTS: StoreLimits = StoreLimits {
    segment_bytes: 1 << 20,
    ..StoreLimits::sandbox()
};
/// Raise it when older rows can no longer be read. Version 1 had numbers of their full width.
const VERSION: u32 = 2;
/// Key of the version. No [`Table`] begins with this byte.
const VERSION_KEY: &[u8] = b"\0version";
/// Attempts to lock the journal while another process has it, and the pause between them.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// Files that sandboxes had before 0.1.0.
const OUTDATED_FILES: [&str; 2] = ["base.chain", "issuer.cards"];

/// Why the sandbox's state cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SandboxStoreError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Read(#[from] StoreError),
    #[error(
        "{0} has files of a sandbox older than Purser 0.1.0, which cannot be read: use another directory, or remove this one to start the sandbox anew"
    )]
    Outdated(String),
    #[error(
        "the sandbox's store in {directory} has version {found}, and this program reads version {VERSION}: use the Purser that wrote it, or remove it to start the sandbox anew"
    )]
    Version { directory: String, found: String },
    /// A row that does not fit.
    #[error("the sandbox's store is corrupt: {0}")]
    Corrupt(String),
    /// A write failed earlier. Whether the last records are durable is unknown until the next start.
    #[error("the sandbox's store has stopped")]
    Stopped,
}

/// Owners of rows. Stored: a number is never used for another owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    BaseChain = 1,
    SolanaChain = 2,
    Cards = 3,
    CardLedgers = 4,
    GiftCards = 5,
    Payouts = 6,
    IdentityChecks = 7,
    IssuerAccounts = 8,
    CardBalances = 9,
    ReloadableCards = 10,
    Bank = 11,
    Bridge = 12,
}

/// The open journal. Each table must be opened only once.
#[derive(Clone)]
pub struct SandboxStore(Arc<JournalStore>);

impl SandboxStore {
    /// Opens or creates the journal below `directory`, which must exist. `limits` are those of the engine's store.
    ///
    /// # Errors
    /// When it is of another version, another process has it, it is corrupt, or the disk fails.
    pub fn open(directory: &Path, limits: StoreLimits) -> Result<Self, SandboxStoreError> {
        let dir = directory.join(DIRECTORY);
        if !dir.exists() && OUTDATED_FILES.iter().any(|file| directory.join(file).exists()) {
            return Err(SandboxStoreError::Outdated(directory.display().to_string()));
        }
        let shown = dir.display().to_string();
        let limits = StoreLimits {
            segment_bytes: limits.segment_bytes.max(SMALL_SEGMENTS.segment_bytes),
            // Its segments have no readers: the rows are in the exports.
            retention_bytes: 64 << 20,
            sled_cache_bytes: 16 << 20,
            ..limits
        };
        let clock = Arc::new(|| SystemClock.micros());
        let store = Self(open_journal(&StoreOptions { dir, limits, clock })?);
        // Some tests open it outside a runtime.
        if let Ok(runtime) = Handle::try_current() {
            answers::run_on(&runtime, &store.0);
        }
        let version = VERSION.to_string().into_bytes();
        match store.0.read_row(VERSION_KEY)? {
            Some(row) if *row.value == *version => {}
            None if store.0.is_empty() => store.create(version),
            found => {
                let found = found.map_or_else(
                    || "unknown".into(),
                    |row| String::from_utf8_lossy(&row.value).into_owned(),
                );
                return Err(SandboxStoreError::Version {
                    directory: shown,
                    found,
                });
            }
        }
        Ok(store)
    }

    /// Not awaited: every later batch is durable after this one.
    fn create(&self, version: Vec<u8>) {
        let first = Batch {
            conditions: vec![Condition::Absent(VERSION_KEY.into())],
            writes: vec![Write::Put {
                key: VERSION_KEY.into(),
                revision: 0,
                value: version,
            }],
            ..Batch::default()
        };
        purser_storage::Store::commit(&*self.0, first, Box::new(drop));
    }

    pub const fn journal(&self) -> &Arc<JournalStore> {
        &self.0
    }
}

/// A process that has just ended has the journal until the kernel has cleaned up.
fn open_journal(options: &StoreOptions) -> Result<Arc<JournalStore>, OpenError> {
    for _ in 1..LOCK_ATTEMPTS {
        match JournalStore::open(options.clone()) {
            Err(OpenError::Locked(_)) => std::thread::sleep(LOCK_RETRY_INTERVAL),
            opened => return opened,
        }
    }
    JournalStore::open(options.clone())
}

/// Resolves when a batch and every batch before it is durable.
#[derive(Debug)]
#[must_use = "an answer must wait until what it rests on is durable"]
pub enum DurablePromise {
    Durable,
    Waiting(oneshot::Receiver<bool>),
    Broken,
}

impl DurablePromise {
    /// Waits for the sync.
    ///
    /// # Errors
    /// [`SandboxStoreError::Stopped`] when it could not be written.
    pub async fn wait(self) -> Result<(), SandboxStoreError> {
        let durable = match self {
            Self::Durable => true,
            Self::Waiting(done) => done.await.unwrap_or(false),
            Self::Broken => false,
        };
        if durable {
            Ok(())
        } else {
            Err(SandboxStoreError::Stopped)
        }
    }

    /// The same as a provider's error of this kind.
    ///
    /// # Errors
    /// As [`DurablePromise::wait`].
    pub async fn or(self, kind: ErrorKind, operation: &'static str) -> Result<(), PortError> {
        self.wait().await.map_err(|e| failed(kind, operation, e.to_string()))
    }
}
