#![allow(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;
use purser_config::ConfigSources;
use purser_config::chains::Location;
use purser_protocol::wallet::TestWallet;

const TREASURY: [u8; 32] = [0x11; 32];
const GAS: [u8; 32] = [0x22; 32];

fn seed(secret: [u8; 32]) -> Keypair {
    Keypair::from_seed(&secret)
}

/// A key in the format of solana-keygen.
fn keygen(secret: [u8; 32]) -> String {
    let mut both = [0; 64];
    both[..32].copy_from_slice(&secret);
    both[32..].copy_from_slice(&seed(secret).address());
    format!("{both:?}")
}

/// The settings with the addresses of their treasuries, plus `more`.
fn config(more: &str) -> Config {
    let wallet = TestWallet::from_bytes(&TREASURY, &TREASURY).unwrap();
    let text = format!(
        r#"
        mode = "production"
        [payment.pay_to]
        base = "{}"
        solana = "{}"
        [settlement]
        kind = "chains"
        [chains.base]
        endpoints = [{{ url = "https://a.example/key-one" }}, {{ url = "env:SECOND", timeout_ms = 700 }}]
        treasury_key = "env:TREASURY"
        gas_keys = ["env:GAS"]
        [chains.solana]
        endpoints = [{{ url = "https://s.example" }}]
        treasury_key = "env:SOL_TREASURY"
        fee_payers = ["env:PAYER"]
        {more}
        "#,
        Wallet::Evm(wallet.evm_address()).address(),
        Wallet::Solana(wallet.solana_address()).address(),
    );
    let sources = ConfigSources {
        file: Some(("my.toml".into(), text)),
        ..ConfigSources::default()
    };
    // Settings that only other parts of production need are not validated here.
    Config::read_unchecked(&sources).unwrap()
}

fn variable(name: &str) -> Option<String> {
    Some(match name {
        "SECOND" => "https://b.example/key-two".into(),
        "TREASURY" => format!("0x{}", hex::encode(TREASURY)),
        "GAS" => hex::encode(GAS),
        "SOL_TREASURY" => keygen(TREASURY),
        "PAYER" => keygen(GAS),
        _ => return None,
    })
}

fn resolved(more: &str, changed: &'static [(&'static str, String)]) -> Result<RealChains, Vec<String>> {
    let variable = |name: &str| {
        let other = changed.iter().find(|(changed, _)| *changed == name);
        other.map(|(_, text)| text.clone()).or_else(|| variable(name))
    };
    RealChains::resolve(&config(more), &variable).map_err(keys)
}

fn keys(wrong: InvalidSetting) -> Vec<String> {
    wrong
        .0
        .iter()
        .map(|error| error.key().unwrap_or_default().to_owned())
        .collect()
}

fn with(changed: Vec<(&'static str, String)>) -> Result<RealChains, Vec<String>> {
    resolved("", Vec::leak(changed))
}

#[test]
fn keys_and_endpoints_are_read_where_they_are_named() {
    // Checks: the ports open with the values of the settings, with presets and defaults filled in.
    let chains = with(Vec::new()).unwrap();
    assert_eq!(chains.names(), Chains::MAINNET);
    let hosts: Vec<_> = chains
        .base
        .endpoints
        .iter()
        .map(|e| (e.url.host(), e.timeout))
        .collect();
    let ms = Duration::from_millis;
    assert_eq!(hosts, [("a.example".into(), ms(5_000)), ("b.example".into(), ms(700))]);
    assert_eq!(
        (chains.base.gas_keys.len(), chains.solana.fee_payers[0].address()),
        (1, seed(GAS).address())
    );
    assert_eq!(chains.base.fees.max_fee, 5_000_000_000);
    let usd = Usdc::from_atomic(100_000_000);
    let all = Usdc::from_atomic(u64::MAX);
    assert_eq!(
        chains.base.finality,
        [(usd, Finality::Blocks(1)), (all, Finality::Safe)]
    );
    assert_eq!(chains.solana.finality, [(all, Depth::Finalized)]);
    let shown = format!("{chains:?}");
    for secret in [
        hex::encode(TREASURY),
        hex::encode(GAS),
        "key-one".into(),
        "key-two".into(),
    ] {
        assert!(!shown.contains(&secret), "{shown}");
    }
}

#[test]
fn a_key_that_cannot_be_used_is_named_and_not_quoted() {
    // Checks: unusable keys are rejected under their setting, and no error quotes the key. Cases: a treasury key of
    // another address, a treasury key that pays gas, no key at all.
    let base_treasury = "chains.base.treasury_key";
    let gas = "chains.base.gas_keys[0]";
    for (name, text, key) in [
        ("TREASURY", hex::encode([0x33; 32]), base_treasury),
        ("TREASURY", "no key".into(), base_treasury),
        ("GAS", hex::encode(TREASURY), gas),
        ("GAS", hex::encode([0; 32]), gas),
        ("SOL_TREASURY", keygen([0x44; 32]), "chains.solana.treasury_key"),
        ("PAYER", keygen(TREASURY), "chains.solana.fee_payers[0]"),
        ("PAYER", "[1, 2]".into(), "chains.solana.fee_payers[0]"),
    ] {
        assert_eq!(with(vec![(name, text.clone())]).unwrap_err(), [key], "{text}");
        let variable = |variable_name: &str| {
            if variable_name == name {
                Some(text.clone())
            } else {
                variable(variable_name)
            }
        };
        let error = RealChains::resolve(&config(""), &variable).unwrap_err().to_string();
        assert!(!error.contains(&text), "{error}");
    }
    assert_eq!(
        with(vec![("SECOND", "https://a.example/key-one".into())]).unwrap_err(),
        ["chains.base.endpoints[1].url"]
    );
    let nothing = RealChains::resolve(&config(""), &|_| None).map_err(keys).unwrap_err();
    let all = [
        "chains.base.endpoints[1].url",
        base_treasury,
        gas,
        "chains.solana.treasury_key",
        "chains.solana.fee_payers[0]",
    ];
    assert_eq!(nothing, all, "all of them in one start");
}

#[test]
fn a_key_file_is_for_its_owner_alone() {
    // Checks: a key file that others can read is rejected. 0600 is accepted; 0640 and a missing file are rejected.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("treasury.key");
    std::fs::write(&file, hex::encode(TREASURY)).unwrap();
    let text = |path: &Path| {
        Reader {
            variable: &|_| None,
            errors: Vec::new(),
        }
        .evm_key("key", &Location::File(path.into()))
        .map(|key| key.address())
    };
    for (mode, taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(text(&file).is_some(), taken, "{mode:o}");
    }
    assert_eq!(text(&dir.path().join("none")), None);
}

#[test]
fn test_networks_and_private_chains_have_their_names() {
    // Checks: a preset sets id, token and names. Each value can be overridden by its own setting, and an invalid one is
    // reported by name.
    let on = |base: &str, solana: &str| {
        let mut changed = config("");
        let set = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        for (key, value) in set(base) {
            match (key.as_str(), value) {
                ("network", _) => changed.chains.base.network = BaseNetwork::Sepolia,
                ("chain_id", value) => {
                    changed.chains.base.chain_id = u64::try_from(value.as_integer().unwrap()).unwrap()
                }
                ("usdc", value) => changed.chains.base.usdc = value.as_str().unwrap().into(),
                (_, value) => changed.chains.base.usdc_name = value.as_str().unwrap().into(),
            }
        }
        for (key, value) in set(solana) {
            match key.as_str() {
                "network" => changed.chains.solana.network = SolanaNetwork::Devnet,
                "genesis_hash" => changed.chains.solana.genesis_hash = value.as_str().unwrap().into(),
                _ => changed.chains.solana.usdc_mint = value.as_str().unwrap().into(),
            }
        }
        names(&changed).map_err(keys)
    };
    let test = on("network = \"sepolia\"", "network = \"devnet\"").unwrap();
    let both = Chains {
        base: BaseChain::SEPOLIA,
        solana: SolanaChain::DEVNET,
    };
    assert_eq!(test, both);
    let local = on(
        "chain_id = 31337\nusdc_name = \"Test\"",
        "genesis_hash = \"11111111111111111111111111111112\"",
    );
    let local = local.unwrap();
    assert_eq!(
        (local.base.caip2, local.base.token.name, local.base.v1_name),
        ("eip155:31337", "Test", "")
    );
    assert_eq!(local.base.token.asset, Token::USDC.asset);
    assert_eq!(local.solana.caip2, "solana:11111111111111111111111111111112");
    let wrong = on("usdc = \"0x12\"", "usdc_mint = \"x\"").unwrap_err();
    assert_eq!(wrong, ["chains.base.usdc", "chains.solana.usdc_mint"]);
    let sandbox = on(&format!("usdc_name = {:?}", Token::SANDBOX.name), "");
    assert_eq!(sandbox.unwrap_err(), ["chains.base.usdc_name"]);
    assert_eq!(
        on("", "genesis_hash = \"abc\"").unwrap_err(),
        ["chains.solana.genesis_hash"]
    );
}

#[test]
fn factories_of_wallets_are_addresses() {
    // Checks: the default is empty, and an invalid address stops the start with the name of the setting.
    assert!(resolved("", &[]).unwrap().base.erc6492_factories.is_empty());
    let of = |factories: &[&str]| {
        let mut changed = config("");
        changed.chains.base.erc6492_factories = factories.iter().map(ToString::to_string).collect();
        let chains = RealChains::resolve(&changed, &variable).map_err(keys);
        chains.map(|chains| chains.base.erc6492_factories)
    };
    let factory = format!("0x{}", "7a".repeat(20));
    assert_eq!(of(&[&factory]), Ok(vec![Address::repeat_byte(0x7a)]));
    assert_eq!(
        of(&[&factory, "0x12"]),
        Err(vec!["chains.base.erc6492_factories[1]".to_owned()])
    );
}

#[test]
fn the_bridge_is_that_of_the_network() {
    // Checks: contracts, Iris, finality and fee limit follow from the network or from their own settings. Invalid
    // addresses are rejected by name.
    use purser_chains::cctp::burn::FeeRate;
    use purser_chains::cctp::{MAINNET, THRESHOLD_FAST, THRESHOLD_STANDARD};
    let bridge = with(Vec::new()).unwrap().bridge;
    assert_eq!((bridge.cctp.deployment, bridge.iris.as_str()), (MAINNET, MAINNET.iris));
    assert_eq!(bridge.cctp.min_finality_threshold, THRESHOLD_STANDARD);
    assert_eq!(Some(bridge.cctp.max_fee), FeeRate::parse_basis_points("2"));
    let own = "[chains.bridge]\nfinality = \"fast\"\niris_url = \"https://iris.example\"\ntimeout_ms = 7\n\
               message_transmitter = \"0x2222222222222222222222222222222222222222\"";
    let bridge = resolved(own, &[]).unwrap().bridge;
    assert_eq!(bridge.cctp.deployment.message_transmitter, [0x22; 20]);
    assert_eq!(bridge.cctp.deployment.token_messenger, MAINNET.token_messenger);
    assert_eq!(bridge.cctp.min_finality_threshold, THRESHOLD_FAST);
    assert_eq!(
        (bridge.iris.as_str(), bridge.timeout),
        ("https://iris.example", Duration::from_millis(7))
    );
    let wrong = "[chains.bridge]\ntoken_messenger = \"0x1\"\nmessage_transmitter = \"base\"";
    assert_eq!(
        resolved(wrong, &[]).unwrap_err(),
        ["chains.bridge.token_messenger", "chains.bridge.message_transmitter"]
    );
}

#[test]
fn on_testnets_the_bridge_is_circles_sandbox() {
    use purser_chains::cctp::TESTNET;
    let config = Config::read_unchecked(&ConfigSources {
        file: Some((
            "my.toml".into(),
            "[chains.base]\nnetwork = \"sepolia\"\n[chains.solana]\nnetwork = \"devnet\"".into(),
        )),
        ..ConfigSources::default()
    })
    .unwrap();
    let mut reader = Reader {
        variable: &|_| None,
        errors: Vec::new(),
    };
    let bridge = reader.bridge(&config).unwrap();
    assert_eq!((bridge.cctp.deployment, bridge.iris.as_str()), (TESTNET, TESTNET.iris));
}

#[test]
fn a_facilitators_secret_is_read_and_fits_its_authentication() {
    // Checks: secrets of facilitators are read from the configured sources. A missing secret, an invalid header or CDP
    // key, and a facilitator listed twice are rejected. The error names the setting and does not quote the secret.
    use base64::Engine as _;
    let cdp = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).to_keypair_bytes();
    let cdp = base64::engine::general_purpose::STANDARD.encode(cdp);
    let list = r#"facilitators = [
        { url = "https://one.example/x402/", auth = "header", secret = "env:HEADER", timeout_ms = 900 },
        { url = "https://two.example", auth = "cdp", key_id = "id", secret = "env:CDP" },
        { url = "https://three.example" },
    ]"#;
    let read = |list: &str, header: &str, key: &str| {
        let variable = |name: &str| match name {
            "HEADER" => Some(header.to_owned()),
            "CDP" => Some(key.to_owned()),
            "NONE" => None,
            name => variable(name),
        };
        RealChains::resolve(&config(list), &variable)
    };
    let chains = read(list, "Bearer of-mine\n", &cdp).unwrap();
    let found = &chains.solana.facilitators;
    let names: Vec<&str> = found.iter().map(FacilitatorSettings::name).collect();
    let expected = [
        "https://one.example/x402",
        "https://two.example",
        "https://three.example",
    ];
    assert_eq!(names, expected);
    assert_eq!(found[0].timeout, Duration::from_millis(900));
    let shown = format!("{found:?}");
    assert!(!shown.contains("of-mine") && !shown.contains(&cdp), "{shown}");
    let key = |n: usize, setting: &str| format!("chains.solana.facilitators[{n}].{setting}");
    let twice = list.replace("three.example", "two.example/");
    let missing = list.replace("env:HEADER", "env:NONE");
    let wrong = [
        (list, "", cdp.as_str(), key(0, "secret")),
        (list, "a\u{1}b", cdp.as_str(), key(0, "secret")),
        (list, "good", "no key at all", key(1, "secret")),
        (missing.as_str(), "good", cdp.as_str(), key(0, "secret")),
        (twice.as_str(), "good", cdp.as_str(), key(2, "url")),
    ];
    for (list, header, secret, setting) in wrong {
        let error = read(list, header, secret).unwrap_err();
        assert!(!error.to_string().contains("no key at all"), "{error}");
        assert_eq!(keys(error), [setting]);
    }
}
