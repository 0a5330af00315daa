//! The sandbox's bank: idempotent by key, with records that are synced before each response, delayed decisions,
//! deposits made by the sandbox controls, and faults.

mod decisions;
pub mod faults;
pub(super) mod reconciliation;
mod records;

use std::sync::Arc;

use purser_actors::id::{BankAccountId, BankTransferId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::banking::{
    AccountType, BankDecision, BankTransferRequest, BankTransferResult, IncomingTransfer, OpenAccountRequest,
    OpenAccountResult, ReviewDecision,
};
use purser_actors::port::{Clock, ErrorKind, PortError, PortFuture, Timestamp};

use self::faults::BankCall;
use self::records::{AccountState, BankRecord, BankRecords};
use crate::banking::{BankApi, PlainApplication};
use purser_sandbox::faults::{Fault, FaultTexts, Faults, failed};
use purser_sandbox::records::{RecordBook as _, Records};
use purser_sandbox::store::{SandboxStore, SandboxStoreError, Table};

/// Duration of a call that times out.
const TIMEOUT_MS: u64 = 1_000;
const TEXTS: FaultTexts = FaultTexts {
    unreachable: "the bank is unreachable",
    malformed: "the answer is no bank's answer",
};
/// Maximum delay after which the engine is asked to retry while a decision is due.
const RETRY_MS: u64 = 500;

/// Summary of the bank.
#[derive(Clone, Debug)]
pub struct SandboxBankSummary {
    pub applications: u64,
    pub accounts: usize,
    pub transfers: u64,
    pub deposits: u64,
    /// US dollars on all accounts.
    pub balance: Cents,
}

/// A simulated bank.
pub struct SandboxBank {
    decides_after_ms: u64,
    clock: Arc<dyn Clock>,
    records: Records<BankRecords>,
    pub faults: Faults<BankCall>,
}

/// Why a deposit or return is impossible.
#[derive(Debug, thiserror::Error)]
pub enum DepositError {
    /// The account does not exist, or its balance is too low.
    #[error("no such account, or its balance is too low")]
    NoAccount,
    /// The store has stopped.
    #[error(transparent)]
    Stopped(#[from] SandboxStoreError),
}

impl SandboxBank {
    /// Opens its tables of the store.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open(store: &SandboxStore, decides_after_ms: u64, clock: Arc<dyn Clock>) -> Result<Self, SandboxStoreError> {
        Ok(Self {
            decides_after_ms,
            clock,
            records: Records::open(store, Table::Bank)?,
            faults: Faults::new(TEXTS, TIMEOUT_MS),
        })
    }

    /// Totals and faults, after they are durable.
    ///
    /// # Errors
    /// When the store has stopped.
    pub async fn state(&self) -> Result<SandboxBankSummary, SandboxStoreError> {
        let state = self.records.run(|book| SandboxBankSummary {
            applications: book.totals.applications,
            accounts: book.accounts.len(),
            transfers: book.totals.transfers,
            deposits: book.totals.deposits,
            balance: Cents::new(book.accounts.values().map(|at| at.cents).sum()),
        });
        state.wait().await
    }

    /// Deposits external money into an on-ramp. A repeated reference is the same deposit and is only reported again.
    ///
    /// # Errors
    /// [`DepositError`].
    pub async fn deposit(
        &self,
        account: BankAccountId,
        amount: Cents,
        (sender, reference): (String, String),
    ) -> Result<(), DepositError> {
        let entry = BankRecord::Deposited {
            account,
            reference,
            cents: amount.get(),
            sender,
            at: self.clock.now(),
        };
        self.receive(account, entry, |state| state.ramp == AccountType::OnRamp)
            .await
    }

    /// Returns a transfer that went to an account, like a returned ACH payment.
    ///
    /// # Errors
    /// [`DepositError`]; also when the account's balance is too low.
    pub async fn return_transfer(
        &self,
        transfer: BankTransferId,
        account: BankAccountId,
        amount: Cents,
        reference: String,
    ) -> Result<(), DepositError> {
        let entry = BankRecord::Returned {
            account,
            reference,
            cents: amount.get(),
            transfer,
            at: self.clock.now(),
        };
        let has_money = |state: &AccountState| state.ramp == AccountType::OffRamp && state.cents >= amount.get();
        self.receive(account, entry, has_money).await
    }

    async fn receive(
        &self,
        account: BankAccountId,
        entry: BankRecord,
        fits: impl FnOnce(&AccountState) -> bool + Send,
    ) -> Result<(), DepositError> {
        let received = self.records.run(|book| {
            let fits = book.accounts.get(&account.0).is_some_and(fits);
            if fits {
                book.append(&[entry]);
            }
            fits
        });
        match received.wait().await? {
            true => Ok(()),
            false => Err(DepositError::NoAccount),
        }
    }

    /// Handles one call: applies a fault, records the request under its key, and returns the recorded result once it is
    /// due.
    async fn call(
        &self,
        call: BankCall,
        (key, digest): (JobId, [u8; 32]),
        decide: impl FnOnce(&BankRecords, Timestamp, bool) -> BankRecord + Send,
    ) -> Result<Option<BankRecord>, PortError> {
        let operation = call.name();
        let trouble = self.check_faults(call).await?;
        let entry = self.records.run(|book| {
            book.find_request(key).unwrap_or_else(|| {
                let due = self.clock.now().plus_ms(self.decides_after_ms);
                let entry = decide(book, due, trouble == Some(Fault::Decline));
                book.append(std::slice::from_ref(&entry));
                entry
            })
        });
        let entry = entry.or(ErrorKind::Unknown, operation).await?;
        self.faults.after(operation, trouble).await?;
        match entry.request() {
            Some((_, kept, _)) if kept != digest => {
                let message = "the key was used for something else";
                Err(failed(ErrorKind::Permanent, operation, message))
            }
            Some((.., due)) if due > self.clock.now() => Ok(None),
            _ => Ok(Some(entry)),
        }
    }

    /// The fault of a call, with its effect before the bank has read the request.
    async fn check_faults(&self, call: BankCall) -> Result<Option<Fault>, PortError> {
        let fault = self
            .faults
            .take(|of, fault| of.is_none_or(|of| of == call) && call.meets(fault));
        self.faults.start(call.name(), fault).await?;
        Ok(fault)
    }

    const fn pending<T>(&self) -> BankDecision<T> {
        let retry_after_ms = if self.decides_after_ms < RETRY_MS {
            self.decides_after_ms
        } else {
            RETRY_MS
        };
        BankDecision::Pending { retry_after_ms }
    }

    async fn read_incoming(&self, after: u64, limit: usize) -> Result<Vec<IncomingTransfer>, PortError> {
        let trouble = self.check_faults(BankCall::Incoming).await?;
        let found = self.records.run(|book| book.incoming_after(after, limit));
        let found = found.or(ErrorKind::Temporary, "incoming").await?;
        let incoming = found.into_iter().filter_map(|(number, entry)| match entry {
            BankRecord::Deposited {
                account,
                reference,
                cents,
                sender,
                ..
            } => Some(IncomingTransfer {
                position: number,
                reference,
                account,
                amount: Cents::new(cents),
                sender,
                returned_transfer: None,
            }),
            BankRecord::Returned {
                account,
                reference,
                cents,
                transfer,
                ..
            } => Some(IncomingTransfer {
                position: number,
                reference,
                account,
                amount: Cents::new(cents),
                sender: String::new(),
                returned_transfer: Some(transfer),
            }),
            _ => None,
        });
        let mut incoming: Vec<IncomingTransfer> = incoming.collect();
        match trouble {
            Some(Fault::Duplicate) => incoming = incoming.iter().flat_map(|one| [one.clone(), one.clone()]).collect(),
            Some(Fault::OutOfOrder) => incoming.reverse(),
            _ => {}
        }
        Ok(incoming)
    }

    async fn read_balance(&self, account: BankAccountId) -> Result<Cents, PortError> {
        self.check_faults(BankCall::Balance).await?;
        let state = self.records.lock().accounts.get(&account.0).copied();
        let state = state.ok_or_else(|| failed(ErrorKind::Permanent, "balance", "no such account"))?;
        Ok(Cents::new(state.cents))
    }
}

impl BankApi for SandboxBank {
    fn review(&self, application: PlainApplication) -> PortFuture<'_, BankDecision<ReviewDecision>> {
        Box::pin(self.decide(application))
    }

    fn open<'a>(&'a self, order: &'a OpenAccountRequest) -> PortFuture<'a, BankDecision<OpenAccountResult>> {
        Box::pin(self.open_account(order))
    }

    fn transfer<'a>(&'a self, order: &'a BankTransferRequest) -> PortFuture<'a, BankDecision<BankTransferResult>> {
        Box::pin(self.move_money(order))
    }

    fn incoming(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<IncomingTransfer>> {
        Box::pin(self.read_incoming(after, limit))
    }

    fn balance(&self, account: BankAccountId) -> PortFuture<'_, Cents> {
        Box::pin(self.read_balance(account))
    }
}

#[cfg(test)]
mod tests;
