//! Payout state machine: every command and every rail event in every state.

use purser_actors::currency::Currency;
use purser_actors::entity::account;
use purser_actors::entity::payout::{
    Command, Event, Payout, PayoutOrdered, PayoutPlan, PayoutTarget, RailTerms, Rejection,
};
use purser_actors::id::{BankDestinationId, CardId, JobId, PaymentRecipientId, PayoutId};
use purser_actors::kernel::{Entity, table, to_json};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::ExternalText;
use purser_actors::port::payouts::{AppPayee, BankDetails, PayoutRailStatus, PayoutStatusUpdate, Platform};
use purser_storage::{Condition, Write};

use crate::fixtures::{JOB, NOW, WALLET, at, charge, event_names, fold, job_names, status};
use crate::transitions::assert_chart;

const PAYOUT: PayoutId = PayoutId(21);
const KEY: JobId = JobId(22);

// `closed` is `complete` after its return window, `late` is the same after a late return.
const TABLE: &str = "
            -  awaiting-details  queued                                   in-process                      complete                       closed                             failed                                cancelled                             expired                               returned                              late
detail      !  DetailsSubmitted  !                                        !                               !                              !                                  !                                     !                                     !                                     !                                     !
in-process  !  FoundAtRail       RailSequenceAdvanced+Accepted            RailSequenceAdvanced            RailSequenceAdvanced           RailSequenceAdvanced               RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced
complete    !  FoundAtRail       RailSequenceAdvanced+Accepted+Completed  RailSequenceAdvanced+Completed  RailSequenceAdvanced           RailSequenceAdvanced               RailSequenceAdvanced+PaidAfterCredit  RailSequenceAdvanced+PaidAfterCredit  RailSequenceAdvanced+PaidAfterCredit  RailSequenceAdvanced+PaidAfterCredit  RailSequenceAdvanced+PaidAfterCredit
failed      !  FoundAtRail       RailSequenceAdvanced+Failed              RailSequenceAdvanced+Failed     RailSequenceAdvanced+Returned  RailSequenceAdvanced+ReturnedLate  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced
cancelled   !  FoundAtRail       RailSequenceAdvanced+Cancelled           RailSequenceAdvanced+Cancelled  RailSequenceAdvanced+Returned  RailSequenceAdvanced+ReturnedLate  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced
returned    !  FoundAtRail       RailSequenceAdvanced+Accepted+Returned   RailSequenceAdvanced+Returned   RailSequenceAdvanced+Returned  RailSequenceAdvanced+ReturnedLate  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced                  RailSequenceAdvanced
old         !  =                 =                                        =                               =                              =                                  =                                     =                                     =                                     =                                     =
expire      !  Expired           =                                        =                               =                              =                                  =                                     =                                     =                                     =                                     =
close       !  =                 =                                        =                               ReturnWindowClosed             =                                  =                                     =                                     =                                     =                                     =
recalled    !  =                 =                                        Returned                        =                              =                                  =                                     =                                     =                                     =                                     =
kept        !  =                 =                                        =                               =                              =                                  =                                     =                                     =                                     =                                     =
op-paid     !  !                 Accepted+Completed                       Completed                       !                              !                                  !                                     !                                     !                                     !                                     !
op-failed   !  !                 Failed                                   Failed                          !                              !                                  !                                     !                                     !                                     !                                     !
op-other    !  !                 !                                        !                               !                              !                                  !                                     !                                     !                                     !                                     !
";

fn rail_event(sequence: u64, state: PayoutRailStatus) -> Command {
    Command::RecordRailEvent(PayoutStatusUpdate {
        sequence,
        status: state,
    })
}

fn resolved(job: JobId, state: PayoutRailStatus) -> Command {
    Command::ResolveManually { job, state }
}

fn reason() -> ExternalText {
    "because".into()
}

fn complete() -> PayoutRailStatus {
    PayoutRailStatus::Complete {
        reference: "ref".into(),
    }
}

fn commands() -> Vec<(&'static str, Command)> {
    let (job, sealed, last4) = (JOB, vec![9; 40], "4242".into());
    vec![
        ("detail", Command::SubmitDetails { last4, sealed }),
        (
            "in-process",
            rail_event(9, PayoutRailStatus::InProcess { retry_after_ms: 1 }),
        ),
        ("complete", rail_event(9, complete())),
        ("failed", rail_event(9, PayoutRailStatus::Failed { reason: reason() })),
        (
            "cancelled",
            rail_event(9, PayoutRailStatus::Cancelled { reason: reason() }),
        ),
        (
            "returned",
            rail_event(9, PayoutRailStatus::Returned { reason: reason() }),
        ),
        ("old", rail_event(0, complete())),
        ("expire", Command::Expire { job }),
        ("close", Command::CloseReturnWindow { job }),
        ("recalled", Command::RecordRecall { job, done: true }),
        ("kept", Command::RecordRecall { job, done: false }),
        ("op-paid", resolved(KEY, complete())),
        (
            "op-failed",
            resolved(KEY, PayoutRailStatus::Failed { reason: reason() }),
        ),
        ("op-other", resolved(job, complete())),
    ]
}

fn command(name: &str) -> Command {
    let mut commands = commands().into_iter();
    commands.find(|(known, _)| *known == name).unwrap().1
}

fn card() -> PayoutTarget {
    PayoutTarget::Card(None)
}

pub(crate) fn bank() -> PayoutTarget {
    let details = BankDetails {
        name: "Rent".into(),
        bank_name: "First Bank".into(),
        account_holder_name: "Ada Lovelace".into(),
        last4: "6789".into(),
        routing_number: "021000021".into(),
    };
    PayoutTarget::Bank(BankDestinationId(23), details)
}

fn app() -> PayoutTarget {
    let payee = AppPayee {
        recipient: "@ada".into(),
        first_name: "Ada".into(),
        last_name: "Lovelace".into(),
        email: "ada@example.com".into(),
    };
    PayoutTarget::App(PaymentRecipientId(24), Platform::Venmo, payee)
}

fn ordered(target: PayoutTarget) -> Event {
    let terms = RailTerms {
        returns_ms: 60_000,
        return_fee: Usdc::from_atomic(250_000),
        wait_ms: 120_000,
    };
    Event::Ordered(Box::new(PayoutOrdered {
        owner: WALLET,
        charge: charge(),
        amount: Cents::new(5_00),
        currency: Currency::USD,
        message: None,
        plan: PayoutPlan {
            target,
            terms,
            quoted: None,
        },
        key: KEY,
        at: NOW,
    }))
}

pub(crate) fn started_payout(target: PayoutTarget) -> Payout {
    fold(None, &PAYOUT, &[ordered(target)])
}

fn after(payout: &Payout, events: &[Event]) -> Payout {
    fold(Some(payout.clone()), &PAYOUT, events)
}

/// A payout to an app in each of its states, after one to a card that awaits its details.
fn payouts() -> Vec<(&'static str, Payout)> {
    let (waiting, queued) = (started_payout(card()), started_payout(app()));
    let under_way = after(&queued, &[Event::Accepted(NOW)]);
    let complete = after(&under_way, &[Event::Completed("ref".into(), NOW)]);
    let kept = Usdc::from_atomic(250_000);
    vec![
        ("awaiting-details", waiting.clone()),
        ("queued", queued),
        ("in-process", under_way.clone()),
        ("complete", complete.clone()),
        ("closed", after(&complete, &[Event::ReturnWindowClosed(NOW)])),
        ("failed", after(&under_way, &[Event::Failed(reason(), NOW)])),
        ("cancelled", after(&under_way, &[Event::Cancelled(reason(), NOW)])),
        ("expired", after(&waiting, &[Event::Expired(NOW)])),
        ("returned", after(&complete, &[Event::Returned(reason(), kept, NOW)])),
        (
            "late",
            after(&complete, &[Event::ReturnWindowClosed(NOW), Event::ReturnedLate]),
        ),
    ]
}

/// The payout in this state.
pub(crate) fn payout_in_state(name: &str) -> Payout {
    payouts().into_iter().find(|(known, _)| *known == name).unwrap().1
}

/// A payout after its return window, on a rail that keeps this much of a return.
pub(crate) fn closed(return_fee: Usdc) -> Payout {
    let mut closed = payout_in_state("closed");
    closed.plan.terms.return_fee = return_fee;
    closed
}

#[test]
fn case_31_33_every_command_in_every_payout_state_matches_the_table() {
    // Checks: for any rail event in any state, final states stay and old events change nothing. A success after a
    // credit is recorded, and a return after the window leaves the payout complete.
    let states: Vec<_> = std::iter::once(("-", None))
        .chain(payouts().into_iter().map(|(name, payout)| (name, Some(payout))))
        .collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for ((met, state), expected) in states.iter().zip(&cells[1..]) {
            match Payout::decide(state.as_ref(), &PAYOUT, command.clone(), &at(NOW)) {
                Ok(decision) => assert_eq!(event_names(&decision), *expected, "{name} in {met}"),
                Err(rejection) => {
                    let is = status(state.as_ref());
                    assert_eq!((rejection, *expected), (Rejection(is), "!"), "{name} in {met}");
                }
            }
        }
    }
}

#[test]
fn payout_transitions_match_apply() {
    // Checks: state × event, exhaustively; each state's view is JSON with its status.
    let kept = Usdc::from_atomic(250_000);
    let events = [
        ordered(card()),
        ordered(bank()),
        Event::DetailsSubmitted("4242".into(), NOW),
        Event::Accepted(NOW),
        Event::Completed("ref".into(), NOW),
        Event::Failed(reason(), NOW),
        Event::Cancelled(reason(), NOW),
        Event::Expired(NOW),
        Event::Returned(reason(), kept, NOW),
        Event::ReturnWindowClosed(NOW),
        Event::RailSequenceAdvanced(5),
        Event::PaidAfterCredit(NOW),
        Event::RecallCompleted(NOW),
        Event::ReturnedLate,
        Event::FoundAtRail(NOW),
    ];
    let states: Vec<_> = payouts().into_iter().map(|(_, payout)| payout).collect();
    assert_chart(&PAYOUT, states.clone(), &events);
    for payout in states.into_iter().chain([started_payout(bank())]) {
        let json: serde_json::Value = serde_json::from_str(&to_json(&payout.view(&PAYOUT))).unwrap();
        assert_eq!(json["status"], payout.status());
    }
}

#[test]
fn decline_credits_the_charge_and_return_the_amount_less_fee() {
    // Checks (case 32): the amount credited for each ending, once each.
    let whole = charge().charged;
    let less = Usdc::from_atomic(4_750_000);
    for (met, name, credited) in [
        ("queued", "failed", Some(whole)),
        ("in-process", "failed", Some(whole)),
        ("in-process", "cancelled", Some(whole)),
        ("awaiting-details", "expire", Some(whole)),
        ("in-process", "returned", Some(less)),
        ("in-process", "recalled", Some(less)),
        ("complete", "returned", Some(less)),
        ("complete", "failed", Some(less)),
        ("failed", "failed", None),
        ("failed", "returned", None),
        ("returned", "returned", None),
        ("closed", "returned", Some(less)),
        ("closed", "failed", Some(less)),
    ] {
        let (_, payout) = payouts().into_iter().find(|(name, _)| *name == met).unwrap();
        let decision = Payout::decide(Some(&payout), &PAYOUT, command(name), &at(NOW)).unwrap();
        let credits: Vec<_> = decision
            .jobs()
            .iter()
            .filter_map(|outbox_job| match outbox_job.job.typed()? {
                account::Job::CreditAccount { amount, account, .. } => Some((amount, account)),
                _ => None,
            })
            .collect();
        let expected: Vec<_> = credited.into_iter().map(|amount| (amount, WALLET)).collect();
        assert_eq!(credits, expected, "{name} in {met}");
    }
}

#[test]
fn card_form_expires_at_its_last_millisecond() {
    // Checks: at the last millisecond a card is accepted, at the next it is not, whether the timer has fired or not.
    let waiting = started_payout(card());
    let end = waiting.expires_at();
    assert_eq!(end, NOW.plus_ms(120_000));
    let before = purser_actors::port::Timestamp(end.0 - 1);
    assert!(Payout::decide(Some(&waiting), &PAYOUT, command("detail"), &at(before)).is_ok());
    let refused = Payout::decide(Some(&waiting), &PAYOUT, command("detail"), &at(end));
    assert_eq!(refused.unwrap_err(), Rejection("awaiting-details"));
}

#[test]
fn payout_of_a_lost_history_is_queried_not_sent() {
    // Checks: a rail event before the form means an order that a restore lost. The job with the same key queries it,
    // its end deletes no number, because none was stored here, and the expired form credits nothing.
    let waiting = started_payout(card());
    let decision = Payout::decide(Some(&waiting), &PAYOUT, rail_event(2, complete()), &at(NOW)).unwrap();
    assert_eq!(
        (event_names(&decision), job_names(&decision)),
        ("FoundAtRail".into(), vec!["send_payout"])
    );
    assert_eq!(decision.jobs()[0].id, KEY);
    let found = after(&waiting, decision.events());
    assert_eq!((found.status(), found.last_sequence), ("queued", 0));
    let late = Payout::decide(Some(&found), &PAYOUT, command("expire"), &at(NOW)).unwrap();
    assert!(late.events().is_empty() && late.jobs().is_empty());
    let decision = Payout::decide(Some(&found), &PAYOUT, rail_event(2, complete()), &at(NOW)).unwrap();
    let vault = table::vault(CardId(PAYOUT.0));
    assert!(!decision.conditions().contains(&Condition::Present(vault)));
    assert_eq!(after(&found, decision.events()).status(), "complete");
}

#[test]
fn rail_event_text_is_truncated() {
    // Checks: no rail text makes a row too large to write or cuts a character in two.
    let queued = started_payout(bank());
    let said = PayoutRailStatus::Failed {
        reason: "ü".repeat(50_000).into(),
    };
    let decision = Payout::decide(Some(&queued), &PAYOUT, rail_event(1, said), &at(NOW)).unwrap();
    let failed = after(&queued, decision.events());
    assert_eq!(failed.reason().unwrap(), "ü".repeat(200));
}

#[test]
fn success_after_a_credit_is_recalled_once() {
    // Checks: a second success during the recall requests nothing; after it, a new success does.
    let (_, failed) = payouts().into_iter().find(|(name, _)| *name == "failed").unwrap();
    let decision = Payout::decide(Some(&failed), &PAYOUT, rail_event(5, complete()), &at(NOW)).unwrap();
    assert_eq!(job_names(&decision), ["recall_payout"]);
    let recalling = after(&failed, decision.events());
    assert!(recalling.is_recallable() && recalling.is_credited());
    let again = Payout::decide(Some(&recalling), &PAYOUT, rail_event(6, complete()), &at(NOW)).unwrap();
    assert!(again.jobs().is_empty());
    let recalled = Payout::decide(Some(&recalling), &PAYOUT, command("recalled"), &at(NOW)).unwrap();
    assert_eq!(event_names(&recalled), "RecallCompleted");
    let taken_back = after(&recalling, recalled.events());
    assert!(!taken_back.is_recallable());
    let third = Payout::decide(Some(&taken_back), &PAYOUT, rail_event(7, complete()), &at(NOW)).unwrap();
    assert_eq!(job_names(&third), ["recall_payout"]);
}

#[test]
fn case_33_rail_events_apply_in_any_order() {
    // Checks: in every order, each event also twice, the payout ends as the newest one says, credited at most once.
    let words = [
        rail_event(1, PayoutRailStatus::InProcess { retry_after_ms: 1 }),
        rail_event(2, complete()),
        rail_event(3, PayoutRailStatus::Returned { reason: reason() }),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for target in [bank(), app()] {
            let (mut payout, mut credits) = (started_payout(target), 0);
            for n in order.into_iter().flat_map(|n| [n, n]) {
                let decision = Payout::decide(Some(&payout), &PAYOUT, words[n].clone(), &at(NOW)).unwrap();
                credits += job_names(&decision)
                    .iter()
                    .filter(|name| **name == "credit_account")
                    .count();
                payout = after(&payout, decision.events());
            }
            assert_eq!(
                (payout.status(), payout.last_sequence, credits),
                ("returned", 3, 1),
                "{order:?}"
            );
        }
    }
}

#[test]
fn card_number_stays_sealed_until_the_rail_decides() {
    // Checks: it is stored in the vault once, with the order, and deleted after the rail's decision; no snapshot or
    // view has it.
    let vault = table::vault(CardId(PAYOUT.0));
    let waiting = started_payout(card());
    let given = Payout::decide(Some(&waiting), &PAYOUT, command("detail"), &at(NOW)).unwrap();
    assert!(given.conditions().contains(&Condition::Absent(vault.clone())));
    assert_eq!(job_names(&given), ["send_payout"]);
    assert_eq!(given.jobs()[0].id, KEY, "the order's id is the rail's key");
    let queued = after(&waiting, given.events());
    assert!(to_json(&queued.view(&PAYOUT)).contains("\"card_last4\":\"4242\""));
    for name in ["complete", "failed", "cancelled", "returned"] {
        let decided = Payout::decide(Some(&queued), &PAYOUT, command(name), &at(NOW)).unwrap();
        let gone = Write::Delete { key: vault.clone() };
        assert!(decided.writes().contains(&gone), "{name}");
        assert!(
            decided
                .conditions()
                .contains(&Condition::Present(table::outbox_job(KEY))),
            "{name}"
        );
    }
}

#[test]
fn rail_event_overrides_an_operator_resolution() {
    // Checks: an operator's decline takes no sequence number, so the rail's first success is still recalled. A success
    // that an operator stated wrongly is returned like any other.
    let queued = payout_in_state("queued");
    let decide = |payout: &Payout, command| Payout::decide(Some(payout), &PAYOUT, command, &at(NOW)).unwrap();
    let failed = decide(&queued, resolved(KEY, PayoutRailStatus::Failed { reason: reason() }));
    assert_eq!(job_names(&failed), ["credit_account", "reverse_recipient_totals"]);
    let failed = after(&queued, failed.events());
    let late = decide(&failed, rail_event(1, complete()));
    assert_eq!(
        (event_names(&late), job_names(&late)),
        ("RailSequenceAdvanced+PaidAfterCredit".to_owned(), vec!["recall_payout"])
    );
    let paid = after(&queued, decide(&queued, resolved(KEY, complete())).events());
    let back = decide(&paid, rail_event(1, PayoutRailStatus::Failed { reason: reason() }));
    assert_eq!(
        (event_names(&back), job_names(&back)),
        (
            "RailSequenceAdvanced+Returned".to_owned(),
            vec!["reverse_recipient_totals", "credit_account"]
        )
    );
}
