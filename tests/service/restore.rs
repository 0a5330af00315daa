//! Money that left after the backup from which a store was restored.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::held_money;
use super::host::{Host, Service, text};
use super::http::{ServiceClient, until};
use super::operator_client::OperatorClient;
use super::recipient::{debit_card, enter, wait_for_payout_status};
use super::top_up::{self, find_top_up, linked, wait_for_top_up};
use super::withdraw::{agent_with_balance, balance, ended, id_of, received, withdraw};

/// Fast providers, with backoffs that are long enough to stop the service in between.
fn host() -> Host {
    held_money::host().with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10")
}

/// Longer than any signature of the lost history can still settle, in seconds.
pub(super) const RESTORE_PAUSE_S: u64 = 1_000;

/// Restores the backup and leaves everything else as the lost history made it.
pub(crate) fn restore(host: &Host, backup: &str) {
    std::fs::rename(host.data().join("store"), host.sibling_path("lost")).unwrap();
    let restored = host.run(&["restore", backup]);
    assert!(restored.status.success(), "{}", text(&restored));
}

pub(crate) fn backup(host: &Host) -> String {
    let file = host.sibling_path("backup").to_str().unwrap().to_owned();
    let made = host.run(&["backup", &file]);
    assert!(made.status.success(), "{}", text(&made));
    file
}

/// An untracked transfer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UntrackedTransfer {
    network: String,
    amount: String,
    transaction: String,
    /// Ids of its candidates.
    pub(super) candidates: Vec<String>,
}

pub(super) async fn untracked_transfers(operator: &OperatorClient<'_>) -> Vec<UntrackedTransfer> {
    let dead_letters = operator.get("/admin/dead-letters").await.body;
    let of = |item: &Value, name: &str| {
        item[name]
            .as_str()
            .map_or_else(|| item[name].to_string(), str::to_owned)
    };
    let items = dead_letters["untracked_transfers"].as_array().unwrap().iter();
    let mut items: Vec<_> = items
        .map(|item| {
            let may_be = item["candidates"].as_array().unwrap().iter();
            UntrackedTransfer {
                network: of(item, "network"),
                amount: of(item, "amount"),
                transaction: of(item, "transaction"),
                candidates: may_be.map(|one| of(one, "id")).collect(),
            }
        })
        .collect();
    items.sort();
    items
}

/// State of the backup: per network a withdrawal and a top-up without a signature, and a push to card without its card.
struct Scene {
    /// Token and id of the waiting withdrawal.
    accounts: Vec<(Agent, String, String)>,
    /// Token and id of the waiting top-up.
    loaders: Vec<(String, String)>,
    /// Token, payout, and the recipient's link.
    push: (String, String, String),
}

async fn scene(site: &ServiceClient<'_>) -> Scene {
    let (mut holders, mut loaders, mut linkers) = (Vec::new(), Vec::new(), Vec::new());
    for network in Network::ALL {
        let (agent, token) = agent_with_balance(site, network).await;
        holders.push((agent, token, String::new()));
        linkers.push(linked(site, network).await);
    }
    let payer = Agent::new(Network::Base);
    let push = payer.buy(site, "/get-push-to-card?amount=25&currency=USD").await;
    let part = |name: &str| push.str(name).unwrap().to_owned();
    let push = (payer.token(site).await, part("payout_id"), part("redemption_url"));
    for network in Network::ALL {
        let ours = purser::sandbox::keys::treasury(network).address();
        let fault = json!({"network": network.name(), "fault": "unreachable", "times": 0, "wallet": ours});
        site.chain_fault(fault).await;
    }
    for (_, token, id) in &mut holders {
        *id = id_of(&withdraw(site, token, None, &json!({"amount": 2.50})).await);
    }
    for (agent, token, _) in linkers {
        let bought = agent.buy(site, "/fund-card-balance?amount=12.34").await;
        loaders.push((token, top_up::id_of(&bought)));
    }
    Scene {
        accounts: holders,
        loaders,
        push,
    }
}

/// The lost history: all pending transfers arrive, the rest of each balance is withdrawn, the card is paid.
async fn continue_lost_history(site: &ServiceClient<'_>, scene: &Scene) {
    for (_, token, id) in &scene.accounts {
        assert_eq!(ended(site, token, id).await["state"], "complete");
        let all = id_of(&withdraw(site, token, None, &json!({"amount": 4.16})).await);
        assert_eq!(ended(site, token, &all).await["state"], "complete");
        balance(site, token, [0.0, 0.0, 0.0]).await;
    }
    for (token, id) in &scene.loaders {
        wait_for_top_up(site, token, id, "credited").await;
    }
    let (token, payout, link) = &scene.push;
    assert_eq!(enter(site, link, &debit_card("840"), "12/31").await.status, 200);
    wait_for_payout_status(site, token, payout, "complete").await;
}

/// What needs no operator: no withdrawal is accepted and cards are sold. The nonce identifies the transfer on Base, and
/// an event of the rail identifies the push to card. Possible transfers on Solana wait.
async fn wait_until_tracked(site: &ServiceClient<'_>, scene: &Scene) {
    let [base, solana] = &scene.accounts[..] else {
        unreachable!()
    };
    let refused = withdraw(site, &base.1, None, &json!({"amount": 1})).await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "withdrawals_paused"),
        "{}",
        refused.text
    );
    let card = Agent::new(Network::Base).buy(site, "/get-card?amount=5").await;
    assert_eq!(card.status, 200, "{}", card.text);
    assert_eq!(ended(site, &base.1, &base.2).await["state"], "complete");
    wait_for_top_up(site, &scene.loaders[0].0, &scene.loaders[0].1, "credited").await;
    let (token, payout, _) = &scene.push;
    let paid = wait_for_payout_status(site, token, payout, "complete").await;
    assert!(paid.get("credited_amount").is_none(), "{paid}");
    let waiting = format!("/get-withdrawal-status?withdrawal_id={}", solana.2);
    let waiting = site.get_as(&solana.1, &waiting).await;
    assert_eq!(waiting.body["withdrawal"]["state"], "pending");
    let waiting = find_top_up(site, &scene.loaders[1].0, &scene.loaders[1].1).await;
    assert_eq!(
        (&waiting["status"], &waiting["held"]),
        (&json!("paid"), &json!("held_restored"))
    );
    let loaded = find_top_up(site, &scene.loaders[0].0, &scene.loaders[0].1).await;
    assert!(loaded.get("held").is_none(), "{loaded}");
}

pub(super) const ATTRIBUTE: &str = "/admin/untracked-transfers/attribute";

/// Request of an operator that attributes a transfer.
pub(super) fn attribution(left: &UntrackedTransfer, to: Value) -> Value {
    let mut body = json!({"transaction": left.transaction, "evidence": "seen on the chain"});
    body.as_object_mut().unwrap().extend(to.as_object().unwrap().clone());
    body
}

/// The operator attributes each transfer: wrongly, without permission, rightly, and again.
async fn attribute_all(host: &Host, service: &Service, scene: &Scene) {
    let operator = OperatorClient::first(host, service);
    let named = until("four transfers that wait to be explained", async || {
        let named = untracked_transfers(&operator).await;
        (named.len() == 4).then_some(named)
    })
    .await;
    let (withdrawal, top_up) = (&scene.accounts[1].2, &scene.loaders[1].1);
    let shown: Vec<_> = named
        .iter()
        .map(|left| (&*left.network, &*left.amount, &left.candidates))
        .collect();
    let (none, burned, sent) = (vec![], vec![top_up.clone()], vec![withdrawal.clone()]);
    let expected = [
        ("base", "4.16", &none),
        ("solana", "12.341234", &burned),
        ("solana", "2.5", &sent),
        ("solana", "4.16", &none),
    ];
    assert_eq!(shown, expected);
    let [base, burn, first, second] = &named[..] else {
        unreachable!()
    };
    let holder = scene.accounts[1].0.address();
    for (body, refusal) in [
        (
            attribution(second, json!({"withdrawal_id": withdrawal})),
            (409, "transfer_mismatch"),
        ),
        (
            attribution(second, json!({"top_up_id": top_up})),
            (409, "transfer_mismatch"),
        ),
        (
            attribution(burn, json!({"account": holder})),
            (409, "insufficient_balance"),
        ),
        (
            attribution(burn, json!({"account": holder, "loss": true})),
            (400, "parameter_invalid"),
        ),
        // The recipient of a transfer does not imply its account, so the request must name it.
        (attribution(second, json!({})), (400, "parameter_missing")),
    ] {
        let refused = operator.post(ATTRIBUTE, body).await;
        assert_eq!((refused.status, refused.code()), refusal, "{}", refused.text);
    }
    let support = operator.add_operator("sue", "support").await;
    assert_eq!(
        support.post(ATTRIBUTE, attribution(second, json!({}))).await.status,
        403
    );
    operator
        .done(ATTRIBUTE, attribution(burn, json!({"top_up_id": top_up})))
        .await;
    operator
        .done(ATTRIBUTE, attribution(first, json!({"withdrawal_id": withdrawal})))
        .await;
    operator
        .done(ATTRIBUTE, attribution(second, json!({"account": holder})))
        .await;
    let again = operator
        .post(ATTRIBUTE, attribution(second, json!({"account": holder})))
        .await;
    assert_eq!(
        (again.status, again.code()),
        (404, "transfer_not_found"),
        "{}",
        again.text
    );
    attribute_as_loss(host, service, &base.transaction);
    // Chain lists are compared once more; a list that does not respond in time is read again.
    until("nothing is held any more", async || {
        let dead_letters = operator.get("/admin/dead-letters").await.body;
        (dead_letters["withdrawals_paused"] == false).then_some(())
    })
    .await;
    let audited = operator
        .audit()
        .await
        .into_iter()
        .filter(|(_, what, _)| what == "transfer.attribute");
    assert_eq!(audited.count(), 4);
}

/// The last untracked transfer belongs to no account: the command requires a target, and withdrawals resume.
fn attribute_as_loss(host: &Host, service: &Service, transaction: &str) {
    let incomplete = [
        "untracked-transfers",
        "attribute",
        transaction,
        "--evidence",
        "the holder has moved on",
    ];
    let usage = admin(host, service, &incomplete, "").unwrap_err();
    assert!(usage.contains("--account") && usage.contains("--loss"), "{usage}");
    let loss = [
        "untracked-transfers",
        "attribute",
        transaction,
        "--loss",
        "--evidence",
        "the holder has moved on",
    ];
    let booked = admin(host, service, &loss, "").unwrap();
    assert_eq!(booked["attributed_to"], "loss");
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_after_the_backup_are_sent_once_and_reported() {
    // Checks: the backup has unsigned withdrawals and top-ups on both chains; the lost history has later withdrawals
    // and a push to card. Nothing settles twice, and nothing paid is credited. Ambiguous transfers wait for an operator
    // by name, paid calls work meanwhile, and each transfer is attributed once.
    let host = host();
    let service = host.start();
    let scene = scene(&ServiceClient::of(&service)).await;
    service.stop();
    let file = backup(&host);
    let service = host.start();
    continue_lost_history(&ServiceClient::of(&service), &scene).await;
    service.stop();
    host.assert_verified();
    restore(&host, &file);

    let service = host.start();
    let site = ServiceClient::of(&service);
    wait_until_tracked(&site, &scene).await;
    site.advance(RESTORE_PAUSE_S).await;
    attribute_all(&host, &service, &scene).await;
    let [base, solana] = &scene.accounts[..] else {
        unreachable!()
    };
    assert_eq!(ended(&site, &solana.1, &solana.2).await["state"], "complete");
    wait_for_top_up(&site, &scene.loaders[1].0, &scene.loaders[1].1, "credited").await;
    balance(&site, &solana.1, [0.0, 0.0, 0.0]).await;
    balance(&site, &base.1, [4.16, 4.16, 0.0]).await;
    for (agent, ..) in &scene.accounts {
        assert_eq!(received(&site, agent).await, [2_500_000, 4_160_000]);
    }
    let last = id_of(&withdraw(&site, &base.1, None, &json!({"amount": 1})).await);
    assert_eq!(ended(&site, &base.1, &last).await["state"], "complete");
    service.stop();
    host.assert_verified();
    // Attributed transfers stay attributed.
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    assert_eq!(
        operator.get("/admin/dead-letters").await.body["withdrawals_paused"],
        false
    );
}
