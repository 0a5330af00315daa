//! Payment state machine: every command in every state.

use purser_actors::entity::account;
use purser_actors::entity::payment::{
    Command, IncomingOutcome, Outcome, Payment, Rejection, Reply, Resolution, SessionSeed, Status, id_for_authorization,
};
use purser_actors::id::{Network, SessionId, Wallet};
use purser_actors::kernel::{Decision, Entity, to_json};
use purser_actors::ledger::{LedgerAccount, LedgerTransaction};
use purser_actors::port::{Authorization, ChainStatus, Finality};
use purser_storage::codec;
use purser_storage::{Condition, Write};

use crate::fixtures::{
    CAP_RESERVATION, DAY, JOB, NOW, PAYMENT, at, authorization, decline, event_names, job_names, payment, payments,
    prepared, status, transaction,
};

/// Session of a later presentation.
const NEXT_SESSION: SessionSeed = SessionSeed {
    id: SessionId(15),
    ..crate::fixtures::session()
};

/// What each command does in each state: events, `=` for nothing, `!` for a rejection.
const TABLE: &str = "
                  -  claimed         settling              unknown               declined              released    settled   fulfilled  credited  refused  reversed  resolved  released
present           !  =               =                     =                     Resumed               =           =         =          =         =        =         =         =
present_roomless  !  =               =                     =                     =                     =           =         =          =         =        =         =         =
present_other     !  !               !                     !                     !                     !           !         !          !         !        !         !         !
prepared          !  Settling        !                     !                     !                     !           !         !          !         !        !         !         !
unsendable        !  Released        !                     !                     !                     !           !         !          !         !        !         !         !
declined_unsent   !  DeclinedUnsent  !                     !                     !                     !           !         !          !         !        !         !         !
settled           !  !               Settled+Fulfilled     !                     !                     !           !         !          !         !        !         !         !
declined          !  !               Declined              !                     !                     !           !         !          !         !        !         !         !
lost              !  !               BecameUnknown         !                     !                     !           !         !          !         !        !         !         !
seen_landed       !  =               =                     Settled+Fulfilled     Settled               =           =         =          =         =        =         =         =
seen_pending      !  =               =                     =                     =                     =           =         =          =         =        =         =         =
seen_impossible   !  =               =                     Declined+Refused      Refused               =           =         =          =         =        =         =         =
credited          !  !               !                     !                     !                     !           Credited  !          !         !        !         !         !
deposited         !  !               CreditedAfterRestore  CreditedAfterRestore  CreditedAfterRestore  !           !         !          !         !        !         !         !
resolved          !  !               Resolved              Resolved              Resolved              !           !         !          !         !        !         !         !
readmitted        !  =               =                     =                     =                     Readmitted  =         =          =         =        =         =         Readmitted
reversed          !  !               !                     !                     !                     !           !         Reversed   Reversed  !        =         !         !
finalized         !  !               !                     !                     !                     !           =         =          =         !        =         !         !
";

pub(crate) fn command(name: &str) -> Command {
    let job = JOB;
    let seen = |lookup| Command::RecordChainLookup {
        job,
        lookup,
        is_ordered: false,
    };
    match name {
        "present" => Command::Join {
            request: [5; 32],
            new_session: Some(NEXT_SESSION),
        },
        "present_roomless" => Command::Join {
            request: [5; 32],
            new_session: None,
        },
        "present_other" => Command::Join {
            request: [6; 32],
            new_session: Some(NEXT_SESSION),
        },
        "prepared" => Command::RecordPrepared(prepared()),
        "unsendable" => Command::Release { job },
        "declined_unsent" => Command::RecordDeclinedUnsent {
            job,
            decline: decline(),
        },
        "settled" => Command::RecordSettled {
            job,
            transaction: transaction(),
            finality: Finality::Final,
        },
        "declined" => Command::RecordDeclined {
            job,
            decline: decline(),
        },
        "lost" => Command::RecordNoResponse { job },
        "seen_landed" => seen(ChainStatus::Confirmed {
            transaction: transaction(),
            finality: Finality::Final,
        }),
        "seen_pending" => seen(ChainStatus::Pending),
        "seen_impossible" => seen(ChainStatus::Impossible),
        "credited" => Command::RecordCredit { job },
        "deposited" => Command::RecordRestoreCredit {
            job,
            transaction: transaction(),
            outcome: IncomingOutcome::Credited,
        },
        "resolved" => Command::RecordRestoreCredit {
            job,
            transaction: transaction(),
            outcome: IncomingOutcome::Resolved(Resolution::Returned),
        },
        "readmitted" => Command::RecordReadmitted {
            job,
            reservation: CAP_RESERVATION,
            session: NEXT_SESSION,
        },
        "reversed" => Command::RecordReorg { job },
        "finalized" => Command::RecordFinal { job },
        other => panic!("no such command: {other}"),
    }
}

pub(crate) fn command_names() -> impl Iterator<Item = &'static str> {
    TABLE.lines().skip(2).filter_map(|line| line.split_whitespace().next())
}

fn decide(this: Option<&Payment>, name: &str) -> Result<Decision<Payment>, Rejection> {
    Payment::decide(this, &PAYMENT, command(name), &at(NOW))
}

#[test]
fn every_command_in_every_state_matches_the_table() {
    // Checks: 18 commands in 13 states, each with its events or its rejection.
    let states: Vec<_> = std::iter::once(None).chain(payments().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    let mut cells = 0;
    for line in lines {
        let (name, expected) = line.split_once(' ').unwrap();
        for (state, expected) in states.iter().zip(expected.split_whitespace()) {
            let found = decide(state.as_ref(), name).map_or_else(|_| "!".into(), |d| event_names(&d));
            assert_eq!(found, expected, "{name} in {}", status(state.as_ref()));
            cells += 1;
        }
    }
    assert_eq!(cells, 234);
}

#[test]
fn case_31_final_states_never_change() {
    // Checks: late results of chain and account, in any order, change nothing; a command without an effect is rejected.
    // Only the proof of a reversal changes a settled payment.
    for state in payments().into_iter().filter(Payment::is_final) {
        for name in command_names().filter(|name| *name != "reversed") {
            match decide(Some(&state), name) {
                Err(_) => {}
                Ok(decision) => {
                    assert!(decision.events().is_empty(), "{name} in {}", state.status());
                    assert!(decision.new_entities().is_empty(), "{name} in {}", state.status());
                    // Nothing is left for the caller; only an unused cap reservation is released.
                    let freed = if name == "readmitted" {
                        &["release_cap_reservation"][..]
                    } else {
                        &[]
                    };
                    assert_eq!(job_names(&decision), freed, "{name} in {}", state.status());
                }
            }
        }
    }
    assert_eq!(payments().iter().filter(|p| p.is_final()).count(), 5);
}

#[test]
fn each_transition_enqueues_the_job_for_the_next_one() {
    // Checks: every state that is not final has a job.
    let [claimed, settling, unknown, declined, released, ..] = &payments()[..] else {
        panic!("five states come first");
    };
    for (state, name, expected) in [
        (claimed, "prepared", &[][..]),
        (claimed, "unsendable", &["release_cap_reservation"]),
        (claimed, "declined_unsent", &["release_cap_reservation"]),
        (settling, "settled", &["issue_card"]),
        (settling, "declined", &["watch_payment"]),
        (settling, "lost", &["watch_payment"]),
        (unknown, "seen_landed", &["issue_card"]),
        (unknown, "seen_pending", &[]),
        (unknown, "seen_impossible", &["release_cap_reservation"]),
        (declined, "seen_landed", &["credit_account"]),
        (declined, "seen_impossible", &["release_cap_reservation"]),
        (declined, "present", &["settle_payment"]),
        (released, "readmitted", &["settle_payment"]),
        (claimed, "readmitted", &["release_cap_reservation"]),
    ] {
        let decision = decide(Some(state), name).unwrap();
        assert_eq!(job_names(&decision), expected, "{name} in {}", state.status());
        // Any report of a job ends that job once. Another presentation ends only the watch of a declined payment, a
        // preparation reports nothing, and a watch without a result continues.
        let resumed = name == "present" && state.status() == "declined";
        let ends = usize::from(resumed || !matches!(name, "present" | "prepared" | "seen_pending"));
        let present = |c: &&Condition| matches!(c, Condition::Present(_));
        let ended = decision.conditions().iter().filter(present).count();
        assert_eq!(ended, ends, "{name} in {}", state.status());
    }
}

/// Postings of a decision, in atomic USDC.
fn postings(decision: &Decision<Payment>) -> Vec<(LedgerAccount, i128)> {
    let rows = decision.writes().iter().filter_map(|write| match write {
        Write::Put { value, .. } => codec::decode::<LedgerTransaction>(value).ok(),
        Write::Delete { .. } => None,
    });
    rows.flat_map(|transaction| transaction.postings)
        .map(|posting| (posting.account, posting.atomic))
        .collect()
}

#[test]
fn case_8_reversed_payment_is_a_loss_not_charged_to_the_owner() {
    // Checks: the amount leaves the treasury and is posted as a loss, and no balance changes.
    for state in payments() {
        let Ok(decision) = decide(Some(&state), "reversed") else {
            continue;
        };
        let (price, treasury) = (
            i128::from(state.price().atomic()),
            LedgerAccount::Treasury(Network::Base),
        );
        let expected = match state.status {
            Status::Reversed { .. } => vec![],
            _ => vec![(LedgerAccount::Losses, price), (treasury, -price)],
        };
        assert_eq!(postings(&decision), expected, "{}", state.status());
        assert!(job_names(&decision).is_empty(), "{}", state.status());
    }
}

#[test]
fn presentation_reply_names_the_next_step() {
    // Checks: wait for the outcome, or be admitted again first.
    for state in payments() {
        let expected = match state.is_released() {
            true => Reply::Readmit,
            false => Reply::AwaitOutcome,
        };
        assert_eq!(*decide(Some(&state), "present").unwrap().reply(), expected);
        assert_eq!(
            decide(Some(&state), "present_other").unwrap_err(),
            Rejection::DifferentRequest
        );
    }
}

#[test]
fn payment_declined_before_sending_reports_its_reason_and_claims_anew() {
    // Checks: waiting callers get the reason that clients branch on, and the payment no longer has it once it is
    // admitted again.
    let claimed = payment(Status::Claimed);
    let decision = decide(Some(&claimed), "declined_unsent").unwrap();
    let unsent = crate::fixtures::fold(Some(claimed), &PAYMENT, decision.events());
    assert_eq!(unsent.outcome(), Some(Outcome::Declined(decline())));
    assert_eq!(
        (unsent.status(), unsent.prepared(), unsent.is_final()),
        ("released", None, false)
    );
    let shown = to_json(&unsent.view(&PAYMENT));
    assert!(shown.contains(r#""error_reason":"insufficient_funds""#), "{shown}");
    let decision = decide(Some(&unsent), "readmitted").unwrap();
    let again = crate::fixtures::fold(Some(unsent), &PAYMENT, decision.events());
    assert_eq!((again.status.clone(), again.outcome()), (Status::Claimed, None));
}

#[test]
fn fulfilment_opens_product_and_session_in_one_batch() {
    // Checks: one card and one session, never one without the other.
    for (state, name) in [(&payments()[1], "settled"), (&payments()[2], "seen_landed")] {
        let decision = decide(Some(state), name).unwrap();
        assert_eq!(decision.new_entities().len(), 2);
        let keys: Vec<_> = decision.new_entities().iter().map(|o| o.key()[1]).collect();
        assert_eq!(keys, [4, 3], "a session and a card");
        assert!(decision.new_entities().iter().all(|o| !o.snapshot().is_empty()));
    }
    let declined = payment(Status::Declined(decline(), prepared()));
    assert!(
        decide(Some(&declined), "seen_landed")
            .unwrap()
            .new_entities()
            .is_empty()
    );
}

#[test]
fn case_73_agent_wallet_payment_belongs_to_its_owner() {
    // Checks: product, credit and cap reservation belong to the account, and no session is opened, for any payer on
    // chain.
    let owner = Wallet::Solana([5; 32]);
    let of = |state: &Payment| {
        let mut state = state.clone();
        state.claim.account = owner;
        state
    };
    let settled = decide(Some(&of(&payments()[1])), "settled").unwrap();
    let keys: Vec<_> = settled.new_entities().iter().map(|o| o.key()[1]).collect();
    assert_eq!(keys, [3], "a card, and no session");
    let declined = of(&payment(Status::Declined(decline(), prepared())));
    for (name, state) in [("seen_landed", &declined), ("seen_impossible", &declined)] {
        let decision = decide(Some(state), name).unwrap();
        let notifies = decision.jobs().iter().any(|outbox_job| {
            matches!(
                outbox_job.job.typed(),
                Some(account::Job::CreditAccount { account, .. } | account::Job::ReleaseCapReservation { account, .. })
                    if account == owner
            )
        });
        assert!(notifies, "{name}: {:?}", decision.jobs());
    }
}

#[test]
fn readmitted_payment_has_its_new_cap_reservation() {
    // Checks: a later release returns the newest reservation.
    let reservation = purser_actors::entity::account::CapReservation {
        day: DAY + 1,
        ..CAP_RESERVATION
    };
    let released = payment(Status::Released);
    let readmitted = Command::RecordReadmitted {
        job: JOB,
        reservation,
        session: NEXT_SESSION,
    };
    let decision = Payment::decide(Some(&released), &PAYMENT, readmitted, &at(NOW)).unwrap();
    let claimed = crate::fixtures::fold(Some(released), &PAYMENT, decision.events());
    assert_eq!(claimed.claim.cap_reservation, reservation);
}

#[test]
fn session_belongs_to_the_settling_caller() {
    // Checks: a released or declined payment that is presented again opens the session of that presentation; no other
    // command changes the session.
    for state in payments() {
        let first = state.claim.session;
        for name in command_names() {
            let Ok(decision) = decide(Some(&state), name) else {
                continue;
            };
            let after = crate::fixtures::fold(Some(state.clone()), &PAYMENT, decision.events())
                .claim
                .session;
            let again = match (&state.status, name) {
                (Status::Released | Status::DeclinedUnsent(_), "readmitted") | (Status::Declined(..), "present") => {
                    NEXT_SESSION
                }
                _ => first,
            };
            assert_eq!(after, again, "{name} in {}", state.status());
        }
    }
}

#[test]
fn payment_id_depends_on_its_claim_alone() {
    // Checks: another signature, time or amount is the same payment; another payer, nonce or key is not.
    let id = |authorization: &Authorization| id_for_authorization(authorization, &[1; 32]);
    let first = authorization();
    let changed = |change: fn(&mut purser_actors::port::EvmAuthorization)| {
        let Authorization::Evm(mut evm) = authorization() else {
            panic!("the sample is on Base");
        };
        change(&mut evm);
        Authorization::Evm(evm)
    };
    assert_eq!(id(&first), id(&changed(|evm| evm.signature = [9; 65].into())));
    assert_eq!(id(&first), id(&changed(|evm| evm.valid_before = 5)));
    assert_ne!(id(&first), id(&changed(|evm| evm.from = [9; 20])));
    assert_ne!(id(&first), id(&changed(|evm| evm.nonce = [9; 32])));
    assert_ne!(id(&first), id_for_authorization(&first, &[2; 32]));
}
