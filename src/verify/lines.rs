//! Product lines: whether a line is open, failing or closed matches its events.

use purser_actors::entity::line::{Event, LineState, Status};
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::entity::EntityId as _;
use purser_actors::product::ProductLine;
use purser_storage::Row;
use purser_storage::codec::{self, DecodeError};

use super::banking::BankingSnapshot;

/// The status after an event; `None` for another kind.
pub(super) fn fold(kind: u8, event: &[u8]) -> Option<Result<Option<&'static str>, DecodeError>> {
    (kind == EntityKind::Line as u8).then(|| {
        codec::decode(event).map(|event| match event {
            Event::Failed(..) => Some("failing"),
            Event::Closed(..) => Some("closed"),
            Event::Recovered(_) | Event::Opened(..) => Some("open"),
        })
    })
}

/// Reads a row of the kind; `None` for another.
pub(super) fn read(kind: u8, id: &[u8], row: &Row) -> Option<Result<BankingSnapshot, DecodeError>> {
    (kind == EntityKind::Line as u8).then(|| {
        let selling: LineState = codec::decode(&row.value)?;
        let name = ProductLine::from_key(id).map_or_else(|| hex::encode(id), |line| line.to_string());
        let status = match selling.status {
            Status::Open => "open",
            Status::Failing => "failing",
            Status::Closed => "closed",
        };
        Ok(BankingSnapshot::new(name, row.revision, status))
    })
}

pub(super) fn count<'a>(kept: impl Iterator<Item = &'a (u8, Vec<u8>)>) -> usize {
    kept.filter(|(kind, _)| *kind == EntityKind::Line as u8).count()
}
