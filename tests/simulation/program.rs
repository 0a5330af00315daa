//! The card issuer's reloadable cards, pretended. No plan spends a card balance yet: whoever calls is objected to, and the
//! issuer has nothing to tell.

use std::sync::Arc;

use purser_actors::id::EffectId;
use purser_actors::port::{
    BoxFuture, CardOpening, CardProgram, CardWord, ErrorKind, OpenCard, PortError, Reservation, ReserveBalance,
    Reserved, Standing, SteerCard,
};

use crate::world::World;

pub(crate) struct NoProgram(pub(crate) Arc<World>);

type Told<'a, T> = BoxFuture<'a, Result<T, PortError>>;

impl NoProgram {
    fn uncalled<T: Send + 'static>(&self, operation: &'static str) -> Told<'_, T> {
        self.0.object("program.called", operation);
        Box::pin(std::future::ready(Err(PortError {
            kind: ErrorKind::Permanent,
            operation,
            message: "no plan opens a card".into(),
        })))
    }
}

impl CardProgram for NoProgram {
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

    fn reservation(&self, _: EffectId) -> Told<'_, Reserved> {
        self.uncalled("reservation")
    }

    fn end_reservation(&self, _: EffectId, _: bool) -> Told<'_, ()> {
        self.uncalled("end reservation")
    }
}
