//! What payments of a lost history count against daily caps: what they may have bought, until they have settled here.

use super::{Desk, Done, tell, unreadable};
use crate::account;
use crate::id::{PaymentId, Wallet};
use crate::kernel::effect::{Counted, Share, Work};
use crate::kernel::{Effect, Failure};

impl Desk {
    pub(super) async fn count_lost(&self, effect: &Effect) -> Done {
        match &effect.work {
            Work::CountUnclaimed {
                account,
                payment,
                lines,
                shares,
            } => {
                let counted = Counted {
                    account: *account,
                    lines: lines.clone(),
                    shares: shares.clone(),
                };
                self.count_unclaimed(effect, *payment, counted).await
            }
            Work::CountClaimed { account, payment } => self.count_claimed(effect, *account, *payment).await,
            _ => Err(Failure::temporary("nothing to count")),
        }
    }

    async fn count_unclaimed(&self, effect: &Effect, payment: PaymentId, counted: Counted) -> Done {
        let known = self.families.payments.read(&payment).await.map_err(unreadable)?;
        let counted_before = self.arrivals.counted_for(payment, &*self.store).await;
        let counted_before = counted_before.map_err(|error| Failure::temporary(error.to_string()))?;
        let unclaimed = counted_before.is_none() && known.as_ref().is_none_or(|(known, _)| known.is_released());
        self.arrivals.counts();
        let account = counted.account;
        let command = account::Command::CountUnclaimed {
            effect: effect.id,
            payment,
            revision: known.map_or(0, |(_, revision)| revision),
            counted: unclaimed.then_some(counted),
        };
        tell(&self.families.accounts, account, command).await
    }

    async fn count_claimed(&self, effect: &Effect, account: Wallet, payment: PaymentId) -> Done {
        let counted = self.arrivals.counted_for(payment, &*self.store).await;
        let counted = counted.map_err(|error| Failure::temporary(error.to_string()))?;
        let known = self.families.payments.read(&payment).await.map_err(unreadable)?;
        let account = counted.as_ref().map_or(account, |counted| counted.account);
        let counted = counted.map(|counted| {
            // What is adopted is counted by itself.
            let bought = known.filter(|(known, _)| !known.is_released() && !known.claim.is_taken_over());
            let share = bought.map(|(known, _)| Share {
                day: counted.shares.first().map_or(0, |share| share.day),
                budget: known.claim.purchase.line().budget(),
                cents: known.claim.worth,
            });
            (counted, share)
        });
        let command = account::Command::CountClaimed {
            effect: effect.id,
            payment,
            counted,
        };
        tell(&self.families.accounts, account, command).await
    }
}
