//! Refunds: what operators give back in connection with a payment, a second of them above a limit.

mod usable;

use purser_storage::{Condition, StoreError};

use super::operators::corrupt;
use super::registries::Registries;
use super::{Engine, ListPosition, MAX_CONFLICT_RETRIES};
use crate::card::Card;
use crate::id::{PaymentId, RefundId};
use crate::kernel::entity::EntityId as _;
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, EntityKind, table};
use crate::money::Usdc;
use crate::operator::{AuditExtras, OperatorAction};
use crate::payment::{Payment, Status};
use crate::port::CardSnapshot;
use crate::product::PurchasedProduct;
use crate::refund::{self, Command, Refund, RefundRequest, Refunded, Rejection};

/// Why there is no refund. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundError {
    /// There is no such payment, or no such refund.
    NotFound,
    /// More than can be given back.
    AmountTooLarge {
        /// What can: nothing while the product may still fail, which credits the charge by itself.
        refundable_amount: Usdc,
    },
    /// The holder would have the money and could still use what it bought, and nobody has said that they may.
    ProductStillUsable {
        /// How much of it they can use.
        usable: Usdc,
        /// What can be given back as it is.
        refundable: Usdc,
        /// What was bought.
        product: PurchasedProduct,
    },
    /// Its state is against it.
    InvalidState(&'static str),
    /// Whoever asked for it does not approve it.
    SelfApproval,
    /// It is about another amount.
    AmountMismatch,
    /// Ask again later.
    Unavailable,
}

/// What an operator asks for.
#[derive(Clone, Debug)]
pub struct RefundParams {
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
        let read = self.0.registries.refunds.read(id).await.map_err(corrupt)?;
        Ok(read.map(|(refund, _)| refund))
    }

    /// Refunds that wait for a second operator, the oldest first, behind a place, at most `limit`; each with its own place.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn pending_refunds(
        &self,
        after: Option<ListPosition>,
        limit: usize,
    ) -> Result<Vec<(ListPosition, Refund)>, StoreError> {
        let after = after.map(|(at, id)| table::refund(at, RefundId(id)));
        let rows = self
            .0
            .store
            .scan(&[table::PENDING_REFUND], after.as_deref(), limit)
            .await?;
        let mut found = Vec::with_capacity(rows.len());
        for (key, _) in rows {
            let Some((at, id)) = table::created_and_id(&key) else {
                continue;
            };
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
    pub async fn all_refunds(
        &self,
        after: Option<ListPosition>,
        limit: usize,
    ) -> Result<Vec<(ListPosition, Refund)>, StoreError> {
        let mut after = after.map(|(_, id)| table::entity(EntityKind::Refund, &id.to_be_bytes()));
        let every = table::entity(EntityKind::Refund, &[]);
        let mut found = Vec::with_capacity(limit);
        // A page that lacks damaged ones is no last page.
        while found.len() < limit {
            let rows = self.0.store.scan(&every, after.as_deref(), limit - found.len()).await?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(last.clone());
            for id in rows.iter().filter_map(|(key, _)| key.last_chunk()) {
                let id = u128::from_be_bytes(*id);
                let read = self.0.registries.refunds.read_or_skip_corrupt(&RefundId(id)).await?;
                found.extend(read.map(|(refund, _)| ((refund.created_at, id), refund)));
            }
        }
        Ok(found)
    }

    /// Whose payment it is, if so much of it can be given back now; and what must not have changed when it is given: a product
    /// that credits its payer by itself meanwhile, one that its holder can use, and a chain that takes the payment back, come
    /// first.
    async fn check_refundable(
        &self,
        payment: PaymentId,
        amount: Usdc,
        holder_keeps_product: bool,
    ) -> Result<Vec<Condition>, RefundError> {
        let (paid, revision) = self.load_refundable_payment(payment).await?;
        let Status::Fulfilled { product, .. } = paid.status else {
            return Err(RefundError::AmountTooLarge {
                refundable_amount: Usdc::ZERO,
            });
        };
        let stands = Condition::Revision(table::entity(EntityKind::Payment, &payment.key()), revision);
        let (room, unchanged) = self.refundable_amounts(product).await.map_err(storage_error)?;
        if amount > room.refundable {
            return Err(RefundError::AmountTooLarge {
                refundable_amount: room.refundable,
            });
        }
        if amount > room.refundable_with_product && !holder_keeps_product {
            return Err(RefundError::ProductStillUsable {
                usable: room.usable,
                refundable: room.refundable_with_product,
                product,
            });
        }
        Ok(vec![stands, unchanged])
    }

    async fn load_refundable_payment(&self, payment: PaymentId) -> Result<(Payment, u64), RefundError> {
        let read = self.0.registries.payments.read(&payment).await;
        let read = read.map_err(|error| storage_error(corrupt(error)))?;
        read.ok_or(RefundError::NotFound)
    }

    /// An operator asks for a refund. Up to the limit it takes effect; above, it waits for another.
    ///
    /// # Errors
    /// [`NotRefunded`].
    pub async fn request_refund(
        &self,
        payment: PaymentId,
        wanted: RefundParams,
        act: &OperatorAction,
    ) -> Result<(RefundId, Refund), RefundError> {
        let one = self.lock_operator().await;
        let id = RefundId::for_payment(payment);
        let asked = RefundRequest {
            owner: self.load_refundable_payment(payment).await?.0.account(),
            payment,
            amount: wanted.amount,
            reason: wanted.reason,
            holder_keeps_product: wanted.holder_keeps_product,
            by: act.operator.clone(),
        };
        for _ in 0..MAX_CONFLICT_RETRIES {
            // Whoever asks again because the answer was lost is told how it stands, whatever became of the product since.
            let known = self.refund(&id).await.map_err(storage_error)?;
            if let Some(known) = known.filter(|known| known.is_same_request(&asked)) {
                return Ok((id, known));
            }
            let conditions = self
                .check_refundable(payment, asked.amount, asked.holder_keeps_product)
                .await?;
            let alone = self.check_own_limits(act, asked.amount).await.map_err(storage_error)?;
            let ask = |act| Command::Request {
                request: Box::new(asked.clone()),
                at_once: alone.is_some(),
                life_ms: self.0.settings.approvals.validity_ms,
                act,
            };
            let mut beside = alone.clone().unwrap_or_default();
            beside.conditions.extend(conditions);
            let refunds = (&self.0.registries.refunds, id);
            match self
                .ask_as_operator_with_extras(&one, refunds, (act, &beside), ask)
                .await
            {
                // What it is about has changed since it was read.
                Err(AskError::Conflict) => {}
                told => return self.map_refund_reply(id, told).await,
            }
        }
        Err(RefundError::Unavailable)
    }

    /// Another operator approves a refund of this amount: the balance is credited.
    ///
    /// # Errors
    /// [`NotRefunded`].
    pub async fn approve_refund(
        &self,
        id: RefundId,
        amount: Usdc,
        act: &OperatorAction,
    ) -> Result<(RefundId, Refund), RefundError> {
        let one = self.lock_operator().await;
        // A refund is brought into being by whoever asks for it, and by nobody else.
        let refund = self
            .refund(&id)
            .await
            .map_err(storage_error)?
            .ok_or(RefundError::NotFound)?;
        for _ in 0..MAX_CONFLICT_RETRIES {
            let mut beside = AuditExtras::default();
            if refund.status == refund::Status::Requested {
                // Since it was asked for its chain may have taken the payment back, its card been closed and credited, or a
                // merchant given money back to the card.
                let asked = &refund.request;
                let may = self.check_refundable(asked.payment, asked.amount, asked.holder_keeps_product);
                beside.conditions = may.await?;
            }
            let approve = |act| Command::Approve { amount, act };
            let refunds = (&self.0.registries.refunds, id);
            match self
                .ask_as_operator_with_extras(&one, refunds, (act, &beside), approve)
                .await
            {
                Err(AskError::Conflict) => {}
                told => return self.map_refund_reply(id, told).await,
            }
        }
        Err(RefundError::Unavailable)
    }

    /// An operator rejects a refund, or takes it back.
    ///
    /// # Errors
    /// [`NotRefunded`].
    pub async fn reject_refund(
        &self,
        id: RefundId,
        reason: String,
        act: &OperatorAction,
    ) -> Result<(RefundId, Refund), RefundError> {
        let one = self.lock_operator().await;
        self.refund(&id)
            .await
            .map_err(storage_error)?
            .ok_or(RefundError::NotFound)?;
        let reject = |act| Command::Reject {
            reason: reason.clone(),
            act,
        };
        let told = self
            .ask_as_operator(&one, (&self.0.registries.refunds, id), act, reject)
            .await;
        self.map_refund_reply(id, told).await
    }

    async fn map_refund_reply(
        &self,
        id: RefundId,
        told: Result<(), AskError<Rejection>>,
    ) -> Result<(RefundId, Refund), RefundError> {
        match told {
            Ok(()) => {
                let refund = self.refund(&id).await.map_err(storage_error)?;
                Ok((id, refund.ok_or(RefundError::NotFound)?))
            }
            Err(AskError::Rejected(Rejection::InvalidState(state))) => Err(RefundError::InvalidState(state)),
            Err(AskError::Rejected(Rejection::SelfApproval)) => Err(RefundError::SelfApproval),
            Err(AskError::Rejected(Rejection::AmountMismatch)) => Err(RefundError::AmountMismatch),
            Err(AskError::NotFound) => Err(RefundError::NotFound),
            Err(AskError::Conflict | AskError::OutcomeUnknown | AskError::Quarantined) => Err(RefundError::Unavailable),
        }
    }
}

/// What a refund has given of a payment.
pub(super) async fn refunded_amount(all: &Registries, payment: PaymentId) -> Result<Refunded, LoadError> {
    let read = all.refunds.read(&RefundId::for_payment(payment)).await?;
    Ok(read.map_or_else(Refunded::default, |(refund, revision)| Refunded {
        amount: refund.credited_amount(),
        revision,
    }))
}

/// The same for a word about a card; nothing is read where nothing is given back of it.
pub(super) async fn refunded_for_snapshot(
    all: &Registries,
    card: &Card,
    word: &CardSnapshot,
) -> Result<Refunded, LoadError> {
    match word.released > card.lifecycle.released {
        true => refunded_amount(all, card.charge.payment).await,
        false => Ok(Refunded::default()),
    }
}

fn storage_error(error: StoreError) -> RefundError {
    tracing::error!(%error, "what a refund is about could not be read");
    RefundError::Unavailable
}
