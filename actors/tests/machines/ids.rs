//! Ids, addresses and texts: round trips, and no active markup in any output.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use purser_actors::id::{CardId, EventId, JobId, Network, PaymentId, SessionId, ShardId, TopUpId, Wallet};
use purser_actors::kernel::event_record::rfc3339;
use purser_actors::kernel::{Context, JsonObject};
use purser_actors::port::Timestamp;

fn round_trip<T: FromStr<Err: Debug> + Display + PartialEq + Debug>(prefix: &str, make: impl Fn(u128) -> T) {
    for n in [0, 1, 0xdead_beef, u128::MAX - 1, u128::MAX] {
        let text = make(n).to_string();
        assert_eq!(text.len(), prefix.len() + 32);
        assert!(text.starts_with(prefix), "{text}");
        assert_eq!(text.parse::<T>().unwrap(), make(n));
    }
    let zeros = "0".repeat(32);
    for text in [
        String::new(),
        zeros.clone(),
        prefix.to_owned(),
        format!("{prefix}{}", &zeros[1..]),
        format!("{prefix}{zeros}0"),
        format!("x{prefix}{zeros}"),
        format!("{prefix}{}A", &zeros[1..]),
        format!("{prefix}+{}", &zeros[1..]),
        format!("{prefix}{}٥", &zeros[2..]),
        format!("{} {zeros}", prefix.trim_end_matches('_')),
    ] {
        assert!(text.parse::<T>().is_err(), "{text:?}");
    }
}

#[test]
fn ids_round_trip_and_other_texts_are_rejected() {
    // Checks: 128 bits, a prefix and lower-case hex are the only format.
    round_trip("card_", CardId);
    round_trip("pay_", PaymentId);
    round_trip("ses_", SessionId);
    round_trip("evt_", EventId);
    round_trip("job_", JobId);
    round_trip("top_", TopUpId);
}

#[test]
fn wallets_round_trip_through_address_and_key() {
    // Checks: exact addresses and row keys are reversible; the lower-case form is for display.
    for wallet in [
        Wallet::Evm([0xab; 20]),
        Wallet::Solana([0xab; 32]),
        Wallet::Solana([0; 32]),
    ] {
        assert_eq!(wallet.address().parse(), Ok(wallet));
        assert_eq!(Wallet::from_key(&wallet.key()), Some(wallet));
        assert_eq!(wallet.user_id(), wallet.address().to_lowercase());
    }
    let upper = format!("0x{}", "AB".repeat(20));
    assert_eq!(upper.parse(), Ok(Wallet::Evm([0xab; 20])));
    let long = "1".repeat(33);
    for text in [
        "",
        "0x",
        "0xab",
        "0Xabababababababababababababababababababab",
        "O0Il",
        "abc",
        long.as_str(),
    ] {
        assert!(text.parse::<Wallet>().is_err(), "{text}");
    }
    for key in [&[][..], &[1], &[2; 33], &[1; 33], &[3; 21]] {
        let reversible = key == [2; 33];
        assert_eq!(Wallet::from_key(key).is_some(), reversible, "{key:?}");
    }
    assert_eq!(Wallet::Evm([1; 20]).network(), Network::Base);
}

#[test]
fn case_72_views_escape_every_text() {
    // Checks: for any text the JSON parses back to it, and the raw form has neither control characters nor markup.
    let everything: String = (0..=0x2fff).filter_map(char::from_u32).collect();
    for text in [
        "",
        "plain",
        "\"\\\"",
        "</script><b>&",
        "\u{1b}[31m",
        "\u{9b}31m",
        "a\0b",
        "\u{202e}",
        "ü€😀",
        &everything,
    ] {
        let json = JsonObject::new()
            .text("name", text)
            .optional_text("other", Some(text))
            .to_json();
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["name"], text);
        assert_eq!(read["other"], text);
        let live =
            |c: char| c.is_control() || matches!(c, '<' | '>' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!json.contains(live), "{text:?}");
    }
}

#[test]
fn view_keeps_order_and_exact_numbers() {
    // Checks: fields in insertion order, numbers with their exact text, absent text as null.
    let inner = JsonObject::new().integer("n", u64::MAX).boolean("yes", true);
    let view = JsonObject::new()
        .number("amount", "184467440737095516.15".parse().unwrap())
        .optional_text("nothing", None::<&str>)
        .time("at", Timestamp(0))
        .object("inner", &inner);
    assert_eq!(
        view.to_json(),
        "{\"amount\":184467440737095516.15,\"nothing\":null,\"at\":\"1970-01-01T00:00:00.000Z\",\
         \"inner\":{\"n\":18446744073709551615,\"yes\":true}}"
    );
    assert_eq!(JsonObject::new().to_json(), "{}");
}

#[test]
fn case_26_every_timestamp_formats() {
    // Checks: a timestamp beyond the calendar formats as the last valid one, without a panic.
    for (ms, text) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_795_176_000_001, "2026-11-20T12:00:00.001Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "9999-12-31T23:59:59.999Z"),
        (u64::MAX, "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(rfc3339(Timestamp(ms)), text);
    }
    assert_eq!(Timestamp(u64::MAX).plus_ms(1), Timestamp(u64::MAX));
}

#[test]
fn context_derives_ids_deterministically() {
    // Checks: decisions are functions of their arguments; ids of one decision differ, and so do those of other seeds.
    let ids = |seed| {
        let context = Context::new(Timestamp(1), seed, ShardId::of_id(seed));
        [context.id(), context.id(), context.id()]
    };
    assert_eq!(ids(1), ids(1));
    let mut all = [ids(1), ids(2)].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6);
}
