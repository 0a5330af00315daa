//! Pages of the default address: at `localhost`, where browsers offer passkeys. What programs call and pay stays at
//! 127.0.0.1.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::{Agent, required};
use super::authenticator::Authenticator;
use super::host::Host;
use super::http::{Response, ServiceClient, client, send, send_to_operator};
use super::owner::Owner;
use super::passkeys::assert_error;

/// What a browser says when a person opens a page.
const OPENS: [(&str, &str); 2] = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];

fn location(answer: &Response) -> (u16, Option<&str>) {
    (answer.status, answer.header("location"))
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_work_at_the_default_address() {
    // Checks: without any setting, the login link leads to localhost. A passkey is added and signs in there, for this exact
    // origin; an answer made at 127.0.0.1 or at another port is rejected. A page of another origin does nothing.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert!(service.url.starts_with("http://127.0.0.1:"), "{}", service.url);
    let pages = service.url.replace("127.0.0.1", "localhost");
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let link = site.get_as(&token, "/get-auth-link").await;
    let url = link.str("auth_url").unwrap().to_owned();
    assert!(url.starts_with(&format!("{pages}/login?code=")), "{url}");

    // As a browser: the page at its address, and the form that it sends.
    let opened = client().get(&url).send().await.unwrap();
    assert_eq!(opened.status(), 200);
    let owner = Owner::by_link(&site, &url).await;
    let listed = site.get("/account/passkeys", &[("cookie", owner.cookie())]).await;
    assert_eq!(listed.body["available"], true, "{}", listed.text);
    let (paths, name) = (["/account/passkeys/options", "/account/passkeys"], "Phone");
    let add = async |device: &mut Authenticator| {
        let options = owner.act_from(&site, &pages, paths[0], &json!({})).await;
        assert_eq!(options.status, 200, "{}", options.text);
        let credential = device.create(&options.body);
        let body = json!({"name": name, "credential": credential});
        owner.act_from(&site, &pages, paths[1], &body).await
    };
    for origin in [service.url.as_str(), "http://localhost:1", "https://localhost"] {
        let mut misled = Authenticator::new(1, &pages);
        misled.origin = origin.to_owned();
        assert_error(&add(&mut misled).await, 403, "passkey_origin_mismatch", origin);
    }
    let mut phone = Authenticator::new(2, &pages);
    let added = add(&mut phone).await;
    assert_eq!(added.status, 200, "{}", added.text);
    let from = async |origin: &str, path: &str, body: &serde_json::Value| {
        send(site.request("POST", path).header("origin", origin).json(body))
            .await
            .unwrap()
    };
    let options = from(&pages, "/login/passkey/options", &json!({})).await;
    let body = json!({"credential": phone.get(&options.body)});
    let refused = from("http://evil.example", "/login/passkey", &body).await;
    assert_error(&refused, 403, "origin_not_allowed", "another page");
    let signed_in = from(&pages, "/login/passkey", &body).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.text);
    let own = Owner::by_set_cookie(signed_in.header("set-cookie").unwrap());
    let account = own.account(&site).await;
    assert_eq!(account.body["service_url"], service.url.as_str(), "{}", account.text);
    let other = own
        .act_from(&site, "http://localhost:1", "/account/sign-out", &json!({}))
        .await;
    assert_error(&other, 403, "origin_not_allowed", "another port");
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_opened_at_the_loopback_address_lead_to_localhost() {
    // Checks: a browser that opens a page at 127.0.0.1 is led to the same page at localhost, on both addresses of the
    // service; programs get the page. Prices, payments and sign-ins stay at 127.0.0.1. localhost is served over both
    // versions of IP, so no other program of the machine gets its port.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let pages = service.url.replace("127.0.0.1", "localhost");
    for path in [
        "/dashboard",
        "/dashboard/settings",
        "/dashboard/cards/card_1?a=b",
        "/login?code=x",
        "/claim?signup=x",
    ] {
        let opened = site.get(path, &OPENS).await;
        let expected = format!("{pages}{path}");
        assert_eq!(location(&opened), (307, Some(&*expected)), "{path}");
        assert_eq!(opened.header("cache-control"), Some("no-store"));
        assert_ne!(site.get(path, &[]).await.status, 307, "{path}");
        let behind_proxy = [OPENS[0], OPENS[1], ("host", "pay.example")];
        assert_ne!(site.get(path, &behind_proxy).await.status, 307, "{path}");
        let there = client()
            .get(&expected)
            .header(OPENS[0].0, OPENS[0].1)
            .header(OPENS[1].0, OPENS[1].1);
        assert_ne!(there.send().await.unwrap().status(), 307, "{path}");
    }
    let desk = service.operator_url("/desk/orders");
    let opened = client()
        .get(&desk)
        .header(OPENS[0].0, OPENS[0].1)
        .header(OPENS[1].0, OPENS[1].1);
    let opened = send_to_operator(opened).await.unwrap();
    let expected = desk.replace("127.0.0.1", "localhost");
    assert_eq!(location(&opened), (307, Some(&*expected)));

    let signup = site.post("/signup", &json!({})).await;
    let claim = signup.str("claim_url").unwrap();
    assert!(claim.starts_with(&format!("{pages}/claim?signup=")), "{claim}");
    let priced = site.get("/get-card?amount=5", &[]).await;
    assert!(
        priced.text.contains(&format!("{}/get-card?amount=5", service.url)),
        "{}",
        priced.text
    );
    assert!(!priced.text.contains(&pages), "{}", priced.text);
    let info = required(&site.get("/auth", &[]).await).sign_in().unwrap();
    info.check_origin("http", service.authority()).unwrap();

    // Not every machine has IPv6.
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        for url in [&service.url, &service.operator_url("")] {
            let taken = std::net::TcpListener::bind(url.replace("http://127.0.0.1", "[::1]"));
            assert!(taken.is_err(), "{url}");
        }
        let by_six = service.url.replace("127.0.0.1", "[::1]");
        assert_eq!(
            client()
                .get(format!("{by_six}/dashboard"))
                .send()
                .await
                .unwrap()
                .status(),
            200
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_stay_at_the_address_if_another_program_has_localhost() {
    // Checks: with the port taken at [::1], login links and pages stay at 127.0.0.1, without passkeys. Other programs of the
    // machine get no session cookie.
    let Ok(taken) = std::net::TcpListener::bind("[::1]:0") else {
        return;
    };
    let port = taken.local_addr().unwrap().port();
    let host = Host::new();
    let service = host.restart_at(&format!("127.0.0.1:{port}"));
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    let link = site.get_as(&token, "/get-auth-link").await;
    let url = link.str("auth_url").unwrap();
    assert!(url.starts_with(&service.url), "{url}");
    let owner = Owner::by_link(&site, url).await;
    let listed = site.get("/account/passkeys", &[("cookie", owner.cookie())]).await;
    assert_eq!(listed.body["available"], false, "{}", listed.text);
    assert_eq!(site.get("/dashboard", &OPENS).await.status, 200);
}
