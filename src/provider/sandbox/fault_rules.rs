//! Faults that wait for calls, of any kind. Held in memory: a restart clears them.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// A fault and how often it still applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultRule<F> {
    pub fault: F,
    /// `None` applies until cleared.
    pub remaining: Option<u32>,
}

/// The rules, in the order in which they were set.
#[derive(Debug)]
pub(super) struct FaultRules<F> {
    rules: Mutex<Vec<FaultRule<F>>>,
    injected: AtomicU64,
}

impl<F> Default for FaultRules<F> {
    fn default() -> Self {
        Self {
            rules: Mutex::default(),
            injected: AtomicU64::new(0),
        }
    }
}

impl<F: Copy> FaultRules<F> {
    pub(super) fn add(&self, rule: FaultRule<F>) {
        self.rules.lock().push(rule);
    }

    pub(super) fn clear(&self) {
        self.rules.lock().clear();
    }

    pub(super) fn pending(&self) -> Vec<FaultRule<F>> {
        self.rules.lock().clone()
    }

    pub(super) fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    /// The first fault that this call can meet. Uses up one of its remaining times.
    pub(super) fn take(&self, meets: impl Fn(F) -> bool) -> Option<F> {
        let mut rules = self.rules.lock();
        let at = rules.iter().position(|rule| meets(rule.fault))?;
        let rule = rules.get_mut(at)?;
        let fault = rule.fault;
        if let Some(remaining) = &mut rule.remaining {
            *remaining = remaining.saturating_sub(1);
            if *remaining == 0 {
                rules.remove(at);
            }
        }
        self.injected.fetch_add(1, Ordering::Relaxed);
        Some(fault)
    }
}
