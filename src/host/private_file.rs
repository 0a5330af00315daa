//! Files that only their owner can read and that are written completely or not at all: wallets, tokens, keys.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tempfile::NamedTempFile;
use zeroize::Zeroizing;

/// Suffix of a temporary file, after the random characters.
const STAGED: &str = ".new";
const RANDOM: usize = 6;

/// Creates a file of mode 600 with this content, durably, unless the name is taken. Returns whether it was created: of
/// two concurrent callers one succeeds, and the other finds the complete file.
///
/// # Errors
/// The I/O error; then there is no new file, or one that a power failure may still remove.
pub fn create(path: &Path, content: &[u8]) -> io::Result<bool> {
    let (staged, ()) = write_temp(path, |file| file.write_all(content))?;
    match staged.persist_noclobber(path) {
        Ok(_) => sync_parent(path).map(|()| true),
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(refused) => Err(refused.error),
    }
}

/// Limit of a secret that is read from a file, in bytes. Longer files are truncated.
const MAX_SECRET_BYTES: u64 = 8 * 1024;

/// The text of a file without permissions for group and others.
///
/// # Errors
/// With the file's name: it cannot be read, or other users have access.
pub fn read_secret(path: &Path) -> Result<Zeroizing<String>, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.mode();
    if mode & 0o077 != 0 {
        let (path, mode) = (path.display(), mode & 0o7777);
        return Err(format!(
            "{path} has mode {mode:o}: others than its owner may use it; chmod 600 {path}"
        ));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_SECRET_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// Durably replaces or creates a file of mode 600 with this content: a crash leaves the old file or the new one.
///
/// # Errors
/// The I/O error; then the old file remains, or a power failure may still bring it back.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |file| file.write_all(content))
}

/// [`replace`] with the content that `write` produces.
///
/// # Errors
/// As [`replace`], or the error of `write`.
pub fn replace_by<T>(path: &Path, write: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
    let (staged, written) = write_temp(path, write)?;
    staged.persist(path).map_err(|refused| refused.error)?;
    sync_parent(path).map(|()| written)
}

/// Removes temporary files that dead processes left beside this file. Only for the file's single writer: it would also
/// remove another writer's unfinished file.
///
/// # Errors
/// The I/O error.
pub fn remove_stale_temp_files(path: &Path) -> io::Result<()> {
    let Some(file) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(());
    };
    let is_left = |name: &str| {
        let middle = name.strip_prefix(file).and_then(|rest| rest.strip_suffix(STAGED));
        middle.is_some_and(|middle| middle.len() == RANDOM && middle.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    for beside in std::fs::read_dir(parent(path))? {
        let beside = beside?;
        if beside.file_name().to_str().is_some_and(is_left) {
            std::fs::remove_file(beside.path())?;
        }
    }
    Ok(())
}

/// Writes the content to a temporary file beside its destination, removed when dropped. Temporary files have mode 600
/// from the start.
fn write_temp<T>(path: &Path, write: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<(NamedTempFile, T)> {
    let name = path.file_name().unwrap_or_default();
    let mut beside = tempfile::Builder::new();
    let mut staged = beside
        .prefix(name)
        .suffix(STAGED)
        .rand_bytes(RANDOM)
        .tempfile_in(parent(path))?;
    let written = write(staged.as_file_mut())?;
    staged.as_file().sync_all()?;
    Ok((staged, written))
}

fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn concurrent_creation_makes_one_complete_file() {
        // Checks: no reader sees a partial file, no file is overwritten by another, and no temporary file is left.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wallet.json");
        let made: Vec<bool> = std::thread::scope(|scope| {
            let creators: Vec<_> = (b'a'..b'i')
                .map(|letter| {
                    let path = &path;
                    scope.spawn(move || {
                        let made = create(path, &[letter; 4096]).unwrap();
                        let found = std::fs::read(path).unwrap();
                        assert_eq!(found, [found[0]; 4096]);
                        assert!(!made || found[0] == letter);
                        made
                    })
                })
                .collect();
            creators.into_iter().map(|creator| creator.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| **made).count(), 1);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_leftovers_of_dead_processes_are_removed() {
        // Checks: a temporary file of this file is removed, and no other file with a similar name.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vault.keys");
        let others = [
            "vault.keys",
            "vault.keys.new",
            "vault.keysabcdefg.new",
            "vault.keys-abcde.new",
            "abcdef.new",
        ];
        for name in others.iter().chain(&["vault.keysaB3dEf.new"]) {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        remove_stale_temp_files(&path).unwrap();
        let left = std::fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<_> = left
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort_unstable();
        let mut others = others.map(str::to_owned);
        others.sort_unstable();
        assert_eq!(left, others);
        // Temporary files have such a name.
        let (staged, ()) = write_temp(&path, |file| file.write_all(b"x")).unwrap();
        let (_, staged) = staged.keep().unwrap();
        remove_stale_temp_files(&path).unwrap();
        assert!(!staged.exists() && path.exists());
    }

    #[test]
    fn what_is_replaced_is_replaced_whole() {
        // Checks: the new content and mode replace the old file's. On failure the old file remains.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        std::fs::write(&path, "old").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(replace(&folder.path().join("nowhere/tokens.json"), b"new").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
