//! Sets a store's files back to what a power cut could leave.

use std::path::{Path, PathBuf};

use purser_storage::sim_disk::SeededRng;

use crate::record::{image_of, image_of_file, names_in};

const PAGE: usize = 4096;

fn files_below(dir: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files_below(&path, into)
        } else {
            into.push(path)
        }
    }
}

/// What stays of a file: the durable bytes, or a mix by pages of these and the live ones.
fn surviving_bytes(live: &[u8], durable: &[u8], torn: bool, seeded: &mut SeededRng) -> Vec<u8> {
    let mut out = durable.to_vec();
    if !torn {
        return out;
    }
    if seeded.one_in(2) {
        out.resize(live.len(), 0);
    }
    let end = out.len().min(live.len());
    for from in (0..end).step_by(PAGE) {
        if seeded.one_in(2) {
            let to = (from + PAGE).min(end);
            out[from..to].copy_from_slice(&live[from..to]);
        }
    }
    out
}

/// Cuts the power of everything below `dir`, and makes what is left the new durable image.
pub(crate) fn cut_power(dir: &Path, seeded: &mut SeededRng) {
    let torn = seeded.one_in(2);
    let mut files = Vec::new();
    files_below(dir, &mut files);
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let names = image_of_file(dir, file.parent().unwrap()).and_then(|image| std::fs::read_to_string(image).ok());
        let named = names.is_some_and(|names| names.lines().any(|known| known == name));
        // A name that no directory sync covered may be gone.
        if !named && seeded.one_in(2) {
            std::fs::remove_file(&file).unwrap();
            continue;
        }
        let durable = image_of_file(dir, &file)
            .and_then(|image| std::fs::read(image).ok())
            .unwrap_or_default();
        let left = surviving_bytes(&std::fs::read(&file).unwrap(), &durable, torn, seeded);
        std::fs::write(&file, left).unwrap();
    }
    std::fs::remove_dir_all(image_of(dir)).unwrap_or_default();
    std::fs::create_dir_all(image_of(dir)).unwrap();
    persist_all(dir, dir);
}

fn persist_all(root: &Path, dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    std::fs::write(image_of_file(root, dir).unwrap(), names_in(dir)).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            persist_all(root, &path);
        } else {
            std::fs::copy(&path, image_of_file(root, &path).unwrap()).unwrap();
        }
    }
}
