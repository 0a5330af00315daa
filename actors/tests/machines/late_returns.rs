//! Returns after a payout's return window: the payout's part, and every command in every state of the late return.

use purser_actors::entity::account;
use purser_actors::entity::account::CreditCause;
use purser_actors::entity::late_return::{Command, Event, LateReturn, LateReturnDetails, Rejection};
use purser_actors::entity::payout::{self, Payout};
use purser_actors::id::{LateReturnId, PayoutId};
use purser_actors::kernel::{Decision, Entity, table, to_json};
use purser_actors::ledger::{LedgerAccount, LedgerTransaction};
use purser_actors::money::Usdc;
use purser_actors::port::payouts::{PayoutRailStatus, PayoutStatusUpdate};
use purser_storage::{Condition, Write, codec};

use crate::fixtures::{JOB, NOW, WALLET, at, event_names, fold, job_names, status};
use crate::payouts::closed;
use crate::transitions::assert_chart;

const PAYOUT: PayoutId = PayoutId(21);
const LATE: LateReturnId = LateReturnId::for_payout(PAYOUT);

const TABLE: &str = "
          -  received  credited  kept
credited  !  Credited  !         !
kept      !  Retained  !         !
";

fn events() -> [Event; 3] {
    let received = LateReturnDetails {
        owner: WALLET,
        payout: PAYOUT,
        amount: Usdc::from_atomic(5_000_000),
        return_fee: Usdc::from_atomic(250_000),
        reason: "account closed".into(),
        at: NOW,
    };
    [
        Event::Received(Box::new(received)),
        Event::Credited(NOW),
        Event::Retained(NOW),
    ]
}

fn late_returns() -> Vec<LateReturn> {
    let received: LateReturn = fold(None, &LATE, &events()[..1]);
    let credited = fold(Some(received.clone()), &LATE, &events()[1..2]);
    let kept = fold(Some(received.clone()), &LATE, &events()[2..]);
    vec![received, credited, kept]
}

#[test]
fn every_command_in_every_late_return_state_matches_the_table() {
    // Checks: it is credited once, by its own job, or retained once, and nothing follows.
    let states: Vec<_> = std::iter::once(None)
        .chain(late_returns().into_iter().map(Some))
        .collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    let commands = [
        ("credited", Command::RecordCredit { job: JOB }),
        ("kept", Command::RecordRetained { job: JOB }),
    ];
    for ((name, command), line) in commands.into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let met = status(state.as_ref());
            match LateReturn::decide(state.as_ref(), &LATE, command, &at(NOW)) {
                Err(rejection) => assert_eq!((rejection, *expected), (Rejection(met), "!"), "{name} in {met}"),
                Ok(decision) => {
                    assert_eq!(event_names(&decision), *expected, "{name} in {met}");
                    assert!(decision.jobs().is_empty() && decision.new_entities().is_empty());
                }
            }
        }
    }
}

#[test]
fn late_return_transitions_match_apply() {
    // Checks: state × event, exhaustively; each state's view is JSON with its status and the credited amount.
    assert_chart(&LATE, late_returns(), &events());
    for late in late_returns() {
        let json: serde_json::Value = serde_json::from_str(&to_json(&late.view(&LATE))).unwrap();
        assert_eq!(
            (&json["status"], &json["credited_amount"].to_string()),
            (
                &late.status().into(),
                &if late.status() == "kept" { "0" } else { "4.75" }.to_owned()
            )
        );
    }
}

#[test]
fn retained_late_return_is_posted_to_operating_costs() {
    // Checks: the amount less the rail's fee moves from suspense to operating costs, together with the withheld credit.
    let received = &late_returns()[0];
    let decision = LateReturn::decide(Some(received), &LATE, Command::RecordRetained { job: JOB }, &at(NOW)).unwrap();
    let posted = decision.writes().iter().find_map(|write| match write {
        Write::Put { key, value, .. } if key[0] == table::LEDGER => codec::decode::<LedgerTransaction>(value).ok(),
        _ => None,
    });
    let posted: Vec<_> = posted.unwrap().postings.iter().map(|p| (p.account, p.atomic)).collect();
    assert_eq!(
        posted,
        [
            (LedgerAccount::Suspense, 4_750_000),
            (LedgerAccount::OperatingCosts, -4_750_000)
        ]
    );
    assert!(
        decision
            .conditions()
            .contains(&Condition::Present(table::outbox_job(JOB)))
    );
}

/// A payout's decision on this rail event with this sequence number.
fn decide_rail_event(payout: &Payout, sequence: u64, state: PayoutRailStatus) -> Decision<Payout> {
    let command = payout::Command::RecordRailEvent(PayoutStatusUpdate {
        sequence,
        status: state,
    });
    Payout::decide(Some(payout), &PAYOUT, command, &at(NOW)).unwrap()
}

fn final_statuses() -> [PayoutRailStatus; 3] {
    let reason = "account closed";
    [
        PayoutRailStatus::Returned { reason: reason.into() },
        PayoutRailStatus::Failed { reason: reason.into() },
        PayoutRailStatus::Cancelled { reason: reason.into() },
    ]
}

/// Posted amounts by ledger account, in atomic USDC.
fn posted_amounts(decision: &Decision<Payout>) -> Vec<i128> {
    let rows = decision.writes().iter().filter_map(|write| match write {
        Write::Put { value, .. } => codec::decode::<LedgerTransaction>(value).ok(),
        Write::Delete { .. } => None,
    });
    rows.flat_map(|transaction| transaction.postings)
        .map(|posting| posting.atomic)
        .collect()
}

#[test]
fn late_return_credits_the_amount_less_the_rail_fee_once() {
    // Checks: for any text of the rail there is one late return, one posting and one credit under its own id. Any other
    // event, with any sequence number, is only recorded. The payout stays complete.
    for state in final_statuses() {
        let closed = closed(Usdc::from_atomic(250_000));
        let first = decide_rail_event(&closed, 9, state);
        assert_eq!(first.new_entities().len(), 1);
        let credits: Vec<_> = first.jobs().iter().map(|effect| effect.job.clone()).collect();
        let (account, amount) = (WALLET, Usdc::from_atomic(4_750_000));
        let cause = CreditCause::LateReturn(LATE);
        assert_eq!(credits[0], account::Job::CreditAccount { account, amount, cause });
        assert_eq!(job_names(&first), ["credit_account", "reverse_recipient_totals"]);
        assert_eq!(posted_amounts(&first), [4_750_000, -4_750_000]);
        let after = fold(Some(closed), &PAYOUT, first.events());
        assert_eq!((after.status(), after.returned_late), ("complete", true));
        for again in final_statuses() {
            let decision = decide_rail_event(&after, 10, again);
            assert_eq!(event_names(&decision), "RailSequenceAdvanced");
            assert!(
                decision.jobs().is_empty()
                    && decision.new_entities().is_empty()
                    && posted_amounts(&decision).is_empty()
            );
        }
    }
}

#[test]
fn late_return_below_its_fee_ends_without_a_credit() {
    // Checks: nothing is posted or credited, and the late return is announced at once.
    let decision = decide_rail_event(&closed(Usdc::from_atomic(u64::MAX)), 9, final_statuses()[0].clone());
    assert_eq!(
        job_names(&decision),
        ["confirm_late_return_credit", "reverse_recipient_totals"]
    );
    assert!(posted_amounts(&decision).is_empty());
    assert_eq!(decision.new_entities().len(), 1);
}

#[test]
fn failed_app_payment_is_no_part_of_its_recipients_totals() {
    // Checks: an app payment that ends without reaching its recipient corrects the recipient's totals once. A completed
    // one, or one to a card or bank, corrects none.
    let (queued, complete) = (
        crate::payouts::payout_in_state("queued"),
        crate::payouts::payout_in_state("complete"),
    );
    for state in final_statuses() {
        for payout in [&queued, &complete] {
            let decision = decide_rail_event(payout, 9, state.clone());
            let counts = job_names(&decision)
                .iter()
                .filter(|work| **work == "reverse_recipient_totals")
                .count();
            assert_eq!(counts, 1, "{state:?} of {}", payout.status());
        }
        let bank = decide_rail_event(&crate::payouts::started_payout(crate::payouts::bank()), 9, state);
        assert!(!job_names(&bank).contains(&"reverse_recipient_totals"));
    }
}
