//! A managed wallet's addresses are addresses of its owner's account: what it buys, credits, caps, identity and links are the
//! owner's; nothing that is stored lets anybody in; a seller that shows our own terms gets nothing; a restore finds the wallet.

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

/// Members of an answer that let whoever holds them in, wherever they are.
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

/// Pays a route from the managed wallet; what the route answered.
pub(super) async fn bought(site: &ServiceClient<'_>, token: &str, route: &str, network: Network) -> Value {
    let wanted = json!({"route": route, "expectedNetwork": network.name()});
    let told = result(site, token, "agentX402Pay", wanted).await;
    assert_eq!(told["status"], "settled", "{told}");
    assert_eq!(token_members(&told), Vec::<String>::new(), "{told}");
    told["response"]["body"].clone()
}

pub(super) fn status_code_reason(answer: &Response) -> (u16, &str, &Value) {
    (answer.status, answer.code(), &answer.body["error"]["reason"])
}

#[tokio::test(flavor = "multi_thread")]
async fn case_73_what_a_managed_wallet_buys_is_its_owners() {
    // Aim: a card bought on either chain, one whose settlement was answered late, and the credit of one that the issuer refused
    // are the owner's: cards, balance, payments and events are read with the owner's own token; nobody else has any.
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
    // Support finds the owner by what the chain shows.
    let quoted = wallet["addresses"]["base"].as_str().unwrap();
    let found = find(&OperatorClient::first(&host, &service), quoted).await;
    assert_eq!(found["customer"]["user_id"], json!(user), "{found}");
    service.stop();
    let report = host.assert_verified();
    // The owner's and the two strangers'; the wallet has none.
    assert_eq!(report["entities"]["accounts"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_73_what_its_owner_has_the_managed_wallet_pays_with() {
    // Aim: a balance at the card issuer, a bank payment and an app payment: without the owner's link, identity or destination
    // each is refused with our own code and hint, and its amount is free at once; with them each is bought and the owner's.
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
        // As the owner's own wallet is told.
        let own = agent.buy(&site, &route).await;
        assert_eq!((own.status, own.code()), (status, reason), "{}", own.text);
        let told = |name: &str| error[name].as_str().unwrap();
        assert!(told("hint").starts_with(own.str("hint").unwrap()), "{error}");
        assert!(told("message").ends_with(own.str("error").unwrap()), "{error}");
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
async fn case_73_the_owners_caps_and_freeze_hold_for_the_managed_wallet() {
    // Aim: with a cap of two cards a day, of which the owner bought one, the wallet buys one more; what it is refused costs
    // nothing; a frozen owner's wallet buys nothing, whoever asks.
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
async fn case_76_what_a_key_brought_about_ends_with_it() {
    // Aim: an agent by an API key buys from the managed wallet; first answer, replay and spend hold nothing that lets anybody in;
    // with the key its tokens end, and what it bought stays the owner's.
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
    let wanted = json!({"route": "/get-card?amount=5"});
    let first = keyed(&site, &token, "agentX402Pay", "buy", &wanted).await;
    let spend = first.body["result"]["walletPayment"]["walletPaymentId"].clone();
    let again = keyed(&site, &own, "agentX402Pay", "buy", &wanted).await;
    assert_eq!(again.body, first.body);
    let shown = result(&site, &token, "getAgentWallet", json!({"walletPaymentId": spend})).await;
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
        ("getAgentWallet", json!({"walletPaymentId": spend})),
        ("agentX402Pay", wanted.clone()),
    ] {
        assert_error(&call(&site, &token, name, data).await, 401, "token_revoked");
    }
    assert_eq!(site.get_as(&own, &read).await.status, 200);
    service.stop();
    let report = host.assert_verified();
    // The owner's sign-in and the key's exchange: no purchase of the wallet's opened one.
    assert_eq!(report["entities"]["sessions"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_76_what_another_server_told_is_shown_once_and_stored_without_its_tokens() {
    // Aim: the call that paid is shown the whole answer; its replay, the spend and the store have null for tokens in it; a token
    // born of a payment reads no spend at all; a refusal shows the server's status and words.
    let (seller, host, service) = service_with_seller().await;
    let site = ServiceClient::of(&service);
    let (agent, token, _) = opened(&site, Network::Base).await;
    let wanted = json!({"url": format!("http://{}/tells-token", seller.authority()), "expectedNetwork": "base"});
    let first = keyed(&site, &token, "agentX402Pay", "buy", &wanted).await;
    let body = |answer: &Response| answer.body["result"]["response"]["body"].clone();
    assert_eq!(body(&first)["access_token"], RESPONSE_TOKEN, "{}", first.text);
    let again = keyed(&site, &token, "agentX402Pay", "buy", &wanted).await;
    assert_eq!(
        (&body(&again)["access_token"], &body(&again)["for"]),
        (&Value::Null, &json!("you"))
    );
    let spend = json!({"walletPaymentId": first.body["result"]["walletPayment"]["walletPaymentId"]});
    let shown = result(&site, &token, "getAgentWallet", spend.clone()).await;
    assert_eq!(shown["response"]["body"], body(&again), "{shown}");
    let born = agent.buy(&site, "/get-card?amount=5").await;
    let born = born.body["auth"]["id_token"].as_str().unwrap();
    let unread = call(&site, born, "getAgentWallet", spend).await;
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
async fn case_82_a_managed_wallets_addresses_are_the_same_after_a_restore() {
    // Aim: a wallet that was opened, and paid from, after the backup has the same addresses once its owner asks for it in the
    // restored store, and what they hold is spent from there; no key is in the store.
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
    // What leaves waits for a while after a restore.
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
