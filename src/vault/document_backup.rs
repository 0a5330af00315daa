//! Documents in a backup: the sealed files in one file beside the store's. An incomplete file is rejected.
//! Nothing is decrypted for it.
//!
//! ```text
//! "purser documents 1\n" | 1, id (16), length (8), the sealed bytes, SHA-256 of all four | … | 0, how many (8)
//! ```

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use purser_actors::id::DocumentId;
use sha2::{Digest as _, Sha256};

use purser_host::private_file;

const BEGIN: &[u8] = b"purser documents 1\n";
const DOCUMENT: u8 = 1;
const END: u8 = 0;
/// A sealed document is a little more than 10 MB.
const MAX_DOCUMENT_BYTES: u64 = 16 * 1024 * 1024;

/// Path of the documents beside this backup file.
pub fn documents_path(backup: &Path) -> PathBuf {
    let mut name = backup.as_os_str().to_owned();
    name.push(".documents");
    name.into()
}

/// Writes these documents of a directory into one file, replacing an existing one. Returns the missing ones.
///
/// # Errors
/// When the disk fails; an existing file is then unchanged.
pub fn save(directory: &Path, wanted: &BTreeSet<DocumentId>, file: &Path) -> io::Result<Vec<DocumentId>> {
    private_file::remove_stale_temp_files(file)?;
    private_file::replace_by(file, |out| {
        let mut out = BufWriter::new(out);
        let missing = pack(directory, wanted, &mut out)?;
        out.flush()?;
        Ok(missing)
    })
}

fn pack(directory: &Path, wanted: &BTreeSet<DocumentId>, out: &mut impl Write) -> io::Result<Vec<DocumentId>> {
    out.write_all(BEGIN)?;
    let (mut missing, mut count) = (Vec::new(), 0_u64);
    for id in wanted {
        let sealed = match std::fs::read(directory.join(id.to_string())) {
            Ok(sealed) => sealed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing.push(*id);
                continue;
            }
            Err(error) => return Err(error),
        };
        let head = head(*id, sealed.len() as u64);
        for part in [&head[..], &sealed, &sum(&head, &sealed)] {
            out.write_all(part)?;
        }
        count += 1;
    }
    out.write_all(&[END])?;
    out.write_all(&count.to_be_bytes())?;
    Ok(missing)
}

/// Whether a file is a complete one that [`save`] wrote.
///
/// # Errors
/// When it is not, or the disk fails.
pub fn check(file: &Path) -> io::Result<()> {
    each(file, |_, _| Ok(()))
}

/// The documents in a complete file.
///
/// # Errors
/// As [`check`].
pub fn held(file: &Path) -> io::Result<BTreeSet<DocumentId>> {
    let mut held = BTreeSet::new();
    each(file, |id, _| {
        held.insert(id);
        Ok(())
    })?;
    Ok(held)
}

/// Copies these documents from a file into a directory, each durably. Returns those that are in neither.
/// Without a file, only the directory counts.
///
/// # Errors
/// When the file is corrupt, or the disk fails.
pub fn load(file: &Path, directory: &Path, wanted: &BTreeSet<DocumentId>) -> io::Result<Vec<DocumentId>> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    if file.exists() {
        each(file, |id, sealed| match wanted.contains(&id) {
            true => private_file::replace(&directory.join(id.to_string()), sealed),
            false => Ok(()),
        })?;
    }
    let missing = wanted.iter().filter(|id| !directory.join(id.to_string()).exists());
    Ok(missing.copied().collect())
}

fn head(id: DocumentId, length: u64) -> Vec<u8> {
    [&[DOCUMENT][..], &id.0.to_be_bytes(), &length.to_be_bytes()].concat()
}

fn sum(head: &[u8], sealed: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(head).chain_update(sealed).finalize().into()
}

fn each(file: &Path, mut found: impl FnMut(DocumentId, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", file.display()));
    let mut input = BufReader::new(File::open(file)?);
    let mut begin = [0; BEGIN.len()];
    input.read_exact(&mut begin)?;
    if begin != BEGIN {
        return Err(damaged());
    }
    let mut count = 0_u64;
    loop {
        let mut kind = [0];
        input.read_exact(&mut kind)?;
        let mut number = [0; 8];
        if kind == [END] {
            input.read_exact(&mut number)?;
            let ends = u64::from_be_bytes(number) == count && input.read(&mut kind)? == 0;
            return if ends { Ok(()) } else { Err(damaged()) };
        }
        let mut id = [0; 16];
        input.read_exact(&mut id)?;
        input.read_exact(&mut number)?;
        let (id, length) = (DocumentId(u128::from_be_bytes(id)), u64::from_be_bytes(number));
        if kind != [DOCUMENT] || length > MAX_DOCUMENT_BYTES {
            return Err(damaged());
        }
        let mut sealed = vec![0; usize::try_from(length).map_err(|_| damaged())?];
        input.read_exact(&mut sealed)?;
        let mut recorded_sum = [0; 32];
        input.read_exact(&mut recorded_sum)?;
        if recorded_sum != sum(&head(id, length), &sealed) {
            return Err(damaged());
        }
        found(id, &sealed)?;
        count += 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: saved documents are restored byte for byte, only the requested ones, and missing ones are named.
    // A file that is truncated, has a changed bit or has extra bytes is rejected.
    #[test]
    fn saved_documents_are_whole_or_refused() {
        let root = tempfile::tempdir().unwrap();
        let (from, to, file) = (root.path().join("a"), root.path().join("b"), root.path().join("kept"));
        std::fs::create_dir(&from).unwrap();
        let ids: Vec<_> = (1..=3).map(DocumentId).collect();
        for id in &ids[..2] {
            std::fs::write(from.join(id.to_string()), format!("sealed {id}")).unwrap();
        }
        let wanted: BTreeSet<_> = ids.iter().copied().collect();
        assert_eq!(save(&from, &wanted, &file).unwrap(), [ids[2]]);
        check(&file).unwrap();
        let mode =
            |path: &Path| std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777;
        assert_eq!(mode(&file), 0o600);
        let two: BTreeSet<_> = [ids[1], ids[2]].into();
        assert_eq!(load(&file, &to, &two).unwrap(), [ids[2]]);
        assert_eq!(
            std::fs::read_to_string(to.join(ids[1].to_string())).unwrap(),
            format!("sealed {}", ids[1])
        );
        assert_eq!(mode(&to), 0o700);
        assert!(!to.join(ids[0].to_string()).exists());
        assert_eq!(load(&root.path().join("none"), &to, &two).unwrap(), [ids[2]]);

        let whole = std::fs::read(&file).unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            check(&file).is_err()
        };
        for at in 0..whole.len() {
            assert!(refused(&whole[..at]), "cut at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(refused(&changed), "changed at {at}");
        }
        assert!(refused(&[&whole[..], b"x"].concat()) && !refused(&whole));
    }
}
