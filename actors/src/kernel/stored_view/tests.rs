//! Stored views are rendered to the JSON that answers have.
#![allow(clippy::unwrap_used)]

use rust_decimal::Decimal;
use serde::Serialize;
use serde_json::value::RawValue;

use super::*;
use crate::answer::{Address, ExactDecimal, Text, Time, UserId};
use crate::id::{CardId, Wallet};
use crate::kernel::JsonObject;
use crate::money::{Cents, Usdc};

#[derive(Serialize)]
enum Kind {
    Unit,
    One(u8),
    Two(u8, &'static str),
    Named { status: bool },
}

#[derive(Serialize)]
struct Everything<'a> {
    status: &'a str,
    no_word_at_all: &'a str,
    text: Vec<&'a str>,
    card_id: CardId,
    payer: Address,
    sender: Address,
    user_id: UserId,
    wallet: Wallet,
    transaction: String,
    created_at: Time,
    far: Time,
    amounts: Vec<ExactDecimal>,
    numbers: (u8, u64, i8, i64, u128, char),
    nothing: Option<u8>,
    some: Option<&'a str>,
    flag: bool,
    empty: [u8; 0],
    unit: (),
    kinds: [Kind; 4],
    raw: Box<RawValue>,
    object: JsonObject,
    map: std::collections::BTreeMap<u8, Text<u8>>,
    shouting: &'a str,
}

fn everything() -> Everything<'static> {
    let mut solana = [7; 32];
    solana[0] = 0;
    Everything {
        status: "settled",
        no_word_at_all: "",
        text: vec!["a \"quote\" and \\", "<b>\u{202e}\u{9b}\n\t\0", "grün 🙂", "2026-11-20"],
        card_id: CardId(u128::MAX >> 4),
        payer: Address(Wallet::Evm([0xAB; 20])),
        sender: Address(Wallet::Solana(solana)),
        user_id: UserId(Wallet::Solana(solana)),
        wallet: Wallet::Evm([1; 20]),
        transaction: format!("0x{}", "0f".repeat(32)),
        created_at: Time(Timestamp(1_800_000_000_123)),
        far: Time(Timestamp(u64::MAX)),
        amounts: vec![
            Cents::new(500).into(),
            Cents::new(5).into(),
            Usdc::from_atomic(1).into(),
            Usdc::from_atomic(u64::MAX).into(),
            Decimal::new(-150, 2).into(),
            Decimal::new(100, 2).into(),
            Decimal::MAX.into(),
        ],
        numbers: (1, u64::MAX, -1, i64::MIN, u128::MAX, '<'),
        nothing: None,
        some: Some("ready"),
        flag: true,
        empty: [],
        unit: (),
        kinds: [
            Kind::Unit,
            Kind::One(1),
            Kind::Two(2, "x"),
            Kind::Named { status: false },
        ],
        raw: RawValue::from_string("{\"a\": \"\u{202e}\"}".to_owned()).unwrap(),
        object: JsonObject::new()
            .text("status", "ready")
            .object("inner", &JsonObject::new()),
        map: [(3, Text(4))].into(),
        shouting: "0xABABABABABABABABABABABABABABABABABABABAB",
    }
}

fn stored(view: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    StoredView::of(view).write(&mut bytes);
    bytes
}

fn text(bytes: &[u8]) -> Option<String> {
    let (mut reader, mut out) = (Reader(bytes), String::new());
    reader.object(&mut out)?;
    reader.0.is_empty().then_some(out)
}

// Checks: every kind of member is rendered to the text that an answer has.
#[test]
fn a_stored_view_is_rendered_as_in_answers() {
    let view = everything();
    assert_eq!(text(&stored(&view)).unwrap(), JsonObject::of(&view).to_json());
    assert_eq!(text(&stored(&JsonObject::new())).unwrap(), "{}");
    assert_eq!(text(&stored(&7)).unwrap(), "{}", "only an object is a view");
}

// Checks: bytes that were cut, or had one byte changed, are refused or rendered, and never end the process.
#[test]
fn other_bytes_are_refused() {
    let bytes = stored(&everything());
    assert_eq!(text(&[]), None);
    for end in 0..bytes.len() {
        assert_eq!(text(&bytes[..end]), None, "cut at {end}");
        for byte in [0, 1, 4, 5, 0x7f, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[end] = byte;
            drop(text(&changed));
        }
    }
    // A name and a list, without end.
    let deep: Vec<u8> = std::iter::once(3)
        .chain(std::iter::repeat_n(tag::LIST, 100_000))
        .collect();
    assert_eq!(text(&deep), None);
}

// Checks: the stored form is permanent. What was stored by the first version of it is rendered to the same text.
#[test]
fn stored_bytes_keep_their_text() {
    assert_eq!(hex::encode(stored(&everything())), GOLDEN.concat());
    let text = text(&hex::decode(GOLDEN.concat()).unwrap()).unwrap();
    assert_eq!(text, JsonObject::of(&everything()).to_json());
}

// Checks: a number has one form.
#[test]
fn numbers_have_one_form() {
    for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::MAX >> 1, u64::MAX] {
        let mut bytes = Vec::new();
        put_number(&mut bytes, number);
        assert_eq!(Reader(&bytes).number(), Some(number));
    }
    for bytes in [&[0x80][..], &[0x80, 0], &[0xff, 0x80, 0], &[0xff; 10], &[0xff; 11]] {
        assert_eq!(Reader(bytes).number(), None, "{bytes:02x?}");
    }
}

// Checks: one member of one of several objects is left out, whatever its value, and every other byte stays.
#[test]
fn member_of_an_object_is_left_out() {
    let view = |names: &[&str]| {
        let members = names.iter().map(|name| (*name, vec![("status", 1), (*name, 2)]));
        let map: std::collections::BTreeMap<_, std::collections::BTreeMap<_, _>> = members
            .map(|(name, value)| (name, value.into_iter().collect()))
            .collect();
        let mut bytes = Vec::new();
        StoredView::of(&map).write(&mut bytes);
        bytes
    };
    let (with, without) = (view(&["a", "b", "status"]), view(&["a", "status"]));
    let both = [&with[..], &with[..]].concat();
    assert_eq!(
        without_member(&both, 0, "b").unwrap(),
        [&without[..], &with[..]].concat()
    );
    assert_eq!(
        without_member(&both, 1, "b").unwrap(),
        [&with[..], &without[..]].concat()
    );
    assert_eq!(without_member(&both, 0, "c").unwrap(), both);
    assert_eq!(without_member(&with, 1, "b"), None);
    assert_eq!(without_member(&with[..with.len() - 1], 0, "b"), None);
}

// Checks: one text of one of several objects is replaced, in whatever form it is stored, and every other byte stays.
#[test]
fn text_of_an_object_is_replaced() {
    let view = |url: &str| {
        let map = std::collections::BTreeMap::from([("status", "active"), ("url", url), ("z", "kept")]);
        let mut bytes = Vec::new();
        StoredView::of(&map).write(&mut bytes);
        bytes
    };
    for url in ["https://a.example/secret", "active", "0xff", "\"quoted\""] {
        let both = [view(url), view(url)].concat();
        let replaced = [view(url), view("https://b.example")].concat();
        let change = |text: &str| {
            assert_eq!(text, url);
            "https://b.example".to_owned()
        };
        assert_eq!(with_text(&both, 1, "url", change).unwrap(), replaced);
        assert_eq!(with_text(&both, 0, "none", change).unwrap(), both);
    }
}

const GOLDEN: &[&str] = &[
    "040721010e6e6f5f776f72645f61745f616c6c060001047465787405061261205c2271756f74655c2220616e64205c5c062b",
    "5c7530303363625c75303033655c75323032655c75303039625c75303030615c75303030395c7530303030060a6772c3bc6e",
    "20f09f99820700000f0b1b0fffffffffffffffffffffffffffffff080c14abababababababababababababababababababab",
    "f602062b3137445565425574456362376e756a565a524a6d65426a753358316d6f3650706e574e744a3945426864592e062b",
    "3137647565627574656362376e756a767a726a6d65626a753378316d6f3670706e776e746a396562686479010677616c6c65",
    "740c140101010101010101010101010101010101010101090c200f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f",
    "0f0f0f0f0f0f0f0f0d0afba0f1c2b13401036661720affffffffffffffffff010107616d6f756e74730508050d02050d0601",
    "0d06ffffffffffffffffff0109052d312e35300d0264091d3739323238313632353134323634333337353933353433393530",
    "3333350001076e756d6265727305080108ffffffffffffffffff0109022d3109142d39323233333732303336383534373735",
    "383038092733343032383233363639323039333834363334363333373436303734333137363832313134353506065c753030",
    "33630001076e6f7468696e67010104736f6d6507260104666c6167030105656d70747905000104756e69740101056b696e64",
    "73050604556e69740401034f6e6508010004010354776f05080206017800000401054e616d65640404020000000103726177",
    "090f7b2261223a20225c7532303265227d01066f626a65637404040907227265616479220105696e6e657209027b7d000103",
    "6d61700401013306013400010873686f7574696e67062a307841424142414241424142414241424142414241424142414241",
    "42414241424142414241424142414200",
];
