//! Transfers in transactions of the treasury, as endpoints show them. If there are two endpoints, both must agree on
//! final ones.

use std::sync::atomic::Ordering;

use purser_actors::port::{ChainMovement, Timestamp};
use purser_chains::solana::address::base58;
use purser_chains::solana::cross_check::witnesses;
use purser_chains::solana::follow::Row;
use purser_chains::solana::node::NodeError;
use purser_chains::solana::node::movements::{ChainTransaction, Direction};
use purser_chains::solana::status::Commitment;
use purser_chains::solana::{Pubkey, Signature};
use sha2::{Digest as _, Sha256};

use super::SolanaSettlement;
use super::rows::{End, MovementRow};
use super::treasury_history::{EndpointView, ReadTransaction};

/// Solana started in March 2020: an earlier block time is invalid.
const FIRST_BLOCK_S: i64 = 1_577_836_800;

impl SolanaSettlement {
    /// Transfers of a transaction that one endpoint lists. `None` for transactions that are only read once they are
    /// final.
    pub(super) async fn read_pending_on(&self, endpoint: usize, row: Row) -> Option<ReadTransaction> {
        if row.failed {
            return None;
        }
        let shown = self.view_on(endpoint, row, Commitment::Confirmed).await.ok()?;
        let prepared = self.is_prepared(&row.id).await.ok()?;
        Some(ReadTransaction {
            movements: self.relevant_movements(&row.id, shown.transaction.as_ref(), prepared),
            view: Some(shown),
        })
    }

    /// Transfers of a final transaction. If there are two endpoints, two must agree; further ones are queried if they
    /// differ.
    pub(super) async fn read_final(&self, row: Row, endpoints: &[usize]) -> Result<Vec<MovementRow>, String> {
        if row.failed {
            return Ok(Vec::new());
        }
        let read = self.treasury_history.lock().read_of(&row);
        let mut shown: Vec<EndpointView> = Vec::new();
        if let Some(ReadTransaction { view: Some(seen), .. }) = &read {
            shown.push(seen.clone());
        }
        let needed = witnesses(self.node.endpoints());
        let (mut failure, mut alike) = (None, shown.first().filter(|_| needed == 1).cloned());
        for endpoint in endpoints.iter().copied() {
            if alike.is_some() {
                break;
            }
            if shown.iter().any(|shown| shown.endpoint == endpoint) {
                continue;
            }
            match self.view_on(endpoint, row, Commitment::Finalized).await {
                Ok(one) => {
                    alike = match needed {
                        1 => Some(one.clone()),
                        _ => shown.iter().find_map(|other| merged(other, &one)),
                    };
                    shown.push(one);
                }
                Err(error) => failure = Some(error),
            }
        }
        let Some(alike) = alike else {
            if shown.len() >= needed {
                // A response that could not be read proves nothing while another endpoint was not heard: it may confirm the other.
                let is_every_one_heard = shown.len() == self.node.endpoints();
                if is_every_one_heard || shown.iter().all(|view| view.transaction.is_some()) {
                    self.record_mismatch(&row.id);
                }
                // Each is queried again: the wrong one may recover.
                self.treasury_history.lock().discard_read(&row.id);
            }
            let differ = || format!("endpoints show different movements of {}", base58(&row.id));
            return Err(failure.unwrap_or_else(differ));
        };
        // Equal, unless one endpoint reported a time that the other did not.
        let same = |read: &ReadTransaction| {
            read.view
                .as_ref()
                .is_some_and(|seen| seen.transaction == alike.transaction)
        };
        if let Some(read) = read.filter(same) {
            return Ok(read.movements);
        }
        let prepared = self.is_prepared(&row.id).await?;
        Ok(self.relevant_movements(&row.id, alike.transaction.as_ref(), prepared))
    }

    async fn view_on(&self, endpoint: usize, row: Row, commitment: Commitment) -> Result<EndpointView, String> {
        let ours = (&self.treasury_account, &self.mint);
        let read = self.node.transaction_on(endpoint, &row.id, ours, commitment).await;
        let found = match read {
            Ok(found) => {
                found.ok_or_else(|| format!("an endpoint does not have the transaction {}", base58(&row.id)))?
            }
            // An unreadable transaction must not stop the list: anyone can send one.
            Err(NodeError::Malformed { what, .. }) => {
                tracing::debug!(transaction = base58(&row.id), endpoint, what, "not understood");
                return Ok(EndpointView {
                    endpoint,
                    transaction: None,
                });
            }
            Err(error) => return Err(error.to_string()),
        };
        match (found.slot, found.error.is_some()) == (row.slot, row.failed) {
            true => Ok(EndpointView {
                endpoint,
                transaction: Some(found),
            }),
            false => Err(format!(
                "an endpoint lists the transaction {} otherwise than it shows it",
                base58(&row.id)
            )),
        }
    }

    /// The transfers of an executed transaction, from the first endpoint that has it.
    async fn movements(&self, row: Row) -> Result<Vec<MovementRow>, String> {
        let prepared = self.is_prepared(&row.id).await?;
        let (ours, mint) = (&self.treasury_account, &self.mint);
        let read = self.node.transaction(&row.id, ours, mint, Commitment::Confirmed);
        match read.await {
            Ok(Some(found)) => Ok(self.relevant_movements(&row.id, Some(&found), prepared)),
            Ok(None) => Err(format!("no endpoint has the transaction {}", base58(&row.id))),
            Err(NodeError::Malformed { .. }) => Ok(self.relevant_movements(&row.id, None, prepared)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether we have co-signed it, also by a fee payer that is not in the settings any more.
    async fn is_prepared(&self, id: &Signature) -> Result<bool, String> {
        let closed = self.rows.closed(id).await.map_err(|error| error.to_string())?;
        let prepared = closed.is_some() || self.in_flight.lock().stage(id).is_some();
        if closed.is_some_and(|closed| closed.end != End::Confirmed) {
            self.contradicted(id, "it was proven impossible");
        }
        Ok(prepared)
    }

    /// Transfers of transactions that are seen and not final.
    pub(super) async fn pending_movements(&self) -> Result<Vec<MovementRow>, String> {
        let waiting = self.treasury_history.lock().pending_movements();
        let mut all = Vec::new();
        for (row, moved) in waiting {
            all.extend(match moved {
                Some(moved) => moved,
                // Seen by an earlier run of the service.
                None => self.movements(row).await?,
            });
        }
        Ok(all)
    }

    /// `found` is `None` if the transaction could not be parsed; `prepared` if we have co-signed it.
    fn relevant_movements(&self, id: &Signature, found: Option<&ChainTransaction>, prepared: bool) -> Vec<MovementRow> {
        let Some(found) = found else {
            self.alarms.unreadable.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                transaction = base58(id),
                "a transaction of the treasury could not be read"
            );
            return Vec::new();
        };
        if found.unexplained != 0 {
            self.alarms.unreadable.fetch_add(1, Ordering::Relaxed);
            let (transaction, atomic) = (base58(id), found.unexplained);
            tracing::error!(
                transaction,
                atomic,
                "a transaction moved treasury money in a way that is not known here"
            );
        }
        let mut moved = movements_of(found, self.clock.now(), &self.mint);
        // An incoming transfer without our fee payer or a facilitator's cannot be a payment to us.
        let is_known = self.fee_payer_addresses.contains(&found.fee_payer);
        if !prepared && !is_known && !self.facilitator_fee_payers.contains(&found.fee_payer) {
            for plain in moved.iter_mut().filter(|moved| moved.incoming) {
                plain.mark = ChainMovement::plain_fingerprint(&base58(&plain.transaction), plain.index);
            }
        }
        moved
    }
}

/// Both views combined, if they agree. Nodes may omit the time of a block that they have not rooted yet.
fn merged(one: &EndpointView, other: &EndpointView) -> Option<EndpointView> {
    let (Some(first), Some(second)) = (&one.transaction, &other.transaction) else {
        let alike = one.transaction.is_none() && other.transaction.is_none();
        return alike.then(|| other.clone());
    };
    let block_time = first.block_time.or(second.block_time);
    let timed = |found: &ChainTransaction| ChainTransaction {
        block_time,
        ..found.clone()
    };
    let is_alike = timed(first) == timed(second) && second.block_time.is_none_or(|time| Some(time) == block_time);
    is_alike.then(|| EndpointView {
        endpoint: other.endpoint,
        transaction: Some(timed(first)),
    })
}

/// Converts transfers to rows; `now` replaces a missing or invalid block time.
pub(super) fn movements_of(found: &ChainTransaction, now: Timestamp, mint: &Pubkey) -> Vec<MovementRow> {
    let at = found.block_time.filter(|seconds| *seconds >= FIRST_BLOCK_S);
    let at = at.and_then(|seconds| u64::try_from(seconds).ok());
    let at = at.map_or(now, |seconds| Timestamp(seconds.saturating_mul(1_000)));
    // Unique, so that it matches no other transaction.
    let mark = found.message_hash.unwrap_or_else(|| Sha256::digest(found.id).into());
    let shown = found
        .movements
        .iter()
        .filter(|movement| movement.direction != Direction::Own);
    let moved = shown.zip(0u32..).map(|(movement, index)| MovementRow {
        transaction: found.id,
        index,
        instruction: movement.reference.instruction.to_string(),
        incoming: movement.direction == Direction::In,
        other: movement.other_owner.or(movement.other_account).unwrap_or(*mint),
        atomic: movement.amount,
        at,
        mark,
    });
    moved.collect()
}
