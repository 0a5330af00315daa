//! What operators give: alone up to the limits, above them once another has approved it. One way for every act that does.

use purser_storage::{CommitError, Condition, StoreError, Write, codec};

use super::operator_actions::{AuditEntry, OperatorLock};
use super::operators::{corrupt, put};
use super::{
    Attribution, AttributionError, Engine, JobOutcome, JobResolution, ListPosition, NotRuled, OperationError,
    ResolveError, Rule, Waits,
};
use crate::approval::{Gift, Given, Pending};
use crate::id::ApprovalId;
use crate::kernel::{Context, Entity, table};
use crate::money::Usdc;
use crate::operator::{AuditPosition, AuditedAction, Beside, OperatorAction};
use crate::port::DAY_MS;
use crate::{card_withdrawal, intl_order};

/// By whose leave an act is done.
#[derive(Clone, Copy)]
pub(super) enum Leave<'a> {
    /// Whoever asks for it: alone, if the limits allow it.
    Own(&'a OperatorAction),
    /// It was asked for, and another has approved it.
    Approved(&'a Pending, &'a OperatorAction),
}

impl<'a> Leave<'a> {
    /// Whose act it is: who asked for it, whoever approved it.
    pub(super) const fn act(self) -> &'a OperatorAction {
        match self {
            Self::Own(act) => act,
            Self::Approved(pending, _) => &pending.asked,
        }
    }
}

/// Why an act that gives money is not done now.
pub(super) enum NotGiven {
    /// It waits for another operator.
    Waits(ApprovalId),
    /// Ask again later.
    Unavailable,
}

/// Why nothing was approved. Nothing has changed.
#[derive(Debug)]
pub enum NotApproved {
    /// Nothing of this id waits, or its time is over.
    Unknown,
    /// Whoever asked for it does not approve it.
    Own,
    /// It gives another amount.
    Differs,
    /// What came of work was not taken.
    Resolving(ResolveError),
    /// An order was not refused.
    Intl(OperationError<intl_order::Rejection, Waits>),
    /// A withdrawal is not paid.
    Card(OperationError<card_withdrawal::Rejection, Waits>),
    /// Nothing was decided about a transfer.
    Ruling(NotRuled),
    /// A transfer was not booked.
    Booking(AttributionError),
    /// Ask again later.
    Unavailable,
}

impl From<NotGiven> for ResolveError {
    fn from(not: NotGiven) -> Self {
        match not {
            NotGiven::Waits(id) => Self::Waits(id),
            NotGiven::Unavailable => Self::Unavailable,
        }
    }
}

impl From<NotGiven> for AttributionError {
    fn from(not: NotGiven) -> Self {
        match not {
            NotGiven::Waits(id) => Self::Waits(id),
            NotGiven::Unavailable => Self::Unavailable,
        }
    }
}

impl From<NotGiven> for NotRuled {
    fn from(not: NotGiven) -> Self {
        match not {
            NotGiven::Waits(id) => Self::Waits(id),
            NotGiven::Unavailable => Self::Unavailable,
        }
    }
}

impl<R> From<NotGiven> for OperationError<R, Waits> {
    fn from(not: NotGiven) -> Self {
        match not {
            NotGiven::Waits(id) => Self::Own(Waits(id)),
            NotGiven::Unavailable => Self::Unavailable,
        }
    }
}

impl Engine {
    /// Asks for the leave to give so much: what the act's batch brings with it, so that it counts against the limits of whoever
    /// does it alone, or takes what was approved off the list. What is too much for one is put on the list.
    ///
    /// # Errors
    /// [`NotGiven`]: the act is not done now.
    pub(super) async fn may_give(
        &self,
        one: &OperatorLock<'_>,
        leave: Leave<'_>,
        amount: Usdc,
        gift: impl FnOnce() -> Gift + Send,
    ) -> Result<Beside, NotGiven> {
        match leave {
            Leave::Own(act) => match self.alone(act, amount).await {
                Ok(Some(mut beside)) => {
                    // It may have waited since a day on which it was too much.
                    let key = table::approval(ApprovalId::of(&gift(), amount));
                    let row = self.0.store.read(&key).await.map_err(|error| unread(&error))?;
                    beside.writes.extend(row.map(|_| Write::Delete { key }));
                    Ok(beside)
                }
                Ok(None) => self.wait(one, act, amount, gift()).await,
                Err(error) => Err(unread(&error)),
            },
            // What it gives has changed since it was asked for: it is asked for anew.
            Leave::Approved(pending, _) if amount > pending.amount => Err(NotGiven::Unavailable),
            Leave::Approved(pending, by) => {
                let id = ApprovalId::of(&pending.gift, pending.amount);
                let key = table::approval(id);
                Ok(Beside {
                    approved: Some((by.clone(), id.to_string())),
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
        leave: Leave<'_>,
        command: &(impl Fn(AuditedAction) -> E::Command + Send + Sync),
    ) -> bool {
        let deed = AuditedAction {
            act: leave.act().clone(),
            position: AuditPosition::FIRST,
            beside: Box::default(),
        };
        let context = Context::new(self.0.clock.now(), 0);
        let decided = E::decide(state, id, command(deed), &context);
        decided.is_ok_and(|decision| !decision.is_empty())
    }

    /// What counts it as given alone, if that is within the limits.
    pub(super) async fn alone(&self, act: &OperatorAction, amount: Usdc) -> Result<Option<Beside>, StoreError> {
        let key = table::given(&act.operator);
        let row = self.0.store.read(&key).await?;
        let revision = row.as_ref().map_or(0, |row| row.revision);
        let before: Option<Given> = row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()?;
        let day = self.0.clock.now().0 / DAY_MS;
        let today = before
            .filter(|given| given.day == day)
            .map_or(Usdc::ZERO, |given| given.sum);
        if !self.0.settings.giving.allow(today, amount) {
            return Ok(None);
        }
        let sum = today.checked_add(amount).map_err(corrupt)?;
        let by = act.operator.clone();
        Ok(Some(Beside {
            approved: None,
            conditions: vec![Condition::Revision(key.clone(), revision)],
            writes: vec![Write::Put {
                key,
                revision: revision.saturating_add(1),
                value: codec::encode(&Given { by, day, sum }),
            }],
        }))
    }

    /// Puts it on the list, unless it is there.
    async fn wait(
        &self,
        one: &OperatorLock<'_>,
        act: &OperatorAction,
        amount: Usdc,
        gift: Gift,
    ) -> Result<Beside, NotGiven> {
        let (id, now) = (ApprovalId::of(&gift, amount), self.0.clock.now());
        let known = self.approval(id).await.map_err(|error| unread(&error))?;
        if known.is_some() {
            return Err(NotGiven::Waits(id));
        }
        let words = AuditEntry {
            act,
            what: "approval.request",
            subject: format!("{id} {} {} {}", gift.name(), gift.subject(), amount.decimal()),
            words: Some(gift.words()),
            beside: Beside::default(),
        };
        let pending = Pending {
            gift,
            amount,
            asked: act.clone(),
            asked_at: now,
            open_until: now.plus_ms(self.0.settings.giving.open_ms),
        };
        match self
            .commit_with_audit(one, &words, Vec::new(), vec![put(table::approval(id), &pending)])
            .await
        {
            Ok(()) => Err(NotGiven::Waits(id)),
            Err(_) => Err(NotGiven::Unavailable),
        }
    }

    /// An act that waits for a second operator.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn approval(&self, id: ApprovalId) -> Result<Option<Pending>, StoreError> {
        let row = self.0.store.read(&table::approval(id)).await?;
        let pending: Option<Pending> = row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()?;
        Ok(pending.filter(|pending| self.0.clock.now() < pending.open_until))
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
    ) -> Result<Vec<(ListPosition, Pending)>, StoreError> {
        const PAGE: usize = 500;
        let (mut found, mut behind) = (Vec::new(), None);
        loop {
            let rows = self.0.store.scan(&[table::APPROVAL], behind.as_deref(), PAGE).await?;
            for (key, row) in &rows {
                let pending: Pending = codec::decode(&row.value).map_err(corrupt)?;
                let id = key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id));
                if self.0.clock.now() < pending.open_until {
                    found.push(((pending.asked_at, id), pending));
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
    pub(super) async fn asked_by(&self, name: &str) -> Result<Vec<Write>, StoreError> {
        let waiting = self.approvals(None, usize::MAX).await?;
        let own = waiting.iter().filter(|(_, pending)| pending.asked.operator == name);
        let rows = own.map(|((_, id), _)| Write::Delete {
            key: table::approval(ApprovalId(*id)),
        });
        Ok(rows.collect())
    }

    /// Another operator approves an act that gives this amount: it is done, as it was asked for.
    ///
    /// # Errors
    /// [`NotApproved`]; then it waits as before.
    pub async fn approve(&self, id: ApprovalId, amount: Usdc, act: &OperatorAction) -> Result<Pending, NotApproved> {
        let pending = self.approval(id).await.map_err(|_| NotApproved::Unavailable)?;
        let pending = pending.ok_or(NotApproved::Unknown)?;
        if pending.asked.operator == act.operator {
            return Err(NotApproved::Own);
        }
        if pending.amount != amount {
            return Err(NotApproved::Differs);
        }
        self.give(&pending, Leave::Approved(&pending, act)).await?;
        Ok(pending)
    }

    /// Does what was approved.
    async fn give(&self, pending: &Pending, leave: Leave<'_>) -> Result<(), NotApproved> {
        match &pending.gift {
            Gift::CreditBack {
                effect,
                evidence,
                not_left,
            } => {
                let told = self.credit_back_by(*effect, (evidence, *not_left), leave).await;
                told.map_err(NotApproved::Resolving)?;
            }
            Gift::Resolve {
                effect,
                done,
                reference,
                evidence,
            } => {
                let resolution = JobResolution {
                    outcome: if *done { JobOutcome::Done } else { JobOutcome::NotDone },
                    reference: reference.clone(),
                    evidence: evidence.clone(),
                };
                let told = self.resolve_by(*effect, &resolution, leave).await;
                told.map_err(NotApproved::Resolving)?;
            }
            Gift::RejectIntl { order, lease, reason } => {
                let told = self.reject_intl_by(*order, leave, *lease, reason.clone()).await;
                told.map_err(NotApproved::Intl)?;
            }
            Gift::PayCardWithdrawal {
                withdrawal,
                lease,
                transaction,
            } => {
                let told = self.fulfil_card_withdrawal_by(*withdrawal, leave, *lease, transaction.clone());
                told.await.map_err(NotApproved::Card)?;
            }
            Gift::Incoming {
                deposit,
                account,
                returns,
                evidence,
            }
            | Gift::IncomingBesides {
                deposit,
                account,
                returns,
                evidence,
            } => {
                let keeps = matches!(pending.gift, Gift::IncomingBesides { .. });
                let rule = Rule::asked(*account, (*returns, keeps));
                let told = self.rule_incoming_by(*deposit, rule, (leave, evidence.clone()));
                told.await.map_err(NotApproved::Ruling)?;
            }
            Gift::BookLoss { .. } | Gift::BookOrder { .. } | Gift::BookOutlay { .. } => {
                self.book_given(pending, leave).await?;
            }
        }
        Ok(())
    }

    /// Books what was approved to be booked.
    async fn book_given(&self, pending: &Pending, leave: Leave<'_>) -> Result<(), NotApproved> {
        let (name, booking, evidence) = match &pending.gift {
            Gift::BookLoss { transaction, evidence } => {
                let loss = (Attribution::Loss, Some(pending.amount));
                (transaction, loss, evidence)
            }
            Gift::BookOrder {
                order,
                account,
                evidence,
            } => (order, (Attribution::Account(*account), None), evidence),
            Gift::BookOutlay {
                transaction,
                outlay,
                evidence,
            } => (transaction, (Attribution::Outlay(*outlay), None), evidence),
            _ => return Err(NotApproved::Unknown),
        };
        let told = self.book_by(name, booking, (leave, evidence.clone())).await;
        told.map(drop).map_err(NotApproved::Booking)
    }

    /// An operator takes an act off the list, another's or their own: it is not done.
    ///
    /// # Errors
    /// [`NotApproved::Unknown`] or [`NotApproved::Unavailable`].
    pub async fn disapprove(
        &self,
        id: ApprovalId,
        reason: String,
        act: &OperatorAction,
    ) -> Result<Pending, NotApproved> {
        let one = self.lock_operator().await;
        let pending = self.approval(id).await.map_err(|_| NotApproved::Unavailable)?;
        let pending = pending.ok_or(NotApproved::Unknown)?;
        let words = AuditEntry {
            act,
            what: "approval.reject",
            subject: id.to_string(),
            words: Some(reason),
            beside: Beside::default(),
        };
        let key = table::approval(id);
        let there = vec![Condition::Present(key.clone())];
        match self
            .commit_with_audit(&one, &words, there, vec![Write::Delete { key }])
            .await
        {
            Ok(()) => Ok(pending),
            Err(CommitError::Condition(_)) => Err(NotApproved::Unknown),
            Err(_) => Err(NotApproved::Unavailable),
        }
    }
}

fn unread(error: &StoreError) -> NotGiven {
    tracing::error!(%error, "what an operator has given could not be read");
    NotGiven::Unavailable
}
