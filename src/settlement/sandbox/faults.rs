//! What the sandbox's chains can be told to do wrong. Held in memory: a restart makes them well again.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;

/// A way to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// The submission is refused with this reason and nothing lands.
    Decline {
        /// `errorReason` of the contract.
        reason: String,
    },
    /// The submission is refused as if the balance were too low.
    Insufficient,
    /// Nothing answers: every call fails before it does anything.
    Unreachable,
    /// The submission takes so long, and then goes its way.
    Slow {
        /// In milliseconds.
        ms: u64,
    },
    /// The transfer lands and the answer to it is lost.
    LoseResponse,
    /// The submission is refused, and the transfer lands all the same after this time if its validity allows.
    FailThenLand {
        /// In milliseconds of the chain's clock.
        after_ms: u64,
    },
    /// The submission succeeds, and a reorganisation drops the transfer after this time.
    Reorg {
        /// In milliseconds of the chain's clock.
        after_ms: u64,
    },
    /// Somebody who saw the payment submits it first.
    FrontRun,
    /// The same as `Drop`, by a reorganisation that is deeper than what counts as final: the transfer is shown as final before.
    DropFinal {
        /// In milliseconds of the chain's clock.
        after_ms: u64,
    },
}

impl ChainFault {
    /// Its name on the sandbox desk.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Decline { .. } => "decline",
            Self::Insufficient => "insufficient",
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::LoseResponse => "lose_answer",
            Self::FailThenLand { .. } => "fail_then_land",
            Self::Reorg { .. } => "drop",
            Self::FrontRun => "preempt",
            Self::DropFinal { .. } => "drop_final",
        }
    }
}

/// Payments of exactly these amounts of atomic USDC always meet a fault, so that a client can be tried without
/// the desk. They clash with none of the issuer's magic amounts.
pub fn magic_amounts() -> [(Usdc, ChainFault, &'static str); 7] {
    let usdc = Usdc::from_atomic;
    [
        (
            usdc(13_010_000),
            ChainFault::Insufficient,
            "settlement is refused for insufficient funds",
        ),
        (
            usdc(13_020_000),
            ChainFault::Decline {
                reason: "invalid_transaction_state".into(),
            },
            "settlement is refused by the chain",
        ),
        (
            usdc(13_030_000),
            ChainFault::Slow { ms: 3_000 },
            "settlement takes 3 seconds",
        ),
        (
            usdc(13_040_000),
            ChainFault::LoseResponse,
            "the transfer lands and the chain's answer is lost",
        ),
        (
            usdc(13_050_000),
            ChainFault::FailThenLand { after_ms: 3_000 },
            "settlement is refused and the transfer lands 3 seconds later",
        ),
        (
            usdc(13_060_000),
            ChainFault::Reorg { after_ms: 3_000 },
            "settlement succeeds and the transfer is dropped by a reorganisation 3 seconds later",
        ),
        (
            usdc(13_070_000),
            ChainFault::FrontRun,
            "an observer submits the payment first",
        ),
    ]
}

/// A fault with whom it meets and how often.
#[derive(Clone, Debug)]
pub struct FaultRule {
    /// Only this payer, or everybody.
    pub wallet: Option<Wallet>,
    /// What goes wrong.
    pub fault: ChainFault,
    /// How often it still happens; `None` is until cleared.
    pub remaining: Option<u32>,
}

/// The rules of one chain, first come first served.
#[derive(Debug, Default)]
pub(crate) struct ChainFaults {
    rules: Mutex<Vec<FaultRule>>,
    injected: AtomicU64,
}

/// Which call is asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainCall {
    /// `prepare` and `lookup`: they can only find nobody at home.
    Read,
    Submit,
}

impl ChainFaults {
    pub(crate) fn add(&self, rule: FaultRule) {
        self.rules.lock().push(rule);
    }

    pub(crate) fn clear(&self) {
        self.rules.lock().clear();
    }

    pub(crate) fn rules(&self) -> Vec<FaultRule> {
        self.rules.lock().clone()
    }

    /// How many calls met a fault since the start.
    pub(crate) fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self) {
        self.injected.fetch_add(1, Ordering::Relaxed);
    }

    /// The fault that this call meets, used up once.
    pub(crate) fn take(&self, stage: ChainCall, payer: &Wallet) -> Option<ChainFault> {
        let mut rules = self.rules.lock();
        let place = rules.iter().position(|rule| {
            rule.wallet.is_none_or(|wallet| wallet == *payer)
                && (stage == ChainCall::Submit || rule.fault == ChainFault::Unreachable)
        })?;
        let fault = rules[place].fault.clone();
        if let Some(remaining) = &mut rules[place].remaining {
            *remaining = remaining.saturating_sub(1);
            if *remaining == 0 {
                rules.remove(place);
            }
        }
        self.count();
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    // A rule meets only its wallet, only so often, and reads meet nothing but silence.
    #[test]
    fn rules_are_used_up_in_order() {
        let (alice, bob) = (Wallet::Evm([1; 20]), Wallet::Evm([2; 20]));
        let faults = ChainFaults::default();
        faults.add(FaultRule {
            wallet: Some(alice),
            fault: ChainFault::Insufficient,
            remaining: Some(2),
        });
        faults.add(FaultRule {
            wallet: None,
            fault: ChainFault::Unreachable,
            remaining: None,
        });
        assert_eq!(faults.take(ChainCall::Read, &alice), Some(ChainFault::Unreachable));
        assert_eq!(faults.take(ChainCall::Submit, &bob), Some(ChainFault::Unreachable));
        assert_eq!(faults.take(ChainCall::Submit, &alice), Some(ChainFault::Insufficient));
        assert_eq!(faults.take(ChainCall::Submit, &alice), Some(ChainFault::Insufficient));
        assert_eq!(faults.take(ChainCall::Submit, &alice), Some(ChainFault::Unreachable));
        assert_eq!(faults.injected(), 5);
        faults.clear();
        assert_eq!(faults.take(ChainCall::Submit, &alice), None);
    }
}
