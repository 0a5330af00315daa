//! Comparison of two lists as a table, and every command in every state of a discrepancy.

use purser_actors::currency::Currency;
use purser_actors::entity::discrepancy::{Command, Discrepancy, DiscrepancyDetails, Event};
use purser_actors::id::DiscrepancyId;
use purser_actors::kernel::{Entity, to_json};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Timestamp;
use purser_actors::reconciliation::{
    DiscrepancyKind, EntryAmount, EntryKind, EntryStatus, GraceWindow, ListedEntry, ReconciliationSource, compare,
};
use purser_storage::Write;

use crate::fixtures::{JOB, NOW, PAYMENT, at, event_names, fold, job_names, status};
use crate::transitions::assert_chart;

const GRACE_MS: u64 = 1_000;
const OLD: Timestamp = Timestamp(NOW.0 - GRACE_MS);
const MOMENT: GraceWindow = GraceWindow {
    now: NOW,
    grace_ms: GRACE_MS,
};

const fn listed(standing: EntryStatus, at: Timestamp) -> ListedEntry {
    ListedEntry {
        status: standing,
        amount: EntryAmount::Cents(Cents::new(500), Currency::USD),
        at,
    }
}

fn entry_in_status(name: &str) -> Option<ListedEntry> {
    use EntryStatus::{Completed, Declined, Held, NotSubmitted, Pending, Returned};
    let all = [NotSubmitted, Pending, Held, Completed, Declined, Returned];
    let known = all.into_iter().find(|standing| standing.name() == name);
    assert!(known.is_some() || name == "-", "{name}");
    known.map(|standing| listed(standing, OLD))
}

/// Internal status down, external status across; `=` is no discrepancy.
const TABLE: &str = "
               -       pending  held     completed  declined  returned
-              =       unknown  unknown  unknown    =         =
not_submitted  =       state    state    state      =         =
pending        =       =        state    state      state     state
held           lacks   state    =        state      state     state
completed      lacks   state    state    =          state     state
declined       =       state    state    state      =         =
returned       lacks   state    state    state      =         =
";

fn short(found: Option<DiscrepancyKind>) -> &'static str {
    match found {
        None => "=",
        Some(DiscrepancyKind::UnexpectedAtProvider) => "unknown",
        Some(DiscrepancyKind::MissingAtProvider) => "lacks",
        Some(DiscrepancyKind::StatusMismatch) => "state",
        Some(other) => other.name(),
    }
}

#[test]
fn order_discrepancies_of_two_lists_match_the_table() {
    // Checks: every internal status with every external one, after the grace period.
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let columns: Vec<_> = lines.next().unwrap().split_whitespace().map(entry_in_status).collect();
    let mut rows = 0;
    for line in lines {
        let cells: Vec<_> = line.split_whitespace().collect();
        let ours = entry_in_status(cells[0]);
        for (theirs, expected) in columns.iter().zip(&cells[1..]) {
            let found = compare(EntryKind::Order, ours.as_ref(), theirs.as_ref(), MOMENT);
            assert_eq!(short(found), *expected, "{ours:?} {theirs:?}");
        }
        rows += 1;
    }
    assert_eq!((rows, columns.len()), (7, 6));
}

#[test]
fn pending_entry_is_no_discrepancy_yet() {
    // Checks: a status or missing entry waits for the grace period on either side; an amount and an unknown order do
    // not. A clock that runs ahead hides nothing.
    let done = |at| listed(EntryStatus::Completed, at);
    let pending = listed(EntryStatus::Pending, OLD);
    let find = |ours: Option<ListedEntry>, theirs: Option<ListedEntry>| {
        compare(EntryKind::Order, ours.as_ref(), theirs.as_ref(), MOMENT)
    };
    let young = Timestamp(OLD.0 + 1);
    assert_eq!(find(Some(pending), Some(done(young))), None);
    assert_eq!(find(Some(done(young)), Some(pending)), None);
    assert_eq!(find(Some(done(young)), None), None);
    assert_eq!(find(Some(done(OLD)), None), Some(DiscrepancyKind::MissingAtProvider));
    let ahead = Timestamp(NOW.0 + 1);
    assert_eq!(
        find(Some(pending), Some(done(ahead))),
        Some(DiscrepancyKind::StatusMismatch)
    );
    assert_eq!(find(None, Some(done(NOW))), Some(DiscrepancyKind::UnexpectedAtProvider));
    let other = ListedEntry {
        amount: EntryAmount::Cents(Cents::new(501), Currency::USD),
        ..done(NOW)
    };
    assert_eq!(
        find(Some(done(NOW)), Some(other)),
        Some(DiscrepancyKind::AmountMismatch)
    );
    let remote = ListedEntry {
        amount: EntryAmount::Cents(Cents::new(500), "EUR".parse().unwrap()),
        ..done(NOW)
    };
    assert_eq!(
        find(Some(done(NOW)), Some(remote)),
        Some(DiscrepancyKind::AmountMismatch)
    );
}

#[test]
fn case_34_missing_and_surplus_transfers_have_their_own_kinds() {
    // Checks: each direction has its own kind for a missing and a surplus transfer. A transfer in settlement waits, and
    // a transfer whose payment was refused belongs to no payment.
    use DiscrepancyKind::{MissingDeposit, MissingTransfer, UnmatchedDeposit, UnmatchedTransfer};
    let moved = |standing, at| ListedEntry {
        status: standing,
        amount: EntryAmount::Usdc(Usdc::from_atomic(5_000_000)),
        at,
    };
    let there = |at| Some(moved(EntryStatus::Completed, at));
    for (flow, surplus, lack) in [
        (EntryKind::Deposit, UnmatchedDeposit, MissingDeposit),
        (EntryKind::OutgoingTransfer, UnmatchedTransfer, MissingTransfer),
    ] {
        let find = |ours: Option<ListedEntry>, theirs: Option<ListedEntry>| {
            compare(flow, ours.as_ref(), theirs.as_ref(), MOMENT)
        };
        assert_eq!(find(None, there(OLD)), Some(surplus));
        assert_eq!(find(None, there(NOW)), None);
        assert_eq!(find(there(OLD), None), Some(lack));
        assert_eq!(find(there(OLD), there(OLD)), None);
        for waiting in [EntryStatus::Pending, EntryStatus::NotSubmitted] {
            assert_eq!(find(Some(moved(waiting, OLD)), None), None);
            assert_eq!(find(Some(moved(waiting, OLD)), there(NOW)), None);
            assert_eq!(find(Some(moved(waiting, OLD)), there(OLD)), Some(surplus));
        }
    }
}

#[test]
fn unsolicited_entry_is_a_discrepancy_only_after_its_delay() {
    // Checks: deposits, bridge transfers and card balances are reported with a delay, so young entries are no
    // discrepancy. A wrong amount is one at once, except of a balance.
    use DiscrepancyKind::{AmountMismatch, MissingAtProvider, StatusMismatch, UnexpectedAtProvider};
    let other = |at| ListedEntry {
        amount: EntryAmount::Cents(Cents::new(501), Currency::USD),
        ..listed(EntryStatus::Completed, at)
    };
    let done = |at| Some(listed(EntryStatus::Completed, at));
    for flow in [
        EntryKind::IncomingTransfer,
        EntryKind::Balance,
        EntryKind::BridgeTransfer,
    ] {
        let find = |ours: Option<ListedEntry>, theirs: Option<ListedEntry>| {
            compare(flow, ours.as_ref(), theirs.as_ref(), MOMENT)
        };
        assert_eq!(find(None, done(OLD)), Some(UnexpectedAtProvider), "{flow:?}");
        assert_eq!(find(None, done(NOW)), None, "{flow:?}");
        assert_eq!(find(done(OLD), None), Some(MissingAtProvider), "{flow:?}");
        assert_eq!(find(done(OLD), done(OLD)), None, "{flow:?}");
        let held = Some(listed(EntryStatus::Held, OLD));
        assert_eq!(find(held, done(OLD)), Some(StatusMismatch), "{flow:?}");
        assert_eq!(find(done(OLD), Some(other(OLD))), Some(AmountMismatch), "{flow:?}");
        let young = (flow != EntryKind::Balance).then_some(AmountMismatch);
        assert_eq!(find(done(OLD), Some(other(NOW))), young, "{flow:?}");
    }
}

#[test]
fn amounts_are_rendered_with_their_unit() {
    // Checks: operators read exact amounts.
    assert_eq!(listed(EntryStatus::Completed, NOW).to_string(), "completed 5.00 USD");
    let usdc = EntryAmount::Usdc(Usdc::from_atomic(1_000_001));
    assert_eq!(usdc.to_string(), "1.000001 USDC");
}

fn discrepancy_details(kind: DiscrepancyKind) -> Box<DiscrepancyDetails> {
    Box::new(DiscrepancyDetails {
        source: ReconciliationSource::Cards,
        entry_kind: EntryKind::Order,
        key: "eff_1".into(),
        subject: Some("card_1".into()),
        kind,
        internal: Some("completed 5.00 USD".into()),
        external: None,
    })
}

#[test]
fn case_8_reversed_payment_is_followed_up_by_the_detecting_batch() {
    // Checks: over a crash, the chain is still queried. Nothing else is followed up: no deposit of a restore, and no
    // other discrepancy kind.
    let id = DiscrepancyId(1);
    let missing = |subject: Option<String>| {
        let mut missing = discrepancy_details(DiscrepancyKind::MissingDeposit);
        missing.subject = subject;
        missing
    };
    let payment = Some(PAYMENT.to_string());
    for (state, found, expected) in [
        (None, missing(payment.clone()), &["confirm_reorg"][..]),
        (discrepancies().pop(), missing(payment.clone()), &["confirm_reorg"]),
        (discrepancies().into_iter().next(), missing(payment), &["confirm_reorg"]),
        (None, missing(Some("dep_1".into())), &[]),
        (None, missing(None), &[]),
        (None, discrepancy_details(DiscrepancyKind::AmountMismatch), &[]),
    ] {
        let decision = Discrepancy::decide(state.as_ref(), &id, Command::Report(found), &at(NOW)).unwrap();
        assert_eq!(job_names(&decision), expected);
    }
}

fn discrepancies() -> Vec<Discrepancy> {
    let id = DiscrepancyId(1);
    let open = fold::<Discrepancy>(
        None,
        &id,
        &[Event::Opened(
            discrepancy_details(DiscrepancyKind::MissingAtProvider),
            NOW,
        )],
    );
    let resolved = fold(Some(open.clone()), &id, &[Event::Resolved(NOW)]);
    vec![open, resolved]
}

const COMMANDS: &str = "
         -       open      resolved
find     Opened  =         Opened
other    Opened  Updated   Opened
resolve  =       Resolved  =
pursued  =       =         =
";

#[test]
fn every_command_in_every_discrepancy_state_matches_the_table() {
    // Checks: it is announced once when it opens and once when it is resolved, however often it is found; meanwhile it
    // is listed.
    let id = DiscrepancyId::for_entry(ReconciliationSource::Cards, "eff_1");
    let states: Vec<_> = std::iter::once(None)
        .chain(discrepancies().into_iter().map(Some))
        .collect();
    let mut lines = COMMANDS.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for (name, command) in [
        (
            "find",
            Command::Report(discrepancy_details(DiscrepancyKind::MissingAtProvider)),
        ),
        (
            "other",
            Command::Report(discrepancy_details(DiscrepancyKind::StatusMismatch)),
        ),
        ("resolve", Command::Resolve),
        ("pursued", Command::CloseReorg { job: JOB }),
    ] {
        let cells: Vec<_> = lines.next().unwrap().split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let decision = Discrepancy::decide(state.as_ref(), &id, command.clone(), &at(NOW)).unwrap();
            assert_eq!(
                event_names(&decision),
                *expected,
                "{name} in {}",
                status(state.as_ref())
            );
            assert!(decision.jobs().is_empty());
            let rows: Vec<_> = decision
                .writes()
                .iter()
                .map(|w| matches!(w, Write::Put { .. }))
                .collect();
            let expected: &[bool] = match *expected {
                "=" if name == "pursued" => &[false],
                "=" => &[],
                "Resolved" => &[false],
                _ => &[true],
            };
            assert_eq!(rows, expected, "{name}");
        }
    }
}

#[test]
fn discrepancy_transitions_match_apply() {
    // Checks: state × event, exhaustively; each view shows the status, and no secret or owner.
    let events = [
        Event::Opened(discrepancy_details(DiscrepancyKind::MissingAtProvider), NOW),
        Event::Updated(discrepancy_details(DiscrepancyKind::AmountMismatch), NOW),
        Event::Resolved(NOW),
    ];
    let id = DiscrepancyId(1);
    assert_chart(&id, discrepancies(), &events);
    for difference in discrepancies() {
        let json: serde_json::Value = serde_json::from_str(&to_json(&difference.view(&id))).unwrap();
        assert_eq!(json["status"], difference.status());
        assert_eq!(
            (&json["kind"], &json["external"]),
            (&"missing_at_provider".into(), &serde_json::Value::Null)
        );
    }
}

#[test]
fn entries_of_different_lists_are_different_discrepancies() {
    // Checks: one key at two providers is two entries.
    let ids = ReconciliationSource::ALL.map(|source| DiscrepancyId::for_entry(source, "eff_1"));
    let mut all = [
        &ids[..],
        &[DiscrepancyId::for_entry(ReconciliationSource::Base, "eff_2")],
    ]
    .concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), ReconciliationSource::ALL.len() + 1);
}
