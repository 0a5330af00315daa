//! The slot up to which two endpoints agree on the treasury's transactions.

use purser_storage::Write;
use purser_storage::codec::Stored;

use super::{RowError, Rows, key, put};

const CROSS_CHECKED: u8 = b'w';

/// Lower than the covered slot if one endpoint alone has covered the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct CrossChecked {
    slot: u64,
}

impl Stored for CrossChecked {
    const SCHEMA: u16 = 526;
}

impl Rows {
    /// The slot up to which two endpoints agree on the treasury's transactions; `None` before the first time.
    pub(in crate::solana) async fn cross_checked(&self) -> Result<Option<u64>, RowError> {
        let row: Option<CrossChecked> = self.one(&key(CROSS_CHECKED, &[])).await?;
        Ok(row.map(|row| row.slot))
    }
}

/// The write for the cross-checked slot.
pub(in crate::solana) fn cross_checked(slot: u64) -> Write {
    put(key(CROSS_CHECKED, &[]), &CrossChecked { slot })
}
