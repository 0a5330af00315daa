//! Processes that are killed and clients that disconnect, at every step of a paid call.

use std::time::Duration;

use purser_actors::id::Network;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::replay::transfer_count;
use super::settlement_faults::finally;

/// The issuer takes ten seconds for this card.
const CARD: &str = "/get-card?amount=7.77";

/// Four payments: the chain is unreachable for the first, takes ten minutes for the second, loses its response to the
/// third, and settles the fourth.
async fn payments_with_faults(site: &ServiceClient<'_>) -> Vec<String> {
    let faults = [
        Some(json!({"fault": "unreachable", "times": 0})),
        Some(json!({"fault": "slow", "delay_ms": 600_000})),
        Some(json!({"fault": "lose_response"})),
        None,
    ];
    let mut payments = Vec::new();
    for (n, fault) in faults.into_iter().enumerate() {
        let agent = Agent::new(Network::ALL[n % 2]);
        if let Some(mut fault) = fault {
            fault["wallet"] = json!(agent.address());
            site.chain_fault(fault).await;
        }
        payments.push(agent.payment(site, CARD).await);
    }
    payments
}

#[tokio::test(flavor = "multi_thread")]
async fn case_12_kill_at_every_step_leaves_one_product() {
    // Checks: Killed while preparing, while the chain is slow, after a lost response, and after the card was ordered.
    // The next process completes each payment with one card, whether or not a client retries.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let payments = payments_with_faults(&site).await;
    let waiting: Vec<_> = payments[..2]
        .iter()
        .map(|payment| {
            let request = site.request("GET", CARD).header("payment-signature", payment);
            tokio::spawn(request.send())
        })
        .collect();
    assert_eq!(Agent::pay(&site, CARD, &payments[2]).await.status, 202);
    assert_eq!(Agent::pay(&site, CARD, &payments[3]).await.status, 200);
    until("both calls to have met the chain", async || {
        let state = site.get("/sandbox", &[]).await.body;
        let met = state["chains"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["faults_injected"].as_u64().unwrap());
        (met.collect::<Vec<_>>().iter().all(|met| *met >= 1)).then_some(())
    })
    .await;
    service.kill();
    for call in waiting {
        assert!(call.await.unwrap().is_err());
    }
    let report = host.assert_verified();
    let states = &report["payments"];
    assert_eq!(
        (&states["claimed"], &states["settling"]),
        (&json!(1), &json!(1)),
        "{states}"
    );
    let service = host.start();
    let site = ServiceClient::of(&service);
    // No client retries. Payments in progress complete automatically.
    until("every transfer to settle", async || {
        (site.transfers().await.len() == 4).then_some(())
    })
    .await;
    let mut cards = Vec::new();
    for payment in &payments {
        cards.push(finally(&site, CARD, payment).await.card().to_owned());
        assert_eq!(transfer_count(&site, payment).await, 1);
    }
    cards.sort();
    cards.dedup();
    assert_eq!(cards.len(), 4);
    service.stop();
    assert_eq!(host.assert_verified()["entities"]["cards"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_12_client_disconnect_at_any_step_changes_nothing() {
    // Checks: The connection breaks in the middle of the request, right after it, while the chain is slow, or in the
    // middle of the response. Sending the same payment again returns its one card.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        site.chain_fault(json!({"fault": "slow", "delay_ms": 100, "times": 0, "wallet": agent.address()}))
            .await;
        let mut cards = Vec::new();
        for step in 0..8 {
            let payment = agent.payment(&site, CARD).await;
            let request = format!(
                "GET {CARD} HTTP/1.1\r\nhost: {}\r\npayment-signature: {payment}\r\n\r\n",
                service.authority()
            );
            let mut socket = TcpStream::connect(service.authority()).await.unwrap();
            let sent = match step {
                0 => 10,
                1 => request.len() / 2,
                2 => request.len() - 1,
                _ => request.len(),
            };
            socket.write_all(&request.as_bytes()[..sent]).await.unwrap();
            match step {
                4 => tokio::time::sleep(Duration::from_millis(30)).await,
                5 => tokio::time::sleep(Duration::from_millis(90)).await,
                6 => drop(socket.read_u8().await),
                7 => drop(socket.read_exact(&mut [0; 300]).await),
                _ => {}
            }
            drop(socket);
            let card = finally(&site, CARD, &payment).await;
            assert_eq!(transfer_count(&site, &payment).await, 1, "step {step}");
            cards.push(card.card().to_owned());
        }
        cards.sort();
        cards.dedup();
        assert_eq!(cards.len(), 8);
    }
    service.stop();
    let report = host.assert_verified();
    assert_eq!(
        (&report["entities"]["cards"], &report["payments"]["fulfilled"]),
        (&Value::from(16), &Value::from(16))
    );
}
