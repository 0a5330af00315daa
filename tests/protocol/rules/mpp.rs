//! MPP credentials: what each value is bound to, and the problem document a client receives.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser::identity::keys::IdentityKeyRing;
use purser::payment::decode::MAX_HEADER_BYTES;
use purser::payment::evm::SignatureRecovery;
use purser::payment::mpp::credential::decode;
use purser::payment::mpp::problem::MppProblem;
use purser::payment::mpp::{
    BoundRequest, CredentialError, IssuedChallenge, Mpp, VerifiedCredential, verify_for_replay,
};
use purser::payment::{BasePayee, InvalidReason, Terms};
use purser::secret::MacKey;
use purser::wallet::MppOffer;
use purser_actors::id::Wallet;
use purser_actors::port::Timestamp;
use serde_json::{Value, json};

use crate::seller::{Fixed, NOW, PAY_TO_BASE, PRICE, base, buyer, offers, terms};

pub(crate) const CARD: BoundRequest<'static> = BoundRequest {
    route: "/get-card",
    request: &[5; 32],
};
pub(crate) const NOW_MS: Timestamp = Timestamp(NOW * 1000 + 250);

fn mac(seed: u128) -> MacKey {
    IdentityKeyRing::generate(Timestamp(1), &Fixed(seed))
        .rotating_macs("test")
        .0
}

pub(crate) fn server() -> Mpp {
    Mpp::new("shop.example", mac(1), None, 7)
}

pub(crate) fn issue(mpp: &Mpp) -> IssuedChallenge {
    mpp.issue(&offers(), &CARD, "A \"card\"", NOW_MS).unwrap()
}

/// What the buyer's wallet answers, as JSON.
fn paid_credential(issued: &IssuedChallenge) -> Value {
    let offer = MppOffer::from_header(std::str::from_utf8(&issued.header).unwrap()).unwrap();
    let header = buyer().pay_mpp(&offer);
    let json = URL_SAFE_NO_PAD
        .decode(header.strip_prefix("Payment ").unwrap())
        .unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn verify_at(
    mpp: &Mpp,
    credential: &Value,
    offers: &[Terms],
    bound: &BoundRequest<'_>,
    now: Timestamp,
) -> Result<VerifiedCredential, CredentialError> {
    let credential = decode(URL_SAFE_NO_PAD.encode(credential.to_string()).as_bytes())?;
    let verdict = mpp.verify(credential.clone(), offers, bound, now, SignatureRecovery::Libsecp256k1);
    assert_eq!(
        verdict,
        mpp.verify(credential, offers, bound, now, SignatureRecovery::K256)
    );
    verdict
}

fn verify(mpp: &Mpp, credential: &Value) -> Result<VerifiedCredential, CredentialError> {
    verify_at(mpp, credential, &offers(), &CARD, NOW_MS)
}

#[test]
fn wallet_credential_is_accepted() {
    // Checks: an unchanged challenge with a payment is the buyer's payment of the price, identified by the challenge.
    let mpp = server();
    let issued = issue(&mpp);
    let answered = verify(&mpp, &paid_credential(&issued)).unwrap();
    assert_eq!(answered.challenge, issued.id);
    assert_eq!(answered.authorization.payer(), Wallet::Evm(buyer().evm_address()));
    assert_eq!(answered.authorization.value().atomic(), PRICE);
    assert_eq!(answered.single_use_key.1, NOW + 301);
    // Without the optional parts it is as good.
    let mut bare = paid_credential(&issued);
    bare.as_object_mut().unwrap().remove("source");
    bare["challenge"].as_object_mut().unwrap().remove("description");
    assert_eq!(verify(&mpp, &bare).unwrap(), answered);
}

#[test]
fn case_16_challenge_fields_cannot_be_changed() {
    // Checks: a realm, method, intent, price, expiry, body or request other than issued makes the challenge invalid.
    let mpp = server();
    let good = paid_credential(&issue(&mpp));
    let other_request = URL_SAFE_NO_PAD.encode(format!("{{\"amount\":\"{}\"}}", PRICE - 1));
    let other_opaque = URL_SAFE_NO_PAD.encode("{\"n\":\"0\",\"request\":\"\",\"route\":\"/get-card\"}");
    for (member, value) in [
        ("realm", json!("other.example")),
        ("method", json!("tempo")),
        ("intent", json!("session")),
        ("request", json!(other_request)),
        ("request", json!("")),
        ("expires", json!("2100-01-01T00:00:00.000Z")),
        ("expires", Value::Null),
        ("digest", json!("sha-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")),
        ("digest", json!("")),
        ("opaque", json!(other_opaque)),
        ("opaque", Value::Null),
        ("id", json!("iuR7vB0_YfsHu0WMAsEqNjjvV765hX5oV64X0BnJgGo")),
        ("id", json!("")),
        ("id", json!(&good["challenge"]["id"].as_str().unwrap()[..20])),
    ] {
        let mut changed = good.clone();
        changed["challenge"][member] = value.clone();
        let rejection = verify(&mpp, &changed).unwrap_err();
        assert_eq!(rejection.problem, MppProblem::InvalidChallenge, "{member} {value}");
    }
    // The separator between two values cannot move into one of them.
    let mut moved = good.clone();
    let (expires, opaque) = (&good["challenge"]["expires"], &good["challenge"]["opaque"]);
    moved["challenge"]["expires"] = json!(format!("{}||{}", expires.as_str().unwrap(), opaque.as_str().unwrap()));
    moved["challenge"]["opaque"] = Value::Null;
    assert_eq!(verify(&mpp, &moved).unwrap_err().problem, MppProblem::InvalidChallenge);
}

#[test]
fn case_03_a_credential_is_for_its_own_request() {
    // Checks: another route, another request with the same route and price, and a price no longer offered are rejected.
    let mpp = server();
    let good = paid_credential(&issue(&mpp));
    let other_route = BoundRequest {
        route: "/order-gift-card",
        ..CARD
    };
    let another = BoundRequest {
        request: &[6; 32],
        ..CARD
    };
    for bound in [other_route, another] {
        let rejection = verify_at(&mpp, &good, &offers(), &bound, NOW_MS).unwrap_err();
        assert_eq!(rejection.problem, MppProblem::InvalidChallenge);
    }
    let dearer = [terms(PRICE + 10_000, base())];
    let rejection = verify_at(&mpp, &good, &dearer, &CARD, NOW_MS).unwrap_err();
    assert_eq!(rejection.problem, MppProblem::InvalidChallenge);
    // A price that is still honoured beside the new one is taken.
    let both = [dearer[0].clone(), terms(PRICE, base())];
    assert!(verify_at(&mpp, &good, &both, &CARD, NOW_MS).is_ok());
}

#[test]
fn case_16_challenge_expires() {
    // Checks: a challenge is valid until six seconds before its end and has expired later.
    let mpp = server();
    let good = paid_credential(&issue(&mpp));
    let end = NOW_MS.0 + 300_000;
    assert!(verify_at(&mpp, &good, &offers(), &CARD, Timestamp(end - 6_000)).is_ok());
    for now in [end - 5_999, end, end + 1_000_000] {
        let rejection = verify_at(&mpp, &good, &offers(), &CARD, Timestamp(now)).unwrap_err();
        assert_eq!(
            (rejection.problem, rejection.reason),
            (MppProblem::PaymentExpired, "payment_expired")
        );
    }
}

#[test]
fn key_rotation_keeps_issued_challenges_valid() {
    // Checks: challenges stay valid after one rotation of the token keys, and are invalid after the next.
    let entropy = |n| Fixed(n);
    let first = IdentityKeyRing::generate(Timestamp(1), &entropy(1));
    let second = first.rotated(Timestamp(2), &entropy(2));
    let third = second.rotated(Timestamp(3), &entropy(3));
    let server = |keys: &IdentityKeyRing| {
        let (current, previous) = keys.rotating_macs("test");
        Mpp::new("shop.example", current, previous, 7)
    };
    let good = paid_credential(&issue(&server(&first)));
    assert!(verify(&server(&first), &good).is_ok());
    assert!(verify(&server(&second), &good).is_ok());
    let rejection = verify(&server(&third), &good).unwrap_err();
    assert_eq!(rejection.problem, MppProblem::InvalidChallenge);
    // What was paid is still recognised as a payment.
    let credential = decode(URL_SAFE_NO_PAD.encode(good.to_string()).as_bytes()).unwrap();
    let payee = BasePayee::usdc(PAY_TO_BASE);
    assert!(verify_for_replay(credential, &payee, SignatureRecovery::default()).is_some());
}

#[test]
fn challenges_of_one_instant_differ() {
    // Checks: two callers with the same request at the same time can both pay.
    let mpp = server();
    let (one, two) = (issue(&mpp), issue(&mpp));
    assert_ne!(one.id, two.id);
    let once = |issued: &IssuedChallenge| verify(&mpp, &paid_credential(issued)).unwrap().single_use_key;
    assert_ne!(once(&one), once(&two));
}

#[test]
fn case_05_payment_in_a_credential_is_verified_as_usual() {
    // Checks: value, recipient, window, nonce, source and signature each have their own x402 reason.
    let mpp = server();
    let good = paid_credential(&issue(&mpp));
    let stranger = "0x00000000000000000000000000000000000000aa";
    let (before, source) = (InvalidReason::EvmValidBefore, "did:pkh:eip155");
    let own = paid_credential(&issue(&mpp))["payload"]["from"]
        .as_str()
        .unwrap()
        .to_owned();
    for (place, value, reason) in [
        ("/payload/value", "5000001", InvalidReason::EvmValue),
        ("/payload/value", "4999999", InvalidReason::EvmValue),
        ("/payload/to", stranger, InvalidReason::EvmRecipient),
        ("/payload/validAfter", "1800000009", InvalidReason::EvmValidAfter),
        ("/payload/validBefore", "1800000003", before),
        ("/payload/validBefore", "1900000000", before),
        ("/payload/validBefore", "1800000299", InvalidReason::EvmSignature),
        ("/payload/signature", "0x00", InvalidReason::EvmSignature),
        ("/payload/value", "many", InvalidReason::Malformed),
    ] {
        let mut changed = good.clone();
        *changed.pointer_mut(place).unwrap() = json!(value);
        let rejection = verify(&mpp, &changed).unwrap_err();
        assert_eq!(rejection.reason, reason.as_str(), "{place} {value}");
        let malformed = rejection.problem == MppProblem::MalformedCredential;
        assert!(
            malformed == (reason == InvalidReason::Malformed)
                && (malformed || rejection.problem == MppProblem::VerificationFailed)
        );
    }
    for (place, value) in [
        ("/payload/nonce", "0x01".to_owned()),
        ("/source", format!("{source}:1:{own}")),
        ("/source", format!("{source}:8453:{stranger}")),
        ("/source", String::new()),
    ] {
        let mut changed = good.clone();
        *changed.pointer_mut(place).unwrap() = json!(value);
        let rejection = verify(&mpp, &changed).unwrap_err();
        assert_eq!(rejection.reason, "verification_failed", "{place} {value}");
    }
    // Another payer's signature over the same challenge is that payer's payment.
    let mut from_another = good;
    from_another["payload"]["from"] = json!(stranger);
    from_another.as_object_mut().unwrap().remove("source");
    assert_eq!(
        verify(&mpp, &from_another).unwrap_err().reason,
        InvalidReason::EvmSignature.as_str()
    );
}

#[test]
fn case_15_malformed_credential_is_rejected_with_a_clear_error() {
    // Checks: a credential that is too long, not base64url, padded, not JSON or of the wrong shape is malformed,
    // whatever else is wrong.
    let good = paid_credential(&issue(&server()));
    let without = |place: &str, name: &str| {
        let mut less = good.clone();
        less.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(name);
        URL_SAFE_NO_PAD.encode(less.to_string())
    };
    let mut other_type = good.clone();
    other_type["payload"]["type"] = json!("permit2");
    let mut number = good.clone();
    number["payload"]["value"] = json!(5_000_000);
    for text in [
        "A".repeat(1024 * 1024),
        "A".repeat(MAX_HEADER_BYTES + 1),
        String::new(),
        "dGhpcyBpcyBnYXJiYWdl".to_owned(),
        "e30=".to_owned(),
        "+/+/".to_owned(),
        URL_SAFE_NO_PAD.encode("{}"),
        URL_SAFE_NO_PAD.encode(format!("{good}x")),
        URL_SAFE_NO_PAD.encode(format!("{}{}", "[".repeat(3000), "]".repeat(3000))),
        without("", "challenge"),
        without("", "payload"),
        without("/challenge", "id"),
        without("/challenge", "request"),
        without("/payload", "type"),
        without("/payload", "signature"),
        URL_SAFE_NO_PAD.encode(other_type.to_string()),
        URL_SAFE_NO_PAD.encode(number.to_string()),
    ] {
        let rejection = decode(text.as_bytes()).unwrap_err();
        assert_eq!(
            rejection.problem,
            MppProblem::MalformedCredential,
            "{} bytes",
            text.len()
        );
        assert!(rejection.detail.len() < 120, "a refusal does not quote its input");
    }
}
