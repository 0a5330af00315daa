//! Owners' use of the card balance: reloadable cards and withdrawals.

use std::sync::Arc;

use tokio::sync::Notify;

use super::provider_events::ProviderEventSource;
use super::refunds::refunded_for_snapshot;
use super::registries::Registries;
use super::{Engine, Inner, ListStart, OperationError};
use crate::entity::PurchasedProduct;
use crate::entity::card;
use crate::entity::card_withdrawal::CardWithdrawal;
use crate::entity::payment;
use crate::entity::refund::Refunded;
use crate::entity::reloadable_card::{self, ReloadableCard};
use crate::entity::top_up;
use crate::entity::withdrawal::{Withdrawal, WithdrawalView};
use crate::id::{CardId, PaymentId, Wallet, WithdrawalId};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, Entity as _, EntityKind, IdempotencyRecorder, table};
use crate::money::Cents;
use crate::port::{BoxFuture, CardAction, CardEvent, CardIssuer, PortError, ReloadableCardProvider};

/// A withdrawal from the account's balance or from the card balance.
#[derive(Clone, Debug)]
pub enum AnyWithdrawal {
    /// From the account's balance.
    Account(Withdrawal),
    /// From the card balance at the issuer.
    Card(CardWithdrawal),
}

impl AnyWithdrawal {
    /// Account that owns the withdrawal.
    pub const fn owner(&self) -> Wallet {
        match self {
            Self::Account(withdrawal) => withdrawal.owner,
            Self::Card(withdrawal) => withdrawal.owner,
        }
    }

    /// The owner's view.
    pub fn view(&self, id: &WithdrawalId) -> WithdrawalView<'_> {
        match self {
            Self::Account(withdrawal) => withdrawal.view(id),
            Self::Card(withdrawal) => withdrawal.view(id),
        }
    }
}

impl Engine {
    /// Orders a reloadable card, which is `creating` from then on; [`Engine::await_reloadable`] waits for the result.
    /// `funding` is what [`Engine::top_up_left`] returned for the payment behind the caller's token.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when an earlier request with the idempotency key was executed.
    /// [`OperationError::Unavailable`] when no issuer account is linked any more, or another token of that payment
    /// ordered at the same moment.
    pub async fn create_reloadable(
        &self,
        (id, owner, account): (CardId, Wallet, [u8; 20]),
        (amount, reusable): (Cents, bool),
        funding: Option<(PaymentId, u32)>,
        recorder: Option<IdempotencyRecorder<ReloadableCard>>,
    ) -> Result<(), OperationError<reloadable_card::Rejection>> {
        let command = reloadable_card::Command::Request {
            owner,
            account,
            amount,
            reusable,
            funding,
        };
        let created = self.ask_idempotent(&self.0.registries.reloadable_cards, id, command, recorder);
        created.await.map(drop)
    }

    /// The amount that tokens of this payment may still load on reloadable cards, and the number of cards they have
    /// ordered. The amount is what the payment added to the card balance, less what these cards have loaded. Zero for a
    /// payment that bought something else. Zero also if its top-up failed, since the money is then on the account's
    /// balance.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn top_up_left(&self, payment: PaymentId) -> Result<(Cents, u32), LoadError> {
        let rows = self
            .0
            .store
            .scan(&table::payment_cards(payment), None, usize::MAX)
            .await?;
        let mut loaded = Cents::new(0);
        for (_, row) in &rows {
            let id = row.value.first_chunk().map_or(0, |id| u128::from_be_bytes(*id));
            let card = self.reloadable(&CardId(id)).await?;
            // An order that the issuer declined has taken nothing. A card that does not exist belongs to no batch.
            let taken = card.filter(|card| !matches!(card.status, reloadable_card::Status::Failed { .. }));
            loaded = Cents::new(loaded.get().saturating_add(taken.map_or(0, |card| card.amount.get())));
        }
        let product = self.payment(&payment).await?.map(|payment| payment.status);
        let Some(payment::Status::Fulfilled {
            product: PurchasedProduct::TopUp(id),
            ..
        }) = product
        else {
            return Ok((Cents::new(0), 0));
        };
        let top_up = self.top_up(&id).await?;
        let brought = match top_up {
            Some(top_up) if !matches!(top_up.status, top_up::Status::Failed { .. }) => top_up.amount.get(),
            _ => 0,
        };
        let nth = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        Ok((Cents::new(brought.saturating_sub(loaded.get())), nth))
    }

    /// Starts an owner's card action. Returns false if the card is already in that state and the issuer is not asked.
    /// Persists the response if there is an idempotency recorder.
    ///
    /// # Errors
    /// When the card is not open or paused, or another action is pending; [`OperationError::AlreadyUsed`] as above.
    pub async fn request_card_action(
        &self,
        id: CardId,
        action: CardAction,
        recorder: Option<IdempotencyRecorder<ReloadableCard>>,
    ) -> Result<bool, OperationError<reloadable_card::Rejection>> {
        let command = reloadable_card::Command::RequestAction(action);
        self.ask_idempotent(&self.0.registries.reloadable_cards, id, command, recorder)
            .await
    }

    /// Records that the owner is shown a reloadable card's number.
    ///
    /// # Errors
    /// When the card is neither open nor paused.
    pub async fn reveal_reloadable(&self, id: CardId) -> Result<(), OperationError<reloadable_card::Rejection>> {
        let command = reloadable_card::Command::Reveal;
        let revealed = self.ask_idempotent(&self.0.registries.reloadable_cards, id, command, None);
        revealed.await.map(drop)
    }

    /// Waits until no request for a card is pending at the issuer. The caller sets the timeout.
    pub async fn await_reloadable(&self, id: CardId) -> Option<ReloadableCard> {
        self.0.registries.reloadable_cards.outcome(id, 0).await.ok()
    }

    /// A reloadable card by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn reloadable(&self, id: &CardId) -> Result<Option<ReloadableCard>, LoadError> {
        Ok(self.0.registries.reloadable_cards.read(id).await?.map(|(card, _)| card))
    }

    /// A wallet's reloadable cards, as [`Engine::cards_of`].
    ///
    /// # Errors
    /// When storage fails.
    pub async fn reloadables_of(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<CardId>>,
        limit: usize,
    ) -> Result<(Vec<(CardId, ReloadableCard)>, bool), LoadError> {
        let start = start.into();
        let position = match start.position() {
            None => None,
            Some(id) => self.reloadable(&id).await?.map(|card| (card.created_at, id.0)),
        };
        let registry = &self.0.registries.reloadable_cards;
        self.list_owned(registry, owner, CardId, start.at(position), limit)
            .await
    }

    /// A wallet's newest reloadable cards, newest last, at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn newest_reloadables(
        &self,
        owner: &Wallet,
        limit: usize,
    ) -> Result<Vec<(CardId, ReloadableCard)>, LoadError> {
        let newest = self
            .newest(&self.0.registries.reloadable_cards, owner, CardId, limit)
            .await?;
        Ok(newest.into_iter().map(|(_, id, card)| (id, card)).collect())
    }

    /// A withdrawal from either balance. Ids are unique over both.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn any_withdrawal(&self, id: &WithdrawalId) -> Result<Option<AnyWithdrawal>, LoadError> {
        if let Some(withdrawal) = self.withdrawal(id).await? {
            return Ok(Some(AnyWithdrawal::Account(withdrawal)));
        }
        Ok(self.card_withdrawal(id).await?.map(AnyWithdrawal::Card))
    }

    /// A wallet's withdrawals from both balances, from the given one on, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn withdrawals_of(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<WithdrawalId>>,
        limit: usize,
    ) -> Result<(Vec<(WithdrawalId, AnyWithdrawal)>, bool), LoadError> {
        let start = start.into();
        let position = match start.position() {
            None => None,
            Some(id) => self
                .any_withdrawal(&id)
                .await?
                .filter(|w| w.owner() == *owner)
                .map(|w| {
                    let made = match w {
                        AnyWithdrawal::Account(withdrawal) => withdrawal.created_at,
                        AnyWithdrawal::Card(withdrawal) => withdrawal.created_at,
                    };
                    (made, id.0)
                }),
        };
        let (keys, more) = self
            .owned_keys(owner, EntityKind::Withdrawal, start.at(position), limit)
            .await?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let Some((_, id)) = table::created_and_id(&key) else {
                continue;
            };
            let id = WithdrawalId(id);
            found.extend(self.any_withdrawal(&id).await?.map(|withdrawal| (id, withdrawal)));
        }
        Ok((found, more))
    }
}

/// Events of the issuer of reloadable cards.
pub(super) struct CardEventSource {
    provider: Arc<dyn ReloadableCardProvider>,
    registries: Registries,
}

impl ProviderEventSource for CardEventSource {
    type Event = CardEvent;
    const CURSOR_KEY: &'static str = "card-event-cursor";
    const PROVIDER: &'static str = "card issuer";

    fn from_engine(inner: &Inner) -> Self {
        let (program, registries) = (inner.ports.reloadable_cards.clone(), inner.registries.clone());
        Self {
            provider: program,
            registries,
        }
    }

    fn wake(inner: &Inner) -> Arc<Notify> {
        inner.card_events_ready.clone()
    }

    fn position(word: &CardEvent) -> u64 {
        word.position
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        self.provider.events_after(after, limit)
    }

    fn apply<'a>(&'a self, word: &'a CardEvent) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(apply_card_event(&self.registries, word))
    }
}

/// Events of the issuer of prepaid cards.
pub(super) struct PrepaidEventSource {
    issuer: Arc<dyn CardIssuer>,
    registries: Registries,
}

impl ProviderEventSource for PrepaidEventSource {
    type Event = CardEvent;
    const CURSOR_KEY: &'static str = "prepaid-card-event-cursor";
    const PROVIDER: &'static str = "issuer of prepaid cards";

    fn from_engine(inner: &Inner) -> Self {
        let (issuer, registries) = (inner.ports.issuer.clone(), inner.registries.clone());
        Self { issuer, registries }
    }

    fn wake(inner: &Inner) -> Arc<Notify> {
        inner.prepaid_events_ready.clone()
    }

    fn position(word: &CardEvent) -> u64 {
        word.position
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        self.issuer.events_after(after, limit)
    }

    fn apply<'a>(&'a self, word: &'a CardEvent) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let failed = |error: LoadError| format!("{}: {error}", word.card);
            let refunded = match self.registries.cards.read(&word.card).await.map_err(failed)? {
                Some((card, _)) => {
                    let read = refunded_for_snapshot(&self.registries, &card, &word.snapshot).await;
                    read.map_err(failed)?
                }
                None => Refunded::default(),
            };
            let command = card::Command::RecordCardEvent(word.snapshot.clone(), refunded);
            match self.registries.cards.ask(word.card, command).await {
                Ok(_) => Ok(()),
                // The issuer's response to the order is still in flight.
                Err(refusal @ AskError::Rejected(card::Rejection::InvalidState("pending"))) => {
                    Err(format!("{}: {refusal:?}", word.card))
                }
                Err(refusal @ (AskError::NotFound | AskError::Rejected(_))) => {
                    log_unknown_card(word, &refusal);
                    Ok(())
                }
                Err(refusal) => Err(format!("{}: {refusal:?}", word.card)),
            }
        })
    }
}

/// The issuer knows a card that the store does not: an older backup was restored.
fn log_unknown_card(word: &CardEvent, refusal: &impl std::fmt::Debug) {
    let (card, sequence) = (word.card, word.snapshot.sequence);
    tracing::error!(%card, sequence, ?refusal, "the issuer tells of a card that was not ordered");
}

async fn apply_card_event(registries: &Registries, word: &CardEvent) -> Result<(), String> {
    let card = word.card;
    let command = reloadable_card::Command::RecordCardEvent(word.snapshot.clone());
    match registries.reloadable_cards.ask(card, command).await {
        Ok(_) => Ok(()),
        // The issuer's response to the order is still in flight.
        Err(refusal @ AskError::Rejected(reloadable_card::Rejection::InvalidState("creating"))) => {
            Err(format!("{card}: {refusal:?}"))
        }
        Err(refusal @ (AskError::NotFound | AskError::Rejected(_))) => {
            log_unknown_card(word, &refusal);
            Ok(())
        }
        Err(refusal) => Err(format!("{card}: {refusal:?}")),
    }
}
