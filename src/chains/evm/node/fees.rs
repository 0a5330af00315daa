//! Prices by `eth_feeHistory`.

use serde_json::Value;

use super::parse;
use crate::evm::nonces::clamped;
use crate::evm::tx::Fee;

/// Bounds of prices, in wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeePolicy {
    /// Least priority fee.
    pub min_priority_fee: u128,
    /// Highest priority fee.
    pub max_priority_fee: u128,
    /// Highest `max_fee`.
    pub max_fee: u128,
}

/// A price and what it rests on, in wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeeQuote {
    /// Within the policy.
    pub fee: Fee,
    /// Of the next block. Above `fee.max_fee` nothing lands at present.
    pub base_fee: u128,
}

/// Twice the next base fee, which grows by at most an eighth a block, and the median priority fee of the blocks.
pub(super) fn quote(history: &Value, policy: FeePolicy) -> Option<FeeQuote> {
    let base_fee = parse::u128(history["baseFeePerGas"].as_array()?.last()?)?;
    let mut rewards = Vec::new();
    // Empty blocks have no rewards, and a chain without any leaves the field out.
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
