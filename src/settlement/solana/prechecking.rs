//! The check of a payment before its claim: one simulation, which preparing the payment does not repeat.

use purser_actors::port::{Decline, SolanaTransfer};
use purser_chains::solana::node::Simulation;
use purser_chains::solana::status::Commitment;

use super::SolanaSettlement;
use super::decline::{insufficient, is_fee_payers, is_insufficient, not_taken, simulated};
use crate::settlement::reads::{Reads, Recent};
use crate::settlement::tally::{PrecheckFigures, Prechecked, Unavailable};

/// Simulations at the same time.
const AT_ONCE: usize = 256;
/// How long a simulation replaces that of preparing, in milliseconds.
const GOOD_MS: u64 = 5_000;
/// How long a low balance is cached, in milliseconds.
const KEPT_MS: u64 = 2_000;
/// Entries of each cache.
const MOST: usize = 10_000;

/// Results of the last seconds, and the limit of reads.
pub(super) struct Prechecks {
    /// Hashes of messages that would execute, and the slot of the simulation.
    good: Recent<[u8; 32], u64>,
    /// Hashes of messages whose amount exceeded the balance. No other payment is declined for that: it may be on the chain already.
    short: Recent<[u8; 32], ()>,
    reads: Reads,
    counted: Prechecked,
}

impl Default for Prechecks {
    fn default() -> Self {
        Self {
            good: Recent::new(GOOD_MS, MOST),
            short: Recent::new(KEPT_MS, MOST),
            reads: Reads::at_once(AT_ONCE),
            counted: Prechecked::default(),
        }
    }
}

impl Prechecks {
    /// Takes the slot of the simulation by which this message would have executed.
    pub(super) fn take_good(&self, message_hash: &[u8; 32], now_ms: u64) -> Option<u64> {
        self.good.take(message_hash, now_ms).map(|(slot, _)| slot)
    }

    /// Why a payment is declined, by its simulation. One that is on the chain already is not: its settlement finds it there.
    fn judge(&self, transfer: &SolanaTransfer, shown: Simulation, now_ms: u64) -> Option<Decline> {
        let Some(error) = shown.error else {
            self.good.insert(transfer.message_hash, shown.slot, now_ms);
            return None;
        };
        // Preparing it says why, and blames nobody else.
        if error.is_already_processed() || is_fee_payers(&error) {
            return None;
        }
        let decline = simulated(&error);
        if is_insufficient(&decline) {
            self.short.insert(transfer.message_hash, (), now_ms);
        }
        Some(decline)
    }
}

impl SolanaSettlement {
    /// See [`purser_actors::port::Settlement::precheck`]. The transaction is simulated as the payer sent it: our fee payer signs
    /// no payment before its claim.
    pub(super) async fn precheck_transfer(&self, transfer: &SolanaTransfer) -> Option<Decline> {
        let answer = self.check_before_claim(transfer).await;
        self.prechecks.counted.count(answer)
    }

    /// Checks before claims since the port was opened.
    pub fn prechecks(&self) -> PrecheckFigures {
        self.prechecks.counted.figures()
    }

    async fn check_before_claim(&self, transfer: &SolanaTransfer) -> Result<Option<Decline>, Unavailable> {
        let refused_for = self.losses.lock().declined_for_ms(&transfer.payer, self.clock.now().0);
        if let Some(ms) = refused_for {
            return Ok(Some(too_many_failures(ms)));
        }
        let now_ms = self.timer.now_ms();
        if self.prechecks.short.get(&transfer.message_hash, now_ms).is_some() {
            return Ok(Some(insufficient()));
        }
        let simulation = self
            .node
            .simulate_unsigned(&transfer.transaction, Commitment::Processed);
        let shown = match self.prechecks.reads.run(simulation).await {
            Some(Ok(shown)) => shown,
            Some(Err(error)) => {
                tracing::warn!(%error, "a payment was not simulated before its claim");
                return Err(Unavailable);
            }
            None => return Err(Unavailable),
        };
        let Some(decline) = self.prechecks.judge(transfer, shown, self.timer.now_ms()) else {
            return Ok(None);
        };
        // A node that looks for the first signature alone does not find the transaction.
        Ok((!self.shows(transfer).await).then_some(decline))
    }
}

/// Of a wallet whose failed payments have cost fees.
pub(super) fn too_many_failures(for_ms: u64) -> Decline {
    let seconds = for_ms.div_ceil(1_000);
    not_taken(&format!(
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
        }
    }

    fn shown(error: Value) -> Simulation {
        Simulation {
            slot: 77,
            error: TransactionError::from_json(&error),
            logs: Vec::new(),
            units: None,
        }
    }

    // Checks: by the result of a simulation: whether the payment is declined, whether the low balance is cached, and whether preparing
    // the payment uses the simulation.
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
            let decline = prechecks.judge(&transfer(5), shown(error.clone()), 0);
            assert_eq!(
                decline.map(|decline| decline.reason.to_string()).as_deref(),
                refused,
                "{error}"
            );
            assert_eq!(
                prechecks.short.get(&[5; 32], KEPT_MS - 1).is_some(),
                is_short,
                "{error}"
            );
            assert_eq!(prechecks.short.get(&[5; 32], KEPT_MS), None, "{error}");
            assert_eq!(prechecks.take_good(&[6; 32], 0), None, "another message");
            assert_eq!(prechecks.take_good(&[5; 32], 0), is_good.then_some(77), "{error}");
            assert_eq!(prechecks.take_good(&[5; 32], 0), None, "used once");
        }
    }
}
