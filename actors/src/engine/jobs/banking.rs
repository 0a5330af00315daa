//! Banking jobs. Each request has one key, so that it is repeated safely after a lost response.

use std::time::Duration;

use purser_storage::mutants::{self, Mutant};

use super::work::{
    Inquiry, NOT_COMPLETED_REASON, OperatorResolution, Summary, Work, listed, not_queryable, not_resolvable, summarize,
};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::operators::corrupt;
use crate::engine::registries::Registries;
use crate::engine::untracked_transfers::gate::GateClosure;
use crate::engine::{Engine, ResolveError};
use crate::entity::banking::application::{self, BankingApplication, Question};
use crate::entity::banking::profile::{BankingProfile, CustomerType};
use crate::entity::banking::{account, transfer};
use crate::id::{BankAccountId, BankTransferId, CardId, JobId, PaymentId, Wallet};
use crate::kernel::job::AnyJob;
use crate::kernel::{AttemptFailure, OutboxJob, table};
use crate::port::banking::{
    BankApplicationRequest, BankDecision, BankTransferRequest, BankTransferResult, OpenAccountRequest,
    OpenAccountResult, SealedDocument,
};
use crate::port::{BoxFuture, EntryKey, ErrorKind};
use crate::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};
use purser_storage::StoreError;

impl Work for application::Job {
    fn run<'a>(self, on: &'a JobHandlers, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::SubmitBankApplication(wallet) = self;
        Box::pin(on.submit_bank_application(effect, wallet))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::SubmitBankApplication(wallet) = self;
        summarize(&all.applications, wallet, |_| None)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl Work for account::Job {
    fn run<'a>(self, on: &'a JobHandlers, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::OpenBankAccount(id) = self;
        Box::pin(on.open_bank_account(effect, id))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::OpenBankAccount(id) = self;
        summarize(&all.bank_accounts, id, |_| None)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        let Self::OpenBankAccount(id) = self;
        if resolution.done {
            return not_resolvable();
        }
        resolution.send(engine, (&engine.0.registries.bank_accounts, id), || {
            account::Command::RecordResult {
                job: resolution.id,
                result: OpenAccountResult::Rejected {
                    reason: NOT_COMPLETED_REASON.to_owned(),
                },
            }
        })
    }
}

impl Work for transfer::Job {
    fn run<'a>(self, on: &'a JobHandlers, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::ExecuteBankTransfer(id) = self;
        Box::pin(on.execute_bank_transfer(effect, id))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::ExecuteBankTransfer(id) = self;
        summarize(&all.bank_transfers, id, |moved| Some(EntryAmount::Usdc(moved.amount)))
    }

    fn inquire(self, engine: &Engine, key: JobId) -> BoxFuture<'_, Inquiry> {
        listed(engine, ReconciliationSource::BankTransfers, key)
    }

    fn resolve<'a>(
        self,
        engine: &'a Engine,
        resolution: &'a OperatorResolution<'a>,
    ) -> BoxFuture<'a, Result<(), ResolveError>> {
        let Self::ExecuteBankTransfer(id) = self;
        resolution.send(engine, (&engine.0.registries.bank_transfers, id), || {
            transfer::Command::RecordResult {
                job: resolution.id,
                result: match resolution.done {
                    true => BankTransferResult::Complete {
                        reference: resolution.reference.to_owned(),
                    },
                    false => BankTransferResult::Failed {
                        reason: NOT_COMPLETED_REASON.to_owned(),
                    },
                },
            }
        })
    }
}

impl Engine {
    /// False for money that was to come from a bank account: it was never part of the balance.
    pub(in crate::engine) async fn is_from_balance(&self, job: &AnyJob) -> Result<bool, StoreError> {
        let Some(transfer::Job::ExecuteBankTransfer(id)) = job.typed() else {
            return Ok(true);
        };
        let read = self.0.registries.bank_transfers.read(&id).await.map_err(corrupt)?;
        Ok(read.is_some_and(|(moved, _)| moved.direction == transfer::TransferDirection::ToAccount))
    }
}

impl JobHandlers {
    /// Submits an application and queries it until the bank has decided, which may take days.
    pub(super) async fn submit_bank_application(&self, effect: &OutboxJob, wallet: Wallet) -> HandlerResult {
        let read = self.registries.applications.read(&wallet).await.map_err(load_failed)?;
        let Some((application, _)) = read else {
            return Err(AttemptFailure::temporary("the application is not there"));
        };
        if application.status != application::Status::Submitted(effect.id) {
            return Ok(());
        }
        let read = self.registries.profiles.read(&wallet).await.map_err(load_failed)?;
        let Some((profile, _)) = read else {
            return Err(AttemptFailure::temporary("the profile is not there"));
        };
        let asked = self.application(effect, wallet, &profile, &application).await?;
        match with_timeout_ms(self.bank_timeout(), self.ports.bank.review(&asked), "review").await {
            Ok(BankDecision::Pending { retry_after_ms }) => Err(AttemptFailure::defer(retry_after_ms)),
            Ok(BankDecision::Final(review)) => {
                let command = application::Command::RecordReview { job: effect.id, review };
                ask_entity(&self.registries.applications, wallet, command).await
            }
            // A repeated submission is not a second one. A bank that does not answer has decided nothing.
            Err(error) => Err(AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms)),
        }
    }

    async fn application(
        &self,
        effect: &OutboxJob,
        wallet: Wallet,
        profile: &BankingProfile,
        application: &BankingApplication,
    ) -> Result<BankApplicationRequest, AttemptFailure> {
        let mut answers = vec![
            ("type", profile.customer_type.name().to_owned()),
            ("first_name", profile.first_name.clone()),
            ("last_name", profile.last_name.clone()),
            ("email", profile.email.clone()),
            ("country", profile.country.to_string()),
        ];
        if let CustomerType::Business(name) = &profile.customer_type {
            answers.push(("business_name", name.clone()));
        }
        let given = |question: &Question| Some((question.name(), application.answer(*question)?.to_owned()));
        answers.extend(Question::ALL.iter().filter_map(given));
        let mut documents = Vec::with_capacity(application.documents.len());
        for paper in &application.documents {
            documents.push(SealedDocument {
                id: paper.id,
                document_type: paper.document_type.name(),
                media: paper.media.name(),
                sha256: paper.sha256,
                sealed_key: self.sealed_row(CardId(paper.id.0)).await?,
            });
        }
        let key = if mutants::is_enabled(Mutant::ReviewKeyPerAttempt) {
            JobId(effect.id.0.wrapping_add(u128::from(effect.attempts)))
        } else {
            effect.id
        };
        Ok(BankApplicationRequest {
            key,
            id: application.id,
            wallet,
            answers,
            sealed_tax: self.sealed_row(CardId(application.id.0)).await?,
            documents,
        })
    }

    async fn sealed_row(&self, id: CardId) -> Result<Vec<u8>, AttemptFailure> {
        let row = self.store.read(&table::vault(id)).await;
        let row = row.map_err(|e| AttemptFailure::temporary(e.to_string()))?;
        row.map(|row| row.value.to_vec()).ok_or_else(|| AttemptFailure {
            kind: ErrorKind::Permanent,
            ..AttemptFailure::temporary("a sealed record is not there")
        })
    }

    /// Opens an account, or queries the order.
    pub(super) async fn open_bank_account(&self, effect: &OutboxJob, id: BankAccountId) -> HandlerResult {
        let read = self.registries.bank_accounts.read(&id).await.map_err(load_failed)?;
        let Some((account, _)) = read else {
            return Err(AttemptFailure::temporary("the account is not there"));
        };
        if account.status != account::Status::Pending(effect.id) {
            return Ok(());
        }
        let order = OpenAccountRequest {
            key: effect.id,
            account: id,
            customer: account.customer,
            account_type: account.account_type,
        };
        match with_timeout_ms(self.bank_timeout(), self.ports.bank.open(&order), "open an account").await? {
            BankDecision::Pending { retry_after_ms } => Err(AttemptFailure::defer(retry_after_ms)),
            BankDecision::Final(opening) => {
                let command = account::Command::RecordResult {
                    job: effect.id,
                    result: opening,
                };
                ask_entity(&self.registries.bank_accounts, id, command).await
            }
        }
    }

    /// Executes a transfer, or queries it.
    pub(super) async fn execute_bank_transfer(&self, effect: &OutboxJob, id: BankTransferId) -> HandlerResult {
        let read = self.registries.bank_transfers.read(&id).await.map_err(load_failed)?;
        let Some((asked, _)) = read else {
            return Err(AttemptFailure::temporary("the transfer is not there"));
        };
        if asked.status != transfer::Status::Pending(effect.id) {
            return Ok(());
        }
        if asked.direction == transfer::TransferDirection::ToAccount
            && let Err(held) = self
                .acquire_outgoing_permit(&asked.owner, GateClosure::UntilTracked, PaymentId::NONE)
                .await
            && !self.is_known_to_bank(effect.id).await?
        {
            return Err(held);
        }
        let order = BankTransferRequest {
            key: effect.id,
            transfer: id,
            account: asked.account,
            amount: asked.cents,
            to_account: asked.direction == transfer::TransferDirection::ToAccount,
        };
        let asked = with_timeout_ms(self.bank_timeout(), self.ports.bank.transfer(&order), "move money").await;
        let ruling = match asked {
            Err(error) if mutants::is_enabled(Mutant::BankTimeoutCredits) && error.kind == ErrorKind::Unknown => {
                let reason = error.message;
                BankDecision::Final(BankTransferResult::Failed { reason })
            }
            asked => asked?,
        };
        match ruling {
            BankDecision::Pending { retry_after_ms } => Err(AttemptFailure::defer(retry_after_ms)),
            BankDecision::Final(moved) => {
                let command = transfer::Command::RecordResult {
                    job: effect.id,
                    result: moved,
                };
                ask_entity(&self.registries.bank_transfers, id, command).await
            }
        }
    }

    /// Whether the bank already has the order. A repeated request then only reads its result.
    async fn is_known_to_bank(&self, key: JobId) -> Result<bool, AttemptFailure> {
        let Some(list) = self.lists.providers.get(&ReconciliationSource::BankTransfers) else {
            return Ok(false);
        };
        let entry = with_timeout_ms(self.bank_timeout(), list.entry(&EntryKey::for_order(key)), "entry").await;
        let entry = entry.map_err(|error| AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms))?;
        Ok(entry.is_some_and(|entry| entry.status != EntryStatus::NotSubmitted))
    }

    const fn bank_timeout(&self) -> Duration {
        Duration::from_millis(self.settings.payouts.timeout_ms)
    }
}
