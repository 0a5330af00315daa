//! What a token issued for a payment can read and load. A hostile seller may have relayed that payment.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access::{assert_not_visible, field, refresh};
use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::operator_client::{OperatorClient, PAN};
use super::owner::Owner;
use super::recipient::status;
use super::reloadable_cards::{loaded, opened, post_with_key};
use super::top_up::{self, id_of, wait_for_top_up};

const GIFT: &str = "/order-gift-card?product_id=gift_marche_lumiere_fr&amount=50&country=FR";
const PUSH: &str = "/get-push-to-card?amount=25&currency=USD";

fn token_of(bought: &Response) -> String {
    field(bought, "/auth/id_token")
}

async fn read(site: &ServiceClient<'_>, token: &str, card: &str) -> Response {
    site.get_as(token, &format!("/get-card-data?card_id={card}")).await
}

/// Waits until a card is in this state and returns it.
async fn wait_for_card(site: &ServiceClient<'_>, token: &str, card: &str) -> Value {
    until("a card that is shown", async || {
        let answer = read(site, token, card).await;
        let is_shown = answer.body["card_details"].is_object() || answer.body["redemption_code"].is_string();
        is_shown.then_some(answer.body)
    })
    .await
}

/// A USA card, a gift card and an international card with their numbers or codes, and the link of a push to card.
async fn furnished(
    site: &ServiceClient<'_>,
    operator: &OperatorClient<'_>,
    agent: &Agent,
    token: &str,
) -> (Vec<(String, String)>, String) {
    let usa = agent.buy(site, "/get-card?amount=5").await.card().to_owned();
    let gift = agent.buy(site, GIFT).await.card().to_owned();
    let ordered = agent.buy(site, "/order-intl-card?amount=100").await;
    let intl = field(&ordered, "/intl_card_order/card_id");
    let lease = operator.claim(&intl).await;
    assert_eq!(operator.fulfil(&intl, lease).await.status, 200);
    let payout = field(&agent.buy(site, PUSH).await, "/payout_id");
    let mut secrets = Vec::new();
    for card in [usa, gift, intl] {
        let body = wait_for_card(site, token, &card).await;
        let secret = body["card_details"]["card_number"]
            .as_str()
            .or(body["redemption_code"].as_str());
        secrets.push((card, secret.unwrap().to_owned()));
    }
    assert!(secrets.iter().any(|(_, number)| number.replace(' ', "") == PAN));
    (secrets, payout)
}

#[tokio::test(flavor = "multi_thread")]
async fn case_75_payment_token_reads_only_what_its_payment_bought() {
    // Checks: the relayer of a payment reads the number of what it bought and of nothing earlier, on all routes: single
    // cards, lists, payout links, after a refresh and through a login link. A sign-in reads all of it.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let own = agent.token(&site).await;
    let (secrets, payout) = furnished(&site, &operator, &agent, &own).await;
    let relayed = agent.buy(&site, "/get-card?amount=6").await;
    let renewed = refresh(&site, &field(&relayed, "/auth/refresh_token")).await;
    let tokens = [token_of(&relayed), field(&renewed, "/id_token")];
    for token in &tokens {
        let number = &wait_for_card(&site, token, relayed.card()).await["card_details"]["card_number"];
        assert!(number.is_string(), "what its own payment bought");
        for (card, _) in &secrets {
            assert_not_visible(&read(&site, token, card).await, card);
        }
        let waiting = status(&site, token, &payout).await;
        assert_eq!(
            (waiting.status, waiting.str("redemption_url")),
            (200, None),
            "{}",
            waiting.text
        );
        for list in [
            "/get-card-data",
            "/get-card-data?card_type=Gift%20Card",
            "/get-card-data?card_type=Non-Reloadable%20International",
            "/get-payment-status",
            "/list-card-transactions",
            "/events?limit=100",
        ] {
            let answer = site.get_as(token, list).await;
            assert_eq!(answer.status, 200, "{list}: {}", answer.text);
            for (card, secret) in &secrets {
                assert!(
                    !answer.text.contains(secret.as_str()),
                    "{list} shows what spends {card}"
                );
            }
            assert!(!answer.text.contains("redemption_url"), "{list}");
        }
        let visitor = Owner::by_token(&site, token).await;
        let account = site.get("/account", &[("cookie", visitor.cookie())]).await;
        for page in [visitor.page(&site).await, account] {
            assert_eq!(page.status, 200, "{}", page.text);
            assert!(
                secrets.iter().all(|(_, secret)| !page.text.contains(secret.as_str())),
                "{}",
                page.text
            );
        }
        assert_eq!(visitor.act(&site, "/account/link", &json!({})).await.status, 403);
    }
    for (card, secret) in &secrets {
        assert!(read(&site, &own, card).await.text.contains(secret.as_str()));
    }
    let link = status(&site, &own, &payout).await;
    assert!(link.str("redemption_url").is_some(), "{}", link.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_lets_payment_token_read_earlier_purchases() {
    // Checks: when the setting is on, the token also reads and controls earlier cards and links. The test above covers
    // the default.
    let host = Host::new().with("PURSER_IDENTITY__PAYMENT_TOKEN_CAN_READ_CARDS", "true");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Solana);
    let own = agent.token(&site).await;
    let (secrets, payout) = furnished(&site, &operator, &agent, &own).await;
    let token = token_of(&agent.buy(&site, "/get-card?amount=6").await);
    for (card, secret) in &secrets {
        assert!(read(&site, &token, card).await.text.contains(secret.as_str()), "{card}");
    }
    let link = status(&site, &token, &payout).await;
    assert!(link.str("redemption_url").is_some(), "{}", link.text);
    let (usa, _) = &secrets[0];
    let paused = post_with_key(&site, &token, "/pause-card", None, &json!({"card_id": usa})).await;
    assert_eq!(
        paused.status, 202,
        "the token controls the cards that it reads: {}",
        paused.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_75_payment_token_loads_only_its_own_top_up() {
    // Checks: the token of a top-up opens one reloadable card from that top-up, however often it asks, and reads its
    // number. It neither loads nor reads earlier cards, and tokens of other payments open none.
    let (host, service) = top_up::start();
    let site = ServiceClient::of(&service);
    let (agent, own) = loaded(&site, Network::Base, 50).await;
    let earlier = opened(&site, &own, json!({"usd_amount": 1})).await;
    let brought = agent.buy(&site, "/fund-card-balance?amount=10").await;
    let token = token_of(&brought);
    wait_for_top_up(&site, &token, &id_of(&brought), "credited").await;
    let made = opened(&site, &token, json!({"usd_amount": 6})).await;
    let number = wait_for_card(&site, &token, &made).await["card_details"]["card_number"].clone();
    assert!(number.is_string());
    assert_not_visible(&read(&site, &token, &earlier).await, "what another session made");
    let resume = async |card: &str| post_with_key(&site, &token, "/resume-card", None, &json!({"card_id": card})).await;
    assert_not_visible(&resume(&earlier).await, "what another session made");
    assert_eq!(resume(&made).await.status, 200, "what this payment's token made");
    let load = async |token: &str, key: Option<&str>, amount: u32| {
        post_with_key(
            &site,
            token,
            "/create-reloadable-card",
            key,
            &json!({"usd_amount": amount}),
        )
        .await
    };
    assert_not_visible(&load(&token, None, 5).await, "more than is left of 10");
    let rest = load(&token, Some("rest"), 4).await;
    assert!(matches!(rest.status, 200 | 202), "{}", rest.text);
    assert_not_visible(&load(&token, None, 1).await, "nothing is left");
    let again = load(&token, Some("rest"), 4).await;
    assert_eq!(
        again.body["card"]["card_id"], rest.body["card"]["card_id"],
        "{}",
        again.text
    );
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    assert_not_visible(&load(&token_of(&bought), None, 1).await, "another payment's");
    assert!(
        matches!(load(&own, None, 30).await.status, 200 | 202),
        "its owner's own sign-in"
    );
    assert_eq!(
        wait_for_card(&site, &own, &made).await["card_details"]["card_number"],
        number
    );

    // Concurrent requests load the top-up once.
    let brought = agent.buy(&site, "/fund-card-balance?amount=9").await;
    let token = token_of(&brought);
    wait_for_top_up(&site, &token, &id_of(&brought), "credited").await;
    let answers = futures_util::future::join_all((0..6).map(|_| load(&token, None, 3))).await;
    let taken = answers
        .iter()
        .filter(|answer| matches!(answer.status, 200 | 202))
        .count();
    assert!((1..=3).contains(&taken), "{taken} cards of 3 out of 9");
    for answer in answers.iter().filter(|answer| !matches!(answer.status, 200 | 202)) {
        assert!(matches!(answer.status, 403 | 503), "{}", answer.text);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_token_cannot_read_agent_wallet_responses() {
    // Checks: a stored response may contain a code. The owner of the wallet reads it; a token issued for a payment does
    // not.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let own = agent.token(&site).await;
    let call = async |token: &str, name: &str, data: Value| {
        let request = site.request("POST", &format!("/{name}")).bearer_auth(token);
        send(request.json(&json!({"data": data}))).await.unwrap()
    };
    let made = call(&own, "createAgentWallet", json!({})).await;
    let address = field(&made, "/result/wallet/addresses/base");
    let faucet = json!({"wallet": address, "amount": "20"});
    assert_eq!(site.post("/sandbox/faucet", &faucet).await.status, 200);
    let paid = call(&own, "agentX402Pay", json!({"route": "/get-card?amount=5"})).await;
    let wallet_payment = field(&paid, "/result/walletPayment/walletPaymentId");
    let payment_token = token_of(&agent.buy(&site, "/get-card?amount=5").await);
    let response = call(
        &payment_token,
        "getAgentWallet",
        json!({"walletPaymentId": wallet_payment}),
    )
    .await;
    assert_eq!(
        (response.status, &response.body["error"]["code"]),
        (403, &json!("sign_in_required")),
        "{}",
        response.text
    );
    assert_eq!(call(&payment_token, "getAgentWallet", json!({})).await.status, 200);
    assert_eq!(
        call(&own, "getAgentWallet", json!({"walletPaymentId": wallet_payment}))
            .await
            .status,
        200
    );
}
