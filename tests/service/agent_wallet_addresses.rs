//! An agent wallet's addresses belong to its owner's account: purchases, credits, caps, identity and links are the
//! owner's. Nothing stored grants access. A seller that copies our terms gets nothing. A restore finds the wallet.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::agent_wallet::{assert_error, keyed, opened, outgoing_amounts, service_with_seller, with_open};
use super::banking::{call, result};
use super::customers::find;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::operator_client::OperatorClient;
use super::owner::Owner;
use super::recipient::{balance_is, register, wait_for_payout_status};
use super::restore::{backup, restore};
use super::seller::RESPONSE_TOKEN;
use super::top_up::{link, wait_for_top_up};

/// Members of a response that grant access to the account, at any depth.
fn token_members(answer: &Value) -> Vec<String> {
    match answer {
        Value::Object(members) => {
            let named = |name: &str| ["auth", "id_token", "refresh_token", "access_token"].contains(&name);
            let held = members.iter().filter(|(name, value)| named(name) && !value.is_null());
            let inside = members.values().flat_map(token_members);
            held.map(|(name, _)| name.clone()).chain(inside).collect()
        }
        Value::Array(items) => items.iter().flat_map(token_members).collect(),
        _ => Vec::new(),
    }
}

/// Pays a route from the agent wallet and returns the route's response.
pub(super) async fn bought(site: &ServiceClient<'_>, token: &str, route: &str, network: Network) -> Value {
    let params = json!({"route": route, "expectedNetwork": network.name()});
    let outcome = result(site, token, "agentX402Pay", params).await;
    assert_eq!(outcome["status"], "settled", "{outcome}");
    assert_eq!(token_members(&outcome), Vec::<String>::new(), "{outcome}");
    outcome["response"]["body"].clone()
}

pub(super) fn status_code_reason(answer: &Response) -> (u16, &str, &Value) {
    (answer.status, answer.code(), &answer.body["error"]["reason"])
}

#[tokio::test(flavor = "multi_thread")]
async fn case_73_agent_wallet_purchases_belong_to_the_owner() {
    // Checks: A card bought on either chain, one whose settlement response was late, and the credit of a declined one
    // are the owner's. The owner's token reads cards, balance, payments and events; no other token exists.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let user = agent.address().to_lowercase();
    for network in Network::ALL {
        let card = bought(&site, &token, "/get-card?amount=5", network).await;
        assert_eq!(card["user_id"], json!(user), "{card}");
        let read = format!("/get-card-data?card_id={}", card["card_id"].as_str().unwrap());
        until("its card is ready", async || {
            let read = site.get_as(&token, &read).await;
            assert_eq!(read.status, 200, "{}", read.text);
            (read.str("status") == Some("ready")).then_some(())
        })
        .await;
        let paid = format!("/get-payment?payment_id={}", card["payment_id"].as_str().unwrap());
        let paid = site.get_as(&token, &paid).await;
        let payer = paid.body["payment"]["payer"].as_str().unwrap();
        let own = wallet["addresses"][network.name()].as_str().unwrap();
        assert!(
            payer.eq_ignore_ascii_case(own),
            "the chain sees who paid: {}",
            paid.text
        );
        let stranger = Agent::new(network).token(&site).await;
        let path = format!("/get-card-data?card_id={}", card["card_id"].as_str().unwrap());
        assert_eq!(site.get_as(&stranger, &path).await.status, 403);
    }
    let late = json!({"route": "/get-card?amount=13.04", "expectedNetwork": "base"});
    let late = result(&site, &token, "agentX402Pay", late).await;
    assert_eq!(late["response"]["httpStatus"], 202, "{late}");
    let path = late["response"]["body"]["payment_id"].as_str().unwrap();
    let path = format!("/get-payment?payment_id={path}");
    let card = until("it is settled", async || {
        let paid = site.get_as(&token, &path).await;
        assert_eq!(paid.status, 200, "{}", paid.text);
        paid.str("card_id").map(str::to_owned)
    })
    .await;
    let read = site.get_as(&token, &format!("/get-card-data?card_id={card}")).await;
    assert_eq!(read.status, 200, "{}", read.text);
    bought(&site, &token, "/get-card?amount=6.66", Network::Solana).await;
    balance_is(&site, &token, "6.66").await;
    site.wait_for_events(
        &token,
        &[
            "card.ready",
            "payment.fulfilled",
            "balance.credited",
            "wallet_payment.settled",
        ],
    )
    .await;
    with_open(&site, &token, 0).await;
    // Support finds the owner by an address on the chain.
    let quoted = wallet["addresses"]["base"].as_str().unwrap();
    let found = find(&OperatorClient::first(&host, &service), quoted).await;
    assert_eq!(found["customer"]["user_id"], json!(user), "{found}");
    service.stop();
    let report = host.assert_verified();
    // The sign-ins of the owner and the two strangers; the wallet has none.
    assert_eq!(report["entities"]["accounts"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_73_agent_wallet_uses_the_owners_link_identity_and_destinations() {
    // Checks: A card-balance top-up, a bank payment and an app payment each fail without the owner's link, identity or
    // destination. The error has our code and hint, and the amount is released at once. With them, each purchase is the
    // owner's.
    let host = Host::new()
        .with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10")
        .with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20")
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    let others = register(&site, &Agent::new(Network::Base)).await;
    let app = "/send-payment?amount=10&platform=venmo&recipient_id=@ada&recipient_first_name=Ada\
               &recipient_last_name=Lovelace&recipient_email=ada@example.com";
    for (route, status, reason) in [
        ("/fund-card-balance?amount=5".to_owned(), 412, "issuer_not_linked"),
        (app.to_owned(), 412, "identity_verification_required"),
        (
            format!("/send-bank-payment?amount=40&destination_id={others}"),
            404,
            "destination_not_found",
        ),
    ] {
        let answer = call(
            &site,
            &token,
            "agentX402Pay",
            json!({"route": route, "expectedNetwork": "base"}),
        )
        .await;
        assert_eq!(
            status_code_reason(&answer),
            (502, "http_error", &json!(reason)),
            "{}",
            answer.text
        );
        let error = &answer.body["error"];
        assert_eq!(error["sellerStatus"], status, "{error}");
        // The same error that the owner's own wallet gets.
        let own = agent.buy(&site, &route).await;
        assert_eq!((own.status, own.code()), (status, reason), "{}", own.text);
        let member = |name: &str| error[name].as_str().unwrap();
        assert!(member("hint").starts_with(own.str("hint").unwrap()), "{error}");
        assert!(member("message").ends_with(own.str("error").unwrap()), "{error}");
        with_open(&site, &token, 0).await;
    }
    assert!(outgoing_amounts(&site, &wallet, Network::Base).await.is_empty());
    link(&site, &agent, true).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let destination = register(&site, &agent).await;
    let top_up = bought(&site, &token, "/fund-card-balance?amount=5", Network::Base).await;
    wait_for_top_up(&site, &token, top_up["top_up_id"].as_str().unwrap(), "credited").await;
    let route = format!("/send-bank-payment?amount=40&destination_id={destination}");
    let bank = bought(&site, &token, &route, Network::Solana).await;
    wait_for_payout_status(
        &site,
        &token,
        bank["bank_payment"]["payout_id"].as_str().unwrap(),
        "complete",
    )
    .await;
    let app = bought(&site, &token, app, Network::Base).await;
    wait_for_payout_status(&site, &token, app["payment"]["payout_id"].as_str().unwrap(), "complete").await;
    let card = bought(&site, &token, "/get-push-to-card?amount=25&currency=USD", Network::Base).await;
    assert!(card.get("redemption_url").is_none(), "{card}");
    let own = format!("/get-payment-status?payout_id={}", card["payout_id"].as_str().unwrap());
    assert!(
        site.get_as(&token, &own).await.str("redemption_url").is_some(),
        "the owner reads it"
    );
    with_open(&site, &token, 0).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_73_owners_caps_and_freeze_apply_to_the_agent_wallet() {
    // Checks: With a cap of two cards a day, of which the owner bought one, the wallet buys one more. A rejected
    // purchase costs nothing. The wallet of a frozen owner cannot buy, whichever token asks.
    let host = Host::new().with("PURSER_CAPS__CARDS_PER_DAY", "2");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, wallet) = opened(&site, Network::Base).await;
    assert_eq!(agent.buy(&site, "/get-card?amount=5").await.status, 200);
    bought(&site, &token, "/get-card?amount=5", Network::Solana).await;
    let third = call(&site, &token, "agentX402Pay", json!({"route": "/get-card?amount=5"})).await;
    assert_eq!(
        status_code_reason(&third),
        (502, "http_error", &json!("cap_exceeded")),
        "{}",
        third.text
    );
    with_open(&site, &token, 0).await;
    assert_eq!(agent.buy(&site, "/get-card?amount=5").await.code(), "cap_exceeded");
    site.freeze(&agent.address(), Some("Call us.")).await;
    let frozen = call(&site, &token, "agentX402Pay", json!({"route": "/get-card?amount=5"})).await;
    assert_error(&frozen, 403, "account_frozen");
    assert!(outgoing_amounts(&site, &wallet, Network::Base).await.is_empty());
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_76_revoking_a_key_ends_its_tokens() {
    // Checks: An agent with an API key buys from the agent wallet. The first response, its replay and the wallet
    // payment contain no credential. Revoking the key ends its tokens; the purchases stay the owner's.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, own, _) = opened(&site, Network::Base).await;
    let made = result(&site, &own, "createAgentApiKey", json!({"name": "Agent"})).await;
    let key = json!({"apiKey": made["apiKey"]});
    let entered = site.post("/agentAuth", &json!({"data": key})).await;
    assert_eq!(entered.status, 200, "{}", entered.text);
    let (token, renewal) = (
        entered.body["result"]["idToken"].as_str().unwrap().to_owned(),
        entered.body["result"]["refreshToken"].as_str().unwrap().to_owned(),
    );
    let params = json!({"route": "/get-card?amount=5"});
    let first = keyed(&site, &token, "agentX402Pay", "buy", &params).await;
    let wallet_payment = first.body["result"]["walletPayment"]["walletPaymentId"].clone();
    let again = keyed(&site, &own, "agentX402Pay", "buy", &params).await;
    assert_eq!(again.body, first.body);
    let shown = result(
        &site,
        &token,
        "getAgentWallet",
        json!({"walletPaymentId": wallet_payment}),
    )
    .await;
    for answer in [&first.body, &again.body, &shown] {
        assert_eq!(token_members(answer), Vec::<String>::new(), "{answer}");
    }
    let revoked = json!({"apiKeyId": made["key"]["apiKeyId"]});
    result(&site, &own, "revokeAgentApiKey", revoked).await;
    let card = first.body["result"]["response"]["body"]["card_id"].as_str().unwrap();
    let read = format!("/get-card-data?card_id={card}");
    assert_error(&site.get_as(&token, &read).await, 401, "token_revoked");
    let renewed = super::access::refresh(&site, &renewal).await;
    assert_error(&renewed, 401, "refresh_token_revoked");
    for (name, data) in [
        ("getAgentWallet", json!({"walletPaymentId": wallet_payment})),
        ("agentX402Pay", params.clone()),
    ] {
        assert_error(&call(&site, &token, name, data).await, 401, "token_revoked");
    }
    assert_eq!(site.get_as(&own, &read).await.status, 200);
    service.stop();
    let report = host.assert_verified();
    // Sessions of the owner's sign-in and the key exchange. No wallet purchase opened one.
    assert_eq!(report["entities"]["sessions"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_purchase_beside_a_key_end_with_the_key() {
    // Checks: a purchase that is sent with a key's token gets tokens that name the key. Its revocation ends them, what they
    // were refreshed to and a page that they opened, also after a crash; a stop of the agents does so too. Tokens of a
    // purchase without the key's token go on after the revocation.
    for by_stop in [false, true] {
        let host = Host::new();
        let service = host.start();
        let site = ServiceClient::of(&service);
        let (agent, own, _) = opened(&site, Network::Base).await;
        let owner = super::owner::Owner::of(&site, &agent).await;
        let made = result(&site, &own, "createAgentApiKey", json!({"name": "Agent"})).await;
        let exchanged = result(&site, made["apiKey"].as_str().unwrap(), "agentAuth", json!({})).await;
        let bearer = format!("Bearer {}", exchanged["idToken"].as_str().unwrap());
        let buy = async |token: Option<&str>| {
            let path = "/get-card?amount=5";
            let payment = agent.payment(&site, path).await;
            let mut headers = vec![("payment-signature", payment.as_str())];
            headers.extend(token.map(|token| ("authorization", token)));
            let bought = site.get(path, &headers).await;
            assert_eq!(bought.status, 200, "{}", bought.text);
            ["id_token", "refresh_token"].map(|name| bought.body["auth"][name].as_str().unwrap().to_owned())
        };
        let (beside, alone) = (buy(Some(&bearer)).await, buy(None).await);
        let listed = site.get_as(&own, "/list-payments").await.body["payments"].clone();
        assert_eq!(listed[0].get("api_key"), None, "paid without the key's token");
        let key = json!({"api_key_id": made["key"]["apiKeyId"], "name": "Agent"});
        assert_eq!(listed[1]["api_key"], key);
        // Agents see their own key only: here this one, another one, and a payment.
        let other = result(&site, &own, "createAgentApiKey", json!({"name": "Other"})).await;
        let other = result(&site, other["apiKey"].as_str().unwrap(), "agentAuth", json!({})).await;
        let other = other["idToken"].as_str().unwrap();
        let one = format!("/get-payment?payment_id={}", listed[1]["payment_id"].as_str().unwrap());
        for (reader, seen) in [
            (&own[..], true),
            (&bearer[7..], true),
            (other, false),
            (&alone[0], false),
        ] {
            let list = site.get_as(reader, "/list-payments").await.body["payments"].clone();
            let read = site.get_as(reader, &one).await.body;
            let expected = seen.then_some(&key);
            assert_eq!(
                (list[1].get("api_key"), read.get("api_key")),
                (expected, expected),
                "{list}"
            );
        }
        let renewed = super::access::refresh(&site, &beside[1]).await;
        assert_eq!(renewed.status, 200, "{}", renewed.text);
        let renewed = ["id_token", "refresh_token"].map(|name| renewed.str(name).unwrap().to_owned());
        let page = super::owner::Owner::by_token(&site, &beside[0]).await;
        assert_eq!(page.account(&site).await.status, 200);
        if by_stop {
            let stopped = owner.act(&site, "/account/stop-agents", &json!({})).await;
            assert_eq!(stopped.status, 200, "{}", stopped.text);
            let resumed = owner.act(&site, "/account/resume-agents", &json!({})).await;
            assert_eq!(resumed.status, 200, "{}", resumed.text);
        } else {
            result(
                &site,
                &own,
                "revokeAgentApiKey",
                json!({"apiKeyId": made["key"]["apiKeyId"]}),
            )
            .await;
        }
        let ended = async |site: &ServiceClient<'_>| {
            for token in [&beside[0], &renewed[0]] {
                assert_error(&site.get_as(token, "/get-account-balance").await, 401, "token_revoked");
            }
            let again = super::access::refresh(site, &renewed[1]).await;
            assert_error(&again, 401, "refresh_token_revoked");
            assert_error(&page.account(site).await, 401, "token_revoked");
            let other = site.get_as(&alone[0], "/get-account-balance").await;
            assert_eq!(other.status, if by_stop { 401 } else { 200 }, "{}", other.text);
        };
        ended(&site).await;
        service.kill();
        let service = host.start();
        ended(&ServiceClient::of(&service)).await;
        service.stop();
        host.assert_verified();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_76_seller_response_is_shown_once_and_stored_without_tokens() {
    // Checks: The paying call gets the whole response. Its replay, the wallet payment and the store have null in place
    // of tokens. A payment token cannot read wallet payments. An error shows the server's status and body.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (agent, token, _) = opened(&site, Network::Base).await;
    let params = json!({"url": format!("http://{}/tells-token", seller.authority()), "expectedNetwork": "base"});
    let first = keyed(&site, &token, "agentX402Pay", "buy", &params).await;
    let body = |answer: &Response| answer.body["result"]["response"]["body"].clone();
    assert_eq!(body(&first)["access_token"], RESPONSE_TOKEN, "{}", first.text);
    let again = keyed(&site, &token, "agentX402Pay", "buy", &params).await;
    assert_eq!(
        (&body(&again)["access_token"], &body(&again)["for"]),
        (&Value::Null, &json!("you"))
    );
    let wallet_payment = json!({"walletPaymentId": first.body["result"]["walletPayment"]["walletPaymentId"]});
    let shown = result(&site, &token, "getAgentWallet", wallet_payment.clone()).await;
    assert_eq!(shown["response"]["body"], body(&again), "{shown}");
    let card = agent.buy(&site, "/get-card?amount=5").await;
    let payment_token = card.body["auth"]["id_token"].as_str().unwrap();
    let unread = call(&site, payment_token, "getAgentWallet", wallet_payment).await;
    assert_error(&unread, 403, "sign_in_required");
    let broken = json!({"url": format!("http://{}/broken", seller.authority())});
    let broken = call(&site, &token, "agentX402Pay", broken).await;
    assert_error(&broken, 502, "http_error");
    let error = &broken.body["error"];
    assert_eq!(
        (&error["sellerStatus"], &error["sellerBody"]),
        (&json!(500), &json!("{}")),
        "{error}"
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_82_agent_wallet_keeps_its_addresses_after_a_restore() {
    // Checks: A wallet created and used after the backup gets the same addresses when its owner requests it in the
    // restored store. Its funds can be spent from there. The store contains no key.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    agent.token(&site).await;
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    let made = result(&site, &token, "createAgentWallet", json!({})).await["wallet"].clone();
    bought(&site, &token, "/get-card?amount=5", Network::Base).await;
    service.stop();
    restore(&host, &file);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    let again = result(&site, &token, "createAgentWallet", json!({})).await["wallet"].clone();
    assert_eq!(again["addresses"], made["addresses"]);
    let now = result(&site, &token, "getAgentWallet", json!({})).await;
    assert_eq!(now["balances"]["base"]["balance"], 9_995, "{now}");
    // Outgoing transfers are paused for a while after a restore.
    site.advance(1_000).await;
    let token = agent.token(&site).await;
    let to = json!({"toAddress": agent.address(), "amountUsdc": 900});
    let sent = result(&site, &token, "agentWalletTransfer", to).await;
    assert_eq!(sent["status"], "settled", "{sent}");
    let other = Agent::new(Network::Base).token(&site).await;
    let other = result(&site, &other, "createAgentWallet", json!({})).await;
    assert_ne!(
        other["wallet"]["addresses"], made["addresses"],
        "each owner has its own"
    );
    service.stop();
    host.assert_verified();
}
