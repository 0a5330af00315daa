//! Files that only their owner can read, which are there whole or not at all: wallets, tokens, keys.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Makes a file of mode 600 with this content, durably, unless something has its name already. Says whether it was made: of
/// two that make it at once one does, and the other finds it whole.
///
/// # Errors
/// What the system says; then there is no new file.
pub fn create(path: &Path, content: &[u8]) -> io::Result<bool> {
    let (staged, ()) = stage(path, |file| file.write_all(content))?;
    match staged.persist_noclobber(path) {
        Ok(_) => sync_parent(path).map(|()| true),
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(refused) => Err(refused.error),
    }
}

/// Puts a file of mode 600 with this content in the place of what had its name, if anything, durably: a crash leaves the old one
/// or the new one.
///
/// # Errors
/// What the system says; then the old file stands.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |file| file.write_all(content))
}

/// [`replace`] with what this writes.
///
/// # Errors
/// What the system or the writer says; then the old file stands.
pub fn replace_by<T>(path: &Path, write: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
    let (staged, written) = stage(path, write)?;
    staged.persist(path).map_err(|refused| refused.error)?;
    sync_parent(path).map(|()| written)
}

/// The content beside its place, under a name of its own; gone when dropped. Temporary files have mode 600 from their beginning.
fn stage<T>(path: &Path, write: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<(NamedTempFile, T)> {
    let name = path.file_name().unwrap_or_default();
    let mut beside = tempfile::Builder::new();
    let mut staged = beside.prefix(name).suffix(".new").tempfile_in(parent(path))?;
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
