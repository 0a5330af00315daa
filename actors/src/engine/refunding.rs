//! Refunds: what operators give back in connection with a payment, a second of them above a limit.

use purser_storage::StoreError;

use super::operating::damaged;
use super::{Engine, Place};
use crate::id::{PaymentId, RefundId, Wallet};
use crate::kernel::{Kind, Refusal, table};
use crate::money::{Cents, Usdc};
use crate::operator::Act;
use crate::payment::Status;
use crate::product::Product;
use crate::refund::{Asked, Command, Refund, Rejection};
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

    /// What of a payment can be given back. A product that may still fail, or whose money may still come back, credits its
    /// payer by itself: that much is never given back twice.
    async fn refundable(&self, product: Product) -> Result<Usdc, StoreError> {
        let nothing = Usdc::ZERO;
        Ok(match product {
            Product::Card(id) => self
                .card(&id)
                .await
                .map_err(damaged)?
                .map_or(nothing, |card| match card.status {
                    card::Status::Ready(_)
                    | card::Status::Paused(_)
                    | card::Status::Closed(_)
                    | card::Status::Expired(_) => less(card.charge.charged, card.life.released),
                    card::Status::Pending | card::Status::Failed { .. } => nothing,
                }),
            Product::GiftCard(id) => {
                let gift = self.gift_card(&id).await.map_err(damaged)?;
                gift.map_or(nothing, |gift| match gift.status {
                    gift_card::Status::Completed => gift.charge.charged,
                    gift_card::Status::Processing | gift_card::Status::Failed { .. } => nothing,
                })
            }
            Product::IntlOrder(id) => {
                let order = self.intl_order(&id).await.map_err(damaged)?;
                order.map_or(nothing, |order| match order.status {
                    intl_order::Status::Ready(_)
                    | intl_order::Status::Paused(_)
                    | intl_order::Status::Closed(_)
                    | intl_order::Status::Expired(_) => less(order.charge.charged, order.life.released),
                    intl_order::Status::Queued
                    | intl_order::Status::Claimed(_)
                    | intl_order::Status::Cancelled
                    | intl_order::Status::Rejected { .. } => nothing,
                })
            }
            // What was paid out may come back for ever, and is credited then; our fee is never.
            Product::Payout(id) => {
                let payout = self.payout(&id).await.map_err(damaged)?;
                payout.map_or(nothing, |payout| match payout.status {
                    payout::Status::Complete { .. } | payout::Status::Returned { .. } => payout.charge.fee(),
                    payout::Status::AwaitingDetails
                    | payout::Status::Queued
                    | payout::Status::InProcess
                    | payout::Status::Failed { .. }
                    | payout::Status::Cancelled { .. }
                    | payout::Status::Expired => nothing,
                })
            }
            Product::TopUp(id) => {
                self.top_up(&id)
                    .await
                    .map_err(damaged)?
                    .map_or(nothing, |top_up| match top_up.status {
                        top_up::Status::Delivered | top_up::Status::Credited => top_up.charge.charged,
                        top_up::Status::Paid(_) | top_up::Status::Bridging(_) | top_up::Status::Failed { .. } => {
                            nothing
                        }
                    })
            }
        })
    }

    /// Whose payment it is, if so much of it can be given back now.
    async fn may_refund(&self, payment: PaymentId, amount: Usdc) -> Result<Wallet, NotRefunded> {
        let paid = self.payment(&payment).await.map_err(|error| unread(damaged(error)))?;
        let paid = paid.ok_or(NotRefunded::Unknown)?;
        let Status::Fulfilled { product, .. } = paid.status else {
            return Err(NotRefunded::TooMuch { refundable: Usdc::ZERO });
        };
        let refundable = self.refundable(product).await.map_err(unread)?;
        match amount > refundable {
            true => Err(NotRefunded::TooMuch { refundable }),
            false => Ok(paid.account()),
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
        let asked = Asked {
            owner: self.may_refund(payment, amount).await?,
            payment,
            amount,
            reason,
            by: act.by.clone(),
        };
        let id = RefundId::of(payment);
        let alone = self.alone(act, amount).await.map_err(unread)?;
        let ask = |act| Command::Ask {
            asked: Box::new(asked.clone()),
            at_once: alone.is_some(),
            life_ms: self.0.settings.giving.open_ms,
            act,
        };
        let beside = alone.clone().unwrap_or_default();
        let refunds = (&self.0.families.refunds, id);
        let told = self.act_beside(&one, refunds, (act, &beside), ask).await;
        self.told_refund(id, told).await
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
        if refund.status == refund::Status::Requested {
            // Its chain may have taken the payment back since it was asked for.
            self.may_refund(refund.asked.payment, refund.asked.amount).await?;
        }
        let approve = |act| Command::Approve { amount, act };
        let told = self.act(&one, (&self.0.families.refunds, id), act, approve).await;
        self.told_refund(id, told).await
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

/// What is left of a charge once so much of it was credited by itself.
fn less(charged: Usdc, released: Cents) -> Usdc {
    let released = Usdc::from_cents(released).unwrap_or(charged);
    charged.minus(released).unwrap_or(Usdc::ZERO)
}

fn unread(error: StoreError) -> NotRefunded {
    tracing::error!(%error, "what a refund is about could not be read");
    NotRefunded::Unavailable
}
