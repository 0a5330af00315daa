//! Payouts from the engine's side: to whom one may go, what became of it, and what the rails tell unasked.

use std::sync::Arc;
use std::time::Duration;

use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, CommitError, RowKey, Store, Write};
use tokio::sync::oneshot;

use super::families::Families;
use super::{Denied, Engine, PayError, PayRequest};
use crate::destination::{self, Destination};
use crate::id::{DestinationId, PayoutId, RecipientId, Wallet};
use crate::kernel::family::LoadError;
use crate::kernel::{Memo, Refusal, table};
use crate::payout::{self, Payout, Plan, Target, Terms};
use crate::port::payout::{PayoutRails, Told};
use crate::product::{AppPayee, Platform, Purchase, Requirement};
use crate::recipient::{self, Recipient};

/// Words of the rails that are read in one go.
const PAGE: usize = 200;

/// How payouts go.
#[derive(Clone, Copy, Debug, Default)]
pub struct PayoutSettings {
    /// To debit cards.
    pub push_to_card: Terms,
    /// To banks.
    pub bank_payment: Terms,
    /// To payment apps.
    pub app_payment: Terms,
    /// How long a rail may take to answer before its answer counts as lost, in milliseconds.
    pub timeout_ms: u64,
    /// How often the rails are asked what they have to tell, in milliseconds.
    pub told_every_ms: u64,
}

/// Up to where the rails' words are known.
#[derive(Clone, Copy, Debug, Default, bincode::Encode, bincode::Decode)]
struct Heard(u64);

impl Stored for Heard {
    const SCHEMA: u16 = 127;
}

impl Engine {
    /// To whom a purchase is paid out, if it is one that is: the payer's own destination or recipient.
    pub(super) async fn plan(&self, payer: &Wallet, request: &PayRequest) -> Result<Option<Plan>, PayError> {
        let settings = &self.0.settings.payouts;
        let (target, terms) = match &request.purchase {
            Purchase::PushToCard { .. } => (Target::Card(None), settings.push_to_card),
            Purchase::BankPayment { destination, .. } => {
                let row = self.0.store.read(&table::destination(payer, *destination)).await;
                let row = row.map_err(|_| PayError::Unavailable)?;
                let missing = PayError::Missing(Requirement::Destination(*destination));
                let details = codec::decode(&row.ok_or(missing)?.value).map_err(|_| PayError::Unavailable)?;
                (Target::Bank(*destination, details), settings.bank_payment)
            }
            Purchase::AppPayment { platform, payee, .. } => {
                let (id, payee) = self.payee(payer, *platform, payee).await?;
                (Target::App(id, *platform, payee), settings.app_payment)
            }
            _ => return Ok(None),
        };
        let quoted = request.quoted.as_deref().cloned();
        Ok(Some(Plan { target, terms, quoted }))
    }

    /// A saved recipient is paid by what the app knows it by.
    async fn payee(
        &self,
        payer: &Wallet,
        platform: Platform,
        payee: &AppPayee,
    ) -> Result<(RecipientId, AppPayee), PayError> {
        let Ok(id) = payee.recipient.parse::<RecipientId>() else {
            let id = RecipientId::of(&self.0.secret, payer, platform.name(), &payee.recipient);
            return Ok((id, payee.clone()));
        };
        let saved = self.recipient(&id).await.map_err(|_| PayError::Unavailable)?;
        let own = saved.filter(|saved| {
            saved.owner == *payer && saved.platform == platform && saved.status != recipient::Status::Deleted
        });
        let own = own.ok_or(PayError::Missing(Requirement::Recipient(id)))?;
        let payee = AppPayee {
            recipient: own.payee.recipient,
            ..payee.clone()
        };
        Ok((id, payee))
    }

    /// A payout.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn payout(&self, id: &PayoutId) -> Result<Option<Payout>, LoadError> {
        Ok(self.0.families.payouts.read(id).await?.map(|(payout, _)| payout))
    }

    /// A wallet's payouts, oldest first, after the given one, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn payouts_of(
        &self,
        owner: &Wallet,
        after: Option<PayoutId>,
        limit: usize,
    ) -> Result<(Vec<(PayoutId, Payout)>, bool), LoadError> {
        let after = match after {
            None => None,
            Some(id) => self.payout(&id).await?.map(|payout| (payout.created_at, id.0)),
        };
        self.owned(&self.0.families.payouts, owner, PayoutId, after, limit)
            .await
    }

    /// Takes the card that a payout's recipient has given.
    ///
    /// # Errors
    /// When it does not wait for one.
    pub async fn detail_payout(
        &self,
        id: PayoutId,
        last4: String,
        sealed: Vec<u8>,
    ) -> Result<(), Denied<payout::Rejection>> {
        let command = payout::Command::Detail { last4, sealed };
        Ok(self.0.families.payouts.ask(id, command).await?)
    }

    /// A saved recipient.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn recipient(&self, id: &RecipientId) -> Result<Option<Recipient>, LoadError> {
        Ok(self.0.families.recipients.read(id).await?.map(|(saved, _)| saved))
    }

    /// A wallet's recipients that `shown` wants, oldest first, after the given one, at most `limit`; and whether there
    /// are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn recipients_of(
        &self,
        owner: &Wallet,
        after: Option<RecipientId>,
        limit: usize,
        shown: impl Fn(&Recipient) -> bool,
    ) -> Result<(Vec<(RecipientId, Recipient)>, bool), LoadError> {
        let mut found = Vec::new();
        let mut after = match after {
            None => None,
            Some(id) => self.recipient(&id).await?.map(|saved| (saved.created_at, id.0)),
        };
        loop {
            let (page, more) = self
                .owned(&self.0.families.recipients, owner, RecipientId, after, PAGE)
                .await?;
            after = page.last().map(|(id, saved)| (saved.created_at, id.0));
            found.extend(page.into_iter().filter(|(_, saved)| shown(saved)));
            if found.len() > limit || !more {
                let more = found.len() > limit;
                found.truncate(limit);
                return Ok((found, more));
            }
        }
    }

    /// Renames, hides or shows a recipient; what is `None` stays as it is. The answer is remembered if there is a memo.
    ///
    /// # Errors
    /// When it is deleted or the engine cannot answer; [`Denied::Used`] when the memo's key was used in between.
    pub async fn change_recipient(
        &self,
        id: RecipientId,
        display_name: Option<String>,
        archived: Option<bool>,
        memo: Option<Memo<Recipient>>,
    ) -> Result<(), Denied<recipient::Rejection>> {
        let command = recipient::Command::Change { display_name, archived };
        self.ask_once(&self.0.families.recipients, id, command, memo).await
    }

    /// Takes a recipient off every list. The answer is remembered if there is a memo.
    ///
    /// # Errors
    /// When it is deleted already or the engine cannot answer; [`Denied::Used`] when the memo's key was used in between.
    pub async fn delete_recipient(
        &self,
        id: RecipientId,
        memo: Option<Memo<Recipient>>,
    ) -> Result<(), Denied<recipient::Rejection>> {
        let command = recipient::Command::Delete;
        self.ask_once(&self.0.families.recipients, id, command, memo).await
    }

    /// Registers a bank destination under a new id.
    ///
    /// # Errors
    /// When the id is taken or the engine cannot answer.
    pub async fn register_destination(
        &self,
        id: DestinationId,
        destination: Destination,
        sealed: Vec<u8>,
        memo: Option<Memo<Destination>>,
    ) -> Result<(), Denied<destination::Rejection>> {
        let destination = Box::new(destination);
        let command = destination::Command::Register { destination, sealed };
        self.ask_once(&self.0.families.destinations, id, command, memo).await
    }

    /// Renames a bank destination. The answer is remembered if there is a memo.
    ///
    /// # Errors
    /// When it was removed; [`Denied::Used`] when the memo's key was used in between.
    pub async fn rename_destination(
        &self,
        id: DestinationId,
        name: String,
        memo: Option<Memo<Destination>>,
    ) -> Result<(), Denied<destination::Rejection>> {
        let command = destination::Command::Rename(name);
        self.ask_once(&self.0.families.destinations, id, command, memo).await
    }

    /// Takes a bank destination off its owner's list.
    ///
    /// # Errors
    /// When it is not on it.
    pub async fn remove_destination(
        &self,
        id: DestinationId,
        memo: Option<Memo<Destination>>,
    ) -> Result<(), Denied<destination::Rejection>> {
        let command = destination::Command::Remove;
        self.ask_once(&self.0.families.destinations, id, command, memo).await
    }

    /// A bank destination, removed or not.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn destination(&self, id: &DestinationId) -> Result<Option<Destination>, LoadError> {
        Ok(self.0.families.destinations.read(id).await?.map(|(kept, _)| kept))
    }

    /// A wallet's bank destinations, oldest first, after the given one, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn destinations_of(
        &self,
        owner: &Wallet,
        after: Option<DestinationId>,
        limit: usize,
    ) -> Result<(Vec<(DestinationId, Destination)>, bool), LoadError> {
        let family = &self.0.families.destinations;
        let after = match after {
            None => None,
            Some(id) => self.destination(&id).await?.map(|kept| (kept.created_at, id.0)),
        };
        self.owned(family, owner, DestinationId, after, limit).await
    }
}

/// What a listener has heard in this life.
#[derive(Default)]
struct Ears {
    /// The last word read; `None` before the first reading.
    at: Option<u64>,
    /// Words that their payouts could not take yet: what is written down stays before them.
    late: Vec<Told>,
}

/// Listens to the rails for as long as the engine lives. A reading that panics is logged, and the next one begins where
/// it is written down.
pub(super) fn listen(engine: &Engine) {
    let inner = Arc::downgrade(&engine.0);
    let every = Duration::from_millis(engine.0.settings.payouts.told_every_ms.max(1));
    tokio::spawn(async move {
        let mut ears = Ears::default();
        loop {
            tokio::time::sleep(every).await;
            let Some(inner) = inner.upgrade() else { return };
            let timeout = Duration::from_millis(inner.settings.payouts.timeout_ms);
            let (store, families) = (inner.store.clone(), inner.families.clone());
            let rails = inner.ports.rails.clone();
            drop(inner);
            let mut listening = std::mem::take(&mut ears);
            let reading = tokio::spawn(async move {
                let heard = listening.hear(&*store, &families, &*rails, timeout).await;
                (listening, heard)
            });
            match reading.await {
                Ok((listening, heard)) => {
                    ears = listening;
                    if let Err(error) = heard {
                        tracing::warn!(error, "what the payout rails tell could not be heard");
                    }
                }
                Err(error) => tracing::error!(%error, "listening to the payout rails failed and goes on"),
            }
        }
    });
}

impl Ears {
    /// Reads what was told since, tells the payouts, and only then writes down how far that was. A word that is told
    /// twice changes nothing; one payout that cannot be told holds up no other.
    async fn hear(
        &mut self,
        store: &dyn Store,
        families: &Families,
        rails: &dyn PayoutRails,
        timeout: Duration,
    ) -> Result<(), String> {
        let key = table::meta("payout-words");
        let heard: Heard = match store.read(&key).await.map_err(|e| e.to_string())? {
            Some(row) => codec::decode(&row.value).map_err(|e| e.to_string())?,
            None => Heard::default(),
        };
        let mut words = std::mem::take(&mut self.late);
        let mut at = self.at.unwrap_or(heard.0);
        let mut failed = None;
        if words.len() < PAGE {
            match tokio::time::timeout(timeout, rails.told(at, PAGE)).await {
                Ok(Ok(told)) => words.extend(told),
                Ok(Err(error)) => failed = Some(error.to_string()),
                Err(_) => failed = Some("no answer in time".into()),
            }
        }
        at = words.last().map_or(at, |word| at.max(word.number));
        for word in words {
            if let Err(error) = pass_on(families, &word).await {
                failed = Some(error);
                self.late.push(word);
            }
        }
        self.at = Some(at);
        let known = self.late.iter().map(|word| word.number - 1).fold(at, u64::min);
        if known > heard.0 {
            write_down(store, key, codec::encode(&Heard(known))).await?;
        }
        failed.map_or(Ok(()), Err)
    }
}

pub(super) async fn write_down(store: &dyn Store, key: RowKey, value: Vec<u8>) -> Result<(), String> {
    let batch = Batch {
        writes: vec![Write::Put {
            key,
            revision: 0,
            value,
        }],
        ..Batch::default()
    };
    let (done, committed) = oneshot::channel();
    store.commit(batch, Box::new(move |result| drop(done.send(result))));
    let committed = committed.await.unwrap_or(Err(CommitError::Stopped));
    committed.map(|_| ()).map_err(|e| e.to_string())
}

async fn pass_on(families: &Families, word: &Told) -> Result<(), String> {
    let (payout, sequence) = (word.payout, word.report.sequence);
    let command = payout::Command::Reported(word.report.clone());
    match families.payouts.ask(payout, command).await {
        Ok(()) => Ok(()),
        // The rail knows a payout that the store does not (an older backup was restored) or never sent to it: nothing
        // here can be moved by it, and it must be seen.
        Err(refusal @ (Refusal::Missing | Refusal::Rejected(_))) => {
            tracing::error!(%payout, sequence, ?refusal, "a rail tells of a payout that was not sent to it");
            Ok(())
        }
        Err(refusal) => Err(format!("{payout}: {refusal:?}")),
    }
}
