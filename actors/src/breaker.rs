//! Whether a line of products is sold: a provider that fails several times in a row gets no new orders, is tried with one order at
//! a time, and is trusted again once it has delivered one. Pure: the time comes with every call.
//!
//! An order that fails while others are delivered has a trouble of its own: it is not counted any more.

use std::collections::BTreeMap;

use crate::id::JobId;
use crate::port::Timestamp;

/// Orders that are remembered of one line; beyond them only the failures in a row count.
const MAX_ORDERS: usize = 64;
/// The longest that a failing line waits before it sells one order to try its provider with, in milliseconds.
const MAX_SALE_WAIT_MS: u64 = 3_600_000;

/// When a line is closed, and how it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Failures in a row that close it; 0 never does.
    pub max_failures: u32,
    /// Pause between two tries of a closed line, in milliseconds.
    pub probe_interval_ms: u64,
    /// How long a try may take, and how long an order may pause between two tries, in milliseconds: one that is silent for longer is
    /// none that waits.
    pub stale_after_ms: u64,
}

/// What a try changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerChange {
    /// Nothing that is to be told.
    None,
    /// The line is closed; so many failures in a row.
    Closed(u32),
    /// It is open again.
    Opened,
}

/// An order whose tries have failed.
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
    /// Which order is tried now, and since when.
    probe: Option<(JobId, Timestamp)>,
    next_sale_at: Timestamp,
    sale_wait_ms: u64,
}

/// One line's.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    failures: u32,
    closed: Option<ClosedState>,
    orders: BTreeMap<JobId, FailingOrder>,
}

impl Breaker {
    /// As a start finds a line that was closed.
    pub fn closed(rules: &BreakerSettings, now: Timestamp) -> Self {
        let mut breaker = Self {
            failures: rules.max_failures,
            ..Self::default()
        };
        breaker.close(rules, now);
        breaker
    }

    /// Whether its provider is trusted.
    pub const fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// Whether there is nothing to remember.
    pub fn is_idle(&self) -> bool {
        self.closed.is_none() && self.failures == 0 && self.orders.is_empty()
    }

    /// Failures in a row.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// When one order is tried next, while it is closed.
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

    /// An order wants to be tried: `None` if it may be, else for how many milliseconds it waits.
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

    /// A provider has answered an order.
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

    /// A try of an order has failed.
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

    /// A provider was asked about an order that is not sold yet, and has not answered: a failure in a row like any other, of no
    /// order. A closed line that was to sell one to try its provider with waits as if that order had been sold.
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

    /// Whether an order can be sold now: always while it is open. A closed line sells one to try its provider with, if no other is
    /// there to be tried, or only one that has failed so often that the trouble may be its own; each time later than the last.
    ///
    /// # Errors
    /// In how many seconds to ask again.
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

    /// The same, and it is sold.
    ///
    /// # Errors
    /// As [`Breaker::sells`].
    pub fn take_sale(&mut self, rules: &BreakerSettings, now: Timestamp) -> Result<(), u64> {
        self.check_sale(rules, now)?;
        if let Some(closed) = &mut self.closed {
            closed.sale_wait_ms = closed.sale_wait_ms.saturating_mul(4).min(MAX_SALE_WAIT_MS);
            closed.next_sale_at = now.plus_ms(closed.sale_wait_ms);
        }
        Ok(())
    }

    /// What was sold came to nothing: it was not claimed.
    pub fn cancel_sale(&mut self, rules: &BreakerSettings, now: Timestamp) {
        if let Some(closed) = &mut self.closed {
            closed.sale_wait_ms = (closed.sale_wait_ms / 4).max(rules.probe_interval_ms).max(1);
            closed.next_sale_at = now;
        }
    }
}
