//! The windows of time that restores have lost. Money that moved in one of them may have no row.

use std::ops::RangeInclusive;

use purser_storage::{Store, StoreError, Write};

use super::{RestoreWindow, put_row};
use crate::engine::Engine;
use crate::engine::operators::corrupt;
use crate::entity::intl_order::IntlOrder;
use crate::kernel::table;
use crate::port::Timestamp;

/// META key. Each window is two numbers of milliseconds.
const LOST_WINDOWS_KEY: &str = "lost-times";
const WINDOW_BYTES: usize = 16;

async fn read(store: &dyn Store) -> Result<Vec<u8>, StoreError> {
    let row = store.read(&table::meta(LOST_WINDOWS_KEY)).await?;
    Ok(row.map(|row| row.value.to_vec()).unwrap_or_default())
}

/// All lost windows, including those of earlier restores: a backup of a restored store may be restored too.
///
/// # Errors
/// When storage fails.
pub async fn lost_windows(store: &dyn Store) -> Result<Vec<RangeInclusive<Timestamp>>, StoreError> {
    let time = |bytes: &[u8]| bytes.first_chunk().map(|ms| Timestamp(u64::from_be_bytes(*ms)));
    let span = |bytes: &[u8]| Some(time(bytes)?..=time(bytes.get(8..)?)?);
    Ok(read(store).await?.chunks_exact(WINDOW_BYTES).filter_map(span).collect())
}

/// Adds the window that this restore has lost.
pub(super) async fn append_window(store: &dyn Store, restored: RestoreWindow) -> Result<Write, StoreError> {
    let mut all = read(store).await?;
    all.extend(restored.since.0.to_be_bytes());
    all.extend(restored.until.0.to_be_bytes());
    Ok(put_row(table::meta(LOST_WINDOWS_KEY), all))
}

impl Engine {
    /// Whether an operator may have issued the card of an open order in a lost history: it was paid by then, and no
    /// operator has released it since. Payments of that history may be presented again for as long as they can settle.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn may_be_made_manually(&self, order: &IntlOrder) -> Result<bool, StoreError> {
        let outgoing_guard = &self.0.outgoing_guard;
        if !order.is_open() || !outgoing_guard.may_have_been_done_manually(Timestamp(0), order.released_at) {
            return Ok(false);
        }
        let payment = self.payment(&order.charge.payment).await.map_err(corrupt)?;
        let paid = payment.map_or(order.created_at, |payment| payment.claim.at);
        Ok(outgoing_guard.may_have_been_done_manually(paid, order.released_at))
    }
}
