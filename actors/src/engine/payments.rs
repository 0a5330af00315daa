//! A paid call from the engine's side: permit, claim, wait.

use purser_storage::mutants::{self, Mutant};
use tracing::Instrument as _;

use super::claim_lock::ClaimLock;
use super::idempotency::payment_identifier::{self, IdentifierState};
use super::permits::{AdmissionPermit, OverloadError};
use super::preconditions::map_rejection;
use super::{Engine, MAX_CONFLICT_RETRIES};
use crate::account::{self, ClaimRequest};
use crate::id::{Network, PaymentId, Wallet};
use crate::kernel::idempotency::IdempotencySlot;
use crate::kernel::{AskError, request_context, table};
use crate::money::Cents;
use crate::payment::{self, Outcome, Payment, Rejection, SessionSeed, Status};
use crate::port::{Authorization, Decline};
use crate::product::{Precondition, Purchase};
use crate::quote::QuoteFacts;

/// A purchase with its verified payment.
#[derive(Clone, Debug)]
pub struct PaymentRequest {
    /// Form and signature verified.
    pub authorization: Authorization,
    /// What it buys.
    pub purchase: Purchase,
    /// What that is worth in US dollars, fees apart, at the quoted rate.
    pub worth: Cents,
    /// What the price was made from, where that is kept with the product.
    pub quoted: Option<Box<QuoteFacts>>,
    /// Digest of route and parameters in canonical form.
    pub request: [u8; 32],
    /// Opened if this call's claim wins, or if it is this call that has a released or declined payment settled after all. Of this
    /// call alone.
    pub session: SessionSeed,
    /// A challenge that this payment answers and no other may, and the second from which none could anyway.
    pub challenge: Option<([u8; 16], u64)>,
    /// The payer's own name for this purchase: another payment under it is not claimed, see [`PayError::Identified`].
    pub identifier: Option<String>,
}

/// What a paid call came to.
#[derive(Clone, Debug)]
pub struct PaymentResult {
    /// The payment.
    pub payment: PaymentId,
    /// Whether this call made the claim; of a payment that settled after it was presented again, whether that was this call.
    /// Only it may be given credentials, and of one payment one call at most.
    pub won: bool,
    /// What became of it.
    pub outcome: Outcome,
}

/// Why a paid call claimed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimError {
    /// The account is frozen.
    Frozen {
        /// For the holder.
        message: String,
    },
    /// Another wallet has this address in lower case.
    UserIdCollision,
    /// Something that the product needs of the payer is not there.
    PreconditionFailed(Precondition),
    /// A daily cap is reached.
    DailyCountCap {
        /// The cap.
        cap: u32,
    },
    /// A daily cap is reached.
    DailyAmountCap {
        /// The cap.
        cap: Cents,
    },
    /// The payment is claimed for another request.
    AlreadyUsed,
    /// Another payment has answered the same challenge, or the same one signed otherwise.
    ChallengeUsed,
    /// The identifier stands for this payment of the same payer's for the same request: join that one instead.
    IdentifierClaimed(Box<Authorization>),
    /// The identifier stands for another request.
    IdentifierMismatch,
    /// The product is not sold now.
    LineUnavailable(super::LineUnavailable),
    /// The treasury of this chain has less than what is promised there: what is forwarded from it is not sold now.
    InsufficientTreasury(Network),
    /// There is no room now.
    Overloaded(OverloadError),
    /// The chain would decline the payment now. The same payment can be sent again and is then checked again.
    Declined(Decline),
    /// The engine cannot answer now; nothing was claimed.
    Unavailable,
    /// The engine cannot answer now; the payment may be claimed.
    OutcomeUnknown(PaymentId),
}

impl Engine {
    /// The id that a payment has or would have.
    pub fn payment_id(&self, authorization: &Authorization) -> PaymentId {
        payment::id_for_authorization(authorization, &self.0.secret)
    }

    /// Claims the payment and waits for what becomes of it. Dropping the future changes nothing: from the claim on,
    /// durable effects drive the payment, and its permit is kept until it has come to something. A payment that is
    /// claimed already is joined; that needs no room, since it settles nothing.
    ///
    /// # Errors
    /// [`PayError`]: nothing was claimed by this call, unless it is [`PayError::Unknown`].
    pub async fn pay(&self, request: PaymentRequest) -> Result<PaymentResult, ClaimError> {
        let payment = self.payment_id(&request.authorization);
        let engine = self.clone();
        // A task of its own: the permit is kept for as long as the settlement is in flight, not for as long as somebody
        // listens.
        let work = async move { engine.claim_or_join(payment, request).await };
        let call =
            tokio::spawn(request_context::with_request(request_context::current_request(), work).in_current_span());
        call.await.unwrap_or(Err(ClaimError::OutcomeUnknown(payment)))
    }

    async fn claim_or_join(&self, payment: PaymentId, request: PaymentRequest) -> Result<PaymentResult, ClaimError> {
        let account = self.account_of(&request.authorization.payer());
        // Kept until the claim is durable and no longer: who comes next finds what it left.
        let turn = match &request.identifier {
            Some(identifier) => {
                Some(ClaimLock::acquire(&self.0.claim_locks, payment_identifier::lock_key(&account, identifier)).await)
            }
            None => None,
        };
        for _ in 0..MAX_CONFLICT_RETRIES {
            let place = self.acquire_permit(payment, account, &request).await?;
            let known = self.load_payment(payment).await?;
            let (won, permit, above) = match known {
                None => match self.claim(payment, account, &request, place).await? {
                    None => continue,
                    Some(permit) => (true, Some(permit), 0),
                },
                Some((known, _))
                    if request.challenge.is_some() && known.claim.authorization != request.authorization =>
                {
                    return Err(ClaimError::ChallengeUsed);
                }
                Some((known, _)) if known.claim.bought_other_product(&request.purchase) => {
                    return Err(ClaimError::AlreadyUsed);
                }
                Some((known, _)) => {
                    let permit = self.admit_resettlement(&known, &request).await?;
                    match self.join(payment, (account, place), &request, permit.is_some()).await? {
                        None => continue,
                        Some(above) => (false, permit, above),
                    }
                }
            };
            drop(turn);
            // Whoever only joins a payment takes no room.
            let settles = permit.is_some();
            let outcome = self.outcome(payment, above).await?;
            drop(permit);
            let won = match &outcome {
                // Of those who presented it while it was released or declined, the one whose presentation was admitted.
                Outcome::Fulfilled {
                    session: Some(session), ..
                } => settles && *session == request.session.id,
                _ => won,
            };
            return Ok(PaymentResult { payment, won, outcome });
        }
        Err(ClaimError::Unavailable)
    }

    async fn load_payment(&self, id: PaymentId) -> Result<Option<(Payment, u64)>, ClaimError> {
        let read = self.0.registries.payments.read(&id).await;
        read.map_err(|_| ClaimError::Unavailable)
    }

    /// Where the claim is to leave the request's identifier, if it has one that is free.
    async fn acquire_permit(
        &self,
        payment: PaymentId,
        account: Wallet,
        request: &PaymentRequest,
    ) -> Result<Option<IdempotencySlot>, ClaimError> {
        let Some(identifier) = &request.identifier else {
            return Ok(None);
        };
        let standing = self.identifier_state(&account, identifier, request.request).await;
        match standing.map_err(|_| ClaimError::Unavailable)? {
            IdentifierState::Unclaimed(place) => Ok(Some(place)),
            IdentifierState::Claimed(known) if self.payment_id(&known) == payment => Ok(None),
            IdentifierState::Claimed(known) => Err(ClaimError::IdentifierClaimed(known)),
            IdentifierState::DifferentRequest => Err(ClaimError::IdentifierMismatch),
        }
    }

    /// What the payment comes to. Its actor may die meanwhile and be started again: then the settlement is still under
    /// way, so whoever waits for it asks again, and the room that it takes stays taken.
    async fn outcome(&self, payment: PaymentId, above: u64) -> Result<Outcome, ClaimError> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            match self.0.registries.payments.outcome(payment, above).await {
                Ok(outcome) => return Ok(outcome),
                // The engine stops: nobody is started again.
                Err(_) if !self.is_healthy() => break,
                Err(_) => {}
            }
        }
        Err(ClaimError::OutcomeUnknown(payment))
    }

    /// A payment that was declined or released settles once more when it is presented: that takes room like a claim, and
    /// a frozen account gets none, nor does a purchase that could not be claimed now. Any other is joined as it is.
    async fn admit_resettlement(
        &self,
        known: &Payment,
        request: &PaymentRequest,
    ) -> Result<Option<AdmissionPermit>, ClaimError> {
        let ours = known.claim.request == request.request;
        if !ours || !(known.is_released() || matches!(known.status, Status::Declined(..))) {
            return Ok(None);
        }
        let owner = known.account();
        let account = self.account(&owner).await.map_err(|_| ClaimError::Unavailable)?;
        if let Some(message) = account.and_then(|a| a.frozen) {
            return Err(ClaimError::Frozen { message });
        }
        let permit = self.admit(&owner).map_err(ClaimError::Overloaded)?;
        // What it needs of the account and of the world may have gone since it was claimed.
        self.resolve_preconditions(&owner, request).await?;
        Ok(Some(permit))
    }

    /// One claim, with the room it takes; `None` if somebody else was first.
    async fn claim(
        &self,
        id: PaymentId,
        account: Wallet,
        request: &PaymentRequest,
        place: Option<IdempotencySlot>,
    ) -> Result<Option<AdmissionPermit>, ClaimError> {
        let turn = ClaimLock::acquire(&self.0.claim_locks, id.0).await;
        if turn.waited && !mutants::is_enabled(Mutant::ClaimUnconditional) && self.load_payment(id).await?.is_some() {
            return Ok(None);
        }
        if let Some((key, expires_s)) = &request.challenge {
            let used = self.0.store.read(&table::nonce(*expires_s, key)).await;
            if used.map_err(|_| ClaimError::Unavailable)?.is_some() {
                return Err(ClaimError::ChallengeUsed);
            }
        }
        let permit = self.admit(&account).map_err(ClaimError::Overloaded)?;
        if self
            .has_user_id_collision(&account)
            .await
            .map_err(|_| ClaimError::Unavailable)?
        {
            return Err(ClaimError::UserIdCollision);
        }
        let (found, line) = (
            self.resolve_preconditions(&account, request).await?,
            request.purchase.line(),
        );
        self.check_may_buy(id, &request.authorization, line).await?;
        let counted = self.unclaimed_lines_of(id).await?;
        self.precheck(&account, request, counted.is_some()).await?;
        let PaymentRequest {
            authorization,
            purchase,
            worth,
            request,
            session,
            challenge: once,
            ..
        } = request.clone();
        let admission = ClaimRequest {
            payment: id,
            authorization,
            cap: self.0.settings.caps.for_line(line),
            purchase,
            worth,
            resolved: found,
            request,
            session,
            challenge: once,
            counted,
        };
        let claim = account::Command::Claim(Box::new(admission));
        let memo = place.map(|place| payment_identifier::recorder(place, id));
        self.take_line_sale(line).map_err(ClaimError::LineUnavailable)?;
        let told = self.0.registries.accounts.ask_idempotent(account, claim, memo).await;
        match told.inspect_err(|_| self.cancel_line_sale(line)) {
            Ok(()) => Ok(Some(permit)),
            Err(AskError::Conflict) => Ok(None),
            Err(refusal) => {
                if mutants::is_enabled(Mutant::PermitLeaked) {
                    permit.leak();
                }
                Err(map_rejection(id, refusal))
            }
        }
    }

    /// Joins a payment that is known: the revision above which its outcome counts, or `None` to look again.
    async fn join(
        &self,
        id: PaymentId,
        (account, place): (Wallet, Option<IdempotencySlot>),
        request: &PaymentRequest,
        again: bool,
    ) -> Result<Option<u64>, ClaimError> {
        let present = payment::Command::Join {
            request: request.request,
            new_session: again.then_some(request.session),
        };
        let memo = place.map(|place| payment_identifier::recorder(place, id));
        match self.0.registries.payments.ask_idempotent(id, present, memo).await {
            Ok(payment::Reply::AwaitOutcome | payment::Reply::Done) => Ok(Some(0)),
            // Released since it was read: it takes room like any other.
            Ok(payment::Reply::Readmit) if !again => Ok(None),
            Ok(payment::Reply::Readmit) => self.readmit(id, account, request).await,
            Err(AskError::Rejected(Rejection::DifferentRequest)) => Err(ClaimError::AlreadyUsed),
            Err(AskError::Conflict | AskError::NotFound | AskError::Rejected(_)) => Ok(None),
            Err(AskError::Quarantined) => Err(ClaimError::Unavailable),
            Err(AskError::OutcomeUnknown) => Err(ClaimError::OutcomeUnknown(id)),
        }
    }

    async fn readmit(
        &self,
        id: PaymentId,
        account: Wallet,
        request: &PaymentRequest,
    ) -> Result<Option<u64>, ClaimError> {
        let known = self
            .load_payment(id)
            .await
            .map_err(|_| ClaimError::OutcomeUnknown(id))?;
        let above = match known {
            Some((payment, revision)) if payment.is_released() => revision,
            _ => return Ok(None),
        };
        let purchase = request.purchase.clone();
        let command = account::Command::Readmit {
            payment: id,
            cap: self.0.settings.caps.for_line(purchase.line()),
            purchase,
            worth: request.worth,
            session: request.session,
            counted: self.unclaimed_lines_of(id).await?,
        };
        match self.0.registries.accounts.ask(account, command).await {
            Ok(()) => Ok(Some(above)),
            Err(AskError::Conflict) => Ok(None),
            Err(refusal) => Err(map_rejection(id, refusal)),
        }
    }
}
