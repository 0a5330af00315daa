//! API keys: owners create, use and revoke them. A revoked key stays revoked after every crash and restore.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::engine::{Engine, OperationError};
use purser_actors::entity::api_key::{ApiKey, Rejection};
use purser_actors::entity::session::Session;
use purser_actors::id::{ApiKeyId, SessionId};
use purser_actors::kernel::EntityKind;
use purser_storage::sim_disk::SeededRng;

use crate::account_steps::durable;
use crate::clients::{Clients, wallet};
use crate::environment::Environment;
use crate::plan::{Plan, Step, WALLETS, pick};

/// Keys that one account has at a time.
const MAX_KEYS: u8 = 3;

/// What is done with the key of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApiKeyStep {
    Makes(u32),
    Uses(u32),
    Revokes(u32),
}

/// What responses reported about keys.
#[derive(Clone, Default)]
pub(crate) struct ApiKeyLog {
    /// When a response reported that a key exists.
    made: BTreeMap<u32, u64>,
    /// When a response reported that a key is revoked, which no restore changes.
    pub(crate) revoked: BTreeMap<u32, u64>,
    /// The sessions that were opened by each.
    opened: BTreeMap<u32, BTreeSet<SessionId>>,
}

impl ApiKeyLog {
    /// What remains true after a restore of the backup of that moment. A key that the backup lacks is gone. Ids are
    /// random, so creating its number again makes another key.
    pub(crate) fn after_restore(self, then: &Self) -> Self {
        let mut revoked = self.revoked;
        revoked.retain(|nth, _| then.made.contains_key(nth));
        Self {
            revoked,
            ..then.clone()
        }
    }
}

/// Adds keys to a plan by chance of their own, so that all else in it stays as it was.
pub(crate) fn add(plan: &mut Plan) {
    let mut chance = SeededRng::new(plan.seed ^ 0x6b65_7973);
    if !chance.one_in(3) {
        return;
    }
    for nth in 0..1 + chance.next_below(3) as u32 {
        let mut at = chance.next_below(plan.steps.len() as u64 + 1) as usize;
        let mut does = vec![ApiKeyStep::Makes(nth), ApiKeyStep::Uses(nth)];
        for _ in 0..chance.next_below(4) {
            does.push(pick(
                &mut chance,
                &[ApiKeyStep::Makes(nth), ApiKeyStep::Uses(nth), ApiKeyStep::Revokes(nth)],
            ));
        }
        does.extend([ApiKeyStep::Revokes(nth), ApiKeyStep::Uses(nth)]);
        for does in does {
            plan.steps.insert(at, Step::Key(does));
            if chance.one_in(2) {
                let ms = pick(&mut chance, &[5, 100, 700]);
                plan.steps.insert(at + 1, Step::Wait { ms });
            }
            at = (at + 1 + chance.next_below(6) as usize).min(plan.steps.len());
        }
    }
}

const fn id(nth: u32) -> ApiKeyId {
    ApiKeyId(0xA1 << 64 | nth as u128)
}

fn owner(nth: u32) -> u8 {
    (u64::from(nth) % WALLETS) as u8
}

impl Clients {
    pub(crate) fn key(&self, does: ApiKeyStep) {
        let this = self.clone();
        self.spawn(async move {
            match does {
                ApiKeyStep::Makes(nth) => this.make_key(nth).await,
                ApiKeyStep::Uses(nth) => this.use_key(nth).await,
                ApiKeyStep::Revokes(nth) => this.revoke_key(nth).await,
            }
        });
    }

    async fn make_key(&self, nth: u32) {
        let world = &self.environment;
        let result = self
            .engine
            .issue_api_key(id(nth), wallet(owner(nth)), "key", MAX_KEYS)
            .await;
        if world.is_crashed() {
            return;
        }
        world.trace(|| format!("key {nth} is made: {result:?}"));
        if result.is_ok() {
            let moment = world.next_sequence();
            world.client_log.lock().keys.made.entry(nth).or_insert(moment);
            if durable::<ApiKey>(world, EntityKind::ApiKey, &id(nth).0.to_be_bytes()).is_none() {
                world.report_violation("answer.early", format!("key {nth} is not durable"));
            }
        }
    }

    async fn use_key(&self, nth: u32) {
        let (world, session, asked) = (&self.environment, self.new_session(), self.environment.next_sequence());
        // As the authenticator does: a suspended key opens no session.
        if self.is_suspended(nth).await {
            return world.trace(|| format!("key {nth} is suspended"));
        }
        let result = self.engine.exchange_api_key(id(nth), session).await;
        if world.is_crashed() {
            return;
        }
        world.trace(|| format!("key {nth} is used: {result:?}"));
        let (ended, made) = {
            let mut notes = world.client_log.lock();
            if result.is_ok() {
                notes.keys.opened.entry(nth).or_default().insert(session.id);
            }
            let before = |at: Option<&u64>| at.is_some_and(|at| *at < asked);
            (before(notes.keys.revoked.get(&nth)), before(notes.keys.made.get(&nth)))
        };
        let revives = ended && result.is_ok();
        let lost = made && matches!(result, Err(OperationError::Rejected(Rejection::NotFound)));
        if revives {
            world.report_violation("key.revived", format!("key {nth} was revoked and opens a session"));
        }
        if lost {
            world.report_violation("key.lost", format!("key {nth} was made and is unknown"));
        }
        if ended {
            self.sessions_ended(nth).await;
        }
    }

    async fn is_suspended(&self, nth: u32) -> bool {
        let key: Option<ApiKey> = durable(&self.environment, EntityKind::ApiKey, &id(nth).0.to_be_bytes());
        let Some(key) = key else { return false };
        let suspended = self.engine.is_key_suspended(id(nth), key.created_at).await;
        suspended.unwrap_or(true)
    }

    /// Whatever was opened with a key that was revoked has ended with it.
    async fn sessions_ended(&self, nth: u32) {
        let (world, engine) = (&self.environment, &self.engine);
        let opened = world
            .client_log
            .lock()
            .keys
            .opened
            .get(&nth)
            .cloned()
            .unwrap_or_default();
        for id in opened {
            let stored: Option<Session> = durable(world, EntityKind::Session, &id.0.to_be_bytes());
            let Some(session) = stored else { continue };
            let suspended = engine.is_suspended(session.created_at.seconds());
            let ended = engine.has_session_ended(&id, &session).await;
            if matches!(ended, Ok(false)) && !suspended && !world.is_crashed() {
                world.report_violation("key.revived", format!("{id} of key {nth} still counts"));
            }
        }
    }

    async fn revoke_key(&self, nth: u32) {
        let world = &self.environment;
        let result = self.engine.revoke_api_key(id(nth)).await;
        if world.is_crashed() {
            return;
        }
        world.trace(|| format!("key {nth} is revoked: {result:?}"));
        if result.is_ok() {
            let moment = world.next_sequence();
            world.client_log.lock().keys.revoked.entry(nth).or_insert(moment);
        }
    }
}

/// At rest: a key that a response reported as revoked opens no session.
pub(crate) fn check(world: &Environment, engine: &Engine) -> Result<(), (&'static str, String)> {
    let notes = world.client_log.lock();
    for nth in 0..8 {
        let key: Option<ApiKey> = durable(world, EntityKind::ApiKey, &id(nth).0.to_be_bytes());
        let (alive, revoked) = (
            key.as_ref().is_some_and(ApiKey::is_active),
            notes.keys.revoked.contains_key(&nth),
        );
        let suspended = |key: &ApiKey| engine.is_suspended(key.created_at.seconds());
        if alive && revoked && !key.as_ref().is_some_and(suspended) {
            return Err(("key.revived", format!("key {nth} was revoked: {key:?}")));
        }
        if key.is_none() && notes.keys.made.contains_key(&nth) {
            return Err(("key.lost", format!("key {nth} was made")));
        }
    }
    Ok(())
}
