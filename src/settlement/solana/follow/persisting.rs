//! Persists the follower's results, and reports them to the transactions in flight.

use std::collections::{HashMap, HashSet};

use futures_util::StreamExt as _;
use futures_util::stream;
use purser_actors::port::Timestamp;
use purser_chains::solana::Signature;
use purser_chains::solana::follow::{Change, Cursor, Follower, Row};
use purser_chains::solana::lifecycle::Evidence;
use purser_chains::solana::status::{Commitment, SignatureStatus, TransactionError};
use purser_storage::Write;

use super::{CONCURRENT_READS, Coverage, FollowPosition, Lister};
use crate::solana::SolanaSettlement;
use crate::solana::rows::{self, CursorRow, MovementRow, RowError};
use crate::solana::treasury_history::ReadTransaction;

type Listers = HashMap<Signature, Lister>;

impl SolanaSettlement {
    /// Continues from the rows, or starts at the first slot.
    pub(super) async fn resume(&self) -> Result<FollowPosition, String> {
        let to_text = |error: RowError| error.to_string();
        let crossed = self.rows.cross_checked().await.map_err(to_text)?;
        let (place, revision) = match self.rows.cursor().await.map_err(to_text)? {
            // An earlier version or other settings may have covered slots with one endpoint alone, possibly ahead of
            // the chain. Transactions that were final then remain final; cross-checking starts here.
            Some((place, revision)) if self.is_cross_checking() && crossed != Some(place.covered_slot) => {
                let covered_slot = place.covered_slot.min(self.shared_finalized().await?);
                let place = CursorRow { covered_slot, ..place };
                (place, revision)
            }
            Some(known) => known,
            None => {
                let from_slot = match self.from_slot {
                    Some(slot) => slot,
                    None => self.shared_finalized().await?,
                };
                let place = CursorRow {
                    from_slot,
                    covered_slot: 0,
                    overlap_from: 1,
                    next_number: 1,
                    next_position: 1,
                    covered_at: Timestamp(0),
                };
                (place, 0)
            }
        };
        let mut finals = self.rows.finals(place.overlap_from).await.map_err(to_text)?;
        finals.sort_by_key(|(number, seen)| (seen.slot, *number));
        let pending = self.rows.pending().await.map_err(to_text)?;
        let cursor = Cursor {
            covered_slot: place.covered_slot,
            finalized: finals.iter().map(|(_, seen)| (*seen).into()).collect(),
            pending: pending.into_iter().map(Row::from).collect(),
        };
        Ok(FollowPosition {
            follower: Follower::resume(place.from_slot, cursor),
            numbers: finals.iter().map(|(number, seen)| (seen.id, *number)).collect(),
            cursor: place,
            revision,
        })
    }

    /// Writes changes. The last write of a part also contains the covered slot.
    pub(super) async fn persist(
        &self,
        at: &mut FollowPosition,
        chunk: &[Change],
        (listers, finals): (&Listers, &HashMap<Signature, Vec<MovementRow>>),
        covers: Coverage,
    ) -> Result<(), String> {
        let read = stream::iter(chunk.to_vec()).map(|change| self.read_change(change, listers, finals));
        let read: Vec<Option<ReadTransaction>> = read.buffered(CONCURRENT_READS).collect().await;
        let mut place = at.cursor.clone();
        let mut writes: Vec<Write> = Vec::new();
        for change in chunk {
            match change {
                Change::Reorged(row) => writes.push(rows::delete_pending(&row.id)),
                Change::New(row) | Change::Updated { to: row, .. } => writes.push(rows::put_pending(*row)),
                Change::Final(row) => {
                    writes.extend(rows::put_final(*row, place.next_number));
                    at.numbers.insert(row.id, place.next_number);
                    place.next_number += 1;
                    for moved in finals.get(&row.id).into_iter().flatten() {
                        writes.extend(rows::put_movement(moved, place.next_position));
                        place.next_position += 1;
                    }
                }
            }
        }
        if !matches!(covers, Coverage::Partial) {
            let cursor = at.follower.cursor();
            let compared: HashSet<Signature> = cursor.finalized.iter().map(|row| row.id).collect();
            at.numbers.retain(|id, _| compared.contains(id));
            place.overlap_from = at.numbers.values().copied().min().unwrap_or(place.next_number);
            place.covered_slot = cursor.covered_slot;
            if self.is_cross_checking() {
                writes.push(rows::cross_checked(place.covered_slot));
            }
        }
        if let Coverage::Present(began) = covers {
            place.covered_at = began;
        }
        let written = self.rows.advance(&place, at.revision, writes).await;
        written.map_err(|error| error.to_string())?;
        at.revision += 1;
        at.cursor = place.clone();
        let mut followed = self.treasury_history.lock();
        followed.set_cursor(place);
        for (change, read) in chunk.iter().zip(read) {
            match change {
                Change::New(row) | Change::Updated { to: row, .. } => followed.add_pending(*row, read),
                Change::Reorged(row) | Change::Final(row) => followed.forget(&row.id),
            }
        }
        Ok(())
    }

    /// The transfers of a change. `None` if they are not read now: they are read once final, or were read before.
    async fn read_change(
        &self,
        change: Change,
        listers: &Listers,
        finals: &HashMap<Signature, Vec<MovementRow>>,
    ) -> Option<ReadTransaction> {
        let (Change::New(row) | Change::Updated { to: row, .. }) = change else {
            return None;
        };
        let lister = listers.get(&row.id).filter(|_| !finals.contains_key(&row.id))?;
        self.read_pending_on(lister.endpoint, row).await
    }

    /// Reports the changes of transactions that we sent: a listing counts as a response of that endpoint.
    pub(super) fn notify_in_flight(&self, chunk: &[Change], (listers, by): (&Listers, &[usize])) {
        let found = |row: &Row, endpoint: usize, slot: u64, level: Commitment| {
            let status = SignatureStatus {
                slot: row.slot,
                level,
                error: None::<TransactionError>,
            };
            let context_slot = slot.max(row.slot);
            self.listed(&row.id, endpoint, Evidence::Found { context_slot, status });
        };
        for change in chunk {
            match change {
                Change::Reorged(row) => self.in_flight.lock().recheck(&row.id),
                // The status query reads a failure together with its reason.
                Change::New(row) | Change::Updated { to: row, .. } if !row.failed => {
                    if let Some(lister) = listers.get(&row.id) {
                        found(row, lister.endpoint, lister.context_slot, Commitment::Confirmed);
                    }
                }
                Change::Final(row) if !row.failed => {
                    for endpoint in by {
                        found(row, *endpoint, row.slot, Commitment::Finalized);
                    }
                }
                _ => {}
            }
        }
    }
}
