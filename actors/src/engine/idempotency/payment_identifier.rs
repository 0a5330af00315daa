//! Payment identifiers: the name that a payer gives to a purchase, so that whoever did not hear the answer may come again
//! with another payment and is not charged again.
//!
//! An identifier is remembered as an idempotency key is ([`crate::kernel::memo`]): by the batch of the claim, scoped by
//! payer, following the payment. So there is never the one without the other, whoever dies in between. For as long as that
//! payment may still land it is the one that is tried again; once it never can, the next one for the same request has its
//! identifier.

use purser_storage::StoreError;

use super::digest;
use crate::engine::Engine;
use crate::id::{PaymentId, Wallet};
use crate::kernel::entity::EntityId as _;
use crate::kernel::idempotency::{IdempotencySlot, RecordedResponse};
use crate::kernel::{Entity, EntityKind, IdempotencyRecorder};
use crate::payment::{Payment, Status};
use crate::port::Authorization;

/// What an identifier's digest begins with. No header can hold it, so no idempotency key is one.
const PREFIX: &str = "\0payment-identifier\0";

/// An identifier on its way to a claim.
pub(in crate::engine) enum IdentifierState {
    /// Nothing stands in its place, or a payment that can never land.
    Unclaimed(IdempotencySlot),
    /// It is another request's.
    DifferentRequest,
    /// It is this payment's.
    Claimed(Box<Authorization>),
}

impl Engine {
    /// The payment that a payer's identifier stands for: claimed under it within the last 24 hours, and not refused for
    /// good since.
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

    /// How an identifier stands for a request with this digest.
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

    /// The identifier's place, and the payment that stands there.
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
        // One batch made both.
        Ok((place, Some(payment.ok_or_else(corrupt)?)))
    }
}

/// Has the identifier follow its payment, by the batch that claims or joins it.
pub(in crate::engine) fn recorder<E: Entity>(place: IdempotencySlot, payment: PaymentId) -> IdempotencyRecorder<E> {
    IdempotencyRecorder::new(place, move |told| {
        told.is_ok().then(|| RecordedResponse::EntityRef {
            kind: EntityKind::Payment as u8,
            id: payment.key(),
        })
    })
}

/// Who waits in line for an identifier: its payer's alone.
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
