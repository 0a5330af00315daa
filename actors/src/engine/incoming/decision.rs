//! Operators' decisions about incoming transfers without a payment.

use super::{SettlementMatch, match_settlement};
use crate::approval::ApprovableAction;
use crate::engine::Engine;
use crate::engine::approvals::Authority;
use crate::entity::incoming::{Command, Incoming, OperatorDecision, Rejection, Status};
use crate::id::{ApprovalId, DepositId, JobId, Wallet};
use crate::kernel::AskError;
use crate::operator::{AuditExtras, OperatorAction};

/// An operator's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncomingDecision {
    /// Credit the sender, or this account, which must exist.
    Credit {
        /// Account to credit, if not the sender's.
        account: Option<Wallet>,
        /// Whether the owner may keep the payout that it had bought as well.
        keep_payout: bool,
    },
    /// Book it as operator funds of the treasury.
    OperatorFunds,
    /// Send it back.
    Return {
        /// Whether the sender may keep the payout that it had bought as well.
        keep_payout: bool,
    },
}

impl IncomingDecision {
    /// Rebuilds the decision from a stored approval.
    pub(in crate::engine) const fn from_approval(account: Option<Wallet>, (returns, keeps): (bool, bool)) -> Self {
        match returns {
            true => Self::Return { keep_payout: keeps },
            false => Self::Credit {
                account,
                keep_payout: keeps,
            },
        }
    }
}

/// Why nothing was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncomingDecisionError {
    /// The transfer does not exist.
    NotFound,
    /// The account does not exist.
    AccountNotFound,
    /// The transfer's state does not allow it.
    InvalidState(&'static str),
    /// The payout that it paid for was executed or may yet be, and the decision does not let the owner have both.
    AlreadyDelivered,
    /// The amount needs a second operator's approval.
    ApprovalPending(ApprovalId),
    /// A dependency did not answer. Retry later.
    Unavailable,
}

impl Engine {
    /// Decides about a waiting transfer, once. The batch that does it records the operator's evidence.
    ///
    /// # Errors
    /// [`IncomingDecisionError`]; nothing has changed then.
    pub async fn decide_incoming(
        &self,
        id: DepositId,
        rule: IncomingDecision,
        (act, evidence): (&OperatorAction, String),
    ) -> Result<Incoming, IncomingDecisionError> {
        self.decide_incoming_by(id, rule, (Authority::Requester(act), evidence))
            .await
    }

    /// Decides under an authority that was already checked.
    pub(in crate::engine) async fn decide_incoming_by(
        &self,
        id: DepositId,
        rule: IncomingDecision,
        (leave, evidence): (Authority<'_>, String),
    ) -> Result<Incoming, IncomingDecisionError> {
        if matches!(
            rule,
            IncomingDecision::Credit { keep_payout: false, .. } | IncomingDecision::Return { keep_payout: false }
        ) {
            self.ensure_undelivered(id).await?;
        }
        let one = self.lock_operator().await;
        let (incoming, payment) = self.load_undecided(id).await?;
        let sender = self.account_of(&incoming.transfer.from);
        let ruling = match rule {
            IncomingDecision::Credit { account: None, .. } => OperatorDecision::Credit(sender),
            IncomingDecision::Credit {
                account: Some(account), ..
            } => {
                // A typing error must not create an account.
                let known = self
                    .account(&account)
                    .await
                    .map_err(|_| IncomingDecisionError::Unavailable)?;
                known.ok_or(IncomingDecisionError::AccountNotFound)?;
                OperatorDecision::Credit(account)
            }
            IncomingDecision::OperatorFunds => OperatorDecision::OperatorFunds,
            IncomingDecision::Return { .. } => OperatorDecision::Return(sender),
        };
        let to = match rule {
            IncomingDecision::Credit { account, .. } => Some((account, false)),
            IncomingDecision::Return { .. } => Some((None, true)),
            IncomingDecision::OperatorFunds => None,
        };
        let command = |act| Command::Decide {
            decision: ruling,
            payment,
            act: Box::new(act),
            evidence: evidence.clone(),
        };
        let beside = match to.filter(|_| self.would_change(Some(&incoming), &id, leave, &command)) {
            Some((account, returns)) => {
                let keeps = matches!(
                    rule,
                    IncomingDecision::Credit { keep_payout: true, .. } | IncomingDecision::Return { keep_payout: true }
                );
                let gift = || ApprovableAction::decide_incoming(id, account, (returns, keeps), evidence.clone());
                self.authorize_action(&one, leave, incoming.transfer.amount, gift)
                    .await?
            }
            None => AuditExtras::default(),
        };
        self.0.incoming.mark_taken_in();
        let transfers = (&self.0.registries.incoming, id);
        match self
            .ask_as_operator_with_extras(&one, transfers, (leave.act(), &beside), command)
            .await
        {
            Ok(()) => {
                let read = self.incoming_transfer(&id).await;
                read.map_err(|_| IncomingDecisionError::Unavailable)?
                    .ok_or(IncomingDecisionError::NotFound)
            }
            Err(AskError::Rejected(Rejection(state))) => Err(IncomingDecisionError::InvalidState(state)),
            Err(AskError::NotFound) => Err(IncomingDecisionError::NotFound),
            Err(AskError::Conflict | AskError::OutcomeUnknown | AskError::Quarantined) => {
                Err(IncomingDecisionError::Unavailable)
            }
        }
    }

    /// Asks the payout rails whether a payout bought in the lost history was executed.
    async fn ensure_undelivered(&self, id: DepositId) -> Result<(), IncomingDecisionError> {
        let incoming = self
            .incoming_transfer(&id)
            .await
            .map_err(|_| IncomingDecisionError::Unavailable)?;
        let incoming = incoming.ok_or(IncomingDecisionError::NotFound)?;
        let transfer = incoming.transfer;
        if incoming.status != Status::Waiting || self.0.lost_history.is_none_or(|lost| !lost.contains(transfer.at)) {
            return Ok(());
        }
        let key = JobId(transfer.payment.product_id());
        let shown = incoming
            .provider_report
            .is_some_and(|shows| shows.contains(&key.to_string()));
        let order = self.0.outgoing_guard.lost_orders.find(key, self.query_timeout()).await;
        let order = order.map_err(|error| {
            tracing::warn!(%id, error, "it cannot be said whether what a transfer had bought was carried out");
            IncomingDecisionError::Unavailable
        })?;
        match order {
            Some(order) if order.moves_money() => Err(IncomingDecisionError::AlreadyDelivered),
            // An entry that the rails have shown before still counts if it is not found now.
            None if shown => Err(IncomingDecisionError::Unavailable),
            _ => Ok(()),
        }
    }

    /// The transfer, and the revision of the payment that it would settle. A transfer that a payment claims can't be
    /// decided.
    pub(in crate::engine) async fn load_undecided(
        &self,
        id: DepositId,
    ) -> Result<(Incoming, u64), IncomingDecisionError> {
        let incoming = self
            .incoming_transfer(&id)
            .await
            .map_err(|_| IncomingDecisionError::Unavailable)?;
        let incoming = incoming.ok_or(IncomingDecisionError::NotFound)?;
        let payment = self.0.registries.payments.read(&incoming.transfer.payment).await;
        let Some((payment, revision)) = payment.map_err(|_| IncomingDecisionError::Unavailable)? else {
            return Ok((incoming, 0));
        };
        if incoming.status == Status::Waiting
            && match_settlement(&payment, &incoming.transfer) != SettlementMatch::Unrelated
        {
            return Err(IncomingDecisionError::InvalidState("claimed"));
        }
        Ok((incoming, revision))
    }
}
