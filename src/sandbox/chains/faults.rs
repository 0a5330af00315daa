//! Faults of the sandbox's chains, and the amounts that trigger them.

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;

use crate::faults;

/// A fault of a sandbox chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// The submission is declined with this reason, and nothing settles.
    Decline {
        /// `errorReason` of the contract.
        reason: String,
    },
    /// The submission is declined as if the balance were too low.
    Insufficient,
    /// Every call fails before it has an effect.
    Unreachable,
    /// The submission is delayed by this time and then continues normally.
    Slow {
        /// Delay in milliseconds.
        ms: u64,
    },
    /// The transfer settles, and the response is lost.
    LoseResponse,
    /// The submission is declined, but the transfer settles after this time if it is still valid.
    FailThenLand {
        /// Delay in milliseconds of the chain's clock.
        after_ms: u64,
    },
    /// The submission succeeds, and a reorg drops the transfer after this time.
    Reorg {
        /// Delay in milliseconds of the chain's clock.
        after_ms: u64,
    },
    /// An observer of the payment submits it first.
    FrontRun,
    /// Like `Reorg`, but deeper than the finality depth: the transfer is shown as final before.
    DropFinal {
        /// Delay in milliseconds of the chain's clock.
        after_ms: u64,
    },
}

impl ChainFault {
    /// Name of the fault in the sandbox API.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Decline { .. } => "decline",
            Self::Insufficient => "insufficient",
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::LoseResponse => "lose_response",
            Self::FailThenLand { .. } => "fail_then_land",
            Self::Reorg { .. } => "reorg",
            Self::FrontRun => "front_run",
            Self::DropFinal { .. } => "drop_final",
        }
    }
}

/// Payments of exactly these amounts of atomic USDC always meet a fault, so that clients can be tested without the
/// sandbox API. The amounts differ from all magic amounts of the issuer.
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

/// A fault of a chain; its scope is a payer.
pub type FaultRule = faults::FaultRule<Wallet, ChainFault>;

/// The rules of one chain. The first rule that matches applies.
pub(crate) type ChainFaults = faults::FaultRules<Wallet, ChainFault>;

/// The kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainCall {
    /// `prepare` and `lookup`: only [`ChainFault::Unreachable`] applies to them.
    Read,
    Submit,
}

impl ChainCall {
    /// The fault of this call; decrements its count.
    pub(crate) fn fault(self, faults: &ChainFaults, payer: &Wallet) -> Option<ChainFault> {
        faults.take(|wallet, fault| self.meets(payer, wallet, fault))
    }

    /// Whether this call has a fault. Its count stays.
    pub(crate) fn is_faulty(self, faults: &ChainFaults, payer: &Wallet) -> bool {
        faults.any(|wallet, fault| self.meets(payer, wallet, fault))
    }

    fn meets(self, payer: &Wallet, wallet: Option<&Wallet>, fault: &ChainFault) -> bool {
        wallet.is_none_or(|wallet| wallet == payer) && (self == Self::Submit || *fault == ChainFault::Unreachable)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    // A rule applies only to its wallet and only as often as set. Reads only meet `Unreachable`.
    #[test]
    fn rules_are_used_up_in_order() {
        let (alice, bob) = (Wallet::Evm([1; 20]), Wallet::Evm([2; 20]));
        let faults = ChainFaults::default();
        faults.add(FaultRule {
            scope: Some(alice),
            fault: ChainFault::Insufficient,
            remaining: Some(2),
        });
        faults.add(FaultRule {
            scope: None,
            fault: ChainFault::Unreachable,
            remaining: None,
        });
        assert_eq!(ChainCall::Read.fault(&faults, &alice), Some(ChainFault::Unreachable));
        assert_eq!(ChainCall::Submit.fault(&faults, &bob), Some(ChainFault::Unreachable));
        assert_eq!(ChainCall::Submit.fault(&faults, &alice), Some(ChainFault::Insufficient));
        assert_eq!(ChainCall::Submit.fault(&faults, &alice), Some(ChainFault::Insufficient));
        assert_eq!(ChainCall::Submit.fault(&faults, &alice), Some(ChainFault::Unreachable));
        assert_eq!(faults.injected(), 5);
        faults.clear();
        assert_eq!(ChainCall::Submit.fault(&faults, &alice), None);
    }
}
