//! Attributes an order that a restore has lost to its payer. An operator does it, once. Money returned from such an
//! order is credited to the payer.

use std::time::Duration;

use super::PAGE;
use super::attribution::{Attribution, AttributionError, AttributionWait, map_ask_error, map_decision_error};
use crate::approval::ApprovableAction;
use crate::currency::Currency;
use crate::engine::Engine;
use crate::engine::approvals::Authority;
use crate::engine::operator_actions::{AuditEntry, OperatorLock};
use crate::engine::operators::put_row;
use crate::engine::reconciler::internal_entries;
use crate::entity::account;
use crate::entity::incoming;
use crate::id::{DepositId, JobId, Wallet};
use crate::kernel::{AskError, table};
use crate::lost_order::{AttributedOrder, Direction, LostOrder, OrderPayer, ReturnEvidence};
use crate::money::Usdc;
use crate::operator::{AuditAction, AuditExtras};
use crate::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

impl Engine {
    /// Attributes an order by its key at the provider. `amount` is what its payer was charged.
    pub(super) async fn attribute_order(
        &self,
        one: &OperatorLock<'_>,
        key: JobId,
        (booking, amount): (Attribution, Option<Usdc>),
        (leave, evidence): (Authority<'_>, String),
    ) -> Result<(), AttributionError> {
        let patience = Duration::from_millis(self.0.settings.payouts.timeout_ms);
        let order = self
            .0
            .outgoing_guard
            .lost_orders
            .find(key, patience)
            .await
            .map_err(|error| {
                tracing::warn!(%key, error, "the outcome of an order is unknown");
                AttributionError::Unavailable
            })?;
        let order = order.ok_or(AttributionError::NotFound)?;
        let booked = self
            .attributed_order(key)
            .await
            .map_err(|_| AttributionError::Unavailable)?;
        let again = booked
            .as_ref()
            .is_some_and(|booked| booked.is_attributable_again(&order));
        if let Some(booked) = booked.filter(|_| !again) {
            return self
                .attribute_order_return(one, booked, (order, booking), (leave, evidence))
                .await;
        }
        if !again {
            let known = internal_entries::from_order(&*self.0.store, order.source, key.0).await;
            if known.map_err(|_| AttributionError::Unavailable)?.is_some() {
                return Err(AttributionError::NotFound);
            }
        }
        if !order.moves_money() {
            return Err(AttributionError::NotExecuted);
        }
        let booked = to_attributed(order, booking, amount)?;
        self.ensure_no_payment(&booked).await?;
        if booked.order.direction() == Direction::In && booked.order.status != EntryStatus::Completed {
            return Err(AttributionError::MayStillSettle(AttributionWait::Bank));
        }
        match (booked.payer, booked.order.direction()) {
            (OrderPayer::Account(wallet), Direction::Out) => {
                let beside = AuditExtras::default();
                self.attribute_order_to_account(one, wallet, (booked, again), (leave, evidence), beside)
                    .await
            }
            (OrderPayer::Account(wallet), Direction::In) => {
                let gift = || ApprovableAction::AttributeOrder {
                    order: key.to_string(),
                    account: wallet,
                    evidence: evidence.clone(),
                };
                let beside = self.authorize_action(one, leave, booked.owed, gift).await?;
                self.attribute_order_to_account(one, wallet, (booked, false), (leave, evidence), beside)
                    .await
            }
            (OrderPayer::Incoming(id), _) => {
                self.attribute_order_to_incoming(one, id, booked, (leave, evidence))
                    .await
            }
            (OrderPayer::Loss, Direction::In) => {
                self.attribute_order_without_account(one, &booked, (leave, evidence), AuditExtras::default())
                    .await
            }
            (OrderPayer::Loss, Direction::Out) => {
                let gift = || ApprovableAction::AttributeLoss {
                    transaction: key.to_string(),
                    evidence: evidence.clone(),
                };
                let beside = self.authorize_action(one, leave, booked.owed, gift).await?;
                self.attribute_order_without_account(one, &booked, (leave, evidence), beside)
                    .await
            }
        }
    }

    /// Rejects an order that belongs to an undecided incoming transfer, or whose payment may still be found.
    async fn ensure_no_payment(&self, booked: &AttributedOrder) -> Result<(), AttributionError> {
        let order = &booked.order;
        if order.source != ReconciliationSource::Payouts || matches!(booked.payer, OrderPayer::Incoming(_)) {
            return Ok(());
        }
        if !self.0.outgoing_guard.is_restore_window_over() {
            return Err(AttributionError::MayStillSettle(AttributionWait::Payment));
        }
        let mut after = None;
        loop {
            let page = self.incoming_transfers(after, PAGE).await;
            let page = page.map_err(|_| AttributionError::Unavailable)?;
            for ((_, id), incoming) in &page {
                if JobId(incoming.transfer.payment.product_id()) == order.key {
                    return Err(AttributionError::PaidBy(DepositId(*id)));
                }
            }
            match page.into_iter().last() {
                Some((place, _)) => after = Some(place),
                None => return Ok(()),
            }
        }
    }

    /// The provider did not execute an order attributed as paid, or has returned its money.
    async fn attribute_order_return(
        &self,
        one: &OperatorLock<'_>,
        booked: AttributedOrder,
        (order, booking): (LostOrder, Attribution),
        (leave, evidence): (Authority<'_>, String),
    ) -> Result<(), AttributionError> {
        if booked.returned.is_some() || booked.order.direction() == Direction::In {
            return Err(AttributionError::NotFound);
        }
        let (how, returned) = match order.status {
            EntryStatus::Declined | EntryStatus::NotSubmitted => (ReturnEvidence::NotExecuted, Usdc::ZERO),
            EntryStatus::Returned => (ReturnEvidence::ReturnedByRail, Usdc::ZERO),
            EntryStatus::Pending | EntryStatus::Held | EntryStatus::Completed => self.bank_return(&order).await?,
        };
        let to = match (booked.payer, booking) {
            (OrderPayer::Account(paid), Attribution::Account(to)) if paid == to => OrderPayer::Account(to),
            (OrderPayer::Incoming(id), Attribution::Account(to)) if self.is_sender(id, to).await? => {
                OrderPayer::Account(to)
            }
            (OrderPayer::Loss, Attribution::Loss) => OrderPayer::Loss,
            _ => return Err(AttributionError::Mismatch),
        };
        let booked = AttributedOrder { order, ..booked }.with_return(to, how, returned);
        match to {
            OrderPayer::Account(wallet) => {
                let beside = AuditExtras::default();
                self.attribute_order_to_account(one, wallet, (booked, false), (leave, evidence), beside)
                    .await
            }
            OrderPayer::Incoming(_) | OrderPayer::Loss => {
                self.attribute_order_without_account(one, &booked, (leave, evidence), AuditExtras::default())
                    .await
            }
        }
    }

    /// The bank's return of a transfer: a separate entry on its other list.
    async fn bank_return(&self, order: &LostOrder) -> Result<(ReturnEvidence, Usdc), AttributionError> {
        if order.source != ReconciliationSource::BankTransfers {
            return Err(AttributionError::NotFound);
        }
        let patience = Duration::from_millis(self.0.settings.payouts.timeout_ms);
        let found = self.0.outgoing_guard.lost_orders.bank_return(order.key, patience).await;
        let found = found.map_err(|error| {
            tracing::warn!(key = %order.key, error, "it cannot be said whether the bank gave a transfer back");
            AttributionError::Unavailable
        })?;
        let entry = found.ok_or(AttributionError::NotFound)?;
        let EntryAmount::Cents(cents, Currency::USD) = entry.amount else {
            return Err(AttributionError::Mismatch);
        };
        let amount = Usdc::from_cents(cents).map_err(|_| AttributionError::Mismatch)?;
        Ok((ReturnEvidence::ReturnedByBank(entry.name.as_str().to_owned()), amount))
    }

    /// Whether this account is the sender of a transfer.
    async fn is_sender(&self, id: DepositId, account: Wallet) -> Result<bool, AttributionError> {
        let incoming = self
            .incoming_transfer(&id)
            .await
            .map_err(|_| AttributionError::Unavailable)?;
        Ok(incoming.is_some_and(|incoming| self.account_of(&incoming.transfer.from) == account))
    }

    async fn attribute_order_to_account(
        &self,
        one: &OperatorLock<'_>,
        wallet: Wallet,
        (booked, again): (AttributedOrder, bool),
        (leave, evidence): (Authority<'_>, String),
        beside: AuditExtras,
    ) -> Result<(), AttributionError> {
        let command = |act| account::Command::AttributeOrder {
            attributed: Box::new(booked.clone()),
            is_repeat: again,
            act,
            evidence: evidence.clone(),
        };
        let accounts = (&self.0.registries.accounts, wallet);
        match self
            .ask_as_operator_with_extras(one, accounts, (leave.act(), &beside), command)
            .await
        {
            Err(AskError::Rejected(account::Rejection::Insufficient { available })) => {
                Err(AttributionError::Insufficient { available })
            }
            result => result.map_err(map_ask_error),
        }
    }

    /// Attributes it to the incoming transfer that paid for it.
    async fn attribute_order_to_incoming(
        &self,
        one: &OperatorLock<'_>,
        id: DepositId,
        booked: AttributedOrder,
        (leave, evidence): (Authority<'_>, String),
    ) -> Result<(), AttributionError> {
        let (incoming, payment) = self.load_undecided(id).await.map_err(map_decision_error)?;
        if JobId(incoming.transfer.payment.product_id()) != booked.order.key {
            return Err(AttributionError::Mismatch);
        }
        let charged = incoming.transfer.amount;
        // The value in another currency is not known, so all of it counts as the provider's.
        let owed = booked
            .order
            .worth()
            .map_err(|_| AttributionError::Mismatch)?
            .unwrap_or(charged);
        let order = AttributedOrder {
            charged,
            owed,
            ..booked
        };
        let command = |act| incoming::Command::Forward {
            paid_for: Box::new(incoming::PaidFor::Order(order.clone())),
            payment,
            act: Box::new(act),
            evidence: evidence.clone(),
        };
        // From now on a settlement checks whether its transfer was attributed.
        self.0.incoming.mark_taken_in();
        let transfers = (&self.0.registries.incoming, id);
        self.ask_as_operator(one, transfers, leave.act(), command)
            .await
            .map_err(map_ask_error)
    }

    /// Attributes an order that no balance paid for.
    async fn attribute_order_without_account(
        &self,
        one: &OperatorLock<'_>,
        booked: &AttributedOrder,
        (leave, evidence): (Authority<'_>, String),
        beside: AuditExtras,
    ) -> Result<(), AttributionError> {
        let (order, now) = (&booked.order, self.0.clock.now());
        let key = table::lost_order(order.key);
        let posted = match &booked.returned {
            None => booked.payment_transaction(now),
            Some(back) => booked.return_transaction(back, now),
        };
        let words = AuditEntry {
            act: leave.act(),
            action: AuditAction::OrderBook,
            subject: format!("{} {} {}", order.source.name(), order.key, booked.charged.decimal()),
            note: Some(evidence),
            extras: beside,
        };
        let ledger = table::ledger(now, self.0.entropy.random());
        let writes = vec![put_row(key, booked), put_row(ledger, &posted)];
        match self.commit_with_audit(one, &words, Vec::new(), writes).await {
            Ok(()) => Ok(()),
            Err(_) => Err(AttributionError::Unavailable),
        }
    }
}

/// The attribution of the order. Only the operator knows what a payout was charged, since no list shows our fee. The
/// charge must be at least the amount paid out, and at most twice that.
fn to_attributed(
    order: LostOrder,
    booking: Attribution,
    amount: Option<Usdc>,
) -> Result<AttributedOrder, AttributionError> {
    let worth = order.worth().map_err(|_| AttributionError::Mismatch)?;
    let out = order.direction() == Direction::Out;
    let exactly = |worth: Usdc| match amount.is_none_or(|amount| amount == worth) {
        true => Ok(worth),
        false => Err(AttributionError::AmountNotAllowed),
    };
    let (payer, charged) = match (booking, worth) {
        (Attribution::Account(wallet), Some(worth)) if out && order.source == ReconciliationSource::Payouts => {
            let amount = amount.ok_or(AttributionError::AmountMissing)?;
            let most = worth.checked_add(worth).map_err(|_| AttributionError::Mismatch)?;
            if !(worth..=most).contains(&amount) {
                return Err(AttributionError::AmountOutOfRange(worth, most));
            }
            (OrderPayer::Account(wallet), amount)
        }
        (Attribution::Account(wallet), Some(worth)) => (OrderPayer::Account(wallet), exactly(worth)?),
        (Attribution::Incoming(id), _) if out && order.source == ReconciliationSource::Payouts => {
            if amount.is_some() {
                return Err(AttributionError::AmountNotAllowed);
            }
            (OrderPayer::Incoming(id), worth.unwrap_or_default())
        }
        (Attribution::Loss, Some(worth)) => (OrderPayer::Loss, exactly(worth)?),
        (Attribution::Loss, None) if out => (OrderPayer::Loss, amount.ok_or(AttributionError::AmountMissing)?),
        // A balance pays in US dollars only.
        _ => return Err(AttributionError::Mismatch),
    };
    Ok(AttributedOrder {
        order,
        payer,
        charged,
        owed: worth.unwrap_or(charged),
        returned: None,
    })
}
