//! The operator API and `purser admin`: authentication, roles and the audit log.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use purser::http::routes::PATHS as ROUTES;
use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::cross_account_access::only_with_token;
use super::host::{Host, Service};
use super::http::{ServiceClient, client, send, send_to_operator, until};
use super::operator_client::{CVV, OperatorClient, PAN};

/// Every admin route, ordered by role: read-only first, administrators last.
pub(crate) const ADMIN: [(&str, &str); 65] = [
    ("GET", "/admin/announcements"),
    ("GET", "/admin/approvals"),
    ("GET", "/admin/audit"),
    ("GET", "/admin/audit/verify"),
    ("GET", "/admin/card-withdrawals"),
    ("GET", "/admin/customers"),
    ("GET", "/admin/events"),
    ("GET", "/admin/freeze/preview"),
    ("GET", "/admin/incoming-transfers"),
    ("GET", "/admin/intl-cards"),
    ("GET", "/admin/intl-orders"),
    ("GET", "/admin/late-returns"),
    ("GET", "/admin/lines"),
    ("GET", "/admin/notes"),
    ("GET", "/admin/openapi.json"),
    ("GET", "/admin/queues"),
    ("GET", "/admin/reconciliation"),
    ("GET", "/admin/refunds"),
    ("GET", "/admin/search"),
    ("GET", "/admin/series"),
    ("GET", "/admin/session"),
    ("GET", "/admin/stream"),
    ("GET", "/admin/dead-letters"),
    ("GET", "/admin/system"),
    ("GET", "/admin/timeline"),
    ("GET", "/admin/webhooks"),
    ("GET", "/admin/webhooks/deliveries"),
    ("POST", "/admin/freeze"),
    ("POST", "/admin/notes"),
    ("POST", "/admin/announcements/test"),
    ("POST", "/admin/reconciliation/run"),
    ("POST", "/admin/approvals/approve"),
    ("POST", "/admin/approvals/reject"),
    ("POST", "/admin/card-withdrawals/claim"),
    ("POST", "/admin/card-withdrawals/release"),
    ("POST", "/admin/card-withdrawals/renew"),
    ("POST", "/admin/card-withdrawals/fulfil"),
    ("POST", "/admin/card-withdrawals/reject"),
    ("POST", "/admin/chains/accept"),
    ("POST", "/admin/untracked-transfers/attribute"),
    ("POST", "/admin/incoming-transfers/credit"),
    ("POST", "/admin/incoming-transfers/operator-funds"),
    ("POST", "/admin/incoming-transfers/return"),
    ("POST", "/admin/intl-orders/claim"),
    ("POST", "/admin/intl-orders/release"),
    ("POST", "/admin/intl-orders/renew"),
    ("POST", "/admin/intl-orders/fulfil"),
    ("POST", "/admin/intl-orders/reject"),
    ("POST", "/admin/lines/close"),
    ("POST", "/admin/lines/open"),
    ("POST", "/admin/intl-cards/report"),
    ("POST", "/admin/refunds"),
    ("POST", "/admin/sandbox"),
    ("POST", "/admin/refunds/approve"),
    ("POST", "/admin/refunds/reject"),
    ("POST", "/admin/jobs/retry"),
    ("POST", "/admin/jobs/credit"),
    ("POST", "/admin/jobs/keep"),
    ("POST", "/admin/jobs/resolve"),
    ("POST", "/admin/unfreeze"),
    ("POST", "/admin/webhooks/redeliver"),
    ("POST", "/admin/suspended/confirm"),
    ("GET", "/admin/tokens"),
    ("POST", "/admin/tokens"),
    ("POST", "/admin/tokens/revoke"),
];

/// For each role, the number of routes it may use, counted from the first.
pub(crate) const TRUSTED: [(&str, usize); 4] = [
    ("read-only", 27),
    ("support", 29),
    ("operator", 61),
    ("administrator", 65),
];

async fn status(service: &Service, (method, path): (&str, &str), token: Option<&str>) -> (u16, String) {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = client().request(method, service.operator_url(path));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = send_to_operator(request.body("{}")).await.unwrap();
    (answer.status, answer.code().to_owned())
}

/// No route of one address exists on the other, and no token of one side is valid on the other.
async fn without_credentials(service: &Service, wallet: &str, operator_token: &str) {
    let site = ServiceClient::of(service);
    let admin: BTreeSet<&str> = ADMIN.iter().map(|(_, path)| *path).collect();
    let routes = ROUTES.iter().filter(|route| route.starts_with("/admin"));
    assert_eq!(
        routes.copied().collect::<BTreeSet<_>>(),
        admin,
        "every admin route is in the table"
    );
    let document = site.document().await;
    let mut met = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if !only_with_token(operation) {
                continue;
            }
            met += 1;
            let request = site.request(&method.to_uppercase(), path).bearer_auth(operator_token);
            let answer = send(request.body("{}")).await.unwrap();
            assert_eq!(
                (answer.status, answer.code()),
                (401, "token_invalid"),
                "{method} {path}"
            );
            let theirs = client().request(method.to_uppercase().parse().unwrap(), service.operator_url(path));
            let answer = send_to_operator(theirs.bearer_auth(wallet).body("{}")).await.unwrap();
            assert_eq!(answer.status, 404, "{method} {path} is the public address's alone");
        }
    }
    assert!(met >= 15, "only {met} routes need a token");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_50_wallet_and_operator_routes_are_separate() {
    // Checks: Every admin route rejects a missing token, a wallet's token, and a changed or revoked operator token.
    // Every wallet route rejects an operator token, whatever the method. Neither address serves routes of the other. A
    // role has exactly its permissions.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let wallet = Agent::new(Network::Base).token(&site).await;
    let gone = operator.add_operator("gone", "administrator").await;
    operator.done("/admin/tokens/revoke", json!({"name": "gone"})).await;
    let changed = format!("{}x", operator.token);
    for route in ADMIN {
        assert_eq!(
            status(&service, route, None).await,
            (401, "token_missing".into()),
            "{route:?}"
        );
        for token in [&wallet, &changed, &gone.token] {
            assert_eq!(
                status(&service, route, Some(token)).await,
                (401, "token_invalid".into()),
                "{route:?}"
            );
        }
        for token in [&wallet, &operator.token] {
            let public = site.request(route.0, route.1).bearer_auth(token).body("{}");
            assert_eq!(
                send(public).await.unwrap().status,
                404,
                "{route:?} is the operator's address's alone"
            );
        }
    }
    without_credentials(&service, &wallet, &operator.token).await;
    for (role, trusted) in TRUSTED {
        let one = operator.add_operator(role, role).await;
        for (n, route) in ADMIN.into_iter().enumerate() {
            let (status, code) = status(&service, route, Some(&one.token)).await;
            let refused = (status, code.as_str()) == (403, "role_not_permitted");
            assert_eq!(!refused, n < trusted, "{role} at {route:?}: {status} {code}");
        }
    }
    let again = operator
        .post("/admin/tokens", json!({"name": "gone", "role": "support"}))
        .await;
    assert_eq!((again.status, again.code()), (409, "operator_token_name_taken"));
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_actions_take_effect_and_are_audited() {
    // Checks: A frozen account can neither buy nor read, and gets the reason. The audit log has every action and token
    // with its operator and request id, also after a kill.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let ben = operator.add_operator("ben", "support").await;
    let agent = Agent::new(Network::Solana);
    let token = agent.token(&site).await;
    let wallet = agent.address();
    let stranger = json!({"wallet": Agent::new(Network::Base).address(), "message": "Call us."});
    assert_eq!(ben.post("/admin/freeze", stranger).await.code(), "account_not_found");
    let requested = ben
        .post("/admin/freeze", json!({"wallet": wallet, "message": "Call us."}))
        .await;
    assert_eq!(requested.status, 200, "{}", requested.text);
    let refused = site.get_as(&token, "/get-account-balance").await;
    assert_eq!((refused.status, refused.str("frozen_message")), (403, Some("Call us.")));
    assert_eq!(
        ben.post("/admin/unfreeze", json!({"wallet": wallet})).await.code(),
        "role_not_permitted"
    );
    operator.done("/admin/unfreeze", json!({"wallet": wallet})).await;
    assert_eq!(site.get_as(&token, "/get-account-balance").await.status, 200);
    let id = requested.header("request-id").unwrap().to_owned();
    let bens = ben.token;
    service.kill();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    let acts = operator.audit().await;
    let by_ben: Vec<_> = acts.iter().filter(|(by, ..)| by == "ben").collect();
    assert_eq!(
        by_ben,
        [&("ben".to_owned(), "account.freeze".to_owned(), wallet.clone())]
    );
    assert!(
        acts.iter()
            .any(|(_, what, subject)| what == "account.unfreeze" && *subject == wallet)
    );
    let page = operator.get("/admin/audit").await;
    let freeze = page.body["entries"]
        .as_array()
        .unwrap()
        .iter()
        .find(|a| a["action"] == "account.freeze");
    assert_eq!(freeze.unwrap()["request_id"], json!(id));
    assert_eq!(freeze.unwrap()["note"], "Call us.");
    let ben = OperatorClient::of(&service, &bens);
    assert_eq!(ben.get("/admin/dead-letters").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_retries_a_dead_letter() {
    // Checks: If the issuer fails once too often, the card's job is a dead letter. After a retry the card is ready.
    let host = Host::new()
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "2")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    let bought = Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await;
    let dead_letter = until("the job is dead-lettered", async || {
        let list = operator.get("/admin/dead-letters").await;
        list.body["jobs"].get(0).cloned()
    })
    .await;
    assert_eq!(
        (&dead_letter["job_type"], &dead_letter["subject"]),
        (&json!("issue_card"), &json!(bought.card()))
    );
    assert_eq!(dead_letter["attempts"], 2);
    assert!(
        dead_letter["last_error"].as_str().unwrap().contains("issue"),
        "{dead_letter}"
    );
    site.issuer_fault(json!({"fault": "clear"})).await;
    let retry = json!({"job_id": dead_letter["job_id"]});
    operator.done("/admin/jobs/retry", retry.clone()).await;
    let token = bought.body["auth"]["id_token"].as_str().unwrap();
    until("the card", async || {
        let card = site
            .get_as(token, &format!("/get-card-data?card_id={}", bought.card()))
            .await;
        (card.str("status") == Some("ready")).then_some(())
    })
    .await;
    let over = operator.post("/admin/jobs/retry", retry).await;
    assert_eq!((over.status, over.code()), (404, "job_not_found"));
    assert_eq!(
        operator.get("/admin/dead-letters").await.body,
        json!({"jobs": [], "held": [], "untracked_transfers": [], "unexplained_orders": [], "unknown_payments": [], "withdrawals_paused": false,
            "withdrawals_paused_until": null})
    );
}

/// Runs `purser admin` against the service and returns its output.
pub(crate) fn admin(host: &Host, service: &Service, arguments: &[&str], typed: &str) -> Result<Value, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
    command.arg("admin").args(["--url", service.operator.as_ref().unwrap()]);
    command.arg("--data").arg(host.data()).args(arguments).env_clear();
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that reads no input may have exited already.
    let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
    let output = child.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    match output.status.success() {
        true => Ok(serde_json::from_str(&out).unwrap_or(Value::String(out))),
        false => Err(err),
    }
}

/// Fulfils an order. The card is typed on standard input, never passed as an argument.
fn fulfilled(host: &Host, service: &Service, order: &str, lease: &str) -> Result<Value, String> {
    let words = format!("intl-orders fulfil {order} --lease {lease} --billing-address 1 Valletta Malta 1010 MT");
    let words: Vec<&str> = words.split(' ').collect();
    admin(host, service, &words, &format!("{PAN}\n12/2031\n{CVV}\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn admin_commands_work_without_settings() {
    // Checks: List, claim, fulfil (card typed, never an argument), freeze, dead letters, audit, and creating and using
    // a token work without any setting. Errors show the service's text.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/order-intl-card?amount=100").await;
    let order = bought.body["intl_card_order"]["card_id"].as_str().unwrap();
    let run = |arguments: &[&str], typed: &str| admin(&host, &service, arguments, typed);
    let listed = run(&["intl-orders", "list"], "").unwrap();
    assert_eq!(listed["orders"][0]["card_id"], order);
    assert_eq!(run(&["intl-orders", "claim", order], "").unwrap()["lease"], 1);
    let old = fulfilled(&host, &service, order, "9").unwrap_err();
    assert!(old.contains("lease_stale") && !old.contains(PAN), "{old}");
    let made = fulfilled(&host, &service, order, "1").unwrap();
    assert_eq!(made["status"], "ready");
    let wallet = agent.address();
    assert_eq!(
        run(&["freeze", &wallet, "--message", "Call us."], "").unwrap()["frozen"],
        true
    );
    assert_eq!(run(&["unfreeze", &wallet], "").unwrap()["frozen"], false);
    assert_eq!(run(&["dead-letters"], "").unwrap()["jobs"], json!([]));
    let missing = run(&["jobs", "retry", "job_00000000000000000000000000000001"], "").unwrap_err();
    assert!(missing.contains("job_not_found"), "{missing}");
    let made = run(&["tokens", "create", "eva", "--role", "read-only"], "").unwrap();
    let file = host.sibling_path("eva.token");
    std::fs::write(&file, made["token"].as_str().unwrap()).unwrap();
    let as_eva = ["--token-file", file.to_str().unwrap(), "unfreeze", &wallet];
    assert!(run(&as_eva, "").unwrap_err().contains("role_not_permitted"));
    // The error names only the location of the missing or invalid token.
    for (text, says) in [
        (Some("pop_0"), "token_invalid"),
        (Some("pop 0"), "holds no token"),
        (None, "no operator's"),
    ] {
        let path = host.sibling_path("other.token");
        let _ = std::fs::remove_file(&path);
        text.into_iter().for_each(|text| std::fs::write(&path, text).unwrap());
        let path = path.to_str().unwrap();
        let error = run(&["--token-file", path, "dead-letters"], "").unwrap_err();
        assert!(
            error.contains(says) && error.contains(path) && !error.contains(text.unwrap_or("pop_")),
            "{error}"
        );
    }
    let acts = run(&["audit"], "").unwrap()["entries"].as_array().unwrap().len();
    // The first token, claim, fulfil, freeze, unfreeze, and eva's token.
    assert_eq!(acts, 6);
    let generated = run(&["tokens", "generate", "ops", "--role", "operator"], "").unwrap();
    assert!(generated.as_str().unwrap().starts_with("pop_"), "{generated}");
    let hash = hex::encode(purser::identity::operator_token::hash_of(
        generated.as_str().unwrap().trim(),
    ));
    drop(site);
    service.stop();

    let settings = host.sibling_path("more.toml");
    let line = format!("[operator]\ntokens = [{{ name = \"ops\", role = \"operator\", sha256 = \"{hash}\" }}]\n");
    std::fs::write(&settings, line).unwrap();
    let service = host.start_with(&["--config", settings.to_str().unwrap()]);
    let ops = OperatorClient::of(&service, generated.as_str().unwrap().trim());
    assert_eq!(ops.get("/admin/intl-orders").await.status, 200);
    assert_eq!(ops.get("/admin/tokens").await.code(), "role_not_permitted");
    let first = OperatorClient::first(&host, &service);
    for (name, code) in [
        ("ops", "operator_token_in_config"),
        ("unknown", "operator_token_not_found"),
    ] {
        let response = first.post("/admin/tokens/revoke", json!({ "name": name })).await;
        assert_eq!(response.code(), code, "{}", response.text);
    }
}
