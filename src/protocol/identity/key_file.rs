//! The key file on disk: created at first start, readable by its owner only, replaced atomically.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use purser_actors::port::{Entropy, Timestamp};
use zeroize::Zeroizing;

use super::keys::{IdentityKeyRing, KeyTextError};
use purser_host::private_file;

/// Larger than any key file; a bigger one belongs to something else.
const MAX_BYTES: u64 = 64 * 1024;

/// Why the keys cannot be loaded. Each error names the file; none shows its content.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("key file {path}: cannot {operation}: {source}")]
    Io {
        path: PathBuf,
        /// The failed operation.
        operation: &'static str,
        source: io::Error,
    },
    /// Other users may read or write the keys.
    #[error("key file {path}: mode {mode:03o} lets others in; make it 600 after checking who could read it")]
    Permissions {
        path: PathBuf,
        /// Permission bits of the file.
        mode: u32,
    },
    /// The file is not a key file. It is left unchanged: new keys would end every session.
    #[error("key file {path}: {source}")]
    Text { path: PathBuf, source: KeyTextError },
    /// It is larger than any key file.
    #[error("key file {path}: larger than 64 KiB")]
    TooLarge { path: PathBuf },
}

pub fn load(path: &Path) -> Result<IdentityKeyRing, KeyFileError> {
    let file = File::open(path).map_err(io_error(path, "open it"))?;
    let metadata = file.metadata().map_err(io_error(path, "read its mode"))?;
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Permissions {
            path: path.to_owned(),
            mode,
        });
    }
    if metadata.len() > MAX_BYTES {
        return Err(KeyFileError::TooLarge { path: path.to_owned() });
    }
    let mut text = Zeroizing::new(String::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1));
    file.take(MAX_BYTES)
        .read_to_string(&mut text)
        .map_err(io_error(path, "read it"))?;
    IdentityKeyRing::from_text(&text).map_err(|source| KeyFileError::Text {
        path: path.to_owned(),
        source,
    })
}

/// Loads the keys, or creates them when the file does not exist. Two concurrent first starts use the same file.
pub fn load_or_create(path: &Path, now: Timestamp, entropy: &dyn Entropy) -> Result<IdentityKeyRing, KeyFileError> {
    match load(path) {
        Err(KeyFileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    let keys = IdentityKeyRing::generate(now, entropy).to_text();
    private_file::create(path, keys.as_bytes()).map_err(io_error(path, "create it"))?;
    load(path)
}

/// Replaces the file's keys atomically: a crash leaves the old file or the new one.
pub fn replace(path: &Path, keys: &IdentityKeyRing) -> Result<(), KeyFileError> {
    private_file::replace(path, keys.to_text().as_bytes()).map_err(io_error(path, "replace it"))
}

fn io_error(path: &Path, operation: &'static str) -> impl FnOnce(io::Error) -> KeyFileError {
    let path = path.to_owned();
    move |source| KeyFileError::Io {
        path,
        operation,
        source,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::identity::test_entropy::CountingEntropy;

    /// Checks: the first start creates the keys, every later one loads the same, and only their owner can read them.
    #[test]
    fn the_first_start_makes_the_keys_and_later_ones_find_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let first = load_or_create(&path, Timestamp(5), &CountingEntropy::new(1)).unwrap();
        let second = load_or_create(&path, Timestamp(6), &CountingEntropy::new(2)).unwrap();
        assert_eq!(*first.to_text(), *second.to_text());
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "nothing is left beside the file"
        );
    }

    /// Checks: a rotation replaces the whole file and preserves its mode.
    #[test]
    fn a_replaced_file_holds_the_new_keys() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let entropy = CountingEntropy::new(1);
        let old = load_or_create(&path, Timestamp(5), &entropy).unwrap();
        let new = old.rotated(Timestamp(6), &entropy);
        replace(&path, &new).unwrap();
        assert_eq!(*load(&path).unwrap().to_text(), *new.to_text());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    /// Checks: keys that other users can read are rejected.
    #[test]
    fn a_file_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        load_or_create(&path, Timestamp(5), &CountingEntropy::new(1)).unwrap();
        for mode in [0o640, 0o604, 0o622] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = load(&path).unwrap_err();
            assert!(
                matches!(error, KeyFileError::Permissions { mode: m, .. } if m == mode),
                "{error}"
            );
        }
    }

    /// Checks: a corrupt file prevents the start and is not overwritten by new keys.
    #[test]
    fn a_damaged_file_is_an_error_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        load_or_create(&path, Timestamp(5), &CountingEntropy::new(1)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        let error = load_or_create(&path, Timestamp(5), &CountingEntropy::new(2)).unwrap_err();
        assert!(matches!(error, KeyFileError::Text { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text[..text.len() / 2]);
        std::fs::write(&path, vec![b'x'; 70_000]).unwrap();
        assert!(matches!(load(&path).unwrap_err(), KeyFileError::TooLarge { .. }));
    }

    /// Checks: a missing directory is a clear error.
    #[test]
    fn a_missing_directory_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("absent").join("keys");
        let error = load_or_create(&path, Timestamp(5), &CountingEntropy::new(1)).unwrap_err();
        assert!(error.to_string().contains("absent"), "{error}");
    }
}
