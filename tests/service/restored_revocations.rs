//! A restore must not bring back revoked keys, sessions and operator tokens, and accounts keep their status.

use purser_actors::id::Network;
use serde_json::json;

use super::access::{field, refresh};
use super::agent::Agent;
use super::authenticator::Authenticator;
use super::banking::result;
use super::host::Host;
use super::http::{Response, ServiceClient, send};
use super::operator_client::OperatorClient;
use super::owner::Owner;
use super::passkeys::{PUBLIC, act, add, sign_in};
use super::recoveries::recover;
use super::restore::{backup, restore};
use super::signup::assert_error;

const BALANCE: &str = "/get-account-balance";
const CONFIRM: &str = "/admin/suspended/confirm";

/// Credentials from before the backup: an id_token, a refresh token, and an API key with its id.
struct Owned {
    agent: Agent,
    token: String,
    refresh: String,
    key: String,
    id: String,
}

impl Owned {
    async fn new(site: &ServiceClient<'_>) -> Self {
        let agent = Agent::new(Network::Base);
        let entered = agent.sign_in(site).await;
        let token = field(&entered, "/auth/id_token");
        let made = result(site, &token, "createAgentApiKey", json!({"name": "scout"})).await;
        Self {
            refresh: field(&entered, "/auth/refresh_token"),
            key: made["apiKey"].as_str().unwrap().to_owned(),
            id: made["key"]["apiKeyId"].as_str().unwrap().to_owned(),
            agent,
            token,
        }
    }

    async fn exchange(&self, site: &ServiceClient<'_>) -> Response {
        let request = site.request("POST", "/agentAuth").bearer_auth(&self.key);
        send(request.json(&json!({"data": {}}))).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_81_revocations_after_the_backup_survive_a_restore() {
    // Checks: after the backup an API key, a session (by refresh token reuse) and an operator token are revoked, one
    // account is frozen and another unfrozen. The restored service keeps all of it, also across another restart.
    // Credentials that were not revoked work.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (ended, other, frozen, freed) = (
        Owned::new(&site).await,
        Owned::new(&site).await,
        Owned::new(&site).await,
        Owned::new(&site).await,
    );
    let sue = operator.add_operator("sue", "support").await.token;
    let sam = operator.add_operator("sam", "support").await.token;
    let account = |owned: &Owned| owned.agent.address();
    let freeze = |owned: &Owned| json!({"wallet": account(owned), "message": "Please write to us."});
    operator.done("/admin/freeze", freeze(&freed)).await;
    service.stop();
    let file = backup(&host);

    let service = host.start();
    let (site, first) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    result(&site, &ended.token, "revokeAgentApiKey", json!({"apiKeyId": ended.id})).await;
    assert_eq!(refresh(&site, &ended.refresh).await.status, 200);
    first.done("/admin/freeze", freeze(&frozen)).await;
    first.done("/admin/unfreeze", json!({"wallet": account(&freed)})).await;
    first.done("/admin/tokens/revoke", json!({"name": "sue"})).await;
    let stolen = refresh(&site, &other.refresh).await;
    for _ in 0..2 {
        // The replaced token is used again, which revokes its family.
        refresh(&site, &field(&stolen, "/refresh_token")).await;
    }
    assert_error(&refresh(&site, &other.refresh).await, 401, "refresh_token_revoked");
    service.stop();
    restore(&host, &file);

    for _ in 0..2 {
        let service = host.start();
        let site = ServiceClient::of(&service);
        assert_error(&ended.exchange(&site).await, 401, "api_key_revoked");
        assert_error(&refresh(&site, &other.refresh).await, 401, "refresh_token_revoked");
        assert_error(&site.get_as(&other.token, BALANCE).await, 401, "token_revoked");
        assert_error(&site.get_as(&frozen.token, BALANCE).await, 403, "account_frozen");
        assert_eq!(site.get_as(&freed.token, BALANCE).await.status, 200);
        assert_eq!(other.exchange(&site).await.status, 200, "the key was not revoked");
        for (token, status) in [(&sue, 401), (&sam, 200)] {
            let answer = OperatorClient::of(&service, token).get("/admin/dead-letters").await;
            assert_eq!(answer.status, status, "{}", answer.text);
        }
        service.stop();
    }
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_81_stop_of_agents_survives_a_restore() {
    // Checks: a stop after the backup holds after the restore. One that was ended after the backup, whenever it began, no
    // longer holds, and what it ended stays ended.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (stopped, both, resumed) = (
        Owned::new(&site).await,
        Owned::new(&site).await,
        Owned::new(&site).await,
    );
    let of = async |owned: &Owned| Owner::by_token(&site, &owned.token).await;
    let owners = [of(&stopped).await, of(&both).await, of(&resumed).await];
    let set = async |site: &ServiceClient<'_>, owner: &Owner, path: &str| {
        let answer = owner.act(site, path, &json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    };
    set(&site, &owners[2], "/account/stop-agents").await;
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    for owner in &owners[..2] {
        set(&site, owner, "/account/stop-agents").await;
    }
    for owner in &owners[1..] {
        set(&site, owner, "/account/resume-agents").await;
    }
    service.stop();
    restore(&host, &file);
    for _ in 0..2 {
        let service = host.start();
        let site = ServiceClient::of(&service);
        let newest = stopped.agent.token(&site).await;
        for token in [&stopped.token, &newest] {
            assert_error(&site.get_as(token, BALANCE).await, 403, "agents_stopped");
        }
        for owned in [&stopped, &both, &resumed] {
            assert_error(&owned.exchange(&site).await, 401, "api_key_revoked");
        }
        for owned in [&both, &resumed] {
            assert_error(&site.get_as(&owned.token, BALANCE).await, 401, "token_revoked");
            let newest = owned.agent.token(&site).await;
            assert_eq!(site.get_as(&newest, BALANCE).await.status, 200);
        }
        service.stop();
    }
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_81_missing_log_suspends_credentials_until_confirmed() {
    // Checks: without the log, earlier tokens, refresh tokens, login proofs, API keys and operator tokens are
    // suspended. A wallet can sign in again. An administrator confirms credentials one by one or all at once, and they
    // work across another restart.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (owned, other) = (Owned::new(&site).await, Owned::new(&site).await);
    let sue = operator.add_operator("sue", "support").await.token;
    let sam = operator.add_operator("sam", "support").await.token;
    let first = operator.token.clone();
    let proof = owned.agent.proof(&site).await;
    service.stop();
    let file = backup(&host);
    std::fs::remove_file(host.data().join("revocations.log")).unwrap();
    restore(&host, &file);

    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    assert_ne!(operator.token, first, "the operator token has been replaced");
    for token in [&first, &sue, &sam] {
        let answer = OperatorClient::of(&service, token).get("/admin/dead-letters").await;
        assert_eq!(
            (answer.status, answer.code()),
            (401, "token_invalid"),
            "{}",
            answer.text
        );
    }
    assert_error(&site.get_as(&owned.token, BALANCE).await, 401, "token_revoked");
    assert_error(&refresh(&site, &owned.refresh).await, 401, "refresh_token_revoked");
    assert_error(&owned.exchange(&site).await, 401, "api_key_suspended");
    let again = site.get("/auth", &[("sign-in-with-x", proof.as_str())]).await;
    assert_eq!(again.status, 402, "{}", again.text);
    let token = owned.agent.token(&site).await;
    assert_eq!(site.get_as(&token, BALANCE).await.status, 200);

    let system = operator.get("/admin/system").await.body;
    assert!(system["suspended_since"].is_string(), "{system}");

    for (body, refusal) in [
        (json!({}), (400, "parameter_invalid")),
        (json!({"token": "unknown"}), (404, "suspension_not_found")),
    ] {
        let answer = operator.post(CONFIRM, body).await;
        assert_eq!((answer.status, answer.code()), refusal, "{}", answer.text);
    }
    operator.done(CONFIRM, json!({"api_key_id": owned.id})).await;
    operator.done(CONFIRM, json!({"token": "sue"})).await;
    assert_eq!(owned.exchange(&site).await.status, 200);
    assert_eq!(
        OperatorClient::of(&service, &sue)
            .get("/admin/dead-letters")
            .await
            .status,
        200
    );
    service.kill();

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    assert_eq!(owned.exchange(&site).await.status, 200);
    assert_error(&other.exchange(&site).await, 401, "api_key_suspended");
    assert_eq!(
        OperatorClient::of(&service, &sam)
            .get("/admin/dead-letters")
            .await
            .status,
        401
    );
    let all = operator.done(CONFIRM, json!({"everything": true})).await;
    assert_eq!(all["suspended"], false);
    assert_eq!(other.exchange(&site).await.status, 200);
    assert_eq!(
        OperatorClient::of(&service, &sam)
            .get("/admin/dead-letters")
            .await
            .status,
        200
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_81_suspended_passkey_stays_the_owners_until_confirmed() {
    // Checks: without the log, a passkey from before is refused, and nevertheless an agent with the wallet's key neither
    // adds another one nor begins a recovery, which the owner could not cancel. The owner and operators see that it is
    // suspended. An administrator confirms it by its id.
    let host = Host::new().with("PURSER_SERVER__PUBLIC_URL", PUBLIC);
    let service = host.start_behind(PUBLIC);
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let owner = Owner::of(&site, &agent).await;
    let mut phone = Authenticator::new(3, PUBLIC);
    let added = add(&site, &owner, &mut phone, "Phone").await;
    assert_eq!(added.status, 200, "{}", added.text);
    let id = added.str("passkey_id").unwrap().to_owned();
    service.stop();
    let file = backup(&host);
    std::fs::remove_file(host.data().join("revocations.log")).unwrap();
    restore(&host, &file);

    let service = host.start_behind(PUBLIC);
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    assert_error(&sign_in(&site, &mut phone).await, 403, "passkey_suspended");
    let by_link = Owner::of(&site, &agent).await;
    let options = act(&site, &by_link, "/account/passkeys/options", &json!({})).await;
    assert_error(&options, 403, "confirmation_required");
    assert_error(&recover(&site, &agent).await, 403, "passkey_suspended");
    let is_shown = async |status: &str| {
        let own = site.get("/account/passkeys", &[("cookie", by_link.cookie())]).await;
        let own = own.body["passkeys"][0].clone();
        let seen = (own["passkey_id"].clone(), own["status"].clone());
        assert_eq!(seen, (json!(id), json!(status)), "{own}");
        let found = operator.get(&format!("/admin/customers?q={id}")).await.body;
        assert_eq!(found["found"][0]["status"], status, "{found}");
        let customer = operator
            .get(&format!("/admin/customers?q={}", agent.address()))
            .await
            .body;
        let groups = customer["customer"]["resources"].as_array().unwrap().iter();
        let passkeys = groups
            .filter(|group| group["kind"] == "passkey")
            .map(|group| &group["newest"]);
        let passkeys: Vec<_> = passkeys.collect();
        assert_eq!(passkeys.len(), 1, "{customer}");
        assert_eq!(passkeys[0][0]["object"]["status"], status, "{customer}");
    };
    is_shown("suspended").await;
    operator.done(CONFIRM, json!({"passkey_id": id})).await;
    is_shown("active").await;
    assert_eq!(sign_in(&site, &mut phone).await.status, 200);
    let unknown = operator.post(CONFIRM, json!({"passkey_id": "pk_0"})).await;
    assert_eq!((unknown.status, unknown.code()), (404, "suspension_not_found"));
}

/// The revocation log of a host.
fn log_of(host: &Host) -> std::path::PathBuf {
    host.data().join("revocations.log")
}

async fn is_frozen(operator: &OperatorClient<'_>, owned: &Owned) -> bool {
    let answer = operator
        .get(&format!("/admin/customers?q={}", owned.agent.address()))
        .await;
    answer.body["customer"]["frozen"].as_bool().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_81_log_older_than_backup_unfreezes_no_account() {
    // Checks: the only copy of the log is from a time when the account was not frozen. The account was frozen again and
    // a key revoked before the backup. Restored with that copy, both stay so, and credentials that may have been
    // revoked since are suspended until confirmed. The copy is archived, and a new log of the store begins.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (frozen, ended, good) = (
        Owned::new(&site).await,
        Owned::new(&site).await,
        Owned::new(&site).await,
    );
    let freeze = json!({"wallet": frozen.agent.address(), "message": "Please write to us."});
    operator.done("/admin/freeze", freeze.clone()).await;
    operator
        .done("/admin/unfreeze", json!({"wallet": frozen.agent.address()}))
        .await;
    let older = std::fs::read(log_of(&host)).unwrap();
    operator.done("/admin/freeze", freeze).await;
    result(&site, &ended.token, "revokeAgentApiKey", json!({"apiKeyId": ended.id})).await;
    service.stop();
    let file = backup(&host);
    std::fs::write(log_of(&host), older).unwrap();
    restore(&host, &file);

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    assert!(is_frozen(&operator, &frozen).await);
    assert_error(&good.exchange(&site).await, 401, "api_key_suspended");
    operator.done(CONFIRM, json!({"everything": true})).await;
    assert_eq!(good.exchange(&site).await.status, 200);
    assert_error(&ended.exchange(&site).await, 401, "api_key_revoked");
    service.stop();
    let entries = std::fs::read_dir(host.data()).unwrap();
    let logs = entries.filter(|file| {
        file.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("revocations.")
    });
    assert_eq!(logs.count(), 2);

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    assert!(is_frozen(&operator, &frozen).await);
    assert_eq!(good.exchange(&site).await.status, 200);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_81_log_of_another_store_life_still_applies() {
    // Checks: a log of another life of the same store is placed next to it, before or after the first start after a
    // restore. It revokes and freezes what it names, also after "everything is good", and unfreezes nothing.
    for late in [false, true] {
        let host = Host::new();
        let service = host.start();
        let site = ServiceClient::of(&service);
        let (frozen, ended, good) = (
            Owned::new(&site).await,
            Owned::new(&site).await,
            Owned::new(&site).await,
        );
        service.stop();
        let file = backup(&host);
        if !late {
            // The life between them starts its own log.
            std::fs::remove_file(log_of(&host)).unwrap();
            restore(&host, &file);
            std::fs::remove_dir_all(host.sibling_path("lost")).unwrap();
        }
        let service = host.start();
        let operator = OperatorClient::first(&host, &service);
        operator
            .done(
                "/admin/freeze",
                json!({"wallet": frozen.agent.address(), "message": "Please write to us."}),
            )
            .await;
        if !late {
            operator.done(CONFIRM, json!({"everything": true})).await;
        }
        let site = ServiceClient::of(&service);
        let token = ended.agent.token(&site).await;
        result(&site, &token, "revokeAgentApiKey", json!({"apiKeyId": ended.id})).await;
        service.stop();
        let named = std::fs::read(log_of(&host)).unwrap();
        if late {
            std::fs::remove_file(log_of(&host)).unwrap();
            restore(&host, &file);
            host.start().stop();
            std::fs::write(log_of(&host), named).unwrap();
        } else {
            restore(&host, &file);
        }

        let service = host.start();
        let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
        operator.done(CONFIRM, json!({"everything": true})).await;
        assert!(is_frozen(&operator, &frozen).await);
        assert_error(&ended.exchange(&site).await, 401, "api_key_revoked");
        assert_eq!(good.exchange(&site).await.status, 200);
        service.stop();
        host.assert_verified();
    }
}
