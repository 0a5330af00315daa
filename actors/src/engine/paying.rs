//! A paid call from the engine's side: permit, claim, wait.

use purser_storage::planted::{self, Bug};
use tracing::Instrument as _;

use super::once::identified::{self, Standing};
use super::permits::{Overloaded, Permit};
use super::requiring::refused;
use super::turn::Turn;
use super::{Engine, RACES};
use crate::account::{self, Admission};
use crate::id::{Network, PaymentId, Wallet};
use crate::kernel::memo::Place;
use crate::kernel::{Refusal, origin, table};
use crate::money::Cents;
use crate::payment::{self, NewSession, Outcome, Payment, Rejection, Status};
use crate::port::{Authorization, Decline};
use crate::product::{Purchase, Requirement};
use crate::quote::Quoted;

/// A purchase with its verified payment.
#[derive(Clone, Debug)]
pub struct PayRequest {
    /// Form and signature verified.
    pub authorization: Authorization,
    /// What it buys.
    pub purchase: Purchase,
    /// What that is worth in US dollars, fees apart, at the quoted rate.
    pub worth: Cents,
    /// What the price was made from, where that is kept with the product.
    pub quoted: Option<Box<Quoted>>,
    /// Digest of route and parameters in canonical form.
    pub request: [u8; 32],
    /// Opened if this call's claim wins, or if it is this call that has a released or declined payment settled after all. Of this
    /// call alone.
    pub session: NewSession,
    /// A challenge that this payment answers and no other may, and the second from which none could anyway.
    pub once: Option<([u8; 16], u64)>,
    /// The payer's own name for this purchase: another payment under it is not claimed, see [`PayError::Identified`].
    pub identifier: Option<String>,
}

/// What a paid call came to.
#[derive(Clone, Debug)]
pub struct Paid {
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
pub enum PayError {
    /// The account is frozen.
    Frozen {
        /// For the holder.
        message: String,
    },
    /// Another wallet has this address in lower case.
    Collision,
    /// Something that the product needs of the payer is not there.
    Missing(Requirement),
    /// A daily cap is reached.
    CountPerDay {
        /// The cap.
        cap: u32,
    },
    /// A daily cap is reached.
    SumPerDay {
        /// The cap.
        cap: Cents,
    },
    /// The payment is claimed for another request.
    AlreadyUsed,
    /// Another payment has answered the same challenge, or the same one signed otherwise.
    ChallengeUsed,
    /// The identifier stands for this payment of the same payer's for the same request: join that one instead.
    Identified(Box<Authorization>),
    /// The identifier stands for another request.
    IdentifierUsed,
    /// The product is not sold now.
    NotSold(super::NotSold),
    /// The treasury of this chain has less than what is promised there: what is forwarded from it is not sold now.
    Short(Network),
    /// There is no room now.
    Overloaded(Overloaded),
    /// The chain would decline the payment now. The same payment can be sent again and is then checked again.
    Declined(Decline),
    /// The engine cannot answer now; nothing was claimed.
    Unavailable,
    /// The engine cannot answer now; the payment may be claimed.
    Unknown(PaymentId),
}

impl Engine {
    /// The id that a payment has or would have.
    pub fn payment_id(&self, authorization: &Authorization) -> PaymentId {
        payment::id_of(authorization, &self.0.secret)
    }

    /// Claims the payment and waits for what becomes of it. Dropping the future changes nothing: from the claim on,
    /// durable effects drive the payment, and its permit is kept until it has come to something. A payment that is
    /// claimed already is joined; that needs no room, since it settles nothing.
    ///
    /// # Errors
    /// [`PayError`]: nothing was claimed by this call, unless it is [`PayError::Unknown`].
    pub async fn pay(&self, request: PayRequest) -> Result<Paid, PayError> {
        let payment = self.payment_id(&request.authorization);
        let engine = self.clone();
        // A task of its own: the permit is kept for as long as the settlement is in flight, not for as long as somebody
        // listens.
        let work = async move { engine.claim_or_join(payment, request).await };
        let call = tokio::spawn(origin::scope(origin::current(), work).in_current_span());
        call.await.unwrap_or(Err(PayError::Unknown(payment)))
    }

    async fn claim_or_join(&self, payment: PaymentId, request: PayRequest) -> Result<Paid, PayError> {
        let account = self.account_of(&request.authorization.payer());
        // Kept until the claim is durable and no longer: who comes next finds what it left.
        let turn = match &request.identifier {
            Some(identifier) => Some(Turn::take(&self.0.turns, identified::line(&account, identifier)).await),
            None => None,
        };
        for _ in 0..RACES {
            let place = self.place(payment, account, &request).await?;
            let known = self.known(payment).await?;
            let (won, permit, above) = match known {
                None => match self.claim(payment, account, &request, place).await? {
                    None => continue,
                    Some(permit) => (true, Some(permit), 0),
                },
                Some((known, _)) if request.once.is_some() && known.claim.authorization != request.authorization => {
                    return Err(PayError::ChallengeUsed);
                }
                Some((known, _)) if known.claim.bought_otherwise(&request.purchase) => {
                    return Err(PayError::AlreadyUsed);
                }
                Some((known, _)) => {
                    let permit = self.room_to_settle_again(&known, &request).await?;
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
            return Ok(Paid { payment, won, outcome });
        }
        Err(PayError::Unavailable)
    }

    async fn known(&self, id: PaymentId) -> Result<Option<(Payment, u64)>, PayError> {
        let read = self.0.families.payments.read(&id).await;
        read.map_err(|_| PayError::Unavailable)
    }

    /// Where the claim is to leave the request's identifier, if it has one that is free.
    async fn place(
        &self,
        payment: PaymentId,
        account: Wallet,
        request: &PayRequest,
    ) -> Result<Option<Place>, PayError> {
        let Some(identifier) = &request.identifier else {
            return Ok(None);
        };
        let standing = self.standing(&account, identifier, request.request).await;
        match standing.map_err(|_| PayError::Unavailable)? {
            Standing::Free(place) => Ok(Some(place)),
            Standing::Payment(known) if self.payment_id(&known) == payment => Ok(None),
            Standing::Payment(known) => Err(PayError::Identified(known)),
            Standing::OtherRequest => Err(PayError::IdentifierUsed),
        }
    }

    /// What the payment comes to. Its actor may die meanwhile and be started again: then the settlement is still under
    /// way, so whoever waits for it asks again, and the room that it takes stays taken.
    async fn outcome(&self, payment: PaymentId, above: u64) -> Result<Outcome, PayError> {
        for _ in 0..RACES {
            match self.0.families.payments.outcome(payment, above).await {
                Ok(outcome) => return Ok(outcome),
                // The engine stops: nobody is started again.
                Err(_) if !self.is_sound() => break,
                Err(_) => {}
            }
        }
        Err(PayError::Unknown(payment))
    }

    /// A payment that was declined or released settles once more when it is presented: that takes room like a claim, and
    /// a frozen account gets none, nor does a purchase that could not be claimed now. Any other is joined as it is.
    async fn room_to_settle_again(&self, known: &Payment, request: &PayRequest) -> Result<Option<Permit>, PayError> {
        let ours = known.claim.request == request.request;
        if !ours || !(known.is_released() || matches!(known.status, Status::Declined(..))) {
            return Ok(None);
        }
        let owner = known.account();
        let account = self.account(&owner).await.map_err(|_| PayError::Unavailable)?;
        if let Some(message) = account.and_then(|a| a.frozen) {
            return Err(PayError::Frozen { message });
        }
        let permit = self.admit(&owner).map_err(PayError::Overloaded)?;
        // What it needs of the account and of the world may have gone since it was claimed.
        self.check(&owner, request).await?;
        Ok(Some(permit))
    }

    /// One claim, with the room it takes; `None` if somebody else was first.
    async fn claim(
        &self,
        id: PaymentId,
        account: Wallet,
        request: &PayRequest,
        place: Option<Place>,
    ) -> Result<Option<Permit>, PayError> {
        let turn = Turn::take(&self.0.turns, id.0).await;
        if turn.waited && !planted::is(Bug::ClaimUnconditional) && self.known(id).await?.is_some() {
            return Ok(None);
        }
        if let Some((key, expires_s)) = &request.once {
            let used = self.0.store.read(&table::nonce(*expires_s, key)).await;
            if used.map_err(|_| PayError::Unavailable)?.is_some() {
                return Err(PayError::ChallengeUsed);
            }
        }
        let permit = self.admit(&account).map_err(PayError::Overloaded)?;
        if self.collides(&account).await.map_err(|_| PayError::Unavailable)? {
            return Err(PayError::Collision);
        }
        let (found, line) = (self.check(&account, request).await?, request.purchase.line());
        self.may_buy(id, &request.authorization, line).await?;
        let counted = self.counted_for(id).await?;
        self.precheck(&account, request, counted.is_some()).await?;
        let PayRequest {
            authorization,
            purchase,
            worth,
            request,
            session,
            once,
            ..
        } = request.clone();
        let admission = Admission {
            payment: id,
            authorization,
            cap: self.0.settings.caps.of(line),
            purchase,
            worth,
            found,
            request,
            session,
            once,
            counted,
        };
        let claim = account::Command::Claim(Box::new(admission));
        let memo = place.map(|place| identified::memo(place, id));
        self.sell(line).map_err(PayError::NotSold)?;
        let told = self.0.families.accounts.ask_recorded(account, claim, memo).await;
        match told.inspect_err(|_| self.unsold(line)) {
            Ok(()) => Ok(Some(permit)),
            Err(Refusal::Conflict) => Ok(None),
            Err(refusal) => {
                if planted::is(Bug::PermitLeaked) {
                    permit.leak();
                }
                Err(refused(id, refusal))
            }
        }
    }

    /// Joins a payment that is known: the revision above which its outcome counts, or `None` to look again.
    async fn join(
        &self,
        id: PaymentId,
        (account, place): (Wallet, Option<Place>),
        request: &PayRequest,
        again: bool,
    ) -> Result<Option<u64>, PayError> {
        let present = payment::Command::Present {
            request: request.request,
            again: again.then_some(request.session),
        };
        let memo = place.map(|place| identified::memo(place, id));
        match self.0.families.payments.ask_recorded(id, present, memo).await {
            Ok(payment::Answer::Wait | payment::Answer::Done) => Ok(Some(0)),
            // Released since it was read: it takes room like any other.
            Ok(payment::Answer::Readmit) if !again => Ok(None),
            Ok(payment::Answer::Readmit) => self.readmit(id, account, request).await,
            Err(Refusal::Rejected(Rejection::OtherRequest)) => Err(PayError::AlreadyUsed),
            Err(Refusal::Conflict | Refusal::Missing | Refusal::Rejected(_)) => Ok(None),
            Err(Refusal::Quarantined) => Err(PayError::Unavailable),
            Err(Refusal::Unknown) => Err(PayError::Unknown(id)),
        }
    }

    async fn readmit(&self, id: PaymentId, account: Wallet, request: &PayRequest) -> Result<Option<u64>, PayError> {
        let known = self.known(id).await.map_err(|_| PayError::Unknown(id))?;
        let above = match known {
            Some((payment, revision)) if payment.is_released() => revision,
            _ => return Ok(None),
        };
        let purchase = request.purchase.clone();
        let command = account::Command::Readmit {
            payment: id,
            cap: self.0.settings.caps.of(purchase.line()),
            purchase,
            worth: request.worth,
            session: request.session,
            counted: self.counted_for(id).await?,
        };
        match self.0.families.accounts.ask(account, command).await {
            Ok(()) => Ok(Some(above)),
            Err(Refusal::Conflict) => Ok(None),
            Err(refusal) => Err(refused(id, refusal)),
        }
    }
}
