//! The operators' list has exactly the open discrepancies, each once and under its kind.

use std::collections::BTreeMap;

use purser_actors::entity::discrepancy::{Discrepancy, Event, Status};
use purser_actors::id::DiscrepancyId;
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Row, Store, StoreError};

use super::{VerifyReport, each_row, take};

/// Discrepancies, and the list of open ones with their time and kind.
#[derive(Default)]
pub(super) struct Discrepancies {
    pub(super) all: BTreeMap<DiscrepancyId, (Discrepancy, u64)>,
    listed: BTreeMap<DiscrepancyId, Vec<(u64, u8)>>,
}

pub(super) const fn name_of(status: Status) -> &'static str {
    match status {
        Status::Open => "open",
        Status::Resolved => "resolved",
    }
}

/// The status after an event; `None` for another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    (kind == EntityKind::Discrepancy as u8).then(|| {
        codec::decode(event).map(|event| match event {
            Event::Opened(..) | Event::Updated(..) => Some("open"),
            Event::Resolved(_) => Some("resolved"),
        })
    })
}

impl Discrepancies {
    /// Reads a row of the kind; `None` for another.
    pub(super) fn read(&mut self, kind: u8, number: u128, row: &Row, report: &mut VerifyReport) -> Option<()> {
        (kind == EntityKind::Discrepancy as u8).then(|| {
            let id = DiscrepancyId(number);
            take(row, &id.to_string(), report).map(|read| self.all.insert(id, read));
        })
    }

    pub(super) async fn read_rows(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        each_row(store, &[table::OPEN_DISCREPANCY], |key, row| {
            let Some((at, id)) = table::created_and_id(&key.into()) else {
                return;
            };
            let kind = row.value.first().copied().unwrap_or(u8::MAX);
            self.listed.entry(DiscrepancyId(id)).or_default().push((at.0, kind));
        })
        .await
    }
}

pub(super) fn check(differences: &Discrepancies, report: &mut VerifyReport) {
    let Discrepancies { all, listed } = differences;
    for (id, (difference, _)) in all {
        let want = match difference.status {
            Status::Open => vec![(difference.opened_at.0, difference.details.kind as u8)],
            Status::Resolved => Vec::new(),
        };
        let has = listed.get(id).cloned().unwrap_or_default();
        if has != want {
            let detail = format!("{}: its rows in the list are {has:?}", name_of(difference.status));
            report.report("discrepancy.index_mismatch", id, detail);
        }
    }
    for id in listed.keys().filter(|id| !all.contains_key(id)) {
        report.report(
            "discrepancy.index_mismatch",
            id,
            "a row in the list, and no such difference",
        );
    }
}
