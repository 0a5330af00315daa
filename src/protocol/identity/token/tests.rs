#![allow(clippy::unwrap_used)]
use serde_json::Value;

use super::*;
use crate::identity::test_entropy::CountingEntropy;
use purser_host::secret::{Key32, MacKey};

const ISSUER: &str = "https://api.example.com";
const NOW: Timestamp = Timestamp(1_768_473_000_500);
const WALLET: Wallet = Wallet::Solana([0x5a; 32]);

fn keys(seed: u64) -> IdentityKeyRing {
    IdentityKeyRing::generate(Timestamp(0), &CountingEntropy::new(seed))
}

fn tokens(keys: &IdentityKeyRing) -> IdTokens {
    IdTokens::new(keys, ISSUER, "purser", 100)
}

fn mint(tokens: &IdTokens) -> String {
    let token = tokens.mint(
        &WALLET,
        SessionId(9),
        TokenAuthMethod::Wallet,
        NOW,
        &CountingEntropy::new(77),
    );
    token.expose().to_owned()
}

/// Signs any header and claims with the server's own key, as only a bug could.
fn forge(keys: &IdentityKeyRing, header: &str, claims: &str) -> String {
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = keys.newest().expose().sign(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
}

fn part(token: &str, at: usize) -> String {
    String::from_utf8(URL_SAFE_NO_PAD.decode(token.split('.').nth(at).unwrap()).unwrap()).unwrap()
}

/// Checks: a minted token is a JWT with the requested claims, and verifies to them.
#[test]
fn a_minted_token_says_who_and_verifies() {
    let keys = keys(1);
    let tokens = tokens(&keys);
    for (wallet, method, word) in [
        (WALLET, TokenAuthMethod::Wallet, "wallet"),
        (
            Wallet::Evm([0xab; 20]),
            TokenAuthMethod::Payment(PaymentId(4)),
            "payment",
        ),
        (
            WALLET,
            TokenAuthMethod::PaymentWithKey(PaymentId(4), ApiKeyId(5)),
            "payment",
        ),
        (WALLET, TokenAuthMethod::Key(ApiKeyId(5)), "api_key"),
    ] {
        let token = tokens.mint(&wallet, SessionId(9), method, NOW, &CountingEntropy::new(5));
        let header: Value = serde_json::from_str(&part(token.expose(), 0)).unwrap();
        assert_eq!(
            header,
            json!({"alg": "EdDSA", "typ": "JWT", "kid": keys.newest().kid()})
        );
        let claims: Value = serde_json::from_str(&part(token.expose(), 1)).unwrap();
        assert_eq!(claims["iss"], ISSUER);
        assert_eq!(claims["aud"], "purser");
        assert_eq!(claims["sub"], wallet.user_id());
        assert_eq!(claims["wallet"], wallet.address());
        assert_eq!(claims["sid"], SessionId(9).to_string());
        assert_eq!(claims["amr"], json!([word]));
        assert_eq!(
            (&claims["iat"], &claims["exp"]),
            (&json!(1_768_473_000), &json!(1_768_476_600))
        );
        assert_eq!(claims["jti"].as_str().unwrap().len(), 32);
        let verified = tokens.verify(token.expose(), NOW).unwrap();
        assert_eq!(
            (verified.wallet, verified.session, verified.method),
            (wallet, SessionId(9), method)
        );
        assert_eq!(verified.user_id, wallet.user_id());
        assert_eq!((verified.issued_s, verified.expires_s), (1_768_473_000, 1_768_476_600));
        assert_eq!(claims["jti"], verified.token_id);
    }
}

/// Checks (case 44): only our own header is accepted, whatever another one requests and even if it is validly signed.
#[test]
fn case_44_unexpected_token_header_is_rejected() {
    let keys = keys(1);
    let tokens = tokens(&keys);
    let good = mint(&tokens);
    let claims = part(&good, 1);
    let kid = keys.newest().kid();
    let public = hex::encode(keys.newest().expose().verifying_key().as_bytes());
    for header in [
        r#"{"alg":"none","typ":"JWT"}"#.to_owned(),
        format!(r#"{{"alg":"none","kid":"{kid}","typ":"JWT"}}"#),
        format!(r#"{{"alg":"HS256","kid":"{kid}","typ":"JWT"}}"#),
        format!(r#"{{"alg":"RS256","kid":"{kid}","typ":"JWT"}}"#),
        format!(r#"{{"alg":"eddsa","kid":"{kid}","typ":"JWT"}}"#),
        r#"{"alg":"EdDSA","kid":"unknown","typ":"JWT"}"#.to_owned(),
        r#"{"alg":"EdDSA","typ":"JWT"}"#.to_owned(),
        format!(r#"{{"typ":"JWT","alg":"EdDSA","kid":"{kid}"}}"#),
        format!(r#"{{"alg":"EdDSA","kid":"{kid}","typ":"JWT"}} "#),
        format!(r#"{{"alg":"EdDSA","crit":["b64"],"b64":false,"kid":"{kid}","typ":"JWT"}}"#),
        format!(r#"{{"alg":"EdDSA","jwk":{{"kty":"OKP","x":"{public}"}},"kid":"{kid}","typ":"JWT"}}"#),
        format!(r#"{{"alg":"EdDSA","jku":"https://evil.example","kid":"{kid}","typ":"JWT"}}"#),
        String::new(),
    ] {
        assert_eq!(
            tokens.verify(&forge(&keys, &header, &claims), NOW),
            Err(IdTokenError::UnknownKey),
            "{header}"
        );
    }
    assert!(
        tokens.verify(&forge(&keys, &part(&good, 0), &claims), NOW).is_ok(),
        "only the header was wrong"
    );
}

/// Checks (case 44): an HMAC with the public key as its secret is never a valid signature, even under our own header.
#[test]
fn case_44_an_hmac_with_the_public_key_is_not_a_signature() {
    let keys = keys(1);
    let good = mint(&tokens(&keys));
    let (signed, _) = good.rsplit_once('.').unwrap();
    let public = Key32::new(keys.newest().expose().verifying_key().to_bytes());
    let tag = MacKey::new(&public).tag(&[signed.as_bytes()]);
    let short = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag));
    assert_eq!(tokens(&keys).verify(&short, NOW), Err(IdTokenError::Malformed));
    let padded = format!("{signed}.{}", URL_SAFE_NO_PAD.encode([tag, tag].concat()));
    assert_eq!(tokens(&keys).verify(&padded, NOW), Err(IdTokenError::Signature));
}

/// Checks (case 44): forms that a lenient parser might accept as the same token are rejected.
#[test]
fn case_44_only_the_exact_form_is_read() {
    let tokens = tokens(&keys(1));
    let good = mint(&tokens);
    let parts: Vec<&str> = good.split('.').collect();
    let (header, claims, signature) = (parts[0], parts[1], parts[2]);
    let long = "a".repeat(4096);
    for (token, error) in [
        (String::new(), IdTokenError::Malformed),
        ("a".to_owned(), IdTokenError::Malformed),
        (format!("{header}.{claims}"), IdTokenError::Malformed),
        (format!("{header}.{claims}."), IdTokenError::Malformed),
        (format!("{header}.{claims}.{signature}."), IdTokenError::Malformed),
        (format!("{header}.{claims}.{signature}.x"), IdTokenError::Malformed),
        (format!("{header}..{signature}"), IdTokenError::Signature),
        (format!("{header}.{claims}.{signature}="), IdTokenError::Malformed),
        (format!("{header}.{claims}.{signature}\n"), IdTokenError::Malformed),
        (format!(" {good}"), IdTokenError::UnknownKey),
        (format!("{header}=.{claims}.{signature}"), IdTokenError::UnknownKey),
        (format!("{header}.{claims}=.{signature}"), IdTokenError::Signature),
        (format!("{header}.{claims}.{long}"), IdTokenError::TooLong),
        (long.clone() + "a", IdTokenError::TooLong),
    ] {
        assert_eq!(tokens.verify(&token, NOW), Err(error), "{token}");
    }
    assert!(tokens.verify(&good, NOW).is_ok());
}

/// Checks (case 44): a token with any one character changed is rejected.
#[test]
fn case_44_every_changed_character_is_noticed() {
    let tokens = tokens(&keys(1));
    let good = mint(&tokens);
    for at in 0..good.len() {
        let mut bytes = good.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        assert!(
            tokens.verify(std::str::from_utf8(&bytes).unwrap(), NOW).is_err(),
            "character {at}"
        );
    }
}

/// Checks (case 44): another issuer, audience or key is rejected though everything else is right.
#[test]
fn case_44_tokens_of_other_services_are_refused() {
    let (stranger, keys) = (keys(2), keys(1));
    let ours = tokens(&keys);
    let other_issuer = IdTokens::new(&keys, "https://evil.example", "purser", 10);
    let other_audience = IdTokens::new(&keys, ISSUER, "purser-staging", 10);
    assert_eq!(ours.verify(&mint(&other_issuer), NOW), Err(IdTokenError::Issuer));
    assert_eq!(ours.verify(&mint(&other_audience), NOW), Err(IdTokenError::Audience));
    assert_eq!(
        ours.verify(&mint(&tokens(&stranger)), NOW),
        Err(IdTokenError::UnknownKey)
    );
}

/// Checks (case 44): a token expires to the second, on the first check and when it is cached.
#[test]
fn case_44_a_token_expires_to_the_second() {
    let keys = keys(1);
    let end_ms = (NOW.seconds() + ID_TOKEN_LIFETIME_S) * 1000;
    let token = mint(&tokens(&keys));
    for (now, valid) in [(end_ms - 1, true), (end_ms, false), (end_ms + 1000, false)] {
        let fresh = tokens(&keys);
        assert_eq!(
            fresh.verify(&token, Timestamp(now)).is_ok(),
            valid,
            "first look at {now}"
        );
        let warm = tokens(&keys);
        warm.verify(&token, NOW).unwrap();
        let again = warm.verify(&token, Timestamp(now));
        assert_eq!(
            again.as_ref().err(),
            if valid { None } else { Some(&IdTokenError::Expired) },
            "again at {now}"
        );
    }
}

/// Checks: contradictory claims are rejected even under our signature.
#[test]
fn foreign_claims_are_rejected() {
    let keys = keys(1);
    let tokens = tokens(&keys);
    let good = mint(&tokens);
    let (header, claims) = (part(&good, 0), part(&good, 1));
    let changed = |member: &str, value: Value| {
        let mut claims: Value = serde_json::from_str(&claims).unwrap();
        claims[member] = value;
        forge(&keys, &header, &claims.to_string())
    };
    assert!(
        tokens.verify(&changed("more", json!(1)), NOW).is_ok(),
        "a later version may add members"
    );
    for (member, value) in [
        ("sub", json!("anyone")),
        ("wallet", json!(Wallet::Evm([1; 20]).address())),
        ("wallet", json!("")),
        ("sid", json!("ses_1")),
        ("amr", json!([])),
        ("amr", json!(["wallet", "payment"])),
        ("amr", json!(["admin"])),
        ("exp", json!(-1)),
        ("exp", json!("1768476600")),
        ("exp", json!(1e300)),
        ("aud", json!(["purser"])),
        ("jti", Value::Null),
    ] {
        let token = changed(member, value.clone());
        assert_eq!(
            tokens.verify(&token, NOW),
            Err(IdTokenError::Malformed),
            "{member}: {value}"
        );
    }
    let twice = claims.replacen('{', r#"{"iss":"https://evil.example","#, 1);
    assert_eq!(
        tokens.verify(&forge(&keys, &header, &twice), NOW),
        Err(IdTokenError::Malformed)
    );
}

/// Checks: after a rotation the new key signs, the old key's tokens remain valid, and both are published.
#[test]
fn a_rotation_invalidates_nothing() {
    let keys = keys(1);
    let before = tokens(&keys);
    let old_token = mint(&before);
    let rotated = keys.rotated(NOW, &CountingEntropy::new(3));
    let tokens = tokens(&rotated);
    assert!(tokens.verify(&old_token, NOW).is_ok());
    let new_token = mint(&tokens);
    assert!(part(&new_token, 0).contains(rotated.newest().kid()));
    assert_eq!(before.verify(&new_token, NOW), Err(IdTokenError::UnknownKey));
    let jwks: Value = serde_json::from_str(tokens.jwks()).unwrap();
    let kids: Vec<_> = jwks["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["kid"].as_str().unwrap())
        .collect();
    assert_eq!(kids, [rotated.newest().kid(), keys.newest().kid()]);
}

/// Checks: the JWKS has what a verifier needs and nothing secret.
#[test]
fn the_jwks_verifies_a_token_and_holds_no_secret() {
    let keys = keys(1);
    let tokens = tokens(&keys);
    let jwks: Value = serde_json::from_str(tokens.jwks()).unwrap();
    let key = jwks["keys"][0].as_object().unwrap();
    assert_eq!(
        (&key["kty"], &key["crv"], &key["alg"]),
        (&json!("OKP"), &json!("Ed25519"), &json!("EdDSA"))
    );
    assert!(!key.contains_key("d"));
    let x = URL_SAFE_NO_PAD.decode(key["x"].as_str().unwrap()).unwrap();
    let public = VerifyingKey::from_bytes(&x.try_into().unwrap()).unwrap();
    let token = mint(&tokens);
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    public
        .verify_strict(signed.as_bytes(), &Signature::from_slice(&signature).unwrap())
        .unwrap();
}

/// Checks: the cache is bounded and never changes a result.
#[test]
fn a_full_memory_changes_no_answer() {
    let keys = keys(1);
    let tokens = IdTokens::new(&keys, ISSUER, "purser", 4);
    let entropy = CountingEntropy::new(8);
    let minted: Vec<_> = (0..50)
        .map(|n| tokens.mint(&WALLET, SessionId(n), TokenAuthMethod::Wallet, NOW, &entropy))
        .collect();
    for _ in 0..2 {
        for (n, token) in (0..).zip(&minted) {
            assert_eq!(tokens.verify(token.expose(), NOW).unwrap().session, SessionId(n));
        }
    }
    assert!(tokens.verified.len() <= 8, "{}", tokens.verified.len());
}
