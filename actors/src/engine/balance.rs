//! The owner's use of the balance: withdrawals and statement.

use purser_storage::{StoreError, codec};

use super::{Engine, OperationError};
use crate::entity::account::{self, Account, StatementLine};
use crate::entity::withdrawal::Withdrawal;
use crate::id::{StatementLineId, Wallet, WithdrawalId};
use crate::kernel::registry::LoadError;
use crate::kernel::{IdempotencyRecorder, table};
use crate::money::Usdc;

impl Engine {
    /// Starts a withdrawal from a balance. The amount is put on hold and the transfer is queued.
    ///
    /// # Errors
    /// The account's rejection; [`OperationError::AlreadyUsed`] when an earlier request with the idempotency key was
    /// executed.
    pub async fn withdraw(
        &self,
        from: Wallet,
        (id, to, amount): (WithdrawalId, Wallet, Usdc),
        memo: Option<IdempotencyRecorder<Account>>,
    ) -> Result<(), OperationError<account::Rejection>> {
        let command = account::Command::Withdraw { id, to, amount };
        self.ask_idempotent(&self.0.registries.accounts, from, command, memo)
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
