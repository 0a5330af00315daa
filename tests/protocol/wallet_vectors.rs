//! Our wallet against the stock clients: same challenge, clock and random bytes, so the same header byte for byte.

use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser::payment::solana::address::parse as pubkey;
use purser::wallet::payment::SigningContext;
use purser::wallet::siwx::SiwxInfo;
use purser::wallet::{MppOffer, PaymentRequired, TestWallet};
use purser_actors::id::Network;
use purser_actors::port::{Entropy, Timestamp};
use serde_json::Value;

fn vector(name: &str) -> Value {
    let path = format!("{}/tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn wallet() -> TestWallet {
    TestWallet::from_bytes(&[0x11; 32], &[0x22; 32]).unwrap()
}

/// Gives out the numbers that a vector was made with.
struct Replay(Mutex<Vec<u128>>);

impl Replay {
    /// 32 hex digits a number.
    fn of(hex: &str) -> Self {
        let digits = hex.trim_start_matches("0x").as_bytes();
        let numbers = digits
            .chunks(32)
            .map(|part| u128::from_str_radix(std::str::from_utf8(part).unwrap(), 16).unwrap());
        Self(Mutex::new(numbers.rev().collect()))
    }
}

impl Entropy for Replay {
    fn random(&self) -> u128 {
        self.0
            .lock()
            .unwrap()
            .pop()
            .expect("a vector uses as many numbers as it holds")
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn a_payment_on_base_is_the_stock_clients_byte_for_byte() {
    // Checks: v2 and v1 headers equal those of @x402/fetch, so EIP-712, RFC 6979, member order and base64 agree.
    let (v2, v1) = (vector("x402-v2-evm"), vector("x402-v1-evm"));
    let required = PaymentRequired::from_header(text(&v2["input"]["paymentRequiredHeader"]).as_bytes()).unwrap();
    let offer = required.choose(None).unwrap();
    assert_eq!(offer.network, Network::Base);
    let now = Timestamp(v2["clock"]["unix"].as_u64().unwrap() * 1000);

    let entropy = Replay::of(text(&v2["output"]["decoded"]["payload"]["authorization"]["nonce"]));
    let header = wallet()
        .pay(
            &required,
            &offer,
            &SigningContext {
                now,
                entropy: &entropy,
                blockhash: None,
            },
        )
        .unwrap();
    assert_eq!(header, text(&v2["output"]["headerValue"]));

    let entropy = Replay::of(text(&v1["output"]["decoded"]["payload"]["authorization"]["nonce"]));
    let header = wallet()
        .pay_v1(
            &offer,
            &SigningContext {
                now,
                entropy: &entropy,
                blockhash: None,
            },
        )
        .unwrap();
    assert_eq!(header, text(&v1["output"]["headerValue"]));
}

#[test]
fn a_payment_on_solana_is_the_stock_clients_byte_for_byte() {
    // Checks: instructions, account order, signature and header equal those of @x402/svm.
    let vector = vector("x402-v2-svm");
    let required = PaymentRequired::from_header(text(&vector["input"]["paymentRequiredHeader"]).as_bytes()).unwrap();
    let offer = required.choose(Some(Network::Solana)).unwrap();
    let memo = hex::decode(text(&vector["output"]["transaction"]["instructions"][3]["dataHex"])).unwrap();
    let circumstances = SigningContext {
        now: Timestamp(0),
        entropy: &Replay::of(std::str::from_utf8(&memo).unwrap()),
        blockhash: pubkey(text(&vector["rpcStub"]["blockhash"])),
    };
    assert_eq!(
        wallet().pay(&required, &offer, &circumstances).unwrap(),
        text(&vector["output"]["headerValue"])
    );
}

#[test]
fn a_sign_in_is_the_stock_clients_byte_for_byte() {
    // Checks: message and proof equal those of @x402/extensions on both chains, with and without a statement.
    for (name, network) in [("siwx-evm", Network::Base), ("siwx-solana", Network::Solana)] {
        let vector = vector(name);
        for case in ["full", "noStatement"] {
            let case = &vector["cases"][case];
            let required = PaymentRequired::from_header(text(&case["input"]["challengeHeader"]).as_bytes()).unwrap();
            let info: SiwxInfo = required.sign_in().unwrap();
            info.check_origin("https", "api.example.com").unwrap();
            let message = info.message(network, &wallet().address(network));
            assert_eq!(message, text(&case["output"]["message"]));
            assert_eq!(
                wallet().sign_in(&info, network).unwrap(),
                text(&case["output"]["headerValue"])
            );
        }
    }
}

type Spoil = fn(&mut SiwxInfo);

#[test]
fn the_wallet_signs_in_to_the_called_site_only() {
    // Checks: a challenge relayed from another origin, or one that smuggles lines into the message, is not signed.
    let vector = vector("siwx-evm");
    let header = text(&vector["cases"]["full"]["input"]["challengeHeader"]);
    let honest = PaymentRequired::from_header(header.as_bytes())
        .unwrap()
        .sign_in()
        .unwrap();
    let cases: [(&str, Spoil); 4] = [
        ("another domain", |info| info.domain = "api.example.org".to_owned()),
        ("another port", |info| info.domain = "api.example.com:8443".to_owned()),
        ("a host that only begins alike", |info| {
            info.uri = "https://api.example.com.evil.example/auth".to_owned()
        }),
        ("a line break", |info| {
            info.statement = Some("Sign in\nURI: https://evil.example".to_owned())
        }),
    ];
    for (name, spoil) in cases {
        let mut info = honest.clone();
        spoil(&mut info);
        assert!(info.check_origin("https", "api.example.com").is_err(), "{name}");
    }
    assert!(honest.check_origin("http", "api.example.com").is_err());
}

#[test]
fn a_wallet_file_is_private_and_opens_again() {
    // Checks: the file is created once with mode 0600, yields the same keys again, and is rejected if others can read
    // it.
    struct Counter(Mutex<u128>);
    impl Entropy for Counter {
        fn random(&self) -> u128 {
            let mut next = self.0.lock().unwrap();
            *next += 1;
            *next
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sub/wallet.json");
    let entropy = Counter(Mutex::new(0));
    let (made, new) = TestWallet::load_or_create(&path, &entropy).unwrap();
    let (opened, again) = TestWallet::load_or_create(&path, &entropy).unwrap();
    assert!(new && !again);
    for network in Network::ALL {
        assert_eq!(made.account(network), opened.account(network));
    }
    let stored: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let secret = text(&stored["base"]["private_key_hex"]);
    assert_eq!(secret.len(), 64);
    assert!(!format!("{made:?}").contains(secret));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(TestWallet::load(&path).unwrap_err().to_string().contains("chmod 600"));
    }
}

#[test]
fn an_mpp_credential_is_the_stock_clients_byte_for_byte() {
    // Checks: parsing of the challenge, nonce, typed data, member order and base64url agree with mppx. Only `opaque`,
    // which the client appends, is at its alphabetical position here.
    let vector = vector("mpp-evm-charge");
    let answer = |challenge: &Value| {
        let offer = MppOffer::from_header(text(challenge)).unwrap();
        assert_eq!(offer.amount.atomic(), 5_000_000);
        wallet().pay_mpp(&offer)
    };
    let plain = answer(&vector["challenge"]["headerValue"]);
    assert_eq!(plain, text(&vector["credential"]["headerValue"]));
    let scoped = answer(&vector["scoped"]["challengeHeader"]);
    let scoped = URL_SAFE_NO_PAD
        .decode(scoped.strip_prefix("Payment ").unwrap())
        .unwrap();
    let scoped: Value = serde_json::from_slice(&scoped).unwrap();
    assert_eq!(scoped, vector["scoped"]["credentialDecoded"]);
}
