#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::ConfigSources;

/// Valid production settings with chains.
const PRODUCTION_CONFIG: &str = include_str!("tests/production.toml");

/// No products are sold, so no provider is needed.
fn config_without_products() -> String {
    format!("{PRODUCTION_CONFIG}{}", include_str!("tests/nothing_sold.toml"))
}

fn load(text: &str) -> Result<Config, Vec<String>> {
    let sources = ConfigSources {
        file: Some(("my.toml".into(), text.into())),
        ..ConfigSources::default()
    };
    let found = Config::load(&sources);
    found.map_err(|wrong| {
        wrong
            .0
            .iter()
            .map(|error| error.key().unwrap_or_default().to_owned())
            .collect()
    })
}

#[test]
fn the_chains_are_read_as_what_they_are() {
    // Checks: units, defaults of an endpoint, the location of a secret, and finality steps.
    let config = load(&config_without_products()).unwrap();
    let Chains { base, solana, bridge } = config.chains;
    assert_eq!(bridge.finality, BridgeFinality::Standard);
    assert_eq!(
        bridge.max_fee(),
        purser_chains::cctp::burn::FeeRate::parse_basis_points("2")
    );
    assert_eq!(base.max_fee_gwei, 5_000_000_000);
    assert_eq!(base.gas_floor_eth, 500_000_000_000_000);
    let limits: Vec<_> = base.endpoints.iter().map(|e| (e.rate, e.burst, e.timeout_ms)).collect();
    assert_eq!(limits, [(25, 50, 5_000), (5, 9, 700)]);
    assert!(matches!(&base.endpoints[1].url, Location::Env(name) if name == "BASE_URL"));
    assert!(matches!(&base.treasury_key, Location::File(path) if path.ends_with("base")));
    let steps: Vec<_> = base
        .finality
        .iter()
        .map(|s| (s.up_to_usd.map(Usdc::atomic), s.depth))
        .collect();
    assert_eq!(steps, [(Some(100_000_000), Depth::Blocks(1)), (None, Depth::Safe)]);
    assert_eq!((solana.fee_payers.len(), solana.max_priority_fee_lamports), (2, 20_000));
    assert_eq!(solana.finality[0].depth, Depth::Finalized);
}

#[test]
fn a_secret_is_not_printed() {
    // Checks: debug output and errors contain neither a URL with a key in it nor a key written into the settings by
    // mistake.
    let config = load(&config_without_products()).unwrap();
    assert!(!format!("{config:?}").contains("one.example"), "a URL may carry a key");
    let text = config_without_products().replace("file:/etc/base", "4c0883a69102937d6231471b5dbb6204");
    let sources = ConfigSources {
        file: Some(("my.toml".into(), text)),
        ..ConfigSources::default()
    };
    let error = Config::load(&sources).unwrap_err().to_string();
    assert!(error.contains("`chains.base.treasury_key`"), "{error}");
    assert!(!error.contains("4c0883a6"), "{error}");
}

#[test]
fn all_chain_problems_are_reported_at_once() {
    // Checks: each of these is rejected under its own name, and all of them in one start.
    let slips = [
        (
            "{ depth = \"safe\" }]\n",
            "finality = [{ depth = \"safe\" }]\n",
            "chains.solana.finality",
        ),
        ("gas_keys = [\"env:GAS\"]", "gas_keys = []", "chains.base.gas_keys"),
        ("[{ url = \"https://two.example\" }]", "[]", "chains.solana.endpoints"),
        ("rate = 5", "rate = 0", "chains.base.endpoints[1]"),
        (
            "treasury_key = \"env:SOL\"",
            "treasury_key = \"\"",
            "chains.solana.treasury_key",
        ),
        ("\"file:/etc/two\"]", "\"abc\"]", "chains.solana.fee_payers[1]"),
    ];
    let mut all = config_without_products();
    for (old, new, key) in slips {
        let change = |text: &str| match key {
            "chains.solana.finality" => text.replace("[chains.solana]\n", &format!("[chains.solana]\n{new}")),
            _ => text.replace(old, new),
        };
        assert_eq!(load(&change(&config_without_products())).unwrap_err(), [key], "{new}");
        all = change(&all);
    }
    let mut found = load(&all).unwrap_err();
    found.sort();
    let mut expected: Vec<_> = slips.iter().map(|(_, _, key)| (*key).to_owned()).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn finality_rises_and_covers_everything() {
    // Checks: for every amount exactly one step applies, and an invalid step is named.
    let with = |steps: &str| {
        load(&config_without_products().replace("[chains.base]\n", &format!("[chains.base]\nfinality = {steps}\n")))
    };
    for valid in [
        "[{ depth = \"confirmed\" }]",
        "[{ up_to_usd = \"5\", depth = \"64\" }, { depth = \"finalized\" }]",
    ] {
        assert!(with(valid).is_ok(), "{valid}");
    }
    for wrong in [
        "[]",
        "[{ up_to_usd = \"5\", depth = \"1\" }]",
        "[{ up_to_usd = \"5\", depth = \"1\" }, { up_to_usd = \"5\", depth = \"2\" }, { depth = \"safe\" }]",
        "[{ depth = \"1\" }, { up_to_usd = \"5\", depth = \"2\" }]",
    ] {
        assert_eq!(with(wrong).unwrap_err(), ["chains.base.finality"], "{wrong}");
    }
    for unread in ["[{ depth = \"65\" }]", "[{ depth = \"0\" }]", "[{ depth = \"deep\" }]"] {
        assert_eq!(with(unread).unwrap_err(), ["chains.base.finality[0].depth"], "{unread}");
    }
}

#[test]
fn a_facilitator_takes_the_place_of_keys_that_pay() {
    // Checks: with a facilitator no gas key is needed. Its secret is a reference, and fits its kind of authentication.
    let with = |facilitator: &str| {
        let text =
            config_without_products().replace("gas_keys = [\"env:GAS\"]", &format!("facilitators = [{facilitator}]"));
        load(&text)
    };
    for valid in [
        "{ url = \"https://x402.example\" }",
        "{ url = \"http://127.0.0.1:4021\", timeout_ms = 1 }",
        "{ url = \"https://x402.example\", auth = \"header\", secret = \"env:F\" }",
        "{ url = \"https://x402.example\", auth = \"cdp\", secret = \"file:/f\", key_id = \"id\" }",
    ] {
        assert!(with(valid).is_ok(), "{valid}");
    }
    for (wrong, setting) in [
        ("{ url = \"http://x402.example\" }", "url"),
        ("{ url = \"https://x402.example\", auth = \"header\" }", "auth"),
        (
            "{ url = \"https://x402.example\", auth = \"cdp\", secret = \"file:/f\" }",
            "auth",
        ),
        ("{ url = \"https://x402.example\", secret = \"env:F\" }", "auth"),
        ("{ url = \"https://x402.example\", timeout_ms = 0 }", "timeout_ms"),
    ] {
        assert_eq!(
            with(wrong).unwrap_err(),
            [format!("chains.base.facilitators[0].{setting}")],
            "{wrong}"
        );
    }
}

#[test]
fn what_is_not_sold_needs_no_provider() {
    // Checks: each product requires exactly the providers that it cannot be sold without.
    let needs = |product: &str| {
        let text = config_without_products().replace(&format!("[products.{product}]\navailable = false\n"), "");
        load(&text).map_or_else(|wrong| wrong, |_| Vec::new())
    };
    let urls = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("providers.{name}.url"))
            .collect::<Vec<_>>()
    };
    assert_eq!(needs("usa_prepaid_card"), urls(&["issuer"]));
    assert_eq!(needs("intl_prepaid_card"), urls(&[]), "operators enter it");
    assert_eq!(needs("gift_card"), urls(&["gift_cards", "rates"]));
    assert_eq!(needs("push_to_card"), urls(&["payouts", "rates"]));
    assert_eq!(
        needs("card_balance"),
        urls(&["identity", "issuer_accounts"]),
        "the bridge is built in"
    );
}

#[test]
fn the_bridge_is_refused_by_the_names_of_its_settings() {
    // Checks: fee limits that are not basis points or exceed what a restore recognises, URLs without https, and a zero
    // timeout are rejected.
    let with = |line: &str| load(&format!("{}[chains.bridge]\n{line}\n", config_without_products()));
    for line in [
        "finality = \"fast\"",
        "max_fee_bps = \"0\"",
        "max_fee_bps = \"98.9999\"",
        "max_fee_bps = \"99\"",
        "iris_url = \"http://127.0.0.1:1/v\"",
        "timeout_ms = 1",
    ] {
        assert!(with(line).is_ok(), "{line}");
    }
    for (line, key) in [
        ("max_fee_bps = \"99.0001\"", "chains.bridge.max_fee_bps"),
        ("max_fee_bps = \"1e1\"", "chains.bridge.max_fee_bps"),
        ("iris_url = \"http://iris.example\"", "chains.bridge.iris_url"),
        ("iris_url = \"iris\"", "chains.bridge.iris_url"),
        ("timeout_ms = 0", "chains.bridge.timeout_ms"),
    ] {
        assert_eq!(with(line).unwrap_err(), [key], "{line}");
    }
    assert!(with("finality = \"soon\"").is_err());
}

#[test]
fn the_sandbox_has_no_real_chains() {
    // Checks: test money and real money never meet in one process, and the sandbox does not check the chains' settings.
    assert_eq!(
        load("[settlement]\nkind = \"chains\"").unwrap_err().last().unwrap(),
        "settlement.kind"
    );
    assert!(load("[chains.base]\ngas_keys = [\"env:X\"]").is_ok());
}
