//! State of a sandbox chain or provider: in memory, and in rows of the journal that are written when they change.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use bincode::{Decode, Encode};
use purser_storage::codec::{self, Stored};

/// A stored field of a book.
pub trait StateField {
    /// Takes one of its rows over.
    ///
    /// # Errors
    /// When the row does not fit.
    fn load(&mut self, key: &[u8], value: &[u8]) -> Result<(), String>;

    /// Passes the keys that changed since the last call, with the new value; `None` if there is none any more.
    fn take_changes(&mut self, write: &mut dyn FnMut(Vec<u8>, Option<Vec<u8>>));
}

/// One value in one row.
#[derive(Debug, Default)]
pub struct StoredValue<T> {
    value: T,
    /// As last written.
    written: Vec<u8>,
}

impl<T> Deref for StoredValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for StoredValue<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Stored> StateField for StoredValue<T> {
    fn load(&mut self, _: &[u8], value: &[u8]) -> Result<(), String> {
        self.value = codec::decode(value).map_err(|e| e.to_string())?;
        self.written = value.to_vec();
        Ok(())
    }

    fn take_changes(&mut self, write: &mut dyn FnMut(Vec<u8>, Option<Vec<u8>>)) {
        let bytes = codec::encode(&self.value);
        if bytes != self.written {
            self.written.clone_from(&bytes);
            write(Vec::new(), Some(bytes));
        }
    }
}

/// A map with a row for each entry.
#[derive(Debug)]
pub struct StoredMap<K, V> {
    entries: BTreeMap<K, V>,
    changed: Vec<K>,
}

impl<K, V> Default for StoredMap<K, V> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            changed: Vec::new(),
        }
    }
}

/// Read like the map; changed by the methods below, which note the key.
impl<K, V> Deref for StoredMap<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &BTreeMap<K, V> {
        &self.entries
    }
}

impl<K: Ord + Clone, V> StoredMap<K, V> {
    pub fn insert(&mut self, key: K, value: V) {
        self.changed.push(key.clone());
        self.entries.insert(key, value);
    }

    pub fn remove(&mut self, key: &K) {
        if self.entries.remove(key).is_some() {
            self.changed.push(key.clone());
        }
    }

    /// The entry to change, if there is one.
    pub fn change(&mut self, key: &K) -> Option<&mut V> {
        let entry = self.entries.get_mut(key)?;
        self.changed.push(key.clone());
        Some(entry)
    }

    /// The entry to change.
    pub fn change_or_default(&mut self, key: &K) -> &mut V
    where
        V: Default,
    {
        self.changed.push(key.clone());
        self.entries.entry(key.clone()).or_default()
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        let gone: Vec<K> = self
            .entries
            .iter()
            .filter(|(key, value)| !keep(key, value))
            .map(|(key, _)| key.clone())
            .collect();
        gone.iter().for_each(|key| self.remove(key));
    }
}

impl<K, V> StateField for StoredMap<K, V>
where
    K: Ord + Clone + Encode + Decode<()>,
    V: Stored,
{
    fn load(&mut self, key: &[u8], value: &[u8]) -> Result<(), String> {
        let (key, _) =
            bincode::decode_from_slice(key, bincode::config::standard()).map_err(|e| format!("a key: {e}"))?;
        let value = codec::decode(value).map_err(|e| e.to_string())?;
        self.entries.insert(key, value);
        Ok(())
    }

    fn take_changes(&mut self, write: &mut dyn FnMut(Vec<u8>, Option<Vec<u8>>)) {
        self.changed.sort_unstable();
        self.changed.dedup();
        for key in self.changed.drain(..) {
            // Encoding plain data into memory has no failing case.
            let at = bincode::encode_to_vec(&key, bincode::config::standard()).unwrap_or_default();
            write(at, self.entries.get(&key).map(codec::encode));
        }
    }
}
