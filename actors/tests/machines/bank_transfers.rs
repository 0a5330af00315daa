//! Bank transfer state machine: every command in every state.

use purser_actors::entity::account;
use purser_actors::entity::account::CreditCause;
use purser_actors::entity::banking::transfer::{self, BankTransfer, TransferDirection};
use purser_actors::id::{BankAccountId, JobId};
use purser_actors::kernel::Entity;
use purser_actors::kernel::job::AnyJob;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::banking::BankTransferResult;

use crate::banking::{ACCOUNT, TRANSFER, transfer_request};
use crate::fixtures::{JOB, NOW, WALLET, at};
use crate::recipients::assert_table;
use crate::transitions::assert_chart;

const OTHER: JobId = JobId(77);

fn transfer(way: TransferDirection, status: transfer::Status) -> BankTransfer {
    BankTransfer {
        owner: WALLET,
        account: ACCOUNT,
        direction: way,
        cents: Cents::new(1_00),
        amount: Usdc::from_atomic(1_000_000),
        note: None,
        created_at: NOW,
        updated_at: NOW,
        status,
    }
}

#[test]
fn every_command_in_every_bank_transfer_state_matches_the_table() {
    // Checks: a deposit counts once however often it is reported, and another amount under its name is rejected. Only
    // the job of a pending transfer ends it. An outgoing one is credited after a decline or return, an incoming one
    // after its execution. A deposit from outside is never returned, nor is more than the executed amount or a transfer
    // to another account.
    const TABLE: &str = "
              -        pending             complete  complete  failed  returned
arrived       Started  !                   =         !         !       !
arrived-more  Started  !                   !         !         !       !
draw          Started  !                   !         !         !       !
moved         !        Completed           !         !         !       !
refused       !        Failed              !         !         !       !
moved-other   !        !                   !         !         !       !
back          !        Completed+Returned  !         Returned  !       =
back-other    !        Completed+Returned  !         Returned  !       !
back-more     !        !                   !         !         !       !
back-else     !        !                   !         !         !       !
";
    use transfer::{Command, Event, ReturnDetails, Status};
    let done = || BankTransferResult::Complete {
        reference: "ref".into(),
    };
    let no = || BankTransferResult::Failed { reason: "no".into() };
    let moved = |effect, moved| Command::RecordResult {
        job: effect,
        result: moved,
    };
    let back = |reference: &str, atomic| ReturnDetails {
        reference: reference.into(),
        amount: Usdc::from_atomic(atomic),
    };
    let mut more = transfer_request();
    more.amount = Usdc::from_atomic(1_000_001);
    let commands = vec![
        ("arrived", Command::RecordDeposit(transfer_request(), "ref".into())),
        ("arrived-more", Command::RecordDeposit(more, "ref".into())),
        ("draw", Command::Request(transfer_request())),
        ("moved", moved(JOB, done())),
        ("refused", moved(JOB, no())),
        ("moved-other", moved(OTHER, done())),
        ("back", Command::RecordReturn(ACCOUNT, back("back", 999_999))),
        ("back-other", Command::RecordReturn(ACCOUNT, back("other", 1_000_000))),
        ("back-more", Command::RecordReturn(ACCOUNT, back("back", 1_000_001))),
        ("back-else", Command::RecordReturn(BankAccountId(77), back("else", 1))),
    ];
    let pending = transfer(TransferDirection::ToAccount, Status::Pending(JOB));
    let complete = transfer(TransferDirection::Incoming, Status::Complete("ref".into()));
    let failed = transfer(TransferDirection::ToAccount, Status::Failed("no".into()));
    let sent = transfer(TransferDirection::ToAccount, Status::Complete("ref".into()));
    let returned = transfer(TransferDirection::ToAccount, Status::Returned(back("back", 999_999)));
    let states = || {
        vec![
            pending.clone(),
            complete.clone(),
            sent.clone(),
            failed.clone(),
            returned.clone(),
        ]
    };
    assert_table(TABLE, &TRANSFER, states(), commands);
    let events = [
        Event::Started(Box::new(pending.clone())),
        Event::Started(Box::new(complete.clone())),
        Event::Completed("ref".into(), NOW),
        Event::Failed("no".into(), NOW),
        Event::Returned(back("back", 999_999), NOW),
    ];
    let came = Command::RecordReturn(ACCOUNT, back("back", 999_999));
    let decision = BankTransfer::decide(Some(&sent), &TRANSFER, came, &at(NOW)).unwrap();
    let credited = |work: &AnyJob| matches!(work.typed(), Some(account::Job::CreditAccount { amount, .. }) if amount.atomic() == 999_999);
    assert!(decision.jobs().iter().all(|effect| credited(&effect.job)) && decision.jobs().len() == 1);
    assert_chart::<BankTransfer>(&TRANSFER, states(), &events);
    let from = transfer(TransferDirection::ToBalance, Status::Pending(JOB));
    for (state, moves, credits) in [
        (&pending, done(), false),
        (&pending, no(), true),
        (&from, done(), true),
        (&from, no(), false),
    ] {
        let decision = BankTransfer::decide(Some(state), &TRANSFER, moved(JOB, moves), &at(NOW)).unwrap();
        let credited = decision.jobs().iter().any(|effect| {
            let cause = CreditCause::BankTransfer(TRANSFER);
            matches!(effect.job.typed(), Some(account::Job::CreditAccount { amount, cause: of, .. }) if amount == state.amount && of == cause)
        });
        assert_eq!(credited, credits, "{state:?}");
    }
}
