//! Saved recipients and bank destinations: every command in every state.

use purser_actors::entity::bank_destination::{self, BankDestination, BankRecipient, DestinationType};
use purser_actors::entity::payment_recipient::{self, PaymentRecipient};
use purser_actors::id::{BankDestinationId, BankRecipientId, CardId, PaymentRecipientId};
use purser_actors::kernel::{Decision, Entity, table, to_json};
use purser_actors::money::Cents;
use purser_actors::port::payouts::{AppPayee, BankDetails, Platform};
use purser_storage::{Condition, RowKey, Write, codec};

use crate::fixtures::{JOB, NOW, WALLET, at, event_names, fold, status};
use crate::transitions::assert_chart;

const RECIPIENT: PaymentRecipientId = PaymentRecipientId(31);
const DESTINATION: BankDestinationId = BankDestinationId(32);

const RECIPIENTS: &str = "
         -           active           archived         deleted
paid     Saved+Paid  Paid             Paid             Paid
back     !           PaymentReturned  PaymentReturned  PaymentReturned
rename   !           Renamed          Renamed          !
archive  !           Archived         =                !
restore  !           =                Unarchived       !
delete   !           Deleted          Deleted          !
";

const DESTINATIONS: &str = "
          -           active   removed
register  Registered  !        !
remove    !           Removed  !
rename    !           Renamed  !
forget    !           !        =
";

fn payee() -> AppPayee {
    AppPayee {
        recipient: "@ada".into(),
        first_name: "Ada".into(),
        last_name: "Lovelace".into(),
        email: "ada@example.com".into(),
    }
}

fn recipient_commands() -> Vec<(&'static str, payment_recipient::Command)> {
    use payment_recipient::Command;
    let change = |name: Option<&str>, archived| Command::Update {
        display_name: name.map(str::to_owned),
        archived,
    };
    let paid = Command::RecordPayment {
        job: JOB,
        owner: WALLET,
        platform: Platform::Paypal,
        payee: payee(),
        amount: Cents::new(7_00),
    };
    let back = Command::RecordReturn {
        job: JOB,
        amount: Cents::new(7_00),
    };
    vec![
        ("paid", paid),
        ("back", back),
        ("rename", change(Some("Ada at work"), None)),
        ("archive", change(None, Some(true))),
        ("restore", change(None, Some(false))),
        ("delete", Command::Delete),
    ]
}

fn recipient_events() -> Vec<payment_recipient::Event> {
    use payment_recipient::Event;
    vec![
        Event::Saved {
            owner: WALLET,
            platform: Platform::Paypal,
            payee: payee(),
            at: NOW,
        },
        Event::Paid {
            payee: payee(),
            amount: Cents::new(7_00),
            at: NOW,
        },
        Event::PaymentReturned(Cents::new(7_00)),
        Event::Renamed("x".into()),
        Event::Archived,
        Event::Unarchived,
        Event::Deleted,
    ]
}

fn recipients() -> Vec<PaymentRecipient> {
    let active: PaymentRecipient = fold(None, &RECIPIENT, &recipient_events()[..2]);
    let after = |event| fold(Some(active.clone()), &RECIPIENT, &[event]);
    let (archived, deleted) = (
        after(payment_recipient::Event::Archived),
        after(payment_recipient::Event::Deleted),
    );
    vec![active, archived, deleted]
}

fn details() -> BankDetails {
    BankDetails {
        name: "Rent".into(),
        bank_name: "First Bank".into(),
        account_holder_name: "Ada Lovelace".into(),
        last4: "6789".into(),
        routing_number: "021000021".into(),
    }
}

fn destination(scheme: DestinationType) -> BankDestination {
    BankDestination {
        owner: WALLET,
        recipient: BankRecipient {
            id: BankRecipientId(33),
            name: "Ada Lovelace".into(),
            address: String::new(),
        },
        scheme,
        details: details(),
        created_at: NOW,
        active: true,
    }
}

fn destination_commands() -> Vec<(&'static str, bank_destination::Command)> {
    use bank_destination::Command;
    let register = Command::Register {
        destination: Box::new(destination(DestinationType::FiatUs)),
        sealed: vec![9; 40],
    };
    vec![
        ("register", register),
        ("remove", Command::Remove),
        ("rename", Command::Rename("Home".into())),
        ("forget", Command::ShredNumber { job: JOB }),
    ]
}

fn destinations() -> Vec<BankDestination> {
    let active = destination(DestinationType::FiatUs);
    let removed = fold(
        Some(active.clone()),
        &DESTINATION,
        &[bank_destination::Event::Removed(NOW)],
    );
    vec![active, removed]
}

/// Compares a table with `decide`.
pub(crate) fn assert_table<E: Entity>(text: &str, id: &E::Id, states: Vec<E>, commands: Vec<(&'static str, E::Command)>)
where
    E::Command: Clone,
{
    let states: Vec<_> = std::iter::once(None).chain(states.into_iter().map(Some)).collect();
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for ((name, command), line) in commands.into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let met = status(state.as_ref());
            let did = match E::decide(state.as_ref(), id, command.clone(), &at(NOW)) {
                Ok(decision) => event_names(&decision),
                Err(_) => "!".into(),
            };
            assert_eq!(did, *expected, "{name} in {met}");
        }
    }
}

#[test]
fn every_recipient_and_destination_command_matches_the_tables() {
    // Checks: a deleted or removed one stays so, except a recipient that is paid again.
    assert_table(RECIPIENTS, &RECIPIENT, recipients(), recipient_commands());
    assert_table(DESTINATIONS, &DESTINATION, destinations(), destination_commands());
}

#[test]
fn recipient_and_destination_transitions_match_apply() {
    // Checks: state × event, exhaustively; each state's view is JSON with its status.
    assert_chart(&RECIPIENT, recipients(), &recipient_events());
    let events = [
        bank_destination::Event::Registered(Box::new(destination(DestinationType::FiatUs))),
        bank_destination::Event::Removed(NOW),
        bank_destination::Event::Renamed("x".into()),
    ];
    assert_chart(&DESTINATION, destinations(), &events);
    for saved in recipients() {
        let json: serde_json::Value = serde_json::from_str(&to_json(&saved.view(&RECIPIENT))).unwrap();
        assert_eq!(json["status"], saved.status());
    }
    for saved in destinations() {
        let json: serde_json::Value = serde_json::from_str(&to_json(&saved.view(&DESTINATION))).unwrap();
        assert_eq!(json["status"], saved.status());
    }
}

#[test]
fn totals_count_every_payment_and_survive_archive_and_deletion() {
    // Checks: three payments over an archive and a deletion are three payments and their sum.
    use payment_recipient::Event;
    let paid = recipient_events()[1].clone();
    let events = [Event::Archived, paid.clone(), Event::Deleted, paid];
    let after = fold(Some(recipients()[0].clone()), &RECIPIENT, &events);
    assert_eq!(
        (after.payments, after.total, after.status()),
        (3, Cents::new(21_00), "active")
    );
    assert_eq!(after.display_name, "Ada Lovelace");
}

#[test]
fn us_destination_has_a_row_exactly_while_payable() {
    // Checks: the row is deleted with the removal, the sealed number only later; an IBAN is listed and never payable.
    let row = table::payable_destination(&WALLET, DESTINATION);
    let register = |scheme| bank_destination::Command::Register {
        destination: Box::new(destination(scheme)),
        sealed: vec![9; 40],
    };
    let made = BankDestination::decide(None, &DESTINATION, register(DestinationType::FiatUs), &at(NOW)).unwrap();
    let value = codec::encode(&details());
    let put = Write::Put {
        key: row.clone(),
        revision: 0,
        value,
    };
    assert!(made.writes().contains(&put));
    let removed = BankDestination::decide(
        Some(&destinations()[0]),
        &DESTINATION,
        bank_destination::Command::Remove,
        &at(NOW),
    );
    let removed = removed.unwrap();
    let sealed = table::vault(CardId(DESTINATION.0));
    let takes = |decision: &Decision<BankDestination>, gone: &RowKey| {
        let (write, condition) = (Write::Delete { key: gone.clone() }, Condition::Present(gone.clone()));
        decision.writes().contains(&write) && decision.conditions().contains(&condition)
    };
    assert!(takes(&removed, &row) && !takes(&removed, &sealed));
    let forgotten = BankDestination::decide(
        Some(&destinations()[1]),
        &DESTINATION,
        bank_destination::Command::ShredNumber { job: JOB },
        &at(NOW),
    );
    assert!(takes(&forgotten.unwrap(), &sealed));
    let listed = BankDestination::decide(None, &DESTINATION, register(DestinationType::FiatIban), &at(NOW)).unwrap();
    let touches = |write: &Write| matches!(write, Write::Put { key, .. } if *key == row);
    assert!(!listed.writes().iter().any(touches));
}
