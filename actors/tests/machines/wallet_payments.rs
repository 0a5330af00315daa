//! Wallet payment and agent wallet state machines: every command in every state.

use purser_actors::entity::agent_wallet;
use purser_actors::entity::agent_wallet::{
    AgentWallet, Command as Ask, Event as WalletEvent, MerchantCap, MerchantCaps, RefusedSpend, Rejection as No,
    SavedAddress, WalletCaps, WalletHold, WalletSpend, WalletStatementLine,
};
use purser_actors::entity::spend_approval::{SpendAct, SpendAgent, SpendPayee, SpendTerms};
use purser_actors::entity::wallet_payment::{
    Command, Event, PaymentMethod, Rejection, SendTarget, SignedWalletPayment, WalletPayment, WalletPaymentOrder,
};
use purser_actors::id::{AddressId, CardId, Network, Wallet, WalletPaymentId};
use purser_actors::kernel::{Decision, Entity, table};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{CallFailure, ServerResponse, Timestamp, WalletAddresses};
use purser_storage::{Write, codec};

use crate::fixtures::{
    DAY, DAY_MS, JOB, NOW, WALLET, at, authorization, event_names, fold, job_names, status, transaction,
};
use crate::transitions::assert_chart;

pub(crate) const PAYMENT_ID: WalletPaymentId = WalletPaymentId(21);

const TABLE: &str = "
            -  pending    signed            sent       settled  failed   unsettled
signed      !  Signed     !                 !          !        !        !
answered    !  !          ResponseReceived  !          !        !        !
declined    !  !          !                 !          !        !        !
landed      !  !          Confirmed         Confirmed  !        !        !
fail        !  Failed     Unsettled         Unsettled  !        !        !
forget      !  !          !                 !          =        =        =
recognised  !  Confirmed  !                 !          !        !        !
";

pub(crate) fn order(way: PaymentMethod) -> WalletPaymentOrder {
    WalletPaymentOrder {
        to: Wallet::Evm([5; 20]),
        amount: Usdc::from_atomic(5_000_000),
        note: Some("lunch".into()),
        method: way,
    }
}

fn call() -> PaymentMethod {
    PaymentMethod::PaidCall {
        host: "shop.example.com:443".into(),
    }
}

fn signed() -> Box<SignedWalletPayment> {
    Box::new(SignedWalletPayment {
        authorization: authorization(),
        target: SendTarget::Server,
    })
}

pub(crate) fn answer() -> ServerResponse {
    ServerResponse {
        http_status: 402,
        content_type: Some("text/plain".into()),
        failure: Some(CallFailure::Unsettled),
    }
}

fn events() -> Vec<Event> {
    vec![
        Event::Created {
            owner: WALLET,
            from: Wallet::Evm([8; 20]),
            order: Box::new(order(call())),
            at: NOW,
        },
        Event::Signed(signed(), NOW),
        Event::ResponseReceived(answer(), NOW),
        Event::Confirmed(transaction(), NOW),
        Event::Failed("account_frozen".into(), NOW),
        Event::Unsettled("expired".into(), NOW),
    ]
}

/// One in each state, in the order of the table.
pub(crate) fn wallet_payments() -> Vec<WalletPayment> {
    let events = events();
    let of = |path: &[usize]| {
        let path: Vec<Event> = path.iter().map(|n| events[*n].clone()).collect();
        fold(None, &PAYMENT_ID, &path)
    };
    vec![
        of(&[0]),
        of(&[0, 1]),
        of(&[0, 1, 2]),
        of(&[0, 1, 2, 3]),
        of(&[0, 4]),
        of(&[0, 1, 5]),
    ]
}

pub(crate) fn commands() -> Vec<(&'static str, Command)> {
    let (job, transaction) = (JOB, transaction());
    let reason = "expired".into();
    vec![
        (
            "signed",
            Command::RecordSigned {
                signed: signed(),
                payment: vec![1; 30_000],
            },
        ),
        (
            "answered",
            Command::RecordResponse {
                response: answer(),
                body: vec![2; 12_289],
            },
        ),
        (
            "declined",
            Command::RecordDeclined {
                job,
                response: answer(),
                body: vec![2; 12_289],
            },
        ),
        ("landed", Command::RecordConfirmed { job, transaction }),
        ("fail", Command::Fail { job, reason }),
        (
            "forget",
            Command::PurgeHttpRecord {
                job,
                rows: vec![
                    table::http_record_chunk(PAYMENT_ID, 0, 0),
                    table::http_record_chunk(PAYMENT_ID, 2, 1),
                ],
            },
        ),
        (
            "recognised",
            Command::RecordRecognised {
                job,
                transaction: self::transaction(),
            },
        ),
    ]
}

#[test]
fn every_command_in_every_wallet_payment_state_matches_the_table() {
    // Checks: six commands in seven states. A final state rejects everything except the deletion of its record, and
    // each end tells the wallet once whether it was paid.
    let states: Vec<_> = std::iter::once(None)
        .chain(wallet_payments().into_iter().map(Some))
        .collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let met = status(state.as_ref());
            let decided = WalletPayment::decide(state.as_ref(), &PAYMENT_ID, command.clone(), &at(NOW));
            let decision = match decided {
                Err(rejection) => {
                    assert_eq!((rejection, *expected), (Rejection(met), "!"), "{name} in {met}");
                    continue;
                }
                Ok(decision) => decision,
            };
            assert_eq!(event_names(&decision), *expected, "{name} in {met}");
            let enqueued: Vec<_> = decision
                .jobs()
                .iter()
                .map(|outbox_job| outbox_job.job.clone())
                .collect();
            let ends = |paid| {
                let (wallet, spend) = (WALLET, PAYMENT_ID);
                vec![agent_wallet::Job::SettleWalletHold {
                    wallet,
                    payment: spend,
                    paid,
                }]
            };
            let expected = match name {
                "landed" | "recognised" => ends(true),
                "fail" => ends(false),
                _ => Vec::new(),
            };
            assert_eq!(enqueued, expected, "{name} in {met}");
            // The record is stored in chunks of row size; an end deletes its job and schedules the record's deletion.
            let rows = [("signed", 3), ("forget", 3), ("recognised", 3)];
            let rows = rows.iter().find(|(of, _)| *of == name).map_or(2, |(_, rows)| *rows);
            assert_eq!(decision.writes().len(), rows, "{name} in {met}");
        }
    }
    let transfer = match &events()[0] {
        Event::Created { owner, from, at, .. } => Event::Created {
            owner: *owner,
            from: *from,
            order: Box::new(order(PaymentMethod::Transfer)),
            at: *at,
        },
        other => panic!("{other:?}"),
    };
    let transfer: WalletPayment = fold(None, &PAYMENT_ID, &[transfer, events()[1].clone()]);
    let (_, landed) = commands().remove(3);
    let landed = WalletPayment::decide(Some(&transfer), &PAYMENT_ID, landed, &at(NOW)).unwrap();
    assert_eq!(landed.writes().len(), 1, "nothing was said for a transfer");
    let [_, _, _, settled, ..] = &wallet_payments()[..] else {
        panic!("one in each state")
    };
    let (outbox_job, rows) = (JOB, vec![table::vault(CardId(PAYMENT_ID.0))]);
    let others = Command::PurgeHttpRecord { job: outbox_job, rows };
    assert!(
        WalletPayment::decide(Some(settled), &PAYMENT_ID, others, &at(NOW)).is_err(),
        "nothing but its own words is deleted"
    );
    let (_, answered) = commands().remove(1);
    assert!(
        WalletPayment::decide(Some(&transfer), &PAYMENT_ID, answered, &at(NOW)).is_err(),
        "a transfer has no response"
    );
}

#[test]
fn wallet_payment_transitions_match_apply() {
    // Checks: every transition is listed and can happen, for both state machines.
    assert_chart(&PAYMENT_ID, wallet_payments(), &events());
    assert_chart(&WALLET, vec![wallet(Some(30))], &wallet_events());
}

const LIMITS: WalletCaps = WalletCaps {
    per_call: Cents::new(1_000),
    per_day: Some(Cents::new(3_000)),
    approvals: false,
};

fn opened() -> WalletEvent {
    WalletEvent::Created {
        addresses: WalletAddresses {
            base: [8; 20],
            solana: [9; 32],
        },
        caps: LIMITS,
        at: NOW,
    }
}

/// A wallet with a daily cap in whole dollars.
fn wallet(per_day: Option<u64>) -> AgentWallet {
    let per_day = per_day.map(|cap| Cents::new(cap * 100));
    let limits = WalletEvent::CapsChanged(WalletCaps { per_day, ..LIMITS });
    fold(None, &WALLET, &[opened(), limits])
}

fn saved(id: u128) -> SavedAddress {
    SavedAddress {
        id: AddressId(id),
        name: "Ada".into(),
        address: WALLET,
    }
}

fn wallet_events() -> Vec<WalletEvent> {
    let open = WalletHold {
        payment: PAYMENT_ID,
        network: Network::Base,
        amount: Usdc::from_atomic(1),
        day: DAY,
        key: None,
        approval: None,
        merchant: Some("shop.example.com".into()),
    };
    vec![
        opened(),
        WalletEvent::CapsChanged(LIMITS),
        WalletEvent::Held(open),
        WalletEvent::HoldSettled(PAYMENT_ID, true),
        WalletEvent::AddressSaved(saved(1)),
        WalletEvent::AddressDeleted(AddressId(1)),
        WalletEvent::SpendRefused(Box::new(RefusedSpend {
            terms: SpendTerms {
                payee: SpendPayee::Wallet(WALLET),
                amount: Usdc::from_atomic(1),
                act: SpendAct::Transfer,
                call: [0; 32],
                key: None,
            },
            exceeded: Vec::new(),
            agent: SpendAgent::default(),
            at: NOW,
        })),
        WalletEvent::MerchantCapsChanged(MerchantCaps {
            hosts: vec![MerchantCap {
                host: "shop.example.com".into(),
                per_day: Cents::new(1_000),
            }],
            others: Some(Cents::ZERO),
        }),
        WalletEvent::BalanceObserved(Network::Base, Usdc::from_atomic(1)),
    ]
}

fn reserve(wallet: &AgentWallet, spend: u128, now: Timestamp) -> Result<Decision<AgentWallet>, No> {
    reserve_after(wallet, spend, Usdc::ZERO, now)
}

/// An agent wallet after a restore whose lost history spent this much of the daily cap.
fn reserve_after(wallet: &AgentWallet, spend: u128, before: Usdc, now: Timestamp) -> Result<Decision<AgentWallet>, No> {
    let spend = WalletSpend {
        payment: WalletPaymentId(spend),
        order: order(call()),
        call: vec![1; 20_000],
        chain_balance: Usdc::from_atomic(100_000_000),
        known_lines: None,
        agent: SpendAgent::default(),
        call_digest: [0; 32],
        purchase: None,
    };
    let command = Ask::Hold {
        spend: Box::new(spend),
        spent_before: before,
        approval: None,
        key: None,
    };
    AgentWallet::decide(Some(wallet), &WALLET, command, &at(now))
}

fn end(wallet: &AgentWallet, spend: u128, paid: bool, now: Timestamp) -> AgentWallet {
    let command = Ask::SettleHold {
        job: JOB,
        payment: WalletPaymentId(spend),
        paid,
        key: None,
    };
    let decision = AgentWallet::decide(Some(wallet), &WALLET, command, &at(now)).unwrap();
    fold(Some(wallet.clone()), &WALLET, decision.events())
}

/// A payment of five dollars begins; the chain had this balance when the statement had that number of lines.
fn observe(wallet: &AgentWallet, spend: u128, balance: u64, lines: Option<u64>) -> Decision<AgentWallet> {
    let spend = WalletSpend {
        payment: WalletPaymentId(spend),
        order: order(PaymentMethod::Transfer),
        call: Vec::new(),
        chain_balance: Usdc::from_atomic(balance),
        known_lines: lines,
        agent: SpendAgent::default(),
        call_digest: [0; 32],
        purchase: None,
    };
    let command = Ask::Hold {
        spend: Box::new(spend),
        spent_before: Usdc::ZERO,
        approval: None,
        key: None,
    };
    AgentWallet::decide(Some(wallet), &WALLET, command, &at(NOW)).unwrap()
}

fn settle(wallet: &AgentWallet, spend: u128, paid: bool) -> Decision<AgentWallet> {
    let command = Ask::SettleHold {
        job: JOB,
        payment: WalletPaymentId(spend),
        paid,
        key: None,
    };
    AgentWallet::decide(Some(wallet), &WALLET, command, &at(NOW)).unwrap()
}

/// Lines of the statement that a decision writes: type, amount, balance, held and everything received.
fn lines_of(decision: &Decision<AgentWallet>) -> Vec<(&'static str, [u64; 4])> {
    let rows = decision.writes().iter().filter_map(|write| match write {
        Write::Put { key, value, .. } if key[0] == table::WALLET_STATEMENT_LINE => Some(value),
        _ => None,
    });
    let line = |value: &Vec<u8>| {
        let row: WalletStatementLine = codec::decode(value).unwrap();
        let line = row.line;
        let amounts = [line.amount, line.balance, line.held, line.total_deposits];
        (line.change.name(), amounts.map(Usdc::atomic))
    };
    rows.map(line).collect()
}

#[test]
fn statement_of_a_wallet_follows_the_chain() {
    // Checks: what the chain has more is received, once; a balance from before the last line, or one that is less with
    // a payment on its way, says nothing; one that is less without is corrected; what was paid was received before; an
    // unsent payment leaves no line.
    const FIVE: u64 = 5_000_000;
    const ALL: u64 = 4 * FIVE;
    let first = observe(&wallet(None), 1, ALL, Some(0));
    assert_eq!(lines_of(&first), [("credited", [ALL, ALL, 0, ALL])]);
    let held = step_of(&wallet(None), &first);
    assert_eq!(held.statement_line_count(), 1);
    let second = observe(&held, 2, ALL, Some(1));
    assert!(lines_of(&second).is_empty(), "nothing new");
    let both = step_of(&held, &second);
    let more = observe(&both, 3, ALL + 1, Some(1));
    assert_eq!(lines_of(&more), [("credited", [1, ALL + 1, 2 * FIVE, ALL + 1])]);
    let paid = settle(&both, 1, true);
    assert_eq!(lines_of(&paid), [("debited", [FIVE, 3 * FIVE, FIVE, ALL])]);
    let one_left = step_of(&both, &paid);
    assert_eq!(one_left.statement_line_count(), 2);
    // Read before the first payment was settled: the chain may still have had its amount.
    assert!(lines_of(&observe(&one_left, 3, ALL, Some(1))).is_empty());
    // The second one may have left already.
    assert!(lines_of(&observe(&one_left, 3, 2 * FIVE, Some(2))).is_empty());
    let unsent = settle(&one_left, 2, false);
    assert!(lines_of(&unsent).is_empty());
    let idle = step_of(&one_left, &unsent);
    let corrected = observe(&idle, 4, 3 * FIVE - 1, Some(2));
    assert_eq!(lines_of(&corrected), [("reversed", [1, 3 * FIVE - 1, 0, ALL])]);
    assert_eq!(step_of(&idle, &corrected).statement_line_count(), 3);
    // Nothing was observed before this one: it was received, and paid.
    let unseen = step_of(&wallet(None), &observe(&wallet(None), 5, ALL, None));
    let paid = settle(&unseen, 5, true);
    let expected = [("credited", [FIVE, FIVE, FIVE, FIVE]), ("debited", [FIVE, 0, 0, FIVE])];
    assert_eq!(lines_of(&paid), expected);
    assert_eq!(step_of(&unseen, &paid).statement_line_count(), 2);
}

#[test]
fn reading_the_statement_of_a_wallet_adds_what_it_received() {
    // Checks: both chains in one batch, each line after the other; the same balances again, or from before a line, write
    // nothing; with a payment on its way only more is received, on its own chain.
    let read = |wallet: &AgentWallet, base: u64, solana: u64, lines: u64| {
        let balances = vec![
            (Network::Base, Usdc::from_atomic(base)),
            (Network::Solana, Usdc::from_atomic(solana)),
        ];
        let differs = wallet.lacks_lines_for(&balances);
        let command = Ask::ObserveBalances { balances, lines };
        let decision = AgentWallet::decide(Some(wallet), &WALLET, command, &at(NOW)).unwrap();
        (differs, decision)
    };
    let (differs, both) = read(&wallet(None), 7, 5, 0);
    assert!(differs);
    let expected = [("credited", [7, 7, 0, 7]), ("credited", [5, 12, 0, 12])];
    assert_eq!(lines_of(&both), expected);
    let known = step_of(&wallet(None), &both);
    assert_eq!(known.statement_line_count(), 2);
    let (differs, again) = read(&known, 7, 5, 2);
    assert!(!differs && again.events().is_empty() && lines_of(&again).is_empty());
    assert!(
        read(&known, 8, 5, 1).1.events().is_empty(),
        "another line came in between"
    );
    let less = read(&known, 7, 4, 2).1;
    assert_eq!(lines_of(&less), [("reversed", [1, 11, 0, 12])]);

    let rich = step_of(&known, &read(&known, 9_000_000, 5, 2).1);
    let paying = step_of(&rich, &observe(&rich, 1, 9_000_000, Some(3)));
    let (differs, left) = read(&paying, 4_000_000, 5, 3);
    assert!(
        !differs && lines_of(&left).is_empty(),
        "the payment may have left already"
    );
    let more = read(&paying, 9_000_001, 4, 3).1;
    assert_eq!(
        lines_of(&more),
        [
            ("credited", [1, 9_000_006, 5_000_000, 9_000_006]),
            ("reversed", [1, 9_000_005, 5_000_000, 9_000_006]),
        ]
    );
    assert_eq!(step_of(&paying, &more).statement_line_count(), 5);

    // A lagging node may show the balance from before a payment for a while, not what was received.
    let rows_of = |decision: &Decision<AgentWallet>| -> Vec<WalletStatementLine> {
        let rows = decision.writes().iter().filter_map(|write| match write {
            Write::Put { key, value, .. } if key[0] == table::WALLET_STATEMENT_LINE => Some(value),
            _ => None,
        });
        rows.map(|value| codec::decode(value).unwrap()).collect()
    };
    let [paid] = &rows_of(&settle(&paying, 1, true))[..] else {
        panic!("one line of the payment");
    };
    let later = |ms: u64| Timestamp(NOW.0 + ms);
    assert!(paid.may_be_unread(NOW) && paid.may_be_unread(later(29_999)));
    assert!(!paid.may_be_unread(later(30_000)));
    assert!(!rows_of(&more)[0].may_be_unread(NOW));
}

fn step_of(wallet: &AgentWallet, decision: &Decision<AgentWallet>) -> AgentWallet {
    fold(Some(wallet.clone()), &WALLET, decision.events())
}

#[test]
fn daily_cap_is_reserved_and_released() {
    // Checks: six times five dollars of thirty, not a seventh. An unsent one releases its reservation on its own day, a
    // sent one does not, and yesterday's releases nothing today. The next day starts anew.
    let mut now = wallet(Some(30));
    for n in 0..6 {
        let decision = reserve(&now, n, NOW).unwrap();
        assert_eq!(
            (event_names(&decision), job_names(&decision)),
            ("Held".to_owned(), vec!["send_wallet_payment"])
        );
        assert_eq!((decision.new_entities().len(), decision.writes().len()), (1, 3));
        now = fold(Some(now), &WALLET, decision.events());
    }
    let nearly = |before: u64| No::DailyCap {
        cap: Cents::new(3_000),
        left: Usdc::from_atomic(5_000_000 - before),
    };
    let full = nearly(5_000_000);
    let before = |dollars| reserve_after(&end(&now, 0, false, NOW), 7, Usdc::from_atomic(dollars), NOW).map(drop);
    assert_eq!(before(0), Ok(()), "with what the lost history spent");
    assert_eq!(before(1), Err(nearly(1)));
    assert_eq!(before(9_000_000), Err(full));
    assert_eq!(reserve(&now, 7, NOW).map(drop), Err(full));
    assert_eq!(reserve(&end(&now, 0, true, NOW), 7, NOW).map(drop), Err(full));
    assert!(reserve(&end(&now, 0, false, NOW), 7, NOW).is_ok());
    let tomorrow = Timestamp(NOW.0 + DAY_MS);
    let decision = reserve(&now, 7, tomorrow).unwrap();
    let next = fold(Some(now.clone()), &WALLET, decision.events());
    assert_eq!(next.used_on(tomorrow), Usdc::from_atomic(5_000_000));
    let late = end(&next, 0, false, tomorrow);
    assert_eq!(
        late.used_on(tomorrow),
        Usdc::from_atomic(5_000_000),
        "yesterday's share is yesterday's"
    );
    assert_eq!((next.holds.len(), late.holds.len()), (7, 6));
    // A clock that steps back over midnight reopens no used cap; its payments count for the later day.
    let today = next.used_on(tomorrow);
    assert_eq!(next.used_on(NOW), today);
    let stepped_back = fold(Some(next.clone()), &WALLET, reserve(&next, 8, NOW).unwrap().events());
    assert_eq!(stepped_back.used_on(tomorrow), Usdc::from_atomic(2 * today.atomic()));
    // A clock that ran far ahead closes no day permanently.
    let far = Timestamp(NOW.0 + 400 * DAY_MS);
    let ahead = fold(Some(next.clone()), &WALLET, reserve(&next, 8, far).unwrap().events());
    assert_eq!(ahead.used_on(far), today);
    assert_eq!(ahead.used_on(NOW), Usdc::ZERO);
    let mended = fold(Some(ahead.clone()), &WALLET, reserve(&ahead, 9, NOW).unwrap().events());
    assert_eq!((mended.used_on(NOW), mended.used_on(far)), (today, Usdc::ZERO));
    // A repeated result changes nothing.
    assert_eq!(end(&late, 0, false, tomorrow), late);
}

#[test]
fn wallet_payment_is_rejected_above_its_caps_or_limits() {
    // Checks: no wallet, the cap per call, holds on the balance, too many pending payments, a full address list; the
    // first wallet's keys stay.
    let none = |command| AgentWallet::decide(None, &WALLET, command, &at(NOW)).map(drop);
    assert_eq!(none(Ask::SetCaps(LIMITS)), Err(No::NotFound));
    let open = || Ask::Create {
        addresses: WalletAddresses {
            base: [1; 20],
            solana: [1; 32],
        },
        sealed: vec![1],
        caps: LIMITS,
    };
    let made = AgentWallet::decide(None, &WALLET, open(), &at(NOW)).unwrap();
    assert_eq!((event_names(&made), made.writes().len()), ("Created".to_owned(), 3));
    for address in [Wallet::Evm([1; 20]), Wallet::Solana([1; 32])] {
        let (key, revision, value) = (table::address(&address), 0, WALLET.key());
        let owner = purser_storage::Write::Put { key, revision, value };
        assert!(made.writes().contains(&owner), "its addresses are its owner's");
    }
    let again = AgentWallet::decide(Some(&wallet(None)), &WALLET, open(), &at(NOW)).unwrap();
    assert!(again.events().is_empty() && again.writes().is_empty());
    let tight = WalletCaps {
        per_call: Cents::new(499),
        per_day: None,
        approvals: false,
    };
    let tight = fold(Some(wallet(None)), &WALLET, &[WalletEvent::CapsChanged(tight)]);
    let cap = Cents::new(499);
    assert_eq!(reserve(&tight, 1, NOW).map(drop), Err(No::PerCallCap { cap }));
    let mut now = wallet(None);
    for n in 0..20 {
        now = fold(Some(now.clone()), &WALLET, reserve(&now, n, NOW).unwrap().events());
    }
    let available = Usdc::ZERO;
    assert_eq!(reserve(&now, 30, NOW).map(drop), Err(No::Insufficient { available }));
    let mut busy = wallet(None);
    let small = |n| {
        WalletEvent::Held(WalletHold {
            payment: WalletPaymentId(n),
            network: Network::Solana,
            amount: Usdc::from_atomic(1),
            day: DAY,
            key: None,
            approval: None,
            merchant: None,
        })
    };
    let most = AgentWallet::MAX_PENDING as u128;
    busy = fold(Some(busy), &WALLET, &(0..most).map(small).collect::<Vec<_>>());
    assert_eq!(reserve(&busy, most, NOW).map(drop), Err(No::TooManyPending));
    let full: Vec<_> = (0..AgentWallet::MAX_ADDRESSES as u128)
        .map(|n| WalletEvent::AddressSaved(saved(n)))
        .collect();
    let full = fold(Some(wallet(None)), &WALLET, &full);
    let ask = |command| AgentWallet::decide(Some(&full), &WALLET, command, &at(NOW)).map(|d| event_names(&d));
    assert_eq!(ask(Ask::SaveAddress(saved(1_000))), Err(No::AddressBookFull));
    assert_eq!(ask(Ask::SaveAddress(saved(7))), Ok("=".to_owned()));
    assert_eq!(ask(Ask::DeleteAddress(AddressId(1_000))), Err(No::AddressNotFound));
    assert_eq!(ask(Ask::DeleteAddress(AddressId(7))), Ok("AddressDeleted".to_owned()));
}
