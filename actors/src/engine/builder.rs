//! Dependencies and settings of an engine.

use std::sync::Arc;

use purser_storage::Store;

use super::webhooks::WebhookSettings;
use super::{LostHistory, PayoutSettings, ReconcilerDeps, RestoreWindow};
use crate::approval;
use crate::breaker::BreakerSettings;
use crate::kernel::outbox::RetryPolicy;
use crate::kernel::registry::ActivationLimits;
use crate::port::{Clock, Entropy, Ports};
use crate::product::{DailyCaps, PriceRange, ProductLine};

/// Dependencies and settings of an engine.
pub struct EngineDeps {
    /// Storage of all durable state.
    pub store: Arc<dyn Store>,
    /// The service's clock.
    pub clock: Arc<dyn Clock>,
    /// Source of ids and jitter.
    pub entropy: Arc<dyn Entropy>,
    /// Providers, chains and the vault.
    pub ports: Ports,
    /// The time of which a restore lost the history, if there was one. A transfer received in it may have bought
    /// something.
    pub lost_history: Option<LostHistory>,
    /// The restore window, if the store was restored. Nothing new leaves until every outgoing transfer since the backup
    /// is tracked.
    pub restored: Option<RestoreWindow>,
    /// External lists to reconcile with, if any.
    pub reconciler: Option<ReconcilerDeps>,
    /// Limits and intervals.
    pub settings: EngineSettings,
}

/// Limits and intervals of the engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineSettings {
    /// Limits of every entity registry.
    pub limits: ActivationLimits,
    /// Retry policy of every job.
    pub retry: RetryPolicy,
    /// Paid calls in flight, at most.
    pub max_in_flight: usize,
    /// Paid calls in flight of one payer, at most.
    pub max_in_flight_per_payer: usize,
    /// Daily caps of one account.
    pub caps: DailyCaps,
    /// Prices of international cards. After a restore, a transfer of such an amount may have paid for a card that an
    /// operator issued.
    pub intl_prices: PriceRange,
    /// A chain that takes longer to answer a submission leaves its outcome unknown, in milliseconds.
    pub settle_timeout_ms: u64,
    /// Timeout of a paid call of an agent wallet, in milliseconds.
    pub paid_call_timeout_ms: u64,
    /// Attempts to prepare a payment before it is released.
    pub prepare_attempts: u32,
    /// Interval between two chain reads for one payment, in milliseconds.
    pub watch_every_ms: u64,
    /// Timeout of a request to the issuer, in milliseconds.
    pub issuer_timeout_ms: u64,
    /// Settings of payouts.
    pub payouts: PayoutSettings,
    /// Settings of webhooks.
    pub webhooks: WebhookSettings,
    /// An operator must look if the issuer has not credited a delivery within this time, in milliseconds.
    pub card_credit_timeout_ms: u64,
    /// What an operator may give without approval.
    pub approvals: approval::ApprovalLimits,
    /// When the line of a failing provider is closed, and how it is probed.
    pub breaker: BreakerSettings,
    /// Lines that are not sold, in the order of [`ProductLine::ALL`]. Their earlier orders are still delivered.
    pub not_offered: [bool; ProductLine::ALL.len()],
    /// A failing job older than this is late, and operators see it; in milliseconds, 0 for never.
    pub late_after_ms: u64,
    /// Interval of passivation, in milliseconds.
    pub sweep_every_ms: u64,
    /// Interval of checks for due scheduled jobs, in milliseconds.
    pub timers_every_ms: u64,
}
