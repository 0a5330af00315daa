//! What a token issued for a payment can change. A hostile seller may have relayed that payment.

use std::collections::BTreeSet;

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access::{assert_not_visible, field, refresh};
use super::agent::Agent;
use super::banking::{call, result};
use super::cards::wait_for_card_status;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::operator_client::OperatorClient;
use super::webhooks::{post, register};

const CARD_ACTION_ROUTES: [&str; 3] = ["/pause-card", "/resume-card", "/close-card"];
/// An unregistered host name.
const HOOK: &str = "https://hooks.unknown.example/a";
const OTHER: &str = "https://hooks.unknown.example/b";

async fn request_card_action(site: &ServiceClient<'_>, token: &str, path: &str, card: &str) -> Response {
    post(site, token, path, None, &json!({"card_id": card})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_token_controls_only_what_its_payment_bought() {
    // Checks: the relayer of a payment cannot pause, resume, close or cancel earlier products, with the token as issued
    // or renewed. It can control what the payment bought, and a sign-in can control everything.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let own = agent.token(&site).await;
    let earlier = agent.buy(&site, "/get-card?amount=5").await.card().to_owned();
    wait_for_card_status(&site, &own, &earlier, "ready").await;
    let queued = field(
        &agent.buy(&site, "/order-intl-card?amount=100").await,
        "/intl_card_order/card_id",
    );
    let made = field(
        &agent.buy(&site, "/order-intl-card?amount=100").await,
        "/intl_card_order/card_id",
    );
    let lease = operator.claim(&made).await;
    assert_eq!(operator.fulfil(&made, lease).await.status, 200);

    let relayed = agent.buy(&site, "/get-card?amount=6").await;
    let renewed = refresh(&site, &field(&relayed, "/auth/refresh_token")).await;
    let tokens = [field(&relayed, "/auth/id_token"), field(&renewed, "/id_token")];
    for token in &tokens {
        for path in CARD_ACTION_ROUTES {
            for card in [&earlier, &made] {
                assert_not_visible(&request_card_action(&site, token, path, card).await, path);
            }
        }
        assert_not_visible(
            &request_card_action(&site, token, "/cancel-intl-order", &queued).await,
            "an order",
        );
    }
    wait_for_card_status(&site, &own, &earlier, "ready").await;
    wait_for_card_status(&site, &tokens[1], relayed.card(), "ready").await;
    let paused = request_card_action(&site, &tokens[1], "/pause-card", relayed.card()).await;
    assert_eq!(paused.status, 202, "{}", paused.text);
    let ordered = agent.buy(&site, "/order-intl-card?amount=100").await;
    let its_own = field(&ordered, "/intl_card_order/card_id");
    let cancelled = request_card_action(
        &site,
        &field(&ordered, "/auth/id_token"),
        "/cancel-intl-order",
        &its_own,
    )
    .await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);

    assert_eq!(
        request_card_action(&site, &own, "/pause-card", &earlier).await.status,
        202
    );
    assert_eq!(
        request_card_action(&site, &own, "/cancel-intl-order", &queued)
            .await
            .status,
        200
    );
    service.stop();
    host.assert_verified();
}

/// The first delivery to an endpoint.
async fn delivery_to(site: &ServiceClient<'_>, token: &str, webhook: &str) -> String {
    let path = format!("/webhook-deliveries?webhook_id={webhook}");
    until("a delivery", async || {
        let page = site.get_as(token, &path).await;
        page.body["deliveries"][0]["delivery_id"].as_str().map(str::to_owned)
    })
    .await
}

/// Asserts that a token sees these endpoints with their deliveries, in lists and by their ids, and not the others.
async fn sees_webhooks(site: &ServiceClient<'_>, token: &str, seen: &[(&str, &str)], hidden: &[(&str, &str)]) {
    let listed = site.get_as(token, "/get-webhook").await;
    let ids = listed.body["webhooks"].as_array().unwrap().iter();
    let ids: BTreeSet<_> = ids.map(|one| one["webhook_id"].as_str().unwrap()).collect();
    assert_eq!(ids, seen.iter().map(|(id, _)| *id).collect(), "{}", listed.text);
    let page = site.get_as(token, "/webhook-deliveries?limit=100").await;
    let to = page.body["deliveries"].as_array().unwrap().iter();
    let to: BTreeSet<_> = to.map(|one| one["webhook_id"].as_str().unwrap()).collect();
    assert_eq!(to, ids, "{}", page.text);
    let every = seen
        .iter()
        .map(|one| (one, true))
        .chain(hidden.iter().map(|one| (one, false)));
    for ((webhook, delivery), is_seen) in every {
        for (query, code) in [
            (format!("/get-webhook?webhook_id={webhook}"), "webhook_access_denied"),
            (
                format!("/webhook-deliveries?webhook_id={webhook}"),
                "webhook_access_denied",
            ),
            (
                format!("/webhook-deliveries?delivery_id={delivery}"),
                "delivery_access_denied",
            ),
            (
                format!("/webhook-deliveries?starting_after={delivery}"),
                "delivery_access_denied",
            ),
        ] {
            let answer = site.get_as(token, &query).await;
            let expected = if is_seen { (200, "") } else { (403, code) };
            let code = if answer.status == 200 { "" } else { answer.code() };
            assert_eq!((answer.status, code), expected, "{query}: {}", answer.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_token_manages_only_its_own_webhooks() {
    // Checks: the token creates an endpoint, and sees and changes that one. An endpoint of another session keeps its secret
    // and deliveries, also under the same idempotency key, and is not shown. A URL that a session of the wallet registered
    // belongs to that session.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let own = agent.token(&site).await;
    let endpoint = json!({"url": HOOK});
    let registered = post(&site, &own, "/register-webhook", Some("kept"), &endpoint).await;
    let id = field(&registered, "/webhook_id");
    let delivery = until("a delivery", async || {
        let page = site.get_as(&own, "/webhook-deliveries").await;
        page.body["deliveries"][0]["delivery_id"].as_str().map(str::to_owned)
    })
    .await;
    let token = field(&agent.buy(&site, "/get-card?amount=5").await, "/auth/id_token");
    for key in [None, Some("kept"), Some("another")] {
        assert_not_visible(
            &post(&site, &token, "/register-webhook", key, &endpoint).await,
            "its secret",
        );
    }
    for body in [
        json!({"delivery_id": delivery}),
        json!({"webhook_id": id, "since": "2026-01-01T00:00:00Z"}),
    ] {
        assert_not_visible(
            &post(&site, &token, "/redeliver-webhook", None, &body).await,
            "its deliveries",
        );
    }
    let named = json!({"webhook_id": id});
    assert_not_visible(&post(&site, &token, "/delete-webhook", None, &named).await, "itself");
    let same = post(&site, &own, "/register-webhook", Some("kept"), &endpoint).await;
    assert_eq!(same.str("secret"), registered.str("secret"), "nothing was replaced");

    sees_webhooks(&site, &token, &[], &[(&id, &delivery)]).await;
    let (its_own, first) = register(&site, &token, OTHER, &[]).await;
    let its_delivery = delivery_to(&site, &token, &its_own).await;
    sees_webhooks(&site, &token, &[(&its_own, &its_delivery)], &[(&id, &delivery)]).await;
    let (again, second) = register(&site, &token, OTHER, &[]).await;
    assert!(its_own == again && first != second, "its own it may register again");
    register(&site, &own, OTHER, &[]).await;
    let other = json!({"url": OTHER});
    assert_not_visible(
        &post(&site, &token, "/register-webhook", None, &other).await,
        "not any more",
    );
    assert_eq!(post(&site, &own, "/delete-webhook", None, &named).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_of_a_key_manages_only_the_webhooks_of_its_key() {
    // Checks: an endpoint of the owner, or of another key, keeps its secret and its registrant, also under the same
    // idempotency key, and neither it nor its deliveries nor its URL are shown. What a token of the key registered, another
    // token of it sees and changes, and so does the owner.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let own = Agent::new(Network::Base).token(&site).await;
    let mut keys = Vec::new();
    for name in ["Courier", "Buyer"] {
        let made = result(&site, &own, "createAgentApiKey", json!({ "name": name })).await;
        keys.push(made["apiKey"].as_str().unwrap().to_owned());
    }
    let exchange = async |key: &str| {
        let exchanged = result(&site, key, "agentAuth", json!({})).await;
        exchanged["idToken"].as_str().unwrap().to_owned()
    };
    let (courier, again, buyer) = (
        exchange(&keys[0]).await,
        exchange(&keys[0]).await,
        exchange(&keys[1]).await,
    );
    let registered = post(&site, &own, "/register-webhook", Some("kept"), &json!({"url": HOOK})).await;
    let id = field(&registered, "/webhook_id");
    let (of_courier, _) = register(&site, &courier, OTHER, &[]).await;
    for (token, url, id) in [(&courier, HOOK, &id), (&buyer, HOOK, &id), (&buyer, OTHER, &of_courier)] {
        for key in [None, (url == HOOK).then_some("kept")] {
            let refused = post(&site, token, "/register-webhook", key, &json!({"url": url})).await;
            assert_eq!(
                (refused.status, refused.code()),
                (403, "sign_in_required"),
                "{}",
                refused.text
            );
            assert!(!refused.text.contains("whsec_"));
        }
        for (path, body) in [
            ("/delete-webhook", json!({"webhook_id": id})),
            (
                "/redeliver-webhook",
                json!({"webhook_id": id, "since": "2026-01-01T00:00:00Z"}),
            ),
        ] {
            let refused = post(&site, token, path, None, &body).await;
            assert_eq!(
                (refused.status, refused.code()),
                (403, "sign_in_required"),
                "{}",
                refused.text
            );
        }
    }
    let owners = delivery_to(&site, &own, &id).await;
    let couriers = delivery_to(&site, &own, &of_courier).await;
    sees_webhooks(&site, &own, &[(&id, &owners), (&of_courier, &couriers)], &[]).await;
    for token in [&courier, &again] {
        sees_webhooks(&site, token, &[(&of_courier, &couriers)], &[(&id, &owners)]).await;
    }
    sees_webhooks(&site, &buyer, &[], &[(&id, &owners), (&of_courier, &couriers)]).await;
    // Events name the host only, in the list and at the agent's own endpoint.
    for (token, shows) in [(&own, true), (&courier, false), (&buyer, false)] {
        let page = site.get_as(token, "/events?types=webhook.*&limit=100").await;
        assert!(page.text.contains("webhook.registered"), "{}", page.text);
        let urls = page.body["events"].as_array().unwrap().iter();
        let urls = urls.map(|event| event["data"]["object"]["url"].as_str().unwrap());
        for url in urls {
            assert_eq!([HOOK, OTHER].contains(&url), shows, "{url}");
            assert!([HOOK, OTHER].iter().any(|whole| whole.starts_with(url)), "{url}");
        }
    }
    let same = post(&site, &own, "/register-webhook", Some("kept"), &json!({"url": HOOK})).await;
    assert_eq!(same.str("secret"), registered.str("secret"), "nothing was replaced");
    let (same, _) = register(&site, &again, OTHER, &[]).await;
    assert_eq!(same, of_courier);
    let (same, _) = register(&site, &own, OTHER, &[]).await;
    assert_eq!(same, of_courier);
    let refused = post(
        &site,
        &courier,
        "/delete-webhook",
        None,
        &json!({"webhook_id": of_courier}),
    )
    .await;
    assert_eq!(refused.status, 403, "the owner has taken it over: {}", refused.text);
    sees_webhooks(&site, &courier, &[], &[(&id, &owners), (&of_courier, &couriers)]).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_token_cannot_change_destinations_or_delete_recipients() {
    // Checks: the token cannot change anything that may precede the payment. The error comes before any lookup.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let token = field(&agent.buy(&site, "/get-card?amount=5").await, "/auth/id_token");
    // Renaming and archiving can be undone, so the token gets as far as the lookup.
    let saved = json!({"recipient_id": "rcp_1", "platform": "venmo", "archived": true});
    let looked_up = post(&site, &token, "/payment-recipients", None, &saved).await;
    assert_eq!(looked_up.status, 404, "{looked_up:?}");
    let gone = site.request("DELETE", "/payment-recipients?platform=venmo&recipient_id=rcp_1");
    let gone = super::http::send(gone.bearer_auth(&token)).await.unwrap();
    assert_not_visible(&gone, "deleted");
    for (name, data) in [
        (
            "updateBankingDestination",
            json!({"destinationId": "dst_1", "nickname": "Mine"}),
        ),
        ("deleteBankingRecipient", json!({"recipientId": "brc_1"})),
        (
            "saveAddressBookEntry",
            json!({"name": "Mine", "address": agent.address()}),
        ),
        ("agentX402Pay", json!({"route": "/get-card?amount=5"})),
        ("createAgentApiKey", json!({"name": "Mine"})),
    ] {
        assert_not_visible(&call(&site, &token, name, data).await, name);
    }
}

/// Addresses that the token contract rejects on either chain, and some that have no key.
const UNOWNABLE_ADDRESSES: [&str; 8] = [
    "0x0000000000000000000000000000000000000000",
    "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "0x97dd8e3392edb7ffb4aa1e4e8d653314d1d26020",
    "11111111111111111111111111111111",
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
    "SysvarRent111111111111111111111111111111111",
];

/// An EIP-55 address with one letter in the wrong case.
const MISTYPED: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD";

#[tokio::test(flavor = "multi_thread")]
async fn destination_address_must_be_able_to_own_usdc() {
    // Checks: the zero address, the token contract and an address with a wrong checksum are rejected before any hold.
    // This applies wherever a request names or saves a destination address.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let unownable = UNOWNABLE_ADDRESSES.map(|address| (address, "cannot own USDC"));
    for (address, why) in unownable.into_iter().chain([(MISTYPED, "is mistyped")]) {
        let asks: [(&str, &str, Value); 4] = [
            ("/withdraw", "address", json!({"amount": 1, "address": address})),
            (
                "/withdraw-card-balance",
                "destination_address",
                json!({"amount": 5, "destination_address": address}),
            ),
            (
                "/agentWalletTransfer",
                "toAddress",
                json!({"data": {"toAddress": address, "amountUsdc": 1}}),
            ),
            (
                "/saveAddressBookEntry",
                "address",
                json!({"data": {"name": "Unowned", "address": address}}),
            ),
        ];
        for (path, param, body) in asks {
            let answer = post(&site, &token, path, None, &body).await;
            assert_eq!(
                (answer.status, answer.code()),
                (400, "parameter_invalid"),
                "{path} {address}: {}",
                answer.text
            );
            let named_field = answer.body.pointer("/error/param").or(answer.body.get("param"));
            assert_eq!(named_field, Some(&json!(param)), "{path} {address}: {}", answer.text);
            assert!(answer.text.contains(why), "{path} {address}: {}", answer.text);
        }
    }
}
