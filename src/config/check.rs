//! What types cannot say: values that contradict each other, and defaults that are unsafe with real money.

use purser_actors::agent_wallet::Limits;
use purser_actors::id::Network;
use purser_actors::operator::house;
use rust_decimal::Decimal;

use crate::sandbox::keys::treasury;

use super::{Config, ConfigError, Countries, Product, ProviderKind};

pub(super) type Checked = Result<(), ConfigError>;

fn refuse(key: &'static str, reason: impl Into<String>) -> ConfigError {
    ConfigError::Refused {
        key,
        reason: reason.into(),
    }
}

pub(super) fn require(holds: bool, key: &'static str, reason: &str) -> Checked {
    if holds { Ok(()) } else { Err(refuse(key, reason)) }
}

pub(super) fn check(config: &Config) -> Checked {
    server(config)?;
    operator(config)?;
    engine(config)?;
    for network in Network::ALL {
        let key = if network == Network::Base {
            "payment.pay_to.base"
        } else {
            "payment.pay_to.solana"
        };
        require(
            config.payment.pay_to.wallet(network).is_some(),
            key,
            "is not an address of that network",
        )?;
    }
    for (name, product) in config.products.all() {
        self::product(name, product)?;
    }
    codes("service.countries", &config.service.countries)?;
    spending(config)?;
    require(
        config.versions.retiring.iter().all(super::Retirement::is_plain),
        "versions.retiring",
        "a route and its successor are two paths, such as /refresh and /auth",
    )?;
    reconciliation(config)?;
    config.webhooks.check()?;
    rates(config)?;
    outsiders(config)?;
    if config.is_sandbox() {
        sandbox(config)
    } else {
        production(config)
    }
}

fn spending(config: &Config) -> Checked {
    let per_call = Limits::LEAST_PER_CALL..=Limits::MOST_PER_CALL;
    require(
        per_call.contains(&config.agent_wallet.per_call_usd),
        "agent_wallet.per_call_usd",
        "must lie between 1 and 50000",
    )?;
    require(
        config.agent_wallet.calls_per_minute > 0,
        "agent_wallet.calls_per_minute",
        "must be at least 1",
    )?;
    let outbound = &config.outbound;
    require(
        (1..=1_000_000).contains(&outbound.max_body_bytes),
        "outbound.max_body_bytes",
        "must lie between 1 and 1000000: answers to paid calls are kept",
    )?;
    require(outbound.timeout_ms > 0, "outbound.timeout_ms", "must be at least 1")
}

fn reconciliation(config: &Config) -> Checked {
    require(
        (1..=1_000).contains(&config.reconciliation.page),
        "reconciliation.page",
        "must lie between 1 and 1000",
    )
}

const PAY_TO: [(&str, Network); 2] = [
    ("payment.pay_to.base", Network::Base),
    ("payment.pay_to.solana", Network::Solana),
];

/// The sandbox's chains pay the sandbox's treasury; another address would take payments that nobody could account for.
fn sandbox(config: &Config) -> Checked {
    for (key, network) in PAY_TO {
        let ours = config.payment.pay_to.wallet(network) == Some(treasury(network));
        require(ours, key, "the sandbox is paid at its own treasury; leave the default")?;
    }
    Ok(())
}

fn server(config: &Config) -> Checked {
    let server = &config.server;
    public_url(&server.public_url)?;
    require(
        server.max_connections > 0,
        "server.max_connections",
        "must be at least 1",
    )?;
    require(
        (8192..=65536).contains(&server.max_header_bytes),
        "server.max_header_bytes",
        "must lie between 8192, which the largest payment with its other headers needs, and 65536",
    )?;
    require(
        (256..=65536).contains(&server.max_url_bytes),
        "server.max_url_bytes",
        "must lie between 256 and 65536",
    )?;
    require(
        server.request_timeout_ms > config.engine.answer_timeout_ms,
        "server.request_timeout_ms",
        "must be longer than engine.answer_timeout_ms",
    )?;
    let limits = &config.limits;
    require(
        limits.requests_per_window > 0,
        "limits.requests_per_window",
        "must be at least 1",
    )?;
    require(
        limits.payments_per_window > 0,
        "limits.payments_per_window",
        "must be at least 1",
    )?;
    require(limits.window_seconds > 0, "limits.window_seconds", "must be at least 1")?;
    require(
        limits.tracked_callers >= 64,
        "limits.tracked_callers",
        "must be at least 64",
    )?;
    config.signup.check()?;
    require(
        config.stream.ping_interval_ms >= 100,
        "stream.ping_interval_ms",
        "must be at least 100",
    )?;
    require(
        config.stream.max_message_bytes >= 8192,
        "stream.max_message_bytes",
        "must hold a token: at least 8192",
    )?;
    require(
        u64::from(config.stream.messages_per_minute) > 2 * (60_000 / config.stream.ping_interval_ms),
        "stream.messages_per_minute",
        "must leave room beside the answers to our pings, of each kind: more than 2 minutes / ping_interval_ms",
    )
}

/// The operator's own address, and whom it lets in.
fn operator(config: &Config) -> Checked {
    let Some(listen) = config.operator.listen else {
        return Ok(());
    };
    require(
        listen.ip().to_canonical().is_loopback() || config.operator.beyond_loopback,
        "operator.listen",
        "reaches beyond this machine, and /metrics asks nobody who is calling; if a network of yours guards it, \
         set operator.beyond_loopback",
    )?;
    let tokens = &config.operator.tokens;
    let mut names: Vec<&str> = tokens.iter().map(|token| token.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    require(
        names.len() == tokens.len() && !names.iter().any(|name| name.is_empty() || house::NAMES.contains(name)),
        "operator.tokens",
        "need a name each, no two the same, and none of the house's: start, reconciliation",
    )?;
    require(
        (1..=86_400).contains(&config.operator.lease_seconds),
        "operator.lease_seconds",
        "must lie between 1 and 86400: an order is overdue after a day",
    )?;
    require(
        listen != config.server.listen || listen.port() == 0,
        "operator.listen",
        "must not be server.listen: clients are not to reach it",
    )
}

/// Scheme, host and port only: the sign-in domain and every link derive from it.
fn public_url(url: &str) -> Checked {
    if url.is_empty() {
        return Ok(());
    }
    let key = "server.public_url";
    let uri: http::Uri = url.parse().map_err(|e| refuse(key, format!("is not a URL: {e}")))?;
    let scheme_fits = matches!(uri.scheme_str(), Some("http" | "https"));
    require(scheme_fits, key, "must begin with http:// or https://")?;
    require(
        !url.ends_with('/') && uri.path() == "/" && uri.query().is_none(),
        key,
        "must not have a path",
    )?;
    require(
        !url.contains('@') && !url.contains('#'),
        key,
        "must be scheme, host and port only",
    )
}

fn engine(config: &Config) -> Checked {
    let engine = &config.engine;
    require(engine.max_in_flight > 0, "engine.max_in_flight", "must be at least 1")?;
    require(
        engine.max_settlements_per_payer > 0,
        "engine.max_settlements_per_payer",
        "must be at least 1",
    )?;
    require(engine.max_attempts > 0, "engine.max_attempts", "must be at least 1")?;
    require(
        (1..=3_600).contains(&engine.line_try_every_seconds),
        "engine.line_try_every_seconds",
        "must lie between 1 and 3600",
    )?;
    require(engine.watch_every_ms > 0, "engine.watch_every_ms", "must be at least 1")?;
    require(
        engine.settle_timeout_ms < engine.answer_timeout_ms,
        "engine.answer_timeout_ms",
        "must be longer than engine.settle_timeout_ms",
    )?;
    require(
        engine.backoff_first_ms > 0 && engine.backoff_first_ms <= engine.backoff_last_ms,
        "engine.backoff_first_ms",
        "must be at least 1 and at most engine.backoff_last_ms",
    )?;
    let segment = config.storage.segment_bytes;
    require(
        (65536..=1 << 30).contains(&segment),
        "storage.segment_bytes",
        "must lie between 64 KiB and 1 GiB",
    )
}

fn product(name: &str, product: &Product) -> Checked {
    let wrong = |reason: String| refuse("products", format!("{name}: {reason}"));
    if !product.route.starts_with('/') || product.route.len() < 2 {
        return Err(wrong(format!("route {:?} must begin with a slash", product.route)));
    }
    if product.min.get() == 0 || product.min > product.max {
        return Err(wrong("min must be above zero and at most max".into()));
    }
    if product.fee_rate >= Decimal::ONE {
        return Err(wrong("fee_rate is a fraction: 0.0025 means 0.25 %".into()));
    }
    if product.promotion_rate.is_some_and(|rate| rate >= Decimal::ONE) {
        return Err(wrong("promotion_rate is a fraction: 0.0025 means 0.25 %".into()));
    }
    product
        .fee()
        .total(product.max)
        .map_err(|e| wrong(format!("max with its fee: {e}")))?;
    for table in product.tables() {
        if let Countries::Listed(list) = table {
            codes("products", list).map_err(|_| wrong("a country is not two capital letters".into()))?;
        }
    }
    Ok(())
}

fn codes(key: &'static str, list: &[String]) -> Checked {
    let fits = |code: &String| code.len() == 2 && code.bytes().all(|b| b.is_ascii_uppercase());
    require(
        list.iter().all(fits),
        key,
        "countries are ISO 3166-1 alpha-2 codes in capitals",
    )
}

/// Money is converted by these: none may be zero or misspelled, and a dollar is a dollar.
fn rates(config: &Config) -> Checked {
    require(
        config.rates.max_age_seconds > config.rates.refresh_seconds,
        "rates.max_age_seconds",
        "longer than rates.refresh_seconds, or no rate ever holds",
    )?;
    let key = "rates.usd_per_unit";
    let rates = &config.rates.usd_per_unit;
    let code = |code: &String| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase());
    require(rates.keys().all(code), key, "currencies are ISO 4217 codes in capitals")?;
    require(
        rates.values().all(|rate| *rate > Decimal::ZERO),
        key,
        "every rate is above zero",
    )?;
    require(
        rates.get("USD") == Some(&Decimal::ONE),
        key,
        "USD must be there, and be \"1\"",
    )
}

/// A secret goes to each of them with every call, and card numbers come back.
fn outsiders(config: &Config) -> Checked {
    for (key, outside) in config.providers.all() {
        if outside.url.is_empty() {
            continue;
        }
        // The engine waits longer than the client, so that the client's own word for what happened is heard.
        require(
            outside.timeout_ms > 0 && outside.timeout_ms < config.engine.settle_timeout_ms,
            key,
            "timeout_ms is at least 1 and less than engine.settle_timeout_ms",
        )?;
        let url = reqwest::Url::parse(&outside.url).map_err(|e| refuse(key, format!("url: {e}")))?;
        let near = url.host_str().is_some_and(|host| {
            let literal = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
            host == "localhost" || literal.is_ok_and(|address| address.is_loopback())
        });
        require(
            url.scheme() == "https" || (url.scheme() == "http" && near),
            key,
            "url is https, or http on this machine",
        )?;
        require(
            url.query().is_none() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none(),
            key,
            "url has no query, fragment, user or password",
        )?;
        require(
            !outside.token_file.as_os_str().is_empty(),
            key,
            "token_file holds the secret that the provider knows us by",
        )?;
    }
    Ok(())
}

/// What only the sandbox may have.
fn production(config: &Config) -> Checked {
    let needs = "production needs your own";
    for (key, network) in PAY_TO {
        let published = config.payment.pay_to.wallet(network) == Some(treasury(network));
        require(
            !published,
            key,
            &format!("{needs}; this is the sandbox's treasury, whose key is public"),
        )?;
    }
    let identity = &config.identity;
    require(
        !identity.signing_key_file.as_os_str().is_empty(),
        "identity.signing_key_file",
        needs,
    )?;
    require(
        !identity.secret_key_file.as_os_str().is_empty(),
        "identity.secret_key_file",
        needs,
    )?;
    require(
        config.server.public_url.starts_with("https://"),
        "server.public_url",
        "production needs the https:// address that clients call",
    )?;
    let sandboxed = "\"sandbox\" moves no real money; production refuses it";
    require(
        config.settlement.kind != ProviderKind::Sandbox,
        "settlement.kind",
        sandboxed,
    )?;
    for (key, outside) in config.providers.all() {
        require(
            !outside.url.is_empty(),
            key,
            "without a url it is the sandbox's; production refuses it",
        )?;
    }
    Ok(())
}
