//! The page behind a login link in a real Chromium: the link lets in once, and the account is live.

use std::path::Path;

use crate::chromium::Chromium;
use crate::server_process::ServerProcess;
use purser::system::SystemEntropy;
use purser::wallet::{PaymentRequired, TestWallet};
use purser_actors::id::Network;
use serde_json::{Value, json};

/// Buys with our own client; returns what it printed. Its wallet and tokens lie in the folder.
fn buy(purser: &ServerProcess, folder: &Path, amount: &str) -> Value {
    pay(purser, folder, &format!("/get-card?amount={amount}"))
}

fn pay(purser: &ServerProcess, folder: &Path, path: &str) -> Value {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_purser"))
        .args(["pay", "--json", "--max-usd", "200", "--network", "base", "--wallet"])
        .arg(folder.join("wallet.json"))
        .arg(purser.url(path))
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}

fn token(folder: &Path) -> String {
    let tokens = std::fs::read(folder.join("wallet.tokens.json")).unwrap();
    let tokens: Value = serde_json::from_slice(&tokens).unwrap();
    let one = tokens.as_object().unwrap().values().next().unwrap();
    one["id_token"].as_str().unwrap().to_owned()
}

async fn login_link(purser: &ServerProcess, folder: &Path) -> String {
    let (status, link) = purser.bearer("/get-auth-link", &token(folder)).await;
    assert_eq!((status, &link["expires_in"]), (200, &json!(900)), "{link}");
    link["auth_url"].as_str().unwrap().to_owned()
}

const USED_OR_EXPIRED: &str = "was used or has expired";
/// The balance, on Home.
const BALANCE: &str = ".big-amount";

/// The line of Home whose last event has this type.
fn line(event_type: &str) -> String {
    format!("#happened [data-type='{event_type}']")
}

/// The line of Home about a card.
fn line_of(card_id: &Value) -> String {
    format!("#happened a[href$='/{}']", card_id.as_str().unwrap())
}

#[tokio::test]
async fn case_47_the_link_opens_the_account_once() {
    // Checks: a link preview does not use the link up. The person who opens it is signed in, and the code leaves the
    // address bar. A second visit, in any browser, shows the error without a session, or the account of the session.
    let Some(mut chromium) = Chromium::start() else { return };
    let (purser, folder) = (ServerProcess::start(), tempfile::tempdir().unwrap());
    let bought = buy(&purser, folder.path(), "5");
    let link = login_link(&purser, folder.path()).await;
    for _ in 0..2 {
        assert_eq!(chromium.run_command(json!({"do": "fetch", "url": link}))["status"], 200);
    }
    chromium.open(&link);
    chromium.wait(".connection", "Live");
    chromium.wait(&line_of(&bought["card_id"]), "bought a $5.00 US card");
    let (user, shown) = (bought["user_id"].as_str().unwrap(), chromium.text(".who b"));
    let (begin, end) = shown.split_once('…').unwrap();
    assert!(
        begin.len() >= 6 && user.starts_with(begin) && user.ends_with(end),
        "{shown}"
    );
    assert!(chromium.text("#sign-in").is_empty());
    let seen = chromium.run_command(json!({"do": "where"}));
    assert_eq!(seen["url"], purser.url("/dashboard"));
    for requested in seen["requested"].as_array().unwrap() {
        assert!(requested.as_str().unwrap().starts_with(&purser.url("/")), "{requested}");
    }

    chromium.run_command(json!({"do": "back"}));
    let before = chromium.run_command(json!({"do": "where"}));
    assert!(!before["url"].as_str().unwrap().contains("code="), "{before}");

    chromium.run_command(json!({"do": "forget"}));
    chromium.open(&link);
    chromium.wait("#sign-in-note", USED_OR_EXPIRED);
    assert!(chromium.text(BALANCE).is_empty());
    assert_eq!(
        chromium.run_command(json!({"do": "where"}))["url"],
        purser.url("/login")
    );
}

#[tokio::test]
async fn case_47_a_button_opens_the_link_where_scripts_are_off() {
    // Checks: without scripts the page waits for a click, and the click signs the browser in.
    let Some(mut chromium) = Chromium::start() else { return };
    let (purser, folder) = (ServerProcess::start(), tempfile::tempdir().unwrap());
    let bought = buy(&purser, folder.path(), "5");
    chromium.run_command(json!({"do": "scripts", "on": false}));
    chromium.open(&login_link(&purser, folder.path()).await);
    chromium.run_command(json!({"do": "press", "selector": "#form button"}));
    assert_eq!(
        chromium.run_command(json!({"do": "where"}))["url"],
        purser.url("/dashboard")
    );
    chromium.run_command(json!({"do": "scripts", "on": true}));
    chromium.open(&purser.url("/dashboard"));
    chromium.wait(&line_of(&bought["card_id"]), "bought a $5.00 US card");
}

#[tokio::test]
async fn unknown_login_code_opens_nothing() {
    // Checks: an unknown code creates no session. Without a code the page explains where links come from.
    let Some(mut chromium) = Chromium::start() else { return };
    let purser = ServerProcess::start();
    for path in [
        "/login",
        "/login?code=",
        "/login?code=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ] {
        chromium.open(&purser.url(path));
        chromium.wait("#sign-in-note", USED_OR_EXPIRED);
        assert!(chromium.text(BALANCE).is_empty());
    }
    // The dashboard itself asks to sign in, and shows nothing.
    chromium.open(&purser.url("/dashboard"));
    chromium.wait("main", "Sign in to your account");
    assert!(chromium.text(BALANCE).is_empty());
}

#[tokio::test]
async fn account_page_updates_live() {
    // Checks: the open page shows a new card, its readiness, the events, and the credit of a declined card without a
    // reload. With PURSER_PICTURE it also takes the documentation's picture.
    let Some(mut chromium) = Chromium::start() else { return };
    let (purser, folder) = (ServerProcess::start(), tempfile::tempdir().unwrap());
    buy(&purser, folder.path(), "25");
    chromium.open(&login_link(&purser, folder.path()).await);
    chromium.wait(".connection", "Live");
    chromium.wait(&line("card.ready"), "bought a $25.00 US card");
    let card = buy(&purser, folder.path(), "20");
    chromium.wait(&line_of(&card["card_id"]), "bought a $20.00 US card");
    chromium.wait(&line("card.ready"), "bought a $20.00 US card");
    chromium.wait(&line("card.ready"), "Ready in");
    assert!(chromium.text(BALANCE).starts_with("$0"));
    // The sandbox's issuer declines a card of this amount after the payment settled, and the charge becomes a credit.
    let declined = buy(&purser, folder.path(), "6.66");
    chromium.wait(&line("card.failed"), "tried to buy a $6.66 US card");
    chromium.wait(&line_of(&declined["card_id"]), "so the money is back on your balance");
    chromium.wait(BALANCE, "$6.66");
    if let Some(path) = std::env::var_os("PURSER_PICTURE") {
        chromium.run_command(json!({"do": "shoot", "path": path.to_string_lossy()}));
    }
}

#[tokio::test]
async fn account_page_shows_changes_of_every_card_kind() {
    // Checks: gift cards and international orders appear with their value in their own currency, both old ones and
    // those that are bought and change while the page is open.
    let Some(mut chromium) = Chromium::start() else { return };
    let (purser, folder) = (ServerProcess::start(), tempfile::tempdir().unwrap());
    let gift = "/order-gift-card?product_id=gift_marche_lumiere_fr&amount=50&country=FR";
    let before = pay(&purser, folder.path(), gift);
    chromium.open(&login_link(&purser, folder.path()).await);
    chromium.wait(".connection", "Live");
    chromium.wait(&line_of(&before["card_id"]), "bought a €50.00 gift card");
    let bought = pay(&purser, folder.path(), gift);
    chromium.wait(&line_of(&bought["card_id"]), "bought a €50.00 gift card");
    chromium.wait(&line("gift_card.completed"), "Delivered in");
    let ordered = pay(&purser, folder.path(), "/order-intl-card?amount=100");
    let order = ordered["intl_card_order"]["card_id"].as_str().unwrap();
    chromium.wait(&line("intl_order.queued"), "ordered a $100.00 international card");
    chromium.wait(".on-way", "International card");
    let cancelled = purser::outbound::client()
        .no_proxy()
        .build()
        .unwrap()
        .post(purser.url("/cancel-intl-order"))
        .bearer_auth(token(folder.path()))
        .json(&json!({"card_id": order}))
        .send();
    assert_eq!(cancelled.await.unwrap().status(), 200);
    chromium.wait(&line("intl_order.cancelled"), "so the money is back on your balance");
    chromium.wait(BALANCE, "$103.80");
}

#[tokio::test]
async fn dashboard_says_when_it_is_not_live_and_resumes_after_a_restart() {
    // Checks: when the server is killed, the open page says since when it is not live, greys what may be old and takes
    // no decision. Started again, the page resumes by itself and shows what happened meanwhile, once.
    let Some(mut chromium) = Chromium::start() else { return };
    let (mut purser, folder) = (ServerProcess::start_at_one_address(), tempfile::tempdir().unwrap());
    buy(&purser, folder.path(), "25");
    chromium.open(&login_link(&purser, folder.path()).await);
    chromium.wait(".connection", "Live");
    chromium.wait(&line("card.ready"), "bought a $25.00 US card");
    purser.kill();
    chromium.wait(".connection", "Not live");
    chromium.wait(".stale-bar", "Not live since");
    chromium.wait(".stale-bar", "What you see may be old");
    purser.run();
    let meanwhile = buy(&purser, folder.path(), "20");
    chromium.wait(".connection", "Live");
    chromium.wait(&line_of(&meanwhile["card_id"]), "bought a $20.00 US card");
    chromium.wait(&line("card.ready"), "bought a $20.00 US card");
    let shown = chromium.text("#happened .said");
    assert_eq!(shown.matches("bought a $20.00 US card").count(), 1, "{shown}");
    assert_eq!(shown.matches("bought a $25.00 US card").count(), 1, "{shown}");
    assert!(chromium.text(".stale-bar").is_empty());
}

/// A login link of a wallet that signed in.
async fn owners_link(purser: &ServerProcess) -> String {
    let wallet = TestWallet::create(&SystemEntropy).unwrap();
    let (_, headers, _) = purser.get("/auth", &[]).await;
    let required = PaymentRequired::from_header(headers["payment-required"].as_bytes()).unwrap();
    let proof = wallet.sign_in(&required.sign_in().unwrap(), Network::Base).unwrap();
    let (status, _, signed_in) = purser.get("/auth", &[("sign-in-with-x", &proof)]).await;
    assert_eq!(status, 200, "{signed_in}");
    let (_, link) = purser
        .bearer("/get-kyc-link", signed_in["auth"]["id_token"].as_str().unwrap())
        .await;
    link["kyc_url"].as_str().unwrap().to_owned()
}

/// Follows the page's link to the sandbox's check, fills in its form and hands it in.
fn identify(chromium: &mut Chromium, family_name: &str) {
    // Until the provider has answered, the link leads back to the page.
    while chromium.text("#identity a") == "Look again" {
        chromium.run_command(json!({"do": "press", "selector": "#identity a"}));
    }
    chromium.run_command(json!({"do": "press", "selector": "#identity a"}));
    for (field, value) in [
        ("given_name", "Ada"),
        ("family_name", family_name),
        ("date_of_birth", "1990-12-10"),
        ("country", "gb"),
    ] {
        chromium.run_command(json!({"do": "fill", "selector": format!("[name={field}]"), "text": value}));
    }
    chromium.run_command(json!({"do": "press", "selector": "button"}));
    chromium.wait("main", "The check is in progress");
    chromium.run_command(json!({"do": "press", "selector": "main a"}));
}

#[tokio::test]
async fn the_owner_verifies_links_and_sets_caps_on_the_page() {
    // Checks: with scripts, each form works and its result appears on the page. A rejected form shows the reason and
    // leads back. A payment's token can use none of the forms.
    let Some(mut chromium) = Chromium::start() else { return };
    let purser = ServerProcess::start_with(&[("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "1000")]);
    chromium.open(&owners_link(&purser).await);
    chromium.wait(".connection", "Live");
    chromium.open(&purser.url("/login"));
    chromium.wait("#identity", "not verified");
    chromium.run_command(json!({"do": "press", "selector": "#identity button"}));
    identify(&mut chromium, "Reject");
    chromium.wait("#identity", "document_mismatch");
    chromium.run_command(json!({"do": "press", "selector": "#identity button"}));
    identify(&mut chromium, "Lovelace");
    chromium.wait("#identity", "Identity: verified");
    chromium.run_command(json!({"do": "press", "selector": "#issuer button"}));
    chromium.wait("#issuer", "Deposit address on Base\n0x");
    chromium.run_command(json!({"do": "press", "selector": "#issuer button"}));
    chromium.wait("#issuer", "not linked");
    chromium.run_command(json!({"do": "fill", "selector": "[name=usa_prepaid_card_usd]", "text": "25"}));
    chromium.run_command(json!({"do": "press", "selector": "#caps button"}));
    chromium.wait("#caps", "your own");
    if let Some(path) = std::env::var_os("PURSER_OWNER_PICTURE") {
        chromium.run_command(json!({"do": "shoot", "path": path.to_string_lossy()}));
    }
    chromium.run_command(json!({"do": "scripts", "on": false}));
    chromium.run_command(json!({"do": "fill", "selector": "[name=gift_card_count]", "text": "99999999999"}));
    chromium.run_command(json!({"do": "press", "selector": "#caps button"}));
    chromium.wait("#owner", "Not a whole number of purchases.");
    chromium.run_command(json!({"do": "press", "selector": "#owner a"}));
    chromium.wait("#caps", "your own");
    chromium.run_command(json!({"do": "scripts", "on": true}));

    let folder = tempfile::tempdir().unwrap();
    buy(&purser, folder.path(), "5");
    chromium.run_command(json!({"do": "forget"}));
    chromium.open(&login_link(&purser, folder.path()).await);
    chromium.wait(".connection", "Live");
    chromium.open(&purser.url("/login"));
    chromium.wait("#owner", "may only look");
}

#[tokio::test]
async fn account_forms_work_without_scripts() {
    // Checks: without scripts, the link's button, the identity check and the issuer link all work with clicks alone.
    let Some(mut chromium) = Chromium::start() else { return };
    let purser = ServerProcess::start_with(&[("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "0")]);
    chromium.run_command(json!({"do": "scripts", "on": false}));
    chromium.open(&owners_link(&purser).await);
    chromium.run_command(json!({"do": "press", "selector": "#form button"}));
    chromium.open(&purser.url("/login"));
    chromium.run_command(json!({"do": "press", "selector": "#identity button"}));
    identify(&mut chromium, "Lovelace");
    // The page is not notified of the verdict.
    while !chromium.text("#identity").contains("Identity: verified") {
        chromium.open(&purser.url("/login"));
    }
    chromium.run_command(json!({"do": "press", "selector": "#issuer button"}));
    chromium.wait("#issuer", "Deposit address on Base\n0x");
}
