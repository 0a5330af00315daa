//! The limits of an agent wallet: which of them a spend exceeds, and whether the owner's approval passes them.

use super::{AgentWallet, Rejection, UsableApproval, WalletCaps, WalletSpend, in_usdc};
use crate::entity::api_key::KeyAllowance;
use crate::entity::spend_approval::{ExceededLimit, SpendLimit};
use crate::entity::wallet_payment::WalletPaymentOrder;
use crate::money::Usdc;
use crate::port::Timestamp;

impl AgentWallet {
    /// Limits that a spend exceeds at `now`: the wallet's, that of the merchant, then those of the agent's API key.
    /// `before` is the amount that a lost history spent.
    pub fn exceeded_limits(
        &self,
        order: &WalletPaymentOrder,
        before: Usdc,
        key: Option<&KeyAllowance>,
        now: Timestamp,
    ) -> Vec<ExceededLimit> {
        let amount = order.amount;
        let mut exceeded = Vec::new();
        if amount > in_usdc(self.caps.per_call) {
            exceeded.push(ExceededLimit {
                limit: SpendLimit::PerCall,
                cap: self.caps.per_call,
                left: in_usdc(self.caps.per_call),
            });
        }
        if let (Some(left), Some(cap)) = (self.remaining_on(now, before), self.caps.per_day)
            && amount > left
        {
            exceeded.push(ExceededLimit {
                limit: SpendLimit::PerDay,
                cap,
                left,
            });
        }
        exceeded.extend(self.exceeded_at(&order.method, amount, before, now));
        exceeded.extend(key.into_iter().flat_map(|key| key.exceeded(amount, now)));
        exceeded
    }

    /// Whether the owner can be asked about a spend of this amount: the largest cap that the service allows cannot be
    /// passed.
    pub fn is_approvable(&self, amount: Usdc) -> bool {
        self.caps.approvals && amount <= in_usdc(WalletCaps::MAX_PER_CALL)
    }

    /// Whether the approval is for this spend and passes every limit that the spend exceeds.
    pub(super) fn is_passed_by(
        &self,
        approval: &UsableApproval,
        spend: &WalletSpend,
        exceeded: &[ExceededLimit],
        now: Timestamp,
    ) -> bool {
        self.is_approvable(spend.order.amount)
            && now < approval.expires_at
            && approval.terms == spend.terms()
            && exceeded.iter().all(|over| approval.limits.contains(&over.limit))
    }
}

/// The refusal by a limit.
pub fn refusal_of(exceeded: &ExceededLimit) -> Rejection {
    match *exceeded {
        ExceededLimit {
            limit: SpendLimit::PerCall,
            cap,
            ..
        } => Rejection::PerCallCap { cap },
        ExceededLimit {
            limit: SpendLimit::PerDay,
            cap,
            left,
        } => Rejection::DailyCap { cap, left },
        ExceededLimit {
            limit: SpendLimit::KeyPerCall,
            cap,
            ..
        } => Rejection::KeyPerCallCap { cap },
        ExceededLimit {
            limit: SpendLimit::KeyPerDay,
            cap,
            left,
        } => Rejection::KeyDailyCap { cap, left },
        over => Rejection::OverLimit(over),
    }
}
