//! The agent wallet over HTTP: creation, spending limits, and payments to our routes and to other servers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::banking::{call, result};
use super::host::{Host, Service};
use super::http::{Response, ServiceClient, send, until};
use super::owner::Owner;
use super::seller::Seller;

/// A token and the agent wallet of its account.
pub(crate) async fn opened(site: &ServiceClient<'_>, network: Network) -> (Agent, String, Value) {
    let agent = Agent::new(network);
    let token = agent.token(site).await;
    let made = result(site, &token, "createAgentWallet", json!({})).await;
    (agent, token, made["wallet"].clone())
}

pub(crate) async fn keyed(site: &ServiceClient<'_>, token: &str, name: &str, key: &str, data: &Value) -> Response {
    let request = site.request("POST", &format!("/{name}")).bearer_auth(token);
    let request = request.header("idempotency-key", key).json(&json!({"data": data}));
    send(request).await.unwrap()
}

/// A wallet that its chain knows. On Solana, other wallets have no token account.
pub(crate) async fn fund_wallet(site: &ServiceClient<'_>, wallet: &str) {
    let answer = site
        .post("/sandbox/faucet", &json!({"wallet": wallet, "amount": "1"}))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

/// The wallet once it has this many pending payments. The wallet is notified only after a payment has ended.
pub(crate) async fn with_open(site: &ServiceClient<'_>, token: &str, open: usize) -> Value {
    until("the reservations", async || {
        let now = result(site, token, "getAgentWallet", json!({})).await;
        (now["pendingPayments"].as_array().unwrap().len() == open).then_some(now)
    })
    .await
}

pub(crate) fn assert_error(answer: &Response, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code()), (status, code), "{}", answer.text);
}

/// Amounts that left an address on a chain, in atomic USDC.
pub(crate) async fn outgoing_amounts(site: &ServiceClient<'_>, wallet: &Value, network: Network) -> Vec<u64> {
    let path = format!("/sandbox/transfers?limit=1000&network={}", network.name());
    let page = site.get(&path, &[]).await.body;
    let from = wallet["addresses"][network.name()].as_str().unwrap();
    let own = page["transfers"].as_array().unwrap().iter();
    let own = own.filter(|t| t["from"].as_str().unwrap().eq_ignore_ascii_case(from));
    own.map(|t| t["amount"].as_u64().unwrap()).collect()
}

/// Events of a wallet, its address book and its transfers.
const EVENT_TYPES: &[&str] = &[
    "agent_wallet.created",
    "agent_wallet.address_saved",
    "agent_wallet.address_deleted",
    "wallet_payment.pending",
    "wallet_payment.signed pending",
    "wallet_payment.settled signed",
];

#[tokio::test(flavor = "multi_thread")]
async fn agent_wallet_is_created_once_and_pays_on_both_chains() {
    // Checks: Concurrent requests create one wallet per account. Transfers settle on both chains from the wallet's
    // address, once per key. The address book names the payee. The balance matches the chain, and the ledger balances.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let again = result(&site, &token, "createAgentWallet", json!(null)).await;
    assert_eq!(again["wallet"], wallet);
    assert_eq!(
        wallet["limits"],
        json!({"approvals": false, "perCallUsd": 1000, "perDayUsd": 5000})
    );
    for network in Network::ALL {
        let to = agent.wallet.address(network);
        fund_wallet(&site, &to).await;
        let entry = json!({"name": "me", "address": to, "network": network.name()});
        let saved = keyed(&site, &token, "saveAddressBookEntry", &format!("save {to}"), &entry).await;
        assert_eq!(saved.status, 200, "{}", saved.text);
        let same = keyed(&site, &token, "saveAddressBookEntry", &format!("save {to}"), &entry).await;
        assert_eq!(same.body, saved.body, "saved once");
        let id = &saved.body["result"]["entry"]["entryId"];
        let transfer = json!({"addressBookEntryId": id, "amountUsdc": 1.234567, "note": "lunch"});
        let key = format!("pay {to}");
        let sent = keyed(&site, &token, "agentWalletTransfer", &key, &transfer).await;
        let wallet_payment = &sent.body["result"]["walletPayment"];
        assert_eq!(
            (sent.status, &wallet_payment["status"]),
            (200, &json!("settled")),
            "{}",
            sent.text
        );
        assert_eq!(
            (&wallet_payment["amount"], &wallet_payment["note"]),
            (&json!(1.234567), &json!("lunch"))
        );
        let replayed = keyed(&site, &token, "agentWalletTransfer", &key, &transfer).await;
        assert_eq!(replayed.body, sent.body);
        assert_eq!(replayed.header("idempotency-replayed"), Some("true"));
        let other = json!({"addressBookEntryId": id, "amountUsdc": 2});
        assert_error(
            &keyed(&site, &token, "agentWalletTransfer", &key, &other).await,
            422,
            "idempotency_key_reused",
        );
        assert_eq!(outgoing_amounts(&site, &wallet, network).await, [1_234_567]);
    }
    let now = with_open(&site, &token, 0).await;
    let balance = json!({"balance": 9998.765433, "held": 0, "available": 9998.765433});
    assert_eq!(now["balances"], json!({"base": balance, "solana": balance}));
    let limit = result(&site, &token, "getAgentSpendLimit", json!({})).await;
    assert_eq!(
        (&limit["usedTodayUsd"], &limit["leftTodayUsd"]),
        (&json!(2.469134), &json!(4997.530866))
    );
    let book = result(&site, &token, "listAddressBook", json!({})).await;
    let entries = book["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    let gone = json!({"entryId": entries[0]["entryId"]});
    let deleted = keyed(&site, &token, "deleteAddressBookEntry", "gone", &gone).await;
    assert_eq!(
        keyed(&site, &token, "deleteAddressBookEntry", "gone", &gone).await.body,
        deleted.body
    );
    assert_error(
        &call(&site, &token, "deleteAddressBookEntry", gone).await,
        404,
        "address_not_found",
    );
    site.wait_for_events(&token, EVENT_TYPES).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_wallet_pays_our_own_routes() {
    // Checks: The wallet buys by route and by our own URL, with parameters, on the pinned network. The full response is
    // returned. The money leaves once per key, also after a restart, and free routes cost nothing.
    let public = "http://purser.example.com";
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", public);
    let service = host.start_behind(public);
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    for (n, network) in Network::ALL.into_iter().enumerate() {
        let params = json!({"amount": format!("5.1{n}")});
        let purchase_data = match network {
            Network::Base => json!({"route": "/get-card", "params": params, "expectedNetwork": "base"}),
            Network::Solana => json!({"url": "http://purser.example.com/get-card", "params": params,
                "expectedNetwork": network.caip2(), "maxAmountUsdc": 5.11}),
        };
        let key = format!("buy {n}");
        let bought = keyed(&site, &token, "agentX402Pay", &key, &purchase_data).await;
        let purchase = &bought.body["result"];
        assert_eq!(
            (&purchase["status"], &purchase["response"]["httpStatus"]),
            (&json!("settled"), &json!(200)),
            "{}",
            bought.text
        );
        let card = &purchase["response"]["body"]["card_id"];
        assert!(
            card.as_str().is_some_and(|id| id.starts_with("card_")),
            "{}",
            bought.text
        );
        assert_eq!(
            (
                &purchase["walletPayment"]["host"],
                &purchase["walletPayment"]["network"]
            ),
            (&json!("route"), &json!(network.name()))
        );
        let again = keyed(&site, &token, "agentX402Pay", &key, &purchase_data).await;
        assert_eq!(again.body, bought.body);
        assert_eq!(
            outgoing_amounts(&site, &wallet, network).await,
            [5_100_000 + 10_000 * n as u64]
        );
        assert!(purchase["response"]["body"].get("auth").is_none(), "{}", bought.text);
        let read = site
            .get_as(&token, &format!("/get-card-data?card_id={}", card.as_str().unwrap()))
            .await;
        assert_eq!(read.status, 200, "{}", read.text);
    }
    let free = result(&site, &token, "agentX402Pay", json!({"route": "/version"})).await;
    assert_eq!(
        (&free["status"], &free["walletPayment"]),
        (&json!("free"), &Value::Null)
    );
    let lost = call(&site, &token, "agentX402Pay", json!({"route": "/nowhere"})).await;
    assert_error(&lost, 502, "http_error");
    service.stop();
    host.assert_verified();
}

/// A service next to another seller that its operator has listed.
pub(crate) async fn service_with_seller() -> (Seller, Host, Service) {
    let seller = Seller::open().await;
    let mut host = Host::new();
    host.set(
        "PURSER_OUTBOUND__ALLOWED_HOSTS",
        &format!("[\"{}\"]", seller.authority()),
    );
    let service = host.start();
    seller.settles_on(&service.url);
    fund_wallet(&ServiceClient::of(&service), &Seller::address()).await;
    (seller, host, service)
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_wallet_pays_another_server_on_both_chains() {
    // Checks: A listed server gets a signed x402 v2 payment and settles it on the chain. Its response is returned
    // unchanged, once per key.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Solana).await;
    for network in Network::ALL {
        let purchase_data = json!({"url": format!("http://{}/paid", seller.authority()), "method": "POST",
            "body": {"q": [1.50, "é"]}, "expectedNetwork": network.name(), "maxAmountUsdc": 1});
        let bought = keyed(&site, &token, "agentX402Pay", network.name(), &purchase_data).await;
        let purchase = &bought.body["result"];
        let seen = (&purchase["status"], &purchase["response"]["body"]["echo"]);
        assert_eq!(seen, (&json!("settled"), &purchase_data["body"]), "{}", bought.text);
        let again = keyed(&site, &token, "agentX402Pay", network.name(), &purchase_data).await;
        assert_eq!(again.body, bought.body);
        assert_eq!(outgoing_amounts(&site, &wallet, network).await, [1_000_000]);
    }
    site.wait_for_events(&token, &["wallet_payment.sent signed", "wallet_payment.settled sent"])
        .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_another_server_has_its_own_error() {
    // Checks: Each failure has its own error: declined payment, server error, missing terms, redirect, endless body.
    // Nothing is signed before the terms are accepted. A signed amount stays reserved while it may still settle.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    let at = |path: &str, most: f64| {
        let url = format!("http://{}{path}", seller.authority());
        json!({"url": url, "expectedNetwork": "solana", "maxAmountUsdc": most})
    };
    for (path, most, status, code) in [
        ("/broken", 1.0, 502, "http_error"),
        ("/moved", 1.0, 502, "http_error"),
        ("/endless", 1.0, 502, "fetch_failed"),
        ("/untermed", 1.0, 403, "policy_filtered"),
        ("/paid", 0.99, 403, "policy_filtered"),
    ] {
        assert_error(&call(&site, &token, "agentX402Pay", at(path, most)).await, status, code);
    }
    with_open(&site, &token, 0).await;
    let greedy = call(&site, &token, "agentX402Pay", at("/refuses", 1.0)).await;
    assert_error(&greedy, 409, "unsettled");
    let late = call(&site, &token, "agentX402Pay", at("/fails-paid", 1.0)).await;
    assert_error(&late, 502, "http_error");
    assert_eq!(
        outgoing_amounts(&site, &wallet, Network::Solana).await,
        [1_000_000],
        "one declined, one paid"
    );
    let now = with_open(&site, &token, 1).await;
    let open = &now["pendingPayments"][0]["walletPaymentId"];
    let seen = result(&site, &token, "getAgentWallet", json!({ "walletPaymentId": open })).await;
    let outcome = (&seen["status"], &seen["walletPayment"]["failureReason"]);
    assert_eq!(outcome, (&json!("pending"), &json!("unsettled")));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_59_internal_addresses_are_blocked_and_nothing_is_signed() {
    // Checks: Every notation of an internal address gives a policy error with the reason, and no request is sent.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    for url in [
        format!("{}/get-card?amount=5", service.url.replace("127.0.0.1", "127.1")),
        "http://127.0.0.1/".to_owned(),
        "http://localhost/".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://2130706433/".to_owned(),
        "http://[::ffff:10.0.0.1]/".to_owned(),
        "http://printer.local/".to_owned(),
        "https://user:word@shop.example.com/".to_owned(),
        "ftp://shop.example.com/".to_owned(),
        "http://shop.example.com:22/".to_owned(),
    ] {
        let answer = call(&site, &token, "agentX402Pay", json!({"url": url})).await;
        assert_error(&answer, 403, "policy_filtered");
    }
    for network in Network::ALL {
        assert!(outgoing_amounts(&site, &wallet, network).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_payments_respect_limits_set_by_the_owner() {
    // Checks: Only the owner's page sets the limits, within their range. A call above the cap is rejected. Of a hundred
    // concurrent payments, exactly as many settle as the daily limit allows.
    let host = Host::new()
        .with("PURSER_ENGINE__MAX_PAID_CALLS_PER_PAYER", "1000")
        .with("PURSER_AGENT_WALLET__MAX_CALLS_PER_MINUTE", "1000");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let owner = Owner::of(&site, &agent).await;
    for bad in [
        json!({"per_call_usd": "0.99"}),
        json!({"per_call_usd": "50000.01"}),
        json!({"per_call_usd": "x"}),
        json!({"per_day_usd": 5}),
    ] {
        let refused = owner.act(&site, "/account/spending", &bad).await;
        let why = (refused.status, refused.str("param"));
        assert_eq!(why, (400, Some("per_call_usd")), "{bad}: {}", refused.text);
    }
    let set = json!({"per_call_usd": "1.50", "per_day_usd": 30});
    let set = owner.act(&site, "/account/spending", &set).await;
    assert_eq!(set.status, 200, "{}", set.text);
    let limit = result(&site, &token, "getAgentSpendLimit", json!({})).await;
    assert_eq!((&limit["perCallUsd"], &limit["perDayUsd"]), (&json!(1.5), &json!(30)));
    site.wait_for_events(&token, &["agent_wallet.caps_updated"]).await;
    let transfer = |amount: f64| json!({"toAddress": agent.address(), "amountUsdc": amount});
    assert_error(
        &call(&site, &token, "agentWalletTransfer", transfer(1.51)).await,
        403,
        "policy_filtered",
    );
    let (site, data) = (&site, transfer(1.0));
    let calls = (0..100).map(|_| call(site, &token, "agentWalletTransfer", data.clone()));
    let answers = futures_util::future::join_all(calls).await;
    let paid = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(paid, 30);
    answers
        .iter()
        .filter(|answer| answer.status != 200)
        .for_each(|no| assert_error(no, 403, "policy_filtered"));
    until("all of them", async || {
        (outgoing_amounts(site, &wallet, Network::Base).await.len() == 30).then_some(())
    })
    .await;
    let wallet = &owner.account(site).await.body["agent_wallet"];
    let limits = json!({"approvals": false, "per_call_usd": 1.5, "per_day_usd": 30});
    assert_eq!(
        (&wallet["limits"], &wallet["used_today_usd"]),
        (&limits, &json!(30)),
        "{wallet}"
    );
    let cleared = json!({"per_call_usd": "50000", "per_day_usd": ""});
    let cleared = owner.act(site, "/account/spending", &cleared).await;
    assert_eq!(cleared.status, 200, "{}", cleared.text);
    let limit = result(site, &token, "getAgentSpendLimit", json!({})).await;
    assert_eq!(
        (&limit["perDayUsd"], &limit["leftTodayUsd"]),
        (&Value::Null, &Value::Null)
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_token_cannot_spend() {
    // Checks: The token may read. Every function that pays, creates a wallet or changes payees returns 403
    // `sign_in_required`.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let payment_token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let saved = json!({"name": "me", "address": agent.address()});
    let entry = result(&site, &token, "saveAddressBookEntry", saved.clone()).await["entry"]["entryId"].clone();
    for (name, data) in [
        ("createAgentWallet", json!({})),
        ("agentX402Pay", json!({"route": "/get-card?amount=5"})),
        (
            "agentWalletTransfer",
            json!({"toAddress": agent.address(), "amountUsdc": 1}),
        ),
        ("saveAddressBookEntry", saved),
        ("deleteAddressBookEntry", json!({"entryId": entry})),
    ] {
        assert_error(&call(&site, &payment_token, name, data).await, 403, "sign_in_required");
    }
    for name in ["getAgentWallet", "getAgentSpendLimit", "listAddressBook"] {
        result(&site, &payment_token, name, json!({})).await;
    }
    assert!(outgoing_amounts(&site, &wallet, Network::Base).await.is_empty());
    let none = Agent::new(Network::Solana).token(&site).await;
    let no_wallet = call(&site, &none, "agentX402Pay", json!({"route": "/get-card"})).await;
    assert_error(&no_wallet, 404, "agent_wallet_not_found");
}

/// A decoded `PAYMENT-SIGNATURE` value.
pub(crate) fn payment(header: &str) -> Value {
    serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap()
}
