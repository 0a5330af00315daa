//! Every metric with its labels and meaning. `docs/metrics.md` is generated from this table.

/// A metric.
#[derive(Debug)]
pub struct Metric {
    pub name: &'static str,
    pub kind: MetricKind,
    /// Names of the labels, in the order of their values in a sample.
    pub labels: &'static [&'static str],
    /// Also the help text on the page.
    pub meaning: &'static str,
}

/// Kind of a metric, and the unit of its values in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    Counter(Unit),
    Gauge(Unit),
    Histogram(Unit),
}

/// Unit of a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    One,
    /// Milliseconds, shown as seconds.
    Millis,
    /// Microseconds, shown as seconds.
    Micros,
}

impl MetricKind {
    /// Name of the kind in the text format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter(_) => "counter",
            Self::Gauge(_) => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }

    pub(super) const fn unit(self) -> Unit {
        match self {
            Self::Counter(unit) | Self::Gauge(unit) | Self::Histogram(unit) => unit,
        }
    }
}

/// `SERVICE { HELD: Gauge(One) purser_held[reason] "Why."; … }` becomes
///
/// ```text
/// pub(super) const HELD: Metric = Metric { name: "purser_held", kind: MetricKind::Gauge(Unit::One), … };
/// pub const SERVICE: &[Metric] = &[…, HELD, …];
/// ```
macro_rules! metrics {
    ($($(#[$about:meta])* $list:ident {
        $($metric:ident: $kind:ident($unit:ident) $name:ident[$($label:ident),*] $meaning:literal;)*
    })*) => {
        $($(pub(super) const $metric: Metric = Metric {
            name: stringify!($name),
            kind: MetricKind::$kind(Unit::$unit),
            labels: &[$(stringify!($label)),*],
            meaning: $meaning,
        };)*)*
        $($(#[$about])* pub const $list: &[Metric] = &[$($metric),*];)*
    };
}

metrics! {
    /// Metrics of every service.
    SERVICE {
        BUILD_INFO: Gauge(One) purser_build_info[version, mode] "Always 1. Labels name the version and mode.";
        HTTP_REQUEST_DURATION: Histogram(Micros) purser_http_request_duration_seconds[route, status]
            "Time to the response head, by route and status class. `402` is its own class, because it is a price and \
             not an error. `route=\"other\"` is any path without a route; the pages of each web app have one label, as \
             have their files. A client that disconnects before the response is not counted.";
        PAID_CALLS: Counter(One) purser_paid_calls_total[outcome]
            "Paid calls by outcome: `challenged`, `invalid`, `rate_limited`, `rejected`, `overloaded`, \
             `unavailable`, `declined`, `pending`, `credited`, `fulfilled`, `replayed`. Counted when the response is \
             sent. A client that disconnects earlier is not counted, and one that returns for its product is \
             `replayed`. The ledger has what was sold.";
        RATE_LIMITED: Counter(One) purser_rate_limited_total[limit]
            "Requests rejected by a rate limit: `requests` of a caller, `payments` of a payer, `messages` of a \
             WebSocket.";
        JOURNAL_COMMIT_BATCHES: Histogram(One) purser_journal_commit_batches[]
            "Batches per group commit, rejected ones included.";
        JOURNAL_COMMIT_DURATION: Histogram(Micros) purser_journal_commit_duration_seconds[]
            "Duration of a group commit: conditions, write, `fdatasync`, publish, replies.";
        JOURNAL_BATCHES_REJECTED: Counter(One) purser_journal_batches_rejected_total[]
            "Batches rejected because a condition failed or their write session had failed.";
        JOURNAL_WRITTEN_BYTES: Counter(One) purser_journal_written_bytes_total[] "Bytes written to the journal.";
        JOURNAL_COMMITS: Counter(One) purser_journal_commits_total[] "Batches written to the journal.";
        JOURNAL_SYNCS: Counter(One) purser_journal_syncs_total[]
            "Group commits that wrote to the journal, each with one `fdatasync`.";
        JOURNAL_QUEUED_BATCHES: Gauge(One) purser_journal_queued_batches[] "Batches waiting for the committer.";
        JOURNAL_LAG_BYTES: Gauge(One) purser_journal_lag_bytes[] "Journal bytes not yet applied to snapshots.";
        JOURNAL_MAX_LAG_BYTES: Gauge(One) purser_journal_max_lag_bytes[]
            "Lag above which new paid calls are rejected.";
        JOURNAL_LAST_SEQUENCE: Gauge(One) purser_journal_last_sequence[] "Last durable sequence number.";
        SNAPSHOT_LAST_SEQUENCE: Gauge(One) purser_snapshot_last_sequence[]
            "Last sequence number applied to snapshots.";
        JOURNAL_SEGMENTS: Gauge(One) purser_journal_segments[] "Journal segments on disk.";
        SNAPSHOT_SYNCS: Counter(One) purser_snapshot_syncs_total[]
            "Data syncs by which snapshots were made durable. In the sandbox those of its own store are included.";
        SANDBOX_JOURNAL_COMMITS: Counter(One) purser_sandbox_journal_commits_total[]
            "Batches written to the journal of the sandbox's chains and providers. Only in the sandbox, as the next two.";
        SANDBOX_JOURNAL_SYNCS: Counter(One) purser_sandbox_journal_syncs_total[] "Its `fdatasync` calls.";
        SANDBOX_JOURNAL_LAG_BYTES: Gauge(One) purser_sandbox_journal_lag_bytes[]
            "Its bytes not yet applied to its snapshots.";
        ENTITIES_ACTIVE: Gauge(One) purser_entities_active[entity] "Entities in memory.";
        ENTITY_COMMANDS_IN_FLIGHT: Gauge(One) purser_entity_commands_in_flight[entity]
            "Commands in flight: queued in a mailbox, being decided, or waiting for the disk.";
        ENTITY_RESTARTS: Counter(One) purser_entity_restarts_total[entity]
            "Entity actors restarted after a crash or a failed load.";
        ENTITIES_QUARANTINED: Gauge(One) purser_entities_quarantined[entity]
            "Entities quarantined after repeated load failures, or found corrupt in a scan (webhook endpoints, \
             discrepancies), until restart. The log names each.";
        OUTBOX_JOBS: Gauge(One) purser_outbox_jobs[job_type, state]
            "Outbox jobs by type and state: `running`, `scheduled` (scheduled, or without a permit), `dead_letter` \
             (dead-lettered).";
        OUTBOX_JOBS_LATE: Gauge(One) purser_outbox_jobs_late[job_type]
            "Failing jobs older than `engine.late_after_minutes`.";
        OUTBOX_OLDEST_JOB_AGE: Gauge(Millis) purser_outbox_oldest_job_age_seconds[job_type, state]
            "Age of the oldest `pending` job and of the oldest dead letter (`dead_letter`); 0 without one.";
        OUTBOX_ATTEMPTS: Counter(One) purser_outbox_attempts_total[job_type] "Job attempts.";
        OUTBOX_ATTEMPT_FAILURES: Counter(One) purser_outbox_attempt_failures_total[job_type, reason]
            "Failed job attempts: `temporary`, `unknown`, `permanent`, or a `crash` of the runner. Waiting is no \
             failure. A chain that could not be read is one.";
        HELD: Gauge(One) purser_held[reason]
            "Jobs with outgoing money that wait: `held_frozen` until the account is unfrozen, `held_restored` until \
             the transfers that a lost history signed have settled or expired and are in the ledger, `held_unfinal` \
             until the payment behind them is final (held credits included).";
        PAYMENTS_UNKNOWN: Gauge(One) purser_payments_unknown[] "Payments with an unknown outcome.";
        PAYMENTS_UNKNOWN_OLDEST_AGE: Gauge(Millis) purser_payments_unknown_oldest_age_seconds[]
            "Age of the oldest payment with an unknown outcome.";
        ADMISSION_IN_FLIGHT: Gauge(One) purser_admission_in_flight[]
            "Paid calls admitted to the engine, also those whose client has disconnected.";
        ADMISSION_LIMIT: Gauge(One) purser_admission_limit[] "Maximum number of admitted paid calls.";
        ADMISSION_PAYERS_IN_FLIGHT: Gauge(One) purser_admission_payers_in_flight[]
            "Payers with an admitted paid call.";
        ADMISSION_REJECTED: Counter(One) purser_admission_rejected_total[reason]
            "Paid calls rejected by admission control: `capacity` (the engine's limit), `payer_limit` (the payer's \
             limit), `journal_lag`, `unhealthy` (a supervisor has died).";
        LINES: Gauge(One) purser_lines[line, status]
            "1 for the status of each product line, else 0: `open`, `failing` (its provider is down), `closed` (by \
             an operator).";
        LINE_FAILURES: Gauge(One) purser_line_failures[line] "Failures in a row of each line's provider.";
        RECONCILIATION_DISCREPANCIES: Gauge(One) purser_reconciliation_discrepancies[kind]
            "Open discrepancies by kind: `unexpected_at_provider`, `missing_at_provider`, `amount_mismatch`, \
             `status_mismatch`, `unmatched_deposit`, `missing_deposit`, `unmatched_transfer`, `missing_transfer`. \
             `GET /admin/reconciliation` lists them.";
        RECONCILIATION_LAST_COMPLETED_TIMESTAMP: Gauge(Millis) purser_reconciliation_last_completed_timestamp_seconds[]
            "Unix time of the last complete reconciliation run; 0 before the first.";
        RECONCILIATION_ENTRIES_COMPARED: Counter(One) purser_reconciliation_entries_compared_total[]
            "Entries compared.";
        RECONCILIATION_RESTARTS: Counter(One) purser_reconciliation_restarts_total[]
            "Restarts of the reconciliation worker.";
        INCOMING_TRANSFERS: Gauge(One) purser_incoming_transfers[state]
            "Transfers to the treasury that no payment claims: `found` is being classified, `waiting` needs an \
             operator. `GET /admin/incoming-transfers` lists them.";
        INCOMING_RESTARTS: Counter(One) purser_incoming_restarts_total[]
            "Restarts of the watcher of incoming transfers.";
        STREAM_CONNECTIONS: Gauge(One) purser_stream_connections[] "Open WebSocket connections.";
        STREAM_SUBSCRIBERS: Gauge(One) purser_stream_subscribers[] "Authenticated WebSocket connections.";
        STREAM_BUFFER_OVERFLOWS: Counter(One) purser_stream_buffer_overflows_total[]
            "Subscriber buffers dropped because the client was slow; events are read from the store again.";
        WEBHOOK_ATTEMPTS: Counter(One) purser_webhook_attempts_total[outcome]
            "Webhook delivery attempts by outcome: `delivered` (2xx), `throttled` (429, 503), `gone` (410), \
             `rejected` (any other status), `timeout` (timeout), `not_sent` (no connection, or a blocked address).";
        WEBHOOK_DELIVERY_LATENCY: Histogram(Millis) purser_webhook_delivery_latency_seconds[]
            "Time from event to delivery, for deliveries that succeeded on the first attempt.";
        WEBHOOK_DELIVERIES_PENDING: Gauge(One) purser_webhook_deliveries_pending[]
            "Pending webhook deliveries, counted over at most 10,000 jobs.";
        WEBHOOK_DEGRADED_ATTEMPTS_IN_FLIGHT: Gauge(One) purser_webhook_degraded_attempts_in_flight[]
            "Attempts in the degraded pool; limit `webhooks.max_concurrent_degraded`.";
        ANNOUNCEMENT_ATTEMPTS: Counter(One) purser_announcement_attempts_total[outcome]
            "Attempts to announce at `operator.webhook_url` what waits for operators, by outcome: `delivered` (2xx), \
             `rejected` (any other status), `not_sent` (no response, no connection, or a blocked address).";
        ANNOUNCEMENTS_GIVEN_UP: Counter(One) purser_announcements_given_up_total[]
            "Announcements whose last attempt failed.";
        ANNOUNCEMENTS_PENDING: Gauge(One) purser_announcements_pending[] "Announcements not delivered yet.";
    }

    /// Metrics of the real chains, in production only.
    REAL_CHAINS {
        CHAIN_HEIGHT: Gauge(One) purser_chain_height[network] "Newest block that was read.";
        CHAIN_CROSS_CHECKED_HEIGHT: Gauge(One) purser_chain_cross_checked_height[network]
            "Highest block that two endpoints agree on. Nothing above it is final. No sample with one endpoint.";
        CHAIN_TAKES_PAYMENTS: Gauge(One) purser_chain_takes_payments[network]
            "1 while new payments are accepted. 0: the chain was not checked since the start, its blocks cannot be \
             read, nothing becomes final, or no gas key on Base has gas or knows its next nonce; payments get 503. \
             The log has a line for each change.";
        CHAIN_BLOCK_AGE: Gauge(Millis) purser_chain_block_age_seconds[network]
            "Age of that block by the chain's clock; on Solana the time since the newest slot was read.";
        RPC_ENDPOINT_FAILURES: Gauge(One) purser_rpc_endpoint_failures[network, endpoint, host]
            "Failures of an endpoint since its last response. `endpoint` is its index in the settings, from 0.";
        RPC_ENDPOINT_LAG: Gauge(One) purser_rpc_endpoint_lag[network, endpoint, host]
            "Blocks behind the best endpoint. No sample while the endpoint does not respond, and before its first \
             height: use `purser_rpc_endpoint_failures` for that alert.";
        RPC_CALLS: Counter(One) purser_rpc_calls_total[network, endpoint, host]
            "Calls to an endpoint. Each call of a batch counts, as the endpoint's provider counts them.";
        FEE_KEY_BALANCE: Gauge(One) purser_fee_key_balance[network, address]
            "Balance of a gas key or fee payer. No sample if it could not be read within a second.";
        FEE_KEY_IN_FLIGHT: Gauge(One) purser_fee_key_in_flight[network, address] "Payments in flight of the key.";
        CHAIN_FEES: Counter(One) purser_chain_fees_total[network] "Fees paid.";
        CHAIN_FEES_LOST: Counter(One) purser_chain_fees_lost_total[network]
            "Of these, fees for payments that did not settle.";
        CHAIN_CROSS_CHECK_MISMATCHES: Counter(One) purser_chain_cross_check_mismatches_total[network]
            "Blocks or transactions that were read again because two endpoints showed other transfers than the \
             first.";
        CHAIN_ALARMS: Counter(One) purser_chain_alarms_total[network]
            "Conditions that need an operator's attention; the log has the details.";
        PRECHECKS: Counter(One) purser_prechecks_total[network] "Payments checked before their claim.";
        PRECHECK_READS: Counter(One) purser_precheck_reads_total[network]
            "Chain reads for these checks, and for those at preparation. On Base, payments within 20 ms share one.";
        PRECHECKS_DECLINED: Counter(One) purser_prechecks_declined_total[network, reason]
            "Of these, declined payments, by the `errorReason` of the response.";
        PRECHECKS_UNAVAILABLE: Counter(One) purser_prechecks_unavailable_total[network]
            "Of these, payments without a response of the chain in time: decided after the claim.";
        BRIDGE_BURNS: Counter(One) purser_bridge_burns_total[] "Final burns into the built-in bridge.";
        BRIDGE_MINTS_WAITING: Gauge(One) purser_bridge_mints_waiting[]
            "Top-ups burned on Solana and not minted on Base.";
        BRIDGE_OLDEST: Gauge(Millis) purser_bridge_oldest_seconds[]
            "Age of the oldest of them since its burn; 0 without one.";
    }

    /// Metrics of each facilitator, in production only.
    FACILITATORS {
        FACILITATOR_PAUSED: Gauge(One) purser_facilitator_paused[network, facilitator]
            "1 while it is skipped because it has failed, if another has not.";
        FACILITATOR_PAYMENTS: Counter(One) purser_facilitator_payments_total[network, facilitator]
            "Payments and withdrawals handed to it.";
        FACILITATOR_REQUESTS: Counter(One) purser_facilitator_requests_total[network, facilitator, request, outcome]
            "Requests to `supported`, `verify` and `settle`, by outcome: `good`, `declined`, `used` (the payment is \
             already used), `unknown` (no conclusion possible), `no_answer`, `given_up` (the chain showed the \
             payment first).";
    }
}
