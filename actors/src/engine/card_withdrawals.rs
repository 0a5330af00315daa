//! Withdrawals from card balances: requested by owners, paid by operators.

use std::convert::Infallible;
use std::time::Duration;

use purser_storage::StoreError;

use super::approvals::Authority;
use super::balance_spends::{BalanceSpend, SpendDenied};
use super::jobs::with_timeout_ms;
use super::spend_approvals::AgentSpend;
use super::{ApprovalPending, Engine, OperationError};
use crate::approval::ApprovableAction;
use crate::entity::account::Account;
use crate::entity::card_withdrawal::{CardWithdrawal, Command, Rejection};
use crate::entity::spend_approval::SpendUse;
use crate::id::{Wallet, WithdrawalId};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, IdempotencyRecorder, table};
use crate::lease::Lease;
use crate::money::{Cents, Usdc};
use crate::operator::{AuditExtras, AuditedAction, OperatorAction};
use crate::port::HoldStatus;

type WithdrawalResult<T, O = Infallible> = Result<T, OperationError<Rejection, O>>;

impl Engine {
    /// Requests a withdrawal from the card balance. An operator pays it out once the issuer has placed the hold, for
    /// which [`Engine::await_card_withdrawal`] waits.
    ///
    /// # Errors
    /// As [`Engine::create_reloadable`].
    pub async fn withdraw_card_balance(
        &self,
        (id, owner, account): (WithdrawalId, Wallet, [u8; 20]),
        (to, amount): (Wallet, Cents),
        recorder: Option<IdempotencyRecorder<CardWithdrawal>>,
    ) -> WithdrawalResult<()> {
        let command = Command::Request {
            owner,
            account,
            to,
            amount,
        };
        let asked = self.ask_idempotent(&self.0.registries.card_withdrawals, id, command, recorder);
        asked.await.map(drop)
    }

    /// As [`Engine::withdraw_card_balance`], for an agent: within the limits of the owner and of the agent's API key,
    /// and counted against them. `None` is the owner at the account page.
    ///
    /// # Errors
    /// As [`Engine::withdraw_card_balance`], and [`SpendDenied`].
    pub async fn withdraw_card_balance_for(
        &self,
        asked: Option<&AgentSpend>,
        (id, owner, account): (WithdrawalId, Wallet, [u8; 20]),
        (to, amount): (Wallet, Cents),
        recorder: Option<IdempotencyRecorder<CardWithdrawal>>,
    ) -> WithdrawalResult<(), SpendDenied> {
        let command = Command::Request {
            owner,
            account,
            to,
            amount,
        };
        let spend = BalanceSpend {
            owner,
            asked,
            used_by: SpendUse::CardBalanceWithdrawal(id),
        };
        let withdrawals = &self.0.registries.card_withdrawals;
        // The issuer has the balance, and is asked before this.
        let refusal = |_: Option<&Account>| None;
        let done = self.ask_within_limits(withdrawals, id, command, spend, refusal, recorder);
        done.await.map(drop)
    }

    /// Waits until the issuer has placed the hold or declined it. The caller sets the timeout.
    pub async fn await_card_withdrawal(&self, id: WithdrawalId) -> Option<CardWithdrawal> {
        self.0.registries.card_withdrawals.outcome(id, 0).await.ok()
    }

    /// A withdrawal from a card balance.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn card_withdrawal(&self, id: &WithdrawalId) -> Result<Option<CardWithdrawal>, LoadError> {
        let read = self.0.registries.card_withdrawals.read(id).await?;
        Ok(read.map(|(withdrawal, _)| withdrawal))
    }

    async fn ask_card_withdrawal(
        &self,
        id: WithdrawalId,
        act: &OperatorAction,
        command: impl Fn(AuditedAction) -> Command + Send + Sync,
    ) -> WithdrawalResult<Option<Lease>> {
        let one = self.lock_operator().await;
        let withdrawals = (&self.0.registries.card_withdrawals, id);
        match self.ask_as_operator(&one, withdrawals, act, command).await {
            Err(AskError::Conflict) => Err(OperationError::Unavailable),
            result => Ok(result?),
        }
    }

    /// Asks the issuer whether the amount is still on hold. A restored store may not know that the withdrawal was
    /// decided since. It is then decided now, as the issuer reports, so that no operator pays or rejects it again.
    /// Returns whether the issuer knows the hold; a withdrawal that is not open is rejected by its state.
    async fn is_hold_open(&self, id: WithdrawalId, act: &OperatorAction) -> WithdrawalResult<bool> {
        let read = self
            .card_withdrawal(&id)
            .await
            .map_err(|_| OperationError::Unavailable)?;
        let reserved = read.filter(CardWithdrawal::is_open).and_then(|asked| asked.hold_key);
        let Some(key) = reserved else { return Ok(true) };
        let patience = Duration::from_millis(self.0.settings.issuer_timeout_ms);
        let status = with_timeout_ms(patience, self.0.ports.reloadable_cards.hold_status(key), "reservation").await;
        let paid = match status {
            Ok(HoldStatus::Held) => return Ok(true),
            Ok(HoldStatus::Settled { paid }) => paid,
            Ok(HoldStatus::NotFound) => return Ok(false),
            Err(error) => {
                tracing::warn!(withdrawal = %id, %error, "the issuer did not report whether the hold still exists");
                return Err(OperationError::Unavailable);
            }
        };
        self.ask_card_withdrawal(id, act, |act| Command::RecordClosedOnReview { act, paid })
            .await?;
        tracing::error!(withdrawal = %id, paid, "a withdrawal was decided in a history that was lost");
        Err(OperationError::Rejected(Rejection::ClosedAtIssuer { paid }))
    }

    /// Checks that the issuer still holds the amount, and that the owner is not frozen.
    async fn check_claimable(&self, id: WithdrawalId, act: &OperatorAction) -> WithdrawalResult<()> {
        if !self.is_hold_open(id, act).await? {
            return Err(OperationError::Rejected(Rejection::HoldMissing));
        }
        let asked = self
            .card_withdrawal(&id)
            .await
            .map_err(|_| OperationError::Unavailable)?;
        if let Some(asked) = asked.filter(CardWithdrawal::is_open)
            && self
                .is_frozen(&asked.owner)
                .await
                .map_err(|_| OperationError::Unavailable)?
        {
            return Err(OperationError::Rejected(Rejection::Frozen));
        }
        Ok(())
    }

    /// Leases a withdrawal to an operator for this number of milliseconds. The issuer is asked first whether it is
    /// still to be paid.
    ///
    /// # Errors
    /// When it is decided already, or another operator's lease is active; [`Rejection::ClosedAtIssuer`] when the issuer
    /// has ended it; [`Rejection::Frozen`] while its owner is frozen; [`OperationError::Unavailable`] when the issuer
    /// does not answer.
    pub async fn claim_card_withdrawal(
        &self,
        id: WithdrawalId,
        act: OperatorAction,
        life_ms: u64,
    ) -> WithdrawalResult<Lease> {
        self.check_claimable(id, &act).await?;
        let claim = |act| Command::Claim { act, life_ms };
        let claimed = self.ask_card_withdrawal(id, &act, claim).await?;
        claimed.ok_or(OperationError::Unavailable)
    }

    /// Replaces the operator's lease by one that lasts this number of milliseconds from now. The issuer is asked first,
    /// as before a claim.
    ///
    /// # Errors
    /// As [`Engine::claim_card_withdrawal`], and when this operator does not hold the current lease under this number.
    pub async fn renew_card_withdrawal(
        &self,
        id: WithdrawalId,
        act: OperatorAction,
        lease: u64,
        life_ms: u64,
    ) -> WithdrawalResult<Lease> {
        self.check_claimable(id, &act).await?;
        let renew = |act| Command::Renew { act, lease, life_ms };
        let renewed = self.ask_card_withdrawal(id, &act, renew).await?;
        renewed.ok_or(OperationError::Unavailable)
    }

    /// Returns a withdrawal to the queue without payment.
    ///
    /// # Errors
    /// When it is not claimed, the lease number is stale, or another operator holds the lease.
    pub async fn release_card_withdrawal(
        &self,
        id: WithdrawalId,
        act: OperatorAction,
        lease: u64,
    ) -> WithdrawalResult<()> {
        let release = |act| Command::Release { act, lease };
        self.ask_card_withdrawal(id, &act, release).await.map(drop)
    }

    /// Records the payment by the operator with the active lease. The issuer is asked first, as before a claim: after a
    /// restore, the withdrawal may already have been paid under this lease.
    ///
    /// # Errors
    /// When this operator does not hold this lease; [`OperationError::AlreadyUsed`] when the transaction paid another
    /// withdrawal.
    pub async fn fulfil_card_withdrawal(
        &self,
        id: WithdrawalId,
        act: OperatorAction,
        lease: u64,
        transaction: String,
    ) -> WithdrawalResult<(), ApprovalPending> {
        self.fulfil_card_withdrawal_by(id, Authority::Requester(&act), lease, transaction)
            .await
    }

    /// Records the payment under an authority that was already checked.
    pub(super) async fn fulfil_card_withdrawal_by(
        &self,
        id: WithdrawalId,
        leave: Authority<'_>,
        lease: u64,
        transaction: String,
    ) -> WithdrawalResult<(), ApprovalPending> {
        self.is_hold_open(id, leave.act())
            .await
            .map_err(OperationError::widen)?;
        let fulfil = |act| Command::Fulfil {
            act,
            lease,
            transaction: transaction.clone(),
        };
        let gift = || ApprovableAction::PayCardWithdrawal {
            withdrawal: id,
            lease,
            transaction: transaction.clone(),
        };
        let one = self.lock_operator().await;
        let asked = self
            .card_withdrawal(&id)
            .await
            .map_err(|_| OperationError::Unavailable)?;
        let amount = asked.as_ref().and_then(|asked| Usdc::from_cents(asked.amount).ok());
        let beside = match amount.filter(|_| self.would_change(asked.as_ref(), &id, leave, &fulfil)) {
            Some(amount) => self.authorize_action(&one, leave, amount, gift).await?,
            None => AuditExtras::default(),
        };
        let withdrawals = (&self.0.registries.card_withdrawals, id);
        match self
            .ask_as_operator_with_extras(&one, withdrawals, (leave.act(), &beside), fulfil)
            .await
        {
            Err(AskError::Conflict) => {
                let row = self.0.store.read(&table::withdrawal_transaction(&transaction)).await;
                match row.map_err(|_| OperationError::Unavailable)? {
                    Some(_) => Err(OperationError::AlreadyUsed),
                    None => Err(OperationError::Unavailable),
                }
            }
            result => Ok(result.map(drop)?),
        }
    }

    /// Rejects a withdrawal; the issuer releases its hold, if it ever placed one. The issuer is asked first, as before
    /// a claim.
    ///
    /// # Errors
    /// When it is decided already, or another operator's lease is active; as [`Engine::claim_card_withdrawal`].
    pub async fn reject_card_withdrawal(
        &self,
        id: WithdrawalId,
        act: OperatorAction,
        lease: Option<u64>,
        reason: String,
    ) -> WithdrawalResult<()> {
        self.is_hold_open(id, &act).await?;
        let reject = |act| Command::Reject {
            act,
            lease,
            reason: reason.clone(),
        };
        self.ask_card_withdrawal(id, &act, reject).await.map(drop)
    }

    /// Withdrawals from card balances that an operator still has to decide, oldest first, at most `limit`, after the
    /// given one; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn card_withdrawal_queue(
        &self,
        after: Option<WithdrawalId>,
        limit: usize,
    ) -> Result<(Vec<(WithdrawalId, CardWithdrawal)>, bool), StoreError> {
        let damaged = |e: LoadError| StoreError::Corrupt(e.to_string());
        let after = match after {
            None => None,
            Some(id) => self
                .card_withdrawal(&id)
                .await
                .map_err(damaged)?
                .map(|w| table::card_withdrawal_queue(w.created_at, id)),
        };
        let prefix = [table::CARD_WITHDRAWAL_QUEUE];
        let rows = self.0.store.scan(&prefix, after.as_deref(), limit.saturating_add(1));
        let rows = rows.await?;
        let more = rows.len() > limit;
        let mut found = Vec::with_capacity(rows.len().min(limit));
        for (key, _) in rows.into_iter().take(limit) {
            let Some((_, id)) = table::created_and_id(&key) else {
                continue;
            };
            let id = WithdrawalId(id);
            let read = self.card_withdrawal(&id).await.map_err(damaged)?;
            // Decided since the rows were read.
            found.extend(read.filter(CardWithdrawal::is_open).map(|withdrawal| (id, withdrawal)));
        }
        Ok((found, more))
    }
}
