//! Idempotency keys: a command under a key is executed once, and its answer is the answer to every later use.
//!
//! Who is running is known in memory only. That is enough: a command whose process died has either left its record with
//! its batch, or has not happened.

pub(super) mod identified;

use dashmap::DashMap;
use purser_storage::{Batch, Condition, StoreError, Write, codec};
use sha2::{Digest, Sha256};

use super::{Denied, Engine, RACES};
use crate::id::Wallet;
use crate::kernel::memo::{Kept, Place, Remembered};
use crate::kernel::{Entity, Family, Memo, Refusal, table};

/// The keys whose commands are under way, with the digest of what each was used with.
pub(super) type Running = DashMap<(u128, u128), [u8; 32]>;

/// What became of a key so far.
#[derive(Debug)]
pub enum Once {
    /// It is new: go on, and hold this until the command is answered.
    New(Turn),
    /// It was used for this before; this was the answer.
    Known(Kept),
    /// Its command is under way.
    Running,
    /// It was used for something else.
    Reused,
}

/// The right to use a key; the next may come when this is dropped.
pub struct Turn {
    engine: Engine,
    place: Place,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Turn").field(&self.place).finish()
    }
}

impl Turn {
    /// Where the command's answer is to be remembered.
    pub const fn place(&self) -> &Place {
        &self.place
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Place { wallet, key, .. } = &self.place;
        self.engine.0.running.remove(&(wallet.digest(), *key));
    }
}

impl Engine {
    /// Asks an entity for something whose answer is remembered if there is a memo. Conflicts of another's making are
    /// asked again.
    ///
    /// # Errors
    /// [`Denied::Used`] when the key's answer came to be in between: ask [`Engine::once`] again.
    pub(super) async fn ask_once<E: Entity>(
        &self,
        family: &Family<E>,
        id: E::Id,
        command: E::Command,
        memo: Option<Memo<E>>,
    ) -> Result<E::Answer, Denied<E::Rejection>>
    where
        E::Command: Clone,
    {
        for _ in 0..RACES {
            match family.ask_recorded(id, command.clone(), memo.clone()).await {
                Err(Refusal::Conflict) => {}
                told => return Ok(told?),
            }
            if let Some(memo) = &memo
                && self
                    .is_remembered(memo.place())
                    .await
                    .map_err(|_| Denied::Unavailable)?
            {
                return Err(Denied::Used);
            }
        }
        Err(Denied::Unavailable)
    }

    async fn is_remembered(&self, place: &Place) -> Result<bool, StoreError> {
        let known = self.remembered(place).await?;
        Ok(known.is_some_and(|known| place.replaces != Some(known.expires_s)))
    }

    /// What stands in a key's place, also where its time is over.
    async fn remembered(&self, place: &Place) -> Result<Option<Remembered>, StoreError> {
        let row = self.0.store.read(&table::memo(&place.wallet, place.key)).await?;
        row.map(|row| codec::decode(&row.value))
            .transpose()
            .map_err(|e| StoreError::Damaged(e.to_string()))
    }

    /// What an account's idempotency key was used with, or is being used with.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn key_used(&self, wallet: Wallet, key: &str) -> Result<Option<[u8; 32]>, StoreError> {
        let key = digest(key);
        if let Some(running) = self.0.running.get(&(wallet.digest(), key)) {
            return Ok(Some(*running));
        }
        let place = Place {
            wallet,
            key,
            fingerprint: [0; 32],
            replaces: None,
        };
        let known = self.remembered(&place).await?;
        let known = known.filter(|known| known.expires_s > self.0.clock.now().seconds());
        Ok(known.map(|known| known.fingerprint))
    }

    /// Writes down the answer that was given under a key whose record only says which entity it follows: from then on it is what was
    /// said, whatever becomes of the entity. Without such a record nothing is done.
    ///
    /// # Errors
    /// When the store refuses: the record goes on following.
    pub async fn answered(&self, place: &Place, kept: Kept) -> Result<(), StoreError> {
        let known = self.remembered(place).await?;
        let is_its_own =
            |known: &Remembered| known.fingerprint == place.fingerprint && place.replaces != Some(known.expires_s);
        let Some(known) = known.filter(|known| is_its_own(known) && matches!(known.kept, Kept::Follow { .. })) else {
            return Ok(());
        };
        let key = table::memo(&place.wallet, place.key);
        let batch = Batch {
            conditions: vec![Condition::Present(key.clone())],
            writes: vec![Write::Put {
                key,
                revision: 0,
                value: codec::encode(&Remembered { kept, ..known }),
            }],
            ..Batch::default()
        };
        let written = super::commit(&*self.0.store, batch).await;
        written.map(drop).map_err(|error| StoreError::Io(error.to_string()))
    }

    /// Takes an account's idempotency key for a command with this fingerprint, a digest of its route and body.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn once(&self, wallet: Wallet, key: &str, fingerprint: [u8; 32]) -> Result<Once, StoreError> {
        use dashmap::mapref::entry::Entry;
        let key = digest(key);
        let mut turn = match self.0.running.entry((wallet.digest(), key)) {
            Entry::Occupied(running) if *running.get() == fingerprint => return Ok(Once::Running),
            Entry::Occupied(_) => return Ok(Once::Reused),
            Entry::Vacant(vacant) => {
                vacant.insert(fingerprint);
                Turn {
                    engine: self.clone(),
                    place: Place {
                        wallet,
                        key,
                        fingerprint,
                        replaces: None,
                    },
                }
            }
        };
        let Some(known) = self.remembered(&turn.place).await? else {
            return Ok(Once::New(turn));
        };
        if known.expires_s <= self.0.clock.now().seconds() {
            turn.place.replaces = Some(known.expires_s);
            return Ok(Once::New(turn));
        }
        Ok(if known.fingerprint == fingerprint {
            Once::Known(known.kept)
        } else {
            Once::Reused
        })
    }
}

/// A key's text as it is looked up.
fn digest(key: &str) -> u128 {
    let digest = Sha256::digest(key);
    digest
        .first_chunk()
        .map_or(0, |half: &[u8; 16]| u128::from_be_bytes(*half))
}
