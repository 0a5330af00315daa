//! What must be true when something is sent to the bridge.

use purser_actors::entity::top_up::{FirstLeg, Status};
use purser_actors::id::TopUpId;
use purser_actors::port::{SignedBurn, SignedMint};

use super::SimBridge;

impl SimBridge {
    /// Nothing is burned before exactly this is durable, and no second burn while another has landed or still could.
    pub(super) fn check_burn(&self, burn: &SignedBurn, id: TopUpId) {
        let stored = self.top_up(id);
        let ready = stored.as_ref().is_some_and(|top_up| match &top_up.status {
            Status::Paid(None) => false,
            Status::Paid(Some(first)) => **first == FirstLeg::Burn(burn.clone()),
            // An older try, while a younger one has already come back.
            _ => true,
        });
        if !ready {
            self.0
                .report_violation("burn.early", format!("{burn:?} of {id}, and durable is {stored:?}"));
        }
        let (now, bridge) = (self.0.true_ms(), self.0.bridge.lock());
        let others = bridge.burns.iter().filter(|(name, _)| **name != burn.transaction);
        let mut others = others.filter(|(_, other)| other.top_up == id && other.may_execute(now));
        let twice = others.next().map(|(name, _)| name.clone());
        drop(bridge);
        if let Some(other) = twice {
            self.0.report_violation(
                "burn.twice",
                format!("{} after {other} at {now}, both of {id}", burn.transaction),
            );
        }
    }

    /// Nothing is minted before exactly this is durable, and nothing but what the top-up burned.
    pub(super) fn check_mint(&self, mint: &SignedMint) -> Option<(TopUpId, u32, String)> {
        let found = {
            let mut bridge = self.0.bridge.lock();
            bridge
                .of_mint(mint)
                .map(|(name, burn, _)| (burn.top_up, burn.payment, name))
        };
        let own = found.filter(|(id, _, _)| id.0 != 0);
        let Some((id, payment, name)) = own else {
            self.0
                .report_violation("mint.foreign", format!("{mint:?} is of nothing that was burned for us"));
            return None;
        };
        let stored = self.top_up(id);
        let ready = stored.as_ref().is_some_and(|top_up| match &top_up.status {
            Status::Bridging(burned) => burned.mint.as_ref() == Some(mint) && burned.burn.transaction == name,
            Status::Paid(_) => false,
            // An older try, while a younger one has already come back.
            Status::Delivered | Status::Credited | Status::Failed { .. } => true,
        });
        if !ready {
            self.0
                .report_violation("mint.early", format!("{mint:?} of {id}, and durable is {stored:?}"));
        }
        Some((id, payment, name))
    }
}
