//! A device with passkeys, as a browser would use it: Ed25519 keys, user verification, and the JSON of WebAuthn.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// User present and verified.
const VERIFIED: u8 = 0b101;
/// The data have a credential.
const WITH_CREDENTIAL: u8 = 1 << 6;

/// A passkey on a device.
#[derive(Clone)]
pub(crate) struct Authenticator {
    key: SigningKey,
    id: Vec<u8>,
    /// Origin of the page at which the browser is.
    pub(crate) origin: String,
    /// Host that the passkey is bound to.
    pub(crate) host: String,
    /// Flags of the next answer.
    pub(crate) flags: u8,
    /// Counter of the next answer.
    pub(crate) counter: u32,
    /// Handle of the user, from the registration.
    pub(crate) handle: String,
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Authenticator {
    /// A device at a page of this origin.
    pub(crate) fn new(seed: u8, origin: &str) -> Self {
        let host = origin.split("://").nth(1).unwrap().split(':').next().unwrap();
        Self {
            key: SigningKey::from_bytes(&[seed; 32]),
            id: vec![seed, 1, 2, 3],
            origin: origin.to_owned(),
            host: host.to_owned(),
            flags: VERIFIED,
            counter: 1,
            handle: String::new(),
        }
    }

    fn client_data(&self, ceremony: &str, options: &Value) -> Vec<u8> {
        let (challenge, origin) = (&options["challenge"], &self.origin);
        json!({"type": ceremony, "challenge": challenge, "origin": origin, "crossOrigin": false})
            .to_string()
            .into_bytes()
    }

    fn data(&mut self, flags: u8, credential: &[u8]) -> Vec<u8> {
        let counter = self.counter;
        self.counter += 1;
        [
            &Sha256::digest(&self.host)[..],
            &[flags],
            &counter.to_be_bytes(),
            credential,
        ]
        .concat()
    }

    /// `navigator.credentials.create()`, as `credential.toJSON()`.
    pub(crate) fn create(&mut self, options: &Value) -> Value {
        self.create_with_algorithm(options, 0x27)
    }

    /// The same with a key that names another algorithm, by the byte of its COSE number.
    pub(crate) fn create_with_algorithm(&mut self, options: &Value, algorithm: u8) -> Value {
        assert_eq!(
            (&options["rp"]["id"], &options["attestation"]),
            (&json!(self.host), &json!("none"))
        );
        self.handle = options["user"]["id"].as_str().unwrap().to_owned();
        let point = self.key.verifying_key();
        // {1: 1 (OKP), 3: algorithm, -1: 6 (Ed25519), -2: the point}
        let head = [0xa4, 1, 1, 3, algorithm, 0x20, 6, 0x21, 0x58, 0x20];
        let key = [&head[..], point.as_bytes()].concat();
        let length = [0, u8::try_from(self.id.len()).unwrap()];
        let credential = [&[0; 16][..], &length, &self.id, &key].concat();
        let data = self.data(self.flags | WITH_CREDENTIAL, &credential);
        let head = hex::decode("a363666d74646e6f6e656761747453746d74a068617574684461746158").unwrap();
        let length = [u8::try_from(data.len()).unwrap()];
        json!({
            "id": encoded(&self.id), "rawId": encoded(&self.id), "type": "public-key",
            "authenticatorAttachment": "platform", "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encoded(&self.client_data("webauthn.create", options)),
                "attestationObject": encoded(&[&head[..], &length, &data].concat()),
                "transports": ["internal"],
            },
        })
    }

    /// `navigator.credentials.get()`, as `credential.toJSON()`.
    pub(crate) fn get(&mut self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.get", options);
        let data = self.data(self.flags, &[]);
        let signed = [&data[..], &Sha256::digest(&client_data)[..]].concat();
        json!({
            "id": encoded(&self.id), "rawId": encoded(&self.id), "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encoded(&client_data), "authenticatorData": encoded(&data),
                "signature": encoded(&self.key.sign(&signed).to_bytes()), "userHandle": self.handle,
            },
        })
    }
}
