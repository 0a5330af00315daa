//! Fee suggestions from `eth_feeHistory`.

use serde_json::Value;

use super::parse;
use crate::evm::nonces::clamped;
use crate::evm::tx::Fee;

/// Bounds of prices, in wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeePolicy {
    /// Minimum priority fee.
    pub min_priority_fee: u128,
    /// Maximum priority fee.
    pub max_priority_fee: u128,
    pub max_fee: u128,
}

/// A fee suggestion and the base fee behind it, in wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeeQuote {
    /// Suggested fees within the policy.
    pub fee: Fee,
    /// Base fee of the next block. If it is above `fee.max_fee`, no transaction is currently included.
    pub base_fee: u128,
}

/// Twice the next base fee, which grows by at most an eighth per block, and the median priority fee of the blocks.
pub(super) fn quote(history: &Value, policy: FeePolicy) -> Option<FeeQuote> {
    let base_fee = parse::u128(history["baseFeePerGas"].as_array()?.last()?)?;
    let mut rewards = Vec::new();
    // Empty blocks have no rewards, and a chain without any omits the field.
    for reward in history["reward"].as_array().into_iter().flatten() {
        rewards.push(parse::u128(reward.get(0)?)?);
    }
    rewards.sort_unstable();
    let median = rewards.get(rewards.len() / 2).copied().unwrap_or_default();
    let most = policy.max_priority_fee;
    let max_priority_fee = median.max(policy.min_priority_fee).min(most);
    let max_fee = base_fee.saturating_mul(2).saturating_add(max_priority_fee);
    let fee = clamped(
        Fee {
            max_fee,
            max_priority_fee,
        },
        policy.max_fee,
    );
    Some(FeeQuote { fee, base_fee })
}
