//! How far a walk through all lists and books has come.

use purser_storage::codec::{self, Stored};
use purser_storage::{Store, StoreError};

use super::books::TABLES;
use crate::kernel::table;
use crate::port::{Cursor, Timestamp};
use crate::reconcile::Source;

/// Where a walk's place is written down.
pub(super) const ROW: &str = "reconciliation";

/// How far a walk has come. A walk goes through everybody's list and then through our books.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Walk {
    /// Which list or table.
    stage: u8,
    /// How far in it: a list's cursor, or a row's key.
    pub(super) place: Option<Vec<u8>>,
    /// Compared so far.
    pub compared: u64,
    /// Whether a list could not be read to its end.
    pub skipped: bool,
    /// When the last one ended that read every list to its end.
    pub completed_at: Option<Timestamp>,
}

impl Stored for Walk {
    const SCHEMA: u16 = 270;
}

pub(super) enum Stage {
    Outside(Source),
    Books(&'static [u8]),
    Over,
}

impl Walk {
    /// As it was left, or a first one: a place from before there were the lists that there are is no place.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let row = store.read(&table::meta(ROW)).await?;
        Ok(row.map_or_else(Self::default, |row| {
            codec::decode(&row.value).unwrap_or_else(|error| {
                tracing::warn!(%error, "reconciliation begins anew");
                Self::default()
            })
        }))
    }

    /// From the first list on.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            completed_at: self.completed_at,
            ..Self::default()
        }
    }

    /// Whether there is nothing more to read.
    pub fn is_over(&self) -> bool {
        matches!(self.stage(), Stage::Over)
    }

    pub(super) fn stage(&self) -> Stage {
        let stage = usize::from(self.stage);
        let outside = Source::ALL.get(stage).map(|source| Stage::Outside(*source));
        let table = || TABLES.get(stage.saturating_sub(Source::ALL.len()));
        outside
            .or_else(|| table().map(|table| Stage::Books(table)))
            .unwrap_or(Stage::Over)
    }

    pub(super) fn goes_on(&mut self, place: Option<Vec<u8>>) {
        if place.is_none() {
            self.stage = self.stage.saturating_add(1);
        }
        self.place = place;
    }

    pub(super) fn cursor(&self) -> Option<Cursor> {
        let place = self.place.clone()?;
        String::from_utf8(place).ok().and_then(Cursor::new)
    }
}
