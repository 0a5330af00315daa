//! State machine of a wallet payment.

use super::{
    Command, Event, HTTP_RECORD_RETENTION_MS, HttpRecordPart, Job, PaymentMethod, Rejection, Status, WalletPayment,
    WalletPaymentOrder,
};
use super::{WalletPaymentKind, WalletPaymentView};
use crate::entity::agent_wallet;
use crate::id::{OutgoingTransferId, TransferName, Wallet, WalletPaymentId};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, NewEntity, StateMachine as _, table};
use crate::port::{ServerResponse, Timestamp};

/// Failure reason of a wallet payment that Purser's own route did not accept.
const NOT_TAKEN: &str = "not_taken";

impl WalletPayment {
    /// First snapshot of a wallet payment, for the batch of the wallet that reserves the amount.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn create(
        id: WalletPaymentId,
        owner: Wallet,
        from: Wallet,
        order: WalletPaymentOrder,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let event = Event::Created {
            owner,
            from,
            order: Box::new(order),
            at: context.now,
        };
        NewEntity::from_event::<Self>(&id, &event, context)
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// Settles the wallet's reservation. The HTTP record is kept for its retention time.
    fn settle_hold(
        &self,
        spend: WalletPaymentId,
        paid: bool,
        decided: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        let wallet = self.owner;
        let decided = decided.enqueue(
            agent_wallet::Job::SettleWalletHold {
                wallet,
                payment: spend,
                paid,
            },
            context,
        );
        match self.order.method {
            PaymentMethod::Transfer => decided,
            PaymentMethod::PaidCall { .. } => decided.enqueue_at(
                context.now.plus_ms(HTTP_RECORD_RETENTION_MS),
                Job::PurgeHttpRecord(spend),
                context,
            ),
        }
    }
}

impl Entity for WalletPayment {
    const KIND: EntityKind = EntityKind::WalletPayment;

    type Id = WalletPaymentId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = Self;
    type View<'a> = WalletPaymentView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &WalletPaymentId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(spend) = this else {
            return Err(Rejection("-"));
        };
        let (decided, now) = (Decision::answer(()), context.now);
        match (&spend.status, command) {
            // Nothing is signed for an account that is frozen or whose agents are stopped at commit, whatever was read
            // before.
            (Status::Pending, Command::RecordSigned { signed, payment }) => {
                let decided = HttpRecordPart::PaymentHeader.put(*id, &payment, decided);
                Ok(decided
                    .requires_absent(table::frozen(&spend.owner))
                    .requires_absent(table::agents_stopped(&spend.owner))
                    .event(Event::Signed(signed, now)))
            }
            (Status::Pending, Command::RecordRecognised { job, transaction }) => {
                let row = table::recognised_transfer(OutgoingTransferId::for_name(spend.from.network(), &transaction));
                let decided = decided.completes_job(job).put_new(row, id.0.to_be_bytes().to_vec());
                let decided = decided.event(Event::Confirmed(transaction, now));
                Ok(spend.settle_hold(*id, true, decided, context))
            }
            (Status::Signed(_), Command::RecordResponse { response: answer, body })
                if matches!(spend.order.method, PaymentMethod::PaidCall { .. }) =>
            {
                let decided = HttpRecordPart::Response.put(*id, &body, decided);
                Ok(decided.event(Event::ResponseReceived(answer, now)))
            }
            (
                Status::Signed(_),
                Command::RecordDeclined {
                    job,
                    response: answer,
                    body,
                },
            ) if spend.order.method.is_own() => {
                let decided = HttpRecordPart::Response.put(*id, &body, decided.completes_job(job));
                let decided = decided.event(Event::ResponseReceived(answer, now));
                let decided = decided.event(Event::Unsettled(NOT_TAKEN.into(), now));
                Ok(spend.settle_hold(*id, false, decided, context))
            }
            (Status::Signed(_) | Status::Sent(..), Command::RecordConfirmed { job, transaction }) => {
                let decided = decided.completes_job(job).event(Event::Confirmed(transaction, now));
                Ok(spend.settle_hold(*id, true, decided, context))
            }
            (Status::Pending, Command::Fail { job, reason }) => {
                let decided = decided.completes_job(job).event(Event::Failed(reason, now));
                Ok(spend.settle_hold(*id, false, decided, context))
            }
            (Status::Signed(_) | Status::Sent(..), Command::Fail { job, reason }) => {
                let decided = decided.completes_job(job).event(Event::Unsettled(reason, now));
                Ok(spend.settle_hold(*id, false, decided, context))
            }
            (_, Command::PurgeHttpRecord { job, rows })
                if !spend.is_open() && rows.iter().all(|row| row.starts_with(&table::http_records_of(*id))) =>
            {
                Ok(rows.into_iter().fold(decided.completes_job(job), Decision::delete))
            }
            (_, _) => Err(Rejection(spend.status())),
        }
    }

    fn apply(this: Option<Self>, _: &WalletPaymentId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(spend) = this else {
            return match event {
                Event::Created { owner, from, order, at } => Ok(Self {
                    owner: *owner,
                    from: *from,
                    order: (**order).clone(),
                    created_at: *at,
                    updated_at: *at,
                    status: Status::Pending,
                }),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        match (&spend.status, event) {
            (Status::Pending, Event::Signed(signed, at)) => Ok(spend.at(Status::Signed(signed.clone()), *at)),
            (Status::Signed(signed), Event::ResponseReceived(answer, at)) => {
                let status = Status::Sent(signed.clone(), answer.clone());
                Ok(spend.at(status, *at))
            }
            (Status::Pending | Status::Signed(_) | Status::Sent(..), Event::Confirmed(transaction, at)) => {
                let answer = spend.response().cloned().map(ServerResponse::error_after_payment);
                let transaction = transaction.clone();
                Ok(spend.at(
                    Status::Settled {
                        transaction,
                        response: answer,
                    },
                    *at,
                ))
            }
            (Status::Pending, Event::Failed(reason, at)) => {
                let reason = reason.clone();
                Ok(spend.at(Status::Failed { reason }, *at))
            }
            (Status::Signed(_) | Status::Sent(..), Event::Unsettled(reason, at)) => {
                let (reason, answer) = (reason.clone(), spend.response().cloned());
                Ok(spend.at(
                    Status::Unsettled {
                        reason,
                        response: answer,
                    },
                    *at,
                ))
            }
            (_, event) => Err(InvalidTransition::new(spend.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &WalletPaymentId) -> WalletPaymentView<'_> {
        let (kind, host) = match &self.order.method {
            PaymentMethod::Transfer => (WalletPaymentKind::Transfer, None),
            PaymentMethod::PaidCall { host } => (WalletPaymentKind::X402, Some(host.as_str())),
        };
        WalletPaymentView {
            wallet_payment_id: *id,
            status: self.state(),
            kind,
            amount: self.order.amount.into(),
            asset: "USDC",
            network: self.from.network(),
            from: self.from.into(),
            pay_to: self.order.to.into(),
            host,
            note: self.order.note.as_deref(),
            http_status: self
                .response()
                .map(|answer| answer.http_status)
                .filter(|status| *status > 0),
            tx_hash: self.transaction().map(TransferName::transaction_of),
            failure_reason: self.failure(),
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    /// Known once the chain shows the result, or as soon as the server declined: the settlement may then take longer.
    fn outcome(&self) -> Option<Self> {
        let refused = matches!(&self.status, Status::Sent(_, answer) if answer.failure.is_some());
        (refused || !self.is_open()).then(|| self.clone())
    }
}
