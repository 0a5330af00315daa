//! Check of a payment before its claim: one simulation, which preparation does not repeat.

use std::time::Duration;

use futures_util::future::select_all;
use purser_actors::port::{Decline, SolanaTransfer};
use purser_chains::solana::node::{Account, Simulation};
use purser_chains::solana::status::Commitment;
use purser_chains::solana::transaction::Transaction;

use super::SolanaSettlement;
use super::decline::{
    insufficient, insufficient_with_pending, is_fee_payer_error, is_insufficient, not_accepted, simulated,
};
use super::in_flight::{FundsCheck, PaymentDebit, RemainingBalance, debit_from_bytes};
use crate::precheck_counters::{PrecheckCounters, PrecheckStats, Unavailable};
use crate::read_limits::{ReadLimiter, RecentCache};

/// Maximum number of concurrent simulations.
const MAX_CONCURRENT_SIMULATIONS: usize = 256;
/// How long a simulation also counts for preparation, in milliseconds.
const PASSED_TTL_MS: u64 = 5_000;
/// How long a low balance is cached, in milliseconds.
const CACHE_TTL_MS: u64 = 2_000;
/// How long to wait until it is known whether other payments of the wallet settled before the simulation, in
/// milliseconds.
const CHANGE_TIMEOUT_MS: u64 = 1_000;
/// A payment whose blockhash expires within this number of blocks (a few seconds) is declined: it may not settle in
/// time.
const MIN_BLOCKS_LEFT: u64 = 10;
/// Maximum number of entries of each cache.
const MAX_CACHED: usize = 10_000;

/// Results of the last seconds, and the limit on reads.
pub(super) struct Prechecks {
    /// Hashes of messages that would execute, and the balance left by the simulation.
    passed: RecentCache<[u8; 32], RemainingBalance>,
    /// Hashes of messages whose amount exceeded the balance. Other payments are not declined for that: they may already
    /// be on the chain.
    insufficient: RecentCache<[u8; 32], ()>,
    read_limiter: ReadLimiter,
    pub(super) counters: PrecheckCounters,
}

impl Default for Prechecks {
    fn default() -> Self {
        Self {
            passed: RecentCache::new(PASSED_TTL_MS, MAX_CACHED),
            insufficient: RecentCache::new(CACHE_TTL_MS, MAX_CACHED),
            read_limiter: ReadLimiter::with_limit(MAX_CONCURRENT_SIMULATIONS),
            counters: PrecheckCounters::default(),
        }
    }
}

impl Prechecks {
    /// Removes and returns the balance left by the simulation that passed for this message.
    pub(super) fn take_passed(&self, message_hash: &[u8; 32], now_ms: u64) -> Option<RemainingBalance> {
        self.passed.take(message_hash, now_ms).map(|(left, _)| left)
    }

    /// The result of a payment's simulation. A payment that is already on the chain is not declined: its settlement
    /// finds it there.
    fn evaluate(&self, transfer: &SolanaTransfer, shown: &Simulation, now_ms: u64) -> PrecheckResult {
        let Some(error) = &shown.error else {
            let left = remaining_balance(shown);
            self.passed.insert(transfer.message_hash, left, now_ms);
            return PrecheckResult::Passed(left);
        };
        // Preparation reports the reason; the payer is not at fault.
        if error.is_already_processed() || is_fee_payer_error(error) {
            return PrecheckResult::Undecided;
        }
        let decline = simulated(error);
        if is_insufficient(&decline) {
            self.insufficient.insert(transfer.message_hash, (), now_ms);
        }
        PrecheckResult::Declined(decline)
    }
}

/// Result of a payment's simulation.
#[derive(Debug)]
enum PrecheckResult {
    Passed(RemainingBalance),
    /// The decision is left to the preparation.
    Undecided,
    Declined(Decline),
}

/// The balance that a payment's simulation leaves in the requested token account.
pub(super) fn remaining_balance(shown: &Simulation) -> RemainingBalance {
    let account = shown.account.as_ref().and_then(Account::token_account);
    RemainingBalance {
        slot: shown.slot,
        atomic: account.map(|account| account.amount),
    }
}

impl SolanaSettlement {
    /// See [`purser_actors::port::Settlement::precheck`]. The transaction is simulated without signatures: our fee
    /// payer signs no payment before its claim.
    pub(super) async fn precheck_transfer(&self, transfer: &SolanaTransfer) -> Option<Decline> {
        let answer = self.check_before_claim(transfer).await;
        self.prechecks.counters.record_result(answer)
    }

    /// Checks before claims since the port was opened.
    pub fn prechecks(&self) -> PrecheckStats {
        self.prechecks.counters.stats()
    }

    async fn check_before_claim(&self, transfer: &SolanaTransfer) -> Result<Option<Decline>, Unavailable> {
        let refused_for = self.losses.lock().declined_for_ms(&transfer.payer, self.clock.now().0);
        if let Some(ms) = refused_for {
            return Ok(Some(too_many_failures(ms)));
        }
        let now_ms = self.timer.now_ms();
        if self
            .prechecks
            .insufficient
            .get(&transfer.message_hash, now_ms)
            .is_some()
        {
            return Ok(Some(insufficient()));
        }
        let taking = self.debit_for(transfer);
        let source = taking.as_ref().map(|taking| &taking.source);
        self.prechecks.counters.record_read();
        let simulation = self
            .node
            .simulate_unsigned(&transfer.transaction, source, Commitment::Processed);
        let shown = match self.prechecks.read_limiter.run(simulation).await {
            Some(Ok(shown)) => shown,
            Some(Err(error)) => {
                tracing::warn!(%error, "a payment was not simulated before its claim");
                return Err(Unavailable);
            }
            None => return Err(Unavailable),
        };
        match self.prechecks.evaluate(transfer, &shown, self.timer.now_ms()) {
            PrecheckResult::Passed(_) if self.tip.lock().ends_within(&transfer.blockhash, MIN_BLOCKS_LEFT) => {
                Ok(Some(expires_soon()))
            }
            PrecheckResult::Passed(left) => Ok((!self.has_funds(taking, left).await).then(insufficient_with_pending)),
            PrecheckResult::Undecided => Ok(None),
            // A node that looks up only the first signature does not find the transaction.
            PrecheckResult::Declined(decline) => Ok((!self.is_on_chain(transfer).await).then_some(decline)),
        }
    }

    /// The debit of a payment whose fee we pay. Facilitators pay their fees at their own risk. The ledger checks the
    /// treasury's own payments.
    pub(super) fn debit_for(&self, transfer: &SolanaTransfer) -> Option<PaymentDebit> {
        let transaction = Transaction::parse_without_tables(&transfer.transaction).ok()?;
        self.fee_payer_of(&transaction.message)?;
        (transfer.payer != self.treasury()).then(|| debit_from_bytes(&transfer.transaction))?
    }

    /// Whether the wallet can cover this payment in addition to its other pending ones. Makes no queries. If it is not
    /// known whether another payment settled before the simulation, the queries already made for that payment decide.
    pub(super) async fn has_funds(&self, taking: Option<PaymentDebit>, left: RemainingBalance) -> bool {
        let Some(taking) = taking else { return true };
        let began_ms = self.timer.now_ms();
        loop {
            let now_ms = self.timer.now_ms();
            let mut changes = match self.in_flight.lock().check_funds(&taking, left, now_ms) {
                FundsCheck::Sufficient => return true,
                FundsCheck::Insufficient => return false,
                FundsCheck::Undetermined(changes) => changes,
            };
            let waits_ms = CHANGE_TIMEOUT_MS.saturating_sub(now_ms.saturating_sub(began_ms));
            let changed = select_all(changes.iter_mut().map(|change| Box::pin(change.changed())));
            if tokio::time::timeout(Duration::from_millis(waits_ms), changed)
                .await
                .is_err()
            {
                return false;
            }
        }
    }
}

/// The decline of a payment that may expire before it settles.
fn expires_soon() -> Decline {
    not_accepted("the blockhash expires within seconds: sign the payment again with a newer one")
}

/// The decline of a wallet whose failed payments have cost fees.
pub(super) fn too_many_failures(for_ms: u64) -> Decline {
    let seconds = for_ms.div_ceil(1_000);
    not_accepted(&format!(
        "payments of this wallet failed too often: try again in {seconds} s"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use purser_actors::money::Usdc;
    use purser_chains::solana::status::TransactionError;
    use serde_json::{Value, json};

    use super::*;

    fn transfer(n: u8) -> SolanaTransfer {
        SolanaTransfer {
            transaction: Vec::new(),
            message_hash: [n; 32],
            payer: [9; 32],
            value: Usdc::from_atomic(u64::from(n)),
            blockhash: [0; 32],
            not_before_slot: 0,
        }
    }

    fn shown(error: Value) -> Simulation {
        Simulation {
            slot: 77,
            error: TransactionError::from_json(&error),
            logs: Vec::new(),
            units: None,
            account: None,
        }
    }

    // Checks: for each simulation result, whether the payment is declined, whether the low balance is cached, and
    // whether preparation uses the simulation.
    #[test]
    fn the_result_of_a_simulation_before_the_claim() {
        let custom = |number: u32| json!({"InstructionError": [2, {"Custom": number}]});
        let failed = "invalid_exact_svm_transaction_simulation_failed";
        let table = [
            (Value::Null, None, false, true),
            (json!("AlreadyProcessed"), None, false, false),
            (custom(1), Some("insufficient_funds"), true, false),
            (custom(17), Some(failed), false, false),
            (json!("BlockhashNotFound"), Some(failed), false, false),
        ];
        for (error, refused, is_short, is_good) in table {
            let prechecks = Prechecks::default();
            let declined = match prechecks.evaluate(&transfer(5), &shown(error.clone()), 0) {
                PrecheckResult::Declined(decline) => Some(decline.reason.to_string()),
                PrecheckResult::Passed(_) | PrecheckResult::Undecided => None,
            };
            assert_eq!(declined.as_deref(), refused, "{error}");
            assert_eq!(
                prechecks.insufficient.get(&[5; 32], CACHE_TTL_MS - 1).is_some(),
                is_short,
                "{error}"
            );
            assert_eq!(prechecks.insufficient.get(&[5; 32], CACHE_TTL_MS), None, "{error}");
            assert_eq!(prechecks.take_passed(&[6; 32], 0), None, "another message");
            let left = RemainingBalance { slot: 77, atomic: None };
            assert_eq!(prechecks.take_passed(&[5; 32], 0), is_good.then_some(left), "{error}");
            assert_eq!(prechecks.take_passed(&[5; 32], 0), None, "used once");
        }
    }
}
