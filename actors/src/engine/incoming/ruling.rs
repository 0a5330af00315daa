//! What operators decide about transfers that no payment claims.

use super::{Settles, settles_by};
use crate::approval::Gift;
use crate::engine::Engine;
use crate::engine::giving::Leave;
use crate::id::{ApprovalId, DepositId, JobId, Wallet};
use crate::incoming::{Command, Incoming, Rejection, Ruling, Status};
use crate::kernel::AskError;
use crate::operator::{Beside, OperatorAction};

/// What an operator wants to become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Credit whoever sent it, or this account, which must exist.
    Credit {
        /// Whom, if not whoever sent it.
        account: Option<Wallet>,
        /// Whether they may have it besides what it had bought.
        keeps: bool,
    },
    /// Take it in as the treasury's own.
    OperatorFunds,
    /// Send it back.
    Return {
        /// Whether its sender may have it besides what it had bought.
        keeps: bool,
    },
}

impl Rule {
    /// As an approval keeps it.
    pub(in crate::engine) const fn asked(account: Option<Wallet>, (returns, keeps): (bool, bool)) -> Self {
        match returns {
            true => Self::Return { keeps },
            false => Self::Credit { account, keeps },
        }
    }
}

/// Why nothing was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRuled {
    /// There is no such transfer.
    Unknown,
    /// There is no such account.
    NoAccount,
    /// Its state is against it.
    State(&'static str),
    /// The payout that it paid for was carried out, or may yet be, and it was not said that its holder is to have both.
    Delivered,
    /// It is too much for one operator, and waits for another.
    Waits(ApprovalId),
    /// Ask again later.
    Unavailable,
}

impl Engine {
    /// An operator decides about a transfer that waits, once. Written down with the operator's evidence by the batch that does it.
    ///
    /// # Errors
    /// [`NotRuled`]; nothing has changed then.
    pub async fn rule_incoming(
        &self,
        id: DepositId,
        rule: Rule,
        (act, evidence): (&OperatorAction, String),
    ) -> Result<Incoming, NotRuled> {
        self.rule_incoming_by(id, rule, (Leave::Own(act), evidence)).await
    }

    /// The same, by somebody's leave.
    pub(in crate::engine) async fn rule_incoming_by(
        &self,
        id: DepositId,
        rule: Rule,
        (leave, evidence): (Leave<'_>, String),
    ) -> Result<Incoming, NotRuled> {
        if matches!(rule, Rule::Credit { keeps: false, .. } | Rule::Return { keeps: false }) {
            self.is_undelivered(id).await?;
        }
        let one = self.lock_operator().await;
        let (incoming, payment) = self.undecided(id).await?;
        let sender = self.account_of(&incoming.transfer.from);
        let ruling = match rule {
            Rule::Credit { account: None, .. } => Ruling::Credit(sender),
            Rule::Credit {
                account: Some(account), ..
            } => {
                // A typing error must not bring an account into being.
                let known = self.account(&account).await.map_err(|_| NotRuled::Unavailable)?;
                known.ok_or(NotRuled::NoAccount)?;
                Ruling::Credit(account)
            }
            Rule::OperatorFunds => Ruling::OperatorFunds,
            Rule::Return { .. } => Ruling::Return(sender),
        };
        let to = match rule {
            Rule::Credit { account, .. } => Some((account, false)),
            Rule::Return { .. } => Some((None, true)),
            Rule::OperatorFunds => None,
        };
        let command = |act| Command::Rule {
            ruling,
            payment,
            act: Box::new(act),
            evidence: evidence.clone(),
        };
        let beside = match to.filter(|_| self.would_change(Some(&incoming), &id, leave, &command)) {
            Some((account, returns)) => {
                let keeps = matches!(rule, Rule::Credit { keeps: true, .. } | Rule::Return { keeps: true });
                let gift = || Gift::incoming(id, account, (returns, keeps), evidence.clone());
                self.may_give(&one, leave, incoming.transfer.amount, gift).await?
            }
            None => Beside::default(),
        };
        self.0.arrivals.takes();
        let transfers = (&self.0.families.incoming, id);
        match self.act_beside(&one, transfers, (leave.act(), &beside), command).await {
            Ok(()) => {
                let read = self.incoming_transfer(&id).await;
                read.map_err(|_| NotRuled::Unavailable)?.ok_or(NotRuled::Unknown)
            }
            Err(AskError::Rejected(Rejection(state))) => Err(NotRuled::State(state)),
            Err(AskError::NotFound) => Err(NotRuled::Unknown),
            Err(AskError::Conflict | AskError::OutcomeUnknown | AskError::Quarantined) => Err(NotRuled::Unavailable),
        }
    }

    /// Asks the payout rails whether what a transfer of the lost time had bought was carried out.
    async fn is_undelivered(&self, id: DepositId) -> Result<(), NotRuled> {
        let incoming = self.incoming_transfer(&id).await.map_err(|_| NotRuled::Unavailable)?;
        let incoming = incoming.ok_or(NotRuled::Unknown)?;
        let transfer = incoming.transfer;
        if incoming.status != Status::Waiting || self.0.lost.is_none_or(|lost| !lost.has(transfer.at)) {
            return Ok(());
        }
        let key = JobId(transfer.payment.product());
        let shown = incoming.shows.is_some_and(|shows| shows.contains(&key.to_string()));
        let order = self.0.departures.orders.find(key, self.query_timeout()).await;
        let order = order.map_err(|error| {
            tracing::warn!(%id, error, "it cannot be said whether what a transfer had bought was carried out");
            NotRuled::Unavailable
        })?;
        match order {
            Some(order) if order.moves() => Err(NotRuled::Delivered),
            // What the rails have shown once is not gone because it is not found now.
            None if shown => Err(NotRuled::Unavailable),
            _ => Ok(()),
        }
    }

    /// The transfer, and the revision of the payment that it would settle. One that a payment claims is nobody's to decide.
    pub(in crate::engine) async fn undecided(&self, id: DepositId) -> Result<(Incoming, u64), NotRuled> {
        let incoming = self.incoming_transfer(&id).await.map_err(|_| NotRuled::Unavailable)?;
        let incoming = incoming.ok_or(NotRuled::Unknown)?;
        let payment = self.0.families.payments.read(&incoming.transfer.payment).await;
        let Some((payment, revision)) = payment.map_err(|_| NotRuled::Unavailable)? else {
            return Ok((incoming, 0));
        };
        if incoming.status == Status::Waiting && settles_by(&payment, &incoming.transfer) != Settles::No {
            return Err(NotRuled::State("claimed"));
        }
        Ok((incoming, revision))
    }
}
