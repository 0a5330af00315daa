//! The metrics page for the operator's monitoring, rendered on request. `table.rs` lists all metrics.

mod chains;
mod exposition;
pub mod ledger_totals;
pub mod series;
mod settlement;
mod table;

use std::sync::Arc;

use purser_actors::engine::stats::{EngineStats, OverloadReason};
use purser_actors::engine::webhooks::OUTCOMES;
use purser_actors::engine::{Engine, GateHold, JOB_NAMES, ReconciliationStatus};
use purser_actors::entity::line::State;
use purser_actors::kernel::NamedState;
use purser_actors::kernel::outbox::FAILURE_REASONS;
use purser_actors::port::Clock;
use purser_actors::reconciliation::DiscrepancyKind;
use purser_storage::{JournalStore, Store, StoreError, snapshot_syncs};

use exposition::Exposition;

pub use exposition::CONTENT_TYPE;
pub use table::{FACILITATORS, Metric, REAL_CHAINS, SERVICE};

use crate::announcements::AnnouncementStats;
use crate::checkout::PaidCallCounters;
use crate::edge::rate_limit::RateLimiter;
use crate::edge::request_metrics::RequestMetrics;
use crate::settlement::real::RealPorts;
use crate::stream::Hub;

/// Sources of the metrics.
pub struct Metrics {
    /// Entities, jobs, admission.
    pub engine: Engine,
    pub store: Arc<JournalStore>,
    /// Journal of the sandbox's chains and providers; none in production.
    pub sandbox_store: Option<Arc<JournalStore>>,
    pub hub: Arc<Hub>,
    pub requests: Arc<RequestMetrics>,
    /// Requests rejected by a rate limit.
    pub limiter: Arc<RateLimiter>,
    pub calls: Arc<PaidCallCounters>,
    /// `sandbox` or `production`.
    pub mode: &'static str,
    /// The real chains; none in the sandbox.
    pub chains: Option<Arc<RealPorts>>,
    /// Announcements at the operators' webhook.
    pub announcements: Arc<AnnouncementStats>,
    pub clock: Arc<dyn Clock>,
}

impl Metrics {
    /// The current page.
    ///
    /// # Errors
    /// When the jobs cannot be read.
    pub async fn render(&self) -> Result<String, StoreError> {
        let figures = self.engine.stats().await?;
        let reconciled = self.engine.reconciliation().await?;
        let incoming = self.engine.incoming_counts().await?;
        let mut page = Exposition::default();
        let version = env!("CARGO_PKG_VERSION");
        let _ = page.metric(&table::BUILD_INFO).with(&[version, self.mode], 1);
        self.requests(&mut page);
        self.journal(&mut page);
        entities(&mut page, &figures);
        jobs(&mut page, &figures);
        admission(&mut page, &figures);
        lines(&mut page, &figures);
        reconciliation(&mut page, &reconciled);
        incoming_transfers(&mut page, incoming, self.engine.incoming_restarts());
        self.streams(&mut page);
        self.webhooks(&mut page).await?;
        if let Some(ports) = &self.chains {
            let figures_now = ports.stats().await;
            chains::chains(&mut page, &figures_now);
            settlement::prechecks(&mut page, &figures_now);
            settlement::bridge(&mut page, ports.burns(), &figures);
            settlement::facilitators(&mut page, &figures_now);
        }
        Ok(page.into_text())
    }

    fn requests(&self, page: &mut Exposition) {
        let mut times = page.metric(&table::HTTP_REQUEST_DURATION);
        for (route, class, spread) in self.requests.read() {
            times = times.histogram_samples(&[route, class], &spread);
        }
        page.metric(&table::PAID_CALLS).each(self.calls.read());
        let limits = self.limiter.rejected_count().into_iter();
        page.metric(&table::RATE_LIMITED)
            .each(limits.chain([("messages", self.hub.rate_limited())]));
    }

    fn journal(&self, page: &mut Exposition) {
        let (stats, headroom) = (self.store.stats(), self.store.headroom());
        let _ = page
            .metric(&table::JOURNAL_COMMIT_BATCHES)
            .histogram_samples(&[], &stats.batches);
        let _ = page
            .metric(&table::JOURNAL_COMMIT_DURATION)
            .histogram_samples(&[], &stats.group_us);
        page.metric(&table::JOURNAL_BATCHES_REJECTED).is(stats.rejected);
        page.metric(&table::JOURNAL_WRITTEN_BYTES).is(stats.bytes);
        page.metric(&table::JOURNAL_COMMITS).is(stats.commits);
        page.metric(&table::JOURNAL_SYNCS).is(stats.syncs);
        page.metric(&table::JOURNAL_QUEUED_BATCHES).is(headroom.queued as u64);
        page.metric(&table::JOURNAL_LAG_BYTES).is(headroom.lag_bytes);
        page.metric(&table::JOURNAL_MAX_LAG_BYTES).is(headroom.lag_limit_bytes);
        page.metric(&table::JOURNAL_LAST_SEQUENCE).is(stats.durable_seq);
        page.metric(&table::SNAPSHOT_LAST_SEQUENCE).is(stats.applied_seq);
        page.metric(&table::JOURNAL_SEGMENTS).is(stats.segments as u64);
        page.metric(&table::SNAPSHOT_SYNCS).is(snapshot_syncs());
        if let Some(store) = &self.sandbox_store {
            let stats = store.stats();
            page.metric(&table::SANDBOX_JOURNAL_COMMITS).is(stats.commits);
            page.metric(&table::SANDBOX_JOURNAL_SYNCS).is(stats.syncs);
            page.metric(&table::SANDBOX_JOURNAL_LAG_BYTES)
                .is(store.headroom().lag_bytes);
        }
    }

    fn streams(&self, page: &mut Exposition) {
        page.metric(&table::STREAM_CONNECTIONS)
            .is(self.hub.connections() as u64);
        page.metric(&table::STREAM_SUBSCRIBERS)
            .is(self.hub.subscriptions() as u64);
        page.metric(&table::STREAM_BUFFER_OVERFLOWS).is(self.hub.overflows());
    }

    async fn webhooks(&self, page: &mut Exposition) -> Result<(), StoreError> {
        let posting = self.engine.webhook_stats();
        page.metric(&table::WEBHOOK_ATTEMPTS)
            .each(OUTCOMES.into_iter().zip(posting.outcomes));
        let _ = page
            .metric(&table::WEBHOOK_DELIVERY_LATENCY)
            .histogram_samples(&[], &posting.first_ms);
        page.metric(&table::WEBHOOK_DELIVERIES_PENDING)
            .is(self.engine.webhooks_pending().await?);
        page.metric(&table::WEBHOOK_DEGRADED_ATTEMPTS_IN_FLIGHT)
            .is(posting.degraded as u64);
        page.metric(&table::ANNOUNCEMENT_ATTEMPTS)
            .each(self.announcements.attempts());
        page.metric(&table::ANNOUNCEMENTS_GIVEN_UP)
            .is(self.announcements.given_up());
        page.metric(&table::ANNOUNCEMENTS_PENDING)
            .is(self.announcements.pending());
        Ok(())
    }
}

fn entities(page: &mut Exposition, figures: &EngineStats) {
    let kinds = || figures.kinds.iter();
    page.metric(&table::ENTITIES_ACTIVE)
        .each(kinds().map(|k| (k.kind, k.active as u64)));
    page.metric(&table::ENTITY_COMMANDS_IN_FLIGHT)
        .each(kinds().map(|k| (k.kind, k.commands_in_flight)));
    page.metric(&table::ENTITY_RESTARTS)
        .each(kinds().map(|k| (k.kind, k.restarts)));
    page.metric(&table::ENTITIES_QUARANTINED)
        .each(kinds().map(|k| (k.kind, k.quarantined)));
}

fn jobs(page: &mut Exposition, figures: &EngineStats) {
    let job_types = || JOB_NAMES.into_iter().zip(&figures.jobs);
    let mut open = page.metric(&table::OUTBOX_JOBS);
    for (job_type, f) in job_types() {
        let states = [
            ("running", f.attempts.running),
            ("scheduled", f.scheduled),
            ("dead_letter", f.dead_lettered),
        ];
        for (state, n) in states {
            open = open.with(&[job_type, state], n);
        }
    }
    page.metric(&table::OUTBOX_JOBS_LATE)
        .each(job_types().map(|(job_type, f)| (job_type, f.late)));
    let mut oldest = page.metric(&table::OUTBOX_OLDEST_JOB_AGE);
    for (job_type, f) in job_types() {
        for (state, ms) in [
            ("pending", f.oldest_age_ms),
            ("dead_letter", f.oldest_dead_letter_age_ms),
        ] {
            oldest = oldest.with(&[job_type, state], ms);
        }
    }
    page.metric(&table::OUTBOX_ATTEMPTS)
        .each(job_types().map(|(job_type, f)| (job_type, f.attempts.attempts)));
    let mut failed = page.metric(&table::OUTBOX_ATTEMPT_FAILURES);
    for (job_type, f) in job_types() {
        for (reason, n) in FAILURE_REASONS.into_iter().zip(f.attempts.failures) {
            failed = failed.with(&[job_type, reason], n);
        }
    }
    page.metric(&table::HELD)
        .each(GateHold::ALL.map(GateHold::name).into_iter().zip(figures.gate_holds));
    page.metric(&table::PAYMENTS_UNKNOWN).is(figures.unknown_payments);
    page.metric(&table::PAYMENTS_UNKNOWN_OLDEST_AGE)
        .is(figures.oldest_unknown_ms);
}

fn admission(page: &mut Exposition, figures: &EngineStats) {
    page.metric(&table::ADMISSION_IN_FLIGHT).is(figures.in_flight as u64);
    page.metric(&table::ADMISSION_LIMIT).is(figures.max_in_flight as u64);
    page.metric(&table::ADMISSION_PAYERS_IN_FLIGHT)
        .is(figures.payers as u64);
    let reasons = OverloadReason::ALL.map(OverloadReason::name);
    page.metric(&table::ADMISSION_REJECTED)
        .each(reasons.into_iter().zip(figures.rejected));
}

fn lines(page: &mut Exposition, figures: &EngineStats) {
    let mut open = page.metric(&table::LINES);
    for line in &figures.lines {
        for status in State::ALL {
            open = open.with(&[line.line.name(), status.as_str()], u64::from(line.status == *status));
        }
    }
    let lines = figures.lines.iter();
    page.metric(&table::LINE_FAILURES)
        .each(lines.map(|status| (status.line.name(), u64::from(status.failures))));
}

fn reconciliation(page: &mut Exposition, status: &ReconciliationStatus) {
    let kinds = DiscrepancyKind::ALL.map(DiscrepancyKind::name);
    page.metric(&table::RECONCILIATION_DISCREPANCIES)
        .each(kinds.into_iter().zip(status.open));
    page.metric(&table::RECONCILIATION_LAST_COMPLETED_TIMESTAMP)
        .is(status.run.completed_at.map_or(0, |at| at.0));
    page.metric(&table::RECONCILIATION_ENTRIES_COMPARED).is(status.compared);
    page.metric(&table::RECONCILIATION_RESTARTS).is(status.restarts);
}

fn incoming_transfers(page: &mut Exposition, [found, waiting]: [u64; 2], restarts: u64) {
    page.metric(&table::INCOMING_TRANSFERS)
        .each([("found", found), ("waiting", waiting)]);
    page.metric(&table::INCOMING_RESTARTS).is(restarts);
}
