//! Leases of operators who have been ended.

use purser_storage::StoreError;

use super::Engine;
use super::operator_actions::OperatorLock;
use crate::entity::{card_withdrawal, intl_order};
use crate::id::{CardId, WithdrawalId};
use crate::kernel::table;

impl Engine {
    /// Ends the leases of operators who were ended while no process could do it: those of a token that was taken out of
    /// the settings, or whose revocation came from the log after a restore. `configured` has the names in the settings.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn end_leases_of_former_operators(&self, configured: &[&str]) -> Result<(), StoreError> {
        let one = self.lock_operator().await;
        let stored = self.operator_tokens().await?;
        let is_operator = |name: &str| {
            let is_stored = stored.iter().any(|token| token.name == name && !token.revoked);
            is_stored || configured.contains(&name)
        };
        self.end_leases(&one, |holder| !is_operator(holder)).await
    }

    /// Ends the leases of orders and card withdrawals whose holder has been ended. The lock keeps new claims out. One that
    /// cannot be read or ended keeps its lease until that runs out, and stops neither the others nor a start.
    ///
    /// # Errors
    /// When a queue cannot be read.
    pub(super) async fn end_leases(
        &self,
        _one: &OperatorLock<'_>,
        is_ended: impl Fn(&str) -> bool + Send + Sync,
    ) -> Result<(), StoreError> {
        for id in self.ids_in_queue(table::INTL_ORDER_QUEUE).await? {
            if let Err(error) = self.end_lease_of_order(CardId(id), &is_ended).await {
                tracing::error!(order = %CardId(id), error, "a lease could not be ended");
            }
        }
        for id in self.ids_in_queue(table::CARD_WITHDRAWAL_QUEUE).await? {
            if let Err(error) = self.end_lease_of_withdrawal(WithdrawalId(id), &is_ended).await {
                tracing::error!(withdrawal = %WithdrawalId(id), error, "a lease could not be ended");
            }
        }
        Ok(())
    }

    async fn end_lease_of_order(&self, id: CardId, is_ended: &(impl Fn(&str) -> bool + Sync)) -> Result<(), String> {
        let order = self.intl_order(&id).await.map_err(|error| error.to_string())?;
        let held = order.filter(|order| order.lease_holder().is_some_and(|holder| is_ended(&holder.by)));
        let Some(order) = held else { return Ok(()) };
        let command = intl_order::Command::EndLease { lease: order.lease };
        let ended = self.0.registries.intl_orders.ask(id, command).await;
        ended.map(drop).map_err(|error| format!("{error:?}"))
    }

    async fn end_lease_of_withdrawal(
        &self,
        id: WithdrawalId,
        is_ended: &(impl Fn(&str) -> bool + Sync),
    ) -> Result<(), String> {
        let withdrawal = self.card_withdrawal(&id).await.map_err(|error| error.to_string())?;
        let held = withdrawal.filter(|asked| asked.holder().is_some_and(|holder| is_ended(&holder.by)));
        let Some(withdrawal) = held else { return Ok(()) };
        let command = card_withdrawal::Command::EndLease {
            lease: withdrawal.lease,
        };
        let ended = self.0.registries.card_withdrawals.ask(id, command).await;
        ended.map(drop).map_err(|error| format!("{error:?}"))
    }

    async fn ids_in_queue(&self, queue: u8) -> Result<Vec<u128>, StoreError> {
        let rows = self.0.store.scan(&[queue], None, usize::MAX).await?;
        let ids = rows.iter().filter_map(|(key, _)| table::created_and_id(key));
        Ok(ids.map(|(_, id)| id).collect())
    }
}
