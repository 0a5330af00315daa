//! Approvals of operator actions that give money. An operator acts alone up to the limits, and above them with a second
//! operator's approval.

use purser_storage::{CommitError, Condition, StoreError, Write, codec};

use super::operator_actions::{AuditEntry, OperatorLock};
use super::operators::{corrupt, put_row};
use super::{
    ApprovalPending, Attribution, AttributionError, Engine, IncomingDecision, IncomingDecisionError, JobOutcome,
    JobResolution, ListPosition, OperationError, ResolveError,
};
use crate::approval::{ApprovableAction, ApprovalLimits, OperatorDailyTotal, PendingApproval};
use crate::entity::{card_withdrawal, intl_order};
use crate::id::{ApprovalId, ShardId};
use crate::kernel::{Context, Entity, table};
use crate::money::Usdc;
use crate::operator::{AuditAction, AuditExtras, AuditPosition, AuditedAction, OperatorAction};
use crate::port::DAY_MS;

/// Authority under which an action runs.
#[derive(Clone, Copy)]
pub(super) enum Authority<'a> {
    /// The requesting operator alone, within the limits.
    Requester(&'a OperatorAction),
    /// A pending approval, and the operator who approved it.
    Approved(&'a PendingApproval, &'a OperatorAction),
}

impl<'a> Authority<'a> {
    /// The action to record: the requester's, even if another operator approved it.
    pub(super) const fn act(self) -> &'a OperatorAction {
        match self {
            Self::Requester(act) => act,
            Self::Approved(pending, _) => &pending.requested_by,
        }
    }
}

/// Why an action that gives money is not done now.
pub(super) enum AuthorityError {
    /// It waits for another operator.
    ApprovalPending(ApprovalId),
    /// A dependency did not answer. Retry later.
    Unavailable,
}

/// Why nothing was approved. Nothing has changed.
#[derive(Debug)]
pub enum ApprovalError {
    /// No pending approval has this id, or it has expired.
    NotFound,
    /// The requester can't approve their own request.
    SelfApproval,
    /// The request has another amount.
    AmountMismatch,
    /// The job was not resolved.
    Resolve(ResolveError),
    /// The order was not rejected.
    IntlOrder(OperationError<intl_order::Rejection, ApprovalPending>),
    /// The withdrawal was not paid.
    CardWithdrawal(OperationError<card_withdrawal::Rejection, ApprovalPending>),
    /// The incoming transfer was not decided.
    IncomingTransfer(IncomingDecisionError),
    /// The transfer was not attributed.
    Attribution(AttributionError),
    /// A dependency did not answer. Retry later.
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
    /// Authorizes an action that gives this amount, and returns the writes for the action's batch. They count it
    /// against the limits of an operator who acts alone, or delete the pending approval. An action above the limits
    /// becomes a pending approval.
    ///
    /// # Errors
    /// [`AuthorityError`]: the action is not done now.
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
                    // It may have been pending since a day on which it exceeded the limit.
                    let key = table::approval(ApprovalId::for_action(&gift(), amount));
                    let row = self.0.store.read(&key).await.map_err(|error| storage_error(&error))?;
                    beside.writes.extend(row.map(|_| Write::Delete { key }));
                    Ok(beside)
                }
                Ok(None) => self.request_approval(one, act, amount, gift()).await,
                Err(error) => Err(storage_error(&error)),
            },
            // The amount has changed since the request: a new request is needed.
            Authority::Approved(pending, _) if amount > pending.amount => Err(AuthorityError::Unavailable),
            Authority::Approved(pending, by) => {
                let id = ApprovalId::for_action(&pending.action, pending.amount);
                let key = table::approval(id);
                Ok(AuditExtras {
                    approved_by: Some((by.clone(), audit_subject(id, &pending.action, pending.amount))),
                    conditions: vec![Condition::Present(key.clone())],
                    writes: vec![Write::Delete { key }],
                })
            }
        }
    }

    /// Whether an entity would accept the command and it is not yet done. A command it rejects never becomes a pending
    /// approval.
    pub(super) fn would_change<E: Entity>(
        &self,
        state: Option<&E>,
        id: &E::Id,
        leave: Authority<'_>,
        command: &(impl Fn(AuditedAction) -> E::Command + Send + Sync),
    ) -> bool {
        let audited = AuditedAction {
            act: leave.act().clone(),
            position: AuditPosition::FIRST,
            extras: Box::default(),
        };
        let context = Context::new(self.0.clock.now(), 0, ShardId::of_id(0));
        let decided = E::decide(state, id, command(audited), &context);
        decided.is_ok_and(|decision| !decision.is_empty())
    }

    /// What the operator gave alone today.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn given_alone_today(&self, operator: &str) -> Result<Usdc, StoreError> {
        self.daily_total(operator).await.map(|(_, today)| today)
    }

    /// Revision of the operator's daily total, and its sum if it is today's.
    async fn daily_total(&self, operator: &str) -> Result<(u64, Usdc), StoreError> {
        let row = self.0.store.read(&table::operator_daily_total(operator)).await?;
        let revision = row.as_ref().map_or(0, |row| row.revision);
        let given: Option<OperatorDailyTotal> =
            row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()?;
        let day = self.0.clock.now().0 / DAY_MS;
        let today = given.filter(|given| given.day == day);
        Ok((revision, today.map_or(Usdc::ZERO, |given| given.sum)))
    }

    /// Limits of what one operator may give alone.
    pub fn approval_limits(&self) -> ApprovalLimits {
        self.0.settings.approvals
    }

    /// The write that counts the action against the operator's own limits, if it is within them.
    pub(super) async fn check_own_limits(
        &self,
        act: &OperatorAction,
        amount: Usdc,
    ) -> Result<Option<AuditExtras>, StoreError> {
        let (revision, today) = self.daily_total(&act.operator).await?;
        if !self.0.settings.approvals.allow(today, amount) {
            return Ok(None);
        }
        let sum = today.checked_add(amount).map_err(corrupt)?;
        let (key, by) = (table::operator_daily_total(&act.operator), act.operator.clone());
        let day = self.0.clock.now().0 / DAY_MS;
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

    /// Stores the pending approval, unless it exists.
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
            action: AuditAction::ApprovalRequest,
            subject: audit_subject(id, &gift, amount),
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

    /// An action that awaits a second operator.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn approval(&self, id: ApprovalId) -> Result<Option<PendingApproval>, StoreError> {
        let row = self.0.store.read(&table::approval(id)).await?;
        let pending: Option<PendingApproval> = row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()?;
        Ok(pending.filter(|pending| self.0.clock.now() < pending.expires_at))
    }

    /// Actions that await a second operator, oldest first, after a position, at most `limit`; each with its own
    /// position. Reads all pending approvals.
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

    /// Deletes the pending approvals that this operator requested.
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

    /// Approves a pending action of this amount by another operator: it is done as requested.
    ///
    /// # Errors
    /// [`ApprovalError`]; the action then stays pending.
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

    /// Executes an approved action.
    async fn execute_approved(&self, pending: &PendingApproval, leave: Authority<'_>) -> Result<(), ApprovalError> {
        match &pending.action {
            ApprovableAction::CreditJob {
                job,
                evidence,
                funds_not_sent: not_left,
            } => {
                let result = self.credit_job_by(*job, (evidence, *not_left), leave).await;
                result.map_err(ApprovalError::Resolve)?;
            }
            ApprovableAction::ResolveJob {
                job,
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
                let result = self.resolve_by(*job, &resolution, leave).await;
                result.map_err(ApprovalError::Resolve)?;
            }
            ApprovableAction::RejectIntlOrder { order, lease, reason } => {
                let result = self.reject_intl_by(*order, leave, *lease, reason.clone()).await;
                result.map_err(ApprovalError::IntlOrder)?;
            }
            ApprovableAction::PayCardWithdrawal {
                withdrawal,
                lease,
                transaction,
            } => {
                let result = self.fulfil_card_withdrawal_by(*withdrawal, leave, *lease, transaction.clone());
                result.await.map_err(ApprovalError::CardWithdrawal)?;
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
                let result = self.decide_incoming_by(*deposit, rule, (leave, evidence.clone()));
                result.await.map_err(ApprovalError::IncomingTransfer)?;
            }
            ApprovableAction::AttributeLoss { .. }
            | ApprovableAction::AttributeOrder { .. }
            | ApprovableAction::AttributeOutlay { .. } => {
                self.attribute_approved(pending, leave).await?;
            }
        }
        Ok(())
    }

    /// Executes an approved attribution.
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
        let result = self.attribute_by(name, booking, (leave, evidence.clone())).await;
        result.map(drop).map_err(ApprovalError::Attribution)
    }

    /// Rejects a pending action, another operator's or the operator's own: it is not done.
    ///
    /// # Errors
    /// [`ApprovalError::NotFound`] or [`ApprovalError::Unavailable`].
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
            action: AuditAction::ApprovalReject,
            subject: audit_subject(id, &pending.action, pending.amount),
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

/// Subject of the audit records of one approval: the request, the approval and the rejection name the same action.
fn audit_subject(id: ApprovalId, action: &ApprovableAction, amount: Usdc) -> String {
    format!(
        "{id} {} {} {}",
        action.kind().name(),
        action.subject(),
        amount.decimal()
    )
}

fn storage_error(error: &StoreError) -> AuthorityError {
    tracing::error!(%error, "what an operator has given could not be read");
    AuthorityError::Unavailable
}
