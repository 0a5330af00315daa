//! Whether a wallet can cover one more payment in addition to its pending ones ([`pending_debits`]). Of several
//! payments presented together one would settle, and the fees of the others would be lost.
//!
//! Payments in flight are read from the durable rows at a start, with their debits. Payments that were only checked are
//! not read: preparation checks them again.

use purser_chains::solana::lifecycle::Stage;
use purser_chains::solana::message::Message;
use purser_chains::solana::token::PaymentInstruction;
use purser_chains::solana::transaction::Transaction;
use purser_chains::solana::{Pubkey, Signature};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::{InFlightTransaction, InFlightTransactions};
use crate::pending_debits;

/// How long a payment checked before its claim counts until it is prepared, in milliseconds.
const CHECKED_TTL_MS: u64 = 2_000;

/// A debit, by the paying token account and the hash of the message.
pub(in crate::solana) type PaymentDebit = pending_debits::Debit<Pubkey, [u8; 32]>;
pub(super) type PaymentDebits = pending_debits::PendingDebits<Pubkey, [u8; 32], Signature>;

/// The balance that a simulation leaves in the paying token account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::solana) struct RemainingBalance {
    /// Slot of the state that the simulation started from.
    pub(in crate::solana) slot: u64,
    /// `None` from a node that does not show it: the simulation is then the only check.
    pub(in crate::solana) atomic: Option<u64>,
}

/// Result of [`InFlightTransactions::check_funds`].
#[derive(Debug)]
pub(in crate::solana) enum FundsCheck {
    /// The payment is covered, and counts from now on.
    Sufficient,
    /// Covered if other sent payments are already part of that state: their changes decide.
    Undetermined(Vec<watch::Receiver<()>>),
    Insufficient,
}

/// Whether a payment in flight must be deducted from the balance that a simulation leaves.
enum Deduct {
    No,
    Yes,
    /// It was sent, and may have settled before the simulation.
    UnlessExecuted(watch::Receiver<()>),
}

/// Debit of a signed or unsigned transaction. `None` if it has no plain transfer.
pub(in crate::solana) fn debit_from_bytes(bytes: &[u8]) -> Option<PaymentDebit> {
    let transaction = Transaction::parse_without_tables(bytes).ok()?;
    let (source, atomic) = debited(&transaction.message)?;
    Some(PaymentDebit {
        source,
        payment: Sha256::digest(transaction.message_bytes).into(),
        atomic,
    })
}

/// The token account of the first transfer, and the sum of all transfers from it.
fn debited(message: &Message<'_>) -> Option<(Pubkey, u64)> {
    let transfers = message.instructions.iter().filter_map(|call| {
        let (program, accounts) = (message.program(call)?, message.accounts(call)?);
        match PaymentInstruction::decode(program, &accounts, call.data)? {
            PaymentInstruction::Transfer(transfer) => Some((transfer.source, transfer.amount)),
            _ => None,
        }
    });
    transfers.fold(None, |all: Option<(Pubkey, u64)>, (source, amount)| match all {
        None => Some((source, amount)),
        Some((of, sum)) if of == source => Some((of, sum.saturating_add(amount))),
        all => all,
    })
}

impl InFlightTransactions {
    /// Whether the paying token account covers this payment in addition to all pending ones.
    pub(in crate::solana) fn check_funds(
        &mut self,
        taking: &PaymentDebit,
        left: RemainingBalance,
        now_ms: u64,
    ) -> FundsCheck {
        let Some(mut others) = self.debits.checked(taking, now_ms) else {
            self.debits.check(taking, now_ms, CHECKED_TTL_MS);
            return FundsCheck::Sufficient;
        };
        let (mut unless, mut changes) = (0u64, Vec::new());
        for id in self.debits.in_flight(&taking.source) {
            let Some(flight) = self.transactions.get(id) else {
                continue;
            };
            let other = flight.debit.filter(|other| other.payment != taking.payment);
            let Some(other) = other else { continue };
            match flight.deduct_at(left.slot) {
                Deduct::No => {}
                Deduct::Yes => others = others.saturating_add(other.atomic),
                Deduct::UnlessExecuted(changed) => {
                    unless = unless.saturating_add(other.atomic);
                    changes.push(changed);
                }
            }
        }
        let atomic = left.atomic.unwrap_or(u64::MAX);
        if atomic >= others.saturating_add(unless) {
            self.debits.check(taking, now_ms, CHECKED_TTL_MS);
            return FundsCheck::Sufficient;
        }
        match atomic >= others {
            true => FundsCheck::Undetermined(changes),
            false => FundsCheck::Insufficient,
        }
    }
}

impl InFlightTransaction {
    fn deduct_at(&self, slot: u64) -> Deduct {
        match self.lifecycle.stage() {
            Stage::Succeeded { slot: at, .. } if *at <= slot => Deduct::No,
            Stage::Succeeded { .. } => Deduct::Yes,
            // It has debited nothing and can hardly do so any more.
            Stage::Failed { .. } | Stage::Expired => Deduct::No,
            Stage::Prepared | Stage::Sent if self.lifecycle.awaits_proof() => Deduct::No,
            Stage::Prepared | Stage::Sent if self.released || self.from_earlier_run => {
                Deduct::UnlessExecuted(self.changed.subscribe())
            }
            Stage::Prepared | Stage::Sent => Deduct::Yes,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use purser_actors::port::Timestamp;
    use purser_chains::solana::address::USDC_MAINNET;
    use purser_chains::solana::draft::Draft;
    use purser_chains::solana::keypair::Keypair;
    use purser_chains::solana::lifecycle::{Pacing, StatusAnswer};
    use purser_chains::solana::message::Version;
    use purser_chains::solana::status::{Commitment, SignatureStatus, TransactionError};
    use purser_chains::solana::token::{TransferChecked, memo};
    use purser_chains::solana::transaction::sign_partially;
    use serde_json::json;

    use super::super::super::rows::Open;
    use super::super::NodeUpdate;
    use super::*;

    /// A payment of this amount, and its id here.
    fn payment(number: u8, amount: u64) -> (Signature, Open) {
        let payer = Keypair::from_seed(&[1; 32]);
        let transfer = TransferChecked::between(&payer.address(), &[2; 32], &USDC_MAINNET, amount).unwrap();
        let draft = Draft {
            fee_payer: [3; 32],
            blockhash: [4; 32],
            instructions: vec![transfer.instruction(), memo(&format!("{number}"))],
            version: Version::V0,
        };
        let open = Open {
            bytes: sign_partially(&draft, &[&payer]).unwrap(),
            payer: payer.address(),
            fee_payer: [3; 32],
            last_valid_block_height: 1_000,
            not_before_slot: 900,
            fees: [10_000, 0, 0],
            at: Timestamp(0),
        };
        ([number; 64], open)
    }

    fn debit_of(open: &Open) -> PaymentDebit {
        debit_from_bytes(&open.bytes).unwrap()
    }

    const fn remaining(slot: u64, atomic: u64) -> RemainingBalance {
        let atomic = Some(atomic);
        RemainingBalance { slot, atomic }
    }

    fn record_seen(flights: &mut InFlightTransactions, id: &Signature, slot: u64, failed: bool) {
        let error = failed.then(|| TransactionError::from_json(&json!("AccountInUse")).unwrap());
        let level = Commitment::Processed;
        let found = Some(SignatureStatus { slot, level, error });
        let answer = StatusAnswer {
            context_slot: slot,
            found,
        };
        for endpoint in 0..if failed { 2 } else { 1 } {
            flights.apply(id, endpoint, NodeUpdate::Status(answer.clone()), 0);
        }
    }

    /// Checks a payment of 5 beside one of 5 in flight, with the balance that its simulation leaves.
    fn check_beside_pending(flights: &mut InFlightTransactions, left: RemainingBalance) -> &'static str {
        let (_, other) = payment(2, 5);
        match flights.check_funds(&debit_of(&other), left, 0) {
            FundsCheck::Sufficient => "enough",
            FundsCheck::Undetermined(changes) => {
                assert_eq!(changes.len(), 1);
                "unclear"
            }
            FundsCheck::Insufficient => "none",
        }
    }

    // Checks: how one payment in flight affects another of its wallet. Cases: prepared, sent, seen before and after the
    // other's simulation, failed, expired, and resumed from its row after a restart.
    #[test]
    fn what_is_in_flight_counts_until_the_simulation_shows_it() {
        type Change = fn(&mut InFlightTransactions, &Signature);
        let table: [(Change, bool, [&str; 2]); 7] = [
            (|_, _| {}, false, ["none", "enough"]),
            (|_, _| {}, true, ["unclear", "enough"]),
            (|all, id| drop(all.release(id)), false, ["unclear", "enough"]),
            (|all, id| record_seen(all, id, 950, false), false, ["enough", "enough"]),
            (|all, id| record_seen(all, id, 951, false), false, ["none", "enough"]),
            (|all, id| record_seen(all, id, 940, true), false, ["enough", "enough"]),
            (|all, _| drop(all.due(0, 1_001)), true, ["enough", "enough"]),
        ];
        for (row, (change, old, expected)) in table.into_iter().enumerate() {
            for (atomic, expected) in [0, 5].into_iter().zip(expected) {
                let (mut flights, (id, open)) = (InFlightTransactions::new(2, Pacing::default()), payment(1, 5));
                flights.start(id, open.clone(), old, None);
                change(&mut flights, &id);
                let own = flights.check_funds(&debit_of(&open), remaining(950, 0), 0);
                assert!(matches!(own, FundsCheck::Sufficient), "row {row}: never against itself");
                flights.debits.clear_checked();
                assert_eq!(
                    check_beside_pending(&mut flights, remaining(950, atomic)),
                    expected,
                    "row {row}, {atomic} left"
                );
                flights.close(&id);
                flights.debits.clear_checked();
                assert!(flights.debits.is_empty(), "row {row}");
            }
        }
    }

    // Checks: a checked payment counts for two seconds, or until it is prepared. One without a known balance is
    // compared with nothing. Another wallet's payment does not count.
    #[test]
    fn what_was_checked_counts_for_a_while() {
        let mut flights = InFlightTransactions::new(2, Pacing::default());
        let ((id, first), (_, second)) = (payment(1, 5), payment(2, 5));
        let asks = |flights: &mut InFlightTransactions, of: &Open, atomic: Option<u64>, now_ms: u64| {
            let left = RemainingBalance { slot: 950, atomic };
            matches!(flights.check_funds(&debit_of(of), left, now_ms), FundsCheck::Sufficient)
        };
        assert!(asks(&mut flights, &first, Some(0), 0));
        assert!(!asks(&mut flights, &second, Some(4), CHECKED_TTL_MS - 1));
        assert!(asks(&mut flights, &first, Some(0), CHECKED_TTL_MS - 1), "its own place");
        assert!(!asks(&mut flights, &second, Some(4), CHECKED_TTL_MS), "it was kept");
        assert!(asks(&mut flights, &second, Some(4), 2 * CHECKED_TTL_MS));
        flights.debits.clear_checked();
        assert!(asks(&mut flights, &first, Some(0), 0));
        let own = debit_of(&first);
        flights.start(id, first, false, None);
        assert_eq!(flights.debits.checked(&own, 0), Some(0), "it counts as prepared");
        assert!(!asks(&mut flights, &second, Some(4), 100 * CHECKED_TTL_MS));
        assert!(asks(&mut flights, &second, None, 0), "no balance is known");
        let stranger = PaymentDebit {
            source: [9; 32],
            ..debit_of(&second)
        };
        assert!(matches!(
            flights.check_funds(&stranger, remaining(950, 0), 0),
            FundsCheck::Sufficient
        ));
    }
}
