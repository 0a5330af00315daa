//! Prices, disks and keys across restarts of the service.

use std::collections::BTreeMap;
use std::time::Duration;

use purser::system::SystemClock;
use purser_actors::id::Network;
use purser_actors::port::Clock as _;
use sha2::{Digest as _, Sha256};

use super::agent::{Agent, required};
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::replay::transfer_count;

const CARD: &str = "/get-card?amount=5";
const FEE_RATE: &str = "PURSER_PRODUCTS__USA_PREPAID_CARD__FEE_RATE";

fn challenge_amount(answer: &Response) -> u64 {
    required(answer).choose(Some(Network::Base)).unwrap().amount.atomic()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_22_quote_is_honoured_across_a_price_change() {
    // Checks: the price rises across a restart. An earlier quote buys at its price, new quotes have the new price, and
    // a price that never existed is rejected.
    let mut host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agents = Network::ALL.map(Agent::new);
    let quote = Agent::challenge(&site, CARD).await;
    service.stop();
    host.set(FEE_RATE, "0.10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(challenge_amount(&site.get(CARD, &[]).await), 5_500_000);
    for agent in &agents {
        let old = Agent::pay(&site, CARD, &agent.sign(&quote)).await;
        assert_eq!((old.status, &old.receipt()["amount"]), (200, &"5000000".into()));
        let new = agent.buy(&site, CARD).await;
        assert_eq!((new.status, &new.receipt()["amount"]), (200, &"5500000".into()));
        // The old total of another amount is not a price of this one.
        let other = Agent::pay(&site, "/get-card?amount=5.01", &agent.sign(&quote)).await;
        assert_eq!((other.status, challenge_amount(&other)), (402, 5_520_000));
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_22_02_quote_expires_but_its_purchase_remains() {
    // Checks: after the old quotes expire, their price is rejected with a new quote. Earlier purchases are still
    // answered with their card, on both networks.
    let mut host = Host::new().with("PURSER_PAYMENT__QUOTE_TTL_SECONDS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agents = Network::ALL.map(Agent::new);
    let quote = Agent::challenge(&site, CARD).await;
    let mut bought = Vec::new();
    for agent in &agents {
        // A slow machine may need more than the four seconds that remain of a payment of ten.
        bought.push(
            until("a purchase within its quote", async || {
                let payment = agent.payment(&site, CARD).await;
                let answer = Agent::pay(&site, CARD, &payment).await;
                (answer.status == 200).then_some((payment, answer))
            })
            .await,
        );
    }
    service.stop();
    host.set(FEE_RATE, "0.10");
    let service = host.start();
    let changed = SystemClock.now().0;
    let site = ServiceClient::of(&service);
    while SystemClock.now().0 <= changed + 10_500 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for (agent, (payment, first)) in agents.iter().zip(&bought) {
        let late = agent.sign(&quote);
        let answer = Agent::pay(&site, CARD, &late).await;
        assert_eq!(
            (answer.status, answer.code(), challenge_amount(&answer)),
            (402, "payment_invalid", 5_500_000)
        );
        assert_eq!(transfer_count(&site, &late).await, 0);
        let again = Agent::pay(&site, CARD, payment).await;
        assert_eq!((again.card(), again.receipt()), (first.card(), first.receipt()));
        assert!(again.body.get("auth").is_none());
        assert_eq!(transfer_count(&site, payment).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_65_full_disk_loses_nothing_acknowledged() {
    // Checks: files cannot grow beyond a limit, as on a full disk, until the service returns errors or exits. With free
    // space again, every acknowledged card exists and the ledger balances.
    // The journal has segments of a fixed size; the files of its snapshots grow.
    let host = Host::new().with("PURSER_STORAGE__APPLY_INTERVAL_MS", "100");
    let service = host.start_with_files_up_to(1_200);
    let site = ServiceClient::of(&service);
    let challenge = Agent::challenge(&site, CARD).await;
    let agents: Vec<Agent> = (0..16).map(|n| Agent::new(Network::ALL[n % 2])).collect();
    let mut acknowledged = BTreeMap::new();
    let mut refused = false;
    for _ in 0..150 {
        let payments: Vec<String> = agents.iter().map(|agent| agent.sign(&challenge)).collect();
        let calls = payments
            .iter()
            .map(|payment| send(site.request("GET", CARD).header("payment-signature", payment)));
        for (payment, answer) in payments.iter().zip(futures_util::future::join_all(calls).await) {
            match answer {
                Ok(answer) if answer.status == 200 => {
                    acknowledged.insert(payment.clone(), answer.card().to_owned());
                }
                Ok(answer) => {
                    assert!([202, 402, 503].contains(&answer.status), "{}", answer.text);
                    refused = true;
                }
                Err(_) => refused = true,
            }
        }
        if refused {
            break;
        }
    }
    service.kill();
    assert!(refused, "the limit was never met");
    host.assert_verified();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (payment, card) in &acknowledged {
        assert_eq!(Agent::pay(&site, CARD, payment).await.card(), card);
    }
    service.stop();
    host.assert_verified();
}

/// A line of the vault key file.
pub(crate) fn key_line(key: [u8; 32]) -> String {
    let id = Sha256::digest([&b"purser vault key id"[..], &key].concat());
    format!("{} {}\n", hex::encode(&id[..4]), hex::encode(key))
}

#[tokio::test(flavor = "multi_thread")]
async fn case_71_cards_survive_a_new_key_but_not_a_lost_one() {
    // Checks: with a second key, old and new cards are readable. Without the old key, without any key or with other
    // keys, the service reports it, does not start, and creates no key file.
    let host = Host::new();
    let keys = host.data().join("vault.keys");
    let mut cards = Vec::new();
    let service = host.start();
    cards.push(ready_card(&ServiceClient::of(&service)).await);
    service.stop();
    let old = std::fs::read_to_string(&keys).unwrap();
    let rotated = format!("{old}{}", key_line([7; 32]));
    std::fs::write(&keys, &rotated).unwrap();
    let service = host.start();
    let site = ServiceClient::of(&service);
    cards.push(ready_card(&site).await);
    for (agent, card, number) in &cards {
        assert_eq!(
            number_of(&site, &agent.token(&site).await, card).await.as_ref(),
            Some(number)
        );
    }
    drop(site);
    service.stop();

    let first_line = old.lines().next().unwrap();
    let only_new = format!("{first_line}\n{}", key_line([7; 32]));
    let others = format!("{first_line}\n{}", key_line([8; 32]));
    for (what, text) in [
        ("the old key lost", Some(only_new)),
        ("others", Some(others)),
        ("none", None),
    ] {
        match &text {
            Some(text) => std::fs::write(&keys, text).unwrap(),
            None => std::fs::remove_file(&keys).unwrap(),
        }
        let Err(error) = host.try_start() else {
            panic!("started with {what}")
        };
        assert!(error.contains("the vault"), "{what}: {error}");
        let named = text.is_some() || error.contains(keys.to_str().unwrap()) && error.contains("no backup holds keys");
        assert!(named, "{what}: {error}");
        assert_eq!(keys.exists(), text.is_some(), "{what}: a key file was made");
        std::fs::write(&keys, &rotated).unwrap();
        std::fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (agent, card, number) in &cards {
        assert_eq!(
            number_of(&site, &agent.token(&site).await, card).await.as_ref(),
            Some(number)
        );
    }
}

async fn number_of(site: &ServiceClient<'_>, token: &str, card: &str) -> Option<String> {
    let read = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
    assert_eq!(read.status, 200, "{}", read.text);
    Some(read.body.pointer("/card_details/card_number")?.as_str()?.to_owned())
}

async fn ready_card(site: &ServiceClient<'_>) -> (Agent, String, String) {
    let agent = Agent::new(Network::Base);
    let card = agent.buy(site, CARD).await.card().to_owned();
    let token = agent.token(site).await;
    let number = until("the number", async || number_of(site, &token, &card).await).await;
    (agent, card, number)
}
