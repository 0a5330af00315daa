#![allow(clippy::unwrap_used)]

use super::*;

// Checks: every set of parts reads back as written; truncated or foreign bytes are rejected.
#[test]
fn what_is_sealed_reads_back_and_nothing_else_does() {
    let some = |text: &str| Some(Secret::new(text.to_owned()));
    let shown = |r: &RedemptionDetails| {
        [&r.redemption_url, &r.redemption_code, &r.pin_code].map(|p| p.as_ref().map(|s| s.expose_secret().to_owned()))
    };
    for (url, code, pin) in [
        (some("https://a.example/x"), None, None),
        (None, some("AB-CD"), some("1234")),
        (some(""), some("é"), some("0")),
    ] {
        let redemption = RedemptionDetails {
            redemption_url: url,
            redemption_code: code,
            pin_code: pin,
        };
        let bytes = plain(&redemption).unwrap();
        assert_eq!(shown(&parse(&bytes).unwrap()), shown(&redemption));
        for end in 0..bytes.len() {
            assert!(parse(&bytes[..end]).is_none(), "cut at {end}");
        }
    }
    assert!(parse(&[12, 7, 235, b'4', b'2']).is_none(), "a card number");
}
