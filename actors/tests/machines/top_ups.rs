//! The top-up's machine, every command in every state and step.

use purser_actors::id::Network;
use purser_actors::kernel::job::Job;
use purser_actors::kernel::{Entity, table};
use purser_actors::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{AttestedMessage, BridgeTransfer, SignedBurn, SignedMint};
use purser_actors::top_up::{
    Command, Event, FirstLeg, LegKind, MAX_SIGNING_ATTEMPTS, Rejection, SIGNATURE_EXPIRED, Status, TopUp,
};
use purser_storage::{Condition, Write, codec};

use crate::fixtures::{
    JOB, NOW, TOP_UP, WALLET, at, charge, event_names, fold, job_names, operator, outgoing, status, transaction,
};

const TABLE: &str = "
                   -  paid           sending                         lapsing                         bridging  attested    minting     delivered  credited  failed
signed             !  Signed         !                               !                               !         !           !           !          !         !
lapse              !  !              SignatureExpired                !                               !         !           !           !          !         !
lapse_3            !  !              !                               Failed                          !         !           !           !          !         !
landed             !  !              Burned                          Burned                          !         !           !           !          !         !
adopt              !  Signed+Burned  !                               !                               !         !           !           !          !         !
adopt_in_place     !  !              SignatureExpired+Signed+Burned  SignatureExpired+Signed+Burned  !         !           !           !          !         !
adopt_for_another  !  !              !                               !                               !         !           !           !          !         !
attested           !  !              !                               !                               Attested  !           !           !          !         !
renewed            !  !              !                               !                               Attested  Attested    Attested    !          !         !
foreign            !  !              !                               !                               Attested  !           !           !          !         !
mintable           !  !              !                               !                               !         MintSigned  MintSigned  !          !         !
minted             !  !              !                               !                               !         Minted      Minted      !          !         !
counted            !  !              !                               !                               !         !           !           Credited   !         !
fail               !  Failed         Failed                          Failed                          !         Failed      Failed      !          !         !
";

fn burn() -> SignedBurn {
    SignedBurn {
        bytes: vec![1; 300],
        transaction: "burn".into(),
        event_key: [2; 32],
        burned: Usdc::from_atomic(5_000_500),
    }
}

fn attested() -> AttestedMessage {
    AttestedMessage {
        nonce: [3; 32],
        message: vec![4; 376],
        attestation: vec![5; 65],
        to: [7; 20],
        is_usdc: true,
        delivered_amount: Usdc::from_atomic(5_000_000),
    }
}

fn mint() -> SignedMint {
    SignedMint {
        bytes: vec![6; 441],
        transaction: String::new(),
    }
}

/// Everything that may happen, in an order that leads through the chart on Solana.
pub(crate) fn events() -> Vec<Event> {
    let paid = |rail| Event::Paid {
        owner: WALLET,
        charge: charge(),
        amount: Cents::new(5_00),
        rail,
        address: [7; 20],
        at: NOW,
    };
    vec![
        paid(Network::Solana),
        Event::Signed(Box::new(FirstLeg::Burn(burn())), NOW),
        Event::Burned(transaction(), NOW),
        Event::Attested(Box::new(attested()), NOW),
        Event::MintSigned(Box::new(mint()), NOW),
        Event::Minted(transaction(), NOW),
        Event::Credited(NOW),
        Event::SignatureExpired(NOW),
        Event::Failed("no".into(), NOW),
        paid(Network::Base),
        Event::Signed(Box::new(FirstLeg::Transfer(outgoing())), NOW),
        Event::Forwarded(transaction(), NOW),
    ]
}

/// A top-up in every state, and in every step of `paid` and `bridging`: `paid`, sending, lapsing, `bridging`, attested,
/// minting, `delivered`, `credited`, `failed`.
pub(crate) fn top_ups() -> Vec<TopUp> {
    let events = events();
    let upto = |n: usize| fold::<TopUp>(None, &TOP_UP, &events[..n]);
    let mut lapsing = vec![events[0].clone(), events[1].clone()];
    for _ in 1..MAX_SIGNING_ATTEMPTS {
        lapsing.extend([events[7].clone(), events[1].clone()]);
    }
    let failed = fold(Some(upto(2)), &TOP_UP, &events[8..9]);
    vec![
        upto(1),
        upto(2),
        fold(None, &TOP_UP, &lapsing),
        upto(3),
        upto(4),
        upto(5),
        upto(6),
        upto(7),
        failed,
    ]
}

/// Paid on Base: signed, and forwarded.
pub(crate) fn forwarded() -> Vec<TopUp> {
    let events = &events()[9..];
    vec![fold(None, &TOP_UP, &events[..2]), fold(None, &TOP_UP, events)]
}

/// An operator names a burn; this one of its own is dead.
fn attribute_burn(dead: Option<&str>) -> Command {
    Command::AttributeBurn {
        job: JOB,
        burn: burn(),
        index: 0,
        expired_burn: dead.map(str::to_owned),
        act: operator(),
        evidence: "seen on the chain".into(),
    }
}

pub(crate) fn commands() -> Vec<(&'static str, Command)> {
    let (effect, transaction) = (JOB, transaction());
    let reason = "no".into();
    vec![
        ("signed", Command::RecordSigned(FirstLeg::Burn(burn()))),
        ("lapse", Command::RecordExpired { job: effect, round: 0 }),
        (
            "lapse_3",
            Command::RecordExpired {
                job: effect,
                round: MAX_SIGNING_ATTEMPTS - 1,
            },
        ),
        (
            "landed",
            Command::RecordConfirmed {
                job: effect,
                transaction: transaction.clone(),
            },
        ),
        ("adopt", attribute_burn(None)),
        ("adopt_in_place", attribute_burn(Some("burn"))),
        ("adopt_for_another", attribute_burn(Some("another"))),
        ("attested", Command::RecordAttestation(attested())),
        (
            "renewed",
            Command::RecordAttestation(AttestedMessage {
                attestation: vec![8; 65],
                ..attested()
            }),
        ),
        (
            "foreign",
            Command::RecordAttestation(AttestedMessage {
                nonce: [9; 32],
                ..attested()
            }),
        ),
        ("mintable", Command::RecordMintSigned(mint())),
        (
            "minted",
            Command::RecordMinted {
                job: effect,
                transaction,
            },
        ),
        ("counted", Command::RecordIssuerCredit { job: effect }),
        ("fail", Command::Fail { job: effect, reason }),
    ]
}

fn command(name: &str) -> Command {
    commands().into_iter().find(|(n, _)| *n == name).unwrap().1
}

#[test]
fn case_31_38_every_command_in_every_state_does_what_the_table_says() {
    // Aim: thirteen commands in ten states and steps. A burn that is named takes the place of none but the signed one that is
    // proved dead. Between the burn and its attestation nothing fails; behind `delivered`
    // nothing is given back; what a message was attested as is replaced by a newer word on it and by no other message's;
    // an end refuses everything, late answers of the bridge and the issuer included.
    let states: Vec<_> = std::iter::once(None).chain(top_ups().into_iter().map(Some)).collect();
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    assert_eq!(lines.next().unwrap().split_whitespace().count(), states.len());
    for ((name, command), line) in commands().into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let decided = TopUp::decide(state.as_ref(), &TOP_UP, command.clone(), &at(NOW));
            let met = status(state.as_ref());
            match decided {
                Ok(decision) => assert_eq!(event_names(&decision), *expected, "{name} in {met}"),
                Err(rejection) => assert_eq!((rejection, *expected), (Rejection(met), "!"), "{name} in {met}"),
            }
        }
    }
}

#[test]
fn each_step_begins_the_next_work_and_ends_its_own() {
    // Aim: whatever completes an effect leaves exactly one behind, but for the two ends; signing leaves its effect open.
    for (name, state, next) in [
        ("signed", 0, &[][..]),
        ("lapse", 1, &[]),
        ("lapse_3", 2, &["credit"]),
        ("landed", 1, &["cross_bridge"]),
        ("attested", 3, &[]),
        ("mintable", 4, &[]),
        ("minted", 5, &["await_card_credit"]),
        ("counted", 6, &[]),
        ("fail", 0, &["credit"]),
        ("fail", 5, &["credit"]),
    ] {
        let decision = TopUp::decide(Some(&top_ups()[state]), &TOP_UP, command(name), &at(NOW)).unwrap();
        assert_eq!(job_names(&decision), next, "{name}");
        let ended = decision.writes().contains(&Write::Delete {
            key: table::outbox_job(JOB),
        });
        let ends = !matches!((name, state), ("signed" | "attested" | "mintable", _) | ("lapse", 1));
        assert_eq!(ended, ends, "{name}");
        for effect in decision.jobs() {
            if let Job::CreditAccount { amount, .. } = effect.job {
                assert_eq!(amount, charge().charged, "{name} gives the whole charge back");
            }
        }
    }
    let lapsed = TopUp::decide(Some(&top_ups()[2]), &TOP_UP, command("lapse_3"), &at(NOW)).unwrap();
    let failed: TopUp = fold(Some(top_ups().remove(2)), &TOP_UP, lapsed.events());
    assert_eq!(
        failed.status,
        Status::Failed {
            reason: SIGNATURE_EXPIRED.into()
        }
    );
}

#[test]
fn a_newer_word_puts_the_mint_back_to_its_beginning() {
    // Aim: a mint that carries a word that has lapsed is not sent again once there is a new one.
    let renewed = TopUp::decide(Some(&top_ups()[5]), &TOP_UP, command("renewed"), &at(NOW)).unwrap();
    let top_up: TopUp = fold(Some(top_ups().remove(5)), &TOP_UP, renewed.events());
    let Status::Bridging(burned) = top_up.status else {
        panic!("{top_up:?}")
    };
    assert_eq!(burned.attested.map(|word| word.attestation), Some(vec![8; 65]));
    assert_eq!(burned.mint, None);
}

#[test]
fn nothing_is_signed_for_an_account_that_is_not_linked() {
    // Aim: the batch that makes the first leg durable holds only while the link does.
    let decision = TopUp::decide(Some(&top_ups()[0]), &TOP_UP, command("signed"), &at(NOW)).unwrap();
    assert!(
        decision
            .conditions()
            .contains(&Condition::Present(table::issuer_linked(&WALLET)))
    );
}

#[test]
fn case_40_what_left_is_booked_out_and_the_bridges_fee_is_a_cost() {
    // Aim: the provider is owed nothing any more, the treasury is short of amount and fee, and a loss behind the burn is ours.
    let booked = |state: &TopUp, name| {
        let decision = TopUp::decide(Some(state), &TOP_UP, command(name), &at(NOW)).unwrap();
        let mut sums = std::collections::BTreeMap::new();
        for write in decision.writes() {
            if let Write::Put { key, value, .. } = write
                && key.first() == Some(&table::LEDGER)
            {
                let transaction: LedgerTransaction = codec::decode(value).unwrap();
                assert_eq!(transaction.cause, TOP_UP.to_string());
                for posting in transaction.postings {
                    *sums.entry(posting.account).or_insert(0) += posting.atomic;
                }
            }
        }
        sums.into_iter().collect::<Vec<_>>()
    };
    let by = LedgerAccount::Provider(LedgerProvider::CardBalances);
    let (solana, base) = (
        LedgerAccount::Treasury(Network::Solana),
        LedgerAccount::Treasury(Network::Base),
    );
    let states = top_ups();
    assert_eq!(
        booked(&states[1], "landed"),
        [
            (solana, -5_000_500),
            (by, 5_000_000),
            (LedgerAccount::OperatingCosts, 500)
        ]
    );
    assert_eq!(booked(&forwarded()[0], "landed"), [(base, -5_000_000), (by, 5_000_000)]);
    assert_eq!(
        booked(&states[0], "fail"),
        [
            (LedgerAccount::Suspense, -5_100_000),
            (by, 5_000_000),
            (LedgerAccount::FeeRevenue, 100_000)
        ]
    );
    assert_eq!(
        booked(&states[5], "fail"),
        [
            (LedgerAccount::Suspense, -5_100_000),
            (LedgerAccount::FeeRevenue, 100_000),
            (LedgerAccount::OperatingCosts, 5_000_000)
        ]
    );
    assert!(booked(&states[5], "minted").is_empty() && booked(&states[6], "counted").is_empty());
}

#[test]
fn case_40_a_surplus_of_the_bridge_is_posted_and_kept_with_the_mint() {
    // Checks: a mint of exactly the amount is stored as before; one of more posts the difference out of the costs once and
    // stays known with its amount, which is what the issuer is asked for.
    for (arrives, leg, surplus) in [
        (5_000_000, LegKind::Mint, 0),
        (5_000_200, LegKind::MintOf(Usdc::from_atomic(5_000_200)), 200),
        (5_000_500, LegKind::MintOf(Usdc::from_atomic(5_000_500)), 500),
    ] {
        let word = AttestedMessage {
            delivered_amount: Usdc::from_atomic(arrives),
            ..attested()
        };
        let attested = TopUp::decide(Some(&top_ups()[3]), &TOP_UP, Command::RecordAttestation(word), &at(NOW)).unwrap();
        let bridging: TopUp = fold(Some(top_ups().remove(3)), &TOP_UP, attested.events());
        let minted = TopUp::decide(Some(&bridging), &TOP_UP, command("minted"), &at(NOW)).unwrap();
        let delivered: TopUp = fold(Some(bridging), &TOP_UP, minted.events());
        let posted: Vec<_> = minted
            .writes()
            .iter()
            .filter_map(|write| match write {
                Write::Put { key, value, .. } if key.first() == Some(&table::LEDGER) => {
                    Some(codec::decode::<LedgerTransaction>(value).unwrap().postings)
                }
                _ => None,
            })
            .flatten()
            .map(|posting| (posting.account, posting.atomic))
            .collect();
        let expected = [
            (LedgerAccount::BridgeSurplus, surplus),
            (LedgerAccount::OperatingCosts, -surplus),
        ];
        assert_eq!(posted, if surplus > 0 { expected.to_vec() } else { Vec::new() });
        assert_eq!(delivered.legs.last().unwrap().leg, leg);
        assert_eq!(
            delivered.delivered().map(|(_, amount)| amount),
            Some(Usdc::from_atomic(arrives))
        );
        assert_eq!(delivered.surplus().atomic(), u64::try_from(surplus).unwrap());
        let read: TopUp = codec::decode(&codec::encode(&delivered)).unwrap();
        assert_eq!(read, delivered);
    }
}

#[test]
fn only_a_message_of_the_burn_is_minted_on() {
    // Checks: at least what was ordered and at most what was burned arrives, as USDC, to the receiver of the order.
    let burned = Usdc::from_atomic(5_000_500);
    let crossing = BridgeTransfer {
        key: 1,
        to: [7; 20],
        delivered_amount: Usdc::from_atomic(5_000_000),
    };
    let of = |change: fn(&mut AttestedMessage)| {
        let mut word = attested();
        change(&mut word);
        word.check_matches(&crossing, burned).is_ok()
    };
    assert!(of(|_| {}));
    assert!(of(|word| word.delivered_amount = Usdc::from_atomic(5_000_001)));
    assert!(of(|word| word.delivered_amount = Usdc::from_atomic(5_000_500)));
    assert!(!of(|word| word.delivered_amount = Usdc::from_atomic(5_000_501)));
    assert!(!of(|word| word.delivered_amount = Usdc::from_atomic(4_999_999)));
    assert!(!of(|word| word.to = [8; 20]));
    assert!(!of(|word| word.is_usdc = false));
    assert!(!of(|word| word.message = vec![0; 5_000]));
}
