//! What the sandbox's keeper of balances has seen, kept in an archive and found by address.

use purser_actors::port::Timestamp;

use crate::sandbox::archive::{Book, Item, Shelf, name};

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) enum Entry {
    /// The chain was read up to this position.
    Looked(u64),
    /// USDC reached an address.
    Arrived {
        address: [u8; 20],
        transaction: String,
        atomic: u64,
        at: Timestamp,
    },
}

impl Entry {
    const fn address(&self) -> Option<&[u8; 20]> {
        match self {
            Self::Looked(_) => None,
            Self::Arrived { address, .. } => Some(address),
        }
    }
}

impl Item for Entry {
    fn decode(record: &[u8]) -> Result<Vec<Self>, String> {
        let (entries, used) =
            bincode::decode_from_slice(record, bincode::config::standard()).map_err(|e| e.to_string())?;
        if used == record.len() {
            Ok(entries)
        } else {
            Err("trailing bytes".into())
        }
    }

    fn names(&self) -> Vec<u64> {
        self.address().map(by_address).into_iter().collect()
    }

    fn counts(&self) -> bool {
        self.address().is_some()
    }
}

fn by_address(address: &[u8; 20]) -> u64 {
    name(&[b"address", address])
}

#[derive(Default)]
pub(super) struct BalanceBook {
    shelf: Shelf<Entry>,
    /// Up to where the chain was read.
    pub(super) position: u64,
}

impl BalanceBook {
    /// All that happened at an address, oldest first.
    pub(super) fn of(&self, address: &[u8; 20]) -> Vec<Entry> {
        let mut found = self.shelf.find(by_address(address));
        found.retain(|entry| entry.address() == Some(address));
        found
    }
}

impl Book for BalanceBook {
    type Item = Entry;

    fn apply(&mut self, entry: &Entry) -> Result<(), String> {
        if let Entry::Looked(position) = entry {
            self.position = self.position.max(*position);
        }
        self.shelf.add(entry.clone());
        Ok(())
    }

    fn shelf(&mut self) -> &mut Shelf<Entry> {
        &mut self.shelf
    }

    fn save(&self) -> Vec<u8> {
        // Encoding plain data into memory has no failing case.
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
