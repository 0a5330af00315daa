//! The account: caps to the cent and the day, freezing, and credits at the largest amount.

use purser_actors::entity::account::CreditCause;
use purser_actors::entity::account::{Account, Command, Event, LoginGrant, Rejection};
use purser_actors::entity::payment::{Payment, Status};
use purser_actors::kernel::{Decision, Entity};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{PreparedTransaction, Timestamp};
use purser_actors::product::{DailyCap, ProductLine};
use purser_storage::codec;

use crate::fixtures::{
    CAP_RESERVATION, CARD, DAY, DAY_MS, JOB, NOW, PAYMENT, WALLET, accounts, at, claim_request, event_names,
    five_dollar_card, fold, job_names, prepared,
};

pub(crate) const CAPS: DailyCap = DailyCap {
    count: 3,
    sum: Cents::new(10_000),
};

pub(crate) fn claim(
    account: Option<&Account>,
    cents: u64,
    cap: DailyCap,
    now: Timestamp,
) -> Result<Decision<Account>, Rejection> {
    Account::decide(
        account,
        &WALLET,
        Command::Claim(claim_request(Cents::new(cents), cap)),
        &at(now),
    )
}

pub(crate) fn account_after(amounts: &[u64], now: Timestamp) -> Account {
    let mut account = accounts().remove(0);
    for cents in amounts {
        let decision = claim(Some(&account), *cents, CAPS, now).unwrap();
        account = fold(Some(account), &WALLET, decision.events());
    }
    account
}

#[test]
fn first_claim_opens_account_and_payment_and_enqueues_settlement() {
    // Checks: one batch has the account, its cap reservation, the payment and the job.
    let decision = claim(None, 5_00, CAPS, NOW).unwrap();
    assert_eq!(event_names(&decision), "Opened+CapReserved");
    assert_eq!(job_names(&decision), ["settle_payment"]);
    assert_eq!(decision.new_entities().len(), 1);
    let later = claim(Some(&accounts()[0]), 5_00, CAPS, NOW).unwrap();
    assert_eq!(event_names(&later), "CapReserved");
}

#[test]
fn prepared_claim_opens_the_payment_as_settling() {
    // Checks: what the claim brings, and the payment that its batch opens. A refused claim opens none. Apart from the
    // status nothing differs: the batch has the same reservation, conditions and job.
    let decide = |account: &Account, prepared: Option<PreparedTransaction>| {
        let mut request = claim_request(Cents::new(5_00), CAPS);
        request.prepared = prepared;
        Account::decide(Some(account), &WALLET, Command::Claim(request), &at(NOW))
    };
    let account = &accounts()[0];
    let mut batches = Vec::new();
    for (brings, status) in [
        (None, Status::Claimed),
        (Some(prepared()), Status::Settling(prepared())),
    ] {
        let decision = decide(account, brings.clone()).unwrap();
        let opened: Vec<Payment> = decision
            .new_entities()
            .iter()
            .map(|new| codec::decode(new.snapshot()).unwrap())
            .collect();
        assert_eq!(opened.len(), 1);
        assert_eq!((&opened[0].status, opened[0].prepared()), (&status, brings.as_ref()));
        assert_eq!(opened[0].outcome(), None, "callers wait for the settlement");
        assert_eq!(job_names(&decision), ["settle_payment"]);
        batches.push((
            event_names(&decision),
            decision.conditions().to_vec(),
            decision.writes().to_vec(),
        ));
    }
    assert_eq!(batches[0], batches[1]);
    let full = account_after(&[1, 1, 1], NOW);
    assert_eq!(
        decide(&full, Some(prepared())).map(drop),
        Err(Rejection::DailyCountCap { cap: 3 })
    );
}

#[test]
fn caps_hold_at_the_limit_and_one_unit_above() {
    // Checks: purchases of the day, the request, and the result.
    let cards = Err(Rejection::DailyCountCap { cap: 3 });
    let sum = Err(Rejection::DailyAmountCap { cap: CAPS.sum });
    for (bought, cents, expected) in [
        (&[][..], 10_000, Ok(())),
        (&[], 10_001, sum.clone()),
        (&[99_99], 1, Ok(())),
        (&[99_99], 2, sum),
        (&[1, 1], 1, Ok(())),
        (&[1, 1, 1], 1, cards),
    ] {
        let account = account_after(bought, NOW);
        assert_eq!(
            claim(Some(&account), cents, CAPS, NOW).map(drop),
            expected,
            "{cents} after {bought:?}"
        );
    }
}

#[test]
fn cap_day_ends_at_midnight_utc() {
    // Checks: the last millisecond counts for the day; the next one starts a new day.
    let full = account_after(&[1, 1, 1], NOW);
    let midnight = (u64::from(DAY) + 1) * DAY_MS;
    assert!(claim(Some(&full), 1, CAPS, Timestamp(midnight - 1)).is_err());
    assert!(claim(Some(&full), 1, CAPS, Timestamp(midnight)).is_ok());
    // A clock that steps back over midnight reopens no day; one that ran far ahead closes no day permanently.
    let next = account_after(&[1, 1, 1], Timestamp(midnight));
    assert!(claim(Some(&next), 1, CAPS, Timestamp(midnight - 1)).is_err());
    let far = account_after(&[1, 1, 1], Timestamp(midnight + 400 * DAY_MS));
    assert!(claim(Some(&far), 1, CAPS, Timestamp(midnight)).is_ok());
}

#[test]
fn released_cap_reservation_is_free_on_its_day_only() {
    // Checks: what is released today is free today; what is released for yesterday does not count for today.
    let freed = |account, share| fold(Some(account), &WALLET, &[Event::CapReleased(share)]);
    let share = |day, cents| purser_actors::entity::account::CapReservation {
        day,
        cap_group: ProductLine::UsaCard,
        cents: Cents::new(cents),
    };
    let account = freed(account_after(&[90_00, 5_00, 5_00], NOW), share(DAY, 5_00));
    assert!(claim(Some(&account), 5_01, CAPS, NOW).is_err());
    assert!(claim(Some(&account), 5_00, CAPS, NOW).is_ok());
    let tomorrow = Timestamp(NOW.0 + DAY_MS);
    let account = freed(account_after(&[1, 1, 1], tomorrow), share(DAY, 5_00));
    assert_eq!(
        claim(Some(&account), 1, CAPS, tomorrow).unwrap_err(),
        Rejection::DailyCountCap { cap: 3 }
    );
}

#[test]
fn case_49_frozen_account_rejects_only_spending() {
    // Checks: claims and readmissions are rejected with the frozen message; sign-in, links, releases and credits
    // continue.
    let frozen = &accounts()[1];
    let message = "call us".to_owned();
    let refused = |command| Account::decide(Some(frozen), &WALLET, command, &at(NOW)).map(drop);
    let no = Err(Rejection::Frozen { message });
    let code = purser_actors::entity::account::LoginCode {
        hash: [1; 32],
        expires_s: 9,
    };
    let amr = purser_actors::entity::session::AuthMethod::Wallet;
    let session = crate::fixtures::session();
    assert_eq!(refused(Command::Claim(claim_request(Cents::new(5_00), CAPS))), no);
    let purchase = five_dollar_card();
    let readmit = Command::Readmit {
        payment: PAYMENT,
        purchase,
        worth: Cents::new(5_00),
        cap: Some(CAPS),
        session: crate::fixtures::session(),
        counted: None,
    };
    assert_eq!(refused(readmit), no);
    assert_eq!(
        refused(Command::CreateLoginCode {
            code,
            amr,
            created_by: purser_actors::id::SessionId(1)
        }),
        Ok(())
    );
    assert_eq!(
        refused(Command::RedeemLoginCode {
            code: [1; 32],
            grant: LoginGrant {
                wallet: WALLET,
                amr,
                expires_s: 9,
                created_by: purser_actors::id::SessionId(1)
            },
            session
        }),
        Ok(())
    );
    let nonce = ([1; 16], 9);
    assert_eq!(refused(Command::SignIn { nonce, session }), Ok(()));
    assert_eq!(
        refused(Command::ReleaseCapReservation {
            job: JOB,
            reservation: CAP_RESERVATION
        }),
        Ok(())
    );
    assert_eq!(refused(credit(1)), Ok(()));
}

#[test]
fn stop_of_agents_rejects_purchases_until_they_are_resumed() {
    // Checks: a stop rejects claims and readmissions, starts one job and is repeated without effect; a freeze comes first.
    // Sign-in and links continue. Access from before the stop stays ended.
    let [active, frozen] = &accounts()[..] else {
        panic!("two accounts")
    };
    let decide = |state: Option<&Account>, command| Account::decide(state, &WALLET, command, &at(NOW));
    let stopped = decide(Some(active), Command::StopAgents).unwrap();
    assert_eq!(event_names(&stopped), "AgentsStopped");
    assert_eq!(job_names(&stopped), ["revoke_api_keys"]);
    assert_eq!(
        event_names(&decide(None, Command::StopAgents).unwrap()),
        "Opened+AgentsStopped"
    );
    let stopped = fold(Some(active.clone()), &WALLET, stopped.events());
    let again = decide(Some(&stopped), Command::StopAgents).unwrap();
    assert_eq!((event_names(&again).as_str(), job_names(&again).len()), ("=", 0));
    assert_eq!(
        claim(Some(&stopped), 5_00, CAPS, NOW).unwrap_err(),
        Rejection::AgentsStopped
    );
    let readmit = Command::Readmit {
        payment: PAYMENT,
        purchase: five_dollar_card(),
        worth: Cents::new(5_00),
        cap: Some(CAPS),
        session: crate::fixtures::session(),
        counted: None,
    };
    assert_eq!(decide(Some(&stopped), readmit).unwrap_err(), Rejection::AgentsStopped);
    let session = crate::fixtures::session();
    let nonce = ([1; 16], 9);
    assert!(decide(Some(&stopped), Command::SignIn { nonce, session }).is_ok());
    let both = fold(Some(frozen.clone()), &WALLET, &[Event::AgentsStopped(NOW)]);
    let message = "call us".to_owned();
    assert_eq!(
        claim(Some(&both), 5_00, CAPS, NOW).unwrap_err(),
        Rejection::Frozen { message }
    );

    let resumed = decide(Some(&stopped), Command::ResumeAgents).unwrap();
    assert_eq!(event_names(&resumed), "AgentsResumed");
    let resumed = fold(Some(stopped), &WALLET, resumed.events());
    assert_eq!(
        event_names(&decide(Some(&resumed), Command::ResumeAgents).unwrap()),
        "="
    );
    assert!(claim(Some(&resumed), 5_00, CAPS, NOW).is_ok());
    assert!(resumed.agents_stopped_at().is_none() && resumed.has_ended_agent_access(NOW));
    assert!(!resumed.has_ended_agent_access(Timestamp(NOW.0 + 1)));
}

#[test]
fn repeated_freeze_or_unfreeze_changes_nothing() {
    // Checks: an operator may repeat the action, also with another message; a state that is already set is no event.
    let [active, frozen] = &accounts()[..] else {
        panic!("two accounts")
    };
    let freeze = |message: &str| Command::Freeze {
        message: message.into(),
        act: None,
    };
    for (state, command, expected) in [
        (None, freeze("why"), "Opened+Frozen"),
        (Some(active), freeze("why"), "Frozen"),
        (Some(frozen), freeze("call us"), "="),
        (Some(frozen), freeze("write to us"), "Frozen"),
        (Some(frozen), Command::Unfreeze { act: None }, "Unfrozen"),
        (Some(active), Command::Unfreeze { act: None }, "="),
        (None, Command::Unfreeze { act: None }, "="),
    ] {
        let decision = Account::decide(state, &WALLET, command, &at(NOW)).unwrap();
        assert_eq!(event_names(&decision), expected);
    }
}

fn credit(atomic: u64) -> Command {
    Command::Credit {
        job: JOB,
        amount: Usdc::from_atomic(atomic),
        cause: CreditCause::Card(CARD),
    }
}

#[test]
fn credit_is_posted_announced_and_confirmed_to_its_payment() {
    // Checks: balance and total deposits rise together; a payment gets a confirmation job, a card does not.
    let account = &accounts()[0];
    let by_card = Account::decide(Some(account), &WALLET, credit(7), &at(NOW)).unwrap();
    assert_eq!(
        (event_names(&by_card).as_str(), job_names(&by_card).len()),
        ("Credited", 0)
    );
    let after = fold(Some(account.clone()), &WALLET, by_card.events());
    assert_eq!(
        (
            after.balance.atomic(),
            after.total_deposits.atomic(),
            after.available().atomic()
        ),
        (7, 7, 7)
    );
    let command = Command::Credit {
        job: JOB,
        amount: Usdc::from_atomic(7),
        cause: CreditCause::Payment(PAYMENT),
    };
    let by_payment = Account::decide(Some(account), &WALLET, command, &at(NOW)).unwrap();
    assert_eq!(job_names(&by_payment), ["confirm_payment_credit"]);
}

#[test]
fn case_26_credit_is_rejected_only_above_the_largest_amount() {
    // Checks: 2^64 - 1 atomic units fit; one more is rejected and the state is unchanged.
    let account = &accounts()[0];
    let first = Account::decide(Some(account), &WALLET, credit(u64::MAX - 1), &at(NOW)).unwrap();
    let rich = fold(Some(account.clone()), &WALLET, first.events());
    let last = Account::decide(Some(&rich), &WALLET, credit(1), &at(NOW)).unwrap();
    let full = fold(Some(rich), &WALLET, last.events());
    assert_eq!(full.balance.atomic(), u64::MAX);
    let before = full.clone();
    let over = Account::decide(Some(&full), &WALLET, credit(1), &at(NOW));
    assert_eq!(over.map(drop), Err(Rejection::Overflow));
    assert_eq!(full, before);
    let forced = Event::Credited {
        amount: Usdc::from_atomic(1),
        cause: CreditCause::Card(CARD),
    };
    assert!(
        Account::apply(Some(full), &WALLET, &forced).is_err(),
        "and no history can force it"
    );
}

#[test]
fn case_26_largest_caps_do_not_wrap() {
    // Checks: with the largest caps, a sum that does not fit is rejected and does not wrap to a small one.
    let caps = DailyCap {
        count: u32::MAX,
        sum: Cents::new(u64::MAX),
    };
    let account = accounts().remove(0);
    let all = claim(Some(&account), u64::MAX, caps, NOW).unwrap();
    let account = fold(Some(account), &WALLET, all.events());
    assert_eq!(claim(Some(&account), 1, caps, NOW).unwrap_err(), Rejection::Overflow);
    let end = Timestamp(u64::MAX);
    assert!(
        claim(Some(&account), 1, caps, end).is_ok(),
        "the last day there is is a day"
    );
}

#[test]
fn case_79_incoming_transfer_without_an_account_is_credited_or_returned() {
    // Checks: the credit opens the sender's account. A return is credited and held in one batch, so it can't be spent,
    // and its withdrawal id derives from the transfer.
    use purser_actors::entity::account::CreditCause;
    use purser_actors::id::DepositId;
    let (deposit, job, amount) = (DepositId(9), JOB, Usdc::from_atomic(7));
    let credit = Command::Credit {
        job,
        amount,
        cause: CreditCause::Deposit(deposit),
    };
    let back = Command::SendBack {
        job,
        deposit,
        to: WALLET,
        amount,
    };
    for (command, held, at_work) in [
        (credit, Usdc::ZERO, &["confirm_incoming"][..]),
        (back, amount, &["confirm_incoming", "send_withdrawal"]),
    ] {
        let decision = Account::decide(None, &WALLET, command, &at(NOW)).unwrap();
        assert_eq!(job_names(&decision), at_work);
        let opened = decision
            .events()
            .iter()
            .try_fold(None, |state, event| Account::apply(state, &WALLET, event).map(Some));
        let account = opened.unwrap().unwrap();
        assert_eq!((account.balance, account.total_deposits), (amount, amount));
        assert_eq!(account.held, held);
    }
}
