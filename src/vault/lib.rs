//! Stores card numbers and gift card codes in sealed records, one per card, that only the keyring opens.
//!
//! A record is `version (1) | key id (4) | nonce (24) | ciphertext and tag`, XChaCha20-Poly1305. The header before the
//! nonce and the card's id are authenticated with it, so a record opens for its own card only. The nonce is random: 192
//! bits need no counter. A record of version 2 contains no secret but names the key that secrets are derived from
//! ([`Vault::derive`]). It stays under that key, which cannot be removed while such a record exists. CVVs of issuers
//! are never stored here; those that operators enter have separate keys ([`CvvVault`]).

mod cvv;
mod derive;
pub mod document_backup;
mod documents;
mod keyring;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use parking_lot::RwLock;
use purser_actors::id::CardId;
use purser_actors::port::Entropy;
use zeroize::Zeroizing;

pub use self::cvv::CvvVault;
pub use self::documents::DocumentStore;
pub use self::keyring::KeyId;
use self::keyring::{DataKey, Keyring};
use purser_host::secret::{Key32, MacKey, Secret};

const VERSION: u8 = 1;
/// A record that stays under its key, because a secret is derived from that key.
const ROOTED: u8 = 2;
const NONCE: usize = 24;
const HEADER: usize = 5;
const TAG: usize = 16;

/// Errors of the vault or its keys. No message contains a secret.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The record is not from this vault, was changed, or belongs to another card.
    #[error("the sealed record cannot be opened: {0}")]
    Sealed(&'static str),
    /// The record was sealed under a key that is not on the keyring.
    #[error("no key {0} on the keyring: start with the keyring that sealed this data")]
    MissingKey(KeyId),
    /// The CVV of an active card was sealed under a key that is not among the CVV keys.
    #[error("no key for the CVV of {0}: start with the directory of keys (cvv.keys) that sealed this data")]
    MissingCvvKey(CardId),
    /// The keyring is missing, but sealed records exist.
    #[error(
        "{} does not exist, and what is sealed in this store opens with no other: no backup holds keys, so copy it from the data \
         directory that was backed up, or set identity.vault_key_file to where it is",
        .0.display()
    )]
    MissingFile(PathBuf),
    /// Not a card number or expiry.
    #[error("not a card: {0}")]
    InvalidCardNumber(&'static str),
    /// The keyring file or setting is malformed.
    #[error("keyring: {0}")]
    Keyring(String),
    #[error("keyring file: {0}")]
    Io(#[from] std::io::Error),
    /// The keys come from a setting, so they are changed there.
    #[error("the keys come from the configuration: change them there")]
    ManagedInConfig,
    /// The active key cannot be removed, and neither can one that records are still sealed under.
    #[error("key {0} is still in use")]
    InUse(KeyId),
}

/// The sealed content: a card's number with its expiry.
#[derive(Clone, Debug)]
pub struct CardNumberRecord {
    number: Secret<String>,
    exp_month: u8,
    exp_year: u16,
}

impl CardNumberRecord {
    /// Whether the last digit is the check digit of the others (ISO/IEC 7812-1), as on every card.
    pub fn has_check_digit(&self) -> bool {
        let digits = self.number.expose_secret().bytes().rev().map(|b| u32::from(b - b'0'));
        let weighed = digits.enumerate().map(|(n, digit)| match (n % 2, digit * 2) {
            (0, _) => digit,
            (_, twice) => twice / 10 + twice % 10,
        });
        weighed.sum::<u32>() % 10 == 0
    }

    /// Checks the form: 12 to 19 ASCII digits, a month of 1 to 12, a year of four digits.
    ///
    /// # Errors
    /// [`VaultError::InvalidCardNumber`].
    pub fn new(number: Secret<String>, exp_month: u8, exp_year: u16) -> Result<Self, VaultError> {
        let digits = number.expose_secret();
        if !(12..=19).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(VaultError::InvalidCardNumber("number"));
        }
        if !(1..=12).contains(&exp_month) || !(1000..=9999).contains(&exp_year) {
            return Err(VaultError::InvalidCardNumber("expiry"));
        }
        Ok(Self {
            number,
            exp_month,
            exp_year,
        })
    }

    pub const fn number(&self) -> &Secret<String> {
        &self.number
    }

    /// 1 to 12.
    pub const fn exp_month(&self) -> u8 {
        self.exp_month
    }

    /// Expiry year, four digits.
    pub const fn exp_year(&self) -> u16 {
        self.exp_year
    }

    /// The last four digits, which may be shown.
    pub fn last4(&self) -> String {
        let digits = self.number.expose_secret();
        digits
            .get(digits.len().saturating_sub(4)..)
            .unwrap_or_default()
            .to_owned()
    }

    fn to_plain(&self) -> Zeroizing<Vec<u8>> {
        let digits = self.number.expose_secret().as_bytes();
        let mut plain = Zeroizing::new(Vec::with_capacity(3 + digits.len()));
        plain.push(self.exp_month);
        plain.extend_from_slice(&self.exp_year.to_be_bytes());
        plain.extend_from_slice(digits);
        plain
    }

    fn from_plain(plain: &[u8]) -> Result<Self, VaultError> {
        let ([month, y1, y2], digits) = plain.split_first_chunk::<3>().ok_or(VaultError::Sealed("content"))?;
        let digits = std::str::from_utf8(digits).map_err(|_| VaultError::Sealed("content"))?;
        Self::new(Secret::new(digits.to_owned()), *month, u16::from_be_bytes([*y1, *y2]))
    }
}

/// Seals and opens card numbers.
#[derive(Debug)]
pub struct Vault {
    keyring: RwLock<Keyring>,
    entropy: VaultRng,
}

struct VaultRng(Arc<dyn Entropy>);

impl std::fmt::Debug for VaultRng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("entropy")
    }
}

impl VaultRng {
    fn bytes(&self) -> Zeroizing<[u8; 32]> {
        let mut bytes = Zeroizing::new([0; 32]);
        bytes[..16].copy_from_slice(&self.0.random().to_be_bytes());
        bytes[16..].copy_from_slice(&self.0.random().to_be_bytes());
        bytes
    }
}

impl Vault {
    /// Opens the keyring file. If it is missing and `create` allows it, creates one with a new key. Allow it only where
    /// no sealed data exists, and [`check`](Self::check) a sealed sample before accepting requests.
    ///
    /// # Errors
    /// When the file is missing and may not be created, is readable by other users, is corrupt, or the disk fails.
    pub fn from_file(path: &Path, create: bool, entropy: Arc<dyn Entropy>) -> Result<Self, VaultError> {
        let entropy = VaultRng(entropy);
        let keyring = match Keyring::load(path)? {
            Some(keyring) => keyring,
            None if create => Keyring::create(path, DataKey::new(&entropy.bytes()))?,
            None => return Err(VaultError::MissingFile(path.to_owned())),
        };
        Ok(Self {
            keyring: RwLock::new(keyring),
            entropy,
        })
    }

    /// Loads keys from a setting: 64 hex digits each, separated by commas, the last one active.
    ///
    /// # Errors
    /// [`VaultError::Keyring`] for anything else.
    pub fn from_setting(keys: &Secret<String>, entropy: Arc<dyn Entropy>) -> Result<Self, VaultError> {
        let keyring = Keyring::from_setting(keys)?;
        Ok(Self {
            keyring: RwLock::new(keyring),
            entropy: VaultRng(entropy),
        })
    }

    /// Seals a card's number under the active key.
    ///
    /// # Errors
    /// [`VaultError::Sealed`] if the cipher fails, which cannot happen for inputs of this size.
    pub fn seal(&self, card: CardId, number: &CardNumberRecord) -> Result<Vec<u8>, VaultError> {
        self.seal_bytes(card, &number.to_plain())
    }

    /// Seals another bearer secret of a card under the active key.
    ///
    /// # Errors
    /// As [`seal`](Self::seal).
    pub fn seal_bytes(&self, card: CardId, plain: &[u8]) -> Result<Vec<u8>, VaultError> {
        let keyring = self.keyring.read();
        self.seal_under(VERSION, keyring.active(), card, plain)
    }

    fn seal_under(
        &self,
        version: u8,
        (id, key): (KeyId, &DataKey),
        card: CardId,
        plain: &[u8],
    ) -> Result<Vec<u8>, VaultError> {
        let random = self.entropy.bytes();
        let mut record = Vec::with_capacity(HEADER + NONCE + plain.len() + TAG);
        record.push(version);
        record.extend_from_slice(&id.0);
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&random[..NONCE]);
        let aad = associated(&record, card);
        let sealed = cipher(key)
            .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: &aad })
            .map_err(|_| VaultError::Sealed("cipher"))?;
        record.extend_from_slice(&nonce);
        record.extend_from_slice(&sealed);
        Ok(record)
    }

    /// Opens a card's record.
    ///
    /// # Errors
    /// [`VaultError::MissingKey`] when its key is not on the keyring, [`VaultError::Sealed`] when it is corrupt or
    /// another card's.
    pub fn open(&self, card: CardId, record: &[u8]) -> Result<CardNumberRecord, VaultError> {
        CardNumberRecord::from_plain(&self.open_bytes(card, record)?)
    }

    /// Opens what [`seal_bytes`](Self::seal_bytes) sealed.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_bytes(&self, card: CardId, record: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let id = key_of(record)?;
        let (header, rest) = record.split_at(HEADER);
        let (nonce, sealed) = rest
            .split_first_chunk::<NONCE>()
            .ok_or(VaultError::Sealed("truncated"))?;
        let keyring = self.keyring.read();
        let key = keyring.get(id).ok_or(VaultError::MissingKey(id))?;
        let aad = associated(header, card);
        cipher(key)
            .decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: &aad })
            .map(Zeroizing::new)
            .map_err(|_| VaultError::Sealed("changed, or another card's"))
    }

    /// A keyed digest for comparison only: the content cannot be found from it by brute force. It changes when the
    /// oldest key of the ring is removed.
    pub fn digest(&self, plain: &[u8]) -> [u8; 32] {
        let keyring = self.keyring.read();
        let of = |key: &[u8; 32]| MacKey::new(&Key32::new(*key));
        let own = of(keyring.oldest().expose_key()).tag(&[b"purser vault digest"]);
        of(&own).tag(&[plain])
    }

    /// Call with a stored record before accepting requests: a vault that cannot open its data must not start.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn check(&self, card: CardId, record: &[u8]) -> Result<(), VaultError> {
        self.open_bytes(card, record).map(drop)
    }

    /// Adds a new key durably and seals with it from now on. Records under older keys still open.
    ///
    /// # Errors
    /// When the disk fails (nothing has changed then) or the keys come from a setting.
    pub fn rotate(&self) -> Result<KeyId, VaultError> {
        let key = DataKey::new(&self.entropy.bytes());
        self.keyring.write().add(key)
    }

    pub fn active_key(&self) -> KeyId {
        self.keyring.read().active().0
    }

    /// Every key on the ring, oldest first.
    pub fn keys(&self) -> Vec<KeyId> {
        self.keyring.read().ids()
    }

    /// Reseals a record under the active key, so that a rotation can remove the old key. `None` if it already is under
    /// the active key, or if a secret is derived from the old one: that key stays.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`seal`](Self::seal).
    pub fn reseal(&self, card: CardId, record: &[u8]) -> Result<Option<Vec<u8>>, VaultError> {
        if key_of(record)? == self.active_key() || record.first() == Some(&ROOTED) {
            return Ok(None);
        }
        self.seal_bytes(card, &self.open_bytes(card, record)?).map(Some)
    }

    /// Removes an old key, after checking `records`: every stored sealed record, exports included.
    ///
    /// # Errors
    /// [`VaultError::InUse`] for the active key and for one that a record names; also when a record is malformed.
    pub fn remove_key<'a>(&self, id: KeyId, records: impl IntoIterator<Item = &'a [u8]>) -> Result<(), VaultError> {
        if keys_in_use(records)?.contains(&id) {
            return Err(VaultError::InUse(id));
        }
        self.keyring.write().remove(id)
    }
}

/// The keys that these records are sealed under.
///
/// # Errors
/// [`VaultError::Sealed`] for bytes that are not a record of a known version.
pub fn keys_in_use<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Result<BTreeSet<KeyId>, VaultError> {
    records.into_iter().map(key_of).collect()
}

fn key_of(record: &[u8]) -> Result<KeyId, VaultError> {
    if record.len() < HEADER + NONCE + TAG {
        return Err(VaultError::Sealed("truncated"));
    }
    match record {
        [VERSION | ROOTED, a, b, c, d, ..] => Ok(KeyId([*a, *b, *c, *d])),
        _ => Err(VaultError::Sealed("unknown version")),
    }
}

fn associated(header: &[u8], card: CardId) -> Vec<u8> {
    [b"purser card number".as_slice(), header, &card.0.to_be_bytes()].concat()
}

fn cipher(key: &DataKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.expose_key().into())
}

#[cfg(test)]
mod tests;
