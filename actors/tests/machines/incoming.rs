//! State machine of an incoming transfer without a payment: transitions, postings, and a single decision.

use std::collections::BTreeMap;

use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::account;
use purser_actors::entity::account::CapReservation;
use purser_actors::entity::incoming::{
    AdoptableProduct, Command, Event, Incoming, OperatorDecision, PaidFor, Rejection, Transfer, Verdict,
};
use purser_actors::id::{DepositId, Network, OutgoingTransferId, Wallet};
use purser_actors::kernel::{Decision, Entity, EntityKind, table};
use purser_actors::ledger::{LedgerAccount, LedgerTransaction};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{OutgoingTransfer, Timestamp};
use purser_actors::product::ProductLine;
use purser_storage::{Condition, codec};

use crate::fixtures::{CARD, JOB, NOW, PAYMENT, WALLET, at, event_names, fold, job_names, operator, status};
use crate::transitions::assert_chart;

const ID: DepositId = DepositId(21);

// What each command does in each state: events, `=` for nothing, `!` for a rejection.
const TABLE: &str = "
         -      found             waiting               crediting  credited  adopted  operator_funds  returning  returned  claimed  forwarded
find     Found  =                 =                     =          =         =        =               =          =         =        =
claimed  !      Claimed           =                     =          =         =        =               =          =         =        =
wait     !      OperatorRequired  =                     =          =         =        =               =          =         =        =
grant    !      CreditGranted     =                     =          =         =        =               =          =         =        =
adopt    !      Adopted           =                     =          =         =        =               =          =         =        =
count    !      =                 =                     =          =         =        =               =          =         =        =
claim    !      =                 Claimed               =          =         =        =               =          =         =        =
credit   !      !                 CreditGranted         =          =         !        !               !          !         !        !
funds    !      !                 TakenAsOperatorFunds  !          !         !        =               !          !         !        !
return   !      !                 SentBack              !          !         !        !               =          =         !        !
forward  !      !                 Forwarded             !          !         !        !               !          !         !        !
confirm  !      !                 !                     Credited   !         !        !               Returned   !         !        !
";

fn transfer() -> Transfer {
    Transfer {
        network: Network::Base,
        transaction: "0xabc".into(),
        index: 1,
        from: WALLET,
        amount: Usdc::from_atomic(5_100_000),
        at: Timestamp(7),
        fingerprint: [3; 32],
        payment: PAYMENT,
    }
}

const OUTGOING: OutgoingTransferId = OutgoingTransferId(31);

fn outgoing_transfer(atomic: u64) -> OutgoingTransfer {
    OutgoingTransfer {
        transaction: "0xdef".into(),
        to: Wallet::Evm([9; 20]),
        amount: Usdc::from_atomic(atomic),
        at: Timestamp(8),
        fingerprint: [4; 32],
        index: 0,
    }
}

fn command(name: &str) -> Command {
    let place = |verdict| Command::RecordVerdict {
        job: JOB,
        verdict: Box::new(verdict),
        payment: 4,
    };
    let rule = |ruling| Command::Decide {
        decision: ruling,
        payment: 4,
        act: Box::new(operator()),
        evidence: "Seen.".into(),
    };
    let amount = Cents::new(500);
    match name {
        "find" => Command::Find(Box::new(transfer())),
        "claimed" => place(Verdict::Claimed),
        "wait" => place(Verdict::Wait {
            provider_report: None,
            cap_usage: None,
        }),
        "grant" => place(Verdict::Credit(WALLET)),
        "adopt" => place(Verdict::Adopt(WALLET, AdoptableProduct::Card { amount })),
        "claim" => Command::Claim(WALLET),
        "count" => Command::Count(WALLET, vec![ProductLine::CardBalance]),
        "credit" => rule(OperatorDecision::Credit(WALLET)),
        "funds" => rule(OperatorDecision::OperatorFunds),
        "return" => rule(OperatorDecision::Return(WALLET)),
        "forward" => Command::Forward {
            paid_for: Box::new(PaidFor::OutgoingTransfer(outgoing_transfer(5_100_000))),
            payment: 4,
            act: Box::new(operator()),
            evidence: "Seen.".into(),
        },
        "confirm" => Command::Confirm { job: JOB },
        other => panic!("no such command: {other}"),
    }
}

fn events() -> Vec<Event> {
    vec![
        Event::Found(Box::new(transfer()), NOW),
        Event::OperatorRequired(Some("a card".into()), NOW),
        Event::CreditGranted(WALLET, NOW),
        Event::Credited(NOW),
        Event::Adopted(PurchasedProduct::Card(CARD), NOW),
        Event::TakenAsOperatorFunds(NOW),
        Event::SentBack(WALLET, NOW),
        Event::Returned(NOW),
        Event::Claimed(NOW),
        Event::Forwarded(OUTGOING, NOW),
    ]
}

/// One in each state.
fn all() -> Vec<Incoming> {
    let events = events();
    let ways: [&[usize]; 10] = [
        &[0],
        &[0, 1],
        &[0, 2],
        &[0, 2, 3],
        &[0, 4],
        &[0, 1, 5],
        &[0, 1, 6],
        &[0, 1, 6, 7],
        &[0, 8],
        &[0, 1, 9],
    ];
    let after = |way: &[usize]| -> Incoming {
        let history: Vec<Event> = way.iter().map(|n| events[*n].clone()).collect();
        fold(None, &ID, &history)
    };
    ways.map(after).into()
}

fn decide(this: Option<&Incoming>, name: &str) -> Result<Decision<Incoming>, Rejection> {
    Incoming::decide(this, &ID, command(name), &at(NOW))
}

#[test]
fn every_command_in_every_state_matches_the_table() {
    // Checks: eleven commands in eleven states.
    let states: Vec<_> = std::iter::once(None).chain(all().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for line in lines {
        let (name, expected) = line.split_once(' ').unwrap();
        for (state, expected) in states.iter().zip(expected.split_whitespace()) {
            let found = decide(state.as_ref(), name).map_or_else(|_| "!".into(), |d| event_names(&d));
            assert_eq!(found, expected, "{name} in {}", status(state.as_ref()));
        }
    }
    assert_chart(&ID, all(), &events());
}

#[test]
fn case_79_credited_incoming_transfer_settles_no_payment() {
    // Checks: each decision about the money requires that the payment it would settle is unchanged. It also writes the
    // row that prevents that payment from settling. An adoption requires that the payment does not exist.
    let [found, waiting, ..] = &all()[..] else {
        unreachable!()
    };
    let payment = table::entity(EntityKind::Payment, &PAYMENT.0.to_be_bytes());
    let unchanged = Condition::Revision(payment.clone(), 4);
    for (state, name, begun) in [
        (found, "grant", "credit_account"),
        (waiting, "credit", "credit_account"),
        (waiting, "return", "send_back"),
    ] {
        let decision = decide(Some(state), name).unwrap();
        assert!(decision.conditions().contains(&unchanged), "{name}");
        assert_eq!(job_names(&decision), [begun, "count_claimed"]);
        assert!(rows(&decision).contains(&table::taken_in_payment(PAYMENT)), "{name}");
    }
    let kept = decide(Some(waiting), "funds").unwrap();
    assert!(kept.conditions().contains(&unchanged) && rows(&kept).contains(&table::taken_in_payment(PAYMENT)));
    let adopted = decide(Some(found), "adopt").unwrap();
    for absent in [payment, table::taken_in_payment(PAYMENT)] {
        assert!(adopted.conditions().contains(&Condition::Absent(absent)));
    }
    assert_eq!(adopted.new_entities().len(), 2, "the payment and its card");
    assert_eq!(
        job_names(&adopted),
        ["count_cap_reservation", "count_claimed", "issue_card"]
    );
}

#[test]
fn possible_purchase_counts_once_in_each_cap_group() {
    // Checks: a payout may be of any of three lines, and both card types share a cap group. The whole amount counts
    // once in each, on the day of the transfer.
    let place = |lines: &[ProductLine]| Command::RecordVerdict {
        job: JOB,
        verdict: Box::new(Verdict::Wait {
            provider_report: Some("payouts: complete".into()),
            cap_usage: Some((WALLET, lines.to_vec())),
        }),
        payment: 0,
    };
    for (lines, budgets) in [
        (
            &[
                ProductLine::PushToCard,
                ProductLine::BankPayment,
                ProductLine::AppPayment,
            ][..],
            &[
                ProductLine::PushToCard,
                ProductLine::BankPayment,
                ProductLine::AppPayment,
            ][..],
        ),
        (
            &[ProductLine::CardBalance, ProductLine::IntlCard],
            &[ProductLine::CardBalance, ProductLine::UsaCard],
        ),
        (&[ProductLine::UsaCard, ProductLine::IntlCard], &[ProductLine::UsaCard]),
    ] {
        let decision = Incoming::decide(Some(&all()[0]), &ID, place(lines), &at(NOW)).unwrap();
        let counted: Vec<_> = decision.jobs().iter().map(|effect| effect.job.clone()).collect();
        let share = |budget: &ProductLine| CapReservation {
            day: 0,
            cap_group: *budget,
            cents: Cents::new(510),
        };
        let shares = budgets.iter().map(share).collect();
        let want = account::Job::CountUnclaimed {
            account: WALLET,
            payment: PAYMENT,
            lines: lines.to_vec(),
            reservations: shares,
        };
        assert_eq!(counted, [want]);
    }
    assert!(
        job_names(&decide(Some(&all()[0]), "wait").unwrap()).is_empty(),
        "nothing was bought"
    );
}

#[test]
fn forwarded_transfer_is_posted_with_its_incoming_one() {
    // Checks: whether more or less was sent than received, one batch posts both, no balance is left, and the outgoing
    // transfer is attributed once.
    let waiting = &all()[1];
    for (left, costs, fees) in [(5_100_000, 0, 0), (5_100_510, 510, 0), (5_000_000, 0, 100_000)] {
        let command = Command::Forward {
            paid_for: Box::new(PaidFor::OutgoingTransfer(outgoing_transfer(left))),
            payment: 4,
            act: Box::new(operator()),
            evidence: "Seen.".into(),
        };
        let decision = Incoming::decide(Some(waiting), &ID, command, &at(NOW)).unwrap();
        let mut books = BTreeMap::new();
        for write in decision.writes() {
            let purser_storage::Write::Put { key, value, .. } = write else {
                continue;
            };
            if key[0] == table::LEDGER {
                let booked: LedgerTransaction = codec::decode(value).unwrap();
                for posting in booked.postings {
                    *books.entry(posting.account).or_insert(0) += posting.atomic;
                }
            }
        }
        books.retain(|_, atomic| *atomic != 0);
        let treasury = 5_100_000 - i128::from(left);
        let want = [
            (LedgerAccount::Treasury(Network::Base), treasury),
            (LedgerAccount::FeeRevenue, -fees),
            (LedgerAccount::OperatingCosts, costs),
        ];
        let want: BTreeMap<_, _> = want.into_iter().filter(|(_, atomic)| *atomic != 0).collect();
        assert_eq!(books, want, "{left} left");
        let row = Condition::Absent(table::attributed_transfer(OutgoingTransferId::for_transfer(
            Network::Base,
            "0xdef",
            0,
        )));
        assert!(decision.conditions().contains(&row));
        assert!(rows(&decision).contains(&table::taken_in_payment(PAYMENT)));
    }
}

fn rows(decision: &Decision<Incoming>) -> Vec<purser_storage::RowKey> {
    let keys = decision.writes().iter().filter_map(|write| match write {
        purser_storage::Write::Put { key, .. } => Some(key.clone()),
        purser_storage::Write::Delete { .. } => None,
    });
    keys.collect()
}
