//! Jobs of a wallet payment: signed once, durable, then sent until its outcome is known.

use std::time::Duration;

use purser_storage::mutants::{self, Mutant};

use super::gate::OutgoingPermit;
use super::sent_transfer_match::{SentTransferMatch, exclude_matched};
use super::work::{Inquiry, OperatorResolution, Summary, Work, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::key_limits::{key_turn, read_allowance};
use crate::engine::registries::Registries;
use crate::engine::untracked_transfers::gate::GateClosure;
use crate::engine::{Engine, ResolveError};
use crate::entity::agent_wallet::{self, AgentWallet};
use crate::entity::payment;
use crate::entity::wallet_payment::{
    self, HttpRecordPart, PaymentMethod, SendTarget, SignedWalletPayment, Status, WalletPayment,
};
use crate::id::{JobId, PaymentId, Wallet, WalletPaymentId};
use crate::kernel::{AttemptFailure, EntityKind, OutboxJob, table};
use crate::port::{
    BoxFuture, CallFailure, ChainStatus, Decline, ErrorKind, ExternalText, OutgoingTransfer, OutgoingTransferRequest,
    PortError, Preparation, SealedHttpPart, SealedKeys, ServerResponse, SubmitResult,
};
use crate::reconciliation::EntryAmount;

/// Result of signing a wallet payment.
enum SigningResult {
    /// Signed; for a call, with the sealed payment.
    Ready(SignedWalletPayment, Vec<u8>),
    /// Why the chain would decline it.
    Declined(Decline),
}

impl Work for wallet_payment::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        match self {
            Self::SendWalletPayment(id) => Box::pin(on.send_wallet_payment(outbox_job, id)),
            Self::PurgeHttpRecord(id) => Box::pin(on.delete_http_record(outbox_job, id)),
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::SendWalletPayment(id) | Self::PurgeHttpRecord(id)) = self;
        summarize_payment(all, id)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl Work for agent_wallet::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::SettleWalletHold { payment, wallet, paid } = self;
        Box::pin(on.settle_wallet_hold(outbox_job.id, wallet, (payment, paid)))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::SettleWalletHold { payment, .. } = self;
        summarize_payment(all, payment)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

fn summarize_payment(all: &Registries, id: WalletPaymentId) -> BoxFuture<'_, Summary> {
    summarize(&all.wallet_payments, id, |spend| {
        Some(EntryAmount::Usdc(spend.order.amount))
    })
}

impl JobHandlers {
    /// Captures the wallet's hold for a sent payment, or releases it, and with it the part of the API key's usage.
    async fn settle_wallet_hold(
        &self,
        job: JobId,
        wallet: Wallet,
        (payment, paid): (WalletPaymentId, bool),
    ) -> HandlerResult {
        let wallets = &self.registries.agent_wallets;
        let read = wallets.read(&wallet).await.map_err(load_failed)?;
        let hold = read.and_then(|(wallet, _)| wallet.holds.into_iter().find(|open| open.payment == payment));
        let share = hold.and_then(|open| open.key).filter(|_| !paid);
        let _turn = key_turn(&self.key_turns, share.map(|share| share.key)).await;
        let key = match share {
            Some(share) => {
                let key = read_allowance(&self.registries, &*self.store, share.key).await;
                Some(Box::new(key.map_err(load_failed)?))
            }
            None => None,
        };
        let command = agent_wallet::Command::SettleHold {
            job,
            payment,
            paid,
            key,
        };
        ask_entity(wallets, wallet, command).await
    }

    /// Signs, persists and sends the same payment until its outcome is known, and reads the chain.
    pub(super) async fn send_wallet_payment(&self, outbox_job: &OutboxJob, id: WalletPaymentId) -> HandlerResult {
        let read = self.registries.wallet_payments.read(&id).await.map_err(load_failed)?;
        let Some((spend, _)) = read else {
            return Err(AttemptFailure::temporary("the spend is not there"));
        };
        match &spend.status {
            Status::Pending => self.start_payment(outbox_job, id, &spend).await,
            // An earlier attempt may still be in flight.
            Status::Signed(signed) => self.send(outbox_job, id, (&spend.owner, signed), false).await,
            Status::Sent(signed, _) => self.follow(outbox_job, id, signed, None).await,
            // The batch that ends it deletes the job, so this run is a repetition.
            _ => Ok(()),
        }
    }

    async fn start_payment(&self, outbox_job: &OutboxJob, id: WalletPaymentId, spend: &WalletPayment) -> HandlerResult {
        let fail = |reason: &str| wallet_payment::Command::Fail {
            job: outbox_job.id,
            reason: reason.into(),
        };
        let pass = self
            .acquire_outgoing_permit(&spend.owner, GateClosure::UntilRestoreWindowOver, PaymentId::NONE)
            .await?;
        if let Some(transaction) = self.find_earlier_send(id, spend).await? {
            let (job, request) = (outbox_job.id, outbox_job.request_id);
            tracing::warn!(spend = %id, %request, transaction, "a spend was sent by a history that was lost");
            let recognised = wallet_payment::Command::RecordRecognised { job, transaction };
            return ask_entity(&self.registries.wallet_payments, id, recognised).await;
        }
        let stopped = self.store.read(&table::agents_stopped(&spend.owner)).await;
        if stopped.map_err(|e| AttemptFailure::temporary(e.to_string()))?.is_some() {
            return ask_entity(&self.registries.wallet_payments, id, fail("agents_stopped")).await;
        }
        if self.is_beyond_cap(id, spend).await? {
            return ask_entity(&self.registries.wallet_payments, id, fail("daily_cap")).await;
        }
        match self.sign_payment(&pass, id, spend).await {
            Ok(SigningResult::Declined(decline)) => {
                let reason = &decline.reason;
                tracing::warn!(spend = %id, reason = reason.as_str(), "a spend is declined unsent");
                ask_entity(&self.registries.wallet_payments, id, fail(reason)).await
            }
            Ok(SigningResult::Ready(signed, payment)) => {
                let command = wallet_payment::Command::RecordSigned {
                    signed: Box::new(signed.clone()),
                    payment,
                };
                let owner = &spend.owner;
                if mutants::is_enabled(Mutant::WalletPaymentSentBeforeDurable) {
                    let _early = self.send(outbox_job, id, (owner, &signed), false).await;
                }
                self.persist_signed(owner, (&self.registries.wallet_payments, id), command)
                    .await?;
                let own_first = spend.order.method.is_own();
                self.send(outbox_job, id, (owner, &signed), own_first).await
            }
            Err(error) if self.is_exhausted(outbox_job, &error) => {
                tracing::warn!(spend = %id, %error, "a spend could not be signed");
                ask_entity(&self.registries.wallet_payments, id, fail("not_signed")).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The transaction by which a lost history sent this wallet payment, if it did. On Base the nonce identifies the
    /// payment, and the chain executes it once, however often it is signed. On Solana it is recognised by the transfer.
    async fn find_earlier_send(
        &self,
        id: WalletPaymentId,
        spend: &WalletPayment,
    ) -> Result<Option<String>, AttemptFailure> {
        let since = self.outgoing_guard.may_have_been_sent_since(spend.created_at).await;
        let since = since.map_err(|e| AttemptFailure::temporary(e.to_string()))?;
        let Some(since) = since.filter(|_| !mutants::is_enabled(Mutant::WalletPaymentResigned)) else {
            return Ok(None);
        };
        let every_ms = self.settings.watch_every_ms;
        let sent = self.ports.settlement.sent_by(&spend.from, since);
        let mut sent = self
            .with_timeout(sent, "sent by")
            .await
            .map_err(|error| AttemptFailure::from(error).retry_every_ms(every_ms))?;
        sent.retain(|one| (one.to, one.amount) == (spend.order.to, spend.order.amount));
        if !sent.is_empty() {
            self.exclude_other_payments(id, spend, &mut sent).await?;
        }
        Ok(sent.first().map(OutgoingTransfer::key))
    }

    /// Removes the transfers of the wallet's other payments, one transfer each: a transaction may have several.
    async fn exclude_other_payments(
        &self,
        id: WalletPaymentId,
        spend: &WalletPayment,
        sent: &mut Vec<OutgoingTransfer>,
    ) -> HandlerResult {
        let mut others = Vec::new();
        self.for_each_wallet_payment(&spend.owner, |other, explained| {
            others.extend(
                (other != id)
                    .then(|| SentTransferMatch::from_payment(explained))
                    .flatten(),
            );
        })
        .await?;
        exclude_matched(others, sent);
        Ok(())
    }

    /// Calls a function for every payment of an account's agent wallet.
    pub(super) async fn for_each_wallet_payment(
        &self,
        owner: &Wallet,
        mut show: impl FnMut(WalletPaymentId, &WalletPayment) + Send,
    ) -> HandlerResult {
        const PAGE: usize = 1_000;
        let (all, mut after) = (table::owner_index(owner, EntityKind::WalletPayment), None);
        loop {
            let rows = self.store.scan(&all, after.as_deref(), PAGE).await;
            let rows = rows.map_err(|e| AttemptFailure::temporary(e.to_string()))?;
            for id in rows.iter().filter_map(|(key, _)| table::created_and_id(key)) {
                let id = WalletPaymentId(id.1);
                if let Some((spend, _)) = self.registries.wallet_payments.read(&id).await.map_err(load_failed)? {
                    show(id, &spend);
                }
            }
            match rows.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => return Ok(()),
            }
        }
    }

    async fn sign_payment(
        &self,
        _: &OutgoingPermit,
        id: WalletPaymentId,
        spend: &WalletPayment,
    ) -> Result<SigningResult, PortError> {
        let key = table::vault(AgentWallet::keys(&spend.owner));
        let unreadable = |message: String| PortError {
            kind: ErrorKind::Temporary,
            operation: "keys",
            message,
        };
        let row = self.store.read(&key).await.map_err(|e| unreadable(e.to_string()))?;
        let sealed = row
            .ok_or_else(|| unreadable("the wallet's keys are not there".into()))?
            .value;
        let keys = SealedKeys {
            owner: spend.owner,
            sealed: &sealed,
        };
        let (custody, settlement) = (&self.ports.wallet_signer, &self.ports.settlement);
        match &spend.order.method {
            PaymentMethod::Transfer => {
                let transfer = OutgoingTransferRequest {
                    key: id.0,
                    to: spend.order.to,
                    amount: spend.order.amount,
                };
                let authorization = self
                    .with_timeout(custody.sign_transfer(keys, &transfer), "sign")
                    .await?;
                let preparation = self.with_timeout(settlement.prepare(&authorization), "prepare").await?;
                Ok(match preparation {
                    Preparation::Ready(prepared) => {
                        let sending = SendTarget::Chain(prepared);
                        SigningResult::Ready(
                            SignedWalletPayment {
                                authorization,
                                target: sending,
                            },
                            Vec::new(),
                        )
                    }
                    Preparation::Declined(decline) => SigningResult::Declined(decline),
                })
            }
            PaymentMethod::PaidCall { .. } => {
                let call = self.store_http_record(id, HttpRecordPart::Request).await?;
                let call = SealedHttpPart {
                    payment: id,
                    sealed: &call,
                };
                let (authorization, payment) = self.with_timeout(custody.sign_call(keys, call), "sign").await?;
                let sending = SendTarget::Server;
                Ok(SigningResult::Ready(
                    SignedWalletPayment {
                        authorization,
                        target: sending,
                    },
                    payment,
                ))
            }
        }
    }

    /// Stores one part of a payment's HTTP record.
    async fn store_http_record(&self, id: WalletPaymentId, part: HttpRecordPart) -> Result<Vec<u8>, PortError> {
        let said = super::super::read_http_record(&*self.store, id, part).await;
        said.map_err(|e| PortError {
            kind: ErrorKind::Temporary,
            operation: "read",
            message: e.to_string(),
        })
    }

    /// `own_first`: this is the first attempt to send it to any server, and the server is our own service.
    async fn send(
        &self,
        outbox_job: &OutboxJob,
        id: WalletPaymentId,
        (owner, signed): (&Wallet, &SignedWalletPayment),
        own_first: bool,
    ) -> HandlerResult {
        if self.is_owner_frozen(owner).await? {
            return self.follow(outbox_job, id, signed, None).await;
        }
        match &signed.target {
            SendTarget::Chain(prepared) => {
                let submitted = self.ports.settlement.submit(&signed.authorization, prepared);
                match self.with_timeout(submitted, "submit").await {
                    Ok(SubmitResult::Settled { transaction, .. }) => {
                        self.record_result(outbox_job, id, transaction).await
                    }
                    // Neither a decline nor a timeout proves anything.
                    Ok(SubmitResult::Declined(decline)) => {
                        self.follow(outbox_job, id, signed, Some(decline.reason)).await
                    }
                    Err(_) => self.follow(outbox_job, id, signed, None).await,
                }
            }
            SendTarget::Server => {
                let (call, payment) = (
                    self.store_http_record(id, HttpRecordPart::Request).await?,
                    self.store_http_record(id, HttpRecordPart::PaymentHeader).await?,
                );
                let call = SealedHttpPart {
                    payment: id,
                    sealed: &call,
                };
                let patience = Duration::from_millis(self.settings.paid_call_timeout_ms);
                let asked = self.ports.paid_http.call(call, &payment);
                let (answer, body) = match with_timeout_ms(patience, asked, "paid call").await {
                    Ok(answer) => answer,
                    Err(error)
                        if mutants::is_enabled(Mutant::WalletTimeoutReleasesHold)
                            && error.kind == ErrorKind::Unknown =>
                    {
                        let (job, reason) = (outbox_job.id, error.message.into());
                        return ask_entity(
                            &self.registries.wallet_payments,
                            id,
                            wallet_payment::Command::Fail { job, reason },
                        )
                        .await;
                    }
                    Err(error) if self.is_exhausted(outbox_job, &error) => {
                        tracing::warn!(spend = %id, %error, "a paid call has no answer");
                        (ServerResponse::no_response(), Vec::new())
                    }
                    Err(error) => return Err(error.into()),
                };
                let answer = match answer.failure {
                    Some(CallFailure::Unsettled) if self.is_confirmed(signed).await => answer.error_after_payment(),
                    _ => answer,
                };
                if own_first && self.is_rejected_by_own_service(&answer, signed).await? {
                    let job = outbox_job.id;
                    let command = wallet_payment::Command::RecordDeclined {
                        job,
                        response: answer,
                        body,
                    };
                    return ask_entity(&self.registries.wallet_payments, id, command).await;
                }
                ask_entity(
                    &self.registries.wallet_payments,
                    id,
                    wallet_payment::Command::RecordResponse { response: answer, body },
                )
                .await?;
                self.follow(outbox_job, id, signed, None).await
            }
        }
    }

    /// Whether our own service rejected the payment without a claim, or released it unsent. No other server has seen
    /// it, so it is never sent.
    async fn is_rejected_by_own_service(
        &self,
        answer: &ServerResponse,
        signed: &SignedWalletPayment,
    ) -> Result<bool, AttemptFailure> {
        // 500 is no rejection: the failed request may have claimed it.
        if matches!(answer.http_status, 0 | 500) || answer.failure.is_none() {
            return Ok(false);
        }
        let payment = payment::id_for_authorization(&signed.authorization, &self.secret);
        let claimed = self.registries.payments.read(&payment).await.map_err(load_failed)?;
        Ok(claimed.is_none_or(|(payment, _)| payment.is_released()))
    }

    async fn is_confirmed(&self, signed: &SignedWalletPayment) -> bool {
        let lookup = self.ports.settlement.lookup(&signed.authorization, signed.prepared());
        matches!(
            self.with_timeout(lookup, "lookup").await,
            Ok(ChainStatus::Confirmed { .. })
        )
    }

    /// Reads the chain until the payment is confirmed or can never settle.
    async fn follow(
        &self,
        outbox_job: &OutboxJob,
        id: WalletPaymentId,
        signed: &SignedWalletPayment,
        declined: Option<ExternalText>,
    ) -> HandlerResult {
        let every_ms = self.settings.watch_every_ms;
        let lookup = self.ports.settlement.lookup(&signed.authorization, signed.prepared());
        match self.with_timeout(lookup, "lookup").await {
            Ok(ChainStatus::Confirmed { transaction, .. }) => self.record_result(outbox_job, id, transaction).await,
            Ok(ChainStatus::Impossible) => {
                let command = wallet_payment::Command::Fail {
                    job: outbox_job.id,
                    reason: declined.unwrap_or_else(|| "expired".into()),
                };
                ask_entity(&self.registries.wallet_payments, id, command).await
            }
            Ok(ChainStatus::Pending) => Err(AttemptFailure::defer(every_ms)),
            Err(error) => Err(AttemptFailure::from(error).retry_every_ms(every_ms)),
        }
    }

    async fn record_result(&self, outbox_job: &OutboxJob, id: WalletPaymentId, transaction: String) -> HandlerResult {
        let command = wallet_payment::Command::RecordConfirmed {
            job: outbox_job.id,
            transaction,
        };
        ask_entity(&self.registries.wallet_payments, id, command).await
    }

    /// Purges a payment's HTTP record after its retention time.
    pub(super) async fn delete_http_record(&self, outbox_job: &OutboxJob, id: WalletPaymentId) -> HandlerResult {
        // More than the parts of the largest request and response that the settings allow.
        const MAX_ROWS: usize = 4_000;
        let rows = self.store.scan(&table::http_records_of(id), None, MAX_ROWS).await;
        let rows = rows.map_err(|e| AttemptFailure::temporary(e.to_string()))?;
        let command = wallet_payment::Command::PurgeHttpRecord {
            job: outbox_job.id,
            rows: rows.into_iter().map(|(key, _)| key).collect(),
        };
        ask_entity(&self.registries.wallet_payments, id, command).await
    }
}

impl ServerResponse {
    /// No response was received, and no other attempt follows.
    fn no_response() -> Self {
        Self {
            http_status: 0,
            content_type: None,
            failure: Some(CallFailure::FetchFailed),
        }
    }
}
