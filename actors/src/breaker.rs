//! Circuit breaker of a product line. A provider that fails several times in a row gets no new orders, is probed with
//! one order at a time, and is open again once it has delivered one. Pure: every call passes the time.
//!
//! An order that fails while others are delivered has a problem of its own and is no longer counted.

use std::collections::BTreeMap;

use crate::id::JobId;
use crate::port::Timestamp;

/// Failing orders remembered per line; beyond them only consecutive failures count.
const MAX_ORDERS: usize = 64;
/// Longest wait of a failing line before it sells one order as a probe, in milliseconds.
const MAX_SALE_WAIT_MS: u64 = 3_600_000;

/// When a line closes, and how it is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Consecutive failures that close it; 0 disables the breaker.
    pub max_failures: u32,
    /// Delay between two probes of a closed line, in milliseconds.
    pub probe_interval_ms: u64,
    /// Timeout of a probe, and the longest pause between two attempts of an order, in milliseconds. An order without
    /// activity for longer no longer counts as waiting.
    pub stale_after_ms: u64,
}

/// Change caused by an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerChange {
    /// No change to report.
    None,
    /// The line closed; number of consecutive failures.
    Closed(u32),
    /// The line is open again.
    Opened,
}

/// An order with failed attempts.
#[derive(Clone, Copy, Debug)]
struct FailingOrder {
    failures: u32,
    last_attempt_at: Timestamp,
    /// It failed while others were delivered.
    others_delivered: bool,
}

#[derive(Clone, Copy, Debug)]
struct ClosedState {
    next_probe_at: Timestamp,
    /// Current probe and its start.
    probe: Option<(JobId, Timestamp)>,
    next_sale_at: Timestamp,
    sale_wait_ms: u64,
}

/// Breaker of one line.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    failures: u32,
    closed: Option<ClosedState>,
    orders: BTreeMap<JobId, FailingOrder>,
}

impl Breaker {
    /// Breaker of a line that was closed before the start.
    pub fn closed(rules: &BreakerSettings, now: Timestamp) -> Self {
        let mut breaker = Self {
            failures: rules.max_failures,
            ..Self::default()
        };
        breaker.close(rules, now);
        breaker
    }

    /// Whether the provider gets new orders.
    pub const fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// Whether there is nothing to remember.
    pub fn is_idle(&self) -> bool {
        self.closed.is_none() && self.failures == 0 && self.orders.is_empty()
    }

    /// Number of consecutive failures.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Time of the next probe while it is closed.
    pub fn next_probe_at(&self) -> Option<Timestamp> {
        self.closed.map(|closed| closed.next_probe_at)
    }

    fn close(&mut self, rules: &BreakerSettings, now: Timestamp) {
        self.closed = Some(ClosedState {
            next_probe_at: now.plus_ms(rules.probe_interval_ms),
            probe: None,
            next_sale_at: now.plus_ms(rules.probe_interval_ms),
            sale_wait_ms: rules.probe_interval_ms.max(1),
        });
    }

    /// Asks whether an order may be attempted: `None` if it may, else the delay in milliseconds.
    pub fn admit(&mut self, order: JobId, rules: &BreakerSettings, now: Timestamp) -> Option<u64> {
        let closed = self.closed.as_mut()?;
        if let Some(known) = self.orders.get_mut(&order) {
            known.last_attempt_at = now;
        } else if self.orders.len() < MAX_ORDERS {
            let new = FailingOrder {
                failures: 0,
                last_attempt_at: now,
                others_delivered: false,
            };
            self.orders.insert(order, new);
        }
        let lost = |since: Timestamp| since.plus_ms(rules.stale_after_ms) <= now;
        let busy = closed
            .probe
            .is_some_and(|(other, since)| other != order && !lost(since));
        if busy || now < closed.next_probe_at {
            let wait = closed.next_probe_at.0.saturating_sub(now.0);
            return Some(wait.max(rules.probe_interval_ms / 2).max(1));
        }
        closed.probe = Some((order, now));
        closed.next_probe_at = now.plus_ms(rules.probe_interval_ms);
        None
    }

    /// A provider answered an order.
    pub fn record_success(&mut self, order: JobId, rules: &BreakerSettings) -> BreakerChange {
        self.failures = 0;
        self.orders.remove(&order);
        self.orders.retain(|_, other| {
            other.others_delivered |= other.failures >= rules.max_failures;
            other.others_delivered
        });
        match self.closed.take() {
            Some(_) => BreakerChange::Opened,
            None => BreakerChange::None,
        }
    }

    /// An attempt of an order failed.
    pub fn record_failure(&mut self, order: JobId, rules: &BreakerSettings, now: Timestamp) -> BreakerChange {
        if rules.max_failures == 0 {
            return BreakerChange::None;
        }
        let known = self.orders.get(&order).copied().unwrap_or(FailingOrder {
            failures: 0,
            last_attempt_at: now,
            others_delivered: false,
        });
        let known = FailingOrder {
            failures: known.failures.saturating_add(1),
            last_attempt_at: now,
            ..known
        };
        if self.orders.len() < MAX_ORDERS || self.orders.contains_key(&order) {
            self.orders.insert(order, known);
        }
        if let Some(closed) = &mut self.closed {
            closed.probe = closed.probe.filter(|(tried, _)| *tried != order);
            closed.next_probe_at = now.plus_ms(rules.probe_interval_ms);
            self.failures = self.failures.saturating_add(1);
            return BreakerChange::None;
        }
        if known.others_delivered {
            return BreakerChange::None;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures < rules.max_failures {
            return BreakerChange::None;
        }
        self.close(rules, now);
        BreakerChange::Closed(self.failures)
    }

    /// A provider did not answer a request before a sale. This counts as a consecutive failure, without an order. A
    /// closed line that was about to sell a probe waits as if it had sold it.
    pub fn record_unanswered(&mut self, rules: &BreakerSettings, now: Timestamp) -> BreakerChange {
        if rules.max_failures == 0 {
            return BreakerChange::None;
        }
        self.failures = self.failures.saturating_add(1);
        if self.closed.is_some() {
            self.take_sale(rules, now).ok();
            return BreakerChange::None;
        }
        if self.failures < rules.max_failures {
            return BreakerChange::None;
        }
        self.close(rules, now);
        BreakerChange::Closed(self.failures)
    }

    /// Whether an order can be sold now; always while the line is open. A closed line sells an order as a probe if
    /// there is no other order to attempt, or only one that failed so often that the problem may be its own. The
    /// intervals grow.
    ///
    /// # Errors
    /// Seconds until the caller may retry.
    pub fn check_sale(&self, rules: &BreakerSettings, now: Timestamp) -> Result<(), u64> {
        let Some(closed) = &self.closed else { return Ok(()) };
        let waits = |order: &&FailingOrder| order.last_attempt_at.plus_ms(rules.stale_after_ms) > now;
        let mut waiting = self.orders.values().filter(waits);
        let worn = |order: &FailingOrder| order.failures >= rules.max_failures.saturating_mul(2);
        let alone = match (waiting.next(), waiting.next()) {
            (None, _) => true,
            (Some(one), None) => worn(one),
            (Some(_), Some(_)) => false,
        };
        if alone && closed.probe.is_none() && closed.next_sale_at <= now {
            return Ok(());
        }
        let soonest = closed.next_sale_at.max(closed.next_probe_at).0;
        Err(soonest.saturating_sub(now.0).div_ceil(1_000).max(1))
    }

    /// The same, and reserves the sale.
    ///
    /// # Errors
    /// As [`Breaker::check_sale`].
    pub fn take_sale(&mut self, rules: &BreakerSettings, now: Timestamp) -> Result<(), u64> {
        self.check_sale(rules, now)?;
        if let Some(closed) = &mut self.closed {
            closed.sale_wait_ms = closed.sale_wait_ms.saturating_mul(4).min(MAX_SALE_WAIT_MS);
            closed.next_sale_at = now.plus_ms(closed.sale_wait_ms);
        }
        Ok(())
    }

    /// The sale was not completed: it was not claimed.
    pub fn cancel_sale(&mut self, rules: &BreakerSettings, now: Timestamp) {
        if let Some(closed) = &mut self.closed {
            closed.sale_wait_ms = (closed.sale_wait_ms / 4).max(rules.probe_interval_ms).max(1);
            closed.next_sale_at = now;
        }
    }
}
