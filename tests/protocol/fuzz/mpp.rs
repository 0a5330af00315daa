//! The parsers of the Machine Payments Protocol: credentials as a server reads them, challenges as a client does.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bolero::check;
use purser::identity::keys::IdentityKeyRing;
use purser::payment::decode::MAX_HEADER_BYTES;
use purser::payment::evm::SignatureRecovery;
use purser::payment::mpp::credential::{Credential, decode};
use purser::payment::mpp::params::{AuthChallenge, challenges};
use purser::payment::mpp::{BoundRequest, Mpp, VerifiedCredential, verify_for_replay};
use purser::payment::{BasePayee, Terms};
use purser::wallet::MppOffer;
use purser_actors::port::Timestamp;
use serde_json::{Value, json};

use crate::input::{FuzzInput, change_bytes, change_json, change_text};
use crate::seller::{self, Fixed, NOW, PAY_TO_BASE, PRICE};

const CREDENTIAL: &str = include_str!("../../vectors/mpp-evm-charge.json");
const CARD: BoundRequest<'static> = BoundRequest {
    route: "/get-card",
    request: &[5; 32],
};

/// A server with two prices on offer, and what a wallet answered it.
struct MppServer {
    mpp: Mpp,
    offers: Vec<Terms>,
    documents: Vec<Value>,
    signed: Vec<VerifiedCredential>,
}

impl MppServer {
    fn new() -> Self {
        let (current, _) = IdentityKeyRing::generate(Timestamp(1), &Fixed(1)).rotating_macs("fuzz");
        let mpp = Mpp::new("shop.example", current, None, 0);
        let offers = vec![
            seller::terms(PRICE, seller::base()),
            seller::terms(PRICE + 1, seller::base()),
        ];
        let mut shop = Self {
            mpp,
            offers,
            documents: Vec::new(),
            signed: Vec::new(),
        };
        for terms in shop.offers.chunks(1) {
            let issued = shop.mpp.issue(terms, &CARD, "A card", Timestamp(NOW * 1000)).unwrap();
            let offer = MppOffer::from_header(std::str::from_utf8(&issued.header).unwrap()).unwrap();
            let header = seller::buyer().pay_mpp(&offer);
            let json = URL_SAFE_NO_PAD.decode(&header["Payment ".len()..]).unwrap();
            shop.documents.push(serde_json::from_slice(&json).unwrap());
        }
        for document in &shop.documents {
            let verdict = shop.verdict(document.to_string().as_bytes());
            shop.signed.push(verdict.expect("what the wallet wrote is good"));
        }
        shop
    }

    /// What our code makes of a credential; both libraries agree, and so does the lookup of an existing claim.
    fn verdict(&self, json: &[u8]) -> Option<VerifiedCredential> {
        let credential = decode(URL_SAFE_NO_PAD.encode(json).as_bytes()).ok()?;
        let now = Timestamp(NOW * 1000);
        let judge = |recovery| self.mpp.verify(credential.clone(), &self.offers, &CARD, now, recovery);
        let found = judge(SignatureRecovery::Libsecp256k1);
        assert_eq!(found, judge(SignatureRecovery::K256));
        let found = found.ok()?;
        let payee = BasePayee::usdc(PAY_TO_BASE);
        assert_eq!(
            verify_for_replay(credential, &payee, SignatureRecovery::default()).as_ref(),
            Some(&found)
        );
        Some(found)
    }
}

/// The same credential written out again, from what was read of it.
fn reencode(credential: &Credential) -> Value {
    let (echo, fields) = (&credential.challenge, &credential.payload.authorization);
    json!({
        "challenge": {
            "id": echo.id, "realm": echo.realm, "method": echo.method, "intent": echo.intent, "request": echo.request,
            "expires": echo.expires, "digest": echo.digest, "opaque": echo.opaque,
        },
        "payload": {
            "type": "authorization", "from": fields.from, "to": fields.to, "value": fields.value,
            "validAfter": fields.valid_after, "validBefore": fields.valid_before, "nonce": fields.nonce,
            "signature": credential.payload.signature,
        },
        "source": credential.source,
    })
}

fn check_round_trip(text: &[u8]) {
    let Ok(credential) = decode(text) else { return };
    let written = URL_SAFE_NO_PAD.encode(reencode(&credential).to_string());
    // Only the limit can be in the way: what was read may be longer when it is written out.
    match decode(written.as_bytes()) {
        Ok(same) => assert_eq!(same, credential),
        Err(_) => assert!(written.len() > MAX_HEADER_BYTES),
    }
}

#[test]
fn any_bytes_in_a_credential_are_read_or_rejected() {
    // Checks: no bytes panic the decoder or the verdict, and a parsed credential round-trips.
    let shop = MppServer::new();
    let vector: Value = serde_json::from_str(CREDENTIAL).unwrap();
    check_round_trip(&vector["credential"]["headerValue"].as_str().unwrap().as_bytes()["Payment ".len()..]);
    check!().with_iterations(30_000).for_each(|bytes: &[u8]| {
        check_round_trip(bytes);
        check_round_trip(URL_SAFE_NO_PAD.encode(bytes).as_bytes());
        assert_eq!(shop.verdict(bytes), None, "this was never signed");
    });
}

#[test]
fn a_changed_credential_is_one_that_was_signed_or_none() {
    // Checks: after any change of a member or JSON byte, an accepted credential is one that the wallet signed: the same
    // payment for the same challenge.
    let shop = MppServer::new();
    check!()
        .with_iterations(6_000)
        .with_max_len(256)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut document = dice.of(&shop.documents).clone();
            let changes = 1 + dice.below(3);
            if dice.one_in(2) {
                (0..changes).for_each(|_| change_json(&mut document, &shop.documents, &mut dice));
            }
            let mut text = document.to_string().into_bytes();
            if dice.one_in(3) {
                (0..changes).for_each(|_| change_bytes(&mut text, &mut dice));
            }
            check_round_trip(URL_SAFE_NO_PAD.encode(&text).as_bytes());
            if let Some(found) = shop.verdict(&text) {
                assert!(shop.signed.contains(&found), "never signed: {found:?}");
            }
        });
}

/// The field that says this, everything quoted.
fn field_of(all: &[AuthChallenge]) -> String {
    let challenge = |one: &AuthChallenge| {
        let quoted = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
        let params = one
            .params
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", quoted(value)));
        format!("{} {}", one.scheme, params.collect::<Vec<_>>().join(", "))
    };
    all.iter().map(challenge).collect::<Vec<_>>().join(", ")
}

#[test]
fn any_text_in_www_authenticate_is_read_or_rejected() {
    // Checks: no text panics the parser or the wallet, and a parsed challenge round-trips.
    let vector: Value = serde_json::from_str(CREDENTIAL).unwrap();
    let good = vector["scoped"]["challengeHeader"].as_str().unwrap().to_owned();
    check!()
        .with_iterations(20_000)
        .with_max_len(512)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let text = match dice.byte() % 3 {
                0 => String::from_utf8_lossy(dice.0).into_owned(),
                1 => change_text(&good, &mut dice),
                _ => change_text(&format!("Bearer realm=x, {good}"), &mut dice),
            };
            let Some(all) = challenges(&text) else {
                assert!(MppOffer::from_header(&text).is_err());
                return;
            };
            assert_eq!(challenges(&field_of(&all)).as_ref(), Some(&all), "{text}");
            if let Ok(offer) = MppOffer::from_header(&text) {
                // The wallet signs the challenge as it is, in a form that the server reads.
                let header = seller::buyer().pay_mpp(&offer);
                let decoded = decode(&header.as_bytes()["Payment ".len()..]).unwrap();
                let payee = BasePayee::usdc([0x0d; 20]);
                assert!(decoded.challenge.id.len() <= text.len());
                assert_eq!(
                    verify_for_replay(decoded, &payee, SignatureRecovery::default()),
                    None,
                    "another payee"
                );
            }
        });
}
