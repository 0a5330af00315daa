//! Agent wallets: creation, limits and payments.

use purser_storage::{Store, StoreError};

use super::{Engine, OperationError};
use crate::entity::agent_wallet::{self, AgentWallet, SavedAddress, WalletCaps};
use crate::entity::wallet_payment::{HttpRecordPart, WalletPayment, WalletPaymentOrder};
use crate::id::{AddressId, Network, Wallet, WalletPaymentId, WithdrawalId};
use crate::kernel::registry::LoadError;
use crate::kernel::{IdempotencyRecorder, table};
use crate::money::Usdc;
use crate::port::WalletAddresses;

type WalletError = OperationError<agent_wallet::Rejection>;

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

    /// Places the hold for a wallet payment and starts it. `call` is the sealed [`HttpRecordPart::Request`], empty for
    /// a transfer. `holds` is the wallet's balance on chain.
    ///
    /// # Errors
    /// The wallet's rejection; [`OperationError::AlreadyUsed`] when an earlier request with the idempotency key was
    /// executed.
    pub async fn start_wallet_payment(
        &self,
        owner: Wallet,
        (spend, holds): (WalletPaymentId, Usdc),
        (order, call): (WalletPaymentOrder, Vec<u8>),
        recorder: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
        // The wallet is its agents': no one spends from it meanwhile. A stop that comes later keeps the payment unsigned.
        let account = self.account(&owner).await.map_err(|_| OperationError::Unavailable)?;
        if account.is_some_and(|account| account.agents_stopped_at().is_some()) {
            return Err(OperationError::Rejected(agent_wallet::Rejection::AgentsStopped));
        }
        let before = match self.agent_wallet(&owner).await {
            Ok(Some(wallet)) => self.spent_before(&wallet).await,
            Ok(None) => Some(Usdc::ZERO),
            Err(_) => None,
        };
        let before = before.ok_or(OperationError::Unavailable)?;
        let order = Box::new(order);
        let command = agent_wallet::Command::Hold {
            payment: spend,
            order,
            call,
            chain_balance: holds,
            spent_before: before,
        };
        self.ask_agent_wallet(owner, command, recorder).await
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

    /// Waits until the outcome of a payment's call and transfer is known. The caller sets the timeout.
    pub async fn await_wallet_payment(&self, id: WalletPaymentId) -> Option<WalletPayment> {
        self.0.registries.wallet_payments.outcome(id, 0).await.ok()
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
