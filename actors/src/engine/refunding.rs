//! Refunds: what operators give back in connection with a payment, a second of them above a limit.

mod usable;

use purser_storage::{Condition, StoreError};

use super::families::Families;
use super::operating::damaged;
use super::{Engine, Place, RACES};
use crate::card::Card;
use crate::id::{PaymentId, RefundId};
use crate::kernel::entity::EntityId as _;
use crate::kernel::family::LoadError;
use crate::kernel::{Kind, Refusal, table};
use crate::money::Usdc;
use crate::operator::{Act, Beside};
use crate::payment::{Payment, Status};
use crate::port::Standing;
use crate::product::Product;
use crate::refund::{self, Asked, Command, Refund, Refunded, Rejection};

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
    /// The holder would have the money and could still use what it bought, and nobody has said that they may.
    Kept {
        /// How much of it they can use.
        usable: Usdc,
        /// What can be given back as it is.
        refundable: Usdc,
        /// What was bought.
        product: Product,
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

/// What an operator asks for.
#[derive(Clone, Debug)]
pub struct RefundRequest {
    /// How much.
    pub amount: Usdc,
    /// Why, for operators alone.
    pub reason: String,
    /// Whether the holder may keep what was bought as well: without this word no more is given back than they can no longer use.
    pub holder_keeps_product: bool,
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

    /// Whose payment it is, if so much of it can be given back now; and what must not have changed when it is given: a product
    /// that credits its payer by itself meanwhile, one that its holder can use, and a chain that takes the payment back, come
    /// first.
    async fn may_refund(
        &self,
        payment: PaymentId,
        amount: Usdc,
        holder_keeps_product: bool,
    ) -> Result<Vec<Condition>, NotRefunded> {
        let (paid, revision) = self.paid(payment).await?;
        let Status::Fulfilled { product, .. } = paid.status else {
            return Err(NotRefunded::TooMuch { refundable: Usdc::ZERO });
        };
        let stands = Condition::Revision(table::entity(Kind::Payment, &payment.key()), revision);
        let (room, unchanged) = self.room(product).await.map_err(unread)?;
        if amount > room.refundable {
            return Err(NotRefunded::TooMuch {
                refundable: room.refundable,
            });
        }
        if amount > room.returned && !holder_keeps_product {
            return Err(NotRefunded::Kept {
                usable: room.usable,
                refundable: room.returned,
                product,
            });
        }
        Ok(vec![stands, unchanged])
    }

    async fn paid(&self, payment: PaymentId) -> Result<(Payment, u64), NotRefunded> {
        let read = self.0.families.payments.read(&payment).await;
        let read = read.map_err(|error| unread(damaged(error)))?;
        read.ok_or(NotRefunded::Unknown)
    }

    /// An operator asks for a refund. Up to the limit it takes effect; above, it waits for another.
    ///
    /// # Errors
    /// [`NotRefunded`].
    pub async fn ask_refund(
        &self,
        payment: PaymentId,
        wanted: RefundRequest,
        act: &Act,
    ) -> Result<(RefundId, Refund), NotRefunded> {
        let one = self.acting().await;
        let id = RefundId::of(payment);
        let asked = Asked {
            owner: self.paid(payment).await?.0.account(),
            payment,
            amount: wanted.amount,
            reason: wanted.reason,
            holder_keeps_product: wanted.holder_keeps_product,
            by: act.by.clone(),
        };
        for _ in 0..RACES {
            // Whoever asks again because the answer was lost is told how it stands, whatever became of the product since.
            let known = self.refund(&id).await.map_err(unread)?;
            if let Some(known) = known.filter(|known| known.stands_as(&asked)) {
                return Ok((id, known));
            }
            let conditions = self
                .may_refund(payment, asked.amount, asked.holder_keeps_product)
                .await?;
            let alone = self.alone(act, asked.amount).await.map_err(unread)?;
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
                // Since it was asked for its chain may have taken the payment back, its card been closed and credited, or a
                // merchant given money back to the card.
                let asked = &refund.asked;
                let may = self.may_refund(asked.payment, asked.amount, asked.holder_keeps_product);
                beside.conditions = may.await?;
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
