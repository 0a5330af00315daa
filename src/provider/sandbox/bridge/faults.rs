//! Which legs of the sandbox bridge meet a fault, and the top-up amounts that trigger one.

use purser_actors::money::Cents;

use purser_sandbox::faults::Fault;

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

    /// Whether the fault can happen on this leg.
    pub const fn meets(self, fault: Fault) -> bool {
        match fault {
            Fault::Expire => !matches!(self, Self::Mint),
            Fault::RetryableDecline | Fault::Decline => !matches!(self, Self::Attestation),
            _ => true,
        }
    }
}

/// Top-ups of exactly these amounts, paid on Solana, meet this fault on this leg, once or always.
pub const fn magic_amounts() -> [(Cents, BridgeLeg, Fault, &'static str); 7] {
    use BridgeLeg::{Attestation, Burn, Mint};
    use Fault::{Decline, Expire, LoseResponse, RetryableDecline, Slow};
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
            "the burn succeeds and its first response is lost",
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
            "the first mint is declined for lack of gas",
        ),
        (
            Cents::new(2_107),
            Mint,
            Decline,
            "the mint is permanently impossible and the payment becomes a credit",
        ),
    ]
}
