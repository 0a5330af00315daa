//! The file of an export.
//!
//! ```text
//! header: magic 8 | seq 8 | time 8 | crc 4
//! blocks: len 4 | crc 4 | rows (key len 2 | revision 8 | value len 4 | key | value)
//! footer: 0xFFFF_FFFF 4 | rows 8 | crc over all block checksums 4 | crc 4
//! ```
//!
//! Keys strictly ascend. A file without its footer is no export.

use crate::disk::DiskFile;
use crate::journal::{ReadWindow, u32_at, u64_at};
use crate::{Row, RowKey, Seq, StoreError};

const MAGIC: &[u8; 8] = b"PURSERX1";
const HEADER: usize = 28;
const FOOTER: usize = 20;
const END: u32 = u32::MAX;
const ROW_FIXED: usize = 14;
/// A block is closed when it has this many bytes.
const BLOCK: usize = 256 << 10;

fn io(e: std::io::Error) -> StoreError {
    StoreError::Io(format!("export: {e}"))
}

fn corrupt(offset: u64, what: &str) -> StoreError {
    StoreError::Corrupt(format!("export at byte {offset}: {what}"))
}

/// Writes an export front to back.
pub(crate) struct ExportWriter<'a> {
    file: &'a dyn DiskFile,
    at: u64,
    block: Vec<u8>,
    rows: u64,
    chain: u32,
}

impl<'a> ExportWriter<'a> {
    pub(crate) fn new(file: &'a dyn DiskFile, seq: Seq, time_ms: u64) -> Result<Self, StoreError> {
        let mut head = Vec::with_capacity(HEADER);
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&seq.to_le_bytes());
        head.extend_from_slice(&time_ms.to_le_bytes());
        let crc = crc32c::crc32c(&head);
        head.extend_from_slice(&crc.to_le_bytes());
        file.write_at(0, &head).map_err(io)?;
        Ok(Self {
            file,
            at: HEADER as u64,
            block: Vec::new(),
            rows: 0,
            chain: 0,
        })
    }

    pub(crate) fn row(&mut self, key: &[u8], row: &Row) -> Result<(), StoreError> {
        if self.block.is_empty() {
            self.block.extend_from_slice(&[0; 8]);
        }
        self.block.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.block.extend_from_slice(&row.revision.to_le_bytes());
        self.block.extend_from_slice(&(row.value.len() as u32).to_le_bytes());
        self.block.extend_from_slice(key);
        self.block.extend_from_slice(&row.value);
        self.rows += 1;
        if self.block.len() >= BLOCK {
            self.close_block()
        } else {
            Ok(())
        }
    }

    fn close_block(&mut self) -> Result<(), StoreError> {
        if self.block.is_empty() {
            return Ok(());
        }
        let len = (self.block.len() - 8) as u32;
        let crc = crc32c::crc32c(&self.block[8..]);
        self.block[0..4].copy_from_slice(&len.to_le_bytes());
        self.block[4..8].copy_from_slice(&crc.to_le_bytes());
        self.chain = crc32c::crc32c_append(self.chain, &crc.to_le_bytes());
        self.file.write_at(self.at, &self.block).map_err(io)?;
        self.at += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }

    /// Closes and syncs the file; returns the number of rows.
    pub(crate) fn finish(mut self) -> Result<u64, StoreError> {
        self.close_block()?;
        let mut foot = Vec::with_capacity(FOOTER);
        foot.extend_from_slice(&END.to_le_bytes());
        foot.extend_from_slice(&self.rows.to_le_bytes());
        foot.extend_from_slice(&self.chain.to_le_bytes());
        let crc = crc32c::crc32c(&foot);
        foot.extend_from_slice(&crc.to_le_bytes());
        self.file.write_at(self.at, &foot).map_err(io)?;
        self.file.sync().map_err(io)?;
        Ok(self.rows)
    }
}

/// Reads an export front to back, checking everything on the way.
pub(crate) struct ExportReader<'a> {
    window: ReadWindow<'a>,
    pub(crate) seq: Seq,
    pub(crate) time_ms: u64,
    at: u64,
    size: u64,
    block: Vec<u8>,
    used: usize,
    rows: u64,
    chain: u32,
    last_key: Option<RowKey>,
    finished: bool,
}

impl<'a> ExportReader<'a> {
    pub(crate) fn open(file: &'a dyn DiskFile) -> Result<Self, StoreError> {
        let size = file.size().map_err(io)?;
        let mut window = ReadWindow::new(file);
        let head = window.get(0, HEADER).map_err(io)?;
        if head.len() < HEADER || &head[..8] != MAGIC || u32_at(head, 24) != crc32c::crc32c(&head[..24]) {
            return Err(corrupt(0, "no header"));
        }
        let (seq, time_ms) = (u64_at(head, 8), u64_at(head, 16));
        Ok(Self {
            window,
            seq,
            time_ms,
            at: HEADER as u64,
            size,
            block: Vec::new(),
            used: 0,
            rows: 0,
            chain: 0,
            last_key: None,
            finished: false,
        })
    }

    /// The next row; `None` after the footer was checked.
    pub(crate) fn next(&mut self) -> Result<Option<(RowKey, Row)>, StoreError> {
        if self.used == self.block.len() {
            self.load_block()?;
        }
        if self.finished {
            return Ok(None);
        }
        let rest = &self.block[self.used..];
        let Some((fixed, rest)) = rest.split_at_checked(ROW_FIXED) else {
            return Err(corrupt(self.at, "a short row"));
        };
        let (key_len, value_len) = (
            usize::from(u16::from_le_bytes([fixed[0], fixed[1]])),
            u32_at(fixed, 10) as usize,
        );
        let (Some(key), Some(value)) = (rest.get(..key_len), rest.get(key_len..key_len + value_len)) else {
            return Err(corrupt(self.at, "a short row"));
        };
        let row = Row {
            revision: u64_at(fixed, 2),
            value: value.into(),
        };
        let key: RowKey = key.into();
        if self.last_key.as_ref().is_some_and(|last| *last >= key) {
            return Err(corrupt(self.at, "keys out of order"));
        }
        self.used += ROW_FIXED + key_len + value_len;
        self.rows += 1;
        self.last_key = Some(key.clone());
        Ok(Some((key, row)))
    }

    fn load_block(&mut self) -> Result<(), StoreError> {
        if self.finished {
            return Ok(());
        }
        let at = self.at;
        let head = self.window.get(at, 8).map_err(io)?;
        if head.len() < 8 {
            return Err(corrupt(at, "cut off"));
        }
        let (len, crc) = (u32_at(head, 0), u32_at(head, 4));
        if len == END {
            return self.check_footer();
        }
        if u64::from(len) > self.size {
            return Err(corrupt(at, "a block's length"));
        }
        let raw = self.window.get(at + 8, len as usize).map_err(io)?;
        if raw.len() != len as usize || raw.is_empty() || crc32c::crc32c(raw) != crc {
            return Err(corrupt(at, "a block's checksum"));
        }
        self.block.clear();
        self.block.extend_from_slice(raw);
        self.used = 0;
        self.chain = crc32c::crc32c_append(self.chain, &crc.to_le_bytes());
        self.at += 8 + u64::from(len);
        Ok(())
    }

    fn check_footer(&mut self) -> Result<(), StoreError> {
        let foot = self.window.get(self.at, FOOTER).map_err(io)?;
        let whole = foot.len() == FOOTER
            && u32_at(foot, 16) == crc32c::crc32c(&foot[..16])
            && u64_at(foot, 4) == self.rows
            && u32_at(foot, 12) == self.chain
            && self.at + FOOTER as u64 == self.size;
        if !whole {
            return Err(corrupt(self.at, "the footer"));
        }
        self.block.clear();
        self.used = 0;
        self.finished = true;
        Ok(())
    }
}
