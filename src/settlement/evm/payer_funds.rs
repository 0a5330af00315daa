//! Whether a payer can cover one more payment in addition to its pending ones ([`pending_debits`]). Of several payments
//! presented together one would settle; the others would cost simulations and gas.
//!
//! Payments that a gas key has are read from the durable rows at a start. Payments that were only checked or prepared
//! are not read: the engine submits prepared ones again, and all others are checked again.

use std::collections::HashSet;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::port::Decline;
use purser_chains::evm::Address;
use purser_chains::evm::node::BalanceAt;

use super::core::{Core, decline};
use super::job::Job;
use super::rows::{Key, Payment, RowError};
use crate::pending_debits;

/// How long a payment checked before its claim counts until it is prepared, in milliseconds.
pub(super) const CHECKED_TTL_MS: u64 = 2_000;
/// How long a prepared payment counts until it is submitted, in milliseconds: the engine stores it in between.
pub(super) const PREPARED_TTL_MS: u64 = 10_000;
/// How long a payment waits until the block of the requested balance was read, in milliseconds.
const BLOCK_READ_TIMEOUT_MS: u64 = 1_000;

type PaymentDebit = pending_debits::Debit<Address, Key>;

/// A payment owned by a gas key.
#[derive(Clone, Copy, Debug)]
struct InFlightPayment {
    key: Key,
    atomic: u64,
    /// The token rejects the payment from this second on.
    valid_before: u64,
}

/// Pending debits by payer.
#[derive(Debug, Default)]
pub(super) struct PayerDebits(Mutex<pending_debits::PendingDebits<Address, Key, InFlightPayment>>);

/// A check whether one payment is covered.
#[derive(Clone, Copy, Debug)]
struct FundsRequest {
    debit: PaymentDebit,
    atomic: u64,
    /// Time of the newest block that was read, in seconds.
    chain_s: u64,
    now_ms: u64,
    ttl_ms: u64,
}

const fn debit_for(payment: &Payment, key: Key) -> PaymentDebit {
    PaymentDebit {
        source: key.from,
        payment: key,
        atomic: payment.value.atomic(),
    }
}

/// The decline of a payer that can cover this payment, but not together with its pending ones.
pub(super) fn insufficient_with_pending() -> Decline {
    let why = "the payer holds less than this amount and its other payments in progress";
    decline("insufficient_funds", why)
}

impl PayerDebits {
    fn add(&self, payment: &Payment) {
        let key = payment.key();
        let under_way = InFlightPayment {
            key,
            atomic: payment.value.atomic(),
            valid_before: payment.valid_before,
        };
        let mut takings = self.0.lock();
        takings.remove_in_flight(&key.from, |other| other.key == key);
        takings.add_in_flight(&debit_for(payment, key), under_way);
    }

    fn remove(&self, key: &Key) {
        self.0.lock().remove_in_flight(&key.from, |other| other.key == *key);
    }

    /// Other payments of the same payer that may still be debited.
    fn other_pending(&self, asked: &FundsRequest) -> Vec<Key> {
        let takings = self.0.lock();
        let open = takings.in_flight(&asked.debit.source).iter();
        open.filter(|other| other.may_settle(asked.chain_s))
            .map(|other| other.key)
            .collect()
    }

    /// Whether the payment is covered after all others, except those already debited from the balance. If so, it is
    /// reserved from now on.
    fn try_reserve(&self, asked: &FundsRequest, gone: &HashSet<Key>) -> bool {
        let (taking, now_ms) = (&asked.debit, asked.now_ms);
        let mut takings = self.0.lock();
        let under_way = takings.in_flight(&taking.source);
        // The payment already counts.
        if under_way.iter().any(|other| other.key == taking.payment) {
            return true;
        }
        let open = under_way.iter().filter(|other| other.may_settle(asked.chain_s));
        let open = open.filter(|other| !gone.contains(&other.key));
        let open = open.fold(taking.atomic, |sum, other| sum.saturating_add(other.atomic));
        let checked = takings.checked(taking, now_ms);
        let fits = checked.is_none_or(|checked| asked.atomic >= open.saturating_add(checked));
        if fits {
            takings.check(taking, now_ms, asked.ttl_ms);
        }
        fits
    }
}

impl InFlightPayment {
    const fn may_settle(&self, chain_s: u64) -> bool {
        chain_s < self.valid_before
    }
}

impl Core {
    /// Counts a payment that a gas key now has.
    pub(super) fn track_payment(&self, job: &Job) {
        if let Job::Payment(payment) = job
            && payment.from != self.treasury()
        {
            self.payer_debits.add(payment);
        }
    }

    /// Removes a payment that no gas key has any more.
    pub(super) fn release_payment(&self, key: &Key) {
        self.owners.remove(key);
        self.payer_debits.remove(key);
    }

    /// Whether the payer can cover this payment in addition to its pending ones. If so, the payment counts for this
    /// number of milliseconds, or until it is submitted. `held` is the payer's balance when it was checked. Makes no
    /// queries: once that block was read, the rows show which other payments settled by then.
    ///
    /// The ledger checks payments of the treasury. Payments sent by facilitators cost us no gas, and facilitators do
    /// not report when they have failed.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub(super) async fn has_funds(
        &self,
        payment: &Payment,
        held: Option<BalanceAt>,
        for_ms: u64,
    ) -> Result<bool, RowError> {
        if payment.from == self.treasury() || !self.can_send() {
            return Ok(true);
        }
        let mut asked = FundsRequest {
            debit: debit_for(payment, payment.key()),
            // The endpoint does not report a balance: the simulation is then the only check.
            atomic: held.map_or(u64::MAX, |held| held.atomic),
            chain_s: 0,
            now_ms: self.clock.now_ms(),
            ttl_ms: for_ms,
        };
        if self.payer_debits.try_reserve(&asked, &HashSet::new()) {
            return Ok(true);
        }
        let Some(held) = held else { return Ok(true) };
        if self.has_funds_by_rows(&mut asked, held.block).await? {
            return Ok(true);
        }
        let read = self.wait_until_read(held.block);
        // After that, payments count as the rows show them.
        let _ = tokio::time::timeout(Duration::from_millis(BLOCK_READ_TIMEOUT_MS), read).await;
        self.has_funds_by_rows(&mut asked, held.block).await
    }

    /// Repeats the check without payments that settled up to this block or have expired, as far as the chain was read.
    async fn has_funds_by_rows(&self, asked: &mut FundsRequest, block: u64) -> Result<bool, RowError> {
        asked.chain_s = self.view().tip().map_or(0, |tip| tip.timestamp);
        let mut gone = HashSet::new();
        for key in self.payer_debits.other_pending(asked) {
            if self.was_used_by(&key, block).await? {
                gone.insert(key);
            }
        }
        asked.now_ms = self.clock.now_ms();
        Ok(self.payer_debits.try_reserve(asked, &gone))
    }

    /// Whether a transfer in a block up to this height used the authorization.
    async fn was_used_by(&self, key: &Key, block: u64) -> Result<bool, RowError> {
        // Read the view before the row: its height is then at most what the rows support.
        let view = self.view();
        let row = self.used(key).await?;
        let is_there = |row: &super::rows::MovementRow| {
            row.block <= block && view.is_canonical(row.block, row.block_hash.into()) != Some(false)
        };
        Ok(row.as_ref().is_some_and(is_there))
    }
}

#[cfg(test)]
mod tests {
    use purser_actors::money::Usdc;

    use super::*;

    fn payment(n: u8, value: u64) -> Payment {
        Payment {
            from: [1; 20],
            to: [2; 20],
            value: Usdc::from_atomic(value),
            valid_after: 0,
            valid_before: 100,
            nonce: [n; 32],
            signature: Vec::new(),
        }
    }

    fn funds_request(payment: &Payment, atomic: u64, chain_s: u64) -> FundsRequest {
        FundsRequest {
            debit: debit_for(payment, payment.key()),
            atomic,
            chain_s,
            now_ms: 0,
            ttl_ms: CHECKED_TTL_MS,
        }
    }

    // Checks: a payment of 5 beside a pending one of 7. Cases: the payer's balance; whether the other has settled in that
    // state, has expired, or is no longer pending. A payment never counts against itself. From its check on it counts
    // against a third one.
    #[test]
    fn what_a_gas_key_has_counts_until_the_balance_shows_it() {
        let (first, second, third) = (payment(1, 7), payment(2, 5), payment(3, 1));
        let none = HashSet::new();
        let landed = HashSet::from([first.key()]);
        let table = [
            (11, 99, &none, false),
            (12, 99, &none, true),
            (5, 99, &landed, true),
            (4, 99, &landed, false),
            (5, 100, &none, true),
        ];
        for (row, (atomic, chain_s, gone, expected)) in table.into_iter().enumerate() {
            let debits = PayerDebits::default();
            debits.add(&first);
            debits.add(&first);
            assert!(
                debits.try_reserve(&funds_request(&first, 0, chain_s), gone),
                "row {row}: itself"
            );
            assert_eq!(
                debits.try_reserve(&funds_request(&second, atomic, chain_s), gone),
                expected,
                "row {row}"
            );
            if expected {
                assert!(
                    debits.try_reserve(&funds_request(&second, 0, chain_s), gone),
                    "row {row}: its place"
                );
                assert!(
                    !debits.try_reserve(&funds_request(&third, atomic, chain_s), gone) || atomic > 12,
                    "row {row}"
                );
            }
        }
        let debits = PayerDebits::default();
        debits.add(&first);
        assert!(!debits.try_reserve(&funds_request(&second, 5, 0), &none));
        debits.remove(&first.key());
        assert!(debits.try_reserve(&funds_request(&second, 5, 0), &none), "it has ended");
    }

    // Checks: only payments that have expired need no look at the rows.
    #[test]
    fn payments_that_can_settle_are_looked_up() {
        let debits = PayerDebits::default();
        debits.add(&payment(1, 7));
        assert_eq!(
            debits.other_pending(&funds_request(&payment(2, 5), 0, 99)),
            [payment(1, 7).key()]
        );
        assert_eq!(debits.other_pending(&funds_request(&payment(2, 5), 0, 100)), []);
    }
}
