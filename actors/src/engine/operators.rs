//! Operator actions: international card orders, operator tokens and the audit log.

use std::convert::Infallible;

use purser_storage::codec::{self, Stored};
use purser_storage::{CommitError, Condition, StoreError, Write};

use super::approvals::Authority;
use super::operator_actions::{AuditEntry, OperatorLock};
use super::refunds::refunded_amount;
use super::{ApprovalPending, Engine, ExceedsOperatorLimit, MAX_CONFLICT_RETRIES, OperationError};
use crate::approval::ApprovableAction;
use crate::entity::intl_order::{self, EnteredCard, IntlOrder, Status};
use crate::entity::late_return::LateReturn;
use crate::entity::refund::Refunded;
use crate::id::{CardId, LateReturnId};
use crate::kernel::{AskError, IdempotencyRecorder, audit_log, request_context, table};
use crate::lease::Lease;
use crate::money::Usdc;
use crate::operator::{
    AuditAction, AuditExtras, AuditPosition, AuditRecord, AuditedAction, OperatorAction, OperatorToken, Role,
};
use crate::port::{CardAction, Timestamp};

/// An order that an operator still has to decide.
#[derive(Clone, Debug)]
pub struct QueuedOrder {
    /// Id of the card.
    pub id: CardId,
    /// Current state of the order.
    pub order: IntlOrder,
    /// Whether the card may have been issued in a history that a restore lost; see [`Engine::may_be_made_manually`].
    pub in_doubt: bool,
}

/// The token is that of the only administrator: without it, tokens could be neither created nor revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastAdministrator;

/// Position in a list ordered by time: time, then id.
pub type ListPosition = (Timestamp, u128);

/// Result of checking the audit log's hash chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditProof {
    /// Records that form one chain, from the first.
    pub records: u64,
    /// Hash of the last of them; zeros without one.
    pub last_hash: [u8; 32],
    /// Number of the first record that is missing, changed or unreadable.
    pub broken_at: Option<u64>,
}

impl AuditProof {
    const fn broken(expected: AuditPosition) -> Self {
        Self {
            records: expected.sequence.saturating_sub(1),
            last_hash: expected.previous_hash,
            broken_at: Some(expected.sequence),
        }
    }
}

type OrderResult<T, O = Infallible> = Result<T, OperationError<intl_order::Rejection, O>>;

impl Engine {
    /// Asks an order actor for an operator's command. A conflict can only come from an added batch part that was
    /// rejected before.
    async fn ask_order(
        &self,
        id: CardId,
        act: &OperatorAction,
        command: impl Fn(AuditedAction) -> intl_order::Command + Send + Sync,
    ) -> OrderResult<intl_order::Reply> {
        let one = self.lock_operator().await;
        match self
            .ask_as_operator(&one, (&self.0.registries.intl_orders, id), act, command)
            .await
        {
            Err(AskError::Conflict) => Err(OperationError::Unavailable),
            result => Ok(result?),
        }
    }

    /// Cancels an order for its owner. Persists the response if there is an idempotency recorder.
    ///
    /// # Errors
    /// When the order is no longer queued; [`intl_order::Rejection::InDoubt`] when the card may already exist;
    /// [`OperationError::AlreadyUsed`] when another request has used the idempotency key meanwhile.
    pub async fn cancel_intl(&self, id: CardId, recorder: Option<IdempotencyRecorder<IntlOrder>>) -> OrderResult<()> {
        let orders = &self.0.registries.intl_orders;
        let order = self.intl_order(&id).await.map_err(|_| OperationError::Unavailable)?;
        if let Some(order) = order.filter(|order| order.status == Status::Queued)
            && self
                .may_be_made_manually(&order)
                .await
                .map_err(|_| OperationError::Unavailable)?
        {
            return Err(OperationError::Rejected(intl_order::Rejection::InDoubt));
        }
        let cancelled = self
            .ask_idempotent(orders, id, intl_order::Command::Cancel, recorder)
            .await;
        cancelled.map(drop)
    }

    /// Records that the owner is shown an international card's number.
    ///
    /// # Errors
    /// When the card is neither ready nor paused.
    pub async fn reveal_intl(&self, id: CardId) -> OrderResult<()> {
        let orders = &self.0.registries.intl_orders;
        self.ask_idempotent(orders, id, intl_order::Command::Reveal, None)
            .await
            .map(drop)
    }

    /// Leases an order to an operator for this number of milliseconds.
    ///
    /// # Errors
    /// When the order is already decided or another operator's lease is active.
    pub async fn claim_intl(&self, id: CardId, act: OperatorAction, life_ms: u64) -> OrderResult<Lease> {
        let claim = |act| intl_order::Command::Claim { act, life_ms };
        match self.ask_order(id, &act, claim).await? {
            intl_order::Reply::Lease(lease) => Ok(lease),
            intl_order::Reply::Done | intl_order::Reply::ActionRequested(_) => Err(OperationError::Unavailable),
        }
    }

    /// Replaces the operator's lease by one that lasts this number of milliseconds from now.
    ///
    /// # Errors
    /// When the order is already decided, or this operator does not hold the current lease under this number.
    pub async fn renew_intl(&self, id: CardId, act: OperatorAction, lease: u64, life_ms: u64) -> OrderResult<Lease> {
        let renew = |act| intl_order::Command::Renew { act, lease, life_ms };
        match self.ask_order(id, &act, renew).await? {
            intl_order::Reply::Lease(lease) => Ok(lease),
            intl_order::Reply::Done | intl_order::Reply::ActionRequested(_) => Err(OperationError::Unavailable),
        }
    }

    /// Returns a leased order to the queue.
    ///
    /// # Errors
    /// When the order is not claimed, the lease number is stale, or another operator holds the lease.
    pub async fn release_intl(&self, id: CardId, act: OperatorAction, lease: u64) -> OrderResult<()> {
        let release = |act| intl_order::Command::Release { act, lease };
        self.ask_order(id, &act, release).await.map(drop)
    }

    /// Enters the card, by the operator with the active lease.
    ///
    /// # Errors
    /// When this operator does not hold this lease. Nothing of the card is stored then.
    pub async fn fulfil_intl(&self, id: CardId, act: OperatorAction, lease: u64, card: EnteredCard) -> OrderResult<()> {
        let card = Box::new(card);
        let fulfil = |act| intl_order::Command::Fulfil {
            act,
            lease,
            card: card.clone(),
        };
        self.ask_order(id, &act, fulfil).await.map(drop)
    }

    /// Rejects an order; the full charge is credited.
    ///
    /// # Errors
    /// When the order is already decided or another operator's lease is active.
    pub async fn reject_intl(
        &self,
        id: CardId,
        act: OperatorAction,
        lease: Option<u64>,
        reason: String,
    ) -> OrderResult<(), ApprovalPending> {
        self.reject_intl_by(id, Authority::Requester(&act), lease, reason).await
    }

    /// Rejects an order under an authority that was already checked.
    pub(super) async fn reject_intl_by(
        &self,
        id: CardId,
        leave: Authority<'_>,
        lease: Option<u64>,
        reason: String,
    ) -> OrderResult<(), ApprovalPending> {
        let reject = |act| intl_order::Command::Reject {
            act,
            lease,
            reason: reason.clone(),
        };
        let gift = || ApprovableAction::RejectIntlOrder {
            order: id,
            lease,
            reason: reason.clone(),
        };
        let one = self.lock_operator().await;
        let order = self.intl_order(&id).await.map_err(|_| OperationError::Unavailable)?;
        let amount = order.as_ref().map(|order| order.charge.charged);
        let beside = match amount.filter(|_| self.would_change(order.as_ref(), &id, leave, &reject)) {
            Some(amount) => self.authorize_action(&one, leave, amount, gift).await?,
            None => AuditExtras::default(),
        };
        let orders = (&self.0.registries.intl_orders, id);
        match self
            .ask_as_operator_with_extras(&one, orders, (leave.act(), &beside), reject)
            .await
        {
            Err(AskError::Conflict) => Err(OperationError::Unavailable),
            result => Ok(result.map(drop)?),
        }
    }

    /// Adds the owner's action on an international card to the operators' list. Returns false if the card is already in
    /// that state. Persists the response if there is an idempotency recorder.
    ///
    /// # Errors
    /// When the card is neither ready nor paused; [`OperationError::AlreadyUsed`] as above.
    pub async fn request_intl_card_action(
        &self,
        id: CardId,
        action: CardAction,
        recorder: Option<IdempotencyRecorder<IntlOrder>>,
    ) -> OrderResult<bool> {
        let orders = &self.0.registries.intl_orders;
        let command = intl_order::Command::RequestAction(action);
        let asked = self.ask_idempotent(orders, id, command, recorder).await?;
        Ok(asked == intl_order::Reply::ActionRequested(true))
    }

    /// Records what the card issuer reported to an operator about an international card. Credits what the issuer
    /// released.
    ///
    /// # Errors
    /// When the card does not exist yet or any more; [`intl_order::Rejection::Released`] for more than was on it;
    /// [`intl_order::Rejection::Ended`] when an ended card is reported as ready or paused.
    pub async fn report_intl(
        &self,
        id: CardId,
        act: OperatorAction,
        report: intl_order::CardReport,
    ) -> OrderResult<(), ExceedsOperatorLimit> {
        let one = self.lock_operator().await;
        for _ in 0..MAX_CONFLICT_RETRIES {
            if let Some(result) = self.try_report_intl(&one, id, &act, &report).await {
                return result;
            }
        }
        Err(OperationError::Unavailable)
    }

    /// `None` when the order's refund, or the operator's own total, changed after it was read.
    async fn try_report_intl(
        &self,
        one: &OperatorLock<'_>,
        id: CardId,
        act: &OperatorAction,
        report: &intl_order::CardReport,
    ) -> Option<OrderResult<(), ExceedsOperatorLimit>> {
        let Ok(order) = self.intl_order(&id).await else {
            return Some(Err(OperationError::Unavailable));
        };
        let refunded = match &order {
            Some(order) => match refunded_amount(&self.0.registries, order.charge.payment).await {
                Ok(refunded) => refunded,
                Err(_) => return Some(Err(OperationError::Unavailable)),
            },
            None => Refunded::default(),
        };
        let command = |act| intl_order::Command::RecordReport {
            act,
            report: Box::new(report.clone()),
            refunded,
        };
        // The owner's total from the card, and how much of it is new.
        let part = order.as_ref().map_or(Usdc::ZERO, |order| {
            order.charge.payer_amount(report.released, refunded.amount)
        });
        let before = order.as_ref().map_or(Usdc::ZERO, IntlOrder::credited);
        let amount = part.checked_sub(before).ok().filter(|more| *more > Usdc::ZERO);
        let leave = Authority::Requester(act);
        let beside = match amount.filter(|_| self.would_change(order.as_ref(), &id, leave, &command)) {
            // All releases of one card count as one action, however many reports they come in.
            Some(_) if !self.0.settings.approvals.allow(Usdc::ZERO, part) => {
                return Some(Err(OperationError::Specific(ExceedsOperatorLimit)));
            }
            Some(amount) => match self.check_own_limits(act, amount).await {
                Ok(Some(beside)) => beside,
                Ok(None) => return Some(Err(OperationError::Specific(ExceedsOperatorLimit))),
                Err(_) => return Some(Err(OperationError::Unavailable)),
            },
            None => AuditExtras::default(),
        };
        let orders = (&self.0.registries.intl_orders, id);
        match self
            .ask_as_operator_with_extras(one, orders, (act, &beside), command)
            .await
        {
            Err(AskError::Conflict) => None,
            result => Some(result.map(drop).map_err(OperationError::from)),
        }
    }

    /// International cards with a pending action of their owner, oldest action first. At most `limit`, after the given
    /// one, and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn pending_card_actions(
        &self,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<(Vec<QueuedOrder>, bool), StoreError> {
        let after = match after {
            None => None,
            Some(id) => {
                let requested_at = self
                    .queued_order(id)
                    .await?
                    .and_then(|queued| queued.order.action_requested_at);
                requested_at.map(|since| table::pending_card_action(since, id))
            }
        };
        let rows = self
            .0
            .store
            .scan(&[table::PENDING_CARD_ACTION], after.as_deref(), limit.saturating_add(1));
        let rows = rows.await?;
        let more = rows.len() > limit;
        let mut found = Vec::with_capacity(rows.len().min(limit));
        for (key, _) in rows.into_iter().take(limit) {
            let Some((_, id)) = table::created_and_id(&key) else {
                continue;
            };
            // Decided since the rows were read.
            let queued = self.queued_order(CardId(id)).await?;
            found.extend(queued.filter(|queued| queued.order.lifecycle.pending_action.is_some()));
        }
        Ok((found, more))
    }

    /// Orders that an operator still has to decide: overdue ones first, then oldest first. At most `limit`, after the
    /// given one, and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn intl_queue(
        &self,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<(Vec<QueuedOrder>, bool), StoreError> {
        let after = match after {
            None => None,
            Some(id) => self
                .queued_order(id)
                .await?
                .map(|q| table::intl_order_queue(q.order.created_at, id)),
        };
        let prefix = [table::INTL_ORDER_QUEUE];
        let rows = self.0.store.scan(&prefix, after.as_deref(), limit.saturating_add(1));
        let rows = rows.await?;
        let more = rows.len() > limit;
        let mut found = Vec::with_capacity(rows.len().min(limit));
        for (key, _) in rows.into_iter().take(limit) {
            let Some(id) = key.last_chunk::<16>() else { continue };
            // Decided since the rows were read.
            found.extend(
                self.queued_order(CardId(u128::from_be_bytes(*id)))
                    .await?
                    .filter(|q| q.order.is_open()),
            );
        }
        // All orders become overdue at the same age. Only a job in progress can mark one overdue before an older one.
        found.sort_by_key(|q| (!q.order.overdue, q.order.created_at, q.id));
        Ok((found, more))
    }

    async fn queued_order(&self, id: CardId) -> Result<Option<QueuedOrder>, StoreError> {
        let order = self.intl_order(&id).await.map_err(corrupt)?;
        let Some(order) = order else { return Ok(None) };
        let in_doubt = self.may_be_made_manually(&order).await?;
        Ok(Some(QueuedOrder { id, order, in_doubt }))
    }

    /// Looks up a token by the hash of its text, revoked ones included.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn operator_token(&self, hash: &[u8; 32]) -> Result<Option<OperatorToken>, StoreError> {
        let row = self.0.store.read(&table::operator(hash)).await?;
        row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()
    }

    /// All tokens, revoked ones included.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn operator_tokens(&self) -> Result<Vec<OperatorToken>, StoreError> {
        let rows = self.0.store.scan(&[table::OPERATOR_TOKEN], None, usize::MAX).await?;
        let decoded = rows.iter().map(|(_, row)| codec::decode(&row.value).map_err(corrupt));
        decoded.collect()
    }

    /// Stores a new token.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when its name or the token already exists.
    pub async fn create_operator_token(
        &self,
        hash: [u8; 32],
        token: OperatorToken,
        act: &OperatorAction,
    ) -> Result<(), OperationError<()>> {
        let one = self.lock_operator().await;
        let known = self.operator_tokens().await.map_err(|_| OperationError::Unavailable)?;
        if known.iter().any(|known| known.name == token.name) {
            return Err(OperationError::AlreadyUsed);
        }
        let words = AuditEntry {
            act,
            action: AuditAction::TokenCreate,
            subject: format!("{} {}", token.name, token.role),
            note: None,
            extras: AuditExtras::default(),
        };
        let new = vec![Condition::Absent(table::operator(&hash))];
        match self
            .commit_with_audit(&one, &words, new, vec![put_token(&hash, &token)])
            .await
        {
            Ok(()) => Ok(()),
            Err(CommitError::Condition(_)) => Err(OperationError::AlreadyUsed),
            Err(_) => Err(OperationError::Unavailable),
        }
    }

    /// Revokes a token and returns its hash. The row stays, so that its name is never reused. The leases of its operator
    /// end, and so do the approvals that wait at their request.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when no token has this name; [`LastAdministrator`] when no other administrator's
    /// token works, in the store or, as the caller knows, in the settings.
    pub async fn revoke_operator_token(
        &self,
        name: &str,
        act: &OperatorAction,
        is_administrator_configured: bool,
    ) -> Result<[u8; 32], OperationError<LastAdministrator>> {
        let one = self.lock_operator().await;
        let known = self.token_named(name).await.map_err(|_| OperationError::Unavailable)?;
        let (hash, token) = known.ok_or(OperationError::AlreadyUsed)?;
        if self.is_administrator(&hash, &token).await? && !is_administrator_configured {
            self.require_administrator_besides(name).await?;
        }
        let revoked = OperatorToken { revoked: true, ..token };
        let words = AuditEntry {
            act,
            action: AuditAction::TokenRevoke,
            subject: name.to_owned(),
            note: None,
            extras: AuditExtras::default(),
        };
        let mut writes = self
            .delete_approvals_requested_by(name)
            .await
            .map_err(|_| OperationError::Unavailable)?;
        writes.push(put_token(&hash, &revoked));
        let done = self.commit_with_audit(&one, &words, Vec::new(), writes);
        done.await.map_err(|_| OperationError::Unavailable)?;
        // The token is revoked whatever happens here, and the caller must learn it. A start ends what is left.
        // It needs no operator's access: this request may have revoked its own.
        let leases = self.end_leases(&one, |holder| holder == name);
        if let Err(error) = request_context::with_request(request_context::current_request(), leases).await {
            tracing::error!(%error, operator = name, "leases of a revoked operator could not be ended");
        }
        Ok(hash)
    }

    /// Whether this token works and is an administrator's.
    async fn is_administrator(
        &self,
        hash: &[u8; 32],
        token: &OperatorToken,
    ) -> Result<bool, OperationError<LastAdministrator>> {
        if token.revoked || token.role != Role::Administrator {
            return Ok(false);
        }
        let suspended = self.is_token_suspended(hash, token.created_at).await;
        Ok(!suspended.map_err(|_| OperationError::Unavailable)?)
    }

    async fn require_administrator_besides(&self, name: &str) -> Result<(), OperationError<LastAdministrator>> {
        let rows = self.0.store.scan(&[table::OPERATOR_TOKEN], None, usize::MAX).await;
        for (key, row) in rows.map_err(|_| OperationError::Unavailable)? {
            let token: OperatorToken = codec::decode(&row.value).map_err(|_| OperationError::Unavailable)?;
            if let Some(hash) = key.last_chunk::<32>().filter(|_| token.name != name)
                && self.is_administrator(hash, &token).await?
            {
                return Ok(());
            }
        }
        Err(OperationError::Rejected(LastAdministrator))
    }

    /// Audit records, oldest first, after the record with this number, at most `limit`; each with the hash of its row.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn audit_log(
        &self,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<(AuditRecord, [u8; 32])>, StoreError> {
        let after = after.map(table::audit);
        let rows = self.0.store.scan(&[table::AUDIT_LOG], after.as_deref(), limit).await?;
        let decoded = rows.iter().map(|(_, row)| {
            let audit = codec::decode(&row.value).map_err(corrupt)?;
            Ok((audit, audit_log::hash_of(&row.value)))
        });
        decoded.collect()
    }

    /// Audit records, newest first, before the record with this number, at most `limit`; each with the hash of its row.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn audit_log_before(
        &self,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<(AuditRecord, [u8; 32])>, StoreError> {
        // Numbers have no gaps, so the page before a number begins a fixed distance below it.
        let end = match before {
            Some(before) => before,
            None => audit_log::next_position(&*self.0.store).await?.sequence,
        };
        let start = end.saturating_sub(1).saturating_sub(limit as u64);
        let mut found = self.audit_log((start > 0).then_some(start), limit).await?;
        found.retain(|(audit, _)| audit.position.sequence < end);
        found.reverse();
        Ok(found)
    }

    /// Checks that every audit record has the next number and contains the hash of the one before it, and that the
    /// newest hash is the recorded one. Reads the whole log, page by page.
    ///
    /// # Errors
    /// When storage fails. A record that can't be read is a break, not an error.
    pub async fn verify_audit_log(&self) -> Result<AuditProof, StoreError> {
        const PAGE: usize = 1_000;
        // Read first: records that are added meanwhile lie after it.
        let head = audit_log::next_position(&*self.0.store).await?;
        let mut expected = AuditPosition::FIRST;
        while expected.sequence < head.sequence {
            let after = (expected.sequence > 1).then(|| table::audit(expected.sequence - 1));
            let rows = self.0.store.scan(&[table::AUDIT_LOG], after.as_deref(), PAGE).await?;
            if rows.is_empty() {
                return Ok(AuditProof::broken(expected));
            }
            for (_, row) in rows {
                if expected.sequence == head.sequence {
                    break;
                }
                let audit: Option<AuditRecord> = codec::decode(&row.value).ok();
                if audit.is_none_or(|audit| audit.position != expected) {
                    return Ok(AuditProof::broken(expected));
                }
                expected = AuditPosition {
                    sequence: expected.sequence + 1,
                    previous_hash: audit_log::hash_of(&row.value),
                };
            }
        }
        Ok(match expected == head {
            true => AuditProof {
                records: head.sequence - 1,
                last_hash: head.previous_hash,
                broken_at: None,
            },
            false => AuditProof::broken(expected),
        })
    }

    /// Late returns, oldest first, after a position, at most `limit`; each with its own position.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn late_returns(
        &self,
        after: Option<ListPosition>,
        limit: usize,
    ) -> Result<Vec<(ListPosition, LateReturn)>, StoreError> {
        let after = after.map(|(at, id)| table::late_return(at, LateReturnId(id)));
        let rows = self
            .0
            .store
            .scan(&[table::LATE_RETURN], after.as_deref(), limit)
            .await?;
        let mut found = Vec::with_capacity(rows.len());
        for (key, _) in rows {
            let Some((at, id)) = table::created_and_id(&key) else {
                continue;
            };
            if let Some(late) = self.late_return(&LateReturnId(id)).await.map_err(corrupt)? {
                found.push(((at, id), late));
            }
        }
        Ok(found)
    }
}

/// The row of a token.
pub(super) fn put_token(hash: &[u8; 32], token: &OperatorToken) -> Write {
    Write::Put {
        key: table::operator(hash),
        revision: token.revision(),
        value: codec::encode(token),
    }
}

pub(super) fn put_row<T: Stored>(key: purser_storage::RowKey, value: &T) -> Write {
    Write::Put {
        key,
        revision: 0,
        value: codec::encode(value),
    }
}

pub(super) fn corrupt(error: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(error.to_string())
}
