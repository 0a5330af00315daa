//! The owner's use of the balance: withdrawals and statement.

use purser_storage::{StoreError, codec};

use super::{Engine, MAX_CONFLICT_RETRIES, OperationError};
use crate::entity::account::{self, Account, StatementLine};
use crate::entity::withdrawal::Withdrawal;
use crate::id::{ApiKeyId, StatementLineId, Wallet, WithdrawalId};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, IdempotencyRecorder, table};
use crate::money::Usdc;

impl Engine {
    /// As [`Engine::withdraw`], by a session of this API key if there is one: within the limits of the key, and counted
    /// against them.
    ///
    /// # Errors
    /// As [`Engine::withdraw`], and [`account::Rejection::KeyLimit`].
    pub async fn withdraw_by(
        &self,
        key: Option<ApiKeyId>,
        from: Wallet,
        (id, to, amount): (WithdrawalId, Wallet, Usdc),
        recorder: Option<IdempotencyRecorder<Account>>,
    ) -> Result<(), OperationError<account::Rejection>> {
        let Some(key_id) = key else {
            return self.withdraw(from, (id, to, amount), recorder).await;
        };
        let _turn = self.key_turn(key).await;
        for _ in 0..MAX_CONFLICT_RETRIES {
            let key = self
                .key_allowance(key_id)
                .await
                .map_err(|_| OperationError::Unavailable)?;
            let key = Some(Box::new(key));
            let command = account::Command::Withdraw { id, to, amount, key };
            let accounts = &self.0.registries.accounts;
            match accounts.ask_idempotent(from, command, recorder.clone()).await {
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

    /// Starts a withdrawal from a balance. The amount is put on hold and the transfer is queued.
    ///
    /// # Errors
    /// The account's rejection; [`OperationError::AlreadyUsed`] when an earlier request with the idempotency key was
    /// executed.
    pub async fn withdraw(
        &self,
        from: Wallet,
        (id, to, amount): (WithdrawalId, Wallet, Usdc),
        recorder: Option<IdempotencyRecorder<Account>>,
    ) -> Result<(), OperationError<account::Rejection>> {
        let command = account::Command::Withdraw {
            id,
            to,
            amount,
            key: None,
        };
        self.ask_idempotent(&self.0.registries.accounts, from, command, recorder)
            .await
    }

    /// A withdrawal by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn withdrawal(&self, id: &WithdrawalId) -> Result<Option<Withdrawal>, LoadError> {
        Ok(self
            .0
            .registries
            .withdrawals
            .read(id)
            .await?
            .map(|(withdrawal, _)| withdrawal))
    }

    /// A wallet's statement, oldest line first, after the given one, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails or a line is corrupt.
    pub async fn statement(
        &self,
        owner: &Wallet,
        after: Option<StatementLineId>,
        limit: usize,
    ) -> Result<(Vec<(StatementLineId, StatementLine)>, bool), StoreError> {
        let start = after.map(|id| table::statement_line(owner, id));
        let rows = self
            .0
            .store
            .scan(&table::statement_lines(owner), start.as_deref(), limit + 1)
            .await?;
        let more = rows.len() > limit;
        let read = |key: &[u8], value: &[u8]| {
            let id = key.last_chunk().map_or(0, |b| u128::from_be_bytes(*b));
            let entry = codec::decode(value).map_err(|e| StoreError::Corrupt(e.to_string()))?;
            Ok((StatementLineId(id), entry))
        };
        let lines: Result<Vec<_>, StoreError> = rows
            .iter()
            .take(limit)
            .map(|(key, row)| read(key, &row.value))
            .collect();
        Ok((lines?, more))
    }
}
