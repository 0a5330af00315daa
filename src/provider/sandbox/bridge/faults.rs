//! What the sandbox bridge can be told to do wrong on each leg, and the top-ups that meet it by their amount.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::money::Cents;

/// A step of a crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BridgeLeg {
    /// Out of Solana.
    Burn,
    /// The attesters' word.
    Attestation,
    /// Into Base.
    Mint,
}

impl BridgeLeg {
    /// On the sandbox desk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Burn => "burn",
            Self::Attestation => "attestation",
            Self::Mint => "mint",
        }
    }
}

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BridgeFault {
    /// Nothing answers; nothing happens.
    Unreachable,
    /// The call takes so long, and then goes its way.
    Slow {
        /// In milliseconds.
        ms: u64,
    },
    /// 429.
    RateLimited,
    /// The answer is nonsense; nothing happens, which the caller cannot know.
    MalformedResponse,
    /// It happens, and the answer never comes.
    LoseResponse,
    /// Nothing happens and nothing says so: no burn, no attestation (404), no mint.
    Stall,
    /// What was signed lapses before it was used: the burn's block hash, the attesters' word. Not for a mint.
    Expire,
    /// A refusal that may be another next time: want of gas. Of a burn and a mint.
    RetryableDecline,
    /// A refusal for good, with proof. Of a burn and a mint.
    Decline,
}

impl BridgeFault {
    /// Its name on the sandbox desk.
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

    /// Whether it can happen on a leg.
    pub const fn fits(self, leg: BridgeLeg) -> bool {
        match self {
            Self::Expire => !matches!(leg, BridgeLeg::Mint),
            Self::RetryableDecline | Self::Decline => !matches!(leg, BridgeLeg::Attestation),
            _ => true,
        }
    }
}

/// A fault, where, and how often it still happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeFaultRule {
    /// Where.
    pub leg: BridgeLeg,
    /// What goes wrong.
    pub fault: BridgeFault,
    /// `None` is until cleared.
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
            "the burn is refused for good and the payment becomes a credit",
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
            "the first burn lapses unsent and is signed anew",
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
            "the first attestation lapses and is asked for again",
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
            "the mint is impossible for good and the payment becomes a credit",
        ),
    ]
}

/// The rules, first come first served. Held in memory: a restart makes the bridge well again.
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

    /// The fault that a call on this leg meets, used up once.
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
