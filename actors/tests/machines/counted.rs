//! What an account's daily caps count besides its purchases: what a history that a restore has lost has bought, or may have.

use purser_actors::account::{Account, Command, Rejection};
use purser_actors::kernel::job::{CapReservation, Counted};
use purser_actors::kernel::{Decision, Entity, EntityKind, table};
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;
use purser_actors::product::ProductLine;
use purser_storage::{Condition, RowKey, Write};

use crate::accounts::{CAPS, after, claim};
use crate::fixtures::{DAY, DAY_MS, EFFECT, NOW, PAYMENT, SHARE, WALLET, accounts, admission, at, fold, happened};

#[test]
fn what_was_bought_already_counts_and_nothing_refuses_it() {
    // Aim: beyond the cap, for a frozen account and for one that is not there; of a day that is over nothing is counted, and what was
    // counted today stays.
    let counted = |account: Option<Account>, share, now| {
        let command = Command::CountShare { effect: EFFECT, share };
        let decision = Account::decide(account.as_ref(), &WALLET, command, &at(now)).unwrap();
        assert!(!decision.conditions().is_empty(), "it is counted once");
        let told = happened(&decision);
        (told, fold(account, &WALLET, decision.events()))
    };
    let (told, new) = counted(None, SHARE, NOW);
    assert_eq!(told, "Opened+Reserved");
    assert!(claim(Some(&new), 95_01, CAPS, NOW).is_err() && claim(Some(&new), 95_00, CAPS, NOW).is_ok());
    let (told, full) = counted(Some(after(&[1, 1, 1], NOW)), SHARE, NOW);
    assert_eq!(told, "Reserved");
    assert!(claim(Some(&full), 1, CAPS, NOW).is_err());
    assert_eq!(counted(Some(accounts().remove(1)), SHARE, NOW).0, "Reserved");
    let tomorrow = Timestamp(NOW.0 + DAY_MS);
    let full = after(&[1, 1, 1], tomorrow);
    let command = Command::CountShare {
        effect: EFFECT,
        share: SHARE,
    };
    let decision = Account::decide(Some(&full), &WALLET, command, &at(tomorrow)).unwrap();
    assert_eq!(happened(&decision), "=");
    assert!(claim(Some(&full), 1, CAPS, tomorrow).is_err());
    // A clock that is a little behind the chain's counts it today.
    let ahead = purser_actors::kernel::job::CapReservation { day: DAY + 1, ..SHARE };
    let (_, full) = counted(Some(after(&[1, 1], NOW)), ahead, NOW);
    assert!(claim(Some(&full), 1, CAPS, NOW).is_err());
}

fn puts(decision: &Decision<Account>, row: &RowKey) -> bool {
    let mut writes = decision.writes().iter();
    writes.any(|write| matches!(write, Write::Put { key, .. } if key == row))
}

fn decided(account: &Account, command: Command, now: Timestamp) -> (Decision<Account>, Account) {
    let decision = Account::decide(Some(account), &WALLET, command, &at(now)).unwrap();
    let after = fold(Some(account.clone()), &WALLET, decision.events());
    (decision, after)
}

/// Of a payment that may have bought a card of 5 dollars or a gift card.
fn unclaimed() -> Counted {
    let gift = CapReservation {
        budget: ProductLine::GiftCard,
        ..SHARE
    };
    Counted {
        account: WALLET,
        lines: vec![ProductLine::UsaCard, ProductLine::GiftCard],
        shares: vec![SHARE, gift],
    }
}

#[test]
fn what_an_unclaimed_payment_may_have_bought_counts_until_it_has_settled() {
    // Aim: it counts in each budget that it may have been of, once, and only while nobody has claimed that payment. Presented again the
    // payment needs no room of its own, whatever becomes of it, and buys nothing that it cannot have been; another payment finds no
    // room. Once it has settled, it counts for what it bought.
    let count = |counted| Command::CountUnclaimed {
        effect: EFFECT,
        payment: PAYMENT,
        revision: 0,
        counted,
    };
    let (decision, full) = decided(&after(&[95_00], NOW), count(Some(unclaimed())), NOW);
    assert_eq!(happened(&decision), "Reserved+Reserved");
    let payment = table::entity(EntityKind::Payment, &PAYMENT.0.to_be_bytes());
    assert!(decision.conditions().contains(&Condition::Revision(payment, 0)));
    assert!(puts(&decision, &table::counted(PAYMENT)));
    assert!(claim(Some(&full), 1, CAPS, NOW).is_err(), "another payment");

    let present = |account: &Account, lines: &[ProductLine]| {
        let mut again = admission(Cents::new(4_00), CAPS);
        again.counted = Some(lines.to_vec());
        Account::decide(Some(account), &WALLET, Command::Claim(again), &at(NOW))
    };
    assert_eq!(
        present(&full, &[ProductLine::CardBalance]).map(drop),
        Err(Rejection::MayHaveBought)
    );
    assert!(present(&accounts()[1], &[ProductLine::UsaCard]).is_err(), "frozen");
    let claimed = present(&full, &[ProductLine::UsaCard, ProductLine::GiftCard]).unwrap();
    assert_eq!(happened(&claimed), "=");
    let there = Condition::Present(table::counted(PAYMENT));
    assert!(claimed.conditions().contains(&there));
    let share = CapReservation::counted_before(ProductLine::UsaCard, Cents::new(4_00));
    let free = Command::ReleaseCapReservation { effect: EFFECT, share };
    let (_, released) = decided(&full, free, NOW);
    assert!(
        claim(Some(&released), 1, CAPS, NOW).is_err(),
        "released, it frees nothing"
    );

    let share = CapReservation { day: DAY, ..share };
    let settled = |counted| Command::CountClaimed {
        effect: EFFECT,
        payment: PAYMENT,
        counted,
    };
    let (decision, counted) = decided(&full, settled(Some((unclaimed(), Some(share)))), NOW);
    assert_eq!(happened(&decision), "Freed+Freed+Reserved");
    assert!(decision.conditions().contains(&there), "once");
    assert!(claim(Some(&counted), 1_01, CAPS, NOW).is_err() && claim(Some(&counted), 1_00, CAPS, NOW).is_ok());
    let (decision, freed) = decided(&full, settled(Some((unclaimed(), None))), NOW);
    assert_eq!(happened(&decision), "Freed+Freed");
    assert!(claim(Some(&freed), 5_00, CAPS, NOW).is_ok(), "it bought nothing");
    assert_eq!(happened(&decided(&full, settled(None), NOW).0), "=");
    assert_eq!(happened(&decided(&full, count(None), NOW).0), "=");
}
