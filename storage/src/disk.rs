//! The port through which all code except sled accesses the disk.
//!
//! One `Disk` is one flat directory. It contains the journal, its indexes and the exports, so a simulation runs the
//! real code on [`crate::sim_disk::SimDisk`].

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// An open file. Writes are durable only after [`DiskFile::sync`].
pub trait DiskFile: Send + Sync + 'static {
    /// Reads up to `buf.len()` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// Whatever the device reports.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;

    /// Writes all bytes at `offset`, extending the file if needed.
    ///
    /// # Errors
    /// Whatever the device reports; the range is then undefined.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes content and length durable. After an error nothing is known about what is on disk.
    ///
    /// # Errors
    /// Whatever the device reports.
    fn sync(&self) -> io::Result<()>;

    /// Length in bytes.
    ///
    /// # Errors
    /// Whatever the device reports.
    fn size(&self) -> io::Result<u64>;
}

/// A flat directory. Names are durable only after [`Disk::sync_dir`].
pub trait Disk: Send + Sync + 'static {
    /// Creates an empty file; an old one of this name is replaced.
    ///
    /// # Errors
    /// Whatever the device reports.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Opens an existing file for reading and writing.
    ///
    /// # Errors
    /// `NotFound`, or whatever the device reports.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// All names, sorted.
    ///
    /// # Errors
    /// Whatever the device reports.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`, or whatever the device reports.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Renames atomically, replacing the target.
    ///
    /// # Errors
    /// `NotFound`, or whatever the device reports.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Makes every creation, removal and renaming so far durable.
    ///
    /// # Errors
    /// Whatever the device reports.
    fn sync_dir(&self) -> io::Result<()>;

    /// A number that cannot be predicted outside the process, different at every call. Each journal segment includes
    /// one in its checksums, so that a caller's bytes cannot imitate the journal's own.
    ///
    /// # Errors
    /// When the system has no randomness available.
    fn salt(&self) -> io::Result<u64>;
}

/// The data reveals purchases: only the file's owner may read it, whatever the umask.
pub(crate) const OWNER_ONLY: u32 = 0o600;
/// The same for directories.
pub(crate) const OWNER_ONLY_DIR: u32 = 0o700;

/// Opens or creates a file for its owner only, correcting permissions of an existing one.
pub(crate) fn open_private(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.clone().mode(OWNER_ONLY).open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != OWNER_ONLY {
        file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
    }
    Ok(file)
}

/// A directory of the real file system.
#[derive(Debug)]
pub struct FileDisk {
    root: PathBuf,
    // Stays open: this descriptor is synced after names change.
    dir: File,
}

impl FileDisk {
    /// Opens the directory, creating it (and its parents) durably if it is missing.
    ///
    /// # Errors
    /// When it cannot be created or opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        create_dir_durably(root)?;
        Ok(Self {
            root: root.to_path_buf(),
            dir: File::open(root)?,
        })
    }
}

/// Creates missing directories from the top, for the owner only, and syncs each parent, so that none is lost in a power
/// cut.
pub(crate) fn create_dir_durably(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let parent = match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    create_dir_durably(&parent)?;
    match DirBuilder::new().mode(OWNER_ONLY_DIR).create(dir) {
        Ok(()) => std::fs::set_permissions(dir, Permissions::from_mode(OWNER_ONLY_DIR))?,
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    File::open(&parent)?.sync_all()
}

impl Disk for FileDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        Ok(Box::new(RealFile(open_private(&options, &self.root.join(name))?)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(RealFile(
            OpenOptions::new().read(true).write(true).open(self.root.join(name))?,
        )))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.root)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.root.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.root.join(from), self.root.join(to))
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.dir.sync_all()
    }

    fn salt(&self) -> io::Result<u64> {
        let mut raw = [0; 8];
        getrandom::fill(&mut raw).map_err(io::Error::other)?;
        Ok(u64::from_le_bytes(raw))
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.0.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}
