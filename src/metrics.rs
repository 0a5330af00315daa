//! The metrics page for the operator's monitoring, rendered on request. `docs/metrics.md` lists all metrics.

mod chains;
mod exposition;
mod settlement;

use std::sync::Arc;

use purser_actors::engine::stats::{EngineStats, OverloadReason};
use purser_actors::engine::webhooks::OUTCOMES;
use purser_actors::engine::{Engine, GateHold, JOB_NAMES, ReconciliationStatus};
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
        let info = page.gauge(
            "purser_build_info",
            Unit::One,
            "Always 1. Labels name the version and mode.",
        );
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
            "Time to the response head, by route and status class. 402 is its own class.",
        );
        for (route, class, spread) in self.requests.read() {
            times = times.histogram_samples(&[("route", route), ("status", class)], &spread);
        }
        page.counter("purser_paid_calls_total", "Paid calls by outcome.")
            .each("outcome", self.calls.read());
        page.counter("purser_rate_limited_total", "Requests rejected by a rate limit.")
            .each(
                "limit",
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
        page.counter(
            "purser_journal_batches_rejected_total",
            "Batches rejected because a condition failed or their write session had failed.",
        )
        .is(stats.rejected);
        page.counter("purser_journal_written_bytes_total", "Bytes written to the journal.")
            .is(stats.bytes);
        page.gauge(
            "purser_journal_queued_batches",
            Unit::One,
            "Batches waiting for the committer.",
        )
        .is(headroom.queued as u64);
        page.gauge(
            "purser_journal_lag_bytes",
            Unit::One,
            "Journal bytes not yet applied to snapshots.",
        )
        .is(headroom.lag_bytes);
        page.gauge(
            "purser_journal_max_lag_bytes",
            Unit::One,
            "Lag above which new paid calls are rejected.",
        )
        .is(headroom.lag_limit_bytes);
        page.gauge(
            "purser_journal_last_sequence",
            Unit::One,
            "Last durable sequence number.",
        )
        .is(stats.durable_seq);
        page.gauge(
            "purser_snapshot_last_sequence",
            Unit::One,
            "Last sequence number applied to snapshots.",
        )
        .is(stats.applied_seq);
        page.gauge("purser_journal_segments", Unit::One, "Journal segments on disk.")
            .is(stats.segments as u64);
    }

    fn streams(&self, page: &mut Exposition) {
        page.gauge("purser_stream_connections", Unit::One, "Open WebSocket connections.")
            .is(self.hub.connections() as u64);
        page.gauge(
            "purser_stream_subscribers",
            Unit::One,
            "Authenticated WebSocket connections.",
        )
        .is(self.hub.subscriptions() as u64);
        page.counter(
            "purser_stream_buffer_overflows_total",
            "Subscriber buffers dropped because the client was slow; events are re-read from the store.",
        )
        .is(self.hub.overflows());
    }

    async fn webhooks(&self, page: &mut Exposition) -> Result<(), StoreError> {
        let posting = self.engine.webhook_stats();
        page.counter("purser_webhook_attempts_total", "Webhook delivery attempts by outcome.")
            .each("outcome", OUTCOMES.into_iter().zip(posting.outcomes));
        let _ = page
            .histogram(
                "purser_webhook_delivery_latency_seconds",
                Unit::Millis,
                "Time from event to delivery, for deliveries that succeeded on the first attempt.",
            )
            .histogram_samples(&[], &posting.first_ms);
        page.gauge(
            "purser_webhook_deliveries_pending",
            Unit::One,
            "Pending webhook deliveries, counted over at most 10,000 jobs.",
        )
        .is(self.engine.webhooks_pending().await?);
        page.gauge(
            "purser_webhook_degraded_attempts_in_flight",
            Unit::One,
            "Attempts in the degraded pool; limit `webhooks.max_concurrent_degraded`.",
        )
        .is(posting.degraded as u64);
        Ok(())
    }
}

fn entities(page: &mut Exposition, figures: &EngineStats) {
    let kinds = || figures.kinds.iter();
    page.gauge("purser_entities_active", Unit::One, "Entities in memory.")
        .each("entity", kinds().map(|k| (k.kind, k.active as u64)));
    page.gauge(
        "purser_entity_commands_in_flight",
        Unit::One,
        "Commands in flight: queued in a mailbox, being decided, or waiting for the disk.",
    )
    .each("entity", kinds().map(|k| (k.kind, k.commands_in_flight)));
    page.counter(
        "purser_entity_restarts_total",
        "Entity actors restarted after a crash or a failed load.",
    )
    .each("entity", kinds().map(|k| (k.kind, k.restarts)));
    page.gauge(
        "purser_entities_quarantined",
        Unit::One,
        "Entities quarantined after repeated load failures, until restart.",
    )
    .each("entity", kinds().map(|k| (k.kind, k.quarantined)));
}

fn jobs(page: &mut Exposition, figures: &EngineStats) {
    let job_types = || JOB_NAMES.into_iter().zip(&figures.jobs);
    let mut open = page.gauge("purser_outbox_jobs", Unit::One, "Outbox jobs by type and state.");
    for (job_type, f) in job_types() {
        let states = [
            ("running", f.attempts.running),
            ("scheduled", f.scheduled),
            ("dead_letter", f.dead_lettered),
        ];
        for (state, n) in states {
            open = open.with(&[("job_type", job_type), ("state", state)], n);
        }
    }
    page.gauge(
        "purser_outbox_jobs_late",
        Unit::One,
        "Open effects that fail and are older than engine.late_after_minutes.",
    )
    .each("job_type", job_types().map(|(job_type, f)| (job_type, f.late)));
    let mut oldest = page.gauge(
        "purser_outbox_oldest_job_age_seconds",
        Unit::Millis,
        "Age of the oldest pending job and the oldest dead letter.",
    );
    for (job_type, f) in job_types() {
        for (state, ms) in [
            ("pending", f.oldest_age_ms),
            ("dead_letter", f.oldest_dead_letter_age_ms),
        ] {
            oldest = oldest.with(&[("job_type", job_type), ("state", state)], ms);
        }
    }
    page.counter("purser_outbox_attempts_total", "Job attempts.").each(
        "job_type",
        job_types().map(|(job_type, f)| (job_type, f.attempts.attempts)),
    );
    let mut failed = page.counter("purser_outbox_attempt_failures_total", "Failed job attempts.");
    for (job_type, f) in job_types() {
        for (reason, n) in FAILURE_REASONS.into_iter().zip(f.attempts.failures) {
            failed = failed.with(&[("job_type", job_type), ("reason", reason)], n);
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
        "Payments with an unknown outcome.",
    )
    .is(figures.unknown_payments);
    page.gauge(
        "purser_payments_unknown_oldest_age_seconds",
        Unit::Millis,
        "Age of the oldest payment with an unknown outcome.",
    )
    .is(figures.oldest_unknown_ms);
}

fn admission(page: &mut Exposition, figures: &EngineStats) {
    page.gauge(
        "purser_admission_in_flight",
        Unit::One,
        "Paid calls admitted to the engine.",
    )
    .is(figures.in_flight as u64);
    page.gauge(
        "purser_admission_limit",
        Unit::One,
        "Maximum number of admitted paid calls.",
    )
    .is(figures.max_in_flight as u64);
    page.gauge(
        "purser_admission_payers_in_flight",
        Unit::One,
        "Payers with an admitted paid call.",
    )
    .is(figures.payers as u64);
    let refused = OverloadReason::ALL
        .map(OverloadReason::name)
        .into_iter()
        .zip(figures.rejected);
    page.counter(
        "purser_admission_rejected_total",
        "Paid calls rejected by admission control.",
    )
    .each("reason", refused);
}

fn lines(page: &mut Exposition, figures: &EngineStats) {
    let lines = || figures.lines.iter();
    let mut open = page.gauge(
        "purser_lines",
        Unit::One,
        "1 for the status of each product line: open, failing (its provider is down), or closed by an operator.",
    );
    for line in lines() {
        for status in [Status::Open, Status::Failing, Status::Closed] {
            let labels = [("line", line.line.name()), ("status", status.name())];
            open = open.with(&labels, u64::from(line.status == status));
        }
    }
    page.gauge(
        "purser_line_failures",
        Unit::One,
        "Deliveries of each line that failed in a row.",
    )
    .each(
        "line",
        lines().map(|status| (status.line.name(), u64::from(status.failures))),
    );
}

fn reconciliation(page: &mut Exposition, status: &ReconciliationStatus) {
    let open = DiscrepancyKind::ALL
        .map(DiscrepancyKind::name)
        .into_iter()
        .zip(status.open);
    page.gauge(
        "purser_reconciliation_discrepancies",
        Unit::One,
        "Open discrepancies by kind.",
    )
    .each("kind", open);
    page.gauge(
        "purser_reconciliation_last_completed_timestamp_seconds",
        Unit::Millis,
        "Unix time of the last complete reconciliation run; 0 before the first.",
    )
    .is(status.run.completed_at.map_or(0, |at| at.0));
    page.counter("purser_reconciliation_entries_compared_total", "Entries compared.")
        .is(status.compared);
    page.counter(
        "purser_reconciliation_restarts_total",
        "Restarts of the reconciliation worker.",
    )
    .is(status.restarts);
}

fn incoming_transfers(page: &mut Exposition, [found, waiting]: [u64; 2], restarts: u64) {
    page.gauge(
        "purser_incoming_transfers",
        Unit::One,
        "Transfers to the treasury that no payment claims and no operator has decided, by status.",
    )
    .each("state", [("found", found), ("waiting", waiting)]);
    page.counter(
        "purser_incoming_restarts_total",
        "Times that the watch over incoming transfers died and was started again by its supervisor.",
    )
    .is(restarts);
}
