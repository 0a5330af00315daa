//! Reads from the latest durable state, without an actor.

use purser_storage::{RowKey, StoreError, codec};

use super::Engine;
use crate::entity::PurchasedProduct;
use crate::entity::account::Account;
use crate::entity::card::Card;
use crate::entity::gift_card::GiftCard;
use crate::entity::intl_order::IntlOrder;
use crate::entity::payment::Payment;
use crate::entity::session::Session;
use crate::entity::top_up::TopUp;
use crate::id::{CardId, PaymentId, SessionId, TopUpId, Wallet};
use crate::kernel::registry::LoadError;
use crate::kernel::{Entity, EntityKind, EntityRegistry, JsonObject, OutboxJob, table};
use crate::port::Timestamp;
use crate::product::ProductRecord;

/// Current load of the engine, for operators.
#[derive(Clone, Copy, Debug)]
pub struct EngineLoad {
    /// Entities of all kinds in memory.
    pub active_entities: usize,
    /// Actors that crashed and were replaced since the start.
    pub restarts: u64,
    /// Paid calls that could still be admitted.
    pub permits_free: usize,
    /// Payers with a call in flight.
    pub payers: usize,
    /// Payments that are being claimed.
    pub claims: usize,
}

/// Where a page of a list begins: oldest first after a position, or newest first before one. Without a position it
/// begins at that end of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListStart<P> {
    /// Oldest first.
    After(Option<P>),
    /// Newest first.
    Before(Option<P>),
}

impl<P> ListStart<P> {
    /// The position.
    pub fn position(self) -> Option<P> {
        match self {
            Self::After(position) | Self::Before(position) => position,
        }
    }

    /// The same direction from another position.
    pub fn at<Q>(&self, position: Option<Q>) -> ListStart<Q> {
        match self {
            Self::After(_) => ListStart::After(position),
            Self::Before(_) => ListStart::Before(position),
        }
    }
}

impl<P> From<Option<P>> for ListStart<P> {
    fn from(after: Option<P>) -> Self {
        Self::After(after)
    }
}

/// Entities, each with its creation time and number.
pub(super) type NewestIndex<E> = Vec<((Timestamp, u128), <E as Entity>::Id, E)>;

/// The owner's view of each entity.
fn view_of<E: Entity>(newest: NewestIndex<E>) -> Vec<((Timestamp, u128), JsonObject)> {
    let view = |(made, id, entity): ((Timestamp, u128), E::Id, E)| (made, JsonObject::of(&entity.view(&id)));
    newest.into_iter().map(view).collect()
}

impl Engine {
    /// An account by its wallet.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn account(&self, wallet: &Wallet) -> Result<Option<Account>, LoadError> {
        Ok(self
            .0
            .registries
            .accounts
            .read(wallet)
            .await?
            .map(|(account, _)| account))
    }

    /// A prepaid card by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn card(&self, id: &CardId) -> Result<Option<Card>, LoadError> {
        Ok(self.0.registries.cards.read(id).await?.map(|(card, _)| card))
    }

    /// A gift card by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn gift_card(&self, id: &CardId) -> Result<Option<GiftCard>, LoadError> {
        Ok(self.0.registries.gift_cards.read(id).await?.map(|(gift, _)| gift))
    }

    /// A wallet's gift cards, as [`Engine::cards_of`].
    ///
    /// # Errors
    /// When storage fails.
    pub async fn gift_cards_of(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<CardId>>,
        limit: usize,
    ) -> Result<(Vec<(CardId, GiftCard)>, bool), LoadError> {
        let start = start.into();
        let position = match start.position() {
            None => None,
            Some(id) => self.gift_card(&id).await?.map(|gift| (gift.created_at, id.0)),
        };
        self.list_owned(&self.0.registries.gift_cards, owner, CardId, start.at(position), limit)
            .await
    }

    /// An international card order by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn intl_order(&self, id: &CardId) -> Result<Option<IntlOrder>, LoadError> {
        Ok(self.0.registries.intl_orders.read(id).await?.map(|(order, _)| order))
    }

    /// A product of any type, as its payment names it.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn product(&self, product: PurchasedProduct) -> Result<Option<ProductRecord>, LoadError> {
        product.product_type().read(&*self.0.store, product.number()).await
    }

    /// A payment by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn payment(&self, id: &PaymentId) -> Result<Option<Payment>, LoadError> {
        Ok(self.0.registries.payments.read(id).await?.map(|(payment, _)| payment))
    }

    /// A session by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, LoadError> {
        Ok(self.0.registries.sessions.read(id).await?.map(|(session, _)| session))
    }

    /// A wallet's cards from the given one on, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn cards_of(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<CardId>>,
        limit: usize,
    ) -> Result<(Vec<(CardId, Card)>, bool), LoadError> {
        let start = start.into();
        let position = match start.position() {
            None => None,
            Some(id) => self.card(&id).await?.map(|card| (card.created_at, id.0)),
        };
        self.list_owned(&self.0.registries.cards, owner, CardId, start.at(position), limit)
            .await
    }

    /// A wallet's international orders, as [`Engine::cards_of`].
    ///
    /// # Errors
    /// When storage fails.
    pub async fn intl_orders_of(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<CardId>>,
        limit: usize,
    ) -> Result<(Vec<(CardId, IntlOrder)>, bool), LoadError> {
        let start = start.into();
        let position = match start.position() {
            None => None,
            Some(id) => self.intl_order(&id).await?.map(|order| (order.created_at, id.0)),
        };
        let registry = &self.0.registries.intl_orders;
        self.list_owned(registry, owner, CardId, start.at(position), limit)
            .await
    }

    /// Views of a wallet's cards of all kinds, newest first, at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn newest_cards(&self, owner: &Wallet, limit: usize) -> Result<Vec<JsonObject>, LoadError> {
        let registries = &self.0.registries;
        let mut cards = view_of(self.newest(&registries.cards, owner, CardId, limit).await?);
        cards.extend(view_of(
            self.newest(&registries.gift_cards, owner, CardId, limit).await?,
        ));
        cards.extend(view_of(
            self.newest(&registries.intl_orders, owner, CardId, limit).await?,
        ));
        cards.extend(view_of(
            self.newest(&registries.reloadable_cards, owner, CardId, limit).await?,
        ));
        cards.sort_by_key(|(made, _)| std::cmp::Reverse(*made));
        cards.truncate(limit);
        Ok(cards.into_iter().map(|(_, view)| view).collect())
    }

    /// A wallet's newest USA cards, the newest last, at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn newest_usa_cards(&self, owner: &Wallet, limit: usize) -> Result<Vec<(CardId, Card)>, LoadError> {
        let newest = self.newest(&self.0.registries.cards, owner, CardId, limit).await?;
        Ok(newest.into_iter().map(|(_, id, card)| (id, card)).collect())
    }

    /// A wallet's newest international card orders, newest last, at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn newest_intl_orders(
        &self,
        owner: &Wallet,
        limit: usize,
    ) -> Result<Vec<(CardId, IntlOrder)>, LoadError> {
        let newest = self
            .newest(&self.0.registries.intl_orders, owner, CardId, limit)
            .await?;
        Ok(newest.into_iter().map(|(_, id, order)| (id, order)).collect())
    }

    /// An account's payments, newest first, after the given one, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn payments_of(
        &self,
        owner: &Wallet,
        after: Option<PaymentId>,
        limit: usize,
    ) -> Result<(Vec<(PaymentId, Payment)>, bool), LoadError> {
        let after = match after {
            None => None,
            Some(id) => {
                let payment = self.payment(&id).await?;
                payment.map(|payment| (Timestamp(u64::MAX - payment.claim.at.0), id.0))
            }
        };
        self.list_owned(&self.0.registries.payments, owner, PaymentId, after, limit)
            .await
    }

    /// A wallet's newest entities of one kind, oldest first, each with its creation time and number.
    pub(super) async fn newest<E: Entity>(
        &self,
        registry: &EntityRegistry<E>,
        owner: &Wallet,
        named: impl Fn(u128) -> E::Id,
        limit: usize,
    ) -> Result<NewestIndex<E>, LoadError> {
        let prefix = table::owner_index(owner, E::KIND);
        let newest = self.0.store.scan_back(&prefix, None, limit).await?;
        let mut found = Vec::with_capacity(newest.len());
        for (key, _) in newest.into_iter().rev() {
            let Some((at, number)) = table::created_and_id(&key) else {
                continue;
            };
            let id = named(number);
            if let Some((entity, _)) = registry.read(&id).await? {
                found.push(((at, number), id, entity));
            }
        }
        Ok(found)
    }

    /// A top-up by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn top_up(&self, id: &TopUpId) -> Result<Option<TopUp>, LoadError> {
        Ok(self.0.registries.top_ups.read(id).await?.map(|(top_up, _)| top_up))
    }

    /// A wallet's top-ups, newest first, after the given one, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn top_ups_of(
        &self,
        owner: &Wallet,
        after: Option<TopUpId>,
        limit: usize,
    ) -> Result<(Vec<(TopUpId, TopUp)>, bool), LoadError> {
        let after = match after {
            None => None,
            Some(id) => self
                .top_up(&id)
                .await?
                .map(|t| (Timestamp(u64::MAX - t.created_at.0), id.0)),
        };
        self.list_owned(&self.0.registries.top_ups, owner, TopUpId, after, limit)
            .await
    }

    /// A wallet's entities of one kind, at most `limit`, from the given creation time and id on; and whether there are
    /// more.
    pub(super) async fn list_owned<E: Entity>(
        &self,
        registry: &EntityRegistry<E>,
        owner: &Wallet,
        named: impl Fn(u128) -> E::Id,
        start: impl Into<ListStart<(Timestamp, u128)>>,
        limit: usize,
    ) -> Result<(Vec<(E::Id, E)>, bool), LoadError> {
        let (keys, more) = self.owned_keys(owner, E::KIND, start.into(), limit).await?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(id) = key.last_chunk::<16>().map(|b| named(u128::from_be_bytes(*b))) else {
                continue;
            };
            if let Some((entity, _)) = registry.read(&id).await? {
                found.push((id, entity));
            }
        }
        Ok((found, more))
    }

    /// Keys of a wallet's entities of one kind in the owner index, in the direction of `start`, at most `limit`; and
    /// whether there are more.
    pub(super) async fn owned_keys(
        &self,
        owner: &Wallet,
        kind: EntityKind,
        start: ListStart<(Timestamp, u128)>,
        limit: usize,
    ) -> Result<(Vec<RowKey>, bool), StoreError> {
        let prefix = table::owner_index(owner, kind);
        let position = start
            .position()
            .map(|(at, id)| table::owner_index_entry(owner, kind, at, id));
        let (store, wanted) = (&self.0.store, limit.saturating_add(1));
        let rows = match start {
            ListStart::After(_) => store.scan(&prefix, position.as_deref(), wanted).await?,
            ListStart::Before(_) => store.scan_back(&prefix, position.as_deref(), wanted).await?,
        };
        let more = rows.len() > limit;
        Ok((rows.into_iter().take(limit).map(|(key, _)| key).collect(), more))
    }

    /// A card's sealed number.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn sealed(&self, id: CardId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self
            .0
            .store
            .read(&table::vault(id))
            .await?
            .map(|row| row.value.to_vec()))
    }

    /// The sealed CVV of an international card.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn sealed_cvv(&self, id: CardId) -> Result<Option<Vec<u8>>, StoreError> {
        let row = self.0.store.read(&table::cvv(id)).await?;
        Ok(row.map(|row| row.value.to_vec()))
    }

    /// Open jobs, dead letters included, at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn open_jobs(&self, limit: usize) -> Result<Vec<OutboxJob>, StoreError> {
        let rows = self.0.store.scan(&[table::OUTBOX], None, limit).await?;
        rows.into_iter()
            .map(|(_, row)| codec::decode(&row.value).map_err(|e| StoreError::Corrupt(e.to_string())))
            .collect()
    }

    /// Current load: resident entities and free permits.
    pub fn current_load(&self) -> EngineLoad {
        let inner = &self.0;
        let kinds = inner.registries.entity_stats();
        EngineLoad {
            active_entities: kinds.iter().map(|kind| kind.active).sum(),
            restarts: kinds.iter().map(|kind| kind.restarts).sum(),
            permits_free: inner.permits.available_permits(),
            payers: inner.payers.len(),
            claims: inner.claim_locks.len(),
        }
    }

    /// Whether another wallet's address is the same in lower case. Only Solana addresses have case.
    pub(super) async fn has_user_id_collision(&self, wallet: &Wallet) -> Result<bool, StoreError> {
        match wallet {
            Wallet::Evm(_) => Ok(false),
            Wallet::Solana(_) => {
                let row = self.0.store.read(&table::user(&wallet.user_id())).await?;
                Ok(row.is_some_and(|row| *row.value != *wallet.key()))
            }
        }
    }
}
