//! Refunds: what operators give back in connection with a payment, a second of them above a limit.

use purser_storage::{Condition, StoreError};

use super::families::Families;
use super::operating::damaged;
use super::{Engine, Place, RACES};
use crate::card::Card;
use crate::id::{PaymentId, RefundId, Wallet};
use crate::kernel::entity::EntityId as _;
use crate::kernel::family::LoadError;
use crate::kernel::{Entity, Family, Kind, Refusal, table};
use crate::money::Usdc;
use crate::operator::{Act, Beside};
use crate::payment::Status;
use crate::port::Standing;
use crate::product::Product;
use crate::refund::{Asked, Command, Refund, Refunded, Rejection};
use crate::{card, gift_card, intl_order, payout, refund, top_up};

/// Why there is no refund. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRefunded {
    /// There is no such payment, or no such refund.
    Unknown,
    /// More than can be given back.
    TooMuch {
        /// What can: nothing while the product may still fail, which credits the charge by itself.
        refundable: Usdc,
    },
    /// Its state is against it.
    State(&'static str),
    /// Whoever asked for it does not approve it.
    Own,
    /// It is about another amount.
    Differs,
    /// Ask again later.
    Unavailable,
}

impl Engine {
    /// The refund of a payment, if one was ever asked for.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn refund(&self, id: &RefundId) -> Result<Option<Refund>, StoreError> {
        let read = self.0.families.refunds.read(id).await.map_err(damaged)?;
        Ok(read.map(|(refund, _)| refund))
    }

    /// Refunds that wait for a second operator, the oldest first, behind a place, at most `limit`; each with its own place.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn open_refunds(&self, after: Option<Place>, limit: usize) -> Result<Vec<(Place, Refund)>, StoreError> {
        let after = after.map(|(at, id)| table::refund(at, RefundId(id)));
        let rows = self.0.store.scan(&[table::REFUND], after.as_deref(), limit).await?;
        let mut found = Vec::with_capacity(rows.len());
        for (key, _) in rows {
            let Some((at, id)) = table::made(&key) else { continue };
            let refund = self.refund(&RefundId(id)).await?;
            // Decided since the rows were read, or asked for again.
            found.extend(
                refund
                    .filter(|refund| refund.created_at == at)
                    .map(|refund| ((at, id), refund)),
            );
        }
        Ok(found)
    }

    /// Every refund, however it stands, in the order of their ids, behind a place, at most `limit`; each with its own place. Damaged
    /// ones are left out.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn all_refunds(&self, after: Option<Place>, limit: usize) -> Result<Vec<(Place, Refund)>, StoreError> {
        let mut after = after.map(|(_, id)| table::entity(Kind::Refund, &id.to_be_bytes()));
        let every = table::entity(Kind::Refund, &[]);
        let mut found = Vec::with_capacity(limit);
        // A page that lacks damaged ones is no last page.
        while found.len() < limit {
            let rows = self.0.store.scan(&every, after.as_deref(), limit - found.len()).await?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(last.clone());
            for id in rows.iter().filter_map(|(key, _)| key.last_chunk()) {
                let id = u128::from_be_bytes(*id);
                let read = self.0.families.refunds.read_undamaged(&RefundId(id)).await?;
                found.extend(read.map(|(refund, _)| ((refund.created_at, id), refund)));
            }
        }
        Ok(found)
    }

    /// What of a payment can be given back, and what must stay as it is meanwhile. A product that may still fail, or whose money
    /// may still come back, credits its payer by itself: that much is never given back twice.
    async fn refundable(&self, product: Product) -> Result<(Usdc, Condition), StoreError> {
        let (all, nothing) = (&self.0.families, Usdc::ZERO);
        match product {
            Product::Card(id) => {
                still(&all.cards, id, |card| match card.status {
                    card::Status::Ready(_)
                    | card::Status::Paused(_)
                    | card::Status::Closed(_)
                    | card::Status::Expired(_) => card.charge.left(card.credited()),
                    card::Status::Pending | card::Status::Failed { .. } => nothing,
                })
                .await
            }
            Product::GiftCard(id) => {
                still(&all.gift_cards, id, |gift| match gift.status {
                    gift_card::Status::Completed => gift.charge.charged,
                    gift_card::Status::Processing | gift_card::Status::Failed { .. } => nothing,
                })
                .await
            }
            Product::IntlOrder(id) => {
                still(&all.intl_orders, id, |order| match order.status {
                    intl_order::Status::Ready(_)
                    | intl_order::Status::Paused(_)
                    | intl_order::Status::Closed(_)
                    | intl_order::Status::Expired(_) => order.charge.left(order.credited()),
                    intl_order::Status::Queued
                    | intl_order::Status::Claimed(_)
                    | intl_order::Status::Cancelled
                    | intl_order::Status::Rejected { .. } => nothing,
                })
                .await
            }
            // What was paid out may come back for ever, and is credited then; our fee is never.
            Product::Payout(id) => {
                still(&all.payouts, id, |payout| match payout.status {
                    payout::Status::Complete { .. } | payout::Status::Returned { .. } => payout.charge.fee(),
                    payout::Status::AwaitingDetails
                    | payout::Status::Queued
                    | payout::Status::InProcess
                    | payout::Status::Failed { .. }
                    | payout::Status::Cancelled { .. }
                    | payout::Status::Expired => nothing,
                })
                .await
            }
            Product::TopUp(id) => {
                still(&all.top_ups, id, |top_up| match top_up.status {
                    top_up::Status::Delivered | top_up::Status::Credited => top_up.charge.charged,
                    top_up::Status::Paid(_) | top_up::Status::Bridging(_) | top_up::Status::Failed { .. } => nothing,
                })
                .await
            }
        }
    }

    /// Whose payment it is, if so much of it can be given back now; and what must not have changed when it is given: a product
    /// that credits its payer by itself meanwhile, and a chain that takes the payment back, come first.
    async fn may_refund(&self, payment: PaymentId, amount: Usdc) -> Result<(Wallet, Vec<Condition>), NotRefunded> {
        let read = self.0.families.payments.read(&payment).await;
        let paid = read.map_err(|error| unread(damaged(error)))?;
        let (paid, revision) = paid.ok_or(NotRefunded::Unknown)?;
        let Status::Fulfilled { product, .. } = paid.status else {
            return Err(NotRefunded::TooMuch { refundable: Usdc::ZERO });
        };
        let stands = Condition::Revision(table::entity(Kind::Payment, &payment.key()), revision);
        let (refundable, product) = self.refundable(product).await.map_err(unread)?;
        match amount > refundable {
            true => Err(NotRefunded::TooMuch { refundable }),
            false => Ok((paid.account(), vec![stands, product])),
        }
    }

    /// An operator asks for a refund. Up to the limit it takes effect; above, it waits for another.
    ///
    /// # Errors
    /// [`NotRefunded`].
    pub async fn ask_refund(
        &self,
        payment: PaymentId,
        (amount, reason): (Usdc, String),
        act: &Act,
    ) -> Result<(RefundId, Refund), NotRefunded> {
        let one = self.acting().await;
        let id = RefundId::of(payment);
        for _ in 0..RACES {
            let (owner, conditions) = self.may_refund(payment, amount).await?;
            let asked = Asked {
                owner,
                payment,
                amount,
                reason: reason.clone(),
                by: act.by.clone(),
            };
            let alone = self.alone(act, amount).await.map_err(unread)?;
            let ask = |act| Command::Ask {
                asked: Box::new(asked.clone()),
                at_once: alone.is_some(),
                life_ms: self.0.settings.giving.open_ms,
                act,
            };
            let mut beside = alone.clone().unwrap_or_default();
            beside.conditions.extend(conditions);
            let refunds = (&self.0.families.refunds, id);
            match self.act_beside(&one, refunds, (act, &beside), ask).await {
                // What it is about has changed since it was read.
                Err(Refusal::Conflict) => {}
                told => return self.told_refund(id, told).await,
            }
        }
        Err(NotRefunded::Unavailable)
    }

    /// Another operator approves a refund of this amount: the balance is credited.
    ///
    /// # Errors
    /// [`NotRefunded`].
    pub async fn approve_refund(
        &self,
        id: RefundId,
        amount: Usdc,
        act: &Act,
    ) -> Result<(RefundId, Refund), NotRefunded> {
        let one = self.acting().await;
        // A refund is brought into being by whoever asks for it, and by nobody else.
        let refund = self.refund(&id).await.map_err(unread)?.ok_or(NotRefunded::Unknown)?;
        for _ in 0..RACES {
            let mut beside = Beside::default();
            if refund.status == refund::Status::Requested {
                // Since it was asked for its chain may have taken the payment back, or its card been closed and credited.
                let (_, conditions) = self.may_refund(refund.asked.payment, refund.asked.amount).await?;
                beside.conditions = conditions;
            }
            let approve = |act| Command::Approve { amount, act };
            let refunds = (&self.0.families.refunds, id);
            match self.act_beside(&one, refunds, (act, &beside), approve).await {
                Err(Refusal::Conflict) => {}
                told => return self.told_refund(id, told).await,
            }
        }
        Err(NotRefunded::Unavailable)
    }

    /// An operator rejects a refund, or takes it back.
    ///
    /// # Errors
    /// [`NotRefunded`].
    pub async fn reject_refund(
        &self,
        id: RefundId,
        reason: String,
        act: &Act,
    ) -> Result<(RefundId, Refund), NotRefunded> {
        let one = self.acting().await;
        self.refund(&id).await.map_err(unread)?.ok_or(NotRefunded::Unknown)?;
        let reject = |act| Command::Reject {
            reason: reason.clone(),
            act,
        };
        let told = self.act(&one, (&self.0.families.refunds, id), act, reject).await;
        self.told_refund(id, told).await
    }

    async fn told_refund(
        &self,
        id: RefundId,
        told: Result<(), Refusal<Rejection>>,
    ) -> Result<(RefundId, Refund), NotRefunded> {
        match told {
            Ok(()) => {
                let refund = self.refund(&id).await.map_err(unread)?;
                Ok((id, refund.ok_or(NotRefunded::Unknown)?))
            }
            Err(Refusal::Rejected(Rejection::State(state))) => Err(NotRefunded::State(state)),
            Err(Refusal::Rejected(Rejection::Own)) => Err(NotRefunded::Own),
            Err(Refusal::Rejected(Rejection::Differs)) => Err(NotRefunded::Differs),
            Err(Refusal::Missing) => Err(NotRefunded::Unknown),
            Err(Refusal::Conflict | Refusal::Unknown | Refusal::Quarantined) => Err(NotRefunded::Unavailable),
        }
    }
}

/// What a reading of an entity comes to, and the condition that it has not changed since.
async fn still<E: Entity>(
    family: &Family<E>,
    id: E::Id,
    left: impl FnOnce(&E) -> Usdc,
) -> Result<(Usdc, Condition), StoreError> {
    let read = family.read(&id).await.map_err(damaged)?;
    let revision = read.as_ref().map_or(0, |(_, revision)| *revision);
    let left = read.as_ref().map_or(Usdc::ZERO, |(entity, _)| left(entity));
    let unchanged = Condition::Revision(table::entity(E::KIND, &id.key()), revision);
    Ok((left, unchanged))
}

/// What a refund has given of a payment.
pub(super) async fn refunded(all: &Families, payment: PaymentId) -> Result<Refunded, LoadError> {
    let read = all.refunds.read(&RefundId::of(payment)).await?;
    Ok(read.map_or_else(Refunded::default, |(refund, revision)| Refunded {
        amount: refund.amount_given(),
        revision,
    }))
}

/// The same for a word about a card; nothing is read where nothing is given back of it.
pub(super) async fn refunded_of(all: &Families, card: &Card, word: &Standing) -> Result<Refunded, LoadError> {
    match word.released > card.life.released {
        true => refunded(all, card.charge.payment).await,
        false => Ok(Refunded::default()),
    }
}

fn unread(error: StoreError) -> NotRefunded {
    tracing::error!(%error, "what a refund is about could not be read");
    NotRefunded::Unavailable
}
