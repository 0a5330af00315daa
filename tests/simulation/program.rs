//! The card issuer's program, pretended: balances, the cards that they load, and what is set aside of them. A call is judged;
//! it is carried out before, behind, long after or in spite of what goes wrong; while the program is down nothing is.

mod judge;
mod ledger;

use std::sync::Arc;

use purser_actors::id::EffectId;
use purser_actors::port::{
    BoxFuture, CardOpening, CardProgram, CardWord, ErrorKind, OpenCard, PortError, Reservation, ReserveBalance,
    Reserved, Standing, SteerCard,
};

use crate::world::{ORDERED_PANIC, World};

pub(crate) use ledger::Issuer;

/// Failing calls of one key, at most: an issuer that never answers is for the engine's tests.
const FAILING: u32 = 5;

pub(crate) struct SimProgram(pub(crate) Arc<World>);

type Told<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// Something that the issuer is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Errand {
    Open(OpenCard),
    Steer(SteerCard),
    Reserve(ReserveBalance),
    End(EffectId, bool),
}

/// What it says when that is done.
enum Word {
    Opening(CardOpening),
    Standing(Standing),
    Reservation(Reservation),
    Ended,
}

impl Errand {
    const fn key(&self) -> EffectId {
        match self {
            Self::Open(order) => order.key,
            Self::Steer(order) => order.key,
            Self::Reserve(order) => order.key,
            Self::End(key, _) => *key,
        }
    }

    const fn at_once(&self) -> &'static str {
        match self {
            Self::Open(_) | Self::Steer(_) => "card.at_once",
            Self::Reserve(_) | Self::End(..) => "card_withdrawal.at_once",
        }
    }

    /// "Not yet", if it can be said of this.
    const fn not_yet(&self) -> Option<Word> {
        let retry_after_ms = 200;
        match self {
            Self::Open(_) => Some(Word::Opening(CardOpening::Pending { retry_after_ms })),
            Self::Reserve(_) => Some(Word::Reservation(Reservation::Pending { retry_after_ms })),
            Self::Steer(_) | Self::End(..) => None,
        }
    }
}

fn error(kind: ErrorKind) -> PortError {
    PortError {
        kind,
        operation: "program",
        message: "as chance would have it".into(),
    }
}

impl SimProgram {
    /// What a call meets: 11 is nothing.
    fn weather(&self, errand: &Errand) -> u64 {
        let world = &self.0;
        let mut issuer = world.issuer.lock();
        issuer.speak(world);
        let weather = match issuer.may_fail(errand.key()) && !world.is_calm() {
            true if issuer.is_down(world) => 0,
            true => world.below(13),
            false => 11,
        };
        // Killed: whoever comes next finds nobody, too.
        if weather == 12 {
            issuer.goes_down(world);
        }
        drop(issuer);
        world.trace(|| format!("issuer: {errand:?} meets weather {weather}"));
        weather
    }

    async fn answer(&self, errand: &Errand) -> Result<Word, PortError> {
        let world = &self.0;
        world.linger(world.below(80)).await;
        let weather = self.weather(errand);
        let lost = || Err(error(ErrorKind::Unknown));
        match weather {
            0 => return Err(error(ErrorKind::Temporary)),
            1 | 12 => return lost(),
            2 => return errand.not_yet().ok_or_else(|| error(ErrorKind::Temporary)),
            3 => {
                let after_ms = [50, 2_000, 9_000][world.below(3) as usize];
                world.issuer.lock().take(world, errand, after_ms);
                return lost();
            }
            4 => world.linger([700, 3_000][world.below(2) as usize]).await,
            _ => {}
        }
        let (word, old) = {
            let mut issuer = world.issuer.lock();
            (issuer.carry_out(world, errand), issuer.old_word(world, errand))
        };
        // Here it is done and nobody has been told.
        world.linger(world.below(40)).await;
        match weather {
            5 => lost(),
            6 => std::future::pending().await,
            7 => panic!("{ORDERED_PANIC}"),
            8 => Ok(old.or_else(|| errand.not_yet()).unwrap_or(word)),
            _ => Ok(word),
        }
    }

    async fn ask(&self, errand: Errand) -> Result<Word, PortError> {
        let world = &self.0;
        world.pass().await;
        self.judge(&errand);
        let _one = world.alone.enter(world, errand.at_once(), errand.key().0);
        let answer = self.answer(&errand).await;
        world.pass().await;
        answer
    }
}

impl CardProgram for SimProgram {
    fn open<'a>(&'a self, order: &'a OpenCard) -> Told<'a, CardOpening> {
        Box::pin(async move {
            match self.ask(Errand::Open(order.clone())).await? {
                Word::Opening(opening) => Ok(opening),
                _ => unreachable!("it was opened"),
            }
        })
    }

    fn steer<'a>(&'a self, order: &'a SteerCard) -> Told<'a, Standing> {
        Box::pin(async move {
            match self.ask(Errand::Steer(order.clone())).await? {
                Word::Standing(standing) => Ok(standing),
                _ => unreachable!("it was steered"),
            }
        })
    }

    fn told(&self, after: u64, limit: usize) -> Told<'_, Vec<CardWord>> {
        Box::pin(async move {
            let world = &self.0;
            world.pass().await;
            let weather = if world.is_calm() { 11 } else { world.below(12) };
            match weather {
                0 => return Err(error(ErrorKind::Unknown)),
                1 => world.linger(900).await,
                2 if world.one_in(4) => panic!("{ORDERED_PANIC}"),
                _ => {}
            }
            let mut issuer = world.issuer.lock();
            if !world.is_calm() && issuer.is_down(world) {
                return Err(error(ErrorKind::Temporary));
            }
            issuer.speak(world);
            Ok(issuer.since(after, limit))
        })
    }

    fn reserve<'a>(&'a self, order: &'a ReserveBalance) -> Told<'a, Reservation> {
        Box::pin(async move {
            match self.ask(Errand::Reserve(order.clone())).await? {
                Word::Reservation(reservation) => Ok(reservation),
                _ => unreachable!("it was reserved"),
            }
        })
    }

    fn reservation(&self, key: EffectId) -> Told<'_, Reserved> {
        Box::pin(async move {
            let world = &self.0;
            world.pass().await;
            let mut issuer = world.issuer.lock();
            if !world.is_calm() && (issuer.is_down(world) || world.one_in(6)) {
                return Err(error(ErrorKind::Temporary));
            }
            issuer.speak(world);
            Ok(issuer.reserved(key))
        })
    }

    fn end_reservation(&self, key: EffectId, paid: bool) -> Told<'_, ()> {
        Box::pin(async move { self.ask(Errand::End(key, paid)).await.map(drop) })
    }
}
