//! Engine settings of the tests.

use purser_actors::approval::ApprovalLimits;
use purser_actors::breaker::BreakerSettings;
use purser_actors::engine::webhooks::WebhookSettings;
use purser_actors::engine::{EngineSettings, PayoutSettings};
use purser_actors::entity::payout::RailTerms;
use purser_actors::kernel::outbox::RetryPolicy;
use purser_actors::kernel::registry;
use purser_actors::money::{Cents, FeeRule, Usdc};
use purser_actors::product::{DailyCap, DailyCaps, PriceRange, ProductLine};
use rust_decimal::Decimal;

/// Short delays, and timeouts that even a busy machine does not reach.
pub(crate) const fn fast() -> EngineSettings {
    EngineSettings {
        limits: registry::ActivationLimits {
            max_active: 1_000,
            passivate_after_ms: 3_600_000,
            restart_ms: 1,
            restart_max_ms: 2,
            quarantine_after: 3,
        },
        retry: RetryPolicy {
            max_concurrent: 64,
            initial_backoff_ms: 2,
            max_backoff_ms: 4,
            max_attempts: 8,
        },
        max_in_flight: 256,
        max_in_flight_per_payer: 128,
        caps: cards_a_day(200, 2_000_000),
        intl_prices: PriceRange {
            min: Cents::new(10_000),
            max: Cents::new(100_000),
            step: Cents::new(100),
            fees: [
                Some(FeeRule {
                    rate: Decimal::ZERO,
                    minimum: Decimal::ZERO,
                }),
                None,
            ],
        },
        settle_timeout_ms: 120_000,
        paid_call_timeout_ms: 120_000,
        prepare_attempts: 3,
        watch_every_ms: 2,
        issuer_timeout_ms: 120_000,
        payouts: payouts(),
        webhooks: WebhookSettings::STANDARD,
        approvals: ApprovalLimits {
            max_per_action: Usdc::ZERO,
            max_per_day: Usdc::ZERO,
            validity_ms: 1_000_000_000,
        },
        breaker: BreakerSettings {
            max_failures: 0,
            probe_interval_ms: 4,
            stale_after_ms: 3_600_000,
        },
        not_offered: [false; purser_actors::product::ProductLine::ALL.len()],
        late_after_ms: 0,
        card_credit_timeout_ms: 120_000,
        sweep_every_ms: 3_600_000,
        timers_every_ms: 20,
    }
}

/// A return window of one minute, a return fee of a quarter dollar, and a form lifetime of two minutes.
const fn payouts() -> PayoutSettings {
    let terms = RailTerms {
        returns_ms: 60_000,
        return_fee: Usdc::from_atomic(250_000),
        wait_ms: 120_000,
    };
    PayoutSettings {
        push_to_card: terms,
        bank_payment: terms,
        app_payment: terms,
        timeout_ms: 120_000,
        poll_interval_ms: 2,
    }
}

/// A daily cap on prepaid cards only.
pub(crate) const fn cards_a_day(count: u32, sum: u64) -> DailyCaps {
    let sum = Cents::new(sum);
    DailyCaps::NONE.with(ProductLine::UsaCard, DailyCap { count, sum })
}
