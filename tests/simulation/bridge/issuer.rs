//! Simulates the issuer's counter: a deposit counts when its fault plan lets it.

use purser_actors::id::{TopUpId, Wallet};
use purser_actors::port::{BoxFuture, CardBalances, CardDeposit, PortError};

use super::{SimBridge, mint_name};
use crate::environment::Environment;
use crate::fault_plan::{Leg, LegBehavior};
use crate::top_ups::{forwards, payment_for};

/// The top-up that brought exactly this to exactly this address.
pub(crate) fn delivered(world: &Environment, deposit: &CardDeposit) -> Option<TopUpId> {
    let now = world.true_ms();
    let forwarded = forwards(world).into_iter().find_map(|(id, transfer)| {
        let same = (transfer.transaction.as_str(), transfer.atomic) == (&deposit.transaction, deposit.amount.atomic());
        (same && transfer.to == Wallet::Evm(deposit.address)).then_some(id)
    });
    let bridge = world.bridge.lock();
    let mut minted = bridge.burns.iter().filter(|(_, burn)| burn.is_minted(now));
    let bridged = minted.find(|(name, burn)| {
        let same = (burn.to, burn.arrives) == (deposit.address, deposit.amount.atomic());
        same && mint_name(name, burn.minted_by()) == deposit.transaction
    });
    forwarded.or(bridged.map(|(_, burn)| burn.top_up))
}

impl SimBridge {
    /// Only a delivered deposit may be queried.
    async fn counts(&self, deposit: &CardDeposit) -> Result<bool, PortError> {
        let Some(id) = delivered(&self.0, deposit) else {
            self.0
                .report_violation("credit.unreal", format!("{deposit:?} is not on Base"));
            return Ok(false);
        };
        let _one = self.0.single_attempts.enter(&self.0, "top_up.at_once", id.0);
        // It was not counted before this query, whatever the query returns.
        self.0.bridge.lock().uncounted.insert(id);
        if self.apply_fault(Leg::Count, payment_for(deposit.amount)).await? == Some(LegBehavior::NotYet) {
            return Ok(false);
        }
        let mut bridge = self.0.bridge.lock();
        let is_new = bridge
            .counted
            .insert(deposit.transaction.clone(), deposit.clone())
            .is_none();
        drop(bridge);
        if is_new {
            let cents = deposit.amount.atomic() / 10_000;
            self.0.issuer.lock().deposit(deposit.address, cents);
        }
        Ok(true)
    }
}

impl CardBalances for SimBridge {
    fn is_credited<'a>(&'a self, deposit: &'a CardDeposit) -> BoxFuture<'a, Result<bool, PortError>> {
        Box::pin(async move {
            self.0.crash_point_or_hang().await;
            let answer = self.counts(deposit).await;
            self.0.crash_point_or_hang().await;
            self.0
                .trace(|| format!("issuer: {} counts: {answer:?}", deposit.transaction));
            answer
        })
    }
}
