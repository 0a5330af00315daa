//! An agent that requests a price, pays, reads its balance and sometimes sends its payment again. It continues with the
//! same payment whatever fails on the server's side. Also a subscriber to its account.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use purser::system::SystemEntropy;
use purser::wallet::TestWallet;
use purser_actors::id::Network;
use tokio::time::Instant;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use super::Tally;
use crate::Fault;
use crate::web::clients::{TARGET, request, required, sign_on};
use crate::web::driver::{Connection, Response};

/// Pause between attempts while the service is down or overloaded.
const PAUSE: Duration = Duration::from_millis(50);
/// A call without a response within this time is lost.
const CALL_TIMEOUT: Duration = Duration::from_secs(90);
/// After this number of visits the payment is presented again.
const REPLAY_INTERVAL_VISITS: u64 = 10;

pub(crate) struct SoakAgent {
    address: SocketAddr,
    tally: Arc<Tally>,
    wallet: TestWallet,
    network: Network,
    token: Option<String>,
    connection: Option<Connection>,
    /// Payments answered with their product: the subscriber must hear of each.
    bought: Arc<AtomicU64>,
}

impl SoakAgent {
    /// Visits until called back: one after the other, or one every so often and late ones at once.
    pub(crate) async fn visits(
        address: SocketAddr,
        tally: Arc<Tally>,
        n: usize,
        every: Option<Duration>,
    ) -> Result<(), Fault> {
        let mut visitor = Self {
            address,
            tally,
            wallet: TestWallet::create(&SystemEntropy)?,
            network: if n.is_multiple_of(2) {
                Network::Base
            } else {
                Network::Solana
            },
            token: None,
            connection: None,
            bought: Arc::default(),
        };
        let mut subscriber = None;
        let mut due = Instant::now();
        if let Some(every) = every {
            // Not all at the same moment.
            due += every.mul_f64(n as f64 / super::AGENTS as f64);
        }
        for visit in 1.. {
            tokio::time::sleep_until(due).await;
            if visitor.tally.stopping.load(Ordering::Relaxed) {
                break;
            }
            visitor.visit(visit % REPLAY_INTERVAL_VISITS == 0).await?;
            let took = due.elapsed().as_micros();
            visitor
                .tally
                .latencies
                .lock()
                .push(u32::try_from(took).unwrap_or(u32::MAX));
            visitor.tally.visits.fetch_add(1, Ordering::Relaxed);
            due = every.map_or_else(Instant::now, |every| due + every);
            if let (None, Some(token)) = (&subscriber, &visitor.token) {
                subscriber = Some(tokio::spawn(listen(
                    address,
                    token.clone(),
                    visitor.tally.clone(),
                    visitor.bought.clone(),
                )));
            }
        }
        match subscriber {
            Some(subscriber) => subscriber.await?,
            None => Ok(()),
        }
    }

    async fn visit(&mut self, replay: bool) -> Result<(), Fault> {
        let unpaid = request(self.address, TARGET, "");
        let challenge = self.insist(&unpaid, 402).await?;
        let payment = sign_on(self.address, &self.wallet, &required(&challenge)?, self.network)?;
        self.tally.signed.fetch_add(1, Ordering::Relaxed);
        let bought = self.insist(&payment, 200).await?;
        let body: serde_json::Value = serde_json::from_slice(&bought.body)?;
        let card = body["card_id"]
            .as_str()
            .ok_or_else(|| format!("no card in {body}"))?
            .to_owned();
        // Only the call whose claim won gets one; the one whose answer a kill took does not.
        if let Some(token) = body["auth"]["id_token"].as_str() {
            self.token = Some(token.to_owned());
        }
        if replay {
            let again: serde_json::Value = serde_json::from_slice(&self.insist(&payment, 200).await?.body)?;
            if again["card_id"].as_str() != Some(&card) {
                return Err(format!("{card} became {again}").into());
            }
        }
        self.tally.bought.fetch_add(1, Ordering::Relaxed);
        self.bought.fetch_add(1, Ordering::Relaxed);
        if let Some(token) = &self.token {
            let header = format!("Authorization: Bearer {token}\r\n");
            let read = request(self.address, "/get-account-balance", &header);
            self.insist(&read, 200).await?;
        }
        Ok(())
    }

    /// Sends a request until it gets this status. Retries while the result is pending or the service is overloaded or
    /// down; any other response is an error.
    async fn insist(&mut self, request: &[u8], status: u16) -> Result<Response, Fault> {
        let begun = Instant::now();
        while begun.elapsed() < CALL_TIMEOUT {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => match Connection::open(self.address).await {
                    Ok(connection) => connection,
                    Err(_) => {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                },
            };
            match connection.call(request).await {
                Ok(answer) if answer.status == status => {
                    self.connection = Some(connection);
                    return Ok(answer);
                }
                Ok(answer) if [202, 503].contains(&answer.status) => {
                    self.connection = Some(connection);
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(answer) => {
                    let body = String::from_utf8_lossy(&answer.body);
                    return Err(format!("{} instead of {status}: {body}", answer.status).into());
                }
                // The service was killed in between: send the same request again.
                Err(_) => {}
            }
        }
        Err(format!("no {status} in {} s", CALL_TIMEOUT.as_secs()).into())
    }
}

/// Hears every event of the account once and in order, over as many connections as it takes, and stays until it has
/// heard that each payment settled.
async fn listen(address: SocketAddr, token: String, tally: Arc<Tally>, bought: Arc<AtomicU64>) -> Result<(), Fault> {
    let (mut cursor, mut settled, mut stopped) = (0, 0, None);
    loop {
        if tally.stopping.load(Ordering::Relaxed) {
            if settled >= bought.load(Ordering::Relaxed) {
                return Ok(());
            }
            if stopped.get_or_insert_with(Instant::now).elapsed() > CALL_TIMEOUT {
                return Err(format!("heard of {settled} of {} payments", bought.load(Ordering::Relaxed)).into());
            }
        }
        let Ok((mut socket, _)) = connect_async(format!("ws://{address}/stream")).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let first = serde_json::json!({"type": "auth", "token": token});
        let subscribe = serde_json::json!({"type": "subscribe", "after": cursor});
        for message in [first, subscribe] {
            // A connection that died shows in the reading.
            let _ = socket.send(Message::text(message.to_string())).await;
        }
        // A second of silence is as good a reason to look around as the end of the connection.
        while let Ok(Some(Ok(message))) = tokio::time::timeout(Duration::from_secs(1), socket.next()).await {
            let Message::Text(text) = message else { continue };
            let frame: serde_json::Value = serde_json::from_str(&text)?;
            if frame["type"] != "event" {
                continue;
            }
            let seq = frame["event"]["seq"].as_u64().ok_or("an event without seq")?;
            if seq <= cursor {
                return Err(format!("event {seq} came twice").into());
            }
            cursor = seq;
            settled += u64::from(frame["event"]["type"] == "payment.settled");
            tally.events.fetch_add(1, Ordering::Relaxed);
            if tally.stopping.load(Ordering::Relaxed) && settled >= bought.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
}
