//! Our verdict on a payment against that of the published x402 code, on payments changed in every way we can think of.
//!
//! The reference is `facilitator.mjs`: the npm packages' decoding, matching and offline verification, with our caps and
//! a chain that accepts every payment. `allowed_differences.rs` lists where the two may differ, each with its reason
//! and an example that really differs. For more cases: `PURSER_DIFFERENTIAL=50000 PURSER_SEED=7 cargo test --test
//! interop differential`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use purser::payment::evm::SignatureRecovery;
use purser::payment::solana::address::base58;
use purser::payment::{Terms, decode, verify};
use purser_actors::id::Network;
use purser_actors::port::Timestamp;
use serde_json::{Value, json};

use crate::allowed_differences::{AllowedDifference, allowed};
use crate::authorizations::{carrying, signed_fields};
use crate::input::{FuzzInput, change_bytes, change_json};
use crate::node::Node;
use crate::seller::{self, NOW, PRICE, buyer, fee_payer, pay, terms};
use crate::server_process::print_line;
use crate::solana_drafts::{change_draft, valid_draft};

/// Cases of an ordinary run.
const CASES: u64 = 800;

/// Two prices on both networks; the older one on Solana wants a memo.
pub fn offers() -> Vec<Terms> {
    vec![
        terms(PRICE, seller::base()),
        terms(PRICE, seller::solana(None)),
        terms(4_000_000, seller::base()),
        terms(4_000_000, seller::solana(Some("order-7"))),
    ]
}

/// What a side says: the offer that is met and who pays, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accepted { offer: u64, payer: String },
    Rejected(String),
}

impl Verdict {
    /// For the table: the reason, or `accepted`.
    pub fn label(&self) -> &str {
        match self {
            Self::Accepted { .. } => "accepted",
            Self::Rejected(reason) => reason,
        }
    }
}

fn purser_verdict(header: &[u8]) -> Verdict {
    let judged = decode(header).and_then(|payment| {
        verify(
            &payment,
            &offers(),
            &[],
            Timestamp(NOW * 1000),
            SignatureRecovery::Libsecp256k1,
        )
    });
    match judged {
        Ok(verified) => Verdict::Accepted {
            offer: verified.offer as u64,
            payer: verified.authorization.payer().address().to_lowercase(),
        },
        Err(refusal) => Verdict::Rejected(refusal.message.into_owned()),
    }
}

/// All verdicts of the published code, in one process.
fn reference_verdicts(node: Node, headers: &[Vec<u8>]) -> Vec<Verdict> {
    let challenge = STANDARD
        .decode(seller::build_challenge(&offers(), None).header)
        .unwrap();
    let accepts = serde_json::from_slice::<Value>(&challenge).unwrap()["accepts"].take();
    let lines: String = headers
        .iter()
        // A header is sent as Latin-1; so is it read here.
        .map(|header| header.iter().map(|byte| char::from(*byte)).collect::<String>())
        .map(|header| format!("{}\n", json!({"header": header, "accepts": accepts})))
        .collect();
    let mut command = node.script("facilitator.mjs");
    command.args([NOW.to_string(), base58(&fee_payer())]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let read = |line: &str| {
        let verdict: Value = serde_json::from_str(line).unwrap();
        match verdict["refused"].as_str() {
            Some(reason) => Verdict::Rejected(reason.split(':').next().unwrap_or_default().to_owned()),
            None => Verdict::Accepted {
                offer: verdict["offer"].as_u64().unwrap(),
                payer: verdict["payer"].as_str().unwrap().to_lowercase(),
            },
        }
    };
    let verdicts: Vec<Verdict> = String::from_utf8(output.stdout).unwrap().lines().map(read).collect();
    assert_eq!(verdicts.len(), headers.len());
    verdicts
}

fn wire_of(payment: &Value) -> Vec<u8> {
    STANDARD
        .decode(payment["payload"]["transaction"].as_str().unwrap())
        .unwrap()
}

fn with_wire(mut payment: Value, wire: &[u8]) -> Value {
    payment["payload"] = json!({"transaction": STANDARD.encode(wire)});
    payment
}

/// A payment for one of the offers, changed.
fn payment(dice: &mut FuzzInput<'_>) -> Value {
    let offers = offers();
    let good: Vec<Value> = (0..offers.len())
        .map(|at| pay(&offers[at..=at], offers[at].network()))
        .collect();
    let changes = dice.below(3);
    let solana = good[1].clone();
    match dice.byte() % 6 {
        0 => {
            let mut payment = dice.of(&good).clone();
            (0..changes).for_each(|_| change_json(&mut payment, &good, dice));
            payment
        }
        1 => {
            let domain = purser::payment::BasePayee::usdc(seller::PAY_TO_BASE).domain_separator;
            let domain = if dice.one_in(8) { [7; 32] } else { domain };
            carrying(&signed_fields(&domain, dice))
        }
        2 => {
            let mut draft = valid_draft();
            (0..changes).for_each(|_| change_draft(&mut draft, dice));
            with_wire(solana, &buyer().sign_draft(&draft))
        }
        3 => {
            // The message in any shape, under a right signature.
            let wire = wire_of(&solana);
            let mut message = wire[129..].to_vec();
            (0..changes).for_each(|_| change_bytes(&mut message, dice));
            let signature = buyer().sign_message(&message);
            with_wire(solana, &[&wire[..65], &signature, &message].concat())
        }
        4 => {
            let mut wire = wire_of(&solana);
            (0..changes).for_each(|_| change_bytes(&mut wire, dice));
            with_wire(solana, &wire)
        }
        _ => {
            let mut payment = good[0].clone();
            let text = payment["payload"]["signature"].as_str().unwrap();
            let mut signature = hex::decode(&text[2..]).unwrap();
            match dice.byte() % 4 {
                0 => signature[64] = dice.byte() % 32,
                1 => change_bytes(&mut signature, dice),
                2 => signature[64] -= 27,
                _ => signature = crate::allowed_differences::other_half(&signature),
            }
            payment["payload"]["signature"] = json!(format!("0x{}", hex::encode(signature)));
            payment
        }
    }
}

/// The header of a case.
fn header(bytes: &[u8]) -> Vec<u8> {
    let mut dice = FuzzInput(bytes);
    let spelling = dice.byte() % 16;
    let mut text = payment(&mut dice).to_string().into_bytes();
    if spelling == 0 {
        change_bytes(&mut text, &mut dice);
    }
    let mut header = match spelling {
        1 => STANDARD_NO_PAD.encode(text),
        2 => URL_SAFE.encode(text),
        _ => STANDARD.encode(text),
    }
    .into_bytes();
    if spelling == 3 {
        change_bytes(&mut header, &mut dice);
    }
    header
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// Steele and Vigna's generator, so that a seed means the same cases everywhere.
fn random_bytes(state: &mut u64) -> Vec<u8> {
    let mut next = || {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes()
    };
    (0..16).flat_map(|_| next()).collect()
}

#[test]
fn differential_verdicts_match_the_published_facilitator() {
    // Checks: for changed payments of every kind, both accept the same offer and payer, or both reject. Only the listed
    // differences remain.
    let Some(node) = Node::ready() else { return };
    let (seed, count) = (setting("PURSER_SEED", 402), setting("PURSER_DIFFERENTIAL", CASES));
    let mut state = seed;
    let headers: Vec<Vec<u8>> = (0..count).map(|_| header(&random_bytes(&mut state))).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut unexplained = Vec::new();
    for (header, theirs) in headers.iter().zip(reference_verdicts(node, &headers)) {
        let ours = purser_verdict(header);
        let what = match (&ours, &theirs) {
            (Verdict::Rejected(_), Verdict::Rejected(_)) => "both refuse".to_owned(),
            (ours, theirs) if ours == theirs => "both accept".to_owned(),
            _ => match allowed(ours.label(), theirs.label()) {
                Some(differs) => differs.why.to_owned(),
                None => {
                    let text = String::from_utf8_lossy(header).into_owned();
                    unexplained.push(format!("ours {ours:?}, theirs {theirs:?}: {text}"));
                    "unexplained".to_owned()
                }
            },
        };
        *counts.entry(what).or_default() += 1;
    }
    print_line(&format!("differential: seed {seed}, {count} payments: {counts:#?}"));
    assert!(unexplained.is_empty(), "seed {seed}:\n{}", unexplained.join("\n"));
    let at_least = |what: &str| counts.get(what).copied().unwrap_or_default() as u64 * 8 > count;
    assert!(at_least("both refuse") && at_least("both accept"), "{counts:#?}");
}

#[test]
fn differential_every_allowed_difference_is_real() {
    // Checks: each line of the table has an example with exactly its two verdicts. A line without one must be deleted.
    let Some(node) = Node::ready() else { return };
    let headers: Vec<Vec<u8>> = crate::allowed_differences::TABLE
        .iter()
        .map(|line| (line.example)())
        .collect();
    for ((line, header), theirs) in crate::allowed_differences::TABLE
        .iter()
        .zip(&headers)
        .zip(reference_verdicts(node, &headers))
    {
        let AllowedDifference {
            purser_result: a,
            reference_result: b,
            why,
            ..
        } = line;
        let ours = purser_verdict(header);
        assert!(
            ours.label().starts_with(a) && theirs.label() == *b,
            "{why}: ours {ours:?}, theirs {theirs:?}"
        );
    }
    let good = pay(&offers(), Network::Base);
    assert!(matches!(
        purser_verdict(seller::encode(&good).as_bytes()),
        Verdict::Accepted { offer: 0, .. }
    ));
}
