//! Query strings and amounts.

use bolero::check;
use purser::http::query::Query;
use purser_actors::money::{AmountError, Cents};

use crate::input::{FuzzInput, change_text};

const KNOWN: [&str; 4] = ["amount", "format", "after", "types"];

/// One of the spellings of a text in a query.
fn encoded(text: &str, dice: &mut FuzzInput<'_>) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:,".contains(&byte);
    text.bytes()
        .map(|byte| match byte {
            b' ' if dice.one_in(2) => "+".to_owned(),
            _ if plain(byte) && !dice.one_in(8) => char::from(byte).to_string(),
            _ if dice.one_in(2) => format!("%{byte:02x}"),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[test]
fn query_round_trips() {
    // Checks: any value in any encoding round-trips. A duplicate or unknown parameter is rejected.
    check!()
        .with_iterations(4_000)
        .with_max_len(256)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut pairs: Vec<(&str, String)> = Vec::new();
            let mut parts = Vec::new();
            for _ in 0..dice.below(4) {
                let name = *dice.of(&["amount", "format", "after", "types", "Amount", "amount "]);
                let value = String::from_utf8_lossy(&dice.0[..dice.0.len().min(12)]).into_owned();
                (0..12).for_each(|_| _ = dice.byte());
                parts.push(format!("{}={}", encoded(name, &mut dice), encoded(&value, &mut dice)));
                pairs.push((name, value));
            }
            let raw = parts.join(*dice.of(&["&", "&&"]));
            let twice = pairs
                .iter()
                .enumerate()
                .any(|(at, (name, _))| pairs[..at].iter().any(|(n, _)| n == name));
            let known = pairs.iter().all(|(name, _)| KNOWN.contains(name));
            match Query::parse(Some(&raw), &KNOWN) {
                Ok(query) => {
                    assert!(known && !twice, "{raw}");
                    for (name, value) in &pairs {
                        assert_eq!(query.get(name), Some(value.as_str()), "{raw}");
                    }
                }
                Err(error) => assert!(!known || twice, "{raw}: {error:?}"),
            }
        });
}

#[test]
fn any_query_is_read_or_refused_with_a_400() {
    // Checks: no text panics. A rejection is a 400 that quotes no unprintable character.
    check!()
        .with_iterations(4_000)
        .with_max_len(256)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut raw = String::from_utf8_lossy(bytes).into_owned();
            if dice.one_in(2) {
                raw = "amount=5&format=json&after=%32&types=card.*,payment.settled".to_owned();
                (0..1 + dice.below(3)).for_each(|_| raw = change_text(&raw, &mut dice));
            }
            match Query::parse(Some(&raw), &KNOWN) {
                Ok(query) => {
                    let given = KNOWN.iter().filter(|name| query.get(name).is_some()).count();
                    assert_eq!(given, raw.split('&').filter(|part| !part.is_empty()).count(), "{raw}");
                    if let Ok(number) = query.number("after", 0, 1, 9) {
                        assert!(number <= 9);
                    }
                }
                Err(error) => {
                    assert_eq!(error.status, 400);
                    assert!(
                        error
                            .param
                            .as_deref()
                            .unwrap_or_default()
                            .bytes()
                            .all(|b| b.is_ascii_graphic())
                    );
                }
            }
        });
}

/// The cents of a decimal text, by hand.
fn cents(text: &str) -> Option<u128> {
    let (whole, places) = text.split_once('.').unwrap_or((text, "00"));
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let given = text.contains('.');
    (digits(whole) && digits(places) && (!given || places.len() <= 2)).then_some(())?;
    let places = format!("{places:0<2}");
    // Longer numbers are out of every range.
    let text = whole.trim_start_matches('0');
    (text.len() <= 30).then(|| format!("{text}{places}").parse().unwrap_or(u128::MAX))
}

#[test]
fn amount_is_exactly_its_cents_or_rejected() {
    // Checks: the cents of every plain decimal match the test's own arithmetic. Nothing else is an amount, and a
    // printed amount parses to itself.
    check!()
        .with_iterations(8_000)
        .with_max_len(64)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut text = match dice.byte() % 4 {
                0 => String::from_utf8_lossy(dice.0).into_owned(),
                1 => dice.number(500).to_string(),
                _ => format!("{}.{}", dice.number(5), dice.number(0) % 1000),
            };
            if dice.one_in(2) {
                text = change_text(&text, &mut dice);
            }
            match Cents::parse(&text) {
                Ok(amount) => {
                    assert_eq!(cents(&text), Some(u128::from(amount.get())), "{text}");
                    assert_eq!(Cents::parse(&amount.decimal().to_string()), Ok(amount));
                }
                Err(AmountError::Malformed) => assert_eq!(cents(&text), None, "{text}"),
                Err(AmountError::OutOfRange) => {
                    assert!(cents(&text).is_none_or(|c| c > u128::from(u64::MAX)), "{text}")
                }
            }
        });
}
