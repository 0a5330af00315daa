//! What becomes of a payment that its chain has taken back: an account that buys nothing more, and a loss in the books.

use super::{Desk, Done, tell, unreadable};
use crate::account;
use crate::difference::{Command, Status};
use crate::id::{DifferenceId, PaymentId, Wallet};
use crate::kernel::{Effect, Failure, audit};
use crate::operator::{Act, Deed, Role, house};
use crate::payment;
use crate::port::Lookup;

impl Desk {
    /// Reads the chain until it shows the payment again, or that it never can: only then the account is frozen and the
    /// loss booked, in this order, so that whoever is killed in between comes again.
    pub(super) async fn pursue(&self, effect: &Effect, id: DifferenceId) -> Done {
        let differences = &self.families.differences;
        let over = Command::Pursued { effect: effect.id };
        let read = differences.read(&id).await.map_err(unreadable)?;
        let open = read.filter(|(difference, _)| difference.status == Status::Open);
        let Some(payment_id) = open.and_then(|(difference, _)| difference.found.taken_back()) else {
            return tell(differences, id, over).await;
        };
        let payment = self.payment(payment_id).await?;
        let lookup = self
            .ports
            .settlement
            .lookup(&payment.claim.authorization, payment.prepared());
        match self.in_time(lookup, "lookup").await {
            Ok(Lookup::Impossible) => {}
            // By another transaction it is paid all the same; by its own, the lists agree soon.
            Ok(Lookup::Landed { transaction, .. }) if payment.transaction() != Some(&transaction) => {
                return tell(differences, id, over).await;
            }
            Ok(Lookup::Landed { .. } | Lookup::Pending) => {
                return Err(Failure::not_yet(self.settings.watch_every_ms));
            }
            Err(error) => return Err(Failure::from(error).every_ms(self.settings.watch_every_ms)),
        }
        if self.taken_in(payment_id, payment.account()).await?.is_some() {
            // It is booked as an incoming transfer: an operator's to judge.
            return tell(differences, id, over).await;
        }
        self.freeze_for_reversal(effect, payment.account(), payment_id).await?;
        tracing::error!(payment = %payment_id, "a chain has taken a payment back for good: its loss is booked");
        let command = payment::Command::Reversed { effect: effect.id };
        tell(&self.families.payments, payment_id, command).await
    }

    /// An operator unfreezes it, and finds it in the audit log. What one has said to the holder before stays.
    async fn freeze_for_reversal(&self, effect: &Effect, wallet: Wallet, payment: PaymentId) -> Done {
        let accounts = &self.families.accounts;
        let read = accounts.read(&wallet).await.map_err(unreadable)?;
        if read.is_some_and(|(account, _)| account.frozen.is_some()) {
            return Ok(());
        }
        let act = Act {
            by: house::RECONCILIATION.to_owned(),
            role: Role::Support,
            request: effect.origin,
        };
        // An operator's act may take this place first: then it is tried again.
        let link = audit::next(&*self.store).await;
        let link = link.map_err(|error| Failure::temporary(error.to_string()))?;
        let freeze = account::Command::Freeze {
            message: format!("{payment} was taken back by its chain. Please contact support."),
            act: Some(Deed {
                act,
                link,
                beside: Box::default(),
            }),
        };
        tell(accounts, wallet, freeze).await
    }
}
