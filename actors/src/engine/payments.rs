//! Paid calls in the engine: permit, claim, and waiting for the outcome.

use purser_storage::mutants::{self, Mutant};

use super::claim_lock::ClaimLock;
use super::idempotency::payment_identifier::{self, IdentifierState};
use super::jobs::with_timeout_ms;
use super::permits::{AdmissionPermit, OverloadError};
use super::preconditions::{map_rejection, refuse_account};
use super::{Engine, MAX_CONFLICT_RETRIES};
use crate::entity::Purchase;
use crate::entity::account::{self, ClaimRequest};
use crate::entity::payment::{self, Outcome, Payment, Rejection, SessionSeed, Status};
use crate::id::{Network, PaymentId, Wallet};
use crate::kernel::idempotency::IdempotencySlot;
use crate::kernel::{AskError, request_context, table};
use crate::money::Cents;
use crate::port::{Authorization, Decline};
use crate::product::Precondition;
use crate::quote::QuoteFacts;

/// A purchase with its verified payment.
#[derive(Clone, Debug)]
pub struct PaymentRequest {
    /// Payment authorization with verified form and signature.
    pub authorization: Authorization,
    /// Product and parameters.
    pub purchase: Purchase,
    /// Value of the purchase in US dollars at the quoted rate, without fees.
    pub worth: Cents,
    /// Facts behind the price, if they are stored with the product.
    pub quoted: Option<Box<QuoteFacts>>,
    /// Digest of route and parameters in canonical form.
    pub request: [u8; 32],
    /// Session to open if this call's claim wins, or if this call makes a released or declined payment settle after
    /// all. For this call only.
    pub session: SessionSeed,
    /// Challenge that only this payment may answer, and the second at which it expires.
    pub challenge: Option<([u8; 16], u64)>,
    /// The payer's payment identifier for this purchase. A second payment with it is not claimed; see
    /// [`ClaimError::IdentifierClaimed`].
    pub identifier: Option<String>,
}

/// Result of a paid call.
#[derive(Clone, Debug)]
pub struct PaymentResult {
    /// Id of the payment.
    pub payment: PaymentId,
    /// Whether this call made the claim. For a payment that settled after it was presented again: whether this call
    /// presented it. Only such a call gets credentials, at most one call per payment.
    pub won: bool,
    /// Outcome of the payment.
    pub outcome: Outcome,
}

/// Why a paid call claimed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimError {
    /// The account is frozen.
    Frozen {
        /// Message for the account owner.
        message: String,
    },
    /// The account owner has stopped all agents.
    AgentsStopped,
    /// Another wallet's address is the same in lower case.
    UserIdCollision,
    /// The payer does not meet a precondition of the product.
    PreconditionFailed(Precondition),
    /// The daily cap on the number of purchases is reached.
    DailyCountCap {
        /// Purchases per day.
        cap: u32,
    },
    /// The daily cap on the amount is reached.
    DailyAmountCap {
        /// US dollars per day.
        cap: Cents,
    },
    /// The payment is claimed for another request.
    AlreadyUsed,
    /// Another payment has answered the same challenge, or the same payment with another signature.
    ChallengeUsed,
    /// The identifier belongs to this earlier payment of the payer for the same request. Join that payment instead.
    IdentifierClaimed(Box<Authorization>),
    /// The identifier belongs to another request.
    IdentifierMismatch,
    /// The product is not sold now.
    LineUnavailable(super::LineUnavailable),
    /// The chain's treasury has less than its reservations. Products that forward from it are not sold now.
    InsufficientTreasury(Network),
    /// No capacity now.
    Overloaded(OverloadError),
    /// The chain would decline the payment now. The same payment may be sent again and is then checked again.
    Declined(Decline),
    /// The engine can't answer now; nothing was claimed.
    Unavailable,
    /// The engine can't answer now; the payment may be claimed.
    OutcomeUnknown(PaymentId),
}

impl Engine {
    /// The id that a payment has or would have.
    pub fn payment_id(&self, authorization: &Authorization) -> PaymentId {
        payment::id_for_authorization(authorization, &self.0.secret)
    }

    /// Claims the payment and waits for its outcome. Dropping the future changes nothing. After the claim, durable jobs
    /// process the payment, and its permit is held until there is an outcome. A payment that is already claimed is
    /// joined, which needs no permit, since it settles nothing.
    ///
    /// # Errors
    /// [`ClaimError`]: this call claimed nothing, unless it is [`ClaimError::OutcomeUnknown`].
    pub async fn pay(&self, request: PaymentRequest) -> Result<PaymentResult, ClaimError> {
        let payment = self.payment_id(&request.authorization);
        let engine = self.clone();
        // A separate task: the permit is held while the settlement is in flight, even if the caller has gone.
        let work = async move { engine.claim_or_join(payment, request).await };
        let call = tokio::spawn(request_context::continue_request(work));
        call.await.unwrap_or(Err(ClaimError::OutcomeUnknown(payment)))
    }

    async fn claim_or_join(&self, payment: PaymentId, request: PaymentRequest) -> Result<PaymentResult, ClaimError> {
        let account = self.account_of(&request.authorization.payer());
        // Held only until the claim is durable: the next call finds the claim.
        let turn = match &request.identifier {
            Some(identifier) => {
                Some(ClaimLock::acquire(&self.0.claim_locks, payment_identifier::lock_key(&account, identifier)).await)
            }
            None => None,
        };
        for _ in 0..MAX_CONFLICT_RETRIES {
            let slot = self.unclaimed_slot(payment, account, &request).await?;
            let known = self.load_payment(payment).await?;
            let (won, permit, above) = match known {
                None => match self.claim(payment, account, &request, slot).await? {
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
                    match self.join(payment, (account, slot), &request, permit.is_some()).await? {
                        None => continue,
                        Some(above) => (false, permit, above),
                    }
                }
            };
            drop(turn);
            // A call that only joins a payment holds no permit.
            let settles = permit.is_some();
            let outcome = self.outcome(payment, above).await?;
            drop(permit);
            let won = match &outcome {
                // Of the calls that presented it while it was released or declined, the one whose presentation was
                // admitted.
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

    /// Where the claim writes the request's identifier, if the identifier is unclaimed.
    async fn unclaimed_slot(
        &self,
        payment: PaymentId,
        account: Wallet,
        request: &PaymentRequest,
    ) -> Result<Option<IdempotencySlot>, ClaimError> {
        let Some(identifier) = &request.identifier else {
            return Ok(None);
        };
        let state = self.identifier_state(&account, identifier, request.request).await;
        match state.map_err(|_| ClaimError::Unavailable)? {
            IdentifierState::Unclaimed(slot) => Ok(Some(slot)),
            IdentifierState::Claimed(known) if self.payment_id(&known) == payment => Ok(None),
            IdentifierState::Claimed(known) => Err(ClaimError::IdentifierClaimed(known)),
            IdentifierState::DifferentRequest => Err(ClaimError::IdentifierMismatch),
        }
    }

    /// Waits for the outcome of a payment. If its actor dies meanwhile, it is restarted and the settlement continues.
    /// This call then asks again and still holds its permit.
    async fn outcome(&self, payment: PaymentId, above: u64) -> Result<Outcome, ClaimError> {
        for _ in 0..MAX_CONFLICT_RETRIES {
            match self.0.registries.payments.outcome(payment, above).await {
                Ok(outcome) => return Ok(outcome),
                // The engine is stopping; no actor is restarted.
                Err(_) if !self.is_healthy() => break,
                Err(_) => {}
            }
        }
        Err(ClaimError::OutcomeUnknown(payment))
    }

    /// Admits a declined or released payment that is presented again, because it then settles once more. It needs a
    /// permit like a claim. It is rejected if the account is frozen, its agents are stopped or the purchase could not be claimed now. Any other
    /// payment is joined as it is.
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
        refuse_account(account)?;
        let permit = self.admit(&owner).map_err(ClaimError::Overloaded)?;
        // Its preconditions may no longer hold since it was claimed.
        self.resolve_preconditions(&owner, request).await?;
        Ok(Some(permit))
    }

    /// One claim, with its permit; `None` if another call was first.
    async fn claim(
        &self,
        id: PaymentId,
        account: Wallet,
        request: &PaymentRequest,
        slot: Option<IdempotencySlot>,
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
        // Without a result the payment is prepared by its job, which also finds out what is wrong with it.
        let prepared = self.0.ports.settlement.prepare_locally(&request.authorization);
        if let Some(prepared) = prepared
            .as_ref()
            .filter(|_| mutants::is_enabled(Mutant::ClaimSentBeforeDurable))
        {
            let early = self.0.ports.settlement.submit(&request.authorization, prepared);
            drop(with_timeout_ms(self.query_timeout(), early, "submit").await);
        }
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
            prepared,
        };
        let claim = account::Command::Claim(Box::new(admission));
        let recorder = slot.map(|slot| payment_identifier::recorder(slot, id));
        self.take_line_sale(line).map_err(ClaimError::LineUnavailable)?;
        let result = self
            .0
            .registries
            .accounts
            .ask_idempotent(account, claim, recorder)
            .await;
        match result.inspect_err(|_| self.cancel_line_sale(line)) {
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

    /// Joins a known payment: returns the revision above which its outcome counts, or `None` to look again.
    async fn join(
        &self,
        id: PaymentId,
        (account, slot): (Wallet, Option<IdempotencySlot>),
        request: &PaymentRequest,
        again: bool,
    ) -> Result<Option<u64>, ClaimError> {
        let present = payment::Command::Join {
            request: request.request,
            new_session: again.then_some(request.session),
        };
        let recorder = slot.map(|slot| payment_identifier::recorder(slot, id));
        match self.0.registries.payments.ask_idempotent(id, present, recorder).await {
            Ok(payment::Reply::AwaitOutcome | payment::Reply::Done) => Ok(Some(0)),
            // Released since it was read: it needs a permit like any other.
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
