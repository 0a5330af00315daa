//! Agent wallets: creation, limits and payments.

use std::time::Duration;

use purser_storage::{Store, StoreError};

use super::spend_approvals::{AgentSpend, Consent, SpendNotApproved};
use super::{Engine, ListStart, MAX_CONFLICT_RETRIES, OperationError};
use crate::entity::agent_wallet::{
    self, AgentWallet, MerchantCaps, RefusedSpend, Rejection, SavedAddress, WalletCaps, WalletSpend, refusal_of,
};
use crate::entity::spend_approval::ExceededLimit;
use crate::entity::wallet_payment::{self, HttpRecordPart, WalletPayment};
use crate::id::{AddressId, Network, SpendApprovalId, Wallet, WalletPaymentId, WithdrawalId};
use crate::kernel::job::AnyJob;
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, IdempotencyRecorder, table};
use crate::money::Usdc;
use crate::port::WalletAddresses;

/// Newest lines of a statement among which a recent payment is looked for.
const RECENT_LINES: usize = 4;

/// How often a call that waits for its payment checks whether the payment is on hold.
const HOLD_CHECK_INTERVAL: Duration = Duration::from_millis(500);

type WalletError = OperationError<Rejection>;
type SpendError = OperationError<Rejection, SpendNotApproved>;

fn unreadable(_: LoadError) -> SpendError {
    OperationError::Unavailable
}

fn unread_row(_: StoreError) -> SpendError {
    OperationError::Unavailable
}

impl Engine {
    /// An account's agent wallet.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn agent_wallet(&self, owner: &Wallet) -> Result<Option<AgentWallet>, LoadError> {
        let read = self.0.registries.agent_wallets.read(owner).await?;
        Ok(read.map(|(wallet, _)| wallet))
    }

    /// Creates an account's agent wallet with these keys, unless it has one. From then on the wallet's addresses belong
    /// to the account.
    ///
    /// # Errors
    /// When the engine can't answer.
    pub async fn create_agent_wallet(
        &self,
        owner: Wallet,
        (addresses, sealed): (WalletAddresses, Vec<u8>),
        limits: WalletCaps,
        recorder: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
        // Before any client can know of the wallet.
        self.claim_addresses(&owner, &addresses);
        let command = agent_wallet::Command::Create {
            addresses,
            sealed,
            caps: limits,
        };
        self.ask_agent_wallet(owner, command, recorder).await?;
        self.send_back(&addresses).await;
        Ok(())
    }

    /// Returns what was credited to an address as a separate account before its owner was known. That happens after a
    /// restore, if the lost history had opened both the owner's account and the wallet. The money returns to the wallet
    /// it came from, which its owner now has again.
    async fn send_back(&self, addresses: &WalletAddresses) {
        for network in Network::ALL {
            let address = addresses.on(network);
            let account = self.account(&address).await.ok().flatten();
            let Some(amount) = account
                .map(|account| account.available())
                .filter(|amount| *amount > Usdc::ZERO)
            else {
                continue;
            };
            let id = WithdrawalId::mint(address.shard(), self.0.entropy.random());
            // The next call that opens the wallet tries again.
            if let Err(error) = self.withdraw(address, (id, address, amount), None).await {
                tracing::warn!(%address, ?error, "what is credited to a managed wallet's address could not be sent back");
            }
        }
    }

    /// Sets the limits of an agent wallet. The caller has verified that a person requests it.
    ///
    /// # Errors
    /// When there is no wallet.
    pub async fn set_wallet_caps(&self, owner: Wallet, limits: WalletCaps) -> Result<(), WalletError> {
        let command = agent_wallet::Command::SetCaps(limits);
        self.ask_agent_wallet(owner, command, None).await
    }

    /// Sets the caps per merchant of an agent wallet. The caller has verified that a person requests it.
    ///
    /// # Errors
    /// When there is no wallet.
    pub async fn set_merchant_caps(&self, owner: Wallet, caps: MerchantCaps) -> Result<(), WalletError> {
        let command = agent_wallet::Command::SetMerchantCaps(caps);
        self.ask_agent_wallet(owner, command, None).await
    }

    /// Places the hold for a wallet payment and starts it. A spend over a limit needs an approval of the owner, if the
    /// owner wants to be asked: it is requested, or used once it was given. `approval` is the one that the agent names.
    ///
    /// # Errors
    /// The wallet's rejection; [`SpendNotApproved`] for a spend over a limit; [`OperationError::AlreadyUsed`] when an
    /// earlier request with the idempotency key was executed.
    pub async fn start_wallet_payment(
        &self,
        owner: Wallet,
        spend: WalletSpend,
        approval: Option<SpendApprovalId>,
        recorder: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), SpendError> {
        // The wallet is its agents': no one spends from it meanwhile. A stop that comes later keeps the payment unsigned.
        let account = self.account(&owner).await.map_err(unreadable)?;
        if account.is_some_and(|account| account.agents_stopped_at().is_some()) {
            return Err(OperationError::Rejected(Rejection::AgentsStopped));
        }
        let asked = AgentSpend {
            terms: spend.terms(),
            note: spend.order.note.clone(),
            purchase: spend.purchase.clone(),
            agent: spend.agent,
            approval,
        };
        let mut given = None;
        if let Some(id) = approval {
            match self.named_consent(&owner, &asked.terms, id).await.map_err(unreadable)? {
                Consent::Given(approval) => given = Some(approval),
                Consent::Missing(why) => return Err(OperationError::Specific(why)),
                Consent::TooMany => {}
            }
        }
        let _turn = self.key_turn(spend.agent.key).await;
        for _ in 0..MAX_CONFLICT_RETRIES {
            let before = self.spent_before_of(&owner).await.ok_or(OperationError::Unavailable)?;
            let key = match spend.agent.key {
                Some(key) => Some(self.key_allowance(key).await.map_err(unreadable)?),
                None => None,
            };
            // A seller can take its time with the offer that is paid.
            if self.has_agent_access_ended(spend.agent).await.map_err(unreadable)? {
                return Err(OperationError::Rejected(Rejection::AccessEnded));
            }
            let command = agent_wallet::Command::Hold {
                spend: Box::new(spend.clone()),
                spent_before: before,
                approval: given.clone(),
                key: key.map(Box::new),
            };
            let wallets = &self.0.registries.agent_wallets;
            match wallets.ask_idempotent(owner, command, recorder.clone()).await {
                Ok(()) => return Ok(()),
                Err(AskError::Rejected(Rejection::ApprovalRequired)) => {
                    let wallet = self.agent_wallet(&owner).await.map_err(unreadable)?;
                    let now = self.0.clock.now();
                    let exceeded = wallet.map(|wallet| wallet.exceeded_limits(&spend.order, before, key.as_ref(), now));
                    let exceeded = exceeded.unwrap_or_default();
                    // The limits may have been raised in between.
                    let Some(over) = exceeded.first() else { continue };
                    match self.consent(owner, &asked, &exceeded).await.map_err(unreadable)? {
                        Consent::Given(approval) if given.is_none() => given = Some(approval),
                        Consent::Missing(why) => {
                            // The same request has used it, and its response is known.
                            if let Some(recorder) = &recorder
                                && self.is_recorded(recorder.slot()).await.map_err(unread_row)?
                            {
                                return Err(OperationError::AlreadyUsed);
                            }
                            return Err(OperationError::Specific(why));
                        }
                        // It was given for other limits than those that are exceeded now, or there are too many.
                        Consent::Given(_) | Consent::TooMany => {
                            self.record_refusal(owner, &spend, exceeded.clone()).await;
                            return Err(OperationError::Rejected(refusal_of(over)));
                        }
                    }
                }
                Err(AskError::Rejected(why)) => {
                    if why.is_by_limit()
                        && let Ok(Some(wallet)) = self.agent_wallet(&owner).await
                    {
                        let exceeded = wallet.exceeded_limits(&spend.order, before, key.as_ref(), self.0.clock.now());
                        self.record_refusal(owner, &spend, exceeded).await;
                    }
                    return Err(OperationError::Rejected(why));
                }
                Err(AskError::Conflict) => {
                    if let Some(recorder) = &recorder
                        && self.is_recorded(recorder.slot()).await.map_err(unread_row)?
                    {
                        return Err(OperationError::AlreadyUsed);
                    }
                    if let Some(approval) = &given
                        && !self.is_unused(approval.id).await.map_err(unread_row)?
                    {
                        return Err(OperationError::Specific(SpendNotApproved::Used(approval.id)));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(OperationError::Unavailable)
    }

    /// Tells the owner of a spend that a limit refused. Without the event nothing else is missing.
    async fn record_refusal(&self, owner: Wallet, spend: &WalletSpend, exceeded: Vec<ExceededLimit>) {
        let refused = RefusedSpend {
            terms: spend.terms(),
            exceeded,
            agent: spend.agent,
            at: self.0.clock.now(),
        };
        let command = agent_wallet::Command::RecordRefusal(Box::new(refused));
        if let Err(error) = self.ask_agent_wallet(owner, command, None).await {
            tracing::warn!(%owner, ?error, "a refused spend could not be announced");
        }
    }

    /// Adds the lines for balances that the chains have to the statement of an agent wallet, unless it has changed since
    /// `wallet`, which was read before them. Shortly after a payment nothing is added: the owner's page reads the
    /// statement just then, perhaps from a node that lags behind.
    ///
    /// # Errors
    /// When the engine can't answer.
    pub async fn observe_wallet_balances(
        &self,
        wallet: &AgentWallet,
        balances: Vec<(Network, Usdc)>,
    ) -> Result<(), WalletError> {
        if !wallet.lacks_lines_for(&balances) {
            return Ok(());
        }
        let newest = self.wallet_statement(&wallet.owner, ListStart::Before(None), RECENT_LINES);
        let (newest, _) = newest.await.map_err(|_| OperationError::Unavailable)?;
        let now = self.0.clock.now();
        if newest.iter().any(|(_, row)| row.may_be_unread(now)) {
            return Ok(());
        }
        let lines = wallet.statement_line_count();
        let command = agent_wallet::Command::ObserveBalances { balances, lines };
        self.ask_agent_wallet(wallet.owner, command, None).await
    }

    /// [`Engine::spent_before`] of an owner's wallet, if there is one.
    async fn spent_before_of(&self, owner: &Wallet) -> Option<Usdc> {
        match self.agent_wallet(owner).await {
            Ok(Some(wallet)) => self.spent_before(&wallet).await,
            Ok(None) => Some(Usdc::ZERO),
            Err(_) => None,
        }
    }

    /// What an agent wallet spent today in a history that a restore lost. It counts against the daily cap. `None` while
    /// a chain or the store can't be read.
    pub async fn spent_before(&self, wallet: &AgentWallet) -> Option<Usdc> {
        let worker = self.0.job_handlers();
        worker.spent_before(wallet, self.0.clock.now()).await.ok()
    }

    /// Saves an address, or changes a saved one.
    ///
    /// # Errors
    /// When there is no wallet, or its address list is full.
    pub async fn save_address(
        &self,
        owner: Wallet,
        saved: SavedAddress,
        recorder: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
        let command = agent_wallet::Command::SaveAddress(saved);
        self.ask_agent_wallet(owner, command, recorder).await
    }

    /// Deletes a saved address.
    ///
    /// # Errors
    /// When it is not saved.
    pub async fn delete_address(
        &self,
        owner: Wallet,
        id: AddressId,
        recorder: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
        let command = agent_wallet::Command::DeleteAddress(id);
        self.ask_agent_wallet(owner, command, recorder).await
    }

    /// A wallet payment by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn wallet_payment(&self, id: &WalletPaymentId) -> Result<Option<WalletPayment>, LoadError> {
        Ok(self
            .0
            .registries
            .wallet_payments
            .read(id)
            .await?
            .map(|(spend, _)| spend))
    }

    /// One sealed part of a payment's HTTP record; empty if it was not stored.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn http_record(&self, id: WalletPaymentId, part: HttpRecordPart) -> Result<Vec<u8>, StoreError> {
        read_http_record(&*self.0.store, id, part).await
    }

    /// Waits until the outcome of a payment's call and transfer is known. The caller sets the timeout. `None` as soon as
    /// the gate holds the payment, because a freeze or a restore can hold it for days.
    pub async fn await_wallet_payment(&self, id: WalletPaymentId) -> Option<WalletPayment> {
        let mut outcome = self.0.registries.wallet_payments.outcome(id, 0);
        let job = AnyJob::from(wallet_payment::Job::SendWalletPayment(id));
        loop {
            match tokio::time::timeout(HOLD_CHECK_INTERVAL, &mut outcome).await {
                Ok(ended) => return ended.ok(),
                // An unreadable row is no hold.
                Err(_elapsed) if matches!(self.gate_hold(&job).await, Ok(Some(_))) => return None,
                Err(_elapsed) => {}
            }
        }
    }

    async fn ask_agent_wallet(
        &self,
        owner: Wallet,
        command: agent_wallet::Command,
        recorder: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
        self.ask_idempotent(&self.0.registries.agent_wallets, owner, command, recorder)
            .await
    }
}

/// The chunks of a part, in order.
pub(super) async fn read_http_record(
    store: &dyn Store,
    id: WalletPaymentId,
    part: HttpRecordPart,
) -> Result<Vec<u8>, StoreError> {
    /// More than a response of the largest size that the settings allow.
    const MAX_CHUNKS: usize = 1_000;
    let rows = store
        .scan(&table::http_record(id, part as u8), None, MAX_CHUNKS)
        .await?;
    Ok(rows.into_iter().flat_map(|(_, row)| row.value.to_vec()).collect())
}
