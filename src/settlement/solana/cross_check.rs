//! Cross-check of the treasury's transactions between endpoints: how far two agree, whether progress is made, and where
//! they disagree.

use std::collections::{BTreeMap, HashMap, HashSet};

use purser_actors::port::PortError;
use purser_chains::solana::Signature;
use purser_chains::solana::address::base58;
use purser_chains::solana::cross_check::{Agreement, witnesses};
use purser_chains::solana::follow::History;
use purser_chains::solana::node::NodeError;
use purser_chains::solana::status::Commitment;

use super::SolanaSettlement;
use crate::errors::temporary;

/// A disagreement between endpoints that lasts longer is counted, in milliseconds: a node may index a transaction late.
const DISPUTE_TIMEOUT_MS: u64 = 10_000;
/// How long the first slot of an endpoint's history is cached, in milliseconds.
const FIRST_SLOT_TTL_MS: u64 = 60_000;

/// Progress of the cross-check, and the disagreements that block it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Time of the last progress, in milliseconds of process time.
    at_ms: u64,
    slot: u64,
    /// Highest final slot claimed by each endpoint.
    finalized: BTreeMap<usize, u64>,
    /// Newest slot claimed by each endpoint.
    newest: BTreeMap<usize, u64>,
    /// First slot with blocks of each endpoint, and when it was read.
    first_slots: HashMap<usize, (u64, u64)>,
    /// Transactions on which endpoints disagree: since when, and whether that was counted.
    disputed: HashMap<Signature, (u64, bool)>,
    /// Final transactions for which no two endpoints show the same transfers.
    mismatched: HashSet<Signature>,
    mismatches: u64,
    /// Whether the stall was logged.
    is_stall_logged: bool,
}

impl Progress {
    pub(super) fn start(now_ms: u64, slot: u64) -> Self {
        Self {
            at_ms: now_ms,
            slot,
            ..Self::default()
        }
    }

    /// Records that everything up to this slot is final. Returns whether the cross-check was stalled before.
    fn advance(&mut self, slot: u64, now_ms: u64) -> bool {
        if slot <= self.slot {
            return false;
        }
        (self.slot, self.at_ms) = (slot, now_ms);
        self.mismatched.clear();
        std::mem::take(&mut self.is_stall_logged)
    }

    /// Records the current disagreements, and the slot up to which two endpoints agree. Returns those that were not
    /// counted before.
    fn disputes(&mut self, agreement: &Agreement, now_ms: u64) -> Vec<Signature> {
        let now: HashMap<Signature, u64> = agreement.disputed.iter().map(|row| (row.id, row.slot)).collect();
        self.disputed.retain(|id, _| now.contains_key(id));
        let mut fresh = Vec::new();
        for (id, slot) in now {
            let (since, counted) = self.disputed.entry(id).or_insert((now_ms, false));
            // Two other endpoints have decided it, or it lasts too long to be indexing delay.
            let decided = slot <= agreement.slot || now_ms.saturating_sub(*since) >= DISPUTE_TIMEOUT_MS;
            if decided && !*counted {
                *counted = true;
                self.mismatches += 1;
                fresh.push(id);
            }
        }
        fresh
    }

    /// The second highest of all claims, if there are two endpoints.
    fn shared(claims: &BTreeMap<usize, u64>, endpoints: usize) -> Option<u64> {
        let mut all: Vec<u64> = claims.values().copied().collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all.get(witnesses(endpoints) - 1).copied()
    }
}

impl SolanaSettlement {
    /// The slot up to which two endpoints agree on every transaction of the treasury; `None` with a single endpoint,
    /// which is trusted.
    pub fn cross_checked(&self) -> Option<u64> {
        self.is_cross_checking().then(|| self.progress.lock().slot)
    }

    /// Transactions on which endpoints have disagreed since the start. Each is counted once: when two other endpoints
    /// have decided it, or after 10 s.
    pub fn mismatches(&self) -> u64 {
        self.progress.lock().mismatches
    }

    /// Whether the treasury's transactions have been read and persisted at least once.
    pub fn has_started(&self) -> bool {
        self.treasury_history.lock().has_started()
    }

    /// Whether the final slot and the tip were read within the last minute (`Pace::standstill_ms`) and the first read
    /// is durable. Otherwise no payment is prepared. A chain that was not verified is not read.
    pub fn is_up_to_date(&self) -> bool {
        if !self.gate.is_open() || !self.has_started() {
            return false;
        }
        let now_ms = self.timer.now_ms();
        let is_recent = |at_ms: u64| now_ms.saturating_sub(at_ms) < self.pace.standstill_ms;
        // Nothing is prepared before the first blockhash either.
        let is_read = self.tip.lock().read_ms().is_none_or(is_recent);
        is_read && is_recent(self.progress.lock().at_ms)
    }

    /// Rejects new payments while final slots are not being read.
    pub(crate) fn require_up_to_date(&self, operation: &'static str) -> Result<(), PortError> {
        match self.is_up_to_date() {
            true => Ok(()),
            false => Err(temporary(
                operation,
                "the endpoints do not show how far the chain is final",
            )),
        }
    }

    /// Whether a single endpoint's response is not enough.
    pub(super) fn is_cross_checking(&self) -> bool {
        self.witnesses() > 1
    }

    /// Number of endpoints that must show the same.
    pub(super) fn witnesses(&self) -> usize {
        witnesses(self.node.endpoints())
    }

    /// Records the slots that an endpoint has shown.
    pub(super) fn record_claim(&self, endpoint: usize, newest: u64, finalized: Option<u64>) {
        let mut progress = self.progress.lock();
        let known = progress.newest.entry(endpoint).or_default();
        *known = newest.max(*known);
        if let Some(finalized) = finalized {
            progress.finalized.insert(endpoint, finalized);
        }
    }

    /// The newest slot that two endpoints have reached; with one endpoint, the newest that any response has shown.
    pub(super) fn shared_slot(&self) -> u64 {
        match self.is_cross_checking() {
            false => self.tip.lock().slot(),
            true => Progress::shared(&self.progress.lock().newest, self.node.endpoints()).unwrap_or(0),
        }
    }

    /// The highest final slot that two endpoints claim. Queries all of them.
    pub(super) async fn shared_finalized(&self) -> Result<u64, String> {
        let endpoints = self.node.endpoints();
        let asked = (0..endpoints).map(|endpoint| self.node.history_on(endpoint));
        let answers = futures_util::future::join_all(asked).await;
        let (mut claims, mut failure) = (BTreeMap::new(), None);
        for (endpoint, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(history) => drop(claims.insert(endpoint, history.finalized_slot)),
                Err(error) => failure = Some(error.to_string()),
            }
        }
        let too_few = || "too few endpoints answer".to_owned();
        Progress::shared(&claims, endpoints).ok_or_else(|| failure.unwrap_or_else(too_few))
    }

    /// The range of an endpoint's history. Its first slot is read once a minute.
    pub(super) async fn history_of(&self, endpoint: usize) -> Result<History, String> {
        let to_text = |error: NodeError| error.to_string();
        let now_ms = self.timer.now_ms();
        let known = self.progress.lock().first_slots.get(&endpoint).copied();
        let first_available_slot = match known {
            Some((slot, read_ms)) if now_ms.saturating_sub(read_ms) < FIRST_SLOT_TTL_MS => slot,
            _ => {
                let slot = self.node.first_available_on(endpoint).await.map_err(to_text)?;
                self.progress.lock().first_slots.insert(endpoint, (slot, now_ms));
                slot
            }
        };
        let position = self.node.position_on(endpoint, Commitment::Finalized).await;
        Ok(History {
            first_available_slot,
            finalized_slot: position.map_err(to_text)?.slot,
        })
    }

    /// Whether this slot is progress, or there was progress within `ms` milliseconds.
    pub(super) fn has_advanced_since(&self, slot: u64, ms: u64) -> bool {
        let progress = self.progress.lock();
        slot > progress.slot || self.timer.now_ms().saturating_sub(progress.at_ms) <= ms
    }

    /// Records that everything up to this slot is final.
    pub(super) fn reached(&self, slot: u64) {
        if self.progress.lock().advance(slot, self.timer.now_ms()) {
            tracing::info!(slot, "Solana is read again");
        }
    }

    /// Counts and logs disagreements between endpoints.
    pub(super) fn compared(&self, agreement: &Agreement, asked: &[usize]) {
        let fresh = self.progress.lock().disputes(agreement, self.timer.now_ms());
        for id in fresh {
            tracing::warn!(
                transaction = base58(&id),
                endpoints = self.named(asked),
                agreed_slot = agreement.slot,
                "endpoints show a transaction of the treasury differently"
            );
        }
    }

    /// Records that no two endpoints show the same transfers of a transaction that they both list.
    pub(super) fn record_mismatch(&self, id: &Signature) {
        {
            let mut progress = self.progress.lock();
            if !progress.mismatched.insert(*id) {
                return;
            }
            progress.mismatches += 1;
        }
        let transaction = base58(id);
        tracing::warn!(transaction, "endpoints show different movements of a transaction");
    }

    /// Logs once when nothing has become final for too long.
    pub(super) fn watch_progress(&self, error: Option<&str>) {
        if self.is_up_to_date() || !self.gate.is_open() {
            return;
        }
        let (is_logged, slot, claims) = {
            let mut progress = self.progress.lock();
            let claims = progress.finalized.clone();
            (
                std::mem::replace(&mut progress.is_stall_logged, true),
                progress.slot,
                claims,
            )
        };
        if is_logged {
            return;
        }
        let asked: Vec<usize> = (0..self.node.endpoints()).collect();
        tracing::error!(
            slot,
            endpoints = self.named(&asked),
            finalized = ?claims.values().collect::<Vec<_>>(),
            error,
            "Solana makes no progress: endpoints fail or disagree, and no new payments are accepted there"
        );
    }

    /// Hosts of endpoints.
    fn named(&self, endpoints: &[usize]) -> String {
        let status = self.node.pool().status();
        let hosts = endpoints.iter().filter_map(|endpoint| status.get(*endpoint));
        hosts.map(|status| status.host.as_str()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use purser_chains::solana::follow::Row;

    use super::*;

    const fn row(number: u8, slot: u64) -> Row {
        Row {
            id: [number; 64],
            slot,
            failed: false,
        }
    }

    // Checks: a disagreement counts once, when it lasts or when two endpoints have continued without it. A delay does
    // not count.
    #[test]
    fn a_difference_that_lasts_is_counted_once() {
        let mut progress = Progress::start(0, 0);
        let disputed = |slot, rows: &[Row]| Agreement {
            slot,
            disputed: rows.to_vec(),
            ..Agreement::default()
        };
        let late = disputed(9, &[row(1, 10)]);
        assert!(progress.disputes(&late, 1_000).is_empty());
        assert!(
            progress.disputes(&disputed(20, &[]), 5_000).is_empty(),
            "it was indexed"
        );
        assert!(progress.disputes(&late, 6_000).is_empty());
        assert!(progress.disputes(&late, 15_999).is_empty());
        assert_eq!(progress.disputes(&late, 16_000), [[1; 64]]);
        assert!(progress.disputes(&late, 90_000).is_empty());
        assert_eq!(progress.disputes(&disputed(30, &[row(2, 25)]), 90_001), [[2; 64]]);
        assert_eq!(progress.mismatches, 2);
    }

    // Checks: one endpoint alone makes no progress, however far ahead it claims to be. With three endpoints, one that
    // lags does not delay the others.
    #[test]
    fn the_second_highest_claim_counts() {
        let of = |claims: &[u64], endpoints| Progress::shared(&claims.iter().copied().enumerate().collect(), endpoints);
        assert_eq!(of(&[7], 1), Some(7));
        assert_eq!(of(&[7], 2), None, "the other has not answered");
        assert_eq!(of(&[7, u64::MAX], 2), Some(7));
        assert_eq!(of(&[9, 3, 10], 3), Some(9));
    }

    // Checks: only a higher slot is progress, and the first one after a stall is reported.
    #[test]
    fn only_a_higher_slot_is_progress() {
        let mut progress = Progress::start(0, 5);
        assert!(!progress.advance(5, 100) && progress.at_ms == 0);
        progress.is_stall_logged = true;
        assert!(progress.advance(6, 200) && progress.at_ms == 200);
        assert!(!progress.advance(7, 300));
    }
}
