//! Reads: from the latest durable state, without an actor.

use purser_storage::{StoreError, codec};

use super::Engine;
use crate::account::Account;
use crate::card::Card;
use crate::id::{CardId, PaymentId, SessionId, Wallet};
use crate::kernel::family::LoadError;
use crate::kernel::{Effect, Kind, table};
use crate::payment::Payment;
use crate::session::Session;

/// What the engine is doing now, for the operator.
#[derive(Clone, Copy, Debug)]
pub struct Census {
    /// Resident accounts, payments, cards, sessions.
    pub resident: [usize; 4],
    /// Actors that died and were replaced since the start.
    pub restarts: u64,
    /// Paid calls that could still be admitted.
    pub permits_free: usize,
    /// Payers with a call in flight.
    pub payers: usize,
    /// Payments that are being claimed.
    pub turns: usize,
}

impl Engine {
    /// An account.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn account(&self, wallet: &Wallet) -> Result<Option<Account>, LoadError> {
        Ok(self.0.accounts.read(wallet).await?.map(|(account, _)| account))
    }

    /// A card.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn card(&self, id: &CardId) -> Result<Option<Card>, LoadError> {
        Ok(self.0.cards.read(id).await?.map(|(card, _)| card))
    }

    /// A payment.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn payment(&self, id: &PaymentId) -> Result<Option<Payment>, LoadError> {
        Ok(self.0.payments.read(id).await?.map(|(payment, _)| payment))
    }

    /// A session.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, LoadError> {
        Ok(self.0.sessions.read(id).await?.map(|(session, _)| session))
    }

    /// A wallet's cards, oldest first, after the given one, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn cards_of(
        &self,
        owner: &Wallet,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<(Vec<(CardId, Card)>, bool), LoadError> {
        let prefix = table::owned(owner, Kind::Card);
        let start = match after {
            None => None,
            Some(id) => {
                let card = self.card(&id).await?.filter(|c| c.owner == *owner);
                card.map(|c| table::owned_one(owner, Kind::Card, c.created_at, id.0))
            }
        };
        let rows = self.0.store.scan(&prefix, start.as_deref(), limit + 1).await?;
        let more = rows.len() > limit;
        let mut cards = Vec::with_capacity(rows.len().min(limit));
        for (key, _) in rows.into_iter().take(limit) {
            let Some(id) = key.last_chunk::<16>().map(|b| CardId(u128::from_be_bytes(*b))) else {
                continue;
            };
            if let Some(card) = self.card(&id).await? {
                cards.push((id, card));
            }
        }
        Ok((cards, more))
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

    /// Effects that are not done, stuck ones included, at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn open_effects(&self, limit: usize) -> Result<Vec<Effect>, StoreError> {
        let rows = self.0.store.scan(&[table::EFFECT], None, limit).await?;
        rows.into_iter()
            .map(|(_, row)| codec::decode(&row.value).map_err(|e| StoreError::Damaged(e.to_string())))
            .collect()
    }

    /// What is resident and free now.
    pub fn census(&self) -> Census {
        let inner = &self.0;
        Census {
            resident: [
                inner.accounts.resident(),
                inner.payments.resident(),
                inner.cards.resident(),
                inner.sessions.resident(),
            ],
            restarts: inner.accounts.restarts()
                + inner.payments.restarts()
                + inner.cards.restarts()
                + inner.sessions.restarts(),
            permits_free: inner.permits.available_permits(),
            payers: inner.payers.len(),
            turns: inner.turns.len(),
        }
    }

    /// Whether another wallet already has this one's lowercased address. Only Solana addresses have case.
    pub(super) async fn collides(&self, wallet: &Wallet) -> Result<bool, StoreError> {
        match wallet {
            Wallet::Evm(_) => Ok(false),
            Wallet::Solana(_) => {
                let row = self.0.store.read(&table::user(&wallet.user_id())).await?;
                Ok(row.is_some_and(|row| *row.value != *wallet.key()))
            }
        }
    }
}
