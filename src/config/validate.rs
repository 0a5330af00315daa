//! Checks that types cannot express: contradictory values, and defaults that are unsafe with real money.

use std::net::IpAddr;

use purser_actors::entity::agent_wallet::WalletCaps;
use purser_actors::id::Network;
use purser_actors::operator::system;
use rust_decimal::Decimal;

use purser_protocol::sandbox_keys::{MAX_FEE_PAYERS, treasury};

use super::found::ConfigErrors;
use super::provider_url::check_provider_url;
use super::{Config, CountryList, ProductConfig, SettlementKind};

/// Rules that [`Config::load`] applies.
pub(super) fn check(config: &Config, found: &mut ConfigErrors) {
    server(config, found);
    operator(config, found);
    engine(config, found);
    for network in Network::ALL {
        let key = if network == Network::Base {
            "payment.pay_to.base"
        } else {
            "payment.pay_to.solana"
        };
        found.require(
            config.payment.pay_to.wallet(network).is_some(),
            key,
            "is not an address of that network",
        );
    }
    for (name, product) in config.products.all() {
        self::product(name, product, found);
    }
    found.require(codes(&config.availability.countries), "availability.countries", CODES);
    spending(config, found);
    found.require(
        config
            .versions
            .deprecated_routes
            .iter()
            .all(super::DeprecatedRoute::is_plain),
        "versions.deprecated_routes",
        "a route and its successor are two paths, such as /refresh and /auth",
    );
    reconciliation(config, found);
    config.webhooks.check(found);
    rates(config, found);
    remote_providers(config, found);
    super::chains::check(config, found);
    if config.is_sandbox() {
        sandbox(config, found);
    } else {
        production(config, found);
    }
}

fn spending(config: &Config, found: &mut ConfigErrors) {
    let per_call = WalletCaps::MIN_PER_CALL..=WalletCaps::MAX_PER_CALL;
    found.require(
        per_call.contains(&config.agent_wallet.default_per_call_cap_usd),
        "agent_wallet.default_per_call_cap_usd",
        "must lie between 1 and 50000",
    );
    let outbound = &config.outbound;
    found.require(
        (1..=1_000_000).contains(&outbound.max_response_body_bytes),
        "outbound.max_response_body_bytes",
        "must lie between 1 and 1000000: answers to paid calls are kept",
    );
    found.require(
        outbound.response_timeout_ms > 0,
        "outbound.response_timeout_ms",
        "must be at least 1",
    );
}

fn reconciliation(config: &Config, found: &mut ConfigErrors) {
    found.require(
        (1..=1_000).contains(&config.reconciliation.page_size),
        "reconciliation.page_size",
        "must lie between 1 and 1000",
    );
}

const PAY_TO: [(&str, Network); 2] = [
    ("payment.pay_to.base", Network::Base),
    ("payment.pay_to.solana", Network::Solana),
];

/// The sandbox's chains pay the sandbox's treasury; payments to another address would have no ledger record.
fn sandbox(config: &Config, found: &mut ConfigErrors) {
    found.require(
        config.settlement.kind == SettlementKind::Sandbox,
        "settlement.kind",
        "real chains are for production: the sandbox moves no real money",
    );
    found.require(
        (1..=MAX_FEE_PAYERS).contains(&config.sandbox.fee_payers),
        "sandbox.fee_payers",
        "must lie between 1 and 4",
    );
    for (key, network) in PAY_TO {
        let ours = config.payment.pay_to.wallet(network) == Some(treasury(network));
        found.require(ours, key, "the sandbox is paid at its own treasury; leave the default");
    }
}

fn server(config: &Config, found: &mut ConfigErrors) {
    let server = &config.server;
    public_url(&server.public_url, found);
    if let Some(text) = server.contact() {
        found.require(
            is_contact(text),
            "server.contact",
            "must be an e-mail address or an https:// URL",
        );
    }
    found.require(
        server.max_connections > 0,
        "server.max_connections",
        "must be at least 1",
    );
    found.require(
        (8192..=65536).contains(&server.max_header_bytes),
        "server.max_header_bytes",
        "must lie between 8192, which the largest payment with its other headers needs, and 65536",
    );
    found.require(
        (256..=65536).contains(&server.max_url_bytes),
        "server.max_url_bytes",
        "must lie between 256 and 65536",
    );
    found.require(
        server.request_timeout_ms > config.engine.response_timeout_ms,
        "server.request_timeout_ms",
        "must be longer than engine.response_timeout_ms",
    );
    let limits = &config.limits;
    found.require(limits.window_seconds > 0, "limits.window_seconds", "must be at least 1");
    found.require(
        limits.max_tracked_callers >= 64,
        "limits.max_tracked_callers",
        "must be at least 64",
    );
    config.signup.check(found);
    found.require(
        config.stream.ping_interval_ms >= 100,
        "stream.ping_interval_ms",
        "must be at least 100",
    );
    found.require(
        config.stream.max_message_bytes >= 8192,
        "stream.max_message_bytes",
        "must hold a token: at least 8192",
    );
    found.require(
        u64::from(config.stream.messages_per_minute) > 2 * (60_000 / config.stream.ping_interval_ms.max(1)),
        "stream.messages_per_minute",
        "must allow more than the answers to our pings, of each kind: more than 2 minutes / ping_interval_ms",
    );
}

/// The operator server's address and its tokens.
fn operator(config: &Config, found: &mut ConfigErrors) {
    let Some(listen) = config.operator.listen else { return };
    found.require(
        listen.ip().to_canonical().is_loopback() || config.operator.allow_remote,
        "operator.listen",
        "reaches beyond this machine, and /metrics needs no authentication; if your own network protects it, \
         set operator.allow_remote",
    );
    webhook(config, found);
    let tokens = &config.operator.tokens;
    let mut names: Vec<&str> = tokens.iter().map(|token| token.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    found.require(
        names.len() == tokens.len() && !names.iter().any(|name| name.is_empty() || system::NAMES.contains(name)),
        "operator.tokens",
        "each need a unique name other than the reserved start and reconciliation",
    );
    found.require(
        (1..=86_400).contains(&config.operator.lease_seconds),
        "operator.lease_seconds",
        "must lie between 1 and 86400: an order is overdue after a day",
    );
    found.require(
        listen != config.server.listen || listen.port() == 0,
        "operator.listen",
        "must not be server.listen: clients are not to reach it",
    );
}

/// The operators' webhook: an address that may be called, and a secret that is not in the settings.
fn webhook(config: &Config, found: &mut ConfigErrors) {
    let operator = &config.operator;
    if operator.webhook_url.is_empty() {
        return found.require(
            !operator.webhook_secret.is_set(),
            "operator.webhook_secret",
            "signs nothing without operator.webhook_url",
        );
    }
    let policy = operator.webhook_policy(&config.outbound);
    if let Err(why) = policy.check_url(&operator.webhook_url) {
        let reason = format!("cannot be called: {why}; for an internal one set operator.webhook_allow_internal");
        found.reject("operator.webhook_url", reason);
    }
    found.require(
        operator.webhook_secret.is_indirect(),
        "operator.webhook_secret",
        "name where the secret is, as file:<path> (mode 0600) or env:<variable>; secrets are not written into settings",
    );
}

/// Scheme, host and port only: the sign-in domain and every link derive from it.
fn public_url(url: &str, found: &mut ConfigErrors) {
    if url.is_empty() {
        return;
    }
    let key = "server.public_url";
    let uri: http::Uri = match url.parse() {
        Ok(uri) => uri,
        Err(error) => return found.reject(key, format!("is not a URL: {error}")),
    };
    let scheme_fits = matches!(uri.scheme_str(), Some("http" | "https"));
    found.require(scheme_fits, key, "must begin with http:// or https://");
    found.require(
        !url.ends_with('/') && uri.path() == "/" && uri.query().is_none(),
        key,
        "must not have a path",
    );
    found.require(
        !url.contains('@') && !url.contains('#'),
        key,
        "must be scheme, host and port only",
    );
}

/// Whether pages can link to it: an e-mail address of characters that need no escaping in a `mailto:` URL, or an https:// URL
/// without credentials.
fn is_contact(text: &str) -> bool {
    const MAX_BYTES: usize = 254;
    if text.len() > MAX_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return false;
    }
    if text.starts_with("https://") {
        let uri = text.parse::<http::Uri>();
        return !text.contains('@') && uri.is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    }
    let is_plain = |part: &str, also: &[u8]| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || also.contains(&byte))
    };
    let parts = text.split_once('@');
    parts.is_some_and(|(name, host)| is_plain(name, b"._+-") && is_plain(host, b".-"))
}

fn engine(config: &Config, found: &mut ConfigErrors) {
    let engine = &config.engine;
    found.require(
        engine.max_paid_calls_in_flight > 0,
        "engine.max_paid_calls_in_flight",
        "must be at least 1",
    );
    found.require(
        engine.max_paid_calls_per_payer > 0,
        "engine.max_paid_calls_per_payer",
        "must be at least 1",
    );
    found.require(engine.max_attempts > 0, "engine.max_attempts", "must be at least 1");
    found.require(
        (1..=3_600).contains(&engine.line_try_every_seconds),
        "engine.line_try_every_seconds",
        "must lie between 1 and 3600",
    );
    found.require(
        engine.chain_poll_interval_ms > 0,
        "engine.chain_poll_interval_ms",
        "must be at least 1",
    );
    found.require(
        engine.settlement_timeout_ms < engine.response_timeout_ms,
        "engine.response_timeout_ms",
        "must be longer than engine.settlement_timeout_ms",
    );
    found.require(
        engine.initial_backoff_ms > 0 && engine.initial_backoff_ms <= engine.max_backoff_ms,
        "engine.initial_backoff_ms",
        "must be at least 1 and at most engine.max_backoff_ms",
    );
    super::restore_pause::check(config, found);
    let segment = config.storage.segment_bytes;
    found.require(
        (65536..=1 << 30).contains(&segment),
        "storage.segment_bytes",
        "must lie between 64 KiB and 1 GiB",
    );
    found.require(
        config.storage.sync_spacing_ms <= 100,
        "storage.sync_spacing_ms",
        "must be at most 100",
    );
}

fn product(name: &str, product: &ProductConfig, found: &mut ConfigErrors) {
    let key = |setting: &str| format!("products.{name}.{setting}");
    found.require(
        product.route.starts_with('/') && product.route.len() > 1,
        key("route"),
        "must begin with a slash, and name a route",
    );
    found.require(
        product.min_amount.get() > 0 && product.min_amount <= product.max_amount,
        key("min_amount"),
        "must be above zero and at most max_amount",
    );
    let fraction = "is a fraction: 0.0025 means 0.25 %";
    let is_fraction = product.fee_rate < Decimal::ONE;
    found.require(is_fraction, key("fee_rate"), fraction);
    found.require(
        product.promotion_fee_rate.is_none_or(|rate| rate < Decimal::ONE),
        key("promotion_fee_rate"),
        fraction,
    );
    if let Err(error) = product.fee().total(product.max_amount)
        && is_fraction
    {
        found.reject(key("max_amount"), format!("with its fee: {error}"));
    }
    for table in product.tables() {
        if let CountryList::Listed(list) = table {
            found.require(codes(list), key("countries"), CODES);
        }
    }
}

const CODES: &str = "countries are ISO 3166-1 alpha-2 codes in capitals";

fn codes(list: &[String]) -> bool {
    let fits = |code: &String| code.len() == 2 && code.bytes().all(|b| b.is_ascii_uppercase());
    list.iter().all(fits)
}

/// Exchange rates convert money: none may be zero or malformed, and a US dollar is 1.
fn rates(config: &Config, found: &mut ConfigErrors) {
    found.require(
        config.rates.max_age_seconds > config.rates.refresh_interval_seconds,
        "rates.max_age_seconds",
        "longer than rates.refresh_interval_seconds, or no rate ever holds",
    );
    let key = "rates.usd_per_unit";
    let rates = &config.rates.usd_per_unit;
    let code = |code: &String| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase());
    found.require(rates.keys().all(code), key, "currencies are ISO 4217 codes in capitals");
    found.require(
        rates.values().all(|rate| *rate > Decimal::ZERO),
        key,
        "every rate is above zero",
    );
    found.require(
        rates.get("USD") == Some(&Decimal::ONE),
        key,
        "USD must be there, and be \"1\"",
    );
}

/// Every call sends a secret, and responses contain card numbers.
fn remote_providers(config: &Config, found: &mut ConfigErrors) {
    for (name, outside) in config.providers.all() {
        if outside.url.is_empty() {
            continue;
        }
        let key = |setting: &str| format!("{name}.{setting}");
        // The engine's timeout is longer than the client's, so that the client's own error is reported.
        found.require(
            outside.timeout_ms > 0 && outside.timeout_ms < config.engine.settlement_timeout_ms,
            key("timeout_ms"),
            "must be at least 1 and less than engine.settlement_timeout_ms",
        );
        match reqwest::Url::parse(&outside.url) {
            Ok(url) => check_provider_url(&url, &key("url"), found),
            Err(error) => found.reject(key("url"), error.to_string()),
        }
        found.require(
            !outside.token_file.as_os_str().is_empty(),
            key("token_file"),
            "must name the file with the secret that the provider knows us by",
        );
    }
}

/// Settings that are only allowed in the sandbox.
fn production(config: &Config, found: &mut ConfigErrors) {
    let needs = "production needs your own";
    for (key, network) in PAY_TO {
        let published = config.payment.pay_to.wallet(network) == Some(treasury(network));
        found.require(
            !published,
            key,
            &format!("{needs}; this is the sandbox's treasury, whose key is public"),
        );
    }
    let identity = &config.identity;
    found.require(
        !identity.signing_key_file.as_os_str().is_empty(),
        "identity.signing_key_file",
        needs,
    );
    found.require(
        !identity.vault_key_file.as_os_str().is_empty(),
        "identity.vault_key_file",
        needs,
    );
    let public = &config.server.public_url;
    // Traffic between a client and a server on one machine cannot be intercepted.
    let on_this_machine = reqwest::Url::parse(public).is_ok_and(|url| {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    });
    found.require(
        public.starts_with("https://") || on_this_machine,
        "server.public_url",
        "production needs the https:// address that clients call",
    );
    let sandboxed = "\"sandbox\" moves no real money; production refuses it";
    found.require(
        config.settlement.kind != SettlementKind::Sandbox,
        "settlement.kind",
        sandboxed,
    );
    super::required_providers::check(config, found);
}
