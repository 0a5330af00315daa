//! Banking from the engine's side.

use super::{Denied, Engine};
use crate::banking::profile::{self, Profile};
use crate::id::Wallet;
use crate::kernel::Memo;
use crate::kernel::family::LoadError;

impl Engine {
    /// Makes a holder's banking profile. The answer is remembered if there is a memo.
    ///
    /// # Errors
    /// When there is one; [`Denied::Used`] when the memo's key was used in between.
    pub async fn create_banking_profile(
        &self,
        owner: Wallet,
        profile: Profile,
        memo: Option<Memo<Profile>>,
    ) -> Result<(), Denied<profile::Exists>> {
        let command = profile::Command::Create(Box::new(profile));
        self.ask_once(&self.0.families.profiles, owner, command, memo).await
    }

    /// A holder's banking profile.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn banking_profile(&self, owner: &Wallet) -> Result<Option<Profile>, LoadError> {
        Ok(self.0.families.profiles.read(owner).await?.map(|(profile, _)| profile))
    }
}
