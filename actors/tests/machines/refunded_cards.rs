//! Remainder of a card whose payment was refunded: how the state machine splits it between the account owner and the
//! service.

use purser_actors::entity::card::{Card, Command};
use purser_actors::entity::refund::Refunded;
use purser_actors::kernel::{Decision, Entity, EntityKind, table};
use purser_actors::ledger::{LedgerAccount, LedgerTransaction, Posting};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::CardState;
use purser_storage::{Condition, Write, codec};

use crate::cards::card_snapshot;
use crate::fixtures::{CARD, CARD_SEQUENCE, NOW, at, cards, fold};

#[test]
fn remainder_is_split_by_the_refunded_amount() {
    // Checks: loaded with 5.00 for 5.10, after any refund and release, owner and service split each release. The owner
    // never gets more than the charge, the card shows its credit, and the batch requires that the refund is unchanged.
    let ready = &cards()[1];
    let charged = ready.charge.charged.atomic();
    let refund = table::entity(EntityKind::Refund, &ready.charge.payment.0.to_be_bytes());
    for refunded in [0, 1, 100_000, 4_000_000, 5_000_000, charged] {
        for steps in [&[5_00][..], &[1_00, 5_00], &[0, 2_50, 4_99, 5_00], &[90_000]] {
            let (mut card, mut credited, mut kept) = (ready.clone(), 0, 0);
            for (n, released) in steps.iter().enumerate() {
                let word = card_snapshot(CARD_SEQUENCE + 1 + n as u64, CardState::Closed, *released);
                let given = Refunded {
                    amount: Usdc::from_atomic(refunded),
                    revision: 3,
                };
                let decision =
                    Card::decide(Some(&card), &CARD, Command::RecordCardEvent(word, given), &at(NOW)).unwrap();
                for booked in postings(&decision) {
                    match booked.account {
                        LedgerAccount::Suspense => credited -= booked.atomic,
                        LedgerAccount::OperatingCosts => kept -= booked.atomic,
                        _ => {}
                    }
                }
                let bound = Condition::Revision(refund.clone(), 3);
                assert_eq!(
                    decision.conditions().contains(&bound),
                    !postings(&decision).is_empty(),
                    "{refunded} {steps:?}"
                );
                card = fold(Some(card), &CARD, decision.events());
                assert_eq!(card.lifecycle.activity.available, Cents::ZERO);
            }
            let expected = 5_000_000.min(charged - refunded);
            assert_eq!(
                (credited, kept),
                (i128::from(expected), i128::from(5_000_000 - expected)),
                "{refunded} {steps:?}"
            );
            assert_eq!(card.credited().atomic(), expected, "{refunded} {steps:?}");
        }
    }
}

fn postings(decision: &Decision<Card>) -> Vec<Posting> {
    let rows = decision.writes().iter().filter_map(|write| match write {
        Write::Put { key, value, .. } if key[0] == table::LEDGER => codec::decode::<LedgerTransaction>(value).ok(),
        _ => None,
    });
    rows.flat_map(|transaction| transaction.postings).collect()
}
