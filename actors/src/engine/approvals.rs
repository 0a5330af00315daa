//! What operators give: alone up to the limits, above them once another has approved it. One way for every act that does.

use purser_storage::{CommitError, Condition, StoreError, Write, codec};

use super::operator_actions::{AuditEntry, OperatorLock};
use super::operators::{corrupt, put_row};
use super::{
    ApprovalPending, Attribution, AttributionError, Engine, IncomingDecision, IncomingDecisionError, JobOutcome,
    JobResolution, ListPosition, OperationError, ResolveError,
};
use crate::approval::{ApprovableAction, OperatorDailyTotal, PendingApproval};
use crate::id::ApprovalId;
use crate::kernel::{Context, Entity, table};
use crate::money::Usdc;
use crate::operator::{AuditExtras, AuditPosition, AuditedAction, OperatorAction};
use crate::port::DAY_MS;
use crate::{card_withdrawal, intl_order};

/// By whose leave an act is done.
#[derive(Clone, Copy)]
pub(super) enum Authority<'a> {
    /// Whoever asks for it: alone, if the limits allow it.
    Requester(&'a OperatorAction),
    /// It was asked for, and another has approved it.
    Approved(&'a PendingApproval, &'a OperatorAction),
}

impl<'a> Authority<'a> {
    /// Whose act it is: who asked for it, whoever approved it.
    pub(super) const fn act(self) -> &'a OperatorAction {
        match self {
            Self::Requester(act) => act,
            Self::Approved(pending, _) => &pending.requested_by,
        }
    }
}

/// Why an act that gives money is not done now.
pub(super) enum AuthorityError {
    /// It waits for another operator.
    ApprovalPending(ApprovalId),
    /// Ask again later.
    Unavailable,
}

/// Why nothing was approved. Nothing has changed.
#[derive(Debug)]
pub enum ApprovalError {
    /// Nothing of this id waits, or its time is over.
    NotFound,
    /// Whoever asked for it does not approve it.
    SelfApproval,
    /// It gives another amount.
    AmountMismatch,
    /// What came of work was not taken.
    Resolve(ResolveError),
    /// An order was not refused.
    IntlOrder(OperationError<intl_order::Rejection, ApprovalPending>),
    /// A withdrawal is not paid.
    CardWithdrawal(OperationError<card_withdrawal::Rejection, ApprovalPending>),
    /// Nothing was decided about a transfer.
    IncomingTransfer(IncomingDecisionError),
    /// A transfer was not booked.
    Attribution(AttributionError),
    /// Ask again later.
    Unavailable,
}

impl From<AuthorityError> for ResolveError {
    fn from(not: AuthorityError) -> Self {
        match not {
            AuthorityError::ApprovalPending(id) => Self::ApprovalPending(id),
            AuthorityError::Unavailable => Self::Unavailable,
        }
    }
}

impl From<AuthorityError> for AttributionError {
    fn from(not: AuthorityError) -> Self {
        match not {
            AuthorityError::ApprovalPending(id) => Self::ApprovalPending(id),
            AuthorityError::Unavailable => Self::Unavailable,
        }
    }
}

impl From<AuthorityError> for IncomingDecisionError {
    fn from(not: AuthorityError) -> Self {
        match not {
            AuthorityError::ApprovalPending(id) => Self::ApprovalPending(id),
            AuthorityError::Unavailable => Self::Unavailable,
        }
    }
}

impl<R> From<AuthorityError> for OperationError<R, ApprovalPending> {
    fn from(not: AuthorityError) -> Self {
        match not {
            AuthorityError::ApprovalPending(id) => Self::Specific(ApprovalPending(id)),
            AuthorityError::Unavailable => Self::Unavailable,
        }
    }
}

impl Engine {
    /// Asks for the leave to give so much: what the act's batch brings with it, so that it counts against the limits of whoever
    /// does it alone, or takes what was approved off the list. What is too much for one is put on the list.
    ///
    /// # Errors
    /// [`NotGiven`]: the act is not done now.
    pub(super) async fn authorize_action(
        &self,
        one: &OperatorLock<'_>,
        leave: Authority<'_>,
        amount: Usdc,
        gift: impl FnOnce() -> ApprovableAction + Send,
    ) -> Result<AuditExtras, AuthorityError> {
        match leave {
            Authority::Requester(act) => match self.check_own_limits(act, amount).await {
                Ok(Some(mut beside)) => {
                    // It may have waited since a day on which it was too much.
                    let key = table::approval(ApprovalId::for_action(&gift(), amount));
                    let row = self.0.store.read(&key).await.map_err(|error| storage_error(&error))?;
                    beside.writes.extend(row.map(|_| Write::Delete { key }));
                    Ok(beside)
                }
                Ok(None) => self.request_approval(one, act, amount, gift()).await,
                Err(error) => Err(storage_error(&error)),
            },
            // What it gives has changed since it was asked for: it is asked for anew.
            Authority::Approved(pending, _) if amount > pending.amount => Err(AuthorityError::Unavailable),
            Authority::Approved(pending, by) => {
                let id = ApprovalId::for_action(&pending.action, pending.amount);
                let key = table::approval(id);
                Ok(AuditExtras {
                    approved_by: Some((by.clone(), id.to_string())),
                    conditions: vec![Condition::Present(key.clone())],
                    writes: vec![Write::Delete { key }],
                })
            }
        }
    }

    /// Whether an entity would do what is asked now, and it is not done yet: what it refuses is not put on a list.
    pub(super) fn would_change<E: Entity>(
        &self,
        state: Option<&E>,
        id: &E::Id,
        leave: Authority<'_>,
        command: &(impl Fn(AuditedAction) -> E::Command + Send + Sync),
    ) -> bool {
        let deed = AuditedAction {
            act: leave.act().clone(),
            position: AuditPosition::FIRST,
            extras: Box::default(),
        };
        let context = Context::new(self.0.clock.now(), 0);
        let decided = E::decide(state, id, command(deed), &context);
        decided.is_ok_and(|decision| !decision.is_empty())
    }

    /// What counts it as given alone, if that is within the limits.
    pub(super) async fn check_own_limits(
        &self,
        act: &OperatorAction,
        amount: Usdc,
    ) -> Result<Option<AuditExtras>, StoreError> {
        let key = table::operator_daily_total(&act.operator);
        let row = self.0.store.read(&key).await?;
        let revision = row.as_ref().map_or(0, |row| row.revision);
        let before: Option<OperatorDailyTotal> =
            row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()?;
        let day = self.0.clock.now().0 / DAY_MS;
        let today = before
            .filter(|given| given.day == day)
            .map_or(Usdc::ZERO, |given| given.sum);
        if !self.0.settings.approvals.allow(today, amount) {
            return Ok(None);
        }
        let sum = today.checked_add(amount).map_err(corrupt)?;
        let by = act.operator.clone();
        Ok(Some(AuditExtras {
            approved_by: None,
            conditions: vec![Condition::Revision(key.clone(), revision)],
            writes: vec![Write::Put {
                key,
                revision: revision.saturating_add(1),
                value: codec::encode(&OperatorDailyTotal { operator: by, day, sum }),
            }],
        }))
    }

    /// Puts it on the list, unless it is there.
    async fn request_approval(
        &self,
        one: &OperatorLock<'_>,
        act: &OperatorAction,
        amount: Usdc,
        gift: ApprovableAction,
    ) -> Result<AuditExtras, AuthorityError> {
        let (id, now) = (ApprovalId::for_action(&gift, amount), self.0.clock.now());
        let known = self.approval(id).await.map_err(|error| storage_error(&error))?;
        if known.is_some() {
            return Err(AuthorityError::ApprovalPending(id));
        }
        let words = AuditEntry {
            act,
            action: "approval.request",
            subject: format!("{id} {} {} {}", gift.name(), gift.subject(), amount.decimal()),
            note: Some(gift.audit_note()),
            extras: AuditExtras::default(),
        };
        let pending = PendingApproval {
            action: gift,
            amount,
            requested_by: act.clone(),
            requested_at: now,
            expires_at: now.plus_ms(self.0.settings.approvals.validity_ms),
        };
        match self
            .commit_with_audit(one, &words, Vec::new(), vec![put_row(table::approval(id), &pending)])
            .await
        {
            Ok(()) => Err(AuthorityError::ApprovalPending(id)),
            Err(_) => Err(AuthorityError::Unavailable),
        }
    }

    /// An act that waits for a second operator.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn approval(&self, id: ApprovalId) -> Result<Option<PendingApproval>, StoreError> {
        let row = self.0.store.read(&table::approval(id)).await?;
        let pending: Option<PendingApproval> = row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()?;
        Ok(pending.filter(|pending| self.0.clock.now() < pending.expires_at))
    }

    /// Acts that wait for a second operator, the oldest first, behind a place, at most `limit`; each with its own place. Reads all
    /// that wait.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn approvals(
        &self,
        after: Option<ListPosition>,
        limit: usize,
    ) -> Result<Vec<(ListPosition, PendingApproval)>, StoreError> {
        const PAGE: usize = 500;
        let (mut found, mut behind) = (Vec::new(), None);
        loop {
            let rows = self.0.store.scan(&[table::APPROVAL], behind.as_deref(), PAGE).await?;
            for (key, row) in &rows {
                let pending: PendingApproval = codec::decode(&row.value).map_err(corrupt)?;
                let id = key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id));
                if self.0.clock.now() < pending.expires_at {
                    found.push(((pending.requested_at, id), pending));
                }
            }
            match rows.into_iter().last() {
                Some((key, _)) => behind = Some(key),
                None => break,
            }
        }
        found.sort_by_key(|(place, _)| *place);
        found.retain(|(place, _)| after.is_none_or(|after| *place > after));
        found.truncate(limit);
        Ok(found)
    }

    /// Takes what this operator has asked for from the list.
    pub(super) async fn delete_approvals_requested_by(&self, name: &str) -> Result<Vec<Write>, StoreError> {
        let waiting = self.approvals(None, usize::MAX).await?;
        let own = waiting
            .iter()
            .filter(|(_, pending)| pending.requested_by.operator == name);
        let rows = own.map(|((_, id), _)| Write::Delete {
            key: table::approval(ApprovalId(*id)),
        });
        Ok(rows.collect())
    }

    /// Another operator approves an act that gives this amount: it is done, as it was asked for.
    ///
    /// # Errors
    /// [`NotApproved`]; then it waits as before.
    pub async fn approve(
        &self,
        id: ApprovalId,
        amount: Usdc,
        act: &OperatorAction,
    ) -> Result<PendingApproval, ApprovalError> {
        let pending = self.approval(id).await.map_err(|_| ApprovalError::Unavailable)?;
        let pending = pending.ok_or(ApprovalError::NotFound)?;
        if pending.requested_by.operator == act.operator {
            return Err(ApprovalError::SelfApproval);
        }
        if pending.amount != amount {
            return Err(ApprovalError::AmountMismatch);
        }
        self.execute_approved(&pending, Authority::Approved(&pending, act))
            .await?;
        Ok(pending)
    }

    /// Does what was approved.
    async fn execute_approved(&self, pending: &PendingApproval, leave: Authority<'_>) -> Result<(), ApprovalError> {
        match &pending.action {
            ApprovableAction::CreditJob {
                job: effect,
                evidence,
                funds_not_sent: not_left,
            } => {
                let told = self.credit_job_by(*effect, (evidence, *not_left), leave).await;
                told.map_err(ApprovalError::Resolve)?;
            }
            ApprovableAction::ResolveJob {
                job: effect,
                done,
                reference,
                evidence,
            } => {
                let resolution = JobResolution {
                    outcome: if *done {
                        JobOutcome::Completed
                    } else {
                        JobOutcome::NotCompleted
                    },
                    reference: reference.clone(),
                    evidence: evidence.clone(),
                };
                let told = self.resolve_by(*effect, &resolution, leave).await;
                told.map_err(ApprovalError::Resolve)?;
            }
            ApprovableAction::RejectIntlOrder { order, lease, reason } => {
                let told = self.reject_intl_by(*order, leave, *lease, reason.clone()).await;
                told.map_err(ApprovalError::IntlOrder)?;
            }
            ApprovableAction::PayCardWithdrawal {
                withdrawal,
                lease,
                transaction,
            } => {
                let told = self.fulfil_card_withdrawal_by(*withdrawal, leave, *lease, transaction.clone());
                told.await.map_err(ApprovalError::CardWithdrawal)?;
            }
            ApprovableAction::DecideIncoming {
                deposit,
                account,
                send_back: returns,
                evidence,
            }
            | ApprovableAction::DecideIncomingKeepingPayout {
                deposit,
                account,
                send_back: returns,
                evidence,
            } => {
                let keeps = matches!(pending.action, ApprovableAction::DecideIncomingKeepingPayout { .. });
                let rule = IncomingDecision::from_approval(*account, (*returns, keeps));
                let told = self.decide_incoming_by(*deposit, rule, (leave, evidence.clone()));
                told.await.map_err(ApprovalError::IncomingTransfer)?;
            }
            ApprovableAction::AttributeLoss { .. }
            | ApprovableAction::AttributeOrder { .. }
            | ApprovableAction::AttributeOutlay { .. } => {
                self.attribute_approved(pending, leave).await?;
            }
        }
        Ok(())
    }

    /// Books what was approved to be booked.
    async fn attribute_approved(&self, pending: &PendingApproval, leave: Authority<'_>) -> Result<(), ApprovalError> {
        let (name, booking, evidence) = match &pending.action {
            ApprovableAction::AttributeLoss { transaction, evidence } => {
                let loss = (Attribution::Loss, Some(pending.amount));
                (transaction, loss, evidence)
            }
            ApprovableAction::AttributeOrder {
                order,
                account,
                evidence,
            } => (order, (Attribution::Account(*account), None), evidence),
            ApprovableAction::AttributeOutlay {
                transaction,
                outlay,
                evidence,
            } => (transaction, (Attribution::Outlay(*outlay), None), evidence),
            _ => return Err(ApprovalError::NotFound),
        };
        let told = self.attribute_by(name, booking, (leave, evidence.clone())).await;
        told.map(drop).map_err(ApprovalError::Attribution)
    }

    /// An operator takes an act off the list, another's or their own: it is not done.
    ///
    /// # Errors
    /// [`NotApproved::Unknown`] or [`NotApproved::Unavailable`].
    pub async fn reject_approval(
        &self,
        id: ApprovalId,
        reason: String,
        act: &OperatorAction,
    ) -> Result<PendingApproval, ApprovalError> {
        let one = self.lock_operator().await;
        let pending = self.approval(id).await.map_err(|_| ApprovalError::Unavailable)?;
        let pending = pending.ok_or(ApprovalError::NotFound)?;
        let words = AuditEntry {
            act,
            action: "approval.reject",
            subject: id.to_string(),
            note: Some(reason),
            extras: AuditExtras::default(),
        };
        let key = table::approval(id);
        let there = vec![Condition::Present(key.clone())];
        match self
            .commit_with_audit(&one, &words, there, vec![Write::Delete { key }])
            .await
        {
            Ok(()) => Ok(pending),
            Err(CommitError::Condition(_)) => Err(ApprovalError::NotFound),
            Err(_) => Err(ApprovalError::Unavailable),
        }
    }
}

fn storage_error(error: &StoreError) -> AuthorityError {
    tracing::error!(%error, "what an operator has given could not be read");
    AuthorityError::Unavailable
}
