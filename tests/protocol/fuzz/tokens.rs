//! What comes back to us as a credential: id tokens, refresh tokens, the session cookie, login codes.

use std::panic::AssertUnwindSafe;

use bolero::check;
use purser::identity::IdentityKeys;
use purser::identity::keys::IdentityKeyRing;
use purser::identity::login::{SessionCookies, login_code_hash, new_login_code};
use purser::identity::origin::Origin;
use purser::identity::refresh::RefreshTokenCodec;
use purser::identity::token::{IdTokens, TokenAuthMethod};
use purser_actors::id::{PaymentId, SessionId, Wallet};
use purser_actors::port::Timestamp;

use crate::input::{FuzzInput, change_text};
use crate::seller::{Fixed, NOW};

const AT: Timestamp = Timestamp(NOW * 1000);

struct IssuedCredentials {
    tokens: IdTokens,
    cookies: SessionCookies,
    id_tokens: Vec<String>,
    refresh: String,
    cookie: String,
    code: String,
}

impl IssuedCredentials {
    fn new() -> Self {
        let keys = IdentityKeyRing::generate(Timestamp(0), &Fixed(3));
        let derived = IdentityKeys::derive(&keys);
        let tokens = IdTokens::new(&keys, "https://api.example.com", "purser", 1);
        let cookies = SessionCookies::new(&derived.cookie, &Origin::parse("https://api.example.com").unwrap());
        let mint = |wallet, method| {
            let minted = tokens.mint(&wallet, SessionId(9), method, AT, &Fixed(5));
            minted.expose().to_owned()
        };
        let id_tokens = vec![
            mint(Wallet::Evm([0xab; 20]), TokenAuthMethod::Wallet),
            mint(Wallet::Solana([0x5a; 32]), TokenAuthMethod::Payment(PaymentId(4))),
        ];
        let (refresh, _) = RefreshTokenCodec::new(&derived.refresh).issue(SessionId(0xabc << 64), 0x00ab_cdef);
        let set = cookies.set(SessionId(9), AT, 60);
        Self {
            id_tokens,
            refresh: refresh.expose().to_owned(),
            cookie: set.expose().split(';').next().unwrap().to_owned(),
            code: new_login_code(&Fixed(8)).0.expose().to_owned(),
            tokens,
            cookies,
        }
    }
}

#[test]
fn changed_id_token_is_rejected() {
    // Checks: a token that verifies equals an issued one byte for byte. Parts of two tokens do not form a third.
    let issued = AssertUnwindSafe(IssuedCredentials::new());
    check!()
        .with_iterations(4_000)
        .with_max_len(512)
        .for_each(|bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            assert!(issued.tokens.verify(&text, AT).is_err());
            let mut dice = FuzzInput(bytes);
            let mut token = dice.of(&issued.id_tokens).clone();
            if dice.one_in(4) {
                let parts: Vec<&str> = issued.id_tokens.iter().flat_map(|token| token.split('.')).collect();
                token = (0..2 + dice.below(3))
                    .map(|_| *dice.of(&parts))
                    .collect::<Vec<_>>()
                    .join(".");
            }
            (0..dice.below(3)).for_each(|_| token = change_text(&token, &mut dice));
            match issued.tokens.verify(&token, AT) {
                Ok(claims) => {
                    let at = issued.id_tokens.iter().position(|minted| *minted == token);
                    let wallet = [Wallet::Evm([0xab; 20]), Wallet::Solana([0x5a; 32])][at.expect("a minted token")];
                    assert_eq!((claims.wallet, claims.session), (wallet, SessionId(9)));
                }
                Err(_) => assert!(!issued.id_tokens.contains(&token)),
            }
        });
}

#[test]
fn a_refresh_token_has_one_spelling() {
    // Checks: two texts with the same session, generation and secret are the same text.
    let issued = IssuedCredentials::new();
    let good = RefreshTokenCodec::parse(&issued.refresh).unwrap();
    check!()
        .with_iterations(20_000)
        .with_max_len(128)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut text = issued.refresh.clone();
            (0..dice.below(4)).for_each(|_| text = change_text(&text, &mut dice));
            let Ok(found) = RefreshTokenCodec::parse(&text) else {
                assert_ne!(text, issued.refresh);
                return;
            };
            assert_eq!(found == good, text == issued.refresh, "{text}");
            assert_eq!(text.len(), issued.refresh.len());
        });
}

#[test]
fn changed_cookie_opens_nothing() {
    // Checks: only a header with our cookie once and unchanged opens its session, and only while it is valid.
    let issued = IssuedCredentials::new();
    check!()
        .with_iterations(20_000)
        .with_max_len(256)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut header = format!("{}{}", dice.of(&["", "a=b; ", "purser=; "]), issued.cookie);
            header.push_str(dice.of::<&str>(&["", ";", "; c=d", ";;"]));
            (0..dice.below(4)).for_each(|_| header = change_text(&header, &mut dice));
            let now = Timestamp(AT.0 + dice.number(60_000).min(1 << 40));
            if let Some(session) = issued.cookies.read(&header, now) {
                let ours = header.split(';').filter(|pair| pair.trim() == issued.cookie).count();
                assert_eq!((session, ours), (SessionId(9), 1), "{header}");
                assert!(now.seconds() < AT.seconds() + 60);
            }
        });
}

#[test]
fn a_login_code_has_one_spelling() {
    // Checks: no other text has the stored hash of a code.
    let issued = IssuedCredentials::new();
    let stored = login_code_hash(&issued.code).unwrap();
    check!()
        .with_iterations(20_000)
        .with_max_len(64)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut text = issued.code.clone();
            (0..dice.below(4)).for_each(|_| text = change_text(&text, &mut dice));
            assert_eq!(login_code_hash(&text) == Some(stored), text == issued.code, "{text}");
        });
}
