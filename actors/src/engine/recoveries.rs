//! Recoveries of accounts whose passkeys are lost. The caller has verified the wallet's signature, or the owner's passkey.

use purser_storage::{Batch, Store, StoreError, Write};

use super::operators::corrupt;
use super::{Engine, MAX_CONFLICT_RETRIES, OperationError, commit};
use crate::entity::passkey;
use crate::entity::payment::SessionSeed;
use crate::entity::recovery::{AccessCutoff, CancelledBy, Command, Recovery, Rejection};
use crate::id::{SessionId, Wallet};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, request_context, table};

/// Since when earlier access to the account has ended by a recovery, if it has.
///
/// # Errors
/// When storage fails.
pub(super) async fn access_cutoff(store: &dyn Store, account: &Wallet) -> Result<Option<AccessCutoff>, StoreError> {
    Ok(cutoff_row(store, account).await?.map(|(cutoff, _)| cutoff))
}

/// The same with the revision of its row.
async fn cutoff_row(store: &dyn Store, account: &Wallet) -> Result<Option<(AccessCutoff, u64)>, StoreError> {
    let Some(row) = store.read(&table::access_cutoff(account)).await? else {
        return Ok(None);
    };
    let read = AccessCutoff::from_bytes(&row.value);
    read.map(|cutoff| Some((cutoff, row.revision)))
        .ok_or_else(|| StoreError::Corrupt("the end of access to an account".to_owned()))
}

impl Engine {
    /// Since when earlier access to the account has ended, for a request that uses access to it: what the request
    /// commits from now on needs that no recovery of the account completes meanwhile.
    ///
    /// # Errors
    /// When storage fails.
    pub(super) async fn relied_on_cutoff(&self, account: &Wallet) -> Result<Option<AccessCutoff>, StoreError> {
        let found = cutoff_row(&*self.0.store, account).await?;
        let revision = found.map_or(0, |(_, revision)| revision);
        request_context::rely_on_access(*account, revision);
        Ok(found.map(|(cutoff, _)| cutoff))
    }

    /// Whether a recovery of its account has ended this session. One that is not known has ended too. If it has not, what
    /// the running request commits needs that none ends it meanwhile.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn has_recovery_ended(&self, account: &Wallet, session: &SessionId) -> Result<bool, LoadError> {
        let Some(cutoff) = self.relied_on_cutoff(account).await? else {
            return Ok(false);
        };
        let known = self.session(session).await?;
        Ok(known.is_none_or(|known| cutoff.has_ended(session, &known)))
    }

    /// Session of the last completed recovery, until a passkey is added.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn recovery_session(&self, account: &Wallet) -> Result<Option<SessionId>, StoreError> {
        let Some(row) = self.0.store.read(&table::recovered(account)).await? else {
            return Ok(None);
        };
        let id = row.value.first_chunk().map(|id| SessionId(u128::from_be_bytes(*id)));
        id.map(Some)
            .ok_or_else(|| StoreError::Corrupt("the session of a recovery".to_owned()))
    }

    /// After a restore that lost the completion of a recovery: access from before it ends again. If it is known that
    /// the whole store is from before it (`is_all_earlier`), so do all passkeys, also if the lost history ended before it
    /// removed them.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn end_access(&self, account: &Wallet, is_all_earlier: bool) -> Result<(), StoreError> {
        if is_all_earlier {
            for (id, _) in self.passkeys_of(account).await.map_err(corrupt)? {
                self.end_passkey(id).await?;
            }
        }
        let cutoff = AccessCutoff::restored(self.0.clock.now());
        let batch = Batch {
            writes: vec![Write::Put {
                key: table::access_cutoff(account),
                revision: cutoff.revision(),
                value: cutoff.to_bytes(),
            }],
            ..Batch::default()
        };
        commit(&*self.0.store, batch).await.map_err(corrupt)
    }

    /// The last recovery of an account, ended or not.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn recovery(&self, account: &Wallet) -> Result<Option<Recovery>, LoadError> {
        let read = self.0.registries.recoveries.read(account).await?;
        Ok(read.map(|(recovery, _)| recovery))
    }

    /// Begins a recovery, unless one is in progress.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] for a nonce that was used.
    pub async fn request_recovery(
        &self,
        account: Wallet,
        nonce: ([u8; 16], u64),
    ) -> Result<(), OperationError<Rejection>> {
        self.ask_recovery(account, &Command::Request { nonce }, Some(nonce))
            .await
    }

    /// Completes a recovery: removes the passkeys from before, and opens the session of the wallet from which the owner's
    /// link comes.
    ///
    /// # Errors
    /// [`Rejection`]; [`OperationError::AlreadyUsed`] for a nonce that was used.
    pub async fn complete_recovery(
        &self,
        account: Wallet,
        nonce: ([u8; 16], u64),
        session: SessionSeed,
    ) -> Result<(), OperationError<Rejection>> {
        let unavailable = |_| OperationError::Unavailable;
        let lost = self.passkeys_of(&account).await.map_err(unavailable)?;
        self.ask_recovery(account, &Command::Complete { nonce, session }, Some(nonce))
            .await?;
        // The job removes them too, if this process ends here.
        for (id, _) in lost {
            match self.remove_passkey(id).await {
                Ok(()) | Err(OperationError::Rejected(passkey::Rejection::Removed)) => {}
                Err(_) => return Err(OperationError::Unavailable),
            }
        }
        Ok(())
    }

    /// Cancels a recovery. The caller has verified that the owner confirms it with a passkey.
    ///
    /// # Errors
    /// [`Rejection::NotFound`] when none is in progress.
    pub async fn cancel_recovery(&self, account: Wallet) -> Result<(), OperationError<Rejection>> {
        self.ask_recovery(account, &Command::Cancel(CancelledBy::Owner), None)
            .await
    }

    /// Cancels a recovery of an account that is or was frozen. Its owner could not cancel it, and the wallet can ask
    /// again.
    pub(super) async fn cancel_recovery_by_freeze(&self, account: Wallet) -> Result<(), OperationError<Rejection>> {
        let cancelled = self.ask_recovery(account, &Command::Cancel(CancelledBy::Freeze), None);
        match cancelled.await {
            Ok(()) | Err(OperationError::Rejected(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// After a restore, cancels all recoveries in progress: their owners may have done that in the lost history. Who has
    /// lost the passkeys asks again.
    ///
    /// # Errors
    /// When storage fails.
    pub(super) async fn cancel_restored_recoveries(&self) -> Result<(), StoreError> {
        let rows = self.0.store.scan(&[table::OPEN_RECOVERY], None, usize::MAX).await?;
        for (key, _) in rows {
            let account = key.get(1..).and_then(Wallet::from_key);
            let account = account.ok_or_else(|| StoreError::Corrupt("a recovery of no wallet".to_owned()))?;
            let cancelled = self.ask_recovery(account, &Command::Cancel(CancelledBy::Restore), None);
            match cancelled.await {
                Ok(()) | Err(OperationError::Rejected(_)) => {}
                Err(error) => return Err(StoreError::Io(format!("{error:?}"))),
            }
        }
        Ok(())
    }

    async fn ask_recovery(
        &self,
        account: Wallet,
        command: &Command,
        nonce: Option<([u8; 16], u64)>,
    ) -> Result<(), OperationError<Rejection>> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            if let Some((nonce, expires_s)) = nonce {
                let used = self.0.store.read(&table::nonce(expires_s, &nonce)).await;
                if used.map_err(|_| OperationError::Unavailable)?.is_some() {
                    return Err(OperationError::AlreadyUsed);
                }
            }
            match self.0.registries.recoveries.ask(account, command.clone()).await {
                Err(AskError::Conflict) => {}
                result => return Ok(result?),
            }
        }
        Err(OperationError::Unavailable)
    }
}
