//! Records of the sandbox bridge, in an archive. The transfers themselves are on the two chains.

use purser_actors::port::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::sandbox::archive::{ArchiveRecord, ArchiveState, RecordBuffer, name};

/// Contents of the file. Each record is about one burn, which its transaction names.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct BridgeRecord {
    pub(super) transaction: String,
    pub(super) at: Timestamp,
    pub(super) kind: BridgeRecordKind,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum BridgeRecordKind {
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
pub(super) struct SignedBurnRecord {
    /// Key of the bridge transfer, which may be signed more than once.
    pub(super) key: u128,
    pub(super) to: [u8; 20],
    pub(super) burned: u64,
    pub(super) fee: u64,
}

impl ArchiveRecord for BridgeRecord {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (noted, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(vec![noted])
        } else {
            Err("trailing bytes".into())
        }
    }

    fn index_keys(&self) -> Vec<u64> {
        let mut names = vec![by_transaction(&self.transaction)];
        if let BridgeRecordKind::Signed(signed) = &self.kind {
            names.push(by_nonce(&nonce_of(&self.transaction)));
            names.push(by_key(signed.key));
        }
        names
    }

    fn is_counted(&self) -> bool {
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

#[derive(Default)]
pub(super) struct BridgeRecords {
    pub(super) buffer: RecordBuffer<BridgeRecord>,
    pub(super) burns: u64,
    /// The bridge's time never runs backwards.
    pub(super) now: Timestamp,
}

impl BridgeRecords {
    /// All records of a burn, oldest first.
    pub(super) fn of(&self, transaction: &str) -> Vec<BridgeRecord> {
        let mut found = self.buffer.find(by_transaction(transaction));
        found.retain(|noted| noted.transaction == transaction);
        found
    }

    /// The burn with this nonce.
    pub(super) fn with_nonce(&self, nonce: &[u8; 32]) -> Option<String> {
        let found = self.buffer.find(by_nonce(nonce)).into_iter();
        found
            .map(|noted| noted.transaction)
            .find(|transaction| nonce_of(transaction) == *nonce)
    }

    /// How often the bridge transfer was signed.
    pub(super) fn rounds(&self, key: u128) -> usize {
        let found = self.buffer.find(by_key(key)).into_iter();
        found
            .filter(|noted| matches!(noted.kind, BridgeRecordKind::Signed(signed) if signed.key == key))
            .count()
    }
}

impl ArchiveState for BridgeRecords {
    type Item = BridgeRecord;

    fn apply(&mut self, noted: &BridgeRecord) -> Result<(), String> {
        self.burns += u64::from(noted.kind == BridgeRecordKind::BurnObserved);
        self.now = self.now.max(noted.at);
        self.buffer.add(noted.clone());
        Ok(())
    }

    fn buffer(&mut self) -> &mut RecordBuffer<BridgeRecord> {
        &mut self.buffer
    }

    fn save(&self) -> Vec<u8> {
        // Encoding plain data into memory cannot fail.
        bincode::encode_to_vec((self.burns, self.now), bincode::config::standard()).unwrap_or_default()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let (saved, _) = bincode::decode_from_slice(saved, bincode::config::standard()).map_err(|e| e.to_string())?;
        (self.burns, self.now) = saved;
        Ok(())
    }

    fn weight(&self) -> usize {
        0
    }
}
