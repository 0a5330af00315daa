//! Payment identifiers: a payer's name for a purchase. A payer who lost the response may retry with another payment and
//! is not charged again.
//!
//! An identifier is stored like an idempotency key ([`crate::kernel::idempotency`]): by the batch of the claim, scoped
//! by payer, referring to the payment. Neither can therefore exist without the other after a crash. While that payment
//! may still settle, it is the one that is tried again. Once it can never settle, the next payment for the same request
//! takes the identifier.

use purser_storage::StoreError;

use super::digest;
use crate::engine::Engine;
use crate::entity::payment::{Payment, Status};
use crate::id::{PaymentId, Wallet};
use crate::kernel::entity::EntityId as _;
use crate::kernel::idempotency::{IdempotencySlot, RecordedResponse};
use crate::kernel::{Entity, EntityKind, IdempotencyRecorder};
use crate::port::Authorization;

/// Prefix of an identifier before it is hashed. No header can contain it, so it never equals an idempotency key.
const PREFIX: &str = "\0payment-identifier\0";

/// State of an identifier before a claim.
pub(in crate::engine) enum IdentifierState {
    /// Its slot is empty, or has a payment that can never settle.
    Unclaimed(IdempotencySlot),
    /// It belongs to another request.
    DifferentRequest,
    /// It belongs to this payment.
    Claimed(Box<Authorization>),
}

impl Engine {
    /// The payment of a payer's identifier: claimed under it within the last 24 hours, and not permanently declined
    /// since.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn payment_by_identifier(
        &self,
        account: &Wallet,
        identifier: &str,
    ) -> Result<Option<Payment>, StoreError> {
        let (_, payment) = self.identifier_slot(account, identifier, [0; 32]).await?;
        Ok(payment.filter(|payment| !is_refused(payment)))
    }

    /// State of the identifier for a request with this digest.
    pub(in crate::engine) async fn identifier_state(
        &self,
        account: &Wallet,
        identifier: &str,
        request: [u8; 32],
    ) -> Result<IdentifierState, StoreError> {
        let (place, payment) = self.identifier_slot(account, identifier, request).await?;
        Ok(match payment {
            Some(payment) if payment.claim.request != request => IdentifierState::DifferentRequest,
            Some(payment) if !is_refused(&payment) => IdentifierState::Claimed(Box::new(payment.claim.authorization)),
            Some(_) | None => IdentifierState::Unclaimed(place),
        })
    }

    /// The identifier's slot, and the payment in it.
    async fn identifier_slot(
        &self,
        account: &Wallet,
        identifier: &str,
        request: [u8; 32],
    ) -> Result<(IdempotencySlot, Option<Payment>), StoreError> {
        let mut place = IdempotencySlot {
            wallet: *account,
            key: key(identifier),
            fingerprint: request,
            replaces: None,
        };
        let Some(known) = self.idempotency_record(&place).await? else {
            return Ok((place, None));
        };
        place.replaces = Some(known.expires_s);
        let id = match &known.response {
            _ if known.expires_s <= self.0.clock.now().seconds() => return Ok((place, None)),
            RecordedResponse::EntityRef { id, .. } => id.as_slice().try_into().map(u128::from_be_bytes),
            RecordedResponse::Body { .. } => return Err(corrupt()),
        };
        let id = PaymentId(id.map_err(|_| corrupt())?);
        let payment = self
            .payment(&id)
            .await
            .map_err(|e| StoreError::Corrupt(e.to_string()))?;
        // One batch created both.
        Ok((place, Some(payment.ok_or_else(corrupt)?)))
    }
}

/// Makes the identifier refer to its payment, in the batch that claims or joins it.
pub(in crate::engine) fn recorder<E: Entity>(place: IdempotencySlot, payment: PaymentId) -> IdempotencyRecorder<E> {
    IdempotencyRecorder::new(place, move |result| {
        result.is_ok().then(|| RecordedResponse::EntityRef {
            kind: EntityKind::Payment as u8,
            id: payment.key(),
        })
    })
}

/// Key of the lock for an identifier, scoped to its payer.
pub(in crate::engine) fn lock_key(account: &Wallet, identifier: &str) -> u128 {
    account.digest() ^ key(identifier)
}

fn key(identifier: &str) -> u128 {
    digest(&format!("{PREFIX}{identifier}"))
}

const fn is_refused(payment: &Payment) -> bool {
    matches!(payment.status, Status::Refused(_))
}

fn corrupt() -> StoreError {
    StoreError::Corrupt("payment identifier".into())
}
