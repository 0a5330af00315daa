//! What the owner of an account set going: a check of identity, an account at the card issuer.

use std::time::Duration;

use super::{Desk, Done, tell, unreadable, within};
use crate::id::Wallet;
use crate::identity::{self, Status};
use crate::kernel::{Effect, Failure};
use crate::link;
use crate::port::{AccountOpening, CheckStatus, ErrorKind, StartCheck};

impl Desk {
    /// Has the check begun, once, and asks after it until it is over. A callback may be quicker; then the effect is gone.
    pub(super) async fn check_identity(&self, effect: &Effect, wallet: Wallet) -> Done {
        let read = self.families.identities.read(&wallet).await.map_err(unreadable)?;
        let Some((identity, _)) = read else {
            return Err(Failure::temporary("the identity is not there"));
        };
        let Status::InReview { check, begun } = identity.status else {
            return Ok(());
        };
        if check != effect.id {
            return Ok(());
        }
        let reference = match begun {
            Some(begun) => begun.reference,
            None => match self.begin_check(effect, wallet).await? {
                Some(reference) => reference,
                None => return Ok(()),
            },
        };
        let asked = within(
            self.patience(),
            self.ports.identity_check.status(&reference),
            "identity status",
        );
        match asked.await {
            Ok(CheckStatus::Pending { retry_after_ms }) => Err(Failure::not_yet(retry_after_ms)),
            Ok(CheckStatus::Over(verdict)) => {
                let command = identity::Command::Decide { reference, verdict };
                tell(&self.families.identities, wallet, command).await
            }
            // It only reads: whatever the error, nothing was decided by it, and a check may take days.
            Err(error) => Err(Failure::from(error).every_ms(self.settings.watch_every_ms)),
        }
    }

    /// The provider's name of the check, durable; `None` if there will be none.
    async fn begin_check(&self, effect: &Effect, wallet: Wallet) -> Result<Option<String>, Failure> {
        let check = StartCheck { key: effect.id, wallet };
        let started = within(
            self.patience(),
            self.ports.identity_check.start(&check),
            "identity start",
        );
        let (command, reference) = match started.await {
            Ok(begun) => {
                let reference = Some(begun.reference.clone());
                let effect = effect.id;
                (identity::Command::Begun { effect, begun }, reference)
            }
            Err(error) if error.kind == ErrorKind::Permanent => {
                let request = effect.origin;
                tracing::warn!(%wallet, %request, %error, "the identity check was refused");
                let (effect, reason) = (effect.id, "check_refused".into());
                (identity::Command::Refused { effect, reason }, None)
            }
            // Never given up: nobody can begin another check meanwhile.
            Err(error) => return Err(Failure::from(error).every_ms(self.settings.watch_every_ms)),
        };
        tell(&self.families.identities, wallet, command).await?;
        Ok(reference)
    }

    pub(super) async fn open_issuer_account(&self, effect: &Effect, wallet: Wallet) -> Done {
        let read = self.families.links.read(&wallet).await.map_err(unreadable)?;
        let Some((link, _)) = read else {
            return Err(Failure::temporary("the link is not there"));
        };
        if link.opening() != Some(effect.id) {
            return Ok(());
        }
        let opening = within(self.patience(), self.ports.card_accounts.open(&wallet), "open account");
        let effect = effect.id;
        let command = match opening.await? {
            AccountOpening::Open { deposit_address } => link::Command::Opened {
                effect,
                deposit_address,
            },
            AccountOpening::Declined { reason } => link::Command::Refused { effect, reason },
            AccountOpening::Pending { retry_after_ms } => return Err(Failure::not_yet(retry_after_ms)),
        };
        tell(&self.families.links, wallet, command).await
    }

    const fn patience(&self) -> Duration {
        Duration::from_millis(self.settings.issuer_timeout_ms)
    }
}
