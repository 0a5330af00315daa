//! What is bought with the sandbox's prepaid cards, and what their holders want of them.

use purser_actors::money::Cents;
use purser_actors::port::{
    CardActionRequest, CardEvent, CardSnapshot, CardTransaction, ErrorKind, PortError, TransactionStatus,
};

use super::SandboxIssuer;
use super::issuer_records::CardOrderRecord;
use super::life::{CardFile, Event, Lives, What};
use crate::sandbox::archive::ArchiveState as _;
use crate::sandbox::record_log::DurablePromise;

/// How a merchant charges.
#[derive(Clone, Copy, Debug)]
pub struct Sale<'a> {
    /// In the merchant's own words.
    pub merchant: &'a str,
    /// In US dollars.
    pub amount: Cents,
    /// Whether the merchant takes it at once; else it is pending.
    pub settles: bool,
}

impl SandboxIssuer {
    /// A merchant charges a card, which is taken or refused: both are written down. `Permanent` for a card that is not there.
    ///
    /// # Errors
    /// As a call of the port.
    pub async fn charge(&self, issuer_ref: &str, sale: Sale<'_>) -> Result<CardTransaction, PortError> {
        let known = self.find("charge", issuer_ref).await?;
        let now = self.clock.now();
        let lived = |file: &CardFile| Some(vec![file.judged(sale.merchant, sale.amount, sale.settles, now)]);
        let standing = self.live(known, issuer_ref, lived).await?;
        let newest = standing.and_then(|standing| standing.activity.transactions.into_iter().next());
        newest.ok_or_else(|| failed("charge", ErrorKind::Unknown, "it was not written down"))
    }

    /// Something comes of a charge: the merchant takes what is pending, or gives it back. `Permanent` where that cannot be.
    ///
    /// # Errors
    /// As a call of the port.
    pub async fn end_charge(
        &self,
        issuer_ref: &str,
        transaction: &str,
        status: TransactionStatus,
    ) -> Result<(), PortError> {
        let known = self.find("end charge", issuer_ref).await?;
        let now = self.clock.now();
        let lived = |file: &CardFile| file.became(transaction, status, now);
        match self.live(known, issuer_ref, lived).await? {
            Some(_) => Ok(()),
            None => Err(failed(
                "end charge",
                ErrorKind::Permanent,
                "no charge of this card that this can come of",
            )),
        }
    }

    pub(super) async fn steered(&self, order: &CardActionRequest) -> Result<CardSnapshot, PortError> {
        let known = self.find("steer card", &order.issuer_ref).await?;
        if known.card != order.card {
            return Err(failed("steer card", ErrorKind::Permanent, "no such card"));
        }
        let stands = known.clone();
        let now = self.clock.now();
        // What was carried out is not carried out again, whatever came after it.
        let moved = |lives: &Lives, file: &CardFile| match lives.is_done(order.key) {
            true => None,
            false => file.wished(order.key, order.wish, now).map(|moved| vec![moved]),
        };
        match self.live_on(known, &order.issuer_ref, moved).await? {
            Some(standing) => Ok(standing),
            None => self.stands(stands).await,
        }
    }

    /// How a card stands, durably.
    pub(super) async fn stands(&self, order: CardOrderRecord) -> Result<CardSnapshot, PortError> {
        let (standing, durable) = {
            let lives = self.lives.lock();
            (lives.of(order).standing(), self.lived.barrier())
        };
        durably("standing", durable).await?;
        Ok(standing)
    }

    pub(super) async fn words(&self, after: u64, limit: usize) -> Result<Vec<CardEvent>, PortError> {
        let (words, durable) = {
            let book = self.book.lock();
            let lives = self.lives.lock();
            let told = lives.told(after, limit).into_iter();
            let word = |(number, card, name): (u64, _, String)| {
                let standing = lives.of(book.by_ref(&name)?).standing();
                Some(CardEvent { number, card, standing })
            };
            (told.filter_map(word).collect(), self.lived.barrier())
        };
        durably("told", durable).await?;
        Ok(words)
    }

    async fn live(
        &self,
        order: CardOrderRecord,
        issuer_ref: &str,
        lived: impl FnOnce(&CardFile) -> Option<Vec<What>> + Send,
    ) -> Result<Option<CardSnapshot>, PortError> {
        self.live_on(order, issuer_ref, |_, file| lived(file)).await
    }

    /// Judges what happens to a card and writes it down under one lock: how it stands then; `None` where nothing happens.
    async fn live_on(
        &self,
        order: CardOrderRecord,
        issuer_ref: &str,
        lived: impl FnOnce(&Lives, &CardFile) -> Option<Vec<What>> + Send,
    ) -> Result<Option<CardSnapshot>, PortError> {
        let (standing, durable) = {
            let mut lives = self.lives.lock();
            let card = order.card;
            let file = lives.of(order.clone());
            let Some(happened) = lived(&lives, &file) else {
                return Ok(None);
            };
            let event = |what| Event {
                issuer_ref: issuer_ref.to_owned(),
                card,
                what,
            };
            let events: Vec<Event> = happened.into_iter().map(event).collect();
            let durable = match self.lived.has_failed() || events.iter().any(|event| lives.apply(event).is_err()) {
                true => DurablePromise::broken(),
                false => {
                    // Encoding plain data into memory has no failing case.
                    let record = bincode::encode_to_vec(&events, bincode::config::standard()).unwrap_or_default();
                    self.lived.append(&mut *lives, record)
                }
            };
            (lives.of(order).standing(), durable)
        };
        durably("card", durable).await?;
        Ok(Some(standing))
    }
}

fn failed(operation: &'static str, kind: ErrorKind, message: &str) -> PortError {
    PortError {
        kind,
        operation,
        message: message.into(),
    }
}

async fn durably(operation: &'static str, durable: DurablePromise) -> Result<(), PortError> {
    let kept = durable.wait().await;
    kept.map_err(|error| failed(operation, ErrorKind::Unknown, &error.to_string()))
}
