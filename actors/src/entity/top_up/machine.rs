//! State machine of a top-up.

use super::{
    BridgeProgress, Command, Event, FirstLeg, Job, LegKind, MAX_SIGNING_ATTEMPTS, Rejection, SIGNATURE_EXPIRED, Status,
    TopUp, TransferLeg,
};
use super::{DepositNetwork, TopUpLegView, TopUpView};
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::id::{JobId, Network, OutgoingTransferId, TopUpId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, NewEntity, StateMachine as _, table};
use crate::ledger::{Charge, LedgerAccount, LedgerProvider, LedgerTransaction};
use crate::money::{Cents, Usdc};
use crate::operator::{AuditAction, AuditedAction};
use crate::port::{AttestedMessage, ExternalText, SignedBurn, Timestamp};

type DecisionResult = Result<Decision<TopUp>, Rejection>;

impl BridgeProgress {
    /// Whether it is the attesters' first message, or a newer one for the same burn: messages expire.
    fn accepts_burn(&self, word: &AttestedMessage) -> bool {
        let known = self.attested.as_ref();
        known.is_none_or(|known| known.nonce == word.nonce && known != word)
    }
}

impl TopUp {
    /// First snapshot of a top-up, for the batch of the payment that bought it.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn open(
        id: TopUpId,
        owner: Wallet,
        charge: Charge,
        (amount, rail, address): (Cents, Network, [u8; 20]),
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let paid = Event::Paid {
            owner,
            charge,
            amount,
            rail,
            address,
            at: context.now,
        };
        NewEntity::from_event::<Self>(&id, &paid, context)
    }

    /// The first leg is confirmed: posts the outgoing amount, and the bridge's fee as our cost.
    fn confirmed(
        &self,
        id: &TopUpId,
        decision: Decision<Self>,
        (first, effect, transaction): (&FirstLeg, JobId, String),
        context: &Context,
    ) -> Decision<Self> {
        let by = LedgerAccount::Provider(LedgerProvider::CardBalances);
        let left = LedgerAccount::Treasury(self.rail);
        let owed = self.charge.provider_amount();
        let booked = LedgerTransaction::new(context.now, id).post(by, left, owed);
        let decision = decision.completes_job(effect);
        match first {
            FirstLeg::Burn(burn) => {
                let fee = burn.burned.checked_sub(owed).unwrap_or(Usdc::ZERO);
                decision
                    .post_ledger(&booked.post(LedgerAccount::OperatingCosts, left, fee), context)
                    .event(Event::Burned(transaction, context.now))
                    .enqueue(Job::BridgeTopUp(*id), context)
            }
            FirstLeg::Transfer(_) => decision
                .post_ledger(&booked, context)
                .event(Event::Forwarded(transaction, context.now))
                .enqueue(Job::AwaitIssuerCredit(*id), context),
        }
    }

    /// A burn that an operator attributes, replacing an expired one of the top-up's own if there was one.
    fn attribute_burn(
        &self,
        id: &TopUpId,
        decision: Decision<Self>,
        (effect, burn, index): (JobId, SignedBurn, u32),
        (act, evidence): (&AuditedAction, String),
        context: &Context,
    ) -> Decision<Self> {
        let (now, transaction) = (context.now, burn.transaction.clone());
        let subject = format!("{transaction} {id}");
        let decision = decision
            .audit(act, AuditAction::TransferAttribute, subject, Some(evidence), context)
            .requires_absent(table::attributed_transfer(OutgoingTransferId::for_transfer(
                self.rail,
                &transaction,
                index,
            )));
        // The signature in the backup expired, and the lost history signed it again.
        let decision = match self.status {
            Status::Paid(Some(_)) => decision.event(Event::SignatureExpired(now)),
            _ => decision,
        };
        let first = FirstLeg::Burn(burn);
        let decision = decision.event(Event::Signed(Box::new(first.clone()), now));
        self.confirmed(id, decision, (&first, effect, transaction), context)
    }

    /// Credits the whole charge: from the amount owed to the provider, or, once it was burned, as our loss.
    fn failed(&self, id: &TopUpId, effect: JobId, reason: ExternalText, context: &Context) -> Decision<Self> {
        let back = match self.status {
            Status::Bridging(_) => LedgerTransaction::new(context.now, id)
                .post(
                    LedgerAccount::OperatingCosts,
                    LedgerAccount::Suspense,
                    self.charge.provider_amount(),
                )
                .post(LedgerAccount::FeeRevenue, LedgerAccount::Suspense, self.charge.fee()),
            _ => self.charge.reversal(context.now, id, LedgerProvider::CardBalances),
        };
        let credit = account::Job::CreditAccount {
            account: self.owner,
            amount: self.charge.charged,
            cause: CreditCause::TopUp(*id),
        };
        Decision::answer(())
            .completes_job(effect)
            .event(Event::Failed(reason, context.now))
            .post_ledger(&back, context)
            .enqueue(credit, context)
    }

    /// The mint is confirmed. The amount beyond the purchase is no longer a bridge fee.
    fn minted(
        &self,
        id: &TopUpId,
        (effect, transaction): (JobId, String),
        arrived: Usdc,
        context: &Context,
    ) -> Decision<Self> {
        let decision = Decision::answer(()).completes_job(effect);
        let decision = match arrived.checked_sub(self.delivered_amount()) {
            Ok(surplus) if surplus > Usdc::ZERO => {
                let booked = LedgerTransaction::new(context.now, id).post(
                    LedgerAccount::BridgeSurplus,
                    LedgerAccount::OperatingCosts,
                    surplus,
                );
                decision.post_ledger(&booked, context)
            }
            _ => decision,
        };
        decision
            .event(Event::Minted(transaction, context.now))
            .enqueue(Job::AwaitIssuerCredit(*id), context)
    }

    /// Kind of a mint leg with this amount.
    fn mint_leg(&self, arrived: Usdc) -> LegKind {
        match arrived > self.delivered_amount() {
            true => LegKind::MintOf(arrived),
            false => LegKind::Mint,
        }
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    fn with_leg(mut self, leg: LegKind, transaction: &str, at: Timestamp) -> Self {
        let transaction = transaction.to_owned();
        self.legs.push(TransferLeg { leg, transaction, at });
        self
    }
}

impl Entity for TopUp {
    const KIND: EntityKind = EntityKind::TopUp;

    type Id = TopUpId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = Self;
    type View<'a> = TopUpView<'a>;

    fn decide(this: Option<&Self>, id: &TopUpId, command: Command, context: &Context) -> DecisionResult {
        let Some(top_up) = this else { return Err(Rejection("-")) };
        let (decided, now) = (Decision::answer(()), context.now);
        match (&top_up.status, command) {
            // The final check of link and freeze: nothing is sent to an unlinked account or for a frozen one.
            (Status::Paid(None), Command::RecordSigned(first)) => Ok(decided
                .requires_present(table::issuer_linked(&top_up.owner))
                .requires_absent(table::frozen(&top_up.owner))
                .event(Event::Signed(Box::new(first), now))),
            (Status::Paid(Some(_)), Command::RecordExpired { job: effect, round })
                if round == top_up.expired_signatures && top_up.expired_signatures + 1 >= MAX_SIGNING_ATTEMPTS =>
            {
                Ok(top_up.failed(id, effect, SIGNATURE_EXPIRED.into(), context))
            }
            // The job continues: it signs again.
            (Status::Paid(Some(_)), Command::RecordExpired { job: effect, round })
                if round == top_up.expired_signatures =>
            {
                Ok(decided
                    .requires_present(table::outbox_job(effect))
                    .event(Event::SignatureExpired(now)))
            }
            (
                Status::Paid(Some(first)),
                Command::RecordConfirmed {
                    job: effect,
                    transaction,
                },
            ) => Ok(top_up.confirmed(id, decided, (first, effect, transaction), context)),
            (
                Status::Paid(first),
                Command::AttributeBurn {
                    job: effect,
                    burn,
                    index,
                    expired_burn: dead,
                    act,
                    evidence,
                },
            ) if is_own_burn(first.as_deref()) == Some(dead.as_deref()) => {
                Ok(top_up.attribute_burn(id, decided, (effect, burn, index), (&act, evidence), context))
            }
            (Status::Bridging(burned), Command::RecordAttestation(attested)) if burned.accepts_burn(&attested) => {
                Ok(decided.event(Event::Attested(Box::new(attested), now)))
            }
            (Status::Bridging(burned), Command::RecordMintSigned(mint)) if burned.attested.is_some() => {
                Ok(decided.event(Event::MintSigned(Box::new(mint), now)))
            }
            (
                Status::Bridging(burned),
                Command::RecordMinted {
                    job: effect,
                    transaction,
                },
            ) => match &burned.attested {
                Some(attested) => Ok(top_up.minted(id, (effect, transaction), attested.delivered_amount, context)),
                None => Err(Rejection(top_up.status())),
            },
            (Status::Bridging(burned), Command::Fail { job: effect, reason }) if burned.attested.is_some() => {
                Ok(top_up.failed(id, effect, reason, context))
            }
            (Status::Paid(_), Command::Fail { job: effect, reason }) => Ok(top_up.failed(id, effect, reason, context)),
            (Status::Delivered, Command::RecordIssuerCredit { job: effect }) => {
                Ok(decided.completes_job(effect).event(Event::Credited(now)))
            }
            (_, _) => Err(Rejection(top_up.status())),
        }
    }

    fn apply(this: Option<Self>, _: &TopUpId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(top_up) = this else { return open(event) };
        match (top_up.status.clone(), event) {
            (Status::Paid(None), Event::Signed(first, at)) => Ok(top_up.at(Status::Paid(Some(first.clone())), *at)),
            (Status::Paid(Some(_)), Event::SignatureExpired(at)) => {
                let expired_signatures = top_up.expired_signatures.saturating_add(1);
                let top_up = top_up.at(Status::Paid(None), *at);
                Ok(Self {
                    expired_signatures,
                    ..top_up
                })
            }
            (Status::Paid(Some(first)), event) => first_leg(top_up, *first, event),
            (Status::Bridging(mut burned), Event::Attested(attested, at)) if burned.accepts_burn(attested) => {
                burned.attested = Some((**attested).clone());
                burned.mint = None;
                Ok(top_up.at(Status::Bridging(burned), *at))
            }
            (Status::Bridging(mut burned), Event::MintSigned(mint, at)) if burned.attested.is_some() => {
                burned.mint = Some((**mint).clone());
                Ok(top_up.at(Status::Bridging(burned), *at))
            }
            (Status::Bridging(burned), Event::Minted(transaction, at)) if burned.attested.is_some() => {
                let arrived = burned
                    .attested
                    .as_ref()
                    .map_or(Usdc::ZERO, |attested| attested.delivered_amount);
                let leg = top_up.mint_leg(arrived);
                Ok(top_up.with_leg(leg, transaction, *at).at(Status::Delivered, *at))
            }
            (Status::Bridging(burned), Event::Failed(reason, at)) if burned.attested.is_some() => {
                Ok(top_up.at(Status::Failed { reason: reason.clone() }, *at))
            }
            (Status::Paid(None), Event::Failed(reason, at)) => {
                Ok(top_up.at(Status::Failed { reason: reason.clone() }, *at))
            }
            (Status::Delivered, Event::Credited(at)) => Ok(top_up.at(Status::Credited, *at)),
            (_, event) => Err(InvalidTransition::new(top_up.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &TopUpId) -> TopUpView<'_> {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        let legs = self.legs.iter().map(|leg| TopUpLegView {
            leg: leg.leg,
            tx_hash: &leg.transaction,
            at: leg.at.into(),
        });
        TopUpView {
            top_up_id: *id,
            status: self.state(),
            funded_usd: self.amount.into(),
            deposit_address: Wallet::Evm(self.address).into(),
            network: DepositNetwork::Base,
            asset: "USDC",
            payment_network: self.rail,
            legs: legs.collect(),
            failure_code: reason,
            payment_id: self.charge.payment,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<Self> {
        matches!(self.status, Status::Credited | Status::Failed { .. }).then(|| self.clone())
    }
}

/// Transaction of the signed burn; `None` where no other burn is accepted, for a transfer on Base.
const fn is_own_burn(first: Option<&FirstLeg>) -> Option<Option<&str>> {
    match first {
        None => Some(None),
        Some(FirstLeg::Burn(burn)) => Some(Some(burn.transaction.as_str())),
        Some(FirstLeg::Transfer(_)) => None,
    }
}

fn open(event: &Event) -> Result<TopUp, InvalidTransition> {
    let Event::Paid {
        owner,
        charge,
        amount,
        rail,
        address,
        at,
    } = event
    else {
        return Err(InvalidTransition::new("-", event));
    };
    Ok(TopUp {
        owner: *owner,
        charge: *charge,
        amount: *amount,
        rail: *rail,
        address: *address,
        legs: Vec::new(),
        outgoing_amount: Usdc::ZERO,
        expired_signatures: 0,
        created_at: *at,
        updated_at: *at,
        status: Status::Paid(None),
    })
}

/// State after the first leg was signed.
fn first_leg(top_up: TopUp, first: FirstLeg, event: &Event) -> Result<TopUp, InvalidTransition> {
    match (first, event) {
        (FirstLeg::Burn(burn), Event::Burned(transaction, at)) => {
            let spent = burn.burned;
            let burned = BridgeProgress {
                burn,
                attested: None,
                mint: None,
            };
            let top_up = top_up.with_leg(LegKind::Burn, transaction, *at);
            let top_up = top_up.at(Status::Bridging(Box::new(burned)), *at);
            Ok(TopUp {
                outgoing_amount: spent,
                ..top_up
            })
        }
        (FirstLeg::Transfer(out), Event::Forwarded(transaction, at)) => {
            let spent = top_up.charge.provider_amount();
            let top_up = top_up.with_leg(
                LegKind::TransferSigned(out.authorization.fingerprint()),
                transaction,
                *at,
            );
            let top_up = top_up.at(Status::Delivered, *at);
            Ok(TopUp {
                outgoing_amount: spent,
                ..top_up
            })
        }
        (_, Event::Failed(reason, at)) => Ok(top_up.at(Status::Failed { reason: reason.clone() }, *at)),
        (_, event) => Err(InvalidTransition::new("paid", event)),
    }
}
