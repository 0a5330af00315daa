//! Frozen accounts, checked on every route of the service's document, so new routes are covered too.

use purser::http::callable::FUNCTION_NAMES;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::access::{field, refresh};
use super::access_matrix::MATRIX;
use super::agent::{Agent, required};
use super::cross_account_access::requires_token;
use super::full_account::FullAccount;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::mpp;
use super::owner::Owner;
use super::recipient::{balance_is, debit_card, enter, status, wait_for_payout_status};
use super::replay::transfer_count;

/// The freeze message, with characters that must not break a page or a response.
const WHY: &str = "<b>Call us.</b>";
/// Actions of the account page, and its form.
pub(crate) const FORMS: [&str; 15] = [
    "/account/identity",
    "/account/link",
    "/account/unlink",
    "/account/caps",
    "/account/spending",
    "/account/balance-limits",
    "/account/merchant-limits",
    "/account/api-keys/limits",
    "/account/api-keys/revoke",
    "/account/approvals/approve",
    "/account/approvals/decline",
    "/account/sessions/end",
    "/account/stop-agents",
    "/account/resume-agents",
    "/claim",
];

/// Bodies of routes that need one and have no row in the matrix.
pub(crate) const BODIES: &[(&str, &str)] = &[
    ("/withdraw", r#"{"amount": 1}"#),
    ("/create-reloadable-card", r#"{"usd_amount": 1}"#),
    (
        "/withdraw-card-balance",
        r#"{"amount": 2, "destination_address": "0x1111111111111111111111111111111111111111"}"#,
    ),
    (
        "/createBankingProfile",
        r#"{"data": {"firstName": "A", "lastName": "B", "email": "a@b.c"}}"#,
    ),
    ("/getBankingProfileStatus", r#"{"data": {}}"#),
    ("/register-webhook", r#"{"url": "https://hooks.unused.example/b"}"#),
    ("/createAgentWallet", r#"{"data": {}}"#),
    ("/createAgentApiKey", r#"{"data": {"name": "Mine"}}"#),
    ("/announceAgentConnection", r#"{"data": {"name": "Mine"}}"#),
    ("/getAgentSpendLimit", r#"{"data": {}}"#),
    ("/listAddressBook", r#"{"data": {}}"#),
    ("/agentX402Pay", r#"{"data": {"route": "/get-card?amount=5"}}"#),
    ("/updateBankingApplicationDetails", r#"{"data": {"city": "Town"}}"#),
    (
        "/uploadBankingDocument",
        r#"{"data": {"type": "other", "content": "JVBERi0xLjc="}}"#,
    ),
    ("/createBankingAccount", r#"{"data": {"type": "onramp"}}"#),
    (
        "/createBankingRecipient",
        r#"{"data": {"name": "Ada", "destination": {"type": "fiat_iban", "bankName": "B", "iban": "DE89370400440532013000"}}}"#,
    ),
];

fn assert_frozen(answer: &Response, what: &str) {
    let error = (answer.status, answer.code(), answer.str("frozen_message"));
    assert_eq!(error, (403, "account_frozen", Some(WHY)), "{what}: {}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_49_frozen_account_is_rejected_on_every_route() {
    // Checks: Every route with a token, except the one for login links, returns 403 with the message, also for the
    // owner's own ids. Forms are rejected, the page gives the reason, and sign-in works. Nothing changes, and a pending
    // check continues.
    let host = Host::new().with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let person = FullAccount::furnished(&site, Network::Base, 31).await;
    let owner = Owner::of(&site, &person.agent).await;
    let other = Agent::new(Network::Solana);
    let waits = other.token(&site).await;
    let begun = Owner::by_token(&site, &waits).await;
    assert_eq!(begun.act(&site, "/account/identity", &json!({})).await.status, 200);
    site.freeze(&other.address(), Some(WHY)).await;
    let before = site.events(&person.token, 0).await.len();
    site.freeze(&person.agent.address(), Some(WHY)).await;
    for ask in MATRIX.iter().filter(|ask| !ask.is_paid) {
        let answer = ask.of(&site, Some(&person), person.id(ask.of)).await;
        assert_frozen(&answer, ask.route);
    }
    let document = site.document().await;
    let mut met = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method = method.to_uppercase();
            // Its owner must be able to read the reason.
            if path == "/get-auth-link" {
                continue;
            }
            // Operations that always take an id were called above.
            if !requires_token(operation) || MATRIX.iter().any(|ask| ask.requires_id(&method, path)) {
                continue;
            }
            met += 1;
            let mut request = site.request(&method, path).bearer_auth(&person.token);
            if let Some((_, body)) = BODIES.iter().find(|(of, _)| of == path) {
                request = request.body(*body);
            } else if FUNCTION_NAMES.contains(&path.as_str()) {
                request = request.body(r#"{"data": {}}"#);
            }
            assert_frozen(&send(request).await.unwrap(), &format!("{method} {path}"));
        }
    }
    assert!(met >= 6, "only {met} routes take a token");
    for path in FORMS {
        assert_frozen(&owner.act_without_fields(&site, &service.url, path).await, path);
    }
    let account = owner.account(&site).await;
    assert_frozen(&account, "/account");
    let shown = account.str("user_id").unwrap();
    assert!(shown.eq_ignore_ascii_case(&person.agent.address()), "{}", account.text);
    let signed_in = person.agent.sign_in(&site).await;
    let refreshed = refresh(&site, &field(&signed_in, "/auth/refresh_token")).await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text);
    site.freeze(&person.agent.address(), None).await;
    site.freeze(&other.address(), None).await;
    let status = site.get_as(&waits, "/get-kyc-status").await;
    assert_eq!(status.str("status"), Some("in-review"));
    let events: Vec<Value> = site.events(&person.token, 0).await.split_off(before);
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds, ["account.frozen", "account.unfrozen"]);
}

/// A paid route with the document's own examples.
fn sample(path: &str, operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let query: Vec<String> = parameters
        .filter(|parameter| parameter["in"] == "query" && parameter.get("example").is_some())
        .map(|parameter| {
            let example = parameter["example"].as_str();
            let example = example.unwrap_or_else(|| panic!("{path}: no example of {parameter}"));
            format!("{}={example}", parameter["name"].as_str().unwrap())
        })
        .collect();
    format!("{path}?{}", query.join("&"))
}

#[tokio::test(flavor = "multi_thread")]
async fn case_49_payments_of_a_frozen_account_never_settle() {
    // Checks: Every paid route, on both networks and by MPP, returns 403 with the message and no challenge, before any
    // other requirement. There is no transfer, no claim and no event except the freeze. After the account is unfrozen,
    // the same payment is accepted.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let document = site.document().await;
    let mut met = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let operation = &methods["get"];
        if operation.get("x-payment-info").is_none() {
            continue;
        }
        met += 1;
        let path = sample(path, operation);
        for network in Network::ALL {
            let agent = Agent::new(network);
            let token = agent.token(&site).await;
            let challenge = site.get(&path, &[]).await;
            assert_eq!(challenge.status, 402, "{path}: {}", challenge.text);
            let payment = agent.sign(&required(&challenge));
            site.freeze(&agent.address(), Some(WHY)).await;
            let mut answers = vec![Agent::pay(&site, &path, &payment).await];
            if network == Network::Base {
                answers.push(mpp::pay(&site, &path, &agent.credential(&challenge)).await);
            }
            for answer in answers {
                assert_frozen(&answer, &path);
                for challenged in ["payment-required", "www-authenticate"] {
                    assert_eq!(answer.header(challenged), None, "{path}");
                }
            }
            assert_eq!(transfer_count(&site, &payment).await, 0, "{path}");
            site.freeze(&agent.address(), None).await;
            let events = site.events(&token, 0).await;
            let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
            let expected = ["account.created", "account.frozen", "account.unfrozen"];
            assert_eq!(kinds, expected, "{path}");
        }
    }
    assert!(met >= 3, "only {met} routes are paid");
    assert!(site.transfers().await.is_empty());
    for network in Network::ALL {
        let agent = Agent::new(network);
        agent.token(&site).await;
        let payment = agent.payment(&site, "/get-card?amount=5").await;
        site.freeze(&agent.address(), Some(WHY)).await;
        assert_frozen(&Agent::pay(&site, "/get-card?amount=5", &payment).await, network.name());
        site.freeze(&agent.address(), None).await;
        assert_eq!(Agent::pay(&site, "/get-card?amount=5", &payment).await.status, 200);
    }
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["entities"]["payments"], json!(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn recipient_form_waits_while_its_payer_is_frozen() {
    // Checks: Neither page nor form gives the reason or changes anything. After the account is unfrozen, the same link
    // takes the card. Time passes meanwhile, and an expired link is closed.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-push-to-card?amount=25&currency=USD").await;
    let (payout, link) = (bought.str("payout_id").unwrap(), bought.str("redemption_url").unwrap());
    let (_, query) = link.split_once("/redeem").unwrap();
    let look = async || site.get(&format!("/redeem{query}"), &[]).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    for answer in [look().await, enter(&site, link, &debit_card("840"), "12/31").await] {
        assert_eq!(answer.status, 403, "{}", answer.text);
        assert!(
            answer.text.contains("on hold") && !answer.text.contains("Call us"),
            "{}",
            answer.text
        );
    }
    site.freeze(&agent.address(), None).await;
    assert_eq!(look().await.status, 200);
    let token = agent.token(&site).await;
    let waiting = status(&site, &token, payout).await;
    assert_eq!(waiting.str("status"), Some("awaiting-details"));
    assert_eq!(enter(&site, link, &debit_card("840"), "12/31").await.status, 200);
    wait_for_payout_status(&site, &token, payout, "complete").await;
    service.stop();
    host.assert_verified();

    let host = Host::new().with("PURSER_PAYOUTS__RECIPIENT_FORM_TTL_SECONDS", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let bought = agent.buy(&site, "/get-push-to-card?amount=25&currency=USD").await;
    let link = bought.str("redemption_url").unwrap();
    site.freeze(&agent.address(), Some(WHY)).await;
    until("it is closed", async || {
        let answer = enter(&site, link, &debit_card("840"), "12/31").await;
        assert!(matches!(answer.status, 403 | 409), "{}", answer.text);
        (answer.status == 409).then_some(())
    })
    .await;
    site.freeze(&agent.address(), None).await;
    let token = agent.token(&site).await;
    balance_is(&site, &token, "26.5").await;
    service.stop();
    host.assert_verified();
}
