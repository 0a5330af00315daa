//! What a wallet does besides paying, and what the operator does to it.

use std::sync::Arc;

use purser_actors::entity::account::LoginCode;
use purser_actors::entity::session::{AuthMethod, Command, Reply, Session};
use purser_actors::id::{SessionId, Wallet};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::port::{CardAction, Clock as _, Entropy};
use purser_storage::codec::{self, Stored};

use crate::clients::{Clients, Freeze, card as card_of, token, wallet};
use crate::environment::Environment;

/// A second that no run reaches.
const NEVER_S: u64 = 9_000_000_000;

impl Clients {
    pub(crate) fn sign_in(&self, wallet_no: u8, nonce: u8) {
        let (world, engine, session) = (self.environment.clone(), self.engine.clone(), self.new_session());
        self.spawn(async move {
            let result = engine.sign_in(wallet(wallet_no), ([nonce; 16], NEVER_S), session).await;
            if result.is_err() || world.is_crashed() {
                return;
            }
            opened(&world, session.id);
            let first = world.client_log.lock().signed_in.insert(nonce);
            if !first {
                world.report_violation("nonce.twice", format!("nonce {nonce} signed in twice"));
            }
        });
    }

    /// Signs in, creates a login link and lets this number of clients use it at once. One of them gets a session.
    pub(crate) fn link(&self, wallet_no: u8, uses: u8) {
        let (this, linking_session, salt) = (self.clone(), self.new_session(), self.environment.random());
        self.spawn(async move {
            let (engine, owner) = (&this.engine, wallet(wallet_no));
            let nonce = (salt.to_be_bytes(), NEVER_S);
            if engine.sign_in(owner, nonce, linking_session).await.is_err() {
                return;
            }
            let mut hash = [0; 32];
            hash[..16].copy_from_slice(&salt.to_be_bytes());
            let code = LoginCode {
                hash,
                expires_s: NEVER_S,
            };
            if engine
                .create_login_code(owner, code, AuthMethod::Wallet, linking_session.id)
                .await
                .is_err()
            {
                return;
            }
            let used = Arc::new(parking_lot::Mutex::new(0));
            for _ in 0..uses {
                let (that, used, session) = (this.clone(), used.clone(), this.new_session());
                this.spawn(async move {
                    let result = that.engine.redeem_login_code(hash, |_| session).await;
                    if result.is_err() || that.environment.is_crashed() {
                        return;
                    }
                    opened(&that.environment, session.id);
                    *used.lock() += 1;
                    if *used.lock() > 1 {
                        that.environment
                            .report_violation("link.twice", "a login link let two in");
                    }
                });
            }
        });
    }

    pub(crate) fn freeze(&self, wallet_no: u8, frozen: bool) {
        let (world, engine) = (self.environment.clone(), self.engine.clone());
        let asked = world.next_sequence();
        let mut notes = world.client_log.lock();
        let n = notes.freezes.len();
        notes.freezes.push(Freeze {
            wallet: wallet_no,
            frozen,
            requested_at: asked,
            confirmed_at: None,
            confirmed_ms: 0,
        });
        drop(notes);
        self.spawn(async move {
            let message = frozen.then(|| "the operator wants it so".to_owned());
            let result = engine.set_frozen(wallet(wallet_no), message, None).await;
            if result.is_ok() && !world.is_crashed() {
                let mut notes = world.client_log.lock();
                notes.freezes[n].confirmed_at = Some(world.next_sequence());
                notes.freezes[n].confirmed_ms = world.true_ms();
            }
        });
    }

    pub(crate) fn card(&self, payment: u32, closes: bool) {
        let (world, engine) = (self.environment.clone(), self.engine.clone());
        let card = world
            .client_log
            .lock()
            .calls
            .iter()
            .find_map(|call| match &call.response {
                Some((_, Ok(paid))) if call.payment == payment => card_of(&paid.outcome),
                _ => None,
            });
        let Some(card) = card else { return };
        self.spawn(async move {
            let result = if closes {
                engine
                    .request_prepaid_card_action(card, CardAction::Close, None)
                    .await
                    .map(drop)
            } else {
                engine.reveal_card(card).await
            };
            if result.is_err() || world.is_crashed() {
                return;
            }
            let mut notes = world.client_log.lock();
            if closes {
                notes.closed.insert(card);
            } else {
                *notes.revealed.entry(card).or_default() += 1;
            }
        });
    }

    /// Reads a session and presents the token of its generation, or one from `back` generations ago.
    pub(crate) fn refresh(&self, nth: u8, back: u32) {
        let (world, engine) = (self.environment.clone(), self.engine.clone());
        let session = world.client_log.lock().sessions.iter().nth(usize::from(nth)).copied();
        let Some(session) = session else { return };
        let asked = world.next_sequence();
        self.spawn(async move {
            let Ok(Some(read)) = engine.session(&session).await else {
                return;
            };
            let command = Command::Refresh {
                presented: token(session, read.generation.saturating_sub(back)),
                generation: read.generation + 1,
                next: token(session, read.generation + 1),
            };
            let stale = back > 1 && read.generation > 1;
            let result = engine.refresh(session, command).await;
            if world.is_crashed() {
                return;
            }
            let stored: Option<Session> = durable(&world, EntityKind::Session, &session.0.to_be_bytes());
            let has_ended = stored.as_ref().is_none_or(|s| !s.is_active());
            let mut notes = world.client_log.lock();
            let ended = notes.revoked.get(&session).is_some_and(|at| *at < asked);
            let wrong = match result {
                Ok(Reply::Generation(given)) => {
                    let newest = notes.generations.entry(session).or_default();
                    *newest = given.max(*newest);
                    stale || ended || stored.is_none_or(|s| s.generation < given)
                }
                Ok(Reply::ReuseDetected) => {
                    let moment = world.next_sequence();
                    notes.revoked.entry(session).or_insert(moment);
                    !has_ended || !is_known_revoked(&world, session)
                }
                Ok(Reply::Done) | Err(_) => false,
            };
            drop(notes);
            if wrong {
                world.report_violation("session.token", format!("{session}, {back} back: {result:?}"));
            }
        });
    }
}

/// When an account was certainly frozen, in milliseconds of the run: the operator has the reply, and no later unfreeze
/// is confirmed or pending.
pub(crate) fn frozen_since(world: &Environment, owner: &Wallet) -> Option<u64> {
    let notes = world.client_log.lock();
    let of_it = notes.freezes.iter().filter(|f| wallet(f.wallet) == *owner);
    let since = of_it.clone().rfind(|f| f.frozen && f.confirmed_at.is_some())?;
    let thaws = of_it.filter(|f| !f.frozen);
    // A thaw that was asked for before and answered later, or never, may have come behind it.
    let may_be_thawed = thaws
        .clone()
        .any(|f| f.confirmed_at.is_none_or(|at| at > since.requested_at));
    (!may_be_thawed).then_some(since.confirmed_ms)
}

/// How long the engine may take from asking whether an account is frozen to signing for it, in milliseconds.
const SIGNS_WITHIN_MS: u64 = 500;

/// While a transfer of a lost history may still settle, nothing irreversible is sent unless it was signed before.
pub(crate) fn check_outgoing(world: &Environment, what: &dyn std::fmt::Display) {
    let restored = world.archive.lock().restored();
    if restored.is_some_and(|restored| world.now() < restored.until) {
        let detail = format!("{what} leaves, and a lost history may have sent it");
        world.report_violation("gate.early", detail);
    }
}

/// Nothing is signed for an account that has been frozen for a while.
pub(crate) fn check_signing(world: &Environment, owner: &Wallet, what: &dyn std::fmt::Display) {
    let since = frozen_since(world, owner).filter(|since| since + SIGNS_WITHIN_MS < world.true_ms());
    if let Some(since) = since {
        world.report_violation(
            "freeze.left",
            format!("{what} of {owner} is signed, frozen since {since}"),
        );
    }
}

/// Whether the authenticator knows that the session is revoked.
fn is_known_revoked(world: &Environment, session: SessionId) -> bool {
    let shadow = world.reference.lock();
    let mut revoked = shadow.rows.keys().filter(|key| key[0] == table::REVOKED_SESSION);
    revoked.any(|key| key.ends_with(&session.0.to_be_bytes()))
}

/// What is known to be durable of an entity.
pub(crate) fn durable<T: Stored>(world: &Environment, kind: EntityKind, id: &[u8]) -> Option<T> {
    let shadow = world.reference.lock();
    let row = shadow.rows.get(&table::entity(kind, id));
    row.and_then(|row| codec::decode(&row.value).ok())
}

/// Records that a client received an open session.
fn opened(world: &Environment, session: SessionId) {
    world.client_log.lock().sessions.insert(session);
    if durable::<Session>(world, EntityKind::Session, &session.0.to_be_bytes()).is_none() {
        world.report_violation("session.early", format!("{session} is not durable"));
    }
}
