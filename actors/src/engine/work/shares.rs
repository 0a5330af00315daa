//! What is counted against daily caps, and given back to them.

use super::{Desk, Done, tell, unreadable};
use crate::account;
use crate::id::{PaymentId, Wallet};
use crate::kernel::effect::{Share, Work};
use crate::kernel::{Effect, Failure};
use crate::payment;

impl Desk {
    pub(super) async fn about_shares(&self, effect: &Effect) -> Done {
        match &effect.work {
            Work::FreeShare { account, share } => self.free_share(effect, *account, *share).await,
            Work::CountShare { account, share } => self.count_share(effect, *account, *share).await,
            Work::CountUnclaimed {
                account,
                payment,
                shares,
            } => self.count_unclaimed(effect, *account, (*payment, shares)).await,
            _ => Err(Failure::temporary("no work with shares")),
        }
    }

    async fn free_share(&self, effect: &Effect, account: Wallet, share: Share) -> Done {
        let effect = effect.id;
        let command = account::Command::FreeShare { effect, share };
        tell(&self.families.accounts, account, command).await
    }

    async fn count_share(&self, effect: &Effect, account: Wallet, share: Share) -> Done {
        let effect = effect.id;
        let command = account::Command::CountShare { effect, share };
        tell(&self.families.accounts, account, command).await
    }

    async fn count_unclaimed(
        &self,
        effect: &Effect,
        account: Wallet,
        (payment, shares): (PaymentId, &[Share]),
    ) -> Done {
        let known = self.families.payments.read(&payment).await.map_err(unreadable)?;
        let unclaimed = known
            .as_ref()
            .is_none_or(|(known, _)| known.status == payment::Status::Released);
        self.arrivals.counts();
        let command = account::Command::CountUnclaimed {
            effect: effect.id,
            payment,
            revision: known.map_or(0, |(_, revision)| revision),
            shares: if unclaimed { shares.to_vec() } else { Vec::new() },
        };
        tell(&self.families.accounts, account, command).await
    }
}
