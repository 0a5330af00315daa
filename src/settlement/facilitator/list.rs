//! The facilitators of one network in the operator's order, with the status and the offered fee payers of each.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use purser_actors::id::Network;
use purser_actors::port::{Clock, Timestamp};
use purser_chains::rpc;
use purser_chains::solana::Pubkey;
use purser_chains::solana::address::base58;
use purser_storage::Store;

use super::client::{Client, Supported};
use super::counters::FacilitatorStats;
use super::health::{Health, choose};
use super::rows::{OfferedFeePayer, RowError, Rows};
use super::settings::FacilitatorSettings;
use super::wire::Chain;

/// Interval between reads of `/supported`, also after a failed read.
const REFRESH_INTERVAL: Duration = Duration::from_secs(60);
const FAILING_REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// A fee payer is accepted for this time after its last offer, in milliseconds. This is longer than any payment that
/// names it can take to settle.
const ACCEPTED_TTL_MS: u64 = 3_600_000;
/// Age at which the row of a fee payer is written again, in milliseconds.
const WRITE_INTERVAL_MS: u64 = 600_000;
/// Interval between sweeps of old payments, in milliseconds.
const SWEEP_INTERVAL_MS: u64 = 3_600_000;
/// Time after which payments that can no longer settle are deleted, in milliseconds.
const RETENTION_MS: u64 = 86_400_000;

/// A facilitator and its status.
pub(super) struct Member {
    pub(super) client: Client,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    health: Health,
    fee_payer: Option<Pubkey>,
    /// The last logged problem, so that it is logged once.
    complaint: Option<String>,
}

/// The facilitators of one network; see the module.
pub struct FacilitatorList {
    pub(super) chain: Chain,
    members: Vec<Member>,
    pub(super) rows: Rows,
    clock: Arc<dyn Clock>,
    timer: Arc<dyn rpc::Clock>,
    /// Owners of the offered fee payers.
    offered: Mutex<HashMap<Pubkey, OfferedFeePayer>>,
    accepted: RwLock<Arc<[Pubkey]>>,
}

impl FacilitatorList {
    /// Opens the list from its durable rows. Sends no request yet: see [`Self::refresh`].
    ///
    /// # Errors
    /// When the store cannot be read, or TLS is not available.
    pub async fn open(
        chain: Chain,
        settings: Vec<FacilitatorSettings>,
        store: Arc<dyn Store>,
        (clock, timer): (Arc<dyn Clock>, Arc<dyn rpc::Clock>),
    ) -> Result<Arc<Self>, String> {
        let member = |settings| {
            let client = Client::new(settings, chain)?;
            let state = Mutex::default();
            Ok(Member { client, state })
        };
        let members = settings.into_iter().map(member).collect::<Result<_, String>>()?;
        let rows = Rows::new(store, chain.network());
        let mut offered = HashMap::new();
        if chain.network() == Network::Solana {
            let since = Timestamp(clock.now().0.saturating_sub(ACCEPTED_TTL_MS));
            let found = rows.offered(since).await.map_err(|error| error.to_string())?;
            offered.extend(found);
        }
        let list = Self {
            chain,
            members,
            rows,
            clock,
            timer,
            offered: Mutex::new(offered),
            accepted: RwLock::new(Arc::new([])),
        };
        list.accept();
        Ok(Arc::new(list))
    }

    /// The facilitator for the next payment.
    pub(super) fn choose(&self) -> Option<&Member> {
        let now_ms = self.timer.now_ms();
        let all: Vec<Health> = self.members.iter().map(|member| member.state.lock().health).collect();
        choose(&all, now_ms).and_then(|position| self.members.get(position))
    }

    /// Whether every facilitator has failed a moment ago.
    pub fn all_paused(&self) -> bool {
        let now_ms = self.timer.now_ms();
        self.members
            .iter()
            .all(|member| member.state.lock().health.is_paused(now_ms))
    }

    /// The facilitator with this name in stored rows.
    pub(super) fn by_name(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.client.name() == name)
    }

    /// The facilitator that recently offered this fee payer.
    pub(super) fn owner_of(&self, fee_payer: &Pubkey) -> Option<&Member> {
        let name = self.offered.lock().get(fee_payer)?.facilitator.clone();
        self.by_name(&name)
    }

    /// The fee payer for the next payment on Solana. Prefers the first facilitator that has one and responds, otherwise
    /// the first one.
    pub fn fee_payer(&self) -> Option<Pubkey> {
        let now_ms = self.timer.now_ms();
        let of = |member: &Member| {
            let state = member.state.lock();
            state.fee_payer.map(|key| (state.health.is_paused(now_ms), key))
        };
        let known = self.members.iter().filter_map(of).min_by_key(|(paused, _)| *paused);
        // No facilitator has responded since the start: the last offer is still valid.
        known
            .map(|(_, key)| key)
            .or_else(|| self.accepted.read().first().copied())
    }

    /// All fee payers offered within the last hour, newest first.
    pub fn fee_payers(&self) -> Arc<[Pubkey]> {
        self.accepted.read().clone()
    }

    /// Status of each facilitator, for metrics.
    pub fn stats(&self) -> Vec<FacilitatorStats> {
        let now_ms = self.timer.now_ms();
        let figures = |member: &Member| {
            let is_paused = member.state.lock().health.is_paused(now_ms);
            member.client.counters.stats(member.client.name(), is_paused)
        };
        self.members.iter().map(figures).collect()
    }

    /// Records a valid response.
    pub(super) fn record_success(&self, member: &Member) {
        member.state.lock().health.record_success();
    }

    /// Records a missing or invalid response.
    pub(super) fn record_failure(&self, member: &Member, why: &str) {
        member.state.lock().health.record_failure(self.timer.now_ms());
        tracing::warn!(facilitator = member.client.name(), why, "a facilitator fails");
    }

    /// Reads `/supported` of all facilitators. Returns whether all responses were valid.
    pub async fn refresh(&self) -> bool {
        let answers = self.members.iter().map(|member| member.client.supported());
        let answers = futures_util::future::join_all(answers).await;
        let mut well = true;
        for (member, answer) in self.members.iter().zip(answers) {
            match answer {
                Supported::Yes(support) => {
                    {
                        let mut state = member.state.lock();
                        state.fee_payer = support.fee_payer;
                        if state.complaint.take().is_some() {
                            state.health.record_success();
                        }
                    }
                    if let Some(key) = support.fee_payer
                        && let Err(error) = self.persist_fee_payer(member, key).await
                    {
                        // Not used before it is durable: after a restart its owner would be unknown.
                        member.state.lock().fee_payer = None;
                        tracing::error!(%error, "a fee payer could not be stored and is not offered");
                        well = false;
                    }
                }
                Supported::No(why) | Supported::Unreachable(why) => {
                    well = false;
                    self.complain(member, why);
                }
            }
        }
        self.accept();
        well
    }

    fn complain(&self, member: &Member, why: String) {
        let mut state = member.state.lock();
        state.health.record_failure(self.timer.now_ms());
        if state.complaint.as_ref() != Some(&why) {
            let (section, facilitator) = (self.chain.section(), member.client.name());
            tracing::warn!(
                section,
                facilitator,
                why,
                "a facilitator does not answer as it should, and is used last"
            );
            state.complaint = Some(why);
        }
    }

    async fn persist_fee_payer(&self, member: &Member, key: Pubkey) -> Result<(), RowError> {
        let now = self.clock.now();
        let offered = OfferedFeePayer {
            facilitator: member.client.name().to_owned(),
            at: now,
        };
        let known = self.offered.lock().get(&key).cloned();
        let is_theirs = known
            .as_ref()
            .is_some_and(|known| known.facilitator == offered.facilitator);
        if let Some(known) = known.filter(|known| !is_theirs && !is_expired(known, now)) {
            let (key, owner) = (base58(&key), known.facilitator);
            tracing::warn!(fee_payer = key, owner, "two facilitators offer the same fee payer");
            return Ok(());
        }
        let written = self
            .offered
            .lock()
            .get(&key)
            .filter(|_| is_theirs)
            .map(|known| known.at);
        if written.is_none_or(|at| now.0.saturating_sub(at.0) >= WRITE_INTERVAL_MS) {
            self.rows.offer(&key, &offered).await?;
            self.offered.lock().insert(key, offered);
        }
        Ok(())
    }

    /// Recomputes the accepted fee payers.
    fn accept(&self) {
        let now = self.clock.now();
        let mut offered = self.offered.lock();
        offered.retain(|_, offered| !is_expired(offered, now));
        let mut all: Vec<_> = offered.iter().map(|(key, offered)| (offered.at, *key)).collect();
        drop(offered);
        all.sort_unstable_by(|one, other| other.cmp(one));
        let all: Arc<[Pubkey]> = all.into_iter().map(|(_, key)| key).collect();
        let mut accepted = self.accepted.write();
        if *accepted != all {
            *accepted = all;
        }
    }

    /// Reads `/supported` periodically, and deletes old payments. Never ends.
    pub async fn tend(&self) {
        let mut swept_ms = None::<u64>;
        loop {
            let well = self.refresh().await;
            let now_ms = self.timer.now_ms();
            if swept_ms.is_none_or(|at| now_ms.saturating_sub(at) >= SWEEP_INTERVAL_MS) {
                swept_ms = Some(now_ms);
                let before = Timestamp(self.clock.now().0.saturating_sub(RETENTION_MS));
                if let Err(error) = self.rows.sweep(before).await {
                    tracing::warn!(%error, "old payments of facilitators could not be deleted");
                }
            }
            self.timer
                .sleep(if well {
                    REFRESH_INTERVAL
                } else {
                    FAILING_REFRESH_INTERVAL
                })
                .await;
        }
    }
}

/// A row's time is up to [`WRITE_INTERVAL_MS`] behind the last offer.
const fn is_expired(offered: &OfferedFeePayer, now: Timestamp) -> bool {
    now.0.saturating_sub(offered.at.0) > ACCEPTED_TTL_MS + WRITE_INTERVAL_MS
}
