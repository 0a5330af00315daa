//! Whether a line of products is sold: a provider that fails several times in a row gets no new orders, is tried with one order at
//! a time, and is trusted again once it has delivered one. Pure: the time comes with every call.
//!
//! An order that fails while others are delivered has a trouble of its own: it is not counted any more.

use std::collections::BTreeMap;

use crate::id::JobId;
use crate::port::Timestamp;

/// Orders that are remembered of one line; beyond them only the failures in a row count.
const ORDERS_MAX: usize = 64;
/// The longest that a failing line waits before it sells one order to try its provider with, in milliseconds.
const SALE_WAIT_MAX_MS: u64 = 3_600_000;

/// When a line is closed, and how it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Failures in a row that close it; 0 never does.
    pub failures_max: u32,
    /// Pause between two tries of a closed line, in milliseconds.
    pub try_every_ms: u64,
    /// How long a try may take, and how long an order may pause between two tries, in milliseconds: one that is silent for longer is
    /// none that waits.
    pub silence_ms: u64,
}

/// What a try changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that is to be told.
    None,
    /// The line is closed; so many failures in a row.
    Closed(u32),
    /// It is open again.
    Opened,
}

/// An order whose tries have failed.
#[derive(Clone, Copy, Debug)]
struct Order {
    failures: u32,
    seen: Timestamp,
    /// It failed while others were delivered.
    excused: bool,
}

#[derive(Clone, Copy, Debug)]
struct Closed {
    next_try_at: Timestamp,
    /// Which order is tried now, and since when.
    trying: Option<(JobId, Timestamp)>,
    next_sale_at: Timestamp,
    sale_wait_ms: u64,
}

/// One line's.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    failures: u32,
    closed: Option<Closed>,
    orders: BTreeMap<JobId, Order>,
}

impl Breaker {
    /// As a start finds a line that was closed.
    pub fn closed(rules: &Rules, now: Timestamp) -> Self {
        let mut breaker = Self {
            failures: rules.failures_max,
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
    pub fn next_try_at(&self) -> Option<Timestamp> {
        self.closed.map(|closed| closed.next_try_at)
    }

    fn close(&mut self, rules: &Rules, now: Timestamp) {
        self.closed = Some(Closed {
            next_try_at: now.plus_ms(rules.try_every_ms),
            trying: None,
            next_sale_at: now.plus_ms(rules.try_every_ms),
            sale_wait_ms: rules.try_every_ms.max(1),
        });
    }

    /// An order wants to be tried: `None` if it may be, else for how many milliseconds it waits.
    pub fn enter(&mut self, order: JobId, rules: &Rules, now: Timestamp) -> Option<u64> {
        let closed = self.closed.as_mut()?;
        if let Some(known) = self.orders.get_mut(&order) {
            known.seen = now;
        } else if self.orders.len() < ORDERS_MAX {
            let new = Order {
                failures: 0,
                seen: now,
                excused: false,
            };
            self.orders.insert(order, new);
        }
        let lost = |since: Timestamp| since.plus_ms(rules.silence_ms) <= now;
        let busy = closed
            .trying
            .is_some_and(|(other, since)| other != order && !lost(since));
        if busy || now < closed.next_try_at {
            let wait = closed.next_try_at.0.saturating_sub(now.0);
            return Some(wait.max(rules.try_every_ms / 2).max(1));
        }
        closed.trying = Some((order, now));
        closed.next_try_at = now.plus_ms(rules.try_every_ms);
        None
    }

    /// A provider has answered an order.
    pub fn delivered(&mut self, order: JobId, rules: &Rules) -> Change {
        self.failures = 0;
        self.orders.remove(&order);
        self.orders.retain(|_, other| {
            other.excused |= other.failures >= rules.failures_max;
            other.excused
        });
        match self.closed.take() {
            Some(_) => Change::Opened,
            None => Change::None,
        }
    }

    /// A try of an order has failed.
    pub fn failed(&mut self, order: JobId, rules: &Rules, now: Timestamp) -> Change {
        if rules.failures_max == 0 {
            return Change::None;
        }
        let known = self.orders.get(&order).copied().unwrap_or(Order {
            failures: 0,
            seen: now,
            excused: false,
        });
        let known = Order {
            failures: known.failures.saturating_add(1),
            seen: now,
            ..known
        };
        if self.orders.len() < ORDERS_MAX || self.orders.contains_key(&order) {
            self.orders.insert(order, known);
        }
        if let Some(closed) = &mut self.closed {
            closed.trying = closed.trying.filter(|(tried, _)| *tried != order);
            closed.next_try_at = now.plus_ms(rules.try_every_ms);
            self.failures = self.failures.saturating_add(1);
            return Change::None;
        }
        if known.excused {
            return Change::None;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures < rules.failures_max {
            return Change::None;
        }
        self.close(rules, now);
        Change::Closed(self.failures)
    }

    /// A provider was asked about an order that is not sold yet, and has not answered: a failure in a row like any other, of no
    /// order. A closed line that was to sell one to try its provider with waits as if that order had been sold.
    pub fn unanswered(&mut self, rules: &Rules, now: Timestamp) -> Change {
        if rules.failures_max == 0 {
            return Change::None;
        }
        self.failures = self.failures.saturating_add(1);
        if self.closed.is_some() {
            self.sell(rules, now).ok();
            return Change::None;
        }
        if self.failures < rules.failures_max {
            return Change::None;
        }
        self.close(rules, now);
        Change::Closed(self.failures)
    }

    /// Whether an order can be sold now: always while it is open. A closed line sells one to try its provider with, if no other is
    /// there to be tried, or only one that has failed so often that the trouble may be its own; each time later than the last.
    ///
    /// # Errors
    /// In how many seconds to ask again.
    pub fn sells(&self, rules: &Rules, now: Timestamp) -> Result<(), u64> {
        let Some(closed) = &self.closed else { return Ok(()) };
        let waits = |order: &&Order| order.seen.plus_ms(rules.silence_ms) > now;
        let mut waiting = self.orders.values().filter(waits);
        let worn = |order: &Order| order.failures >= rules.failures_max.saturating_mul(2);
        let alone = match (waiting.next(), waiting.next()) {
            (None, _) => true,
            (Some(one), None) => worn(one),
            (Some(_), Some(_)) => false,
        };
        if alone && closed.trying.is_none() && closed.next_sale_at <= now {
            return Ok(());
        }
        let soonest = closed.next_sale_at.max(closed.next_try_at).0;
        Err(soonest.saturating_sub(now.0).div_ceil(1_000).max(1))
    }

    /// The same, and it is sold.
    ///
    /// # Errors
    /// As [`Breaker::sells`].
    pub fn sell(&mut self, rules: &Rules, now: Timestamp) -> Result<(), u64> {
        self.sells(rules, now)?;
        if let Some(closed) = &mut self.closed {
            closed.sale_wait_ms = closed.sale_wait_ms.saturating_mul(4).min(SALE_WAIT_MAX_MS);
            closed.next_sale_at = now.plus_ms(closed.sale_wait_ms);
        }
        Ok(())
    }

    /// What was sold came to nothing: it was not claimed.
    pub fn unsold(&mut self, rules: &Rules, now: Timestamp) {
        if let Some(closed) = &mut self.closed {
            closed.sale_wait_ms = (closed.sale_wait_ms / 4).max(rules.try_every_ms).max(1);
            closed.next_sale_at = now;
        }
    }
}
