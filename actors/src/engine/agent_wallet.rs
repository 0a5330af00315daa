//! Managed wallets: made, limited, and spent from.

use purser_storage::{Store, StoreError};

use super::{Engine, OperationError};
use crate::agent_wallet::{self, AgentWallet, SavedAddress, WalletAddresses, WalletCaps};
use crate::id::{AddressId, Network, Wallet, WalletPaymentId, WithdrawalId};
use crate::kernel::registry::LoadError;
use crate::kernel::{IdempotencyRecorder, table};
use crate::money::Usdc;
use crate::wallet_payment::{HttpRecordPart, WalletPayment, WalletPaymentOrder};

type WalletError = OperationError<agent_wallet::Rejection>;

impl Engine {
    /// An account's managed wallet.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn agent_wallet(&self, owner: &Wallet) -> Result<Option<AgentWallet>, LoadError> {
        let read = self.0.registries.agent_wallets.read(owner).await?;
        Ok(read.map(|(wallet, _)| wallet))
    }

    /// Makes an account's managed wallet with these keys, unless there is one. From then on its addresses are the account's.
    ///
    /// # Errors
    /// When the engine cannot answer.
    pub async fn create_agent_wallet(
        &self,
        owner: Wallet,
        (addresses, sealed): (WalletAddresses, Vec<u8>),
        limits: WalletCaps,
        memo: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
        // Before anybody can know of the wallet.
        self.claim_addresses(&owner, &addresses);
        let command = agent_wallet::Command::Create {
            addresses,
            sealed,
            caps: limits,
        };
        self.ask_agent_wallet(owner, command, memo).await?;
        self.send_back(&addresses).await;
        Ok(())
    }

    /// What was credited to an address before it was known whose it is: after a restore, where the lost history opened both the
    /// owner's account and the wallet. It goes back to where it came from, which is the wallet that its owner now has again.
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
            let id = WithdrawalId(self.0.entropy.random());
            // Asked for again by the next call that opens the wallet.
            if let Err(error) = self.withdraw(address, (id, address, amount), None).await {
                tracing::warn!(%address, ?error, "what is credited to a managed wallet's address could not be sent back");
            }
        }
    }

    /// Sets the limits of a managed wallet. Whoever calls this has made sure that a person asks.
    ///
    /// # Errors
    /// When there is no wallet.
    pub async fn set_wallet_caps(&self, owner: Wallet, limits: WalletCaps) -> Result<(), WalletError> {
        let command = agent_wallet::Command::SetCaps(limits);
        self.ask_agent_wallet(owner, command, None).await
    }

    /// Reserves for a spend and sends it on its way; `call` is [`Part::Call`], empty for a transfer. `holds` is what the chain shows that the wallet has there.
    ///
    /// # Errors
    /// The wallet's rejection; [`Denied::Used`] when an earlier use of the memo's key was executed.
    pub async fn start_wallet_payment(
        &self,
        owner: Wallet,
        (spend, holds): (WalletPaymentId, Usdc),
        (order, call): (WalletPaymentOrder, Vec<u8>),
        memo: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
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
        self.ask_agent_wallet(owner, command, memo).await
    }

    /// What has left a managed wallet today in a history that a restore has lost: it counts against the daily cap. `None` while a
    /// chain or the store cannot be read.
    pub async fn spent_before(&self, wallet: &AgentWallet) -> Option<Usdc> {
        let worker = self.0.job_handlers();
        worker.spent_before(wallet, self.0.clock.now()).await.ok()
    }

    /// Keeps an address, or changes one that is kept.
    ///
    /// # Errors
    /// When there is no wallet, or no room.
    pub async fn save_address(
        &self,
        owner: Wallet,
        saved: SavedAddress,
        memo: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
        let command = agent_wallet::Command::SaveAddress(saved);
        self.ask_agent_wallet(owner, command, memo).await
    }

    /// Forgets an address.
    ///
    /// # Errors
    /// When there is none.
    pub async fn delete_address(
        &self,
        owner: Wallet,
        id: AddressId,
        memo: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
        let command = agent_wallet::Command::DeleteAddress(id);
        self.ask_agent_wallet(owner, command, memo).await
    }

    /// A spend.
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

    /// One part of what was said for a spend, sealed; empty where nothing was.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn http_record(&self, id: WalletPaymentId, part: HttpRecordPart) -> Result<Vec<u8>, StoreError> {
        read_http_record(&*self.0.store, id, part).await
    }

    /// Waits until it is known what has become of a spend's call and money. The caller bounds it.
    pub async fn await_wallet_payment(&self, id: WalletPaymentId) -> Option<WalletPayment> {
        self.0.registries.wallet_payments.outcome(id, 0).await.ok()
    }

    async fn ask_agent_wallet(
        &self,
        owner: Wallet,
        command: agent_wallet::Command,
        memo: Option<IdempotencyRecorder<AgentWallet>>,
    ) -> Result<(), WalletError> {
        self.ask_idempotent(&self.0.registries.agent_wallets, owner, command, memo)
            .await
    }
}

/// The pieces of a part, in their order.
pub(super) async fn read_http_record(
    store: &dyn Store,
    id: WalletPaymentId,
    part: HttpRecordPart,
) -> Result<Vec<u8>, StoreError> {
    /// An answer of the largest size that settings allow has fewer pieces.
    const MAX_CHUNKS: usize = 1_000;
    let rows = store
        .scan(&table::http_record(id, part as u8), None, MAX_CHUNKS)
        .await?;
    Ok(rows.into_iter().flat_map(|(_, row)| row.value.to_vec()).collect())
}
