//! Identity and issuer link state machines: every command in every state.

use purser_actors::entity::account::{Account, OwnerCap, OwnerCaps, Rejection as AccountRejection};
use purser_actors::entity::identity_verification::{self, IdentityVerification};
use purser_actors::entity::issuer_link::{self, IssuerLink};
use purser_actors::id::JobId;
use purser_actors::kernel::{Decision, Entity, table, to_json};
use purser_actors::money::Cents;
use purser_actors::port::{StartedCheck, Verdict};
use purser_actors::product::{DailyCap, ProductLine};
use purser_storage::{Condition, Write};

use crate::fixtures::{JOB, NOW, WALLET, accounts, at, claim_request, event_names, fold, job_names, status};

const OTHER: JobId = JobId(99);
const ADDRESS: [u8; 20] = [7; 20];

pub(crate) fn started_check() -> StartedCheck {
    StartedCheck {
        reference: "ref".into(),
        url: "https://check.example/secret".into(),
    }
}

pub(crate) fn identity_events() -> Vec<identity_verification::Event> {
    use identity_verification::Event;
    vec![
        Event::Requested { check: JOB, at: NOW },
        Event::Started(started_check(), NOW),
        Event::Verified(NOW),
        Event::Rejected("no".into(), NOW),
    ]
}

/// Identities: requested, in review, verified and rejected.
pub(crate) fn identities() -> Vec<IdentityVerification> {
    let events = identity_events();
    let asked: IdentityVerification = fold(None, &WALLET, &events[..1]);
    let checked = fold(Some(asked.clone()), &WALLET, &events[1..2]);
    let verified = fold(Some(checked.clone()), &WALLET, &events[2..3]);
    let rejected = fold(Some(checked.clone()), &WALLET, &events[3..4]);
    vec![asked, checked, verified, rejected]
}

pub(crate) fn identity_commands() -> Vec<(&'static str, identity_verification::Command)> {
    use identity_verification::Command;
    let decide = |reference: &str, verdict| Command::RecordVerdict {
        reference: reference.into(),
        verdict,
    };
    let reason = || "no".into();
    let failed = || Verdict::Failed { reason: reason() };
    let (effect, begun) = (JOB, started_check());
    vec![
        ("begin", Command::Request),
        (
            "begun",
            Command::RecordStarted {
                job: effect,
                started: begun.clone(),
            },
        ),
        (
            "begun-other",
            Command::RecordStarted {
                job: OTHER,
                started: begun,
            },
        ),
        (
            "refused",
            Command::RecordDecline {
                job: effect,
                reason: reason(),
            },
        ),
        (
            "refused-other",
            Command::RecordDecline {
                job: OTHER,
                reason: reason(),
            },
        ),
        ("passed", decide("ref", Verdict::Passed)),
        ("failed", decide("ref", failed())),
        ("passed-other", decide("another", Verdict::Passed)),
    ]
}

pub(crate) fn link_events() -> Vec<issuer_link::Event> {
    use issuer_link::Event;
    vec![
        Event::Requested { job: JOB, at: NOW },
        Event::Linked(ADDRESS, NOW),
        Event::Declined("no".into(), NOW),
        Event::Unlinked(NOW),
    ]
}

/// Links: requested, declined and linked.
pub(crate) fn links() -> Vec<IssuerLink> {
    let events = link_events();
    let asked: IssuerLink = fold(None, &WALLET, &events[..1]);
    let refused = fold(Some(asked.clone()), &WALLET, &events[2..3]);
    let linked = fold(Some(asked.clone()), &WALLET, &events[1..2]);
    vec![asked, refused, linked]
}

pub(crate) fn link_commands() -> Vec<(&'static str, issuer_link::Command)> {
    use issuer_link::Command;
    let reason = || "no".into();
    let opened = |effect| Command::RecordOpened {
        job: effect,
        deposit_address: ADDRESS,
    };
    vec![
        ("link", Command::Request),
        ("unlink", Command::Unlink),
        ("opened", opened(JOB)),
        ("opened-other", opened(OTHER)),
        (
            "refused",
            Command::RecordDecline {
                job: JOB,
                reason: reason(),
            },
        ),
        (
            "refused-other",
            Command::RecordDecline {
                job: OTHER,
                reason: reason(),
            },
        ),
    ]
}

/// Compares a state machine with its table: `!` is a rejection, `=` is accepted without a change.
fn holds<E: Entity<Id = purser_actors::id::Wallet>>(table: &str, states: Vec<E>, commands: Vec<(&str, E::Command)>)
where
    E::Command: Clone,
{
    let states: Vec<_> = std::iter::once(None).chain(states.into_iter().map(Some)).collect();
    let lines = table.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.clone().count(), commands.len(), "a line a command");
    for ((name, command), line) in commands.into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        assert_eq!(cells.len(), states.len() + 1, "a cell a state: {line}");
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let decided = E::decide(state.as_ref(), &WALLET, command.clone(), &at(NOW));
            let did = decided.map_or_else(|_| "!".to_owned(), |decision| event_names(&decision));
            assert_eq!(did, *expected, "{name} in {}", status(state.as_ref()));
        }
    }
}

fn puts<E: Entity>(decision: &Decision<E>, key: &[u8]) -> Option<Vec<u8>> {
    decision.writes().iter().find_map(|write| match write {
        Write::Put { key: put, value, .. } if **put == *key => Some(value.clone()),
        _ => None,
    })
}

fn deletes<E: Entity>(decision: &Decision<E>, key: &[u8]) -> bool {
    let deleted = |write: &Write| matches!(write, Write::Delete { key: gone } if **gone == *key);
    decision.writes().iter().any(deleted)
}

#[test]
fn case_31_every_command_in_every_identity_state_matches_the_table() {
    // Checks: eight commands in five states. Only a verdict on the check in progress verifies; a repeated verdict
    // changes nothing, a contradicting one is rejected. A rejected owner may request another check, a verified one not.
    const TABLE: &str = "
begin          Requested  =         =         !  Requested
begun          !          Started   =         !  !
begun-other    !          !         !         !  !
refused        !          Rejected  !         !  !
refused-other  !          !         !         !  !
passed         !          !         Verified  =  !
failed         !          !         Rejected  !  =
passed-other   !          !         !         !  !
";
    holds::<IdentityVerification>(TABLE, identities(), identity_commands());
}

#[test]
fn case_31_every_command_in_every_link_state_matches_the_table() {
    // Checks: six commands in four states; only the pending job opens, and unlinking cancels a pending job.
    const TABLE: &str = "
link           Requested  =         Requested  =
unlink         =          Unlinked  =          Unlinked
opened         !          Linked    !          !
opened-other   !          !         !          !
refused        !          Declined  !          !
refused-other  !          !         !          !
";
    holds::<IssuerLink>(TABLE, links(), link_commands());
}

#[test]
fn verified_row_exists_exactly_while_the_identity_is_verified() {
    // Checks: the batch that verifies writes the row as a new one and ends the check; no other command touches it.
    let row = table::verified(&WALLET);
    for state in std::iter::once(None).chain(identities().into_iter().map(Some)) {
        for (name, command) in identity_commands() {
            let Ok(decision) = IdentityVerification::decide(state.as_ref(), &WALLET, command, &at(NOW)) else {
                continue;
            };
            let verifies = decision.events() == [identity_verification::Event::Verified(NOW)];
            assert_eq!(puts(&decision, &row).is_some(), verifies, "{name}");
            assert_eq!(
                decision.conditions().contains(&Condition::Absent(row.clone())),
                verifies,
                "{name}"
            );
            assert!(!deletes(&decision, &row), "{name}");
            if verifies {
                assert!(deletes(&decision, &table::outbox_job(JOB)), "the check ends");
            }
        }
    }
}

#[test]
fn address_row_exists_exactly_while_the_account_is_linked() {
    // Checks: the batch that links writes the row with only the address; the one that unlinks deletes it.
    let row = table::issuer_linked(&WALLET);
    for state in std::iter::once(None).chain(links().into_iter().map(Some)) {
        for (name, command) in link_commands() {
            let Ok(decision) = IssuerLink::decide(state.as_ref(), &WALLET, command, &at(NOW)) else {
                continue;
            };
            let links = decision.events() == [issuer_link::Event::Linked(ADDRESS, NOW)];
            assert_eq!(puts(&decision, &row), links.then(|| ADDRESS.to_vec()), "{name}");
            let was = state.as_ref().is_some_and(|link| link.deposit_address().is_some());
            assert_eq!(deletes(&decision, &row), was && name == "unlink", "{name}");
        }
    }
}

#[test]
fn each_check_has_one_job_that_its_result_ends() {
    // Checks: one job per check and per account opening, under the id in the state; cancelled, it is deleted.
    let asked = IdentityVerification::decide(None, &WALLET, identity_verification::Command::Request, &at(NOW)).unwrap();
    assert_eq!(job_names(&asked), ["check_identity"]);
    let identity = fold::<IdentityVerification>(None, &WALLET, asked.events());
    let identity_verification::Status::InReview { check, .. } = identity.status else {
        panic!("{identity:?}");
    };
    assert_eq!(check, asked.jobs()[0].id);
    let asked = IssuerLink::decide(None, &WALLET, issuer_link::Command::Request, &at(NOW)).unwrap();
    assert_eq!(job_names(&asked), ["open_issuer_account"]);
    let link = fold::<IssuerLink>(None, &WALLET, asked.events());
    let opening = link.pending_job().unwrap();
    assert_eq!(opening, asked.jobs()[0].id);
    let taken_back = IssuerLink::decide(Some(&link), &WALLET, issuer_link::Command::Unlink, &at(NOW)).unwrap();
    assert!(deletes(&taken_back, &table::outbox_job(opening)));
}

#[test]
fn check_address_is_in_no_view_or_log() {
    // Checks: the page's address lets its bearer answer for the person, so neither events nor logs show it.
    for identity in identities() {
        let shown = to_json(&identity.view(&WALLET));
        assert!(!shown.contains("secret") && !shown.contains("\"ref\""), "{shown}");
    }
    assert!(!format!("{:?}", identities()).contains("secret"));
    assert_eq!(identities()[1].url(), Some("https://check.example/secret"));
    assert_eq!(
        [0, 2, 3].map(|n| identities()[n].url().map(str::to_owned)),
        [None, None, None]
    );
}

const SERVICE: DailyCap = DailyCap {
    count: 3,
    sum: Cents::new(10_000),
};

fn with_owner_caps(count: Option<u32>, sum: Option<u64>) -> Account {
    let cap = OwnerCap {
        count,
        sum: sum.map(Cents::new),
    };
    let caps = OwnerCaps::default().with(ProductLine::UsaCard, cap);
    let command = purser_actors::entity::account::Command::SetCaps(caps);
    let account = accounts().remove(0);
    let decision = Account::decide(Some(&account), &WALLET, command, &at(NOW)).unwrap();
    fold(Some(account), &WALLET, decision.events())
}

#[test]
fn owner_caps_only_tighten_the_service_caps() {
    // Checks: of each number the smaller one applies, at its limit and one unit above, with and without the service's
    // cap.
    let claim = |account: &Account, cents, cap| {
        let mut admission = claim_request(Cents::new(cents), SERVICE);
        admission.cap = cap;
        let command = purser_actors::entity::account::Command::Claim(admission);
        Account::decide(Some(account), &WALLET, command, &at(NOW)).map(drop)
    };
    let sum = |cents| Err(AccountRejection::DailyAmountCap { cap: Cents::new(cents) });
    let none = Err(AccountRejection::DailyCountCap { cap: 0 });
    for (count, own, cents, service, expected) in [
        (None, Some(50_00), 50_00, Some(SERVICE), Ok(())),
        (None, Some(50_00), 50_01, Some(SERVICE), sum(50_00)),
        (None, Some(50_000), 10_001, Some(SERVICE), sum(10_000)),
        (None, Some(50_00), 50_01, None, sum(50_00)),
        (None, None, 100_000_000, None, Ok(())),
        (Some(0), None, 1, Some(SERVICE), none.clone()),
        (Some(0), None, 1, None, none),
        (Some(9), None, 1, Some(SERVICE), Ok(())),
    ] {
        let account = with_owner_caps(count, own);
        assert_eq!(claim(&account, cents, service), expected, "{count:?} {own:?} {cents}");
    }
}

#[test]
fn owner_caps_are_announced_once_and_deleted_when_empty() {
    // Checks: both kinds of prepaid cards share a cap group; setting the same caps again is no event, and without caps
    // nothing is shown.
    let cap = OwnerCap {
        count: Some(2),
        sum: None,
    };
    let caps = OwnerCaps::default().with(ProductLine::IntlCard, cap);
    assert_eq!(caps.for_line(ProductLine::UsaCard), cap);
    assert!(caps.clone().with(ProductLine::UsaCard, OwnerCap::default()).is_empty());
    let account = with_owner_caps(Some(2), None);
    assert_eq!(account.owner_caps, caps);
    let again = purser_actors::entity::account::Command::SetCaps(caps);
    let decision = Account::decide(Some(&account), &WALLET, again.clone(), &at(NOW)).unwrap();
    assert_eq!(event_names(&decision), "=");
    let shown = to_json(&account.view(&WALLET));
    assert!(
        shown.ends_with("\"owner_caps\":{\"usa_prepaid_card\":{\"count_per_day\":2}}}"),
        "{shown}"
    );
    assert!(!to_json(&accounts()[0].view(&WALLET)).contains("owner_caps"));
    let frozen = Account::decide(Some(&accounts()[1]), &WALLET, again.clone(), &at(NOW)).map(drop);
    let message = "call us".to_owned();
    assert_eq!(frozen, Err(AccountRejection::Frozen { message }));
    assert_eq!(
        Account::decide(None, &WALLET, again, &at(NOW)).map(drop),
        Err(AccountRejection::NotFound)
    );
}
