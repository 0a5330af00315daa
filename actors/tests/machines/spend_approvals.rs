//! Spend approval state machine: every command in every state, and what a wallet does with an approval.

use purser_actors::entity::agent_wallet::{
    AgentWallet, Command as Ask, Event as WalletEvent, Rejection as No, UsableApproval, WalletCaps, WalletSpend,
};
use purser_actors::entity::spend_approval::{
    APPROVED_MS, Command, Event, ExceededLimit, PENDING_MS, Rejection, SpendAct, SpendAgent, SpendApproval, SpendLimit,
    SpendPayee, SpendRequest, SpendTerms, SpendUse,
};
use purser_actors::entity::wallet_payment::{PaymentMethod, WalletPaymentOrder};
use purser_actors::id::{ApiKeyId, BankDestinationId, PayoutId, SessionId, SpendApprovalId, Wallet, WalletPaymentId};
use purser_actors::kernel::{Decision, Entity, table, to_json};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Timestamp, WalletAddresses};
use purser_storage::{Condition, RowKey, Write};

use crate::fixtures::{JOB, NOW, WALLET, at, event_names, fold, job_names, status};
use crate::transitions::{assert_chart, commanded, listed};

const ID: SpendApprovalId = SpendApprovalId(61);
const SPEND: WalletPaymentId = WalletPaymentId(21);
const USED_BY: SpendUse = SpendUse::WalletPayment(SPEND);
const KEY: ApiKeyId = ApiKeyId(19);
const SLOT: u8 = 3;
const TWELVE: Usdc = Usdc::from_atomic(12_000_000);

const TABLE: &str = "
          -          pending      approved     declined  declined  expired  used  declined
request   Requested  NotApproved  NotApproved  Declined  Declined  Expired  Used  AgentEnded
approve   NotFound   Approved     .            Declined  Declined  Expired  Used  AgentEnded
decline   NotFound   Declined     Declined     .         .         Expired  Used  .
early     NotFound   .            .            .         .         .        .     .
used      NotFound   NotApproved  Used         Declined  Declined  Expired  Used  AgentEnded
ended     NotFound   AgentEnded   AgentEnded   .         .         .        .     .
";

fn agent() -> SpendAgent {
    SpendAgent {
        session: Some(SessionId(5)),
        key: Some(KEY),
    }
}

fn terms() -> SpendTerms {
    SpendTerms {
        payee: SpendPayee::Wallet(Wallet::Evm([5; 20])),
        amount: TWELVE,
        act: SpendAct::Transfer,
        call: [0; 32],
        key: Some(KEY),
    }
}

fn request() -> SpendRequest {
    SpendRequest {
        owner: WALLET,
        terms: terms(),
        exceeded: vec![ExceededLimit {
            limit: SpendLimit::PerCall,
            cap: Cents::new(1_000),
            left: Usdc::from_atomic(10_000_000),
        }],
        agent: agent(),
        note: Some("lunch".into()),
        purchase: None,
        slot: SLOT,
    }
}

fn events() -> Vec<Event> {
    vec![
        Event::Requested(Box::new(request()), NOW),
        Event::Approved(NOW),
        Event::Declined(NOW),
        Event::Expired(NOW),
        Event::Used(USED_BY, NOW),
        Event::DeclineEnded(NOW),
        Event::AgentEnded(NOW),
    ]
}

/// One in each state, in the order of the table.
fn approvals() -> Vec<SpendApproval> {
    let of = |path: &[usize]| {
        let path: Vec<Event> = path.iter().map(|n| events()[*n].clone()).collect();
        fold(None, &ID, &path)
    };
    vec![
        of(&[0]),
        of(&[0, 1]),
        of(&[0, 2]),
        of(&[0, 2, 5]),
        of(&[0, 3]),
        of(&[0, 1, 4]),
        of(&[0, 6]),
    ]
}

fn commands() -> Vec<(&'static str, Command)> {
    vec![
        ("request", Command::Request(Box::new(request()))),
        ("approve", Command::Approve),
        ("decline", Command::Decline),
        ("early", Command::Expire { job: JOB }),
        (
            "used",
            Command::RecordUse {
                job: JOB,
                used_by: USED_BY,
            },
        ),
        ("ended", Command::EndWithAgent),
    ]
}

#[test]
fn every_command_in_every_state_matches_the_table() {
    // Checks: six commands in eight states. A decision cannot be changed except by taking an unused approval back, and
    // nothing but an approved one is ever used.
    let states: Vec<_> = std::iter::once(None).chain(approvals().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let outcome = match SpendApproval::decide(state.as_ref(), &ID, command.clone(), &at(NOW)) {
                Err(rejection) => format!("{rejection:?}"),
                Ok(decision) if decision.events().is_empty() => ".".to_owned(),
                Ok(decision) => event_names(&decision),
            };
            assert_eq!(outcome, *expected, "{name} in {}", status(state.as_ref()));
        }
    }
}

#[test]
fn transitions_match_events_and_commands() {
    // Checks: state × event and state × command give the listed transitions. The commands are given when the time is
    // over too.
    assert_chart(&ID, approvals(), &events());
    let mut made = commanded(&ID, approvals(), commands());
    for (state, name) in [(&approvals()[0], "pending"), (&approvals()[1], "approved")] {
        let over = SpendApproval::decide(Some(state), &ID, Command::Expire { job: JOB }, &at(late(PENDING_MS)));
        assert_eq!(event_names(&over.unwrap()), "Expired");
        made.insert((name, "expired"));
    }
    assert_eq!(made, listed::<SpendApproval>());
}

fn late(ms: u64) -> Timestamp {
    Timestamp(NOW.0 + ms)
}

fn deletes(decision: &Decision<impl Entity>, row: &RowKey) -> bool {
    let deleted = decision
        .writes()
        .iter()
        .any(|write| matches!(write, Write::Delete { key } if key == row));
    deleted && decision.conditions().contains(&Condition::Present(row.clone()))
}

#[test]
fn rows_follow_the_state() {
    // Checks: a request takes its slot and its spend on the condition that both are free. Every end frees the slot; the
    // row that a spend deletes exists from the approval to the end, and never twice. A declined spend stays known
    // until its request would have expired.
    let (slot, spend) = (
        table::spend_approval_slot(&WALLET, SLOT),
        table::requested_spend(&WALLET, &terms().fingerprint()),
    );
    let usable = table::approved_spend(ID);
    let all = approvals();
    let decide =
        |state: Option<&SpendApproval>, command, now| SpendApproval::decide(state, &ID, command, &at(now)).unwrap();
    let asked = decide(None, Command::Request(Box::new(request())), NOW);
    for row in [&slot, &spend] {
        assert!(asked.conditions().contains(&Condition::Absent(row.clone())));
    }
    let approved = decide(Some(&all[0]), Command::Approve, NOW);
    assert!(approved.conditions().contains(&Condition::Absent(usable.clone())));
    assert!(
        approved
            .conditions()
            .contains(&Condition::Absent(table::frozen(&WALLET)))
    );
    let declined = decide(Some(&all[0]), Command::Decline, NOW);
    assert_eq!(
        [&slot, &usable, &spend].map(|row| deletes(&declined, row)),
        [true, false, false]
    );
    let taken_back = decide(Some(&all[1]), Command::Decline, NOW);
    assert_eq!(
        [&slot, &usable, &spend].map(|row| deletes(&taken_back, row)),
        [true, true, false]
    );
    let expired = decide(Some(&all[1]), Command::Expire { job: JOB }, late(APPROVED_MS));
    assert_eq!([&slot, &usable, &spend].map(|row| deletes(&expired, row)), [true; 3]);
    let used = decide(
        Some(&all[1]),
        Command::RecordUse {
            job: JOB,
            used_by: USED_BY,
        },
        late(APPROVED_MS),
    );
    assert_eq!(
        [&slot, &usable, &spend].map(|row| deletes(&used, row)),
        [true, false, true],
        "the batch of the spend deleted the row of the approval"
    );
    let lost = [&all[0], &all[1]].map(|open| decide(Some(open), Command::EndWithAgent, NOW));
    for (lost, was_usable) in lost.iter().zip([false, true]) {
        let rows = [&slot, &usable, &spend].map(|row| deletes(lost, row));
        assert_eq!(rows, [true, was_usable, true], "the agent's access ended");
    }
    let early = decide(Some(&all[2]), Command::Expire { job: JOB }, late(PENDING_MS - 1));
    assert!(!deletes(&early, &spend) && early.events().is_empty());
    let ended = decide(Some(&all[2]), Command::Expire { job: JOB }, late(PENDING_MS));
    assert!(deletes(&ended, &spend));
    let again = decide(Some(&all[3]), Command::Expire { job: JOB }, late(PENDING_MS));
    assert!(!deletes(&again, &spend), "another request may have it now");
}

#[test]
fn time_ends_a_request_and_an_approval() {
    // Checks: 24 hours for the owner, 15 minutes for the agent, to the millisecond, whether or not the job has run.
    let all = approvals();
    let approve = |now| SpendApproval::decide(Some(&all[0]), &ID, Command::Approve, &at(now)).map(drop);
    assert_eq!(approve(late(PENDING_MS - 1)), Ok(()));
    assert_eq!(approve(late(PENDING_MS)), Err(Rejection::Expired));
    assert!(all[1].is_usable(late(APPROVED_MS - 1)) && !all[1].is_usable(late(APPROVED_MS)));
    assert!(!all[0].is_usable(NOW));
    assert_eq!((PENDING_MS, APPROVED_MS), (86_400_000, 900_000));
}

#[test]
fn views_name_the_spend_and_its_limits() {
    // Checks: the owner sees what, to whom and which limit; the slot is no one's business.
    let json: serde_json::Value = serde_json::from_str(&to_json(&approvals()[5].view(&ID))).unwrap();
    assert_eq!(json["status"], "used");
    assert_eq!(json["limits"][0]["limit"], "per_call_usd");
    assert_eq!(json["wallet_payment_id"], SPEND.to_string());
    assert_eq!((&json["network"], &json["amount"]), (&"base".into(), &12.into()));
    assert_eq!(json["used_by"], SPEND.to_string());
    // A payment to a bank account has no address.
    let bank = SpendRequest {
        terms: SpendTerms {
            payee: SpendPayee::BankDestination(BankDestinationId(7)),
            act: SpendAct::BankPayout,
            ..terms()
        },
        ..request()
    };
    let payout = SpendUse::BankPayout(PayoutId(8));
    let path = [
        Event::Requested(Box::new(bank), NOW),
        Event::Approved(NOW),
        Event::Used(payout, NOW),
    ];
    let bank: SpendApproval = fold(None, &ID, &path);
    let json: serde_json::Value = serde_json::from_str(&to_json(&bank.view(&ID))).unwrap();
    assert_eq!((&json["kind"], &json["asset"]), (&"bank_payout".into(), &"USD".into()));
    assert_eq!(json["bank_payee_id"], BankDestinationId(7).to_string());
    assert_eq!(json["used_by"], PayoutId(8).to_string());
    for member in ["network", "pay_to", "host", "wallet_payment_id"] {
        assert!(json[member].is_null(), "{member}");
    }
    let reason = |approval: SpendApproval| {
        let json: serde_json::Value = serde_json::from_str(&to_json(&approval.view(&ID))).unwrap();
        json.get("decline_reason").cloned()
    };
    let reasons: Vec<_> = approvals().into_iter().map(reason).collect();
    assert!(reasons[..6].iter().all(Option::is_none), "{reasons:?}");
    assert_eq!(reasons[6..], [Some("agent_ended".into())]);
    for approval in approvals() {
        assert!(!to_json(&approval.view(&ID)).contains("slot"));
        assert_eq!(approval.outcome(), None);
    }
}

/// A wallet whose owner is asked about spends over these limits, in whole dollars.
fn wallet(per_call: u64, per_day: Option<u64>, approvals: bool) -> AgentWallet {
    let caps = WalletCaps {
        per_call: Cents::new(per_call * 100),
        per_day: per_day.map(|cap| Cents::new(cap * 100)),
        approvals,
    };
    let addresses = WalletAddresses {
        base: [8; 20],
        solana: [9; 32],
    };
    fold(
        None,
        &WALLET,
        &[WalletEvent::Created {
            addresses,
            caps,
            at: NOW,
        }],
    )
}

fn spend(dollars: u64) -> WalletSpend {
    WalletSpend {
        payment: SPEND,
        order: WalletPaymentOrder {
            to: Wallet::Evm([5; 20]),
            amount: Usdc::from_atomic(dollars * 1_000_000),
            note: None,
            method: PaymentMethod::Transfer,
        },
        call: Vec::new(),
        chain_balance: Usdc::from_atomic(1_000_000_000_000),
        known_lines: None,
        agent: agent(),
        call_digest: [0; 32],
        purchase: None,
    }
}

fn given(limits: &[SpendLimit]) -> UsableApproval {
    UsableApproval {
        id: ID,
        terms: terms(),
        limits: limits.to_vec(),
        expires_at: late(APPROVED_MS),
    }
}

fn hold(
    wallet: &AgentWallet,
    spend: WalletSpend,
    approval: Option<UsableApproval>,
    now: Timestamp,
) -> Result<Decision<AgentWallet>, No> {
    let command = Ask::Hold {
        spend: Box::new(spend),
        spent_before: Usdc::ZERO,
        approval: approval.map(Box::new),
        key: None,
    };
    AgentWallet::decide(Some(wallet), &WALLET, command, &at(now))
}

#[test]
fn approval_passes_its_limits_once_and_nothing_else() {
    // Checks: within the limits an approval is left alone; over them it is used up by the batch of the spend. Another
    // amount, payee, agent or call, a limit that the owner did not see, an approval whose time is over, and a wallet
    // whose owner does not want to be asked: none passes.
    let over = wallet(10, Some(100), true);
    let per_call = [SpendLimit::PerCall];
    let row = table::approved_spend(ID);
    let within = hold(&wallet(50, None, true), spend(12), Some(given(&per_call)), NOW).unwrap();
    assert!(!deletes(&within, &row));
    let passed = hold(&over, spend(12), Some(given(&per_call)), NOW).unwrap();
    assert!(deletes(&passed, &row));
    assert_eq!(job_names(&passed), ["send_wallet_payment", "record_spend_approval_use"]);
    let WalletEvent::Held(held) = &passed.events()[0] else {
        panic!("it is held")
    };
    assert_eq!(held.approval, Some(ID));
    let required = |spend: WalletSpend, approval: Option<UsableApproval>, now| {
        assert_eq!(hold(&over, spend, approval, now).map(drop), Err(No::ApprovalRequired));
    };
    required(spend(12), None, NOW);
    required(spend(13), Some(given(&per_call)), NOW);
    required(spend(12), Some(given(&[SpendLimit::PerDay])), NOW);
    required(spend(12), Some(given(&per_call)), late(APPROVED_MS));
    let mut others = vec![spend(12), spend(12), spend(12)];
    others[0].order.to = Wallet::Evm([6; 20]);
    others[1].agent.key = None;
    others[2].call_digest = [1; 32];
    others
        .into_iter()
        .for_each(|other| required(other, Some(given(&per_call)), NOW));
    // The day is used up by the approved spends too, and the owner has to see that.
    let full = fold(Some(over.clone()), &WALLET, passed.events());
    assert_eq!(full.used_on(NOW), TWELVE);
    let small = wallet(50, Some(10), true);
    assert_eq!(
        hold(&small, spend(12), Some(given(&per_call)), NOW).map(drop),
        Err(No::ApprovalRequired)
    );
    let off = wallet(10, None, false);
    let cap = Cents::new(1_000);
    assert_eq!(
        hold(&off, spend(12), Some(given(&per_call)), NOW).map(drop),
        Err(No::PerCallCap { cap })
    );
    // The service's own limit stands, and the owner is not asked about what the wallet cannot pay.
    assert_eq!(
        hold(&over, spend(50_001), None, NOW).map(drop),
        Err(No::PerCallCap { cap })
    );
    let mut poor = spend(12);
    poor.chain_balance = Usdc::from_atomic(1);
    let available = Usdc::from_atomic(1);
    assert_eq!(
        hold(&over, poor, None, NOW).map(drop),
        Err(No::Insufficient { available })
    );
}

#[test]
fn refused_spend_is_announced_once_a_minute() {
    // Checks: the same spend again within a minute changes nothing; another one, or a later one, is announced.
    let refused = |to, ms| {
        Box::new(purser_actors::entity::agent_wallet::RefusedSpend {
            terms: SpendTerms {
                payee: SpendPayee::Wallet(to),
                ..terms()
            },
            exceeded: request().exceeded,
            agent: agent(),
            at: late(ms),
        })
    };
    let decide = |wallet: &AgentWallet, refusal| {
        AgentWallet::decide(Some(wallet), &WALLET, Ask::RecordRefusal(refusal), &at(NOW)).unwrap()
    };
    let one = wallet(10, None, false);
    let first = decide(&one, refused(WALLET, 0));
    assert_eq!(event_names(&first), "SpendRefused");
    let known = fold(Some(one), &WALLET, first.events());
    assert!(to_json(&known.view(&WALLET)).contains("last_refused_spend"));
    assert_eq!(event_names(&decide(&known, refused(WALLET, 59_999))), "=");
    assert_eq!(event_names(&decide(&known, refused(WALLET, 60_000))), "SpendRefused");
    assert_eq!(
        event_names(&decide(&known, refused(Wallet::Evm([7; 20]), 1))),
        "SpendRefused"
    );
}
