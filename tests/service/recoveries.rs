//! The way back into an account whose passkeys are lost, and into one whose agents are stopped.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::{Agent, required};
use super::authenticator::Authenticator;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::listener::Stream;
use super::operator_client::OperatorClient;
use super::owner::Owner;
use super::passkeys::{PUBLIC, act, add, advance, assert_error, confirm, done, sign_in, signed_in};
use super::restore::{backup, restore};

const RECOVER: &str = "/recover-account";
const CANCEL: &str = "/account/recovery/cancel";
const DAY: u64 = 86_400;

async fn unsigned(site: &ServiceClient<'_>, agent: &Agent) -> Response {
    let path = format!("{RECOVER}?network={}", agent.network.name());
    send(site.request("POST", &path)).await.unwrap()
}

/// Signs a challenge of a recovery.
async fn proof(site: &ServiceClient<'_>, agent: &Agent) -> String {
    let asked = unsigned(site, agent).await;
    assert_eq!(asked.status, 402, "{}", asked.text);
    let info = required(&asked).sign_in().unwrap();
    agent.wallet.sign_in(&info, agent.network).unwrap()
}

async fn recover_with(site: &ServiceClient<'_>, proof: &str) -> Response {
    send(site.request("POST", RECOVER).header("sign-in-with-x", proof))
        .await
        .unwrap()
}

pub(crate) async fn recover(site: &ServiceClient<'_>, agent: &Agent) -> Response {
    recover_with(site, &proof(site, agent).await).await
}

async fn with_passkey(site: &ServiceClient<'_>, agent: &Agent, device: &mut Authenticator) -> Owner {
    let owner = Owner::of(site, agent).await;
    let added = add(site, &owner, device, "Phone").await;
    assert_eq!(added.status, 200, "{}", added.text);
    owner
}

/// Completes the recovery once its wait is over.
async fn completed(site: &ServiceClient<'_>, agent: &Agent) -> Response {
    until("the end of the recovery", async || {
        let answer = recover(site, agent).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        (answer.str("status") == Some("completed")).then_some(answer)
    })
    .await
}

async fn event_types(site: &ServiceClient<'_>, agent: &Agent) -> Vec<String> {
    let token = agent.token(site).await;
    let events = site.get_as(&token, "/events?limit=100").await;
    let types = events.body["events"].as_array().unwrap().iter();
    types.map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn freeze_cancels_a_recovery_that_the_owner_cannot_cancel() {
    // Checks: a recovery is not completed after a freeze in which its wait ended. The operator sees before the freeze that it
    // is cancelled.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let agent = Agent::new(Network::Base);
    let mut device = Authenticator::new(9, PUBLIC);
    with_passkey(&site, &agent, &mut device).await;
    assert_eq!(recover(&site, &agent).await.str("status"), Some("waiting"));
    let preview = format!("/admin/freeze/preview?wallet={}", agent.address());
    assert_eq!(operator.get(&preview).await.body["stops"]["recovery"], true);
    site.freeze(&agent.address(), Some("Please write to us.")).await;
    assert_eq!(operator.get(&preview).await.body["stops"]["recovery"], false);
    advance(&site, DAY + 60).await;
    site.freeze(&agent.address(), None).await;
    let again = recover(&site, &agent).await;
    assert_eq!(again.str("status"), Some("waiting"), "{}", again.text);
    let types = event_types(&site, &agent).await;
    assert!(types.iter().any(|kind| kind == "recovery.cancelled"), "{types:?}");
    assert_eq!(sign_in(&site, &mut device).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_who_lost_every_passkey_returns_after_a_day() {
    // Checks: a recovery begins by a signature that the wallet makes for this; it is on the account's stream at once and
    // changes nothing for a day. Then a second signature removes the lost passkey, ends its sessions, and gives a link by
    // which the owner adds another passkey and acts.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let mut lost = Authenticator::new(1 + network as u8, PUBLIC);
        with_passkey(&site, &agent, &mut lost).await;
        let own = signed_in(&sign_in(&site, &mut lost).await);
        let mut page = Stream::open_with_headers(&site, &[("cookie", own.cookie()), ("origin", PUBLIC)])
            .await
            .unwrap();
        page.send(&json!({"type": "subscribe", "types": ["recovery.*"]})).await;
        page.frame().await;

        let begun = recover(&site, &agent).await;
        assert_eq!(
            (begun.status, begun.str("status")),
            (200, Some("waiting")),
            "{}",
            begun.text
        );
        assert_eq!(begun.body["auth_url"], Value::Null);
        let event = page.frame().await;
        assert_eq!(event["event"]["type"], "recovery.requested", "{event}");
        let again = recover(&site, &agent).await;
        assert_eq!(again.body, begun.body, "the wait does not begin anew");
        let signed = proof(&site, &agent).await;
        assert_eq!(recover_with(&site, &signed).await.body, begun.body);
        let seen = recover_with(&site, &signed).await;
        let refused = (seen.status, seen.str("reason"));
        assert_eq!(
            refused,
            (402, Some("invalid_siwx_nonce")),
            "a signature counts once: {}",
            seen.text
        );
        let shown = own.account(&site).await.body;
        assert_eq!(shown["recovery"]["ready_at"], begun.body["ready_at"], "{shown}");
        // Early, nothing has changed.
        advance(&site, DAY - 60).await;
        assert_eq!(recover(&site, &agent).await.str("status"), Some("waiting"));
        let own = signed_in(&sign_in(&site, &mut lost).await);

        advance(&site, 120).await;
        let over = completed(&site, &agent).await;
        assert_error(
            &sign_in(&site, &mut lost).await,
            403,
            "passkey_removed",
            "a lost passkey",
        );
        assert_error(&own.account(&site).await, 401, "token_revoked", "its session");
        let back = Owner::by_link(&site, over.str("auth_url").unwrap()).await;
        let account = back.account(&site).await.body;
        assert_eq!(
            (&account["passkeys"], &account["recovery"]),
            (&json!(0), &Value::Null),
            "{account}"
        );
        let mut found = Authenticator::new(7 + network as u8, PUBLIC);
        let added = add(&site, &back, &mut found, "Laptop").await;
        assert_eq!(added.status, 200, "{}", added.text);
        assert_eq!(sign_in(&site, &mut found).await.status, 200);
        let types = event_types(&site, &agent).await;
        for kind in [
            "recovery.requested",
            "recovery.ready",
            "recovery.completed",
            "passkey.removed",
        ] {
            assert_eq!(types.iter().filter(|one| *one == kind).count(), 1, "{kind}: {types:?}");
        }
        // It can be lost again.
        let again = recover(&site, &agent).await;
        assert_eq!(again.str("status"), Some("waiting"), "{}", again.text);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn recovery_counts_only_signatures_made_for_it_and_each_once() {
    // Checks: no token, no signature of a sign-in, no signature twice, and none of another wallet. A signature for a recovery
    // signs in nowhere. An account without a passkey, and a wallet without an account, have nothing to recover.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let _ = with_passkey(&site, &agent, &mut Authenticator::new(1, PUBLIC)).await;
    let asked = unsigned(&site, &agent).await;
    assert_error(&asked, 402, "sign_in_required", "no signature");
    let statement = required(&asked).sign_in().unwrap().statement.unwrap();
    assert!(statement.contains("remove all of its passkeys"), "{statement}");
    let by_token = send(site.request("POST", RECOVER).bearer_auth(&token)).await.unwrap();
    assert_error(&by_token, 402, "sign_in_required", "a token");
    let signed_in = recover_with(&site, &agent.proof(&site).await).await;
    assert_error(&signed_in, 402, "sign_in_required", "a signature of a sign-in");
    assert_eq!(signed_in.body["reason"], "invalid_siwx_uri_mismatch");
    let for_recovery = proof(&site, &agent).await;
    let auth = site.get("/auth", &[("sign-in-with-x", &for_recovery)]).await;
    assert_error(&auth, 402, "sign_in_required", "a signature of a recovery");
    assert_eq!(recover_with(&site, &for_recovery).await.status, 200);
    let twice = recover_with(&site, &for_recovery).await;
    assert_error(&twice, 402, "sign_in_required", "the same signature");
    let wrong = send(site.request("POST", "/recover-account?network=tron"))
        .await
        .unwrap();
    assert_error(&wrong, 400, "parameter_invalid", "another network");

    let stranger = recover(&site, &Agent::new(Network::Base)).await;
    assert_error(&stranger, 404, "account_not_found", "no account");
    let plain = Agent::new(Network::Solana);
    plain.token(&site).await;
    assert_error(&recover(&site, &plain).await, 409, "recovery_not_needed", "no passkey");
    let owner = Owner::of(&site, &plain).await;
    let none = act(&site, &owner, CANCEL, &json!({})).await;
    assert_error(&none, 404, "recovery_not_found", "nothing to cancel");
    let session = send(site.request("POST", CANCEL).header("origin", PUBLIC).json(&json!({})));
    assert_error(&session.await.unwrap(), 401, "token_missing", "no session");
    let foreign = owner.act_from(&site, "http://evil.example", CANCEL, &json!({})).await;
    assert_error(&foreign, 403, "origin_not_allowed", "another page");
    let more = act(&site, &owner, CANCEL, &json!({"x": 1})).await;
    assert_eq!(more.status, 400, "{}", more.text);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn any_passkey_cancels_a_recovery_and_nothing_else_does() {
    // Checks: a link's session of the wallet, which an agent can make, cancels nothing until a passkey confirms. A cancelled
    // recovery never completes, and the next one waits for a whole day. A frozen account is not recovered.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let mut phone = Authenticator::new(1, PUBLIC);
    let owner = with_passkey(&site, &agent, &mut phone).await;
    assert_eq!(recover(&site, &agent).await.status, 200);
    let refused = act(&site, &owner, CANCEL, &json!({})).await;
    assert_error(&refused, 403, "confirmation_required", "a link of the wallet");
    assert_eq!(confirm(&site, &owner, &mut phone).await.status, 200);
    let cancelled = done(&site, &owner, CANCEL, &json!({})).await;
    assert_eq!(
        (&cancelled["status"], &cancelled["cancelled_by"]),
        (&json!("cancelled"), &json!("owner")),
        "{cancelled}"
    );
    done(&site, &owner, CANCEL, &json!({})).await;
    advance(&site, DAY - 1).await;
    let next = recover(&site, &agent).await;
    assert_eq!(next.str("status"), Some("waiting"), "{}", next.text);
    // The timer of the first one is due now.
    advance(&site, 2).await;
    assert_eq!(recover(&site, &agent).await.str("status"), Some("waiting"));
    // Once it is ready, a passkey still cancels it.
    advance(&site, DAY).await;
    let own = signed_in(&sign_in(&site, &mut phone).await);
    until("the end of the wait", async || {
        let account = own.account(&site).await.body;
        (account["recovery"]["status"] == "ready").then_some(())
    })
    .await;
    let refused = act(&site, &own, CANCEL, &json!({})).await;
    assert_error(&refused, 403, "confirmation_required", "no passkey");
    assert_eq!(confirm(&site, &own, &mut phone).await.status, 200);
    done(&site, &own, CANCEL, &json!({})).await;

    recover(&site, &agent).await;
    let operator = OperatorClient::first(&host, &service);
    let wallet = json!({"wallet": agent.address(), "message": "Please write."});
    operator.done("/admin/freeze", wallet).await;
    advance(&site, DAY).await;
    assert_error(&recover(&site, &agent).await, 403, "account_frozen", "frozen");
    operator
        .done("/admin/unfreeze", json!({"wallet": agent.address()}))
        .await;
    // A freeze cancels it. Seven days after the wait the next one is over, and another one begins.
    let next = recover(&site, &agent).await;
    assert_eq!(next.str("status"), Some("waiting"), "{}", next.text);
    advance(&site, 8 * DAY).await;
    until("the next recovery", async || {
        let answer = recover(&site, &agent).await;
        let is_new = answer.str("status") == Some("waiting");
        (is_new && answer.body["requested_at"] != next.body["requested_at"]).then_some(())
    })
    .await;
    let types = event_types(&site, &agent).await;
    let count = |kind: &str| types.iter().filter(|one| *one == kind).count();
    assert_eq!(
        (count("recovery.cancelled"), count("recovery.expired")),
        (3, 1),
        "{types:?}"
    );
    assert_eq!(count("recovery.completed"), 0, "{types:?}");
    assert_eq!(sign_in(&site, &mut phone).await.status, 200);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_without_a_session_returns_after_a_stop() {
    // Checks: after a stop every owner has a way to let the agents act again: without a passkey by a login link that the
    // wallet asks for, with one by it, and with all of them lost by a recovery. Until then agents do nothing.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let mut phone = Authenticator::new(1, PUBLIC);
    for lost in [None, Some(false), Some(true)] {
        let agent = Agent::new(Network::Base);
        let owner = match lost {
            None => Owner::of(&site, &agent).await,
            Some(_) => {
                phone = Authenticator::new(2 + u8::from(lost == Some(true)), PUBLIC);
                with_passkey(&site, &agent, &mut phone).await
            }
        };
        done(&site, &owner, "/account/stop-agents", &json!({})).await;
        done(&site, &owner, "/account/sign-out", &json!({})).await;
        assert_error(
            &agent.buy(&site, "/get-card?amount=5").await,
            403,
            "agents_stopped",
            "a purchase",
        );
        let link = site.get_as(&agent.token(&site).await, "/get-auth-link").await;
        let back = match lost {
            None => {
                assert_error(&recover(&site, &agent).await, 409, "recovery_not_needed", "no passkey");
                Owner::by_link(&site, link.str("auth_url").unwrap()).await
            }
            Some(false) => {
                assert_error(&link, 403, "agents_stopped", "a link");
                signed_in(&sign_in(&site, &mut phone).await)
            }
            Some(true) => {
                assert_error(&link, 403, "agents_stopped", "a link");
                assert!(link.text.contains(RECOVER), "{}", link.text);
                assert_eq!(recover(&site, &agent).await.status, 200);
                advance(&site, DAY).await;
                let over = completed(&site, &agent).await;
                Owner::by_link(&site, over.str("auth_url").unwrap()).await
            }
        };
        if lost == Some(false) {
            assert_eq!(confirm(&site, &back, &mut phone).await.status, 200);
        }
        done(&site, &back, "/account/resume-agents", &json!({})).await;
        agent.buy(&site, "/get-card?amount=5").await.card();
    }
    service.stop();
    host.assert_verified();
}

/// Redeems a login link without an assertion.
async fn redeemed(site: &ServiceClient<'_>, url: &str) -> Response {
    let (_, code) = url.split_once("code=").unwrap();
    send(site.request("POST", "/login").body(format!("code={code}")))
        .await
        .unwrap()
}

/// What a thief has from before a recovery.
struct Earlier {
    token: String,
    refresh: String,
    page: Owner,
    link: String,
}

impl Earlier {
    async fn of(site: &ServiceClient<'_>, agent: &Agent) -> Self {
        let signed = agent.sign_in(site).await;
        let text = |name: &str| signed.body["auth"][name].as_str().unwrap().to_owned();
        let token = text("id_token");
        let link = site.get_as(&token, "/get-auth-link").await;
        Self {
            page: Owner::by_token(site, &token).await,
            link: link.str("auth_url").unwrap().to_owned(),
            refresh: text("refresh_token"),
            token,
        }
    }

    async fn assert_ended(&self, site: &ServiceClient<'_>) {
        for path in ["/get-account-balance", "/get-auth-link", "/events"] {
            assert_error(&site.get_as(&self.token, path).await, 401, "token_revoked", path);
        }
        let renewed = super::access::refresh(site, &self.refresh).await;
        assert_error(&renewed, 401, "refresh_token_revoked", "its refresh token");
        let adds = act(site, &self.page, "/account/passkeys/options", &json!({})).await;
        assert_error(&adds, 401, "token_revoked", "its page");
        assert_error(&self.page.account(site).await, 401, "token_revoked", "its page");
        let opened = redeemed(site, &self.link).await;
        assert_ne!(opened.status, 303, "its link: {}", opened.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn completed_recovery_ends_all_access_from_before_it() {
    // Checks: a thief with a token of the wallet, its refresh token, a page that it opened and an unopened link does nothing
    // after the completion, also while agents are stopped and after a restart. A new signature of the wallet confirms
    // nothing until the owner has added a passkey by the recovery's link, of which another can be asked for.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    with_passkey(&site, &agent, &mut Authenticator::new(1, PUBLIC)).await;
    for is_stopped in [false, true] {
        assert_eq!(recover(&site, &agent).await.str("status"), Some("waiting"));
        advance(&site, DAY).await;
        let thief = Earlier::of(&site, &agent).await;
        let mut stream = Stream::open(&site, &thief.token).await;
        if is_stopped {
            done(&site, &thief.page, "/account/stop-agents", &json!({})).await;
        }
        let over = completed(&site, &agent).await;
        assert_eq!(stream.until_closed().await, 4001);
        if is_stopped {
            let linked = site.get_as(&thief.token, "/get-auth-link").await;
            assert_error(&linked, 401, "token_revoked", "a link while stopped");
            let renewed = super::access::refresh(&site, &thief.refresh).await;
            assert_error(&renewed, 401, "refresh_token_revoked", "its refresh token");
            let adds = act(&site, &thief.page, "/account/passkeys/options", &json!({})).await;
            assert_error(&adds, 401, "token_revoked", "its page");
            assert_ne!(redeemed(&site, &thief.link).await.status, 303);
        } else {
            thief.assert_ended(&site).await;
        }
        // A sign-in of the wallet is new access, and confirms nothing.
        let other = Owner::of(&site, &agent).await;
        for path in ["/account/passkeys/options", "/account/resume-agents"] {
            let refused = act(&site, &other, path, &json!({})).await;
            assert_error(&refused, 403, "confirmation_required", path);
        }
        let late = Owner::by_link(&site, over.str("auth_url").unwrap()).await;
        advance(&site, 601).await;
        let refused = act(&site, &late, "/account/passkeys/options", &json!({})).await;
        assert_error(&refused, 403, "confirmation_required", "ten minutes later");
        let another = recover(&site, &agent).await;
        assert_eq!(another.str("status"), Some("completed"), "{}", another.text);
        let owner = Owner::by_link(&site, another.str("auth_url").unwrap()).await;
        if is_stopped {
            done(&site, &owner, "/account/resume-agents", &json!({})).await;
        }
        let mut found = Authenticator::new(2 + u8::from(is_stopped), PUBLIC);
        let added = add(&site, &owner, &mut found, "Laptop").await;
        assert_eq!(added.status, 200, "{}", added.text);
        thief.assert_ended(&site).await;
        assert_eq!(sign_in(&site, &mut found).await.status, 200);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_ends_access_from_before_a_recovery_again() {
    // Checks: access from before a completion that the restore lost has ended, by the log of revocations. A new signature
    // of the wallet signs in.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    with_passkey(&site, &agent, &mut Authenticator::new(1, PUBLIC)).await;
    assert_eq!(recover(&site, &agent).await.status, 200);
    let thief = Earlier::of(&site, &agent).await;
    service.stop();
    let file = backup(&host);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    advance(&site, DAY).await;
    completed(&site, &agent).await;
    let renewed = super::access::refresh(&site, &thief.refresh).await;
    assert_error(&renewed, 401, "refresh_token_revoked", "before the restore");
    service.stop();
    restore(&host, &file);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let renewed = super::access::refresh(&site, &thief.refresh).await;
    assert_error(&renewed, 401, "refresh_token_revoked", "after the restore");
    assert_ne!(thief.page.account(&site).await.status, 200);
    assert_ne!(site.get_as(&thief.token, "/get-auth-link").await.status, 200);
    assert_ne!(redeemed(&site, &thief.link).await.status, 303);
    assert_eq!(Owner::of(&site, &agent).await.account(&site).await.status, 200);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_cancels_recoveries() {
    // Checks: a recovery that was cancelled after the backup does not go on after the restore.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let mut phone = Authenticator::new(1, PUBLIC);
    with_passkey(&site, &agent, &mut phone).await;
    assert_eq!(recover(&site, &agent).await.status, 200);
    service.stop();
    let file = backup(&host);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let own = signed_in(&sign_in(&site, &mut phone).await);
    assert_eq!(confirm(&site, &own, &mut phone).await.status, 200);
    done(&site, &own, CANCEL, &json!({})).await;
    service.stop();
    restore(&host, &file);

    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    advance(&site, DAY).await;
    let next = recover(&site, &agent).await;
    assert_eq!(next.str("status"), Some("waiting"), "{}", next.text);
    let types = event_types(&site, &agent).await;
    assert!(types.iter().any(|kind| kind == "recovery.cancelled"), "{types:?}");
    assert_eq!(sign_in(&site, &mut phone).await.status, 200);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn command_line_gives_the_owner_the_next_step() {
    // Checks: `purser recover` prints a login link while the account has no passkey, then the time until which to wait, and
    // after it the link of the recovery.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let pages = service.url.replace("127.0.0.1", "localhost");
    let wallet = host.sibling_path("wallet.json").to_str().unwrap().to_owned();
    let run = |more: &[&str]| {
        let output = host.run(&[&["recover", &service.url, "--wallet", &wallet][..], more].concat());
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    assert!(!run(&[]).0, "a wallet without an account");
    let signed_in = host.run(&["token", &service.url, "--wallet", &wallet]);
    assert!(signed_in.status.success());
    let (done, link) = run(&[]);
    assert!(done && link.starts_with(&format!("{pages}/login?code=")), "{link}");
    let owner = Owner::by_link(&site, link.trim()).await;
    let mut phone = Authenticator::new(1, &pages);
    let options = owner
        .act_from(&site, &pages, "/account/passkeys/options", &json!({}))
        .await;
    let body = json!({"name": "Phone", "credential": phone.create(&options.body)});
    let added = owner.act_from(&site, &pages, "/account/passkeys", &body).await;
    assert_eq!(added.status, 200, "{}", added.text);
    let (done, waiting) = run(&[]);
    assert!(
        done && waiting.starts_with("status    waiting\nready     2"),
        "{waiting}"
    );
    advance(&site, DAY).await;
    let link = until("the link", async || {
        let (done, answer) = run(&["--json"]);
        assert!(done, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["auth_url"].as_str().map(str::to_owned)
    })
    .await;
    let back = Owner::by_link(&site, &link).await;
    assert_eq!(back.account(&site).await.body["passkeys"], 0);
    service.stop();
    host.assert_verified();
}
