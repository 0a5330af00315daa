//! What only the owner of an account may do: have the identity checked, link the card issuer, tighten the caps. Whoever
//! calls this has made sure that it is the owner who asks: the session of a login link that a signed-in wallet made.

use purser_storage::StoreError;

use super::{Denied, Engine, RACES};
use crate::account::{self, OwnCaps};
use crate::id::Wallet;
use crate::identity::{self, Identity};
use crate::kernel::family::LoadError;
use crate::kernel::{Entity, Family, Refusal, table};
use crate::link::{self, Link};
use crate::port::Verdict;

impl Engine {
    /// A holder's identity; `None` before the first check.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn identity(&self, wallet: &Wallet) -> Result<Option<Identity>, LoadError> {
        Ok(self
            .0
            .families
            .identities
            .read(wallet)
            .await?
            .map(|(identity, _)| identity))
    }

    /// Asks for a check, unless one is under way.
    ///
    /// # Errors
    /// When the holder is verified already.
    pub async fn begin_identity(&self, wallet: Wallet) -> Result<(), Denied<identity::Rejection>> {
        again(&self.0.families.identities, wallet, identity::Command::Begin).await
    }

    /// The provider's verdict, brought by a callback whose signature was verified.
    ///
    /// # Errors
    /// When it is on another check, or contradicts what was decided.
    pub async fn decide_identity(
        &self,
        wallet: Wallet,
        reference: String,
        verdict: Verdict,
    ) -> Result<(), Denied<identity::Rejection>> {
        let command = identity::Command::Decide { reference, verdict };
        again(&self.0.families.identities, wallet, command).await
    }

    /// Waits until the check is known at the provider, or over. The caller bounds it.
    pub async fn identity_begun(&self, wallet: Wallet) -> Option<Identity> {
        self.0.families.identities.outcome(wallet, 0).await.ok()
    }

    /// The link to the card issuer; `None` before it was first asked for.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn link(&self, wallet: &Wallet) -> Result<Option<Link>, LoadError> {
        Ok(self.0.families.links.read(wallet).await?.map(|(link, _)| link))
    }

    /// Asks for the link to the card issuer, or ends it.
    ///
    /// # Errors
    /// When the engine cannot answer.
    pub async fn set_linked(&self, wallet: Wallet, linked: bool) -> Result<(), Denied<link::Rejection>> {
        let command = if linked {
            link::Command::Link
        } else {
            link::Command::Unlink
        };
        again(&self.0.families.links, wallet, command).await
    }

    /// Waits until the issuer has opened the account or refused. The caller bounds it.
    pub async fn link_opened(&self, wallet: Wallet) -> Option<Link> {
        self.0.families.links.outcome(wallet, 0).await.ok()
    }

    /// The deposit address of a wallet's linked account at the card issuer, on Base, as purchases see it.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn deposit_address(&self, wallet: &Wallet) -> Result<Option<[u8; 20]>, StoreError> {
        let row = self.0.store.read(&table::linked(wallet)).await?;
        let address = row.map(|row| <[u8; 20]>::try_from(&*row.value));
        address.transpose().map_err(|e| StoreError::Damaged(e.to_string()))
    }

    /// Sets the owner's own daily caps.
    ///
    /// # Errors
    /// When the account is frozen or not there.
    pub async fn set_own_caps(&self, wallet: Wallet, caps: OwnCaps) -> Result<(), Denied<account::Rejection>> {
        again(&self.0.families.accounts, wallet, account::Command::SetCaps(caps)).await
    }
}

/// Asks again when a batch before this one was refused and took it along.
async fn again<E: Entity>(family: &Family<E>, id: E::Id, command: E::Command) -> Result<E::Answer, Denied<E::Rejection>>
where
    E::Command: Clone,
{
    for _ in 0..RACES {
        match family.ask(id, command.clone()).await {
            Err(Refusal::Conflict) => {}
            told => return Ok(told?),
        }
    }
    Err(Denied::Unavailable)
}
