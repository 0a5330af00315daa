//! The owner's use of the balance: withdrawals and statement.

use purser_storage::{Row, RowKey, StoreError, codec};

use super::balance_spends::{BalanceSpend, SpendDenied};
use super::spend_approvals::AgentSpend;
use super::{Engine, ListStart, OperationError};
use crate::entity::account::{self, Account, StatementLine};
use crate::entity::spend_approval::SpendUse;
use crate::entity::withdrawal::Withdrawal;
use crate::id::{StatementLineId, Wallet, WithdrawalId};
use crate::kernel::registry::LoadError;
use crate::kernel::{IdempotencyRecorder, table};
use crate::money::Usdc;
use crate::port::Timestamp;

impl Engine {
    /// As [`Engine::withdraw`], for an agent: within the limits of the owner and of the agent's API key, and counted
    /// against them. `None` is the owner at the account page.
    ///
    /// # Errors
    /// As [`Engine::withdraw`], and [`SpendDenied`].
    pub async fn withdraw_for(
        &self,
        asked: Option<&AgentSpend>,
        from: Wallet,
        (id, to, amount): (WithdrawalId, Wallet, Usdc),
        recorder: Option<IdempotencyRecorder<Account>>,
    ) -> Result<(), OperationError<account::Rejection, SpendDenied>> {
        let command = account::Command::Withdraw { id, to, amount };
        let spend = BalanceSpend {
            owner: from,
            asked,
            used_by: SpendUse::Withdrawal(id),
        };
        self.take_from_balance(command, amount, spend, recorder).await
    }

    /// Executes a command that takes this amount from the balance of an account.
    pub(super) async fn take_from_balance(
        &self,
        command: account::Command,
        amount: Usdc,
        spend: BalanceSpend<'_>,
        recorder: Option<IdempotencyRecorder<Account>>,
    ) -> Result<(), OperationError<account::Rejection, SpendDenied>> {
        let owner = spend.owner;
        let refusal = |account: Option<&Account>| {
            let available = account.map_or(Usdc::ZERO, Account::available);
            (amount > available).then_some(account::Rejection::Insufficient { available })
        };
        let accounts = &self.0.registries.accounts;
        self.ask_within_limits(accounts, owner, command, spend, refusal, recorder)
            .await
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
        let command = account::Command::Withdraw { id, to, amount };
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

    /// A wallet's statement from the given line on, at most `limit` lines; and whether there are more.
    ///
    /// # Errors
    /// When storage fails or a line is corrupt.
    pub async fn statement(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<StatementLineId>>,
        limit: usize,
    ) -> Result<(Vec<(StatementLineId, StatementLine)>, bool), StoreError> {
        match start.into() {
            ListStart::After(after) => self.statement_after(owner, after, limit).await,
            ListStart::Before(before) => self.statement_before(owner, before, limit).await,
        }
    }

    async fn statement_after(
        &self,
        owner: &Wallet,
        after: Option<StatementLineId>,
        limit: usize,
    ) -> Result<(Vec<(StatementLineId, StatementLine)>, bool), StoreError> {
        let start = after.map(|id| table::statement_line(owner, id));
        let rows = self
            .0
            .store
            .scan(
                &table::statement_lines(owner),
                start.as_deref(),
                limit.saturating_add(1),
            )
            .await?;
        let more = rows.len() > limit;
        let lines: Result<Vec<_>, StoreError> = rows
            .iter()
            .take(limit)
            .map(|(key, row)| decode_line(key, row))
            .collect();
        Ok((lines?, more))
    }

    /// Newest first.
    async fn statement_before(
        &self,
        owner: &Wallet,
        before: Option<StatementLineId>,
        limit: usize,
    ) -> Result<(Vec<(StatementLineId, StatementLine)>, bool), StoreError> {
        // An id begins with the line's number. Lines of the same number do not exist, so its first id is as good.
        let end = before.map(|id| table::statement_line(owner, StatementLineId::at_index(id.index(), 0)));
        let (lines, wanted) = (table::statement_lines(owner), limit.saturating_add(1));
        let rows = self.0.store.scan_back(&lines, end.as_deref(), wanted).await?;
        let more = rows.len() > limit;
        let lines: Result<Vec<_>, StoreError> = rows
            .iter()
            .take(limit)
            .map(|(key, row)| decode_line(key, row))
            .collect();
        Ok((lines?, more))
    }

    /// Sums of a wallet's statement from a time to before another. Costs the same however many lines lie between: each
    /// line has the sums up to it.
    ///
    /// # Errors
    /// When storage fails or a line is corrupt.
    pub async fn statement_sums(
        &self,
        owner: &Wallet,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<StatementSums, StoreError> {
        let opening = match from {
            Some(from) => self.last_line_before(owner, Some(from)).await?,
            None => None,
        };
        let closing = self.last_line_before(owner, until).await?;
        // A period that ends before it begins has no lines.
        let closing = match (from, until) {
            (Some(from), Some(until)) if until < from => opening.clone(),
            _ => closing,
        };
        let sum = |line: &Option<StatementLine>, of: fn(&StatementLine) -> Usdc| line.as_ref().map_or(Usdc::ZERO, of);
        let less = |a: Usdc, b: Usdc| {
            let damaged = |_| StoreError::Corrupt("the sums of a statement".to_owned());
            a.checked_sub(b).map_err(damaged)
        };
        let spent = |line: &Option<StatementLine>| less(sum(line, |l| l.total_deposits), sum(line, |l| l.balance));
        Ok(StatementSums {
            opening: sum(&opening, |line| line.balance),
            credited: less(sum(&closing, |l| l.total_deposits), sum(&opening, |l| l.total_deposits))?,
            debited: less(spent(&closing)?, spent(&opening)?)?,
            closing: sum(&closing, |line| line.balance),
            held: sum(&closing, |line| line.held),
        })
    }

    /// The newest line before a time; without a time the newest.
    async fn last_line_before(
        &self,
        owner: &Wallet,
        time: Option<Timestamp>,
    ) -> Result<Option<StatementLine>, StoreError> {
        let end = match time {
            Some(time) => Some(self.statement_position(owner, time).await?),
            None => None,
        };
        let end = end.map(|id| table::statement_line(owner, id));
        let lines = table::statement_lines(owner);
        let rows = self.0.store.scan_back(&lines, end.as_deref(), 1).await?;
        let line = rows.first().map(|(key, row)| decode_line(key, row)).transpose()?;
        Ok(line.map(|(_, line)| line))
    }

    async fn statement_line_count(&self, owner: &Wallet) -> Result<u64, StoreError> {
        let account = self
            .account(owner)
            .await
            .map_err(|e| StoreError::Corrupt(e.to_string()))?;
        Ok(account.map_or(0, |account| account.statement_line_count()))
    }

    /// The id before the first line at or after this time. Later lines have later times, so it is found by halving.
    ///
    /// # Errors
    /// When storage fails or a line is corrupt.
    pub async fn statement_position(&self, owner: &Wallet, time: Timestamp) -> Result<StatementLineId, StoreError> {
        let (mut low, mut high) = (0, self.statement_line_count(owner).await?);
        while low < high {
            let middle = low.midpoint(high);
            let after = middle
                .checked_sub(1)
                .map(|last| StatementLineId::at_index(last, u128::MAX));
            let (read, _) = self.statement_after(owner, after, 1).await?;
            match read.first() {
                Some((_, line)) if line.at < time => low = middle.saturating_add(1),
                _ => high = middle,
            }
        }
        Ok(StatementLineId::at_index(low, 0))
    }
}

/// Sums of a part of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementSums {
    /// Balance before it.
    pub opening: Usdc,
    /// Sum of the credits.
    pub credited: Usdc,
    /// Sum of everything that left the balance.
    pub debited: Usdc,
    /// Balance at its end.
    pub closing: Usdc,
    /// Held part of that balance.
    pub held: Usdc,
}

fn decode_line(key: &RowKey, row: &Row) -> Result<(StatementLineId, StatementLine), StoreError> {
    let id = key.last_chunk().map_or(0, |b| u128::from_be_bytes(*b));
    let entry = codec::decode(&row.value).map_err(|e| StoreError::Corrupt(e.to_string()))?;
    Ok((StatementLineId(id), entry))
}
