//! Top-up state machine: every command in every state and step.

use purser_actors::entity::account;
use purser_actors::entity::top_up::{
    Command, Event, FirstLeg, LegKind, MAX_SIGNING_ATTEMPTS, Rejection, SIGNATURE_EXPIRED, Status, TopUp,
};
use purser_actors::id::Network;
use purser_actors::kernel::{Entity, table};
use purser_actors::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{AttestedMessage, BridgeTransfer, SignedBurn, SignedMint};
use purser_storage::{Condition, Write, codec};

use crate::fixtures::{
    JOB, NOW, TOP_UP, WALLET, at, charge, event_names, fold, job_names, operator, outgoing, status, transaction,
};

const TABLE: &str = "
                   -  paid           sending                         lapsing                         bridging  attested    minting     delivered  credited  failed
signed             !  Signed         !                               !                               !         !           !           !          !         !
expire             !  !              SignatureExpired                !                               !         !           !           !          !         !
expire_3           !  !              !                               Failed                          !         !           !           !          !         !
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

/// Every event, in an order that leads through all transitions on Solana.
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

/// A top-up in every state, and in every step of `paid` and `bridging`: `paid`, sending, expiring, `bridging`,
/// attested, minting, `delivered`, `credited`, `failed`.
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

/// Paid on Base: signed and forwarded.
pub(crate) fn forwarded() -> Vec<TopUp> {
    let events = &events()[9..];
    vec![fold(None, &TOP_UP, &events[..2]), fold(None, &TOP_UP, events)]
}

/// An operator attributes a burn; the top-up's own burn with this id has expired.
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
        ("expire", Command::RecordExpired { job: effect, round: 0 }),
        (
            "expire_3",
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
fn case_31_38_every_command_in_every_top_up_state_matches_the_table() {
    // Checks: thirteen commands in ten states and steps. An attributed burn replaces only a signed burn that is proved
    // expired. Between burn and attestation nothing fails, and after `delivered` nothing is credited. A newer
    // attestation of the same message replaces the stored one; another message's does not. A final state rejects
    // everything, also late results of bridge and issuer.
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
fn each_step_enqueues_the_next_job_and_ends_its_own() {
    // Checks: a completed job leaves exactly one other, except at the two ends; signing leaves its job open.
    for (name, state, next) in [
        ("signed", 0, &[][..]),
        ("expire", 1, &[]),
        ("expire_3", 2, &["credit_account"]),
        ("landed", 1, &["bridge_top_up"]),
        ("attested", 3, &[]),
        ("mintable", 4, &[]),
        ("minted", 5, &["await_issuer_credit"]),
        ("counted", 6, &[]),
        ("fail", 0, &["credit_account"]),
        ("fail", 5, &["credit_account"]),
    ] {
        let decision = TopUp::decide(Some(&top_ups()[state]), &TOP_UP, command(name), &at(NOW)).unwrap();
        assert_eq!(job_names(&decision), next, "{name}");
        let ended = decision.writes().contains(&Write::Delete {
            key: table::outbox_job(JOB),
        });
        let ends = !matches!((name, state), ("signed" | "attested" | "mintable", _) | ("expire", 1));
        assert_eq!(ended, ends, "{name}");
        for effect in decision.jobs() {
            if let Some(account::Job::CreditAccount { amount, .. }) = effect.job.typed() {
                assert_eq!(amount, charge().charged, "{name} gives the whole charge back");
            }
        }
    }
    let expired = TopUp::decide(Some(&top_ups()[2]), &TOP_UP, command("expire_3"), &at(NOW)).unwrap();
    let failed: TopUp = fold(Some(top_ups().remove(2)), &TOP_UP, expired.events());
    assert_eq!(
        failed.status,
        Status::Failed {
            reason: SIGNATURE_EXPIRED.into()
        }
    );
}

#[test]
fn newer_attestation_restarts_the_mint() {
    // Checks: a mint with an expired attestation is not sent again once a new attestation exists.
    let renewed = TopUp::decide(Some(&top_ups()[5]), &TOP_UP, command("renewed"), &at(NOW)).unwrap();
    let top_up: TopUp = fold(Some(top_ups().remove(5)), &TOP_UP, renewed.events());
    let Status::Bridging(burned) = top_up.status else {
        panic!("{top_up:?}")
    };
    assert_eq!(burned.attested.map(|word| word.attestation), Some(vec![8; 65]));
    assert_eq!(burned.mint, None);
}

#[test]
fn nothing_is_signed_for_an_unlinked_account() {
    // Checks: the batch that stores the first leg requires the link.
    let decision = TopUp::decide(Some(&top_ups()[0]), &TOP_UP, command("signed"), &at(NOW)).unwrap();
    assert!(
        decision
            .conditions()
            .contains(&Condition::Present(table::issuer_linked(&WALLET)))
    );
}

#[test]
fn case_40_burn_is_posted_and_bridge_fee_is_a_cost() {
    // Checks: the provider is owed nothing, the treasury decreases by amount and fee, and a loss after the burn is
    // ours.
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
fn case_40_bridge_surplus_is_posted_with_the_mint() {
    // Checks: a mint of exactly the amount is stored as before. A larger one posts the difference to costs once and
    // stores its amount, for which the issuer is asked.
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
fn only_a_message_of_the_burn_is_minted() {
    // Checks: at least the ordered and at most the burned amount arrives, as USDC, at the order's recipient.
    let burned = Usdc::from_atomic(5_000_500);
    let bridge_transfer = BridgeTransfer {
        key: 1,
        to: [7; 20],
        delivered_amount: Usdc::from_atomic(5_000_000),
    };
    let of = |change: fn(&mut AttestedMessage)| {
        let mut word = attested();
        change(&mut word);
        word.check_matches(&bridge_transfer, burned).is_ok()
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
