//! Deposits that the sandbox's issuer has observed, in an archive, indexed by address.

use purser_actors::port::Timestamp;

use crate::sandbox::archive::{ArchiveRecord, ArchiveState, RecordBuffer, name};

/// Contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum BalanceRecord {
    /// The chain was read up to this position.
    Cursor(u64),
    /// USDC reached an address.
    Deposit {
        address: [u8; 20],
        transaction: String,
        atomic: u64,
        at: Timestamp,
    },
}

impl BalanceRecord {
    const fn address(&self) -> Option<&[u8; 20]> {
        match self {
            Self::Cursor(_) => None,
            Self::Deposit { address, .. } => Some(address),
        }
    }
}

impl ArchiveRecord for BalanceRecord {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (entries, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(entries)
        } else {
            Err("trailing bytes".into())
        }
    }

    fn index_keys(&self) -> Vec<u64> {
        self.address().map(by_address).into_iter().collect()
    }

    fn is_counted(&self) -> bool {
        self.address().is_some()
    }
}

fn by_address(address: &[u8; 20]) -> u64 {
    name(&[b"address", address])
}

#[derive(Default)]
pub(super) struct BalanceRecords {
    buffer: RecordBuffer<BalanceRecord>,
    /// Position up to which the chain was read.
    pub(super) position: u64,
}

impl BalanceRecords {
    /// All records of an address, oldest first.
    pub(super) fn of(&self, address: &[u8; 20]) -> Vec<BalanceRecord> {
        let mut found = self.buffer.find(by_address(address));
        found.retain(|entry| entry.address() == Some(address));
        found
    }
}

impl ArchiveState for BalanceRecords {
    type Item = BalanceRecord;

    fn apply(&mut self, entry: &BalanceRecord) -> Result<(), String> {
        if let BalanceRecord::Cursor(position) = entry {
            self.position = self.position.max(*position);
        }
        self.buffer.add(entry.clone());
        Ok(())
    }

    fn buffer(&mut self) -> &mut RecordBuffer<BalanceRecord> {
        &mut self.buffer
    }

    fn save(&self) -> Vec<u8> {
        // Encoding plain data into memory cannot fail.
        bincode::encode_to_vec(self.position, bincode::config::standard()).unwrap_or_default()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), String> {
        let (saved, _) = bincode::decode_from_slice(saved, bincode::config::standard()).map_err(|e| e.to_string())?;
        self.position = saved;
        Ok(())
    }

    fn weight(&self) -> usize {
        0
    }
}
