//! Faults of the sandbox issuer, and the amounts that trigger them.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::money::Cents;

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerFault {
    /// No response; the order is not accepted.
    Unreachable,
    /// The call is delayed and then proceeds normally.
    Slow { ms: u64 },
    /// The response is malformed. The order is not accepted, but the caller cannot know that.
    MalformedResponse,
    /// The order is accepted and the response is lost.
    Timeout,
    /// The order is declined.
    Decline,
}

impl IssuerFault {
    /// Name in the sandbox controls.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::MalformedResponse => "malformed_response",
            Self::Timeout => "timeout",
            Self::Decline => "decline",
        }
    }
}

/// A fault and how often it still applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuerFaultRule {
    pub fault: IssuerFault,
    /// `None` applies until cleared.
    pub remaining: Option<u32>,
}

/// What a magic amount does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicOutcome {
    /// The issuer declines the card: the payer is credited.
    Declined,
    /// The card takes 10 seconds instead of 2.
    Slow,
    /// The card is created and the first response is lost: a retry with the same key finds it.
    TimeoutAfterSuccess,
    /// Two temporary errors, then the card is created.
    TwoTemporaryErrors,
}

/// Cards of exactly these amounts trigger their outcome without the sandbox controls.
pub const fn magic_amounts() -> [(Cents, MagicOutcome, &'static str); 4] {
    [
        (
            Cents::new(666),
            MagicOutcome::Declined,
            "the issuer declines the card and the payment becomes a credit",
        ),
        (
            Cents::new(777),
            MagicOutcome::Slow,
            "the card takes 10 seconds to be ready",
        ),
        (
            Cents::new(888),
            MagicOutcome::TimeoutAfterSuccess,
            "the issuer makes the card and its first answer is lost",
        ),
        (
            Cents::new(999),
            MagicOutcome::TwoTemporaryErrors,
            "the issuer fails twice, then makes the card",
        ),
    ]
}

pub(super) fn magic_of(amount: Cents) -> Option<MagicOutcome> {
    magic_amounts()
        .into_iter()
        .find(|(magic, _, _)| *magic == amount)
        .map(|(_, magic, _)| magic)
}

/// The rules, in the order in which they were set. Held in memory: a restart clears them.
#[derive(Debug, Default)]
pub(super) struct IssuerFaults {
    rules: Mutex<Vec<IssuerFaultRule>>,
    injected: AtomicU64,
}

impl IssuerFaults {
    pub(super) fn add(&self, rule: IssuerFaultRule) {
        self.rules.lock().push(rule);
    }

    pub(super) fn clear(&self) {
        self.rules.lock().clear();
    }

    pub(super) fn rules(&self) -> Vec<IssuerFaultRule> {
        self.rules.lock().clone()
    }

    pub(super) fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    /// The first fault that this call can meet. Uses up one of its remaining times.
    pub(super) fn take(&self, can: impl Fn(IssuerFault) -> bool) -> Option<IssuerFault> {
        let mut rules = self.rules.lock();
        let at = rules.iter().position(|rule| can(rule.fault))?;
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
