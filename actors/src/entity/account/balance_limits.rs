//! Limits set by the account owner on what agents take out of the balances of the account: withdrawals, and payouts and
//! transfers to banks.

use serde::Serialize;

use crate::answer::ExactDecimal;
use crate::entity::spend_approval::{ExceededLimit, SpendLimit};
use crate::money::{Cents, Usdc};

/// Owner's limits on what agents take out of the balances, in US dollars; USDC counts one to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BalanceLimits {
    /// Limit per withdrawal, payout or transfer; `None` is without a limit.
    pub per_call: Option<Cents>,
    /// Limit per day (UTC), of all agents together; `None` is without a limit.
    pub per_day: Option<Cents>,
    /// Whether a spend over one of these limits, or over a limit of the agent's API key, waits for the owner's approval.
    /// If not, it is refused.
    pub approvals: bool,
}

/// Limits on what agents take out of the balances of the account.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = BalanceLimits))]
pub struct BalanceLimitsView {
    /// Limit per withdrawal, payout or transfer in US dollars; null without one.
    #[cfg_attr(feature = "documents", schema(required))]
    pub per_call_usd: Option<ExactDecimal>,
    /// Limit per day (UTC) of all agents together in US dollars; null without one.
    #[cfg_attr(feature = "documents", schema(required))]
    pub per_day_usd: Option<ExactDecimal>,
    /// Whether what is over a limit waits for the owner's approval.
    pub approvals: bool,
}

impl BalanceLimits {
    pub(super) fn view(&self) -> Option<BalanceLimitsView> {
        (*self != Self::default()).then(|| BalanceLimitsView {
            per_call_usd: self.per_call.map(ExactDecimal::from),
            per_day_usd: self.per_day.map(ExactDecimal::from),
            approvals: self.approvals,
        })
    }

    /// Limits that a spend of this amount exceeds, after `taken` of the day.
    pub fn exceeded(&self, amount: Usdc, taken: Usdc) -> Vec<ExceededLimit> {
        let over = |limit, cap: Option<Cents>, taken: Usdc| {
            let cap = cap?;
            // A limit above the largest USDC amount has no effect.
            let whole = Usdc::from_cents(cap).unwrap_or(Usdc::from_atomic(u64::MAX));
            let left = whole.checked_sub(taken).unwrap_or(Usdc::ZERO);
            (amount > left).then_some(ExceededLimit { limit, cap, left })
        };
        let per_call = over(SpendLimit::BalancePerCall, self.per_call, Usdc::ZERO);
        let per_day = over(SpendLimit::BalancePerDay, self.per_day, taken);
        per_call.into_iter().chain(per_day).collect()
    }
}
