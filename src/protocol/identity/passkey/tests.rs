//! The standard's own test vectors (WebAuthn Level 3, section 16), then one deviation at a time of a good answer.

#![allow(clippy::unwrap_used)]

use purser_actors::credential::Credential;
use purser_actors::port::Timestamp;
use purser_host::secret::Key32;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use sha2::{Digest, Sha256};

use super::challenge::{Ceremony, ChallengeRefused, PasskeyChallenges};
use super::response::{AssertionResponse, RegistrationResponse};
use super::{PasskeyError, PublicKey, RelyingParty};
use crate::identity::nonce::CHALLENGE_LIFETIME_MS;
use crate::identity::origin::Origin;
use crate::identity::test_entropy::CountingEntropy;

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

fn site(origin: &str) -> RelyingParty {
    RelyingParty::of(&Origin::parse(origin).unwrap()).unwrap()
}

/// A registration of the standard's vectors, whose origin is https://example.org.
struct Vector {
    challenge: &'static str,
    credential_id: &'static str,
    client_data: &'static str,
    attestation_object: &'static str,
}

impl Vector {
    fn verify(&self) -> Result<Credential, PasskeyError> {
        let response = RegistrationResponse {
            raw_id: bytes(self.credential_id),
            client_data: bytes(self.client_data),
            attestation_object: bytes(self.attestation_object),
        };
        site("https://example.org").verify_registration(&response, &bytes(self.challenge))
    }
}

const NONE_ES256: Vector = Vector {
    challenge: "00c30fb78531c464d2b6771dab8d7b603c01162f2fa486bea70f283ae556e130",
    credential_id: "f91f391db4c9b2fde0ea70189cba3fb63f579ba6122b33ad94ff3ec330084be4",
    client_data: "7b2274797065223a22776562617574686e2e637265617465222c226368616c6c656e6765223a22414d4d507434557878475453746e63647134313759447742466938767049612d7077386f4f755657345441222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73652c22657874726144617461223a22636c69656e74446174614a534f4e206d617920626520657874656e6465642077697468206164646974696f6e616c206669656c647320696e20746865206675747572652c207375636820617320746869733a20426b5165446a646354427258426941774a544c453551227d",
    attestation_object: "a363666d74646e6f6e656761747453746d74a068617574684461746158a4bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b559000000008446ccb9ab1db374750b2367ff6f3a1f0020f91f391db4c9b2fde0ea70189cba3fb63f579ba6122b33ad94ff3ec330084be4a5010203262001215820afefa16f97ca9b2d23eb86ccb64098d20db90856062eb249c33a9b672f26df61225820930a56b87a2fca66334b03458abf879717c12cc68ed73290af2e2664796b9220",
};

const SELF_ES256: Vector = Vector {
    challenge: "7869c2b772d4b58eba9378cf8f29e26cf935aa77df0da89fa99c0bdc0a76f7e5",
    credential_id: "455ef34e2043a87db3d4afeb39bbcb6cc32df9347c789a865ecdca129cbef58c",
    client_data: "7b2274797065223a22776562617574686e2e637265617465222c226368616c6c656e6765223a2265476e4374334c55745936366b336a506a796e6962506b31716e666644616966715a774c33417032392d55222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73652c22657874726144617461223a22636c69656e74446174614a534f4e206d617920626520657874656e6465642077697468206164646974696f6e616c206669656c647320696e20746865206675747572652c207375636820617320746869733a205539685458764b453255526b4d6e625f307859485667227d",
    attestation_object: "a363666d74667061636b65646761747453746d74a263616c672663736967584630440220067a20754ab925005dbf378097c92120031581c73228d1fb4f5b881bcd7da98302207fc7b147558c7c0eba3af18bd9d121fa3d3a26d17fe3f220272178f473b6006d68617574684461746158a4bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b55d00000000df850e09db6afbdfab51697791506cfc0020455ef34e2043a87db3d4afeb39bbcb6cc32df9347c789a865ecdca129cbef58ca5010203262001215820eb151c8176b225cc651559fecf07af450fd85802046656b34c18f6cf193843c5225820927b8aa427a2be1b8834d233a2d34f61f13bfd44119c325d5896e183fee484f2",
};

const CROSS_ORIGIN: Vector = Vector {
    challenge: "3be5aacd03537142472340ab5969f240f1d87716e20b6807ac230655fa4b3b49",
    credential_id: "6e1050c0d2ca2f07c755cb2c66a74c64fa43065c18f938354d9915db2bd5ce57",
    client_data: "7b2274797065223a22776562617574686e2e637265617465222c226368616c6c656e6765223a224f2d57717a514e5463554a484930437257576e7951504859647862694332674872434d475666704c4f306b222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a747275652c22657874726144617461223a22636c69656e74446174614a534f4e206d617920626520657874656e6465642077697468206164646974696f6e616c206669656c647320696e20746865206675747572652c207375636820617320746869733a207a5a7175457444523944577170573574425754467567227d",
    attestation_object: "a363666d74646e6f6e656761747453746d74a068617574684461746158a4bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b54500000000883f4f6014f19c09d87aa38123be48d000206e1050c0d2ca2f07c755cb2c66a74c64fa43065c18f938354d9915db2bd5ce57a501020326200121582022200a473f90b11078851550d03b4e44a2279f8c4eca27b3153dedfe03e4e97d225820cbd0be95e746ad6f5a8191be11756e4c0420e72f65b466d39bc56b8b123a9c6e",
};

/// Checks (WebAuthn, 16.2 to 16.4): the vectors are read. Self attestation is permitted and proves nothing. The vectors
/// without user verification, and the one from a page inside another site's, are rejected for exactly that.
#[test]
fn the_standards_registrations_are_read() {
    let passkey = SELF_ES256.verify().unwrap();
    assert_eq!(passkey.id, bytes(SELF_ES256.credential_id));
    assert_eq!((passkey.counter, passkey.backup_eligible), (0, true));
    assert!(matches!(PublicKey::parse(&passkey.public_key), Ok(PublicKey::Es256(_))));
    assert_eq!(NONE_ES256.verify(), Err(PasskeyError::UserNotVerified));
    assert_eq!(CROSS_ORIGIN.verify(), Err(PasskeyError::OtherOrigin));
}

/// Checks (WebAuthn, 16.2, 16.3 and 16.11): the signatures of the vectors verify, and no other's does.
#[test]
fn the_standards_signatures_verify() {
    // Public key, authenticator data, client data, signature.
    let vectors = [
        (
            "a5010203262001215820afefa16f97ca9b2d23eb86ccb64098d20db90856062eb249c33a9b672f26df61225820930a56b87a2fca66334b03458abf879717c12cc68ed73290af2e2664796b9220",
            "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b51900000000",
            "7b2274797065223a22776562617574686e2e676574222c226368616c6c656e6765223a224f63446e55685158756c5455506f334a5558543049393770767a7a59425039745a63685879617630314167222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73657d",
            "3046022100f50a4e2e4409249c4a853ba361282f09841df4dd4547a13a87780218deffcd380221008480ac0f0b93538174f575bf11a1dd5d78c6e486013f937295ea13653e331e87",
        ),
        (
            "a5010203262001215820eb151c8176b225cc651559fecf07af450fd85802046656b34c18f6cf193843c5225820927b8aa427a2be1b8834d233a2d34f61f13bfd44119c325d5896e183fee484f2",
            "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b50900000000",
            "7b2274797065223a22776562617574686e2e676574222c226368616c6c656e6765223a225248696843784e534e493352594d45314f7731476d3132786e726b634a5f6666707637546e2d4a71386773222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73652c22657874726144617461223a22636c69656e74446174614a534f4e206d617920626520657874656e6465642077697468206164646974696f6e616c206669656c647320696e20746865206675747572652c207375636820617320746869733a206754623533727a36456853576f6d58477a696d433151227d",
            "304402203310b9431903c401f1be2bdc8d23a4007682dbbddcf846994947b7f465daf84002204e94dd00047b316061b3b99772b7efd95994a83ef584b3b6b825ea3550251b66",
        ),
        (
            "a401010327200621582044e06ddd331c36a8dc667bab52bcae63486c916aa5e339e6acebaa84934bf832",
            "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b50100000000",
            "7b2274797065223a22776562617574686e2e676574222c226368616c6c656e6765223a2269566c583442786a4f6d6d44534b4c596f7870557439736e364d48454f7943413135726947514a6e763949222c226f726967696e223a2268747470733a2f2f6578616d706c652e6f7267222c2263726f73734f726967696e223a66616c73657d",
            "f5c59c7e46c34f6f8cc197101ddf9934fa2595f68eb1913a637e8419eb9ba4cfdfc48f85393bc0d40b011f0d6fecb097d6607525713223a0dc0d453993dae00b",
        ),
    ];
    for (at, (key, data, client_data, signature)) in vectors.into_iter().enumerate() {
        let signed = [bytes(data), Sha256::digest(bytes(client_data)).to_vec()].concat();
        for (other, (key_of, ..)) in vectors.into_iter().enumerate() {
            let key_of = PublicKey::parse(&bytes(key_of)).unwrap();
            assert_eq!(key_of.verifies(&signed, &bytes(signature)), at == other, "{at} {other}");
        }
        let key = PublicKey::parse(&bytes(key)).unwrap();
        assert!(!key.verifies(&signed[1..], &bytes(signature)));
        assert!(!key.verifies(&signed, &bytes(signature)[1..]));
        assert!(!key.verifies(&signed, &[]));
    }
}

/// An authenticator of this test.
enum Device {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Device {
    fn both() -> [Self; 2] {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random).unwrap();
        let other = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        [Self::P256(key), Self::Ed25519(other)]
    }

    fn cose(&self) -> Vec<u8> {
        match self {
            Self::P256(key) => {
                let point = key.public_key().as_ref();
                let (x, y) = point[1..].split_at(32);
                [&bytes("a5010203262001215820")[..], x, &bytes("225820")[..], y].concat()
            }
            Self::Ed25519(key) => [&bytes("a4010103272006215820")[..], key.public_key().as_ref()].concat(),
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::P256(key) => key.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
        }
    }
}

const ID: [u8; 4] = [1, 2, 3, 4];
/// User present and verified.
const FLAGS: u8 = 0b101;

fn client_data(ceremony: &str, challenge: &[u8], origin: &str) -> Vec<u8> {
    use base64::Engine as _;
    let challenge = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(challenge);
    format!(r#"{{"type":"{ceremony}","challenge":"{challenge}","origin":"{origin}"}}"#).into_bytes()
}

fn authenticator_data(host: &str, flags: u8, counter: u32, tail: &[u8]) -> Vec<u8> {
    [&Sha256::digest(host)[..], &[flags], &counter.to_be_bytes(), tail].concat()
}

fn attestation_object(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap().to_be_bytes();
    // {"fmt": "none", "attStmt": {}, "authData": bytes}; lengths below 256 have a shorter form.
    let head = bytes("a363666d74646e6f6e656761747453746d74a0686175746844617461");
    match length {
        [0, short] => [&head[..], &[0x58, short], data].concat(),
        _ => [&head[..], &[0x59], &length, data].concat(),
    }
}

fn registration(device: &Device, flags: u8, tail: &[u8]) -> RegistrationResponse {
    let credential = [&[0; 16][..], &[0, 4], &ID, &device.cose(), tail].concat();
    let data = authenticator_data("a.example", flags | 0x40, 3, &credential);
    RegistrationResponse {
        raw_id: ID.to_vec(),
        client_data: client_data("webauthn.create", b"question", "https://a.example"),
        attestation_object: attestation_object(&data),
    }
}

fn assertion(device: &Device, client_data: Vec<u8>, authenticator_data: Vec<u8>) -> AssertionResponse {
    let signed = [&authenticator_data[..], &Sha256::digest(&client_data)[..]].concat();
    AssertionResponse {
        raw_id: ID.to_vec(),
        signature: device.sign(&signed),
        client_data,
        authenticator_data,
        user_handle: None,
    }
}

/// Checks: a registration and a sign-in of either algorithm verify. Each deviation is rejected under its own name.
#[test]
fn only_the_expected_answer_is_accepted() {
    let ours = site("https://a.example");
    for device in Device::both() {
        let passkey = ours
            .verify_registration(&registration(&device, FLAGS, &[]), b"question")
            .unwrap();
        assert_eq!((&passkey.id[..], passkey.counter), (&ID[..], 3));
        let get = |challenge: &[u8], origin: &str| client_data("webauthn.get", challenge, origin);
        let good = get(b"question", "https://a.example");
        let data = authenticator_data("a.example", FLAGS, 4, &[]);
        let verify = |response: &AssertionResponse| ours.verify_assertion(response, b"question", &passkey);
        assert_eq!(
            verify(&assertion(&device, good.clone(), data.clone())).unwrap().counter,
            4
        );
        let create = client_data("webauthn.create", b"question", "https://a.example");
        let framed = String::from_utf8(good.clone())
            .unwrap()
            .replace('}', r#","crossOrigin":true}"#);
        let below = String::from_utf8(good.clone())
            .unwrap()
            .replace('}', r#","topOrigin":"https://a.example"}"#);
        let twice = String::from_utf8(good.clone())
            .unwrap()
            .replace('}', r#","origin":"https://b.example"}"#);
        let malformed_json = PasskeyError::Malformed("its client data is not the expected JSON");
        for (client, expected) in [
            (create, PasskeyError::OtherCeremony),
            (get(b"other", "https://a.example"), PasskeyError::OtherChallenge),
            (get(b"", "https://a.example"), PasskeyError::OtherChallenge),
            (get(b"question", "https://a.example:8443"), PasskeyError::OtherOrigin),
            (get(b"question", "https://b.a.example"), PasskeyError::OtherOrigin),
            (get(b"question", "http://a.example"), PasskeyError::OtherOrigin),
            (framed.into_bytes(), PasskeyError::OtherOrigin),
            (below.into_bytes(), PasskeyError::OtherOrigin),
            (twice.into_bytes(), malformed_json),
            (b"{}".to_vec(), malformed_json),
        ] {
            let text = String::from_utf8_lossy(&client).into_owned();
            assert_eq!(
                verify(&assertion(&device, client, data.clone())),
                Err(expected),
                "{text}"
            );
        }
        let with = |flags| authenticator_data("a.example", flags, 4, &[]);
        for (data, expected) in [
            (
                authenticator_data("b.example", FLAGS, 4, &[]),
                PasskeyError::OtherRelyingParty,
            ),
            (with(0b001), PasskeyError::UserNotVerified),
            (with(0b100), PasskeyError::UserNotVerified),
            (
                with(0b1_0101),
                PasskeyError::Malformed("it is backed up but not eligible for that"),
            ),
            (
                with(0b1101),
                PasskeyError::Malformed("its backup eligibility has changed"),
            ),
            (
                authenticator_data("a.example", FLAGS, 4, &[0xa0]),
                PasskeyError::Malformed("its authenticator data is too long"),
            ),
            (
                data[..36].to_vec(),
                PasskeyError::Malformed("its authenticator data is too short"),
            ),
        ] {
            assert_eq!(verify(&assertion(&device, good.clone(), data)), Err(expected));
        }
        // Nothing of what was signed can be changed.
        let signed = assertion(&device, good.clone(), data.clone());
        let other_counter = authenticator_data("a.example", FLAGS, 5, &[]);
        let changed = AssertionResponse {
            authenticator_data: other_counter,
            ..signed.clone()
        };
        assert_eq!(verify(&changed), Err(PasskeyError::SignatureMismatch));
        let spaced = [&signed.client_data[..], b" "].concat();
        let changed = AssertionResponse {
            client_data: spaced,
            ..signed.clone()
        };
        assert_eq!(verify(&changed), Err(PasskeyError::SignatureMismatch));
        let mut signature = signed.signature.clone();
        *signature.last_mut().unwrap() ^= 1;
        let changed = AssertionResponse { signature, ..signed };
        assert_eq!(verify(&changed), Err(PasskeyError::SignatureMismatch));
    }
}

/// Checks: a registration without user verification, with another credential's id, without a credential, or with bytes
/// after it is rejected; extension data that are a map are passed over.
#[test]
fn only_a_whole_registration_is_accepted() {
    let ours = site("https://a.example");
    let [device, _] = Device::both();
    let verify = |response: &RegistrationResponse| ours.verify_registration(response, b"question");
    // {"credProtect": 2}
    let extensions = bytes("a16b6372656450726f7465637402");
    assert!(verify(&registration(&device, FLAGS | 0x80, &extensions)).is_ok());
    assert!(matches!(
        verify(&registration(&device, FLAGS | 0x80, &[1])),
        Err(PasskeyError::Malformed(_))
    ));
    assert!(matches!(
        verify(&registration(&device, FLAGS, &extensions)),
        Err(PasskeyError::Malformed(_))
    ));
    assert_eq!(
        verify(&registration(&device, 0b001, &[])),
        Err(PasskeyError::UserNotVerified)
    );
    let good = registration(&device, FLAGS, &[]);
    let other_id = RegistrationResponse {
        raw_id: vec![9],
        ..good.clone()
    };
    assert_eq!(
        verify(&other_id),
        Err(PasskeyError::Malformed("its id is not the credential's"))
    );
    let no_credential = attestation_object(&authenticator_data("a.example", FLAGS, 0, &[]));
    let without = RegistrationResponse {
        attestation_object: no_credential,
        ..good.clone()
    };
    assert_eq!(verify(&without), Err(PasskeyError::Malformed("it has no credential")));
    let get = client_data("webauthn.get", b"question", "https://a.example");
    let of_sign_in = RegistrationResponse {
        client_data: get,
        ..good.clone()
    };
    assert_eq!(verify(&of_sign_in), Err(PasskeyError::OtherCeremony));
    // Every cut of the object, and one more byte.
    for end in 0..good.attestation_object.len() {
        let cut = good.attestation_object[..end].to_vec();
        assert!(
            verify(&RegistrationResponse {
                attestation_object: cut,
                ..good.clone()
            })
            .is_err(),
            "{end}"
        );
    }
    let longer = [&good.attestation_object[..], &[0]].concat();
    assert!(
        verify(&RegistrationResponse {
            attestation_object: longer,
            ..good
        })
        .is_err()
    );
}

/// Checks: keys of other algorithms, with other members, repeated ones or a wrong length are rejected.
#[test]
fn only_the_three_kinds_of_key_are_read() {
    let modulus = "ff".repeat(256);
    let rsa = format!("a401030339010020590100{modulus}2143010001");
    assert!(matches!(PublicKey::parse(&bytes(&rsa)), Ok(PublicKey::Rs256(_))));
    for (text, supported) in [
        // Exponent 3; a leading zero; ES256 on P-384; Ed25519 with alg of ES256; ES384.
        (rsa.replace("2143010001", "214103"), false),
        (rsa.replacen("ffff", "00ff", 1), false),
        (format!("a5010203262002215820{0}225820{0}", "11".repeat(32)), true),
        (format!("a4010103262006215820{}", "11".repeat(32)), true),
        (format!("a501020338222001215820{0}225820{0}", "11".repeat(32)), false),
        // 31 bytes; the type twice; a key id; no type; bytes after it; indefinite; nothing.
        (format!("a401010327200621581f{}", "11".repeat(31)), true),
        (
            format!("a501010101032720062158 20{}", "11".repeat(32)).replace(' ', ""),
            true,
        ),
        (
            format!("a50101024101032720062158 20{}", "11".repeat(32)).replace(' ', ""),
            true,
        ),
        (format!("a30327200621 5820{}", "11".repeat(32)).replace(' ', ""), true),
        (format!("a4010103272006215820{}00", "11".repeat(32)), true),
        (format!("bf010103272006215820{}ff", "11".repeat(32)), true),
        (String::new(), true),
    ] {
        let refused = PublicKey::parse(&bytes(&text)).unwrap_err();
        assert_eq!(
            refused != PasskeyError::AlgorithmNotSupported,
            supported,
            "{text}: {refused}"
        );
    }
}

/// Checks: passkeys exist where browsers have them: under a host name with TLS, or on localhost.
#[test]
fn passkeys_need_a_host_name() {
    let of = |origin: &str| RelyingParty::of(&Origin::parse(origin).unwrap()).map(|site| site.id().to_owned());
    assert_eq!(of("https://a.example").as_deref(), Some("a.example"));
    assert_eq!(of("https://a.example:8443").as_deref(), Some("a.example"));
    assert_eq!(of("http://localhost:8402").as_deref(), Some("localhost"));
    for without in [
        "http://a.example",
        "http://127.0.0.1:8402",
        "https://127.0.0.1",
        "https://[::1]:8402",
    ] {
        assert_eq!(of(without), None, "{without}");
    }
}

/// Checks: a challenge serves its ceremony, session and origin only, for five minutes, and none issued before a restore.
#[test]
fn a_challenge_serves_one_ceremony_of_one_session() {
    let origin = |text| Origin::parse(text).unwrap();
    let of = |key: u8, text| PasskeyChallenges::new(&Key32::new([key; 32]), &origin(text));
    let (ours, entropy) = (of(1, "https://a.example"), CountingEntropy::new(4));
    let (at, session) = (Timestamp(1_000), 7);
    let challenge = ours.issue(Ceremony::Confirm, session, at, &entropy);
    assert_ne!(challenge, ours.issue(Ceremony::Confirm, session, at, &entropy));
    let verify =
        |by: &PasskeyChallenges, bytes: &[u8], ceremony, session, now| by.verify(bytes, ceremony, session, now);
    let used = verify(&ours, &challenge, Ceremony::Confirm, session, at).unwrap();
    let end = at.plus_ms(CHALLENGE_LIFETIME_MS);
    assert_eq!((&used.bytes[..], used.expires), (&challenge[..16], end));
    assert!(verify(&ours, &challenge, Ceremony::Confirm, session, Timestamp(end.0 - 1)).is_ok());
    let refused = Err(ChallengeRefused);
    for ceremony in [Ceremony::SignIn, Ceremony::Register, Ceremony::OperatorConfirm] {
        assert_eq!(verify(&ours, &challenge, ceremony, session, at), refused);
    }
    assert_eq!(verify(&ours, &challenge, Ceremony::Confirm, 8, at), refused);
    assert_eq!(verify(&ours, &challenge, Ceremony::Confirm, session, end), refused);
    assert_eq!(
        verify(&ours, &challenge, Ceremony::Confirm, session, Timestamp(999)),
        refused
    );
    assert_eq!(
        verify(&of(2, "https://a.example"), &challenge, Ceremony::Confirm, session, at),
        refused
    );
    assert_eq!(
        verify(&of(1, "https://b.example"), &challenge, Ceremony::Confirm, session, at),
        refused
    );
    let restored = ours.clone().not_before(Timestamp(1_001));
    assert_eq!(
        verify(&restored, &challenge, Ceremony::Confirm, session, Timestamp(1_002)),
        refused
    );
    for at_byte in 0..32 {
        let mut changed = challenge;
        changed[at_byte] ^= 1;
        assert_eq!(
            verify(&ours, &changed, Ceremony::Confirm, session, at),
            refused,
            "{at_byte}"
        );
    }
    assert_eq!(verify(&ours, &challenge[..31], Ceremony::Confirm, session, at), refused);
}

/// Checks: the browser's JSON is read with members that do not matter here, and other forms are rejected.
#[test]
fn the_browsers_json_is_read() {
    let text = r#"{"id":"AQIDBA","rawId":"AQIDBA","type":"public-key","authenticatorAttachment":"platform","clientExtensionResults":{},
        "response":{"clientDataJSON":"e30","authenticatorData":"AA","signature":"AQ","userHandle":"Ag"}}"#;
    let read: AssertionResponse = serde_json::from_str(text).unwrap();
    assert_eq!((read.raw_id, read.client_data), (ID.to_vec(), b"{}".to_vec()));
    assert_eq!(read.user_handle, Some(vec![2]));
    let without = text.replace(r#""Ag""#, "null");
    assert_eq!(
        serde_json::from_str::<AssertionResponse>(&without).unwrap().user_handle,
        None
    );
    for wrong in [text.replace("AQIDBA", "AQIDBA=="), text.replace("signature", "signed")] {
        assert!(serde_json::from_str::<AssertionResponse>(&wrong).is_err(), "{wrong}");
    }
}
