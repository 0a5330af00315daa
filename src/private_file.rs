//! Files that only their owner can read, which are there whole or not at all: wallets, tokens, keys.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tempfile::NamedTempFile;
use zeroize::Zeroizing;

/// What the name of an unfinished file ends with, after so many random characters.
const STAGED: &str = ".new";
const RANDOM: usize = 6;

/// Makes a file of mode 600 with this content, durably, unless something has its name already. Says whether it was made: of
/// two that make it at once one does, and the other finds it whole.
///
/// # Errors
/// What the system says; then there is no new file, or one that a power cut may still take.
pub fn create(path: &Path, content: &[u8]) -> io::Result<bool> {
    let (staged, ()) = write_temp(path, |file| file.write_all(content))?;
    match staged.persist_noclobber(path) {
        Ok(_) => sync_parent(path).map(|()| true),
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(refused) => Err(refused.error),
    }
}

/// The longest secret that is read from a file, in bytes; of a longer file the beginning.
const MAX_SECRET_BYTES: u64 = 8 * 1024;

/// The text of a file without permissions for group and others.
///
/// # Errors
/// With the file's name: it cannot be read, or others may use it.
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

/// Puts a file of mode 600 with this content in the place of what had its name, if anything, durably: a crash leaves the old one
/// or the new one.
///
/// # Errors
/// What the system says; then the old file stands, or a power cut may still bring it back.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |file| file.write_all(content))
}

/// [`replace`] with what this writes.
///
/// # Errors
/// As [`replace`], or what the writer says.
pub fn replace_by<T>(path: &Path, write: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
    let (staged, written) = write_temp(path, write)?;
    staged.persist(path).map_err(|refused| refused.error)?;
    sync_parent(path).map(|()| written)
}

/// Removes what processes that died left beside this file. For whoever alone writes it: another's unfinished work would go too.
///
/// # Errors
/// What the system says.
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

/// The content beside its place, under a name of its own; gone when dropped. Temporary files have mode 600 from their beginning.
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
    fn of_many_makers_one_makes_the_file_and_all_find_it_whole() {
        // Aim: nobody ever reads a part of it, no one's file is replaced by another's, and nothing is left beside it.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wallet.json");
        let made: Vec<bool> = std::thread::scope(|scope| {
            let makers: Vec<_> = (b'a'..b'i')
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
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| **made).count(), 1);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_the_dead_left_is_swept_and_nothing_else() {
        // Aim: an unfinished file goes, and no other, whatever its name has in common with it.
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
        // What is staged has such a name.
        let (staged, ()) = write_temp(&path, |file| file.write_all(b"x")).unwrap();
        let (_, staged) = staged.keep().unwrap();
        remove_stale_temp_files(&path).unwrap();
        assert!(!staged.exists() && path.exists());
    }

    #[test]
    fn what_is_replaced_is_replaced_whole() {
        // Aim: the new content and mode, whatever the old file's; where it cannot be, the old file stands.
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
