//! Daily caps beyond an account's own purchases: what a lost history has bought or may have bought.

use purser_actors::entity::account::{Account, Command, Rejection};
use purser_actors::entity::account::{CapReservation, UnclaimedCapUsage};
use purser_actors::kernel::{Decision, Entity, EntityKind, table};
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;
use purser_actors::product::ProductLine;
use purser_storage::{Condition, RowKey, Write};

use crate::accounts::{CAPS, account_after, claim};
use crate::fixtures::{
    CAP_RESERVATION, DAY, DAY_MS, JOB, NOW, PAYMENT, WALLET, accounts, at, claim_request, event_names, fold,
};

#[test]
fn past_purchase_counts_and_is_never_rejected() {
    // Checks: above the cap, for a frozen account and for a missing one. A past day counts nothing, and today's count
    // stays.
    let counted = |account: Option<Account>, reservation, now| {
        let command = Command::CountCapReservation { job: JOB, reservation };
        let decision = Account::decide(account.as_ref(), &WALLET, command, &at(now)).unwrap();
        assert!(!decision.conditions().is_empty(), "it is counted once");
        let names = event_names(&decision);
        (names, fold(account, &WALLET, decision.events()))
    };
    let (names, new) = counted(None, CAP_RESERVATION, NOW);
    assert_eq!(names, "Opened+CapReserved");
    assert!(claim(Some(&new), 95_01, CAPS, NOW).is_err() && claim(Some(&new), 95_00, CAPS, NOW).is_ok());
    let (names, full) = counted(Some(account_after(&[1, 1, 1], NOW)), CAP_RESERVATION, NOW);
    assert_eq!(names, "CapReserved");
    assert!(claim(Some(&full), 1, CAPS, NOW).is_err());
    assert_eq!(
        counted(Some(accounts().remove(1)), CAP_RESERVATION, NOW).0,
        "CapReserved"
    );
    let tomorrow = Timestamp(NOW.0 + DAY_MS);
    let full = account_after(&[1, 1, 1], tomorrow);
    let command = Command::CountCapReservation {
        job: JOB,
        reservation: CAP_RESERVATION,
    };
    let decision = Account::decide(Some(&full), &WALLET, command, &at(tomorrow)).unwrap();
    assert_eq!(event_names(&decision), "=");
    assert!(claim(Some(&full), 1, CAPS, tomorrow).is_err());
    // A clock slightly behind the chain's counts it today.
    let ahead = purser_actors::entity::account::CapReservation {
        day: DAY + 1,
        ..CAP_RESERVATION
    };
    let (_, full) = counted(Some(account_after(&[1, 1], NOW)), ahead, NOW);
    assert!(claim(Some(&full), 1, CAPS, NOW).is_err());
}

fn writes_row(decision: &Decision<Account>, row: &RowKey) -> bool {
    let mut writes = decision.writes().iter();
    writes.any(|write| matches!(write, Write::Put { key, .. } if key == row))
}

fn decide_and_apply(account: &Account, command: Command, now: Timestamp) -> (Decision<Account>, Account) {
    let decision = Account::decide(Some(account), &WALLET, command, &at(now)).unwrap();
    let after = fold(Some(account.clone()), &WALLET, decision.events());
    (decision, after)
}

/// Usage of a payment that may have bought a card of 5 dollars or a gift card.
fn unclaimed_usage() -> UnclaimedCapUsage {
    let gift = CapReservation {
        cap_group: ProductLine::GiftCard,
        ..CAP_RESERVATION
    };
    UnclaimedCapUsage {
        account: WALLET,
        lines: vec![ProductLine::UsaCard, ProductLine::GiftCard],
        reservations: vec![CAP_RESERVATION, gift],
    }
}

#[test]
fn unclaimed_payment_counts_for_each_possible_purchase_until_settled() {
    // Checks: it counts once in each cap group that it may belong to, until the payment is claimed. That payment then
    // needs no free cap and can buy only from those groups; another payment finds none free. Once settled, it counts
    // for its purchase.
    let count = |counted| Command::CountUnclaimed {
        job: JOB,
        payment: PAYMENT,
        revision: 0,
        counted,
    };
    let (decision, full) = decide_and_apply(&account_after(&[95_00], NOW), count(Some(unclaimed_usage())), NOW);
    assert_eq!(event_names(&decision), "CapReserved+CapReserved");
    let payment = table::entity(EntityKind::Payment, &PAYMENT.0.to_be_bytes());
    assert!(decision.conditions().contains(&Condition::Revision(payment, 0)));
    assert!(writes_row(&decision, &table::unclaimed_cap_usage(PAYMENT)));
    assert!(claim(Some(&full), 1, CAPS, NOW).is_err(), "another payment");

    let present = |account: &Account, lines: &[ProductLine]| {
        let mut again = claim_request(Cents::new(4_00), CAPS);
        again.counted = Some(lines.to_vec());
        Account::decide(Some(account), &WALLET, Command::Claim(again), &at(NOW))
    };
    assert_eq!(
        present(&full, &[ProductLine::CardBalance]).map(drop),
        Err(Rejection::MayHaveBought)
    );
    assert!(present(&accounts()[1], &[ProductLine::UsaCard]).is_err(), "frozen");
    let claimed = present(&full, &[ProductLine::UsaCard, ProductLine::GiftCard]).unwrap();
    assert_eq!(event_names(&claimed), "=");
    let there = Condition::Present(table::unclaimed_cap_usage(PAYMENT));
    assert!(claimed.conditions().contains(&there));
    let reservation = CapReservation::for_unclaimed(ProductLine::UsaCard, Cents::new(4_00));
    let free = Command::ReleaseCapReservation { job: JOB, reservation };
    let (_, released) = decide_and_apply(&full, free, NOW);
    assert!(
        claim(Some(&released), 1, CAPS, NOW).is_err(),
        "released, it frees nothing"
    );

    let reservation = CapReservation {
        day: DAY,
        ..reservation
    };
    let settled = |counted| Command::CountClaimed {
        job: JOB,
        payment: PAYMENT,
        counted,
    };
    let (decision, counted) = decide_and_apply(&full, settled(Some((unclaimed_usage(), Some(reservation)))), NOW);
    assert_eq!(event_names(&decision), "CapReleased+CapReleased+CapReserved");
    assert!(decision.conditions().contains(&there), "once");
    assert!(claim(Some(&counted), 1_01, CAPS, NOW).is_err() && claim(Some(&counted), 1_00, CAPS, NOW).is_ok());
    let (decision, freed) = decide_and_apply(&full, settled(Some((unclaimed_usage(), None))), NOW);
    assert_eq!(event_names(&decision), "CapReleased+CapReleased");
    assert!(claim(Some(&freed), 5_00, CAPS, NOW).is_ok(), "it bought nothing");
    assert_eq!(event_names(&decide_and_apply(&full, settled(None), NOW).0), "=");
    assert_eq!(event_names(&decide_and_apply(&full, count(None), NOW).0), "=");
}
