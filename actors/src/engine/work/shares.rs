//! What is counted against daily caps, and given back to them.

use super::{Desk, Done, tell};
use crate::account;
use crate::id::Wallet;
use crate::kernel::Effect;
use crate::kernel::effect::Share;

impl Desk {
    pub(super) async fn free_share(&self, effect: &Effect, account: Wallet, share: Share) -> Done {
        let effect = effect.id;
        let command = account::Command::FreeShare { effect, share };
        tell(&self.families.accounts, account, command).await
    }

    pub(super) async fn count_share(&self, effect: &Effect, account: Wallet, share: Share) -> Done {
        let effect = effect.id;
        let command = account::Command::CountShare { effect, share };
        tell(&self.families.accounts, account, command).await
    }
}
