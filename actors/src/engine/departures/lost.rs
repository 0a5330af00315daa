//! Of which times restores have lost the history: what moved in one of them may have no row.

use std::ops::RangeInclusive;

use purser_storage::{Store, StoreError, Write};

use super::{Restored, put};
use crate::kernel::table;
use crate::port::Timestamp;

/// Each time as two numbers of milliseconds.
const LOST: &str = "lost-times";
const EACH: usize = 16;

async fn read(store: &dyn Store) -> Result<Vec<u8>, StoreError> {
    let row = store.read(&table::meta(LOST)).await?;
    Ok(row.map(|row| row.value.to_vec()).unwrap_or_default())
}

/// All of them, the restore before last included: a backup of a restored store may be restored too.
///
/// # Errors
/// When storage fails.
pub async fn lost_times(store: &dyn Store) -> Result<Vec<RangeInclusive<Timestamp>>, StoreError> {
    let time = |bytes: &[u8]| bytes.first_chunk().map(|ms| Timestamp(u64::from_be_bytes(*ms)));
    let span = |bytes: &[u8]| Some(time(bytes)?..=time(bytes.get(8..)?)?);
    Ok(read(store).await?.chunks_exact(EACH).filter_map(span).collect())
}

/// Adds the time that this restore has lost.
pub(super) async fn written(store: &dyn Store, restored: Restored) -> Result<Write, StoreError> {
    let mut all = read(store).await?;
    all.extend(restored.since.0.to_be_bytes());
    all.extend(restored.until.0.to_be_bytes());
    Ok(put(table::meta(LOST), all))
}
