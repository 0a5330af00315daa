//! After a restore: what was revoked in the lost history is revoked again. Without a log of revocations, all earlier
//! credentials are suspended until an operator confirms them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use purser_storage::mutants::{self, Mutant};
use purser_storage::{Batch, CommitError, Condition, Store, StoreError, Write};

use super::operator_actions::AuditEntry;
use super::operators::{corrupt, put_token};
use super::{Engine, OperationError, commit};
use crate::entity::api_key;
use crate::entity::passkey;
use crate::entity::session;
use crate::id::{ApiKeyId, PasskeyId, SessionId};
use crate::kernel::{AskError, table};
use crate::operator::{AuditAction, AuditExtras, OperatorAction, OperatorToken};
use crate::port::Timestamp;

/// META key: the restore that was started, and when by the service's clock.
const FIRST_START_KEY: &str = "restored-start";
/// META key: since when earlier credentials are suspended.
const SUSPENDED_SINCE_KEY: &str = "suspended";

/// Second before which credentials were issued that are now suspended; 0 if none are.
#[derive(Debug, Default)]
pub(super) struct SuspensionTime(AtomicU64);

impl SuspensionTime {
    pub(super) async fn load(store: &dyn Store) -> Result<Self, StoreError> {
        let row = store.read(&table::meta(SUSPENDED_SINCE_KEY)).await?;
        let since = row.and_then(|row| (*row.value).try_into().ok().map(u64::from_be_bytes));
        Ok(Self(AtomicU64::new(since.unwrap_or(0))))
    }
}

/// Credentials that an operator confirms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuspendedItem {
    /// One API key.
    ApiKey(ApiKeyId),
    /// One operator token, by its name.
    Token(String),
    /// One passkey of an account owner.
    Passkey(PasskeyId),
    /// All credentials: nothing was revoked in the lost history.
    Everything,
}

impl Engine {
    /// First start on a restored store, once per restore. Login codes and operators' sessions from before are deleted,
    /// recoveries cancelled, and approvals ended, since they may have been used or ended. Without the log of revocations, all
    /// earlier credentials are suspended. Returns the time of that start by the service's clock.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn start_restored(&self, restored: Timestamp, has_log: bool) -> Result<Timestamp, StoreError> {
        if let Some(at) = self.restored_start(restored).await? {
            return Ok(at);
        }
        self.cancel_restored_recoveries().await?;
        self.end_restored_approvals().await?;
        let (store, key) = (&*self.0.store, table::meta(FIRST_START_KEY));
        let now = self.0.clock.now();
        let put = |key, value| Write::Put {
            key,
            revision: 0,
            value,
        };
        let both = [restored.0.to_be_bytes(), now.0.to_be_bytes()].concat();
        let mut writes = vec![put(key, both)];
        for table in [table::LOGIN_CODE, table::OPERATOR_SESSION] {
            let rows = store.scan(&[table], None, usize::MAX).await?;
            writes.extend(rows.into_iter().map(|(key, _)| Write::Delete { key }));
        }
        // Tokens contain the second in which they were issued. From here on none is issued in this second.
        let since_s = now.seconds().saturating_add(1);
        if !has_log {
            writes.push(put(table::meta(SUSPENDED_SINCE_KEY), since_s.to_be_bytes().to_vec()));
        }
        let batch = Batch {
            writes,
            ..Batch::default()
        };
        commit(store, batch).await.map_err(corrupt)?;
        if !has_log {
            self.0.suspended.0.store(since_s, Ordering::Release);
            tokio::time::sleep(Duration::from_millis(1_000 - now.0 % 1_000)).await;
        }
        Ok(now)
    }

    /// Whether the engine has already started on this restore.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn has_started(&self, restored: Timestamp) -> Result<bool, StoreError> {
        Ok(self.restored_start(restored).await?.is_some())
    }

    async fn restored_start(&self, restored: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let row = self.0.store.read(&table::meta(FIRST_START_KEY)).await?;
        let both = row.and_then(|row| {
            let (of, at) = row.value.split_first_chunk::<8>()?;
            Some((u64::from_be_bytes(*of), u64::from_be_bytes(*at.first_chunk()?)))
        });
        Ok(both.filter(|(of, _)| *of == restored.0).map(|(_, at)| Timestamp(at)))
    }

    /// Since when earlier credentials are suspended, if they are.
    pub fn suspended_since(&self) -> Option<Timestamp> {
        match self.0.suspended.0.load(Ordering::Acquire) {
            0 => None,
            second => Some(Timestamp(second.saturating_mul(1_000))),
        }
    }

    /// Whether a credential issued at this second is suspended.
    pub fn is_suspended(&self, made_s: u64) -> bool {
        made_s < self.0.suspended.0.load(Ordering::Acquire) && !mutants::is_enabled(Mutant::KeysNotSuspended)
    }

    /// Whether an API key is suspended and not confirmed.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_key_suspended(&self, id: ApiKeyId, made: Timestamp) -> Result<bool, StoreError> {
        Ok(self.is_suspended(made.seconds()) && self.0.store.read(&table::confirmed_key(id)).await?.is_none())
    }

    /// Whether an operator token is suspended and not confirmed.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_token_suspended(&self, hash: &[u8; 32], made: Timestamp) -> Result<bool, StoreError> {
        Ok(self.is_suspended(made.seconds()) && self.0.store.read(&table::confirmed_token(hash)).await?.is_none())
    }

    /// Whether a passkey is suspended and not confirmed.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_passkey_suspended(&self, id: PasskeyId, made: Timestamp) -> Result<bool, StoreError> {
        Ok(self.is_suspended(made.seconds()) && self.0.store.read(&table::confirmed_passkey(id)).await?.is_none())
    }

    /// Confirms suspended credentials by an administrator. Confirming a single one ends all earlier sessions; their
    /// users sign in again.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when nothing has that name, or nothing is suspended.
    pub async fn confirm_suspended(
        &self,
        what: &SuspendedItem,
        act: &OperatorAction,
    ) -> Result<(), OperationError<()>> {
        let one = self.lock_operator().await;
        let since = table::meta(SUSPENDED_SINCE_KEY);
        let good = |key| Write::Put {
            key,
            revision: 0,
            value: Vec::new(),
        };
        let (subject, write) = match what {
            SuspendedItem::ApiKey(id) => {
                let known = self.api_key(id).await.map_err(|_| OperationError::Unavailable)?;
                known.ok_or(OperationError::AlreadyUsed)?;
                (id.to_string(), good(table::confirmed_key(*id)))
            }
            SuspendedItem::Token(name) => {
                let hash = self.token_named(name).await.map_err(|_| OperationError::Unavailable)?;
                let (hash, _) = hash.ok_or(OperationError::AlreadyUsed)?;
                (name.clone(), good(table::confirmed_token(&hash)))
            }
            SuspendedItem::Passkey(id) => {
                let known = self.passkey(id).await.map_err(|_| OperationError::Unavailable)?;
                known.ok_or(OperationError::AlreadyUsed)?;
                (id.to_string(), good(table::confirmed_passkey(*id)))
            }
            SuspendedItem::Everything => ("everything".to_owned(), Write::Delete { key: since.clone() }),
        };
        let words = AuditEntry {
            act,
            action: AuditAction::SuspendedConfirm,
            subject,
            note: None,
            extras: AuditExtras::default(),
        };
        let there = vec![Condition::Present(since)];
        match self.commit_with_audit(&one, &words, there, vec![write]).await {
            Ok(()) => {
                if *what == SuspendedItem::Everything {
                    self.0.suspended.0.store(0, Ordering::Release);
                }
                Ok(())
            }
            Err(CommitError::Condition(_)) => Err(OperationError::AlreadyUsed),
            Err(_) => Err(OperationError::Unavailable),
        }
    }

    /// A stored token by its name, with its hash.
    ///
    /// # Errors
    /// When storage fails.
    pub(super) async fn token_named(&self, name: &str) -> Result<Option<([u8; 32], OperatorToken)>, StoreError> {
        let rows = self.0.store.scan(&[table::OPERATOR_TOKEN], None, usize::MAX).await?;
        for (key, row) in rows {
            let token: OperatorToken = purser_storage::codec::decode(&row.value).map_err(corrupt)?;
            if let Some(hash) = key.last_chunk::<32>().filter(|_| token.name == name) {
                return Ok(Some((*hash, token)));
            }
        }
        Ok(None)
    }

    /// Ends a session that the log of revocations names. A session unknown to this store may still have valid tokens,
    /// so it is recorded as ended too.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn end_session(&self, id: SessionId) -> Result<(), StoreError> {
        match self.0.registries.sessions.ask(id, session::Command::Revoke).await {
            Ok(_) | Err(AskError::Rejected(session::Rejection::Revoked)) => Ok(()),
            Err(AskError::NotFound | AskError::Rejected(_)) => self.record_revocation(id).await,
            Err(refusal) => Err(corrupt(format!("{id}: {refusal:?}"))),
        }
    }

    /// Revokes an API key that the log of revocations names.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn end_api_key(&self, id: ApiKeyId) -> Result<(), StoreError> {
        match self.revoke_api_key(id).await {
            Ok(()) => Ok(()),
            Err(OperationError::Rejected(api_key::Rejection::NotFound)) => {
                self.record_revocation(id.session_id()).await
            }
            Err(denied) => Err(corrupt(format!("{id}: {denied:?}"))),
        }
    }

    /// Removes a passkey that the log of revocations names.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn end_passkey(&self, id: PasskeyId) -> Result<(), StoreError> {
        match self.remove_passkey(id).await {
            Ok(()) => Ok(()),
            Err(OperationError::Rejected(passkey::Rejection::NotFound)) => {
                self.record_revocation(id.session_id()).await
            }
            Err(denied) => Err(corrupt(format!("{id}: {denied:?}"))),
        }
    }

    /// Revokes an operator token that the log of revocations names.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn end_token(&self, hash: &[u8; 32]) -> Result<(), StoreError> {
        let Some(token) = self.operator_token(hash).await?.filter(|token| !token.revoked) else {
            return Ok(());
        };
        let revoked = OperatorToken { revoked: true, ..token };
        let batch = Batch {
            writes: vec![put_token(hash, &revoked)],
            ..Batch::default()
        };
        commit(&*self.0.store, batch).await.map_err(corrupt)
    }

    async fn record_revocation(&self, id: SessionId) -> Result<(), StoreError> {
        let until_s = self.0.clock.now().seconds() + session::ID_TOKEN_MAX_S;
        let row = Write::Put {
            key: table::revoked_session(until_s, id),
            revision: 0,
            value: Vec::new(),
        };
        let batch = Batch {
            writes: vec![row],
            ..Batch::default()
        };
        commit(&*self.0.store, batch).await.map_err(corrupt)
    }
}
