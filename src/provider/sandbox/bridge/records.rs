//! What the sandbox bridge has seen, kept in an archive: the rest is on the two chains.

use purser_actors::port::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::sandbox::archive::{ArchiveRecord, ArchiveState, RecordBuffer, name};

/// What the file holds. Everything is about one burn, which its transaction names.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct BridgeRecord {
    pub(super) transaction: String,
    pub(super) at: Timestamp,
    pub(super) kind: BridgeRecordKind,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum BridgeRecordKind {
    /// Signed: what the message account will say once it is burned.
    Signed(SignedBurnRecord),
    /// It was given to Solana: it may burn at any time.
    Sent,
    /// Its block hash is taken to be dead: it never burns. Only of what was not sent.
    BurnExpired,
    /// The attesters saw it.
    BurnObserved,
    /// Their word lapsed.
    AttestationExpired,
    /// They were asked for another.
    Reattested,
    /// Its mint was given to Base: it may land at any time.
    MintSent,
    /// It can never be minted. Only of what was not sent.
    Blocked,
    /// Its mint was refused for now.
    MintDeclined,
    /// Its mint was seen on Base.
    Minted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct SignedBurnRecord {
    /// Of the crossing, which may be signed more than once.
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
        // What is on the list of crossings.
        matches!(
            self.kind,
            BridgeRecordKind::BurnObserved | BridgeRecordKind::Minted | BridgeRecordKind::Blocked
        )
    }
}

/// The nonce that the attesters give a message: the same burn always has the same.
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
    /// Burns that were seen.
    pub(super) burns: u64,
    /// The bridge's time never runs backwards.
    pub(super) now: Timestamp,
}

impl BridgeRecords {
    /// All that is known of a burn, oldest first.
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

    /// How often a crossing was signed.
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
        // Encoding plain data into memory has no failing case.
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
