//! What whoever acts for the house asks: international orders, stuck work, tokens, and what was done before.

use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, CommitError, Condition, StoreError, Write};

use super::{Denied, Engine, RACES};
use crate::id::{CardId, EffectId, LateReturnId, PaymentId};
use crate::intl_order::{self, EnteredCard, IntlOrder};
use crate::kernel::effect::Work;
use crate::kernel::family::StartEffects as _;
use crate::kernel::{Effect, Memo, Refusal, table};
use crate::late_return::LateReturn;
use crate::lease::Lease;
use crate::operator::{AccessToken, Act, Audit};
use crate::payment::Status;
use crate::port::Timestamp;

/// An order that somebody has still to decide.
#[derive(Clone, Debug)]
pub struct Queued {
    /// Its id.
    pub id: CardId,
    /// As it stands.
    pub order: IntlOrder,
}

/// A payment whose outcome is not known, and what looks after it.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// Which.
    pub payment: PaymentId,
    /// Since when its outcome is unknown.
    pub since: Timestamp,
    /// The effect that reads the chain for it.
    pub effect: Effect,
}

/// What waits for a person.
#[derive(Clone, Debug, Default)]
pub struct Stuck {
    /// Effects that were tried often enough, the oldest first.
    pub effects: Vec<Effect>,
    /// Payments whose outcome is not known, the oldest first.
    pub unknown: Vec<Doubt>,
}

/// Where something stands among what operators did.
pub type Place = (Timestamp, u128);

type Told<T> = Result<T, Denied<intl_order::Rejection>>;

impl Engine {
    /// Asks an order for something that only a batch of something else, refused before it, can bring into conflict.
    async fn ask_order(&self, id: CardId, command: intl_order::Command) -> Told<Option<Lease>> {
        for _ in 0..RACES {
            match self.0.families.intl_orders.ask(id, command.clone()).await {
                Err(Refusal::Conflict) => {}
                told => return Ok(told?),
            }
        }
        Err(Denied::Unavailable)
    }

    /// The holder takes an order back; the answer is remembered if there is a memo.
    ///
    /// # Errors
    /// When it is not queued any more; [`Denied::Used`] when the memo's place was taken in between.
    pub async fn cancel_intl(&self, id: CardId, memo: Option<Memo<IntlOrder>>) -> Told<()> {
        let orders = &self.0.families.intl_orders;
        let cancelled = self.ask_once(orders, id, intl_order::Command::Cancel, memo).await;
        cancelled.map(drop)
    }

    /// Writes down that the owner is shown an international card's number.
    ///
    /// # Errors
    /// When the card is not ready.
    pub async fn reveal_intl(&self, id: CardId) -> Told<()> {
        self.ask_order(id, intl_order::Command::Reveal).await.map(drop)
    }

    /// An operator takes an order for so many milliseconds.
    ///
    /// # Errors
    /// When it is decided already, or somebody's lease runs.
    pub async fn claim_intl(&self, id: CardId, act: Act, life_ms: u64) -> Told<Lease> {
        let claimed = self.ask_order(id, intl_order::Command::Claim { act, life_ms }).await?;
        claimed.ok_or(Denied::Unavailable)
    }

    /// An operator puts an order back into the queue.
    ///
    /// # Errors
    /// When it is not claimed, not under this lease, or somebody else holds it.
    pub async fn release_intl(&self, id: CardId, act: Act, lease: u64) -> Told<()> {
        let command = intl_order::Command::Release { act, lease };
        self.ask_order(id, command).await.map(drop)
    }

    /// The operator whose lease runs enters the card.
    ///
    /// # Errors
    /// When this operator's lease does not run under this number: nothing of the card was stored.
    pub async fn fulfil_intl(&self, id: CardId, act: Act, lease: u64, card: EnteredCard) -> Told<()> {
        let card = Box::new(card);
        let command = intl_order::Command::Fulfil { act, lease, card };
        self.ask_order(id, command).await.map(drop)
    }

    /// An operator refuses an order; the whole charge is credited.
    ///
    /// # Errors
    /// When it is decided already, or somebody else's lease runs.
    pub async fn reject_intl(&self, id: CardId, act: Act, lease: Option<u64>, reason: String) -> Told<()> {
        let command = intl_order::Command::Reject { act, lease, reason };
        self.ask_order(id, command).await.map(drop)
    }

    /// Orders that somebody has still to decide, overdue ones first, then the oldest; at most `limit`, behind the given
    /// one, and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn intl_queue(&self, after: Option<CardId>, limit: usize) -> Result<(Vec<Queued>, bool), StoreError> {
        let after = match after {
            None => None,
            Some(id) => self.queued(id).await?.map(|q| table::queued(q.order.created_at, id)),
        };
        let prefix = [table::QUEUE];
        let rows = self.0.store.scan(&prefix, after.as_deref(), limit.saturating_add(1));
        let rows = rows.await?;
        let more = rows.len() > limit;
        let mut found = Vec::with_capacity(rows.len().min(limit));
        for (key, _) in rows.into_iter().take(limit) {
            let Some(id) = key.last_chunk::<16>() else { continue };
            // Decided since the rows were read.
            found.extend(
                self.queued(CardId(u128::from_be_bytes(*id)))
                    .await?
                    .filter(|q| q.order.is_open()),
            );
        }
        // All become overdue at the same age, so that only a timer under way can put one before an older one.
        found.sort_by_key(|q| (!q.order.overdue, q.order.created_at, q.id));
        Ok((found, more))
    }

    async fn queued(&self, id: CardId) -> Result<Option<Queued>, StoreError> {
        let order = self.intl_order(&id).await.map_err(damaged)?;
        Ok(order.map(|order| Queued { id, order }))
    }

    /// Everything that waits for a person. Reads every open effect.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn stuck(&self) -> Result<Stuck, StoreError> {
        let mut stuck = Stuck::default();
        for effect in self.open_effects(usize::MAX).await? {
            if effect.stuck {
                stuck.effects.push(effect);
            } else if let Work::Watch(id) = effect.work
                && let Some(payment) = self.payment(&id).await.map_err(damaged)?
                && matches!(payment.status, Status::Unknown(_))
            {
                stuck.unknown.push(Doubt {
                    payment: id,
                    since: payment.updated_at,
                    effect,
                });
            }
        }
        stuck.effects.sort_by_key(|effect| (effect.created_at, effect.id));
        stuck.unknown.sort_by_key(|doubt| (doubt.since, doubt.payment));
        Ok(stuck)
    }

    /// Tries a stuck effect once more, now. If that fails too, it is stuck again.
    ///
    /// # Errors
    /// [`Denied::Used`] when there is no such effect, [`Denied::Rejected`] when it is not stuck.
    pub async fn retry(&self, id: EffectId, act: &Act) -> Result<(), Denied<()>> {
        // Twice at once would start two tries.
        let _one = self.0.operating.lock().await;
        let row = self.0.store.read(&table::effect(id)).await;
        let row = row.map_err(|_| Denied::Unavailable)?.ok_or(Denied::Used)?;
        let mut effect: Effect = codec::decode(&row.value).map_err(|_| Denied::Unavailable)?;
        if !effect.stuck {
            return Err(Denied::Rejected(()));
        }
        effect.stuck = false;
        effect.next_at = self.0.clock.now();
        let subject = format!("{id} {} {}", effect.work.name(), effect.work.subject());
        let batch = Batch {
            conditions: vec![Condition::Present(table::effect(id))],
            writes: vec![effect.put(), self.audit(act, "effect.retry", subject)],
            ..Batch::default()
        };
        match self.committed(batch).await {
            Ok(()) => {
                self.0.deliveries.start(effect);
                Ok(())
            }
            Err(CommitError::Condition(_)) => Err(Denied::Used),
            Err(_) => Err(Denied::Unavailable),
        }
    }

    /// A token by the hash of its text, revoked ones included.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn access_token(&self, hash: &[u8; 32]) -> Result<Option<AccessToken>, StoreError> {
        let row = self.0.store.read(&table::operator(hash)).await?;
        row.map(|row| codec::decode(&row.value).map_err(damaged)).transpose()
    }

    /// Every token that was ever made.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn access_tokens(&self) -> Result<Vec<AccessToken>, StoreError> {
        let rows = self.0.store.scan(&[table::OPERATOR], None, usize::MAX).await?;
        let decoded = rows.iter().map(|(_, row)| codec::decode(&row.value).map_err(damaged));
        decoded.collect()
    }

    /// Makes a token good.
    ///
    /// # Errors
    /// [`Denied::Used`] when its name or the token itself is known already.
    pub async fn add_token(&self, hash: [u8; 32], token: AccessToken, act: &Act) -> Result<(), Denied<()>> {
        let _one = self.0.operating.lock().await;
        let known = self.access_tokens().await.map_err(|_| Denied::Unavailable)?;
        if known.iter().any(|known| known.name == token.name) {
            return Err(Denied::Used);
        }
        let (key, subject) = (table::operator(&hash), format!("{} {}", token.name, token.role));
        let batch = Batch {
            conditions: vec![Condition::Absent(key.clone())],
            writes: vec![put(key, &token), self.audit(act, "token.create", subject)],
            ..Batch::default()
        };
        match self.committed(batch).await {
            Ok(()) => Ok(()),
            Err(CommitError::Condition(_)) => Err(Denied::Used),
            Err(_) => Err(Denied::Unavailable),
        }
    }

    /// Ends a token. Its row stays, so that its name is never another's.
    ///
    /// # Errors
    /// [`Denied::Used`] when no token has this name.
    pub async fn revoke_token(&self, name: &str, act: &Act) -> Result<(), Denied<()>> {
        let _one = self.0.operating.lock().await;
        let rows = self.0.store.scan(&[table::OPERATOR], None, usize::MAX).await;
        for (key, row) in rows.map_err(|_| Denied::Unavailable)? {
            let token: AccessToken = codec::decode(&row.value).map_err(|_| Denied::Unavailable)?;
            if token.name != name {
                continue;
            }
            let revoked = AccessToken { revoked: true, ..token };
            let batch = Batch {
                writes: vec![put(key, &revoked), self.audit(act, "token.revoke", name)],
                ..Batch::default()
            };
            return self.committed(batch).await.map_err(|_| Denied::Unavailable);
        }
        Err(Denied::Used)
    }

    /// What operators did, the oldest first, behind a place, at most `limit`; each with its own place.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn audits(&self, after: Option<Place>, limit: usize) -> Result<Vec<(Place, Audit)>, StoreError> {
        let after = after.map(|(at, id)| table::audit(at, id));
        let rows = self.0.store.scan(&[table::AUDIT], after.as_deref(), limit).await?;
        let mut found = Vec::with_capacity(rows.len());
        for (key, row) in rows {
            let audit: Audit = codec::decode(&row.value).map_err(damaged)?;
            let id = key.last_chunk::<16>().map_or(0, |id| u128::from_be_bytes(*id));
            found.push(((audit.at, id), audit));
        }
        Ok(found)
    }

    /// Money that came back after its return window, the oldest first, behind a place, at most `limit`; each with its own
    /// place.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn late_returns(
        &self,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<(Place, LateReturn)>, StoreError> {
        let after = after.map(|(at, id)| table::late_return(at, LateReturnId(id)));
        let rows = self
            .0
            .store
            .scan(&[table::LATE_RETURN], after.as_deref(), limit)
            .await?;
        let mut found = Vec::with_capacity(rows.len());
        for (key, _) in rows {
            let Some((at, id)) = table::made(&key) else { continue };
            if let Some(late) = self.late_return(&LateReturnId(id)).await.map_err(damaged)? {
                found.push(((at, id), late));
            }
        }
        Ok(found)
    }

    fn audit(&self, act: &Act, what: &str, subject: impl ToString) -> Write {
        self.audit_with(act, what, subject, None)
    }

    pub(super) fn audit_with(&self, act: &Act, what: &str, subject: impl ToString, words: Option<String>) -> Write {
        let audit = Audit {
            at: self.0.clock.now(),
            act: act.clone(),
            what: what.to_owned(),
            subject: subject.to_string(),
            words,
        };
        put(table::audit(audit.at, self.0.entropy.random()), &audit)
    }

    pub(super) async fn committed(&self, batch: Batch) -> Result<(), CommitError> {
        super::commit(&*self.0.store, batch).await
    }
}

pub(super) fn put<T: Stored>(key: purser_storage::RowKey, value: &T) -> Write {
    Write::Put {
        key,
        revision: 0,
        value: codec::encode(value),
    }
}

pub(super) fn damaged(error: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged(error.to_string())
}
