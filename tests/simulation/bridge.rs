//! The bridge and the card balances, pretended. No plan tops up yet: whoever calls is objected to.

use std::sync::Arc;

use purser_actors::id::EffectId;
use purser_actors::port::{
    Attestation, Attested, BoxFuture, Bridge, CardBalances, CardOpening, CardProgram, CardWord, Crossing, Deposited,
    ErrorKind, Lookup, Minting, OpenCard, PortError, Reservation, ReserveBalance, SignedBurn, SignedMint, Standing,
    SteerCard, Submitted,
};

use crate::world::World;

pub(crate) struct NoBridge(pub(crate) Arc<World>);

type Told<'a, T> = BoxFuture<'a, Result<T, PortError>>;

impl NoBridge {
    fn uncalled<T: Send + 'static>(&self, operation: &'static str) -> Told<'_, T> {
        self.0.object("bridge.called", operation);
        Box::pin(std::future::ready(Err(PortError {
            kind: ErrorKind::Permanent,
            operation,
            message: "nothing crosses".into(),
        })))
    }
}

impl Bridge for NoBridge {
    fn sign_burn<'a>(&'a self, _: &'a Crossing) -> Told<'a, SignedBurn> {
        self.uncalled("sign burn")
    }

    fn burn<'a>(&'a self, _: &'a SignedBurn) -> Told<'a, Submitted> {
        self.uncalled("burn")
    }

    fn find_burn<'a>(&'a self, _: &'a SignedBurn) -> Told<'a, Lookup> {
        self.uncalled("find burn")
    }

    fn attestation<'a>(&'a self, _: &'a SignedBurn) -> Told<'a, Attestation> {
        self.uncalled("attestation")
    }

    fn attest_again<'a>(&'a self, _: &'a [u8; 32]) -> Told<'a, ()> {
        self.uncalled("attest again")
    }

    fn sign_mint<'a>(&'a self, _: &'a Attested) -> Told<'a, SignedMint> {
        self.uncalled("sign mint")
    }

    fn mint<'a>(&'a self, _: &'a SignedMint) -> Told<'a, Minting> {
        self.uncalled("mint")
    }

    fn find_mint<'a>(&'a self, _: &'a Attested) -> Told<'a, Lookup> {
        self.uncalled("find mint")
    }
}

impl CardBalances for NoBridge {
    fn is_credited<'a>(&'a self, _: &'a Deposited) -> Told<'a, bool> {
        self.uncalled("is credited")
    }
}

/// No plan spends a card balance yet either: the issuer has nothing to tell.
impl CardProgram for NoBridge {
    fn open<'a>(&'a self, _: &'a OpenCard) -> Told<'a, CardOpening> {
        self.uncalled("open card")
    }

    fn steer<'a>(&'a self, _: &'a SteerCard) -> Told<'a, Standing> {
        self.uncalled("steer card")
    }

    fn told(&self, _: u64, _: usize) -> Told<'_, Vec<CardWord>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn reserve<'a>(&'a self, _: &'a ReserveBalance) -> Told<'a, Reservation> {
        self.uncalled("reserve")
    }

    fn end_reservation(&self, _: EffectId, _: bool) -> Told<'_, ()> {
        self.uncalled("end reservation")
    }
}
