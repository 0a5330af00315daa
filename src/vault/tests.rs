#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

const PAN: &str = "4000001234567899";
const CARD: CardId = CardId(42);

struct Counter(AtomicU64);

impl Entropy for Counter {
    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::SeqCst)) << 64
    }
}

fn entropy(start: u64) -> Arc<dyn Entropy> {
    Arc::new(Counter(AtomicU64::new(start)))
}

fn number() -> CardNumberRecord {
    CardNumberRecord::new(Secret::new(PAN.into()), 7, 2027).unwrap()
}

fn opens(vault: &Vault, record: &[u8]) -> bool {
    vault.open(CARD, record).is_ok_and(|n| {
        n.number().expose_secret() == PAN && (n.exp_month(), n.exp_year(), n.last4().as_str()) == (7, 2027, "7899")
    })
}

// A record opens for its own card, bit for bit, and for nothing else.
#[test]
fn a_record_opens_for_its_own_card_alone() {
    let dir = tempfile::tempdir().unwrap();
    let vault = Vault::from_file(&dir.path().join("keys"), true, entropy(1)).unwrap();
    let record = vault.seal(CARD, &number()).unwrap();
    assert!(opens(&vault, &record));
    assert!(!record.windows(8).any(|w| PAN.as_bytes().windows(8).any(|p| p == w)));
    assert_ne!(
        vault.seal(CARD, &number()).unwrap(),
        record,
        "a nonce is never used twice"
    );
    assert!(matches!(vault.open(CardId(43), &record), Err(VaultError::Sealed(_))));
    for at in 0..record.len() {
        let mut changed = record.clone();
        changed[at] ^= 1;
        assert!(vault.open(CARD, &changed).is_err(), "byte {at}");
        assert!(vault.open(CARD, &record[..at]).is_err(), "cut at {at}");
    }
}

// case_71: sealing continues while the key is rotated, and everything stays readable, across restarts too.
#[test]
fn case_71_rotation_keeps_everything_readable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys");
    let vault = Vault::from_file(&path, true, entropy(1)).unwrap();
    let old = vault.active_key();
    let first = vault.seal(CARD, &number()).unwrap();
    std::thread::scope(|scope| {
        let sealing = scope.spawn(|| {
            (0..200)
                .map(|_| vault.seal(CARD, &number()).unwrap())
                .collect::<Vec<_>>()
        });
        for _ in 0..3 {
            vault.rotate().unwrap();
        }
        assert!(sealing.join().unwrap().iter().all(|record| opens(&vault, record)));
    });
    assert_ne!(vault.active_key(), old);
    let again = Vault::from_file(&path, false, entropy(9_000)).unwrap();
    assert_eq!(again.keys(), vault.keys());
    assert!(opens(&again, &first));
    assert_eq!(
        keys_in_use([again.seal(CARD, &number()).unwrap().as_slice()]).unwrap(),
        [vault.active_key()].into()
    );
}

// case_71: an old key can only be removed when no record needs it; then its records report the missing key.
#[test]
fn case_71_an_old_key_goes_when_nothing_needs_it() {
    let dir = tempfile::tempdir().unwrap();
    let vault = Vault::from_file(&dir.path().join("keys"), true, entropy(1)).unwrap();
    let old = vault.active_key();
    let record = vault.seal(CARD, &number()).unwrap();
    assert!(
        matches!(vault.remove_key(old, []), Err(VaultError::InUse(id)) if id == old),
        "active"
    );
    vault.rotate().unwrap();
    assert!(matches!(vault.remove_key(old, [record.as_slice()]), Err(VaultError::InUse(id)) if id == old));
    assert!(
        vault.remove_key(old, [b"nonsense".as_slice()]).is_err(),
        "what cannot be read proves nothing"
    );
    let moved = vault.reseal(CARD, &record).unwrap().unwrap();
    assert!(vault.reseal(CARD, &moved).unwrap().is_none());
    vault.remove_key(old, [moved.as_slice()]).unwrap();
    assert!(opens(&vault, &moved));
    let error = vault.check(CARD, &record).unwrap_err();
    assert!(matches!(error, VaultError::MissingKey(id) if id == old));
    assert!(error.to_string().contains(&old.to_string()));
}

// case_71: another keyring, a missing file, a corrupt or world-readable one: a clear error and no start.
#[test]
fn case_71_the_wrong_keyring_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys");
    let missing = Vault::from_file(&path, false, entropy(1));
    assert!(matches!(missing, Err(VaultError::MissingFile(named)) if named == path));
    assert!(!path.exists(), "nothing is made unasked");
    let vault = Vault::from_file(&path, true, entropy(1)).unwrap();
    let record = vault.seal(CARD, &number()).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let other = Vault::from_file(&dir.path().join("other"), true, entropy(77)).unwrap();
    assert!(matches!(other.check(CARD, &record), Err(VaultError::MissingKey(_))));
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() - 1 {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert!(Vault::from_file(&path, true, entropy(1)).is_err(), "byte {at}");
    }
    std::fs::write(&path, &whole).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(
        Vault::from_file(&path, true, entropy(1)),
        Err(VaultError::Keyring(_))
    ));
}

// Keys from a setting: the last is active, all open, and they can only be changed in the settings.
#[test]
fn keys_may_come_from_a_setting() {
    let (one, two) = ("11".repeat(32), "22".repeat(32));
    let vault = |keys: &str| Vault::from_setting(&Secret::new(keys.to_owned()), entropy(1));
    let record = vault(&one).unwrap().seal(CARD, &number()).unwrap();
    let both = vault(&format!("{one}, {two}")).unwrap();
    assert!(opens(&both, &record));
    assert_ne!(both.active_key(), vault(&one).unwrap().active_key());
    assert!(matches!(
        vault(&two).unwrap().check(CARD, &record),
        Err(VaultError::MissingKey(_))
    ));
    assert!(matches!(both.rotate(), Err(VaultError::ManagedInConfig)));
    for bad in ["", "11", &format!("{one},"), &format!("{one},{one}"), &"zz".repeat(32)] {
        let error = vault(bad).unwrap_err();
        assert!(matches!(error, VaultError::Keyring(_)));
        assert!(!error.to_string().contains("1111"), "an error shows no key");
    }
}

// case_70: no Debug output or error of the vault or a number contains a secret.
#[test]
fn case_70_nothing_secret_is_printed() {
    let key = "ab".repeat(32);
    let vault = Vault::from_setting(&Secret::new(key.clone()), entropy(1)).unwrap();
    let printed = format!("{vault:?} {:?}", number());
    assert!(
        !printed.contains(PAN) && !printed.contains("abab") && !printed.contains("171, 171"),
        "{printed}"
    );
    for (pan, month, year) in [
        ("4000", 1, 2027),
        ("40000012345678x9", 1, 2027),
        (PAN, 13, 2027),
        (PAN, 0, 2027),
        (PAN, 1, 27),
    ] {
        let error = CardNumberRecord::new(Secret::new(pan.into()), month, year).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("4000"));
    }
}

// A digest is the same for the same digits, across a restart and a new key, and differs for every other digit and
// vault.
#[test]
fn a_digest_is_the_vaults_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys");
    let vault = Vault::from_file(&path, true, entropy(1)).unwrap();
    let first = vault.digest(PAN.as_bytes());
    vault.rotate().unwrap();
    assert_eq!(vault.digest(PAN.as_bytes()), first);
    let reopened = Vault::from_file(&path, false, entropy(9)).unwrap();
    assert_eq!(reopened.digest(PAN.as_bytes()), first);
    assert_ne!(vault.digest(b"4000001234567898"), first);
    let other = Vault::from_file(&dir.path().join("others"), true, entropy(5)).unwrap();
    assert_ne!(other.digest(PAN.as_bytes()), first);
}

// case_82: a derived secret can be recomputed from the keyring alone, rotated or not. Its record pins that key on the
// ring, is resealed under no other, and opens for its own id only.
#[test]
fn case_82_what_is_derived_from_a_key_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys");
    let vault = Vault::from_file(&path, true, entropy(1)).unwrap();
    let key = vault.root_key();
    let derived = |vault: &Vault, purpose: &[&[u8]]| *vault.derive(vault.root_key(), purpose).unwrap();
    let secret = derived(&vault, &[b"one", b"two"]);
    assert_ne!(secret, derived(&vault, &[b"one", b"three"]));
    let record = vault.root(CARD, b"plain").unwrap();
    vault.rotate().unwrap();
    let again = Vault::from_file(&path, false, entropy(9)).unwrap();
    assert_eq!((again.root_key(), derived(&again, &[b"one", b"two"])), (key, secret));
    let (of, plain) = again.open_root(CARD, &record).unwrap();
    assert_eq!((of, &plain[..]), (key, &b"plain"[..]));
    assert!(again.open_root(CardId(7), &record).is_err());
    assert!(again.reseal(CARD, &record).unwrap().is_none());
    assert!(matches!(again.remove_key(key, [record.as_slice()]), Err(VaultError::InUse(id)) if id == key));
    let sealed = again.seal_bytes(CARD, b"plain").unwrap();
    assert!(again.open_root(CARD, &sealed).is_err(), "nothing is derived from that");
    assert!(matches!(
        again.derive(KeyId([9; 4]), &[b"one"]),
        Err(VaultError::MissingKey(KeyId([9, 9, 9, 9])))
    ));
}
