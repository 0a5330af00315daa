//! Durable position of a reconciliation run.

use purser_storage::codec::{self, Stored};
use purser_storage::{Store, StoreError};

use super::internal_entries;
use crate::kernel::table;
use crate::port::{ListCursor, Timestamp};
use crate::reconciliation::ReconciliationSource;

/// META key of the cursor.
pub(super) const META_KEY: &str = "reconciliation";

/// Position of a run. A run reads every external list, and then our own tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ReconciliationCursor {
    /// Index of the list or table.
    phase: u8,
    /// Position in it: a list's cursor, or a row's key.
    pub(super) position: Option<Vec<u8>>,
    /// Entries compared so far.
    pub compared: u64,
    /// Whether a list could not be read to its end.
    pub skipped: bool,
    /// End of the last run that read every list to its end.
    pub completed_at: Option<Timestamp>,
}

impl Stored for ReconciliationCursor {
    const SCHEMA: u16 = 270;
}

pub(super) enum ReconciliationPhase {
    Source(ReconciliationSource),
    OwnTables(&'static [u8]),
    Complete,
}

impl ReconciliationCursor {
    /// The stored cursor, or a new one. A cursor from before the present set of lists is discarded.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let row = store.read(&table::meta(META_KEY)).await?;
        Ok(row.map_or_else(Self::default, |row| {
            codec::decode(&row.value).unwrap_or_else(|error| {
                tracing::warn!(%error, "reconciliation begins anew");
                Self::default()
            })
        }))
    }

    /// A new run from the first list.
    #[must_use]
    pub fn restart(&self) -> Self {
        Self {
            completed_at: self.completed_at,
            ..Self::default()
        }
    }

    /// Whether nothing is left to read.
    pub fn is_complete(&self) -> bool {
        matches!(self.phase(), ReconciliationPhase::Complete)
    }

    pub(super) fn phase(&self) -> ReconciliationPhase {
        let stage = usize::from(self.phase);
        let outside = ReconciliationSource::ALL
            .get(stage)
            .map(|source| ReconciliationPhase::Source(*source));
        let table = || internal_entries::tables().nth(stage.saturating_sub(ReconciliationSource::ALL.len()));
        outside
            .or_else(|| table().map(ReconciliationPhase::OwnTables))
            .unwrap_or(ReconciliationPhase::Complete)
    }

    pub(super) fn advance(&mut self, place: Option<Vec<u8>>) {
        if place.is_none() {
            self.phase = self.phase.saturating_add(1);
        }
        self.position = place;
    }

    pub(super) fn cursor(&self) -> Option<ListCursor> {
        let place = self.position.clone()?;
        String::from_utf8(place).ok().and_then(ListCursor::new)
    }
}
