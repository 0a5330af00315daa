//! Idempotency keys: a command under a key is executed once, and every later use gets the same response.
//!
//! Commands in progress are known in memory only. That is enough: a command whose process died has either committed its
//! record with its batch, or has not happened.

pub(super) mod payment_identifier;

use dashmap::DashMap;
use purser_storage::{Batch, Condition, StoreError, Write, codec};
use sha2::{Digest, Sha256};

use super::{Engine, MAX_CONFLICT_RETRIES, OperationError};
use crate::id::Wallet;
use crate::kernel::idempotency::{IdempotencyRecord, IdempotencySlot, RecordedResponse};
use crate::kernel::{AskError, Entity, EntityRegistry, IdempotencyRecorder, table};

/// Keys with a command in progress, each with the fingerprint of its request.
pub(super) type KeysInProgress = DashMap<(u128, u128), [u8; 32]>;

/// State of a key.
#[derive(Debug)]
pub enum KeyState {
    /// The key is new: go on, and hold the guard until the command has its response.
    Acquired(KeyGuard),
    /// The key was used for the same request; this was the response.
    Replay(RecordedResponse),
    /// Its command is in progress.
    InProgress,
    /// The key was used for a different request.
    Mismatch,
}

/// The right to use a key, released on drop.
pub struct KeyGuard {
    engine: Engine,
    slot: IdempotencySlot,
}

impl std::fmt::Debug for KeyGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Turn").field(&self.slot).finish()
    }
}

impl KeyGuard {
    /// Where the command's response will be stored.
    pub const fn slot(&self) -> &IdempotencySlot {
        &self.slot
    }
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        let IdempotencySlot { wallet, key, .. } = &self.slot;
        self.engine.0.keys_in_progress.remove(&(wallet.digest(), *key));
    }
}

impl Engine {
    /// Asks an entity for a command whose response is persisted if there is an idempotency recorder. Retries conflicts
    /// caused by other commands.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when the key got a response meanwhile: call [`Engine::acquire_key`] again.
    pub(super) async fn ask_idempotent<E: Entity>(
        &self,
        registry: &EntityRegistry<E>,
        id: E::Id,
        command: E::Command,
        recorder: Option<IdempotencyRecorder<E>>,
    ) -> Result<E::Reply, OperationError<E::Rejection>>
    where
        E::Command: Clone,
    {
        for _ in 0..MAX_CONFLICT_RETRIES {
            match registry.ask_idempotent(id, command.clone(), recorder.clone()).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
            if let Some(recorder) = &recorder
                && self
                    .is_recorded(recorder.slot())
                    .await
                    .map_err(|_| OperationError::Unavailable)?
            {
                return Err(OperationError::AlreadyUsed);
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Whether an earlier request has recorded its response in this slot.
    pub(super) async fn is_recorded(&self, place: &IdempotencySlot) -> Result<bool, StoreError> {
        let known = self.idempotency_record(place).await?;
        Ok(known.is_some_and(|known| place.replaces != Some(known.expires_s)))
    }

    /// The record in a key's slot, even if it has expired.
    async fn idempotency_record(&self, place: &IdempotencySlot) -> Result<Option<IdempotencyRecord>, StoreError> {
        let row = self.0.store.read(&table::idempotency(&place.wallet, place.key)).await?;
        row.map(|row| codec::decode(&row.value))
            .transpose()
            .map_err(|e| StoreError::Corrupt(e.to_string()))
    }

    /// The fingerprint that an account's idempotency key was used with, or is being used with.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn key_used(&self, wallet: Wallet, key: &str) -> Result<Option<[u8; 32]>, StoreError> {
        let key = digest(key);
        if let Some(running) = self.0.keys_in_progress.get(&(wallet.digest(), key)) {
            return Ok(Some(*running));
        }
        let place = IdempotencySlot {
            wallet,
            key,
            fingerprint: [0; 32],
            replaces: None,
        };
        let known = self.idempotency_record(&place).await?;
        let known = known.filter(|known| known.expires_s > self.0.clock.now().seconds());
        Ok(known.map(|known| known.fingerprint))
    }

    /// Stores the response that was given under a key whose record only refers to an entity. From then on that response
    /// is replayed, whatever the entity's state. Does nothing without such a record.
    ///
    /// # Errors
    /// When the store rejects it: the record then still refers to the entity.
    pub async fn record_response(&self, place: &IdempotencySlot, kept: RecordedResponse) -> Result<(), StoreError> {
        let known = self.idempotency_record(place).await?;
        let is_its_own = |known: &IdempotencyRecord| {
            known.fingerprint == place.fingerprint && place.replaces != Some(known.expires_s)
        };
        let Some(known) =
            known.filter(|known| is_its_own(known) && matches!(known.response, RecordedResponse::EntityRef { .. }))
        else {
            return Ok(());
        };
        let key = table::idempotency(&place.wallet, place.key);
        let batch = Batch {
            conditions: vec![Condition::Present(key.clone())],
            writes: vec![Write::Put {
                key,
                revision: 0,
                value: codec::encode(&IdempotencyRecord {
                    response: kept,
                    ..known
                }),
            }],
            ..Batch::default()
        };
        let written = super::commit(&*self.0.store, batch).await;
        written.map(drop).map_err(|error| StoreError::Io(error.to_string()))
    }

    /// Acquires an account's idempotency key for a command with this fingerprint, a digest of its route and body.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn acquire_key(&self, wallet: Wallet, key: &str, fingerprint: [u8; 32]) -> Result<KeyState, StoreError> {
        use dashmap::mapref::entry::Entry;
        let key = digest(key);
        let mut turn = match self.0.keys_in_progress.entry((wallet.digest(), key)) {
            Entry::Occupied(running) if *running.get() == fingerprint => return Ok(KeyState::InProgress),
            Entry::Occupied(_) => return Ok(KeyState::Mismatch),
            Entry::Vacant(vacant) => {
                vacant.insert(fingerprint);
                KeyGuard {
                    engine: self.clone(),
                    slot: IdempotencySlot {
                        wallet,
                        key,
                        fingerprint,
                        replaces: None,
                    },
                }
            }
        };
        let Some(known) = self.idempotency_record(&turn.slot).await? else {
            return Ok(KeyState::Acquired(turn));
        };
        if known.expires_s <= self.0.clock.now().seconds() {
            turn.slot.replaces = Some(known.expires_s);
            return Ok(KeyState::Acquired(turn));
        }
        Ok(if known.fingerprint == fingerprint {
            KeyState::Replay(known.response)
        } else {
            KeyState::Mismatch
        })
    }
}

/// The digest under which a key is stored.
fn digest(key: &str) -> u128 {
    let digest = Sha256::digest(key);
    digest
        .first_chunk()
        .map_or(0, |half: &[u8; 16]| u128::from_be_bytes(*half))
}
