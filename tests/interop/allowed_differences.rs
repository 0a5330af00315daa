//! Where our verdict may differ from the published facilitator's, and why. Nothing else may.
//!
//! Stricter: we refuse what the chain would refuse, what could cost our fee payer, what has two spellings, and what has
//! no end. Looser: what no signature covers is not looked at, and addresses count by value.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use purser::payment::BasePayee;
use purser::payment::solana::address::MEMO;
use purser::wallet::solana::{AccountMeta, Draft};
use purser_actors::money::Usdc;
use purser_actors::port::EvmAuthorization;
use serde_json::{Value, json};

use crate::authorizations::carrying;
use crate::differential::offers;
use crate::seller::{NOW, PAY_TO_BASE, PRICE, buyer, encode, fee_payer, pay};
use crate::solana_drafts::valid_draft;

/// A line of the table.
pub struct AllowedDifference {
    /// How our refusal begins, or `accepted`.
    pub purser_result: &'static str,
    /// Their reason, or `accepted`.
    pub reference_result: &'static str,
    pub why: &'static str,
    /// A header on which it happens.
    pub example: fn() -> Vec<u8>,
}

const fn stricter(ours: &'static str, why: &'static str, example: fn() -> Vec<u8>) -> AllowedDifference {
    AllowedDifference {
        purser_result: ours,
        reference_result: "accepted",
        why,
        example,
    }
}

const fn looser(theirs: &'static str, why: &'static str, example: fn() -> Vec<u8>) -> AllowedDifference {
    AllowedDifference {
        purser_result: "accepted",
        reference_result: theirs,
        why,
        example,
    }
}

pub const TABLE: &[AllowedDifference] = &[
    // On both networks.
    stricter("the payment header is too long", "memory is bounded", || {
        base(|p| p["resource"]["description"] = json!("x".repeat(9000)))
    }),
    stricter("the payment header is not base64", "bytes have one spelling", || {
        // Four bits of the last digit carry nothing and must be zero.
        let mut text = valid_payment(0).to_string();
        text.push_str([" ", "   ", "  "][text.len() % 3]);
        let text = STANDARD.encode(text).replace("IA==", "IB==");
        assert!(text.ends_with("IB=="));
        text.into_bytes()
    }),
    stricter(
        "not a payment payload in JSON",
        "types are exact, no member comes twice",
        || base(|p| p["payload"]["authorization"]["value"] = json!([PRICE.to_string()])),
    ),
    stricter("`payload` must hold", "a payment is of one kind", || {
        base(|p| p["payload"]["transaction"] = json!("AA=="))
    }),
    looser("undecodable", "some clients write URL-safe base64", || {
        let mut payment = valid_payment(0);
        payment["resource"]["description"] = json!("??>>??>>~~~");
        URL_SAFE.encode(payment.to_string()).into_bytes()
    }),
    looser(
        "malformed",
        "no signature covers `resource`: it is not looked at",
        || base(|p| p["resource"]["url"] = json!("")),
    ),
    looser("version", "the contract takes payloads of v1", || {
        let payload = valid_payment(0)["payload"].clone();
        encode(&json!({"x402Version": 1, "scheme": "exact", "network": "base", "payload": payload})).into_bytes()
    }),
    looser(
        "no_match",
        "of `accepted` the known members count, addresses by value",
        || base(|p| p["accepted"]["payTo"] = json!(format!("0x{}", "aa".repeat(20)))),
    ),
    // On Base.
    stricter(
        "the signature's s is in the upper half",
        "USDC refuses a malleated signature",
        || {
            base(|p| {
                let text = p["payload"]["signature"].as_str().unwrap();
                let twin = other_half(&hex::decode(&text[2..]).unwrap());
                p["payload"]["signature"] = json!(format!("0x{}", hex::encode(twin)));
            })
        },
    ),
    stricter(
        "`validBefore` is too far in the future",
        "the chain is watched as long as it could land",
        || encode(&carrying(&lasting(901))).into_bytes(),
    ),
    stricter(
        "amounts and times must be decimal digits",
        "a number has one spelling",
        || base(|p| p["payload"]["authorization"]["value"] = json!(format!(" {PRICE}"))),
    ),
    looser(
        "invalid_exact_evm_signature",
        "an address counts by value, its letter case is for people",
        || base(|p| p["payload"]["authorization"]["to"] = json!(format!("0xAA{}", "aa".repeat(19)))),
    ),
    // On Solana.
    stricter("the transaction is not base64", "bytes have one spelling", || {
        solana(|p| {
            let text = p["payload"]["transaction"].as_str().unwrap().to_owned();
            p["payload"]["transaction"] = json!(format!("{text}Iwya"));
        })
    }),
    stricter(
        "the transaction is longer than 1232 bytes",
        "it could never land",
        || draft(|d| d.instructions[3].data = vec![b'x'; 1000]),
    ),
    stricter("a length is not in its shortest form", "it could never land", || {
        wire(|wire| drop(wire.splice(0..1, [0x82, 0x00])))
    }),
    stricter("the transaction ends early", "it could never land", || {
        message(|m| m.truncate(m.len() - 1))
    }),
    stricter("bytes after the end of the transaction", "it could never land", || {
        message(|m| m.push(0))
    }),
    stricter("the message header does not fit", "it could never land", || {
        message(|m| m[3] = 200)
    }),
    stricter("an instruction names an account", "it could never land", || {
        message(|m| {
            let data = m.windows(2).position(|pair| pair == [10, 12]).unwrap();
            m[data - 4] = 200;
        })
    }),
    stricter("an account key is listed twice", "it could never land", || {
        let mut draft = valid_draft();
        draft.instructions[3]
            .accounts
            .push(AccountMeta::plain([0xee; 32], false));
        let mut message = draft.compile().message;
        let at = message.windows(32).position(|key| key == [0xee; 32]).unwrap();
        message[at..at + 32].copy_from_slice(&MEMO);
        signed(&message)
    }),
    stricter("source and destination must be writable", "it could never land", || {
        draft(|d| d.instructions[2].accounts[2].writable = false)
    }),
    stricter("the transfer's authority must sign", "it could never land", || {
        draft(|d| d.instructions[2].accounts[3].signer = false)
    }),
    stricter(
        "the fee payer may not appear",
        "no program may touch our fee payer",
        || draft(|d| d.instructions[3].accounts.push(AccountMeta::plain(fee_payer(), true))),
    ),
    stricter(
        "the first instruction must be",
        "exactly the five bytes that the runtime reads",
        || draft(|d| d.instructions[0].data.push(0)),
    ),
    stricter(
        "the second instruction must be",
        "exactly the nine bytes that the runtime reads",
        || draft(|d| d.instructions[1].data.push(0)),
    ),
    stricter(
        "the third instruction must be",
        "a plain TransferChecked: no multisig, nothing behind it",
        || draft(|d| d.instructions[2].data.push(0)),
    ),
    stricter("the token is not the one", "the decimals are USDC's", || {
        draft(|d| d.instructions[2].data[9] = 9)
    }),
    stricter(
        "the source must be the payer's own",
        "who pays is whose money it is",
        || draft(|d| d.instructions[2].accounts[0].key = [0xdd; 32]),
    ),
];

pub fn allowed(ours: &str, theirs: &str) -> Option<&'static AllowedDifference> {
    TABLE
        .iter()
        .find(|line| ours.starts_with(line.purser_result) && line.reference_result == theirs)
}

/// A good payment for one of the offers.
fn valid_payment(offer: usize) -> Value {
    let offers = offers();
    pay(&offers[offer..=offer], offers[offer].network())
}

fn base(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut payment = valid_payment(0);
    change(&mut payment);
    encode(&payment).into_bytes()
}

fn solana(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut payment = valid_payment(1);
    change(&mut payment);
    encode(&payment).into_bytes()
}

fn lasting(seconds: u64) -> EvmAuthorization {
    let mut fields = EvmAuthorization {
        from: [0; 20],
        to: PAY_TO_BASE,
        value: Usdc::from_atomic(PRICE),
        valid_after: 0,
        valid_before: NOW + seconds,
        nonce: [9; 32],
        signature: [0; 65].into(),
    };
    buyer().sign_transfer(&BasePayee::usdc(PAY_TO_BASE).domain_separator, &mut fields);
    fields
}

/// Any bytes as the transaction.
fn wire(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut wire = buyer().sign_draft(&valid_draft());
    change(&mut wire);
    solana(|p| p["payload"] = json!({"transaction": STANDARD.encode(wire)}))
}

/// Any message under a right signature.
fn signed(message: &[u8]) -> Vec<u8> {
    wire(|wire| {
        wire.truncate(65);
        wire.extend(buyer().sign_message(message));
        wire.extend(message);
    })
}

fn message(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut message = valid_draft().compile().message;
    change(&mut message);
    signed(&message)
}

fn draft(change: impl FnOnce(&mut Draft)) -> Vec<u8> {
    let mut draft = valid_draft();
    change(&mut draft);
    wire(|wire| *wire = buyer().sign_draft(&draft))
}

/// The malleated twin of a signature: s negated, v swapped.
pub fn other_half(signature: &[u8]) -> Vec<u8> {
    let order = hex::decode("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141").unwrap();
    let mut twin = signature.to_vec();
    let mut borrow = 0i16;
    for at in (0..32).rev() {
        let difference = i16::from(order[at]) - i16::from(signature[32 + at]) - borrow;
        borrow = i16::from(difference < 0);
        twin[32 + at] = difference.rem_euclid(256) as u8;
    }
    twin[64] = 55 - signature[64];
    twin
}
