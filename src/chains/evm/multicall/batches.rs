//! Divides payments into transactions. No I/O.

use std::collections::BTreeSet;

use super::{MAX_CALLS, MAX_GAS};

/// Gas limits of settlements. Measured with USDC's proxy on Base: 61,105 to 90,053 for a single payment. In batches:
/// 39,000 to 49,000 per call, with a token without proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasSettings {
    /// One call of a batch, including its calldata. Default 75,000.
    pub call: u64,
    /// A batch without its calls. Default 60,000.
    pub overhead: u64,
    /// A single payment of a payer without code. Default 150,000.
    pub single: u64,
    /// A single payment of a smart account. A payment that needs more is declined. Default 1,000,000.
    pub smart_account: u64,
    /// Highest gas limit of one transaction. Default and maximum 16,000,000.
    pub transaction: u64,
}

impl Default for GasSettings {
    fn default() -> Self {
        Self {
            call: 75_000,
            overhead: 60_000,
            single: 150_000,
            smart_account: 1_000_000,
            transaction: MAX_GAS,
        }
    }
}

impl GasSettings {
    /// Maximum number of payments in one batch; at least 1.
    pub fn max_calls(&self) -> usize {
        let gas = self.transaction.min(MAX_GAS).saturating_sub(self.overhead);
        let calls = gas.checked_div(self.call).unwrap_or(u64::MAX);
        usize::try_from(calls).unwrap_or(MAX_CALLS).clamp(1, MAX_CALLS)
    }

    /// Gas limit of a batch of this many payments.
    pub fn batch_limit(&self, calls: usize) -> u64 {
        let calls = u64::try_from(calls).unwrap_or(u64::MAX);
        let gas = self.call.saturating_mul(calls).saturating_add(self.overhead);
        gas.min(self.transaction).min(MAX_GAS)
    }
}

/// A payment that waits for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<P> {
    /// Identifies the payment.
    pub payment: P,
    /// Whether the payer's address has code now (ERC-1271, or a delegation of EIP-7702).
    pub has_code: bool,
}

/// How often the payments of a group have failed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// They have not failed yet.
    First,
    /// Once: payers with code have been separated from the rest.
    Separated,
    /// More than once: the group is halved each time.
    Halved,
}

/// Payments of one transaction: one goes directly to the token, several through Multicall3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group<P> {
    /// The payments, at least one.
    pub payments: Vec<P>,
    /// How often they have failed together.
    pub stage: Stage,
    /// Gas limit of the transaction.
    pub gas_limit: u64,
}

/// Divides waiting payments into transactions, in the order of arrival. A payer with code never shares one: a contract
/// that uses up the gas would make the whole batch fail.
pub fn plan<P: Copy>(candidates: &[Candidate<P>], gas: &GasSettings) -> Vec<Group<P>> {
    divide(candidates, gas, Stage::First)
}

/// Divides a group whose transaction failed as a whole. First, payers that now have code (`has_code`) go alone and the
/// rest together. If none has code, or that failed too, the group is halved. Empty after a single payment: it caused
/// the failure itself.
pub fn after_failure<P: Copy + Ord>(failed: &Group<P>, has_code: &BTreeSet<P>, gas: &GasSettings) -> Vec<Group<P>> {
    if failed.payments.len() <= 1 {
        return Vec::new();
    }
    let candidate = |payment: &P| Candidate {
        payment: *payment,
        has_code: has_code.contains(payment),
    };
    let candidates: Vec<_> = failed.payments.iter().map(candidate).collect();
    let found = candidates.iter().any(|candidate| candidate.has_code);
    if failed.stage == Stage::First && found {
        return divide(&candidates, gas, Stage::Separated);
    }
    let (alone, rest): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|candidate| candidate.has_code);
    let (left, right) = rest.split_at(rest.len().div_ceil(2));
    let mut groups = divide(left, gas, Stage::Halved);
    groups.extend(divide(right, gas, Stage::Halved));
    groups.extend(divide(&alone, gas, Stage::Halved));
    groups
}

// Batches come first: single payments do not delay them.
fn divide<P: Copy>(candidates: &[Candidate<P>], gas: &GasSettings, stage: Stage) -> Vec<Group<P>> {
    let (alone, together): (Vec<&Candidate<P>>, Vec<_>) = candidates.iter().partition(|candidate| candidate.has_code);
    let payments: Vec<P> = together.iter().map(|candidate| candidate.payment).collect();
    let batches = payments.chunks(gas.max_calls()).map(|payments| Group {
        payments: payments.to_vec(),
        stage,
        gas_limit: match payments.len() {
            1 => gas.single,
            calls => gas.batch_limit(calls),
        },
    });
    let alone = alone.iter().map(|candidate| Group {
        payments: vec![candidate.payment],
        stage,
        gas_limit: gas.smart_account,
    });
    batches.chain(alone).collect()
}
