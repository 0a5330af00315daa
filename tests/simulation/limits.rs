//! The settings of a run: small limits, and windows that it sees the end of.

use purser_actors::approval;
use purser_actors::breaker::BreakerSettings;
use purser_actors::engine::webhooks::WebhookSettings;
use purser_actors::engine::{EngineSettings, PayoutSettings};
use purser_actors::entity::payout::RailTerms;
use purser_actors::kernel::outbox::RetryPolicy;
use purser_actors::kernel::registry::ActivationLimits;
use purser_actors::money::{Cents, FeeRule, Usdc};
use purser_actors::product::{DailyCap, DailyCaps, PriceRange, ProductLine};
use purser_storage::sim_disk::SeededRng;
use rust_decimal::Decimal;

use crate::plan::pick;

/// Small limits, so that they are met.
pub(crate) fn settings(chance: &mut SeededRng) -> EngineSettings {
    EngineSettings {
        limits: ActivationLimits {
            max_active: pick(chance, &[1, 3, 1_000]),
            passivate_after_ms: pick(chance, &[20, 1_000, 10_000]),
            restart_ms: 10,
            restart_max_ms: 500,
            quarantine_after: 6,
        },
        retry: RetryPolicy {
            max_concurrent: pick(chance, &[1, 4, 64]),
            initial_backoff_ms: pick(chance, &[2, 100]),
            max_backoff_ms: 3_000,
            max_attempts: 24,
        },
        max_in_flight: pick(chance, &[2, 6, 64]),
        max_in_flight_per_payer: pick(chance, &[1, 3, 16]),
        caps: DailyCaps::NONE.with(
            ProductLine::UsaCard,
            DailyCap {
                count: pick(chance, &[2, 5, 100]),
                sum: Cents::new(pick(chance, &[2_000, 100_000])),
            },
        ),
        // Exactly what international cards are sold for: see `clients::purchase`.
        intl_prices: PriceRange {
            min: Cents::new(504),
            max: Cents::new(1_000_000),
            step: Cents::new(6),
            fees: [
                Some(FeeRule {
                    rate: Decimal::ZERO,
                    minimum: Decimal::ZERO,
                }),
                None,
            ],
        },
        settle_timeout_ms: 2_000,
        paid_call_timeout_ms: 2_000,
        prepare_attempts: 3,
        watch_every_ms: pick(chance, &[300, 2_000]),
        approvals: approval::ApprovalLimits {
            max_per_action: Usdc::ZERO,
            max_per_day: Usdc::ZERO,
            validity_ms: 1_000_000_000,
        },
        breaker: BreakerSettings {
            max_failures: 0,
            probe_interval_ms: 1_000,
            stale_after_ms: 10_000,
        },
        not_offered: [false; purser_actors::product::ProductLine::ALL.len()],
        late_after_ms: 0,
        // What a plan's top-ups wait is theirs to say.
        card_credit_timeout_ms: 600_000,
        issuer_timeout_ms: 1_500,
        payouts: payouts(chance),
        // No plan has an endpoint.
        webhooks: WebhookSettings::STANDARD,
        sweep_every_ms: pick(chance, &[50, 1_000]),
        timers_every_ms: 1_000,
    }
}

/// Windows that a run sees the end of.
fn payouts(chance: &mut SeededRng) -> PayoutSettings {
    let terms = RailTerms {
        returns_ms: pick(chance, &[500, 30_000, 600_000]),
        return_fee: Usdc::from_atomic(pick(chance, &[0, 250_000, 1_000_000_000])),
        wait_ms: pick(chance, &[3_000, 60_000, 600_000]),
    };
    PayoutSettings {
        push_to_card: terms,
        bank_payment: terms,
        app_payment: terms,
        timeout_ms: 1_500,
        poll_interval_ms: pick(chance, &[300, 2_000]),
    }
}
