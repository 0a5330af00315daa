//! How far a walk through all lists and books has come.

use purser_storage::codec::{self, Stored};
use purser_storage::{Store, StoreError};

use super::internal_entries::TABLES;
use crate::kernel::table;
use crate::port::{ListCursor, Timestamp};
use crate::reconciliation::ReconciliationSource;

/// Where a walk's place is written down.
pub(super) const META_KEY: &str = "reconciliation";

/// How far a walk has come. A walk goes through everybody's list and then through our books.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ReconciliationCursor {
    /// Which list or table.
    phase: u8,
    /// How far in it: a list's cursor, or a row's key.
    pub(super) position: Option<Vec<u8>>,
    /// Compared so far.
    pub compared: u64,
    /// Whether a list could not be read to its end.
    pub skipped: bool,
    /// When the last one ended that read every list to its end.
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
    /// As it was left, or a first one: a place from before there were the lists that there are is no place.
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

    /// From the first list on.
    #[must_use]
    pub fn restart(&self) -> Self {
        Self {
            completed_at: self.completed_at,
            ..Self::default()
        }
    }

    /// Whether there is nothing more to read.
    pub fn is_complete(&self) -> bool {
        matches!(self.phase(), ReconciliationPhase::Complete)
    }

    pub(super) fn phase(&self) -> ReconciliationPhase {
        let stage = usize::from(self.phase);
        let outside = ReconciliationSource::ALL
            .get(stage)
            .map(|source| ReconciliationPhase::Source(*source));
        let table = || TABLES.get(stage.saturating_sub(ReconciliationSource::ALL.len()));
        outside
            .or_else(|| table().map(|table| ReconciliationPhase::OwnTables(table)))
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
