//! Purchases with the sandbox's prepaid cards, and card actions.

use purser_actors::id::JobId;
use purser_actors::money::Cents;
use purser_actors::port::{
    CardActionRequest, CardEvent, CardSnapshot, CardTransaction, ErrorKind, PortError, Timestamp, TransactionStatus,
};

use super::issuer_card_ledger::{CardChange, CardLedger, CardLedgers, CardRecord};
use super::issuer_records::CardOrderRecord;
use super::{SandboxIssuer, card_numbers};
use purser_sandbox::faults::failed;
use purser_sandbox::records::RecordBook as _;

/// A merchant's charge.
#[derive(Clone, Copy, Debug)]
pub struct CardCharge<'a> {
    /// The merchant's name as the merchant spells it.
    pub merchant: &'a str,
    /// In US dollars.
    pub amount: Cents,
    /// Whether the charge settles at once; otherwise it is pending.
    pub settles: bool,
}

impl CardCharge<'_> {
    /// The `count`th transaction of a card: declined for this reason, or approved.
    pub(super) fn transaction(
        self,
        key: JobId,
        count: usize,
        declined: Option<&str>,
        at: Timestamp,
    ) -> CardTransaction {
        CardTransaction {
            id: format!("{}_txn_{count:06}", card_numbers::issuer_ref(key)),
            merchant: self.merchant.to_owned(),
            amount: self.amount,
            at,
            status: match (declined, self.settles) {
                (Some(_), _) => TransactionStatus::Declined,
                (None, true) => TransactionStatus::Settled,
                (None, false) => TransactionStatus::Pending,
            },
            reason: declined.map(str::to_owned),
        }
    }
}

/// Whether a charge can change that way.
pub(super) const fn can_become(from: TransactionStatus, to: TransactionStatus) -> bool {
    matches!(
        (from, to),
        (
            TransactionStatus::Pending,
            TransactionStatus::Settled | TransactionStatus::Refunded
        ) | (TransactionStatus::Settled, TransactionStatus::Refunded)
    )
}

impl SandboxIssuer {
    /// A merchant charges a card. Approvals and declines are both recorded. `Permanent` for a card that does not exist.
    ///
    /// # Errors
    /// Those of a provider call.
    pub async fn charge(&self, issuer_ref: &str, sale: CardCharge<'_>) -> Result<CardTransaction, PortError> {
        let known = self.find("charge", issuer_ref).await?;
        let now = self.clock.now();
        let lived = |file: &CardLedger| Some(vec![file.charge(sale, now)]);
        let snapshot = self.change_card(known, issuer_ref, lived).await?;
        let newest = snapshot.and_then(|snapshot| snapshot.activity.transactions.into_iter().next());
        newest.ok_or_else(|| failed(ErrorKind::Unknown, "charge", "it was not recorded"))
    }

    /// Settles or refunds a pending charge. `Permanent` if the charge cannot change that way.
    ///
    /// # Errors
    /// Those of a provider call.
    pub async fn end_charge(
        &self,
        issuer_ref: &str,
        transaction: &str,
        status: TransactionStatus,
    ) -> Result<(), PortError> {
        let known = self.find("end charge", issuer_ref).await?;
        let now = self.clock.now();
        let lived = |file: &CardLedger| file.update_charge(transaction, status, now);
        match self.change_card(known, issuer_ref, lived).await? {
            Some(_) => Ok(()),
            None => Err(failed(
                ErrorKind::Permanent,
                "end charge",
                "this card has no charge that can change that way",
            )),
        }
    }

    pub(super) async fn run_card_action(&self, order: &CardActionRequest) -> Result<CardSnapshot, PortError> {
        let known = self.find("change card state", &order.issuer_ref).await?;
        if known.card != order.card {
            return Err(failed(ErrorKind::Permanent, "change card state", "no such card"));
        }
        let known_status = known.clone();
        let now = self.clock.now();
        // An action that was applied is not applied again, whatever happened after it.
        let moved = |lives: &CardLedgers, file: &CardLedger| match lives.is_done(order.key) {
            true => None,
            false => file.apply_action(order.key, order.action, now).map(|moved| vec![moved]),
        };
        match self.change_card_with(known, &order.issuer_ref, moved).await? {
            Some(snapshot) => Ok(snapshot),
            None => self.card_status(known_status).await,
        }
    }

    /// Status of a card, after it is durable.
    pub(super) async fn card_status(&self, order: CardOrderRecord) -> Result<CardSnapshot, PortError> {
        let snapshot = self.ledgers.run(|lives| lives.of(order).snapshot());
        snapshot.or(ErrorKind::Unknown, "standing").await
    }

    pub(super) async fn read_events(&self, after: u64, limit: usize) -> Result<Vec<CardEvent>, PortError> {
        let words = self.ledgers.run(|lives| {
            // In this order wherever both are locked.
            let book = self.records.lock();
            let changes = lives.changes_after(after, limit).into_iter();
            let word = |(position, card, name): (u64, _, String)| {
                let snapshot = lives.of(book.by_ref(&name)?).snapshot();
                Some(CardEvent {
                    position,
                    card,
                    snapshot,
                })
            };
            changes.filter_map(word).collect()
        });
        words.or(ErrorKind::Unknown, "card events").await
    }

    async fn change_card(
        &self,
        order: CardOrderRecord,
        issuer_ref: &str,
        lived: impl FnOnce(&CardLedger) -> Option<Vec<CardChange>> + Send,
    ) -> Result<Option<CardSnapshot>, PortError> {
        self.change_card_with(order, issuer_ref, |_, file| lived(file)).await
    }

    /// Decides on a change of a card and records it under one lock. Returns the new status, or `None` if nothing
    /// changes.
    async fn change_card_with(
        &self,
        order: CardOrderRecord,
        issuer_ref: &str,
        lived: impl FnOnce(&CardLedgers, &CardLedger) -> Option<Vec<CardChange>> + Send,
    ) -> Result<Option<CardSnapshot>, PortError> {
        let snapshot = self.ledgers.run(|lives| {
            let happened = lived(lives, &lives.of(order.clone()))?;
            let event = |change| CardRecord {
                issuer_ref: issuer_ref.to_owned(),
                card: order.card,
                change,
            };
            let events: Vec<CardRecord> = happened.into_iter().map(event).collect();
            lives.append(&events);
            Some(lives.of(order).snapshot())
        });
        snapshot.or(ErrorKind::Unknown, "card").await
    }
}
