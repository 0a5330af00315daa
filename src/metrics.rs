//! The metrics page for the operator's monitoring, rendered on request. `docs/metrics.md` lists all metrics.

mod chains;
mod exposition;
mod settlement;

use std::sync::Arc;

use purser_actors::engine::stats::{EngineStats, OverloadReason};
use purser_actors::engine::webhooks::OUTCOMES;
use purser_actors::engine::{Engine, GateHold, ReconciliationStatus};
use purser_actors::kernel::job::Job;
use purser_actors::kernel::outbox::FAILURE_REASONS;
use purser_actors::line::Status;
use purser_actors::port::Clock;
use purser_actors::reconciliation::DiscrepancyKind;
use purser_storage::{JournalStore, Store, StoreError};

pub use exposition::CONTENT_TYPE;
use exposition::{Exposition, Unit};

use crate::checkout::PaidCallCounters;
use crate::http::rate_limit::RateLimiter;
use crate::http::request_metrics::RequestMetrics;
use crate::settlement::real::RealPorts;
use crate::stream::Hub;

/// Sources of the metrics.
pub struct Metrics {
    /// Entities, jobs, admission.
    pub engine: Engine,
    pub store: Arc<JournalStore>,
    pub hub: Arc<Hub>,
    pub requests: Arc<RequestMetrics>,
    /// Requests rejected by a rate limit.
    pub limiter: Arc<RateLimiter>,
    pub calls: Arc<PaidCallCounters>,
    /// `sandbox` or `production`.
    pub mode: &'static str,
    /// The real chains; none in the sandbox.
    pub chains: Option<Arc<RealPorts>>,
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
        let info = page.gauge("purser_build_info", Unit::One, "Always 1; the labels say what runs.");
        info.with(&[("version", version), ("mode", self.mode)], 1);
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
        let mut times = page.histogram(
            "purser_http_request_duration_seconds",
            Unit::Micros,
            "From the parsed request to the head of its answer, by route and class of answer; 402 stands apart.",
        );
        for (route, class, spread) in self.requests.read() {
            times = times.histogram_samples(&[("route", route), ("status", class)], &spread);
        }
        page.counter("purser_paid_calls_total", "Calls of paid routes, by what they came to.")
            .each("outcome", self.calls.read());
        page.counter(
            "purser_rate_limited_total",
            "Refused because a budget of the window was spent.",
        )
        .each(
            "budget",
            self.limiter
                .rejected_count()
                .into_iter()
                .chain([("messages", self.hub.rate_limited())]),
        );
    }

    fn journal(&self, page: &mut Exposition) {
        let (stats, headroom) = (self.store.stats(), self.store.headroom());
        let batches = "Batches answered by one commit; refused ones and barriers are among them.";
        let _ = page
            .histogram("purser_journal_commit_batches", Unit::One, batches)
            .histogram_samples(&[], &stats.batches);
        let time = "One commit: conditions, write, sync, publishing, answers.";
        let _ = page
            .histogram("purser_journal_commit_duration_seconds", Unit::Micros, time)
            .histogram_samples(&[], &stats.group_us);
        page.counter("purser_journal_batches_rejected_total", "Batches refused by the store.")
            .is(stats.rejected);
        page.counter("purser_journal_written_bytes_total", "Bytes written to the journal.")
            .is(stats.bytes);
        page.gauge(
            "purser_journal_queued_batches",
            Unit::One,
            "Batches waiting to be committed.",
        )
        .is(headroom.queued as u64);
        page.gauge(
            "purser_journal_lag_bytes",
            Unit::One,
            "Journalled and not yet in the snapshots.",
        )
        .is(headroom.lag_bytes);
        page.gauge(
            "purser_journal_max_lag_bytes",
            Unit::One,
            "The lag above which new work is refused.",
        )
        .is(headroom.lag_limit_bytes);
        page.gauge(
            "purser_journal_last_sequence",
            Unit::One,
            "The newest durable sequence.",
        )
        .is(stats.durable_seq);
        page.gauge(
            "purser_snapshot_last_sequence",
            Unit::One,
            "The newest sequence in the snapshots.",
        )
        .is(stats.applied_seq);
        page.gauge("purser_journal_segments", Unit::One, "Journal segments on disk.")
            .is(stats.segments as u64);
    }

    fn streams(&self, page: &mut Exposition) {
        page.gauge("purser_stream_connections", Unit::One, "Open WebSockets.")
            .is(self.hub.connections() as u64);
        page.gauge(
            "purser_stream_subscribers",
            Unit::One,
            "WebSockets that showed a credential.",
        )
        .is(self.hub.subscriptions() as u64);
        page.counter(
            "purser_stream_buffer_overflows_total",
            "Queues of slow subscribers that were thrown away and read again.",
        )
        .is(self.hub.overflows());
    }

    async fn webhooks(&self, page: &mut Exposition) -> Result<(), StoreError> {
        let posting = self.engine.webhook_stats();
        page.counter(
            "purser_webhook_attempts_total",
            "Tries to post an event, by what they came to.",
        )
        .each("outcome", OUTCOMES.into_iter().zip(posting.outcomes));
        let _ = page
            .histogram(
                "purser_webhook_delivery_latency_seconds",
                Unit::Millis,
                "From an event to its delivery, where the first try did it.",
            )
            .histogram_samples(&[], &posting.first_ms);
        page.gauge(
            "purser_webhook_deliveries_pending",
            Unit::One,
            "Deliveries that are tried now or wait for their next try.",
        )
        .is(self.engine.webhooks_pending().await?);
        page.gauge(
            "purser_webhook_degraded_attempts_in_flight",
            Unit::One,
            "Tries that hang, or go to endpoints that did not answer last time.",
        )
        .is(posting.degraded as u64);
        Ok(())
    }
}

fn entities(page: &mut Exposition, figures: &EngineStats) {
    let kinds = || figures.kinds.iter();
    page.gauge("purser_entities_active", Unit::One, "Entities in memory, by kind.")
        .each("kind", kinds().map(|k| (k.kind, k.active as u64)));
    page.gauge(
        "purser_entity_commands_in_flight",
        Unit::One,
        "Commands asked of entities and not answered: in a mailbox, being decided, or waiting for the disk.",
    )
    .each("kind", kinds().map(|k| (k.kind, k.commands_in_flight)));
    page.counter(
        "purser_entity_restarts_total",
        "Actors of entities that died or could not load.",
    )
    .each("kind", kinds().map(|k| (k.kind, k.restarts)));
    page.gauge(
        "purser_entities_quarantined",
        Unit::One,
        "Entities given up until a restart.",
    )
    .each("kind", kinds().map(|k| (k.kind, k.quarantined)));
}

fn jobs(page: &mut Exposition, figures: &EngineStats) {
    let works = || Job::NAMES.into_iter().zip(&figures.jobs);
    let mut open = page.gauge(
        "purser_outbox_jobs",
        Unit::One,
        "Open effects, by kind of work and state.",
    );
    for (work, f) in works() {
        let states = [
            ("running", f.attempts.running),
            ("waiting", f.scheduled),
            ("stuck", f.dead_lettered),
        ];
        for (state, n) in states {
            open = open.with(&[("work", work), ("state", state)], n);
        }
    }
    page.gauge(
        "purser_outbox_jobs_late",
        Unit::One,
        "Open effects that fail and are older than engine.late_after_minutes.",
    )
    .each("work", works().map(|(work, f)| (work, f.late)));
    let mut oldest = page.gauge(
        "purser_outbox_oldest_job_age_seconds",
        Unit::Millis,
        "Age of the oldest open effect; 0 without one.",
    );
    for (work, f) in works() {
        for (state, ms) in [("open", f.oldest_age_ms), ("stuck", f.oldest_dead_letter_age_ms)] {
            oldest = oldest.with(&[("work", work), ("state", state)], ms);
        }
    }
    page.counter("purser_outbox_attempts_total", "Tries of effects.")
        .each("work", works().map(|(work, f)| (work, f.attempts.attempts)));
    let mut failed = page.counter(
        "purser_outbox_attempt_failures_total",
        "Tries that failed and were restarted, by what the failure means for money.",
    );
    for (work, f) in works() {
        for (kind, n) in FAILURE_REASONS.into_iter().zip(f.attempts.failures) {
            failed = failed.with(&[("work", work), ("kind", kind)], n);
        }
    }
    page.gauge(
        "purser_held",
        Unit::One,
        "Work that waits at the gate before money leaves, by why.",
    )
    .each(
        "reason",
        GateHold::ALL.map(GateHold::name).into_iter().zip(figures.gate_holds),
    );
    page.gauge(
        "purser_payments_unknown",
        Unit::One,
        "Payments whose outcome is not known.",
    )
    .is(figures.unknown_payments);
    page.gauge(
        "purser_payments_unknown_oldest_age_seconds",
        Unit::Millis,
        "How long the oldest of them has been unknown.",
    )
    .is(figures.oldest_unknown_ms);
}

fn admission(page: &mut Exposition, figures: &EngineStats) {
    page.gauge(
        "purser_admission_in_flight",
        Unit::One,
        "Paid calls inside the engine, whoever still listens.",
    )
    .is(figures.in_flight as u64);
    page.gauge(
        "purser_admission_limit",
        Unit::One,
        "Paid calls that may be inside at once.",
    )
    .is(figures.max_in_flight as u64);
    page.gauge(
        "purser_admission_payers_in_flight",
        Unit::One,
        "Payers with a paid call inside the engine.",
    )
    .is(figures.payers as u64);
    let refused = OverloadReason::ALL
        .map(OverloadReason::name)
        .into_iter()
        .zip(figures.rejected);
    page.counter(
        "purser_admission_rejected_total",
        "Paid calls that found no room, by reason.",
    )
    .each("reason", refused);
}

fn lines(page: &mut Exposition, figures: &EngineStats) {
    let lines = || figures.lines.iter();
    let mut open = page.gauge(
        "purser_lines",
        Unit::One,
        "1 for how each line of products stands: open, failing (its provider is down), or closed by an operator.",
    );
    for stands in lines() {
        for status in [Status::Open, Status::Failing, Status::Closed] {
            let labels = [("line", stands.line.name()), ("status", status.name())];
            open = open.with(&labels, u64::from(stands.status == status));
        }
    }
    page.gauge(
        "purser_line_failures",
        Unit::One,
        "Deliveries of each line that failed in a row.",
    )
    .each(
        "line",
        lines().map(|stands| (stands.line.name(), u64::from(stands.failures))),
    );
}

fn reconciliation(page: &mut Exposition, stands: &ReconciliationStatus) {
    let open = DiscrepancyKind::ALL
        .map(DiscrepancyKind::name)
        .into_iter()
        .zip(stands.open);
    page.gauge(
        "purser_reconciliation_discrepancies",
        Unit::One,
        "What our books and others' lists do not agree about now, by kind.",
    )
    .each("kind", open);
    page.gauge(
        "purser_reconciliation_last_completed_timestamp_seconds",
        Unit::Millis,
        "When the last walk ended that read every list, Unix time; 0 before the first.",
    )
    .is(stands.run.completed_at.map_or(0, |at| at.0));
    page.counter(
        "purser_reconciliation_entries_compared_total",
        "Entries of lists and of our books that were compared.",
    )
    .is(stands.compared);
    page.counter(
        "purser_reconciliation_restarts_total",
        "Times that reconciliation died and was started again by its supervisor.",
    )
    .is(stands.restarts);
}

fn incoming_transfers(page: &mut Exposition, [found, waiting]: [u64; 2], restarts: u64) {
    page.gauge(
        "purser_incoming_transfers",
        Unit::One,
        "Transfers to the treasury that no payment claims and nobody has decided about, by state.",
    )
    .each("state", [("found", found), ("waiting", waiting)]);
    page.counter(
        "purser_incoming_restarts_total",
        "Times that the watch over incoming transfers died and was started again by its supervisor.",
    )
    .is(restarts);
}
