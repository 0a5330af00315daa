//! Iterates over rows page by page.

use purser_storage::codec::{self, DecodeError, Stored};
use purser_storage::{Row, RowKey, Store, StoreError, Write};

use crate::engine::operators::corrupt;

/// Rows read in one page.
const PAGE: usize = 1_000;

pub(super) fn put_row(key: RowKey, value: Vec<u8>) -> Write {
    Write::Put {
        key,
        revision: 0,
        value,
    }
}

/// Every row under a prefix, decoded, with the last 16 bytes of its key.
pub(super) async fn for_each<T: Stored>(
    store: &dyn Store,
    prefix: &[u8],
    mut take: impl FnMut(u128, T),
) -> Result<(), StoreError> {
    for_each_row(store, prefix, |id, value| {
        take(id, codec::decode(value)?);
        Ok(())
    })
    .await
}

/// The same for rows that have their own decoder.
pub(super) async fn for_each_row(
    store: &dyn Store,
    prefix: &[u8],
    mut take: impl FnMut(u128, &[u8]) -> Result<(), DecodeError>,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.scan(prefix, after.as_deref(), PAGE).await?;
        for (key, Row { value, .. }) in &page {
            let id = key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id));
            take(id, value).map_err(corrupt)?;
        }
        match page.into_iter().last() {
            Some((key, _)) => after = Some(key),
            None => return Ok(()),
        }
    }
}
