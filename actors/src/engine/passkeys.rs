//! Passkeys of account owners, and what a browser session may do after one was used: sign-in and confirmation.

use purser_storage::StoreError;

use super::recoveries::access_cutoff;
use super::{Engine, MAX_CONFLICT_RETRIES, OperationError};
use crate::credential::{AnsweredChallenge, Credential, MAX_PASSKEYS};
use crate::entity::passkey::{Command, Passkey, Rejection};
use crate::entity::payment::SessionSeed;
use crate::entity::session::{self, AuthMethod, PasskeyConfirmation, Session};
use crate::id::{PasskeyId, SessionId, Wallet};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, table};
use crate::port::Timestamp;

/// How long a new session of a link that the wallet signed counts as confirmed while the account has no passkey, in
/// milliseconds.
pub const LINK_CONFIRMED_MS: u64 = 600_000;

/// A new passkey, verified by the caller.
#[derive(Clone, Debug)]
pub struct NewPasskey {
    /// Id of the passkey.
    pub id: PasskeyId,
    /// Account that adds it.
    pub owner: Wallet,
    /// Name of the passkey.
    pub name: String,
    /// What the authenticator gave.
    pub credential: Credential,
    /// Challenge that was answered.
    pub challenge: AnsweredChallenge,
}

/// A verified answer of a passkey.
#[derive(Clone, Copy, Debug)]
pub struct PasskeyUse {
    /// Passkey that answered.
    pub id: PasskeyId,
    /// Signature counter of the answer.
    pub counter: u32,
    /// Challenge that was answered.
    pub challenge: AnsweredChallenge,
}

/// Whether a browser session may do what needs a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It may, until this time.
    Until(Timestamp),
    /// One of the account's passkeys must confirm.
    PasskeyNeeded,
    /// The account has no passkey, and the session is no new one of a link that the wallet signed.
    LinkNeeded,
}

impl Engine {
    /// A passkey by its id, removed ones included.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn passkey(&self, id: &PasskeyId) -> Result<Option<Passkey>, LoadError> {
        Ok(self.0.registries.passkeys.read(id).await?.map(|(passkey, _)| passkey))
    }

    /// A wallet's active passkeys, oldest first, without those that a completed recovery is about to remove.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn passkeys_of(&self, owner: &Wallet) -> Result<Vec<(PasskeyId, Passkey)>, LoadError> {
        let mut found = Vec::new();
        for (_, id) in self.passkey_slots(owner).await? {
            found.extend(self.passkey(&id).await?.map(|passkey| (id, passkey)));
        }
        // Read after the passkeys: a recovery that completes meanwhile has its row before they are removed.
        if let Some(cutoff) = access_cutoff(&*self.0.store, owner).await? {
            found.retain(|(_, passkey)| !cutoff.has_ended_passkey(passkey));
        }
        found.sort_by_key(|(id, passkey)| (passkey.created_at, *id));
        Ok(found)
    }

    /// Whether the wallet has a passkey. One that is suspended after a restore is the owner's, too.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn has_passkeys(&self, owner: &Wallet) -> Result<bool, LoadError> {
        Ok(!self.passkeys_of(owner).await?.is_empty())
    }

    /// Whether the wallet has passkeys, and all of them are suspended after a restore.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn are_passkeys_suspended(&self, owner: &Wallet) -> Result<bool, LoadError> {
        let passkeys = self.passkeys_of(owner).await?;
        for (id, passkey) in &passkeys {
            if !self.is_passkey_suspended(*id, passkey.created_at).await? {
                return Ok(false);
            }
        }
        Ok(!passkeys.is_empty())
    }

    /// Whether the passkey was removed, or a completed recovery is about to remove it. If not, what the running request
    /// commits needs that none completes meanwhile.
    async fn has_passkey_ended(&self, passkey: &Passkey) -> Result<bool, StoreError> {
        let cutoff = self.relied_on_cutoff(&passkey.owner).await?;
        Ok(!passkey.is_active() || cutoff.is_some_and(|cutoff| cutoff.has_ended_passkey(passkey)))
    }

    async fn passkey_slots(&self, owner: &Wallet) -> Result<Vec<(u8, PasskeyId)>, StoreError> {
        let slots = table::passkey_slots(owner);
        let rows = self.0.store.scan(&slots, None, MAX_PASSKEYS.into());
        let read = |(key, row): (purser_storage::RowKey, purser_storage::Row)| {
            let id = row.value.first_chunk().map(|id| PasskeyId(u128::from_be_bytes(*id)));
            key.last().copied().zip(id)
        };
        Ok(rows.await?.into_iter().filter_map(read).collect())
    }

    /// The passkey with this credential id, removed ones included.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn passkey_of_credential(&self, credential: &[u8]) -> Result<Option<(PasskeyId, Passkey)>, LoadError> {
        let row = self.0.store.read(&table::passkey_credential(credential)).await?;
        let id = row.and_then(|row| row.value.first_chunk().map(|id| PasskeyId(u128::from_be_bytes(*id))));
        let Some(id) = id else { return Ok(None) };
        // Rows are found by a digest.
        let passkey = self.passkey(&id).await?;
        Ok(passkey
            .filter(|passkey| passkey.credential.id == credential)
            .map(|passkey| (id, passkey)))
    }

    /// Whether the challenge was used before.
    async fn is_answered(&self, challenge: &AnsweredChallenge) -> Result<bool, StoreError> {
        let row = table::nonce(challenge.expires_s, &challenge.nonce);
        Ok(self.0.store.read(&row).await?.is_some())
    }

    /// Adds a passkey. The caller has verified it, and that the owner requests it.
    ///
    /// # Errors
    /// [`Rejection::LimitReached`], [`Rejection::AlreadyAdded`]; [`OperationError::AlreadyUsed`] for a used challenge.
    pub async fn add_passkey(&self, new: NewPasskey) -> Result<(), OperationError<Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            let failed = |_| OperationError::Unavailable;
            if self.is_answered(&new.challenge).await.map_err(failed)? {
                return Err(OperationError::AlreadyUsed);
            }
            let row = table::passkey_credential(&new.credential.id);
            if self.0.store.read(&row).await.map_err(failed)?.is_some() {
                return Err(OperationError::Rejected(Rejection::AlreadyAdded));
            }
            let taken = self.passkey_slots(&new.owner).await.map_err(failed)?;
            let is_free = |slot: &u8| taken.iter().all(|(other, _)| other != slot);
            let Some(slot) = (0..MAX_PASSKEYS).find(is_free) else {
                return Err(OperationError::Rejected(Rejection::LimitReached));
            };
            let command = Command::Add {
                owner: new.owner,
                name: new.name.clone(),
                credential: new.credential.clone(),
                slot,
                challenge: new.challenge,
            };
            match self.0.registries.passkeys.ask(new.id, command).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Opens a session for a verified sign-in.
    ///
    /// # Errors
    /// [`Rejection`]; [`OperationError::AlreadyUsed`] for a used challenge.
    pub async fn sign_in_with_passkey(
        &self,
        used: PasskeyUse,
        session: SessionSeed,
    ) -> Result<(), OperationError<Rejection>> {
        self.use_passkey(used, Some(session)).await
    }

    /// Confirms a browser session until this time, after a verified answer of one of its owner's passkeys.
    ///
    /// # Errors
    /// [`Rejection`]; [`OperationError::AlreadyUsed`] for a used challenge.
    pub async fn confirm_session(
        &self,
        used: PasskeyUse,
        session: SessionId,
        until: Timestamp,
    ) -> Result<(), OperationError<Rejection>> {
        // The passkey first: if the session were confirmed and this failed, the answer could be sent again.
        self.use_passkey(used, None).await?;
        let confirmation = PasskeyConfirmation {
            passkey: used.id,
            until,
        };
        let confirm = session::Command::Confirm(confirmation);
        match self.0.registries.sessions.ask(session, confirm).await {
            Ok(_) => Ok(()),
            Err(_) => Err(OperationError::Unavailable),
        }
    }

    async fn use_passkey(
        &self,
        used: PasskeyUse,
        session: Option<SessionSeed>,
    ) -> Result<(), OperationError<Rejection>> {
        let passkey = self.passkey(&used.id).await.map_err(|_| OperationError::Unavailable)?;
        let passkey = passkey.ok_or(OperationError::Rejected(Rejection::NotFound))?;
        let has_ended = self.has_passkey_ended(&passkey).await;
        if has_ended.map_err(|_| OperationError::Unavailable)? {
            return Err(OperationError::Rejected(Rejection::Removed));
        }
        let is_suspended = self.is_passkey_suspended(used.id, passkey.created_at).await;
        if is_suspended.map_err(|_| OperationError::Unavailable)? {
            return Err(OperationError::Rejected(Rejection::Suspended));
        }
        let command = Command::Use {
            counter: used.counter,
            challenge: used.challenge,
            session,
        };
        self.ask_passkey(used.id, &command, Some(&used.challenge)).await
    }

    /// Renames a passkey. The caller has verified that the owner requests it.
    ///
    /// # Errors
    /// When the passkey does not exist or is removed.
    pub async fn rename_passkey(&self, id: PasskeyId, name: String) -> Result<(), OperationError<Rejection>> {
        self.ask_passkey(id, &Command::Rename(name), None).await
    }

    /// Removes a passkey and ends every session that it opened, and every confirmation that it gave. The caller has
    /// verified that the owner requests it.
    ///
    /// # Errors
    /// When the passkey does not exist.
    pub async fn remove_passkey(&self, id: PasskeyId) -> Result<(), OperationError<Rejection>> {
        self.ask_passkey(id, &Command::Remove, None).await
    }

    async fn ask_passkey(
        &self,
        id: PasskeyId,
        command: &Command,
        challenge: Option<&AnsweredChallenge>,
    ) -> Result<(), OperationError<Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            if let Some(challenge) = challenge
                && self
                    .is_answered(challenge)
                    .await
                    .map_err(|_| OperationError::Unavailable)?
            {
                return Err(OperationError::AlreadyUsed);
            }
            match self.0.registries.passkeys.ask(id, command.clone()).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Whether this browser session may now do what needs a confirmation: a passkey that still exists has confirmed. While
    /// the account has no passkey, a new session of a link that the wallet signed may; after a recovery only of its own link.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn confirmation(&self, session: &Session) -> Result<Confirmation, LoadError> {
        let now = self.0.clock.now();
        if let Some(confirmation) = session.confirmation.filter(|confirmed| now < confirmed.until)
            && let Some(passkey) = self.passkey(&confirmation.passkey).await?
            && !self.has_passkey_ended(&passkey).await?
            && !self
                .is_passkey_suspended(confirmation.passkey, passkey.created_at)
                .await?
        {
            return Ok(Confirmation::Until(confirmation.until));
        }
        // Also if all are suspended: an agent with the wallet's key adds none beside them.
        if self.has_passkeys(&session.owner).await? {
            return Ok(Confirmation::PasskeyNeeded);
        }
        // After a recovery, only who has its link: a token from before, or of another signature, does not count. Read
        // after the passkeys, which are removed later than the row is written.
        let of_recovery = self.recovery_session(&session.owner).await?;
        let until = session.created_at.plus_ms(LINK_CONFIRMED_MS);
        let of_wallet = session.amr == AuthMethod::Wallet
            && match of_recovery {
                Some(recovery) => session.created_by == Some(recovery),
                None => session.created_by.is_some(),
            };
        Ok(if of_wallet && now < until {
            Confirmation::Until(until)
        } else {
            Confirmation::LinkNeeded
        })
    }
}
