#![allow(clippy::unwrap_used)]

use purser_actors::money::Cents;

use super::{Config, ConfigSources, CountryList, Mode};

fn file(text: &str) -> ConfigSources {
    ConfigSources {
        file: Some(("my.toml".into(), text.into())),
        ..ConfigSources::default()
    }
}

fn env(name: &str, value: &str) -> ConfigSources {
    ConfigSources {
        env: vec![(name.into(), value.into())],
        ..ConfigSources::default()
    }
}

// Checks: the file in the repository is complete and every default passes its own checks.
#[test]
fn the_defaults_load() {
    let config = Config::load(&ConfigSources::default()).unwrap();
    assert_eq!(config.mode, Mode::Sandbox);
    assert_eq!(config.products.usa_prepaid_card.max_amount, Cents::new(100_000));
    let sold: Vec<_> = config
        .products
        .all()
        .into_iter()
        .filter(|(_, p)| p.available)
        .map(|(name, _)| name)
        .collect();
    assert!(sold.contains(&"usa_prepaid_card"), "{sold:?}");
    assert_eq!(config.products.intl_prepaid_card.countries, CountryList::Unrestricted);
    let paypal = &config.products.app_payment.countries_by_platform["paypal"];
    assert_eq!(paypal.codes(), Some(config.availability.countries.as_slice()));
}

// Checks (case 25): the fee vectors of the decisions match the rates in config.toml.
#[test]
fn case_25_fees_round_up_to_the_cent() {
    let products = Config::load(&ConfigSources::default()).unwrap().products;
    for (product, amount, total) in [
        (&products.bank_payment, "2000", 200_500),
        (&products.bank_payment, "10", 1_150),
        (&products.bank_payment, "50000", 5_012_500),
        (&products.app_payment, "5", 650),
        (&products.app_payment, "1000", 104_900),
        (&products.intl_prepaid_card, "100", 10_380),
        (&products.intl_prepaid_card, "1000", 103_800),
        (&products.push_to_card, "9541.98", 1_000_000),
        (&products.gift_card, "9000", 943_200),
        (&products.usa_prepaid_card, "5", 500),
    ] {
        assert_eq!(
            product.fee().total(Cents::parse(amount).unwrap()),
            Ok(Cents::new(total)),
            "{amount}"
        );
    }
}

// Checks: each layer overrides the one before it.
#[test]
fn the_later_layer_wins() {
    let mut sources = file("[server]\nlisten = \"127.0.0.1:1\"\nmax_connections = 7");
    assert_eq!(Config::load(&sources).unwrap().server.listen.port(), 1);
    sources.env = vec![
        ("PURSER_SERVER__LISTEN".into(), "127.0.0.1:2".into()),
        ("PURSER_LOG".into(), "x".into()),
    ];
    assert_eq!(Config::load(&sources).unwrap().server.listen.port(), 2);
    sources.flags = vec![("server.listen".into(), "127.0.0.1:3".into())];
    let config = Config::load(&sources).unwrap();
    assert_eq!((config.server.listen.port(), config.server.max_connections), (3, 7));
}

// Checks: lists, numbers and booleans from the environment have the right types.
#[test]
fn the_environment_is_typed_by_the_defaults() {
    let proxies = Config::load(&env("PURSER_SERVER__TRUSTED_PROXIES", "[\"10.0.0.1\"]")).unwrap();
    assert_eq!(
        proxies.server.trusted_proxies,
        ["10.0.0.1".parse::<super::IpNetwork>().unwrap()]
    );
    let sold = Config::load(&env("PURSER_PRODUCTS__GIFT_CARD__AVAILABLE", "true")).unwrap();
    assert!(sold.products.gift_card.available);
}

// Checks: the operator API listens on this machine only unless configured otherwise, and can be disabled.
#[test]
fn operator_address_is_local_by_default() {
    let listen = |sources: &ConfigSources| Config::load(sources).unwrap().operator.listen;
    assert!(listen(&ConfigSources::default()).unwrap().ip().is_loopback());
    assert_eq!(listen(&env("PURSER_OPERATOR__LISTEN", "")), None);
    assert!(listen(&env("PURSER_OPERATOR__LISTEN", "[::1]:0")).is_some());
    let said = file("[operator]\nlisten = \"0.0.0.0:8403\"\nallow_remote = true");
    assert_eq!(listen(&said).unwrap().port(), 8403);
}

// Checks: the operators' webhook has a public address, unless the settings allow this internal one, and a secret that is not
// in the settings. An internal address that is allowed allows no other.
#[test]
fn operators_webhook_needs_an_address_and_a_secret() {
    let load = |lines: &str| Config::load(&file(&format!("[operator]\n{lines}")));
    let secret = "webhook_secret = \"env:DESK\"\n";
    let public = "webhook_url = \"https://alerts.example.com:8443/x\"\n";
    let internal = "webhook_url = \"http://10.0.0.5:9000/x\"\n";
    assert!(load(&format!("{public}{secret}")).is_ok());
    for (lines, key) in [
        (public.to_owned(), "operator.webhook_secret"),
        (secret.to_owned(), "operator.webhook_secret"),
        (
            format!("{public}webhook_secret = \"whsec_x\""),
            "operator.webhook_secret",
        ),
        (format!("{internal}{secret}"), "operator.webhook_url"),
        (
            format!("webhook_url = \"ftp://a.example/\"\n{secret}"),
            "operator.webhook_url",
        ),
    ] {
        let refused = load(&lines).unwrap_err().to_string();
        assert!(
            refused.contains(key) && !refused.contains("whsec_x"),
            "{lines}: {refused}"
        );
    }
    let allowed = load(&format!("{internal}{secret}webhook_allow_internal = true")).unwrap();
    let policy = allowed.operator.webhook_policy(&allowed.outbound);
    assert!(policy.check_url("http://10.0.0.5:9000/y").is_ok());
    for other in [
        "http://10.0.0.5:9001/",
        "http://10.0.0.6:9000/",
        "http://localhost:9000/",
    ] {
        assert!(policy.check_url(other).is_err(), "{other}");
    }
}

// Checks: a list of payment apps replaces the default's, so that the apps' names are settings too.
#[test]
fn payment_apps_are_the_operators_to_name() {
    let config = Config::load(&file("[products.app_payment.countries_by_platform]\nzelda = [\"US\"]")).unwrap();
    let names: Vec<_> = config.products.app_payment.countries_by_platform.keys().collect();
    assert_eq!(names, ["zelda"]);
}

/// In a file, each with the expected message.
fn check_typos_in_file() -> Vec<(ConfigSources, &'static str)> {
    vec![
        (
            file("[server]\nlisen = \"x\""),
            "my.toml: there is no setting `server.lisen`; did you mean `listen`?",
        ),
        (
            file("[sever]"),
            "my.toml: there is no setting `sever`; did you mean `server`?",
        ),
        (
            file("[server]\nmax_connections = \"7\""),
            "my.toml: `server.max_connections` must be a whole number",
        ),
        (
            file("[caps]\ncard_usd_per_day = 7.5"),
            "my.toml: `caps.card_usd_per_day` must be text in quotes",
        ),
        (
            file("[caps]\ncard_usd_per_day = \"7.555\""),
            "`caps.card_usd_per_day`: amount \"7.555\"",
        ),
        (
            file("[products.gift_card]\nfee_rate = \"-1\""),
            "\"-1\" is not a plain decimal",
        ),
        (
            file("[products.gift_card]\nfee_rate = \"4.8\""),
            "`products.gift_card.fee_rate`: is a fraction",
        ),
        (
            file("[products.bank_payment]\nmin_amount = \"60000\""),
            "`products.bank_payment.min_amount`: must be",
        ),
    ]
}

/// In the environment and in values with their own format; the message text is not compared.
fn check_typos_in_names_and_addresses() -> Vec<(ConfigSources, &'static str)> {
    vec![
        (file("= 1"), "my.toml is not valid TOML"),
        (
            env("PURSER_SERVER__PORT", "1"),
            "PURSER_SERVER__PORT: there is no setting `server.port`",
        ),
        (
            env("PURSER_LIMIT__X", "1"),
            "there is no setting `limit.x`; did you mean `limits`?",
        ),
        (env("PURSER_SERVER", "1"), ""),
        (
            env("PURSER_SERVER__MAX_CONNECTIONS", "many"),
            "`server.max_connections` must be a whole number",
        ),
        (
            env("PURSER_SERVER__LISTEN__X", "1"),
            "there is no setting `server.listen.x`",
        ),
        (env("PURSER_MODE", "prod"), "unknown variant `prod`"),
        (
            file("[server]\npublic_url = \"https://a.example/x\""),
            "`server.public_url`: must not have a path",
        ),
        (
            file("[server]\npublic_url = \"ftp://a.example\""),
            "`server.public_url`: must begin with",
        ),
        (
            file("[server]\ncontact = \"call us\""),
            "`server.contact`: must be an e-mail address or an https:// URL",
        ),
        (
            env("PURSER_STREAM__MESSAGES_PER_MINUTE", "4"),
            "`stream.messages_per_minute`: must allow more",
        ),
        (
            env("PURSER_OPERATOR__LISTEN", "localhost"),
            "\"localhost\" is not an address:port",
        ),
        (
            env("PURSER_OPERATOR__LISTEN", "0.0.0.0:8403"),
            "`operator.listen`: reaches beyond this machine",
        ),
        (
            env("PURSER_OPERATOR__LISTEN", "127.0.0.1:8402"),
            "`operator.listen`: must not be server.listen",
        ),
        (
            file("[payment.pay_to]\nbase = \"0x12\""),
            "`payment.pay_to.base`: is not an address",
        ),
    ]
}

// Checks: every message names the setting, and a typing error gets the right suggestion.
#[test]
fn a_mistake_is_named() {
    for (sources, words) in check_typos_in_file()
        .into_iter()
        .chain(check_typos_in_names_and_addresses())
    {
        match Config::load(&sources) {
            Ok(_) => assert!(words.is_empty(), "accepted, expected {words}"),
            Err(error) => {
                let said = error.to_string();
                assert!(!words.is_empty() && said.contains(words), "{said:?} lacks {words:?}");
            }
        }
    }
}

// Checks: all problems are reported together and once, in any layer and of any kind. An unreadable value hides nothing
// else.
#[test]
fn all_problems_are_reported_at_once() {
    let mut sources = file(
        "[server]\nlisen = \"x\"\npublic_url = \"ftp://a.example\"\n[caps]\ncard_usd_per_day = \"x\"\ntop_up_usd_per_day = \"y\"\n\
         [versions]\ndeprecated_routes = [{ route = 7 }]\n[rates.usd_per_unit]\nEUR = \"x\"",
    );
    sources.env = vec![
        ("PURSER_SERVER__PORT".into(), "1".into()),
        ("PURSER_LOG__FORMAT".into(), "xml".into()),
        ("PURSER_RECONCILIATION__PAGE_SIZE".into(), "0".into()),
    ];
    let wrong = Config::load(&sources).unwrap_err();
    let keys: Vec<&str> = wrong.0.iter().filter_map(|error| error.key()).collect();
    for key in [
        "server.lisen",
        "server.port",
        "log.format",
        "caps.card_usd_per_day",
        "caps.top_up_usd_per_day",
        "server.public_url",
        "reconciliation.page_size",
    ] {
        assert_eq!(keys.iter().filter(|named| **named == key).count(), 1, "{key}: {wrong}");
    }
    for beginning in ["versions.deprecated_routes", "rates.usd_per_unit"] {
        assert!(
            keys.iter().any(|key| key.starts_with(beginning)),
            "{beginning}: {wrong}"
        );
    }
    assert_eq!(wrong.to_string().lines().count(), wrong.0.len(), "a line each");
}

// Checks: 0 means no cap, for every cap on a count or sum.
#[test]
fn zero_is_no_cap_anywhere() {
    let text = "[caps]\ncards_per_day = 0\ncard_usd_per_day = \"0\"\n[limits]\nrequests_per_window = 0\npayments_per_window = 0\n\
                [signup]\nper_minute = 0\nper_hour = 0\n[agent_wallet]\ndefault_daily_cap_usd = \"0\"\nmax_calls_per_minute = 0\n\
                [stream]\nmessages_per_minute = 0";
    let config = Config::load(&file(text)).unwrap();
    assert_eq!(config.caps.daily_caps(), purser_actors::product::DailyCaps::NONE);
    let limits = &config.limits;
    assert_eq!(
        (limits.requests_per_window, limits.payments_per_window),
        (u32::MAX, u32::MAX)
    );
    assert_eq!((config.signup.per_minute, config.signup.per_hour), (u32::MAX, u32::MAX));
    assert_eq!(config.agent_wallet.default_caps().per_day, None);
    assert_eq!(
        (
            config.agent_wallet.max_calls_per_minute,
            config.stream.messages_per_minute
        ),
        (u32::MAX, u32::MAX)
    );
    let by_sum = Config::load(&file("[caps]\ncards_per_day = 0"))
        .unwrap()
        .caps
        .daily_caps();
    let cap = by_sum.for_line(purser_actors::product::ProductLine::UsaCard).unwrap();
    assert_eq!((cap.count, cap.sum), (u32::MAX, Cents::new(2_000_000)));
}

// Checks: a configured address is not changed if its port is taken; a default one is.
#[test]
fn only_the_defaults_ports_move_on() {
    let moves = |sources: &ConfigSources| {
        let config = Config::load(sources).unwrap();
        (config.server.moves_on, config.operator.moves_on)
    };
    assert_eq!(moves(&ConfigSources::default()), (true, true));
    assert_eq!(moves(&file("[server]\nlisten = \"127.0.0.1:8402\"")), (false, true));
    assert_eq!(moves(&env("PURSER_OPERATOR__LISTEN", "127.0.0.1:8403")), (true, false));
    let flags = vec![("server.listen".into(), "127.0.0.1:1".into())];
    let flagged = ConfigSources {
        flags,
        ..ConfigSources::default()
    };
    assert_eq!(moves(&flagged), (false, true));
}

// Checks: no sandbox key, ledger or address is accepted in production.
#[test]
fn production_refuses_every_sandbox_default() {
    let mut text = String::from("mode = \"production\"\n");
    for (refused, cure) in [
        (
            "payment.pay_to.base",
            "[payment.pay_to]\nbase = \"0x1111111111111111111111111111111111111111\"\n",
        ),
        (
            "payment.pay_to.solana",
            "solana = \"11111111111111111111111111111112\"\n",
        ),
        ("identity.signing_key_file", "[identity]\nsigning_key_file = \"/k\"\n"),
        ("identity.vault_key_file", "vault_key_file = \"/s\"\n"),
        ("server.public_url", "[server]\npublic_url = \"https://pay.example\"\n"),
        ("settlement.kind", ""),
    ] {
        let error = Config::load(&file(&text)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{refused}`")), "{error}");
        text.push_str(cure);
    }
}

// Checks: the public URL is never empty or unroutable.
#[test]
fn the_public_url_follows_the_socket_unless_it_is_set() {
    let server = Config::load(&ConfigSources::default()).unwrap().server;
    assert_eq!(server.public_url("127.0.0.1:9".parse().unwrap()), "http://127.0.0.1:9");
    assert_eq!(server.public_url("0.0.0.0:9".parse().unwrap()), "http://localhost:9");
    let named = Config::load(&file("[server]\npublic_url = \"https://pay.example\""))
        .unwrap()
        .server;
    assert_eq!(named.public_url("0.0.0.0:9".parse().unwrap()), "https://pay.example");
}

// Checks: only what a page can link to is accepted as the operator's contact, and an empty one is none.
#[test]
fn the_contact_is_an_address_that_pages_can_link_to() {
    let contact = |text: &str| Config::load(&file(&format!("[server]\ncontact = \"{text}\"")));
    for valid in [
        "help@pay.example",
        "ops+purser@pay.example",
        "https://pay.example/help?from=purser",
    ] {
        assert_eq!(contact(valid).unwrap().server.contact(), Some(valid));
    }
    for wrong in [
        "help",
        "@pay.example",
        "help@",
        "a@b@c",
        "help@pay.example?bcc=x",
        "http://pay.example",
        "https://",
        "https://ops@pay.example",
        "javascript:alert(1)",
        "help@pay.example ",
    ] {
        assert!(contact(wrong).is_err(), "{wrong}");
    }
    assert_eq!(contact("").unwrap().server.contact(), None);
}

// Checks: rates are exact, an operator's table replaces ours, and an unusable rate is rejected.
#[test]
fn rates_are_exact_and_replaced_as_a_whole() {
    let defaults = Config::load(&ConfigSources::default()).unwrap();
    let rates = defaults.rates.table();
    assert_eq!(rates.usd_per_unit["JPY"].to_string(), "0.00661");
    assert_eq!(
        purser_protocol::rfc3339::format(rates.as_of),
        "2026-11-20T00:00:00.000Z"
    );
    let table = |text: &str| Config::load(&file(&format!("[rates.usd_per_unit]\n{text}")));
    let own = table("USD = \"1\"\nCHF = \"1.1\"").unwrap().rates.usd_per_unit;
    assert_eq!(own.keys().collect::<Vec<_>>(), ["CHF", "USD"]);
    for wrong in [
        "EUR = \"1.1\"",
        "USD = \"1.01\"",
        "USD = \"1\"\nEUR = \"0\"",
        "USD = \"1\"\nEUR = \"-1\"",
        "USD = \"1\"\nEUR = \"1e3\"",
        "USD = \"1\"\nEUR = 1.1",
        "USD = \"1\"\neur = \"1.1\"",
        "USD = \"1\"\nEURO = \"1.1\"",
    ] {
        assert!(table(wrong).is_err(), "{wrong}");
    }
    assert!(Config::load(&file("[rates]\nas_of = \"yesterday\"")).is_err());
}

// Checks (case 78): the quiet period after a restore covers everything that was accepted or signed. That is the longest
// accepted payment and what agent wallets sign. A shorter period is rejected by name.
#[test]
fn case_78_the_quiet_time_covers_the_longest_authorization() {
    let quiet = |seconds: u64, timeout: u64| {
        let text = format!("[engine]\nrestore_pause_seconds = {seconds}\n[payment]\nquote_ttl_seconds = {timeout}\n");
        Config::load(&file(&text)).map(drop).map_err(|error| error.to_string())
    };
    for (seconds, timeout, fits) in [
        (900, 300, true),
        (899, 300, false),
        (900, 60, true),
        (899, 60, false),
        (1_000, 401, false),
    ] {
        let result = quiet(seconds, timeout);
        assert_eq!(result.is_ok(), fits, "{seconds} and {timeout}: {result:?}");
        if let Err(error) = result {
            assert!(error.contains("engine.restore_pause_seconds"), "{error}");
        }
    }
    assert!(
        Config::load(&ConfigSources::default())
            .unwrap()
            .engine
            .restore_pause_seconds
            >= 900
    );
}
