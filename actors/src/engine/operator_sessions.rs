//! Operators at the desk: their passkeys and sessions. Both stand for an operator token, by its hash; the caller checks
//! that the token is still valid. Every change is in the audit log.

use purser_storage::codec;
use purser_storage::{CommitError, Condition, StoreError, Write};

use super::operator_actions::AuditEntry;
use super::operators::{corrupt, put_row};
use super::{Engine, OperationError};
use crate::credential::{AnsweredChallenge, MAX_PASSKEYS};
use crate::entity::passkey::Rejection;
use crate::id::{OperatorPasskeyId, OperatorSessionId};
use crate::kernel::table;
use crate::operator::{
    AuditAction, AuditExtras, OperatorAction, OperatorConfirmation, OperatorPasskey, OperatorSession,
};
use crate::port::Timestamp;

/// A verified answer of an operator's passkey.
#[derive(Clone, Debug)]
pub struct OperatorPasskeyUse {
    /// Credential id of the passkey.
    pub credential: Vec<u8>,
    /// Signature counter of the answer.
    pub counter: u32,
    /// Challenge that was answered.
    pub challenge: AnsweredChallenge,
}

type SessionResult = Result<(), OperationError<Rejection>>;

fn unavailable(_: impl std::fmt::Debug) -> OperationError<Rejection> {
    OperationError::Unavailable
}

fn entry(act: &OperatorAction, action: AuditAction, subject: String) -> AuditEntry<'_> {
    AuditEntry {
        act,
        action,
        subject,
        note: None,
        extras: AuditExtras::default(),
    }
}

impl Engine {
    /// Passkeys of an operator token, oldest first.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn operator_passkeys(&self, token: &[u8; 32]) -> Result<Vec<OperatorPasskey>, StoreError> {
        let rows = self.0.store.scan(&[table::OPERATOR_PASSKEY], None, usize::MAX).await?;
        let decoded = rows
            .iter()
            .map(|(_, row)| codec::decode(&row.value).map_err(corrupt))
            .collect::<Result<Vec<OperatorPasskey>, _>>()?;
        let mut own: Vec<_> = decoded.into_iter().filter(|passkey| passkey.token == *token).collect();
        own.sort_by_key(|passkey| (passkey.created_at, passkey.id));
        Ok(own)
    }

    /// The operator's passkey with this credential id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn operator_passkey(&self, credential: &[u8]) -> Result<Option<OperatorPasskey>, StoreError> {
        let row = self.0.store.read(&table::operator_passkey(credential)).await?;
        row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()
    }

    /// Adds a passkey of an operator. The caller has verified it.
    ///
    /// # Errors
    /// [`Rejection::LimitReached`], [`Rejection::AlreadyAdded`]; [`OperationError::AlreadyUsed`] for a used challenge.
    pub async fn add_operator_passkey(
        &self,
        passkey: OperatorPasskey,
        challenge: AnsweredChallenge,
        act: &OperatorAction,
    ) -> SessionResult {
        let one = self.lock_operator().await;
        let own = self.operator_passkeys(&passkey.token).await.map_err(unavailable)?;
        if own.len() >= usize::from(MAX_PASSKEYS) {
            return Err(OperationError::Rejected(Rejection::LimitReached));
        }
        let known = self.operator_passkey(&passkey.credential.id).await;
        if known.map_err(unavailable)?.is_some() {
            return Err(OperationError::Rejected(Rejection::AlreadyAdded));
        }
        let row = table::operator_passkey(&passkey.credential.id);
        let nonce = table::nonce(challenge.expires_s, &challenge.nonce);
        let words = entry(act, AuditAction::PasskeyAdd, format!("{} {}", passkey.id, passkey.name));
        let new = vec![Condition::Absent(row.clone()), Condition::Absent(nonce.clone())];
        let writes = vec![put_row(row, &passkey), put(nonce)];
        answered(self.commit_with_audit(&one, &words, new, writes).await)
    }

    /// Removes a passkey of an operator, the sessions that it opened and the confirmations that it gave. Returns it.
    ///
    /// # Errors
    /// [`Rejection::NotFound`].
    pub async fn remove_operator_passkey(
        &self,
        token: &[u8; 32],
        id: OperatorPasskeyId,
        act: &OperatorAction,
    ) -> Result<OperatorPasskey, OperationError<Rejection>> {
        let one = self.lock_operator().await;
        let own = self.operator_passkeys(token).await.map_err(unavailable)?;
        let passkey = own.into_iter().find(|passkey| passkey.id == id);
        let passkey = passkey.ok_or(OperationError::Rejected(Rejection::NotFound))?;
        let mut writes = vec![Write::Delete {
            key: table::operator_passkey(&passkey.credential.id),
        }];
        for (hash, session) in self.stored_operator_sessions().await.map_err(unavailable)? {
            let row = table::operator_session(&hash);
            if session.passkey == Some(id) {
                writes.push(Write::Delete { key: row });
            } else if session.confirmation.is_some_and(|confirmed| confirmed.passkey == id) {
                let confirmation = None;
                writes.push(put_row(
                    row,
                    &OperatorSession {
                        confirmation,
                        ..session
                    },
                ));
            }
        }
        let words = entry(act, AuditAction::PasskeyRemove, format!("{id} {}", passkey.name));
        let removed = self.commit_with_audit(&one, &words, Vec::new(), writes).await;
        removed.map(|()| passkey).map_err(unavailable)
    }

    async fn stored_operator_sessions(&self) -> Result<Vec<([u8; 32], OperatorSession)>, StoreError> {
        let rows = self.0.store.scan(&[table::OPERATOR_SESSION], None, usize::MAX).await?;
        let read = |(key, row): &(purser_storage::RowKey, purser_storage::Row)| {
            let hash = key.last_chunk::<32>().copied().unwrap_or_default();
            codec::decode(&row.value)
                .map(|session| (hash, session))
                .map_err(corrupt)
        };
        rows.iter().map(read).collect()
    }

    /// Sessions of operators that have not ended, oldest first.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn operator_sessions(&self) -> Result<Vec<OperatorSession>, StoreError> {
        let now = self.0.clock.now();
        let stored = self.stored_operator_sessions().await?;
        let sessions = stored.into_iter().map(|(_, session)| session);
        let mut open: Vec<_> = sessions.filter(|session| now < session.expires_at).collect();
        open.sort_by_key(|session| (session.created_at, session.id));
        Ok(open)
    }

    /// The session with this hash of its cookie, if it has not ended.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn operator_session(&self, hash: &[u8; 32]) -> Result<Option<OperatorSession>, StoreError> {
        let row = self.0.store.read(&table::operator_session(hash)).await?;
        let session: Option<OperatorSession> = row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()?;
        let now = self.0.clock.now();
        // A restore without the log of revocations suspends what was issued before.
        let lasts =
            |session: &OperatorSession| now < session.expires_at && !self.is_suspended(session.created_at.seconds());
        Ok(session.filter(lasts))
    }

    /// Opens a session for an operator who has shown the token, or a passkey. Sessions that have ended are deleted.
    ///
    /// # Errors
    /// [`Rejection`] of the passkey; [`OperationError::AlreadyUsed`] for a used challenge.
    pub async fn open_operator_session(
        &self,
        hash: &[u8; 32],
        session: OperatorSession,
        used: Option<OperatorPasskeyUse>,
        act: &OperatorAction,
    ) -> SessionResult {
        let one = self.lock_operator().await;
        let now = self.0.clock.now();
        let (mut conditions, mut writes) = match used {
            Some(used) => self.operator_passkey_use(used).await?.batch(),
            None => (Vec::new(), Vec::new()),
        };
        for (ended, _) in self
            .stored_operator_sessions()
            .await
            .map_err(unavailable)?
            .into_iter()
            .filter(|(_, session)| session.expires_at <= now)
        {
            writes.push(Write::Delete {
                key: table::operator_session(&ended),
            });
        }
        let row = table::operator_session(hash);
        conditions.push(Condition::Absent(row.clone()));
        writes.push(put_row(row, &session));
        let by = session.passkey.map_or_else(|| "token".to_owned(), |id| id.to_string());
        let words = entry(act, AuditAction::SessionOpen, format!("{} {by}", session.id));
        answered(self.commit_with_audit(&one, &words, conditions, writes).await)
    }

    /// Confirms a session until this time.
    ///
    /// # Errors
    /// As [`Engine::open_operator_session`].
    pub async fn confirm_operator_session(
        &self,
        hash: &[u8; 32],
        used: OperatorPasskeyUse,
        until: Timestamp,
        act: &OperatorAction,
    ) -> SessionResult {
        let one = self.lock_operator().await;
        let used = self.operator_passkey_use(used).await?;
        let confirmation = Some(OperatorConfirmation {
            passkey: used.passkey.id,
            until,
        });
        let (mut conditions, mut writes) = used.batch();
        let session = self.operator_session(hash).await.map_err(unavailable)?;
        let session = session.ok_or(OperationError::Rejected(Rejection::NotFound))?;
        let confirmed = OperatorSession {
            confirmation,
            ..session
        };
        let row = table::operator_session(hash);
        conditions.push(Condition::Present(row.clone()));
        writes.push(put_row(row, &confirmed));
        let words = entry(act, AuditAction::SessionConfirm, confirmed.id.to_string());
        answered(self.commit_with_audit(&one, &words, conditions, writes).await)
    }

    /// Ends a session. Returns whether there was one of this id.
    ///
    /// # Errors
    /// When the store rejects it.
    pub async fn end_operator_session(&self, id: OperatorSessionId, act: &OperatorAction) -> Result<bool, StoreError> {
        let one = self.lock_operator().await;
        let stored = self.stored_operator_sessions().await?;
        let Some((hash, _)) = stored.into_iter().find(|(_, session)| session.id == id) else {
            return Ok(false);
        };
        let writes = vec![Write::Delete {
            key: table::operator_session(&hash),
        }];
        let words = entry(act, AuditAction::SessionEnd, id.to_string());
        let ended = self.commit_with_audit(&one, &words, Vec::new(), writes).await;
        ended.map(|()| true).map_err(corrupt)
    }

    /// Checks a use: the passkey exists and takes over the counter. The lock of operator actions is held, so that nothing
    /// changes in between.
    async fn operator_passkey_use(&self, used: OperatorPasskeyUse) -> Result<AcceptedUse, OperationError<Rejection>> {
        let known = self.operator_passkey(&used.credential).await.map_err(unavailable)?;
        let mut passkey = known.ok_or(OperationError::Rejected(Rejection::NotFound))?;
        if !passkey.credential.may_follow(used.counter) {
            return Err(OperationError::Rejected(Rejection::CounterRegressed));
        }
        passkey.credential.counter = used.counter;
        passkey.used_at = Some(self.0.clock.now());
        Ok(AcceptedUse {
            passkey,
            challenge: used.challenge,
        })
    }

    /// Removes an operator's passkey that the log of revocations names, by the digest of its credential id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn end_operator_passkey(&self, digest: &[u8; 32]) -> Result<(), StoreError> {
        let key = [&[table::OPERATOR_PASSKEY], &digest[..]].concat().into_boxed_slice();
        if self.0.store.read(&key).await?.is_none() {
            return Ok(());
        }
        let batch = purser_storage::Batch {
            writes: vec![Write::Delete { key }],
            ..purser_storage::Batch::default()
        };
        super::commit(&*self.0.store, batch).await.map_err(corrupt)
    }
}

/// A use of an operator's passkey that a batch makes durable.
struct AcceptedUse {
    /// The passkey after the use.
    passkey: OperatorPasskey,
    challenge: AnsweredChallenge,
}

impl AcceptedUse {
    /// Conditions and writes: the challenge is new, and the passkey is there.
    fn batch(&self) -> (Vec<Condition>, Vec<Write>) {
        let row = table::operator_passkey(&self.passkey.credential.id);
        let nonce = table::nonce(self.challenge.expires_s, &self.challenge.nonce);
        let conditions = vec![Condition::Absent(nonce.clone()), Condition::Present(row.clone())];
        (conditions, vec![put(nonce), put_row(row, &self.passkey)])
    }
}

fn put(key: purser_storage::RowKey) -> Write {
    Write::Put {
        key,
        revision: 0,
        value: Vec::new(),
    }
}

fn answered(result: Result<(), CommitError>) -> SessionResult {
    match result {
        Ok(()) => Ok(()),
        // Everything else was checked under the lock.
        Err(CommitError::Condition(_)) => Err(OperationError::AlreadyUsed),
        Err(_) => Err(OperationError::Unavailable),
    }
}
