//! Account access besides payments: sign-in, login links, token refresh, and the owner's card operations.

use std::convert::Infallible;

use purser_storage::{StoreError, codec};

use super::{Engine, MAX_CONFLICT_RETRIES};
use crate::entity::account::{self, LoginCode, LoginGrant};
use crate::entity::card::{self, Card};
use crate::entity::gift_card;
use crate::entity::payment::SessionSeed;
use crate::entity::session::{self, AuthMethod, Session};
use crate::id::{ApprovalId, CardId, SessionId, Wallet};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, IdempotencyRecorder, table};
use crate::operator::OperatorAction;
use crate::port::CardAction;

/// Why an identity or account operation did not happen.
#[derive(Debug)]
pub enum OperationError<R, O = Infallible> {
    /// The entity rejected the command.
    Rejected(R),
    /// Already used, or not found.
    AlreadyUsed,
    /// A reason specific to this operation; most have none.
    Specific(O),
    /// A dependency did not answer. Retry later.
    Unavailable,
}

/// Another wallet's address is the same in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserIdCollision;

/// The amount needs a second operator's approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalPending(pub ApprovalId);

/// The amount is above the operator's limit, and this action can't be approved by another operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExceedsOperatorLimit;

impl<R, O> From<AskError<R>> for OperationError<R, O> {
    fn from(refusal: AskError<R>) -> Self {
        match refusal {
            AskError::Rejected(r) => Self::Rejected(r),
            AskError::Conflict | AskError::NotFound => Self::AlreadyUsed,
            AskError::OutcomeUnknown | AskError::Quarantined => Self::Unavailable,
        }
    }
}

impl<R> OperationError<R> {
    /// Converts to the error of an operation with specific reasons.
    pub fn widen<O>(self) -> OperationError<R, O> {
        match self {
            Self::Rejected(r) => OperationError::Rejected(r),
            Self::AlreadyUsed => OperationError::AlreadyUsed,
            Self::Unavailable => OperationError::Unavailable,
        }
    }
}

impl Engine {
    /// Signs a wallet in: consumes the nonce, creates the account if needed and opens the session.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when the nonce was used before, [`UserIdCollision`] for a look-alike Solana
    /// address.
    pub async fn sign_in(
        &self,
        wallet: Wallet,
        nonce: ([u8; 16], u64),
        session: SessionSeed,
    ) -> Result<(), OperationError<account::Rejection, UserIdCollision>> {
        let used = table::nonce(nonce.1, &nonce.0);
        for _ in 0..MAX_CONFLICT_RETRIES {
            if self
                .has_user_id_collision(&wallet)
                .await
                .map_err(|_| OperationError::Unavailable)?
            {
                return Err(OperationError::Specific(UserIdCollision));
            }
            let row = self
                .0
                .store
                .read(&used)
                .await
                .map_err(|_| OperationError::Unavailable)?;
            if row.is_some() {
                return Err(OperationError::AlreadyUsed);
            }
            let command = account::Command::SignIn { nonce, session };
            match self.0.registries.accounts.ask(wallet, command).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Asks an account, with retries. A conflict can only come from an added batch part that was rejected before.
    async fn ask_with_retries(
        &self,
        wallet: Wallet,
        command: account::Command,
    ) -> Result<(), OperationError<account::Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            match self.0.registries.accounts.ask(wallet, command.clone()).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Makes a login link's code valid, also for a frozen account.
    ///
    /// # Errors
    /// When the account does not exist or the engine can't answer.
    pub async fn create_login_code(
        &self,
        wallet: Wallet,
        code: LoginCode,
        amr: AuthMethod,
        created_by: SessionId,
    ) -> Result<(), OperationError<account::Rejection>> {
        self.ask_with_retries(wallet, account::Command::CreateLoginCode { code, amr, created_by })
            .await
    }

    /// Consumes a login link's code and opens a session.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when the code is unknown, used or expired, or the session that created it has
    /// ended.
    pub async fn redeem_login_code(
        &self,
        code: [u8; 32],
        new_session: impl Fn(&Wallet) -> SessionSeed + Send + Sync,
    ) -> Result<(LoginGrant, SessionId), OperationError<account::Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            let row = self.0.store.read(&table::login_code(&code)).await;
            let row = row
                .map_err(|_| OperationError::Unavailable)?
                .ok_or(OperationError::AlreadyUsed)?;
            let grant: LoginGrant = codec::decode(&row.value).map_err(|_| OperationError::Unavailable)?;
            if grant.expires_s <= self.0.clock.now().seconds() {
                return Err(OperationError::AlreadyUsed);
            }
            // A link created by a thief ends with the session that created it.
            let created_by = self
                .session(&grant.created_by)
                .await
                .map_err(|_| OperationError::Unavailable)?;
            let ended = match created_by {
                Some(created_by) => self
                    .has_session_ended(&grant.created_by, &created_by)
                    .await
                    .map_err(|_| OperationError::Unavailable)?,
                None => true,
            };
            if ended {
                return Err(OperationError::AlreadyUsed);
            }
            let session = new_session(&grant.wallet);
            let command = account::Command::RedeemLoginCode { code, grant, session };
            match self.0.registries.accounts.ask(grant.wallet, command).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result.map(|()| (grant, session.id))?),
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Stops all agents of an account, or lets them act again. The caller has verified that the owner requests it.
    ///
    /// # Errors
    /// When the account does not exist or the engine can't answer.
    pub async fn set_agents_stopped(
        &self,
        wallet: Wallet,
        stopped: bool,
    ) -> Result<(), OperationError<account::Rejection>> {
        let command = match stopped {
            true => account::Command::StopAgents,
            false => account::Command::ResumeAgents,
        };
        self.ask_with_retries(wallet, command).await
    }

    /// The account's newest sessions, newest first, without those that payments opened.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn sessions_of(&self, owner: &Wallet, limit: usize) -> Result<Vec<(SessionId, Session)>, LoadError> {
        let sessions = &self.0.registries.sessions;
        let (found, _) = self.list_owned(sessions, owner, SessionId, None, limit).await?;
        Ok(found)
    }

    /// Ends a session, and with it those that its login links opened. The caller has verified that the owner requests
    /// it.
    ///
    /// # Errors
    /// When it has ended already.
    pub async fn revoke_session(&self, id: SessionId) -> Result<(), OperationError<session::Rejection>> {
        self.0.registries.sessions.ask(id, session::Command::Revoke).await?;
        Ok(())
    }

    /// Exchanges a refresh token, by its hash.
    ///
    /// # Errors
    /// When the session has ended or was refreshed since the caller read it.
    pub async fn refresh(
        &self,
        session: SessionId,
        command: session::Command,
    ) -> Result<session::Reply, OperationError<session::Rejection>> {
        Ok(self.0.registries.sessions.ask(session, command).await?)
    }

    /// Ended sessions whose id_tokens may not have expired yet.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn revoked_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let rows = self.0.store.scan(&[table::REVOKED_SESSION], None, usize::MAX).await?;
        let id = |key: &[u8]| key.last_chunk::<16>().map(|b| SessionId(u128::from_be_bytes(*b)));
        Ok(rows.iter().filter_map(|(key, _)| id(key)).collect())
    }

    /// Freezes or unfreezes an account, and records the operator.
    ///
    /// # Errors
    /// When the engine can't answer.
    pub async fn set_frozen(
        &self,
        wallet: Wallet,
        message: Option<String>,
        act: Option<OperatorAction>,
    ) -> Result<(), OperationError<account::Rejection>> {
        let command = |act| match message.clone() {
            Some(message) => account::Command::Freeze { message, act },
            None => account::Command::Unfreeze { act },
        };
        let account = (&self.0.registries.accounts, wallet);
        let unavailable = |_| OperationError::Unavailable;
        // Before the account can be used again, whatever froze it.
        if message.is_none() {
            self.cancel_recovery_by_freeze(wallet).await.map_err(unavailable)?;
        }
        self.ask_as_operator_or_owner(account, (act.as_ref(), None), command)
            .await?;
        if message.is_some() {
            self.cancel_recovery_by_freeze(wallet).await.map_err(unavailable)?;
        }
        Ok(())
    }

    /// Records that the owner is shown a card's number.
    ///
    /// # Errors
    /// When the card is neither ready nor paused.
    pub async fn reveal_card(&self, card: CardId) -> Result<(), OperationError<card::Rejection>> {
        self.0.registries.cards.ask(card, card::Command::Reveal).await?;
        Ok(())
    }

    /// Starts a refresh of a card from the issuer; the result arrives asynchronously. Persists the response if there is
    /// an idempotency recorder.
    ///
    /// # Errors
    /// When the card is not ready, is already being refreshed, or was refreshed too often;
    /// [`OperationError::AlreadyUsed`] when the idempotency key was used meanwhile.
    pub async fn refresh_card(
        &self,
        card: CardId,
        recorder: Option<IdempotencyRecorder<Card>>,
    ) -> Result<(), OperationError<card::Rejection>> {
        let cards = &self.0.registries.cards;
        self.ask_idempotent(cards, card, card::Command::RequestRefresh, recorder)
            .await
            .map(drop)
    }

    /// Starts an owner's action on a prepaid card. Returns false if the card is already in that state and the issuer is
    /// not asked. Persists the response if there is an idempotency recorder.
    ///
    /// # Errors
    /// When the card is neither ready nor paused, or another action is pending; [`OperationError::AlreadyUsed`] as
    /// above.
    pub async fn request_prepaid_card_action(
        &self,
        card: CardId,
        action: CardAction,
        recorder: Option<IdempotencyRecorder<Card>>,
    ) -> Result<bool, OperationError<card::Rejection>> {
        let cards = &self.0.registries.cards;
        self.ask_idempotent(cards, card, card::Command::RequestAction(action), recorder)
            .await
    }

    /// Records that the owner is shown how to redeem a gift card.
    ///
    /// # Errors
    /// When it is not completed.
    pub async fn reveal_gift_card(&self, gift: CardId) -> Result<(), OperationError<gift_card::Rejection>> {
        let gifts = &self.0.registries.gift_cards;
        Ok(gifts.ask(gift, gift_card::Command::Reveal).await?)
    }
}
