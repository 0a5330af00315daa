//! Operations that only an account's owner may do: identity verification, linking the card issuer, tightening the caps.
//! The caller has verified the owner: a session from a login link that a signed-in wallet created.

use purser_storage::StoreError;

use super::{Engine, MAX_CONFLICT_RETRIES, OperationError};
use crate::entity::account::{self, BalanceLimits, OwnerCaps};
use crate::entity::identity_verification::{self, IdentityVerification};
use crate::entity::issuer_link::{self, IssuerLink};
use crate::id::Wallet;
use crate::kernel::registry::LoadError;
use crate::kernel::{AskError, Entity, EntityRegistry, table};
use crate::port::Verdict;

impl Engine {
    /// An owner's identity verification; `None` before the first check.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn identity(&self, wallet: &Wallet) -> Result<Option<IdentityVerification>, LoadError> {
        Ok(self
            .0
            .registries
            .identities
            .read(wallet)
            .await?
            .map(|(identity, _)| identity))
    }

    /// Requests a check, unless one is in progress.
    ///
    /// # Errors
    /// When the owner is already verified.
    pub async fn request_identity_check(
        &self,
        wallet: Wallet,
    ) -> Result<(), OperationError<identity_verification::Rejection>> {
        ask_with_retry(
            &self.0.registries.identities,
            wallet,
            identity_verification::Command::Request,
        )
        .await
    }

    /// Records the provider's verdict from a callback whose signature was verified.
    ///
    /// # Errors
    /// When it is about another check, or contradicts the recorded verdict.
    pub async fn record_identity_verdict(
        &self,
        wallet: Wallet,
        reference: String,
        verdict: Verdict,
    ) -> Result<(), OperationError<identity_verification::Rejection>> {
        let command = identity_verification::Command::RecordVerdict { reference, verdict };
        ask_with_retry(&self.0.registries.identities, wallet, command).await
    }

    /// Waits until the check is started at the provider, or has ended. The caller sets the timeout.
    pub async fn await_identity_started(&self, wallet: Wallet) -> Option<IdentityVerification> {
        self.0.registries.identities.outcome(wallet, 0).await.ok()
    }

    /// The link to the card issuer; `None` before the first request.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn issuer_link(&self, wallet: &Wallet) -> Result<Option<IssuerLink>, LoadError> {
        Ok(self.0.registries.issuer_links.read(wallet).await?.map(|(link, _)| link))
    }

    /// Requests the link to the card issuer, or ends it.
    ///
    /// # Errors
    /// When the engine can't answer.
    pub async fn request_issuer_link(
        &self,
        wallet: Wallet,
        linked: bool,
    ) -> Result<(), OperationError<issuer_link::Rejection>> {
        let command = if linked {
            issuer_link::Command::Request
        } else {
            issuer_link::Command::Unlink
        };
        ask_with_retry(&self.0.registries.issuer_links, wallet, command).await
    }

    /// Waits until the issuer has opened the account or declined. The caller sets the timeout.
    pub async fn await_issuer_link(&self, wallet: Wallet) -> Option<IssuerLink> {
        self.0.registries.issuer_links.outcome(wallet, 0).await.ok()
    }

    /// Deposit address on Base of a wallet's linked account at the card issuer, as purchases see it.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn deposit_address(&self, wallet: &Wallet) -> Result<Option<[u8; 20]>, StoreError> {
        let row = self.0.store.read(&table::issuer_linked(wallet)).await?;
        let address = row.map(|row| <[u8; 20]>::try_from(&*row.value));
        address.transpose().map_err(|e| StoreError::Corrupt(e.to_string()))
    }

    /// Sets the owner's own daily caps.
    ///
    /// # Errors
    /// When the account is frozen or does not exist.
    pub async fn set_owner_caps(
        &self,
        wallet: Wallet,
        caps: OwnerCaps,
    ) -> Result<(), OperationError<account::Rejection>> {
        ask_with_retry(&self.0.registries.accounts, wallet, account::Command::SetCaps(caps)).await
    }

    /// Sets the owner's limits on what agents take out of the balances.
    ///
    /// # Errors
    /// When the account is frozen or does not exist.
    pub async fn set_balance_limits(
        &self,
        wallet: Wallet,
        limits: BalanceLimits,
    ) -> Result<(), OperationError<account::Rejection>> {
        let command = account::Command::SetBalanceLimits(limits);
        ask_with_retry(&self.0.registries.accounts, wallet, command).await
    }
}

/// Asks again when an earlier batch was rejected and took this one with it.
async fn ask_with_retry<E: Entity>(
    registry: &EntityRegistry<E>,
    id: E::Id,
    command: E::Command,
) -> Result<E::Reply, OperationError<E::Rejection>>
where
    E::Command: Clone,
{
    for _ in 0..MAX_CONFLICT_RETRIES {
        match registry.ask(id, command.clone()).await {
            Err(AskError::Conflict) => {}
            result => return Ok(result?),
        }
    }
    Err(OperationError::Unavailable)
}
