//! Folds the previous export and the journal since then into a new export.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::format::{ExportReader, ExportWriter};
use super::{ExportInfo, export_name, io};
use crate::disk::{Disk, DiskFile};
use crate::journal::{Segment, StoreCore, WriteRecord, scan_segment, visit_frame};
use crate::{Row, RowKey, Seq, StoreError};

type Changes = BTreeMap<RowKey, Option<Row>>;

/// Writes all rows as of `seq` (or a little later) into a file and verifies it. Returns its sequence.
pub(super) fn write_rows(
    engine: &StoreCore,
    base: Option<ExportInfo>,
    seq: Seq,
    disk: &dyn Disk,
    name: &str,
) -> Result<Seq, StoreError> {
    let file = disk.create(name).map_err(io)?;
    let segments: Vec<Arc<Segment>> = engine.segments.read().clone();
    let journal_reaches = |from: Seq| segments.first().is_none_or(|s| s.first_seq <= from + 1);
    let base_file = base.map(|info| engine.disk.open(&export_name(info.seq))).transpose();
    let (seq, rows) = match (base, base_file) {
        (Some(info), Ok(Some(base_file))) if is_complete(&*base_file, info.seq) => {
            let changes = changes(&segments, info.seq, seq)?;
            (seq, merge(Some(&*base_file), &changes, &*file, seq, engine.now_ms())?)
        }
        (None, _) if journal_reaches(0) => (
            seq,
            merge(None, &changes(&segments, 0, seq)?, &*file, seq, engine.now_ms())?,
        ),
        _ => {
            tracing::warn!("the last export is not usable; rows are taken from the snapshots");
            from_snapshots(engine, &*file)?
        }
    };
    verify(&*file, seq, rows)?;
    Ok(seq)
}

/// Whether an export can be read to its end.
fn is_complete(file: &dyn DiskFile, seq: Seq) -> bool {
    let read = || -> Result<bool, StoreError> {
        let mut reader = ExportReader::open(file)?;
        while reader.next()?.is_some() {}
        Ok(reader.seq == seq)
    };
    read().unwrap_or(false)
}

/// Reads back the written file.
fn verify(file: &dyn DiskFile, seq: Seq, rows: u64) -> Result<(), StoreError> {
    let mut reader = ExportReader::open(file)?;
    let mut found = 0;
    while reader.next()?.is_some() {
        found += 1;
    }
    if reader.seq != seq || found != rows {
        return Err(StoreError::Corrupt(
            "an export does not read back as it was written".into(),
        ));
    }
    Ok(())
}

/// The net changes of rows in the journal after `after`, up to `upto`.
fn changes(segments: &[Arc<Segment>], after: Seq, upto: Seq) -> Result<Changes, StoreError> {
    let mut changes = Changes::new();
    for segment in segments {
        let (end, last) = {
            let extent = segment.extent.read();
            (extent.end, extent.last_seq)
        };
        if last <= after || segment.first_seq > upto {
            continue;
        }
        let walked = scan_segment(
            &*segment.file,
            segment.id(),
            segment.first_seq,
            end,
            |head, payload, _| {
                if head.last_seq() > after && head.last_seq() <= upto {
                    visit_frame(head, payload, |write| record_change(&mut changes, write), |_| {});
                }
            },
        )
        .map_err(io)?;
        if walked.offset != end {
            return Err(StoreError::Corrupt(format!(
                "segment {} at byte {}",
                segment.number, walked.offset
            )));
        }
    }
    Ok(changes)
}

fn record_change(changes: &mut Changes, write: WriteRecord<'_>) {
    match write {
        WriteRecord::Put { key, revision, value } => changes.insert(
            key.into(),
            Some(Row {
                revision,
                value: value.into(),
            }),
        ),
        WriteRecord::Delete { key } => changes.insert(key.into(), None),
    };
}

fn merge(
    base: Option<&dyn DiskFile>,
    changes: &Changes,
    out: &dyn DiskFile,
    seq: Seq,
    time_ms: u64,
) -> Result<u64, StoreError> {
    let mut writer = ExportWriter::new(out, seq, time_ms)?;
    let mut changes = changes.iter().peekable();
    let mut reader = base.map(ExportReader::open).transpose()?;
    while let Some(reader) = &mut reader {
        let Some((key, row)) = reader.next()? else { break };
        while let Some((changed, new)) = changes.next_if(|(changed, _)| **changed < key) {
            if let Some(new) = new {
                writer.row(changed, new)?;
            }
        }
        match changes.next_if(|(changed, _)| **changed == key) {
            Some((_, Some(new))) => writer.row(&key, new)?,
            Some((_, None)) => {}
            None => writer.row(&key, &row)?,
        }
    }
    for (changed, new) in changes {
        if let Some(new) = new {
            writer.row(changed, new)?;
        }
    }
    writer.finish()
}

/// Fallback without an export. The snapshots get everything durable first; they do not change while they are read.
fn from_snapshots(engine: &StoreCore, out: &dyn DiskFile) -> Result<(Seq, u64), StoreError> {
    engine.apply_or_fail(&mut || ())?;
    let _still = engine.applying.lock();
    let seq = engine.snapshots.applied_seq()?.unwrap_or(0);
    let mut writer = ExportWriter::new(out, seq, engine.now_ms())?;
    let mut result = Ok(());
    engine.snapshots.scan(&[], None, &mut |key, row| {
        result = writer.row(key, &row);
        result.is_ok()
    })?;
    result?;
    Ok((seq, writer.finish()?))
}
