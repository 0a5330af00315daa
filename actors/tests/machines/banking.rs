//! Banking state machines: every command in every state.

use purser_actors::entity::account::CreditCause;
use purser_actors::entity::account::{
    Account, BankDebit, Command as AccountCommand, Event as AccountEvent, Rejection as Refused,
};
use purser_actors::entity::banking::account::{self, BankAccount};
use purser_actors::entity::banking::application::{
    self, BankingApplication, Document, DocumentType, MediaType, Question, Rejection,
};
use purser_actors::entity::banking::profile::{self, AlreadyExists, BankingProfile, CustomerType};
use purser_actors::entity::banking::transfer::TransferRequest;
use purser_actors::id::{BankAccountId, BankTransferId, BankingApplicationId, CardId, DepositId, DocumentId, JobId};
use purser_actors::kernel::{Entity, table, to_json};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Timestamp;
use purser_actors::port::banking::{AccountNumbers, AccountType, OpenAccountResult, ReviewDecision};
use purser_storage::{Condition, Write};

use crate::fixtures::{JOB, NOW, WALLET, accounts, at, fold, job_names};
use crate::recipients::assert_table;
use crate::transitions::assert_chart;

const OTHER: JobId = JobId(99);
pub(crate) const ACCOUNT: BankAccountId = BankAccountId(41);
pub(crate) const TRANSFER: BankTransferId = BankTransferId(42);

pub(crate) fn profile() -> BankingProfile {
    BankingProfile {
        owner: WALLET,
        customer_type: CustomerType::Individual,
        first_name: "Ada".into(),
        last_name: "Lovelace".into(),
        email: "ada@example.com".into(),
        country: "US".parse().unwrap(),
        created_at: NOW,
    }
}

// Checks: a wallet has one profile, its own whatever the command names, and it never changes.
#[test]
fn banking_profile_is_created_once() {
    let foreign = BankingProfile {
        created_at: Timestamp(1),
        ..profile()
    };
    let create = || profile::Command::Create {
        profile: Box::new(foreign.clone()),
        application: BankingApplicationId(7),
    };
    let made = BankingProfile::decide(None, &WALLET, create(), &at(NOW)).unwrap();
    let state: BankingProfile = fold(None, &WALLET, made.events());
    assert_eq!(state, profile());
    assert_eq!(
        BankingProfile::decide(Some(&state), &WALLET, create(), &at(NOW)).unwrap_err(),
        AlreadyExists
    );
    let events = [profile::Event::Created(Box::new(profile()))];
    assert_chart::<BankingProfile>(&WALLET, vec![state], &events);
}

fn new_document(id: u128, shows: DocumentType) -> Document {
    Document {
        id: DocumentId(id),
        document_type: shows,
        media: MediaType::Pdf,
        bytes: 5,
        sha256: [1; 32],
        at: NOW,
    }
}

fn opened() -> BankingApplication {
    BankingApplication {
        owner: WALLET,
        id: BankingApplicationId(7),
        business: false,
        american: true,
        answers: Vec::new(),
        tax_last4: None,
        documents: Vec::new(),
        requested_items: None,
        submissions: 0,
        created_at: NOW,
        updated_at: NOW,
        status: application::Status::Incomplete,
    }
}

fn application_events() -> Vec<application::Event> {
    use application::Event;
    let answers = Question::ALL
        .iter()
        .map(|question| (*question, "x".to_owned()))
        .collect();
    vec![
        Event::Opened(Box::new(opened())),
        Event::Updated(answers, Some("6789".into()), NOW),
        Event::DocumentAdded(new_document(1, DocumentType::ProofOfAddress)),
        Event::Submitted(JOB, NOW),
        Event::Approved("cus".into(), NOW),
        Event::Rejected("no".into(), NOW),
        Event::InformationRequested("more".into(), NOW),
    ]
}

/// Complete, submitted, approved, rejected.
fn applications() -> Vec<BankingApplication> {
    let events = application_events();
    let complete: BankingApplication = fold(None, &WALLET, &events[..3]);
    let submitted = fold(Some(complete.clone()), &WALLET, &events[3..4]);
    let approved = fold(Some(submitted.clone()), &WALLET, &events[4..5]);
    let rejected = fold(Some(submitted.clone()), &WALLET, &events[5..6]);
    vec![complete, submitted, approved, rejected]
}

#[test]
fn every_command_in_every_application_state_matches_the_table() {
    // Checks: answers and documents change while it is open, one submission at a time, and only the submission's own
    // job decides.
    const TABLE: &str = "
               -  incomplete     submitted             approved  rejected
answer         !  Updated        !                     !         Updated
attach         !  DocumentAdded  !                     !         DocumentAdded
submit         !  Submitted      !                     !         !
approve        !  !              Approved              !         !
reject         !  !              Rejected              !         !
want           !  !              InformationRequested  !         !
approve-other  !  !              !                     !         !
";
    use application::Command;
    let reviewed = |effect, review| Command::RecordReview { job: effect, review };
    let customer = || ReviewDecision::Approved { customer: "cus".into() };
    let commands = vec![
        (
            "answer",
            Command::Update {
                answers: vec![(Question::City, "Town".into())],
                tax: Some(("6789".into(), vec![9; 40])),
            },
        ),
        (
            "attach",
            Command::AddDocument {
                document: new_document(2, DocumentType::Other),
                sealed_key: vec![9; 40],
            },
        ),
        ("submit", Command::Submit),
        ("approve", reviewed(JOB, customer())),
        (
            "reject",
            reviewed(JOB, ReviewDecision::Rejected { reason: "no".into() }),
        ),
        (
            "want",
            reviewed(JOB, ReviewDecision::InformationRequested { what: "more".into() }),
        ),
        ("approve-other", reviewed(OTHER, customer())),
    ];
    assert_table(TABLE, &WALLET, applications(), commands);
    assert_chart::<BankingApplication>(&WALLET, applications(), &application_events());
}

#[test]
fn incomplete_application_names_what_is_missing_and_is_not_submitted() {
    // Checks: each missing answer and document is named for its applicant type. A submission requires the verified row,
    // and the owner's view has no answer.
    let of = |business, american| {
        let application = BankingApplication {
            business,
            american,
            ..opened()
        };
        application.missing()
    };
    assert!(of(false, true).contains(&"state") && !of(false, false).contains(&"state"));
    assert!(of(false, true).contains(&"occupation") && !of(true, true).contains(&"occupation"));
    assert!(of(true, true).contains(&"formation_document") && !of(false, true).contains(&"formation_date"));
    let refused =
        BankingApplication::decide(Some(&opened()), &WALLET, application::Command::Submit, &at(NOW)).unwrap_err();
    assert_eq!(refused, Rejection::Incomplete(opened().missing()));
    let complete = &applications()[0];
    assert!(complete.missing().is_empty());
    let submitted =
        BankingApplication::decide(Some(complete), &WALLET, application::Command::Submit, &at(NOW)).unwrap();
    assert!(
        submitted
            .conditions()
            .contains(&Condition::Present(table::verified(&WALLET)))
    );
    assert_eq!(job_names(&submitted), ["submit_bank_application"]);
    let shown = to_json(&complete.view(&WALLET));
    assert!(!shown.contains("\"x\"") && !shown.contains("6789"), "{shown}");
}

#[test]
fn replaced_document_loses_its_key() {
    // Checks: one document of each kind; the batch with a new one deletes the key of the old one. Of other documents at
    // most ten exist.
    let attach = |application: &BankingApplication, document| {
        let command = application::Command::AddDocument {
            document,
            sealed_key: vec![9; 40],
        };
        BankingApplication::decide(Some(application), &WALLET, command, &at(NOW))
    };
    let complete = &applications()[0];
    let replaced = attach(complete, new_document(2, DocumentType::ProofOfAddress)).unwrap();
    let key = table::vault(CardId(1));
    assert!(replaced.writes().contains(&Write::Delete { key }));
    let after: BankingApplication = fold(Some(complete.clone()), &WALLET, replaced.events());
    assert_eq!(after.documents, [new_document(2, DocumentType::ProofOfAddress)]);
    let mut full = after;
    for n in 3..12 {
        full = fold(
            Some(full.clone()),
            &WALLET,
            attach(&full, new_document(n, DocumentType::Other)).unwrap().events(),
        );
    }
    assert_eq!(
        attach(&full, new_document(12, DocumentType::Other)).unwrap_err(),
        Rejection::TooManyDocuments
    );
    assert!(attach(&full, new_document(12, DocumentType::ProofOfAddress)).is_ok());
}

#[test]
fn every_command_in_every_bank_account_state_matches_the_table() {
    // Checks: only its own job opens it, once.
    const TABLE: &str = "
              -          pending   open  rejected
open          Requested  !         !     !
opened        !          Opened    !     !
refused       !          Rejected  !     !
opened-other  !          !         !     !
";
    use account::{Command, Event};
    let at_bank = AccountNumbers {
        bank_name: "First Bank".into(),
        routing_number: "021000021".into(),
        account_number: "123456789".into(),
        memo: None,
    };
    let opening = |effect, opening| Command::RecordResult {
        job: effect,
        result: opening,
    };
    let commands = vec![
        (
            "open",
            Command::Request {
                owner: WALLET,
                customer: "cus".into(),
                account_type: AccountType::OnRamp,
                label: None,
            },
        ),
        ("opened", opening(JOB, OpenAccountResult::Open(at_bank.clone()))),
        (
            "refused",
            opening(JOB, OpenAccountResult::Rejected { reason: "no".into() }),
        ),
        ("opened-other", opening(OTHER, OpenAccountResult::Open(at_bank.clone()))),
    ];
    let asked = BankAccount {
        owner: WALLET,
        customer: "cus".into(),
        account_type: AccountType::OnRamp,
        label: None,
        created_at: NOW,
        updated_at: NOW,
        status: account::Status::Pending(JOB),
    };
    let events = [
        Event::Requested(Box::new(asked.clone())),
        Event::Opened(at_bank, NOW),
        Event::Rejected("no".into(), NOW),
    ];
    let open = fold(Some(asked.clone()), &ACCOUNT, &events[1..2]);
    let refused = fold(Some(asked.clone()), &ACCOUNT, &events[2..3]);
    let states = || vec![asked.clone(), open.clone(), refused.clone()];
    assert_table(TABLE, &ACCOUNT, states(), commands);
    assert_chart::<BankAccount>(&ACCOUNT, states(), &events);
    assert!(
        !to_json(&open.view(&ACCOUNT)).contains("123456789"),
        "events have no number"
    );
}

pub(crate) fn transfer_request() -> TransferRequest {
    TransferRequest {
        owner: WALLET,
        account: ACCOUNT,
        cents: Cents::new(1_00),
        amount: Usdc::from_atomic(1_000_000),
        note: None,
    }
}

#[test]
fn bank_transfer_never_exceeds_the_balance() {
    // Checks: the available amount is debited at once with the order. More, zero, and a frozen account are rejected.
    let [active, frozen] = &accounts()[..] else {
        panic!("two")
    };
    let amount = Usdc::from_atomic(1_500_000);
    let cause = CreditCause::Deposit(DepositId(1));
    let rich: Account = fold(
        Some(active.clone()),
        &WALLET,
        &[AccountEvent::Credited { amount, cause }],
    );
    let pay = |account: &Account, cents: u64| {
        let wanted = TransferRequest {
            cents: Cents::new(cents),
            amount: Usdc::from_cents(Cents::new(cents)).unwrap(),
            ..transfer_request()
        };
        let command = AccountCommand::DebitForBank(BankDebit::Transfer(TRANSFER, wanted));
        Account::decide(Some(account), &WALLET, command, &at(NOW))
    };
    let paid = pay(&rich, 1_00).unwrap();
    assert_eq!(job_names(&paid), ["execute_bank_transfer"]);
    let after: Account = fold(Some(rich.clone()), &WALLET, paid.events());
    assert_eq!((after.balance.atomic(), after.held), (500_000, Usdc::ZERO));
    for (account, cents) in [(&rich, 1_51), (&rich, 0), (active, 1)] {
        assert!(matches!(pay(account, cents), Err(Refused::Insufficient { .. })));
    }
    assert!(matches!(pay(frozen, 1_00), Err(Refused::Frozen { .. })));
}
