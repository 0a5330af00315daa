//! Reads an existing log file: its frames in order, one frame by its offset, its torn tail.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{FRAME_HEADER, FRAME_LIMIT, FRAME_MAGIC, LogError, LogPosition, LogTail};

/// Bytes read from disk at once.
const READ_AHEAD: usize = 256 << 10;

/// The log file, locked against other processes and not yet written.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: File,
    path: PathBuf,
    /// Offset of the first frame.
    pub(crate) first: u64,
}

/// A valid frame of the file.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) point: LogPosition,
    payload: Vec<u8>,
}

impl Frame {
    /// Its records in order.
    ///
    /// # Errors
    /// When their lengths do not match the frame.
    pub(crate) fn records(&self) -> Result<Vec<&[u8]>, String> {
        let (mut rest, mut records) = (self.payload.as_slice(), Vec::new());
        while !rest.is_empty() {
            let (record, tail) = split_record(rest).ok_or("record length")?;
            records.push(record);
            rest = tail;
        }
        Ok(records)
    }
}

impl LogFile {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// When the disk fails, another process has the file, or the file is of another kind.
    pub(crate) fn open(path: &Path, kind: [u8; 8]) -> Result<Self, LogError> {
        let log = |file| Self {
            file,
            path: path.to_path_buf(),
            first: kind.len() as u64,
        };
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let mut log = log(opened.map_err(|source| LogError::Io {
            path: path.display().to_string(),
            source,
        })?);
        log.file.try_lock().map_err(|e| log.io(e.into()))?;
        let mut start = Vec::new();
        (&log.file)
            .take(log.first)
            .read_to_end(&mut start)
            .map_err(|e| log.io(e))?;
        if !kind.starts_with(&start) {
            return Err(log.corrupt(0, "not a file of this kind"));
        }
        if start.len() < kind.len() {
            let write = |file: &mut File| file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&kind));
            write(&mut log.file).map_err(|e| log.io(e))?;
        }
        Ok(log)
    }

    fn io(&self, source: io::Error) -> LogError {
        LogError::Io {
            path: self.path.display().to_string(),
            source,
        }
    }

    fn corrupt(&self, offset: u64, what: &str) -> LogError {
        LogError::Corrupt {
            path: self.path.display().to_string(),
            offset,
            what: what.into(),
        }
    }

    /// Whether this exact frame is at the given position.
    pub(crate) fn has(&self, point: &LogPosition) -> bool {
        frame_in(&self.file, point.frame).is_ok_and(|frame| frame.point == *point)
    }

    /// Passes every frame from `from` on to `replay`, in order, and cuts a torn tail off.
    ///
    /// # Errors
    /// When the disk fails, `replay` does, or the file is corrupt before its tail.
    pub(crate) fn replay(
        &mut self,
        from: u64,
        mut replay: impl FnMut(Frame) -> Result<(), String>,
    ) -> Result<u64, LogError> {
        let io = |source| LogError::Io {
            path: self.path.display().to_string(),
            source,
        };
        let length = self.file.metadata().map_err(io)?.len();
        let mut reader = BufReader::with_capacity(READ_AHEAD, &self.file);
        reader.seek(SeekFrom::Start(from)).map_err(io)?;
        let mut at = from;
        while at < length {
            match next_frame(&mut reader, at, length).map_err(io)? {
                Some(frame) => {
                    let end = frame.point.end;
                    replay(frame).map_err(|what| self.corrupt(at, &what))?;
                    at = end;
                }
                None => {
                    self.check_torn(at)?;
                    break;
                }
            }
        }
        self.file.set_len(at).map_err(io)?;
        self.file.sync_all().map_err(io)?;
        if let Some(directory) = self.path.parent().filter(|d| !d.as_os_str().is_empty()) {
            File::open(directory).and_then(|d| d.sync_all()).map_err(io)?;
        }
        Ok(at)
    }

    /// A bad frame followed by a good one is corruption; otherwise it is the tail of a torn write.
    fn check_torn(&self, at: u64) -> Result<(), LogError> {
        let (mut file, mut rest) = (&self.file, Vec::new());
        file.seek(SeekFrom::Start(at))
            .and_then(|_| file.read_to_end(&mut rest))
            .map_err(|e| self.io(e))?;
        if (1..rest.len()).any(|i| is_frame(&rest[i..])) {
            return Err(self.corrupt(at, "checksum mismatch before the end"));
        }
        tracing::warn!(file = %self.path.display(), offset = at, lost_bytes = rest.len(), "torn tail cut off");
        Ok(())
    }

    /// The file for appending and for reading old frames, and its name for messages.
    ///
    /// # Errors
    /// When the disk fails.
    pub(crate) fn split(mut self, tail: &LogTail) -> Result<(File, String), LogError> {
        self.file.seek(SeekFrom::Start(tail.end)).map_err(|e| self.io(e))?;
        Ok((self.file, self.path.display().to_string()))
    }
}

/// The frame at an offset where one was written.
///
/// # Errors
/// When the disk fails or the frame is corrupt.
pub(crate) fn frame_in(file: &File, at: u64) -> io::Result<Frame> {
    let mut header = [0; FRAME_HEADER];
    file.read_exact_at(&mut header, at)?;
    let bad = || io::Error::new(io::ErrorKind::InvalidData, format!("no good frame at byte {at}"));
    let (length, crc) = header_of(&header).ok_or_else(bad)?;
    let mut payload = vec![0; length];
    file.read_exact_at(&mut payload, at + FRAME_HEADER as u64)?;
    frame(payload, crc, at).ok_or_else(bad)
}

/// The frame at the reader's position; `None` if there is no valid one.
fn next_frame(reader: &mut impl Read, at: u64, file_length: u64) -> io::Result<Option<Frame>> {
    let remaining = file_length - at;
    if remaining < FRAME_HEADER as u64 {
        return Ok(None);
    }
    let mut header = [0; FRAME_HEADER];
    reader.read_exact(&mut header)?;
    let Some((length, crc)) = header_of(&header).filter(|(l, _)| (*l + FRAME_HEADER) as u64 <= remaining) else {
        return Ok(None);
    };
    let mut payload = vec![0; length];
    reader.read_exact(&mut payload)?;
    Ok(frame(payload, crc, at))
}

fn header_of(header: &[u8]) -> Option<(usize, u32)> {
    let rest = header.strip_prefix(&FRAME_MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length))
        .ok()
        .filter(|l| *l <= FRAME_LIMIT)?;
    Some((length, u32::from_le_bytes(*rest.first_chunk::<4>()?)))
}

fn frame(payload: Vec<u8>, crc: u32, at: u64) -> Option<Frame> {
    let end = at + (FRAME_HEADER + payload.len()) as u64;
    let point = LogPosition { frame: at, crc, end };
    (crc32c::crc32c(&payload) == crc).then_some(Frame { point, payload })
}

fn is_frame(bytes: &[u8]) -> bool {
    bytes.split_first_chunk::<FRAME_HEADER>().is_some_and(|(header, rest)| {
        header_of(header).is_some_and(|(length, crc)| rest.get(..length).is_some_and(|p| crc32c::crc32c(p) == crc))
    })
}

fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}
