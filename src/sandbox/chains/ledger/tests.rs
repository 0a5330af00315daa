#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::records::RecordBook as _;

const ALICE: Wallet = Wallet::Evm([1; 20]);
const BOB: Wallet = Wallet::Evm([2; 20]);
const TREASURY: Wallet = Wallet::Evm([9; 20]);

fn usdc(atomic: u64) -> Usdc {
    Usdc::from_atomic(atomic)
}

fn transfer(from: Wallet, to: Wallet, amount: u64, nonce: u8) -> ChainTransfer {
    let key = ReplayKey {
        payer: from,
        nonce: [nonce; 32],
    };
    ChainTransfer {
        transaction: format!("tx{nonce}"),
        key,
        to,
        amount: usdc(amount),
        at: Timestamp(5),
    }
}

fn apply(ledger: &mut ChainLedger, records: &[LedgerRecord]) {
    records.iter().for_each(|r| ledger.accept(r).unwrap());
}

fn held(ledger: &ChainLedger) -> u64 {
    ledger.accounts.values().map(|a| a.balance.atomic()).sum()
}

// case_23, on the chain: grants, payments, drops and late settlements preserve the sum of all balances.
#[test]
fn case_23_the_sum_of_balances_is_what_was_made() {
    let mut ledger = ChainLedger::new(usdc(100), TREASURY);
    assert_eq!(
        (ledger.balance(&ALICE), ledger.balance(&TREASURY)),
        (usdc(100), usdc(0))
    );
    let records = ledger.transfer(&transfer(ALICE, TREASURY, 60, 1)).unwrap();
    apply(&mut ledger, &records);
    assert_eq!(
        (ledger.balance(&ALICE), ledger.balance(&TREASURY)),
        (usdc(40), usdc(60))
    );
    let refused = ledger.transfer(&transfer(ALICE, TREASURY, 41, 2)).unwrap_err();
    assert_eq!(refused.reason, "insufficient_funds");
    let records = ledger.fund(BOB, usdc(1)).unwrap();
    apply(&mut ledger, &records);
    assert_eq!(ledger.balance(&BOB), usdc(101), "the faucet comes on top of the grant");
    apply(
        &mut ledger,
        &[LedgerRecord::Reorged {
            key: transfer(ALICE, TREASURY, 60, 1).key,
            at: Timestamp(9),
        }],
    );
    assert_eq!(
        (ledger.balance(&ALICE), ledger.balance(&TREASURY)),
        (usdc(100), usdc(0))
    );
    assert_eq!(ledger.minted().atomic(), held(&ledger));
}

// A scheduled change runs once at its time, and never if the payment has already settled normally.
#[test]
fn scheduled_events_occur_once() {
    let mut ledger = ChainLedger::new(usdc(100), TREASURY);
    let late = transfer(ALICE, TREASURY, 10, 1);
    let other = transfer(ALICE, TREASURY, 10, 2);
    for t in [&late, &other] {
        apply(
            &mut ledger,
            &[LedgerRecord::Planned {
                due: Timestamp(50),
                plan: ScheduledEvent::Settle(t.clone()),
            }],
        );
    }
    let records = ledger.transfer(&other).unwrap();
    apply(&mut ledger, &records);
    ledger.tick(Timestamp(49));
    assert!(ledger.due().is_none());
    ledger.tick(Timestamp(50));
    let records = ledger.due().unwrap();
    apply(&mut ledger, &records);
    assert!(
        ledger.due().is_none(),
        "neither the landed one nor the one that came before is left"
    );
    assert_eq!(ledger.balance(&TREASURY), usdc(20));
}

// Amounts at the maximum of the type are rejected and change nothing.
#[test]
fn case_26_overflow_is_refused() {
    let ledger = ChainLedger::new(usdc(100), TREASURY);
    assert!(ledger.fund(ALICE, usdc(u64::MAX)).is_err());
    assert!(ledger.fund(ALICE, usdc(u64::MAX - 101)).is_ok());
}
