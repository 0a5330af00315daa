//! The simulated reloadable card issuer: balances, the cards they load, and holds. Each call is checked. A fault
//! decides whether it is executed before, after, much later or despite an error. During an outage nothing is executed.

mod checks;
mod ledger;

use std::sync::Arc;

use purser_actors::id::JobId;
use purser_actors::port::{
    BoxFuture, CardActionRequest, CardEvent, CardSnapshot, ErrorKind, HoldRequest, HoldResult, HoldStatus,
    OpenCardRequest, OpenCardResult, PortError, ReloadableCardProvider,
};

use crate::environment::{Environment, ORDERED_PANIC};

pub(crate) use ledger::IssuerLedger;

/// Failing calls of one key, at most: an issuer that never answers is for the engine's tests.
const FAILING: u32 = 5;

pub(crate) struct SimReloadableCards(pub(crate) Arc<Environment>);

type CallResult<'a, T> = BoxFuture<'a, Result<T, PortError>>;

/// Something that the issuer is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum IssuerRequest {
    Open(OpenCardRequest),
    CardAction(CardActionRequest),
    CreateHold(HoldRequest),
    SettleHold(JobId, bool),
}

/// What it says when that is done.
enum IssuerReply {
    Opening(OpenCardResult),
    Card(CardSnapshot),
    Hold(HoldResult),
    HoldSettled,
}

impl IssuerRequest {
    const fn key(&self) -> JobId {
        match self {
            Self::Open(order) => order.key,
            Self::CardAction(order) => order.key,
            Self::CreateHold(order) => order.key,
            Self::SettleHold(key, _) => *key,
        }
    }

    const fn concurrency_rule(&self) -> &'static str {
        match self {
            Self::Open(_) | Self::CardAction(_) => "card.at_once",
            Self::CreateHold(_) | Self::SettleHold(..) => "card_withdrawal.at_once",
        }
    }

    /// "Not yet", if it can be said of this.
    const fn not_yet(&self) -> Option<IssuerReply> {
        let retry_after_ms = 200;
        match self {
            Self::Open(_) => Some(IssuerReply::Opening(OpenCardResult::Pending { retry_after_ms })),
            Self::CreateHold(_) => Some(IssuerReply::Hold(HoldResult::Pending { retry_after_ms })),
            Self::CardAction(_) | Self::SettleHold(..) => None,
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

impl SimReloadableCards {
    /// What a call meets: 11 is nothing.
    fn random_fault(&self, errand: &IssuerRequest) -> u64 {
        let world = &self.0;
        let mut issuer = world.issuer.lock();
        issuer.emit_due(world);
        let weather = match issuer.may_fail(errand.key()) && !world.are_faults_over() {
            true if issuer.is_down(world) => 0,
            true => world.below(13),
            false => 11,
        };
        // Start of an outage: the next caller meets it too.
        if weather == 12 {
            issuer.start_outage(world);
        }
        drop(issuer);
        world.trace(|| format!("issuer: {errand:?} meets weather {weather}"));
        weather
    }

    async fn answer(&self, errand: &IssuerRequest) -> Result<IssuerReply, PortError> {
        let world = &self.0;
        world.delay(world.below(80)).await;
        let weather = self.random_fault(errand);
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
            4 => world.delay([700, 3_000][world.below(2) as usize]).await,
            _ => {}
        }
        let (word, old) = {
            let mut issuer = world.issuer.lock();
            (issuer.carry_out(world, errand), issuer.stale_reply(world, errand))
        };
        // Here it is done, and no response was sent.
        world.delay(world.below(40)).await;
        match weather {
            5 => lost(),
            6 => std::future::pending().await,
            7 => panic!("{ORDERED_PANIC}"),
            8 => Ok(old.or_else(|| errand.not_yet()).unwrap_or(word)),
            _ => Ok(word),
        }
    }

    async fn call(&self, errand: IssuerRequest) -> Result<IssuerReply, PortError> {
        let world = &self.0;
        world.crash_point_or_hang().await;
        self.check_request(&errand);
        let _one = world
            .single_attempts
            .enter(world, errand.concurrency_rule(), errand.key().0);
        let answer = self.answer(&errand).await;
        world.crash_point_or_hang().await;
        answer
    }
}

impl ReloadableCardProvider for SimReloadableCards {
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> CallResult<'a, OpenCardResult> {
        Box::pin(async move {
            match self.call(IssuerRequest::Open(order.clone())).await? {
                IssuerReply::Opening(opening) => Ok(opening),
                _ => unreachable!("it was opened"),
            }
        })
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> CallResult<'a, CardSnapshot> {
        Box::pin(async move {
            match self.call(IssuerRequest::CardAction(order.clone())).await? {
                IssuerReply::Card(snapshot) => Ok(snapshot),
                _ => unreachable!("not a card action"),
            }
        })
    }

    fn events_after(&self, after: u64, limit: usize) -> CallResult<'_, Vec<CardEvent>> {
        Box::pin(async move {
            let world = &self.0;
            world.crash_point_or_hang().await;
            let weather = if world.are_faults_over() { 11 } else { world.below(12) };
            match weather {
                0 => return Err(error(ErrorKind::Unknown)),
                1 => world.delay(900).await,
                2 if world.one_in(4) => panic!("{ORDERED_PANIC}"),
                _ => {}
            }
            let mut issuer = world.issuer.lock();
            if !world.are_faults_over() && issuer.is_down(world) {
                return Err(error(ErrorKind::Temporary));
            }
            issuer.emit_due(world);
            Ok(issuer.since(after, limit))
        })
    }

    fn hold<'a>(&'a self, order: &'a HoldRequest) -> CallResult<'a, HoldResult> {
        Box::pin(async move {
            match self.call(IssuerRequest::CreateHold(order.clone())).await? {
                IssuerReply::Hold(reservation) => Ok(reservation),
                _ => unreachable!("it was reserved"),
            }
        })
    }

    fn hold_status(&self, key: JobId) -> CallResult<'_, HoldStatus> {
        Box::pin(async move {
            let world = &self.0;
            world.crash_point_or_hang().await;
            let mut issuer = world.issuer.lock();
            if !world.are_faults_over() && (issuer.is_down(world) || world.one_in(6)) {
                return Err(error(ErrorKind::Temporary));
            }
            issuer.emit_due(world);
            Ok(issuer.reserved(key))
        })
    }

    fn settle_hold(&self, key: JobId, paid: bool) -> CallResult<'_, ()> {
        Box::pin(async move { self.call(IssuerRequest::SettleHold(key, paid)).await.map(drop) })
    }
}
