//! Checks of a payment before its claim: the payer's balance, and a signature that only the payer's contract can
//! verify. The results are cached for some seconds, so that preparation needs no further read.

use std::sync::Arc;

use purser_actors::port::{Authorization, Decline, EvmAuthorization, PortError, PortFuture};
use purser_chains::evm::node::{BalanceAt, BlockTag, CallError, NodeError};
use purser_chains::evm::{Address, contract_wallet};

use super::BaseSettlement;
use super::checking::{Failure, Verdict, signature_of};
use super::core::{Core, decline};
use super::job::Job;
use super::payer_funds::{CHECKED_TTL_MS, insufficient_with_pending};
use super::paying::payment;
use super::rows::{Key, Payment};
use crate::chain::{Acceptance, ContractWallets};
use crate::errors::temporary;
use crate::precheck_counters::{PrecheckCounters, Unavailable};
use crate::read_limits::{DEADLINE, ReadLimiter, RecentCache};

/// Maximum number of payments that wait for a check. Concurrent payments are checked together.
const MAX_CONCURRENT_CHECKS: usize = 256;
/// The same limit for contract wallets. Each is a separate request, which any client can cause.
const MAX_CONCURRENT_CONTRACT_READS: usize = 16;
/// How long a check also counts for preparation, in milliseconds.
const PASSED_TTL_MS: u64 = 5_000;
/// How long a low balance and an address without code are cached, in milliseconds.
const CACHE_TTL_MS: u64 = 2_000;
/// Maximum number of entries of each cache.
const MAX_CACHED: usize = 10_000;

/// Result for the payer of a payment that would settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassedCheck {
    pub(super) has_code: bool,
    pub(super) balance: Option<BalanceAt>,
}

/// Results of the last seconds, and the limits of reads.
pub(super) struct Prechecks {
    /// Payments that would settle, and the results for their payers.
    passed: RecentCache<Key, (Arc<Payment>, PassedCheck)>,
    /// Payments that exceeded the balance. Other payments are not declined for that: they may already be on the chain.
    insufficient: RecentCache<Key, Arc<Payment>>,
    /// Payers without code.
    plain: RecentCache<Address, ()>,
    read_limiter: ReadLimiter,
    contract_read_limiter: ReadLimiter,
    pub(super) counters: PrecheckCounters,
}

impl Default for Prechecks {
    fn default() -> Self {
        Self {
            passed: RecentCache::new(PASSED_TTL_MS, MAX_CACHED),
            insufficient: RecentCache::new(CACHE_TTL_MS, MAX_CACHED),
            plain: RecentCache::new(CACHE_TTL_MS, MAX_CACHED),
            read_limiter: ReadLimiter::with_limit(MAX_CONCURRENT_CHECKS),
            contract_read_limiter: ReadLimiter::with_limit(MAX_CONCURRENT_CONTRACT_READS),
            counters: PrecheckCounters::default(),
        }
    }
}

/// Decline reason of a balance that is too low.
const INSUFFICIENT_FUNDS: &str = "insufficient_funds";

/// Whether a signature not made by the payer's key is valid, according to a check of the payment. `None` if the nonce
/// is used: then the token does not verify the signature. `deploys`: the payment's transaction deploys the payer's
/// contract.
fn acceptance(verdict: &Verdict, deploys: bool) -> Option<Acceptance> {
    if !verdict.has_code && !deploys {
        return Some(Acceptance::NotAContract);
    }
    match &verdict.failure {
        None => Some(Acceptance::Accepted),
        Some(Failure::Used) => None,
        // The token verifies the signature before it reads the balance.
        Some(Failure::Declined(decline)) if decline.reason == INSUFFICIENT_FUNDS => Some(Acceptance::Accepted),
        Some(Failure::Declined(decline)) if decline.reason == "invalid_exact_evm_signature" => {
            Some(Acceptance::NotAccepted)
        }
        Some(Failure::Declined(decline)) => Some(Acceptance::Declined(decline.clone())),
    }
}

/// Why a checked payment is not claimed. One whose nonce is used may be on the chain: its settlement finds it there.
fn verdict_decline(verdict: &Verdict) -> Option<Decline> {
    match &verdict.failure {
        Some(Failure::Declined(decline)) => Some(decline.clone()),
        Some(Failure::Used) | None => None,
    }
}

impl Prechecks {
    fn cache(&self, payment: &Arc<Payment>, verdict: &Verdict, now_ms: u64) {
        let payer = Address::from(payment.from);
        if !verdict.has_code {
            self.plain.insert(payer, (), now_ms);
        }
        match &verdict.failure {
            None => {
                let good = PassedCheck {
                    has_code: verdict.has_code,
                    balance: verdict.balance,
                };
                self.passed.insert(payment.key(), (payment.clone(), good), now_ms);
            }
            Some(Failure::Declined(decline)) if decline.reason == INSUFFICIENT_FUNDS => {
                self.insufficient.insert(payment.key(), payment.clone(), now_ms);
            }
            Some(_) => {}
        }
    }

    fn passed(&self, payment: &Payment, now_ms: u64) -> Option<(PassedCheck, u64)> {
        let ((checked, good), at_ms) = self.passed.get(&payment.key(), now_ms)?;
        (*checked == *payment).then_some((good, at_ms))
    }

    fn is_insufficient(&self, payment: &Payment, now_ms: u64) -> bool {
        let short = self.insufficient.get(&payment.key(), now_ms);
        short.is_some_and(|(short, _)| *short == *payment)
    }

    /// Removes and returns the result for exactly this payment if it would have settled, and the time of the check.
    pub(super) fn take_passed(&self, payment: &Payment, now_ms: u64) -> Option<(PassedCheck, u64)> {
        let ((checked, good), at_ms) = self.passed.take(&payment.key(), now_ms)?;
        (*checked == *payment).then_some((good, at_ms))
    }
}

impl Core {
    /// Why payments of this payer are declined for some time.
    pub(super) fn loss_limit_decline(&self, payer: &Address) -> Option<Decline> {
        self.exceeds_loss_limit(payer).then(|| {
            let why = "transactions of this payer have failed too often within an hour";
            decline("invalid_exact_evm_transaction_simulation_failed", why)
        })
    }

    /// Calls the payer's contract (ERC-1271).
    async fn contract_accepts(&self, payment: &Payment) -> Result<Acceptance, NodeError> {
        let digest = self.token.transfer_digest(&payment.authorization());
        let payer = Address::from(payment.from);
        let call = contract_wallet::signature_call(digest, &signature_of(payment));
        let request = self.request(payer, call.into(), self.settings.gas.smart_account);
        match self.node.call(&request, BlockTag::Latest).await {
            Ok(returned) if contract_wallet::accepts(&returned) => Ok(Acceptance::Accepted),
            Ok(_) | Err(CallError::Reverted { .. }) => Ok(Acceptance::NotAccepted),
            Err(CallError::Node(error)) => Err(error),
        }
    }
}

impl BaseSettlement {
    pub(super) async fn precheck_payment(&self, authorization: &Authorization) -> Option<Decline> {
        let payment = Arc::new(payment("precheck", authorization).ok()?);
        // Includes the time spent waiting for the read.
        let answer = tokio::time::timeout(DEADLINE, self.check_before_claim(&payment)).await;
        self.core
            .prechecks
            .counters
            .record_result(answer.unwrap_or(Err(Unavailable)))
    }

    async fn check_before_claim(&self, payment: &Arc<Payment>) -> Result<Option<Decline>, Unavailable> {
        let (core, payer) = (&self.core, Address::from(payment.from));
        let now_ms = core.clock.now_ms();
        if let Some(decline) = core.loss_limit_decline(&payer) {
            return Ok(Some(decline));
        }
        if let Some((good, at_ms)) = core.prechecks.passed(payment, now_ms) {
            if self.has_funds_before_claim(payment, good.balance).await? {
                return Ok(None);
            }
            if now_ms < at_ms.saturating_add(CACHE_TTL_MS) {
                return Ok(Some(insufficient_with_pending()));
            }
        }
        if core.prechecks.is_insufficient(payment, now_ms) {
            let why = "the payer's balance was lower than the amount some seconds ago";
            return Ok(Some(decline(INSUFFICIENT_FUNDS, why)));
        }
        let job = Arc::new(Job::Payment(Payment::clone(payment)));
        let checked = async {
            let verdict = match self.check_queue.submit(core, job).await {
                Ok(verdict) => verdict,
                Err(error) => {
                    tracing::warn!(error, "a payment was not checked before its claim");
                    return Err(Unavailable);
                }
            };
            core.prechecks.cache(payment, &verdict, core.clock.now_ms());
            match verdict.failure {
                None if !self.has_funds_before_claim(payment, verdict.balance).await? => {
                    Ok(Some(insufficient_with_pending()))
                }
                _ => Ok(verdict_decline(&verdict)),
            }
        };
        core.prechecks
            .read_limiter
            .run(checked)
            .await
            .unwrap_or(Err(Unavailable))
    }

    /// Same contract as [`Core::has_funds`].
    async fn has_funds_before_claim(&self, payment: &Payment, held: Option<BalanceAt>) -> Result<bool, Unavailable> {
        self.core
            .has_funds(payment, held, CHECKED_TTL_MS)
            .await
            .map_err(|error| {
                tracing::warn!(%error, "a payment was not checked before its claim");
                Unavailable
            })
    }

    async fn check_signature(&self, signed: &EvmAuthorization) -> Result<Acceptance, PortError> {
        const LATE: &str = "the chain does not answer in time";
        let payment = Arc::new(payment("accepts", &Authorization::Evm(signed.clone()))?);
        let (core, payer) = (&self.core, Address::from(payment.from));
        let (prechecks, now_ms) = (&core.prechecks, core.clock.now_ms());
        if let Some(decline) = core.loss_limit_decline(&payer) {
            return Ok(Acceptance::Declined(decline));
        }
        if prechecks.passed(&payment, now_ms).is_some() {
            return Ok(Acceptance::Accepted);
        }
        let deploys = payment.deploys();
        if !deploys && prechecks.plain.get(&payer, now_ms).is_some() {
            return Ok(Acceptance::NotAContract);
        }
        let late = || temporary("accepts", LATE);
        let failed = |error: NodeError| temporary("accepts", error);
        let job = Job::Payment(Payment::clone(&payment));
        prechecks.counters.record_read();
        let read = prechecks.contract_read_limiter.run(core.check_one(&job)).await;
        let verdict = read.ok_or_else(late)?.map_err(failed)?;
        if let Some(acceptance) = acceptance(&verdict, deploys) {
            // The payer has not made a rejected signature, so nothing is cached for the payer.
            if acceptance != Acceptance::NotAccepted {
                prechecks.cache(&payment, &verdict, core.clock.now_ms());
            }
            return Ok(acceptance);
        }
        let read = prechecks
            .contract_read_limiter
            .run(core.contract_accepts(&payment))
            .await;
        read.ok_or_else(late)?.map_err(failed)
    }
}

impl ContractWallets for BaseSettlement {
    fn accepts<'a>(&'a self, signed: &'a EvmAuthorization) -> PortFuture<'a, Acceptance> {
        Box::pin(self.check_signature(signed))
    }
}

#[cfg(test)]
mod tests;
