//! Refunds by operators. Above a limit a second operator must approve.

mod usable;

use purser_storage::{Condition, StoreError};

use super::operators::corrupt;
use super::registries::Registries;
use super::{Engine, ListPosition, MAX_CONFLICT_RETRIES};
use crate::entity::PurchasedProduct;
use crate::entity::card::Card;
use crate::entity::payment::{Payment, Status};
use crate::entity::refund::{self, Command, Refund, RefundRequest, Refunded, Rejection};
use crate::id::{PaymentId, RefundId};
use crate::kernel::entity::EntityId as _;
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, EntityKind, table};
use crate::money::Usdc;
use crate::operator::{AuditExtras, OperatorAction};
use crate::port::CardSnapshot;

/// Why there is no refund. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundError {
    /// The payment or the refund does not exist.
    NotFound,
    /// The amount exceeds what can be refunded.
    AmountTooLarge {
        /// Refundable amount. Zero while the product may still fail, because a failure credits the charge
        /// automatically.
        refundable_amount: Usdc,
    },
    /// The owner would have the money and could still use the product, and the request does not allow that.
    ProductStillUsable {
        /// Part of the amount that the owner can still use.
        usable: Usdc,
        /// Amount that can be refunded without that permission.
        refundable: Usdc,
        /// The purchased product.
        product: PurchasedProduct,
    },
    /// The payment's or refund's state does not allow it.
    InvalidState(&'static str),
    /// The operator who requested it can't approve it.
    SelfApproval,
    /// The refund has another amount.
    AmountMismatch,
    /// A dependency did not answer. Retry later.
    Unavailable,
}

/// An operator's refund request.
#[derive(Clone, Debug)]
pub struct RefundParams {
    /// Amount to refund.
    pub amount: Usdc,
    /// Reason, visible to operators only.
    pub reason: String,
    /// Whether the owner may keep the product as well. Otherwise only what they can no longer use is refunded.
    pub holder_keeps_product: bool,
}

impl Engine {
    /// The refund of a payment, if one was ever requested.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn refund(&self, id: &RefundId) -> Result<Option<Refund>, StoreError> {
        let read = self.0.registries.refunds.read(id).await.map_err(corrupt)?;
        Ok(read.map(|(refund, _)| refund))
    }

    /// Refunds that await a second operator, oldest first, after a position, at most `limit`; each with its own
    /// position.
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
            // Decided or requested again since the rows were read.
            found.extend(
                refund
                    .filter(|refund| refund.created_at == at)
                    .map(|refund| ((at, id), refund)),
            );
        }
        Ok(found)
    }

    /// All refunds, in any state, in the order of their ids, after a position, at most `limit`; each with its own
    /// position. Corrupt rows are skipped.
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
        // A page is not the last one because corrupt rows are missing from it.
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

    /// The payment's owner, if this amount can be refunded now, and the conditions under which it is credited. The
    /// conditions exclude that meanwhile the product credits its payer, its owner uses it, or its chain reorgs the
    /// payment.
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
        let unchanged_payment = Condition::Revision(table::entity(EntityKind::Payment, &payment.key()), revision);
        let (amounts, unchanged_product) = self.refundable_amounts(product).await.map_err(storage_error)?;
        if amount > amounts.refundable {
            return Err(RefundError::AmountTooLarge {
                refundable_amount: amounts.refundable,
            });
        }
        if amount > amounts.refundable_with_product && !holder_keeps_product {
            return Err(RefundError::ProductStillUsable {
                usable: amounts.usable,
                refundable: amounts.refundable_with_product,
                product,
            });
        }
        Ok(vec![unchanged_payment, unchanged_product])
    }

    async fn load_refundable_payment(&self, payment: PaymentId) -> Result<(Payment, u64), RefundError> {
        let read = self.0.registries.payments.read(&payment).await;
        let read = read.map_err(|error| storage_error(corrupt(error)))?;
        read.ok_or(RefundError::NotFound)
    }

    /// Requests a refund. Up to the limit it takes effect at once; above, it waits for another operator.
    ///
    /// # Errors
    /// [`RefundError`].
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
            // A repeated request, for example after a lost response, gets the refund's status, whatever the product's
            // state now.
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
                // The payment or product has changed since it was read.
                Err(AskError::Conflict) => {}
                result => return self.map_refund_reply(id, result).await,
            }
        }
        Err(RefundError::Unavailable)
    }

    /// Approves a refund of this amount by another operator: the balance is credited.
    ///
    /// # Errors
    /// [`RefundError`].
    pub async fn approve_refund(
        &self,
        id: RefundId,
        amount: Usdc,
        act: &OperatorAction,
    ) -> Result<(RefundId, Refund), RefundError> {
        let one = self.lock_operator().await;
        // Only a request creates a refund.
        let refund = self
            .refund(&id)
            .await
            .map_err(storage_error)?
            .ok_or(RefundError::NotFound)?;
        for _ in 0..MAX_CONFLICT_RETRIES {
            let mut beside = AuditExtras::default();
            if refund.status == refund::Status::Requested {
                // Since the request, a reorg may have reversed the payment, or the card may have been closed and
                // credited. A merchant may also have refunded the card.
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
                result => return self.map_refund_reply(id, result).await,
            }
        }
        Err(RefundError::Unavailable)
    }

    /// Rejects a refund, or withdraws it by the operator who requested it.
    ///
    /// # Errors
    /// [`RefundError`].
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
        let result = self
            .ask_as_operator(&one, (&self.0.registries.refunds, id), act, reject)
            .await;
        self.map_refund_reply(id, result).await
    }

    async fn map_refund_reply(
        &self,
        id: RefundId,
        result: Result<(), AskError<Rejection>>,
    ) -> Result<(RefundId, Refund), RefundError> {
        match result {
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

/// Amount of a payment that was refunded so far.
pub(super) async fn refunded_amount(all: &Registries, payment: PaymentId) -> Result<Refunded, LoadError> {
    let read = all.refunds.read(&RefundId::for_payment(payment)).await?;
    Ok(read.map_or_else(Refunded::default, |(refund, revision)| Refunded {
        amount: refund.credited_amount(),
        revision,
    }))
}

/// The refunded amount for a card snapshot. Reads nothing if the snapshot releases nothing.
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
