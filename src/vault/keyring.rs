//! The vault's keys, in their own file (mode 0600) or from a setting. The last key of the ring is the active one.
//!
//! The file is text: a first line that names the format, then `key-id key` in hex, one per line. An id is the beginning
//! of the key's own hash, so a corrupt line is never accepted as a key.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::VaultError;
use purser_host::private_file;
use purser_host::secret::Secret;

const FORMAT: &str = "purser vault keyring 1";
/// Enough for hundreds of keys; bounds the read of a wrong file.
const FILE_LIMIT: u64 = 64 * 1024;

/// Names a key in every record that it sealed: the first four bytes of the key's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub [u8; 4]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[derive(Debug)]
pub(super) struct DataKey(Secret<[u8; 32]>);

impl DataKey {
    pub(super) const fn new(bytes: &[u8; 32]) -> Self {
        Self(Secret::new(*bytes))
    }

    pub(super) const fn expose_key(&self) -> &[u8; 32] {
        self.0.expose_secret()
    }

    fn id(&self) -> KeyId {
        let mut hash = Sha256::new();
        hash.update(b"purser vault key id");
        hash.update(self.expose_key());
        let hash = hash.finalize();
        KeyId([hash[0], hash[1], hash[2], hash[3]])
    }
}

/// A set of keys that is never empty.
#[derive(Debug)]
pub(super) struct Keyring {
    older: Vec<(KeyId, DataKey)>,
    active: (KeyId, DataKey),
    file: Option<PathBuf>,
}

impl Keyring {
    /// `None` when there is no file.
    pub(super) fn load(path: &Path) -> Result<Option<Self>, VaultError> {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mode = file.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            let text = format!(
                "{} is open to others (mode {:o}); make it 0600",
                path.display(),
                mode & 0o777
            );
            return Err(VaultError::Keyring(text));
        }
        let mut text = Zeroizing::new(String::new());
        file.take(FILE_LIMIT).read_to_string(&mut text)?;
        let mut lines = text.lines();
        if lines.next() != Some(FORMAT) {
            return Err(VaultError::Keyring(format!("{} is not a keyring", path.display())));
        }
        let mut keys = Vec::new();
        for (number, line) in lines.enumerate() {
            let damaged = || VaultError::Keyring(format!("{} is damaged in line {}", path.display(), number + 2));
            let (id, key) = line.split_once(' ').ok_or_else(damaged)?;
            let key = read_key(key).ok_or_else(damaged)?;
            if key.id().to_string() != id {
                return Err(damaged());
            }
            keys.push((key.id(), key));
        }
        Self::of(keys, Some(path.to_owned())).map(Some)
    }

    pub(super) fn create(path: &Path, key: DataKey) -> Result<Self, VaultError> {
        let keyring = Self::of(vec![(key.id(), key)], Some(path.to_owned()))?;
        keyring.save()?;
        Ok(keyring)
    }

    pub(super) fn from_setting(setting: &Secret<String>) -> Result<Self, VaultError> {
        let parse = |(number, text): (usize, &str)| {
            let key = read_key(text.trim());
            let key = key.ok_or_else(|| VaultError::Keyring(format!("key {} is not 64 hex digits", number + 1)))?;
            Ok((key.id(), key))
        };
        let keys: Result<Vec<_>, VaultError> = setting.expose_secret().split(',').enumerate().map(parse).collect();
        Self::of(keys?, None)
    }

    fn of(mut keys: Vec<(KeyId, DataKey)>, file: Option<PathBuf>) -> Result<Self, VaultError> {
        let mut ids: Vec<_> = keys.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(VaultError::Keyring("the same key twice".into()));
        }
        let active = keys.pop().ok_or_else(|| VaultError::Keyring("no key".into()))?;
        Ok(Self {
            older: keys,
            active,
            file,
        })
    }

    pub(super) const fn active(&self) -> (KeyId, &DataKey) {
        (self.active.0, &self.active.1)
    }

    pub(super) fn oldest(&self) -> &DataKey {
        self.older.first().map_or(&self.active.1, |(_, key)| key)
    }

    pub(super) fn oldest_id(&self) -> KeyId {
        self.older.first().map_or(self.active.0, |(id, _)| *id)
    }

    pub(super) fn get(&self, id: KeyId) -> Option<&DataKey> {
        std::iter::once(&self.active)
            .chain(&self.older)
            .find(|(known, _)| *known == id)
            .map(|(_, key)| key)
    }

    pub(super) fn ids(&self) -> Vec<KeyId> {
        self.older.iter().chain([&self.active]).map(|(id, _)| *id).collect()
    }

    pub(super) fn add(&mut self, key: DataKey) -> Result<KeyId, VaultError> {
        if self.file.is_none() {
            return Err(VaultError::ManagedInConfig);
        }
        let id = key.id();
        if self.get(id).is_some() {
            return Err(VaultError::Keyring("the same key twice".into()));
        }
        self.older.push(std::mem::replace(&mut self.active, (id, key)));
        if let Err(error) = self.save() {
            if let Some(previous) = self.older.pop() {
                self.active = previous;
            }
            return Err(error);
        }
        Ok(id)
    }

    pub(super) fn remove(&mut self, id: KeyId) -> Result<(), VaultError> {
        if self.file.is_none() {
            return Err(VaultError::ManagedInConfig);
        }
        if id == self.active.0 {
            return Err(VaultError::InUse(id));
        }
        let place = self
            .older
            .iter()
            .position(|(known, _)| *known == id)
            .ok_or(VaultError::MissingKey(id))?;
        let removed = self.older.remove(place);
        if let Err(error) = self.save() {
            self.older.insert(place, removed);
            return Err(error);
        }
        Ok(())
    }

    /// Replaces the file atomically: written beside it, synced, renamed, and the directory synced.
    fn save(&self) -> Result<(), VaultError> {
        let Some(path) = &self.file else {
            return Err(VaultError::ManagedInConfig);
        };
        let mut text = Zeroizing::new(String::with_capacity(128 * (self.older.len() + 2)));
        text.push_str(FORMAT);
        text.push('\n');
        for (id, key) in self.older.iter().chain([&self.active]) {
            let digits = Zeroizing::new(hex::encode(key.expose_key()));
            text.push_str(&id.to_string());
            text.push(' ');
            text.push_str(&digits);
            text.push('\n');
        }
        // A temporary file of a process that died here may contain a key that is removed now.
        private_file::remove_stale_temp_files(path)?;
        Ok(private_file::replace(path, text.as_bytes())?)
    }
}

fn read_key(digits: &str) -> Option<DataKey> {
    let mut bytes = Zeroizing::new([0; 32]);
    hex::decode_to_slice(digits, bytes.as_mut_slice()).ok()?;
    Some(DataKey::new(&bytes))
}
