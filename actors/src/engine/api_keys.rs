//! API keys: creation, exchange for sessions, revocation; and what an agent reports about itself.

use purser_storage::StoreError;

use super::{Engine, MAX_CONFLICT_RETRIES, OperationError};
use crate::entity::api_key::{ApiKey, Command, Rejection};
use crate::entity::payment::SessionSeed;
use crate::entity::session::{self, AgentInfo, Session};
use crate::entity::spend_approval::SpendAgent;
use crate::id::{ApiKeyId, SessionId, Wallet};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, table};

/// Maximum slots of an account's keys.
pub(super) const MAX_KEY_SLOTS: usize = 256;

impl Engine {
    /// An API key by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn api_key(&self, id: &ApiKeyId) -> Result<Option<ApiKey>, LoadError> {
        Ok(self.0.registries.api_keys.read(id).await?.map(|(key, _)| key))
    }

    /// A wallet's active API keys, oldest first.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn api_keys_of(&self, owner: &Wallet) -> Result<Vec<(ApiKeyId, ApiKey)>, LoadError> {
        let mut found = Vec::new();
        for (_, id) in self.api_key_slots(owner).await? {
            if let Some(key) = self.api_key(&id).await? {
                found.push((id, key));
            }
        }
        found.sort_by_key(|(id, key)| (key.created_at, *id));
        Ok(found)
    }

    /// The slots that a wallet's keys occupy, with their keys.
    async fn api_key_slots(&self, owner: &Wallet) -> Result<Vec<(u8, ApiKeyId)>, StoreError> {
        let rows = self.0.store.scan(&table::api_keys(owner), None, MAX_KEY_SLOTS).await?;
        let read = |(key, row): (purser_storage::RowKey, purser_storage::Row)| {
            let id = row
                .value
                .first_chunk::<16>()
                .map(|id| ApiKeyId(u128::from_be_bytes(*id)));
            key.last().copied().zip(id)
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// Issues an API key for a wallet, which may have `most` of them at a time. The caller has verified that the owner
    /// requests it.
    ///
    /// # Errors
    /// [`Rejection::LimitReached`], and [`Rejection::AlreadyClaimed`] for an id that another account was first to use.
    pub async fn issue_api_key(
        &self,
        id: ApiKeyId,
        owner: Wallet,
        name: &str,
        most: u8,
    ) -> Result<(), OperationError<Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            let taken = self
                .api_key_slots(&owner)
                .await
                .map_err(|_| OperationError::Unavailable)?;
            let is_free = |place: &u8| taken.iter().all(|(other, _)| other != place);
            let free: Vec<u8> = (0..most).filter(is_free).collect();
            // Two at once seldom choose the same slot. If they do, one of the batches is rejected and tries again.
            let place = usize::try_from(id.0 % free.len().max(1) as u128).unwrap_or(0);
            let Some(place) = free.get(place).copied() else {
                // Its own slot may be among the occupied ones.
                let own = taken.iter().any(|(_, other)| *other == id);
                return if own {
                    Ok(())
                } else {
                    Err(OperationError::Rejected(Rejection::LimitReached))
                };
            };
            let name = name.to_owned();
            match self
                .0
                .registries
                .api_keys
                .ask(
                    id,
                    Command::Issue {
                        owner,
                        name,
                        slot: place,
                    },
                )
                .await
            {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Rejects a signup: its key will never exist. The caller has verified that an account owner requests it.
    ///
    /// # Errors
    /// [`Rejection::AlreadyClaimed`] for a signup that was approved, or that another account was first to answer.
    pub async fn reject_signup(&self, id: ApiKeyId, owner: Wallet) -> Result<(), OperationError<Rejection>> {
        self.ask_api_key(id, &Command::Reject { owner }).await
    }

    /// Opens a session for a client that has presented the key.
    ///
    /// # Errors
    /// When the key does not exist or was revoked.
    pub async fn exchange_api_key(&self, id: ApiKeyId, session: SessionSeed) -> Result<(), OperationError<Rejection>> {
        if let Some(key) = self.api_key(&id).await.map_err(|_| OperationError::Unavailable)? {
            let account = self
                .account(&key.owner)
                .await
                .map_err(|_| OperationError::Unavailable)?;
            match account {
                Some(account) if key.is_active() && account.has_ended_agent_access(key.created_at) => {
                    return Err(OperationError::Rejected(Rejection::Revoked));
                }
                Some(account) if key.is_active() && account.agents_stopped_at().is_some() => {
                    return Err(OperationError::Rejected(Rejection::AgentsStopped));
                }
                _ => {}
            }
        }
        if self.suspended_since().is_some()
            && let Some(key) = self.api_key(&id).await.map_err(|_| OperationError::Unavailable)?
            && key.is_active()
        {
            let suspended = self.is_key_suspended(id, key.created_at).await;
            if suspended.map_err(|_| OperationError::Unavailable)? {
                return Err(OperationError::Rejected(Rejection::Suspended));
            }
        }
        self.ask_api_key(id, &Command::Exchange { session }).await
    }

    /// Revokes the key and everything that was created with it. The caller has verified that the owner requests it.
    ///
    /// # Errors
    /// When the key does not exist.
    pub async fn revoke_api_key(&self, id: ApiKeyId) -> Result<(), OperationError<Rejection>> {
        // A spend that has begun ends first; a later one finds the key revoked.
        let _turn = self.key_turn(Some(id)).await;
        self.ask_api_key(id, &Command::Revoke).await
    }

    pub(super) async fn ask_api_key(&self, id: ApiKeyId, command: &Command) -> Result<(), OperationError<Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            match self.0.registries.api_keys.ask(id, command.clone()).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Whether a session is no longer valid: it was revoked, or the API key or passkey behind it, or the session that
    /// created its login link, or that is unknown after a restore, or it is an agent's from before a stop of the agents, or it
    /// is from before a recovery.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn has_session_ended(&self, id: &SessionId, session: &Session) -> Result<bool, LoadError> {
        if !session.is_active() || self.is_suspended(session.created_at.seconds()) {
            return Ok(true);
        }
        if session.is_of_agent() {
            let account = self.account(&session.owner).await?;
            if account.is_some_and(|account| account.has_ended_agent_access(session.created_at)) {
                return Ok(true);
            }
        }
        if self.has_recovery_ended(&session.owner, id).await? {
            return Ok(true);
        }
        // A thief of the session that created a link could also open the link.
        if let Some(creator) = session.created_by
            && (self.session(&creator).await?.is_none_or(|creator| !creator.is_active())
                || self.has_recovery_ended(&session.owner, &creator).await?)
        {
            return Ok(true);
        }
        if let Some(key) = self.key_behind(session).await?
            && self.api_key(&key).await?.is_none_or(|key| !key.is_active())
        {
            return Ok(true);
        }
        match session.amr.passkey() {
            Some(id) => Ok(self.passkey(&id).await?.is_none_or(|passkey| !passkey.is_active())),
            None => Ok(false),
        }
    }

    /// Whether the session or the API key of an agent has ended.
    ///
    /// # Errors
    /// When storage fails.
    pub(super) async fn has_agent_access_ended(&self, agent: SpendAgent) -> Result<bool, LoadError> {
        if let Some(key) = agent.key
            && self.api_key(&key).await?.is_none_or(|key| !key.is_active())
        {
            return Ok(true);
        }
        let Some(id) = agent.session else { return Ok(false) };
        match self.session(&id).await? {
            Some(session) => self.has_session_ended(&id, &session).await,
            // A token of the history that a restore has lost. Its key goes on.
            None => Ok(false),
        }
    }

    /// The API key that a session ends with: its own, or that of the session that created its login link.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn key_behind(&self, session: &Session) -> Result<Option<ApiKeyId>, LoadError> {
        match (session.key(), session.created_by) {
            (Some(key), _) => Ok(Some(key)),
            (None, Some(creator)) => Ok(self.session(&creator).await?.and_then(|creator| creator.key())),
            (None, None) => Ok(None),
        }
    }

    /// Records which agent is behind a session, as the agent reports it.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn announce_agent(
        &self,
        session: SessionId,
        agent: AgentInfo,
    ) -> Result<session::Reply, OperationError<session::Rejection>> {
        let command = session::Command::AnnounceAgent(agent);
        Ok(self.0.registries.sessions.ask(session, command).await?)
    }
}
