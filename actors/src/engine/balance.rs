//! The owner's use of the balance: withdrawals and statement; and the statement of the agent wallet.

use purser_storage::codec::Stored;
use purser_storage::{Row, RowKey, StoreError, codec};

use super::balance_spends::{BalanceSpend, SpendDenied};
use super::spend_approvals::AgentSpend;
use super::{Engine, ListStart, OperationError};
use crate::entity::account::{self, Account, StatementLine};
use crate::entity::agent_wallet::WalletStatementLine;
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
        self.lines_of(owner, start.into(), limit).await
    }

    /// The statement of an owner's agent wallet, as [`Engine::statement`].
    ///
    /// # Errors
    /// As [`Engine::statement`].
    pub async fn wallet_statement(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<StatementLineId>>,
        limit: usize,
    ) -> Result<(Vec<(StatementLineId, WalletStatementLine)>, bool), StoreError> {
        self.lines_of(owner, start.into(), limit).await
    }

    pub(super) async fn lines_of<L: StatementRow>(
        &self,
        owner: &Wallet,
        start: ListStart<StatementLineId>,
        limit: usize,
    ) -> Result<(Vec<(StatementLineId, L)>, bool), StoreError> {
        let (prefix, wanted) = (L::prefix(owner), limit.saturating_add(1));
        let rows = match start {
            ListStart::After(after) => {
                let after = after.map(|id| L::key(owner, id));
                self.0.store.scan(&prefix, after.as_deref(), wanted).await?
            }
            // An id begins with the line's number. Lines of the same number do not exist, so its first id is as good.
            ListStart::Before(before) => {
                let end = before.map(|id| L::key(owner, StatementLineId::at_index(id.index(), 0)));
                self.0.store.scan_back(&prefix, end.as_deref(), wanted).await?
            }
        };
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
        self.sums_of::<StatementLine>(owner, from, until).await
    }

    /// Sums of the statement of an owner's agent wallet, as [`Engine::statement_sums`].
    ///
    /// # Errors
    /// As [`Engine::statement_sums`].
    pub async fn wallet_statement_sums(
        &self,
        owner: &Wallet,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<StatementSums, StoreError> {
        self.sums_of::<WalletStatementLine>(owner, from, until).await
    }

    async fn sums_of<L: StatementRow>(
        &self,
        owner: &Wallet,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<StatementSums, StoreError> {
        let opening = match from {
            Some(from) => self.last_line_before::<L>(owner, Some(from)).await?,
            None => None,
        };
        let closing = self.last_line_before::<L>(owner, until).await?;
        // A period that ends before it begins has no lines.
        let closing = match (from, until) {
            (Some(from), Some(until)) if until < from => opening.clone(),
            _ => closing,
        };
        let sum =
            |line: &Option<L>, of: fn(&StatementLine) -> Usdc| line.as_ref().map_or(Usdc::ZERO, |row| of(row.line()));
        let less = |a: Usdc, b: Usdc| {
            let damaged = |_| StoreError::Corrupt("the sums of a statement".to_owned());
            a.checked_sub(b).map_err(damaged)
        };
        let spent = |line: &Option<L>| less(sum(line, |l| l.total_deposits), sum(line, |l| l.balance));
        Ok(StatementSums {
            opening: sum(&opening, |line| line.balance),
            credited: less(sum(&closing, |l| l.total_deposits), sum(&opening, |l| l.total_deposits))?,
            debited: less(spent(&closing)?, spent(&opening)?)?,
            closing: sum(&closing, |line| line.balance),
            held: sum(&closing, |line| line.held),
        })
    }

    /// The newest line before a time; without a time the newest.
    async fn last_line_before<L: StatementRow>(
        &self,
        owner: &Wallet,
        time: Option<Timestamp>,
    ) -> Result<Option<L>, StoreError> {
        let end = match time {
            Some(time) => Some(self.position_of::<L>(owner, time).await?),
            None => None,
        };
        Ok(self.newest_line::<L>(owner, end).await?.map(|(_, line)| line))
    }

    /// The last line before an id; without one the newest. Reads one row.
    async fn newest_line<L: StatementRow>(
        &self,
        owner: &Wallet,
        before: Option<StatementLineId>,
    ) -> Result<Option<(StatementLineId, L)>, StoreError> {
        let end = before.map(|id| L::key(owner, id));
        let rows = self.0.store.scan_back(&L::prefix(owner), end.as_deref(), 1).await?;
        rows.first().map(|(key, row)| decode_line(key, row)).transpose()
    }

    /// The id before the first line at or after this time. Later lines have later times, so it is found by halving.
    ///
    /// # Errors
    /// When storage fails or a line is corrupt.
    pub async fn statement_position(&self, owner: &Wallet, time: Timestamp) -> Result<StatementLineId, StoreError> {
        self.position_of::<StatementLine>(owner, time).await
    }

    /// The same in the statement of an owner's agent wallet.
    ///
    /// # Errors
    /// As [`Engine::statement_position`].
    pub async fn wallet_statement_position(
        &self,
        owner: &Wallet,
        time: Timestamp,
    ) -> Result<StatementLineId, StoreError> {
        self.position_of::<WalletStatementLine>(owner, time).await
    }

    pub(super) async fn position_of<L: StatementRow>(
        &self,
        owner: &Wallet,
        time: Timestamp,
    ) -> Result<StatementLineId, StoreError> {
        let newest = self.newest_line::<L>(owner, None).await?;
        let (mut low, mut high) = (0, newest.map_or(0, |(id, _)| id.index().saturating_add(1)));
        while low < high {
            let middle = low.midpoint(high);
            let after = middle
                .checked_sub(1)
                .map(|last| StatementLineId::at_index(last, u128::MAX));
            let (read, _) = self.lines_of::<L>(owner, ListStart::After(after), 1).await?;
            match read.first() {
                Some((_, row)) if row.line().at < time => low = middle.saturating_add(1),
                _ => high = middle,
            }
        }
        Ok(StatementLineId::at_index(low, 0))
    }
}

/// A row of a statement: of the balance, or of the agent wallet.
pub(super) trait StatementRow: Stored + Clone + Send {
    /// Prefix of an owner's rows.
    fn prefix(owner: &Wallet) -> RowKey;
    /// Key of one.
    fn key(owner: &Wallet, id: StatementLineId) -> RowKey;
    /// The change.
    fn line(&self) -> &StatementLine;
}

impl StatementRow for StatementLine {
    fn prefix(owner: &Wallet) -> RowKey {
        table::statement_lines(owner)
    }

    fn key(owner: &Wallet, id: StatementLineId) -> RowKey {
        table::statement_line(owner, id)
    }

    fn line(&self) -> &StatementLine {
        self
    }
}

impl StatementRow for WalletStatementLine {
    fn prefix(owner: &Wallet) -> RowKey {
        table::wallet_statement_lines(owner)
    }

    fn key(owner: &Wallet, id: StatementLineId) -> RowKey {
        table::wallet_statement_line(owner, id)
    }

    fn line(&self) -> &StatementLine {
        &self.line
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

fn decode_line<L: StatementRow>(key: &RowKey, row: &Row) -> Result<(StatementLineId, L), StoreError> {
    let id = key.last_chunk().map_or(0, |b| u128::from_be_bytes(*b));
    let entry = codec::decode(&row.value).map_err(|e| StoreError::Corrupt(e.to_string()))?;
    Ok((StatementLineId(id), entry))
}
