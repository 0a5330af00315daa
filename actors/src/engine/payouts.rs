//! Payouts from the engine's side: to whom one may go, what became of it, and what the rails tell unasked.

use std::sync::Arc;

use purser_storage::codec;
use tokio::sync::Notify;

use super::families::Families;
use super::listening::Teller;
use super::{Denied, Engine, Inner, PayError, PayRequest};
use crate::destination::{self, Destination};
use crate::id::{DestinationId, LateReturnId, PayoutId, RecipientId, Wallet};
use crate::kernel::family::LoadError;
use crate::kernel::{Memo, Refusal, table};
use crate::late_return::LateReturn;
use crate::payout::{self, Payout, Plan, Target, Terms};
use crate::port::payout::{PayoutRails, Told};
use crate::port::{BoxFuture, PortError};
use crate::product::{AppPayee, Platform, Purchase, Requirement};
use crate::recipient::{self, Recipient};

/// Saved recipients that are read in one go.
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
                let (id, platform, payee) = self.payee(payer, *platform, payee).await?;
                (Target::App(id, platform, payee), settings.app_payment)
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
        platform: Option<Platform>,
        payee: &AppPayee,
    ) -> Result<(RecipientId, Platform, AppPayee), PayError> {
        let Ok(id) = payee.recipient.parse::<RecipientId>() else {
            // The edge asks for it.
            let platform = platform.ok_or(PayError::Unavailable)?;
            let id = RecipientId::of(&self.0.secret, payer, platform.name(), &payee.recipient);
            return Ok((id, platform, payee.clone()));
        };
        let saved = self.recipient(&id).await.map_err(|_| PayError::Unavailable)?;
        let own = saved.filter(|saved| {
            saved.owner == *payer
                && platform.is_none_or(|platform| saved.platform == platform)
                && saved.status != recipient::Status::Deleted
        });
        let own = own.ok_or(PayError::Missing(Requirement::Recipient(id)))?;
        let as_saved = payee.as_saved(&own.payee);
        let payee = as_saved.ok_or(PayError::Missing(Requirement::AsSaved(id)))?;
        Ok((id, own.platform, payee))
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

    /// What became of a payout's money that came back after its return window.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn late_return(&self, id: &LateReturnId) -> Result<Option<LateReturn>, LoadError> {
        Ok(self.0.families.late_returns.read(id).await?.map(|(late, _)| late))
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

    /// The rails are said to have something to tell: they are asked now and not only when it is time. Whoever says so
    /// need not be believed; what counts is what the rails answer.
    pub fn rails_have_told(&self) {
        self.0.rails_told.notify_one();
    }

    /// The same of the issuers of reloadable and of prepaid cards.
    pub fn issuer_has_told(&self) {
        self.0.issuer_told.notify_one();
        self.0.prepaid_told.notify_one();
    }

    /// The same of the bank, where something may have come in.
    pub fn bank_has_told(&self) {
        self.0.bank_told.notify_one();
    }

    /// A saved recipient.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn recipient(&self, id: &RecipientId) -> Result<Option<Recipient>, LoadError> {
        Ok(self.0.families.recipients.read(id).await?.map(|(saved, _)| saved))
    }

    /// Waits until a recipient is saved, which the batch of the first payment to it only orders. The caller bounds it.
    pub async fn recipient_saved(&self, id: RecipientId) {
        // Its actor died: whoever asks next finds it saved or not.
        drop(self.0.families.recipients.outcome(id, 0).await);
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

/// The payout rails' words.
pub(super) struct Rails {
    rails: Arc<dyn PayoutRails>,
    families: Families,
}

impl Teller for Rails {
    type Word = Told;
    const ROW: &'static str = "payout-words";
    const WHO: &'static str = "payout rails";

    fn of(inner: &Inner) -> Self {
        let (rails, families) = (inner.ports.rails.clone(), inner.families.clone());
        Self { rails, families }
    }

    fn bell(inner: &Inner) -> Arc<Notify> {
        inner.rails_told.clone()
    }

    fn number(word: &Told) -> u64 {
        word.number
    }

    fn told(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Told>, PortError>> {
        self.rails.told(after, limit)
    }

    fn pass_on<'a>(&'a self, word: &'a Told) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(pass_on(&self.families, word))
    }
}

async fn pass_on(families: &Families, word: &Told) -> Result<(), String> {
    let (payout, sequence) = (word.payout, word.report.sequence);
    let command = payout::Command::Reported(word.report.clone());
    match families.payouts.ask(payout, command).await {
        Ok(()) => Ok(()),
        // The rail knows a payout that the store does not (an older backup was restored): nothing here can be moved by
        // it, and it must be seen.
        Err(refusal @ (Refusal::Missing | Refusal::Rejected(_))) => {
            tracing::error!(%payout, sequence, ?refusal, "a rail tells of a payout that is not known here");
            Ok(())
        }
        Err(refusal) => Err(format!("{payout}: {refusal:?}")),
    }
}
