#![allow(clippy::unwrap_used)]
use super::*;
use crate::identity::test_entropy::CountingEntropy;

/// Checks: writing and reading preserves the keys, and writing twice gives the same text.
#[test]
fn the_text_form_goes_both_ways() {
    let entropy = CountingEntropy::new(1);
    let keys = IdentityKeyRing::generate(Timestamp(10), &entropy).rotated(Timestamp(20), &entropy);
    let again = IdentityKeyRing::from_text(&keys.to_text()).unwrap();
    assert_eq!(*again.to_text(), *keys.to_text());
    assert_eq!(again.derive("a").expose(), keys.derive("a").expose());
    assert_eq!(again.ring().count(), 2);
}

/// Checks: a text truncated at any byte or changed in any byte is rejected.
#[test]
fn every_damage_to_the_text_is_noticed() {
    let text = IdentityKeyRing::generate(Timestamp(10), &CountingEntropy::new(1)).to_text();
    for end in 0..text.len() {
        assert!(IdentityKeyRing::from_text(&text[..end]).is_err(), "cut at {end}");
    }
    for at in 0..text.len() {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] ^= 1;
        let damaged = String::from_utf8(bytes).unwrap();
        assert!(IdentityKeyRing::from_text(&damaged).is_err(), "changed at {at}");
    }
}

/// Checks: a file with a valid checksum and invalid lines is rejected with the line's number.
#[test]
fn wrong_lines_are_named() {
    let good = IdentityKeyRing::generate(Timestamp(10), &CountingEntropy::new(1)).to_text();
    let lines: Vec<&str> = good.lines().collect();
    let (master, token) = (lines[1], lines[2]);
    let older = token.replace("token 10 ", "token 9 ");
    let newer = token.replace("token 10 ", "token 11 ");
    let other_kid = token.replace("token 10 ", "token 10 x");
    for (body, line) in [
        (vec![HEADING, "master 00", token], 2),
        (vec![HEADING, token, master], 2),
        (vec![HEADING, master], 3),
        (vec![HEADING, master, &other_kid], 3),
        (vec![HEADING, master, &older, &newer], 4),
        (vec![HEADING, master, token, "token"], 4),
        (vec!["purser-keys 2", master, token], 1),
    ] {
        let body = body.join("\n") + "\n";
        let text = format!("{body}sum {}\n", hex::encode(Sha256::digest(&body)));
        assert_eq!(IdentityKeyRing::from_text(&text).unwrap_err().line, line, "{text}");
    }
}

/// Checks: a retired key remains exactly until the last token it signed has expired.
#[test]
fn an_old_key_stays_until_its_tokens_expired() {
    let entropy = CountingEntropy::new(1);
    let hour = ID_TOKEN_LIFETIME_S * 1000;
    let first = IdentityKeyRing::generate(Timestamp(0), &entropy);
    let second = first.rotated(Timestamp(1000), &entropy);
    assert_eq!(second.ring().count(), 2);
    assert_eq!(second.ring().nth(1).unwrap().kid(), first.newest().kid());
    assert_eq!(second.rotated(Timestamp(1000 + hour), &entropy).ring().count(), 3);
    let later = second.rotated(Timestamp(1001 + hour), &entropy);
    assert_eq!(later.ring().count(), 2);
    assert_eq!(later.ring().nth(1).unwrap().kid(), second.newest().kid());
}

/// Checks: purposes do not share keys, and no key depends on rotation.
#[test]
fn each_purpose_has_its_key() {
    let entropy = CountingEntropy::new(1);
    let keys = IdentityKeyRing::generate(Timestamp(0), &entropy);
    assert_ne!(keys.derive("a").expose(), keys.derive("b").expose());
    assert_eq!(
        keys.derive("a").expose(),
        keys.rotated(Timestamp(1), &entropy).derive("a").expose()
    );
}

/// Checks: Debug output shows ids only.
#[test]
fn debug_shows_no_key() {
    let keys = IdentityKeyRing::generate(Timestamp(0), &CountingEntropy::new(1));
    let shown = format!("{keys:?}");
    assert!(shown.contains(keys.newest().kid()));
    assert!(!shown.contains(&hex::encode(keys.newest().expose().as_bytes())));
    assert!(!shown.contains(&hex::encode(keys.master.expose())));
}

/// Checks: the thumbprint is the standard's (key and value of RFC 8037, appendix A.3).
#[test]
fn the_kid_is_the_rfc_7638_thumbprint() {
    let seed = hex::decode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").unwrap();
    let key = TokenKey::new(&Key32::new(seed.try_into().unwrap()), Timestamp(0));
    assert_eq!(key.kid(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}
