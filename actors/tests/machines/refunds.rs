//! Refund state machine: every command in every state, its postings, and who may approve.

use purser_actors::entity::account;
use purser_actors::entity::account::CreditCause;
use purser_actors::entity::refund::{Command, Event, Refund, RefundRequest, Rejection};
use purser_actors::id::{PaymentId, RefundId};
use purser_actors::kernel::{Decision, Entity, table, to_json};
use purser_actors::ledger::{LedgerAccount, LedgerTransaction, Posting};
use purser_actors::money::Usdc;
use purser_actors::operator::{AuditRecord, AuditedAction};
use purser_actors::port::Timestamp;
use purser_storage::{Write, codec};

use crate::fixtures::{JOB, NOW, PAYMENT, WALLET, at, event_names, fold, job_names, operator, status};
use crate::transitions::assert_chart;

const REFUND: RefundId = RefundId::for_payment(PAYMENT);
const LIFE_MS: u64 = 60_000;
const FIVE: Usdc = Usdc::from_atomic(5_000_000);

// `over` is `requested` after its approval period.
const TABLE: &str = "
              -                   requested  over      approved  credited  rejected            expired
ask           Requested           =          =         =         =         Requested           Requested
ask-small     Requested+Approved  =          =         =         =         Requested+Approved  Requested+Approved
ask-more      Requested           !          !         !         !         Requested           Requested
approve       !                   Approved   !         =         =         !                   !
approve-own   !                   !          !         !         !         !                   !
approve-more  !                   !          !         !         !         !                   !
approve-else  !                   Approved   !         !         !         !                   !
reject        !                   Rejected   Rejected  !         !         =                   !
expire        !                   Expired    Expired   =         =         =                   =
expire-old    !                   =          =         =         =         =                   =
confirmed     !                   !          !         Credited  !         !                   !
";

fn by(name: &str) -> AuditedAction {
    let mut audited = operator();
    audited.act.operator = name.to_owned();
    audited
}

fn refund_request(amount: Usdc) -> Box<RefundRequest> {
    Box::new(RefundRequest {
        owner: WALLET,
        payment: PAYMENT,
        amount,
        reason: "The card was declined.".into(),
        holder_keeps_product: false,
        by: "ana".into(),
    })
}

fn ask(amount: Usdc, at_once: bool) -> Command {
    Command::Request {
        request: refund_request(amount),
        at_once,
        life_ms: LIFE_MS,
        act: by("ana"),
    }
}

fn approve(amount: Usdc, name: &str) -> Command {
    let act = by(name);
    Command::Approve { amount, act }
}

fn commands() -> Vec<(&'static str, Command)> {
    let more = Usdc::from_atomic(6_000_000);
    let expire = |round| Command::Expire { job: JOB, round };
    let reject = Command::Reject {
        reason: "Twice.".into(),
        act: by("ben"),
    };
    vec![
        ("ask", ask(FIVE, false)),
        ("ask-small", ask(FIVE, true)),
        ("ask-more", ask(more, false)),
        ("approve", approve(FIVE, "ben")),
        ("approve-own", approve(FIVE, "ana")),
        ("approve-more", approve(more, "ben")),
        ("approve-else", approve(FIVE, "eva")),
        ("reject", reject),
        ("expire", expire(1)),
        ("expire-old", expire(9)),
        ("confirmed", Command::RecordCredit { job: JOB }),
    ]
}

fn command(name: &str) -> Command {
    commands().into_iter().find(|(known, _)| *known == name).unwrap().1
}

fn events() -> Vec<Event> {
    let until = NOW.plus_ms(LIFE_MS);
    vec![
        Event::Requested(refund_request(FIVE), until, NOW),
        Event::Approved(Some("ben".into()), NOW),
        Event::Rejected("ben".into(), NOW),
        Event::Expired(NOW),
        Event::Credited(NOW),
    ]
}

/// One in each state, with the time at which it is tested.
fn refunds() -> Vec<(&'static str, Refund, Timestamp)> {
    let events = events();
    let after = |places: &[usize]| -> Refund {
        let history: Vec<Event> = places.iter().map(|n| events[*n].clone()).collect();
        fold(None, &REFUND, &history)
    };
    vec![
        ("requested", after(&[0]), NOW),
        ("over", after(&[0]), NOW.plus_ms(LIFE_MS)),
        ("approved", after(&[0, 1]), NOW),
        ("credited", after(&[0, 1, 4]), NOW),
        ("rejected", after(&[0, 2]), NOW),
        ("expired", after(&[0, 3]), NOW),
    ]
}

fn refund_in_state(name: &str) -> Refund {
    refunds().into_iter().find(|(known, ..)| *known == name).unwrap().1
}

#[test]
fn every_command_in_every_refund_state_matches_the_table() {
    // Checks: it takes effect once, and another operator than the requester approves it. A repeated command has no
    // effect. A rejected or expired refund can be requested again.
    let states: Vec<_> = std::iter::once(("-", None, NOW))
        .chain(refunds().into_iter().map(|(name, refund, at)| (name, Some(refund), at)))
        .collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for ((met, state, now), expected) in states.iter().zip(&cells[1..]) {
            let refused = match (name, *met) {
                ("approve-own", "requested" | "over") => Rejection::SelfApproval,
                ("approve-more", "requested" | "over" | "approved" | "credited") => Rejection::AmountMismatch,
                _ => Rejection::InvalidState(status(state.as_ref())),
            };
            match Refund::decide(state.as_ref(), &REFUND, command.clone(), &at(*now)) {
                Ok(decision) => assert_eq!(event_names(&decision), *expected, "{name} in {met}"),
                Err(rejection) => assert_eq!((rejection, *expected), (refused, "!"), "{name} in {met}"),
            }
        }
    }
}

#[test]
fn refund_transitions_match_apply() {
    // Checks: state × event, exhaustively; the account owner's announcement contains no operator text.
    let states: Vec<Refund> = refunds().into_iter().map(|(_, refund, _)| refund).collect();
    assert_chart(&REFUND, states.clone(), &events());
    for refund in states {
        let json = to_json(&refund.view(&REFUND));
        let shown: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&shown["status"], &shown["amount"].to_string()),
            (&refund.status().into(), &"5".to_owned())
        );
        assert!(
            !json.contains("ana") && !json.contains("ben") && !json.contains("declined"),
            "{json}"
        );
    }
}

fn rows<T: codec::Stored>(decision: &Decision<Refund>, table: u8) -> Vec<T> {
    let rows = decision.writes().iter().filter_map(|write| match write {
        Write::Put { key, value, .. } if key[0] == table => Some(codec::decode(value).unwrap()),
        _ => None,
    });
    rows.collect()
}

#[test]
fn refund_is_posted_as_our_cost_and_the_payers_credit() {
    // Checks: it takes effect once, within the limit or after an approval. A waiting refund is not posted, and each
    // action is in the audit log with its operator.
    let decide = |state: Option<&Refund>, name| Refund::decide(state, &REFUND, command(name), &at(NOW)).unwrap();
    let (requested, account) = (refund_in_state("requested"), WALLET);
    for (state, name, acts, what) in [
        (None, "ask-small", 1, "refund.request"),
        (Some(&requested), "approve", 1, "refund.approve"),
    ] {
        let decision = decide(state, name);
        let (amount, cause) = (FIVE, CreditCause::Refund(REFUND));
        let works: Vec<_> = decision.jobs().iter().map(|effect| effect.job.clone()).collect();
        assert_eq!(
            works,
            [account::Job::CreditAccount { account, amount, cause }],
            "{name}"
        );
        let booked: Vec<LedgerTransaction> = rows(&decision, table::LEDGER);
        let posting = |place, atomic| Posting { account: place, atomic };
        assert_eq!(
            booked[0].postings,
            [
                posting(LedgerAccount::OperatingCosts, 5_000_000),
                posting(LedgerAccount::Suspense, -5_000_000)
            ]
        );
        assert_eq!(
            (booked.len(), booked[0].cause.as_str()),
            (1, REFUND.to_string().as_str())
        );
        let audits: Vec<AuditRecord> = rows(&decision, table::AUDIT_LOG);
        assert_eq!((audits.len(), audits[0].action.as_str()), (acts, what));
    }
    let waits = decide(None, "ask");
    assert!(job_names(&waits).is_empty() && rows::<LedgerTransaction>(&waits, table::LEDGER).is_empty());
    assert_eq!(rows::<AuditRecord>(&waits, table::AUDIT_LOG).len(), 1);
    let rejected = decide(Some(&requested), "reject");
    assert!(job_names(&rejected).is_empty() && rows::<LedgerTransaction>(&rejected, table::LEDGER).is_empty());
    assert_eq!(
        rows::<AuditRecord>(&rejected, table::AUDIT_LOG)[0].note.as_deref(),
        Some("Twice.")
    );
}

#[test]
fn kept_product_is_in_the_audit_log_with_its_decider() {
    // Checks: the statement that the owner keeps the product is recorded at the request and at the approval, and only
    // if it was made. A waiting refund has no decider; one within the limit was decided by its requester.
    for (keeps, approved) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut asked = refund_request(FIVE);
        asked.holder_keeps_product = keeps;
        let ask = Command::Request {
            request: asked,
            at_once: !approved,
            life_ms: LIFE_MS,
            act: by("ana"),
        };
        let mut decided = Refund::decide(None, &REFUND, ask, &at(NOW)).unwrap();
        let mut refund: Refund = fold(None, &REFUND, decided.events());
        let mut audits: Vec<AuditRecord> = rows(&decided, table::AUDIT_LOG);
        if approved {
            assert_eq!(refund.decider(), None);
            decided = Refund::decide(Some(&refund), &REFUND, approve(FIVE, "ben"), &at(NOW)).unwrap();
            refund = fold(Some(refund), &REFUND, decided.events());
            audits.extend(rows::<AuditRecord>(&decided, table::AUDIT_LOG));
        }
        let said = audits
            .iter()
            .filter(|act| act.subject.ends_with(" holder_keeps_product"));
        assert_eq!(said.count(), if keeps { audits.len() } else { 0 });
        assert_eq!(audits.len(), 1 + usize::from(approved));
        assert_eq!(refund.decider(), Some(if approved { "ben" } else { "ana" }));
        assert_eq!(refund.request.holder_keeps_product, keeps);
    }
}

#[test]
fn payment_has_one_refund() {
    // Checks: the id derives from the payment, and another request is another round of the same refund.
    assert_eq!(RefundId::for_payment(PaymentId(7)), RefundId(7));
    let again = Refund::decide(Some(&refund_in_state("expired")), &REFUND, command("ask"), &at(NOW)).unwrap();
    let again = fold(Some(refund_in_state("expired")), &REFUND, again.events());
    assert_eq!((again.status(), again.round), ("requested", 2));
}
