//! Banking from the engine's side: what holders ask of it, and what the bank tells unasked.

use std::sync::Arc;
use std::time::Duration;

use purser_storage::codec::{self, Stored};
use purser_storage::planted::{self, Bug};

use super::listening::write_down;
use super::{Denied, Engine, Inner};
use crate::account::{self, Account, BankPayout, Outgoing};
use crate::banking::account::{BankAccount, Command as AccountCommand};
use crate::banking::application::{self, Application, Document, Question};
use crate::banking::profile::{self, Profile};
use crate::banking::transfer::{BankTransfer, Command as TransferCommand, Rejection as TransferRejection, Wanted};
use crate::id::{ApplicationId, BankAccountId, BankTransferId, Wallet};
use crate::kernel::family::LoadError;
use crate::kernel::{Memo, table};
use crate::money::{Cents, Usdc};
use crate::port::PortError;
use crate::port::banking::{Incoming, Ramp};

/// What came in that is read in one go.
const PAGE: usize = 200;

/// Up to where what came in is known.
#[derive(Clone, Copy, Debug, Default, bincode::Encode, bincode::Decode)]
struct Heard(u64);

impl Stored for Heard {
    const SCHEMA: u16 = 158;
}

impl Engine {
    /// Makes a holder's banking profile and opens the application. The answer is remembered if there is a memo.
    ///
    /// # Errors
    /// When there is one; [`Denied::Used`] when the memo's key was used in between.
    pub async fn create_banking_profile(
        &self,
        owner: Wallet,
        profile: Profile,
        memo: Option<Memo<Profile>>,
    ) -> Result<(), Denied<profile::Exists>> {
        let command = profile::Command::Create {
            profile: Box::new(profile),
            application: ApplicationId(self.0.entropy.random()),
        };
        self.ask_once(&self.0.families.profiles, owner, command, memo).await
    }

    /// A holder's banking profile.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn banking_profile(&self, owner: &Wallet) -> Result<Option<Profile>, LoadError> {
        Ok(self.0.families.profiles.read(owner).await?.map(|(profile, _)| profile))
    }

    /// A holder's application to bank.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn banking_application(&self, owner: &Wallet) -> Result<Option<Application>, LoadError> {
        let read = self.0.families.applications.read(owner).await?;
        Ok(read.map(|(application, _)| application))
    }

    /// Merges answers into the application; the tax number is its last four and the whole, sealed.
    ///
    /// # Errors
    /// When it is with the bank or approved; [`Denied::Used`] when the memo's key was used in between.
    pub async fn answer_banking_application(
        &self,
        owner: Wallet,
        answers: Vec<(Question, String)>,
        tax: Option<(String, Vec<u8>)>,
        memo: Option<Memo<Application>>,
    ) -> Result<(), Denied<application::Rejection>> {
        let command = application::Command::Answer { answers, tax };
        self.ask_once(&self.0.families.applications, owner, command, memo).await
    }

    /// Adds a document whose bytes are kept already, with its key, sealed.
    ///
    /// # Errors
    /// As [`Engine::answer_banking_application`].
    pub async fn attach_banking_document(
        &self,
        owner: Wallet,
        document: Document,
        sealed_key: Vec<u8>,
        memo: Option<Memo<Application>>,
    ) -> Result<(), Denied<application::Rejection>> {
        let command = application::Command::Attach { document, sealed_key };
        self.ask_once(&self.0.families.applications, owner, command, memo).await
    }

    /// Gives the application to the bank. The owner's identity must be verified: the batch holds with no other.
    ///
    /// # Errors
    /// As [`Engine::answer_banking_application`], and when something is missing.
    pub async fn submit_banking_application(
        &self,
        owner: Wallet,
        memo: Option<Memo<Application>>,
    ) -> Result<(), Denied<application::Rejection>> {
        let command = application::Command::Submit;
        self.ask_once(&self.0.families.applications, owner, command, memo).await
    }

    /// Asks for an account at the bank, for an approved customer.
    ///
    /// # Errors
    /// [`Denied::Used`] when the memo's key was used in between.
    pub async fn open_bank_account(
        &self,
        id: BankAccountId,
        owner: Wallet,
        customer: String,
        (ramp, label): (Ramp, Option<String>),
        memo: Option<Memo<BankAccount>>,
    ) -> Result<(), Denied<crate::banking::account::Rejection>> {
        let command = AccountCommand::Open {
            owner,
            customer,
            ramp,
            label,
        };
        self.ask_once(&self.0.families.bank_accounts, id, command, memo).await
    }

    /// An account at the bank.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn bank_account(&self, id: &BankAccountId) -> Result<Option<BankAccount>, LoadError> {
        Ok(self
            .0
            .families
            .bank_accounts
            .read(id)
            .await?
            .map(|(account, _)| account))
    }

    /// A wallet's accounts at the bank, oldest first, after the given one, at most `limit`; and whether there are more.
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
        let family = &self.0.families.bank_accounts;
        self.owned(family, owner, BankAccountId, after, limit).await
    }

    /// What stands on an account at the bank now, in US dollars, as the bank says.
    ///
    /// # Errors
    /// When the bank cannot say.
    pub async fn bank_balance(&self, id: BankAccountId) -> Result<Cents, PortError> {
        let timeout = Duration::from_millis(self.0.settings.payouts.timeout_ms);
        super::work::within(timeout, self.0.ports.bank.balance(id), "balance").await
    }

    /// Has money moved from an account at the bank to the balance.
    ///
    /// # Errors
    /// [`Denied::Used`] when the memo's key was used in between.
    pub async fn draw_bank_money(
        &self,
        id: BankTransferId,
        wanted: Wanted,
        memo: Option<Memo<BankTransfer>>,
    ) -> Result<(), Denied<TransferRejection>> {
        let command = TransferCommand::Draw(wanted);
        self.ask_once(&self.0.families.bank_transfers, id, command, memo).await
    }

    /// Pays for something out of a balance.
    ///
    /// # Errors
    /// When it is frozen, too little, or a cap is reached; [`Denied::Used`] when the memo's key was used in between.
    pub async fn pay_out(
        &self,
        owner: Wallet,
        outgoing: Outgoing,
        memo: Option<Memo<Account>>,
    ) -> Result<(), Denied<account::Rejection>> {
        let command = account::Command::PayOut(match outgoing {
            Outgoing::Payout(payout) => Outgoing::Payout(Box::new(BankPayout {
                cap: self.0.settings.caps.of(crate::product::Line::BankPayment),
                ..*payout
            })),
            transfer @ Outgoing::Transfer(..) => transfer,
        });
        self.ask_once(&self.0.families.accounts, owner, command, memo).await
    }

    /// The rules of bank payments now.
    pub fn bank_payment_terms(&self) -> crate::payout::Terms {
        self.0.settings.payouts.bank_payment
    }

    /// Money between a balance and an account at the bank.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn bank_transfer(&self, id: &BankTransferId) -> Result<Option<BankTransfer>, LoadError> {
        Ok(self
            .0
            .families
            .bank_transfers
            .read(id)
            .await?
            .map(|(transfer, _)| transfer))
    }

    /// A wallet's bank transfers, oldest first, after the given place, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn bank_transfers_of(
        &self,
        owner: &Wallet,
        after: Option<(crate::port::Timestamp, u128)>,
        limit: usize,
    ) -> Result<(Vec<(BankTransferId, BankTransfer)>, bool), LoadError> {
        let family = &self.0.families.bank_transfers;
        self.owned(family, owner, BankTransferId, after, limit).await
    }

    /// A wallet's payouts, oldest first, after the given place, at most `limit`; and whether there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn payouts_behind(
        &self,
        owner: &Wallet,
        after: Option<(crate::port::Timestamp, u128)>,
        limit: usize,
    ) -> Result<(Vec<(crate::id::PayoutId, crate::payout::Payout)>, bool), LoadError> {
        let family = &self.0.families.payouts;
        self.owned(family, owner, crate::id::PayoutId, after, limit).await
    }
}

/// Listens to the bank for as long as the engine lives. A reading that panics is logged, and the next one begins where
/// it is written down.
pub(super) fn listen(engine: &Engine) {
    let inner = Arc::downgrade(&engine.0);
    let every = Duration::from_millis(engine.0.settings.payouts.told_every_ms.max(1));
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(every).await;
            let Some(inner) = inner.upgrade() else { return };
            match tokio::spawn(async move { hear(&inner).await }).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(error, "what came in at the bank could not be heard"),
                Err(error) => tracing::error!(%error, "listening to the bank failed and goes on"),
            }
        }
    });
}

/// Reads what came in since, has it credited, and only then writes down how far that was. What is told twice has the same
/// name and is one.
async fn hear(inner: &Inner) -> Result<(), String> {
    let key = table::meta("bank-incoming");
    let heard: Heard = match inner.store.read(&key).await.map_err(|e| e.to_string())? {
        Some(row) => codec::decode(&row.value).map_err(|e| e.to_string())?,
        None => Heard::default(),
    };
    let timeout = Duration::from_millis(inner.settings.payouts.timeout_ms);
    let told = super::work::within(timeout, inner.ports.bank.incoming(heard.0, PAGE), "incoming").await;
    let mut known = heard.0;
    let mut failed = None;
    let mut told = told.map_err(|e| e.to_string())?;
    told.sort_by_key(|incoming| incoming.number);
    for incoming in told.into_iter().filter(|incoming| incoming.number > heard.0) {
        let number = incoming.number;
        match take_in(inner, incoming.shortened()).await {
            Ok(()) => known = number,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if known > heard.0 {
        write_down(&*inner.store, key, codec::encode(&Heard(known))).await?;
    }
    failed.map_or(Ok(()), Err)
}

async fn take_in(inner: &Inner, incoming: Incoming) -> Result<(), String> {
    let Incoming {
        reference,
        account,
        amount,
        sender,
        number,
    } = incoming;
    let read = inner.families.bank_accounts.read(&account).await;
    let Some((kept, _)) = read.map_err(|e| e.to_string())? else {
        // An older backup was restored: nobody here can be credited, and it must be seen.
        tracing::error!(%account, reference, %amount, "money came in for an account that is not known");
        return Ok(());
    };
    let id = if planted::is(Bug::DepositOfItsPlace) {
        BankTransferId::of(&format!("{reference} {number}"))
    } else {
        BankTransferId::of(&reference)
    };
    let wanted = Wanted {
        owner: kept.owner,
        account,
        cents: amount,
        amount: Usdc::from_cents(amount).map_err(|_| format!("{id}: not an amount"))?,
        note: Some(sender),
    };
    let command = TransferCommand::Arrived(wanted, reference);
    match inner.families.bank_transfers.ask(id, command).await {
        Ok(()) => Ok(()),
        Err(refusal) => Err(format!("{id}: {refusal:?}")),
    }
}
