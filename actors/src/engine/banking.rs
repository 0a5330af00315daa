//! Banking in the engine: the owner's requests and the bank's events.

use std::sync::Arc;
use std::time::Duration;

use purser_storage::mutants::{self, Mutant};
use tokio::sync::Notify;

use super::balance_spends::{BalanceSpend, SpendDenied};
use super::provider_events::ProviderEventSource;
use super::registries::Registries;
use super::spend_approvals::AgentSpend;
use super::{Engine, Inner, ListStart, OperationError};
use crate::entity::account::{self, Account, BalancePayout, BankDebit};
use crate::entity::banking::account::{BankAccount, Command as AccountCommand};
use crate::entity::banking::application::{self, BankingApplication, Document, Question};
use crate::entity::banking::profile::{self, BankingProfile};
use crate::entity::banking::transfer::{
    BankTransfer, Command as TransferCommand, Rejection as TransferRejection, ReturnDetails, TransferRequest,
};
use crate::entity::spend_approval::SpendUse;
use crate::id::{BankAccountId, BankTransferId, BankingApplicationId, DocumentId, Wallet};
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, IdempotencyRecorder};
use crate::money::{Cents, Usdc};
use crate::port::banking::{AccountType, Bank, IncomingTransfer};
use crate::port::{BoxFuture, PortError};

impl Engine {
    /// Creates an owner's banking profile and starts the application. Persists the response if there is an idempotency
    /// recorder.
    ///
    /// # Errors
    /// When a profile exists; [`OperationError::AlreadyUsed`] when the idempotency key was used meanwhile.
    pub async fn create_banking_profile(
        &self,
        owner: Wallet,
        profile: BankingProfile,
        recorder: Option<IdempotencyRecorder<BankingProfile>>,
    ) -> Result<(), OperationError<profile::AlreadyExists>> {
        let command = profile::Command::Create {
            profile: Box::new(profile),
            application: BankingApplicationId::mint(owner.shard(), self.0.entropy.random()),
        };
        self.ask_idempotent(&self.0.registries.profiles, owner, command, recorder)
            .await
    }

    /// An owner's banking profile.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn banking_profile(&self, owner: &Wallet) -> Result<Option<BankingProfile>, LoadError> {
        Ok(self
            .0
            .registries
            .profiles
            .read(owner)
            .await?
            .map(|(profile, _)| profile))
    }

    /// An owner's bank application.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn banking_application(&self, owner: &Wallet) -> Result<Option<BankingApplication>, LoadError> {
        let read = self.0.registries.applications.read(owner).await?;
        Ok(read.map(|(application, _)| application))
    }

    /// Merges answers into the application. The tax number consists of its last four digits and the sealed number.
    ///
    /// # Errors
    /// When the application is under review or approved; [`OperationError::AlreadyUsed`] when the idempotency key was
    /// used meanwhile.
    pub async fn update_banking_application(
        &self,
        owner: Wallet,
        answers: Vec<(Question, String)>,
        tax: Option<(String, Vec<u8>)>,
        recorder: Option<IdempotencyRecorder<BankingApplication>>,
    ) -> Result<(), OperationError<application::Rejection>> {
        let command = application::Command::Update { answers, tax };
        self.ask_idempotent(&self.0.registries.applications, owner, command, recorder)
            .await
            .map(drop)
    }

    /// Adds a document whose bytes are already stored, with its sealed key. Returns the document that it replaced, which
    /// can no longer be read.
    ///
    /// # Errors
    /// As [`Engine::update_banking_application`].
    pub async fn add_banking_document(
        &self,
        owner: Wallet,
        document: Document,
        sealed_key: Vec<u8>,
        recorder: Option<IdempotencyRecorder<BankingApplication>>,
    ) -> Result<Option<DocumentId>, OperationError<application::Rejection>> {
        let command = application::Command::AddDocument { document, sealed_key };
        self.ask_idempotent(&self.0.registries.applications, owner, command, recorder)
            .await
    }

    /// Submits the application to the bank. The owner's identity must be verified: it is a condition of the batch.
    ///
    /// # Errors
    /// As [`Engine::update_banking_application`], and when something is missing.
    pub async fn submit_banking_application(
        &self,
        owner: Wallet,
        recorder: Option<IdempotencyRecorder<BankingApplication>>,
    ) -> Result<(), OperationError<application::Rejection>> {
        let command = application::Command::Submit;
        self.ask_idempotent(&self.0.registries.applications, owner, command, recorder)
            .await
            .map(drop)
    }

    /// Orders a bank account for an approved customer.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when the idempotency key was used meanwhile.
    pub async fn open_bank_account(
        &self,
        id: BankAccountId,
        owner: Wallet,
        customer: String,
        (ramp, label): (AccountType, Option<String>),
        recorder: Option<IdempotencyRecorder<BankAccount>>,
    ) -> Result<(), OperationError<crate::entity::banking::account::Rejection>> {
        let command = AccountCommand::Request {
            owner,
            customer,
            account_type: ramp,
            label,
        };
        self.ask_idempotent(&self.0.registries.bank_accounts, id, command, recorder)
            .await
    }

    /// A bank account by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn bank_account(&self, id: &BankAccountId) -> Result<Option<BankAccount>, LoadError> {
        Ok(self
            .0
            .registries
            .bank_accounts
            .read(id)
            .await?
            .map(|(account, _)| account))
    }

    /// A wallet's bank accounts, oldest first, after the given one, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn bank_accounts_of(
        &self,
        owner: &Wallet,
        after: Option<BankAccountId>,
        limit: usize,
    ) -> Result<(Vec<(BankAccountId, BankAccount)>, bool), LoadError> {
        let after = match after {
            None => None,
            Some(id) => self.bank_account(&id).await?.map(|kept| (kept.created_at, id.0)),
        };
        let registry = &self.0.registries.bank_accounts;
        self.list_owned(registry, owner, BankAccountId, after, limit).await
    }

    /// Current balance of a bank account in US dollars, as the bank reports it.
    ///
    /// # Errors
    /// When the bank does not answer.
    pub async fn bank_balance(&self, id: BankAccountId) -> Result<Cents, PortError> {
        let timeout = Duration::from_millis(self.0.settings.payouts.timeout_ms);
        super::jobs::with_timeout_ms(timeout, self.0.ports.bank.balance(id), "balance").await
    }

    /// Starts a transfer from a bank account to the balance.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when the idempotency key was used meanwhile.
    pub async fn transfer_to_balance(
        &self,
        id: BankTransferId,
        wanted: TransferRequest,
        recorder: Option<IdempotencyRecorder<BankTransfer>>,
    ) -> Result<(), OperationError<TransferRejection>> {
        let command = TransferCommand::Request(wanted);
        self.ask_idempotent(&self.0.registries.bank_transfers, id, command, recorder)
            .await
    }

    /// As [`Engine::debit_for_bank`], for an agent: within the limits of the owner and of the agent's API key, and
    /// counted against them. `None` is the owner at the account page.
    ///
    /// # Errors
    /// As [`Engine::debit_for_bank`], and [`SpendDenied`].
    pub async fn debit_for_bank_for(
        &self,
        asked: Option<&AgentSpend>,
        owner: Wallet,
        outgoing: BankDebit,
        recorder: Option<IdempotencyRecorder<Account>>,
    ) -> Result<(), OperationError<account::Rejection, SpendDenied>> {
        let (used_by, amount) = match &outgoing {
            BankDebit::Payout(payout) => (SpendUse::BankPayout(payout.id), payout.charged),
            BankDebit::Transfer(id, wanted) => (SpendUse::BankTransfer(*id), wanted.amount),
        };
        let spend = BalanceSpend { owner, asked, used_by };
        let command = self.bank_debit(outgoing);
        self.take_from_balance(command, amount, spend, recorder).await
    }

    /// The command for a debit, with the cap that now applies.
    fn bank_debit(&self, outgoing: BankDebit) -> account::Command {
        account::Command::DebitForBank(match outgoing {
            BankDebit::Payout(payout) => BankDebit::Payout(Box::new(BalancePayout {
                cap: self.0.settings.caps.for_line(crate::product::ProductLine::BankPayment),
                ..*payout
            })),
            transfer @ BankDebit::Transfer(..) => transfer,
        })
    }

    /// Debits a balance for a bank transfer or bank payment.
    ///
    /// # Errors
    /// When the account is frozen, its balance is too low, or a cap is reached; [`OperationError::AlreadyUsed`] when
    /// the idempotency key was used meanwhile.
    pub async fn debit_for_bank(
        &self,
        owner: Wallet,
        outgoing: BankDebit,
        recorder: Option<IdempotencyRecorder<Account>>,
    ) -> Result<(), OperationError<account::Rejection>> {
        let command = self.bank_debit(outgoing);
        self.ask_idempotent(&self.0.registries.accounts, owner, command, recorder)
            .await
    }

    /// Current limits and fees of bank payments.
    pub fn bank_payment_terms(&self) -> crate::entity::payout::RailTerms {
        self.0.settings.payouts.bank_payment
    }

    /// A transfer between a balance and a bank account.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn bank_transfer(&self, id: &BankTransferId) -> Result<Option<BankTransfer>, LoadError> {
        Ok(self
            .0
            .registries
            .bank_transfers
            .read(id)
            .await?
            .map(|(transfer, _)| transfer))
    }

    /// A wallet's bank transfers from the given position on, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn bank_transfers_of(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<(crate::port::Timestamp, u128)>>,
        limit: usize,
    ) -> Result<(Vec<(BankTransferId, BankTransfer)>, bool), LoadError> {
        let registry = &self.0.registries.bank_transfers;
        self.list_owned(registry, owner, BankTransferId, start, limit).await
    }

    /// A wallet's payouts from the given position on, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn bank_payouts_of(
        &self,
        owner: &Wallet,
        start: impl Into<ListStart<(crate::port::Timestamp, u128)>>,
        limit: usize,
    ) -> Result<(Vec<(crate::id::PayoutId, crate::entity::payout::Payout)>, bool), LoadError> {
        let registry = &self.0.registries.payouts;
        self.list_owned(registry, owner, crate::id::PayoutId, start, limit)
            .await
    }
}

/// The bank's feed of incoming transfers.
pub(super) struct BankEventSource {
    bank: Arc<dyn Bank>,
    registries: Registries,
}

impl ProviderEventSource for BankEventSource {
    type Event = IncomingTransfer;
    const CURSOR_KEY: &'static str = "bank-event-cursor";
    const PROVIDER: &'static str = "bank";

    fn from_engine(inner: &Inner) -> Self {
        let (bank, registries) = (inner.ports.bank.clone(), inner.registries.clone());
        Self { bank, registries }
    }

    fn wake(inner: &Inner) -> Arc<Notify> {
        inner.bank_events_ready.clone()
    }

    fn position(word: &IncomingTransfer) -> u64 {
        word.position
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<IncomingTransfer>, PortError>> {
        self.bank.incoming(after, limit)
    }

    fn apply<'a>(&'a self, word: &'a IncomingTransfer) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(record_deposit(&self.registries, word.clone().truncated()))
    }
}

/// Records the return of a bank transfer. A return that does not fit its transfer credits no account and is logged as
/// an error.
async fn record_return(
    registries: &Registries,
    id: BankTransferId,
    account: BankAccountId,
    (reference, cents): (String, Cents),
) -> Result<(), String> {
    let amount = Usdc::from_cents(cents).map_err(|_| format!("{id}: not an amount"))?;
    let back = ReturnDetails { reference, amount };
    let command = TransferCommand::RecordReturn(account, back.clone());
    match registries.bank_transfers.ask(id, command).await {
        Ok(()) => Ok(()),
        Err(AskError::Rejected(TransferRejection(status))) => {
            tracing::error!(transfer = %id, status, %account, ?back, "money came back that cannot be this transfer's");
            Ok(())
        }
        Err(refusal) => Err(format!("{id}: {refusal:?}")),
    }
}

/// Records an incoming transfer to be credited. A repeated report has the same id and is recorded once.
async fn record_deposit(registries: &Registries, incoming: IncomingTransfer) -> Result<(), String> {
    let IncomingTransfer {
        reference,
        account,
        amount,
        sender,
        returned_transfer: returns,
        position: number,
    } = incoming;
    if let Some(id) = returns {
        return record_return(registries, id, account, (reference, amount)).await;
    }
    let read = registries.bank_accounts.read(&account).await;
    let Some((kept, _)) = read.map_err(|e| e.to_string())? else {
        // An older backup was restored: no account is known to credit, and an operator must see it.
        tracing::error!(%account, reference, %amount, "money came in for an account that is not known");
        return Ok(());
    };
    if kept.account_type != AccountType::OnRamp {
        // Money on an off-ramp account belongs to the owner there. Crediting the balance would count it twice.
        tracing::error!(%account, reference, %amount, "money came in for an account that no deposit is credited from");
        return Ok(());
    }
    let id = if mutants::is_enabled(Mutant::DepositKeyedByPosition) {
        BankTransferId::for_reference(&format!("{reference} {number}"))
    } else {
        BankTransferId::for_reference(&reference)
    };
    let wanted = TransferRequest {
        owner: kept.owner,
        account,
        cents: amount,
        amount: Usdc::from_cents(amount).map_err(|_| format!("{id}: not an amount"))?,
        note: Some(sender),
    };
    let command = TransferCommand::RecordDeposit(wanted, reference);
    match registries.bank_transfers.ask(id, command).await {
        Ok(()) => Ok(()),
        Err(AskError::Rejected(TransferRejection(status))) => {
            tracing::error!(transfer = %id, status, %account, %amount, "money came in under a name that is other money's");
            Ok(())
        }
        Err(refusal) => Err(format!("{id}: {refusal:?}")),
    }
}
