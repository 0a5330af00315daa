//! Invariants after all work has settled: chain, responses, issuer, stream and tokens agree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::agent::Agent;
use super::crash_traffic::{AgentPool, End};
use super::host::{Service, TIMEOUT};
use super::http::{ServiceClient, until};

/// A subscriber of one account, with all events it received across restarts.
#[derive(Clone)]
pub(crate) struct Subscriber {
    pub(crate) token: String,
    pub(crate) events: Arc<Mutex<Vec<Value>>>,
}

impl Subscriber {
    pub(crate) fn new(token: String) -> Self {
        Self {
            token,
            events: Arc::default(),
        }
    }

    pub(crate) fn cursor(&self) -> u64 {
        let seen = self.events.lock().unwrap();
        seen.last().map_or(0, |event| event["seq"].as_u64().unwrap())
    }

    /// Listens from its cursor until the connection breaks.
    pub(crate) async fn listen(self, url: String) {
        let mut request = format!("{}/stream", url.replace("http://", "ws://"))
            .into_client_request()
            .unwrap();
        let bearer = format!("Bearer {}", self.token).parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        let Ok((mut socket, _)) = tokio_tungstenite::connect_async(request).await else {
            return;
        };
        let subscribe = json!({"type": "subscribe", "after": self.cursor()}).to_string();
        if socket.send(Message::text(subscribe)).await.is_err() {
            return;
        }
        while let Some(Ok(message)) = socket.next().await {
            let Ok(text) = message.into_text() else { return };
            let frame: Value = serde_json::from_str(&text).unwrap_or_default();
            if frame["type"] == "event" {
                self.events.lock().unwrap().push(frame["event"].clone());
            }
        }
    }
}

/// Waits until every settled payment has its outcome, and compares all records.
pub(crate) async fn settle_accounts(crowd: &AgentPool, service: &Service, subscribers: &[Subscriber]) -> Totals {
    let site = ServiceClient::of(service);
    site.chain_fault(json!({"fault": "clear"})).await;
    // First give the service time to find late transfers.
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    resolve(crowd, &site).await;
    let totals = compare(crowd, &site).await;
    let memory = crowd.log.lock().unwrap().tokens.clone();
    for (agent, (token, card)) in memory.iter().take(12) {
        until("a card bought before the kills to be readable", async || {
            let read = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
            assert_eq!(read.status, 200, "agent {agent}: {}", read.text);
            (read.str("status") != Some("pending")).then_some(())
        })
        .await;
    }
    for subscriber in subscribers {
        let listening = tokio::spawn(subscriber.clone().listen(service.url.clone()));
        let stored = site.events(&subscriber.token, 0).await;
        let last = stored.last().map_or(0, |event| event["seq"].as_u64().unwrap());
        until("the subscriber to catch up", async || {
            (subscriber.cursor() >= last).then_some(())
        })
        .await;
        listening.abort();
        let mut seen = subscriber.events.lock().unwrap().clone();
        seen.retain(|event| event["seq"].as_u64().unwrap() <= last);
        assert!(!stored.is_empty());
        let seqs = |events: &[Value]| events.iter().map(|e| e["seq"].as_u64().unwrap()).collect::<Vec<_>>();
        assert_eq!(seqs(&seen), seqs(&stored), "a gap or a duplicate on the stream");
        assert_eq!(seen, stored);
    }
    totals
}

/// Sends each settled payment that has no response yet, until it has one.
async fn resolve(crowd: &AgentPool, site: &ServiceClient<'_>) {
    until("every settled payment to have its outcome", async || {
        let landed: BTreeSet<String> = keys(&site.transfers().await);
        let open: Vec<_> = {
            let memory = crowd.log.lock().unwrap();
            let open = memory
                .sent
                .iter()
                .filter(|(key, sent)| sent.end.is_none() && landed.contains(*key));
            open.map(|(key, sent)| (key.clone(), sent.clone())).collect()
        };
        for chunk in open.chunks(32) {
            let resends = chunk.iter().map(|(key, sent)| async move {
                let answer = Agent::pay(site, &sent.path, &sent.payment).await;
                crowd.log.lock().unwrap().check_response(key, &answer, false);
            });
            futures_util::future::join_all(resends).await;
        }
        open.is_empty().then_some(())
    })
    .await;
}

fn keys(transfers: &[Value]) -> BTreeSet<String> {
    let keys = transfers
        .iter()
        .map(|t| t["nonce_or_message"].as_str().unwrap().to_owned());
    keys.collect()
}

/// The totals of one data directory.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) transfers: usize,
    pub(crate) cards: usize,
    pub(crate) credits: usize,
}

/// Every transfer has exactly one outcome, every outcome one transfer, and the issuer made exactly those cards.
async fn compare(crowd: &AgentPool, site: &ServiceClient<'_>) -> Totals {
    let transfers = site.transfers().await;
    let mut totals = Totals::default();
    let mut cards = BTreeMap::new();
    {
        let memory = crowd.log.lock().unwrap();
        let mut ends: BTreeMap<&str, &(End, String)> = memory
            .sent
            .iter()
            .filter_map(|(key, sent)| Some((key.as_str(), sent.end.as_ref()?)))
            .collect();
        assert_eq!(keys(&transfers).len(), transfers.len(), "a payment moved money twice");
        for transfer in &transfers {
            let key = transfer["nonce_or_message"].as_str().unwrap();
            let (end, transaction) = ends.remove(key).unwrap_or_else(|| panic!("{transfer} bought nothing"));
            assert_eq!(transfer["id"], transaction.as_str());
            totals.transfers += 1;
            match end {
                End::Credit => totals.credits += 1,
                End::Card(card) => {
                    totals.cards += 1;
                    let other = cards.insert(card.clone(), key);
                    assert_eq!(other, None, "{card} was sold twice");
                }
            }
        }
        assert!(ends.is_empty(), "answered as paid, and not on the chain: {ends:?}");
        assert!(memory.problems.is_empty(), "{:#?}", memory.problems);
    }
    let started = Instant::now();
    loop {
        let issuer = site.get("/sandbox", &[]).await.body["issuer"].clone();
        let made = issuer["cards"].as_u64().unwrap() + issuer["declined"].as_u64().unwrap();
        let sold = totals.cards as u64;
        assert!(made <= sold, "the issuer made {made} cards, sold were {sold}");
        if made == sold {
            return totals;
        }
        assert!(
            started.elapsed() < TIMEOUT,
            "the issuer made {made} cards, sold were {sold}: {issuer}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
