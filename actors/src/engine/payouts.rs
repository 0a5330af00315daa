//! Payouts in the engine: recipients and destinations, results, and the rails' events.

use std::sync::Arc;

use purser_storage::codec;
use tokio::sync::Notify;

use super::provider_events::ProviderEventSource;
use super::registries::Registries;
use super::{ClaimError, Engine, Inner, ListStart, OperationError, PaymentRequest};
use crate::entity::Purchase;
use crate::entity::bank_destination::{self, BankDestination};
use crate::entity::late_return::LateReturn;
use crate::entity::payment_recipient::{self, PaymentRecipient};
use crate::entity::payout::{
    self, AppPaymentPurchase, BankPaymentPurchase, Payout, PayoutPlan, PayoutTarget, RailTerms,
};
use crate::id::{BankDestinationId, LateReturnId, PaymentRecipientId, PayoutId, Wallet};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, IdempotencyRecorder, table};
use crate::port::payouts::{AppPayee, PayoutEvent, PayoutRails, Platform};
use crate::port::{BoxFuture, PortError};
use crate::product::Precondition;

/// Saved recipients read in one page.
const PAGE: usize = 200;

/// Settings of payouts.
#[derive(Clone, Copy, Debug, Default)]
pub struct PayoutSettings {
    /// Limits and fees of payouts to debit cards.
    pub push_to_card: RailTerms,
    /// Limits and fees of payouts to banks.
    pub bank_payment: RailTerms,
    /// Limits and fees of payouts to payment apps.
    pub app_payment: RailTerms,
    /// Timeout of a request to a rail, in milliseconds.
    pub timeout_ms: u64,
    /// Interval between two polls of the rails' events, in milliseconds.
    pub poll_interval_ms: u64,
}

impl Engine {
    /// Payout plan of a purchase, if it has one: the payer's own destination or recipient.
    pub(super) async fn payout_plan(
        &self,
        payer: &Wallet,
        request: &PaymentRequest,
    ) -> Result<Option<PayoutPlan>, ClaimError> {
        let settings = &self.0.settings.payouts;
        let (target, terms) = match &request.purchase {
            Purchase::PushToCard(_) => (PayoutTarget::Card(None), settings.push_to_card),
            Purchase::BankPayment(BankPaymentPurchase { destination, .. }) => {
                let row = self
                    .0
                    .store
                    .read(&table::payable_destination(payer, *destination))
                    .await;
                let row = row.map_err(|_| ClaimError::Unavailable)?;
                let missing = ClaimError::PreconditionFailed(Precondition::OwnsDestination(*destination));
                let details = codec::decode(&row.ok_or(missing)?.value).map_err(|_| ClaimError::Unavailable)?;
                (PayoutTarget::Bank(*destination, details), settings.bank_payment)
            }
            Purchase::AppPayment(AppPaymentPurchase { platform, payee, .. }) => {
                let (id, platform, payee) = self.payee(payer, *platform, payee).await?;
                (PayoutTarget::App(id, platform, payee), settings.app_payment)
            }
            _ => return Ok(None),
        };
        let quoted = request.quoted.as_deref().cloned();
        Ok(Some(PayoutPlan { target, terms, quoted }))
    }

    /// A saved recipient is paid by the app's identifier for them.
    async fn payee(
        &self,
        payer: &Wallet,
        platform: Option<Platform>,
        payee: &AppPayee,
    ) -> Result<(PaymentRecipientId, Platform, AppPayee), ClaimError> {
        let Ok(id) = payee.recipient.parse::<PaymentRecipientId>() else {
            // The HTTP layer requires it.
            let platform = platform.ok_or(ClaimError::Unavailable)?;
            let id = PaymentRecipientId::for_handle(&self.0.secret, payer, platform.name(), &payee.recipient);
            return Ok((id, platform, payee.clone()));
        };
        let saved = self.recipient(&id).await.map_err(|_| ClaimError::Unavailable)?;
        let own = saved.filter(|saved| {
            saved.owner == *payer
                && platform.is_none_or(|platform| saved.platform == platform)
                && saved.status != payment_recipient::Status::Deleted
        });
        let own = own.ok_or(ClaimError::PreconditionFailed(Precondition::OwnsRecipient(id)))?;
        let as_saved = payee.merged_with_saved(&own.payee);
        let payee = as_saved.ok_or(ClaimError::PreconditionFailed(Precondition::MatchesSaved(id)))?;
        Ok((id, own.platform, payee))
    }

    /// A payout by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn payout(&self, id: &PayoutId) -> Result<Option<Payout>, LoadError> {
        Ok(self.0.registries.payouts.read(id).await?.map(|(payout, _)| payout))
    }

    /// A wallet's payouts from the given one on, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn payouts_of(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<PayoutId>>,
        limit: usize,
    ) -> Result<(Vec<(PayoutId, Payout)>, bool), LoadError> {
        let start = start.into();
        let position = match start.position() {
            None => None,
            Some(id) => self.payout(&id).await?.map(|payout| (payout.created_at, id.0)),
        };
        self.list_owned(&self.0.registries.payouts, owner, PayoutId, start.at(position), limit)
            .await
    }

    /// What happened to a payout's money that was returned after its return window.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn late_return(&self, id: &LateReturnId) -> Result<Option<LateReturn>, LoadError> {
        Ok(self.0.registries.late_returns.read(id).await?.map(|(late, _)| late))
    }

    /// Stores the card that a payout's recipient has entered.
    ///
    /// # Errors
    /// When the payout does not wait for one.
    pub async fn submit_payout_details(
        &self,
        id: PayoutId,
        last4: String,
        sealed: Vec<u8>,
    ) -> Result<(), OperationError<payout::Rejection>> {
        let command = payout::Command::SubmitDetails { last4, sealed };
        Ok(self.0.registries.payouts.ask(id, command).await?)
    }

    /// Polls the rails' events now instead of at the next interval. The caller need not be trusted: only the rails'
    /// response counts.
    pub fn wake_payout_poller(&self) {
        self.0.payout_events_ready.notify_one();
    }

    /// Polls the events of the issuers of reloadable and prepaid cards now.
    pub fn wake_card_poller(&self) {
        self.0.card_events_ready.notify_one();
        self.0.prepaid_events_ready.notify_one();
    }

    /// Polls the bank's incoming transfers now.
    pub fn wake_bank_poller(&self) {
        self.0.bank_events_ready.notify_one();
    }

    /// A saved recipient by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn recipient(&self, id: &PaymentRecipientId) -> Result<Option<PaymentRecipient>, LoadError> {
        Ok(self.0.registries.recipients.read(id).await?.map(|(saved, _)| saved))
    }

    /// Waits until a recipient is saved. The batch of the first payment to them only creates the job for it. The caller
    /// sets the timeout.
    pub async fn await_recipient_saved(&self, id: PaymentRecipientId) {
        // If its actor died, the next read shows whether it is saved.
        drop(self.0.registries.recipients.outcome(id, 0).await);
    }

    /// A wallet's recipients that match the filter, oldest first, after the given one, at most `limit`; and whether
    /// there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn recipients_of(
        &self,
        owner: &Wallet,
        after: Option<PaymentRecipientId>,
        limit: usize,
        shown: impl Fn(&PaymentRecipient) -> bool,
    ) -> Result<(Vec<(PaymentRecipientId, PaymentRecipient)>, bool), LoadError> {
        let mut found = Vec::new();
        let mut after = match after {
            None => None,
            Some(id) => self.recipient(&id).await?.map(|saved| (saved.created_at, id.0)),
        };
        loop {
            let (page, more) = self
                .list_owned(&self.0.registries.recipients, owner, PaymentRecipientId, after, PAGE)
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

    /// Renames, hides or shows a recipient; `None` leaves a field unchanged. Persists the response if there is an
    /// idempotency recorder.
    ///
    /// # Errors
    /// When it is deleted or the engine can't answer; [`OperationError::AlreadyUsed`] when the idempotency key was used
    /// meanwhile.
    pub async fn update_recipient(
        &self,
        id: PaymentRecipientId,
        display_name: Option<String>,
        archived: Option<bool>,
        recorder: Option<IdempotencyRecorder<PaymentRecipient>>,
    ) -> Result<(), OperationError<payment_recipient::Rejection>> {
        let command = payment_recipient::Command::Update { display_name, archived };
        self.ask_idempotent(&self.0.registries.recipients, id, command, recorder)
            .await
    }

    /// Deletes a recipient from every list. Persists the response if there is an idempotency recorder.
    ///
    /// # Errors
    /// When it is already deleted or the engine can't answer; [`OperationError::AlreadyUsed`] when the idempotency key
    /// was used meanwhile.
    pub async fn delete_recipient(
        &self,
        id: PaymentRecipientId,
        recorder: Option<IdempotencyRecorder<PaymentRecipient>>,
    ) -> Result<(), OperationError<payment_recipient::Rejection>> {
        let command = payment_recipient::Command::Delete;
        self.ask_idempotent(&self.0.registries.recipients, id, command, recorder)
            .await
    }

    /// Registers a bank destination under a new id.
    ///
    /// # Errors
    /// When the id is taken or the engine can't answer.
    pub async fn register_destination(
        &self,
        id: BankDestinationId,
        destination: BankDestination,
        sealed: Vec<u8>,
        recorder: Option<IdempotencyRecorder<BankDestination>>,
    ) -> Result<(), OperationError<bank_destination::Rejection>> {
        let destination = Box::new(destination);
        let command = bank_destination::Command::Register { destination, sealed };
        self.ask_idempotent(&self.0.registries.destinations, id, command, recorder)
            .await
    }

    /// Renames a bank destination. Persists the response if there is an idempotency recorder.
    ///
    /// # Errors
    /// When it was removed; [`OperationError::AlreadyUsed`] when the idempotency key was used meanwhile.
    pub async fn rename_destination(
        &self,
        id: BankDestinationId,
        name: String,
        recorder: Option<IdempotencyRecorder<BankDestination>>,
    ) -> Result<(), OperationError<bank_destination::Rejection>> {
        let command = bank_destination::Command::Rename(name);
        self.ask_idempotent(&self.0.registries.destinations, id, command, recorder)
            .await
    }

    /// Removes a bank destination from its owner's list.
    ///
    /// # Errors
    /// When it is not on the list.
    pub async fn remove_destination(
        &self,
        id: BankDestinationId,
        recorder: Option<IdempotencyRecorder<BankDestination>>,
    ) -> Result<(), OperationError<bank_destination::Rejection>> {
        let command = bank_destination::Command::Remove;
        self.ask_idempotent(&self.0.registries.destinations, id, command, recorder)
            .await
    }

    /// A bank destination by its id, removed ones included.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn destination(&self, id: &BankDestinationId) -> Result<Option<BankDestination>, LoadError> {
        Ok(self.0.registries.destinations.read(id).await?.map(|(kept, _)| kept))
    }

    /// A wallet's bank destinations, oldest first, after the given one, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn destinations_of(
        &self,
        owner: &Wallet,
        after: Option<BankDestinationId>,
        limit: usize,
    ) -> Result<(Vec<(BankDestinationId, BankDestination)>, bool), LoadError> {
        let registry = &self.0.registries.destinations;
        let after = match after {
            None => None,
            Some(id) => self.destination(&id).await?.map(|kept| (kept.created_at, id.0)),
        };
        self.list_owned(registry, owner, BankDestinationId, after, limit).await
    }
}

/// The payout rails' events.
pub(super) struct PayoutEventSource {
    rails: Arc<dyn PayoutRails>,
    registries: Registries,
}

impl ProviderEventSource for PayoutEventSource {
    type Event = PayoutEvent;
    const CURSOR_KEY: &'static str = "payout-event-cursor";
    const PROVIDER: &'static str = "payout rails";

    fn from_engine(inner: &Inner) -> Self {
        let (rails, registries) = (inner.ports.payout_rails.clone(), inner.registries.clone());
        Self { rails, registries }
    }

    fn wake(inner: &Inner) -> Arc<Notify> {
        inner.payout_events_ready.clone()
    }

    fn position(word: &PayoutEvent) -> u64 {
        word.position
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<PayoutEvent>, PortError>> {
        self.rails.events_after(after, limit)
    }

    fn apply<'a>(&'a self, word: &'a PayoutEvent) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(apply_payout_event(&self.registries, word))
    }
}

async fn apply_payout_event(registries: &Registries, word: &PayoutEvent) -> Result<(), String> {
    let (payout, sequence) = (word.payout, word.update.sequence);
    let command = payout::Command::RecordRailEvent(word.update.clone());
    match registries.payouts.ask(payout, command).await {
        Ok(()) => Ok(()),
        // The rail knows a payout that the store does not, because an older backup was restored. The event changes
        // nothing here, and an operator must see it.
        Err(refusal @ (AskError::NotFound | AskError::Rejected(_))) => {
            tracing::error!(%payout, sequence, ?refusal, "a rail tells of a payout that is not known here");
            Ok(())
        }
        Err(refusal) => Err(format!("{payout}: {refusal:?}")),
    }
}
