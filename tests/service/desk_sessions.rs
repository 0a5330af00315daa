//! Operators at the desk: sign-in by token and passkey, the session's cookie, the second look before money moves.

use purser::http::route::Confirmed;
use purser::http::routes;
use serde_json::{Value, json};

use super::authenticator::Authenticator;
use super::host::{Host, Service};
use super::http::{Response, client, send_to_operator};
use super::operator_client::OperatorClient;

fn assert_error(answer: &Response, status: u16, code: &str, what: &str) {
    assert_eq!(
        (answer.status, answer.code()),
        (status, code),
        "{what}: {}",
        answer.text
    );
}

/// A browser at the desk.
pub(crate) struct Desk {
    /// Address by its number.
    url: String,
    /// Origin of the page.
    pub(crate) origin: String,
    cookie: String,
}

impl Desk {
    pub(crate) fn new(service: &Service) -> Self {
        let url = service.operator_url("");
        let port = url.rsplit(':').next().unwrap();
        Self {
            origin: format!("http://localhost:{port}"),
            url,
            cookie: String::new(),
        }
    }

    fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let request = client().request(method.parse().unwrap(), format!("{}{path}", self.url));
        let request = request.header("host", self.origin.trim_start_matches("http://"));
        match self.cookie.as_str() {
            "" => request,
            cookie => request.header("cookie", cookie),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        send_to_operator(self.request("GET", path)).await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        let request = self.request("POST", path).header("origin", &self.origin);
        send_to_operator(request.json(body)).await.unwrap()
    }

    async fn done(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.body
    }

    /// Takes over the cookie of a sign-in.
    pub(crate) fn signed_in(&mut self, answer: &Response) {
        assert_eq!(answer.status, 200, "{}", answer.text);
        let set = answer.header("set-cookie").unwrap();
        assert!(set.contains("; HttpOnly; SameSite=Strict; Max-Age=43200"), "{set}");
        self.cookie = set.split(';').next().unwrap().to_owned();
    }

    pub(crate) async fn add(&self, device: &mut Authenticator) -> Response {
        let options = self.done("/desk/passkeys/options", &json!({})).await;
        let credential = device.create(&options);
        self.post("/desk/passkeys", &json!({"name": "Key", "credential": credential}))
            .await
    }

    async fn sign_in(&mut self, device: &mut Authenticator) -> Response {
        let options = self.done("/desk/login/passkey/options", &json!({})).await;
        self.post("/desk/login/passkey", &json!({"credential": device.get(&options)}))
            .await
    }

    pub(crate) async fn confirm(&self, device: &mut Authenticator) -> Response {
        let options = self.done("/desk/confirm/options", &json!({})).await;
        self.post("/desk/confirm", &json!({"credential": device.get(&options)}))
            .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_signs_in_with_a_passkey() {
    // Checks: The token opens a session that may only add a passkey. The passkey signs in with the token's name and role.
    // The cookie counts on requests of the desk's own pages only. Sessions are listed, ended, end after twelve hours and
    // with the token. Everything is in the audit log.
    let host = Host::new();
    let service = host.start();
    let first = OperatorClient::first(&host, &service);
    let ana = first.add_operator("ana", "operator").await;
    let mut desk = Desk::new(&service);
    assert_error(
        &desk.get("/admin/session").await,
        401,
        "token_missing",
        "without anything",
    );
    let wrong = desk.post("/desk/login", &json!({"token": "pop_wrong"})).await;
    assert_error(&wrong, 401, "token_invalid", "a wrong token");
    let entered = desk.post("/desk/login", &json!({"token": ana.token})).await;
    desk.signed_in(&entered);
    assert_eq!(
        (&entered.body["must_add_passkey"], &entered.body["role"]),
        (&json!(true), &json!("operator"))
    );
    assert_error(
        &desk.get("/admin/refunds").await,
        403,
        "passkey_required",
        "without a passkey",
    );
    let mut key = Authenticator::new(7, &desk.origin);
    let added = desk.add(&mut key).await;
    assert_eq!(added.status, 200, "{}", added.text);
    assert_eq!(desk.get("/admin/refunds").await.status, 200);
    assert_error(
        &desk.post("/desk/passkeys/options", &json!({})).await,
        403,
        "confirmation_required",
        "a second passkey",
    );

    let mut own = Desk::new(&service);
    let entered = own.sign_in(&mut key).await;
    own.signed_in(&entered);
    assert_eq!(
        (&entered.body["operator"], &entered.body["passkeys"]),
        (&json!("ana"), &json!(1))
    );
    assert_error(&own.get("/admin/tokens").await, 403, "role_not_permitted", "the role");
    assert_eq!(own.get("/admin/session").await.body["must_add_passkey"], json!(false));

    // Other pages.
    for (origin, site) in [
        ("http://evil.example", None),
        (&*own.origin, Some("cross-site")),
        (&*own.origin, Some("same-site")),
    ] {
        let mut request = own
            .request("POST", "/admin/reconciliation/run")
            .header("origin", origin);
        if let Some(site) = site {
            request = request.header("sec-fetch-site", site);
        }
        let refused = send_to_operator(request.json(&json!({}))).await.unwrap();
        assert_error(&refused, 403, "origin_not_allowed", origin);
    }
    let form = own
        .request("POST", "/admin/reconciliation/run")
        .header("origin", &own.origin);
    let form = form
        .header("content-type", "application/x-www-form-urlencoded")
        .body("a=b");
    assert_error(
        &send_to_operator(form).await.unwrap(),
        403,
        "origin_not_allowed",
        "a form",
    );
    let login = own
        .request("POST", "/desk/login")
        .header("origin", "http://evil.example");
    let refused = send_to_operator(login.json(&json!({"token": ana.token})))
        .await
        .unwrap();
    assert_error(&refused, 403, "origin_not_allowed", "login from another page");
    let mut planted = Desk::new(&service);
    planted.cookie = format!("{}; {}", own.cookie, own.cookie);
    assert_error(
        &planted.get("/admin/session").await,
        401,
        "token_missing",
        "the cookie twice",
    );

    // Sessions.
    let listed = own.get("/desk/sessions").await;
    let sessions = listed.body["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2, "{}", listed.text);
    let by_token = sessions.iter().find(|session| session["passkey_id"].is_null()).unwrap();
    own.done("/desk/sessions/end", &json!({"session_id": by_token["session_id"]}))
        .await;
    assert_error(
        &desk.get("/admin/session").await,
        401,
        "token_invalid",
        "an ended session",
    );
    let gone = own
        .post("/desk/sessions/end", &json!({"session_id": by_token["session_id"]}))
        .await;
    assert_error(&gone, 404, "operator_session_not_found", "ended before");
    let answer = own.post("/desk/sign-out", &json!({})).await;
    assert!(
        answer.header("set-cookie").unwrap().contains("Max-Age=0"),
        "{}",
        answer.text
    );
    assert_error(&own.get("/admin/session").await, 401, "token_invalid", "signed out");

    let entered = own.sign_in(&mut key).await;
    own.signed_in(&entered);
    first.done("/admin/tokens/revoke", json!({"name": "ana"})).await;
    assert_error(
        &own.get("/admin/session").await,
        401,
        "token_invalid",
        "the token is revoked",
    );
    let refused = own.sign_in(&mut key).await;
    assert_error(&refused, 403, "passkey_unknown", "the token is revoked");

    let audit = first.audit().await;
    for action in ["session.open", "session.end", "passkey.add"] {
        assert!(
            audit.iter().any(|(by, done, _)| by == "ana" && done == action),
            "{action}: {audit:?}"
        );
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_passkey_of_an_operator_confirms_nothing_in_any_session() {
    // Checks: the removal of a passkey ends the sessions that it opened, and its confirmations in others, in one batch that a
    // crash keeps. Confirmations by another passkey go on.
    let host = Host::new();
    let service = host.start();
    let ana = OperatorClient::first(&host, &service)
        .add_operator("ana", "operator")
        .await;
    let token = json!({"token": ana.token});
    let mut desks = [Desk::new(&service), Desk::new(&service), Desk::new(&service)];
    for desk in &mut desks {
        let entered = desk.post("/desk/login", &token).await;
        desk.signed_in(&entered);
    }
    let (mut lost, mut kept) = (
        Authenticator::new(7, &desks[0].origin),
        Authenticator::new(8, &desks[0].origin),
    );
    let added = desks[0].add(&mut lost).await;
    assert_eq!(added.status, 200, "{}", added.text);
    for desk in &desks[..2] {
        assert_eq!(desk.confirm(&mut lost).await.status, 200);
    }
    assert_eq!(desks[0].add(&mut kept).await.status, 200);
    assert_eq!(desks[2].confirm(&mut kept).await.status, 200);
    let removal = json!({"passkey_id": added.body["passkey_id"]});
    desks[2].done("/desk/passkeys/remove", &removal).await;
    let are_confirmed = async |desks: &[Desk; 3]| {
        for (n, desk) in desks.iter().enumerate() {
            let refund = desk.post("/admin/refunds", &json!({})).await;
            let is_confirmed = refund.code() != "confirmation_required";
            assert_eq!(is_confirmed, n == 2, "{n}: {}", refund.text);
            let shown = desk.get("/admin/session").await.body;
            assert_eq!(shown["confirmed_until"].is_string(), is_confirmed);
        }
    };
    are_confirmed(&desks).await;
    service.kill();
    let service = host.start();
    let again = desks.map(|desk| Desk {
        cookie: desk.cookie,
        ..Desk::new(&service)
    });
    are_confirmed(&again).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn money_moves_after_a_second_look_only() {
    // Checks: Each route whose row says so needs a passkey within five minutes; the token needs none. A replayed,
    // another operator's, or an unverified answer confirms nothing. A session ends after twelve hours.
    let host = Host::new();
    let service = host.start();
    let first = OperatorClient::first(&host, &service);
    let (ana, ben) = (
        first.add_operator("ana", "administrator").await,
        first.add_operator("ben", "operator").await,
    );
    let mut keys = Vec::new();
    let mut desks = Vec::new();
    for (seed, token) in [(7, &ana.token), (8, &ben.token)] {
        let mut desk = Desk::new(&service);
        let entered = desk.post("/desk/login", &json!({"token": token})).await;
        desk.signed_in(&entered);
        let mut key = Authenticator::new(seed, &desk.origin);
        assert_eq!(desk.add(&mut key).await.status, 200);
        keys.push(key);
        desks.push(desk);
    }
    let desk = desks.remove(0);
    let confirmed: Vec<_> = routes::operator()
        .filter(|route| route.confirmed != Confirmed::Nothing)
        .collect();
    assert!(confirmed.len() > 10, "{}", confirmed.len());
    for route in &confirmed {
        let answer = match route.method {
            "GET" => desk.get(route.path).await,
            _ => desk.post(route.path, &json!({})).await,
        };
        assert_error(&answer, 403, "confirmation_required", route.path);
    }
    let with_token = first.post("/admin/refunds", json!({})).await;
    assert_ne!(with_token.code(), "confirmation_required");
    let refused = desk.confirm(&mut keys[1]).await;
    assert_error(&refused, 403, "passkey_unknown", "another operator's passkey");
    let mut careless = keys[0].clone();
    careless.flags = 0b001;
    assert_error(
        &desk.confirm(&mut careless).await,
        403,
        "passkey_user_not_verified",
        "not verified",
    );
    let options = desk.done("/desk/confirm/options", &json!({})).await;
    let answer = json!({"credential": keys[0].get(&options)});
    desk.done("/desk/confirm", &answer).await;
    let replayed = desk.post("/desk/confirm", &answer).await;
    assert_eq!(replayed.status, 403, "{}", replayed.text);
    for route in &confirmed {
        let answer = desk.post(route.path, &json!({})).await;
        assert_ne!(
            answer.code(),
            "confirmation_required",
            "{}: {}",
            route.path,
            answer.text
        );
    }
    let advance = async |seconds: u64| {
        let site = super::http::ServiceClient::of(&service);
        let moved = site.post("/sandbox/time", &json!({"advance_seconds": seconds})).await;
        assert_eq!(moved.status, 200, "{}", moved.text);
    };
    advance(301).await;
    assert_error(
        &desk.post("/admin/refunds", &json!({})).await,
        403,
        "confirmation_required",
        "too late",
    );
    advance(12 * 3_600).await;
    assert_error(
        &desk.get("/admin/session").await,
        401,
        "token_invalid",
        "after twelve hours",
    );
    service.stop();
}
