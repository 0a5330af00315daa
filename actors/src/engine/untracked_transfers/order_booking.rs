//! Who paid for an order that a restore has lost: an operator says it, once. What came back of one is given to whoever had paid.

use std::time::Duration;

use super::PAGE;
use super::attribution::{Attribution, AttributionError, Early, refused, undecidable};
use crate::account;
use crate::approval::Gift;
use crate::engine::Engine;
use crate::engine::giving::Leave;
use crate::engine::operator_actions::{AuditEntry, OperatorLock};
use crate::engine::operators::put;
use crate::engine::reconciler::internal_entries;
use crate::id::{DepositId, JobId, Wallet};
use crate::incoming;
use crate::kernel::{AskError, table};
use crate::lost_order::{BookedOrder, Direction, How, LostOrder, Payer};
use crate::money::Usdc;
use crate::operator::Beside;
use crate::product::Currency;
use crate::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

impl Engine {
    /// Books an order by its key at its provider. `amount` is what its payer was charged.
    pub(super) async fn book_order(
        &self,
        one: &OperatorLock<'_>,
        key: JobId,
        (booking, amount): (Attribution, Option<Usdc>),
        (leave, evidence): (Leave<'_>, String),
    ) -> Result<(), AttributionError> {
        let patience = Duration::from_millis(self.0.settings.payouts.timeout_ms);
        let order = self.0.departures.orders.find(key, patience).await.map_err(|error| {
            tracing::warn!(%key, error, "it cannot be said what came of an order");
            AttributionError::Unavailable
        })?;
        let order = order.ok_or(AttributionError::NotFound)?;
        let booked = self
            .booked_order(key)
            .await
            .map_err(|_| AttributionError::Unavailable)?;
        let again = booked.as_ref().is_some_and(|booked| booked.may_be_again(&order));
        if let Some(booked) = booked.filter(|_| !again) {
            return self.undo(one, booked, (order, booking), (leave, evidence)).await;
        }
        if !again {
            let known = internal_entries::ordered(&*self.0.store, order.source, key.0).await;
            if known.map_err(|_| AttributionError::Unavailable)?.is_some() {
                return Err(AttributionError::NotFound);
            }
        }
        if !order.moves() {
            return Err(AttributionError::NotCarriedOut);
        }
        let booked = charged(order, booking, amount)?;
        self.may_have_no_payment(&booked).await?;
        if booked.order.direction() == Direction::In && booked.order.standing != EntryStatus::Completed {
            return Err(AttributionError::MayStillSettle(Early::Bank));
        }
        match (booked.payer, booked.order.direction()) {
            (Payer::Account(wallet), Direction::Out) => {
                let beside = Beside::default();
                self.book_to(one, wallet, (booked, again), (leave, evidence), beside)
                    .await
            }
            (Payer::Account(wallet), Direction::In) => {
                let gift = || Gift::BookOrder {
                    order: key.to_string(),
                    account: wallet,
                    evidence: evidence.clone(),
                };
                let beside = self.may_give(one, leave, booked.owed, gift).await?;
                self.book_to(one, wallet, (booked, false), (leave, evidence), beside)
                    .await
            }
            (Payer::Incoming(id), _) => self.paid_for_by(one, id, booked, (leave, evidence)).await,
            (Payer::Nobody, Direction::In) => {
                self.book_alone(one, &booked, (leave, evidence), Beside::default())
                    .await
            }
            (Payer::Nobody, Direction::Out) => {
                let gift = || Gift::BookLoss {
                    transaction: key.to_string(),
                    evidence: evidence.clone(),
                };
                let beside = self.may_give(one, leave, booked.owed, gift).await?;
                self.book_alone(one, &booked, (leave, evidence), beside).await
            }
        }
    }

    /// An order that a transfer which nobody has decided about had paid for is that transfer's; and a payment may still come to light.
    async fn may_have_no_payment(&self, booked: &BookedOrder) -> Result<(), AttributionError> {
        let order = &booked.order;
        if order.source != ReconciliationSource::Payouts || matches!(booked.payer, Payer::Incoming(_)) {
            return Ok(());
        }
        if !self.0.departures.is_quiet() {
            return Err(AttributionError::MayStillSettle(Early::Payment));
        }
        let mut after = None;
        loop {
            let page = self.incoming_transfers(after, PAGE).await;
            let page = page.map_err(|_| AttributionError::Unavailable)?;
            for ((_, id), incoming) in &page {
                if JobId(incoming.transfer.payment.product()) == order.key {
                    return Err(AttributionError::PaidBy(DepositId(*id)));
                }
            }
            match page.into_iter().last() {
                Some((place, _)) => after = Some(place),
                None => return Ok(()),
            }
        }
    }

    /// The provider did not carry out what was booked as paid, or has sent its money back.
    async fn undo(
        &self,
        one: &OperatorLock<'_>,
        booked: BookedOrder,
        (order, booking): (LostOrder, Attribution),
        (leave, evidence): (Leave<'_>, String),
    ) -> Result<(), AttributionError> {
        if booked.back.is_some() || booked.order.direction() == Direction::In {
            return Err(AttributionError::NotFound);
        }
        let (how, returned) = match order.standing {
            EntryStatus::Declined | EntryStatus::NotSubmitted => (How::Refused, Usdc::ZERO),
            EntryStatus::Returned => (How::SentBack, Usdc::ZERO),
            EntryStatus::Pending | EntryStatus::Held | EntryStatus::Completed => self.given_back(&order).await?,
        };
        let to = match (booked.payer, booking) {
            (Payer::Account(paid), Attribution::Account(to)) if paid == to => Payer::Account(to),
            (Payer::Incoming(id), Attribution::Account(to)) if self.has_sent(id, to).await? => Payer::Account(to),
            (Payer::Nobody, Attribution::Loss) => Payer::Nobody,
            _ => return Err(AttributionError::Mismatch),
        };
        let booked = BookedOrder { order, ..booked }.with_back(to, how, returned);
        match to {
            Payer::Account(wallet) => {
                let beside = Beside::default();
                self.book_to(one, wallet, (booked, false), (leave, evidence), beside)
                    .await
            }
            Payer::Incoming(_) | Payer::Nobody => {
                self.book_alone(one, &booked, (leave, evidence), Beside::default())
                    .await
            }
        }
    }

    /// What the bank gave back of a transfer: an entry of its own on its other list.
    async fn given_back(&self, order: &LostOrder) -> Result<(How, Usdc), AttributionError> {
        if order.source != ReconciliationSource::BankTransfers {
            return Err(AttributionError::NotFound);
        }
        let patience = Duration::from_millis(self.0.settings.payouts.timeout_ms);
        let found = self.0.departures.orders.given_back(order.key, patience).await;
        let found = found.map_err(|error| {
            tracing::warn!(key = %order.key, error, "it cannot be said whether the bank gave a transfer back");
            AttributionError::Unavailable
        })?;
        let entry = found.ok_or(AttributionError::NotFound)?;
        let EntryAmount::Cents(cents, Currency::USD) = entry.money else {
            return Err(AttributionError::Mismatch);
        };
        let amount = Usdc::from_cents(cents).map_err(|_| AttributionError::Mismatch)?;
        Ok((How::Returned(entry.name.as_str().to_owned()), amount))
    }

    /// Whether this account is the sender's of a transfer.
    async fn has_sent(&self, id: DepositId, account: Wallet) -> Result<bool, AttributionError> {
        let incoming = self
            .incoming_transfer(&id)
            .await
            .map_err(|_| AttributionError::Unavailable)?;
        Ok(incoming.is_some_and(|incoming| self.account_of(&incoming.transfer.from) == account))
    }

    async fn book_to(
        &self,
        one: &OperatorLock<'_>,
        wallet: Wallet,
        (booked, again): (BookedOrder, bool),
        (leave, evidence): (Leave<'_>, String),
        beside: Beside,
    ) -> Result<(), AttributionError> {
        let command = |act| account::Command::BookOrder {
            booked: Box::new(booked.clone()),
            again,
            act,
            evidence: evidence.clone(),
        };
        let accounts = (&self.0.families.accounts, wallet);
        match self.act_beside(one, accounts, (leave.act(), &beside), command).await {
            Err(AskError::Rejected(account::Rejection::Insufficient { available })) => {
                Err(AttributionError::Insufficient { available })
            }
            told => told.map_err(refused),
        }
    }

    /// Books it against what came in and paid for it.
    async fn paid_for_by(
        &self,
        one: &OperatorLock<'_>,
        id: DepositId,
        booked: BookedOrder,
        (leave, evidence): (Leave<'_>, String),
    ) -> Result<(), AttributionError> {
        let (incoming, payment) = self.undecided(id).await.map_err(undecidable)?;
        if JobId(incoming.transfer.payment.product()) != booked.order.key {
            return Err(AttributionError::Mismatch);
        }
        let charged = incoming.transfer.amount;
        // What another currency was worth is not known: all of it was for the provider.
        let owed = booked
            .order
            .worth()
            .map_err(|_| AttributionError::Mismatch)?
            .unwrap_or(charged);
        let order = BookedOrder {
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
        // From now on a settlement looks whether its transfer was taken in.
        self.0.arrivals.takes();
        let transfers = (&self.0.families.incoming, id);
        self.ask_as_operator(one, transfers, leave.act(), command)
            .await
            .map_err(refused)
    }

    /// Books what is in nobody's balance.
    async fn book_alone(
        &self,
        one: &OperatorLock<'_>,
        booked: &BookedOrder,
        (leave, evidence): (Leave<'_>, String),
        beside: Beside,
    ) -> Result<(), AttributionError> {
        let (order, now) = (&booked.order, self.0.clock.now());
        let key = table::lost_order(order.key);
        let posted = match &booked.back {
            None => booked.paid(now),
            Some(back) => booked.undone(back, now),
        };
        let words = AuditEntry {
            act: leave.act(),
            what: "order.book",
            subject: format!("{} {} {}", order.source.name(), order.key, booked.charged.decimal()),
            words: Some(evidence),
            beside,
        };
        let ledger = table::ledger(now, self.0.entropy.random());
        let writes = vec![put(key, booked), put(ledger, &posted)];
        match self.commit_with_audit(one, &words, Vec::new(), writes).await {
            Ok(()) => Ok(()),
            Err(_) => Err(AttributionError::Unavailable),
        }
    }
}

/// As it is to be booked. What a payout was charged only the operator knows, since no list shows our fee: at least what was paid out,
/// and at most twice that.
fn charged(order: LostOrder, booking: Attribution, amount: Option<Usdc>) -> Result<BookedOrder, AttributionError> {
    let worth = order.worth().map_err(|_| AttributionError::Mismatch)?;
    let out = order.direction() == Direction::Out;
    let exactly = |worth: Usdc| match amount.is_none_or(|amount| amount == worth) {
        true => Ok(worth),
        false => Err(AttributionError::AmountNotAsked),
    };
    let (payer, charged) = match (booking, worth) {
        (Attribution::Account(wallet), Some(worth)) if out && order.source == ReconciliationSource::Payouts => {
            let amount = amount.ok_or(AttributionError::AmountMissing)?;
            let most = worth.checked_add(worth).map_err(|_| AttributionError::Mismatch)?;
            if !(worth..=most).contains(&amount) {
                return Err(AttributionError::AmountDiffers(worth, most));
            }
            (Payer::Account(wallet), amount)
        }
        (Attribution::Account(wallet), Some(worth)) => (Payer::Account(wallet), exactly(worth)?),
        (Attribution::Incoming(id), _) if out && order.source == ReconciliationSource::Payouts => {
            if amount.is_some() {
                return Err(AttributionError::AmountNotAsked);
            }
            (Payer::Incoming(id), worth.unwrap_or_default())
        }
        (Attribution::Loss, Some(worth)) => (Payer::Nobody, exactly(worth)?),
        (Attribution::Loss, None) if out => (Payer::Nobody, amount.ok_or(AttributionError::AmountMissing)?),
        // A balance pays in US dollars only.
        _ => return Err(AttributionError::Mismatch),
    };
    Ok(BookedOrder {
        order,
        payer,
        charged,
        owed: worth.unwrap_or(charged),
        back: None,
    })
}
