//! What the sandbox issuer can be told to do wrong, and the amounts that do it by themselves.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::money::Cents;

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuerFault {
    /// Nothing answers; the order is not taken.
    Unreachable,
    /// The call takes so long, and then goes its way.
    Slow {
        /// In milliseconds.
        ms: u64,
    },
    /// The answer is nonsense; the order is not taken, which the caller cannot know.
    MalformedResponse,
    /// The order is taken and its answer never comes.
    Timeout,
    /// The order is refused for good.
    Decline,
}

impl IssuerFault {
    /// Its name on the sandbox desk.
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

/// A fault and how often it still happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuerFaultRule {
    /// What goes wrong.
    pub fault: IssuerFault,
    /// `None` is until cleared.
    pub remaining: Option<u32>,
}

/// What a magic amount does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicOutcome {
    /// The issuer refuses the card for good: the payer is credited.
    Declined,
    /// The card takes 10 seconds instead of 2.
    Slow,
    /// The card is made and the first answer never comes: the same key asked again finds it.
    TimeoutAfterSuccess,
    /// Two temporary errors, then the card.
    TwoTemporaryErrors,
}

/// Cards of exactly these amounts meet their fate without the desk.
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

/// The rules, first come first served. Held in memory: a restart makes the issuer well again.
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

    /// The fault that this call meets, used up once: the first that can happen to it.
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
