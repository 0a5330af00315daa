//! Faults of the sandbox bridge on each leg, and the top-up amounts that trigger them.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::money::Cents;

/// A step of a bridge transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BridgeLeg {
    /// The burn on Solana.
    Burn,
    Attestation,
    /// The mint on Base.
    Mint,
}

impl BridgeLeg {
    /// Name in the sandbox controls.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Burn => "burn",
            Self::Attestation => "attestation",
            Self::Mint => "mint",
        }
    }
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BridgeFault {
    /// No response; nothing happens.
    Unreachable,
    /// The call is delayed and then proceeds normally.
    Slow { ms: u64 },
    /// Response with status 429.
    RateLimited,
    /// The response is malformed. Nothing happens, but the caller cannot know that.
    MalformedResponse,
    /// The call is executed and the response is lost.
    LoseResponse,
    /// Nothing happens and no error is reported: no burn, no attestation (404), no mint.
    Stall,
    /// The signed data expires before it is used: the burn's block hash, or the attestation. Not for a mint.
    Expire,
    /// A decline that may succeed on retry, such as missing gas. For a burn and a mint.
    RetryableDecline,
    /// A permanent decline, with proof. For a burn and a mint.
    Decline,
}

impl BridgeFault {
    /// Name in the sandbox controls.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::RateLimited => "rate_limited",
            Self::MalformedResponse => "malformed_response",
            Self::LoseResponse => "lose_response",
            Self::Stall => "stall",
            Self::Expire => "expire",
            Self::RetryableDecline => "retryable_decline",
            Self::Decline => "decline",
        }
    }

    /// Whether it can happen on this leg.
    pub const fn fits(self, leg: BridgeLeg) -> bool {
        match self {
            Self::Expire => !matches!(leg, BridgeLeg::Mint),
            Self::RetryableDecline | Self::Decline => !matches!(leg, BridgeLeg::Attestation),
            _ => true,
        }
    }
}

/// A fault, its leg, and how often it still applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeFaultRule {
    pub leg: BridgeLeg,
    pub fault: BridgeFault,
    /// `None` applies until cleared.
    pub remaining: Option<u32>,
}

/// Top-ups of exactly these amounts, paid on Solana, meet this fault on this leg, once or always.
pub const fn magic_amounts() -> [(Cents, BridgeLeg, BridgeFault, &'static str); 7] {
    use BridgeFault::{Decline, Expire, LoseResponse, RetryableDecline, Slow};
    use BridgeLeg::{Attestation, Burn, Mint};
    [
        (
            Cents::new(2_101),
            Burn,
            Decline,
            "the burn is permanently declined and the payment becomes a credit",
        ),
        (
            Cents::new(2_102),
            Burn,
            LoseResponse,
            "the burn happens and its first answer is lost",
        ),
        (
            Cents::new(2_103),
            Burn,
            Expire,
            "the first burn expires unsent and is signed again",
        ),
        (
            Cents::new(2_104),
            Attestation,
            Slow { ms: 10_000 },
            "the attestation takes 10 seconds more",
        ),
        (
            Cents::new(2_105),
            Attestation,
            Expire,
            "the first attestation expires and is requested again",
        ),
        (
            Cents::new(2_106),
            Mint,
            RetryableDecline,
            "the first mint is refused for want of gas",
        ),
        (
            Cents::new(2_107),
            Mint,
            Decline,
            "the mint is permanently impossible and the payment becomes a credit",
        ),
    ]
}

/// The rules, in the order in which they were set. Held in memory: a restart clears them.
#[derive(Debug, Default)]
pub(super) struct BridgeFaults {
    rules: Mutex<Vec<BridgeFaultRule>>,
    injected: AtomicU64,
}

impl BridgeFaults {
    pub(super) fn add(&self, rule: BridgeFaultRule) {
        self.rules.lock().push(rule);
    }

    pub(super) fn clear(&self) {
        self.rules.lock().clear();
    }

    pub(super) fn rules(&self) -> Vec<BridgeFaultRule> {
        self.rules.lock().clone()
    }

    pub(super) fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    /// The fault that a call on this leg meets. Uses up one of its remaining times.
    pub(super) fn take(&self, leg: BridgeLeg) -> Option<BridgeFault> {
        let mut rules = self.rules.lock();
        let place = rules.iter().position(|rule| rule.leg == leg)?;
        let rule = rules.get_mut(place)?;
        let fault = rule.fault;
        if let Some(remaining) = &mut rule.remaining {
            *remaining = remaining.saturating_sub(1);
            if *remaining == 0 {
                rules.remove(place);
            }
        }
        self.injected.fetch_add(1, Ordering::Relaxed);
        Some(fault)
    }
}
