//! Limits of an API key, and what its sessions have spent of them.
//!
//! Two entities spend for a key: the managed wallet and the account. What was spent is therefore a row of its own. The
//! batch of each spend writes it on the condition that it is as it was read, so that no two spends use the same part.

use purser_storage::codec::{self, Stored};
use serde::Serialize;

use crate::answer::ExactDecimal;
use crate::entity::account::counted_day;
use crate::entity::spend_approval::{ExceededLimit, SpendLimit};
use crate::id::ApiKeyId;
use crate::kernel::{Context, Decision, Entity, table};
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;

/// Limits that the account owner has set for a key, in US dollars; USDC counts one to one. `None` is without a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct KeyLimits {
    /// Limit per payment, transfer or withdrawal.
    pub per_call: Option<Cents>,
    /// Limit per day (UTC).
    pub per_day: Option<Cents>,
}

/// Limits of an API key.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = ApiKeyLimits))]
pub struct KeyLimitsView {
    /// Limit per payment, transfer or withdrawal in US dollars; null without one.
    #[cfg_attr(feature = "documents", schema(required))]
    pub per_call_usd: Option<ExactDecimal>,
    /// Limit per day (UTC) in US dollars; null without one.
    #[cfg_attr(feature = "documents", schema(required))]
    pub per_day_usd: Option<ExactDecimal>,
}

impl From<&KeyLimits> for KeyLimitsView {
    fn from(limits: &KeyLimits) -> Self {
        Self {
            per_call_usd: limits.per_call.map(ExactDecimal::from),
            per_day_usd: limits.per_day.map(ExactDecimal::from),
        }
    }
}

/// What the sessions of a key, or all agents from the balances of an account, reserved or spent on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct KeyUsage {
    /// Day (UTC), since the epoch.
    day: u32,
    /// Reserved or spent on that day.
    used: Usdc,
}

impl Stored for KeyUsage {
    const SCHEMA: u16 = 762;
}

impl KeyUsage {
    /// The usage with a spend of this amount. More than the largest amount is no limit's concern.
    pub(crate) fn plus(&self, amount: Usdc, now: Timestamp) -> Self {
        let used = self.used_on(now).checked_add(amount);
        Self {
            day: counted_day(now, self.day),
            used: used.unwrap_or(Usdc::from_atomic(u64::MAX)),
        }
    }

    /// Day (UTC) that is counted, since the epoch.
    pub const fn day(&self) -> u32 {
        self.day
    }

    /// Amount reserved or spent on that day.
    pub const fn used(&self) -> Usdc {
        self.used
    }

    /// Amount reserved or spent on the day of `at`, or on a later day that has already been counted.
    pub fn used_on(&self, at: Timestamp) -> Usdc {
        if self.day == counted_day(at, self.day) {
            self.used
        } else {
            Usdc::ZERO
        }
    }
}

/// Limits and usage of a key, as they were read for one spend.
#[derive(Clone, Copy, Debug)]
pub struct KeyAllowance {
    /// The key.
    pub key: ApiKeyId,
    /// Its limits.
    pub limits: KeyLimits,
    /// What was spent.
    pub usage: KeyUsage,
    /// Revision of the row with it; 0 if there is none.
    pub revision: u64,
}

/// Part of a key's usage that a reservation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct KeyShare {
    /// The key.
    pub key: ApiKeyId,
    /// Day that it counts toward.
    pub day: u32,
}

/// A limit above the largest USDC amount has no effect.
fn in_usdc(cents: Cents) -> Usdc {
    Usdc::from_cents(cents).unwrap_or(Usdc::from_atomic(u64::MAX))
}

impl KeyAllowance {
    /// Limits of the key that a spend of this amount exceeds at `now`, the limit per call first.
    pub fn exceeded(&self, amount: Usdc, now: Timestamp) -> Vec<ExceededLimit> {
        let mut exceeded = Vec::new();
        if let Some(cap) = self.limits.per_call.filter(|cap| amount > in_usdc(*cap)) {
            exceeded.push(ExceededLimit {
                limit: SpendLimit::KeyPerCall,
                cap,
                left: in_usdc(cap),
            });
        }
        if let Some(cap) = self.limits.per_day {
            let left = in_usdc(cap).checked_sub(self.usage.used_on(now)).unwrap_or(Usdc::ZERO);
            if amount > left {
                exceeded.push(ExceededLimit {
                    limit: SpendLimit::KeyPerDay,
                    cap,
                    left,
                });
            }
        }
        exceeded
    }

    /// Counts a spend in its batch, and says for which day.
    pub(crate) fn count<E: Entity>(
        &self,
        amount: Usdc,
        decision: Decision<E>,
        context: &Context,
    ) -> (Decision<E>, KeyShare) {
        let usage = self.usage.plus(amount, context.now);
        let (key, day) = (self.key, usage.day);
        (self.write(usage, decision), KeyShare { key, day })
    }

    /// Gives back what was counted for a spend that was not made. A past day needs nothing back.
    pub(crate) fn release<E: Entity>(&self, share: KeyShare, amount: Usdc, decision: Decision<E>) -> Decision<E> {
        let KeyUsage { day, used } = self.usage;
        if share.key != self.key || share.day != day {
            return decision;
        }
        let used = used.checked_sub(amount).unwrap_or(Usdc::ZERO);
        self.write(KeyUsage { day, used }, decision)
    }

    fn write<E: Entity>(&self, usage: KeyUsage, decision: Decision<E>) -> Decision<E> {
        decision.put_revision(table::key_usage(self.key), self.revision, codec::encode(&usage))
    }
}
