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
    assert_eq!(seen["url"], purser.page_url("/dashboard"));
    for requested in seen["requested"].as_array().unwrap() {
        assert!(
            requested.as_str().unwrap().starts_with(&purser.page_url("/")),
            "{requested}"
        );
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
        purser.page_url("/login")
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
        purser.page_url("/dashboard")
    );
    chromium.run_command(json!({"do": "scripts", "on": true}));
    chromium.open(&purser.page_url("/dashboard"));
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
        chromium.open(&purser.page_url(path));
        chromium.wait("#sign-in-note", USED_OR_EXPIRED);
        assert!(chromium.text(BALANCE).is_empty());
    }
    // The dashboard itself asks to sign in, and shows nothing.
    chromium.open(&purser.page_url("/dashboard"));
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
    chromium.wait(&line_of(&before["card_id"]), "bought a €50.00 Marche Lumiere gift card");
    let bought = pay(&purser, folder.path(), gift);
    chromium.wait(&line_of(&bought["card_id"]), "bought a €50.00 Marche Lumiere gift card");
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

/// A login link of a wallet that signed in, and its token.
async fn owners_link_and_token(purser: &ServerProcess) -> (String, String) {
    let wallet = TestWallet::create(&SystemEntropy).unwrap();
    let (_, headers, _) = purser.get("/auth", &[]).await;
    let required = PaymentRequired::from_header(headers["payment-required"].as_bytes()).unwrap();
    let proof = wallet.sign_in(&required.sign_in().unwrap(), Network::Base).unwrap();
    let (status, _, signed_in) = purser.get("/auth", &[("sign-in-with-x", &proof)]).await;
    assert_eq!(status, 200, "{signed_in}");
    let token = signed_in["auth"]["id_token"].as_str().unwrap().to_owned();
    let (_, link) = purser.bearer("/get-auth-link", &token).await;
    (link["auth_url"].as_str().unwrap().to_owned(), token)
}

/// A request of a script of the page.
fn read(chromium: &mut Chromium, path: &str) -> Value {
    chromium.run_command(json!({"do": "send", "method": "GET", "path": path}))
}

fn act(chromium: &mut Chromium, path: &str, body: &Value) -> Value {
    chromium.run_command(json!({"do": "send", "method": "POST", "path": path, "body": body}))
}

/// Starts an identity check, fills in the sandbox's form and hands it in.
fn identify(chromium: &mut Chromium, purser: &ServerProcess, family_name: &str) {
    let begun = act(chromium, "/account/identity", &json!({}));
    assert_eq!(begun["status"], 200, "{begun}");
    let url = loop {
        // Until the provider has answered, there is none.
        if let Some(url) = read(chromium, "/account")["body"]["identity"]["check_url"].as_str() {
            break purser.url(url);
        }
    };
    chromium.open(&url);
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
    chromium.open(&purser.page_url("/dashboard"));
    chromium.wait(".connection", "Live");
}

#[tokio::test]
async fn the_owner_verifies_links_and_sets_caps_on_the_page() {
    // Checks: the link to the identity verification opens it. In a browser, with the headers that it sends by itself, each
    // action of the page works, and its result appears on the page. A rejected action names the field. A payment's session can use none of the actions, and reads.
    let Some(mut chromium) = Chromium::start() else { return };
    let purser = ServerProcess::start_with(&[("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "1000")]);
    let (_, token) = owners_link_and_token(&purser).await;
    let (_, link) = purser.bearer("/get-kyc-link", &token).await;
    chromium.open(link["kyc_url"].as_str().unwrap());
    chromium.wait("#identity", "Verify identity");
    assert_eq!(
        chromium.run_command(json!({"do": "where"}))["url"],
        purser.page_url("/dashboard/settings#identity")
    );
    chromium.open(&purser.page_url("/dashboard"));
    chromium.wait(".connection", "Live");
    let account = read(&mut chromium, "/account");
    assert_eq!(
        (&account["body"]["rights"], &account["body"]["identity"]),
        (&json!("act"), &Value::Null)
    );
    identify(&mut chromium, &purser, "Reject");
    chromium.wait("main", "Your identity could not be verified");
    let account = read(&mut chromium, "/account");
    assert_eq!(account["body"]["identity"]["rejection_reason"], "document_mismatch");
    identify(&mut chromium, &purser, "Lovelace");
    chromium.wait("main", "Your identity is verified.");
    let linked = act(&mut chromium, "/account/link", &json!({}));
    let address = linked["body"]["issuer_link"]["deposit_address"].as_str();
    assert!(address.is_some_and(|address| address.starts_with("0x")), "{linked}");
    let unlinked = act(&mut chromium, "/account/unlink", &json!({}));
    assert_eq!(unlinked["body"]["issuer_link"]["status"], "unlinked", "{unlinked}");
    let set = act(&mut chromium, "/account/caps", &json!({"usa_prepaid_card_usd": "25"}));
    assert_eq!(set["body"]["caps"][0]["own"]["usd"], 25, "{set}");
    chromium.wait("main", "changed the limits of this account");
    let refused = act(
        &mut chromium,
        "/account/caps",
        &json!({"gift_card_count": "99999999999"}),
    );
    assert_eq!(
        (&refused["status"], &refused["body"]["param"]),
        (&json!(400), &json!("gift_card_count"))
    );

    let folder = tempfile::tempdir().unwrap();
    buy(&purser, folder.path(), "5");
    chromium.run_command(json!({"do": "forget"}));
    chromium.open(&login_link(&purser, folder.path()).await);
    chromium.wait(".connection", "Live");
    assert_eq!(read(&mut chromium, "/account")["body"]["rights"], "look");
    assert_eq!(read(&mut chromium, "/get-account-balance")["status"], 200);
    for path in ["/account/link", "/account/stop-agents", "/withdraw"] {
        let refused = act(&mut chromium, path, &json!({}));
        assert_eq!(
            (&refused["status"], &refused["body"]["code"]),
            (&json!(403), &json!("sign_in_required"))
        );
    }
}

#[tokio::test]
async fn the_owner_stops_agents_and_signs_out_in_a_browser() {
    // Checks: a stop is felt at once by the agent and shows on the open page. Signed out, the page reads nothing.
    let Some(mut chromium) = Chromium::start() else { return };
    let purser = ServerProcess::start();
    let (link, token) = owners_link_and_token(&purser).await;
    chromium.open(&link);
    chromium.wait(".connection", "Live");
    assert_eq!(purser.bearer("/get-account-balance", &token).await.0, 200);
    let stopped = act(&mut chromium, "/account/stop-agents", &json!({}));
    assert_eq!(stopped["status"], 200, "{stopped}");
    let (status, refused) = purser.bearer("/get-account-balance", &token).await;
    assert_eq!((status, &refused["code"]), (403, &json!("agents_stopped")));
    chromium.wait("main", "Your agents were stopped");
    assert_eq!(act(&mut chromium, "/account/sign-out", &json!({}))["status"], 200);
    assert_eq!(read(&mut chromium, "/account")["status"], 401);
}
