//! Records of the sandbox bridge. The transfers themselves are on the two chains.

use purser_actors::port::Timestamp;
use purser_storage::codec::Stored;
use sha2::{Digest as _, Sha256};

use purser_sandbox::record_book;
use purser_sandbox::records::{RecordBook, SandboxRecord, name};
use purser_sandbox::state::StoredValue;

/// A stored record. Each record is about one burn, which its transaction names.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct BridgeRecord {
    pub(super) transaction: String,
    pub(super) at: Timestamp,
    pub(super) kind: BridgeRecordKind,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum BridgeRecordKind {
    /// Signed: the content of the message account once it is burned.
    Signed(SignedBurnRecord),
    /// Submitted to Solana: it may burn at any time.
    Sent,
    /// Its block hash counts as expired: it never burns. Only for a burn that was not submitted.
    BurnExpired,
    /// The attesters observed the burn.
    BurnObserved,
    AttestationExpired,
    /// A new attestation was requested.
    Reattested,
    /// The mint was submitted to Base: it may be confirmed at any time.
    MintSent,
    /// It can never be minted. Only for a mint that was not submitted.
    Blocked,
    /// The mint was declined for now.
    MintDeclined,
    /// The mint was observed on Base.
    Minted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct SignedBurnRecord {
    /// Key of the bridge transfer, which may be signed more than once.
    pub(super) key: u128,
    pub(super) to: [u8; 20],
    pub(super) burned: u64,
    pub(super) fee: u64,
}

impl Stored for BridgeRecord {
    const SCHEMA: u16 = 722;
}

impl SandboxRecord for BridgeRecord {
    fn names(&self) -> Vec<u64> {
        let mut names = vec![by_transaction(&self.transaction)];
        if let BridgeRecordKind::Signed(signed) = &self.kind {
            names.push(by_nonce(&nonce_of(&self.transaction)));
            names.push(by_key(signed.key));
        }
        names
    }

    fn is_numbered(&self) -> bool {
        // Everything that is on the list of bridge transfers.
        matches!(
            self.kind,
            BridgeRecordKind::BurnObserved | BridgeRecordKind::Minted | BridgeRecordKind::Blocked
        )
    }
}

/// The nonce of a burn's message: always the same for the same burn.
pub(super) fn nonce_of(transaction: &str) -> [u8; 32] {
    Sha256::digest(format!("sandbox bridge {transaction}")).into()
}

fn by_transaction(transaction: &str) -> u64 {
    name(&[b"transaction", transaction.as_bytes()])
}

fn by_nonce(nonce: &[u8; 32]) -> u64 {
    name(&[b"nonce", nonce])
}

fn by_key(key: u128) -> u64 {
    name(&[b"key", &key.to_be_bytes()])
}

#[derive(Debug, Default, bincode::Encode, bincode::Decode)]
pub(crate) struct BridgeTotals {
    pub(super) burns: u64,
    /// The bridge's time never runs backwards.
    pub(super) now: Timestamp,
}

impl Stored for BridgeTotals {
    const SCHEMA: u16 = 723;
}

record_book! {
    pub(crate) struct BridgeRecords of BridgeRecord {
        pub(super) totals: StoredValue<BridgeTotals>,
    }
}

impl BridgeRecords {
    /// All records of a burn, oldest first.
    pub(super) fn of(&self, transaction: &str) -> Vec<BridgeRecord> {
        let mut found = self.rows.find(by_transaction(transaction));
        found.retain(|noted| noted.transaction == transaction);
        found
    }

    /// The burn with this nonce.
    pub(super) fn with_nonce(&self, nonce: &[u8; 32]) -> Option<String> {
        let found = self.rows.find(by_nonce(nonce)).into_iter();
        found
            .map(|noted| noted.transaction)
            .find(|transaction| nonce_of(transaction) == *nonce)
    }

    /// How often the bridge transfer was signed.
    pub(super) fn rounds(&self, key: u128) -> usize {
        let found = self.rows.find(by_key(key)).into_iter();
        found
            .filter(|noted| matches!(noted.kind, BridgeRecordKind::Signed(signed) if signed.key == key))
            .count()
    }
}

impl RecordBook for BridgeRecords {
    fn apply(&mut self, noted: &BridgeRecord) -> Result<(), String> {
        self.totals.burns += u64::from(noted.kind == BridgeRecordKind::BurnObserved);
        self.totals.now = self.totals.now.max(noted.at);
        Ok(())
    }
}
