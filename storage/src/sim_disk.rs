//! A disk in memory that can lose power, fill up and fail, all from one seed.
//!
//! Unsynced data is kept, lost or torn per 4 KiB page at sector granularity. Names that were created, renamed or
//! removed since the last directory sync take effect up to a random point. Files opened before a power cut fail
//! afterwards, because their process is gone.

mod rng;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

pub use rng::SeededRng;

use crate::disk::{Disk, DiskFile};

const PAGE: usize = 4096;
const SECTOR: usize = 512;

#[derive(Clone, Default)]
struct Content {
    live: Vec<u8>,
    durable: Vec<u8>,
    dirty: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
enum DirectoryOp {
    Link(String, u64),
    Unlink(String),
    Rename(String, String),
}

fn perform(names: &mut BTreeMap<String, u64>, change: &DirectoryOp) {
    match change {
        DirectoryOp::Link(name, file) => {
            names.insert(name.clone(), *file);
        }
        DirectoryOp::Unlink(name) => {
            names.remove(name);
        }
        DirectoryOp::Rename(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
    }
}

/// Counts down operations until a fault.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultSchedule {
    /// After this many more operations, every operation fails: the process counts as dead.
    pub dead_after: Option<u64>,
    /// The next sync after this many fails (and its data stays unsynced).
    pub sync_fails_after: Option<u64>,
    /// All reads fail.
    pub reads_fail: bool,
    /// All writes fail: a read-only disk.
    pub read_only: bool,
    /// Files may not grow beyond this sum of lengths, in bytes.
    pub capacity: Option<u64>,
}

#[derive(Clone, Default)]
struct State {
    files: BTreeMap<u64, Content>,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    changes: Vec<DirectoryOp>,
    next_file: u64,
    faults: FaultSchedule,
    salts: SeededRng,
}

impl State {
    fn operation(&mut self) -> io::Result<()> {
        match &mut self.faults.dead_after {
            Some(0) => Err(io::Error::other("the power is gone")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn change(&mut self, change: DirectoryOp) {
        perform(&mut self.names, &change);
        self.changes.push(change);
    }

    fn used(&self) -> u64 {
        self.files.values().map(|c| c.live.len() as u64).sum()
    }

    fn writable(&self) -> io::Result<()> {
        if self.faults.read_only {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        } else {
            Ok(())
        }
    }
}

/// The simulated disk. Clones share the same contents.
#[derive(Clone, Default)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    boots: Arc<AtomicU64>,
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty disk whose salts follow from the seed (those of [`SimDisk::new`] from 0).
    pub fn seeded(seed: u64) -> Self {
        let disk = Self::default();
        disk.state.lock().salts = SeededRng::new(seed);
        disk
    }

    /// An independent disk with the same contents and no open files.
    pub fn copy(&self) -> Self {
        Self {
            state: Arc::new(Mutex::new(self.state.lock().clone())),
            boots: Arc::default(),
        }
    }

    /// Sets the faults from now on.
    pub fn set_faults(&self, faults: FaultSchedule) {
        self.state.lock().faults = faults;
    }

    /// Lengths of all files together, in bytes: the value that [`FaultSchedule::capacity`] limits.
    pub fn used_bytes(&self) -> u64 {
        self.state.lock().used()
    }

    /// Operations left before the scheduled death; `None` without one.
    pub fn operations_left(&self) -> Option<u64> {
        self.state.lock().faults.dead_after
    }

    /// Cuts the power and starts again: only synced data is sure to remain. Faults are cleared.
    pub fn power_cut(&self, seeded: &mut SeededRng) {
        let mut state = self.state.lock();
        self.boots.fetch_add(1, Ordering::SeqCst);
        let kept = seeded.next_below(state.changes.len() as u64 + 1) as usize;
        let changes: Vec<DirectoryOp> = state.changes.drain(..).take(kept).collect();
        let mut names = state.durable_names.clone();
        changes.iter().for_each(|change| perform(&mut names, change));
        state.names = names.clone();
        state.durable_names = names;
        for content in state.files.values_mut() {
            tear(content, seeded);
        }
        state.faults = FaultSchedule::default();
    }

    /// Ends the process but not the machine: everything written stays. Faults are cleared.
    pub fn kill(&self) {
        self.boots.fetch_add(1, Ordering::SeqCst);
        self.state.lock().faults = FaultSchedule::default();
    }

    /// Changes bytes without a write, as a failing medium would.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn corrupt(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut state = self.state.lock();
        let file = *state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        if let Some(content) = state.files.get_mut(&file) {
            change(&mut content.live);
            content.durable = content.live.clone();
            content.dirty.clear();
        }
        Ok(())
    }

    /// A file's bytes as a reader would see them now.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state.lock();
        state
            .names
            .get(name)
            .and_then(|file| state.files.get(file))
            .map(|content| content.live.clone())
    }

    fn handle(&self, file: u64) -> Box<dyn DiskFile> {
        Box::new(SimFile {
            disk: self.clone(),
            file,
            boot: self.boots.load(Ordering::SeqCst),
        })
    }
}

/// Keeps, loses or tears every page that was not synced.
fn tear(content: &mut Content, seeded: &mut SeededRng) {
    let grown = content.live.len() > content.durable.len();
    let keeps_length = !grown || seeded.one_in(2);
    let mut after = content.durable.clone();
    if keeps_length {
        after.resize(content.live.len(), 0);
    }
    for page in std::mem::take(&mut content.dirty) {
        let (from, to) = (
            page * PAGE,
            ((page + 1) * PAGE).min(after.len()).min(content.live.len()),
        );
        if from >= to {
            continue;
        }
        match seeded.next_below(3) {
            0 => {}
            1 => after[from..to].copy_from_slice(&content.live[from..to]),
            _ => {
                for at in (from..to).step_by(SECTOR) {
                    let end = (at + SECTOR).min(to);
                    if seeded.one_in(2) {
                        after[at..end].copy_from_slice(&content.live[at..end]);
                    }
                }
            }
        }
    }
    content.live = after.clone();
    content.durable = after;
}

impl Disk for SimDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state.lock();
        state.operation()?;
        state.writable()?;
        let file = state.next_file;
        state.next_file += 1;
        state.files.insert(file, Content::default());
        state.change(DirectoryOp::Link(name.into(), file));
        drop(state);
        Ok(self.handle(file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state.lock();
        state.operation()?;
        let file = *state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        drop(state);
        Ok(self.handle(file))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state.lock();
        state.operation()?;
        Ok(state.names.keys().cloned().collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.operation()?;
        state.writable()?;
        if !state.names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change(DirectoryOp::Unlink(name.into()));
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state.lock();
        state.operation()?;
        state.writable()?;
        if !state.names.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change(DirectoryOp::Rename(from.into(), to.into()));
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.operation()?;
        state.changes.clear();
        state.durable_names = state.names.clone();
        // Content without a name, now and after any cut, is dropped.
        let named: BTreeSet<u64> = state.names.values().copied().collect();
        state.files.retain(|file, _| named.contains(file));
        Ok(())
    }

    fn salt(&self) -> io::Result<u64> {
        Ok(self.state.lock().salts.next_u64())
    }
}

struct SimFile {
    disk: SimDisk,
    file: u64,
    boot: u64,
}

impl SimFile {
    fn with<T>(&self, act: impl FnOnce(&mut Content, FaultSchedule, u64) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.disk.state.lock();
        if self.boot != self.disk.boots.load(Ordering::SeqCst) {
            return Err(io::Error::other("a file of before the restart"));
        }
        state.operation()?;
        let faults = state.faults;
        let used = state.used();
        let content = state.files.entry(self.file).or_default();
        act(content, faults, used)
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.with(|content, faults, _| {
            if faults.reads_fail {
                return Err(io::Error::other("read error"));
            }
            let from = (offset as usize).min(content.live.len());
            let n = buf.len().min(content.live.len() - from);
            buf[..n].copy_from_slice(&content.live[from..from + n]);
            Ok(n)
        })
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.with(|content, faults, used| {
            if faults.read_only {
                return Err(io::ErrorKind::ReadOnlyFilesystem.into());
            }
            let (from, to) = (offset as usize, offset as usize + bytes.len());
            let growth = to.saturating_sub(content.live.len()) as u64;
            if faults
                .capacity
                .is_some_and(|capacity| growth > 0 && used + growth > capacity)
            {
                return Err(io::ErrorKind::StorageFull.into());
            }
            if to > content.live.len() {
                content.live.resize(to, 0);
            }
            content.live[from..to].copy_from_slice(bytes);
            content.dirty.extend(from / PAGE..to.div_ceil(PAGE));
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state.lock();
        let failing = match &mut state.faults.sync_fails_after {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        };
        if failing {
            state.faults.sync_fails_after = None;
        }
        drop(state);
        self.with(|content, _, _| {
            if failing {
                // As on Linux: the pages count as clean now, and are not on the medium.
                content.dirty.clear();
                return Err(io::Error::other("sync error"));
            }
            let len = content.live.len();
            content.durable.resize(len, 0);
            for page in std::mem::take(&mut content.dirty) {
                let (from, to) = (page * PAGE, ((page + 1) * PAGE).min(len));
                content.durable[from..to].copy_from_slice(&content.live[from..to]);
            }
            Ok(())
        })
    }

    fn size(&self) -> io::Result<u64> {
        self.with(|content, _, _| Ok(content.live.len() as u64))
    }
}
