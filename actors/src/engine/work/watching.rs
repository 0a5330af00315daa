//! Payments whose outcome is not known: the chain is read until it is.

use purser_storage::codec;
use purser_storage::planted::{self, Bug};

use super::{Desk, Done, tell, unreadable};
use crate::id::{DepositId, PaymentId, Wallet};
use crate::kernel::{Effect, Failure, table};
use crate::payment::{self, Status, TakenIn};
use crate::port::Lookup;

impl Desk {
    /// Whether the effect's row is the one this delivery was started for: the id of a watch is used again.
    async fn is_open(&self, effect: &Effect) -> Result<bool, Failure> {
        let row = self.store.read(&table::effect(effect.id)).await;
        let Some(row) = row.map_err(|e| Failure::temporary(e.to_string()))? else {
            return Ok(false);
        };
        let stored: Effect = codec::decode(&row.value).map_err(|e| Failure::temporary(e.to_string()))?;
        Ok(stored.created_at == effect.created_at)
    }

    /// What was decided about the transfer that an account's payment would settle by, if it was taken in without it.
    pub(super) async fn taken_in(&self, id: PaymentId, account: Wallet) -> Result<Option<TakenIn>, Failure> {
        if !self.arrivals.any_taken() || planted::is(Bug::TakenInSettles) {
            return Ok(None);
        }
        let row = self.store.read(&table::deposit(id)).await;
        let Some(row) = row.map_err(|e| Failure::temporary(e.to_string()))? else {
            return Ok(None);
        };
        let damaged = || Failure::temporary("the transfer that was taken in for a payment cannot be read");
        let deposit = <[u8; 16]>::try_from(&*row.value).map_err(|_| damaged())?;
        let deposit = DepositId(u128::from_be_bytes(deposit));
        let read = self.families.incoming.read(&deposit).await.map_err(unreadable)?;
        let (incoming, _) = read.ok_or_else(damaged)?;
        TakenIn::of(&incoming, account).ok_or_else(damaged).map(Some)
    }

    /// Reads the chain until the payment has landed or never can.
    pub(super) async fn watch(&self, effect: &Effect, id: PaymentId) -> Done {
        if !self.is_open(effect).await? {
            // The payment was sent again meanwhile, which ended this watch; if it was declined again, a younger one is
            // on its way.
            return Ok(());
        }
        let payment = self.payment(id).await?;
        let lookup = if matches!(payment.status, Status::Unknown(_) | Status::Declined(..)) {
            let lookup = self
                .ports
                .settlement
                .lookup(&payment.claim.authorization, payment.prepared());
            match self.in_time(lookup, "lookup").await {
                Err(_) if planted::is(Bug::RefusedUnproven) => Lookup::Impossible,
                Ok(Lookup::Pending) => return Err(Failure::not_yet(self.settings.watch_every_ms)),
                Err(error) => return Err(Failure::from(error).every_ms(self.settings.watch_every_ms)),
                Ok(Lookup::Landed { transaction, finality }) => match self.taken_in(id, payment.account()).await? {
                    Some(taken_in) => {
                        let command = payment::Command::Deposited {
                            effect: effect.id,
                            transaction,
                            taken_in,
                        };
                        return tell(&self.families.payments, id, command).await;
                    }
                    None => {
                        self.departures.settles(finality);
                        Lookup::Landed { transaction, finality }
                    }
                },
                Ok(Lookup::Impossible) => Lookup::Impossible,
            }
        } else {
            // Nothing to watch any more: this ends the effect.
            Lookup::Pending
        };
        let made = matches!(lookup, Lookup::Landed { .. }) && self.is_made(id, &payment).await?;
        tell(
            &self.families.payments,
            id,
            payment::Command::Seen {
                effect: effect.id,
                lookup,
                made,
            },
        )
        .await?;
        Ok(())
    }
}
